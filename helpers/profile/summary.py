"""op_summary of msprof: one row per launch of a whole application."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..run import PIPES, Run
from . import tables
from .board import AIC_COLUMNS, AIV_COLUMNS, core_marks, known_or_zero
from .tables import ProfileError, number, whole


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("op_summary*.csv"))


def read(path: Path, chip) -> tuple[list[Run], int]:
    """A Run per row, in the order of their starts, and the number of rows without a time. Pipes are means over the cores, as msprof gives them."""
    rows = tables.read(path)
    if rows and not {"Op Name", "Task Duration(us)"} <= rows[0].keys():
        raise ProfileError(f"{path.name} has no columns Op Name and Task Duration(us): this is no op_summary of msprof.")
    rows.sort(key=lambda r: known_or_zero(number(r, "Task Start Time(us)")))
    timed = [row for row in rows if not math.isnan(number(row, "Task Duration(us)"))]
    return [_run(row, chip) for row in timed], len(rows) - len(timed)


def _run(row: dict[str, str], chip) -> Run:
    kinds, ends, busy = [], [], []
    for kind, columns, time in ((0, AIV_COLUMNS, "aiv_time(us)"), (1, AIC_COLUMNS, "aicore_time(us)")):
        value = number(row, time)
        if not math.isnan(value) and value > 0:
            kinds.append(kind)
            ends.append(1e3 * value)
            busy.append([1e3 * known_or_zero(number(row, *columns[p])) if p in columns else 0.0 for p in PIPES])
    duration, wait = number(row, "Task Duration(us)"), known_or_zero(number(row, "Task Wait Time(us)", signed=True))
    body = max(ends, default=0.0) / 1e3
    totals = {"launch_ns": 1e3 * max(0.0, duration - body), "wait_us": max(0.0, wait)}         # tasks of two streams may overlap
    miss = number(row, "aiv_icache_miss_rate")
    if not math.isnan(miss):
        totals["icache_miss"] = miss
    return Run(name=row.get("Op Name", "?"), blocks=whole(row, "Block Dim", "Block Num") or 0, chip=chip, origin="measured (msprof)", source="", time_us=duration,
               events=core_marks(kinds, [(0, 0)] * len(kinds)), ops=["core"], busy=np.array(busy).reshape(-1, len(PIPES)), core_end=np.array(ends), totals=totals,
               notes=[row["OP Type"]] if row.get("OP Type") else [])
