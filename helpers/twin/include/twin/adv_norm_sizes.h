// Workspace and tiling of the normalisations: one place for kernel, host and Python.
// The vendor's figures are not published: these only have to agree on both sides.
#pragma once
#include "twin/adv_activation_sizes.h"
#include "twin/adv_norm_structs.h"

namespace twin {

enum class Norm : uint8_t { Rms, Layer, LayerAR, LayerGrad, LayerGradBeta, Batch, Deep, Group, Normalize, WelfordUpdate, WelfordFinalize, N };

// rows x h is what lies in UB; valid <= h elements of a row count. BatchNorm: rows = B, h = S*H. GroupNorm: rows = groups of all images.
struct NormShape { uint64_t rows = 0, h = 0, valid = 0; };

constexpr uint64_t align8(uint64_t n) { return (n + 7) / 8 * 8; }
// Floats of workspace per element that is worked on at a time, and those needed once.
constexpr uint32_t norm_copies(Norm n, uint32_t type_size, bool reuse) {
    switch (n) {
        case Norm::Rms: return type_size == 2 ? 2 : 1;
        case Norm::LayerGrad: return 7;
        case Norm::LayerGradBeta: return type_size == 2 ? 4 : 2;
        case Norm::Deep: return 4;
        case Norm::Normalize: return 2;
        default: return type_size == 4 && reuse ? 2 : 3;
    }
}
constexpr uint64_t norm_fixed(Norm n, const NormShape& s, bool least) {
    switch (n) {
        case Norm::Rms: return least ? 16 : align8(s.rows);
        case Norm::LayerGradBeta: return 0;
        case Norm::Batch: return 2 * s.h;
        default: return 16 + 2 * align8(s.rows);
    }
}
constexpr TmpSize norm_tmp(Norm n, const NormShape& s, uint32_t type_size, bool reuse) {
    if (n == Norm::WelfordUpdate || n == Norm::WelfordFinalize) {
        const uint32_t least = 256 + (type_size == 2 ? 512 : 0), most = static_cast<uint32_t>(12 * s.h);
        return {most > least ? most : least, least};
    }
    const uint64_t copies = norm_copies(n, type_size, reuse), piece = n == Norm::Batch ? 8 * s.rows : s.h;
    const uint64_t least = 4 * (copies * piece + norm_fixed(n, s, true)), most = 4 * (copies * s.rows * s.h + norm_fixed(n, s, false));
    return {static_cast<uint32_t>(most > least ? most : least), static_cast<uint32_t>(least)};
}
// The promise of isBasicBlock.
constexpr bool norm_basic_block(Norm n, const NormShape& s) {
    if (n == Norm::Batch) return s.rows % 8 == 0 && s.h % 64 == 0 && s.h < 2048;
    return s.h % 64 == 0 && (n == Norm::Deep ? s.h <= 2040 : s.h < 2048) && s.rows % 8 == 0 && s.h == s.valid;
}

// How many rows (BatchNorm: columns) a workspace holds at a time; 0 when it is too small.
constexpr uint64_t norm_pass(Norm n, const NormShape& s, uint32_t type_size, bool reuse, uint64_t bytes) {
    if (bytes < norm_tmp(n, s, type_size, reuse).least) return 0;
    const uint64_t unit = n == Norm::Batch ? s.rows : s.h, all = n == Norm::Batch ? s.h : s.rows, fixed = norm_fixed(n, s, true);
    const uint64_t fit = (bytes / 4 - fixed) / (norm_copies(n, type_size, reuse) * unit);
    return fit > all ? all : fit ? fit : 1;
}

// Fields that several structs have under the same names.
template <class Tiling> constexpr void norm_loops(Tiling& t, const NormShape& s, uint64_t pass) {
    const uint32_t one = static_cast<uint32_t>(pass * s.h);
    t.oneTmpSize = one; t.tmpBufSize = one; t.firstTmpStartPos = 0; t.secondTmpStartPos = one; t.thirdTmpStartPos = 2 * one;
    t.loopRound = static_cast<uint32_t>(s.rows / pass);
    t.inputTailSize = static_cast<uint32_t>(s.rows % pass * s.h); t.inputTailPos = static_cast<uint32_t>(s.rows / pass * pass * s.h);
    t.meanVarTailSize = static_cast<uint32_t>(s.rows % pass); t.meanVarTailPos = static_cast<uint32_t>(s.rows / pass * pass);
}
template <class Tiling> constexpr void norm_rounds(Tiling& t, const NormShape& s, uint64_t pass, uint32_t copies) {
    norm_loops(t, s, pass);
    t.inputXSize = static_cast<uint32_t>(s.rows * s.h); t.meanVarSize = static_cast<uint32_t>(s.rows); t.numberOfTmpBuf = copies;
    t.inputRoundSize = static_cast<uint32_t>(pass * s.h); t.meanVarRoundSize = static_cast<uint32_t>(pass);
    t.varianceTmpTensorPos = static_cast<uint32_t>(align8(s.rows)); t.varianceTmpTensorSize = static_cast<uint32_t>(s.rows);
}
// false: the workspace is too small; the struct stays empty.
constexpr bool norm_fill(RmsNormTiling& t, uint64_t b, uint64_t sl, const NormShape& s, uint32_t z, uint64_t bytes) {
    const uint64_t pass = norm_pass(Norm::Rms, s, z, false, bytes);
    if (!pass) return false;
    t.bLength = uint32_t(b); t.sLength = uint32_t(sl); t.hLength = uint32_t(s.h); t.originalHLength = uint32_t(s.valid);
    t.reciprocalOfHLength = 1.0f / static_cast<float>(s.valid);
    t.mainBshLength = uint32_t(pass * s.h); t.mainBsLength = uint32_t(pass); t.mainBsLengthAlign = uint32_t(align8(pass));
    t.loopRound = uint32_t(s.rows / pass); t.inputTailPos = uint32_t(s.rows / pass * pass * s.h);
    t.tailBsLength = uint32_t(s.rows % pass); t.tailBshLength = uint32_t(s.rows % pass * s.h);
    return true;
}
template <class Tiling> constexpr bool norm_fill_bsh(Norm n, Tiling& t, uint64_t b, uint64_t sl, const NormShape& s, uint32_t z, bool reuse, uint64_t bytes) {
    const uint64_t pass = norm_pass(n, s, z, reuse, bytes);
    if (!pass) return false;
    norm_rounds(t, s, pass, norm_copies(n, z, reuse));
    t.bLength = uint32_t(b); t.sLength = uint32_t(sl); t.hLength = uint32_t(s.h); t.originalHLength = uint32_t(s.valid);
    t.meanTmpTensorPos = 0; t.meanTmpTensorSize = uint32_t(s.rows);
    t.bshCurLength = uint32_t(pass * s.h); t.bsCurLength = uint32_t(pass); t.lastDimValueBack = 1.0f / static_cast<float>(s.valid);
    return true;
}
constexpr bool norm_fill(LayerNormSeparateTiling& t, const NormShape& s, uint32_t z, bool reuse, uint64_t bytes) {
    const uint64_t pass = norm_pass(Norm::LayerAR, s, z, reuse, bytes);
    if (!pass) return false;
    norm_rounds(t, s, pass, norm_copies(Norm::LayerAR, z, reuse));
    uint32_t head = 1;
    while (head * 2 <= s.valid) head *= 2;                  // the largest power of two: where the pairwise sum folds
    t.aLength = uint32_t(s.rows); t.rLength = uint32_t(s.valid); t.rHeadLength = head;
    for (uint32_t h = head; h > 64; h /= 2) ++t.halfAddRepeatTimes;
    t.k2Rec = 1.0f / static_cast<float>(head); t.k2RRec = static_cast<float>(head) / static_cast<float>(s.valid);
    t.arCurLength = uint32_t(pass * s.h); t.aCurLength = uint32_t(pass); t.rValueBack = 1.0f / static_cast<float>(s.valid);
    return true;
}
constexpr bool norm_fill(LayerNormGradTiling& t, uint64_t b, uint64_t sl, const NormShape& s, uint32_t z, uint64_t bytes) {
    const uint64_t pass = norm_pass(Norm::LayerGrad, s, z, false, bytes);
    if (!pass) return false;
    const uint32_t one = uint32_t(pass * s.h), row = uint32_t(align8(pass));
    t.stackBufferSize = uint32_t(bytes / 4); t.bLength = uint32_t(b); t.sLength = uint32_t(sl); t.hLength = uint32_t(s.h); t.originalHLength = uint32_t(s.valid);
    t.oneCalSize = one; t.nohCalSize = uint32_t(pass); t.loopNum = uint32_t(s.rows / pass);
    t.tailSize = uint32_t(s.rows % pass * s.h); t.nohTailSize = uint32_t(s.rows % pass);
    t.tmpTensorBSHPos = 0; t.tmpTensorBSHSize = one; t.pdVarTensorPos = 7 * one; t.pdVarTensorSize = row; t.pdMeanTensorPos = 7 * one + row; t.pdMeanTensorSize = row;
    t.x1TensorPos = one; t.x1TensorSize = one; t.x2TensorPos = 2 * one; t.x2TensorSize = one; t.x3TensorPos = 3 * one; t.x3TensorSize = one;
    t.tmpTensorPos = 4 * one; t.tmpTensorSize = one; t.tmpTensor1Pos = 5 * one; t.tmpTensor1Size = one; t.tmpTensor2Pos = 6 * one; t.tmpTensor2Size = one;
    t.lastDimValueBack = __builtin_bit_cast(uint32_t, 1.0f / static_cast<float>(s.valid)); t.lastDimValueBackMulTwo = __builtin_bit_cast(uint32_t, 2.0f / static_cast<float>(s.valid));
    return true;
}
constexpr bool norm_fill(LayerNormGradBetaTiling& t, uint64_t b, uint64_t sl, const NormShape& s, uint32_t z, uint64_t bytes) {
    const uint64_t pass = norm_pass(Norm::LayerGradBeta, s, z, false, bytes);
    if (!pass) return false;
    const uint32_t one = uint32_t(pass * s.h);
    t.stackBufferSize = uint32_t(bytes / 4); t.bLength = uint32_t(b); t.sLength = uint32_t(sl); t.hLength = uint32_t(s.h); t.originalHLength = uint32_t(s.valid);
    t.bshLength = uint32_t(s.rows * s.h); t.bsLength = uint32_t(s.rows); t.oneCalSize = one; t.numberOfTmpBuf = norm_copies(Norm::LayerGradBeta, z, false);
    t.loopRound = uint32_t(s.rows / pass); t.inputTailSize = uint32_t(s.rows % pass * s.h); t.inputTailPos = uint32_t(s.rows / pass * pass * s.h);
    t.bsTailSize = uint32_t(s.rows % pass); t.bshCurLength = one; t.bsCurLength = uint32_t(pass);
    t.gammaTempTensorPos = 0; t.betaTempTensorPos = one; t.inputDyTmpTensorPos = 2 * one; t.resForGammaTmpTensorPos = 3 * one;
    return true;
}
constexpr bool norm_fill(BatchNormTiling& t, const NormShape& s, uint64_t valid_b, uint32_t z, bool reuse, uint64_t bytes) {
    const uint64_t pass = norm_pass(Norm::Batch, s, z, reuse, bytes);
    if (!pass) return false;
    norm_loops(t, {s.h, s.rows, s.rows}, pass);             // here the columns are walked
    t.originalBLength = uint32_t(valid_b); t.meanVarSize = uint32_t(s.h); t.meanTmpTensorPos = 0; t.varianceTmpTensorPos = uint32_t(s.h);
    t.bshCurLength = uint32_t(pass * s.rows); t.shCurLength = uint32_t(pass); t.shCurLengthBlockNum = uint32_t((pass * 4 + 31) / 32);
    t.firstDimValueBack = 1.0f / static_cast<float>(valid_b); t.castHalfRepStride = uint32_t((s.h * 2 + 31) / 32); t.castHalfOutRepStride = uint32_t((s.h * 4 + 31) / 32);
    return true;
}
constexpr bool norm_fill(GroupNormTiling& t, uint64_t n, uint64_t c, uint64_t hw, uint64_t groups, uint32_t z, bool reuse, uint64_t bytes) {
    const NormShape s{n * groups, c / groups * hw, c / groups * hw};
    const uint64_t pass = norm_pass(Norm::Group, s, z, reuse, bytes);
    if (!pass) return false;
    norm_rounds(t, s, pass, norm_copies(Norm::Group, z, reuse));
    t.n = uint32_t(n); t.c = uint32_t(c); t.hw = uint32_t(hw); t.g = uint32_t(groups); t.d = uint32_t(c / groups);
    const uint64_t per_block = 32 / z;
    t.hwAlignSize = uint32_t((hw + per_block - 1) / per_block * per_block); t.dhwAlignSize = t.d * t.hwAlignSize;
    t.meanTmpTensorPos = 0; t.meanTmpTensorSize = uint32_t(s.rows); t.bshCurLength = uint32_t(pass * s.h); t.bsCurLength = uint32_t(pass);
    t.factor = 1.0f / static_cast<float>(s.h); t.smallShape = t.hwAlignSize <= 64;
    return true;
}

}  // namespace twin
