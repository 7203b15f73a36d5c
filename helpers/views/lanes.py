"""From events to the rectangles of a timeline: which lanes, which tile, and what merges when it gets too narrow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import data

FLAG_OPS = ("SetFlag", "WaitFlag")
NARROW = 2.0  # pixels: below this an instruction is not drawn alone
BIN = 3.0  # pixels: narrow neighbours within this width become one rectangle
WIDEST = 24.0  # pixels: the widest bin where narrow instructions are everywhere


@dataclass
class Rects:
    """Rectangles of one lane in order, without overlap. Times in ns; tile and op are -1 when several were merged."""

    start: np.ndarray
    end: np.ndarray
    tile: np.ndarray
    op: np.ndarray
    line: np.ndarray
    count: np.ndarray
    share: np.ndarray

    def __len__(self) -> int:
        return len(self.start)


@dataclass
class Lane:
    info: data.CoreInfo
    pipe: str
    events: np.ndarray  # of this core and pipe, sorted by start
    tile: np.ndarray


def choose_cores(run, blocks=None) -> list[data.CoreInfo]:
    """Which cores a picture shows. None: all when few, else the first two and the one that ends last. "all", an int,
    or a list of block numbers choose by hand."""
    all_cores = data.cores(run)
    if isinstance(blocks, str) and blocks == "all":
        return all_cores
    if blocks is not None:
        wanted = [blocks] if isinstance(blocks, (int, np.integer)) else list(blocks)
        known = {c.block for c in all_cores}
        missing = [b for b in wanted if b not in known]
        if missing:
            raise ValueError(
                f"Block {missing[0]} is not part of this run: it has blocks 0 to {max(known, default=0)}. "
                f'Use blocks=[0] or blocks="all".'
            )
        return [c for c in all_cores if c.block in wanted]
    if len(all_cores) <= 4:
        return all_cores
    slowest = max(all_cores, key=lambda c: (c.end_ns, -c.core))
    return sorted({c.core: c for c in (*all_cores[:2], slowest)}.values(), key=lambda c: c.core)


def lanes(run, chosen: list[data.CoreInfo], pipes=None, flags: bool = False) -> list[Lane]:
    """One lane per core and pipe that has work, in the order in which data meets the pipes."""
    if pipes is not None:
        pipes = [pipes] if isinstance(pipes, str) or not hasattr(pipes, "__iter__") else list(pipes)
        unknown = [p for p in pipes if p not in data.PIPES]
        if unknown:
            raise ValueError(f"pipes={pipes!r}: {unknown[0]} is no pipe. Pipes: {', '.join(data.PIPES)}.")
    ev = data.events(run)
    if not flags and len(ev):
        skip = [i for i, name in enumerate(data.ops(run)) if name in FLAG_OPS]
        if skip:
            ev = ev[~np.isin(ev["op"], skip)]
    order = np.lexsort((ev["start"], ev["core"]))
    ev = ev[order]
    out = []
    for info in chosen:
        lo, hi = np.searchsorted(ev["core"], [info.core, info.core + 1])
        mine = ev[lo:hi]
        tile = data.tiles(mine)
        for pipe in data.FLOW:
            if pipes is not None and pipe not in pipes:
                continue
            here = mine["pipe"] == data.PIPES.index(pipe)
            if here.any():
                out.append(Lane(info, pipe, mine[here], tile[here]))
    return out


def merge(lane: Lane, start: float, end: float, pixels: float) -> Rects:
    """Rectangles for the window [start, end) ns drawn `pixels` wide.

    Instructions of at least NARROW pixels stay alone. Narrower neighbours inside one bin become one rectangle that
    knows how much of its time is in use, so a million instructions draw as quickly and as truly as ten. Where narrow
    instructions are everywhere, rectangles fill their whole bin: a curve of the busy share.
    """
    s, e = data.disjoint(lane.events)
    keep = (e > start) & (s < end) & (e > s)
    s, e = np.maximum(s[keep], start), np.minimum(e[keep], end)
    tile, op, line = lane.tile[keep], lane.events["op"][keep], lane.events["line"][keep]
    if not len(s):
        z = np.zeros(0)
        return Rects(z, z, z.astype(int), z.astype(int), z.astype(int), z.astype(int), z)
    px = (end - start) / pixels
    alone = e - s >= NARROW * px
    narrow = int((~alone).sum())
    dense = narrow > pixels / (2 * BIN)
    bin_width = px * (float(np.clip(8 * pixels / narrow, BIN, WIDEST)) if dense else BIN)  # 8 in a bin: a calm curve
    bin_number = np.floor((s - start) / bin_width).astype(np.int64)
    cut = np.ones(len(s), dtype=bool)
    cut[1:] = alone[1:] | alone[:-1] | (bin_number[1:] != bin_number[:-1])
    if not dense and (end - start) / len(np.unique(tile)) >= 2 * BIN * px:  # tiles are wide enough to be told apart
        cut[1:] |= tile[1:] != tile[:-1]
    first = np.flatnonzero(cut)
    last = np.append(first[1:], len(s)) - 1
    left, right = s[first], e[last]
    if dense:
        left, right = _fill_bins(left, right, alone[first], start + bin_number[first] * bin_width, bin_width, end)
    used = np.add.reduceat(e - s, first)
    one_op = np.minimum.reduceat(op, first) == np.maximum.reduceat(op, first)
    one_tile = np.minimum.reduceat(tile, first) == np.maximum.reduceat(tile, first)
    return Rects(
        left,
        right,
        np.where(one_tile, tile[first], -1),
        np.where(one_op, op[first], -1),
        line[first],
        last - first + 1,
        np.minimum(1.0, used / (right - left)),
    )


def _fill_bins(left, right, alone, bin_start, bin_width, end):
    """Stretches every group that is not alone over its bin, as far as its neighbours leave room."""
    room = np.append(left[1:], end)
    wide = np.where(alone, right, np.maximum(right, np.minimum(bin_start + bin_width, room)))
    taken = np.append(-np.inf, wide[:-1])
    return np.where(alone, left, np.minimum(left, np.maximum(bin_start, taken))), wide


def busy_share(lane: Lane, start: float, end: float) -> float:
    s, e = data.disjoint(lane.events)
    used = np.clip(np.minimum(e, end) - np.maximum(s, start), 0, None).sum()
    return float(used / (end - start)) if end > start else 0.0
