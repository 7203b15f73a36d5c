"""Calls on a cube core: products, Fixpipe, the Matmul object, and the flags between the cores of a mixed kernel."""
from __future__ import annotations

from .. import host
from .family import Call, Family, rows

# One fractal lies in L1 and L0 as in GM: 16 x 16 of half, 16 x 8 of float, 16 x 32 of int8_t. d = a times the transpose of b; L1 holds y behind x.
_FRACTAL = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> bufA1;
    TBuf<TPosition::B1> bufB1;
    TBuf<TPosition::C1> bufC1;
    TBuf<TPosition::A2> bufA2;
    TBuf<TPosition::B2> bufB2;
    TBuf<TPosition::C2> bufC2;
    TBuf<TPosition::CO1> bufC;
    pipe.InitBuffer(bufA1, 2048);
    pipe.InitBuffer(bufB1, 2048);
    pipe.InitBuffer(bufC1, 1024);
    pipe.InitBuffer(bufA2, 2048);
    pipe.InitBuffer(bufB2, 1024);
    pipe.InitBuffer(bufC2, 1024);
    pipe.InitBuffer(bufC, 1024);
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, 256);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, 256);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    LocalTensor<SRC> a1 = bufA1.Get<SRC>(), b1 = bufB1.Get<SRC>(), c1 = bufC1.Get<SRC>(), a = bufA2.Get<SRC>(), b = bufB2.Get<SRC>();
    LocalTensor<SUM> d = bufC.Get<SUM>(), bias = bufC2.Get<SUM>();
    DataCopy(a1, xGm, 256);
    DataCopy(a1[256], yGm, 256);
    DataCopy(b1, yGm, 256);
    DataCopy(b1[256], xGm, 256);
    DataCopy(c1, yGm, 256);
    PipeBarrier<PIPE_ALL>();
    LoadData(a, a1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
    LoadData(b, b1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
    PipeBarrier<PIPE_ALL>();
    MmadParams p;
    p.m = 16;
    p.n = 16;
    p.k = DEPTH;
    FixpipeParamsV220 f;
    f.nSize = 16;
    f.mSize = 16;
    f.srcStride = 16;
    f.dstStride = 16;
    switch (call) {
CASES        default: break;
    }
    PipeBarrier<PIPE_ALL>();
    STORE
    PipeBarrier<PIPE_ALL>();
}
'''


def _fractal(name: str, source: str, result: str, calls: tuple[Call, ...], data: str = "small", store: str = "Fixpipe(zGm, d, f);") -> Family:
    """store: how the sum reaches z."""
    frame = _FRACTAL.replace("SUM", "int32_t" if source == "int8_t" else "float").replace("DEPTH", {"float": "8", "int8_t": "32"}.get(source, "16")).replace("STORE", store)
    return Family(name, source, result, calls, data, frame)


# 16 x 16 halves (or floats) of x and y are A and B of every shape; the object computes what tells its tiling.
_OBJECT_HEAD = '''#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using namespace matmul;
'''
_OBJECT = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, SRC, sizeof(SRC) == 2>, MatmulType<TPosition::GM, CubeFormat::ND, SRC, sizeof(SRC) == 2>, MatmulType<TPosition::GM, CubeFormat::ND, DST>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>> mm;
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    GlobalTensor<float> biasGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, 256);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, 256);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    biasGm.SetGlobalBuffer((__gm__ float*)z, 16);
    if (GetBlockIdx() > 0) return;
    switch (call) {
CASES        default: break;
    }
    mm.End();
}
'''
_START = "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &{0}); "


def _object(name: str, source: str, result: str, *calls: str) -> Family:
    """Rows "Label | name of the tiling | statements"."""
    dtype, out = {"half": "float16", "float": "float32"}[source], {"half": "float16", "float": "float32"}[result]

    def make(m, n, k, **more):
        return lambda: host.matmul_tiling(m, n, k, dtype=dtype, out=out, **more)
    tilings = (("TCubeTiling", "square", make(16, 16, 16)), ("TCubeTiling", "odd", make(5, 7, 9)), ("TCubeTiling", "flat", make(1, 16, 16)), ("TCubeTiling", "biased", make(16, 16, 16, bias=True)))
    made = tuple(Call(label.strip(), _START.format(tiling.strip()) + statement.strip()) for label, tiling, statement in (c.split("|") for c in calls))
    return Family(name, source, result, made, "small", _OBJECT, _OBJECT_HEAD, tilings=tilings)


def _batch():
    """Tiling of 4 products of 4 x 16 with 2 of 16 x 8."""
    tiling = host.BatchMatmulTiling()
    tiling.SetAType("GM", "ND", "half")
    tiling.SetBType("GM", "ND", "half")
    tiling.SetCType("GM", "ND", "float")
    tiling.SetBatchInfoForNormal(4, 2, 4, 8, 16)
    tiling.SetBatchNum(4)
    return tiling.GetTiling()


# Tiles of 8 x 16 of a product of 8 x 32 come to UB of the vector core; the second one goes to z as it lies there.
_TO_UB = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, SRC>, MatmulType<TPosition::GM, CubeFormat::ND, SRC>, MatmulType<TPosition::VECIN, CubeFormat::ND, DST>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &wide);
    if (GetBlockIdx() > 0) return;
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, 256);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, 256);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 1024);
    LocalTensor<DST> d = buf.Get<DST>();
    Duplicate(d, (DST)1, 256);
    PipeBarrier<PIPE_ALL>();
    mm.SetTensorA(xGm);
    mm.SetTensorB(yGm);
    switch (call) {
CASES        default: break;
    }
    mm.End();
    PipeBarrier<PIPE_ALL>();
    DataCopy(zGm, d, 256);
    PipeBarrier<PIPE_ALL>();
}
'''


# The cube core multiplies, the vector cores add 1 to what they find in GM: each flag once in each direction.
_MIXED = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    KERNEL_TASK_TYPE_DEFAULT(CORES);
    InitSocState();
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, 256);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, 256);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    if ASCEND_IS_AIC {
        LocalTensor<SRC> a1(TPosition::A1, 0, 256), b1(TPosition::B1, 512, 256), a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
        LocalTensor<DST> d(TPosition::CO1, 0, 256);
        DataCopy(a1, xGm, 256);
        DataCopy(b1, yGm, 256);
        PipeBarrier<PIPE_ALL>();
        LoadData(a, a1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
        LoadData(b, b1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
        PipeBarrier<PIPE_ALL>();
        MmadParams p;
        p.m = 16;
        p.n = 16;
        p.k = 16;
        Mmad(d, a, b, p);
        PipeBarrier<PIPE_ALL>();
        FixpipeParamsV220 f;
        f.nSize = 16;
        f.mSize = 16;
        f.srcStride = 16;
        f.dstStride = 16;
        Fixpipe(zGm, d, f);
        for (int i = 0; i < call * 16; ++i) {
            CrossCoreSetFlag<2, PIPE_FIX>(2);
            CrossCoreWaitFlag(3);
        }
        CrossCoreSetFlag<2, PIPE_FIX>(1);
        PipeBarrier<PIPE_ALL>();
    }
    if ASCEND_IS_AIV {
        const uint32_t part = 256 / GetTaskRation(), mine = GetSubBlockIdx() * part;
        LocalTensor<DST> d(TPosition::VECIN, 0, part);
        for (int i = 0; i < call * 16; ++i) {
            CrossCoreWaitFlag(2);
            CrossCoreSetFlag<2, PIPE_MTE3>(3);
        }
        CrossCoreWaitFlag(1);
        DataCopy(d, zGm[mine], part);
        PipeBarrier<PIPE_ALL>();
        Adds(d, d, 1.0f, part);
        PipeBarrier<PIPE_ALL>();
        DataCopy(zGm[mine], d, part);
        PipeBarrier<PIPE_ALL>();
    }
}
'''


def _mixed(name: str, ratio: str) -> Family:
    calls = (Call(f"CrossCoreSetFlag {ratio}", ""), Call(f"CrossCoreSetFlag {ratio}, 16 round trips", ""))
    return Family(name, "half", "float", calls, "small", _MIXED.replace("CORES", "KERNEL_TYPE_MIX_AIC_" + ratio.replace(":", "_")))


_AGAIN = "PipeBarrier<PIPE_ALL>(); "
_PRODUCT = "Mmad(d, a, b, p);"
_NZ = "Fixpipe<DST, float, CFG_NZ>(zGm, d, f);"

CUBE = (
    _fractal("half_cube", "half", "float", rows(
        "half", "Mmad half | Mmad(d, a, b, p);", "Mmad half accumulates | Mmad(d, a, b, p); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = false; Mmad(d, a, b, p);"), "plain"),
    _fractal("half_cube_tail", "half", "float", rows("half", "Mmad half with NaN behind k | p.k = 9; Mmad(d, a, b, p);"), "tail"),
    _fractal("half_cube_forms", "half", "float", rows(
        "half", "Mmad half of one row | p.m = 1; Mmad(d, a, b, p); f.mSize = 1;", "Mmad half of 5 x 7 x 9 | p.m = 5; p.n = 7; p.k = 9; Mmad(d, a, b, p); f.mSize = 5; f.nSize = 7; f.dstStride = 8;",
        "Mmad half with a bias | DataCopy(bias, c1, DataCopyParams{1, 1, 0, 0}); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = false; Mmad(d, a, b, bias, p);",
        "Mmad half with a bias and cmatrixInitVal | DataCopy(bias, c1, DataCopyParams{1, 1, 0, 0}); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = true; Mmad(d, a, b, bias, p);",
        "bias table, one block of 64 B of half | DataCopy(bias, c1, DataCopyParams{1, 1, 0, 0}); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = false; Mmad(d, a, b, bias[16], p);",
        "bias table, two blocks without a gap | DataCopy(bias, c1, DataCopyParams{2, 1, 0, 0}); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = false; Mmad(d, a, b, bias[32], p);",
        "DataCopyPad to L1 | DataCopyPad(a1, yGm, DataCopyExtParams{16, 20, 12, 0, 0}, DataCopyPadExtParams<half>{true, 0, 6, (half)0}); " + _AGAIN
        + "LoadData(a, a1, LoadData2DParams{0, 1, 1, 0, 0, false, 0}); " + _AGAIN + _PRODUCT,
        "LoadData with a transpose | LoadData(a, a1, LoadData2DParams{0, 1, 1, 0, 0, true, 0}); " + _AGAIN + _PRODUCT,
        "LoadData of a window | LoadData3DParamsV2<half> w; w.l1H = 1; w.l1W = 16; w.channelSize = 16; w.kExtension = 16; w.mExtension = 16; LoadData(a, a1, w); " + _AGAIN + _PRODUCT,
        "LoadData of windows side by side | LoadDataRepeatParam r(1, 2, 1); SetLoadDataRepeat(r); LoadData3DParamsV2<half> w; w.l1H = 1; w.l1W = 16; "
        "w.channelSize = 32; w.kExtension = 16; w.mExtension = 16; LoadData(a, a1, w); LoadDataRepeatParam once(0, 1, 0); SetLoadDataRepeat(once); " + _AGAIN
        + "Mmad(d, a[256], b, p);",
        "Fill of L0 | Fill(a, InitConstValueParams<half>{1, 1, 0, (half)1.5}); " + _AGAIN + _PRODUCT)),
    _fractal("vector_call_on_cube", "half", "float", rows(
        "half", "Duplicate on a cube core | LocalTensor<half> u(TPosition::VECCALC, 0, 128); Duplicate(u, (half)1, 128); PipeBarrier<PIPE_V>(); Mmad(d, a, b, p);")),
    _fractal("float_cube", "float", "float", rows(
        "float", "Mmad float | Mmad(d, a, b, p);",
        "Mmad float HF32 ties to even | SetHF32Mode(true); SetHF32TransMode(false); Mmad(d, a, b, p); SetHF32Mode(false);",
        "Mmad float HF32 nearest zero | SetHF32Mode(true); SetHF32TransMode(true); Mmad(d, a, b, p); SetHF32Mode(false);"), "fine"),
    _fractal("float_cube_special", "float", "float", rows(
        "float", "Mmad float of NaN and infinity | Mmad(d, a, b, p);",
        "Fixpipe float in saturation mode | SetCtrlSpr<48, 48>(0); Mmad(d, a, b, p); " + _AGAIN + "Fixpipe(zGm, d, f); " + _AGAIN + "SetCtrlSpr<48, 48>(1);"), "special"),
    _fractal("bfloat16_cube", "bfloat16_t", "float", rows("bfloat16_t", "Mmad bfloat16_t | Mmad(d, a, b, p);"), "plain"),
    _fractal("int8_cube", "int8_t", "int32_t", rows(
        "int8_t", "Mmad int8_t | Mmad(d, a, b, p);",
        "Mmad int8_t overflows | DataCopy(bias, c1.ReinterpretCast<int32_t>(), DataCopyParams{1, 1, 0, 0}); " + _AGAIN + "p.cmatrixInitVal = false; Mmad(d, a, b, bias, p); "
        "for (int i = 0; i < 40; ++i) { PipeBarrier<PIPE_M>(); Mmad(d, a, b, p); }"), "top"),
    _fractal("fixpipe_half", "half", "half", rows(
        "half", "Fixpipe to half | f.quantPre = QuantMode_t::F322F16; Mmad(d, a, b, p);", "Fixpipe to half with relu | f.quantPre = QuantMode_t::F322F16; f.reluEn = true; Mmad(d, a, b, p);")),
    _fractal("fixpipe_bfloat16", "half", "bfloat16_t", rows("half", "Fixpipe to bfloat16_t | f.quantPre = QuantMode_t::F322BF16; Mmad(d, a, b, p);"), "plain"),
    _fractal("fixpipe_int8", "half", "int8_t", rows(
        "half", "Fixpipe to int8_t | f.quantPre = QuantMode_t::QF322B8_PRE; f.deqScalar = 0x40003F000000; Mmad(d, a, b, p);",
        "Fixpipe to int8_t with an offset | f.quantPre = QuantMode_t::QF322B8_PRE; f.deqScalar = 0x40003F000000 | 3ull << 37; Mmad(d, a, b, p);")),
    _fractal("fixpipe_int8_nz", "half", "int8_t", rows(
        "half", "Fixpipe to int8_t of one 16 wide column | f.quantPre = QuantMode_t::QF322B8_PRE; f.deqScalar = 0x40003F000000; Mmad(d, a, b, p);"), store=_NZ),
    _fractal("fixpipe_uint8", "half", "uint8_t", rows("half", "Fixpipe to uint8_t | f.quantPre = QuantMode_t::QF322B8_PRE; f.deqScalar = 0x3F000000; Mmad(d, a, b, p);")),
    _fractal("fixpipe_nz", "half", "float", rows(
        "half", "Fixpipe to float in NZ | Mmad(d, a, b, p);", "Fixpipe to float in NZ of 8 | f.isChannelSplit = true; Mmad(d, a, b, p);"), store=_NZ),
    _fractal("requant_int8", "int8_t", "int8_t", rows("int8_t", "Fixpipe int32_t to int8_t | f.quantPre = QuantMode_t::REQ8; f.deqScalar = 0x40003A800000; Mmad(d, a, b, p);"), "special"),
    _fractal("dequant_half", "int8_t", "half", rows(
        "int8_t", "Fixpipe int32_t to half | f.quantPre = QuantMode_t::DEQF16; f.deqScalar = 0x3A800000; Mmad(d, a, b, p);",
        "Fixpipe int32_t to half with a shift | f.quantPre = QuantMode_t::DEQF16; f.deqScalar = 0x3A800000 | 3ull << 32 | 1ull << 36; Mmad(d, a, b, p);"), "special"),
    _object("matmul_half", "half", "float", "Matmul half 16 x 16 x 16 | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm);",
            "Matmul half 5 x 7 x 9 | odd | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm);",
            "Matmul half of one row | flat | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm);",
            "Matmul half, both transposed | square | mm.SetTensorA(xGm, true); mm.SetTensorB(yGm, true); mm.IterateAll(zGm);",
            "Matmul half, tile by tile | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); while (mm.Iterate()) mm.GetTensorC(zGm);",
            "Matmul half adds to GM | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm, 1);",
            "Matmul half with a tail | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.SetTail(5, 16); mm.IterateAll(zGm);",
            "Matmul half of no rows, then of 5 | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.SetSingleShape(0, 16, 16); mm.IterateAll(zGm); mm.SetTensorA(xGm); mm.SetTensorB(yGm); "
            "mm.SetSingleShape(5, 16, 16); mm.IterateAll(zGm);",
            "Matmul half, bias switched off | biased | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.SetBias(biasGm); mm.DisableBias(); mm.IterateAll(zGm);"),
    Family("matmul_batch", "half", "float", (Call(
        "IterateBatch of 4 by 2", _START.format("batch") + "mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateBatch(zGm, 4, 2, false);"),), "small",
        _OBJECT.replace("SRC, sizeof(SRC) == 2>", "SRC, false, LayoutMode::NORMAL>").replace("DST>,", "DST, false, LayoutMode::NORMAL>,"), _OBJECT_HEAD, tilings=(("TCubeTiling", "batch", _batch),)),
    Family("matmul_to_ub", "half", "float", (Call("GetTensorC to UB, second of two tiles", "mm.Iterate(); mm.GetTensorC(d); mm.Iterate(); mm.GetTensorC(d);"),), "small", _TO_UB,
           _OBJECT_HEAD.partition("\n")[2], tilings=(("TCubeTiling", "wide", lambda: host.matmul_tiling(8, 32, 8, base=(16, 16, 16))),)),
    _object("matmul_half_half", "half", "half", "Matmul half to half | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm);"),
    _object("matmul_float", "float", "float", "Matmul float 16 x 16 x 16 | square | mm.SetTensorA(xGm); mm.SetTensorB(yGm); mm.IterateAll(zGm);"),
    _mixed("flags_1_1", "1:1"), _mixed("flags_1_2", "1:2"),
)
