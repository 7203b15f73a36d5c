"""Every copy form moves exactly the bytes its formula names: random parameters against plain loops over bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copy_kernels import TYPES, UB, as_type, bytes_of, load_kernel, store_kernel

GM = 8192          # bytes of GM that a test looks at
FEW = settings(max_examples=15, deadline=None, derandomize=True)
ALL = pytest.mark.parametrize("t", list(TYPES))
seeds = st.integers(0, 2**31)


def run_load(kernel, t, raw_x, raw_before, *numbers):
    x, before, after = as_type(raw_x.copy(), t), as_type(raw_before.copy(), t), as_type(np.zeros(UB, np.uint8), t)
    run = kernel[1](x, before, after, *numbers)
    np.testing.assert_array_equal(x.view(np.uint8), raw_x)
    return after.view(np.uint8), run


def run_store(kernel, t, raw_x, raw_before, *numbers):
    x, before, after = as_type(raw_x.copy(), t), as_type(raw_before.copy(), t), as_type(np.zeros(UB, np.uint8), t)
    run = kernel[1](x, before, after, *numbers)
    return x.view(np.uint8), run


def align(n):
    return (n + 31) // 32 * 32


# ---- count
@ALL
@FEW
@given(data=st.data(), seed=seeds)
def test_count_copies_in_and_out(t, data, seed):
    rng, s = np.random.default_rng(seed), np.dtype(TYPES[t]).itemsize
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    n = data.draw(st.integers(0, UB // 32)) * 32 // s
    first = data.draw(st.integers(0, (GM - n * s) // s))
    at = data.draw(st.integers(0, (UB - n * s) // 32)) * 32
    numbers = (n, first, at // s)
    got, _ = run_load(load_kernel("DataCopy(ub[at], xGm[first], n);", t, "n first at"), t, x, before, *numbers) if at < UB else (before, None)
    want = before.copy()
    want[at : at + n * s] = x[first * s : first * s + n * s]
    np.testing.assert_array_equal(got, want)
    got, _ = run_store(store_kernel("DataCopy(xGm[first], ub[at], n);", t, "n first at"), t, x, before, *numbers) if at < UB else (x, None)
    want = x.copy()
    want[first * s : first * s + n * s] = before[at : at + n * s]
    np.testing.assert_array_equal(got, want)


# ---- blocks
def draw_blocks(data, room_src, room_dst):
    count = data.draw(st.integers(0, 12))
    length = data.draw(st.integers(0, 10))
    gaps = []
    for room in (room_src, room_dst):
        spare = room // 32 - count * length
        gaps.append(data.draw(st.integers(0, min(40, max(0, spare // max(1, count - 1))))))
    return count, length, *gaps


def oracle_blocks(dst, src, count, length, src_gap, dst_gap):
    for b in range(count):
        s, d = b * 32 * (length + src_gap), b * 32 * (length + dst_gap)
        dst[d : d + 32 * length] = src[s : s + 32 * length]


@ALL
@FEW
@given(data=st.data(), seed=seeds)
def test_blocks_in(t, data, seed):
    rng = np.random.default_rng(seed)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    p = draw_blocks(data, GM, UB)
    got, _ = run_load(load_kernel("DataCopy(ub, xGm, {c, l, s, d});", t, "c l s d"), t, x, before, *p)
    want = before.copy()
    oracle_blocks(want, x, *p)
    np.testing.assert_array_equal(got, want)


@ALL
@FEW
@given(data=st.data(), seed=seeds)
def test_blocks_out(t, data, seed):
    rng = np.random.default_rng(seed)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    p = draw_blocks(data, UB, GM)
    got, _ = run_store(store_kernel("DataCopy(xGm, ub, {c, l, s, d});", t, "c l s d"), t, x, before, *p)
    want = x.copy()
    oracle_blocks(want, before, *p)
    np.testing.assert_array_equal(got, want)


@FEW
@given(data=st.data(), seed=seeds)
def test_blocks_inside_ub(data, seed):
    t = "half"
    rng = np.random.default_rng(seed)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    p = draw_blocks(data, UB, UB)
    call = "DataCopy(ub2, xGm, n); PipeBarrier<PIPE_ALL>(); DataCopy(ub, ub2, {c, l, s, d});"
    got, _ = run_load(load_kernel(call, t, "n c l s d"), t, x, before, UB // 2, *p)
    want = before.copy()
    oracle_blocks(want, x[:UB], *p)
    np.testing.assert_array_equal(got, want)


def test_count_inside_ub():
    rng = np.random.default_rng(1)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    call = "DataCopy(ub2, xGm, n); PipeBarrier<PIPE_ALL>(); DataCopy(ub[to], ub2, n);"
    got, run = run_load(load_kernel(call, "float", "n to"), "float", x, before, 64, 8)
    want = before.copy()
    want[32 : 32 + 256] = x[:256]
    np.testing.assert_array_equal(got, want)
    assert {e for e in run.ops} >= {"DataCopy"}


# ---- DataCopyPad
def draw_pad(data, s, load):
    count, length = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 200 // s)) * s
    left = data.draw(st.integers(0, 32 // s)) if load else 0
    right = data.draw(st.integers(0, 32 // s)) if load else 0
    width = align(left * s + length + right * s)
    ub_gap = data.draw(st.integers(0, max(0, min(5, (UB - count * width) // 32 // max(1, count - 1)))))
    gm_gap = data.draw(st.integers(0, max(0, min(99, (GM - 16 - count * length) // max(1, count - 1)))))
    return count, length, left, right, width, ub_gap, gm_gap


@ALL
@FEW
@given(data=st.data(), seed=seeds)
def test_pad_in(t, data, seed):
    rng, s = np.random.default_rng(seed), np.dtype(TYPES[t]).itemsize
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    count, length, left, right, width, ub_gap, gm_gap = draw_pad(data, s, True)
    if count * width + max(0, count - 1) * ub_gap * 32 > UB:
        return
    is_pad = data.draw(st.booleans())
    value = 0 if s == 8 else data.draw(st.integers(0, 100))
    kernel = load_kernel("DataCopyPad(ub, xGm, {c, l, s, d, 0}, {pad != 0, left, right, static_cast<T>(v)});", t, "c l s d pad left right v")
    got, _ = run_load(kernel, t, x, before, count, length, gm_gap, ub_gap, is_pad, left, right, value)
    want, known = before.copy(), np.ones(UB, bool)
    fill = np.array([value], TYPES[t]).view(np.uint8)
    for b in range(count if length else 0):
        d, src = b * (width + 32 * ub_gap), x[b * (length + gm_gap) :][:length]
        row = np.tile(fill if is_pad else src[:s], width // s)
        row[left * s : left * s + length] = src
        want[d : d + width] = row
        if not is_pad and (left or right):          # undefined on the device
            known[d : d + left * s] = False
            known[d + left * s + length : d + width] = False
    np.testing.assert_array_equal(got[known], want[known])


@ALL
@FEW
@given(data=st.data(), seed=seeds)
def test_pad_out(t, data, seed):
    rng, s = np.random.default_rng(seed), np.dtype(TYPES[t]).itemsize
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    count, length, _, _, width, ub_gap, gm_gap = draw_pad(data, s, False)
    if count * width + max(0, count - 1) * ub_gap * 32 > UB:
        return
    got, _ = run_store(store_kernel("DataCopyPad(xGm, ub, {c, l, s, d, 0});", t, "c l s d"), t, x, before, count, length, ub_gap, gm_gap)
    want = x.copy()
    for b in range(count):
        u, g = b * (width + 32 * ub_gap), b * (length + gm_gap)
        want[g : g + length] = before[u : u + length]
    np.testing.assert_array_equal(got, want)


def test_pad_any_gm_byte_address():
    """GM needs no alignment at all: a half row may start at an odd byte."""
    rng = np.random.default_rng(3)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    call = "GlobalTensor<T> odd; odd.SetGlobalBuffer((__gm__ T*)(x + 3)); DataCopyPad(ub, odd, {1, l, 0, 0, 0}, {true, 0, 0, static_cast<T>(0)});"
    got, run = run_load(load_kernel(call, "half", "l"), "half", x, before, 34)
    np.testing.assert_array_equal(got[:34], x[3:37])
    assert not (got[34:64]).any()
    np.testing.assert_array_equal(got[64:], before[64:])
    assert not [f for f in run.findings if f.severity != "note"]


def test_old_structs_mean_the_same():
    rng = np.random.default_rng(4)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    new = load_kernel("DataCopyPad(ub, xGm, {3, 20, 12, 1, 0}, {true, 1, 2, 7});", "int32_t", "n")
    old = load_kernel("DataCopyParams p{3, 20, 12, 1}; DataCopyPadParams q{true, 1, 2, 7}; DataCopyPad(ub, xGm, p, q);", "int32_t", "n")
    a, b = run_load(new, "int32_t", x, before, 0)[0], run_load(old, "int32_t", x, before, 0)[0]
    np.testing.assert_array_equal(a, b)
    assert a.view(np.int32)[0] == 7 and (a.view(np.int32)[1:6] == x.view(np.int32)[:5]).all()
    new = store_kernel("DataCopyPad(xGm, ub, {3, 20, 1, 12, 0});", "int32_t", "n")
    old = store_kernel("DataCopyPad(xGm, ub, {3, 20, 1, 12});", "int32_t", "n")
    np.testing.assert_array_equal(run_store(new, "int32_t", x, before, 0)[0], run_store(old, "int32_t", x, before, 0)[0])


def test_set_pad_value_fills_asked_for_padding():
    rng = np.random.default_rng(5)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    call = "SetPadValue(static_cast<T>(-3)); DataCopyPad(ub, xGm, {1, 8, 0, 0, 0}, {false, 2, 1, 0});"
    got, run = run_load(load_kernel(call, "float", "n"), "float", x, before, 0)
    np.testing.assert_array_equal(got.view(np.float32)[:2], [-3, -3])
    np.testing.assert_array_equal(got[8:16], x[:8])
    np.testing.assert_array_equal(got.view(np.float32)[4:8], [-3] * 4)


def test_newer_field_names_are_the_same_fields():
    rng = np.random.default_rng(6)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    call = "DataCopyParams p; p.blockCount = 2; p.blockLen = 1; p.srcGap = 2; p.dstGap = 1; DataCopy(ub, xGm, p);"
    got, _ = run_load(load_kernel(call, "half", "n"), "half", x, before, 0)
    want = before.copy()
    oracle_blocks(want, x, 2, 1, 2, 1)
    np.testing.assert_array_equal(got, want)


# ---- formats
@pytest.mark.parametrize("t", ["half", "float", "int8_t"])
@FEW
@given(data=st.data(), seed=seeds)
def test_nd_to_nz(t, data, seed):
    rng, s = np.random.default_rng(seed), np.dtype(TYPES[t]).itemsize
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    c0 = 32 // s
    nd, n = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 6))
    d = data.draw(st.integers(0, 2 * c0 + 3))
    src_d, groups = d + data.draw(st.integers(0, 5)), -(-d // c0)
    n_stride = data.draw(st.integers(1, 2))
    c0_stride = max(1, n * n_stride + data.draw(st.integers(0, 3)))
    matrix = groups * c0_stride * c0 + n * n_stride * c0
    src_matrix = n * src_d + 1
    p = (nd, n, d, src_matrix, max(1, src_d), c0_stride, n_stride, matrix)
    got, _ = run_load(load_kernel("DataCopy(ub, xGm, Nd2NzParams{a, b, c, d, e, f, g, h});", t, "a b c d e f g h"), t, x, before, *p)
    want = before.copy()
    for i in range(nd):
        for r in range(n):
            for col in range(groups * c0):
                to = i * matrix * s + (col // c0 * c0_stride + r * n_stride) * 32 + col % c0 * s
                at = (i * src_matrix + r * src_d + col) * s
                want[to : to + s] = x[at : at + s] if col < d else 0
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("t", ["half", "float"])
@FEW
@given(data=st.data(), seed=seeds)
def test_nz_to_nd(t, data, seed):
    rng, s = np.random.default_rng(seed), np.dtype(TYPES[t]).itemsize
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    n, d = data.draw(st.integers(1, 9)), 16 * data.draw(st.integers(1, 2))
    src_n, dst_d = n + data.draw(st.integers(0, 3)), d + data.draw(st.integers(0, 7))
    nd = data.draw(st.integers(0, 2)) if s == 2 else 1
    src_matrix, dst_matrix = -(-(src_n * d) // 256), n * dst_d
    if nd * src_matrix * 256 * s > UB:
        return
    p = (nd, n, d, src_matrix, src_n, dst_d, dst_matrix)
    got, _ = run_store(store_kernel("DataCopy(xGm, ub, Nz2NdParamsFull{a, b, c, d, e, f, g});", t, "a b c d e f g"), t, x, before, *p)
    want = x.copy()
    for i in range(nd):
        for r in range(n):
            for c in range(d):
                at = (i * src_matrix * 256 + c // 16 * src_n * 16 + r * 16 + c % 16) * s
                to = (i * dst_matrix + r * dst_d + c) * s
                want[to : to + s] = before[at : at + s]
    np.testing.assert_array_equal(got, want)


# ---- slices
def test_slice_of_the_guide():
    """Rows 0 and 2 of an 87 wide float matrix, two 24-element pieces each, become a 2 x 48 block and go back."""
    rng = np.random.default_rng(7)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    slices = "SliceInfo g[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}, u[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};"
    got, _ = run_load(load_kernel(slices + "DataCopy(ub, xGm, u, g, 2);", "float", "n"), "float", x, before, 0)
    m = x.view(np.float32)[: 3 * 87].reshape(3, 87)
    want = np.concatenate([np.concatenate([m[r, 16:40], m[r, 47:71]]) for r in (0, 2)])
    np.testing.assert_array_equal(got[: 96 * 4], want.view(np.uint8))
    np.testing.assert_array_equal(got[96 * 4 :], before[96 * 4 :])
    got, _ = run_store(store_kernel(slices + "DataCopy(xGm, ub, g, u, 2);", "float", "n"), "float", x, before, 0)
    want = x.copy()
    for row, r in enumerate((0, 2)):
        for piece, c in enumerate((16, 47)):
            a, b = (r * 87 + c) * 4, (row * 48 + piece * 24) * 4
            want[a : a + 96] = before[b : b + 96]
    np.testing.assert_array_equal(got, want)


@FEW
@given(data=st.data(), seed=seeds)
def test_slices_in_three_dimensions(data, seed):
    rng = np.random.default_rng(seed)
    x, before = bytes_of(rng, GM), bytes_of(rng, UB)
    pieces, burst, gap = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2)), data.draw(st.integers(0, 5))
    start = data.draw(st.integers(0, 3))
    length = pieces * burst * 8 + (pieces - 1) * gap
    width = start + length + data.draw(st.integers(0, 4))
    rows, skip = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 1))
    first = data.draw(st.integers(0, 1))
    last = first + (rows - 1) * (1 + skip)
    height, planes = last + 1, 2
    flat = pieces * burst * 8
    call = ("SliceInfo g[] = {{start, start + len - 1, gap, burst, width}, {first, last, skip, 1, height}, {0, 1, 0, 1, 2}};"
            "SliceInfo u[] = {{0, flat - 1, 0, burst, flat}, {0, rows - 1, 0, 1, rows}, {0, 1, 0, 1, 2}}; DataCopy(ub, xGm, u, g, 3);")
    kernel = load_kernel(call, "float", "start len gap burst width first last skip height flat rows")
    got, _ = run_load(kernel, "float", x, before, start, length, gap, burst, width, first, last, skip, height, flat, rows)
    tensor = x.view(np.float32)[: planes * height * width].reshape(planes, height, width)
    parts = [tensor[k, first + r * (1 + skip), start + i * (burst * 8 + gap) :][: burst * 8] for k in range(planes) for r in range(rows) for i in range(pieces)]
    want = before.copy()
    want[: 4 * planes * rows * flat] = np.concatenate(parts).view(np.uint8)
    np.testing.assert_array_equal(got, want)
