"""3D loads: windows of the img2col matrix for filters, strides, dilation and padding, seen through a product with the identity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from cube_kernels import HEAD, WIDTH
from kernel_text import assert_finds

TEXT = HEAD + """
using T = %(t)s;
constexpr uint32_t W = %(w)d;
constexpr IsResetLoad3dConfig BY_REGISTER{false, false};
struct Window { uint32_t h, w, channels, kExt, mExt, kStart, mStart, strideW, strideH, filterW, filterH, dilW, dilH, left, right, top, bottom; };
extern "C" __global__ __aicore__ void k(GM_ADDR map, GM_ADDR eye, GM_ADDR y, Window v, uint32_t bytes, uint32_t eyeSize, int way, int where, float padValue, uint32_t boundary, uint32_t start) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<T> mGm, eGm;
    GlobalTensor<%(r)s> yGm;
    mGm.SetGlobalBuffer((__gm__ T*)map);
    eGm.SetGlobalBuffer((__gm__ T*)eye);
    yGm.SetGlobalBuffer((__gm__ %(r)s*)y);
    LocalTensor<T> all(TPosition::A1, 0, 262144 / sizeof(T)), eL1(TPosition::B1, 262144, 131072 / sizeof(T)), a(TPosition::A2, 0, 65536 / sizeof(T)), b(TPosition::B2, 0, 65536 / sizeof(T));
    LocalTensor<%(r)s> c(TPosition::CO1, 0, 32768);
    DataCopy(all, mGm, bytes / sizeof(T));
    DataCopy(eL1, eGm, Nd2NzParams{1, eyeSize, eyeSize, 0, eyeSize, Up(eyeSize, 16), 1, 0});
    All();
    LocalTensor<T> l1 = all[start / sizeof(T)];
    const uint8_t pad[4] = {(uint8_t)v.left, (uint8_t)v.right, (uint8_t)v.top, (uint8_t)v.bottom};
    LoadData3DParamsV2<T> p(pad, v.h, v.w, v.channels, v.kExt, v.mExt, v.kStart, v.mStart, v.strideW, v.strideH, v.filterW, v.filterH, v.dilW, v.dilH, where == 2, false, T(padValue));
    if (boundary) SetLoadDataBoundary(boundary);
    SetFmatrix(v.h, v.w, pad, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataPaddingValue(T(padValue));
    LoadData3DParamsV2Pro pro;
    pro.channelSize = v.channels, pro.enTranspose = where == 2;
    pro.extConfig = (uint64_t)v.mStart << 48 | (uint64_t)v.kStart << 32 | (uint64_t)v.mExt << 16 | v.kExt;
    pro.filterConfig = (uint64_t)v.dilH << 40 | (uint64_t)v.dilW << 32 | (uint64_t)v.filterH << 24 | (uint64_t)v.filterW << 16 | (uint64_t)v.strideH << 8 | v.strideW;
    LoadDataRepeatParam once(0, 1, 0);
    SetLoadDataRepeat(once);
    LocalTensor<T> target = where == 1 ? b : a, other = where == 1 ? a : b;
    if (way == 0) LoadData(target, l1, p);
    if (way == 1) { p.l1H = 1; p.padList[0] = 9; p.padValue = T(0); LoadData<T, BY_REGISTER>(target, l1, p); }
    if (way == 2) LoadData(target, l1, pro);
    const uint32_t E1 = Up(eyeSize, 16) / 16, EK = Up(eyeSize, W) / W;      // the identity is its own transpose
    if (where == 1) for (uint32_t i = 0; i < E1; ++i) LoadData(other[i * EK * 16 * W], eL1[i * 16 * W], LoadData2DParams{0, EK, E1, 0, 0, false, 0});
    else for (uint32_t q = 0; q < EK; ++q) LoadData(other[q * E1 * 16 * W], eL1[q * E1 * 16 * W], LoadData2DParams{0, E1, 1, 0, 0, false, 0});
    All();
    MmadParams q;
    q.m = where == 2 ? v.kExt : v.mExt, q.n = where == 2 ? v.mExt : v.kExt, q.k = where == 0 ? v.kExt : v.mExt;
    q.kDirectionAlign = where == 2 && W == 8;
    Mmad(c, a, b, q);
    All();
    FixpipeParamsV220 f;
    f.nSize = q.n, f.mSize = q.m, f.srcStride = Up(q.m, 16), f.dstStride = q.n;
    Fixpipe(yGm, c, f);
    All();
}
"""
TYPES = {"half": np.float16, "float": np.float32, "int8_t": np.int8}
FIELDS = "h w channels kExt mExt kStart mStart strideW strideH filterW filterH dilW dilH left right top bottom".split()
Window = hp.tiling_struct("struct Window { uint32_t " + ", ".join(FIELDS) + "; };", "Window")


def kernel(t):
    return hp.compile(TEXT % dict(t=t, w=WIDTH[t], r="int32_t" if t == "int8_t" else "float"))


def img2col(fm, v, pad_value):
    """X[m][k] of the feature map fm[c1, h, w, c0], by its definition."""
    c1, h, w, c0 = fm.shape
    out_h = (h + v["top"] + v["bottom"] - ((v["filterH"] - 1) * v["dilH"] + 1)) // v["strideH"] + 1
    out_w = (w + v["left"] + v["right"] - ((v["filterW"] - 1) * v["dilW"] + 1)) // v["strideW"] + 1
    x = np.full((out_h * out_w, c1, v["filterH"], v["filterW"], c0), pad_value, np.float64)
    for oh in range(out_h):
        for ow in range(out_w):
            for kh in range(v["filterH"]):
                for kw in range(v["filterW"]):
                    y, z = oh * v["strideH"] - v["top"] + kh * v["dilH"], ow * v["strideW"] - v["left"] + kw * v["dilW"]
                    if 0 <= y < h and 0 <= z < w:
                        x[oh * out_w + ow, :, kh, kw] = fm[:, y, z]
    return x.reshape(out_h * out_w, -1)


def check(k, t, v, way, where, rng, boundary=0, start=0):
    c0, c1 = WIDTH[t], -(-v["channels"] // WIDTH[t])
    fm = rng.integers(-50, 50, (c1, v["h"], v["w"], c0)).astype(TYPES[t])
    x = img2col(fm, v, 7)
    v = {**v, "mExt": min(v["mExt"], x.shape[0] - v["mStart"]), "kExt": min(v["kExt"], x.shape[1] - v["kStart"])}
    want = x[v["mStart"]:v["mStart"] + v["mExt"], v["kStart"]:v["kStart"] + v["kExt"]]
    flat = fm.ravel()
    if boundary:                                           # a ring of `boundary` bytes: what runs over continues at 0
        ring = np.zeros(boundary // fm.itemsize, TYPES[t])
        ring[(start // fm.itemsize + np.arange(flat.size)) % ring.size] = flat
        flat = ring
    size = want.shape[1] if where == 0 else want.shape[0]
    eye = np.eye(size, dtype=TYPES[t])
    y = np.zeros(want.shape if where != 2 else want.shape[::-1], np.int32 if t == "int8_t" else np.float32)
    k[1](flat, eye, y, Window(**v), np.uint32(flat.nbytes), np.uint32(size), way, where, np.float32(7), np.uint32(boundary), np.uint32(start))
    np.testing.assert_array_equal(y if where != 2 else y.T, want)


@pytest.mark.parametrize("t", ["half", "float", "int8_t"])
def test_windows(t):
    k = kernel(t)

    @settings(max_examples=16, deadline=None, derandomize=True, database=None)
    @given(h=st.integers(3, 7), w=st.integers(3, 8), groups=st.integers(1, 2), filters=st.tuples(st.integers(1, 3), st.integers(1, 3)), strides=st.tuples(st.integers(1, 3), st.integers(1, 2)),
           dilation=st.integers(1, 2), pads=st.tuples(*[st.integers(0, 2)] * 4), way=st.integers(0, 2), where=st.integers(0, 0 if t == "int8_t" else 2), at=st.tuples(st.integers(0, 9), st.integers(0, 2)), seed=st.integers(0, 9))
    def run(h, w, groups, filters, strides, dilation, pads, way, where, at, seed):
        reach = (max(filters) - 1) * dilation + 1
        v = dict(h=max(h, reach), w=max(w, reach), channels=groups * WIDTH[t], strideW=strides[0], strideH=strides[1], filterW=filters[0], filterH=filters[1], dilW=dilation, dilH=dilation,
                 left=pads[0], right=pads[1], top=pads[2], bottom=pads[3], mStart=at[0], kStart=0, mExt=48, kExt=80)
        positions = ((v["h"] + pads[2] + pads[3] - ((filters[1] - 1) * dilation + 1)) // strides[1] + 1) * ((v["w"] + pads[0] + pads[1] - ((filters[0] - 1) * dilation + 1)) // strides[0] + 1)
        blocks = groups * filters[0] * filters[1]
        v["mStart"] = min(at[0], positions - 2)
        if positions == 1:
            return                                         # an Mmad of one row reads a plain vector
        v["kStart"] = min(at[1], blocks - 1) * WIDTH[t]
        if where == 2 and WIDTH[t] == 8:
            v["kExt"] = 16 * max(1, min(80, blocks * 8 - v["kStart"]) // 16)
            if blocks * 8 - v["kStart"] < 16:
                return                                     # half a block of 16 stays as it was
        check(k, t, v, way, where, np.random.default_rng(seed))
    run()


PLAIN = dict(h=4, w=8, channels=16, strideW=1, strideH=1, filterW=1, filterH=1, dilW=1, dilH=1, left=0, right=0, top=0, bottom=0, mStart=0, kStart=0, mExt=32, kExt=16)


def test_a_ring_in_l1():
    check(kernel("half"), "half", PLAIN, 0, 0, np.random.default_rng(0), boundary=2048, start=1536)


def test_registers_have_to_be_set():
    text = TEXT % dict(t="half", w=16, r="float")
    text = text.replace("    SetFmatrix(v.h, v.w, pad, FmatrixMode::FMATRIX_LEFT);\n", "").replace("LoadData<T, BY_REGISTER>(target, l1, p); }", "LoadData<T, BY_REGISTER>(target, l1, p); }  // HERE")
    args = (np.zeros(512, np.float16), np.eye(16, dtype=np.float16), np.zeros((32, 16), np.float32), Window(**PLAIN), np.uint32(1024), np.uint32(16))
    assert_finds("BAD_PARAMETER", text, *args, 1, 0, np.float32(0), np.uint32(0), np.uint32(0), says="SetFmatrix")


def test_windows_in_a_row_are_joined():
    """SetLoadDataRepeat: two windows of 16 rows, 16 rows apart, are one of 32."""
    text = (TEXT % dict(t="half", w=16, r="float")).replace("LoadDataRepeatParam once(0, 1, 0);", "LoadDataRepeatParam once(1, 2, 0); p.mExtension = 16;")
    fm = np.arange(512).reshape(1, 4, 8, 16).astype(np.float16)
    y = np.zeros((32, 16), np.float32)
    run = hp.compile(text)[1](fm, np.eye(16, dtype=np.float16), y, Window(**PLAIN), np.uint32(1024), np.uint32(16), 0, 0, np.float32(0), np.uint32(0), np.uint32(0))
    np.testing.assert_array_equal(y, fm.reshape(32, 16))
    assert any("2 windows" in f.message and f.severity == "note" for f in run.findings)
