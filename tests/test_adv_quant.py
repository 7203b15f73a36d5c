"""AscendQuant, AscendDequant, AscendAntiQuant against NumPy, bit for bit where the arithmetic is documented."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from adv_kernels import complaints
from kernel_text import assert_clean, assert_finds

HEAD = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR xAddr, GM_ADDR sAddr, GM_ADDR oAddr, GM_ADDR yAddr) {{
    TPipe pipe;
    TBuf<TPosition::VECCALC> bx, bs, bo, by, bt;
    pipe.InitBuffer(bx, 16384); pipe.InitBuffer(bs, 8192); pipe.InitBuffer(bo, 8192); pipe.InitBuffer(by, 32768); pipe.InitBuffer(bt, 40960);
    GlobalTensor<uint8_t> x, s, o, y;
    x.SetGlobalBuffer((__gm__ uint8_t*)xAddr); s.SetGlobalBuffer((__gm__ uint8_t*)sAddr); o.SetGlobalBuffer((__gm__ uint8_t*)oAddr); y.SetGlobalBuffer((__gm__ uint8_t*)yAddr);
    DataCopy(bx.Get<uint8_t>(), x, {nx}); DataCopy(bs.Get<uint8_t>(), s, {ns}); DataCopy(bo.Get<uint8_t>(), o, {no});
    LocalTensor<{tx}> src = bx.Get<{tx}>({ex}); LocalTensor<{ts}> scale = bs.Get<{ts}>({es}), offset = bo.Get<{ts}>({eo}); LocalTensor<{ty}> dst = by.Get<{ty}>({ey});
    LocalTensor<uint8_t> tmp = bt.Get<uint8_t>();
    int at = 0;
    {body}
}}
"""
STEP = """
    Duplicate(by.Get<int16_t>(), (int16_t)0, {half});
    PipeBarrier<PIPE_ALL>();
    {{ {call} }}{mark}
    PipeBarrier<PIPE_ALL>();
    DataCopy(y[at], dst.ReinterpretCast<uint8_t>(), {ny});
    PipeBarrier<PIPE_ALL>();
    at += {ny};"""
SIZE = {"half": 2, "bfloat16_t": 2, "float": 4, "int8_t": 1, "int32_t": 4, "uint64_t": 8, "int4b_t": 0.5}


def kernel(tx, ts, ty, x, s, o, n_out, calls, mark=False):
    ny = int(n_out * SIZE[ty])
    body = "".join(STEP.format(call=c, ny=ny, half=(ny + 1) // 2, mark=" // HERE" if mark else "") for c in calls)
    count = lambda a, t: int(a.nbytes / SIZE[t])
    return HEAD.format(tx=tx, ts=ts, ty=ty, nx=x.nbytes, ns=s.nbytes, no=o.nbytes, ex=count(x, tx), es=count(s, ts), eo=count(o, ts), ey=n_out, body=body)


def run(tx, ts, ty, x, s, o, n_out, calls):
    y = np.zeros(int(n_out * SIZE[ty]) * len(calls), np.uint8)
    r = hp.compile(kernel(tx, ts, ty, x, s, o, n_out, calls))[1](x, s, o, y)
    dtype = {"half": np.float16, "float": np.float32, "int8_t": np.int8, "bfloat16_t": np.uint16}[ty]
    return y.view(dtype).reshape(len(calls), n_out), r


def bf16(v):
    """To the nearest bfloat16, as bits."""
    u = np.asarray(v, np.float32).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def of_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("t", ["half", "float"])
def test_quant(t):
    dtype = np.float16 if t == "half" else np.float32
    rng = np.random.default_rng(1)
    x = rng.uniform(-40, 40, 256).astype(dtype)
    x[:6] = [np.nan, np.inf, -np.inf, 1.25, 3.75, 0.25]
    s, o = rng.uniform(0.5, 4, 64).astype(dtype), rng.uniform(-5, 5, 64).astype(dtype)
    calls = ["AscendQuant(dst, src, 2.0f, 0.5f, 256);", "AscendQuant(dst, src, tmp, 2.0f, 0.5f);", f"AscendQuant(dst, src, scale, ({t})1.5);", f"AscendQuant(dst, src, tmp, scale, ({t})1.5, 64, 256);",
             "AscendQuant(dst, src, scale, offset);", "AscendQuant(dst, src, tmp, scale, offset, 64, 64, 256);"]
    y, r = run(t, t, "int8_t", x, s, o, 256, calls)

    def want(scale, offset):
        h = lambda v: np.asarray(v).astype(np.float16)
        with np.errstate(all="ignore"):
            v = h(h(h(x) * h(scale)) + h(offset)).astype(np.float64)
        return np.clip(np.nan_to_num(np.rint(v), nan=0, posinf=127, neginf=-128), -128, 127).astype(np.int8)

    table = [want(2.0, 0.5), want(2.0, 0.5), want(np.tile(s, 4), 1.5), want(np.tile(s, 4), 1.5), want(np.tile(s, 4), np.tile(o, 4)), want(np.tile(s, 4), np.tile(o, 4))]
    for call, got, w in zip(calls, y, table):
        assert np.array_equal(got, w), call
    assert complaints(r) == []


@pytest.mark.parametrize("ts, ty", [("uint64_t", "half"), ("float", "float"), ("float", "bfloat16_t"), ("bfloat16_t", "bfloat16_t"), ("bfloat16_t", "float")])
def test_dequant(ts, ty):
    rng = np.random.default_rng(2)
    m, n, count = 5, 24, 24
    x = rng.integers(-30000, 30000, m * n).astype(np.int32)
    x[0] = 2**24 + 1
    exact = rng.uniform(1e-4, 1e-3, 32).astype(np.float32)
    s = {"float": exact, "bfloat16_t": bf16(exact)}.get(ts)
    if s is None:
        s = exact.view(np.uint32).astype(np.uint64)
    values = of_bf16(s) if ts == "bfloat16_t" else exact
    pitch = {"half": 32, "float": 24, "bfloat16_t": 32}[ty]
    params = f"DequantParams{{{m}, {n}, {count}}}"
    calls = [f"AscendDequant(dst, src, scale, {params});", f"AscendDequant(dst, src, scale, tmp, {params});"]
    if ts == ty:
        calls.append(f"AscendDequant(dst, src, ({ts})0.5f, tmp, {params});")
    s2 = np.resize(s, 64)
    text = kernel(ts=ts, tx="int32_t", ty=ty, x=x, s=s2, o=s2, n_out=m * pitch, calls=calls)
    y = np.zeros(int(m * pitch * SIZE[ty]) * len(calls), np.uint8)
    r = hp.compile(text)[1](x, s2, s2, y)
    got = y.view({"half": np.float16, "float": np.float32, "bfloat16_t": np.uint16}[ty]).reshape(len(calls), m, pitch)[:, :, :n]
    product = x.reshape(m, n).astype(np.float32) * values[:n]
    half_of = {"half": lambda v: v.astype(np.float16), "float": lambda v: v, "bfloat16_t": bf16}[ty]
    assert np.array_equal(got[0], half_of(product)) and np.array_equal(got[1], half_of(product))
    if ts == ty:
        assert np.array_equal(got[2], half_of(x.reshape(m, n).astype(np.float32) * np.float32(0.5)))
    assert all("padding" in c for c in complaints(r))     # rows of 24 halves end in 8 columns nobody computed


@pytest.mark.parametrize("tx, ty", [("int8_t", "half"), ("int4b_t", "half"), ("int8_t", "bfloat16_t"), ("int4b_t", "bfloat16_t")])
def test_antiquant(tx, ty):
    rng = np.random.default_rng(3)
    K, N = 64, 32
    low, high = (-128, 128) if tx == "int8_t" else (-8, 8)
    q = rng.integers(low, high, K * N)
    x = q.astype(np.int8) if tx == "int8_t" else ((q[0::2] & 15) | (q[1::2] & 15) << 4).astype(np.uint8)
    sv, ov = rng.uniform(0.1, 2, 64).astype(np.float16).astype(np.float32), rng.integers(-9, 9, 64).astype(np.float32)
    s, o = (sv.astype(np.float16), ov.astype(np.float16)) if ty == "half" else (bf16(sv), bf16(ov))
    sv = of_bf16(s) if ty != "half" else sv
    T = f"<{tx}, {ty}, "
    two = "AntiQuantShapeInfo{2, 32, 2, 32}"
    calls = [f"AscendAntiQuant{T}false>(dst, src, offset, scale, tmp, 64, {two});", f"AscendAntiQuant{T}false>(dst, src, offset, scale, 64, {two});",
             f"AscendAntiQuant{T}true>(dst, src, offset, scale, tmp, 64, AntiQuantShapeInfo{{32, 2, 32, 2}});", f"AscendAntiQuant{T}false>(dst, src, scale, tmp, 64, AntiQuantShapeInfo{{0, 0, 2, 32}});",
             f"AscendAntiQuant{T}false>(dst, src, ({ty})3.0f, ({ty})0.5f, tmp, 64);", f"AscendAntiQuant{T}true>(dst, src, ({ty})0.5f, tmp, 64);"]
    y, r = run(tx, ty, ty, x, s, o, K * N, calls)
    rows = lambda v: np.repeat(v.reshape(2, 32), 32, axis=0)               # groups of 32 rows
    cols = lambda v: np.repeat(v.reshape(32, 2), 32, axis=1)
    a, b = q.reshape(K, N).astype(np.float32), q.reshape(N, K).astype(np.float32)
    h = (lambda v: np.asarray(v, np.float32).astype(np.float16).astype(np.float32)) if ty == "half" else (lambda v: v)
    table = [h(a + rows(ov)) * rows(sv)] * 2 + [h(b + cols(ov)) * cols(sv), a * rows(sv), h(a + 3) * np.float32(0.5), b * np.float32(0.5)]
    for call, got, want in zip(calls, y, table):
        want = want.astype(np.float16) if ty == "half" else bf16(want)
        assert np.array_equal(got, want.ravel()), call
    assert complaints(r) == []


X = np.linspace(-9, 9, 64).astype(np.float32)


@pytest.mark.parametrize("code, severity, says, call", [
    ("BAD_PARAMETER", "error", "scaleCount is 48", "AscendQuant(dst, src, scale, 1.0f, 48, 64);"),
    ("BAD_PARAMETER", "error", "offsetCount is 32", "AscendQuant(dst, src, scale, offset, 64, 32, 64);"),
    ("OUT_OF_BOUNDS", "error", "calCount 65", "AscendQuant(dst, src, 1.0f, 0.0f, 65);"),
    ("NUMERIC", "warning", "65504", "AscendQuant(dst, src, 1e6f, 0.0f, 64);"),
    ("BAD_PARAMETER", "error", "calCount", "LocalTensor<int32_t> i = src.ReinterpretCast<int32_t>(); LocalTensor<float> f = dst.ReinterpretCast<float>(); AscendDequant(f, i, scale, DequantParams{1, 8, 9});"),
    ("MISALIGNED", "error", "multiple of 32", "LocalTensor<int32_t> i = src.ReinterpretCast<int32_t>(); LocalTensor<float> f = dst.ReinterpretCast<float>(); AscendDequant(f, i, scale, DequantParams{2, 9, 8});"),
    ("BAD_PARAMETER", "error", "scale has shape", "LocalTensor<int8_t> i = src.ReinterpretCast<int8_t>(); LocalTensor<half> f = dst.ReinterpretCast<half>(), s2 = scale.ReinterpretCast<half>(); AscendAntiQuant<int8_t, half, false>(f, i, s2, tmp, 64, AntiQuantShapeInfo{0, 0, 3, 32});"),
])
def test_checks_fire(code, severity, says, call):
    y = np.zeros(64, np.uint8)
    assert_finds(code, kernel("float", "float", "int8_t", X, X, X, 64, [call], mark=True), X.copy(), X.copy(), X.copy(), y, severity=severity, says=says)


def test_clean_and_in_place():
    y = np.zeros(64, np.uint8)
    call = "LocalTensor<int8_t> same = src.ReinterpretCast<int8_t>(); AscendQuant(same, src, 1.0f, 0.0f, 64); PipeBarrier<PIPE_V>(); DataCopy(dst, same, 64);"
    assert_clean(kernel("float", "float", "int8_t", X, X, X, 64, [call]), X.copy(), X.copy(), X.copy(), y)
    assert np.array_equal(y.view(np.int8), np.rint(X.astype(np.float16).astype(np.float64)).astype(np.int8))


def test_types_at_compile_time():
    with pytest.raises(hp.CompileError) as e:
        hp.compile(kernel("int32_t", "float", "half", X, X, X, 64, ["AscendDequant(dst, src, scale, DequantParams{1, 64, 64});"]))
    assert "uint64_t scales" in str(e.value)


def test_dequant_leaves_the_columns_behind_the_count_alone():
    rng = np.random.default_rng(4)
    m, n, count = 3, 24, 17
    x, s = rng.integers(1, 3000, m * n).astype(np.int32), rng.uniform(0.5, 2, 64).astype(np.float32)
    y = np.zeros(m * n * 4, np.uint8)
    hp.compile(kernel("int32_t", "float", "float", x, s, s, m * n, [f"AscendDequant(dst, src, scale, tmp, DequantParams{{{m}, {n}, {count}}});"]))[1](x, s, s, y)
    got = y.view(np.float32).reshape(m, n)
    assert np.array_equal(got[:, :count], x.reshape(m, n)[:, :count].astype(np.float32) * s[:count]) and not got[:, count:].any()
