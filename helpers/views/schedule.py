"""Who works when: a hand-over between two kinds of cores, and the tasks of many cores side by side."""
from __future__ import annotations

import math

from . import style, text
from .picture import Picture, new_figure, require


@style.styled
def handover(lanes, arrows, *, title: str, notice: str, width: float = style.WIDTH) -> Picture:
    """lanes: {"AIC": [(start, length, "S0"), …]}; arrows: [("AIC", time, "AIV", time, "flag 0"), …]. Time has no unit here: a sketch."""
    height, left = 0.75 + 0.75 * len(lanes), 0.7
    figure = new_figure(width, height)
    ax = figure.add_axes((left / width, 0.12 / height, (width - left - 0.15) / width, (height - 0.62) / height))
    names = list(lanes)
    kinds = sorted({label.rstrip("0123456789") for parts in lanes.values() for _, _, label in parts})
    for i, name in enumerate(names):
        for start, length, label in lanes[name]:
            colour = style.tint(style.SERIES[kinds.index(label.rstrip("0123456789")) % len(style.SERIES)], 0.3)
            ax.barh(i, length, left=start, height=0.46, color=colour, edgecolor=style.PAPER)
            ax.text(start + length / 2, i, label, ha="center", va="center", fontsize=8.5, color=style.ink_on(colour))
    for source, begin, target, end, label in arrows:
        a, b = names.index(source), names.index(target)
        down = 0.23 if b > a else -0.23
        ax.annotate("", (end, b - down), (begin, a + down), arrowprops=dict(arrowstyle="-|>", color=style.INK, linewidth=1))
        ax.text((begin + end) / 2 + 0.06, (a + b) / 2, label, fontsize=7.5, color=style.SOFT, va="center")
    ax.set_xlim(-0.1, max(s + n for parts in lanes.values() for s, n, _ in parts) + 0.3)
    ax.set_ylim(len(names) - 0.55, -0.45)
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_title(title, x=-(left - 0.05) / (width - left - 0.15), pad=8)
    says = "; ".join(f"{name}: {' '.join(label for _, _, label in sorted(parts))}" for name, parts in lanes.items())
    return Picture(figure, f"{title}. A sketch: x is time, one lane for each kind of core. {says}. Notice: {notice}", (lanes, arrows))


@style.styled
def gantt(schedules, *, title: str, unit: str = "us", width: float = style.WIDTH) -> Picture:
    """schedules: {"cyclic": [[(task, start, end), …] of core 0, …]}: one panel each, on the same time axis."""
    require(schedules, "schedules")
    columns = min(2, len(schedules))
    lines = math.ceil(len(schedules) / columns)
    each, left, gap = 2.1, 0.55, 0.55
    height = 0.5 + lines * (each + 0.62)
    figure = new_figure(width, height)
    wide = (width - left - (columns - 1) * gap - 0.15) / columns
    end = max((t[2] for cores in schedules.values() for tasks in cores for t in tasks), default=1.0)
    says = []
    for n, (name, cores) in enumerate(schedules.items()):
        row, column = divmod(n, columns)
        bottom = height - 0.5 - (row + 1) * (each + 0.62) + 0.5
        ax = figure.add_axes(((left + column * (wide + gap)) / width, bottom / height, wide / width, (each - 0.3) / height))
        last = max((tasks[-1][2] for tasks in cores if tasks), default=0.0)
        busy = sum(b - a for tasks in cores for _, a, b in tasks) / (len(cores) * last or 1)
        for core, tasks in enumerate(cores):
            for i, (_, a, b) in enumerate(tasks):
                ax.barh(core, b - a, left=a, height=0.86, color=style.tint(style.SERIES[0], 0.15 + 0.45 * (i % 2)), linewidth=0)
        ax.axvline(last, color=style.ALARM, linewidth=1, linestyle=(0, (4, 2)))
        ax.set_xlim(0, end * 1.04)
        ax.set_ylim(len(cores) - 0.4, -0.6)
        ax.set_yticks([0, len(cores) - 1])
        ax.set_title(f"{name}: {text.digits(last, 3)} {unit}, {busy:.0%} busy", fontsize=9, pad=5)
        if column == 0:
            ax.set_ylabel("core")
        if row == lines - 1:
            ax.set_xlabel(f"time in {unit}, estimate")
        says.append(f"{name}: the last of {len(cores)} cores ends at {text.digits(last, 3)} {unit}, busy {busy:.0%}")
    figure.text(0.1 / width, 1 - 0.25 / height, title, fontsize=10.5, fontweight="bold")
    return Picture(figure, f"{title}. x: time in {unit}, y: one row for each core, light and dark from task to task. {'; '.join(says)}. "
                           "Notice: all cores are paid until the last one ends.", schedules)
