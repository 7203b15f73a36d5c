"""What all calls of the high-level API have in common: chips, cores, headers, checks off, empty tensors."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from adv_programs import Program, cpp
from kernel_text import findings_of, marked_line

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'


def test_device_header_names():
    run = hp.compile("""#include "kernel_operator.h"
#include "lib/activation/softmax.h"
#include "lib/activation/softmaxflashv2.h"
#include "lib/activation/gelu.h"
#include "lib/normalization/rmsnorm.h"
#include "lib/normalization/layernorm.h"
#include "kernel_tiling/kernel_tiling.h"
extern "C" __global__ __aicore__ void k(GM_ADDR a) {
    optiling::SoftMaxTiling one;
    AscendC::tiling::SoftMaxTiling& same = one;
    same.set_srcM(3);
    AscendC::printf("%u", one.srcM);
}
""")[1](np.zeros(8, np.float32))
    assert run.stdout == "3"


def test_cube_core_skips_the_call():
    text = HEAD + """extern "C" __global__ __aicore__ void k(GM_ADDR a) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    LocalTensor<float> none;
    LocalTensor<uint8_t> tmp;
    if ASCEND_IS_AIC {
        Sigmoid(none, none, tmp, 8);
        SoftMax<float>(none, none, none, none, tmp, SoftMaxTiling{});
        RmsNorm<float>(none, none, none, tmp, 1.0f, RmsNormTiling{});
        WelfordFinalize(none, none, none, none, tmp, {});
        if (AdjustSoftMaxRes<float, float>(none, none, 0, 1.0f, {})) trap();
    }
}
"""
    assert not [f.message for f in findings_of(text, np.zeros(8, np.float32)) if f.severity != "note"]


@pytest.mark.parametrize("call, what", [("Sigmoid(none, none, 8);", "src"), ("SoftMax<float>(none, none, SoftMaxTiling{}, {8, 8, 8, 8});", "src"),
                                        ("Gelu(none, none, (uint32_t)1 << 30);", "src")])
def test_unassigned_tensor(call, what):
    text = HEAD + f'extern "C" __global__ __aicore__ void k(GM_ADDR a) {{\n    LocalTensor<float> none;\n    {call} // HERE\n}}\n'
    [f] = [f for f in findings_of(text, np.zeros(8, np.float32)) if f.severity == "error"]
    assert (f.code, f.line) == ("OUT_OF_BOUNDS", marked_line(text)) and f"{what} is a LocalTensor that was never assigned" in f.message


def test_inference_chip():
    text = HEAD + """extern "C" __global__ __aicore__ void k(GM_ADDR a, int32_t which) {
    TPipe pipe;
    TBuf<> b;
    pipe.InitBuffer(b, 8192);
    auto x = b.Get<float>();
    auto h = b.Get<half>();
    Duplicate(x, 1.0f, 2048);
    GroupNormTiling t{};
    if (which == 0) GroupNorm<float>(x, x, x, x, x, x, 1.0f, t);
    if (which == 1) SoftmaxFlashV3<half, float>(h, x, x, x, h, h, x, x, x, SoftMaxTiling{}, SoftMaxParams{});
    if (which == 2) Sigmoid(x, x[1024], 1024);
}
"""
    for which, name in enumerate(("GroupNorm", "SoftmaxFlashV3")):
        found = findings_of(text, np.zeros(8, np.float32), which, chip="Ascend310P3")
        assert [f.code for f in found if f.severity == "error"] == ["UNSUPPORTED_API"] and name in found[0].message
    assert not [f for f in findings_of(text, np.zeros(8, np.float32), 2, chip="Ascend310P3") if f.severity != "note"]


@pytest.mark.parametrize("options", [{"checks": "off"}, {"schedule": "lazy"}])
def test_same_result_however_it_runs(options):
    x, g = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32), np.ones(64, np.float32)
    results = []
    for kw in ({}, options):
        p = Program(tmp=16384)
        p.call(cpp(hp.host.tiling("SoftMax", (8, 64), "float32")) + " SoftMax<float>(y, s, m, x, tmp, tiling, {8, 64, 8, 64});", {"x": x}, {"y": ("float32", 512), "s": ("float32", 64), "m": ("float32", 64)})
        p.call(cpp(hp.host.tiling("RmsNorm", (1, 8, 64), "float32")) + " RmsNorm<float>(y, x, g, tmp, 0.5f, tiling);", {"x": x, "g": g}, {"y": ("float32", 512)})
        p.call("Silu(y, x, 512);", {"x": x}, {"y": ("float32", 512)})
        results.append(p.run(**kw))
    for a, b in zip(results[0][1], results[1][1]):
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert results[0][0].cycles == results[1][0].cycles


def test_online_softmax_through_queues():
    """Attention in small: scores come in pieces, SoftmaxFlashV2 carries maximum and sum along."""
    text = HEAD + """extern "C" __global__ __aicore__ void k(GM_ADDR xAddr, GM_ADDR yAddr, int32_t pieces) {
    constexpr uint32_t M = 16, K = 64, N = M * K;
    constexpr SoftMaxTiling kTiling = SoftMaxFlashV2TilingFunc({M, K, M, K}, 2, 4, 32768, true);
    GlobalTensor<half> x;
    GlobalTensor<float> y;
    x.SetGlobalBuffer((__gm__ half*)xAddr);
    y.SetGlobalBuffer((__gm__ float*)yAddr);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<> stats, tmp, work;
    pipe.InitBuffer(in, 2, N * 2);
    pipe.InitBuffer(out, 1, M * 32);
    pipe.InitBuffer(stats, 4 * M * 32);
    pipe.InitBuffer(tmp, 32768);
    pipe.InitBuffer(work, N * 2);
    auto sum = stats.Get<float>(), max = sum[M * 8];
    auto scale = sum[M * 16].ReinterpretCast<half>();
    auto shared = tmp.Get<uint8_t>();
    auto p = work.Get<half>();
    for (int32_t i = 0; i < pieces; ++i) {
        auto a = in.AllocTensor<half>();
        DataCopy(a, x[i * N], N);
        in.EnQue(a);
        a = in.DeQue<half>();
        if (i == 0) SoftmaxFlashV2<half, false>(p, sum, max, a, scale, sum, max, shared, kTiling, {M, K, M, K});
        else SoftmaxFlashV2<half, true>(p, sum, max, a, scale, sum, max, shared, kTiling, {M, K, M, K});
        in.FreeTensor(a);
    }
    auto o = out.AllocTensor<float>();
    DataCopy(o, sum, M * 8);
    out.EnQue(o);
    o = out.DeQue<float>();
    DataCopy(y, o, M * 8);
    out.FreeTensor(o);
}
"""
    x = (np.random.default_rng(1).normal(size=(5, 16, 64)) * 4).astype(np.float16)
    y = np.zeros((16, 8), np.float32)
    run = hp.compile(text)[1](x, y, 5)
    assert not [f.message for f in run.findings if f.severity != "note"]
    scores = x.astype(np.float64).transpose(1, 0, 2).reshape(16, 320)
    np.testing.assert_allclose(y, np.repeat(np.exp(scores - scores.max(1, keepdims=True)).sum(1)[:, None], 8, 1), rtol=1e-5)
