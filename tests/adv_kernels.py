"""Kernels that run many high-level calls in one launch: row i of the arrays belongs to call i."""

from __future__ import annotations

import numpy as np

import helpers as hp

TEXT = """#include "kernel_operator.h"
using namespace AscendC;
{globals}
extern "C" __global__ __aicore__ void k(GM_ADDR xAddr, GM_ADDR eAddr, GM_ADDR yAddr) {{
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufs[5];
    for (int i = 0; i < 4; ++i) pipe.InitBuffer(bufs[i], {room});
    pipe.InitBuffer(bufs[4], {tmp});
    GlobalTensor<{t}> x, e, y;
    x.SetGlobalBuffer((__gm__ {t}*)xAddr);
    e.SetGlobalBuffer((__gm__ {t}*)eAddr);
    y.SetGlobalBuffer((__gm__ {t}*)yAddr);
    LocalTensor<{t}> s = bufs[0].Get<{t}>({n}), b = bufs[1].Get<{t}>({n}), d = bufs[2].Get<{t}>({n}), r = bufs[3].Get<{t}>({n});
    LocalTensor<uint8_t> tmp = bufs[4].Get<uint8_t>();
    {t} c = static_cast<{t}>(1.5);
    const int32_t n = {n};
    {body}
}}
"""
STEP = """
    DataCopy(s, x[{i} * n], n); DataCopy(b, e[{i} * n], n); DataCopy(d, y[{i} * n], n);
    PipeBarrier<PIPE_ALL>();
    {{ {call} }}
    PipeBarrier<PIPE_ALL>();
    DataCopy(y[{i} * n], d, n);
    PipeBarrier<PIPE_ALL>();"""


def text(t: str, calls: list[str], n: int, *, room: int | None = None, tmp: int = 65536, globals: str = "") -> str:
    """`s`, `b` hold row i of x and e, `d` what the call leaves in row i of y; `r` is spare, `c` the number 1.5."""
    body = "".join(STEP.format(i=i, call=call) for i, call in enumerate(calls))
    return TEXT.format(t=t, n=n, room=room or max(n * 4, 32), tmp=tmp, body=body, globals=globals)


def run(t: str, calls: list[str], x: np.ndarray, e: np.ndarray | None = None, y: np.ndarray | None = None, **kw):
    """The rows the calls leave, and the run. Findings other than notes have to be expected by the caller."""
    n = x.shape[-1]
    e = x.copy() if e is None else e
    y = np.zeros_like(x) if y is None else y.copy()
    launched = hp.compile(text(t, calls, n, **kw))[1](x, e, y)
    return y, launched


def complaints(launched) -> list[str]:
    return [f"{f.code}@{f.line}: {f.message}" for f in launched.findings if f.severity != "note"]
