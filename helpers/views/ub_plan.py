"""A plan of on-chip memory before anything runs: what the buffers take, what stays free, what does not fit."""

from __future__ import annotations

from . import style, text
from .picture import Picture, new_figure
from .ub_map import colours, powers


@style.styled
def ub_plan(buffers, capacity: int = 196_608, *, mem: str = "UB", title: str = "", width=style.WIDTH) -> Picture:
    """A plan of on-chip memory. buffers: [("inX", 2, 32768), …] as (name, number, bytes of each)."""
    parts = [(str(n), int(k), int(b)) for n, k, b in buffers]
    need = sum(k * b for _, k, b in parts)
    figure = new_figure(width, 1.45)
    ax = figure.add_axes((0.02, 0.37, 0.96, 0.38))
    paint, at, scale = colours(n for n, _, _ in parts), 0, max(need, capacity)
    for n, k, b in parts:
        for slot in range(k):
            over = at + b > capacity
            fill = paint[n] if slot % 2 == 0 else style.tint(paint[n], 0.35)
            ax.barh(
                0,
                b / 1024,
                left=at / 1024,
                height=1,
                color=style.tint(fill, 0.6) if over else fill,
                edgecolor=style.ALARM if over else style.PAPER,
                hatch="////" if over else None,
                linewidth=1.0,
            )
            label = f"{n} {slot}" if k > 1 else n
            if b / scale * width * 92 > 6 * len(label):
                ax.text(
                    (at + b / 2) / 1024,
                    0,
                    f"{label}\n{text.size(b)}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color=style.INK if over else style.ink_on(fill),
                    bbox=dict(boxstyle="round,pad=0.2", facecolor=style.PAPER, edgecolor="none") if over else None,
                )
            at += b
    if need < capacity:
        ax.barh(
            0,
            (capacity - need) / 1024,
            left=need / 1024,
            height=1,
            color=style.PAPER,
            edgecolor=style.SOFT,
            linestyle=":",
        )
        if (capacity - need) / scale > 0.07:
            ax.text(
                (need + capacity) / 2048,
                0,
                f"free\n{text.size(capacity - need)}",
                ha="center",
                va="center",
                fontsize=8,
                color=style.SOFT,
            )
    ax.plot([capacity / 1024] * 2, [-0.72, 0.72], color=style.INK, linestyle=(0, (4, 2)), linewidth=1.4, clip_on=False)
    ax.set_xlim(0, scale / 1024 * 1.002)
    ax.set_ylim(-0.6, 0.6)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(powers(scale))
    ax.set_xlabel(f"byte address in {mem}, KB; the dashed line is the end at {text.size(capacity)}")
    words = f"{text.size(need)} of {text.size(capacity)}: " + (
        f"{text.size(capacity - need)} free" if need <= capacity else f"{text.size(need - capacity)} too many"
    )
    ax.set_title(
        f"{title + ': ' if title else ''}{mem} plan, {words}", color=style.INK if need <= capacity else style.ALARM
    )
    listed = ", ".join(f"{n} {k} x {text.size(b)}" for n, k, b in parts)
    return Picture(
        figure,
        f"{title + ': ' if title else ''}{mem} plan: {listed}. Needs {words}.",
        {"need": need, "capacity": capacity},
    )
