"""The timeline: what every pipe did when. One lane per pipe, grouped by block, time in us."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.transforms import blended_transform_factory

from . import data, style, text
from .lanes import Rects, busy_share, choose_cores, lanes, merge
from .picture import Picture, new_figure, require
from .pipe_table import PACE

_LANE_INCH, _GAP = 0.27, 0.45  # height of a lane; space between blocks, in lanes
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.45, 0.62, 0.40, 0.52  # margins in inches
_MAX_HEIGHT = 13.0


def _window(run, start, end) -> tuple[float, float]:
    """The shown range in us."""
    whole = data.span_ns(run) / 1e3
    lo = 0.0 if start is None else float(start)
    hi = (whole if whole > 0 else 1.0) if end is None else float(end)
    if not hi > lo:
        raise ValueError(
            f"The range {lo:g} to {hi:g} us shows nothing: end must lie after start. The run takes {whole:.2f} us."
        )
    return lo, hi


class _Rows:
    """The lanes of one run with the height at which each is drawn."""

    def __init__(self, run, blocks, pipes, flags):
        self.run = run
        self.chosen = choose_cores(run, blocks)
        self.lanes = lanes(run, self.chosen, pipes, flags)
        self.y, y, before = [], 0.0, None
        for lane in self.lanes:
            if before is not None and lane.info.core != before:
                y += _GAP
            self.y.append(y)
            y, before = y + 1, lane.info.core
        self.units = max(y, 1.0)


def _draw(ax, rows: _Rows, lo: float, hi: float, pixels: float, lane_pixels: float, labels: bool) -> list[Rects]:
    run, t0, t1 = rows.run, lo * 1e3, hi * 1e3
    both = len({c.kind for c in data.cores(run)}) > 1
    per_px = (t1 - t0) / pixels
    ends = min(t1, max((c.end_ns for c in rows.chosen), default=t1))  # shares count to the end of this run
    drawn, boxes, fills, edges = [], [], [], []
    margin = blended_transform_factory(ax.transAxes, ax.transData)
    for lane, y in zip(rows.lanes, rows.y):
        r = merge(lane, t0, t1, pixels)
        drawn.append(r)
        if not len(r):
            continue
        colour = style.PIPE_COLOURS[lane.pipe]
        # at least one pixel wide, never over the neighbour; the height shows how much of a merged stretch is in use
        reach = np.append(r.start[1:], max(t1, r.end[-1]))
        right = np.minimum(np.maximum(r.end, r.start + per_px), np.maximum(reach, r.end))
        height = np.maximum(0.08, 0.84 * r.share)
        bottom = np.full(len(r), y + 0.92)
        box = np.empty((len(r), 4, 2))
        box[:, 0, 0] = box[:, 1, 0] = r.start / 1e3
        box[:, 2, 0] = box[:, 3, 0] = right / 1e3
        box[:, 0, 1] = box[:, 3, 1] = bottom
        box[:, 1, 1] = box[:, 2, 1] = bottom - height
        boxes.append(box)
        tones = np.array([colour, style.tint(colour, 0.5), style.tint(colour, 0.2)])
        tone = tones[np.where(r.tile < 0, 2, r.tile % 2)]
        fills.append(tone)
        edges.append(np.where((r.share < 1) | (right - r.start < 4 * per_px), tone, style.PAPER))
        if labels and lane_pixels >= 13:
            _label(ax, run, lane, r, y, per_px, tones)
    if boxes:
        ax.add_collection(
            PolyCollection(
                np.concatenate(boxes),
                facecolors=np.concatenate(fills),
                edgecolors=np.concatenate(edges),
                linewidths=0.4,
            )
        )
    size = max(5.0, min(8.5, lane_pixels * 0.45))
    shown = None
    for lane, y in zip(rows.lanes, rows.y):
        ax.plot([lo, hi], [y + 0.96] * 2, color=style.FAINT, linewidth=0.6, zorder=0)
        if lane_pixels >= 7:
            role = f" {style.PIPE_ROLES[lane.pipe]}" if lane_pixels >= 13 else ""
            ax.text(-0.008, y + 0.52, f"{lane.pipe}{role}", transform=margin, ha="right", va="center", fontsize=size)
            ax.text(
                1.008,
                y + 0.52,
                text.percent(busy_share(lane, t0, ends)),
                transform=margin,
                ha="left",
                va="center",
                fontsize=size,
                color=style.SOFT,
            )
        if lane.info.core != shown and (lane_pixels >= 7 or len(rows.chosen) <= 60):
            label = data.core_label(lane.info, both)
            ax.annotate(
                label if lane_pixels >= 13 else label.replace("\n", " "),
                (0, y + 0.04),
                xycoords=margin,
                xytext=(-_LEFT * 72 + 4, 0),
                textcoords="offset points",
                ha="left",
                va="top",
                fontsize=max(size, 6),
                fontweight="bold",
                color=style.INK,
            )
            shown = lane.info.core
    if not rows.lanes:
        ax.text(
            0.5, 0.5, "no instruction in this run", transform=ax.transAxes, ha="center", va="center", color=style.SOFT
        )
    ax.set_xlim(lo, hi)
    ax.set_ylim(rows.units, 0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")
    return drawn


def _label(ax, run, lane, r, y, per_px, tones):
    """Name of the instruction with its tile, or the tile alone, where the rectangle is wide enough."""
    wide = np.flatnonzero((r.count == 1) & (r.share == 1) & (r.end - r.start >= 16 * per_px))
    for i in wide[:400]:
        room = (r.end[i] - r.start[i]) / per_px - 6
        name, tile = data.op_name(run, int(r.op[i])), f"#{r.tile[i]}"
        words = next((w for w in (f"{name} {tile}", name, tile) if 6.2 * len(w) <= room), "")
        if words:
            ax.text(
                (r.start[i] + r.end[i]) / 2e3,
                y + 0.52,
                words,
                ha="center",
                va="center",
                fontsize=7,
                color=style.ink_on(str(tones[r.tile[i] % 2])),
                clip_on=True,
            )


def _notice(rows: _Rows, lo: float, hi: float) -> str:
    """One sentence about what the shown lanes say."""
    hi = min(hi, max((c.end_ns / 1e3 for c in rows.chosen), default=hi))
    if not rows.lanes:
        return "Nothing ran on any pipe."
    share = {}
    for lane in rows.lanes:
        share.setdefault(lane.pipe, []).append(busy_share(lane, lo * 1e3, hi * 1e3))
    mean = {p: sum(v) / len(v) for p, v in share.items()}
    top = max(mean, key=mean.get)
    if mean[top] >= PACE:
        return f"{top} is busy {text.percent(mean[top])} of the time: it sets the pace."
    return (
        f"No pipe is busy all the time; {top} comes closest with {text.percent(mean[top])}: "
        "the pipes wait for each other."
    )


def _heading(rows: _Rows) -> str:
    everyone = data.cores(rows.run)
    if len(rows.chosen) == len(everyone):
        return text.count(len(everyone), "core")
    return f"{len(rows.chosen)} of {text.count(len(everyone), 'core')} shown"


def _alt(rows: _Rows, label: str, lo: float, hi: float) -> str:
    run = rows.run
    pipes = ", ".join(p for p in data.FLOW if any(lane.pipe == p for lane in rows.lanes)) or "none"
    return (
        f"{data.title(run, label or 'timeline')}. x: {lo:.2f} to {hi:.2f} us, "
        f"y: one lane per pipe ({pipes}), {_heading(rows)}. "
        f"Notice: {_notice(rows, lo, hi)}"
    )


@style.styled
def timeline(
    run, start=None, end=None, *, blocks=None, pipes=None, flags=False, labels=True, width=style.WIDTH
) -> Picture:
    """What every pipe did when.

    start, end: range in us (default: the whole run). blocks: a block number, a list, or "all" (default: all when few,
    else the first two and the slowest). pipes: for example ["MTE2", "V"]. flags: also show SetFlag and WaitFlag.
    Dark and light alternate from tile to tile, #3 is tile 3; the shares at the right tell how busy a pipe is.
    """
    rows = _Rows(run, blocks, pipes, flags)
    return _stack([rows], [""], start, end, labels, width)


@style.styled
def timelines(
    runs: dict, start=None, end=None, *, blocks=0, pipes=None, flags=False, labels=True, width=style.WIDTH
) -> Picture:
    """Several runs under one another on one time axis, before and after a change: {"one buffer": run, …}."""
    require(runs, "runs")
    rows = [_Rows(run, blocks, pipes, flags) for run in runs.values()]
    if end is None:
        end = max((_window(r.run, None, None)[1] for r in rows), default=1.0)
    return _stack(rows, list(runs), start, end, labels, width)


def _stack(rows: list[_Rows], names: list[str], start, end, labels, width) -> Picture:
    lo, hi = _window(rows[0].run, start, end)
    between = 0.5
    units = sum(r.units for r in rows)
    spare = _TOP + _BOTTOM + between * (len(rows) - 1)
    lane = min(_LANE_INCH, (_MAX_HEIGHT - spare) / units)
    height = max(1.5, spare + lane * units)
    figure = new_figure(width, height)
    inner = width - _LEFT - _RIGHT
    top, drawn = height - _TOP, []
    for number, (r, label) in enumerate(zip(rows, names)):
        tall = lane * r.units if len(rows) > 1 else height - _TOP - _BOTTOM
        ax = figure.add_axes((_LEFT / width, (top - tall) / height, inner / width, tall / height))
        drawn.append(_draw(ax, r, lo, hi, inner * style.SCALE, lane * style.SCALE, labels))
        words = data.title(r.run, label or "timeline")
        ax.set_title(words, x=-_LEFT / inner + 0.005, pad=8)
        ax.text(
            1 + _RIGHT / inner - 0.01,
            1,
            "busy",
            transform=ax.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            color=style.SOFT,
        )
        note = f"{_heading(r)}" + (
            f"; launch adds {text.us(data.launch_us(r.run))}" if data.launch_us(r.run) > 0 else ""
        )
        ax.text(1, 1, note + "   ", transform=ax.transAxes, ha="right", va="bottom", fontsize=8, color=style.SOFT)
        last = number == len(rows) - 1
        ax.tick_params(axis="x", labelbottom=last)
        if last:
            crowded = any(len(d) and d.share.min() < 1 for ds in drawn for d in ds)
            note = "dark, light: even, odd tile" + ("; height: share in use, where too narrow" if crowded else "")
            ax.set_xlabel(f"time in us after the kernel body starts   ({note})")
        top -= tall + between
    alt = " ".join(_alt(r, label, lo, hi) for r, label in zip(rows, names))
    found = [{"lane": (ln.info.core, ln.pipe), "rects": d} for r, ds in zip(rows, drawn) for ln, d in zip(r.lanes, ds)]
    return Picture(figure, alt, found)
