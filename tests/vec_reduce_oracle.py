"""Reductions in NumPy: trees of neighbours with absent lanes, first extremes, by the index formulas of the repeat forms."""

from __future__ import annotations

import numpy as np


def lanes(dtype) -> int:
    return 256 // np.dtype(dtype).itemsize


def gather_repeats(x, rep, blk, srep):
    """[rep, L] array of the lanes of every repeat; what lies outside x is 0."""
    e, n = 32 // x.itemsize, lanes(x.dtype)
    lane = np.arange(n)
    index = (np.arange(rep)[:, None] * srep + (lane // e) * blk) * e + lane % e
    return np.where(index < x.size, x[np.minimum(index, x.size - 1)], x.dtype.type(0)), index


def bits_of(lo, hi, n):
    return np.array([(lo >> i if i < 64 else hi >> (i - 64)) & 1 for i in range(n)], bool)


def add(a, b):
    return (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype)


def tree(rows, on):
    """Sum of every row [r, n] over the active columns; (values, any active)."""
    v, on = rows.copy(), np.broadcast_to(on, rows.shape).copy()
    while v.shape[1] > 1:
        if v.shape[1] % 2:
            v = np.concatenate([v, np.zeros((len(v), 1), v.dtype)], 1)
            on = np.concatenate([on, np.zeros((len(v), 1), bool)], 1)
        a, b, oa, ob = v[:, ::2], v[:, 1::2], on[:, ::2], on[:, 1::2]
        v = np.where(oa & ob, add(a, b), np.where(oa, a, b))
        on = oa | ob
    return v[:, 0], on[:, 0]


def key(v):
    """Orders like the value, -0 below +0."""
    i = v.view(np.dtype(f"i{v.itemsize}")).astype(np.int64)
    return np.where(i < 0, -(i & (2 ** (8 * v.itemsize - 1) - 1)) - 1, i)


def extreme(rows, on, largest):
    """Value and column of the first extreme of every row; a NaN wins, the first one."""
    on = np.broadcast_to(on, rows.shape)
    k = key(rows) * (1 if largest else -1)
    k = np.where(np.isnan(rows), 2**40, k)
    k = np.where(on, k, -(2**41))
    at = k.argmax(1)
    return rows[np.arange(len(rows)), at], at


def whole_sum(x, on, rep, blk, srep):
    return tree(gather_repeats(x, rep, blk, srep)[0], on)[0]


def block_parts(x, on, rep, blk, srep, width, fold):
    rows = gather_repeats(x, rep, blk, srep)[0]
    n = rows.shape[1] // width
    parts = rows.reshape(rep * n, width)
    mask = np.tile(on.reshape(n, width), (rep, 1))
    return fold(parts, mask).reshape(rep, n), mask.any(1).reshape(rep, n)


def sum_of_count(x):
    n = lanes(x.dtype)
    total = None
    for i in range(0, x.size, n):
        s = tree(x[None, i : i + n], np.ones(min(n, x.size - i), bool))[0]
        total = s if total is None else add(total, s)
    return total[0]


def sum_of_repeats(x, on, rep, srep):
    w = whole_sum(x, on, rep, 1, srep)
    n = lanes(x.dtype)
    while w.size > 1:
        w = np.concatenate([tree(w[None, i : i + n], np.ones(min(n, w.size - i), bool))[0] for i in range(0, w.size, n)])
    return w[0]
