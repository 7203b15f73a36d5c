"""Reductions against NumPy trees: masks, strides, special values, edge lengths; and what their checks say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from kernel_text import assert_clean, assert_finds, findings_of, kernel
from vec_kernels import CTYPE, compiled, entry, random_bits, specials
from vec_oracle import assert_same
from vec_reduce_oracle import add, bits_of, block_parts, extreme, gather_repeats, lanes, sum_of_count, sum_of_repeats, tree

F16, F32 = np.float16, np.float32
BOTH = pytest.mark.parametrize("dtype", (F16, F32), ids=("half", "float"))

CASES = {
    "WholeReduceSum": "WholeReduceSum(d, a, mask, rep, dr, blk, sr)",
    "WholeReduceSum lanes": "WholeReduceSum(d, a, n, rep, dr, blk, sr)",
    "RepeatReduceSum": "RepeatReduceSum(d, a, rep, n, 0, blk, dr, sr)",
    "WholeReduceMax": "WholeReduceMax(d, a, mask, rep, dr, blk, sr, static_cast<ReduceOrder>(order))",
    "WholeReduceMin": "WholeReduceMin(d, a, mask, rep, dr, blk, sr, static_cast<ReduceOrder>(order))",
    "ReduceRepeat sum": "ReduceRepeat<ReduceType::SUM, T, T>(d, a, mask, rep, dr, blk, sr)",
    "ReduceRepeat max": "ReduceRepeat<ReduceType::MAX, T, T>(d, a, mask, rep, dr, blk, sr, static_cast<ReduceOrder>(order))",
    "ReduceRepeat min": "ReduceRepeat<ReduceType::MIN, T, T>(d, a, n, rep, dr, blk, sr, static_cast<ReduceOrder>(order))",
    "BlockReduceSum": "BlockReduceSum(d, a, rep, mask, dr, blk, sr)",
    "BlockReduceMax": "BlockReduceMax(d, a, rep, mask, dr, blk, sr)",
    "BlockReduceMin": "BlockReduceMin(d, a, rep, mask, dr, blk, sr)",
    "ReduceDataBlock": "ReduceDataBlock<ReduceType::SUM, T, T>(d, a, n, rep, dr, blk, sr)",
    "PairReduceSum": "PairReduceSum(d, a, rep, mask, dr, blk, sr)",
    "ReducePairElem": "ReducePairElem<ReduceType::SUM, T, T>(d, a, n, rep, dr, blk, sr)",
    "ReduceSum": "ReduceSum(d, a, tmp, n); d.SetValue(1, GetAccVal<T>())",
    "ReduceSum mask": "ReduceSum(d, a, tmp, mask, rep, sr)",
    "ReduceMax": "ReduceMax(d, a, tmp, n, order != 0)",
    "ReduceMin": "ReduceMin(d, a, tmp, n, order != 0)",
    "ReduceMax mask": "ReduceMax(d, a, tmp, mask, rep, sr, order != 0)",
    "ReduceMin lanes": "ReduceMin(d, a, tmp, n, rep, sr, order != 0)",
    "registers": "WholeReduceMax(d, a, mask, rep, dr, blk, sr); T v, i; GetReduceMaxMinCount(v, i); d.SetValue(0, v); d.SetValue(1, i)",
    "counter": "SetMaskCount(); SetVectorMask<T, MaskMode::COUNTER>(0, n); WholeReduceSum<T, false>(d, a, MASK_PLACEHOLDER, 1, 1, 1, 8); "
    "BlockReduceMax<T, false>(d[32], a, 1, MASK_PLACEHOLDER, 1, 1, 8); SetMaskNorm(); ResetMask()",
    "counter sum": "SetMaskCount(); SetVectorMask<T, MaskMode::COUNTER>(0, n); ReduceSum<T, false>(d, a, tmp, 1); SetMaskNorm(); ResetMask()",
    "vcadd": "SetVectorMask<T>(hi, lo); vcadd((T*)d.GetPhyAddr(), (T*)a.GetPhyAddr(), rep, dr, blk, sr)",
    "vcadd total": "SetVectorMask<T>(hi, lo); vcadd((T*)d.GetPhyAddr(), (T*)a.GetPhyAddr(), rep, dr, blk, sr, true); "
    "int64_t t = get_acc_val(); d.SetValue(0, *reinterpret_cast<T*>(&t))",
    "vcgmax": "SetVectorMask<T>(hi, lo); vcgmax((T*)d.GetPhyAddr(), (T*)a.GetPhyAddr(), rep, dr, blk, sr)",
}
BODY = """
    LocalTensor<T> a = In<T>(pipe, ba, x, nx, roomX), d = In<T>(pipe, bd, z, nz, roomZ);
    pipe.InitBuffer(bb, 8192);
    LocalTensor<T> tmp = bb.Get<T>();
    PipeBarrier<PIPE_ALL>();
    uint64_t mask[2] = {lo, hi};
    switch (op) {
CASES
    }
    Out(z, d, nz);
"""
PARAMS = "GM_ADDR x, GM_ADDR z, int32_t op, uint32_t nx, uint32_t nz, uint32_t roomX, uint32_t roomZ, uint64_t lo, uint64_t hi, int32_t n, int32_t rep, " \
         "int32_t dr, int32_t blk, int32_t sr, int32_t order"
NAMES = list(CASES)


def launch(op, x, z, *, lo=0, hi=0, n=0, rep=1, dr=1, blk=1, sr=8, order=0):
    cases = "\n".join(f"        case {i}: {{ {c}; break; }}" for i, c in enumerate(CASES.values()))
    text = entry(BODY.replace("CASES", cases), PARAMS)
    k = compiled(f"using T = {CTYPE[x.dtype.name]};\n" + text)
    up = lambda v: max(32, -(-v.nbytes // 32) * 32)  # noqa: E731
    return k.launch(1, (x, z, NAMES.index(op), x.size, z.size, up(x), up(z), lo, hi, n, rep, dr, blk, sr, order))


def values(rng, dtype, n, special=0.2):
    x = (rng.standard_normal(n) * 100).astype(dtype)
    pick = rng.random(n) < special
    x[pick] = rng.choice(specials(dtype), int(pick.sum()))
    return x


def masks(rng, dtype):
    n = lanes(dtype)
    for active in (1, 2, n // 2, n - 1, n):
        lo = (1 << min(active, 64)) - 1
        yield lo, (1 << max(active - 64, 0)) - 1, active
    for _ in range(3):
        lo, hi = (int(v) for v in rng.integers(1, 2**63, 2))
        hi = hi if n == 128 else 0
        lo &= (1 << min(n, 64)) - 1
        yield lo, hi, None


@BOTH
@pytest.mark.parametrize("op", ["WholeReduceSum", "ReduceRepeat sum", "vcadd"])
def test_sum_of_every_repeat(op, dtype):
    rng = np.random.default_rng(1)
    for rep, blk, sr, dr in ((1, 1, 8, 1), (5, 1, 8, 3), (3, 2, 17, 1), (4, 0, 1, 2), (255, 1, 8, 1)):
        for lo, hi, _ in masks(rng, dtype):
            on = bits_of(lo, hi, lanes(dtype))
            size = (rep * sr + 8 * max(blk, 1)) * 32 // np.dtype(dtype).itemsize
            x = values(rng, dtype, size, 0.02)
            z = values(rng, dtype, rep * dr, 0)
            want = z.copy()
            with np.errstate(all="ignore"):
                want[np.arange(rep) * dr] = tree(gather_repeats(x, rep, blk, sr)[0], on)[0]
            launch(op, x, z, lo=lo, hi=hi, rep=rep, dr=dr, blk=blk, sr=sr)
            assert_same(z, want, f"{op} {dtype.__name__} mask {lo:x} {hi:x} rep {rep}")


@BOTH
@pytest.mark.parametrize("op", ["WholeReduceSum lanes", "RepeatReduceSum"])
def test_sum_of_leading_lanes(op, dtype):
    rng = np.random.default_rng(2)
    for n in (0, 1, 2, 3, 7, 8, 9, 31, 32, 33, lanes(dtype) - 1, lanes(dtype)):
        x, z = values(rng, dtype, 3 * lanes(dtype), 0), np.full(3, 7, dtype)
        want = tree(gather_repeats(x, 3, 1, 8)[0], np.arange(lanes(dtype)) < n)[0] if n else z.copy()
        launch(op, x, z, n=n, rep=3)
        assert_same(z, want, f"{op} {n} lanes")


def test_half_rounds_at_every_level_of_the_tree():
    x = np.zeros(128, F16)
    x[:4] = (2048, 1, 1, 1)
    z = np.zeros(1, F16)
    launch("WholeReduceSum lanes", x, z, n=4)
    assert z[0] == 2050  # 2048 + 1 stays 2048, the other pair is 2; one sum rounded at the end would be 2052
    x[:4] = (60000, 60000, -30000, 100)
    assert any(f.code == "NUMERIC" and "pair 0" in f.message and "60000" in f.message for f in launch("WholeReduceSum lanes", x, z, n=4).findings)
    assert z[0] == np.inf


def test_saturation_clamps_inside_the_tree():
    x = np.zeros(128, F16)
    x[:4] = (60000, 60000, -30000, 100)
    z = np.zeros(16, F16)
    text = "SetCtrlSpr<48, 48>(0); WholeReduceSum(d, a, 4, 1, 1, 1, 8); d.SetValue(1, (half)GetCtrlSpr<48, 48>()); ResetCtrlSpr<48, 48>(); d.SetValue(2, (half)GetCtrlSpr<48, 48>());"
    body = BODY.replace("    switch (op) {\nCASES\n    }", text)
    compiled("using T = half;\n" + entry(body, PARAMS))[1](x, z, 0, 128, 16, 256, 32, 0, 0, 0, 1, 1, 1, 8, 0)
    assert z[0] == F16(65504) + F16(F16(-30000) + F16(100))  # about the documented 35604, in steps of half
    assert z[1:3].tolist() == [0, 1]


def test_minus_zero_survives_and_adds_to_zero():
    for dtype in (F16, F32):
        x, z = np.full(lanes(dtype), -0.0, dtype), np.ones(1, dtype)
        launch("WholeReduceSum lanes", x, z, n=lanes(dtype))
        assert z[0] == 0 and np.signbit(z[0])
        x[5] = 0.0
        launch("WholeReduceSum lanes", x, z, n=lanes(dtype))
        assert z[0] == 0 and not np.signbit(z[0])


@BOTH
@pytest.mark.parametrize("op", ["WholeReduceMax", "WholeReduceMin", "ReduceRepeat max"])
@pytest.mark.parametrize("order", range(4))
def test_extreme_of_every_repeat(op, dtype, order):
    rng = np.random.default_rng(3)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    for rep, blk, sr, dr in ((4, 1, 8, 1), (3, 2, 20, 2)):
        for lo, hi, _ in masks(rng, dtype):
            on = bits_of(lo, hi, lanes(dtype))
            x = values(rng, dtype, (rep * sr + 16) * 32 // np.dtype(dtype).itemsize, 0.1)
            x = np.where(rng.random(x.size) < 0.3, dtype(-1.5), x)  # ties
            rows = gather_repeats(x, rep, blk, sr)[0]
            value, at = extreme(rows, on, "in" not in op.lower()[-3:])
            unit = {0: 2, 1: 2, 2: 1, 3: 4 // bits.itemsize}[order]
            z = np.arange(rep * dr * unit, dtype=bits).view(dtype)
            want = z.copy()
            w = want.view(bits)
            for r in range(rep):
                here = w[r * dr * unit :]
                v, i = value[r : r + 1].view(bits)[0], at[r]
                if order == 0:
                    here[:2] = v, i
                elif order == 1:
                    here[:2] = i, v
                elif order == 2:
                    here[0] = v
                else:
                    here[:unit] = np.array([i], np.uint32).view(bits)
            launch(op, x, z, lo=lo, hi=hi, rep=rep, dr=dr, blk=blk, sr=sr, order=order)
            got = z.view(bits)
            nan = np.isnan(z) & np.isnan(want)
            assert ((got == w) | nan).all(), (op, order, got[got != w][:4], w[got != w][:4])


@BOTH
@pytest.mark.parametrize("op,width", [("BlockReduceSum", 0), ("BlockReduceMax", 0), ("BlockReduceMin", 0), ("vcgmax", 0), ("PairReduceSum", 2)])
def test_parts_of_a_repeat(op, width, dtype):
    rng = np.random.default_rng(4)
    width = width or 32 // np.dtype(dtype).itemsize
    fold = (lambda p, m: tree(p, m)[0]) if "Sum" in op else (lambda p, m: extreme(p, m, "max" in op.lower())[0])
    for rep, blk, sr, dr in ((1, 1, 8, 1), (4, 1, 8, 1), (3, 2, 20, 2), (255, 1, 8, 1)):
        for lo, hi, _ in list(masks(rng, dtype)) + [(0xF0F0 << 8, 0, None)]:
            on = bits_of(lo, hi, lanes(dtype))
            x = values(rng, dtype, (rep * sr + 16) * 32 // np.dtype(dtype).itemsize, 0.02)
            count = lanes(dtype) // width
            z = values(rng, dtype, rep * dr * count, 0)
            with np.errstate(all="ignore"):
                parts, written = block_parts(x, on, rep, blk, sr, width, fold)
            want = z.copy()
            for r in range(rep):
                here = want[r * dr * count :][:count]
                here[written[r]] = parts[r][written[r]]
            launch(op, x, z, lo=lo, hi=hi, rep=rep, dr=dr, blk=blk, sr=sr)
            assert_same(z, want, f"{op} {dtype.__name__} mask {lo:x} {hi:x} rep {rep}")


@BOTH
def test_newer_names_take_the_mask_first(dtype):
    rng = np.random.default_rng(5)
    x = values(rng, dtype, 2 * lanes(dtype), 0)
    e, n = 32 // np.dtype(dtype).itemsize, lanes(dtype)
    z = np.zeros(16, dtype)
    launch("ReduceDataBlock", x, z, n=n, rep=2)
    assert_same(z, tree(x.reshape(-1, e), np.ones(e, bool))[0], "ReduceDataBlock")
    z = np.zeros(n, dtype)
    launch("ReducePairElem", x, z, n=n, rep=2)
    assert_same(z, add(x[::2], x[1::2]), "ReducePairElem")
    z = np.zeros(4, dtype)
    launch("ReduceRepeat min", x, z, n=n, rep=2, order=2)
    assert_same(z[:2], x.reshape(2, n).min(1), "ReduceRepeat")


LENGTHS = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 64 * 255, 64 * 256 - 1, 64 * 256 + 1, 128 * 256 + 77]


@BOTH
@pytest.mark.parametrize("n", LENGTHS)
def test_sum_of_a_count(dtype, n):
    rng = np.random.default_rng(n)
    for x in (values(rng, dtype, n, 0), rng.integers(-9, 9, n).astype(dtype)):
        z = np.full(4, 5, dtype)
        launch("ReduceSum", x, z, n=n)
        assert_same(z[:2], np.repeat(sum_of_count(x), 2), f"ReduceSum {n}")  # GetAccVal reads the same
        assert (z[2:] == 5).all()


@BOTH
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_extreme_of_a_count(op, dtype, n):
    rng = np.random.default_rng(n)
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    for x in (values(rng, dtype, n, 0), rng.integers(-2, 3, n).astype(dtype), values(rng, dtype, n, 0.05)):
        for index in (0, 1):
            z = np.full(4, 5, dtype)
            launch(op, x, z, n=n, order=index)
            v, i = extreme(x[None], np.ones(n, bool), op == "ReduceMax")
            assert_same(z[:1], v, f"{op} {n}")
            assert not index or z.view(bits)[1] == i[0]
            assert (z[1 + index :] == 5).all()


@BOTH
@pytest.mark.parametrize("rep", [1, 2, 63, 64, 65, 255, 256, 257])
def test_sum_and_extremes_of_masked_repeats(dtype, rep):
    rng = np.random.default_rng(rep)
    e, n = 32 // np.dtype(dtype).itemsize, lanes(dtype)
    sr = 2 if rep > 100 else 9
    for lo, hi, active in masks(rng, dtype):
        if rep > 100 and active != 2:
            continue  # only short repeats fit that often
        on = bits_of(lo, hi, n)
        x = values(rng, dtype, (rep * sr + 8) * e, 0)
        z = np.full(4, 5, dtype)
        launch("ReduceSum mask", x, z, lo=lo, hi=hi, rep=rep, sr=sr)
        assert_same(z[:1], np.array([sum_of_repeats(x, on, rep, sr)]), f"rep {rep}")
        rows, index = gather_repeats(x, rep, 1, sr)
        z = np.full(4, 5, dtype)
        launch("ReduceMax mask", x, z, lo=lo, hi=hi, rep=rep, sr=sr, order=1)
        flat_on = np.tile(on, rep)[None]
        v, i = extreme(rows.reshape(1, -1), flat_on, True)
        assert_same(z[:1], v, f"rep {rep}")
        assert z.view(f"u{z.itemsize}")[1] == index.reshape(-1)[i[0]]
        if active:
            launch("ReduceMin lanes", x, z, n=active, rep=rep, sr=sr, order=1)
            v, i = extreme(rows.reshape(1, -1), flat_on, False)
            assert z[0] == v[0] and z.view(f"u{z.itemsize}")[1] == index.reshape(-1)[i[0]]


@BOTH
def test_registers_hold_extreme_and_total(dtype):
    rng = np.random.default_rng(6)
    n = lanes(dtype)
    x = values(rng, dtype, 3 * n, 0)
    z = np.zeros(8, dtype)
    full = (2**64 - 1) if n == 64 else 2**64 - 1
    launch("registers", x, z, lo=full, hi=full if n == 128 else 0, rep=3)
    assert z[0] == x.max() and z.view(f"u{z.itemsize}")[1] == x.argmax()
    launch("vcadd total", x, z, lo=full, hi=full if n == 128 else 0, rep=3)
    assert_same(z[:1], np.array([sum_of_count(x)]), "vcadd")


@BOTH
def test_counter_mode_counts_elements_of_the_whole_call(dtype):
    rng = np.random.default_rng(7)
    n, e = lanes(dtype), 32 // np.dtype(dtype).itemsize
    for count in (1, 5, n - 1, n, n + 1, 2 * n + e, 3 * n + 17):
        x = rng.standard_normal(4 * n).astype(dtype)
        z = np.full(64, 5, dtype)
        launch("counter", x, z, n=count)
        want = np.full(64, 5, dtype)
        for r in range(-(-count // n)):
            row = x[r * n : min(count, (r + 1) * n)]
            want[r] = tree(row[None], np.ones(row.size, bool))[0][0]
            for b in range(-(-row.size // e)):
                want[32 + 8 * r + b] = row[b * e : (b + 1) * e].max()
        assert_same(z, want, f"{count}")
        launch("counter sum", x, z, n=count)
        assert z[0] == sum_of_count(x[:count])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from((F16, F32)), st.sampled_from(("WholeReduceSum", "BlockReduceMax", "PairReduceSum")), st.integers(0, 2**32 - 1))
def test_any_bits(dtype, op, seed):
    rng = np.random.default_rng(seed)
    rep, blk, sr, dr = int(rng.integers(1, 6)), int(rng.integers(0, 4)), int(rng.integers(8, 30)), int(rng.integers(1, 3))
    lo, hi = (int(v) for v in rng.integers(0, 2**64, 2, dtype=np.uint64))
    hi = hi if dtype is F16 else 0
    on = bits_of(lo, hi, lanes(dtype))
    if not on.any():
        return
    x = random_bits(rng, dtype, (rep * sr + 32) * 32 // np.dtype(dtype).itemsize)
    width = {"WholeReduceSum": lanes(dtype), "BlockReduceMax": 32 // np.dtype(dtype).itemsize, "PairReduceSum": 2}[op]
    count = lanes(dtype) // width
    z = random_bits(rng, dtype, rep * dr * count)
    fold = (lambda p, m: tree(p, m)[0]) if "Sum" in op else (lambda p, m: extreme(p, m, True)[0])
    with np.errstate(all="ignore"):
        parts, written = block_parts(x, on, rep, blk, sr, width, fold)
    want = z.copy()
    for r in range(rep):
        here = want[r * dr * count :][:count]
        here[written[r]] = parts[r][written[r]]
    launch(op, x, z, lo=lo, hi=hi, rep=rep, dr=dr, blk=blk, sr=sr)
    assert_same(z, want, op)


# ===== what the checks say
def reduce_text(line, t="float", bytes_=4096, tmp=8192, fill=1024):
    return kernel(
        f"""
    TBuf<TPosition::VECCALC> bx, by, bt;
    pipe.InitBuffer(bx, {bytes_}); pipe.InitBuffer(by, 512); pipe.InitBuffer(bt, {tmp});
    LocalTensor<T> x = bx.Get<T>(), y = by.Get<T>(), tmp = bt.Get<T>();
    Duplicate(x, (T)1, {fill});
    {line}
""",
        t=t,
    ).replace("using namespace AscendC;", f"using namespace AscendC; using T = {t};")


X, HALVES = np.zeros(16, F32), np.zeros(16, np.float16)


CHECKS = [
    ("MISALIGNED", "ReduceMax(y[1], x, tmp, 64);", "ReduceMax(y[2], x, tmp, 64);", "8 B"),
    ("MISALIGNED", "WholeReduceMax(y[1], x, 64, 1, 1, 1, 8);", "WholeReduceMax(y[1], x, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);", "8 B"),
    ("MISALIGNED", "BlockReduceSum(y[4], x, 1, 64, 1, 1, 8);", "BlockReduceSum(y[8], x, 1, 64, 1, 1, 8);", "32 B"),
    ("MISALIGNED", "WholeReduceSum(y, x[4], 64, 1, 1, 1, 8);", "WholeReduceSum(y, x[8], 64, 1, 1, 1, 8);", "next legal index is 8"),
    ("BAD_PARAMETER", "WholeReduceSum(y, x, 128, 1, 1, 1, 8);", "WholeReduceSum(y, x, 64, 1, 1, 1, 8);", "64"),
    ("BAD_PARAMETER", "WholeReduceSum(y, x, 1, 256, 1, 1, 0);", "WholeReduceSum(y, x, 1, 128, 1, 1, 1);", "256"),
    ("OUT_OF_BOUNDS", "WholeReduceSum(y, x, 64, 33, 1, 1, 8);", "WholeReduceSum(y, x, 64, 16, 1, 1, 8);", "src"),
    ("OUT_OF_BOUNDS", "WholeReduceSum(y, x, 64, 16, 9, 1, 8);", "WholeReduceSum(y, x, 64, 16, 8, 1, 8);", "dst"),
    ("OVERLAP", "WholeReduceSum(x[64], x, 64, 8, 8, 1, 8);", "WholeReduceSum(x, x, 64, 8, 8, 1, 8);", "repeat 0"),
    ("UNINITIALISED_READ", "ReduceSum(y, x[512], tmp, 513);", "ReduceSum(y, x[512], tmp, 512);", "1 element "),
]


@pytest.mark.parametrize("code,broken,says", [(c, b, s) for c, b, _, s in CHECKS], ids=[b for _, b, _, _ in CHECKS])
def test_checks_of_reductions(code, broken, says):
    assert_finds(code, reduce_text(broken + "  // HERE", bytes_=8192), X, X, says=says)


def test_repaired_reductions_are_clean():
    assert_clean(reduce_text("\n    ".join(f for _, _, f, _ in CHECKS), bytes_=8192), X, X)


def test_scratch_of_extremes_is_counted():
    # half, 100 repeats: 208 + 16 + 16 elements = 480 bytes
    line = "ReduceMax(y, x, tmp, 128, 100, 8, true);"
    f = assert_finds("OUT_OF_BOUNDS", reduce_text(line + "  // HERE", "half", 32768, 64, 16384), HALVES, HALVES)
    assert "480 B" in f.message and "64 B" in f.message and "with index" in f.message
    assert_finds("OUT_OF_BOUNDS", reduce_text(line + "  // HERE", "half", 32768, 448, 16384), HALVES, HALVES)
    assert_clean(reduce_text(line, "half", 32768, 480, 16384), HALVES, HALVES)


def test_scratch_of_sums():
    counted = "ReduceSum(y, x, tmp, 8320);"
    f = assert_finds("BAD_PARAMETER", reduce_text(counted + "  // HERE", "half", 32768, 32, 16384), HALVES, HALVES, severity="warning")
    assert "160 B" in f.message and "32 B" in f.message
    assert_clean(reduce_text(counted, "half", 32768, 160, 16384), HALVES, HALVES)
    strided = "ReduceSum(y, x, tmp, 8, 65, 1);"
    assert_finds("OUT_OF_BOUNDS", reduce_text(strided + "  // HERE", "float", 4096, 256), X, X, says="288 B")
    assert_clean(reduce_text(strided, "float", 4096, 288), X, X)


def test_scratch_holds_nothing_afterwards():
    line = "ReduceMax(y, x, tmp, 1024); Adds(y, x, 1.0f, 64); ReduceSum(y, tmp, x, 8);"
    assert_finds("UNINITIALISED_READ", reduce_text(line + "  // HERE"), X, X)
    assert_finds("UNINITIALISED_READ", reduce_text("ReduceMax(y, x, x, 1024); ReduceSum(y, x, tmp, 8);  // HERE"), X, X)
    assert_clean(reduce_text("ReduceMax(y, x, tmp, 1024); ReduceSum(y, x, tmp, 8);"), X, X)
    assert_clean(reduce_text("ReduceMax(tmp, x, tmp, 1024, true); float v = tmp.GetValue(0); (void)v;"), X, X)


def test_an_odd_place_for_a_float_sum_is_noted():
    assert_finds("MISALIGNED", reduce_text("ReduceSum(y[1], x, tmp, 64);  // HERE"), X, X, severity="warning", says="8 B")
    assert_clean(reduce_text("ReduceSum(y[2], x, tmp, 64);"), X, X)


def test_result_is_there_for_the_scalar_unit_without_a_flag():
    body = "PipeBarrier<PIPE_V>(); ReduceSum(y, x, tmp, 64); float v = y.GetValue(0); (void)v;"
    assert not findings_of(reduce_text(body), X, X, auto_sync=False)
    pair = "PipeBarrier<PIPE_V>(); ReduceMax(y, x, tmp, 64, true); float v = y.GetValue(0); (void)v;  // HERE"  # one instruction: the caller has to wait
    assert_finds("MISSING_SYNC", reduce_text(pair), X, X, auto_sync=False)


def test_overflow_is_born_at_a_repeat():
    line = "Duplicate(x[256], (half)1000, 128); ReduceSum(y, x, tmp, 1024);"
    f = assert_finds("NUMERIC", reduce_text(line + "  // HERE", "half"), HALVES, HALVES, severity="warning")
    assert "repeat 2" in f.message and "float" in f.hint
    assert_clean(reduce_text("ReduceSum(y, x, tmp, 1024);", "half"), HALVES, HALVES)


@pytest.mark.parametrize("call", ["ReduceSum(y, y, y, 8)", "WholeReduceMax(y, y, 8, 1, 1, 1, 8)", "BlockReduceSum(y, y, 1, 8, 1, 1, 8)"])
def test_integers_have_no_reduction(call):
    text = kernel("    LocalTensor<int32_t> y;\n    %s;  // HERE" % call)
    with pytest.raises(hp.CompileError) as e:
        hp.compile(text)
    assert e.value.findings[0].code == "UNSUPPORTED_TYPE" and "Cast to float" in str(e.value)


CHIP = """
    TBuf<TPosition::VECCALC> bx, by, bt;
    pipe.InitBuffer(bx, 2048); pipe.InitBuffer(by, 512); pipe.InitBuffer(bt, 512);
    LocalTensor<float> x = bx.Get<float>(), y = by.Get<float>(), tmp = bt.Get<float>();
    DataCopy(x, xGm, 512);
    PipeBarrier<PIPE_ALL>();
    Duplicate(y, 0.0f, 64);
    %s
    PipeBarrier<PIPE_ALL>();
    DataCopy(yGm, y, 64);
"""


def test_the_inference_chip_reduces_too():
    x, y = np.arange(512, dtype=F32), np.zeros(64, F32)
    line = "ReduceSum(y, x, tmp, 512); WholeReduceMax(y[8], x, 64, 8, 1, 1, 8); ReduceMax(y[24], x, tmp, 512); BlockReduceSum(y[32], x, 1, 64, 1, 1, 8);"
    assert_clean(kernel(CHIP % line), x, y, chip="Ascend310P3")
    assert y[0] == x.sum() and y[8] == 63 and y.view(np.uint32)[9] == 63 and y[24] == 511
    np.testing.assert_array_equal(y[32:40], x[:64].reshape(8, 8).sum(1))
    only = "WholeReduceMax(y, x, 64, 8, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);"
    assert_finds("UNSUPPORTED_API", kernel(CHIP % (only + "  // HERE")), x, y, chip="Ascend310P3")
    assert_clean(kernel(CHIP % only), x, y)


def test_results_do_not_depend_on_the_checks():
    x = np.random.default_rng(9).standard_normal(512).astype(F32)
    line = ("ReduceSum(y, x, tmp, 500); WholeReduceMin(y[8], x, 64, 8, 1, 1, 8); ReduceMin(y[24], x, tmp, 512, true); Sort32(tmp, x, x.ReinterpretCast<uint32_t>(), 1); "
            "Brcb(x[128], x, 2, {1, 8}); uint64_t n; GatherMask(y[32], x[128], 1, true, 60, {1, 1, 8, 0}, n);")
    out = []
    for checks in ("full", "off"):
        y = np.zeros(64, F32)
        hp.compile(kernel(CHIP % line)).launch(1, (x.copy(), y), checks=checks)
        out.append(y)
    assert_same(out[0], out[1], "checks off")
    assert out[0][0] == sum_of_count(x[:500])
