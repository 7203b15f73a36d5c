"""Cycles by instruction: where the time of a pipe goes."""
from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from . import data, style, text
from .hot_lines import lengths_ns
from .picture import Picture, new_figure, require


def op_cycles(run, pipe: str = "V", per: float = 1) -> dict[str, float]:
    """Cycles that each kind of instruction keeps the pipe busy, over all cores, divided by `per` (rows, elements, …)."""
    ev = data.events(run)
    ev = ev[ev["pipe"] == data.PIPES.index(pipe)]
    cycles = lengths_ns(ev) * data.cycles_per_us(run) / 1000
    found = {data.op_name(run, int(op)): float(cycles[ev["op"] == op].sum()) / per for op in np.unique(ev["op"])}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


@style.styled
def stacked(rows: dict, *, x: str, title: str, most: int = 6, width: float = style.WIDTH) -> Picture:
    """rows: {"v2": {"ReduceSum": 242, "Mul": 94, …}}: one bar each, cut by instruction. The smallest parts become "other"."""
    require(rows, "rows")
    total: dict[str, float] = {}
    for parts in rows.values():
        for name, value in parts.items():
            total[name] = total.get(name, 0) + value
    kept = sorted(total, key=lambda n: -total[n])[:most]
    names = kept + (["other"] if len(total) > len(kept) else [])
    height, right = 1.25 + 0.42 * len(rows), 0.9
    left = min(3.0, 0.45 + 0.08 * max(len(n) for n in rows))
    figure = new_figure(width, height)
    ax = figure.add_axes((left / width, 0.55 / height, (width - left - right) / width, (height - 1.25) / height))
    says = []
    for i, (row, parts) in enumerate(rows.items()):
        start = 0.0
        values = [parts.get(n, 0.0) for n in kept] + [sum(v for n, v in parts.items() if n not in kept)]
        for k, (name, value) in enumerate(zip([*kept, "other"], values)):
            colour = style.FAINT if name == "other" else style.SERIES[k % len(style.SERIES)]
            ax.barh(i, value, left=start, height=0.72, color=colour, edgecolor=style.PAPER, linewidth=0.8, label=name if i == 0 and name in names else None)
            start += value
        ax.annotate(f"{start:,.0f}", (start, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5)
        says.append(f"{row}: {start:,.0f}, of which " + ", ".join(f"{n} {text.digits(v, 3)}" for n, v in zip([*kept, "other"], values) if v > 0.5))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    ax.set_xlabel(x)
    ax.set_title(title, x=-(left - 0.05) / (width - left - right), pad=24)
    figure.legend(loc="upper left", bbox_to_anchor=(0.004, 1 - 0.42 / height), ncols=len(names), borderaxespad=0)
    return Picture(figure, f"{title}. x: {x}. {'; '.join(says)}.", rows)


@style.styled
def lanes_of(rows, *, title: str, notice: str, width: float = 7.5) -> Picture:
    """rows: [("x", ["a0", "a1", …], [0, 0, 1, …])]: a strip of cells for each row; equal numbers belong together and share a colour."""
    require(rows, "rows")
    height, left = 0.75 + 0.52 * len(rows), 1.5
    figure = new_figure(width, height)
    cells = max(len(labels) for _, labels, _ in rows)
    ax = figure.add_axes((left / width, 0.1 / height, (width - left - 0.2) / width, (height - 0.65) / height))
    for i, (name, labels, groups) in enumerate(rows):
        for j, (label, group) in enumerate(zip(labels, groups)):
            colour = style.tint(style.SERIES[group % len(style.SERIES)], 0.35)
            ax.add_patch(Rectangle((j, i), 0.96, 0.8, facecolor=colour, edgecolor="none"))
            ax.text(j + 0.48, i + 0.4, label, ha="center", va="center", fontsize=8.5, color=style.ink_on(colour))
    ax.set_xlim(0, cells)
    ax.set_ylim(len(rows), 0)
    ax.set_yticks([i + 0.4 for i in range(len(rows))], [name for name, _, _ in rows])
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_title(title, x=-(left - 0.05) / (width - left - 0.2), pad=8)
    says = "; ".join(f"{name}: {' '.join(labels)}" for name, labels, _ in rows)
    return Picture(figure, f"{title}. {says}. Notice: {notice}", rows)
