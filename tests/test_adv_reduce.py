"""Sum, Mean, ReduceXorSum and reductions with a pattern, against NumPy in double."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from adv_kernels import complaints, run
from kernel_text import assert_clean, assert_finds, kernel

TYPES = {"float": (np.float32, 1e-5), "half": (np.float16, 4e-3)}


@pytest.mark.parametrize("t", TYPES)
def test_sum_and_mean_of_rows(t):
    dtype, tolerance = TYPES[t]
    rng = np.random.default_rng(1)
    outer, n, inner = 7, 43, 48                            # 43 floats and 43 halves both fill 48
    x = rng.uniform(0, 2, (6, outer * inner)).astype(dtype)
    p = "SumParams{7, 48, 43}"
    m = "MeanParams{7, 48, 43}"
    calls = [f"Sum(d, s, {p});", f"Sum(d, s, tmp, {p});", f"Mean(d, s, {m});", f"Mean(d, s, tmp, {m});", f"Mean<{t}, float>(d, s, tmp, {m});", f"Sum<{t}, -1, false, false>(d, s, {p});"]
    x.reshape(6, outer, inner)[:, :, n:] = 60000           # the padding must not count
    y, r = run(t, calls, x, y=np.full_like(x, 9))
    want = x.reshape(6, outer, inner)[:, :, :n].astype(np.float64).sum(axis=2)
    want[2:5] /= n
    np.testing.assert_allclose(y[:, :outer].astype(np.float64), want, rtol=tolerance)
    assert np.all(y[:, outer:] == 9) and complaints(r) == []
    if t == "half":                                         # a sum in float is rounded only once
        np.testing.assert_allclose(y[4, :outer], want[4].astype(np.float16), rtol=1e-3)


def test_half_sum_is_a_tree_and_overflows():
    x = np.zeros((3, 256), np.float16)
    x[0] = 1                                                # 256 ones: exact in a tree, also in half
    x[1, :2] = [2048, 1]
    x[1, 2] = 1                                             # (2048 + 1) + 1: a chain would lose both
    x[2] = 1000
    y, r = run("half", ["Sum(d, s, SumParams{1, 256, 256});"] * 3, x)
    assert y[0, 0] == 256 and y[1, 0] == 2048 and np.isinf(y[2, 0])
    assert [f.code for f in r.findings if f.severity == "warning"] == ["NUMERIC"]


def test_reduce_xor_sum():
    rng = np.random.default_rng(2)
    x, e = rng.integers(0, 60, (2, 256)).astype(np.int16), rng.integers(0, 60, (2, 256)).astype(np.int16)
    x[1], e[1] = 32000, 5
    y, r = run("int16_t", ["ReduceXorSum(d, s, b, 100);", "ReduceXorSum(d, s, b, tmp, 256);"], x, e)
    assert y[0, 0] == (x[0, :100] ^ e[0, :100]).sum() and y[1, 0] == 32767 and complaints(r) == []


FOLDS = {"Sum": np.sum, "Mean": np.mean, "Prod": np.prod, "Max": np.max, "Min": np.min, "Any": np.any, "All": np.all}


@pytest.mark.parametrize("t", ["float", "half", "uint8_t"])
def test_patterns(t):
    dtype = {"float": np.float32, "half": np.float16, "uint8_t": np.uint8}[t]
    names = {"float": list(FOLDS), "half": ["Max", "Min"], "uint8_t": ["Any", "All"]}[t]
    rows, cols, pitch = 6, 13, 16 if t != "uint8_t" else 32
    rng = np.random.default_rng(3)
    calls, want, xs = [], [], []
    for name in names:
        for axis, pattern in ((1, "AR"), (0, "RA")):
            x = rng.uniform(0.5, 1.5, (rows, pitch))
            if name in ("Any", "All"):
                x = (x > (1.4 if name == "Any" else 0.6)).astype(float)
                x[2] = name == "All"
            x = x.astype(dtype)
            calls.append(f"uint32_t shape[2] = {{{rows}, {cols}}}; Reduce{name}<{t}, Pattern::Reduce::{pattern}>(d, s, tmp, shape, true);")
            calls.append(f"const uint32_t shape[] = {{{rows}, {cols}}}; Reduce{name}<{t}, AscendC::Pattern::Reduce::{pattern}, true>(d, s, shape, true);")
            for _ in range(2):
                xs.append(x.ravel())
                want.append(FOLDS[name](x[:, :cols].astype(np.float64), axis=axis))
    y, r = run(t, calls, np.stack(xs), y=np.full((len(calls), rows * pitch), 9, dtype))
    for call, got, w in zip(calls, y, want):
        np.testing.assert_allclose(got[: len(w)].astype(np.float64), w.astype(np.float64), rtol=1e-5 if t == "float" else 1e-3, err_msg=call)
        assert np.all(got[len(w):] == 9), call
    assert complaints(r) == []


X = np.linspace(-2, 2, 128).astype(np.float32)


def one(call: str, t: str = "float", before: str = "", fill: int = 128) -> str:
    body = f"""
    TBuf<TPosition::VECCALC> a, b, w;
    pipe.InitBuffer(a, 512); pipe.InitBuffer(b, 512); pipe.InitBuffer(w, 2048);
    LocalTensor<{t}> s = a.Get<{t}>(128), d = b.Get<{t}>(128);
    LocalTensor<uint8_t> tmp = w.Get<uint8_t>();
    uint32_t shape[2] = {{4, 30}};
    DataCopy(s, xGm, {fill}); DataCopy(d, xGm, 128);
    PipeBarrier<PIPE_ALL>();
    {before}
    {call} // HERE
    PipeBarrier<PIPE_ALL>();
    DataCopy(yGm, d, 128);"""
    return kernel(body, t=t)


@pytest.mark.parametrize("code, severity, says, call", [
    ("BAD_PARAMETER", "error", "inner must be n rounded up", "Sum(d, s, SumParams{2, 30, 30});"),
    ("BAD_PARAMETER", "warning", "with one row", "Sum(d, s, SumParams{1, 30, 30});"),
    ("BAD_PARAMETER", "error", "n is at most inner", "Sum(d, s, SumParams{1, 32, 33});"),
    ("OUT_OF_BOUNDS", "error", "outter * inner", "Sum(d, s, SumParams{5, 32, 32});"),
    ("BAD_PARAMETER", "error", "must be true", "ReduceSum<float, Pattern::Reduce::AR>(d, s, tmp, shape, false);"),
    ("BAD_PARAMETER", "error", "srcShape is", "shape[1] = 0; ReduceSum<float, Pattern::Reduce::AR>(d, s, tmp, shape, true);"),
    ("OVERLAP", "warning", "overlap", "ReduceMax<float, Pattern::Reduce::RA>(s, s, tmp, shape, true);"),
])
def test_checks_fire(code, severity, says, call):
    assert_finds(code, one(call), X.copy(), np.zeros_like(X), severity=severity, says=says)


def test_undefined_elements_decide_only_where_they_count():
    assert_finds("UNINITIALISED_READ", one("Sum(d, s, SumParams{4, 32, 32});", fill=96), X.copy(), np.zeros_like(X))
    assert_clean(one("Sum(d, s, SumParams{3, 32, 32});", fill=96), X.copy(), np.zeros_like(X))


def test_only_two_axes():
    with pytest.raises(hp.CompileError) as e:
        hp.compile(one("ReduceSum<float, Pattern::Reduce::ARA>(d, s, tmp, shape, true);"))
    assert "AR and RA" in str(e.value)
