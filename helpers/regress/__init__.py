"""A gate for a course's or a team's repository: kernels become no slower, larger or less exact without somebody saying so.

    python -m helpers.regress --record v1      # remembers the numbers of today
    python -m helpers.regress                  # compares with the last ones; exit code 1 when something got worse
"""
from .cases import CASES, Case
from .metrics import METRICS, Difference, differences, error, measure, table

__all__ = ["CASES", "Case", "Difference", "METRICS", "differences", "error", "measure", "table"]
