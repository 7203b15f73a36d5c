// Workspace and tiling of the softmax family. One place for kernel, host and Python.
// The vendor's figures are not published: these only have to agree on both sides. Everything here can be a constant expression.
#pragma once
#include "twin/adv_tiling.h"

namespace twin {

enum class SoftmaxKind : uint8_t { Plain, Simple, Flash, FlashV2, FlashV3, Grad, GradFront, Log };

// Copies of a row, in float, that the workspace holds.
constexpr uint32_t softmax_copies(SoftmaxKind kind, uint32_t src_size, uint32_t stat_size, bool update) {
    if (kind == SoftmaxKind::Grad || kind == SoftmaxKind::GradFront || kind == SoftmaxKind::FlashV3) return 3;
    const bool half_form = src_size == 2 || stat_size == 2;
    if (kind == SoftmaxKind::Flash || kind == SoftmaxKind::FlashV2) return half_form && update ? 4 : 2;
    return half_form ? 2 : 1;
}
constexpr uint32_t softmax_row_bytes(SoftmaxKind kind, uint64_t k, uint32_t src_size, uint32_t stat_size, bool update) {
    return static_cast<uint32_t>(4 * (softmax_copies(kind, src_size, stat_size, update) * k + 80));
}

// Rows that fit the workspace at a time; splitM stays 0 when not even one does.
constexpr void softmax_fill(SoftMaxTiling& t, uint32_t m, uint32_t k, uint32_t stat_size, uint32_t row_bytes, uint32_t workspace) {
    uint32_t split = workspace / row_bytes < m ? workspace / row_bytes : m;
    if (split >= 8) split = split / 8 * 8;
    t.srcM = m; t.srcK = k; t.srcSize = m * k;
    t.outMaxM = m; t.outMaxK = 32 / stat_size; t.outMaxSize = m * t.outMaxK;
    t.splitM = split; t.splitK = k; t.splitSize = split * k;
    t.reduceM = split; t.reduceK = t.outMaxK; t.reduceSize = split * t.reduceK;
    t.rangeM = split ? m / split : 0; t.tailM = split ? m % split : 0;
    t.tailSplitSize = t.tailM * k; t.tailReduceSize = t.tailM * t.reduceK;
}
constexpr SoftMaxTiling softmax_tiling(SoftmaxKind kind, uint32_t m, uint32_t k, uint32_t src_size, uint32_t stat_size, bool update, uint32_t workspace) {
    SoftMaxTiling t{};
    softmax_fill(t, m, k, stat_size, softmax_row_bytes(kind, k, src_size, stat_size, update), workspace);
    return t;
}
// The promise of isBasicBlock.
constexpr bool softmax_basic_block(uint64_t m, uint64_t k, uint32_t src_size) { return k % 64 == 0 && k >= 256 / src_size && k < 2048 && m % 8 == 0; }

}  // namespace twin

namespace AscendC {

// ---- SoftMaxShapeInfo
// srcM rows of srcK elements lie in UB; the first oriSrcM rows and oriSrcK columns are data.
struct SoftMaxShapeInfo { uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0; };

// ---- SoftMaxFlashV2TilingFunc
// tiling of SoftmaxFlashV2, made in the kernel
// limits: type sizes of src and of max/sum in bytes; may be a constant expression; approximates the vendor's figures
// pipe: S
constexpr SoftMaxTiling SoftMaxFlashV2TilingFunc(const SoftMaxShapeInfo& shapeInfo, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2,
                                                 const uint32_t localWorkSpaceSize, const bool isUpdate = false, const bool /*isBasicBlock*/ = false,
                                                 const bool /*isDataFormatNZ*/ = false, const bool /*isFlashOutputBrc*/ = false) {
    return twin::softmax_tiling(twin::SoftmaxKind::FlashV2, shapeInfo.srcM, shapeInfo.srcK, dataTypeSize1, dataTypeSize2, isUpdate, localWorkSpaceSize);
}

}  // namespace AscendC
