"""High-level mathematics against NumPy in double: every function, every form, the edges, the checks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import helpers as hp
from helpers import host
from adv_kernels import complaints, run, text
from kernel_text import assert_clean, assert_finds, kernel

N = 256
erf = np.vectorize(math.erf)
erfc = np.vectorize(math.erfc)
lgamma = np.vectorize(math.lgamma)


def digamma(x):
    """Difference quotient of lgamma."""
    h = 1e-5 * np.maximum(1, np.abs(x))
    return (lgamma(x + h) - lgamma(x - h)) / (2 * h)


def series(x, level):
    whole = np.floor(x)
    f = x - whole
    return np.exp(whole) * sum(f**i / math.factorial(i) for i in range(level + 1))


# name, function in double, low and high end of the inputs, form of the call
UNARY = [
    ("Tanh", np.tanh, -20, 20, 4), ("Sin", np.sin, -100, 100, 4), ("Cos", np.cos, -100, 100, 4), ("Tan", np.tan, -1.4, 1.4, 4),
    ("Asin", np.arcsin, -1, 1, 4), ("Acos", np.arccos, -1, 1, 4), ("Atan", np.arctan, -1e4, 1e4, 4), ("Sinh", np.sinh, -9, 9, 4),
    ("Cosh", np.cosh, -9, 9, 4), ("Asinh", np.arcsinh, -6e4, 6e4, 4), ("Acosh", np.arccosh, 1, 6e4, 4), ("Atanh", np.arctanh, -0.98, 0.98, 4),
    ("Erf", erf, -4, 4, 4), ("Erfc", erfc, -3, 3, 4), ("Lgamma", lgamma, 0.1, 100, 2), ("Digamma", digamma, 0.5, 100, 2), ("Log", np.log, 1e-3, 6e4, 0),
    ("Log2", np.log2, 1e-3, 6e4, 4), ("Log10", np.log10, 1e-3, 6e4, 0), ("Ceil", np.ceil, -9, 9, 2), ("Floor", np.floor, -9, 9, 2), ("Trunc", np.trunc, -9, 9, 4),
    ("Round", np.rint, -9, 9, 2), ("Frac", lambda x: x - np.trunc(x), -9, 9, 4), ("Sign", np.sign, -9, 9, 4),
]
TYPES = {"float": (np.float32, 2e-6), "half": (np.float16, 1e-3)}


def forms(name: str, form: int) -> list[str]:
    """0: without workspace, 2: with a count, 4: with and without count."""
    plain = [f"{name}(d, s, n);"] + ([f"{name}(d, s);"] if form != 2 else [])
    return plain + ([f"{name}(d, s, tmp, n);"] if form else []) + ([f"{name}(d, s, tmp);"] if form == 4 else [])


@pytest.mark.parametrize("t", TYPES)
def test_functions_of_one_tensor(t):
    dtype, tolerance = TYPES[t]
    rng = np.random.default_rng(1)
    calls, rows, wanted = [], [], []
    for name, f, lo, hi, form in UNARY:
        x = rng.uniform(lo, hi, N).astype(dtype)
        if name in ("Ceil", "Floor", "Trunc", "Round", "Frac", "Sign"):
            x[:8] = [-2.75, 2.5, 3.5, -2.5, 0, -0.0, 7, -7]
        for call in forms(name, form):
            calls.append(call)
            rows.append(x)
            wanted.append(f(x.astype(np.float64)))
    y, r = run(t, calls, np.stack(rows))
    for call, got, want in zip(calls, y, wanted):
        slack = max(1e-4, tolerance) if call.startswith("Digamma") else tolerance
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=slack, atol=slack, err_msg=call)
    assert complaints(r) == []


PAIRS = ["Fmod(d, s, b);", "Fmod(d, s, b, n);", "Fmod(d, s, b, tmp);", "Fmod(d, s, b, tmp, n);", "Fmod<T, false, exact>(d, s, b, n);",
         "Power(d, s, b);", "Power(d, s, b, tmp, n);", "Power(d, s, c);", "Power(d, s, c, tmp, n);", "Power(d, c, b, n);", "Power(d, c, b, tmp);",
         "ClampMax(d, s, c, n);", "ClampMax(d, s, tmp, c, n);", "ClampMin(d, s, c, n);", "ClampMin(d, s, tmp, c, n);", "Axpy(d, s, c, tmp, n);",
         "Exp<T, 12>(d, s, n);", "Exp<T, 2>(d, s, tmp, n);", "Exp<T, 0>(d, s, n);"]


@pytest.mark.parametrize("t", TYPES)
def test_functions_of_two_operands_and_exp(t):
    dtype, tolerance = TYPES[t]
    rng = np.random.default_rng(2)
    x = rng.uniform(0.1, 8, (len(PAIRS), N)).astype(dtype)
    x[-8:, 1::2] *= -1                                   # Clamp, Axpy, Exp
    x[:5, 1::2] *= -1                                    # Fmod
    e = rng.uniform(0.3, 3, x.shape).astype(dtype)
    old = rng.uniform(-1, 1, x.shape).astype(dtype)
    code = [f"using T = {t}; {c}" for c in PAIRS]
    y, r = run(t, code, x, e, old, globals="static constexpr FmodConfig exact = {FmodAlgo::ITERATION_COMPENSATION, 11};")
    a, b, o = (v.astype(np.float64) for v in (x, e, old))
    for i, call in enumerate(PAIRS):
        want = (np.fmod(a[i], b[i]) if "Fmod" in call else a[i] ** b[i] if "Power(d, s, b" in call else a[i] ** 1.5 if "Power(d, s" in call
                else 1.5 ** b[i] if "Power" in call else np.minimum(a[i], 1.5) if "ClampMax" in call else np.maximum(a[i], 1.5) if "ClampMin" in call
                else a[i] * 1.5 + o[i] if "Axpy" in call else series(a[i], 12) if "12" in call else series(a[i], 2) if "2>" in call else np.exp(a[i]))
        np.testing.assert_allclose(y[i].astype(np.float64), want, rtol=4 * tolerance, atol=4 * tolerance, err_msg=call)
    assert complaints(r) == []
    few, plain = y[-2].astype(np.float64), np.exp(a[-2])
    assert np.max(np.abs(few / plain - 1)) > 0.02        # two terms are visibly not enough


def test_integers_xor_power():
    x = np.random.default_rng(3).integers(-2**15, 2**15, (2, N)).astype(np.int16)
    e = np.random.default_rng(4).integers(-2**15, 2**15, (2, N)).astype(np.int16)
    y, r = run("int16_t", ["Xor(d, s, b);", "Xor(d, s, b, tmp, n);"], x, e)
    assert np.array_equal(y, x ^ e) and complaints(r) == []
    x = np.tile(np.array([3, -2, 0, 7, 1, -1, 10, 46341] * 32, np.int32), (2, 1))
    e = np.tile(np.array([4, 31, 0, 13, -5, -3, 9, 2] * 32, np.int32), (2, 1))
    y, r = run("int32_t", ["Power(d, s, b);", "Power(d, s, 3, tmp, n);"], x, e)
    assert len(complaints(r)) == 1 and "exponent[4] = -5 is negative" in complaints(r)[0]
    wrap = lambda v: (v + 2**31) % 2**32 - 2**31
    assert y[0, :8].tolist() == [81, -2**31, 1, wrap(7**13), 1, -1, 10**9, wrap(46341**2)]
    assert y[1, :8].tolist() == [wrap(int(v) ** 3) for v in x[1, :8]]


def test_a_power_of_half_is_rounded_once():
    """47 * 47 = 2209 lies between 2208 and 2210, as far from both; 45 * 45 and 2 to the 15th are halves; 300 * 300 is too large."""
    x = np.resize(np.float16([47, 45, 49, 2, 300]), (1, N))
    e = np.resize(np.float16([2, 2, 2, 15, 2]), (1, N))
    y, _ = run("half", ["Power(d, s, b);"], x, e)
    assert np.array_equal(y[0, :5], np.float16([2208, 2025, 2400, 32768, np.inf]))


def test_workspace_of_power():
    """Copies of 256 B in use at once: 4 for two tensors, 5 with a number, 14 in half; 256 B more; integers 6 and 7, and nothing more."""
    for dtype, number, live, part, extra in (("float32", False, 4, 256, 256), ("float32", True, 5, 256, 256), ("float16", False, 14, 128, 256), ("float16", True, 14, 128, 256),
                                             ("int32", False, 6, 256, 0), ("int32", True, 7, 256, 0)):
        size = host.tmp_size("Power", 1000, dtype, number=number)
        assert size == (live * part + extra, live * 1000 * np.dtype(dtype).itemsize + extra), dtype


def test_special_values():
    x = np.full((6, 16), 1, np.float32)
    x[:, :5] = [np.nan, np.inf, -np.inf, 0, -1]
    y, _ = run("float", ["Tanh(d, s, n);", "Log(d, s, n);", "Sign(d, s, n);", "Trunc(d, s, n);", "ClampMax(d, s, 0.5f, n);", "Power(d, s, 0.5f, n);"], x)
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(y[0, :3], np.float32([nan, 1, -1]))
    np.testing.assert_array_equal(y[1, :5], np.float32([nan, inf, nan, -inf, nan]))
    np.testing.assert_array_equal(y[2, :5], np.float32([0, 1, -1, 0, -1]))
    np.testing.assert_array_equal(y[3, :5], np.float32([nan, inf, -inf, 0, -1]))
    np.testing.assert_array_equal(y[4, :5], np.float32([nan, 0.5, -inf, 0, -1]))
    assert np.isnan(y[5, 4]) and y[5, 3] == 0


def test_count_leaves_the_rest_alone():
    x = np.random.default_rng(5).uniform(-1, 1, (2, 64)).astype(np.float16)
    y, r = run("half", ["Tanh(d, s, 21);", "Tanh(d, s, 0);"], x, y=np.full((2, 64), 7, np.float16))
    assert np.all(y[0, 21:] == 7) and np.all(y[0, :21] != 7) and np.all(y[1] == 7)


@pytest.mark.parametrize("last, t", [(True, "float"), (False, "float"), (True, "half"), (False, "half")])
def test_cumsum(last, t):
    dtype = TYPES[t][0]
    x = np.random.default_rng(6).integers(-4, 5, (2, 6 * 32)).astype(dtype)
    config = f"static constexpr CumSumConfig mine = {{{'true' if last else 'false'}, false, true}};"
    y, r = run(t, [f"CumSum<{t}, mine>(d, r, s, CumSumInfo{{6, 32}});", f"CumSum<{t}, mine>(r, d, s, tmp, CumSumInfo{{6, 32}});"], x, globals=config)
    m = x.reshape(2, 6, 32).astype(np.float64).cumsum(axis=2 if last else 1)
    assert np.array_equal(y[0].astype(np.float64), m[0].ravel()) and np.array_equal(y[1, :32].astype(np.float64), m[1, -1])
    assert complaints(r) == []


def one(call: str, *, t: str = "float", before: str = "", n: int = 64, tmp: int = 8192, size: int = 4096) -> str:
    """A kernel with one marked call; xs and ys are n elements long."""
    body = f"""
    TBuf<TPosition::VECCALC> a, b, w;
    pipe.InitBuffer(a, {size}); pipe.InitBuffer(b, {size}); pipe.InitBuffer(w, {tmp});
    LocalTensor<T> s = a.Get<T>({n}), d = b.Get<T>({n});
    LocalTensor<uint8_t> tmp = w.Get<uint8_t>();
    DataCopy(s, xGm, {n});
    DataCopy(d, xGm, {n});
    PipeBarrier<PIPE_ALL>();
    {before}
    {call} // HERE
    PipeBarrier<PIPE_ALL>();
    DataCopy(yGm, d, {n});"""
    return kernel(body.replace("<T> s", f"<{t}> s").replace("Get<T>", f"Get<{t}>"), t=t)


X = np.linspace(-2, 2, 64).astype(np.float32)


def arrays(x=X):
    return x.copy(), np.zeros_like(x)


@pytest.mark.parametrize("code, severity, says, call", [
    ("OUT_OF_BOUNDS", "error", "calCount 65 exceeds tensor size 64", "Tanh(d, s, 65);"),
    ("BAD_PARAMETER", "error", "calCount is -1", "Tanh(d, s, -1);"),
    ("OUT_OF_BOUNDS", "error", "needs at least 256", "LocalTensor<uint8_t> few = w.Get<uint8_t>(128); Tanh(d, s, few, 64);"),
    ("OVERLAP", "warning", "overlap", "Tanh(s, s, 64);"),
    ("OVERLAP", "error", "sharedTmpBuffer overlaps dst", "Tanh(d, s, d.ReinterpretCast<uint8_t>(), 64);"),
    ("MISALIGNED", "error", "32-byte aligned", "Tanh(d[1], s, 32);"),
    ("NUMERIC", "warning", "outside [-1, 1]", "Asin(d, s, 64);"),
    ("NUMERIC", "warning", "born here", "Log(d, s, 64);"),
    ("BAD_PARAMETER", "error", "iterationNum", "static constexpr FmodConfig f = {FmodAlgo::ITERATION_COMPENSATION, 12}; Fmod<float, false, f>(d, s, s, 64);"),
    ("MISALIGNED", "error", "multiple of 32", "CumSum(d, d, s, CumSumInfo{2, 12});"),
    ("BAD_PARAMETER", "error", "outter is 0", "CumSum(d, d, s, CumSumInfo{0, 8});"),
])
def test_checks_fire(code, severity, says, call):
    assert_finds(code, one(call), *arrays(), severity=severity, says=says)


def test_workspace_taken_from_free_ub():
    full = "TBuf<TPosition::VECCALC> rest; pipe.InitBuffer(rest, 170 * 1024 + 512);"
    assert_finds("UB_OVERFLOW", one("Tan(d, s, 64);", before=full + " TBuf<TPosition::VECCALC> more; pipe.InitBuffer(more, 1024 * 5);"), *arrays(np.clip(X, -1, 1)), says="unallocated")
    assert_clean(one("Tan(d, s, 64);"), *arrays(np.clip(X, -1, 1)))


def test_source_that_may_be_destroyed():
    reuse = "Sin<{t}, {flag}>(d, s, 64); PipeBarrier<PIPE_V>(); Adds(d, s, ({t})1, 64);"
    assert_finds("UNINITIALISED_READ", one("DataCopy(yGm, d, 64);", before=reuse.format(t="float", flag="true") + " PipeBarrier<PIPE_ALL>();"), *arrays())
    assert_clean(one(reuse.format(t="float", flag="false")), *arrays())


def test_types_are_named_at_compile_time():
    for call, says in (("Tanh(d, s, 64);", "half or float"), ("Xor(d, s, s, 64);", "int16_t"), ("Where(d, s, s, 64);", "Compare and Select"), ("Clamp<int32_t>(d, s, 1, 2, 64);", "Maxs and Mins")):
        with pytest.raises(hp.CompileError) as e:
            hp.compile(one(call, t="int32_t"))
        assert says in str(e.value), str(e.value)


def test_half_results_round_ties_to_even():
    """1 + 2^-11 lies between two halves: the even one is 1. 1 + 3 * 2^-11 goes up."""
    x = np.zeros((1, 256), np.float16)
    x[0, :2] = 2.0**-11, 3 * 2.0**-11
    old = np.ones_like(x)
    y, r = run("half", ["Axpy(d, s, (half)1, tmp, n);"], x, x, old)
    assert y[0, :3].tolist() == [1, 1 + 2.0**-9, 1] and complaints(r) == []
