"""The whole way of a matrix product: ND2NZ into L1, LoadData into L0A and L0B, Mmad, Fixpipe."""

import numpy as np

from kernel_text import assert_clean

PRODUCT = """#include "kernel_operator.h"
using namespace AscendC;
constexpr int M = 40, N = 24, K = 70;
extern "C" __global__ __aicore__ void mm(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, M * K);
    bGm.SetGlobalBuffer((__gm__ half*)b, K * N);
    cGm.SetGlobalBuffer((__gm__ float*)c, M * N);
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::CO1, 1> co1;
    pipe.InitBuffer(a1, 1, 48 * 80 * 2);
    pipe.InitBuffer(b1, 1, 80 * 32 * 2);
    pipe.InitBuffer(a2, 1, 48 * 80 * 2);
    pipe.InitBuffer(b2, 1, 80 * 32 * 2);
    pipe.InitBuffer(co1, 1, 48 * 32 * 4);
    LocalTensor<half> aL1 = a1.AllocTensor<half>(), bL1 = b1.AllocTensor<half>();
    DataCopy(aL1, aGm, Nd2NzParams{1, 40, 70, 0, 70, 48, 1, 0});
    DataCopy(bL1, bGm, Nd2NzParams{1, 70, 24, 0, 24, 80, 1, 0});
    a1.EnQue(aL1);
    b1.EnQue(bL1);
    aL1 = a1.DeQue<half>();
    bL1 = b1.DeQue<half>();
    LocalTensor<half> aL0 = a2.AllocTensor<half>(), bL0 = b2.AllocTensor<half>();
    for (int i = 0; i < 3; ++i) LoadData(aL0[i * 5 * 256], aL1[i * 256], LoadData2DParams{0, 5, 3, 0, 0, false, 0});
    for (int k = 0; k < 5; ++k) LoadData(bL0[k * 2 * 256], bL1[k * 256], LoadData2DParams{0, 2, 5, 0, 0, true, 0});
    a2.EnQue(aL0);
    b2.EnQue(bL0);
    a1.FreeTensor(aL1);
    b1.FreeTensor(bL1);
    aL0 = a2.DeQue<half>();
    bL0 = b2.DeQue<half>();
    LocalTensor<float> cL0 = co1.AllocTensor<float>();
    MmadParams p;
    p.m = M, p.n = N, p.k = K;
    Mmad(cL0, aL0, bL0, p);
    co1.EnQue(cL0);
    a2.FreeTensor(aL0);
    b2.FreeTensor(bL0);
    cL0 = co1.DeQue<float>();
    FixpipeParamsV220 f;
    f.nSize = N, f.mSize = M, f.srcStride = 48, f.dstStride = N;
    Fixpipe(cGm, cL0, f);
    co1.FreeTensor(cL0);
}
"""


def test_queues_carry_a_product_from_gm_to_gm():
    """The worked shape: 40 x 70 times 70 x 24, tails in every direction."""
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((40, 70)).astype(np.float16), rng.standard_normal((70, 24)).astype(np.float16), np.zeros((40, 24), np.float32)
    for schedule in ("eager", "lazy"):
        c[:] = 0
        run = assert_clean(PRODUCT, a, b, c, schedule=schedule)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-6, atol=1e-5)
    busy = {run.ops[e["op"]]: run.events["pipe"][i] for i, e in enumerate(run.events)}
    assert {k: int(v) for k, v in busy.items() if k in ("LoadData", "Mmad", "Fixpipe", "DataCopy")} == {"DataCopy": 4, "LoadData": 3, "Mmad": 2, "Fixpipe": 6}


ROUNDS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void rounds(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    GlobalTensor<half> aGm, bGm, biasGm, cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    biasGm.SetGlobalBuffer((__gm__ half*)bias);
    cGm.SetGlobalBuffer((__gm__ half*)c);
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::C1, 1> c1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::C2, 1> c2;
    TQue<TPosition::CO1, 1> co1;
    pipe.InitBuffer(a1, 2, 2048);
    pipe.InitBuffer(b1, 2, 2048);
    pipe.InitBuffer(c1, 2, 64);
    pipe.InitBuffer(a2, 2, 2048);
    pipe.InitBuffer(b2, 2, 2048);
    pipe.InitBuffer(c2, 1, 128);
    pipe.InitBuffer(co1, 2, 4096);
    for (int t = 0; t < 4; ++t) {
        LocalTensor<half> x = a1.AllocTensor<half>(), y = b1.AllocTensor<half>(), z = c1.AllocTensor<half>();
        DataCopy(x, aGm[t * 1024], Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
        DataCopy(y, bGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
        DataCopy(z, biasGm, 32);
        a1.EnQue(x);
        b1.EnQue(y);
        c1.EnQue(z);
        x = a1.DeQue<half>(), y = b1.DeQue<half>(), z = c1.DeQue<half>();
        LocalTensor<half> x0 = a2.AllocTensor<half>(), y0 = b2.AllocTensor<half>();
        LocalTensor<float> z0 = c2.AllocTensor<float>();
        for (int i = 0; i < 2; ++i) LoadData(x0[i * 512], x[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});
        for (int i = 0; i < 2; ++i) LoadData(y0[i * 512], y[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});
        DataCopy(z0, z, 32);
        a2.EnQue(x0);
        b2.EnQue(y0);
        c2.EnQue(z0);
        a1.FreeTensor(x);
        b1.FreeTensor(y);
        c1.FreeTensor(z);
        x0 = a2.DeQue<half>(), y0 = b2.DeQue<half>(), z0 = c2.DeQue<float>();
        LocalTensor<float> r = co1.AllocTensor<float>();
        MmadParams p;
        p.m = 32, p.n = 32, p.k = 32, p.cmatrixInitVal = false;
        Mmad(r, x0, y0, z0, p);
        co1.EnQue(r);
        a2.FreeTensor(x0);
        b2.FreeTensor(y0);
        c2.FreeTensor(z0);
        r = co1.DeQue<float>();
        FixpipeParamsV220 f(32, 32, 32, 32, true);
        f.quantPre = QuantMode_t::F322F16;
        Fixpipe(cGm[t * 1024], r, f);
        co1.FreeTensor(r);
    }
}
"""


def test_queues_keep_rounds_with_bias_and_relu_apart():
    rng = np.random.default_rng(2)
    a, b, bias, c = rng.integers(-5, 5, (128, 32)).astype(np.float16), rng.integers(-5, 5, (32, 32)).astype(np.float16), rng.integers(-9, 9, 32).astype(np.float16), np.zeros((128, 32), np.float16)
    for schedule in ("eager", "lazy"):
        c[:] = 0
        assert_clean(ROUNDS, a, b, bias, c, schedule=schedule)
        np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0))
