"""CSV files of the profilers: header names as they are written, N/A as NaN. Text where a number belongs is an error."""
from __future__ import annotations

import codecs
import csv
import io
import math
from pathlib import Path

from ..errors import WorkbookError

MOST_BLOCKS = 65_535             # of one launch
_NO_VALUE = {"", "-", "--", "n/a", "na", "nan", "none", "null"}


class ProfileError(WorkbookError, ValueError):
    """A folder or file that is not what a profiler writes."""


class Row(dict):
    """Cells by column name; `place` says where the row stands."""

    def __init__(self, cells, place: str = ""):
        super().__init__(cells)
        self.place = place


def read(path: Path) -> list[Row]:
    """Rows by column name; none when the file has only its head."""
    text = _text(path)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
    try:
        rows = [(lines.line_num, [cell.strip() for cell in row]) for row in lines if any(cell.strip() for cell in row)]
    except csv.Error as error:               # a quotation mark that is never closed
        raise ProfileError(f"{path.name} cannot be read from line {lines.line_num} on: {error}.") from None
    if not rows:
        raise ProfileError(f"{path.name} is empty.")
    head, found = rows[0][1], []
    for line, cells in rows[1:]:
        if any(cells[len(head):]):
            raise ProfileError(f"{path.name}, line {line} has {len(cells)} cells and the head {len(head)} columns: values would fall under wrong names. Take the original file.")
        found.append(Row(zip(head, cells), f"{path.name}, line {line}"))
    return found


def _text(path: Path) -> str:
    """Profilers write UTF-8; a spreadsheet may have saved the file as UTF-16."""
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16") if wide else data.decode("utf-8-sig", errors="replace")
    except UnicodeDecodeError as error:
        raise ProfileError(f"{path.name} begins as UTF-16 and is damaged at byte {error.start}.") from None
    if "\0" in text:
        raise ProfileError(f"{path.name} holds zero bytes: it is binary, or UTF-16 without its mark. Save it as UTF-8, or take the original.")
    return text


def _separator(text: str) -> str:
    """A comma; a spreadsheet may have saved with semicolons or tabs. The head tells, its names hold none of them."""
    head = next((line for line in text.splitlines() if line.strip()), "")
    return next((c for c in ",;\t" if c in head), ",")


def number(row: dict[str, str], *columns: str, signed: bool = False) -> float:
    """The first of these columns that the file has; NaN where the profiler writes that it has no value."""
    column = next((c for c in columns if c in row), None)
    if column is None or row[column].lower() in _NO_VALUE:
        return math.nan
    place = f" ({row.place})" if getattr(row, "place", "") else ""
    try:
        value = float(row[column])
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise ProfileError(f"{column} holds {row[column]!r}{place}, which is no number. Profilers write a point and no thousands separators: 1234.5. "
                           "Was the file saved by a spreadsheet? Take the original.")
    if value < 0 and not signed:
        raise ProfileError(f"{column} holds {row[column]}{place}: no time, size or share is negative.")
    return value


def whole(row: dict[str, str], *columns: str) -> int | None:
    """The same for numbers of blocks and of cores, which count something."""
    value = number(row, *columns)
    if math.isnan(value):
        return None
    if value != int(value) or value > MOST_BLOCKS:
        column = next(c for c in columns if c in row)
        raise ProfileError(f"{column} holds {row[column]}{f' ({row.place})' if getattr(row, 'place', '') else ''}: a launch has at most {MOST_BLOCKS:,} blocks, in whole numbers.")
    return int(value)


def index(digits: str, name: str) -> int:
    """A number of a block or core that is part of a name."""
    if len(digits) > len(str(MOST_BLOCKS)) or int(digits) > MOST_BLOCKS:
        raise ProfileError(f"{name!r} stands for block or core {digits}: a launch has at most {MOST_BLOCKS:,} blocks.")
    return int(digits)


def total(rows: list[dict[str, str]], *columns: str) -> float | None:
    """Sum over the rows, None when no row has a number."""
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) if values else None


def mean(rows: list[dict[str, str]], *columns: str) -> float | None:
    values = [v for v in (number(r, *columns) for r in rows) if not math.isnan(v)]
    return sum(values) / len(values) if values else None
