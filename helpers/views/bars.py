"""A ladder of versions as bars: estimate beside published time, on a log axis because the steps differ by thousands."""

from __future__ import annotations

import math

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from . import style, text
from .picture import Picture, new_figure


@style.styled
def bars(rows, *, title: str = "", chip: str = "", source: str = "", unit: str = "us", width=style.WIDTH) -> Picture:
    """rows: [(name, estimate, published), …]; None where a number is not known (yet): the bar stays empty.

    chip names the estimate, source the published numbers: a number without its origin says nothing.
    """
    rows = [(str(n), e, p) for n, e, p in rows]
    values = [v for _, e, p in rows for v in (e, p) if v is not None and v > 0]
    with_published = any(p is not None for _, _, p in rows)
    height = 1.30 + (0.52 if with_published else 0.36) * len(rows)
    figure = new_figure(width, height)
    names = max((len(n) for n, _, _ in rows), default=4)
    left = min(3.4, 0.35 + 0.075 * names)
    ax = figure.add_axes((left / width, 0.62 / height, (width - left - 1.0) / width, (height - 1.30) / height))
    low = 10 ** _floor(min(values, default=1.0) / 1.5)
    high = max(values, default=10.0) * 1.2
    kinds = [("estimate", 1, style.SERIES[0], None)] + (
        [("published", 2, style.SERIES[1], "////")] if with_published else []
    )
    thick = 0.8 / len(kinds)
    heading = f"{title or 'Ladder of versions'}: estimate{f' ({chip})' if chip else ''}" + (
        " and published time" if with_published else ""
    )
    for k, (kind, column, colour, hatch) in enumerate(kinds):
        origin = {"estimate": "estimate", "published": f"published ({source})" if source else "published"}[kind]
        for i, row in enumerate(rows):
            y, v = i - 0.4 + thick * (k + 0.5), row[column]
            if v is None:
                ax.text(low * 1.05, y, "?", va="center", color=style.SOFT)
                continue
            ax.barh(
                y,
                v - low,
                left=low,
                height=thick * 0.92,
                color=colour if hatch is None else style.tint(colour, 0.35),
                hatch=hatch,
                edgecolor=style.PAPER if hatch is None else style.mix(colour, style.INK, 0.25),
                linewidth=0.5,
            )
            ax.annotate(_value(v, unit), (v, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        ax.barh(
            0,
            0,
            left=low,
            color=colour if hatch is None else style.tint(colour, 0.35),
            hatch=hatch,
            edgecolor=style.PAPER if hatch is None else style.mix(colour, style.INK, 0.25),
            label=origin,
        )
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)), [n for n, _, _ in rows])
    ax.tick_params(axis="y", length=0)
    plain_log(ax.xaxis)
    if not values:
        ax.set_xticks([])
    ax.grid(axis="x")
    ax.set_xlabel(f"time in {unit}, log axis: a shorter bar is faster")
    ax.set_title(heading, x=-(left - 0.05) / (width - left - 1.0), pad=26)
    figure.legend(loc="upper left", bbox_to_anchor=(0.004, 1 - 0.42 / height), ncols=2, borderaxespad=0)
    says = "; ".join(
        f"{n}: estimate {_value(e, unit)}" + (f", published {_value(p, unit)}" if with_published else "")
        for n, e, p in rows
    )
    return Picture(figure, f"{heading}. x: time in {unit}, log axis. {says}.", rows)


def _value(v, unit: str) -> str:
    return "not known" if v is None else f"{v:,.0f} {unit}" if v >= 1e4 else f"{text.digits(v, 4)} {unit}"


def _floor(x: float) -> int:
    return math.floor(math.log10(x))


def plain_log(axis, steps=(1.0,)) -> None:
    """Powers of ten written out: 1,000 instead of 10^3. steps=(1, 2, 5) for a short axis."""
    axis.set_major_locator(LogLocator(10, subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 else f"{v:g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
