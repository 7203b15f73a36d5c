"""Curves over steps: the loss of a training, one line for each way to compute it."""
from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from . import style, text
from .picture import Picture, new_figure

_DASHES = ("-", (0, (2, 2)), (0, (6, 2)), "-.")
_WIDTHS = (4.5, 1.8, 1.8, 1.8)          # the first line stays visible under one that lies on it


@style.styled
def lines(curves: dict, *, x: str, y: str, title: str, width: float = 7.5) -> Picture:
    """curves: {"reference": [63.2, 21.5, …]}: one value for each step, from step 0."""
    height, left, right = 3.2, 0.75, 0.3
    figure = new_figure(width, height)
    ax = figure.add_axes((left / width, 0.55 / height, (width - left - right) / width, (height - 1.0) / height))
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(range(len(values)), values, color=style.SERIES[i], linestyle=_DASHES[i % 4], linewidth=_WIDTHS[i % 4], label=name)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0)
    ax.grid()
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, x=-left / (width - left - right) + 0.01, pad=8)
    ax.legend()
    says = [f"{name}: from {text.digits(values[0], 2)} to {text.digits(values[-1], 2)}" for name, values in curves.items()]
    return Picture(figure, f"{title}. x: {x}, y: {y}. {'. '.join(says)}.", curves)
