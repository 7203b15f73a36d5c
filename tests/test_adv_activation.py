"""Activations against NumPy in float64."""

from __future__ import annotations

import subprocess

import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from adv_programs import CPP, Faults, Program
from helpers.build import compiler, runtime

TOL = {"float32": dict(rtol=1e-6, atol=1e-7), "float16": dict(rtol=1e-3, atol=1e-6), "bfloat16": dict(rtol=1e-2, atol=1e-6)}
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, 1e-8, -1e-8, 1, -1, 12, -12, 60, -60, 100, -100, 6e4, -6e4, 1.7, -1.7, 2.5, -2.5, 0.5, -0.5])


def data(dtype, n=300, seed=0):
    x = np.random.default_rng(seed).normal(size=n) * 4
    x[:len(SPECIAL)] = SPECIAL
    return x.astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x / (1 + np.exp(-1.59576912 * (x + 0.044715 * x**3)))


def gelu_v2(x):
    return x * (np.where(x < 0, -1, 1) * (0.5 - 0.1444 * (np.minimum(0.7071 * np.abs(x), 1.769) - 1.769) ** 2) + 0.5)


ONE = {"Sigmoid": sigmoid, "Silu": lambda x: x * sigmoid(x), "Gelu": gelu, "FasterGelu": lambda x: x / (1 + np.exp(-1.702 * x)), "FasterGeluV2": gelu_v2}
TWO = {"SwiGLU": lambda x, y: x * (y / (1 + np.exp(-1.5 * y))), "GeGLU": lambda x, y: x * gelu(y), "ReGlu": lambda x, y: x * np.where(np.isnan(y), y, np.maximum(y, 0))}


def calls(t):
    """(text, function of x or of x and y, elements written, whether y is used)"""
    c = CPP[t]
    yield from ((f"Sigmoid{form}", ONE["Sigmoid"], n) for form, n in ((f"<{c}>(d, x, tmp, 300);", 300), ("(d, x, tmp);", 304), ("(d, x, 300);", 300), ("(d, x);", 304), (f"<{c}, true>(d, x, tmp, 100);", 100)))
    yield f"Silu<{c}, false>(d, x, 300);", ONE["Silu"], 300
    yield f"Swish(d, x, 300, ({c})1.5);", lambda x: x / (1 + np.exp(-1.5 * x)), 300
    for name in ("Gelu", "FasterGelu", "FasterGeluV2"):
        yield f"{name}<{c}>(d, x, 300);", ONE[name], 300
        yield f"{name}<{c}, true, false>(d, x, tmp, 300);", ONE[name], 300
    for name, beta in (("SwiGLU", "1.5f, "), ("GeGLU", "")):
        for form, n in ((f"{beta}tmp, 300", 300), (f"{beta}tmp", 304), (f"{beta}300", 300), (f"{beta}"[:-2] or "", 304)):
            yield f"{name}<{c}>(d, x, y{', ' + form if form else ''});", TWO[name], n
    yield f"ReGlu<{c}>(d, x, y, tmp, 300);", TWO["ReGlu"], 300
    yield f"ReGlu(d, x, y, 33);", TWO["ReGlu"], 33


@pytest.mark.parametrize("t", ["float32", "float16"])
def test_values(t):
    p, todo = Program(tmp=8192), list(calls(t))
    x, y, kept = data(t), data(t, seed=1)[::-1].copy(), np.full(304, 7, t)
    for text, _, _ in todo:
        p.call(text, {"x": x, "y": y, "d": kept}, {"d": "d"})
    in_place = [name for name in ("Gelu", "FasterGelu", "FasterGeluV2")]
    for name in in_place:
        p.call(f"{name}<{CPP[t]}>(x, x, 300);", {"x": x}, {"d": "x"})
    run, got = p.run()
    assert not [f.message for f in run.findings if f.severity != "note"]
    with np.errstate(all="ignore"):
        pad = lambda v: np.append(v, np.zeros(4, t)).astype(np.float64)
        for g, (text, f, n) in zip(got, todo):
            want = (f(pad(x)) if f.__code__.co_argcount == 1 else f(pad(x), pad(y)))[:n].astype(t).astype(np.float64)
            np.testing.assert_allclose(g["d"][:n].astype(np.float64), want, err_msg=text, **TOL[t])
            np.testing.assert_array_equal(g["d"][n:], 7, err_msg=f"{text}: elements behind the count keep their value")
        for g, name in zip(got[len(todo):], in_place):
            np.testing.assert_allclose(g["d"][:300].astype(np.float64), ONE[name](x.astype(np.float64)).astype(t).astype(np.float64), **TOL[t])


def test_bfloat16_and_nothing():
    p = Program(tmp=8192)
    x, y = data(ml_dtypes.bfloat16), data(ml_dtypes.bfloat16, seed=1)[::-1].copy()
    p.call("ReGlu<bfloat16_t>(d, x, y, tmp, 300);", {"x": x, "y": y}, {"d": (ml_dtypes.bfloat16, 300)})
    p.call("Sigmoid<float>(d, x, tmp, 0);", {"x": data("float32"), "d": np.full(304, 7, np.float32)}, {"d": "d"})
    run, got = p.run()
    assert not [f.message for f in run.findings if f.severity != "note"]
    with np.errstate(all="ignore"):
        want = TWO["ReGlu"](x.astype(np.float64), y.astype(np.float64)).astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(got[0]["d"].astype(np.float64), want)
    np.testing.assert_array_equal(got[1]["d"], 7)


def test_swiglu_worked_number():
    p = Program(tmp=8192)
    p.call("SwiGLU<float>(d, x, y, 1.0f, tmp, 8);", {"x": np.full(8, -4, np.float32), "y": np.full(8, 0.5, np.float32)}, {"d": ("float32", 8)})
    p.call("Swish<float>(d, x, 8, 1.702f); FasterGelu<float>(e, x, tmp, 8);", {"x": np.full(8, 0.8, np.float32)}, {"d": ("float32", 8), "e": ("float32", 8)})
    _, got = p.run()
    np.testing.assert_allclose(got[0]["d"], -1.2449, atol=1e-4)
    np.testing.assert_allclose(got[1]["d"], got[1]["e"], rtol=1e-6)


SETUP = """
    auto x = arena.GetWithOffset<float>(1024, 0), y = arena.GetWithOffset<float>(1024, 4096), d = arena.GetWithOffset<float>(1024, 8192), never = arena.GetWithOffset<float>(1024, 12288);
    auto h = arena.GetWithOffset<half>(1024, 16384), hd = arena.GetWithOffset<half>(1024, 20480);
    auto tmp = arena.GetWithOffset<uint8_t>(32768, 32768);
    auto l1 = elsewhere.Get<float>();
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)in);
    Duplicate(x, 1.0f, 1024); Duplicate(y, 1.0f, 1024); Duplicate(h, (half)1.0f, 1024); Duplicate(d, 1.0f, 1024);
"""


def test_checks():
    Faults(SETUP, [
        ("Sigmoid(d, x, tmp, 1024);", None),
        ("Sigmoid(d, x, 1000);", None),
        ("Sigmoid(d, x, tmp, 1025);", "error OUT_OF_BOUNDS", "calCount 1025 exceeds tensor size 1024"),
        ("Gelu(d, x, tmp, (uint32_t)-1);", "error OUT_OF_BOUNDS", "dataSize 4294967295 exceeds tensor size 1024"),
        ("Sigmoid(d, l1, tmp, 8);", "error WRONG_POSITION", "operand must be a UB tensor (VECIN/VECCALC/VECOUT)"),
        ("Sigmoid(d[1], x, tmp, 8);", "error MISALIGNED", "start address of dst is not 32-byte aligned", "offset the tensor by a multiple of 32 bytes"),
        ("Sigmoid(d, x, tmp[32], 8);", None),
        ("Sigmoid(d, x, tmp[8], 8);", "error MISALIGNED", "sharedTmpBuffer"),
        ("Sigmoid(d, x, tmp[32768 - 224], 8);", "error OUT_OF_BOUNDS", "sharedTmpBuffer has 224 bytes, needs at least 256", "GetSigmoidMaxMinTmpSize"),
        ("Sigmoid(d, x, tmp[32768 - 256], 8);", None),
        ("Gelu(d, x, tmp[32768 - 736], 8);", "error OUT_OF_BOUNDS", "needs at least 768"),
        ("SwiGLU(d, x, y, 1.0f, tmp[32736], 8);", None),
        ("SwiGLU(hd, h, h, 1.0f, tmp[32736], 8);", "error OUT_OF_BOUNDS", "needs at least 1536"),
        ("Sigmoid(d, x, d.ReinterpretCast<uint8_t>(), 8);", "error OVERLAP", "sharedTmpBuffer overlaps dst"),
        ("Sigmoid(x, x, tmp, 1024);", "warning OVERLAP", "source and destination overlap", "use separate buffers"),
        ("Silu(x[8], x, 100);", "error OVERLAP", "source and destination overlap"),
        ("Silu(x[128], x, 128);", None),
        ("Gelu(x, x, tmp, 1024);", None),
        ("Gelu(x[8], x, tmp, 100);", "error OVERLAP"),
        ("SwiGLU(y, x, y, 1.0f, tmp, 64);", "warning OVERLAP"),
        ("SwiGLU(d, x, x, 1.0f, tmp, 64);", None),
        ("Silu(d, never, 64);", None),
        ("Silu(d, never, 64); PipeBarrier<PIPE_ALL>(); DataCopy(g, d, 64);", "error UNINITIALISED_READ"),
        ("Silu(d, x, 64); PipeBarrier<PIPE_ALL>(); DataCopy(g, d, 1024);", None),
        ("Gelu(d, x, tmp, 64); Adds(d, tmp.ReinterpretCast<float>(), 1.0f, 64); PipeBarrier<PIPE_ALL>(); DataCopy(g, d, 64);", "error UNINITIALISED_READ"),
        ("Gelu(d, x, tmp, 64); PipeBarrier<PIPE_V>(); DataCopy(g, d, 64);", "error MISSING_SYNC"),
        ("pipe.InitBuffer(rest, 65536 - 512); Gelu(d, x, 64);", "error UB_OVERFLOW", "only 512 bytes of UB are unallocated, needs 768 for its own workspace", "leave room or pass sharedTmpBuffer"),
        ("pipe.InitBuffer(rest, 65536 - 768); Gelu(d, x, 64);", None),
        ("pipe.InitBuffer(rest, 65536); Silu(d, x, 64); SwiGLU(d, x, y, 1.0f, 64);", None),
        ("SetMaskCount(); Sigmoid(d, x, tmp, 64); uint64_t full[2] = {~0ull, 0}; Adds(d, d, 1.0f, full, 1, {1, 1, 8, 8});", None),
        ("SetVectorMask<float>(0, 15); Sigmoid(d, x, tmp, 64); Adds<float, false>(d, d, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});", "warning BAD_PARAMETER"),
    ]).check_all()


def test_wrong_types():
    for call, text in (("Sigmoid(x, x)", "Sigmoid: this element type is not supported on Atlas A2 (supported: half, float)"), ("ReGlu(x, x, x, 8)", "ReGlu: this element type")):
        with pytest.raises(hp.CompileError) as e:
            hp.compile(f'#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR a) {{ LocalTensor<int32_t> x; {call}; }}')
        assert text in str(e.value)


def test_cost_grows_with_the_work():
    p, q = Program(tmp=8192), Program(tmp=8192)
    x = np.ones(4096, np.float32)
    p.call("Gelu<float>(d, x, tmp, 4096);", {"x": x}, {"d": ("float32", 4096)})
    q.call("FasterGelu<float>(d, x, tmp, 64);", {"x": x, "d": x}, {"d": "d"})
    long, short = (next(e for e in r.events if r.ops[e["op"]].endswith("Gelu")) for r in (p.run()[0], q.run()[0]))
    assert long["end"] - long["start"] > short["end"] - short["start"] > 0
    assert long["elements"] == 4096


def test_host_sizes():
    """F copies of the input, at least F * 256 B; the Gelu family at least 768 B."""
    size = hp.host.tmp_size
    assert size("Gelu", (8, 1024), "float16") == (768, 6 * 8192 * 2)
    assert size("Gelu", 16, "float32") == (768, 768)
    assert size("FasterGelu", (8, 1024), "float32") == (768, 3 * 8192 * 4)
    assert size("SwiGLU", 4096, "float16") == (1536, 6 * 4096 * 2)
    assert size("SwiGLU", 4096, "float32") == (0, 0)
    assert size("GeGLU", 4096, "float16") == (1024, 4 * 4096 * 2)
    assert size("ReGlu", 4096, "float32") == (256, 256)
    assert size("ReGlu", 4096, "bfloat16") == (1536, 6 * 4096 * 2)
    assert size("Silu", 4096, "float16") == size("Swish", 4096, "float32") == (0, 0)
    assert size("Sigmoid", 64, "float16").min == 256
    with pytest.raises(hp.host.HostError, match="takes no tiling struct"):
        hp.host.tiling("Gelu", 64, "float16")
    with pytest.raises(hp.host.HostError, match="int32 is not supported"):
        size("Gelu", 64, "int32")


def test_host_functions_in_cpp(tmp_path):
    """The C++ host functions and the Python ones are the same arithmetic."""
    source = r"""
#include <cstdio>
#include <vector>
#include "tiling/tiling_api.h"
using namespace AscendC;
int main() {
    uint32_t a = 0, b = 0;
    std::vector<int64_t> dims{8, 1024};
    ge::Shape shape(dims);
    GetGeluMaxMinTmpSize(shape, 2, a, b); std::printf("%u %u\n", b, a);
    GetSwiGLUMaxMinTmpSize(shape, 2, a, b, false); std::printf("%u %u\n", b, a);
    GetSigmoidMaxMinTmpSize(shape, 4, false, a, b); std::printf("%u %u\n", b, a);
    GetGeGLUTmpBufferFactorSize(2, a, b); std::printf("%u %u\n", a, b);
    std::printf("%u %u\n", GetSoftMaxMinTmpSize(shape, 4, false), GetSoftMaxMaxTmpSize(shape, 4, false));
    std::printf("%u\n", GetSoftMaxFlashV2MinTmpSize(shape, 2, 4, true));
    optiling::SoftMaxTiling t;
    SoftMaxFlashV2TilingFunc(shape, 2, 4, 40000, t, true);
    std::printf("%u %u %u %d\n", t.get_splitM(), t.rangeM, t.get_tailM(), IsBasicBlockInSoftMax(t));
    RmsNormTiling r;
    const bool fine = GetRmsNormTilingInfo(ge::Shape({2, 4, 64}), ge::Shape({2, 4, 60}), 4096, 4, r), poor = GetRmsNormTilingInfo({2, 4, 64}, {2, 4, 60}, 100, 4, r);
    std::printf("%d %d %u %g\n", fine, poor, r.originalHLength, r.reciprocalOfHLength);
    LayerNormTiling l{};
    GetLayerNormMaxMinTmpSize({2, 4, 64, 64}, 4, false, a, b); std::printf("%u %u\n", b, a);
    GetLayerNormNDTilingInfo({2, 4, 64, 64}, b, 4, false, l);
    std::printf("%u %u\n", l.hLength, l.loopRound);
    uint64_t ub = 0;
    platform_ascendc::PlatformAscendC().GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
    std::printf("%d %llu\n", int(ge::DT_FLOAT16), (unsigned long long)ub);
}
"""
    (tmp_path / "host.cpp").write_text(source)
    done = compiler.find().run(["-std=c++17", "-Wall", "-Wextra", "-Werror", *runtime.include_flags(), tmp_path / "host.cpp", "-o", tmp_path / "host"])
    assert not done.returncode, done.stdout
    lines = subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=True).stdout.splitlines()
    size = hp.host.tmp_size
    flash = hp.host.tiling("SoftmaxFlashV2", (8, 1024), "float16", 40000, stat_dtype="float32", update=True)
    norm = hp.host.tiling("LayerNorm", (2, 4, 64), "float32", size("LayerNorm", (2, 4, 64), "float32").min)
    assert lines == ["%d %d" % size("Gelu", (8, 1024), "float16"), "%d %d" % size("SwiGLU", (8, 1024), "float16"), "%d %d" % size("Sigmoid", (8, 1024), "float32"), "4 0",
                     "%d %d" % size("SoftMax", (8, 1024), "float32"), "%d" % size("SoftmaxFlashV2", (8, 1024), "float16", stat_dtype="float32", update=True).min,
                     f"{flash.splitM} {flash.rangeM} {flash.tailM} 0", "1 0 60 0.0166667", "%d %d" % size("LayerNorm", (2, 4, 64), "float32"), f"64 {norm.loopRound}", "1 196608"]
