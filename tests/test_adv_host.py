"""Workspace sizes of mathematics, reductions, transforms: C++ host functions and Python agree, and kernels accept the least."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from helpers import host
from adv_kernels import complaints, run

ONE = ["Tanh", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Erfc", "Lgamma", "Digamma", "Log", "Log2", "Log10", "Exp",
       "Ceil", "Floor", "Trunc", "Frac", "Sign", "Fmod", "Axpy", "Clamp"]

TEXT = """#include "kernel_operator.h"
#include "tiling/tiling_api.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void sizes(GM_ADDR y) {
    GlobalTensor<uint32_t> out;
    out.SetGlobalBuffer((__gm__ uint32_t*)y);
    uint32_t most = 0, least = 0, live = 0, extra = 0, at = 0;
    platform_ascendc::PlatformAscendC chip;
    ge::Shape shape({10, 100});
    auto put = [&] { out.SetValue(at++, most); out.SetValue(at++, least); };
    BODY
    GetPowerMaxMinTmpSize(shape, ge::Shape({1}), true, 4, false, most, least); put();
    GetRoundMaxMinTmpSize(chip, shape, 2, false, most, least); put();
    GetCumSumMaxMinTmpSize(shape, 4, true, false, most, least); put();
    GetSumMaxMinTmpSize(1000, 2, false, most, least); put();
    GetMeanMaxMinTmpSize(1000, 2, 4, false, most, least); put();
    GetBroadCastMaxMinTmpSize(chip, ge::Shape({10, 1}), shape, 2, false, most, least); put();
    GetTopKMaxMinTmpSize(chip, 64, 3, false, false, TopKMode::TOPK_NORMAL, true, 4, most, least); put();
    GetReduceMaxMaxMinTmpSize(shape, ge::DT_FLOAT16, ReducePattern::AR, true, false, most, least); put();
    GetTransposeMaxMinTmpSize(ge::Shape({1, 2, 16, 16}), 2, 1, most, least); put();
    GetSelectWithBytesMaskMaxMinTmpSize(shape, ge::Shape({1}), 2, ge::Shape({10, 128}), 1, false, most, least); put();
    GetPowerTmpBufferFactorSize(true, true, false, 2, most, least); put();
    DataCacheCleanAndInvalid<uint32_t, CacheLine::ENTIRE_DATA_CACHE>(out);
}
"""


def test_cpp_and_python_agree():
    body = "".join(f"Get{api}MaxMinTmpSize(shape, 2, false, most, least); put(); Get{api}MaxMinTmpSize(shape, 4, true, most, least); put();" for api in ONE)
    y = np.zeros(2 * (2 * len(ONE) + 11) + 10, np.uint32)
    hp.compile(TEXT.replace("BODY", body))[1](y)
    pairs = [host.TmpSize(int(least), int(most)) for most, least in y[: 2 * (2 * len(ONE) + 11)].reshape(-1, 2)]
    want = []
    for api in ONE:
        name = "ClampMax" if api == "Clamp" else api
        want += [host.tmp_size(name, (10, 100), "float16"), host.tmp_size(name, (10, 100), "float32", reuse=True)]
    want += [host.tmp_size("Power", 1000, "int32", number=True), host.tmp_size("Round", 1000, "float16"), host.tmp_size("CumSum", (10, 100), "float32"),
             host.tmp_size("Sum", 1000, "float16"), host.tmp_size("Mean", 1000, "float16", acc_dtype="float32"), host.tmp_size("BroadCast", (10, 100), "float16", axis=1),
             host.tmp_size("TopK", (3, 64), "float32"), host.TmpSize(2240, 2240), host.TmpSize(1024, 1024), host.TmpSize(200 + 512 + 128, 10 * 840), host.TmpSize(256, 14)]
    assert pairs == want
    # the published factors: copies of the input, and at least 256 bytes of each
    assert want[0] == (4 * 256, 4 * 1000 * 2) and want[1] == (256, 4000)


def test_the_least_is_enough():
    x = np.full((len(ONE) - 2, 64), 0.5, np.float16)
    calls = []
    for api in ONE[:-2]:
        least = host.tmp_size(api, 64, "float16").min
        head = f"LocalTensor<uint8_t> few = bufs[4].Get<uint8_t>({least}); " if least else ""
        tmp = "few, " if least else ""
        calls.append(head + (f"Exp<half, 12>(d, s, {tmp}n);" if api == "Exp" else f"Fmod(d, s, b, {tmp}n);" if api == "Fmod" else f"{api}(d, s, {tmp}n);"))
    _, r = run("half", calls, np.where(x == 0.5, 0.5, x), np.full_like(x, 0.3))
    assert [c for c in complaints(r) if "NUMERIC" not in c] == []          # Acosh(0.5) is outside, and says so


def test_wrong_arguments_are_named():
    with pytest.raises(host.HostError, match="int64"):
        host.tmp_size("Tanh", 64, "int64")
    with pytest.raises(host.HostError, match="acc_dtype|no option"):
        host.tmp_size("Sum", 64, "float16", acc_dtype="float32")
    with pytest.raises(host.HostError, match="axis 2"):
        host.tmp_size("BroadCast", (4, 8), "float16", axis=2)
