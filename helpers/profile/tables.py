"""CSV files of the profilers: header names as they are written, N/A as NaN. Text where a number belongs is an error."""
from __future__ import annotations

import csv
import math
from pathlib import Path

from ..errors import WorkbookError


_NO_VALUE = {"", "-", "--", "n/a", "na", "nan", "none", "null"}


class ProfileError(WorkbookError, ValueError):
    """A folder or file that is not what a profiler writes."""


def read(path: Path) -> list[dict[str, str]]:
    """Rows by column name."""
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = list(csv.reader(file))
    if not rows:
        raise ProfileError(f"{path.name} is empty.")
    head = [h.strip() for h in rows[0]]
    return [dict(zip(head, (cell.strip() for cell in row))) for row in rows[1:] if any(cell.strip() for cell in row)]


def number(row: dict[str, str], *columns: str) -> float:
    """The first of these columns that the file has; NaN where the profiler writes that it has no value."""
    column = next((c for c in columns if c in row), None)
    if column is None or row[column].lower() in _NO_VALUE:
        return math.nan
    try:
        value = float(row[column])
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise ProfileError(f"{column} holds {row[column]!r}, which is no number. Profilers write a point and no thousands separators: 1234.5. "
                           "Was the file saved by a spreadsheet? Take the original.")
    return value


def total(rows: list[dict[str, str]], *columns: str) -> float | None:
    """Sum over the rows, None when no row has a number."""
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) if values else None


def mean(rows: list[dict[str, str]], *columns: str) -> float | None:
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) / len(values) if values else None
