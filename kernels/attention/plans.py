"""How attention is cut: what a tile takes in each memory, the largest that fits, and which core gets which tile."""
from __future__ import annotations

import heapq

import numpy as np

from helpers.views.data import PIPES

LANES, C0 = 64, 16               # float in a repeat; columns of a fractal
UB, L1, L0A, L0B, L0C = 196_608, 524_288, 65_536, 65_536, 131_072
SELECT = 8192                    # of UB, which Select with a scalar keeps for itself
SCHEDULES = ("contiguous", "cyclic", "work", "dynamic")


def padded(n: int, to: int = LANES) -> int:
    return -(-n // to) * to


def whole(version, step: int, **sizes: int) -> None:
    """Sizes that were asked for: whole steps of the instructions. 0 leaves the choice to the plan."""
    for what, size in sizes.items():
        if size < 0 or size % step:
            wanted = f"a positive multiple of {step}" if step > 1 else "positive"
            raise ValueError(f"{version.name}: {what}={size} has to be {wanted}, or 0 for the largest that fits.")


# ---- v1 and v2: vector cores only
def key_bytes(version, dim: int, itemsize: int) -> int:
    """UB that one more key of a block takes: two buffers for k (and for v), a row of float, a row of products, its number."""
    return padded(dim) * ((2 if version.name == "v1" else 4) * itemsize + 4 + 4) + 32


def ub_bytes(version, rows: int, block: int, keys: int, dim: int, itemsize: int, masked: bool) -> int:
    """UB that a task takes, buffer by buffer as Init asks for them."""
    pitch, width = padded(dim), padded(keys if version.name == "v1" else block)
    parts, groups = width // LANES, -(-rows // 8)
    per_row = pitch * (2 * itemsize + 4 + 4) + width * 4 + (parts - parts // 2) * LANES * 4
    lanes = padded(rows * width, 128)
    mask = lanes + lanes * 2 + padded(lanes // 8, 32) if masked else 0
    return rows * per_row + block * key_bytes(version, dim, itemsize) + groups * (64 + (512 if version.name == "v1" else 1280)) + mask


def vector(version, heads, queries, keys, dim, itemsize, masked, keep, rows=0, block=0) -> dict:
    """Keys of a block: as many as take two thirds of UB. Queries of a task: as many as fit, but a task for every core."""
    if keep:
        raise ValueError(f"{version.name} does not give the probabilities; v3 does.")
    whole(version, 1, rows=rows)
    whole(version, 8, block=block)
    block = block or min(version.tile, 131_072 // key_bytes(version, dim, itemsize) // 8 * 8)
    if block < 8:
        raise ValueError(f"{version.name}: eight rows of k with dim {dim} do not fit UB.")
    most = max(1, min(64, queries, -(-heads * queries // version.blocks)))
    rows = rows or next((r for r in range(most, 0, -1) if ub_bytes(version, r, block, keys, dim, itemsize, masked) <= UB - SELECT), 0)
    if rows < 1:
        raise ValueError(f"{version.name}: a row of {keys:,} scores with dim {dim} does not fit UB.")
    return {"rows": rows, "block": block}


# ---- v3 to v5: cube and vector cores
def slots(version) -> int:
    return 1 if version.name == "v3" else 2


def memories(version, rows: int, block: int, piece: int, dim: int, keys: int = 0, masked: bool = False, keep: bool = False, itemsize: int = 2) -> dict:
    """{memory: [(what, number, bytes of each), ...]} for a tile of `rows` queries and steps of `block` keys."""
    n, mine, width, pitch, deep = slots(version), padded(-(-rows // 2), 8), padded(block), padded(dim), padded(dim, C0)
    wide = max(deep, piece)
    ub = [("scores", n, mine * width * 4), ("part of o", 1, mine * pitch * 4), ("p and o out", 1, mine * max(width, pitch) * itemsize),
          ("acc", 1, max(mine * pitch, 8 * width) * 4), ("fold", 1, mine * LANES * 4), ("small", 1, mine * 32 + (3 * n + 1) * 256)]
    if keep:
        ub.append(("history", n, -(-keys // block) * 256))
    if masked:
        lanes = padded(mine * width, 128)
        ub.append(("mask", 1, 3 * lanes + padded(lanes // 8, 32)))
    return {"UB": ub,
            "L1": [("q", 1, rows * deep * itemsize), ("k", n, block * deep * itemsize), ("v", n, block * deep * itemsize),
                   ("p", n, rows * block * itemsize)],
            "L0A": [("left", n, rows * wide * itemsize)], "L0B": [("right", n, piece * deep * itemsize)], "L0C": [("sum", n, rows * wide * 4)]}


def misfits(version, rows, block, piece, dim, keys=0, masked=False, keep=False) -> list[str]:
    """The memories in which such a tile does not fit."""
    room = {"UB": UB - (SELECT if masked else 0), "L1": L1, "L0A": L0A, "L0B": L0B, "L0C": L0C}
    need = memories(version, rows, block, piece, dim, keys, masked, keep)
    return [f"{name} ({sum(k * b for _, k, b in parts):,} of {room[name]:,} B)" for name, parts in need.items()
            if sum(k * b for _, k, b in parts) > room[name]]


def cube(version, heads, queries, keys, dim, itemsize, masked, keep, rows=0, block=0) -> dict:
    """The largest tile that fits all memories. Fewer rows mean that k and v are read more often."""
    if dim > 256:
        raise ValueError(f"{version.name}: dim {dim} is more than 256; v2 takes it.")
    whole(version, C0, rows=rows, block=block)
    block = block or min(version.tile, padded(keys, C0))
    pieces = [p for p in (128, 64, 32, 16) if p <= block] or [16]
    for n in [rows] if rows else range(min(128, padded(max(queries, 1), C0)), 0, -C0):
        for piece in pieces:
            if not misfits(version, n, block, piece, dim, keys, masked, keep):
                return {"rows": n, "block": block, "piece": piece, "keepShares": int(keep)}
    why = misfits(version, rows or C0, block, pieces[-1], dim, keys, masked, keep)
    raise ValueError(f"{version.name}: a tile of {rows or C0} queries and {block} keys with dim {dim} does not fit {', '.join(why)}.")


def workspace_bytes(version, tiling, itemsize: int) -> int:
    """Of one AI Core."""
    parts = (tiling.rows * tiling.block * 4, tiling.rows * padded(tiling.dim, C0) * 4, tiling.rows * tiling.block * itemsize)
    return slots(version) * sum(padded(p, 512) for p in parts)


# ---- v5: which block takes which tile
def work(tiling) -> list[int]:
    """Steps of each task: a tile under a causal mask walks only over the keys that its last row sees."""
    steps = []
    for first in range(0, tiling.queries, tiling.rows):
        last = min(first + tiling.rows, tiling.queries)
        seen = max(0, min(tiling.keys, last + tiling.keys - tiling.queries)) if tiling.causal else tiling.keys
        steps.append(max(1, -(-seen // tiling.block)))
    return steps * (tiling.batch * tiling.heads)


def deal(tiling, blocks: int, schedule: str = "work") -> list[list[int]]:
    """The tasks of each block. contiguous: equal numbers in a row; cyclic: in turns; work: the heaviest first, each to the block
    with the least work so far; dynamic: a block for every task, heaviest first, which start as cores become free."""
    cost = work(tiling)
    heavy = sorted(range(len(cost)), key=lambda task: (-cost[task], task))
    if schedule == "dynamic":
        return [[task] for task in heavy] or [[]]
    blocks = max(1, min(blocks, len(cost)))                # a launch has a block, with or without a task
    if schedule == "contiguous":
        ends = [len(cost) * b // blocks for b in range(blocks + 1)]
        return [list(range(a, b)) for a, b in zip(ends, ends[1:])]
    if schedule == "cyclic":
        return [list(range(b, len(cost), blocks)) for b in range(blocks)]
    if schedule != "work":
        raise ValueError(f"There is no schedule {schedule!r}. Known: {', '.join(SCHEDULES)}.")
    free = [(0, b) for b in range(blocks)]
    found: list[list[int]] = [[] for _ in range(blocks)]
    for task in heavy:
        done, b = heapq.heappop(free)
        found[b].append(task)
        heapq.heappush(free, (done + cost[task], b))
    return found


def as_array(tasks: list[list[int]]) -> np.ndarray:
    """Where the tasks of each block begin, and behind the last end the tasks."""
    starts = np.cumsum([0] + [len(t) for t in tasks])
    return np.concatenate([starts, *tasks]).astype(np.int32)


def spans(run, tasks: list[list[int]], tiling) -> list[list[tuple[int, float, float]]]:
    """(task, start, end) in us for each block of a run of v5, from the moments when Fixpipe hands over the parts of o."""
    cost, ev, found = work(tiling), run.events[run.events["kind"] == 1], []           # of the AICs
    fix = ev[(ev["pipe"] == PIPES.index("FIX")) & (ev["end"] > ev["start"])]
    per_step = -(-tiling.block // tiling.piece)                 # pieces of the scores that Fixpipe stores, before o is one more
    for block, mine in enumerate(tasks):
        steps = sum(cost[t] for t in mine)
        ends = np.sort(fix["end"][fix["block"] == block])
        # The scores of the next step come before o of this one: o of step i is entry (i + 2) * pieces + i, the last one the last.
        last_of = [min((i + 2) * per_step + i, len(ends) - 1) for i in range(steps)]
        done, start, here = 0, float(ev["start"][ev["block"] == block].min()) / 1e3, []
        for task in mine:
            done += cost[task]
            end = float(ends[last_of[done - 1]]) / 1e3
            here.append((task, start, end))
            start = end
        found.append(here)
    return found


def on_cores(blocks: list[list[tuple[int, float, float]]], cores: int) -> list[list[tuple[int, float, float]]]:
    """More blocks than cores: each block on the core that was free first, as blocks start."""
    found: list[list[tuple[int, float, float]]] = [[] for _ in range(min(cores, len(blocks)))]
    for tasks in blocks:
        min(found, key=lambda core: core[-1][2] if core else 0.0).extend(tasks)
    return found
