"""Sort32, MrgSort, Sort and Extract against stable sorting in NumPy; and what their checks say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from kernel_text import assert_clean, assert_finds, findings_of, kernel
from vec_move_kernels import every_bit, move, same

F16, F32, U32 = np.float16, np.float32, np.uint32
BOTH = pytest.mark.parametrize("dtype", (F16, F32), ids=("half", "float"))
SORT = (
    "Sort32(d, a, b, p0)",
    "LocalTensor<T> c, w = tmp.ReinterpretCast<T>(); Concat(c, a, w, p0); Sort<T, true>(d, c, b, w, p0)",
    "LocalTensor<T> w = tmp.ReinterpretCast<T>(); Sort<T, false>(d, a, b, w, p0)",
    "LocalTensor<T> w = tmp.ReinterpretCast<T>(); Sort<T, true>(w[GetSortLen<T>(2048)], a, b, w, p0); Extract(d, b, w[GetSortLen<T>(2048)], p0)",
)
MERGE = (
    "uint16_t len[4] = {(uint16_t)p0, (uint16_t)p1, (uint16_t)p2, (uint16_t)p3}; MrgSort4Info info(len, p5 != 0, (uint16_t)p4, 1); "
    "MrgSort<T>(d, {a, a[GetSortOffset<T>(p0)], a[GetSortOffset<T>(p0 + p1)], a[GetSortOffset<T>(p0 + p1 + p2)]}, info); "
    "uint16_t n[4]; GetMrgSortResult(n[0], n[1], n[2], n[3]); for (int i = 0; i < 4; ++i) b.SetValue(i, n[i])",
    "uint16_t len[4] = {(uint16_t)p0, (uint16_t)p1, (uint16_t)p2, (uint16_t)p3}; uint32_t n[4] = {9, 9, 9, 9}; "
    "MrgSortSrcList<T> list(a, a[GetSortOffset<T>(p0)], a[GetSortOffset<T>(p0 + p1)], a[GetSortOffset<T>(p0 + p1 + p2)]); "
    "MrgSort<T, true>(d, list, len, n, (uint16_t)p4, 1); for (int i = 0; i < 4; ++i) b.SetValue(i, n[i])",
    "uint16_t len[4] = {(uint16_t)p0, (uint16_t)p0, (uint16_t)p0, (uint16_t)p0}; MrgSort4Info info(len, false, 15, (uint16_t)p1); "
    "MrgSortSrcList<T> list(a, a[GetSortOffset<T>(p0)], a[GetSortOffset<T>(2 * p0)], a[GetSortOffset<T>(3 * p0)]); MrgSort(d, list, info)",
)


def pairs(score, index):
    """The 8 bytes of every pair, as elements of the score type."""
    raw = np.zeros((score.size, 8), np.uint8)
    raw[:, : score.itemsize] = score.view(np.uint8).reshape(-1, score.itemsize)
    raw[:, 4:] = index.astype(U32).view(np.uint8).reshape(-1, 4)
    return raw.reshape(-1).view(score.dtype)


def descending(score):
    return np.argsort(-score.astype(np.float64), kind="stable")


def scores(rng, dtype, n):
    x = rng.choice(rng.standard_normal(max(n // 2, 1)), n).astype(dtype)  # ties
    x[rng.random(n) < 0.05] = -np.inf
    x[rng.random(n) < 0.05] = np.inf
    x[rng.random(n) < 0.05] = -0.0
    x[rng.random(n) < 0.05] = 0.0
    return x


@BOTH
@pytest.mark.parametrize("op", (0, 2))
def test_groups_of_32(op, dtype):
    rng = np.random.default_rng(1)
    for rep in (1, 2, 5, 255) if dtype is F16 else (1, 2, 5, 200):
        n = 32 * rep
        x, y = scores(rng, dtype, n), rng.integers(0, 2**32, n, dtype=U32)
        z = np.zeros(8 * n // x.itemsize, dtype)
        order = np.concatenate([r * 32 + descending(x[r * 32 : r * 32 + 32]) for r in range(rep)])
        move(SORT, op, x, y, z, rep)
        same(z, pairs(x[order], y[order]), f"{rep}")


@BOTH
def test_full_sort(dtype):
    rng = np.random.default_rng(2)
    for rep in (1, 2, 3, 4, 5, 16, 17, 60):
        n = 32 * rep
        x, y = scores(rng, dtype, n), np.arange(n, dtype=U32)
        z = np.zeros(8 * n // x.itemsize, dtype)
        move(SORT, 1, x, y, z, rep)
        same(z, pairs(x[descending(x)], descending(x)), f"{rep}")


@BOTH
def test_extract_splits_pairs(dtype):
    rng = np.random.default_rng(3)
    x, y = scores(rng, dtype, 160), rng.integers(0, 2**32, 160, dtype=U32)
    order, z = descending(x), np.zeros(160, dtype)
    want = y[order]
    move(SORT, 3, x, y, z, 5)
    same(z, x[order])
    same(y, want)


def merged(lists, suspend):
    """Pairs in order, and how many came from each list: smallest list number first on ties."""
    taken, out = [0] * len(lists), []
    while True:
        left = [i for i in range(len(lists)) if taken[i] < len(lists[i])]
        if not left:
            return out, taken
        best = max(left, key=lambda i: (lists[i][taken[i]][0], -i))
        out.append(lists[best][taken[best]])
        taken[best] += 1
        if suspend and taken[best] == len(lists[best]):
            return out, taken


@BOTH
@pytest.mark.parametrize("lengths,valid", [((5, 7, 0, 0), 3), ((32, 1, 64, 0), 7), ((32, 32, 32, 32), 15), ((1, 2, 3, 4), 15), ((100, 3, 50, 7), 15)])
@pytest.mark.parametrize("form,suspend", [(0, False), (0, True), (1, True)])
def test_merge(dtype, lengths, valid, form, suspend):
    rng = np.random.default_rng(4)
    used = {3: 2, 7: 3, 15: 4}[valid]
    lists, parts, at = [], [], 0
    for n in lengths:
        s = np.sort(scores(rng, dtype, n))[::-1] if n else np.zeros(0, dtype)
        index = np.arange(at, at + n)
        at += n
        lists.append(list(zip(s.astype(np.float64).tolist(), index.tolist(), strict=True)))
        parts.append((s, index))
    x = pairs(np.concatenate([s for s, _ in parts]), np.concatenate([i for _, i in parts]))
    out, taken = merged(lists[:used], suspend)
    want = np.zeros(x.size, dtype)
    got = pairs(np.array([s for s, _ in out], dtype), np.array([i for _, i in out]))
    want[: got.size] = got
    z, y = np.zeros(x.size, dtype), np.zeros(8, U32)
    move(MERGE, form, x, y, z, *lengths, valid, suspend)
    # equal scores of either zero are one score: compare their bits through the index
    same(z, want, f"{lengths}")
    assert y[:used].tolist() == taken


@BOTH
def test_merge_in_repeats(dtype):
    rng = np.random.default_rng(5)
    for n, rep in ((8, 3), (32, 2)):
        s = np.sort(rng.standard_normal((4 * rep, n)).astype(dtype), axis=1)[:, ::-1]
        x = pairs(s.reshape(-1), np.arange(s.size))
        want = []
        for r in range(rep):
            group = s[4 * r : 4 * r + 4].reshape(-1)
            order = descending(group)
            want.append(pairs(group[order], order + r * 4 * n))
        z = np.zeros(x.size, dtype)
        move(MERGE, 2, x, np.zeros(8, U32), z, n, rep)
        same(z, np.concatenate(want))


@settings(max_examples=20, deadline=None)
@given(st.sampled_from((F16, F32)), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_any_full_sort(dtype, rep, seed):
    rng = np.random.default_rng(seed)
    x = every_bit(rng, dtype, 32 * rep)
    x = np.where(np.isnan(x), dtype(3), x)
    z = np.zeros(8 * x.size // x.itemsize, dtype)
    move(SORT, 1, x, np.arange(x.size, dtype=U32), z, rep)
    same(z, pairs(x[descending(x)], descending(x)))


def test_lengths_of_sorted_tensors():
    text = kernel(
        """
    static_assert(GetSortLen<float>(32) == 64 && GetSortLen<half>(32) == 128 && GetSortOffset<float>(3) == 6 && GetSortOffset<half>(3) == 12, "pairs have 8 bytes");
"""
    )
    assert_clean(text, np.zeros(8, F32), np.zeros(8, F32))


# ===== what the checks say
def sort_text(line):
    return kernel(
        f"""
    TBuf<TPosition::VECCALC> bx, bi, bd, bt;
    pipe.InitBuffer(bd, 2048); pipe.InitBuffer(bt, 2048); pipe.InitBuffer(bx, 512); pipe.InitBuffer(bi, 512);
    LocalTensor<float> x = bx.Get<float>(), d = bd.Get<float>(), t = bt.Get<float>();
    LocalTensor<uint32_t> i = bi.Get<uint32_t>();
    uint16_t len[4] = {{32, 32, 32, 32}};
    uint32_t count[4];
    (void)len; (void)count;
    CreateVecIndex(x, 0.0f, 128); CreateVecIndex(i.ReinterpretCast<int32_t>(), 0, 128);
    {line}
"""
    )


X = np.zeros(16, F32)
CHECKS = [
    ("MISALIGNED", "Sort32(d, x[4], i, 1);", "Sort32(d, x[8], i, 1);", "next legal index is 8"),
    ("OUT_OF_BOUNDS", "Sort32(d, x, i, 5);", "Sort32(d, x, i, 4);", "scores"),
    ("BAD_PARAMETER", "Sort32(d, x, i, 256);", "Sort32(d, x, i, 4);", "MrgSort"),
    ("OVERLAP", "Sort32(x, x, i, 1);", "Sort32(d, x, i, 1);", "8 bytes per element"),
    ("OUT_OF_BOUNDS", "LocalTensor<float> s = t[448]; Sort<float, true>(d, x, i, s, 4);", "LocalTensor<float> s = t[256]; Sort<float, true>(d, x, i, s, 4);", "1024 B of tmp"),
    ("BAD_PARAMETER", "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d, d}, MrgSort4Info(len, false, 2, 1));",
     "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d, d}, MrgSort4Info(len, false, 3, 1));", "validBit is 2"),
    ("BAD_PARAMETER", "uint16_t n[4] = {64, 64, 0, 0}; Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[128], d, d}, MrgSort4Info(n, false, 3, 1));",
     "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d[128], d[192]}, MrgSort4Info(len, false, 15, 1));", "list 1 is not descending at pair 32"),
    ("BAD_PARAMETER", "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d, d}, MrgSort4Info(len, false, 3, 2));",
     "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d[128], d[192]}, MrgSort4Info(len, false, 15, 1));", "needs all four lists"),
    ("OVERLAP", "Sort32(d, x, i, 4); MrgSort<float>(d, {d, d[64], d, d}, MrgSort4Info(len, false, 3, 1));",
     "Sort32(d, x, i, 4); MrgSort<float>(t, {d, d[64], d, d}, MrgSort4Info(len, false, 3, 1));", "list 1"),
    ("UNINITIALISED_READ", "MrgSort<float>(d, {t, t[64], t, t}, MrgSort4Info(len, false, 3, 1));",
     "Duplicate(t, 0.0f, 256); MrgSort<float>(d, {t, t[64], t, t}, MrgSort4Info(len, false, 3, 1));", "list 1"),
]


@pytest.mark.parametrize("code,broken,says", [(c, b, s) for c, b, _, s in CHECKS], ids=[b[:60] for _, b, _, _ in CHECKS])
def test_checks(code, broken, says):
    assert_finds(code, sort_text(broken + "  // HERE"), X, X, says=says)


def test_repaired_calls_are_clean():
    lines = "\n    ".join("{ Duplicate(t, 0.0f, 512); %s }" % f for _, _, f, _ in CHECKS)
    assert_clean(sort_text(lines), X, X)


def test_groups_that_were_not_merged():
    line = "Sort32(d, x, i, 4); Extract(x, i, d, 4);"
    f = assert_finds("BAD_PARAMETER", sort_text(line + "  // HERE"), X, X, severity="note", says="not merged")
    assert "MrgSort" in f.hint
    found = findings_of(sort_text("Sort<float, true>(d, x, i, t, 4); Extract(x, i, d, 4);"), X, X)
    assert not [g for g in found if g.code == "BAD_PARAMETER"]


def test_nan_has_no_place():
    assert_finds("NUMERIC", sort_text("x.SetValue(3, std::numeric_limits<float>::quiet_NaN()); Sort32(d, x, i, 1);  // HERE"), X, X, severity="warning")


def test_sort32_is_not_on_the_inference_chip():
    with pytest.raises(hp.CompileError) as e:
        hp.compile(sort_text("Sort32(d, x, i, 1);"), chip="Ascend310P3")
    assert e.value.findings[0].code == "UNSUPPORTED_API"
