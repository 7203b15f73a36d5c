"""Pictures of the hardware itself: the way of the bytes through the chip, and the bank groups of UB."""

from __future__ import annotations

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from . import style, text
from .picture import Picture, new_figure

_GROUPS, _ROW = 16, 32  # UB: 16 bank groups, rows of 32 B; the pattern repeats every 512 B


def _box(ax, x, y, w, h, words, colour, size=9.0, weight="bold", top=False):
    ax.add_patch(
        FancyBboxPatch(
            (x, y),
            w,
            h,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=colour,
            edgecolor=style.SOFT,
            linewidth=0.8,
        )
    )
    ax.text(
        x + w / 2,
        y + h - 0.16 if top else y + h / 2,
        words,
        ha="center",
        va="top" if top else "center",
        fontsize=size,
        fontweight=weight,
        color=style.ink_on(colour),
    )


def _arrow(ax, a, b, words, colour, above=True):
    ax.add_patch(
        FancyArrowPatch(a, b, arrowstyle="-|>", mutation_scale=16, linewidth=2.4, color=colour, shrinkA=0, shrinkB=0)
    )
    ax.text(
        (a[0] + b[0]) / 2,
        a[1] + (0.09 if above else -0.09),
        words,
        ha="center",
        va="bottom" if above else "top",
        fontsize=8.5,
    )


@style.styled
def memory(chip="Ascend910B1", width=style.WIDTH) -> Picture:
    """GM, UB and the pipes between them on one vector core: who moves what, and how large each memory is."""
    from ..chips import chip as profile

    c = profile(chip)
    height = 3.0
    figure = new_figure(width, height)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, width)
    ax.set_ylim(0, height)
    ax.set_axis_off()
    ax.text(
        0.1,
        height - 0.22,
        f"The way of the bytes: one of {c.aiv_cores} vector cores (AIV), {c.name}",
        fontsize=10.5,
        fontweight="bold",
        va="center",
    )
    pale = style.mix(style.PAPER, style.SOFT, 0.12)
    _box(ax, 0.15, 0.25, 2.35, 2.2, "GM (global memory)", pale, top=True)
    _box(ax, 0.35, 0.42, 0.9, 1.45, f"HBM\n{c.dev_mem_gb:g} GB", style.tint("#56B4E9", 0.6), 8.5)
    _box(ax, 1.4, 0.42, 0.9, 1.45, f"L2\n{c.l2_bytes / 2**20:g} MiB\nshared", style.tint("#56B4E9", 0.3), 8.5)
    _box(ax, 4.1, 0.25, 4.7, 2.2, "vector core", pale, top=True)
    _box(ax, 4.3, 0.42, 1.35, 1.45, f"UB\n{text.size(c.ub_bytes)}", style.tint(style.SERIES[3], 0.3), 9.5)
    _box(ax, 7.25, 1.15, 1.4, 0.72, "V\nvector unit", style.PIPE_COLOURS["V"], 8.5)
    _box(ax, 7.25, 0.42, 1.4, 0.55, "S: scalar unit", style.tint(style.PIPE_COLOURS["S"], 0.3), 8.5)
    _arrow(ax, (2.5, 1.5), (4.3, 1.5), "MTE2: load", style.PIPE_COLOURS["MTE2"])
    _arrow(ax, (4.3, 0.75), (2.5, 0.75), "MTE3: store", style.PIPE_COLOURS["MTE3"], above=False)
    _arrow(ax, (5.65, 1.66), (7.25, 1.66), "read", style.PIPE_COLOURS["V"])
    _arrow(ax, (7.25, 1.36), (5.65, 1.36), "write", style.PIPE_COLOURS["V"], above=False)
    ax.text(6.45, 0.66, "S issues every\ninstruction", ha="center", va="center", fontsize=8, color=style.SOFT)
    alt = (
        f"GM (HBM {c.dev_mem_gb:g} GB behind an L2 of {c.l2_bytes / 2**20:g} MiB) on the left, "
        f"one vector core with {text.size(c.ub_bytes)} of UB on the right. "
        f"MTE2 loads from GM to UB, V computes in UB, MTE3 stores from UB to GM, S issues every instruction. "
        f"Notice: V reaches only UB, so every byte is loaded before and stored after."
    )
    return Picture(figure, alt, {"ub_bytes": c.ub_bytes})


def bank_groups(address: int, blocks: int = 8, stride: int = 1) -> list[int]:
    """The bank groups of the rows that one repeat reads or writes. stride: rows from one data block to the next."""
    return [(address // _ROW + i * stride) % _GROUPS for i in range(blocks)]


def bank_cycles(operands) -> int:
    """Cycles per repeat that the banks allow: the most rows of one group that are read, or written, at once."""
    most = 1
    for way in ("read", "write"):
        rows = {(a // _ROW + i * s) for _, a, w, s in _complete(operands) if w == way for i in range(8)}
        counts = [sum(r % _GROUPS == g for r in rows) for g in range(_GROUPS)]
        most = max(most, *counts)
    return most


def _complete(operands):
    return [(o[0], int(o[1]), o[2], int(o[3]) if len(o) > 3 else 1) for o in operands]


@style.styled
def bank_map(operands, *, title: str = "UB bank groups of one repeat", width=style.WIDTH) -> Picture:
    """Which bank groups one repeat (256 B) of every operand touches.

    operands: [("x", byte address, "read"), ("z", address, "write"), …]; a fourth value is the block stride. Two rows of
    one group cannot be read in the same cycle.
    """
    rows = _complete(operands)
    height = 1.35 + 0.32 * (len(rows) + 1)
    figure = new_figure(width, height)
    left = 2.0
    ax = figure.add_axes((left / width, 0.5 / height, (width - left - 0.15) / width, (height - 0.95) / height))
    reads = [0] * _GROUPS
    seen = set()
    for y, (_, address, way, stride) in enumerate(rows):
        colour = style.SERIES[0] if way == "read" else style.SERIES[2]
        for i, g in enumerate(bank_groups(address, stride=stride)):
            ax.barh(y, 0.92, left=g - 0.46, height=0.8, color=colour if way == "read" else style.tint(colour, 0.4))
            row = address // _ROW + i * stride
            if way == "read" and row not in seen:
                seen.add(row)
                reads[g] += 1
    for g, n in enumerate(reads):
        ax.text(
            g,
            len(rows),
            str(n),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold" if n > 1 else "normal",
            color=style.ALARM if n > 1 else style.INK,
        )
    ax.set_yticks(
        range(len(rows) + 1),
        [f"{way}s {name}, byte {address:,}" for name, address, way, _ in rows] + ["rows read per group"],
    )
    ax.tick_params(axis="both", length=0)
    ax.set_xticks(range(_GROUPS))
    ax.set_xlim(-0.6, _GROUPS - 0.4)
    ax.set_ylim(len(rows) + 0.5, -0.6)
    for g in range(_GROUPS + 1):
        ax.axvline(g - 0.5, color=style.FAINT, linewidth=0.7, zorder=0)
    cycles = bank_cycles(operands)
    ax.set_xlabel("bank group = (byte address / 32) mod 16")
    words = f"{text.count(cycles, 'cycle')} per repeat"
    ax.set_title(
        f"{title}: {words}",
        x=-left / (width - left - 0.15) + 0.01,
        pad=8,
        color=style.ALARM if cycles > 1 else style.INK,
    )
    listed = "; ".join(
        f"{way}s {name} at byte {address:,}, groups "
        + ", ".join(map(str, sorted(set(bank_groups(address, stride=stride)))))
        for name, address, way, stride in rows
    )
    return Picture(
        figure,
        f"{title}. x: bank group, y: operand. {listed}. "
        f"Notice: at most {text.count(max(reads), 'row')} of one group would be read at once, so {words}.",
        {"reads": reads, "cycles": cycles},
    )
