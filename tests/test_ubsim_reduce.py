"""Reductions of the simulation issue what those of a kernel issue."""
import numpy as np
import pytest

import helpers as hp
from helpers.ubsim import reduce
from ubsim_tools import assert_same_run, error_of, line_of

N, W = 1024, 64                              # elements of the source; results shown of each call
TYPES = {"half": np.float16, "float": np.float32}


def calls(lanes: int):
    """(name, arguments after dst and src in C++, the same in Python)"""
    out = [("ReduceSum", f"tmp, {N}", lambda t: (t, N)), ("ReduceMax", f"tmp, {N}", lambda t: (t,)),
           ("ReduceMax", f"tmp, {N}, true", lambda t: (t, N, True)), ("ReduceMin", f"tmp, {N - 7}, true", lambda t: (t, N - 7, True))]
    for name in ("WholeReduceSum", "WholeReduceMax", "WholeReduceMin"):
        out.append((name, f"{lanes}, 8, 1, 1, 8", lambda t: (lanes, 8)))
    for name in ("BlockReduceSum", "BlockReduceMax", "BlockReduceMin", "PairReduceSum"):
        out.append((name, f"2, {lanes}, 1, 1, 8" if name != "PairReduceSum" else f"1, {lanes}, 1, 1, 8", lambda t, n=2 if name != "PairReduceSum" else 1: (lanes, n)))
    return out


def text(t: str, lanes: int) -> str:
    body = "\n".join(f"    Duplicate(r, (T)0, {W}); {name}(r, x, {args}); PipeBarrier<PIPE_ALL>(); DataCopy(yGm[{row * W}], r, {W}); PipeBarrier<PIPE_ALL>();"
                     for row, (name, args, _) in enumerate(calls(lanes)))
    return f"""#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void reductions(GM_ADDR xg, GM_ADDR yg) {{
    using T = {t};
    TPipe pipe;
    GlobalTensor<T> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ T*)xg); yGm.SetGlobalBuffer((__gm__ T*)yg);
    TBuf<TPosition::VECCALC> a, b, c;
    pipe.InitBuffer(a, {N} * sizeof(T)); pipe.InitBuffer(b, {N} * sizeof(T)); pipe.InitBuffer(c, {W} * sizeof(T));
    LocalTensor<T> x = a.Get<T>(), tmp = b.Get<T>(), r = c.Get<T>();
    DataCopy(x, xGm, {N});
    PipeBarrier<PIPE_ALL>();
{body}
}}
"""


@hp.ubsim
def reductions(core, xg, yg, list_of_calls):
    x, tmp = core.TBuf(length=N * xg.itemsize).Get(xg.dtype), core.TBuf(length=N * xg.itemsize).Get(xg.dtype)
    r = core.TBuf(length=W * xg.itemsize).Get(xg.dtype)
    core.DataCopy(x, xg)
    core.PipeBarrier("ALL")
    for row, (name, _, args) in enumerate(list_of_calls):
        core.Duplicate(r, 0.0)
        getattr(core, name)(r, x, *args(tmp))
        core.PipeBarrier("ALL")
        core.DataCopy(yg[row], r)
        core.PipeBarrier("ALL")


@pytest.mark.parametrize("t", TYPES)
def test_reductions_equal_the_kernel(t):
    dtype, lanes = TYPES[t], 256 // TYPES[t]().itemsize
    x = np.random.default_rng(1).permutation(N).astype(dtype) / 64
    todo = calls(lanes)
    y, y_sim = np.zeros((len(todo), W), dtype), np.zeros((len(todo), W), dtype)
    run = hp.compile(text(t, lanes))[1](x, y)
    twin = reductions[1](x, y_sim, todo)
    for row, call in enumerate(todo):
        assert y[row].tobytes() == y_sim[row].tobytes(), call
    assert_same_run(run, twin)
    index = y_sim.view(f"u{x.itemsize}")
    assert y_sim[1, 0] == x.max() and y_sim[2, 0] == x.max() and index[2, 1] == x.argmax()
    assert y_sim[3, 0] == x[:N - 7].min() and index[3, 1] == x[:N - 7].argmin()
    assert abs(float(y_sim[0, 0]) - x.astype(float).sum()) <= 1e-2 * x.astype(float).sum()
    assert {name for name, *_ in todo} == set(reduce.METHODS)


def test_reduction_over_elements_nobody_wrote():
    def row(core, x):
        t, w, r = (core.TBuf(length=256).Get(np.float32) for _ in "twr")
        core.DataCopyPad(t, x[:61])
        core.PipeBarrier("ALL")
        core.ReduceSum(r, t, w, 64)          # here

    x = np.ones(61, np.float32)
    error = error_of(hp.ubsim(row), x)
    assert [(f.code, f.line) for f in error.findings if f.severity == "error"] == [("UNINITIALISED_READ", line_of(row))]


def test_mistakes_of_a_reduction():
    def types(core):
        h = core.TBuf(length=256).Get(np.int32)
        core.ReduceSum(h, h, h)

    def far(core):
        h = core.TBuf(length=256).Get(np.float32)
        core.Duplicate(h, 1.0)
        core.ReduceSum(h, h, core.TBuf(length=256).Get(np.float32), 2**40)

    assert error_of(hp.ubsim(types)).codes == ["UNSUPPORTED_TYPE"]
    assert "OUT_OF_BOUNDS" in error_of(hp.ubsim(far)).codes
