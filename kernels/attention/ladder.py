"""How the versions of attention are launched: o = softmax(scale * q k^T + mask) v, head by head.

q and o are [batch, heads, queries, dim], k and v [batch, kv heads, keys, dim] with heads a multiple of kv heads. A mask holds
one byte per score, [queries, keys] or [batch, queries, keys], and not 0 means hidden. With causal=True query i sees the keys
0 .. i + keys - queries. A row that sees no key gives zeros: that is the rule of all versions.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version, load
from helpers.course.fitting import element, fit

HERE = Path(__file__).parent
SHAPE = (1, 8, 2048, 128)        # of the published story: batch, heads, queries and keys, dim
plans = load("attention", "plans")      # how the work is cut

VERSIONS = [
    Version("v1", "vector only, whole rows of scores", HERE / "v1_whole_rows.cpp", 48, 64),
    Version("v2", "online softmax, block by block", HERE / "v2_online.cpp", 48, 64),
    Version("v3", "cube and vector cores take turns", HERE / "v3_cube.cpp", 24, 128),
    Version("v4", "two slots: both work at once", HERE / "v4_pipeline.cpp", 24, 128),
    Version("v5", "tiles of queries on all cores", HERE / "v5_planned.cpp", 24, 128),
]


def oracle(q, k, v, mask=None, causal=False, scale=None):
    """Attention in float64, straight from the formula."""
    q, k, v = (np.asarray(a).astype(np.float64) for a in (q, k, v))
    batch, heads, queries, dim = q.shape
    keys, share = k.shape[2], heads // k.shape[1]
    k, v = (np.repeat(a, share, axis=1) for a in (k, v))
    s = np.einsum("bhqd,bhkd->bhqk", q, k, optimize=True) * (dim ** -0.5 if scale is None else scale)
    hidden = hide(queries, keys, mask, causal)
    if hidden is not None:
        s = np.where(hidden, -np.inf, s)
    top = s.max(axis=-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(top), 0.0, top))
    total = p.sum(axis=-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", p / np.where(total == 0, 1.0, total), v, optimize=True)


def hide(queries: int, keys: int, mask=None, causal=False):
    """True where a score takes no part, for [batch, heads, queries, keys]; None when all do."""
    hidden = None
    if mask is not None:
        mask = np.asarray(mask) != 0
        hidden = mask[:, None] if mask.ndim == 3 else mask[None, None]
    if causal:
        late = np.arange(keys) > np.arange(queries)[:, None] + keys - queries
        hidden = late if hidden is None else hidden | late
    return hidden


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"attention_{element(dtype)}", **options)


def agree(q, k, v, o, mask=None, p=None) -> None:
    """Refuses arrays that do not belong together: their bytes would be taken for other rows, or for a mask that nobody meant."""
    batch, heads, queries, dim = q.shape
    kv_heads, keys = k.shape[1:3]
    fit(k=(k, (batch, kv_heads, keys, dim)), v=(v, (batch, kv_heads, keys, dim)), o=(o, q.shape), p=(p, (batch, heads, queries, keys)),
        mask=(mask, (queries, keys), (batch, queries, keys)))
    if mask is not None:
        one_byte(mask)


def one_byte(mask) -> None:
    if mask.dtype.itemsize != 1:
        raise ValueError(f"The mask is {mask.dtype}; a mask holds one byte per score. Fix: (mask != 0).astype(np.uint8).")


def tiling(version: Version, q, k, mask=None, causal=False, scale=None, p=None, *, rows: int = 0, block: int = 0):
    """The tiling struct of a version, as the host code of an operator computes it."""
    batch, heads, queries, dim = q.shape
    kv_heads, keys = k.shape[1:3]
    if dim < 1:
        raise ValueError("q has no elements per head: dim must be at least 1.")
    if keys < 1 or kv_heads < 1 or heads % kv_heads:
        raise ValueError(f"{heads} heads of q and {kv_heads} of k with {keys} keys: heads must be a multiple of kv heads, and there must be a key.")
    plan = plans.vector if version.name in ("v1", "v2") else plans.cube
    numbers = plan(version, batch * heads, queries, keys, dim, q.itemsize, mask is not None, p is not None, rows, block)
    return hp.tiling_struct(version.path, "AttentionTiling")(
        batch=batch, heads=heads, kvHeads=kv_heads, queries=queries, keys=keys, dim=dim, causal=int(causal), hasMask=int(mask is not None),
        maskPerBatch=int(mask is not None and mask.ndim == 3), scale=dim ** -0.5 if scale is None else scale, **numbers)


def launch(version: Version, q, k, v, o, mask=None, causal=False, scale=None, p=None, *, rows: int = 0, block: int = 0,
           kernel=None, blocks: int = 0, tasks: str = "work", **options) -> hp.Run:
    """p, for the versions with the cube: the probabilities [batch, heads, queries, keys] as a second output. tasks: how v5 deals them out."""
    if element(q.dtype) == "float" and version.name not in ("v1", "v2"):
        raise ValueError(f"{version.name}: the cube takes half and bfloat16 here; v2 takes float32.")
    agree(q, k, v, o, mask, p)
    kernel, blocks = kernel or compile(version, q.dtype), blocks or version.blocks
    numbers = tiling(version, q, k, mask, causal, scale, p, rows=rows, block=block)
    if version.name in ("v1", "v2"):
        return kernel.launch(blocks, (q, k, v, mask, o, numbers), **options)
    more = ()
    if version.name == "v5":
        deal = plans.deal(numbers, blocks, tasks)
        blocks, more = len(deal), (plans.as_array(deal),)
    work = hp.workspace(blocks * plans.workspace_bytes(version, numbers, q.itemsize))
    return kernel.launch(blocks, (q, k, v, mask, o, p, work, *more, numbers), **options)
