"""A family of calls: one kernel, so that one build serves all of them, and the numbers they run on.

A call is a statement on local tensors: a and b hold N elements of the inputs, d the output (it starts as the old contents
of z), tmp is scratch; SRC and DST are the types of the inputs and of the output. What the twin and a device make of it is compared byte by byte.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

N = 256
_BITS = {"half": np.float16, "float": np.float32, "int16_t": np.int16, "int32_t": np.int32, "int8_t": np.int8, "uint8_t": np.uint8, "bfloat16_t": np.uint16, "uint32_t": np.uint32,
         "uint16_t": np.uint16}


@dataclass(frozen=True)
class Call:
    label: str
    statement: str


@dataclass(frozen=True)
class Family:
    name: str
    source: str            # C++ type of a and b
    result: str            # of d
    calls: tuple[Call, ...]
    # "special": edge values; "plain": no NaN, no infinity; "ordered": all different; "small": exact in half; "fine": 1 to 2 by steps of 2^-12; "top": the largest number;
    # "tail": 16 x 16, NaN from column 9 on
    data: str = "special"
    frame: str = ""        # text around the calls, when they are not vector calls; it holds NAME, SRC, DST and CASES
    head: str = ""         # what stands before all kernels of the text, when it is not HEAD
    alone: bool = False    # in a text of its own, also where others share one
    size: int = N          # elements of a and b in GM
    tilings: tuple[tuple[str, str, Callable[[], object]], ...] = ()   # further parameters: C++ type, name, and who makes the struct

    @property
    def unit(self) -> tuple:
        """Families of one unit are built together."""
        return (self.head, bool(self.frame), self.name if self.alone else "")

    @property
    def kernel(self) -> str:
        cases = "".join(f"        case {i}: {{ {c.statement} }} break;\n" for i, c in enumerate(self.calls))
        more = "".join(f", {ctype} {name}" for ctype, name, _ in self.tilings)
        words = {"CASES": cases, "NAME": self.name, "SRC": self.source, "DST": self.result, "int32_t call)": f"int32_t call{more})"}
        text = self.frame or VECTOR_FRAME
        for word, becomes in words.items():
            text = text.replace(word, becomes)
        return text

    @property
    def text(self) -> str:
        return (self.head or HEAD) + self.kernel

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b, and what z holds before."""
        x, y = values(self.source, self.data, 1, self.size), values(self.source, self.data, 2, self.size)
        return x, y, np.ones(N, _BITS[self.result])

    def arguments(self) -> tuple:
        """What a launch gets after the number of the call."""
        return tuple(make() for _, _, make in self.tilings)

    @property
    def result_dtype(self):
        return _BITS[self.result]


HEAD = '''#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t N = 256;
'''

VECTOR_FRAME = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufA, bufB, bufD, bufTmp;
    pipe.InitBuffer(bufA, N * sizeof(SRC));
    pipe.InitBuffer(bufB, N * sizeof(SRC));
    pipe.InitBuffer(bufD, 2 * N * sizeof(DST));
    pipe.InitBuffer(bufTmp, 32768);
    LocalTensor<SRC> a = bufA.Get<SRC>(), b = bufB.Get<SRC>(), tmp = bufTmp.Get<SRC>();
    LocalTensor<DST> d = bufD.Get<DST>();
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, N);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, N);
    zGm.SetGlobalBuffer((__gm__ DST*)z, N);
    DataCopy(a, xGm, N);
    DataCopy(b, yGm, N);
    DataCopy(d, zGm, N);
    PipeBarrier<PIPE_ALL>();
    Duplicate(bufTmp.Get<int32_t>(), 0, 256);
    PipeBarrier<PIPE_ALL>();
    switch (call) {
CASES        default: break;
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(zGm, d, N);
    PipeBarrier<PIPE_ALL>();
}
'''


def values(ctype: str, kind: str, seed: int, n: int = N) -> np.ndarray:
    """The same numbers on every machine: edge values first, then random ones of many magnitudes."""
    if ctype == "bfloat16_t":
        return (values("float", kind, seed, n).view(np.uint32) >> 16).astype(np.uint16)
    dtype = _BITS[ctype]
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        out = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        edges = [0, 1, info.max, info.min, info.max - 1, 2, 3, 4]
        out[:len(edges)] = edges if seed == 1 else edges[::-1]
        if kind == "top":
            out[:] = info.max
        return np.sort(out) if kind == "ordered" else out
    out = (rng.standard_normal(n) * 2.0 ** rng.integers(-8, 8, n)).astype(dtype)
    if kind == "special":
        top = np.finfo(dtype)
        edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top.max, -top.max, top.tiny, top.tiny / 2, 0.5, -0.3, 2.5, 3.5, -2.5, 65504.0, 65519.0, 65520.0, 70000.0, 1e9, -1e9, 32767.5, 127.5]
        with np.errstate(over="ignore"):
            edges = np.array(edges, np.float64).astype(dtype)
        out[:len(edges)] = edges if seed == 1 else edges[::-1]
    elif kind == "tail":
        out = np.ldexp(rng.integers(-64, 65, (16, 16)), -5).astype(dtype)
        out[:, 9:] = np.nan
        out = out.ravel()
    elif kind == "fine":
        out = (1 + np.ldexp(rng.integers(0, 4096, n), -12)).astype(dtype)
    elif kind == "small":
        out = np.ldexp(rng.integers(-64, 65, n), -5).astype(dtype)
    elif kind == "ordered":
        out = rng.permutation(np.arange(n, dtype=np.float64) / 4 - 20).astype(dtype)
    return out


def rows(ctype: str, *rows: str) -> tuple[Call, ...]:
    """Rows "Label | statement" with T for the type."""
    out = []
    for row in rows:
        label, _, statement = row.partition("|")
        out.append(Call(label.strip().replace("<T>", ctype), statement.strip().replace("<T>", f"<{ctype}>")))
    return tuple(out)
