"""The state of online softmax while it walks over the blocks of keys: maximum, sum, and the factor that repairs both."""
from __future__ import annotations

from . import style, text
from .picture import Picture, new_figure, require


@style.styled
def walk(states, *, upto: int | None = None, title: str = "online softmax, one row", width: float = style.WIDTH) -> Picture:
    """states: [(m, l, factor), …] after each block; upto: only the first so many are drawn, on the same axes."""
    require(states, "states")
    shown = list(states)[: len(states) if upto is None else upto]
    height, left, gap = 2.5, 0.55, 0.65
    each = (width - left - 2 * gap - 0.15) / 3
    figure = new_figure(width, height)
    names = ("running maximum m", "running sum l", "factor exp(old m - new m)")
    for i, name in enumerate(names):
        ax = figure.add_axes(((left + i * (each + gap)) / width, 0.48 / height, each / width, (height - 1.15) / height))
        values = [s[i] for s in shown]
        ax.plot(range(1, len(shown) + 1), values, marker=style.MARKERS[i], color=style.SERIES[i], markersize=5)
        everything = [s[i] for s in states]
        low, high = min(everything), max(everything)
        room = 0.12 * (high - low or 1)
        ax.set_xlim(0.5, len(states) + 0.5)
        ax.set_ylim(low - room, high + room)
        ax.set_xticks(range(1, len(states) + 1, max(1, len(states) // 8)))
        ax.set_xlabel("blocks of keys seen")
        ax.set_title(name, pad=6, fontsize=9)
        ax.grid()
    figure.text(0.1 / width, 1 - 0.22 / height, title, fontsize=10.5, fontweight="bold")
    says = "; ".join(f"block {n + 1}: m {text.digits(m, 3)}, l {text.digits(s, 3)}, factor {text.digits(f, 3)}" for n, (m, s, f) in enumerate(shown))
    repairs = sum(f < 1 for _, _, f in shown[1:])
    return Picture(figure, f"{title}. x: blocks of keys seen, y: maximum, sum, factor. {says}. Notice: {text.count(repairs, 'block')} after the first "
                           f"had to repair what came before.", shown)
