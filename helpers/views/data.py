"""What the views read of a Run, in one place. Nothing here changes the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")  # index = Event.pipe
FLOW = ("S", "MTE2", "MTE1", "M", "V", "FIX", "MTE3")  # the order in which data meets them
KINDS = ("AIV", "AIC")  # index = Event.kind
MEMORIES = ("GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB")  # index = Mem

EVENT = np.dtype(
    [
        ("core", "<i4"),
        ("block", "<i4"),
        ("kind", "<i4"),
        ("pipe", "<i4"),
        ("op", "<i4"),
        ("line", "<i4"),
        ("file", "<i4"),
        ("sub", "<i4"),
        ("start", "<f8"),
        ("end", "<f8"),
        ("bytes", "<u8"),
        ("elements", "<u8"),
    ]
)


def events(run) -> np.ndarray:
    found = getattr(run, "events", None)
    return np.empty(0, EVENT) if found is None else found


def ops(run) -> list[str]:
    return list(getattr(run, "ops", None) or [])


def op_name(run, index: int) -> str:
    names = ops(run)
    return names[index] if 0 <= index < len(names) else f"op {index}"


def totals(run) -> dict:
    return dict(getattr(run, "totals", None) or {})


def name(run) -> str:
    return getattr(run, "name", None) or "kernel"


def origin(run) -> str:
    return getattr(run, "origin", None) or "estimate"


def chip_name(run) -> str:
    chip = getattr(run, "chip", None)
    return chip if isinstance(chip, str) else getattr(chip, "name", None) or "unknown chip"


def chip_number(run, *keys: str, default: float | None = None) -> float | None:
    """The first of `keys` that the chip profile has (an attribute or an item)."""
    chip = getattr(run, "chip", None)
    for key in keys:
        value = chip.get(key) if isinstance(chip, dict) else getattr(chip, key, None)
        if value is None and hasattr(chip, "__getitem__") and not isinstance(chip, (dict, str)):
            try:
                value = chip[key]
            except (KeyError, IndexError, TypeError):
                value = None
        if isinstance(value, (int, float)):
            return float(value)
    return default


def cycles_per_us(run) -> float:
    clock = chip_number(run, "clock_ghz")
    if clock:
        return clock * 1e3
    time = getattr(run, "time_us", 0) or 0
    return run.cycles / time if time > 0 and getattr(run, "cycles", 0) else 1850.0


def title(run, what: str) -> str:
    """'add: timeline, estimate (Ascend910B1)'. No picture without its origin."""
    return f"{name(run)}: {what}, {origin(run)}"


@dataclass(frozen=True)
class CoreInfo:
    core: int
    block: int
    kind: str
    sub: int
    end_ns: float


def cores(run) -> list[CoreInfo]:
    """Every core of the launch in order, also those without a single event."""
    ev = events(run)
    ends = np.asarray(getattr(run, "core_end", None) if getattr(run, "core_end", None) is not None else [], dtype=float)
    seen, first = np.unique(ev["core"], return_index=True)
    last = {}
    if len(ev):
        top = np.zeros(int(seen.max()) + 1)
        np.maximum.at(top, ev["core"], ev["end"])
        last = {int(c): float(top[c]) for c in seen}
    known = {int(c): ev[i] for c, i in zip(seen, first)}
    out = []
    for c in sorted(set(known) | set(range(len(ends)))):
        e = known.get(c)
        end = float(ends[c]) if c < len(ends) else last[c]
        out.append(
            CoreInfo(
                c,
                int(e["block"]) if e is not None else c,
                KINDS[int(e["kind"])] if e is not None else "AIV",
                int(e["sub"]) if e is not None else 0,
                end,
            )
        )
    return out


def core_label(info: CoreInfo, both_kinds: bool) -> str:
    if not both_kinds:
        return f"block {info.block}"
    return f"block {info.block}\n{info.kind}" + (f" {info.sub}" if info.kind == "AIV" else "")


def span_ns(run) -> float:
    """End of the last instruction, ns after the kernel body started."""
    ends = [c.end_ns for c in cores(run)]
    return max(ends) if ends else 0.0


def launch_us(run) -> float:
    """The part of the time that is the launch itself, not the kernel body."""
    known = totals(run).get("launch_ns")
    if known is not None:
        return known / 1e3
    return max(0.0, (getattr(run, "time_us", 0) or 0) - span_ns(run) / 1e3)


def busy(run) -> np.ndarray:
    """ns per core (rows, in the order of cores()) and pipe: time in which the pipe had work."""
    given = getattr(run, "busy", None)
    if given is not None and len(given):
        return np.asarray(given, dtype=float)
    infos, ev = cores(run), events(run)
    out = np.zeros((len(infos), len(PIPES)))
    for row, info in enumerate(infos):
        mine = ev[ev["core"] == info.core]
        for p in range(len(PIPES)):
            out[row, p] = union_ns(mine[mine["pipe"] == p])
    return out


def union_ns(ev: np.ndarray) -> float:
    """Length of the union of [start, end): overlapping instructions count once."""
    start, end = disjoint(by_start(ev))
    return float((end - start).sum())


def disjoint(ev: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """start and end of the events of one pipe (sorted by start), cut to cover the same time without overlap."""
    start = ev["start"]
    if len(start) > 1 and np.any(np.diff(start) < 0):
        raise ValueError("events of a lane must be sorted by start")
    end = np.maximum.accumulate(ev["end"]) if len(ev) else ev["end"]
    if len(ev) > 1:
        end = np.append(np.minimum(end[:-1], start[1:]), end[-1])
    return start, np.maximum(start, end)


def by_start(ev: np.ndarray) -> np.ndarray:
    return ev[np.argsort(ev["start"], kind="stable")]


def tiles(ev: np.ndarray) -> np.ndarray:
    """Tile number of every event of ONE core.

    A tile is one turn of the loop that loads: the load call that runs most often counts the turns. A call that runs m
    times as often belongs to turn k // m; a call that runs once belongs to the first. Without loads the most frequent
    call counts.
    """
    if not len(ev):
        return np.zeros(0, dtype=int)
    order = np.lexsort((ev["start"],))
    site = (
        ev["pipe"].astype(np.int64) << 52
        | ev["file"].astype(np.int64) << 40
        | (ev["line"].astype(np.int64) & 0xFFFFFF) << 16
        | ev["op"]
    )
    _, inverse, counts = np.unique(site, return_inverse=True, return_counts=True)
    nth = np.empty(len(ev), dtype=np.int64)  # how many events of the same call came before
    grouped = order[np.argsort(inverse[order], kind="stable")]
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    nth[grouped] = np.arange(len(ev)) - np.repeat(starts, counts)
    loads = inverse[ev["pipe"] == PIPES.index("MTE2")]
    turns = counts[np.unique(loads)].max() if len(loads) else counts.max()
    return nth * turns // counts[inverse]
