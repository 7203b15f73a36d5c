"""op_summary of msprof: one row per launch of a whole application."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..run import PIPES, Run
from . import tables
from .board import _AIC, _AIV, _known, _marks
from .tables import ProfileError, number


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("op_summary*.csv"))


def read(path: Path, chip) -> list[Run]:
    """A Run per row, in the order of their starts. Pipes are means over the cores, as msprof gives them."""
    rows = tables.read(path)
    if rows and not {"Op Name", "Task Duration(us)"} <= rows[0].keys():
        raise ProfileError(f"{path.name} has no columns Op Name and Task Duration(us): this is no op_summary of msprof.")
    rows.sort(key=lambda r: _known(number(r, "Task Start Time(us)")))
    return [_run(row, chip) for row in rows]


def _run(row: dict[str, str], chip) -> Run:
    kinds, ends, busy = [], [], []
    for kind, columns, time in ((0, _AIV, "aiv_time(us)"), (1, _AIC, "aicore_time(us)")):
        value = number(row, time)
        if not math.isnan(value) and value > 0:
            kinds.append(kind)
            ends.append(1e3 * value)
            busy.append([1e3 * _known(number(row, *columns[p])) if p in columns else 0.0 for p in PIPES])
    duration, wait = _known(number(row, "Task Duration(us)")), _known(number(row, "Task Wait Time(us)"))
    body = max(ends, default=0.0) / 1e3
    totals = {"launch_ns": 1e3 * max(0.0, duration - body), "wait_us": wait}
    miss = number(row, "aiv_icache_miss_rate")
    if not math.isnan(miss):
        totals["icache_miss"] = miss
    return Run(name=row.get("Op Name", "?"), blocks=int(_known(number(row, "Block Dim", "Block Num"))), chip=chip, origin="measured (msprof)", source="", time_us=duration,
               events=_marks(kinds, [(0, 0)] * len(kinds)), ops=["core"], busy=np.array(busy).reshape(-1, len(PIPES)), core_end=np.array(ends), totals=totals,
               notes=[row["OP Type"]] if row.get("OP Type") else [])
