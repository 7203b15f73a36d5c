"""Every family of vector instructions under random shapes, masks, strides and types, against plain loops."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import test_vec_cast as casts
import test_vec_compare_select as choices
import test_vec_gather as places
import test_vec_reduce as folds
import test_vec_sort as sorting
import test_vec_transpose as turning
from test_vec_elementwise import FORMULA, types_of
from vec_kernels import random_bits, strided
from vec_move_kernels import bits, every_bit, move, same
from vec_oracle import BINARY, SCALAR, TERNARY, UNARY, assert_same, lane_index
from vec_reduce_oracle import bits_of, block_parts, extreme, gather_repeats, lanes, sum_of_count, sum_of_repeats, tree

F16, F32, I16, I32, U16, U32 = np.float16, np.float32, np.int16, np.int32, np.uint16, np.uint32
FLOATS = st.sampled_from((F16, F32))
SEED = st.integers(0, 2**32 - 1)
WORD = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from((1, 2**63, 2**64 - 1)), st.integers(1, 64).map(lambda n: 2**n - 1))
some = settings(max_examples=30, deadline=None)


# ===== element-wise: bit masks, lane masks and counter mode with strides
ELEMENTWISE = {t: [op for op in (*UNARY, *BINARY, *TERNARY, *SCALAR) if t in types_of(op)] for t in (F16, F32, I16, I32, U16)}
MASK = {"bits": "mask", "lanes": "lo", "counter": "mask"}


def call_of(op, mask):
    if op in UNARY:
        return f"{op}(d, a, {mask}, rep, {{db, ab, dr, ar}})"
    if op in SCALAR:
        return f"{op}(d, a, b.GetValue(0), {mask}, rep, {{db, ab, dr, ar}})"
    return f"{op}(d, a, b, {mask}, rep, {{db, ab, bb_, dr, ar, br}})"


def switch(dtype, form):
    cases = "".join(f"    case {i}: {call_of(op, MASK[form])}; break;\n" for i, op in enumerate(ELEMENTWISE[dtype]))
    before, after = ("SetMaskCount();", "SetMaskNorm(); ResetMask();") if form == "counter" else ("", "")
    return f"    {before}\n    switch (op) {{\n{cases}    }}\n    {after}"


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(ELEMENTWISE, key=str)), st.sampled_from(sorted(MASK)), st.data())
def test_element_wise(dtype, form, data):
    op = data.draw(st.sampled_from(ELEMENTWISE[dtype]))
    n, per_block = lanes(dtype), 32 // np.dtype(dtype).itemsize
    rep = data.draw(st.integers(1, 5))
    blk = (data.draw(st.integers(1, 3)), *(data.draw(st.integers(0, 3)) for _ in range(2)))
    rs = (data.draw(st.integers(8, 20)), *(data.draw(st.integers(0, 20)) for _ in range(2)))
    lo, hi = data.draw(WORD), data.draw(WORD) if n == 128 else 0
    if form == "lanes":
        lo = data.draw(st.integers(0, n))
        on = [np.arange(lo)] * rep
    elif form == "bits":
        on = [np.flatnonzero(bits_of(lo, hi, n))] * rep
    else:
        lo, hi = data.draw(st.integers(0, rep * n)), 0
        on = [np.arange(min(n, lo - r * n)) for r in range(-(-lo // n))]
    rng = np.random.default_rng(data.draw(SEED))
    x, y, z = (random_bits(rng, dtype, (5 * 20 + 8 * 3) * per_block) for _ in range(3))
    want = z.copy()
    at = [lane_index(rep, n, per_block, k, s) for k, s in zip(blk, rs)]
    with np.errstate(all="ignore"):
        for r, k in enumerate(on):
            second = y[:1].repeat(k.size) if op in SCALAR else y[at[2][r, k]]
            want[at[0][r, k]] = FORMULA[op](x[at[1][r, k]], second, want[at[0][r, k]]) if k.size else want[at[0][r, k]]
    strided(switch(dtype, form), x, y, z, lo=lo, hi=hi, rep=rep, blk=blk, rs=rs, op=ELEMENTWISE[dtype].index(op))
    assert_same(z, want, f"{op} {form} {lo:x} {hi:x} x {rep} {blk} {rs}")


@some
@given(st.sampled_from((F16, F32, I16, I32, U16, U32)), st.integers(1, 6), st.integers(1, 4), st.integers(0, 40), WORD, WORD, st.booleans(), SEED)
def test_copy_and_duplicate(dtype, rep, blk, stride, lo, hi, fill, seed):
    n, per_block = lanes(dtype), 32 // np.dtype(dtype).itemsize
    x, y, z = (every_bit(np.random.default_rng(seed), dtype, (5 * 40 + 8 * 4) * per_block) for _ in range(3))
    want, on = z.copy(), np.flatnonzero(bits_of(lo, hi if n == 128 else 0, n))
    to, source = lane_index(rep, n, per_block, blk, stride), lane_index(rep, n, per_block, 1, 9)
    for r in range(rep):
        want[to[r, on]] = x[0] if fill else x[source[r, on]]
    body = "    if (op) Duplicate(d, a.GetValue(0), mask, rep, db, dr);\n    else Copy(d, a, mask, rep, {(uint16_t)db, 1, (uint16_t)dr, 9});"
    strided(body, x, y, z, lo=lo, hi=hi if n == 128 else 0, rep=rep, blk=(blk, 1, 1), rs=(stride, 9, 8), op=int(fill))
    same(z, want)


@some
@given(st.sampled_from([c for c in casts.LEGAL if c[0] in (F16, F32) and c[1] in (F16, F32, I16, I32)]), st.integers(1, 6), st.integers(1, 2), WORD, SEED)
def test_cast_in_repeats(case, rep, blk, lo, seed):
    """Lanes of the wider type count; the narrower side has half the blocks in a repeat."""
    source, target, mode = case
    n = 256 // max(np.dtype(source).itemsize, np.dtype(target).itemsize)
    x = random_bits(np.random.default_rng(seed), source, 4096)
    z, on = np.zeros(4096, target), np.flatnonzero(bits_of(lo, lo, n))
    want = z.copy()
    at = [lane_index(rep, n, 32 // np.dtype(t).itemsize, blk, 8 * blk) for t in (target, source)]
    for r in range(rep):
        want[at[0][r, on]] = casts.expected(x[at[1][r, on]], target, mode) if on.size else want[at[0][r, on]]
    text = "Cast(b, a, static_cast<RoundMode>(p0), mask, (uint8_t)p1, {(uint16_t)p2, (uint16_t)p2, (uint8_t)(8 * p2), (uint8_t)(8 * p2)})"
    move((text,), 0, x, z, np.zeros(8, source), mode, rep, blk, lo=lo, hi=lo)
    assert_same(z, want, f"{source.__name__} -> {target.__name__} {casts.MODES[mode]}")


# ===== comparison and selection
@some
@given(FLOATS, st.sampled_from(sorted(choices.MODES)), st.integers(1, 8), st.booleans(), SEED)
def test_compare_whole_repeats(dtype, mode, rep, scalar, seed):
    x, y = (random_bits(np.random.default_rng([seed, i]), dtype, rep * lanes(dtype)) for i in range(2))
    x[::3] = y[::3]
    got = np.zeros(x.size // 8, np.uint8)
    choices.run(choices.COUNT, list(choices.MODES).index(mode) + 6 * scalar, x, y, got, x.copy(), x.size)
    assert_same(got, choices.pack(choices.truth(mode, x, np.full_like(x, y[0]) if scalar else y)), mode)


PICK = ("Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, (uint64_t)count, (uint8_t)rep, {1, 1, 0, 16, 9, 1});",
        "Select(d, m, a, b.GetValue(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, (uint64_t)count, (uint8_t)rep, {1, 1, 0, 16, 9, 1});")


@some
@given(FLOATS, st.integers(1, 128), st.integers(1, 6), st.integers(0, 1), SEED)
def test_select_in_repeats(dtype, on, rep, scalar, seed):
    n, per_block = lanes(dtype), 32 // np.dtype(dtype).itemsize
    on, rng = min(on, n), np.random.default_rng(seed)
    x, y, z = (random_bits(rng, dtype, 112 * per_block) for _ in range(3))
    mask = rng.integers(0, 256, 96).astype(np.uint8)
    chosen = np.unpackbits(mask, bitorder="little").astype(bool)[: rep * n].reshape(rep, n)[:, :on]
    to, a, b = (lane_index(rep, n, per_block, *k)[:, :on] for k in ((1, 16), (1, 9), (0, 1)))
    want = z.copy()
    want[to] = np.where(chosen, x[a], y[0] if scalar else y[b])
    choices.run(PICK, scalar, x, y, mask, z, on, rep)
    same(z, want)


# ===== reductions
@settings(max_examples=60, deadline=None)
@given(FLOATS, st.sampled_from(("WholeReduceSum", "WholeReduceMax", "WholeReduceMin", "BlockReduceSum", "BlockReduceMax", "BlockReduceMin", "PairReduceSum")),
       st.integers(1, 8), st.integers(0, 3), st.integers(0, 20), st.integers(1, 3), WORD, WORD, SEED)
def test_reductions_of_repeats(dtype, op, rep, blk, stride, to, lo, hi, seed):
    rng, n = np.random.default_rng(seed), lanes(dtype)
    hi = hi if n == 128 else 0
    on = bits_of(lo, hi, n)
    if not on.any():
        return
    x = folds.values(rng, dtype, (rep * stride + 8 * max(blk, 1)) * 32 // np.dtype(dtype).itemsize, 0.05)
    largest = op.endswith("Max")
    with np.errstate(all="ignore"):
        fold = (lambda p, m: tree(p, m)[0]) if op.endswith("Sum") else (lambda p, m: extreme(p, m, largest)[0])
        if op.startswith("Whole"):
            parts, written = fold(gather_repeats(x, rep, blk, stride)[0], on)[:, None], np.ones((rep, 1), bool)
        else:
            parts, written = block_parts(x, on, rep, blk, stride, 2 if op.startswith("Pair") else 32 // np.dtype(dtype).itemsize, fold)
    z = folds.values(rng, dtype, rep * to * parts.shape[1], 0)
    want = z.copy()
    for r in range(rep):
        here = want[r * to * parts.shape[1] :][: parts.shape[1]]
        here[written[r]] = parts[r][written[r]]
    folds.launch(op, x, z, lo=lo, hi=hi, rep=rep, dr=to, blk=blk, sr=stride, order=2)
    assert_same(z, want, f"{op} {lo:x} {hi:x} x {rep} {blk} {stride} {to}")


@some
@given(FLOATS, st.integers(1, 5000), st.integers(1, 40), st.integers(8, 12), WORD, SEED)
def test_sums_of_everything(dtype, n, rep, stride, lo, seed):
    x, z = folds.values(np.random.default_rng(seed), dtype, n, 0), np.zeros(2, dtype)
    folds.launch("ReduceSum", x, z, n=n)
    assert_same(z, np.repeat(sum_of_count(x), 2), f"ReduceSum {n}")
    on, z = bits_of(lo, 0, lanes(dtype)), np.zeros(1, dtype)
    if on.any():
        x = folds.values(np.random.default_rng(seed), dtype, (rep * stride + 8) * 32 // np.dtype(dtype).itemsize, 0)
        folds.launch("ReduceSum mask", x, z, lo=lo, rep=rep, sr=stride)
        assert_same(z, np.array([sum_of_repeats(x, on, rep, stride)]), f"ReduceSum {lo:x} x {rep}")


@some
@given(FLOATS, st.integers(1, 3000), st.booleans(), SEED)
def test_the_first_extreme(dtype, n, largest, seed):
    x = folds.values(np.random.default_rng(seed), dtype, n, 0).round()
    z = np.zeros(2, dtype)
    folds.launch("ReduceMax" if largest else "ReduceMin", x, z, n=n, order=1)
    at = int(x.argmax() if largest else x.argmin())
    assert z[0] == x[at] and z.view(bits(dtype))[1] == at


# ===== moving elements
@some
@given(st.sampled_from(places.TYPES), st.integers(1, 4), st.integers(8, 12), WORD, WORD, SEED)
def test_gather_under_masks(dtype, rep, stride, lo, hi, seed):
    rng, n, size = np.random.default_rng(seed), lanes(dtype), np.dtype(dtype).itemsize
    on = bits_of(lo, hi if n == 128 else 0, n)
    x, z = every_bit(rng, dtype, 400), every_bit(rng, dtype, rep * stride * 32 // size)
    index, want = rng.integers(0, 390, rep * n), z.copy()
    for r in range(rep):
        want[(r * stride * 32 // size + np.arange(n))[on]] = x[index[r * n : (r + 1) * n][on] + 10]
    move(places.GATHER, 1, x, (index * size).astype(U32), z, 10 * size, rep, stride, lo=lo, hi=hi if n == 128 else 0)
    same(z, want)


@some
@given(st.sampled_from(places.TYPES), st.integers(1, 4), st.integers(1, 2), st.integers(0, 20), st.integers(0, 2), st.integers(1, 300), st.booleans(), SEED)
def test_gather_mask_of_your_own(dtype, rep, blk, stride, pattern_stride, n, counter, seed):
    rng = np.random.default_rng(seed)
    x, y = every_bit(rng, dtype, 2000), every_bit(rng, bits(dtype), 128)
    if counter:
        rep, blk, n = (1 if n > 100 else rep), 1, n
    per, stream = n if counter else lanes(dtype), np.unpackbits(y.view(np.uint8), bitorder="little")
    if (rep - 1) * pattern_stride * 256 + per > stream.size or ((rep - 1) * stride + per * x.itemsize // 32 * blk + 8) * 32 // x.itemsize > x.size:
        return
    want = places.kept(x, rep, per, blk, stride, lambda r, k: stream[r * pattern_stride * 256 + k])
    z = np.zeros(max(want.size, 1), dtype)
    move(places.MASKS[:1], 0, x, y, z, counter, n, blk, rep, stride, pattern_stride)
    same(z[: want.size], want)


@some
@given(st.sampled_from(places.TYPES), st.integers(0, 6), st.integers(1, 4), st.integers(8, 40), SEED)
def test_brcb(dtype, rep, blk, stride, seed):
    rng, e = np.random.default_rng(seed), 32 // np.dtype(dtype).itemsize
    x, z = every_bit(rng, dtype, 8 * max(rep, 1)), every_bit(rng, dtype, (6 * 40 + 8 * 4) * e)
    want = z.copy()
    for i in range(8 * rep):
        want[(i // 8 * stride + i % 8 * blk) * e :][:e] = x[i]
    move(("Brcb(d, a, (uint8_t)p0, {(uint16_t)p1, (uint16_t)p2})",), 0, x, places.NOTHING, z, rep, blk, stride)
    same(z, want)


@some
@given(st.sampled_from((F16, F32, I16, I32)), st.integers(1, 600), st.integers(-20, 20), st.integers(0, 9), st.booleans(), SEED)
def test_indices(dtype, n, first, step, arithmetic, seed):
    per_block = 32 // np.dtype(dtype).itemsize
    n = n if arithmetic and n <= per_block else -(-n // per_block) * per_block
    x, z = np.full(16, first, dtype), np.zeros(n, dtype)
    x[1] = step
    move(places.INDEX, 3 if arithmetic else 0, x, places.NOTHING, z, n)
    same(z, places.chain(first, step if arithmetic else 1, n, per_block, dtype))


@some
@given(FLOATS, st.lists(st.integers(1, 60), min_size=2, max_size=4), st.booleans(), SEED)
def test_merge_any_lists(dtype, lengths, suspend, seed):
    rng, used, lists, parts, at = np.random.default_rng(seed), len(lengths), [], [], 0
    for n in lengths:
        s = np.sort(sorting.scores(rng, dtype, n))[::-1]
        lists.append(list(zip(s.astype(np.float64).tolist(), range(at, at + n), strict=True)))
        parts.append((s, np.arange(at, at + n)))
        at += n
    x = sorting.pairs(np.concatenate([s for s, _ in parts]), np.concatenate([i for _, i in parts]))
    out, taken = sorting.merged(lists, suspend)
    got, want = sorting.pairs(np.array([s for s, _ in out], dtype), np.array([i for _, i in out])), np.zeros(x.size, dtype)
    want[: got.size] = got
    z, y = np.zeros(x.size, dtype), np.zeros(8, U32)
    move(sorting.MERGE, 0, x, y, z, *(lengths + [0, 0])[:4], 2**used - 1, suspend)
    same(z, want, f"{lengths}")
    assert y[:used].tolist() == taken


@some
@given(st.sampled_from(turning.B8 + turning.B16 + turning.B32), st.integers(1, 3), st.integers(1, 12), st.integers(1, 4), st.integers(1, 2), st.booleans(), SEED)
def test_pictures(dtype, n, c, h, blocks, back, seed):
    w = blocks * 32 // np.dtype(dtype).itemsize
    x = every_bit(np.random.default_rng(seed), dtype, n * c * h * w)
    z = np.zeros_like(x)
    want = x.reshape((n, h, w, c) if back else (n, c, h, w)).transpose((0, 3, 1, 2) if back else (0, 2, 3, 1)).reshape(-1)
    move(turning.NCHW, int(back), x, turning.NONE, z, n, c, h, w)
    same(z, want)


@some
@given(st.sampled_from(turning.B8 + turning.B16 + turning.B32), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 20), st.integers(1, 20), st.integers(0, 1), st.integers(0, 1), SEED)
def test_sixteen_blocks(dtype, rep, to, source, dr, sr, high_to, high_from, seed):
    rng, e = np.random.default_rng(seed), 32 // np.dtype(dtype).itemsize
    high_to, high_from = (high_to, high_from) if e == 32 else (0, 0)
    if rep == 1:
        dr = sr = 0
    to, source = to * e, source * e
    x, z = every_bit(rng, dtype, 16 * source + rep * sr * e + e), every_bit(rng, dtype, 16 * to + rep * dr * e + e)
    want = turning.five_hd(x, z, rep, to, source, dr, sr, high_to, high_from)
    move(turning.FIVE, 0, x, turning.NONE, z, rep, to, source, dr, sr, lo=high_to, hi=high_from)
    same(z, want)
