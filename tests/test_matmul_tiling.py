"""Host tiling of matrix multiplication: it fits the chip, covers the matrix, and says why when it cannot; C++ and Python agree."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import helpers as hp
from helpers import host

SIZE = {"float16": 2, "bfloat16": 2, "float32": 4, "int8": 1}


def up(a, b):
    return -(-a // b) * b


def multi(m, n, k, dim, dtype="float16", trans_a=False, trans_b=False, bias=False, chip="Ascend910B1"):
    t = host.MultiCoreMatmulTiling(chip)
    t.SetDim(dim)
    t.SetAType("GM", "ND", dtype, trans_a)
    t.SetBType("GM", "ND", dtype, trans_b)
    t.SetCType("GM", "ND", "int32" if dtype == "int8" else "float32")
    t.SetBiasType("GM", "ND", "int32" if dtype == "int8" else "float32")
    t.SetShape(m, n, k)
    t.SetOrgShape(m, n, k)
    t.EnableBias(bias)
    return t


def assert_legal(t, dtype, bias):
    """The rules of the device, one by one."""
    e = SIZE[dtype]
    assert t.baseM % 16 == t.baseN % 16 == 0 and t.baseK % (32 // e) == 0
    assert t.baseM * t.baseK * e * t.dbL0A <= 65536 and t.baseN * t.baseK * e * t.dbL0B <= 65536 and t.baseM * t.baseN * 4 * t.dbL0C <= 131072
    assert t.depthA1 in (t.stepM * t.stepKa, 2 * t.stepM * t.stepKa) and t.depthB1 in (t.stepN * t.stepKb, 2 * t.stepN * t.stepKb)
    assert t.baseM * t.baseK * t.depthA1 * e + t.baseN * t.baseK * t.depthB1 * e + (t.baseN * 4 if bias else 0) <= 524288 - 128
    if bias:
        assert t.baseN * 4 <= 1024
    ka, kb = up(t.singleCoreK, t.baseK * t.stepKa) // (t.baseK * t.stepKa), up(t.singleCoreK, t.baseK * t.stepKb) // (t.baseK * t.stepKb)
    assert max(ka, kb) % min(ka, kb) == 0
    assert {t.batchM, t.batchN, t.singleBatchM, t.singleBatchN} == {1} and t.isBias == bias and t.transLength == 0


SHAPES = [(1, 1, 1), (16, 16, 16), (17, 33, 65), (1000, 1536, 768), (300, 520, 200), (1024, 1024, 1024), (128, 30720, 1024), (30720, 64, 64), (5, 7, 100_000), (8192, 8192, 8192), (97, 4099, 1031)]


@pytest.mark.parametrize("dtype", SIZE)
def test_every_tiling_fits_and_covers(dtype):
    for (m, n, k), dim, (ta, tb), bias in itertools.product(SHAPES, (1, 5, 24, 48), ((False, False), (True, True)), (False, True)):
        t = multi(m, n, k, dim, dtype, ta, tb, bias)
        made = t.GetTiling()
        assert_legal(made, dtype, bias)
        sm, sn, sk = t.GetSingleShape()
        cores, md, nd = t.GetCoreNum()
        assert (made.M, made.N, made.Ka, made.Kb) == (m, n, k, k) and sk == k
        assert md == up(m, sm) // sm and nd == up(n, sn) // sn and cores == md * nd == made.usedCoreNum <= dim
        assert (t.GetBaseM(), t.GetBaseN(), t.GetBaseK()) == (made.baseM, made.baseN, made.baseK)


def test_worked_examples():
    """Hand values: 1000 x 1536 over 24 cores is 4 x 6 blocks of 256 x 256; 300 x 520 is 4 x 6 blocks of 80 x 96."""
    a = multi(1000, 1536, 768, 24).GetTiling()
    assert (a.singleCoreM, a.singleCoreN, a.usedCoreNum, a.baseM, a.baseN, a.baseK, a.dbL0C) == (256, 256, 24, 128, 256, 64, 1)
    b = multi(300, 520, 200, 24).GetTiling()
    assert (b.singleCoreM, b.singleCoreN, b.baseM, b.baseN, b.baseK, b.stepKa, b.depthA1, b.dbL0C) == (80, 96, 80, 96, 160, 2, 4, 2)


def test_what_several_tiles_use_stays_in_l1():
    """All K of A, 128 x 1024 half, lies in L1 while the columns of B run past."""
    t = multi(128, 30720, 1024, 24).GetTiling()
    assert t.depthA1 * t.baseK == 1024
    t = multi(128, 30720, 1024, 24)
    t.SetMatmulConfigParams(0)                                    # the Norm template keeps no packages
    assert t.GetTiling().depthA1 * 64 < 1024


def test_a_fixed_split_comes_back_unchanged():
    for base in ((64, 64, 64), (128, 256, 64), (16, 16, 16), (256, 128, 32)):
        t = host.matmul_tiling(1024, 1024, 1024, base=base)
        assert (t.baseM, t.baseN, t.baseK) == base
    t = multi(256, 512, 64, 8)
    t.SetSingleShape(128, 128)
    assert t.GetTiling().usedCoreNum == 8 and t.GetSingleShape() == (128, 128, 64)
    t.SetTraverse("FIRSTN")
    assert t.GetTiling().iterateOrder == 1
    t.SetTraverse("FIRSTM")
    assert t.GetTiling().iterateOrder == 0
    one = host.matmul_tiling(128, 256, 128, base=(128, 128, 128), dtype="float32")      # two buffers of 64 KB do not fit L0A: one does
    assert (one.dbL0A, one.dbL0B) == (1, 1)


def test_split_k_and_ranges():
    t = multi(64, 64, 4096, 8)
    t.EnableMultiCoreSplitK()
    made = t.GetTiling()
    assert made.singleCoreK < 4096 and made.usedCoreNum * made.singleCoreK >= 4096
    t.EnableBias()
    with pytest.raises(host.HostError, match="every part of K would add it"):
        t.GetTiling()
    t = multi(1024, 1024, 64, 24)
    t.SetSingleRange(maxM=128, maxN=1024, minN=256)
    t.GetTiling()
    assert t.GetSingleShape()[0] <= 128 and t.GetSingleShape()[1] >= 256
    t.SetAlignSplit(64, 64, -1)
    t.GetTiling()
    assert t.GetSingleShape()[0] % 64 == t.GetSingleShape()[1] % 64 == 0


@pytest.mark.parametrize("change, message", [
    (lambda t: t.SetFixSplit(256, 256, 64), "256 x baseN=256 needs 262144 B of L0C, which has 131072 B"),
    (lambda t: t.SetFixSplit(128, 128, 512), "baseM=128 x baseK=512 needs 131072 B of L0A, which has 65536 B"),
    (lambda t: t.SetFixSplit(16, 512, 128), "baseK=128 x baseN=512 needs 131072 B of L0B"),
    (lambda t: t.SetFixSplit(40, 128, 64), "multiples of 16"),
    (lambda t: t.SetFixSplit(2048, 16, 16), "more than the 1024 rows"),
    (lambda t: t.SetFixSplit(128, 128, 24), "baseK=24 must be a multiple of 16"),
    (lambda t: (t.SetFixSplit(16, 512, 16), t.EnableBias()), "bias of baseN=512 columns needs 2048 B of the bias table"),
    (lambda t: t.SetBufferSpace(l1=4096), "do not fit L1"),
    (lambda t: t.SetShape(2048, 16, 16), "larger than SetOrgShape"),
    (lambda t: t.SetSingleShape(16, 16), "need more cores, see SetDim"),
])
def test_why_nothing_fits(change, message):
    t = multi(1024, 1024, 1024, 1)
    change(t)
    with pytest.raises(host.HostError, match=message):
        t.GetTiling()


def test_what_is_missing_is_named():
    t = host.MatmulApiTiling()
    with pytest.raises(host.HostError, match="SetAType, SetBType and SetCType"):
        t.GetTiling()
    with pytest.raises(host.HostError, match="call GetTiling"):
        t.GetBaseM()
    with pytest.raises(host.HostError, match="positions are"):
        t.SetAType("UB", "ND", "half")
    with pytest.raises(host.HostError, match="no type of a matrix"):
        t.SetAType("GM", "ND", "float64")
    with pytest.raises(host.HostError, match="whole number"):
        t.SetShape(1.5, 2, 3)
    with pytest.raises(host.HostError, match="none of NOSET"):
        t.SetTraverse("M")
    for which in (t.SetAType, t.SetBType, t.SetCType):
        which("GM", "ND", "half")
    with pytest.raises(host.HostError, match="shape is not complete"):
        t.GetTiling()


def test_batches():
    t = host.BatchMatmulTiling()
    for which in (t.SetAType, t.SetBType, t.SetCType):
        which("GM", "ND", "half")
    t.SetBatchInfoForNormal(4, 2, 32, 48, 64)
    t.SetBatchNum(4)
    made = t.GetTiling()
    assert (made.ALayoutInfoB, made.ALayoutInfoS, made.ALayoutInfoD) == (4, 32, 64) and (made.BLayoutInfoB, made.CLayoutInfoB, made.CLayoutInfoS2, made.BatchNum) == (2, 4, 48, 4)
    assert (made.singleCoreM, made.singleCoreN, made.singleCoreK) == (32, 48, 64) and t.GetCoreNum()[0] == 1
    t.SetALayout(2, 32, 1, 2, 64)
    t.SetBLayout(2, 48, 1, 2, 64)
    t.SetCLayout(2, 32, 1, 2, 48)
    assert t.GetTiling().ALayoutInfoG == 2


CPP = """#include "kernel_operator.h"
#include "tiling/tiling_api.h"
#include "lib/matmul/matmul_tiling.h"
#include "lib/matmul/bmm_tiling.h"
using namespace AscendC;
using namespace matmul_tiling;
constexpr auto FP16 = matmul_tiling::DataType::DT_FLOAT16;
extern "C" __global__ __aicore__ void tilings(GM_ADDR y) {
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer((__gm__ int32_t*)y);
    uint32_t at = 0;
    auto put = [&](int32_t v) { out.SetValue(at++, v); };
    auto all = [&](const optiling::TCubeTiling& t) { for (uint32_t i = 0; i < sizeof(t) / 4; i++) put(((const int32_t*)&t)[i]); };
    auto* chip = platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B3");
    optiling::TCubeTiling tiling;
    MultiCoreMatmulTiling many(*chip);
    many.SetDim(chip->GetCoreNumAic());
    many.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16, false);
    many.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16, true);
    many.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    many.SetBiasType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, matmul_tiling::DataType::DT_FLOAT);
    many.SetOrgShape(1000, 1536, 768);
    many.SetShape(1000, 1536, 768);
    many.SetBias(true);
    many.SetTraverse(MatrixTraverse::FIRSTM);
    many.SetBufferSpace(-1, -1, -1);
    many.SetMadType(MatrixMadType::NORMAL);
    many.SetDequantType(DequantType::SCALAR);
    put(many.GetTiling(tiling));
    all(tiling);
    int32_t dim, m, n, k, bm, bn;
    many.GetCoreNum(dim, m, n);
    put(dim), put(m), put(n);
    many.GetSingleShape(m, n, k);
    put(m), put(n), put(k), put(many.GetBaseM()), put(many.GetBaseN()), put(many.GetBaseK());
    SysTilingTempBufSize size;
    put(MultiCoreMatmulGetTmpBufSize(tiling, size) + MultiCoreMatmulGetTmpBufSizeV2(tiling, size)), put(size.l1Size), put(size.l0cSize);
    put(MatmulGetTmpBufSize(tiling, size) + MatmulGetTmpBufSizeV2(tiling, size));
    MatmulApiTiling one;
    put(one.GetTiling(tiling));                              // nothing is set: -1
    BatchMatmulTiling batch(*chip);
    batch.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    batch.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    batch.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    batch.SetBatchInfoForNormal(4, 2, 32, 48, 64);
    batch.SetBatchNum(4);
    put(batch.GetTiling(tiling)), put(BatchMatmulGetTmpBufSize(tiling, size) + BatchMatmulGetTmpBufSizeV2(tiling, size));
    batch.GetCoreNum(dim, m, n, bm, bn);
    put(dim), put(tiling.get_BatchNum()), put((int32_t)tiling.GetDataSize());
    MatmulApiTiling small(PlatformInfo{platform_ascendc::SocVersion::ASCEND910B, 65536});      // a chip given by hand: 64 KB of L1
    small.SetMatmulConfigParams(MatmulConfigParams{0});
    small.SetAType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    small.SetBType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    small.SetCType(matmul_tiling::TPosition::GM, matmul_tiling::CubeFormat::ND, FP16);
    small.SetShape(1024, 1024, 1024);
    put(small.GetTiling(tiling)), put(tiling.shareL1Size <= 65536 - 128);
    uint64_t ub = 0;
    chip->GetCoreMemSize(platform_ascendc::CoreMemType::L0_C, ub);
    put((int32_t)ub), put((int32_t)chip->GetCoreNumAiv()), put((int32_t)chip->GetLibApiWorkSpaceSize()), put((int32_t)chip->CalcTschBlockDim(10, 20, 40));
    for (auto& soc : platform_ascendc::kSocs) put((int32_t)soc.aic), put((int32_t)soc.aiv), put((int32_t)soc.l2_mib);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(out);
}
"""


def test_cpp_and_python_agree():
    y = np.full(400, -7, np.int32)
    hp.compile(CPP)[1](y)
    values = iter(y.tolist())
    take = lambda n: [next(values) for _ in range(n)]
    t = multi(1000, 1536, 768, 20, "float16", False, True, True, "Ascend910B3")
    t.SetTraverse("FIRSTM")
    made = t.GetTiling()
    assert take(1) == [0] and take(50) == np.frombuffer(bytes(made), np.int32).tolist()
    assert take(3) == list(t.GetCoreNum()) and take(3) == list(t.GetSingleShape()) and take(3) == [made.baseM, made.baseN, made.baseK]
    assert take(4) == [0, made.shareL1Size, made.shareL0CSize, 0] and take(1) == [-1]
    assert take(2) == [0, 0] and take(3) == [1, 4, 200] and take(2) == [0, 1]
    assert take(4) == [131072, 40, 16 << 20, 5]
    for name in ("Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_93", "Ascend310P3"):
        chip = hp.chip(name)
        assert take(3) == [chip.aic_cores, chip.aiv_cores, chip.l2_bytes >> 20], name


def test_the_struct_has_its_fields_in_order():
    cls = hp.tiling_struct('#include "kernel_operator.h"\nstruct Mine { TCubeTiling cube; uint32_t extra; };', "Mine")
    assert cls.nbytes == 204
    mine = cls(cube=host.matmul_tiling(64, 64, 64), extra=3)
    assert mine.cube.M == 64 and [f.name for f in type(mine.cube).fields][:3] == ["usedCoreNum", "M", "N"] and len(type(mine.cube).fields) == 50
