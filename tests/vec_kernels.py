"""Kernels that run any vector instruction on whole arrays: one text and one compilation for all tests of a family."""

from __future__ import annotations

import functools

import numpy as np

import helpers as hp

CTYPE = {"float16": "half", "float32": "float", "int16": "int16_t", "int32": "int32_t", "uint16": "uint16_t", "uint32": "uint32_t", "int8": "int8_t",
         "uint8": "uint8_t", "int64": "int64_t", "bfloat16": "bfloat16_t"}
BUFFERS = """
template <class T> __aicore__ inline LocalTensor<T> In(TPipe& pipe, TBuf<TPosition::VECCALC>& b, GM_ADDR p, uint32_t n, uint32_t room) {
    pipe.InitBuffer(b, room);
    LocalTensor<T> t = b.Get<T>();
    GlobalTensor<T> g;
    g.SetGlobalBuffer((__gm__ T*)p);
    if (n > 0) DataCopyPad(t, g, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0}, DataCopyPadExtParams<T>{false, 0, 0, 0});
    return t;
}
template <class T> __aicore__ inline void Out(GM_ADDR p, LocalTensor<T> t, uint32_t n) {
    GlobalTensor<T> g;
    g.SetGlobalBuffer((__gm__ T*)p);
    PipeBarrier<PIPE_ALL>();
    if (n > 0) DataCopyPad(g, t, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0});
}
"""
HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n' + BUFFERS


def room(n: int, itemsize: int) -> int:
    """Bytes of a buffer for n elements: whole blocks, at least one."""
    return max(32, -(-n * itemsize // 32) * 32)


@functools.lru_cache(maxsize=None)
def compiled(text: str):
    return hp.compile(HEAD + text)


def entry(body: str, params: str) -> str:
    return f'extern "C" __global__ __aicore__ void k({params}) {{\n    TPipe pipe;\n    TBuf<TPosition::VECCALC> ba, bb, bd;\n{body}\n}}\n'


COUNTED = """
    LocalTensor<{u}> a = In<{u}>(pipe, ba, x, n, roomS), b = In<{u}>(pipe, bb, y, n, roomS);
    LocalTensor<{t}> d = In<{t}>(pipe, bd, z, n, roomD);
    PipeBarrier<PIPE_ALL>();
    {{
        switch (op) {{
{cases}
        }}
    }}
    Out(z, d, n);
"""
COUNTED_PARAMS = "GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t op, int32_t n, uint32_t roomS, uint32_t roomD, {scalar} s"


def counted(cases: tuple[str, ...], x, y, z, op: int, scalar=0, *, scalar_type="float", mode="full"):
    """Runs case `op` of `cases` (statements on d, a, b, s, n); z is read before and written after. Returns the Run."""
    ctype = lambda v: CTYPE[v.dtype.name]  # noqa: E731
    body = "\n".join(f"            case {i}: {{ {c}; break; }}" for i, c in enumerate(cases))
    k = compiled(entry(COUNTED.format(u=ctype(x), t=ctype(z), cases=body), COUNTED_PARAMS.format(scalar=scalar_type)))
    n = int(z.size)
    return k.launch(1, (x, y, z, op, n, room(n, x.itemsize), room(n, z.itemsize), scalar), checks=mode)


STRIDED = """
    LocalTensor<{t}> a = In<{t}>(pipe, ba, x, n, room), b = In<{t}>(pipe, bb, y, n, room), d = In<{t}>(pipe, bd, z, n, room);
    PipeBarrier<PIPE_ALL>();
    uint64_t mask[2] = {{lo, hi}};
    (void)mask;
{body}
    Out(z, d, n);
"""
STRIDED_PARAMS = (
    "GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t n, uint32_t room, uint64_t lo, uint64_t hi, int32_t rep, int32_t db, int32_t ab, int32_t bb_, int32_t dr, "
    "int32_t ar, int32_t br"
)


def strided(body: str, x, y, z, *, lo=0, hi=0, rep=1, blk=(1, 1, 1), rs=(8, 8, 8), op=0, checks="full"):
    """Runs `body` (statements on d, a, b, mask, lo, rep, op and the six strides) on arrays of one type; returns the Run."""
    k = compiled(entry(STRIDED.format(t=CTYPE[x.dtype.name], body=body), STRIDED_PARAMS + ", int32_t op"))
    return k.launch(1, (x, y, z, int(z.size), room(z.size, z.itemsize), lo, hi, rep, *blk, *rs, op), checks=checks)


def specials(dtype) -> np.ndarray:
    """The values where arithmetic goes wrong first."""
    t = np.dtype(dtype)
    if t.kind == "f":
        f = np.finfo(t)
        v = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -1.5, -2.5, 3.0, float(f.max), float(-f.max), float(f.tiny), float(-f.tiny), float(f.smallest_subnormal),
             float(-f.smallest_subnormal), float(f.tiny) / 2, np.inf, -np.inf, np.nan, 1 + float(f.eps), 1 - float(f.eps) / 2, 2048.0, 1e-3, -7.25, 11.0, 88.0]
        return np.array(v, t)
    i = np.iinfo(t)
    return np.array([0, 1, 2, 3, 7, 100, i.max, i.max - 1, i.min, i.min + 1] + ([-1, -2, -100] if t.kind == "i" else []), t)


def pairs(dtype) -> tuple[np.ndarray, np.ndarray]:
    s = specials(dtype)
    a, b = np.meshgrid(s, s, indexing="ij")
    return a.ravel().copy(), b.ravel().copy()


def random_bits(rng, dtype, n) -> np.ndarray:
    t = np.dtype(dtype)
    return rng.integers(0, 256, n * t.itemsize, dtype=np.uint8).view(t)
