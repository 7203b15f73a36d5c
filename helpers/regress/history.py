"""The stored numbers: a JSON list, oldest first. An entry has a label, a target, a chip, and metrics by case."""
from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import WorkbookError


@dataclass(frozen=True)
class Entry:
    label: str
    target: str                      # "host" or "npu"
    origin: str                      # "estimate (Ascend910B1)": only entries of one origin are compared
    cases: dict[str, dict[str, float]]


def load(path: Path) -> list[Entry]:
    if not path.exists():
        return []
    try:
        entries = [Entry(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
        for entry in entries:
            for case, metrics in entry.cases.items():
                for metric, value in metrics.items():
                    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                        raise ValueError(f"{metric} of {case} at {entry.label} is {value!r}, no number")
    except (ValueError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise WorkbookError(f"{path} is no history of this gate: {error}.") from None
    return entries


def append(path: Path, entry: Entry) -> None:
    """Written beside and then renamed: a broken-off run leaves the old file."""
    for case, metrics in entry.cases.items():
        for metric, value in metrics.items():
            if not math.isfinite(value):
                raise WorkbookError(f"{entry.label} is not stored: {metric} of {case} is {value}.")
    rows = [asdict(e) for e in load(path)] + [asdict(entry)]
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        os.replace(scratch, path)
    except OSError as error:
        raise WorkbookError(f"{path} cannot be written: {error.strerror}. --history names a file in a folder that may be written.") from None


def last(entries: list[Entry], origin: str) -> Entry | None:
    return next((e for e in reversed(entries) if e.origin == origin), None)


def series(entries: list[Entry], case: str, metric: str) -> list[float]:
    """One metric over time, for a picture."""
    return [e.cases[case][metric] for e in entries if metric in e.cases.get(case, {})]
