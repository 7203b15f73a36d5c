"""Numbers of one run that a later run is held against, and how much worse each may become."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..run import Run
from ..views.text import table as text_table

# name -> (unit, bigger is worse, share by which it may get worse). What the twin counts is exact; measured time is noisy.
METRICS = {
    "cycles": ("cycles", True, 0.01),
    "rows_per_s": ("rows/s", False, 0.01),
    "gm_bytes": ("B", True, 0.0),
    "instructions": ("", True, 0.0),
    "ub_bytes": ("B", True, 0.0),
    "error": ("", True, 0.05),
}
NOISE = 0.05             # of a measured time, even when clock and warm-up are looked after
_TIMED = ("cycles", "rows_per_s")


@dataclass(frozen=True)
class Difference:
    case: str
    metric: str
    before: float
    after: float
    limit: float          # share by which it may be worse
    worse: float          # share by which it is worse; negative: better

    @property
    def failed(self) -> bool:
        return self.worse > self.limit + 1e-12

    @property
    def change(self) -> str:
        """How the number itself moved, and whether that is good: fewer rows per second have a minus and are worse."""
        if self.before == self.after:
            return "same"
        verdict = "worse" if self.worse > 0 else "better"
        if not self.before:
            return f"from 0, {verdict}"
        share = abs(self.after - self.before) / abs(self.before)
        size = f"{share:.1%}" if share >= 0.0005 else "<0.1%"
        return f"{'+' if self.after > self.before else '-'}{size} {verdict}"


def measure(run: Run, actual=None, expected=None, rows: int = 0) -> dict[str, float]:
    """The metrics of one run. actual, expected: result and float64 reference; rows: what the run worked off (rows, tokens)."""
    out: dict[str, float] = {"cycles": float(run.cycles)}
    if rows and run.time_us > 0:
        out["rows_per_s"] = rows / run.time_us * 1e6
    if run.totals:
        out["gm_bytes"] = float(run.totals.get("gm_read_bytes", 0) + run.totals.get("gm_write_bytes", 0))
    if len(run.events):
        out["instructions"] = float(len(run.events))
    tops = [b["addr"] + b["bytes"] for b in run.buffers if b["mem"] == "UB"]
    if tops:
        out["ub_bytes"] = float(max(tops))
    if expected is not None:
        out["error"] = error(actual, expected)
    return out


def error(actual, expected) -> float:
    """Largest difference, relative to the largest magnitude of the reference; inf when a NaN or an infinity differs."""
    a, e = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    if a.shape != e.shape:
        raise ValueError(f"{a.shape} elements beside {e.shape}")
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    if not (np.isfinite(a) | same).all() or not (np.isfinite(e) | same).all():
        return float("inf")
    with np.errstate(invalid="ignore"):
        gap = np.abs(np.where(same, 0.0, a - e))
    top = float(np.abs(e[np.isfinite(e)]).max(initial=0.0))
    return float(gap.max(initial=0.0)) / top if top else float(gap.max(initial=0.0))


def differences(before: dict[str, dict], after: dict[str, dict], limits: dict[str, float] | None = None, measured: bool = False) -> list[Difference]:
    """Every metric of every case that both have. limits: other shares, {"cycles": 0.02}."""
    out = []
    for case in after:
        for metric, (_, bigger_is_worse, limit) in METRICS.items():
            old, new = before.get(case, {}).get(metric), after[case].get(metric)
            if old is None or new is None:
                continue
            if measured and metric in _TIMED:
                limit = NOISE
            limit = (limits or {}).get(metric, limit)
            change = (new - old) / old if old else (0.0 if new == old else float("inf"))
            out.append(Difference(case, metric, old, new, limit, change if bigger_is_worse else -change))
    return out


def table(found: list[Difference]) -> str:
    """One row per case and metric; what is beyond its limit is marked."""
    rows = [[d.case, d.metric, _show(d.before), _show(d.after), d.change, f"{d.limit:.0%}",
             "FAIL" if d.failed else ""] for d in found]
    return text_table(["case", "metric", "before", "now", "change", "limit", ""], rows, left=2, wrap_last=True)


def _show(v: float) -> str:
    return f"{v:,.0f}" if abs(v) >= 100 or v == int(v) else f"{v:.3g}"
