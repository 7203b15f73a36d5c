"""CSV files of the profilers: header names as they are written, NA as NaN."""
from __future__ import annotations

import csv
import math
from pathlib import Path

from ..errors import WorkbookError


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
    """The first of these columns that the file has; NaN when it holds no number."""
    for column in columns:
        if column in row:
            try:
                return float(row[column])
            except ValueError:
                return math.nan
    return math.nan


def total(rows: list[dict[str, str]], *columns: str) -> float | None:
    """Sum over the rows, None when no row has a number."""
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) if values else None


def mean(rows: list[dict[str, str]], *columns: str) -> float | None:
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) / len(values) if values else None
