"""Kernels that run one copy call on a known UB and show the whole UB, or the whole destination, afterwards."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import helpers as hp

TYPES = {"half": np.float16, "float": np.float32, "int8_t": np.int8, "uint16_t": np.uint16, "int32_t": np.int32, "int64_t": np.int64}
UB = 4096          # bytes of the UB buffer that a test looks at

FRAME = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR before, GM_ADDR after, {numbers}) {{
    using T = {t};
    GlobalTensor<T> xGm, beforeGm, afterGm;
    xGm.SetGlobalBuffer((__gm__ T*)x);
    beforeGm.SetGlobalBuffer((__gm__ T*)before);
    afterGm.SetGlobalBuffer((__gm__ T*)after);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf, other;
    pipe.InitBuffer(buf, {ub});
    pipe.InitBuffer(other, {ub});
    LocalTensor<T> ub = buf.Get<T>(), ub2 = other.Get<T>();
    DataCopy(ub, beforeGm, {ub} / sizeof(T));
    PipeBarrier<PIPE_ALL>();
    {call}
    PipeBarrier<PIPE_ALL>();
    {end}
}}
"""


@lru_cache(maxsize=None)
def load_kernel(call: str, t: str, numbers: str):
    """`call` copies from xGm into ub (which held `before`); `after` gets the whole buffer."""
    end = f"DataCopy(afterGm, ub, {UB} / sizeof(T));"
    return hp.compile(FRAME.format(t=t, numbers=_declare(numbers), ub=UB, call=call, end=end))


@lru_cache(maxsize=None)
def store_kernel(call: str, t: str, numbers: str):
    """`call` copies from ub (which holds `before`) into xGm; `after` is not used."""
    return hp.compile(FRAME.format(t=t, numbers=_declare(numbers), ub=UB, call=call, end=""))


def _declare(numbers: str) -> str:
    return ", ".join(f"int64_t {n}" for n in numbers.split())


def bytes_of(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random bytes; every value is as good as any other for a copy."""
    return rng.integers(1, 255, n, dtype=np.uint8)


def as_type(raw: np.ndarray, t: str) -> np.ndarray:
    return raw.view(TYPES[t])
