"""What lies where in on-chip memory over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.collections import PolyCollection

from . import data, style, text
from .picture import Picture, new_figure

_CAPACITY = {
    "UB": ("ub_bytes",),
    "L1": ("l1_bytes",),
    "L0A": ("l0a_bytes",),
    "L0B": ("l0b_bytes",),
    "L0C": ("l0c_bytes",),
    "BT": ("bt_bytes",),
    "FB": ("fb_bytes",),
}


@dataclass(frozen=True)
class Buffer:
    name: str
    slot: int
    addr: int
    bytes: int
    alone: bool = True  # the only slot of its name

    @property
    def label(self) -> str:
        return self.name if self.alone else f"{self.name} {self.slot}"


@dataclass(frozen=True)
class Life:
    buffer: Buffer
    start: float  # ns
    end: float
    turn: int  # number among the lives of its queue: tile 0, 1, 2, …; -1: held all the time


def _memory_name(mem) -> str:
    return data.MEMORIES[mem] if isinstance(mem, (int, np.integer)) else str(mem)


def buffers_of(run, core: int, mem: str = "UB") -> dict[int, Buffer]:
    """The buffers of one core in this memory, by the number that run.marks uses.

    A run lists the buffers of its first core of each kind; the others lay out their memory in the same way.
    """
    every = list(getattr(run, "buffers", None) or [])
    owners = {b.get("core", core) for b in every}
    kinds = {c.core: c.kind for c in data.cores(run)}
    like = core if core in owners else min((c for c in owners if kinds.get(c) == kinds.get(core)), default=core)
    listed = [b for b in every if b.get("core", core) == like]
    slots = {}
    for b in listed:
        slots.setdefault(b["name"], set()).add(b["slot"])
    return {
        i: Buffer(b["name"] or "buffer", int(b["slot"]), int(b["addr"]), int(b["bytes"]), len(slots[b["name"]]) == 1)
        for i, b in enumerate(listed)
        if _memory_name(b["mem"]) == mem
    }


def lives(run, core: int, mem: str = "UB") -> list[Life]:
    """From AllocTensor to FreeTensor for every buffer of a queue; the whole run for a buffer that is never freed."""
    known, end = buffers_of(run, core, mem), data.span_ns(run)
    open_at, out, marked, turn = {}, [], set(), {}
    mine = [m for m in getattr(run, "marks", None) or [] if m[0] == core and m[1] in known]
    for _, b, alloc, ns in sorted(mine, key=lambda m: (m[3], m[2])):
        marked.add(b)
        if alloc:
            name = known[b].name
            if b in open_at:  # never freed: it ends where the next one starts
                out.append(Life(known[b], float(open_at[b][0]), float(ns), open_at[b][1]))
            open_at[b] = ns, turn.get(name, 0)
            turn[name] = turn.get(name, 0) + 1
        elif b in open_at:
            out.append(Life(known[b], float(open_at[b][0]), float(ns), open_at.pop(b)[1]))
    out += [Life(known[b], float(ns), end, number) for b, (ns, number) in open_at.items()]
    out += [Life(known[b], 0.0, end, -1) for b in known if b not in marked]
    return sorted(out, key=lambda x: (x.start, x.buffer.addr))


def peak_bytes(found: list[Life]) -> int:
    """The most bytes held at one moment."""
    steps = sorted([(x.start, 1, x.buffer.bytes) for x in found] + [(x.end, 0, -x.buffer.bytes) for x in found])
    now = most = 0
    for _, _, change in steps:
        now += change
        most = max(most, now)
    return most


def reserved_bytes(known) -> int:
    """Bytes under at least one buffer."""
    total = reach = 0
    for b in sorted(known, key=lambda b: b.addr):
        total += max(0, b.addr + b.bytes - max(reach, b.addr))
        reach = max(reach, b.addr + b.bytes)
    return total


def colours(names) -> dict[str, str]:
    """One colour per buffer name, in order of first use."""
    return {n: style.SERIES[i % (len(style.SERIES) - 1)] for i, n in enumerate(dict.fromkeys(names))}


@style.styled
def ub_map(run, *, block: int | None = None, mem: str = "UB", start=None, end=None, width=style.WIDTH) -> Picture:
    """Address over time: one rectangle from AllocTensor to FreeTensor, pale where a buffer is reserved but not in use.

    block: which block (default: the first). mem: "UB", "L1", "L0A", … start, end: range in us.
    """
    everyone = data.cores(run)
    kind = "AIV" if mem == "UB" else "AIC"
    able = [c for c in everyone if c.kind == kind] or everyone
    core = next((c.core for c in able if block is None or c.block == block), None)
    if core is None and block is not None:
        raise ValueError(
            f"Block {block} is not part of this run: it has blocks 0 to {max((c.block for c in able), default=0)}."
        )
    known = buffers_of(run, core, mem) if core is not None else {}
    found = lives(run, core, mem) if core is not None else []
    need = max((b.addr + b.bytes for b in known.values()), default=0)
    capacity = int(data.chip_number(run, *_CAPACITY.get(mem, ()), default=need or 1024))
    lo = 0.0 if start is None else float(start)
    hi = (data.span_ns(run) / 1e3 or 1.0) if end is None else float(end)

    height = 4.0
    figure = new_figure(width, height)
    left, right, top, bottom = 0.75, 1.75, 0.45, 0.52
    inner, tall = width - left - right, height - top - bottom
    ax = figure.add_axes((left / width, bottom / height, inner / width, tall / height))
    _draw_lives(ax, known, found, lo, hi, (hi - lo) / (inner * style.SCALE), capacity / (tall * style.SCALE))
    held, peak = reserved_bytes(known.values()), peak_bytes(found)
    _draw_capacity(ax, mem, capacity, need, known, lo, hi)
    ax.set_xlim(lo, hi)
    ax.set_ylim(0, max(capacity, need) * 1.06 / 1024)
    ax.set_xlabel("time in us after the kernel body starts")
    ax.set_ylabel(f"byte address in {mem}, KB")
    block_name = next((f", block {c.block}" for c in everyone if c.core == core and len(everyone) > 1), "")
    ax.set_title(data.title(run, f"{mem} map{block_name}"), x=-left / inner + 0.01, pad=8)
    alt = (
        f"{data.title(run, f'{mem} map{block_name}')}. x: {lo:.2f} to {hi:.2f} us, y: byte address in KB. "
        f"{text.count(len(known), 'buffer')}, reserved {text.size(held)} of {text.size(capacity)}, "
        f"free {text.size(max(0, capacity - held))}. "
        f"Notice: at most {text.size(peak)} are in use at one time."
    )
    return Picture(
        figure, alt, {"lives": found, "capacity": capacity, "reserved": held, "peak": peak, "free": capacity - held}
    )


def _draw_lives(ax, known, found, lo, hi, us_per_px, bytes_per_px):
    paint = colours(b.name for b in sorted(known.values(), key=lambda b: (b.addr, b.slot)))
    last_label = -1e9
    for b in sorted(known.values(), key=lambda b: b.addr):
        y, h = b.addr / 1024, b.bytes / 1024
        ax.fill_between([lo, hi], y, y + h, color=style.tint(paint[b.name], 0.82), linewidth=0)
        ax.plot([lo, hi], [y + h] * 2, color=style.PAPER, linewidth=0.8)
        middle = (b.addr + b.bytes / 2) / bytes_per_px
        if middle - last_label >= 11:
            ax.annotate(
                f"{b.label}, {text.size(b.bytes)}",
                (1, y + h / 2),
                xycoords=("axes fraction", "data"),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                annotation_clip=False,
            )
            last_label = middle
    boxes, fills, edges = [], [], []
    written, reached = 0, {}
    for x in found:
        a, z = max(x.start / 1e3, lo), min(x.end / 1e3, hi)
        if z <= a or z - reached.get(x.buffer, lo - us_per_px) < us_per_px:  # no pixel of its own
            continue
        reached[x.buffer] = z
        y0, y1 = x.buffer.addr / 1024, (x.buffer.addr + x.buffer.bytes) / 1024
        colour = paint[x.buffer.name]
        fill = colour if x.buffer.slot % 2 == 0 else style.tint(colour, 0.35)
        boxes.append([(a, y0), (a, y1), (z, y1), (z, y0)])
        fills.append(fill)
        edges.append(style.PAPER if z - a > 4 * us_per_px else fill)
        if x.turn >= 0 and z - a > 26 * us_per_px and x.buffer.bytes > 11 * bytes_per_px and written < 300:
            ax.text(
                (a + z) / 2,
                (y0 + y1) / 2,
                f"#{x.turn}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=style.ink_on(fill),
            )
            written += 1
    if boxes:
        ax.add_collection(PolyCollection(boxes, facecolors=fills, edgecolors=edges, linewidths=0.6))
    elif not known:
        ax.text(
            0.5, 0.5, "no buffer in this memory", transform=ax.transAxes, ha="center", va="center", color=style.SOFT
        )


def _draw_capacity(ax, mem, capacity, need, known, lo, hi):
    ax.axhline(capacity / 1024, color=style.INK, linestyle=(0, (4, 2)), linewidth=1.2)
    ax.annotate(
        f"{mem} ends: {text.size(capacity)}",
        (1, capacity / 1024),
        xycoords=("axes fraction", "data"),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        fontweight="bold",
        annotation_clip=False,
    )
    free = capacity - need
    if free > 0.06 * capacity:
        ax.text(
            (lo + hi) / 2,
            (need + free / 2) / 1024,
            f"free: {text.size(free)}",
            ha="center",
            va="center",
            color=style.SOFT,
        )
    ax.yaxis.set_major_locator(powers(max(capacity, need)))


def powers(top: int):
    """Ticks at whole multiples of a power of two KB: addresses are read that way."""
    from matplotlib.ticker import MultipleLocator

    step = 1.0 / 32
    while top / 1024 / step > 8:
        step *= 2
    return MultipleLocator(step)
