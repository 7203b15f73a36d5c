"""Blocks of work over cores: which core works in which round, and who has nothing to do."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from . import style
from .picture import Picture, new_figure, require


@style.styled
def rounds(ways, cores: int, *, what: str = "blocks", width=style.WIDTH) -> Picture:
    """ways: {"128 x 256": 32, …}, the number of blocks of each way to cut. A row is a round, a cell a core; idle cells are hatched."""
    require(ways, "ways")
    if cores < 1:
        raise ValueError(f"cores={cores!r}: work needs at least one core")
    counts = {str(name): int(n) for name, n in dict(ways).items()}
    depth = {name: -(-n // cores) for name, n in counts.items()}
    height = 0.75 + sum(0.3 * d + 0.34 for d in depth.values())
    figure = new_figure(width, height)
    ax = figure.add_axes((0.19, 0.42 / height, 0.79, (height - 0.75) / height))
    y, ticks, says = 0.0, [], []
    for name, n in counts.items():
        top = y
        for i in range(depth[name] * cores):
            busy = i < n
            ax.add_patch(Rectangle((i % cores + 0.06, y + i // cores + 0.08), 0.88, 0.84, facecolor=style.SERIES[0] if busy else style.PAPER,
                                   edgecolor=style.SERIES[0] if busy else style.ALARM, hatch=None if busy else "////", linewidth=0.8))
        y += depth[name] + 0.9
        idle = depth[name] * cores - n
        words = f"{n} {what}, {depth[name]} round{'s' * (depth[name] > 1)}, {idle} idle"
        ticks.append((top + depth[name] / 2, f"{name}\n{words}"))
        says.append(f"{name}: {words}")
    ax.set_xlim(0, cores)
    ax.set_ylim(y - 0.9, 0)
    ax.set_yticks([t for t, _ in ticks], [t for _, t in ticks])
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([i + 0.5 for i in range(0, cores, 4)], [str(i) for i in range(0, cores, 4)])
    ax.set_xlabel("core; each row is a round")
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    figure.text(0.012, 1 - 0.08 / height, f"{what} over {cores} cores; hatched: idle", va="top", weight="bold", fontsize=10.5)
    return Picture(figure, f"{what} over {cores} cores. " + "; ".join(says) + ".", counts)
