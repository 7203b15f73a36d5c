"""How fused multi-head attention is launched: y = attention(x Wq + bq, x Wk + bk, x Wv + bv) Wo + bo.

x and y are [batch, seq, hidden], the weights [hidden, hidden] with rows as inputs, the biases [hidden] in float32 or all None.
A mask holds one byte per score, [seq, seq] or [batch, seq, seq], and not 0 means hidden. A token that sees nothing has an
attention of zeros, so its y is the bias of the output.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version, load
from helpers.course.fitting import element, fit

HERE = Path(__file__).parent
SHAPE = (1, 128, 512, 8)         # of the article: batch, seq, hidden; heads of 64
FUSED = Version("fused", "all in one launch", HERE / "fused_mha.cpp", 24, 128)
PRODUCT = Version("product", "one matrix product, with a bias", HERE / "product.cpp", 24, 128)
VERSIONS = [FUSED]
STEP = 256                       # bytes of a row in a step of a projection
attention = load("attention", "ladder")
plans = attention.plans


def oracle(x, weights, biases, heads, mask=None, causal=False):
    """In float64, straight from the formula."""
    x = np.asarray(x).astype(np.float64)
    batch, seq, hidden = x.shape
    dim = hidden // heads
    biases = [0.0] * 4 if biases is None else [np.asarray(b).astype(np.float64) for b in biases]
    weights = [np.asarray(w).astype(np.float64) for w in weights]
    q, k, v = ((x @ w + b).reshape(batch, seq, heads, dim).transpose(0, 2, 1, 3) for w, b in zip(weights[:3], biases[:3]))
    o = attention.oracle(q, k, v, mask, causal)
    return o.transpose(0, 2, 1, 3).reshape(batch, seq, hidden) @ weights[3] + biases[3]


def misfits(rows, columns, block, piece, dim, masked, itemsize) -> list[str]:
    """The memories in which such a tile does not fit: those of attention, with room for the projections."""
    depth, dim = STEP // itemsize, plans.padded(dim, 16)
    left, right = max(dim, piece, depth), max(piece * dim, depth * columns)
    need = plans.memories(attention.VERSIONS[3], rows, block, piece, dim, masked=masked, itemsize=itemsize)
    need["L1"] = [("q", 1, rows * dim * itemsize), ("k", 2, block * dim * itemsize), ("v or weight", 2, max(block * dim, depth * columns) * itemsize),
                  ("p or x", 2, rows * max(block, depth) * itemsize), ("bias", 1, columns * 4)]
    need["L0A"], need["L0B"] = [("left", 2, rows * left * itemsize)], [("right", 2, right * itemsize)]
    need["L0C"] = [("sum", 2, rows * max(dim, piece, columns) * 4)]
    room = {"UB": plans.UB - (plans.SELECT if masked else 0), "L1": plans.L1, "L0A": plans.L0A, "L0B": plans.L0B, "L0C": plans.L0C}
    return [name for name, parts in need.items() if sum(n * b for _, n, b in parts) > room[name]]


def tiling(x, heads, bias=True, mask=None, causal=False, *, rows: int = 0, block: int = 0, columns: int = 0, blocks: int = 24):
    """The tiling struct, as the host code of an operator computes it: the largest tiles that fit and keep every core busy."""
    batch, seq, hidden = x.shape
    if batch < 1 or seq < 1 or hidden < 1:
        raise ValueError(f"x has the shape {tuple(x.shape)}: at least one token with one element is needed.")
    if heads < 1 or hidden % heads or hidden // heads > 256:
        raise ValueError(f"{hidden} elements for {heads} heads: hidden must be a multiple of heads, with at most 256 for each.")
    plans.whole(FUSED, plans.C0, rows=rows, block=block, columns=columns)
    dim = hidden // heads
    if not columns:     # enough tiles of x for all cores
        tiles = -(-batch * seq // 128)
        columns = next((c for c in (128, 64, 32) if 3 * tiles * -(-hidden // c) >= blocks), 32)
    most = min(128, plans.padded(seq, 16))
    for block, n in [(b, n) for b in ([block] if block else [most, 64]) for n in ([rows] if rows else range(most, 0, -16))]:
        for piece in (p for p in (128, 64, 32, 16) if p <= max(block, 16)):
            if not misfits(n, columns, block, piece, dim, mask is not None, x.itemsize):
                return hp.tiling_struct(FUSED.path, "MhaTiling")(
                    batch=batch, seq=seq, hidden=hidden, heads=heads, dim=dim, causal=int(causal), hasMask=int(mask is not None),
                    maskPerBatch=int(mask is not None and mask.ndim == 3), hasBias=int(bias), rows=n, columns=columns, block=block, piece=piece,
                    scale=dim ** -0.5)
    raise ValueError(f"A tile of {rows or 16} tokens and {block} keys with {dim} elements per head does not fit {', '.join(misfits(rows or 16, columns, block, 16, dim, mask is not None, x.itemsize))}.")


def workspace_bytes(t, blocks: int, itemsize: int = 2) -> int:
    """q, k, v and the attention of all tokens, and two slots of scores, p and o for each AI Core."""
    parts = (t.rows * t.block * 4, t.rows * plans.padded(t.dim, 16) * 4, t.rows * t.block * itemsize)
    return plans.padded(4 * t.batch * t.seq * t.hidden * itemsize, 512) + blocks * 2 * sum(plans.padded(p, 512) for p in parts)


def compile(version: Version = FUSED, dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"{version.path.stem}_{element(dtype)}", **options)


def agree(x, weights, biases, y, mask=None) -> None:
    """Refuses arrays that do not belong together, as attention does."""
    batch, seq, hidden = x.shape
    if len(weights) != 4 or biases is not None and len(biases) != 4:
        raise ValueError("Four weights are needed, of q, k, v and the output, and four biases or None.")
    square = {f"weights[{i}]": (w, (hidden, hidden)) for i, w in enumerate(weights)}
    rows = {f"biases[{i}]": (b, (hidden,)) for i, b in enumerate(biases or ())}
    fit(**square, **rows, y=(y, x.shape), mask=(mask, (seq, seq), (batch, seq, seq)))
    if mask is not None:
        attention.one_byte(mask)
    for name, (array, _) in (square | rows).items():
        wanted = np.dtype(np.float32) if name in rows else x.dtype
        if array.dtype != wanted:
            raise ValueError(f"{name} is {array.dtype}; here it has to be {wanted}.")


def launch(x, weights, biases, y, heads, mask=None, causal=False, *, rows: int = 0, block: int = 0, columns: int = 0, kernel=None, blocks: int = 0, **options) -> hp.Run:
    """weights: of q, k, v and the output; biases: the same four, or None."""
    blocks = blocks or FUSED.blocks
    agree(x, weights, biases, y, mask)
    t = tiling(x, heads, biases is not None, mask, causal, rows=rows, block=block, columns=columns, blocks=blocks)
    kernel = kernel or compile(FUSED, x.dtype)
    work = hp.workspace(workspace_bytes(t, blocks, x.itemsize))
    return kernel.launch(blocks, (x, *weights, *(biases or [None] * 4), mask, y, work, t), **options)


# ---- without fusion: seven launches
def product(a, b, c, m, n, k, *, groups=(1, 1), strides, by_columns=False, bias=None, kernel=None, blocks: int = 24, **options) -> hp.Run:
    """One launch of product.cpp. strides: for a, b and c the elements from batch to batch, head to head and row to row."""
    kernel = kernel or compile(PRODUCT, a.dtype)
    batches, heads = groups
    tiles = batches * heads * -(-m // 128)
    columns = next((w for w in (128, 64, 32) if tiles * -(-n // w) >= blocks), 32)
    struct = hp.tiling_struct(PRODUCT.path, "ProductTiling")
    t = struct(batches=batches, heads=heads, m=m, n=n, k=k, byColumns=int(by_columns), hasBias=int(bias is not None),
               rows=min(128, plans.padded(m, 16)), columns=columns)
    for name, (batch, head, row) in zip("abc", strides):
        operand = getattr(t, name)
        operand.batch, operand.head, operand.row = batch, head, row
    return kernel.launch(blocks, (a, b, bias, c, t), **options)


def unfused(x, weights, biases, y, heads, *, blocks: int = 24, **options) -> dict[str, hp.Run]:
    """The same without a mask, as seven launches: {what: Run}. The scale is folded into the weights and bias of q."""
    softmax = load("softmax", "ladder")
    batch, seq, hidden = x.shape
    dim = hidden // heads
    tokens, scale = batch * seq, dim ** -0.5
    kernel = compile(PRODUCT, x.dtype)
    q, k, v, context = (np.empty_like(x) for _ in range(4))
    scores = np.empty((batch, heads, seq, seq), x.dtype)
    shares, runs = np.empty_like(scores), {}
    plain = [(0, 0, hidden)] * 3
    factors = [np.float32(scale), 1, 1, 1]
    for name, w, b, to, factor in zip("qkv", weights, biases or [None] * 3, (q, k, v), factors):
        w = (w.astype(np.float32) * factor).astype(x.dtype)
        b = None if b is None else b * np.float32(factor)
        runs[name] = product(x, w, to, tokens, hidden, hidden, strides=plain, bias=b, kernel=kernel, blocks=blocks, **options)
    by_head, whole = (seq * hidden, dim, hidden), (heads * seq * seq, seq * seq, seq)
    runs["q k^T"] = product(q, k, scores, seq, seq, dim, groups=(batch, heads), strides=[by_head, by_head, whole], by_columns=True, kernel=kernel, blocks=blocks, **options)
    flat = scores.reshape(-1, seq)
    runs["softmax"] = softmax.launch(softmax.VERSIONS[1], flat, shares.reshape(-1, seq), kernel=softmax.compile(softmax.VERSIONS[1], x.dtype), blocks=2 * blocks, **options)
    runs["p v"] = product(shares, v, context, seq, dim, seq, groups=(batch, heads), strides=[whole, by_head, by_head], kernel=kernel, blocks=blocks, **options)
    runs["output"] = product(context, weights[3], y, tokens, hidden, hidden, strides=plain, bias=None if biases is None else biases[3], kernel=kernel, blocks=blocks, **options)
    return runs
