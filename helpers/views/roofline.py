"""The roofline: what bytes and arithmetic allow at most, and where a kernel stands under that roof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import data, style, text
from .bars import plain_log
from .picture import Picture, new_figure


_HOLLOW = 0.95  # below this share of HBM in the GM bytes a second, hollow point tells them apart


@dataclass(frozen=True)
class Point:
    name: str
    ops: float
    gm_bytes: float
    hbm_bytes: float
    time_us: float

    @property
    def gops(self) -> float:
        return self.ops / self.time_us / 1e3 if self.time_us > 0 else 0.0

    def intensity(self, of: float | None = None) -> float:
        """Operations per byte."""
        moved = self.gm_bytes if of is None else of
        return self.ops / moved if moved > 0 else 0.0


@dataclass(frozen=True)
class Roofs:
    """Gop/s and GB/s of the whole chip."""

    hbm: float | None
    l2: float | None
    flat: dict[str, float]

    def at(self, intensity: float, bandwidth: float | None = None) -> float:
        """The most Gop/s at this intensity."""
        top = max(self.flat.values(), default=float("inf"))
        slope = bandwidth or self.hbm
        return min(top, intensity * slope) if slope else top


def operations(run) -> float:
    """Arithmetic of a run: one operation per element of a vector instruction, two per multiply-add of the cube."""
    known = data.totals(run)
    vector = known.get("vector_elements")
    if vector is None:
        ev = data.events(run)
        vector = float(ev["elements"][ev["pipe"] == data.PIPES.index("V")].sum())
    return float(vector) + 2.0 * float(known.get("cube_macs", 0))


def point(run, name: str = "", ops: float | None = None) -> Point:
    known = data.totals(run)
    moved = float(known.get("gm_read_bytes", 0)) + float(known.get("gm_write_bytes", 0))
    return Point(
        name or data.name(run),
        operations(run) if ops is None else float(ops),
        moved,
        float(known.get("hbm_bytes", moved)),
        float(getattr(run, "time_us", 0) or 0),
    )


def roofs(run) -> Roofs:
    clock, cores = data.chip_number(run, "clock_ghz"), data.chip_number(run, "aiv_cores")
    flat = {}
    if clock and cores:
        for name, lanes in (("vector, half", 128), ("vector, float", 64)):
            flat[name] = cores * lanes * clock
    cube = data.chip_number(run, "fp16_tflops")
    if cube and (data.events(run)["pipe"] == data.PIPES.index("M")).any():
        flat["cube, half"] = cube * 1e3
    return Roofs(data.chip_number(run, "hbm_gbps"), data.chip_number(run, "l2_read_gbps"), flat)


@style.styled
def roofline(run, *, ops: float | None = None, width: float = 7.5) -> Picture:
    """Operations per byte of GM traffic against Gop/s, under the roofs of the chip. Log axes.

    run: a Run, or several as {"v1": run, "v2": run}. ops: arithmetic of the kernel, when one operation per element of
    every vector instruction is not what you want to count. A hollow point counts only the bytes that reached HBM.
    """
    runs = run if isinstance(run, dict) else {"": run}
    first = next(iter(runs.values()))
    limits = roofs(first)
    points = [point(r, n, ops) for n, r in runs.items()]
    placed = [p for p in points if p.ops > 0 and p.gm_bytes > 0 and p.gops > 0]
    height = 4.4
    figure = new_figure(width, height)
    left, right, top, bottom = 0.8, 0.25, 0.45, 0.55
    ax = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )
    xs, ys = _limits(placed, limits)
    _draw_roofs(ax, limits, xs, ys)
    for i, p in enumerate(placed):
        _draw_point(ax, p, limits, i, len(placed) > 1, data.origin(first))
    if len(placed) > 1:
        ax.legend(loc="lower right", frameon=True, edgecolor=style.FAINT)
    for i, p in enumerate([p for p in points if p not in placed]):
        rate = p.gm_bytes / p.time_us / 1e3 if p.time_us > 0 else 0.0
        ax.text(
            0.02,
            0.96 - 0.06 * i,
            f"{p.name}: no vector arithmetic, so no point; it moves {text.digits(rate, 3)} GB/s",
            transform=ax.transAxes,
            va="top",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*xs)
    ax.set_ylim(*ys)
    plain_log(ax.xaxis)
    plain_log(ax.yaxis)
    ax.grid()
    hollow = any(0 < p.hbm_bytes < _HOLLOW * p.gm_bytes for p in placed)
    ax.set_xlabel("arithmetic intensity: operations per GM byte" + ("; hollow: per HBM byte" if hollow else ""))
    ax.set_ylabel("Gop/s")
    title = data.title(first, "roofline") if len(runs) == 1 else f"roofline, {data.origin(first)}"
    ax.set_title(title, x=-left / (width - left - right) + 0.01, pad=8)
    return Picture(figure, _alt(title, points, limits), {"points": points, "roofs": limits})


def _limits(placed, limits) -> tuple[tuple[float, float], tuple[float, float]]:
    """Whole powers of ten that hold the points and the ridge."""
    top = max(limits.flat.values(), default=1e4)
    ridge = top / limits.hbm if limits.hbm else 10.0
    x = [p.intensity() for p in placed] + [p.intensity(p.hbm_bytes) for p in placed if p.hbm_bytes > 0] + [ridge, 0.1]
    y = [p.gops for p in placed] + [top, 100.0]
    return (
        (10 ** np.floor(np.log10(min(x) / 1.5)), 10 ** np.ceil(np.log10(max(x) * 3))),
        (10 ** np.floor(np.log10(min(y) / 1.2)), 10 ** np.ceil(np.log10(max(y) * 1.3))),
    )


def _draw_roofs(ax, limits: Roofs, xs, ys):
    x = np.geomspace(*xs, 400)
    top = max(limits.flat.values(), default=ys[1])
    for name, rate, dash in (("L2 read", limits.l2, (0, (5, 2))), ("HBM", limits.hbm, "solid")):
        if not rate:
            continue
        ax.plot(
            x[x * rate <= top * 1.0001],
            (x * rate)[x * rate <= top * 1.0001],
            color=style.INK,
            linestyle=dash,
            linewidth=1.4,
        )
        at = max(xs[0] * 1.15, ys[0] / rate * 1.15)
        across, up = np.log10(xs[1] / xs[0]), np.log10(ys[1] / ys[0])
        box = ax.get_window_extent()
        angle = np.degrees(np.arctan2(box.height / up, box.width / across))
        ax.text(
            at,
            at * rate * 1.12,
            f"{name} {text.digits(rate, 4)} GB/s",
            rotation=angle,
            rotation_mode="anchor",
            fontsize=8,
            ha="left",
            va="bottom",
        )
    for name, peak in limits.flat.items():
        start = peak / (limits.l2 or limits.hbm or 1.0)
        ax.plot([start, xs[1]], [peak, peak], color=style.INK, linewidth=1.4 if peak == top else 0.9)
        ax.text(xs[1] / 1.08, peak * 1.06, f"{name} {peak:,.0f} Gop/s", ha="right", va="bottom", fontsize=8)


def _draw_point(ax, p: Point, limits: Roofs, i: int, several: bool, origin: str):
    colour, marker = style.SERIES[i % len(style.SERIES)], style.MARKERS[i % len(style.MARKERS)]
    x, roof = p.intensity(), limits.at(p.intensity())
    if not several and roof > p.gops:
        ax.plot([x, x], [p.gops, roof], color=colour, linewidth=1, linestyle=":")
    words = f"{p.name}: {text.digits(p.gops, 2)} Gop/s"
    if not several:
        words = f"{origin}: {text.digits(p.gops, 2)} Gop/s\n{text.digits(x, 2)} op/B, {_under(p, limits)}"
    ax.plot([x], [p.gops], label=words, marker=marker, color=colour, markersize=8, linestyle="none", zorder=5)
    h = p.intensity(p.hbm_bytes) if 0 < p.hbm_bytes < _HOLLOW * p.gm_bytes else 0.0
    if not several:
        box = dict(boxstyle="round,pad=0.15", facecolor=style.PAPER, edgecolor="none", alpha=0.85)
        ax.annotate(
            words,
            (max(x, h), p.gops),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            zorder=3,
            bbox=box,
        )
    if h:
        ax.plot(
            [h],
            [p.gops],
            marker=marker,
            markerfacecolor=style.PAPER,
            markeredgecolor=colour,
            markersize=7,
            linestyle="none",
            zorder=4,
        )


def _under(p: Point, limits: Roofs) -> str:
    share = p.gops / limits.at(p.intensity())
    return f"{text.percent(share)} of the HBM roof" if share <= 1 else "above the HBM roof, so L2 serves part of it"


def _alt(title: str, points: list[Point], limits: Roofs) -> str:
    said = []
    for p in points:
        if p.ops > 0 and p.gm_bytes > 0:
            top = max(limits.flat.values(), default=0)
            ridge = (
                f", right of the ridge at {text.digits(top / limits.hbm)}"
                if limits.hbm and top and p.intensity() > top / limits.hbm
                else ""
            )
            side = "arithmetic sets the limit" if ridge else "bytes set the limit"
            said.append(
                f"{p.name}: {text.digits(p.intensity())} op/B, {text.digits(p.gops)} Gop/s, "
                f"{_under(p, limits)}{ridge}; {side}"
            )
        else:
            said.append(f"{p.name}: no vector arithmetic")
    peak = ", ".join(f"{n} {v:,.0f} Gop/s" for n, v in limits.flat.items())
    return (
        f"{title}. x: operations per GM byte, y: Gop/s, log axes. "
        f"Roofs: HBM {text.digits(limits.hbm or 0, 4)} GB/s, {peak}. Notice: {'. '.join(said)}."
    )
