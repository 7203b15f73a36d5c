"""Kernels for a cube core: one product with a chosen way of loading, or one call on memories that a test has filled."""

from __future__ import annotations

from functools import lru_cache

import ml_dtypes
import numpy as np

import helpers as hp

TYPES = {"half": np.float16, "bfloat16_t": ml_dtypes.bfloat16, "float": np.float32, "int8_t": np.int8, "int32_t": np.int32, "uint8_t": np.uint8}
WIDTH = {"half": 16, "bfloat16_t": 16, "float": 8, "int8_t": 32}

HEAD = """#include "kernel_operator.h"
using namespace AscendC;
constexpr FixpipeConfig NZ{CO2Layout::NZ, false};
inline __aicore__ uint32_t Up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }
inline __aicore__ void All() { PipeBarrier<PIPE_ALL>(); }
"""

PRODUCT = HEAD + """
using T = %(t)s;
using R = %(r)s;
constexpr uint32_t W = %(w)d, F = 16 * W;
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint32_t M, uint32_t N, uint32_t K) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<R> cGm;
    aGm.SetGlobalBuffer((__gm__ T*)a);
    bGm.SetGlobalBuffer((__gm__ T*)b);
    cGm.SetGlobalBuffer((__gm__ R*)c);
    LocalTensor<T> aL1(TPosition::A1, 0, 131072 / sizeof(T)), bL1(TPosition::B1, 131072, 131072 / sizeof(T));
    LocalTensor<T> aL0(TPosition::A2, 0, 65536 / sizeof(T)), bL0(TPosition::B2, 0, 65536 / sizeof(T));
    LocalTensor<R> cL0(TPosition::CO1, 0, 32768);
    const uint32_t M1 = Up(M, 16) / 16, N1 = Up(N, 16) / 16, K1 = Up(K, W) / W;
    MmadParams p;
    p.m = M, p.n = N, p.k = K;
    %(load)s
    All();
    %(before)s
    Mmad(cL0, aL0, bL0, p);
    All();
    FixpipeParamsV220 f;
    f.nSize = N, f.mSize = M, f.srcStride = Up(M, 16), f.dstStride = N;
    Fixpipe(cGm, cL0, f);
    All();
}
"""

# Ways to bring A (M x K, or K x M when transposed) and B (K x N, or N x K) from GM to L0.
ND2NZ = "DataCopy(%(l1)s, %(gm)s, Nd2NzParams{1, %(rows)s, %(cols)s, 0, %(cols)s, Up(%(rows)s, %(pad)s), 1, 0});\n"
A_2D = ND2NZ % dict(l1="aL1", gm="aGm", rows="M", cols="K", pad=16) + "All();\n for (uint32_t i = 0; i < M1; ++i) LoadData(aL0[i * K1 * F], aL1[i * F], LoadData2DParams{0, K1, M1, 0, 0, false, 0});"
A_T_2D = ND2NZ % dict(l1="aL1", gm="aGm", rows="K", cols="M", pad=16) + "All();\n for (uint32_t i = 0; i < M1; ++i) LoadData(aL0[i * K1 * F], aL1[i * K1 * F], LoadData2DParams{0, K1, 1, 0, 0, true, 0});"
B_2D = ND2NZ % dict(l1="bL1", gm="bGm", rows="K", cols="N", pad=16) + "All();\n for (uint32_t q = 0; q < K1; ++q) LoadData(bL0[q * N1 * F], bL1[q * F], LoadData2DParams{0, N1, K1, 0, 0, true, 0});"
B_T_2D = ND2NZ % dict(l1="bL1", gm="bGm", rows="N", cols="K", pad=16) + "All();\n for (uint32_t q = 0; q < K1; ++q) LoadData(bL0[q * N1 * F], bL1[q * N1 * F], LoadData2DParams{0, N1, 1, 0, 0, false, 0});"
WINDOW = """{ LoadData3DParamsV2<T> w; w.l1H = 1; w.l1W = Up(%(rows)s, 16); w.channelSize = Up(%(cols)s, W); w.kExtension = %(cols)s; w.mExtension = %(rows)s; w.enTranspose = %(swap)s;
      LoadData(%(l0)s, %(l1)s, w); }"""
A_3D = ND2NZ % dict(l1="aL1", gm="aGm", rows="M", cols="K", pad=16) + "All();\n" + WINDOW % dict(l0="aL0", l1="aL1", rows="M", cols="K", swap="false")
A_T_3D = ND2NZ % dict(l1="aL1", gm="aGm", rows="K", cols="M", pad=16) + "All();\n" + WINDOW % dict(l0="aL0", l1="aL1", rows="K", cols="M", swap="true")
B_3D = ND2NZ % dict(l1="bL1", gm="bGm", rows="K", cols="N", pad=16) + "All();\n" + WINDOW % dict(l0="bL0", l1="bL1", rows="K", cols="N", swap="false")
# int8_t squares of 32 x 32: K, M and N are padded to 32 in L1
A_T_32 = ("const uint32_t Q = Up(K, 32) / 32;\n" + ND2NZ % dict(l1="aL1", gm="aGm", rows="K", cols="M", pad=32) +
          "All();\n for (uint32_t i = 0; i < Up(M, 32) / 32; ++i) LoadDataWithTranspose(aL0[i * Q * 1024], aL1[i * Q * 1024], LoadData2dTransposeParams{0, Q, 1, 0, Q - 1, false});")
B_32 = ("{ const uint32_t Q = Up(K, 32) / 32, S = Up(N, 32) / 32;\n" + ND2NZ % dict(l1="bL1", gm="bGm", rows="K", cols="N", pad=32) +
        "All();\n for (uint32_t q = 0; q < Q; ++q) LoadDataWithTranspose(bL0[q * S * 1024], bL1[q * 1024], LoadData2dTransposeParams{0, S, Q, 1, 0, false}); p.n = S * 32; }")
# float squares of 16 x 16: ZZ in L1, one ND2NZ per 16 rows
SQUARES = """{ const uint32_t C = %(cols)s; Nd2NzParams z(1, 16, C, 0, C, 16, 1, 0);
      z.ndNum = Up(%(rows)s, 16) / 16; z.srcNdMatrixStride = 16 * C; z.dstNzC0Stride = 16; z.dstNzMatrixStride = 16 * Up(C, 16); DataCopy(%(l1)s, %(gm)s, z); All(); }"""
A_T_16 = ("const uint32_t Q = Up(K, 16) / 16; p.kDirectionAlign = true;\n" + SQUARES % dict(l1="aL1", gm="aGm", rows="K", cols="M") +
          " for (uint32_t i = 0; i < M1; ++i) LoadDataWithTranspose(aL0[i * Q * 256], aL1[i * 256], LoadData2dTransposeParams{0, Q, M1, 1, 0, 0});")
B_16 = "{ const uint32_t Q = Up(K, 16) / 16;\n" + SQUARES % dict(l1="bL1", gm="bGm", rows="K", cols="N") + " for (uint32_t q = 0; q < Q; ++q) LoadDataWithTranspose(bL0[q * N1 * 256], bL1[q * N1 * 256], LoadData2dTransposeParams{0, N1, 1, 0, N1 - 1, 0}); }"
LOADS = {"2d": (A_2D, B_2D), "2d-bt": (A_2D, B_T_2D), "2d-at": (A_T_2D, B_2D), "3d": (A_3D, B_3D), "3d-at": (A_T_3D, B_3D), "int8": (A_2D, B_32), "int8-at": (A_T_32, B_32),
         "float": (A_2D, B_16), "float-at": (A_T_16, B_16), "3d-float-at": ("p.kDirectionAlign = true;\n" + A_T_3D, B_16)}


@lru_cache(maxsize=None)
def product(t: str, way: str, before: str = ""):
    """Kernel k(a, b, c, M, N, K) for element type t; way: a key of LOADS."""
    r = "int32_t" if t == "int8_t" else "float"
    return hp.compile(PRODUCT % dict(t=t, r=r, w=WIDTH[t], load="\n".join(LOADS[way]), before=before))


def run_product(t: str, way: str, m: int, n: int, k: int, rng, before: str = ""):
    """The result of a launch and what it should be, in double."""
    def matrix(rows, cols):
        if t == "int8_t":
            return rng.integers(-128, 128, (rows, cols)).astype(np.int8)
        return rng.standard_normal((rows, cols)).astype(np.float32).astype(TYPES[t])
    a, b = matrix(m, k), matrix(k, n)
    given_a = np.ascontiguousarray(a.T) if "-at" in way else a
    given_b = np.ascontiguousarray(b.T) if way.endswith("bt") else b
    if "float" in way and way != "3d-float":               # the last 16 rows are read whole
        given_b = np.concatenate([given_b, np.zeros((-k % 16, n), given_b.dtype)])
        if way == "float-at":
            given_a = np.concatenate([given_a, np.zeros((-k % 16, m), given_a.dtype)])
    c = np.zeros((m, n), np.int32 if t == "int8_t" else np.float32)
    run = product(t, way, before)[1](given_a, given_b, c, np.uint32(m), np.uint32(n), np.uint32(k))
    bad = [f for f in run.findings if f.severity != "note"]
    assert not bad, [f"{f.code}@{f.line}: {f.message}" for f in bad]
    return c, a.astype(np.float64) @ b.astype(np.float64)


SCRATCH = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<%(t)s> xGm;
    GlobalTensor<%(r)s> yGm;
    xGm.SetGlobalBuffer((__gm__ %(t)s*)x);
    yGm.SetGlobalBuffer((__gm__ %(r)s*)y);
%(body)s
}
"""


def scratch(body: str, t: str = "half", r: str = "float") -> str:
    """A kernel text with xGm and yGm around the body; the body declares its own tensors."""
    return SCRATCH % dict(t=t, r=r, body=body)


# 1024 x 1024 x 1024 by base blocks of 128 x 256 x 64, four of them from one load into L1, all buffers double but L0C.
TILED = """#include "kernel_operator.h"
using namespace AscendC;
constexpr int M = 1024, N = 1024, K = 1024, BM = 128, BN = 256, BK = 64, L1K = 256;
extern "C" __global__ __aicore__ void tiled(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, M * K);
    bGm.SetGlobalBuffer((__gm__ half*)b, K * N);
    cGm.SetGlobalBuffer((__gm__ float*)c, M * N);
    TPipe pipe;
    TQue<TPosition::A1, 2> a1;
    TQue<TPosition::B1, 2> b1;
    TQue<TPosition::A2, 2> a2;
    TQue<TPosition::B2, 2> b2;
    TQue<TPosition::CO1, 1> co1;
    pipe.InitBuffer(a1, 2, BM * L1K * 2);
    pipe.InitBuffer(b1, 2, L1K * BN * 2);
    pipe.InitBuffer(a2, 2, BM * BK * 2);
    pipe.InitBuffer(b2, 2, BK * BN * 2);
    pipe.InitBuffer(co1, 1, BM * BN * 4);
    for (int t = GetBlockIdx(); t < (M / BM) * (N / BN); t += GetBlockNum()) {
        const int row = t / (N / BN) * BM, column = t % (N / BN) * BN;
        LocalTensor<float> sum = co1.AllocTensor<float>();
        for (int outer = 0; outer < K; outer += L1K) {
            LocalTensor<half> aL1 = a1.AllocTensor<half>(), bL1 = b1.AllocTensor<half>();
            DataCopy(aL1, aGm[row * K + outer], Nd2NzParams{1, BM, L1K, 0, K, BM, 1, 0});
            DataCopy(bL1, bGm[outer * N + column], Nd2NzParams{1, L1K, BN, 0, N, L1K, 1, 0});
            a1.EnQue(aL1);
            b1.EnQue(bL1);
            aL1 = a1.DeQue<half>();
            bL1 = b1.DeQue<half>();
            for (int k = 0; k < L1K; k += BK) {
                LocalTensor<half> aL0 = a2.AllocTensor<half>(), bL0 = b2.AllocTensor<half>();
                for (int i = 0; i < BM / 16; ++i) LoadData(aL0[i * BK * 16], aL1[k * BM + i * 256], LoadData2DParams{0, BK / 16, BM / 16, 0, 0, false, 0});
                for (int q = 0; q < BK / 16; ++q) LoadData(bL0[q * BN * 16], bL1[(k / 16 + q) * 256], LoadData2DParams{0, BN / 16, L1K / 16, 0, 0, true, 0});
                a2.EnQue(aL0);
                b2.EnQue(bL0);
                aL0 = a2.DeQue<half>();
                bL0 = b2.DeQue<half>();
                MmadParams p;
                p.m = BM, p.n = BN, p.k = BK, p.cmatrixInitVal = outer + k == 0;
                Mmad(sum, aL0, bL0, p);
                a2.FreeTensor(aL0);
                b2.FreeTensor(bL0);
            }
            a1.FreeTensor(aL1);
            b1.FreeTensor(bL1);
        }
        co1.EnQue(sum);
        sum = co1.DeQue<float>();
        FixpipeParamsV220 f;
        f.nSize = BN, f.mSize = BM, f.srcStride = BM, f.dstStride = N;
        Fixpipe(cGm[row * N + column], sum, f);
        co1.FreeTensor(sum);
    }
}
"""
