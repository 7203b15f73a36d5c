"""Transpose and TransDataTo5HD against NumPy transposition; and what their checks say."""

import numpy as np
import pytest

import helpers as hp
from kernel_text import assert_clean, assert_finds, kernel
from vec_move_kernels import every_bit, move, same

F32 = np.float32
NONE = np.zeros(8, np.uint32)
B8, B16, B32 = (np.int8, np.uint8), (np.float16, np.int16, np.uint16), (F32, np.int32, np.uint32)
SQUARE = ("Transpose(d, a)", "Transpose(d, d)", "Transpose(d, a, tmp, {0, 0, 16, 16, TransposeType::TRANSPOSE_ND2ND_B16})")
NCHW = tuple(f"Transpose(d, a, tmp, {{p0, p1, p2, p3, TransposeType::TRANSPOSE_{t}}})" for t in ("NCHW2NHWC", "NHWC2NCHW"))
LISTS = """uint64_t to[16], from[16];
    for (int i = 0; i < 16; ++i) {{ to[i] = (uint64_t)d[i * p1].GetPhyAddr(); from[i] = (uint64_t)a[i * p2].GetPhyAddr(); }}
    {call}"""
FIVE = (
    LISTS.format(call="TransDataTo5HD<T>(to, from, {(lo & 1) != 0, (hi & 1) != 0, p0, p3, p4})"),
    "LocalTensor<T> to[16], from[16]; for (int i = 0; i < 16; ++i) { to[i] = d[i * p1]; from[i] = a[i * p2]; } "
    "TransDataTo5HD<T>(to, from, {(lo & 1) != 0, (hi & 1) != 0, p0, p3, p4})",
    LISTS.format(call="LocalTensor<uint64_t> lt = tmp.ReinterpretCast<uint64_t>(), lf = lt[64]; for (int i = 0; i < 16; ++i) { lt.SetValue(i, to[i]); lf.SetValue(i, from[i]); } "
                      "TransDataTo5HD<T>(lt, lf, {(lo & 1) != 0, (hi & 1) != 0, p0, p3, p4})".replace("{", "{{").replace("}", "}}").format()),
)


@pytest.mark.parametrize("dtype", B16)
def test_square(dtype):
    rng = np.random.default_rng(1)
    x = every_bit(rng, dtype, 256)
    cases = SQUARE if dtype is np.uint16 else SQUARE[:2]
    for op in range(len(cases)):
        z = x.copy() if op == 1 else np.zeros_like(x)
        move(cases, op, x, NONE, z)
        same(z, x.reshape(16, 16).T.reshape(-1), f"case {op}")


@pytest.mark.parametrize("dtype", B8 + B16 + B32)
def test_pictures(dtype):
    rng = np.random.default_rng(2)
    size = np.dtype(dtype).itemsize
    for n, c, h, w in ((1, 3, 4, 32 // size), (2, 5, 3, 64 // size), (1, 1, 1, 32), (3, 12, 2, 32), (0, 3, 4, 8)):
        x = every_bit(rng, dtype, max(n * c * h * w, 1))
        for op, shape, axes in ((0, (n, c, h, w), (0, 2, 3, 1)), (1, (n, h, w, c), (0, 3, 1, 2))):
            z = every_bit(rng, dtype, x.size)
            want = x[: n * c * h * w].reshape(shape).transpose(axes).reshape(-1) if n else z.copy()
            move(NCHW, op, x, NONE, z, n, c, h, w)
            same(z, want, f"{shape}")


def five_hd(x, z, rep, to, frm, dr, sr, dh=False, sh=False):
    """16 blocks per repeat, block lists `to` and `frm` elements apart."""
    out, e = z.copy(), 32 // x.itemsize
    for r in range(rep):
        s = [x[k * frm + r * sr * e :][:e] for k in range(16)]
        d = [out[k * to + r * dr * e :][:e] for k in range(16)]
        n = 8 if x.itemsize == 4 else 16
        for i in range(n):
            for j in range(n):
                if x.itemsize == 2:
                    d[i][j] = s[j][i]
                elif x.itemsize == 1:
                    d[i][dh * 16 + j] = s[j][sh * 16 + i]
                else:
                    d[2 * i][j], d[2 * i + 1][j] = s[j][i], s[j + 8][i]
    return out


@pytest.mark.parametrize("dtype", B8 + B16 + B32)
def test_sixteen_blocks(dtype):
    rng = np.random.default_rng(3)
    e = 32 // np.dtype(dtype).itemsize
    for rep, to, frm, dr, sr in ((1, e, e, 0, 0), (4, e, 4 * e, 16, 1), (2, 3 * e, 2 * e, 1, 1), (0, e, e, 0, 0)):
        for dh, sh in ((0, 0), (1, 0), (0, 1), (1, 1)) if e == 32 else ((0, 0),):
            x = every_bit(rng, dtype, 16 * frm + max(rep, 1) * sr * e + e)
            z = every_bit(rng, dtype, 16 * to + max(rep, 1) * dr * e + e)
            want = five_hd(x, z, rep, to, frm, dr, sr, dh, sh)
            for op in range(3):
                got = z.copy()
                move(FIVE, op, x, NONE, got, rep, to, frm, dr, sr, lo=dh, hi=sh)
                same(got, want, f"{rep} form {op}")


def test_one_repeat_shifts_by_a_stride():
    rng = np.random.default_rng(4)
    x, z = every_bit(rng, np.uint16, 512), np.zeros(512, np.uint16)
    want = z.copy()
    want[32:] = five_hd(x[16:], z[32:], 1, 16, 16, 0, 0)
    r = move(FIVE, 1, x, NONE, z, 1, 16, 16, 2, 1)
    same(z, want)
    assert [f for f in r.findings if f.code == "BAD_PARAMETER" and "strides have to be 0" in f.hint]


# ===== what the checks say
def text(line, t="half"):
    return kernel(
        f"""
    TBuf<TPosition::VECCALC> bx, by, bt;
    pipe.InitBuffer(bx, 2048); pipe.InitBuffer(by, 2048); pipe.InitBuffer(bt, 4096);
    LocalTensor<T> x = bx.Get<T>(), y = by.Get<T>();
    LocalTensor<uint8_t> t = bt.Get<uint8_t>();
    (void)t;
    Duplicate(x, (T)1, 512);
    {line}
""",
        t=t,
    ).replace("using namespace AscendC;", f"using namespace AscendC; using T = {t};")


X = np.zeros(16, F32)
FIVE_OF = "{ LocalTensor<T> d[16], s[16]; for (int i = 0; i < 16; ++i) { d[i] = y[%s]; s[i] = x[%s]; } TransDataTo5HD<T>(d, s, {false, false, %s}); }"
CHECKS = [
    ("MISALIGNED", "Transpose(y[8], x);", "Transpose(y[16], x);", "next legal index is 16"),
    ("OUT_OF_BOUNDS", "Transpose(y, x[784]);", "Transpose(y, x[256]);", "src"),
    ("OVERLAP", "Transpose(x[64], x);", "Transpose(x, x);", "same start"),
    ("MISALIGNED", "Transpose(y, x, t, {1, 2, 3, 5, TransposeType::TRANSPOSE_NCHW2NHWC});", "Transpose(y, x, t, {1, 2, 3, 16, TransposeType::TRANSPOSE_NCHW2NHWC});", "16 elements"),
    ("OVERLAP", "Transpose(x, x, t, {1, 2, 4, 16, TransposeType::TRANSPOSE_NCHW2NHWC});", "Transpose(y, x, t, {1, 2, 4, 16, TransposeType::TRANSPOSE_NCHW2NHWC});", "in place"),
    ("OUT_OF_BOUNDS", "Transpose(y, x, t, {1, 7, 1, 16, TransposeType::TRANSPOSE_NCHW2NHWC});", "Transpose(y, x, t, {1, 6, 1, 16, TransposeType::TRANSPOSE_NCHW2NHWC});", "4608 B"),
    ("UNSUPPORTED_API", "Transpose(y, x, t, {1, 2, 4, 16, TransposeType::TRANSPOSE_ND2ND_ONLY});", "Transpose(y, x, t, {1, 2, 4, 16, TransposeType::TRANSPOSE_NHWC2NCHW});", "ConfusionTranspose"),
    ("OVERLAP", FIVE_OF % ("0", "i * 16", "1, 0, 0"), FIVE_OF % ("i * 16", "i * 16", "1, 0, 0"), "same address"),
    ("MISALIGNED", FIVE_OF % ("i * 16", "i * 8", "1, 0, 0"), FIVE_OF % ("i * 16", "i * 16", "1, 0, 0"), "src block 1"),
    ("OUT_OF_BOUNDS", FIVE_OF % ("i * 16", "i * 16", "50, 1, 1"), FIVE_OF % ("i * 16", "i * 16", "2, 16, 16"), "src"),
]


@pytest.mark.parametrize("code,broken,says", [(c, b, s) for c, b, _, s in CHECKS], ids=[b[:60] for _, b, _, _ in CHECKS])
def test_checks(code, broken, says):
    assert_finds(code, text(broken + "  // HERE"), X, X, says=says)


def test_repaired_calls_are_clean():
    assert_clean(text("\n    ".join(f for _, _, f, _ in CHECKS)), X.astype(np.float16), X.astype(np.float16))


def test_types():
    for call, t in (("Transpose(y, x)", "float"), ("Transpose(y, x)", "bfloat16_t")):
        with pytest.raises(hp.CompileError) as e:
            hp.compile(text(call + ";", t))
        assert e.value.findings[0].code == "UNSUPPORTED_TYPE"


def test_undefined_elements_stay_undefined_when_they_move():
    for call in (FIVE_OF % ("i * 16", "i * 16", "1, 0, 0"), "Transpose(y, x);"):
        store = "PipeBarrier<PIPE_ALL>(); DataCopy(yGm, y, 256);"
        assert_finds("UNINITIALISED_READ", text(call + store + "  // HERE").replace("Duplicate(x, (T)1, 512);", ""), np.zeros(256, np.float16), np.zeros(256, np.float16))
        assert_clean(text(call + store), np.zeros(256, np.float16), np.zeros(256, np.float16))


def test_a_list_of_addresses_that_nobody_wrote():
    call = "LocalTensor<uint64_t> to = t.ReinterpretCast<uint64_t>(), from = to[64]; %s TransDataTo5HD<T>(to, from, {false, false, 1, 0, 0});"
    fill = "for (int i = 0; i < 16; ++i) { to.SetValue(i, (uint64_t)y[i * 16].GetPhyAddr()); from.SetValue(i, (uint64_t)x[i * 16].GetPhyAddr()); }"
    assert_finds("UNINITIALISED_READ", text(call % "" + "  // HERE"), X.astype(np.float16), X.astype(np.float16))
    assert_clean(text(call % fill), X.astype(np.float16), X.astype(np.float16))
