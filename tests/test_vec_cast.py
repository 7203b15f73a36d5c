"""Cast: every legal pair and mode against exact rounding; saturation, NaN, int4 pairs; CastDeq."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from vec_kernels import compiled, counted, entry, random_bits, room, specials
from vec_oracle import CEIL, FLOOR, NONE, ODD, RINT, ROUND, TRUNC, assert_same, int_to_float, integral, to_bf16_bits, to_half, to_integer

F16, F32, I8, U8, I16, I32, I64 = np.float16, np.float32, np.int8, np.uint8, np.int16, np.int32, np.int64
MODES = ("CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD")
R5 = (RINT, FLOOR, CEIL, ROUND, TRUNC)
CASES = tuple(f"Cast(d, a, RoundMode::{m}, n)" for m in MODES)
LEGAL = (
    [(F16, t, m) for t in (I8, U8) for m in (*R5, NONE)] + [(F16, t, m) for t in (I16, I32) for m in R5] + [(F16, F32, NONE)]
    + [(t, F16, NONE) for t in (I8, U8)] + [(I16, F16, m) for m in (*R5, NONE)] + [(I16, F32, NONE), (I32, I16, NONE), (I32, I64, NONE), (I64, I32, NONE)]
    + [(I32, F32, m) for m in (*R5, NONE)] + [(F32, F16, m) for m in (*R5, NONE, ODD)] + [(F32, t, m) for t in (I16, I32, F32, I64) for m in R5]
    + [(I64, F32, m) for m in R5]
)


def cast(x, dtype, mode):
    z = np.zeros(x.size, dtype)
    y = np.zeros_like(x)
    counted(CASES, x, y, z, mode)
    return z


def expected(x, dtype, mode):
    with np.errstate(all="ignore"):
        if x.dtype.kind == "f" and np.dtype(dtype).kind == "i" or np.dtype(dtype).kind == "u":
            return to_integer(x, dtype, mode)
        if x.dtype == F32 and dtype is F32:
            r = integral(x, mode).astype(F32)
            return np.where(r == 0, F32(0), r)
        if x.dtype == F32 and dtype is F16:
            return to_half(x, mode)
        if x.dtype.kind in "iu" and dtype is F16:
            return to_half(x.astype(F32), mode)
        if x.dtype.kind == "i" and dtype is F32:
            return int_to_float(x, mode)
        if x.dtype.kind == "i":
            info = np.iinfo(dtype)
            return np.clip(x, info.min, info.max).astype(dtype)
        return x.astype(dtype)


def values(dtype, n=1500):
    rng = np.random.default_rng(7)
    t = np.dtype(dtype)
    parts = [specials(dtype), random_bits(rng, dtype, n)]
    if t.kind == "f":
        near = np.arange(-40, 41) / np.array(4, t)
        big = np.array([127, 128, 255, 256, 32767, 32768, 65503, 65504], np.float64)
        parts += [near.astype(t), np.concatenate([big, -big, big + 0.5, -big - 0.5]).astype(t), (rng.standard_normal(n) * 300).astype(t)]
        if t == F32:
            edges = np.array([65519.99, 65520, 65535, 65536, 2147483647.0, 2147483520.0, -2147483648.0, -2147483904.0, 9.2e18, 9.3e18, -9.3e18, 16777217.0, 8388609.5])
            halves = rng.integers(0, 0x7C00, n).astype(np.uint16).view(F16).astype(F32)
            nudged = halves.view(np.uint32) + rng.integers(0, 1 << 13, n).astype(np.uint32)
            parts += [edges.astype(F32), nudged.view(F32), -nudged.view(F32), (halves + np.spacing(halves.astype(F16)).astype(F32) / 2).astype(F32)]
    elif t.itemsize >= 4:
        parts += [np.array([16777215, 16777216, 16777217, 16777219, 33554433, 33554435, -16777217, -33554435, 2**31 - 64, 2**31 - 65, 32767, 32768, -32769], dtype)]
        parts += [(rng.integers(0, 2**40, n) >> rng.integers(0, 40, n)).astype(dtype)]
        if t == I64:
            parts += [np.array([2**62 + 1, -(2**62) - 1, 2**63 - 1, 2**40 + 1, 2**53 + 1], I64), (random_bits(rng, I64, n) >> rng.integers(0, 60, n))]
    return np.concatenate(parts)


@pytest.mark.parametrize("src,dst,mode", LEGAL, ids=lambda v: MODES[v] if isinstance(v, int) else np.dtype(v).name)
def test_every_pair_and_mode(src, dst, mode):
    x = values(src)
    assert_same(cast(x, dst, mode), expected(x, dst, mode), f"{src.__name__} -> {dst.__name__} {MODES[mode]}", x)


@pytest.mark.parametrize("dst", [I8, U8, I16, I32])
@pytest.mark.parametrize("mode", R5)
def test_every_half_to_integers(dst, mode):
    for x in np.split(np.arange(65536, dtype=np.uint16).view(F16), 4):
        assert_same(cast(x, dst, mode), expected(x, dst, mode), MODES[mode], x)


def test_the_published_examples():
    x = np.array([1.5, 2.5, -1.5], F32)
    for mode, want in ((RINT, [2, 2, -2]), (ROUND, [2, 3, -2]), (FLOOR, [1, 2, -2]), (CEIL, [2, 3, -1]), (TRUNC, [1, 2, -1])):
        assert cast(x, I32, mode).tolist() == want
    big = np.array([2**31 - 1], I32)
    assert cast(big, F32, FLOOR)[0] == 2147483520 and cast(big, F32, CEIL)[0] == 2147483648
    assert cast(np.array([32767], I16), F16, RINT)[0] == 32768


def bf16_kernel(t, u, mode):
    body = f"""
    LocalTensor<{u}> a = In<{u}>(pipe, ba, x, n, roomS);
    LocalTensor<{t}> d = In<{t}>(pipe, bd, z, n, roomD);
    PipeBarrier<PIPE_ALL>();
    Cast(d, a, RoundMode::{MODES[mode]}, n);
    Out(z, d, n);
"""
    return compiled(entry(body, "GM_ADDR x, GM_ADDR z, int32_t n, uint32_t roomS, uint32_t roomD"))


@pytest.mark.parametrize("mode", R5)
def test_bfloat16(mode):
    x = values(F32)
    z = np.zeros(x.size, np.uint16)
    bf16_kernel("bfloat16_t", "float", mode)[1](x, z, x.size, room(x.size, 4), room(x.size, 2))
    with np.errstate(all="ignore"):
        want = to_bf16_bits(x, mode)
    nan = np.isnan(x)
    assert ((z == want) | nan).all() and (z[nan] & 0x7FFF > 0x7F80).all()
    wide = np.zeros(x.size, F32)
    bf16_kernel("float", "bfloat16_t", NONE)[1](z, wide, x.size, room(x.size, 2), room(x.size, 4))
    assert (wide.view(np.uint32) == z.astype(np.uint32) << 16).all()
    n = np.zeros(x.size, I32)
    bf16_kernel("int32_t", "bfloat16_t", mode)[1](z, n, x.size, room(x.size, 2), room(x.size, 4))
    with np.errstate(all="ignore"):
        assert_same(n, to_integer(wide, I32, mode), MODES[mode], wide)


@pytest.mark.parametrize("mode", (*R5, NONE))
def test_int4_packs_pairs_low_first(mode):
    x = np.concatenate([values(F16, 501), np.arange(-40, 41, dtype=F16) / 4])
    x = x[: x.size // 2 * 2].copy()
    packed, back = np.zeros(x.size // 2, U8), np.zeros_like(x)
    body = f"""
    LocalTensor<half> a = In<half>(pipe, ba, x, n, room);
    pipe.InitBuffer(bb, room / 4 + 32);
    LocalTensor<int4b_t> q = bb.Get<int4b_t>();
    LocalTensor<half> r = In<half>(pipe, bd, y, 0, room);
    PipeBarrier<PIPE_ALL>();
    Cast(q, a, RoundMode::{MODES[mode]}, n);
    Cast(r, q, RoundMode::CAST_NONE, n);
    Out(z, q.ReinterpretCast<uint8_t>(), n / 2);
    Out(y, r, n);
"""
    compiled(entry(body, "GM_ADDR x, GM_ADDR z, GM_ADDR y, int32_t n, uint32_t room"))[1](x, packed, back, x.size, room(x.size, 2))
    with np.errstate(all="ignore"):
        want = np.clip(np.nan_to_num(integral(x, mode), nan=0, posinf=99, neginf=-99), -8, 7).astype(I8)
    low, high = packed & 15, packed >> 4
    got = np.stack([low, high], 1).ravel().astype(I8)
    assert ((got ^ 8) - 8 == want).all()
    assert (back == want).all()


def test_int32_to_half_is_scaled():
    x = np.concatenate([values(I32, 400), np.array([1, -1, 1000, 65504, 65520, 2**31 - 1], I32)])
    for s in (1.0, 0.5, 0.001):
        z = np.zeros(x.size, F16)
        counted((f"SetDeqScale((half){s}f); Cast(d, a, RoundMode::CAST_NONE, n)",), x, x, z, 0)
        with np.errstate(all="ignore"):
            want = (((x.astype(F32) * F32(2.0**-17)) * F32(F16(s))) * F32(2.0**17)).astype(F16)
        assert_same(z, want, f"scale {s}", x)
    with hp.expect_error("BAD_PARAMETER"):
        counted(("Cast(d, a, RoundMode::CAST_NONE, n)",), x, x, np.zeros(x.size, F16), 0)


def test_low_bits_are_kept_when_saturation_is_off():
    x = values(I32)
    z = np.zeros(x.size, I16)
    counted(("SetSaturationFlag<SaturationMode::CAST>(false); Cast(d, a, RoundMode::CAST_NONE, n)",), x, x, z, 0)
    assert_same(z, x.astype(I16), "int32 -> int16 wraps", x)


def test_add_deq_relu():
    rng = np.random.default_rng(5)
    x, y = rng.integers(-(2**31), 2**31, (2, 500)).astype(I32)
    x[:100] //= 2**16
    y[:100] //= 2**16
    z = np.zeros(500, F16)
    counted(("SetDeqScale((half)0.25f); AddDeqRelu(d, a, b, n)",), x, y, z, 0)
    s = (x.astype(I64) + y.astype(I64)).astype(I32).astype(F32)
    with np.errstate(all="ignore"):
        h = (s * F32(2.0**-17) * F32(0.25) * F32(2.0**17)).astype(F16)
    assert_same(z, np.where(h > 0, h, F16(0)), "AddDeqRelu", x, y)


def test_add_deq_relu_uses_up_its_sources():
    x, y, z = np.ones((3, 64), I32)
    body = """
    LocalTensor<int32_t> a = In<int32_t>(pipe, ba, x, 64, 256), b = In<int32_t>(pipe, bb, y, 64, 256);
    LocalTensor<half> d = In<half>(pipe, bd, z, 0, 128);
    PipeBarrier<PIPE_ALL>();
    SetDeqScale((half)1.0f);
    AddDeqRelu(d, a, b, 64);
    %s
"""
    params = "GM_ADDR x, GM_ADDR y, GM_ADDR z"
    compiled(entry(body % "Out(z, d, 64);", params))[1](x, y, z)
    with hp.expect_error("UNINITIALISED_READ"):
        compiled(entry(body % "Out(z, a, 64);", params))[1](x, y, z)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(LEGAL), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_any_length(pair, n, seed):
    src, dst, mode = pair
    x = random_bits(np.random.default_rng(seed), src, n)
    assert_same(cast(x, dst, mode), expected(x, dst, mode), f"{src.__name__} -> {dst.__name__} {MODES[mode]}", x)


def test_castdeq_fills_one_half_of_each_block():
    rng = np.random.default_rng(6)
    x = rng.integers(-3000, 3000, 256).astype(I16)
    z = np.full(512, 7, I8)
    body = """
    LocalTensor<int16_t> a = In<int16_t>(pipe, ba, x, 256, 512);
    LocalTensor<int8_t> d = In<int8_t>(pipe, bd, z, 512, 512);
    PipeBarrier<PIPE_ALL>();
    SetDeqScale(0.125f, 3, true);
    CastDeq<int8_t, int16_t, false, %s>(d, a, 256);
    Out(z, d, 512);
"""
    want = np.clip(np.rint(x.astype(F32) * F32(0.125) + F32(3)), -128, 127).astype(I8).reshape(16, 16)
    for half, place in (("true", 1), ("false", 0)):
        z[:] = 7
        compiled(entry(body % half, "GM_ADDR x, GM_ADDR z"))[1](x, z)
        got = z.reshape(16, 2, 16)
        assert (got[:, place] == want).all() and (got[:, 1 - place] == 7).all()


@pytest.mark.parametrize("signed", [True, False])
def test_castdeq_with_a_set_of_numbers_for_every_lane_of_a_block(signed):
    """Lane j of a block has scale, offset and sign of its own; the tensor that holds them need not be filled before."""
    rng = np.random.default_rng(7)
    x, z = rng.integers(-3000, 3000, 256).astype(I16), np.full(512, 7, I8 if signed else U8)
    scale = (np.arange(1, 17) / 32).astype(F32)
    offset = np.arange(-8, 8) * 3
    body = f"""
    LocalTensor<int16_t> a = In<int16_t>(pipe, ba, x, 256, 512);
    LocalTensor<{'' if signed else 'u'}int8_t> d = In<{'' if signed else 'u'}int8_t>(pipe, bd, z, 512, 512);
    TBuf<TPosition::VECCALC> table;
    pipe.InitBuffer(table, 128);
    float scale[16]; int16_t offset[16]; bool sign[16];
    for (int i = 0; i < 16; ++i) {{ scale[i] = (i + 1) / 32.0f; offset[i] = (i - 8) * 3; sign[i] = {str(signed).lower()}; }}
    PipeBarrier<PIPE_ALL>();
    SetDeqScale(table.Get<uint64_t>(), VdeqInfo(scale, offset, sign));
    SetFlag<HardEvent::S_V>(EVENT_ID0); WaitFlag<HardEvent::S_V>(EVENT_ID0);
    CastDeq<{'' if signed else 'u'}int8_t, int16_t, true, false>(d, a, 256);
    Out(z, d, 512);
"""
    run = compiled(entry(body, "GM_ADDR x, GM_ADDR z"))[1](x, z)
    lo, hi = (-128, 127) if signed else (0, 255)
    want = np.clip(np.rint(x.reshape(16, 16).astype(F32) * scale + offset.astype(F32)), lo, hi).astype(z.dtype)
    got = z.reshape(16, 2, 16)
    assert (got[:, 0] == want).all() and (got[:, 1] == 7).all() and not [f for f in run.findings if f.severity != "note"]
