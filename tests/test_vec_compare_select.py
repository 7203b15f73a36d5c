"""Compare, CompareScalar, the CMPMASK register and Select: bits in the documented places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from vec_kernels import CTYPE, compiled, entry, pairs, random_bits, room, strided
from vec_oracle import assert_same, lane_index

F16, F32, I32 = np.float16, np.float32, np.int32
MODES = {"LT": np.less, "GT": np.greater, "EQ": np.equal, "LE": np.less_equal, "GE": np.greater_equal, "NE": np.not_equal}

BODY = """
    LocalTensor<{t}> a = In<{t}>(pipe, ba, x, n, room), b = In<{t}>(pipe, bb, y, n, room);
    TBuf<TPosition::VECCALC> bm;
    LocalTensor<uint8_t> m = In<uint8_t>(pipe, bm, bits, nbits, roomBits);
    LocalTensor<{t}> d = In<{t}>(pipe, bd, z, n, room);
    PipeBarrier<PIPE_ALL>();
    switch (op) {{
{cases}
    }}
    Out(bits, m, nbits);
    Out(z, d, n);
"""
PARAMS = "GM_ADDR x, GM_ADDR y, GM_ADDR bits, GM_ADDR z, int32_t op, int32_t n, int32_t count, int32_t rep, uint32_t room, int32_t nbits, uint32_t roomBits"


def run(cases, op, x, y, bits, z, count=0, rep=1):
    body = "\n".join(f"        case {i}: {{ {c} break; }}" for i, c in enumerate(cases))
    k = compiled(entry(BODY.format(t=CTYPE[x.dtype.name], cases=body), PARAMS))
    return k[1](x, y, bits, z, op, x.size, count, rep, room(x.size, x.itemsize), bits.size, room(bits.size, 1))


def truth(mode, x, y):
    ok = MODES[mode](x, y)
    if x.dtype.kind == "f":
        ok = ok & ~(np.isnan(x) | np.isnan(y))
    return ok


def pack(ok):
    return np.packbits(ok, bitorder="little")


def padded(dtype):
    a, b = pairs(dtype)
    n = -(-a.size // 128) * 128
    return np.resize(a, n), np.resize(b, n)


COUNT = tuple(f"Compare(m, a, b, CMPMODE::{m}, count);" for m in MODES) + tuple(f"CompareScalar(m, a, b.GetValue(0), CMPMODE::{m}, count);" for m in MODES)


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("mode", MODES)
def test_compare(dtype, mode):
    i = list(MODES).index(mode)
    x, y = padded(dtype)
    bits = np.zeros(x.size // 8, np.uint8)
    run(COUNT, i, x, y, bits, x.copy(), x.size)
    assert_same(bits, pack(truth(mode, x, y)), mode)
    for v in (F32(0), F32("nan"), F32(1)):
        y[0] = v
        run(COUNT, i + 6, x, y, bits, x.copy(), x.size)
        assert_same(bits, pack(truth(mode, x, np.full_like(x, v))), f"scalar {mode}")


def test_compare_int32_knows_equality_only():
    x, y = padded(I32)
    bits = np.zeros(x.size // 8, np.uint8)
    cases = ("Compare(m, a, b, CMPMODE::EQ, count);", "Compare(m, a, b, CMPMODE::LT, count);")
    run(cases, 0, x, y, bits, x.copy(), x.size)
    assert_same(bits, pack(x == y), "EQ")
    with hp.expect_error("UNSUPPORTED_TYPE"):
        run(cases, 1, x, y, bits, x.copy(), x.size)


def test_whole_repeats_only():
    x, y = padded(F32)
    bits = np.full(16, 0xAA, np.uint8)
    with hp.expect_error("TAIL_DROPPED"):
        run(COUNT, 0, x[:128].copy(), y[:128].copy(), bits, x[:128].copy(), 100)
    keep = np.full(16, 0xAA, np.uint8)
    keep[:8] = pack(truth("LT", x[:64], y[:64]))
    assert_same(bits, keep, "the rest keeps its bits")


def test_operators_compare_whole_tensors():
    x, y = padded(F32)
    for i, (s, m) in enumerate(zip(("<", ">", "==", "<=", ">=", "!="), MODES)):
        bits = np.zeros(x.size // 8, np.uint8)
        run(tuple(f"m = a {s} b;" for s in ("<", ">", "==", "<=", ">=", "!=")), i, x, y, bits, x.copy())
        assert_same(bits, pack(truth(m, x, y)), s)


def test_strided_compare_is_packed_and_ignores_masks():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1024)).astype(F32)
    cases = ("Compare(m, a, b, CMPMODE::GT, static_cast<uint64_t>(3), rep, {1, 1, 0, 8, 16, 1});",
             "Compare<float, uint8_t, false>(m, a, b, CMPMODE::GT, MASK_PLACEHOLDER, rep, {1, 1, 0, 8, 16, 1});")
    i, j = lane_index(8, 64, 8, 1, 16), lane_index(8, 64, 8, 0, 1)
    for op in (0, 1):
        bits = np.zeros(64, np.uint8)
        run(cases, op, x, y, bits, x.copy(), rep=8)
        assert_same(bits, pack((x[i] > y[j]).ravel()), "strided")


SELECT = ("Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);", "Select(d, m, a, b.GetValue(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, count);",
          "Select(d, m, a, b, SELMODE::VSEL_CMPMASK_SPR, count);")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from((F16, F32)), st.integers(0, 900), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_select_by_count(dtype, count, mode, seed):
    rng = np.random.default_rng(seed)
    x, y, z = (random_bits(rng, dtype, 1024) for _ in range(3))
    bits = rng.integers(0, 256, 128).astype(np.uint8)
    ok = np.unpackbits(bits, bitorder="little").astype(bool)[:count]
    if mode == 2:
        L = 256 // x.itemsize
        ok = np.resize(np.unpackbits(bits, bitorder="little").astype(bool)[:L], count)
    want = z.copy()
    want[:count] = np.where(ok, x[:count], y[0] if mode == 1 else y[:count])
    run(SELECT, mode, x, y, bits, z, count)
    assert (z.view(np.uint8) == want.view(np.uint8)).all() or assert_same(z, want, "Select", x, y)


def test_select_with_mask_and_strides():
    rng = np.random.default_rng(1)
    x, y, z = (rng.standard_normal(1024).astype(F32) for _ in range(3))
    bits = rng.integers(0, 256, 64).astype(np.uint8)
    want = z.copy()
    i, j, k = lane_index(6, 64, 8, 1, 16)[:, :50], lane_index(6, 64, 8, 1, 9)[:, :50], lane_index(6, 64, 8, 0, 1)[:, :50]
    ok = np.unpackbits(bits, bitorder="little").astype(bool)[: 6 * 64].reshape(6, 64)[:, :50]
    want[i] = np.where(ok, x[j], y[k])
    cases = ("Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 50, rep, {1, 1, 0, 16, 9, 1});",
             "Select<float>(d, m, a, -1.f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 50, rep, {1, 1, 0, 16, 9, 1});")
    run(cases, 0, x, y, bits, z, rep=6)
    assert_same(z, want, "tensor")
    want[i] = np.where(ok, x[j], F32(-1))
    run(cases, 1, x, y, bits, z, rep=6)
    assert_same(z, want, "scalar")


def test_select_warns_when_mode_0_reuses_the_bits_and_refuses_mixed_modes():
    x, y = padded(F32)
    bits, z = np.zeros(128, np.uint8), x.copy()
    found = run(SELECT, 2, x, y, bits, z, 256).findings
    assert any(f.code == "BAD_PARAMETER" and f.severity == "warning" for f in found)
    with hp.expect_error("BAD_PARAMETER"):
        run(("Select(d, m, a, 1.0f, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);",), 0, x, y, bits, z, 64)


def test_the_register_pair():
    rng = np.random.default_rng(2)
    x, y, z = (rng.standard_normal(256).astype(F32) for _ in range(3))
    want = z.copy()
    ok = x[:64] > y[:64]
    want[:64] = np.where(ok, x[:64], y[:64])
    want[64:128] = np.where(ok, x[64:128], y[64:128])
    bits = np.zeros(32, np.uint8)
    run(("Compare(a, b, CMPMODE::GT, 64, {1, 1, 1, 8, 8, 8}); GetCmpMask(m); Select<float, SELMODE::VSEL_CMPMASK_SPR>(d, a, b, 2, {1, 1, 1, 8, 8, 8});",),
        0, x, y, bits, z)
    assert_same(z, want, "register Select")
    assert_same(bits[:8], pack(ok), "GetCmpMask")
    assert (bits[8:16] == 0).all()
    w = want.copy()
    run(("SetCmpMask(m); ResetMask(); Select<float, SELMODE::VSEL_CMPMASK_SPR>(d, a, b, 1, {1, 1, 1, 8, 8, 8});",), 0, y, x, bits, w)
    want[:64] = np.where(ok, y[:64], x[:64])
    assert_same(w, want, "SetCmpMask")


def test_masks_nobody_wrote_make_undefined_results():
    body = """
    TBuf<TPosition::VECCALC> f;
    pipe.InitBuffer(f, 256);
    LocalTensor<uint8_t> m = f.Get<uint8_t>();
    Compare(m, a, b, CMPMODE::LT, 64);
    Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 128);
"""
    x, y, z = (np.ones(128, F32) for _ in range(3))
    with hp.expect_error("UNINITIALISED_READ"):
        strided(body, x, y, z)
    strided(body.replace("b, CMPMODE::LT, 64", "b, CMPMODE::LT, 128"), x, y, z)
    # The 64 results that hang on written bits are as good as ever: they may be stored.
    strided(body + "    Duplicate(d[64], 0.0f, 64);\n", x, y, z)
    assert (z[:64] == 1).all() and (z[64:] == 0).all()
    with hp.expect_error("UNINITIALISED_READ"):
        strided(body + "    Duplicate(d[72], 0.0f, 56);\n", x, y, z)


def test_only_two_modes_of_select_use_the_top_of_ub():
    """The mode that reads its bits from the register may own all of UB; so may a call of no repeat."""
    body = """
    LocalTensor<float> big(TPosition::VECCALC, 189 * 1024, 256);
    Compare(a, b, CMPMODE::LT, 64, {1, 1, 1, 8, 8, 8});
    Duplicate(big, 1.0f, 64);
    %s
    Adds(d, big, 1.0f, 64);
"""
    x, y, z = (np.ones(64, F32) for _ in range(3))
    assert [f for f in strided(body % "Select<float, SELMODE::VSEL_CMPMASK_SPR>(big, a, b, 1, {1, 1, 1, 8, 8, 8});", x, y, z).findings if f.severity != "note"] == []
    with hp.expect_error("UB_OVERFLOW"):
        strided(body % "TBuf<TPosition::VECCALC> f; pipe.InitBuffer(f, 32); LocalTensor<uint8_t> m = f.Get<uint8_t>(); Compare(m, a, b, CMPMODE::LT, 64); Select(big, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);", x, y, z)


@pytest.mark.parametrize("count", [1, 10, 63, 64])
def test_the_register_in_counter_mode(count):
    """The mask register holds the number of elements: that many bits are compared."""
    rng = np.random.default_rng(count)
    x, y, z = (rng.standard_normal(64).astype(F32) for _ in range(3))
    bits = np.zeros(32, np.uint8)
    call = "uint64_t many[2] = {(uint64_t)count, 0}; SetMaskCount(); Compare(a, b, CMPMODE::LT, many, {1, 1, 1, 8, 8, 8}); SetMaskNorm(); ResetMask(); GetCmpMask(m);"
    run((call,), 0, x, y, bits, z, count)
    got = np.unpackbits(bits, bitorder="little")
    assert np.array_equal(got[:count], x[:count] < y[:count]) and not got[count:].any()


def test_the_mask_of_select_is_read_too():
    """Bits that are still on their way from GM are a race."""
    body = """
    TBuf<TPosition::VECCALC> f;
    pipe.InitBuffer(f, 32);
    LocalTensor<uint8_t> m = f.Get<uint8_t>();
    GlobalTensor<uint8_t> bits;
    bits.SetGlobalBuffer((__gm__ uint8_t*)y);
    DataCopy(m, bits, 32);
    %s
    Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 128);
"""
    x, y, z = (np.ones(128, F32) for _ in range(3))
    with hp.expect_error("MISSING_SYNC"):
        strided(body % "", x, y, z)
    strided(body % "PipeBarrier<PIPE_ALL>();", x, y, z)
