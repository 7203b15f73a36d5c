"""The graph of a network: operators as boxes, tensors as arrows, our kernels in colour."""
from __future__ import annotations

from matplotlib.patches import FancyBboxPatch

from . import style
from .picture import Picture, new_figure

_BOX = (1.5, 0.42)          # inches
_STEP = (1.72, 0.72)
_LEFT = 0.7                 # beside a network, for arrows that pass several rows


@style.styled
def graphs(named: dict, *, title: str) -> Picture:
    """named: {"before": [(node, inputs, fused), …], "after": …}: nodes in an order in which inputs come first."""
    placed = {name: _places(nodes) for name, nodes in named.items()}
    widths = {name: 1 + max(x for x, _ in p.values()) for name, p in placed.items()}
    rows = 1 + max(y for p in placed.values() for _, y in p.values())
    width = sum(widths.values()) * _STEP[0] + _LEFT * len(named)
    height = rows * _STEP[1] + 0.85
    figure = new_figure(width, height)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.axis("off")
    figure.text(0.1 / width, 1 - 0.1 / height, title, va="top", fontsize=10.5, fontweight="bold")
    left = _LEFT
    for name, nodes in named.items():
        _draw(ax, name, nodes, placed[name], left, height - 0.85)
        left += widths[name] * _STEP[0] + _LEFT
    says = [f"{name}: {len(nodes)} nodes, {', '.join(n for n, _, _ in nodes)}; in colour {', '.join(n for n, _, f in nodes if f) or 'none'}"
            for name, nodes in named.items()]
    return Picture(figure, f"{title}. {'. '.join(says)}.", named)


def _places(nodes) -> dict[str, tuple[int, int]]:
    """Column and row of every node: below all its inputs, side by side with others of that row."""
    found: dict[str, tuple[int, int]] = {}
    used: dict[int, int] = {}
    for name, inputs, _ in nodes:
        row = 1 + max((found[i][1] for i in inputs if i in found), default=-1)
        found[name] = used.get(row, 0), row
        used[row] = used.get(row, 0) + 1
    return found


def _draw(ax, name, nodes, places, left, top) -> None:
    ax.text(left, top + 0.3, name, fontsize=9, color=style.SOFT)
    centre = {n: (left + x * _STEP[0] + _BOX[0] / 2, top - y * _STEP[1] - _BOX[1] / 2) for n, (x, y) in places.items()}
    for node, inputs, _ in nodes:
        x, y = centre[node]
        for i in inputs:
            if i in centre:
                a, b = centre[i]
                start, end, bend = (a, b - _BOX[1] / 2), (x, y + _BOX[1] / 2), 0.0
                if places[node][1] - places[i][1] > 1:             # past the rows between: on the left, where nothing else is
                    if places[node][0] == places[i][0] == 0:
                        start, end, bend = (a - _BOX[0] / 2, b), (x - _BOX[0] / 2, y), min(0.35, 0.9 / (b - y))
                    else:
                        end = x + _BOX[0] / 2, y
                ax.annotate("", end, start, arrowprops=dict(arrowstyle="->", color=style.SOFT, linewidth=0.9, shrinkA=0, shrinkB=0,
                                                            connectionstyle=f"arc3,rad={bend}"))
    for node, _, fused in nodes:
        x, y = centre[node]
        colour = style.SERIES[1] if fused else style.FAINT
        ax.add_patch(FancyBboxPatch((x - _BOX[0] / 2, y - _BOX[1] / 2), *_BOX, boxstyle="round,pad=0,rounding_size=0.06", facecolor=colour, edgecolor=style.SOFT, linewidth=0.8, zorder=3))
        ax.text(x, y, node, ha="center", va="center", fontsize=8.5, color=style.ink_on(colour), zorder=4)
