"""Every family of the high-level API under random shapes and types, against NumPy in double."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import test_adv_activation as activation
import test_adv_math as mathematics
from adv_kernels import complaints
from vec_move_kernels import move

F16, F32 = np.float16, np.float32
FLOATS, SEED = st.sampled_from((F16, F32)), st.integers(0, 2**32 - 1)
TOLERANCE = {F16: dict(rtol=2e-3, atol=2e-3), F32: dict(rtol=3e-6, atol=3e-6)}
TILING = '#include "tiling/tiling_api.h"\nstatic constexpr CumSumConfig along = {true, false, false}, across = {false, false, false};\n'
some = settings(max_examples=25, deadline=None)


def close(got, want, dtype, what="", slack=1):
    np.testing.assert_allclose(got.astype(np.float64), want, err_msg=what, **{k: v * slack for k, v in TOLERANCE[dtype].items()})


def launch(cases, name, x, y, z, *numbers):
    """The case of that name; findings other than notes are mistakes of the test."""
    found = complaints(move(tuple(cases.values()), list(cases).index(name), x, y, z, *numbers, globals=TILING))
    assert not [c for c in found if "padding" not in c and "NUMERIC" not in c], found


# ===== functions of each element
ONE = {name: (f"{name}(d, a, tmp, p0)" if form else f"{name}(d, a, p0)", f, lo, hi) for name, f, lo, hi, form in mathematics.UNARY if name not in ("Digamma", "Round")}
ONE |= {name: (f"{name}<T, false, false>(d, a, tmp, p0)" if "Gelu" in name else f"{name}<T, false>(d, a, p0)", f, -8, 8) for name, f in activation.ONE.items()}
TWO = {"SwiGLU": ("SwiGLU<T, false>(d, a, b, 1.5f, tmp, p0)", activation.TWO["SwiGLU"], -8, 8), "GeGLU": ("GeGLU<T, false>(d, a, b, tmp, p0)", activation.TWO["GeGLU"], -4, 4),
       "ReGlu": ("ReGlu<T, false>(d, a, b, tmp, p0)", activation.TWO["ReGlu"], -8, 8), "Power": ("Power(d, a, b, tmp, p0)", np.power, 0.3, 3), "Fmod": ("Fmod(d, a, b, tmp, p0)", np.fmod, 0.5, 50),
       "ClampMin": ("ClampMin(d, a, tmp, b.GetValue(0), p0)", lambda x, y: np.maximum(x, y[0]), -8, 8), "ClampMax": ("ClampMax(d, a, tmp, b.GetValue(0), p0)", lambda x, y: np.minimum(x, y[0]), -8, 8)}
FUNCTIONS = {name: row[0] for name, row in (ONE | TWO).items()}


@settings(max_examples=100, deadline=None)
@given(FLOATS, st.sampled_from(sorted(FUNCTIONS)), st.integers(1, 500), SEED)
def test_functions(dtype, name, n, seed):
    _, f, lo, hi = (ONE | TWO)[name]
    x, y = (np.random.default_rng([seed, i]).uniform(lo, hi, n).astype(dtype) for i in range(2))
    z = np.full(n + 32, 9, dtype)
    launch(FUNCTIONS, name, x, y, z, n)
    a, b = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        want = f(a, b) if name in TWO else f(a)
    keep = np.abs(want) < 6e4
    close(z[:n][keep], want[keep], dtype, name, 4)
    assert np.all(z[n:] == 9), "elements behind the count keep their value"


# ===== rows
ROWS = {
    "softmax": "SoftMaxTiling g; SoftMaxTilingFunc(ge::Shape({p0, p1}), sizeof(T), 32768, g); SoftMax<T>(d, a, tmp, g, {(uint32_t)p0, (uint32_t)p1, (uint32_t)p0, (uint32_t)p2})",
    "rms": "RmsNormTiling g; GetRmsNormTilingInfo(ge::Shape({1, p0, p1}), ge::Shape({1, p0, p2}), 32768, sizeof(T), g); RmsNorm<T>(d, a, b, tmp, (T)0.25, g)",
    "layer": "LayerNormTiling g; GetLayerNormNDTilingInfo(ge::Shape({1, p0, p1, p1}), 24576, sizeof(T), false, g); LocalTensor<T> m = tmp.ReinterpretCast<T>(), v = tmp[2048].ReinterpretCast<T>(); "
             "LayerNorm<T>(d, m, v, a, b, b, tmp[4096], (T)0.25, g)",
    "sum": "Sum(d, a, tmp, SumParams{(uint32_t)p0, (uint32_t)p1, (uint32_t)p2})",
    "mean": "Mean(d, a, tmp, MeanParams{(uint32_t)p0, (uint32_t)p1, (uint32_t)p2})",
    "largest of rows": "uint32_t s[2] = {(uint32_t)p0, (uint32_t)p2}; ReduceMax<T, Pattern::Reduce::AR>(d, a, tmp, s, true)",
    "least of columns": "uint32_t s[2] = {(uint32_t)p0, (uint32_t)p2}; ReduceMin<T, Pattern::Reduce::RA>(d, a, tmp, s, true)",
    "running along": "CumSum<T, along>(d, b, a, tmp, CumSumInfo{(uint32_t)p0, (uint32_t)p1})",
    "running across": "CumSum<T, across>(d, b, a, tmp, CumSumInfo{(uint32_t)p0, (uint32_t)p1})",
}


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer(x, g):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 0.25) * g + g


@settings(max_examples=60, deadline=None)
@given(FLOATS, st.sampled_from(sorted(ROWS)), st.integers(1, 12), st.integers(1, 90), SEED)
def test_rows(dtype, name, rows, length, seed):
    per_block = 32 // np.dtype(dtype).itemsize
    pitch = -(-length // per_block) * per_block
    length = pitch if name in ("layer", "running along", "running across") else length
    if name in ("sum", "mean") and rows == 1:
        pitch = length                      # of one row nothing lies behind it
        pitch = -(-length // per_block) * per_block
    rng = np.random.default_rng(seed)
    x, g = rng.uniform(0.1, 2, (rows, pitch)).astype(dtype), rng.uniform(0.5, 2, pitch).astype(dtype)
    a, gamma = x.astype(np.float64)[:, :length], g.astype(np.float64)[:length]
    z, y = np.zeros(rows * pitch, dtype), np.resize(g, max(g.size, rows * pitch))
    launch(ROWS, name, x.ravel(), y, z, rows, pitch, length)
    m = z.reshape(rows, pitch)[:, :length]
    if name == "softmax":
        close(m, softmax(a), dtype)
    elif name == "rms":
        close(m, a / np.sqrt((a * a).mean(axis=1, keepdims=True) + 0.25) * gamma, dtype)
    elif name == "layer":
        close(m, layer(a, gamma), dtype, slack=2)
    elif name in ("sum", "mean"):
        close(z[:rows], a.sum(axis=1) if name == "sum" else a.mean(axis=1), dtype, slack=2)
    elif name == "largest of rows":
        assert np.array_equal(z[:rows], x[:, :length].max(axis=1))
    elif name == "least of columns":
        assert np.array_equal(z[:length], x[:, :length].min(axis=0))
    else:
        close(m, a.cumsum(axis=1 if name == "running along" else 0), dtype, slack=8)


# ===== other shapes
SHAPES = {
    "columns": "uint32_t to[2] = {(uint32_t)p0, (uint32_t)p1}, from[2] = {(uint32_t)p0, 1}; BroadCast<T, 2, 1>(d, a, to, from, tmp)",
    "rows": "uint32_t to[2] = {(uint32_t)p0, (uint32_t)p1}, from[2] = {1, (uint32_t)p1}; BroadCast<T, 2, 0>(d, a, to, from, tmp)",
    "pad": "PadTiling g; g.srcHeight = p0; g.srcWidth = g.srcOriWidth = p1; PadParams q{(uint16_t)p2, (uint16_t)p3, 7}; Pad(d, a, q, tmp, g)",
    "unpad": "UnPadTiling g; g.srcHeight = p0; g.srcWidth = p1; UnPadParams q{0, (uint16_t)p2}; UnPad(d, a, q, tmp, g)",
    "turn": "ConfusionTransposeTiling g; g.param2 = p0; g.param3 = p1; ConfusionTranspose(d, a, tmp, TransposeType::TRANSPOSE_ND2ND_ONLY, g)",
    "topk": "TopkTiling g; TopKInfo o{p0, p1, p2}; LocalTensor<int32_t> at = b.template ReinterpretCast<int32_t>(), no; LocalTensor<bool> nob; TopK<T>(d, at, a, no, nob, tmp, p3, g, o)",
    "drop": "DropOut(d, a, b.template ReinterpretCast<uint8_t>(), tmp, 0.5f, DropOutShapeInfo{(uint32_t)p0, (uint32_t)p1, (uint32_t)p1})",
    "quant": "AscendQuant(d.template ReinterpretCast<int8_t>(), a, tmp, 2.0f, 0.5f, (uint32_t)p0)",
}


@some
@given(FLOATS, st.integers(1, 12), st.integers(1, 70), st.booleans(), SEED)
def test_broadcast(dtype, rows, columns, whole_rows, seed):
    per_block = 32 // np.dtype(dtype).itemsize
    columns = -(-columns // per_block) * per_block if whole_rows else columns
    x = np.random.default_rng(seed).standard_normal(columns if whole_rows else rows).astype(dtype)
    z = np.zeros(rows * columns, dtype)
    launch(SHAPES, "rows" if whole_rows else "columns", x, x.copy(), z, rows, columns)
    assert np.array_equal(z.reshape(rows, columns), np.broadcast_to(x if whole_rows else x[:, None], (rows, columns)))


@some
@given(FLOATS, st.integers(1, 3), st.integers(1, 4), st.integers(0, 5), st.integers(0, 5), SEED)
def test_pad_and_unpad(dtype, groups, blocks, left, right, seed):
    rows = 16 * groups                      # whole blocks of 32 bytes whatever the width
    width = blocks * 32 // np.dtype(dtype).itemsize
    inner = width - left - right
    if not 0 < left + right < 32 // np.dtype(dtype).itemsize:
        return
    x = np.random.default_rng(seed).standard_normal((rows, inner)).astype(dtype)
    z = np.zeros(rows * width, dtype)
    launch(SHAPES, "pad", x.ravel(), x.ravel().copy(), z, rows, inner, left, right)
    padded = np.pad(x, ((0, 0), (left, right)), constant_values=7)
    assert np.array_equal(z.reshape(rows, width), padded)
    if right:
        y, back = z.copy(), np.zeros(rows * (width - right), dtype)
        launch(SHAPES, "unpad", y, y.copy(), back, rows, width, right)
        assert np.array_equal(back.reshape(rows, width - right), padded[:, : width - right])


@some
@given(FLOATS, st.integers(1, 3), st.integers(1, 3), SEED)
def test_turn(dtype, high, wide, seed):
    x = np.random.default_rng(seed).standard_normal((16 * high, 16 * wide)).astype(dtype)
    z = np.zeros(x.size, dtype)
    launch(SHAPES, "turn", x.ravel(), x.ravel().copy(), z, 16 * high, 16 * wide)
    assert np.array_equal(z.reshape(16 * wide, 16 * high), x.T)


@some
@given(FLOATS, st.integers(1, 5), st.integers(1, 3), st.integers(1, 96), st.integers(1, 40), SEED)
def test_topk(dtype, rows, groups, length, k, seed):
    inner, per_block = 32 * groups, 32 // np.dtype(dtype).itemsize
    length = min(length, inner)
    k = min(k, length)
    rng = np.random.default_rng(seed)
    x = rng.integers(-30, 30, (rows, inner)).astype(dtype)
    x[:, length:] = -100                    # what fills the rows loses
    pitch, places = -(-k // per_block) * per_block, -(-k // 8) * 8
    z, y = np.zeros(rows * pitch, dtype), np.zeros(rows * places * 4 // np.dtype(dtype).itemsize, dtype)
    launch(SHAPES, "topk", x.ravel(), y, z, rows, inner, length, k)
    order = np.argsort(-x[:, :length].astype(np.float64), axis=1, kind="stable")[:, :k]
    assert np.array_equal(z.reshape(rows, pitch)[:, :k], np.take_along_axis(x, order, axis=1))
    assert np.array_equal(y.view(np.int32).reshape(rows, places)[:, :k], order)


@some
@given(FLOATS, st.integers(1, 8), st.integers(1, 4), SEED)
def test_drop_out_and_quantisation(dtype, rows, blocks, seed):
    rng, columns = np.random.default_rng(seed), 32 * blocks
    x, z = rng.uniform(-80, 80, rows * columns).astype(dtype), np.zeros(rows * columns, dtype)
    keep = rng.integers(0, 2, rows * columns).astype(np.uint8)
    y = np.zeros(rows * columns, dtype)
    y.view(np.uint8)[: keep.size] = keep
    launch(SHAPES, "drop", x, y, z, rows, columns)
    close(z, x.astype(np.float64) * keep * 2, dtype)
    z[:] = 0
    launch(SHAPES, "quant", x, y, z, x.size)
    half = (x.astype(F16) * F16(2)).astype(F16) + F16(0.5)
    assert np.array_equal(z.view(np.int8)[: x.size], np.clip(np.rint(half.astype(np.float64)), -128, 127).astype(np.int8))


@pytest.mark.parametrize("name", ["pad", "unpad", "turn", "topk"])
def test_shapes_that_cannot_be_are_refused(name):
    """The same calls with a shape that breaks their rule: the properties above leave no rule out by being blind."""
    import helpers as hp
    x, y, z = (np.ones(512, F32) for _ in range(3))
    numbers = {"pad": (2, 9, 1, 1), "unpad": (2, 12, 1), "turn": (8, 16), "topk": (1, 40, 40, 8)}[name]
    with pytest.raises(hp.KernelError):
        launch(SHAPES, name, x, y, z, *numbers)
