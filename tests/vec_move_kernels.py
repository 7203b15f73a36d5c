"""Kernels that run the instructions that move elements: arrays in, one statement, arrays out."""

from __future__ import annotations

import numpy as np

from vec_kernels import CTYPE, compiled, entry, room

BODY = """
    LocalTensor<T> a = In<T>(pipe, ba, x, nx, roomX), d = In<T>(pipe, bd, z, nz, roomZ);
    LocalTensor<U> b = In<U>(pipe, bb, y, ny, roomY);
    TBuf<TPosition::VECCALC> bt;
    pipe.InitBuffer(bt, 32768);
    LocalTensor<uint8_t> tmp = bt.Get<uint8_t>();
    PipeBarrier<PIPE_ALL>();
    uint64_t mask[2] = {lo, hi};
    (void)mask;
    (void)tmp;
    switch (op) {
CASES
    }
    Out(z, d, nz);
    Out(y, b, ny);
"""
PARAMS = (
    "GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t op, uint32_t nx, uint32_t ny, uint32_t nz, uint32_t roomX, uint32_t roomY, uint32_t roomZ, "
    "uint64_t lo, uint64_t hi, int32_t p0, int32_t p1, int32_t p2, int32_t p3, int32_t p4, int32_t p5"
)


def move(cases: tuple[str, ...], op: int, x, y, z, *p, lo=0, hi=0, checks="full", globals=""):
    """Runs case `op` (statements on a, b, d, tmp, mask, lo, p0..p5); y and z are read before and written after. Returns the Run."""
    text = "\n".join(f"        case {i}: {{ {c}; break; }}" for i, c in enumerate(cases))
    types = f"using T = {CTYPE[x.dtype.name]};\nusing U = {CTYPE[y.dtype.name]};\n"
    k = compiled(globals + types + entry(BODY.replace("CASES", text), PARAMS))
    p = [int(v) for v in p] + [0] * (6 - len(p))
    sizes = [v.size for v in (x, y, z)] + [room(v.size, v.itemsize) for v in (x, y, z)]
    return k.launch(1, (x, y, z, op, *sizes, lo, hi, *p), checks=checks)


def bits(dtype):
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def every_bit(rng, dtype, n):
    return rng.integers(0, 256, n * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)


def same(actual, expected, what=""):
    a, e = (np.ascontiguousarray(v).view(bits(v.dtype)) for v in (actual, expected))
    assert a.dtype == e.dtype and a.shape == e.shape, (a.dtype, e.dtype, a.shape, e.shape)
    wrong = np.flatnonzero(a != e)
    assert wrong.size == 0, f"{what}: {wrong.size} of {a.size} differ, first at {wrong[0]}: got {actual.flat[wrong[0]]!r}, expected {expected.flat[wrong[0]]!r}"
