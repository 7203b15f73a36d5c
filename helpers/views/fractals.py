"""Where the elements of a matrix lie: colour grids of ND, NZ, ZZ and ZN, with the fractals as squares."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap

from . import style
from .picture import Picture, new_figure

LAYOUTS = {
    "ND": "row after row",
    "NZ": "columns of fractals (L1)",
    "ZZ": "rows of fractals (L0A)",
    "ZN": "rows of turned fractals (L0B)",
}


def layout_index(layout: str, rows: int, cols: int, itemsize: int = 2) -> np.ndarray:
    """Place in memory of each element of a rows x cols matrix. Sides are padded to whole fractals: 16 rows of 32 B, ZN 32 B by 16."""
    if layout not in LAYOUTS:
        raise ValueError(f"There is no layout {layout!r}; there are {', '.join(LAYOUTS)}.")
    if rows < 1 or cols < 1 or itemsize not in (1, 2, 4):
        raise ValueError(f"{rows} x {cols} elements of {itemsize} B are no matrix in fractals: sides of at least 1, elements of 1, 2 or 4 B")
    c0 = 32 // itemsize
    r, c = np.arange(rows)[:, None], np.arange(cols)[None, :]
    if layout == "ND":
        return r * cols + c
    if layout == "NZ":
        return c // c0 * (-(-rows // 16) * 16 * c0) + r * c0 + c % c0
    if layout == "ZZ":
        return (r // 16 * -(-cols // c0) + c // c0) * 16 * c0 + r % 16 * c0 + c % c0
    return (r // c0 * -(-cols // 16) + c // 16) * 16 * c0 + c % 16 * c0 + r % c0


@style.styled
def fractals(rows: int, cols: int, itemsize: int = 2, *, layouts=("ND", "NZ", "ZZ"), mark=None, until: int | None = None, width=style.WIDTH) -> Picture:
    """The matrix once per layout. Dark elements come late in memory; the line joins the fractals in their order.

    mark: (row, column) of one element, framed, with its place in memory. until: only the elements before this place are coloured.
    """
    layout_index("ND", rows, cols, itemsize)          # refuses what is no matrix
    side = width / len(layouts) - 0.5
    bottom = 0.48 if mark else 0.3
    height = side * rows / cols + bottom + 0.62
    figure = new_figure(width, height)
    ramp = LinearSegmentedColormap.from_list("memory", [style.tint(style.SERIES[0], 0.92), style.SERIES[0], style.mix(style.SERIES[0], style.INK, 0.65)])
    says = []
    for i, layout in enumerate(layouts):
        index = layout_index(layout, rows, cols, itemsize)
        ax = figure.add_axes(((0.36 + i * width / len(layouts)) / width, bottom / height, side / width, side * rows / cols / height))
        shown = np.ma.masked_where(index >= (index.max() + 1 if until is None else until), index)
        ax.imshow(shown, cmap=ramp, vmin=0, vmax=index.max(), interpolation="nearest", aspect="auto", extent=(0, cols, rows, 0))
        ax.set_xlim(0, cols)
        ax.set_ylim(rows, 0)
        high, wide = (16, 32 // itemsize) if layout != "ZN" else (32 // itemsize, 16)
        if layout != "ND":
            _borders(ax, rows, cols, high, wide)
            _path(ax, layout, rows, cols, high, wide)
        ax.set_xticks(range(0, cols + 1, 8))
        ax.set_yticks(range(0, rows + 1, 8))
        ax.tick_params(length=2)
        ax.set_title(f"{layout}: {LAYOUTS[layout]}", fontsize=8.5)
        text = f"{layout} {LAYOUTS[layout]}"
        if mark:
            r, c = mark
            ax.add_patch(_frame(c, r))
            place = f"element ({r}, {c}) at {index[r, c]:,}"
            ax.set_xlabel(place)
            text += f", {place}"
        says.append(text)
    size = f"{rows} x {cols} elements of {itemsize} B"
    figure.text(0.012, 1 - 0.06 / height, f"{size}: the darker, the later in memory" + ("" if until is None else f"; the first {until} elements"), va="top", weight="bold", fontsize=10.5)
    return Picture(figure, f"{size} in {len(layouts)} layouts: " + "; ".join(says) + ".", {name: layout_index(name, rows, cols, itemsize) for name in layouts})


def _frame(c: int, r: int):
    from matplotlib.patches import Rectangle
    return Rectangle((c, r), 1, 1, fill=False, edgecolor=style.ALARM, linewidth=1.8, zorder=5)


def _borders(ax, rows: int, cols: int, high: int, wide: int) -> None:
    lines = [[(0, r), (cols, r)] for r in range(high, rows, high)] + [[(c, 0), (c, rows)] for c in range(wide, cols, wide)]
    ax.add_collection(LineCollection(lines, colors=style.PAPER, linewidths=2.2))


def _path(ax, layout: str, rows: int, cols: int, high: int, wide: int) -> None:
    """A line from fractal to fractal in the order of memory."""
    down, across = range(0, rows, high), range(0, cols, wide)
    order = [(r, c) for c in across for r in down] if layout == "NZ" else [(r, c) for r in down for c in across]
    x, y = [(c + min(c + wide, cols)) / 2 for _, c in order], [(r + min(r + high, rows)) / 2 for r, _ in order]
    if len(order) > 1:
        ax.plot(x, y, color=style.SERIES[1], linewidth=1.5, marker="o", markersize=3.5, clip_on=False)
    ax.plot(x[:1], y[:1], color=style.SERIES[1], marker="s", markersize=7, clip_on=False)
