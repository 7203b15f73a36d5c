"""Where an element of a matrix lies: the worked addresses, in L1 as DataCopy writes it and in L0 as Mmad reads it."""

import numpy as np
import pytest

import helpers as hp
from cube_kernels import HEAD, WIDTH
from kernel_text import assert_clean, assert_finds

DUMP = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t cols, uint32_t all) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<%(t)s> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ %(t)s*)x);
    yGm.SetGlobalBuffer((__gm__ %(t)s*)y);
    LocalTensor<half> raw(TPosition::A1, 0, 8192);
    LocalTensor<%(t)s> l1 = raw.ReinterpretCast<%(t)s>();
    InitConstValue(raw, {1, 512, 0, 0});
    All();
    DataCopy(l1, xGm, Nd2NzParams{1, rows, cols, 0, cols, Up(rows, 16), 1, 0});
    All();
    DataCopy(yGm, l1, all);
}
"""
NUMPY = {"half": np.float16, "float": np.float32, "int8_t": np.int8}


def nz(r, c, rows, width):
    return c // width * (-(-rows // 16) * 16 * width) + r * width + c % width


@pytest.mark.parametrize("t, rows, cols, worked", [("half", 18, 20, {(17, 19): 787, (3, 16): 560}), ("int8_t", 18, 50, {(17, 40): 1576}), ("float", 18, 12, {(17, 9): 393})])
def test_nz_in_l1(t, rows, cols, worked):
    width = WIDTH[t]
    x = (np.arange(rows * cols) % 100 + 1).reshape(rows, cols).astype(NUMPY[t])
    y = np.zeros(-(-cols // width) * -(-rows // 16) * 16 * width, NUMPY[t])
    hp.compile(DUMP % dict(t=t))[1](x, y, np.uint32(rows), np.uint32(cols), np.uint32(y.size))
    want = np.zeros_like(y)
    for r in range(rows):
        for c in range(cols):
            want[nz(r, c, rows, width)] = x[r, c]
    np.testing.assert_array_equal(y, want)                 # the columns up to a whole fractal are zero
    for (r, c), at in worked.items():
        assert nz(r, c, rows, width) == at and y[at] == x[r, c]


def test_zz_and_zn_in_l0():
    """One element at a time through an identity: element (17, 19) of A lies at 787 of L0A and shows in row 17, column 19 of C."""
    text = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR eye, GM_ADDR y, int toB) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<half> xGm, eGm;
    GlobalTensor<float> yGm;
    xGm.SetGlobalBuffer((__gm__ half*)x);
    eGm.SetGlobalBuffer((__gm__ half*)eye);
    yGm.SetGlobalBuffer((__gm__ float*)y);
    LocalTensor<half> a(TPosition::A2, 0, 1024), b(TPosition::B2, 0, 1024);
    LocalTensor<float> c(TPosition::CO1, 0, 1024);
    if (toB) { LoadData(b, xGm, LoadData2DParams{0, 4, 1, 0, 0, false, 0}); LoadData(a, eGm, LoadData2DParams{0, 4, 1, 0, 0, false, 0}); }
    else { LoadData(a, xGm, LoadData2DParams{0, 4, 1, 0, 0, false, 0}); LoadData(b, eGm, LoadData2DParams{0, 4, 1, 0, 0, false, 0}); }
    All();
    MmadParams p;
    p.m = 32, p.n = 32, p.k = 32;
    Mmad(c, a, b, p);
    All();
    FixpipeParamsV220 f(32, 32, 32, 32, false);
    Fixpipe(yGm, c, f);
}
"""
    k = hp.compile(text)
    eye = np.zeros(1024, np.float16)                       # in ZZ as in ZN: fractals (0, 0) and (1, 1) hold the diagonal
    for i in range(32):
        eye[(i // 16 * 2 + i // 16) * 256 + i % 16 * 17] = 1
    for to_b, at, place in ((0, 787, (17, 19)), (0, 304, (3, 16)), (1, 787, (19, 17)), (1, 3 * 256 + 2 * 16 + 5, (21, 18))):
        x, y = np.zeros(1024, np.float16), np.zeros((32, 32), np.float32)
        x[at] = 3
        k[1](x, eye, y, to_b)
        assert list(zip(*np.nonzero(y))) == [place] and y[place] == 3


def test_a_column_pitch_below_the_rows_overlaps():
    text = DUMP % dict(t="half")
    bad = text.replace("Up(rows, 16), 1, 0});", "8, 1, 0});  // HERE")
    assert_finds("OVERLAP", bad, np.zeros((18, 20), np.float16), np.zeros(1024, np.float16), np.uint32(18), np.uint32(20), np.uint32(1024), says="AlignUp(nValue, 16) = 32")


def test_a_padded_row_in_l1():
    text = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<half> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ half*)x);
    yGm.SetGlobalBuffer((__gm__ half*)y);
    LocalTensor<half> l1(TPosition::A1, 0, 64);
    DataCopyPad(l1, xGm, DataCopyExtParams{2, 20, 4, 0, 0}, DataCopyPadExtParams<half>{true, 0, 6, half(9)});
    All();
    DataCopy(yGm, l1, 32);
    All();
}
"""
    x, y = np.arange(24).astype(np.float16), np.zeros(32, np.float16)
    assert_clean(text, x, y)
    np.testing.assert_array_equal(y.reshape(2, 16), [[*range(10), *[9] * 6], [*range(12, 22), *[9] * 6]])


def test_the_inference_chip_has_a_cube_and_no_fixpipe():
    text = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {
    InitSocState();
    GlobalTensor<half> xGm;
    GlobalTensor<float> yGm;
    xGm.SetGlobalBuffer((__gm__ half*)x);
    yGm.SetGlobalBuffer((__gm__ float*)y);
    LocalTensor<half> l1(TPosition::A1, 0, 256), a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
    LocalTensor<float> c(TPosition::CO1, 0, 256);
    DataCopy(l1, xGm, 256);
    All();
    LoadData(a, l1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
    LoadData(b, l1, LoadData2DParams{0, 1, 1, 0, 0, true, 0});
    All();
    MmadParams p;
    p.m = 16, p.n = 16, p.k = 16;
    Mmad(c, a, b, p);
    All();
    FixpipeParamsV220 f(16, 16, 16, 16, false);
    Fixpipe(yGm, c, f);  // HERE
}
"""
    assert_finds("UNSUPPORTED_API", text, np.ones(256, np.float16), np.zeros(256, np.float32), chip="Ascend310P3", says="no fixpipe")
