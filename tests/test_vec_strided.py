"""Repeat forms: the address formula, bit masks, lane masks, counter mode, mask registers; untouched bytes stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from vec_kernels import strided
from vec_oracle import BINARY, add, assert_same, lane_index, mul

F16, F32, I16, I32 = np.float16, np.float32, np.int16, np.int32
TYPES = st.sampled_from((F16, F32, I16, I32))
N = {2: 8192, 4: 4096}


def arrays(dtype, seed=0):
    rng = np.random.default_rng(seed)
    n = N[np.dtype(dtype).itemsize]
    if np.dtype(dtype).kind == "f":
        return [rng.standard_normal(n).astype(dtype) for _ in range(3)]
    return [rng.integers(-1000, 1000, n).astype(dtype) for _ in range(3)]


def lanes_of(dtype):
    return 256 // np.dtype(dtype).itemsize


def run_formula(f, x, y, z, lanes, repeats, blk, rs, *, reads=2):
    """Repeat by repeat, all sources before dst, active lanes only."""
    E = 32 // x.itemsize
    L = lanes_of(x.dtype)
    d, a, b = (lane_index(repeats, L, E, k, s) for k, s in zip(blk, rs))
    z = z.copy()
    with np.errstate(all="ignore"):
        for r in range(repeats):
            l = lanes if isinstance(lanes, np.ndarray) else np.arange(lanes)
            args = (x[a[r, l]], y[b[r, l]])[:reads]
            z[d[r, l]] = f(*args)
    return z


def fits(n, repeats, L, E, blk, rs):
    return all((repeats - 1) * r * E + (L // E - 1) * k * E + E <= n for k, r in zip(blk, rs))


STRIDE = st.integers(1, 4)
SOURCE = st.integers(0, 4)


@settings(max_examples=60, deadline=None)
@given(TYPES, st.sampled_from(("Add", "Mul", "Max")), st.integers(0, 8), st.tuples(STRIDE, SOURCE, SOURCE), st.tuples(st.integers(0, 16), *[st.integers(0, 20)] * 2),
       st.integers(0, 128))
def test_lane_mask_and_strides(dtype, op, rep, blk, rs, lanes):
    x, y, z = arrays(dtype)
    L = lanes_of(dtype)
    lanes = min(lanes, L)
    E = 32 // x.itemsize
    if rep and not fits(x.size, rep, L, E, blk, rs):
        return
    want = run_formula(BINARY[op], x, y, z, lanes, rep, blk, rs)
    strided(f"    {op}(d, a, b, lo, rep, {{db, ab, bb_, dr, ar, br}});", x, y, z, lo=lanes, rep=rep, blk=blk, rs=rs)
    assert_same(z, want, f"{op} mask {lanes} x {rep} {blk} {rs}")


@settings(max_examples=60, deadline=None)
@given(TYPES, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 6), st.tuples(STRIDE, SOURCE, SOURCE), st.tuples(*[st.integers(8, 20)] * 3))
def test_bit_mask(dtype, lo, hi, rep, blk, rs):
    x, y, z = arrays(dtype, 1)
    L = lanes_of(dtype)
    E = 32 // x.itemsize
    if not fits(x.size, rep, L, E, blk, rs):
        return
    bits = [(lo >> k if k < 64 else hi >> (k - 64)) & 1 for k in range(L)]
    active = np.flatnonzero(bits)
    want = run_formula(BINARY["Sub"], x, y, z, active, rep, blk, rs)
    strided("    Sub(d, a, b, mask, rep, {db, ab, bb_, dr, ar, br});", x, y, z, lo=lo, hi=hi, rep=rep, blk=blk, rs=rs)
    assert_same(z, want, f"Sub mask {lo:x} {hi:x}")


@settings(max_examples=40, deadline=None)
@given(TYPES, st.integers(0, 1500), st.tuples(STRIDE, SOURCE, SOURCE), st.tuples(*[st.integers(8, 40)] * 3), st.booleans())
def test_counter_mode(dtype, n, blk, rs, by_register):
    """repeatTime has no effect: n elements, L per repeat, the last repeat partial."""
    x, y, z = arrays(dtype, 2)
    L, E = lanes_of(dtype), 32 // x.itemsize
    full, tail = divmod(n, L)
    if not fits(x.size, full + 1, L, E, blk, rs):
        return
    f = BINARY["Add"]
    want = run_formula(f, x, y, z, L, full, blk, rs) if full else z.copy()
    if tail:
        d, a, b = (lane_index(full + 1, L, E, k, s)[full, :tail] for k, s in zip(blk, rs))
        with np.errstate(all="ignore"):
            want[d] = f(x[a], y[b])
    T = {"float16": "half", "float32": "float", "int16": "int16_t", "int32": "int32_t"}[x.dtype.name]
    if by_register:
        call = f"SetVectorMask<{T}, MaskMode::COUNTER>(0, lo); Add<{T}, false>(d, a, b, MASK_PLACEHOLDER, 1, {{db, ab, bb_, dr, ar, br}});"
    else:
        call = "mask[1] = 0; Add(d, a, b, mask, 1, {db, ab, bb_, dr, ar, br});"
    strided(f"    SetMaskCount(); {call} SetMaskNorm(); ResetMask();", x, y, z, lo=n, rep=1, blk=blk, rs=rs)
    assert_same(z, want, f"counter {n} {blk} {rs}")


def test_accumulation_into_one_row():
    x, y, z = arrays(F32, 3)
    first = z[:64].copy()
    strided("    Add(d, a, d, 64, rep, {1, 1, 1, 0, 8, 0});", x, y, z, rep=10)
    for r in range(10):
        first = add(x[64 * r : 64 * r + 64], first)
    assert_same(z[:64], first, "accumulated")


def test_a_row_meets_every_repeat():
    x, y, z = arrays(F16, 4)
    strided("    Mul(d, a, b, 128, rep, {1, 1, 1, 8, 8, 0});", x, y, z, rep=20)
    assert_same(z[: 128 * 20], mul(x[: 128 * 20], np.tile(y[:128], 20)), "row broadcast")


@pytest.mark.parametrize("dtype", [F16, F32, I16, I32])
def test_copy_and_duplicate(dtype):
    x, y, z = arrays(dtype, 5)
    L, E = lanes_of(dtype), 32 // x.itemsize
    want = run_formula(lambda a: a, x, y, z, L - 3, 3, (2, 1, 1), (16, 9, 8), reads=1)
    strided("    Copy(d, a, lo, rep, {2, 1, 16, 9});", x, y, z, lo=L - 3, rep=3)
    assert_same(z, want, "Copy")
    v = x[0]
    d = lane_index(4, L, E, 3, 30)[:, : L - 1]
    want[d] = v
    strided("    Duplicate(d, a.GetValue(0), lo, rep, 3, 30);", x, y, z, lo=L - 1, rep=4)
    assert_same(z, want, "Duplicate")


def test_copy_in_counter_mode_counts_per_repeat():
    x, y, z = arrays(F32, 6)
    want = z.copy()
    for r in range(2):
        for b in range(3):
            n = 8 if b < 2 else 4
            want[(8 * r + b) * 8 : (8 * r + b) * 8 + n] = x[(16 * r + 2 * b) * 8 : (16 * r + 2 * b) * 8 + n]
    strided("    SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 20); Copy<float, false>(d, a, MASK_PLACEHOLDER, 2, {1, 2, 8, 16}); SetMaskNorm(); ResetMask();", x, y, z)
    assert_same(z, want, "Copy of 20 per repeat")


def test_casts_count_lanes_of_the_wider_type():
    x, y, z = arrays(F32, 7)
    strided("    auto h = b.ReinterpretCast<half>(); Cast(h, a, RoundMode::CAST_RINT, 64, rep, {1, 1, 4, 8}); Cast(d, h, RoundMode::CAST_NONE, 64, rep, {1, 1, 8, 4});", x, y, z, rep=9)
    n = 64 * 9
    assert_same(z[:n], x[:n].astype(F16).astype(F32), "float -> half -> float")


def test_masks_persist_in_the_register():
    x, y, z = arrays(F32, 8)
    keep = z.copy()
    run = strided("    Add(d, a, b, 10, 1, {1, 1, 1, 8, 8, 8}); Sub<float, false>(d, a, d, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});", x, y, z)
    keep[:10] = x[:10] - (x[:10] + y[:10])
    assert_same(z, keep, "second call uses the mask of the first")
    assert any(f.code == "BAD_PARAMETER" and f.severity == "warning" for f in run.findings)
    run = strided("    SetVectorMask<float>(0, 0x3f); Add<float, false>(d, a, b, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); ResetMask();", x, y, z)
    keep[:6] = x[:6] + y[:6]
    assert_same(z, keep, "SetVectorMask")
    assert not run.findings


def test_the_count_form_leaves_normal_mode_and_a_full_register():
    x, y, z = arrays(F32, 9)
    run = strided("    SetMaskCount(); Add(d, a, b, 5); Mul<float, false>(d, a, b, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});", x, y, z)
    assert_same(z[:64], mul(x[:64], y[:64]), "full register")
    assert not run.findings


def test_shift_right_rounds_in_the_repeat_forms():
    x, y, z = arrays(I32, 10)
    x[:3] = 17, -17, 16
    strided("    ShiftRight(d, a, 5, 64, 1, {1, 1, 8, 8}, true);", x, y, z)
    v = x[:64].astype(np.int64)
    assert_same(z[:64], ((v >> 5) + ((v >> 4) & 1)).astype(I32), "rounded shift")
    assert z[0] == 1


def test_repeat_zero_does_nothing():
    x, y, z = arrays(F32, 11)
    keep = z.copy()
    strided("    Add(d, a, b, 64, rep, {1, 1, 1, 8, 8, 8}); Add(d, a, b, static_cast<uint64_t>(0), 3, {1, 1, 1, 8, 8, 8});", x, y, z, rep=0)
    assert_same(z, keep, "nothing")


def test_undefined_lanes_stay_undefined_and_others_do_not():
    """A masked Add of a fresh buffer defines exactly its lanes; storing more is named."""
    text = """
    TBuf<TPosition::VECCALC> f;
    pipe.InitBuffer(f, 1024);
    LocalTensor<float> t = f.Get<float>();
    Add(t, a, b, 40, 2, {1, 1, 1, 16, 8, 8});
    PipeBarrier<PIPE_ALL>();
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)y);
    DataCopy(g, t[%d], 40);
"""
    x, y, z = arrays(F32, 12)
    for start in (0, 128):
        strided(text % start, x, y.copy(), z)
    with hp.expect_error("UNINITIALISED_READ"):
        strided(text % 8, x, y, z)


def test_shift_right_rounds_only_when_asked():
    x, y, z = arrays(I32, 13)
    for call in ("ShiftRight(d, a, 5, 64, 1, {1, 1, 8, 8});", "mask[0] = ~0ull; ShiftRight(d, a, 5, mask, 1, {1, 1, 8, 8});"):
        z[:] = 0
        strided(f"    {call}", x, y, z)
        assert_same(z[:64], x[:64] >> 5, "plain shift")
