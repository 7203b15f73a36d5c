"""How the versions of attention are launched: o = softmax(scale * q k^T + mask) v, head by head.

q and o are [batch, heads, queries, dim], k and v [batch, kv heads, keys, dim] with heads a multiple of kv heads. A mask holds
one byte per score, [queries, keys] or [batch, queries, keys], and not 0 means hidden. With causal=True query i sees the keys
0 .. i + keys - queries. A row that sees no key gives zeros: that is the rule of all versions.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version

HERE = Path(__file__).parent
SHAPE = (1, 8, 2048, 128)        # of the published story: batch, heads, queries and keys, dim
UB = 196_608
LANES = 64                       # float in a repeat

VERSIONS = [
    Version("v1", "vector only, whole rows of scores", HERE / "v1_whole_rows.cpp", 48, 64),
    Version("v2", "online softmax, key by key block", HERE / "v2_online.cpp", 48, 64),
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


def padded(n: int, to: int = LANES) -> int:
    return -(-n // to) * to


def key_bytes(version: Version, dim: int, itemsize: int) -> int:
    """UB that one more key of a block takes: two buffers for k (and for v), a row of float, a row of products, its number."""
    return padded(dim) * ((2 if version.name == "v1" else 4) * itemsize + 4 + 4) + 32


def ub_bytes(version: Version, rows: int, block: int, keys: int, dim: int, itemsize: int, masked: bool) -> int:
    """UB that a task takes, buffer by buffer as Init asks for them."""
    pitch, width = padded(dim), padded(keys if version.name == "v1" else block)
    parts, groups = width // LANES, -(-rows // 8)
    per_row = pitch * (2 * itemsize + 4 + 4) + width * 4 + (parts - parts // 2) * LANES * 4
    lanes = padded(rows * width, 128)
    mask = lanes + lanes * 2 + padded(lanes // 8, 32) if masked else 0
    return rows * per_row + block * key_bytes(version, dim, itemsize) + groups * (64 + (512 if version.name == "v1" else 1280)) + mask


def key_block(version: Version, dim: int, itemsize: int) -> int:
    """Keys moved at once: as many as take two thirds of UB, at most those of the version."""
    block = min(version.tile, 131_072 // key_bytes(version, dim, itemsize) // 8 * 8)
    if block < 8:
        raise ValueError(f"{version.name}: eight rows of k with dim {dim} do not fit UB.")
    return block


def task_rows(version: Version, block: int, keys: int, queries: int, heads: int, dim: int, itemsize: int, masked: bool) -> int:
    """Queries of a task: as many as fit UB (at most 64), but no more than leaves a task for every block."""
    most = max(1, min(64, queries, -(-heads * queries // version.blocks)))
    rows = next((r for r in range(most, 0, -1) if ub_bytes(version, r, block, keys, dim, itemsize, masked) <= UB - 8192), 0)
    if rows < 1:
        raise ValueError(f"{version.name}: a row of {keys:,} scores with dim {dim} does not fit UB.")
    return rows


def tiling(version: Version, q, k, mask=None, causal=False, scale=None, rows: int = 0, block: int = 0):
    """The tiling struct of a version, as the host code of an operator computes it."""
    batch, heads, queries, dim = q.shape
    kv_heads, keys = k.shape[1:3]
    if keys < 1 or heads % kv_heads:
        raise ValueError(f"{heads} heads of q and {kv_heads} of k with {keys} keys: heads must be a multiple of kv heads, and there must be a key.")
    block = block or key_block(version, dim, q.itemsize)
    rows = rows or task_rows(version, block, keys, queries, batch * heads, dim, q.itemsize, mask is not None)
    return hp.tiling_struct(version.path, "AttentionTiling")(
        batch=batch, heads=heads, kvHeads=kv_heads, queries=queries, keys=keys, dim=dim, causal=int(causal), hasMask=int(mask is not None),
        maskPerBatch=int(mask is not None and mask.ndim == 3), rows=rows, block=block, scale=dim ** -0.5 if scale is None else scale)


def kind(dtype) -> str:
    return {2: "half", 4: "float"}[np.dtype(dtype).itemsize] if np.dtype(dtype).kind == "f" else "bf16"


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"attention_{kind(dtype)}", **options)


def launch(version: Version, q, k, v, o, mask=None, causal=False, scale=None, *, rows: int = 0, block: int = 0, kernel=None, blocks: int = 0, **options) -> hp.Run:
    kernel = kernel or compile(version, q.dtype)
    return kernel.launch(blocks or version.blocks, (q, k, v, mask, o, tiling(version, q, k, mask, causal, scale, rows, block)), **options)
