"""Gather, Gatherb, GatherMask, Brcb, CreateVecIndex, ArithProgression and BilinearInterpolation against plain loops; and their checks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from kernel_text import assert_clean, assert_finds, kernel
from vec_move_kernels import bits, every_bit, move, same
from vec_reduce_oracle import bits_of, lanes

F16, F32 = np.float16, np.float32
TYPES = (F16, F32, np.int16, np.int32, np.uint16, np.uint32)
GATHER = (
    "Gather(d, a, b, (uint32_t)p0, (uint32_t)p1)",
    "Gather(d, a, b, (uint32_t)p0, mask, p1, p2)",
    "Gather(d, a, b, (uint32_t)p0, (uint64_t)lo, p1, p2)",
    "SetVectorMask<T>(hi, lo); vgather((T*)d.GetPhyAddr(), (uint32_t*)b.GetPhyAddr(), (uint32_t)(uint64_t)a.GetPhyAddr(), p2, p1)",
)


@pytest.mark.parametrize("dtype", TYPES)
def test_gather_of_a_count(dtype):
    rng = np.random.default_rng(1)
    size = np.dtype(dtype).itemsize
    for n in (1, 2, 31, 32, 33, lanes(dtype), lanes(dtype) + 1, 3 * lanes(dtype) + 5):
        x, z = every_bit(rng, dtype, 333), every_bit(rng, dtype, n)
        index = rng.integers(0, 300, n)
        move(GATHER, 0, x, (index * size).astype(np.uint32), z, 7 * size, n)
        same(z, x[index + 7], f"{n}")


@pytest.mark.parametrize("dtype", (F16, F32))
@pytest.mark.parametrize("op", (1, 2, 3))
def test_gather_with_masks_and_strides(dtype, op):
    rng = np.random.default_rng(2)
    n, size = lanes(dtype), np.dtype(dtype).itemsize
    for rep, stride in ((1, 8), (3, 8), (4, 11)):
        lo, hi = (int(v) for v in rng.integers(1, 2**63, 2))
        hi = hi if n == 128 else 0
        if op == 2:
            lo, hi = 37, 0
        on = np.arange(n) < 37 if op == 2 else bits_of(lo, hi, n)
        x, z = every_bit(rng, dtype, 500), every_bit(rng, dtype, rep * stride * 32 // size)
        index = rng.integers(0, 500, rep * n)
        want = z.copy()
        for r in range(rep):
            at = r * stride * 32 // size + np.arange(n)
            want[at[on]] = x[index[r * n : (r + 1) * n][on]]
        move(GATHER, op, x, (index * size).astype(np.uint32), z, 0, rep, stride, lo=lo, hi=hi)
        same(z, want, f"{rep} {stride}")


@pytest.mark.parametrize("dtype", (np.uint16, np.uint32))
def test_gather_of_blocks(dtype):
    rng = np.random.default_rng(3)
    e = 32 // np.dtype(dtype).itemsize
    for rep, blk, stride in ((1, 1, 8), (5, 1, 8), (3, 2, 17), (2, 0, 8)):
        x, z = every_bit(rng, dtype, 40 * e), every_bit(rng, dtype, rep * 32 * e)
        block = rng.integers(0, 40, 8 * rep)
        want = z.copy()
        for i, k in enumerate(block):
            at = (i // 8 * stride + i % 8 * max(blk, 1)) * e
            want[at : at + e] = x[k * e : (k + 1) * e]
        move(("Gatherb(d, a, b, p0, {p1, p2})",), 0, x, (block * 32).astype(np.uint32), z, rep, blk, stride)
        same(z, want)


# ===== GatherMask
MASKS = (
    "uint64_t n = 0; GatherMask(d, a, b, p0 != 0, (uint32_t)p1, {p2, p3, p4, p5}, n); b.SetValue(0, (U)n); b.SetValue(1, (U)GetGatherMaskRemainCount())",
    "uint64_t n = 0; GatherMask(d, a, (uint8_t)lo, p0 != 0, (uint32_t)p1, {p2, p3, p4, p5}, n); b.SetValue(0, (U)n)",
    "vreducev2((bits_t*)d.GetPhyAddr(), (bits_t*)a.GetPhyAddr(), (bits_t*)b.GetPhyAddr(), p3, p2, (uint8_t)lo, p4, p5); b.SetValue(0, (U)get_rsvd_cnt())",
)


def kept(x, rep, n, blk, sr, chosen):
    e = 32 // x.itemsize
    return np.array([x[(r * sr + k // e * blk) * e + k % e] for r in range(rep) for k in range(n) if chosen(r, k)], x.dtype)


PATTERN = {1: lambda k: k % 2 == 0, 2: lambda k: k % 2 == 1, 7: lambda k: True, **{p: (lambda q: lambda k: k % 4 == q)(p - 3) for p in (3, 4, 5, 6)}}


@pytest.mark.parametrize("dtype", TYPES)
def test_fixed_patterns(dtype):
    rng = np.random.default_rng(4)
    cases = (MASKS[1], MASKS[2].replace("bits_t", "U"))
    for pattern, f in PATTERN.items():
        for counter, n, blk, rep, sr in ((0, 0, 1, 3, 8), (0, 0, 2, 2, 16), (1, 33, 1, 1, 8), (1, 300, 1, 1, 0), (1, 70, 1, 2, 20)):
            x = every_bit(rng, dtype, 2000)
            per = n if counter else lanes(dtype)
            want = kept(x, rep, per, blk, sr, lambda r, k: f(k))  # noqa: B023
            z, y = np.zeros(want.size, dtype), np.zeros(64, bits(dtype))
            for op in (0, 1) if not counter else (0,):
                z[:] = 0
                move(cases, op, x, y, z, counter, n, blk, rep, sr, 0, lo=pattern)
                same(z, want, f"pattern {pattern}")
                assert y[0] == want.size


@pytest.mark.parametrize("dtype", TYPES)
def test_patterns_of_your_own(dtype):
    rng = np.random.default_rng(5)
    for counter, n, blk, rep, sr, pr in ((0, 0, 1, 1, 8, 1), (0, 0, 1, 4, 8, 1), (0, 0, 1, 4, 8, 0), (0, 0, 2, 2, 16, 1), (1, 45, 1, 1, 8, 1), (1, 200, 1, 2, 30, 2)):
        x, y = every_bit(rng, dtype, 2000), every_bit(rng, bits(dtype), 128)
        per = n if counter else lanes(dtype)
        stream = np.unpackbits(y.view(np.uint8), bitorder="little")
        want = kept(x, rep, per, blk, sr, lambda r, k: stream[r * pr * 256 + k])  # noqa: B023
        z = np.zeros(want.size, dtype)
        move(MASKS[:1], 0, x, y, z, counter, n, blk, rep, sr, pr)
        same(z, want)
        assert y[0] == y[1] == want.size


@settings(max_examples=25, deadline=None)
@given(st.sampled_from((F16, F32)), st.integers(1, 700), st.sampled_from(sorted(PATTERN)), st.integers(0, 2**32 - 1))
def test_any_count_with_fixed_patterns(dtype, n, pattern, seed):
    x = every_bit(np.random.default_rng(seed), dtype, 704)
    want = kept(x, 1, n, 1, 8, lambda r, k: PATTERN[pattern](k))
    z, y = np.zeros(want.size, dtype), np.zeros(64, bits(dtype))
    move((MASKS[1], MASKS[2].replace("bits_t", "U")), 0, x, y, z, 1, n, 1, 1, 8, 0, lo=pattern)
    same(z, want)


def test_compaction_in_place():
    x = np.arange(128, dtype=F32)
    z, y = x.copy(), np.zeros(8, np.uint32)
    move(("uint64_t n = 0; GatherMask(d, d, (uint8_t)2, true, 128, {1, 1, 8, 0}, n); b.SetValue(0, (U)n)",), 0, x, y, z)
    same(z[:64], x[1::2])


# ===== Brcb, indices
@pytest.mark.parametrize("dtype", TYPES)
def test_brcb(dtype):
    rng = np.random.default_rng(6)
    e = 32 // np.dtype(dtype).itemsize
    cases = ("Brcb(d, a, p0, {p1, p2})", "vbrcb((T*)d.GetPhyAddr(), (T*)a.GetPhyAddr(), p1, p2, p0)")
    for rep, blk, stride in ((1, 1, 8), (4, 1, 8), (2, 3, 30), (0, 1, 8)):
        x, z = every_bit(rng, dtype, max(8 * rep, 8)), every_bit(rng, dtype, (rep + 1) * 32 * e)
        want = z.copy()
        for i in range(8 * rep):
            at = (i // 8 * stride + i % 8 * blk) * e
            want[at : at + e] = x[i]
        for op in (0, 1):
            got = z.copy()
            move(cases, op, x, np.zeros(8, np.uint32), got, rep, blk, stride)
            same(got, want, f"{rep}")


def chain(first, step, n, seed, dtype):
    """The scalar unit writes `seed` elements, additions of a block and of a repeat make the rest."""
    t = np.dtype(dtype).type
    e, width = 32 // np.dtype(dtype).itemsize, lanes(dtype)
    if np.dtype(dtype).kind == "i":
        return (int(first) + np.arange(n) * int(step)).astype(np.int64).astype(dtype)
    out = np.zeros(max(n, width) + width, dtype)
    f, s = F32(first), F32(step)
    for i in range(seed):
        out[i] = t(f + s * F32(i))
    for i in range(seed, out.size):
        back = e if i < width else width
        out[i] = out[i - back] + t(s * F32(back))
    return out[:n]


INDEX = (
    "CreateVecIndex(d, a.GetValue(0), (uint32_t)p0)",
    "CreateVecIndex(d, a.GetValue(0), mask, p0, p1, p2)",
    "CreateVecIndex(d, a.GetValue(0), (uint64_t)lo, p0, p1, p2)",
    "ArithProgression(d, a.GetValue(0), a.GetValue(1), p0)",
    "Arange(d, a.GetValue(0), a.GetValue(1), p0)",
)
NOTHING = np.zeros(8, np.uint32)


@pytest.mark.parametrize("dtype", (F16, F32, np.int16, np.int32))
def test_indices_of_a_count(dtype):
    e = 32 // np.dtype(dtype).itemsize
    for first in (0, 5, -7):
        for n in (0, 1, e - 1, e, e + 1, 100, lanes(dtype), lanes(dtype) + 1, 700):
            z = np.full(max(n, e), 99, dtype)
            move(INDEX, 0, np.full(16, first, dtype), NOTHING, z, n)
            want = np.full_like(z, 99) if n == 0 else chain(first, 1, z.size, e, dtype)
            same(z, want, f"{first} {n}")


@pytest.mark.parametrize("dtype", (F16, F32, np.int16, np.int32))
def test_indices_with_masks(dtype):
    rng = np.random.default_rng(7)
    n, e = lanes(dtype), 32 // np.dtype(dtype).itemsize
    for op in (1, 2):
        for rep, blk, stride in ((1, 1, 8), (3, 1, 8), (2, 2, 17)):
            lo, hi = (int(v) for v in rng.integers(1, 2**63, 2))
            hi = hi if n == 128 else 0
            lo, hi = (21, 0) if op == 2 else (lo, hi)
            on = np.arange(n) < 21 if op == 2 else bits_of(lo, hi, n)
            z = every_bit(rng, dtype, rep * stride * e + 16 * e)
            v = chain(3, 1, rep * n, n if op == 1 else e, dtype)
            want = z.copy()
            for r in range(rep):
                at = (r * stride + np.arange(n) // e * blk) * e + np.arange(n) % e
                want[at[on]] = v[r * n : (r + 1) * n][on]
            move(INDEX, op, np.full(16, 3, dtype), NOTHING, z, rep, blk, stride, lo=lo, hi=hi)
            same(z, want)


@pytest.mark.parametrize("dtype", (F16, F32, np.int16, np.int32))
@pytest.mark.parametrize("op", (3, 4))
def test_progressions(dtype, op):
    e = 32 // np.dtype(dtype).itemsize
    for first, step in ((0, 1), (2, 3)) + (((0.1, 0.3), (-1.5, 0.0)) if np.dtype(dtype).kind == "f" else ((-5, 0),)):
        for n in (1, e - 1, e, e + 1, 100, 3 * lanes(dtype) + 5):
            z = np.full(-(-n // e) * e, 99, dtype)
            x = np.zeros(16, dtype)
            x[:2] = first, step
            move(INDEX, op, x, NOTHING, z, n)
            want = np.full_like(z, 99)
            whole = n if n <= e else z.size
            want[:whole] = chain(x[0], x[1], whole, e, dtype)
            same(z, want, f"{first} {step} {n}")


def test_bilinear_interpolation():
    rng = np.random.default_rng(8)
    case = ("BilinearInterpolation(d, a, b, a[1024], mask, p0, p1 != 0, p2, p3, p4, tmp)",)
    for h, each, blk, row, v in ((2, 0, 1, 128, 2), (3, 1, 1, 160, 2), (1, 0, 2, 256, 3)):
        x = rng.standard_normal(1280).astype(F16)
        block = rng.integers(0, 64, 8 * h * v)
        weight = x[1024:]
        z = rng.standard_normal(v * row + 256).astype(F16)
        want = z.copy()
        lo, hi = 2**64 - 1, 0xFFFF
        on = bits_of(lo, hi, 128)
        for q in range(v):
            total = None
            for i in range(h):
                r = q * h + i
                g = np.concatenate([x[16 * k : 16 * k + 16] for k in block[8 * r : 8 * r + 8]])
                w = np.repeat(weight[8 * r : 8 * r + 8], 16) if each else weight[r]
                term = (g.astype(F32) * np.asarray(w, F32)).astype(F16)
                total = term if total is None else (total.astype(F32) + term.astype(F32)).astype(F16)
            at = q * row + np.arange(128) // 16 * blk * 16 + np.arange(128) % 16
            want[at[on]] = total[on]
        move(case, 0, x, (block * 32).astype(np.uint32), z, h, each, blk, row, v, lo=lo, hi=hi)
        same(z, want)


# ===== what the checks say
def gather_text(line, t="float"):
    return kernel(
        f"""
    TBuf<TPosition::VECCALC> bx, by, bo, bp;
    pipe.InitBuffer(bx, 512); pipe.InitBuffer(by, 4096); pipe.InitBuffer(bo, 1024); pipe.InitBuffer(bp, 128);
    LocalTensor<T> x = bx.Get<T>(), y = by.Get<T>();
    LocalTensor<uint32_t> o = bo.Get<uint32_t>(), q = bp.Get<uint32_t>();
    uint64_t n = 0;
    (void)n;
    Duplicate(x, (T)1, 128); Duplicate(o, 0u, 64);
    {line}
""",
        t=t,
    ).replace("using namespace AscendC;", f"using namespace AscendC; using T = {t};")


X = np.zeros(16, F32)
CHECKS = [
    ("OUT_OF_BOUNDS", "o.SetValue(13, 1024); Gather(y, x, o, 0, 64);", "o.SetValue(13, 508); Gather(y, x, o, 0, 64);", "offset 1024 B of lane 13 is past the 512 B"),
    ("OUT_OF_BOUNDS", "Gather(y, x, o, 512, 64);", "Gather(y, x, o, 256, 64);", "srcBaseAddr 512"),
    ("MISALIGNED", "o.SetValue(3, 1); Gather(y, x, o, 0, 8);", "o.SetValue(3, 4); Gather(y, x, o, 0, 8);", "inside element 0"),
    ("MISALIGNED", "Gather(y, x, o[1], 0, 8);", "Gather(y, x, o[8], 0, 8);", "next legal index is 8"),
    ("UNINITIALISED_READ", "Gather(y, x, o, 0, 65);", "Gather(y, x, o, 0, 64);", "repeat 1"),
    ("BAD_PARAMETER", "Gather(y, x, o, 0, 64 * 256);", "Gather(y, x, o, 0, 64);", "255"),
    ("OVERLAP", "Gather(x, x, o, 0, 64);", "Gather(y, x, o, 0, 64);", "own buffer"),
    ("MISALIGNED", "o.SetValue(8, 33); Gatherb(y.ReinterpretCast<uint32_t>(), o, o[8], 1, {1, 8});",
     "Gatherb(y.ReinterpretCast<uint32_t>(), o, o[8], 1, {1, 8});", "inside a block"),
    ("BAD_PARAMETER", "GatherMask(y, x, 1, false, 0, {1, 2, 1, 0}, n);", "GatherMask(y, x, 1, false, 0, {1, 2, 8, 0}, n);", "7/8"),
    ("BAD_PARAMETER", "GatherMask(y, x, 8, false, 0, {1, 1, 8, 0}, n);", "GatherMask(y, x, 7, false, 0, {1, 1, 8, 0}, n);", "pattern 8"),
    ("OUT_OF_BOUNDS", "GatherMask(y, x, 1, false, 0, {1, 3, 8, 0}, n);", "GatherMask(y, x, 1, false, 0, {1, 2, 8, 0}, n);", "src0"),
    ("UNINITIALISED_READ", "GatherMask(y, x, q, false, 0, {1, 1, 8, 1}, n);", "Duplicate(q, 5u, 8); GatherMask(y, x, q, false, 0, {1, 1, 8, 1}, n);", "src1Pattern"),
    ("OVERLAP", "Brcb(x, x, 2, {1, 8});", "Brcb(y, x, 2, {1, 8});", "8 times"),
    ("BAD_PARAMETER", "Brcb(y, x, 1, {0, 8});", "Brcb(y, x, 1, {1, 8});", "dstBlkStride 0"),
    ("BAD_PARAMETER", "Brcb(y, x, 256, {1, 8});", "Brcb(y, x, 16, {1, 8});", "255"),
    ("OUT_OF_BOUNDS", "CreateVecIndex(y, (T)0, 1025);", "CreateVecIndex(y, (T)0, 1024);", "dst"),
    ("BAD_PARAMETER", "ArithProgression(y, (T)0, (T)-1, 64);", "ArithProgression(y, (T)0, (T)1, 64);", "negative"),
    ("BAD_PARAMETER", "ArithProgression(y, (T)0, (T)1, 0);", "ArithProgression(y, (T)0, (T)1, 1);", "at least 1"),
]


@pytest.mark.parametrize("code,broken,says", [(c, b, s) for c, b, _, s in CHECKS], ids=[b for _, b, _, _ in CHECKS])
def test_checks(code, broken, says):
    severity = "warning" if says == "7/8" else "error"
    assert_finds(code, gather_text(broken + "  // HERE"), X, X, says=says, severity=severity)


def test_repaired_calls_are_clean():
    assert_clean(gather_text("\n    ".join(f"Duplicate(o, 0u, 64); {f}" for _, _, f, _ in CHECKS)), X, X)


def test_undefined_elements_stay_undefined_where_they_go():
    line = "Gather(y, y[512], o, 0, 64); ReduceSum(x, y, x[64], 8);"
    assert_finds("UNINITIALISED_READ", gather_text(line + "  // HERE"), X, X)
    assert_finds("UNINITIALISED_READ", gather_text("Brcb(y, y[512], 1, {1, 8}); ReduceSum(x, y, x[64], 8);  // HERE"), X, X)
    one = "o.SetValue(5, 2048); Duplicate(y, (T)2, 8); Gather(x, y, o, 0, 64); ReduceSum(y[64], x, y[128], %d);"
    assert_finds("UNINITIALISED_READ", gather_text(one % 6 + "  // HERE"), X, X, says="5..5")
    assert_clean(gather_text(one % 5), X, X)


def test_half_counts_to_2048():
    assert_finds("NUMERIC", gather_text("LocalTensor<half> h = y.ReinterpretCast<half>(); CreateVecIndex(h, (half)2000, 100);  // HERE"), X, X, severity="warning")
    assert_clean(gather_text("CreateVecIndex(y.ReinterpretCast<half>(), (half)0, 2048);"), X, X)


@pytest.mark.parametrize(
    "call,name,instead",
    [("Neg(y, y, 8)", "Neg", "Muls"), ("Subs(y, y, 1.0f, 8)", "Subs", "Adds"), ("Scatter(y, y, o, 0, 8)", "Scatter", "SetValue"), ("Truncate<float>(y, y, 8)", "Truncate", "CAST_TRUNC"),
     ("RpSort16(y, y, 1)", "RpSort16", "Sort32"), ("ProposalConcat(y, y, 1, 0)", "ProposalConcat", "Sort32"), ("MrgSort4(y, y, 1)", "MrgSort4", "MrgSort")],
)
def test_absent_names_say_so(call, name, instead):
    with pytest.raises(hp.CompileError) as e:
        hp.compile(gather_text(call + ";  // HERE"))
    f = e.value.findings[0]
    assert f.code == "UNSUPPORTED_API" and name in f.message and instead in f.hint and ("950" in f.message) == (name in ("Neg", "Subs", "Truncate"))
