"""The published tuning story of attention, step by step: 8 heads, S = 2048, dim 128. Our estimates stand beside its times.

The article names neither chip nor data type nor mask. Compare the order and the causes, never the values.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import helpers as hp
from helpers.course import Version, load, published

ladder = load("attention", "ladder")
SOURCE = "the tuning article, chip not stated"
SCORES = 128 * 128               # of a step: what one buffer of the published best block holds
UNFUSED_MS = 3.4


@dataclass(frozen=True)
class Step:
    """One step of the story. heads: what is run; a step on one AI Core runs one of the eight and is scaled."""
    name: str
    title: str
    version: Version
    block: int                   # keys
    blocks: int                  # AI Cores
    keep: bool                   # p is written back, normalised
    published_ms: float | None
    cause: str

    @property
    def rows(self) -> int:
        """Queries of a tile: as many as SCORES allow, at most 128."""
        return min(128, SCORES // self.block)

    @property
    def heads(self) -> int:
        return ladder.SHAPE[1] if self.blocks > 1 else 1

    @property
    def scale(self) -> int:
        return ladder.SHAPE[1] // self.heads


v3, v4, v5 = ladder.VERSIONS[2:]
STORY = [
    Step("t1", "blocks of 512 keys", v3, 512, 1, True, 12.6, "32 rows per tile: k and v are loaded 64 times"),
    Step("t2", "blocks of 128 keys", v3, 128, 1, True, 7.8, "128 rows per tile: k and v are loaded 16 times"),
    Step("t3", "double buffer", v4, 128, 1, True, 5.1, "AIC and AIV work at the same time"),
    Step("t4", "8 heads on 8 cores", v4, 128, 8, True, 1.6, "eight AI Cores instead of one"),
    Step("t5", "no write-back of p", v4, 128, 8, False, 1.2, "134 MB less through GM, and no second pass over p"),
]
AFTER = Step("t6", "tiles on 24 cores", v5, 128, 24, False, None, "all AI Cores instead of a third of them")


def data(heads: int = ladder.SHAPE[1], queries: int = ladder.SHAPE[2], dim: int = ladder.SHAPE[3], seed: int = 0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((1, heads, queries, dim), dtype=np.float32).astype(np.float16) for _ in range(3)]


def run(step: Step, q, k, v, o, **options) -> hp.Run:
    """Runs the heads of a step on the first heads of the data."""
    q, k, v, o = (a[:, : step.heads] for a in (q, k, v, o))
    p = np.empty((*q.shape[:3], k.shape[2]), q.dtype) if step.keep else None
    return ladder.launch(step.version, q, k, v, o, p=p, rows=step.rows, block=step.block, blocks=step.blocks, tasks="cyclic", **options)


def milliseconds(step: Step, found: hp.Run) -> float:
    """The estimate for all heads: a launch is paid once."""
    launch = found.totals["launch_ns"] / 1e3
    return ((found.time_us - launch) * step.scale + launch) / 1e3


def steps(**options) -> list[published.Step]:
    """The story as rows of tests/bench.py."""
    q, k, v = data()
    o = np.empty_like(q)
    return [published.Step(s.name, lambda s=s: run(s, q, k, v, o, checks="off", **options), s.published_ms * 1e3, None, s.scale, s.title) for s in STORY]


def unfused(q, k, v, *, blocks: int = 1) -> dict[str, hp.Run]:
    """q k^T, softmax and p v as three launches; the scale goes into q."""
    mha, softmax = load("fused_mha", "ladder"), load("softmax", "ladder")
    _, heads, queries, dim = q.shape
    keys = k.shape[2]
    scores = np.empty((1, heads, queries, keys), q.dtype)
    shares, o = np.empty_like(scores), np.empty_like(q)
    by_head, whole = (0, queries * dim, dim), (0, queries * keys, keys)
    scaled = (q.astype(np.float32) * np.float32(dim ** -0.5)).astype(q.dtype)
    runs = {"q k^T": mha.product(scaled, k, scores, queries, keys, dim, groups=(1, heads), strides=[by_head, by_head, whole], by_columns=True, blocks=blocks, checks="off")}
    runs["softmax"] = softmax.launch(softmax.VERSIONS[1], scores.reshape(-1, keys), shares.reshape(-1, keys), blocks=2 * blocks, checks="off")
    runs["p v"] = mha.product(shares, v, o, queries, dim, keys, groups=(1, heads), strides=[whole, by_head, by_head], blocks=blocks, checks="off")
    runs["o"] = o
    return runs
