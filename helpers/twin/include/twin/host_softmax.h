// Host side of the softmax family: workspace sizes and tilings.
#pragma once
#include "twin/adv_softmax_tiling.h"
#include "twin/host_types.h"

namespace twin {

struct HostRows { uint32_t m = 0, k = 0; };
inline HostRows host_rows(const ge::Shape& s) {
    HostRows r{s.GetDimNum() ? 1u : 0u, 0};
    for (size_t i = 0; i + 1 < s.GetDimNum(); ++i) r.m *= static_cast<uint32_t>(s.GetDim(i));
    if (s.GetDimNum()) r.k = static_cast<uint32_t>(s.GetDim(s.GetDimNum() - 1));
    return r;
}
inline uint32_t host_softmax_least(SoftmaxKind kind, const ge::Shape& s, uint32_t src, uint32_t stat, bool update) { return softmax_row_bytes(kind, host_rows(s).k, src, stat, update); }
inline uint32_t host_softmax_most(SoftmaxKind kind, const ge::Shape& s, uint32_t src, uint32_t stat, bool update) {
    return host_softmax_least(kind, s, src, stat, update) * (host_rows(s).m ? host_rows(s).m : 1);
}
inline void host_softmax_tiling(SoftmaxKind kind, const ge::Shape& s, uint32_t src, uint32_t stat, bool update, uint32_t bytes, SoftMaxTiling& t) {
    t = softmax_tiling(kind, host_rows(s).m, host_rows(s).k, src, stat, update, bytes);
}

}  // namespace twin

namespace AscendC {

// ---- GetSoftMaxMaxTmpSize GetSoftMaxMinTmpSize
// bytes of sharedTmpBuffer beyond which more does not help, and those SoftMax and SimpleSoftMax need
// limits: dataTypeSize is that of max and sum
inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isReuseSource*/) { return twin::host_softmax_most(twin::SoftmaxKind::Plain, srcShape, dataTypeSize, dataTypeSize, false); }
inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isReuseSource*/) { return twin::host_softmax_least(twin::SoftmaxKind::Plain, srcShape, dataTypeSize, dataTypeSize, false); }
// ---- SoftMaxTilingFunc
// tiling of SoftMax and SimpleSoftMax for a workspace of localWorkSpaceSize bytes
// limits: localWorkSpaceSize >= GetSoftMaxMinTmpSize; splitM is 0 otherwise
inline void SoftMaxTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, SoftMaxTiling& tiling) { twin::host_softmax_tiling(twin::SoftmaxKind::Plain, srcShape, dataTypeSize, dataTypeSize, false, localWorkSpaceSize, tiling); }

// ---- GetSoftMaxFlashMaxTmpSize GetSoftMaxFlashMinTmpSize
// bytes of workspace of SoftMaxFlash. limits: host code only
inline uint32_t GetSoftMaxFlashMaxTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool isUpdate, const bool /*isReuseSource*/) { return twin::host_softmax_most(twin::SoftmaxKind::Flash, srcShape, dataTypeSize, dataTypeSize, isUpdate); }
inline uint32_t GetSoftMaxFlashMinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool isUpdate, const bool /*isReuseSource*/) { return twin::host_softmax_least(twin::SoftmaxKind::Flash, srcShape, dataTypeSize, dataTypeSize, isUpdate); }
// ---- SoftMaxFlashTilingFunc
// fills the tiling of SoftMaxFlash. limits: host code only
inline void SoftMaxFlashTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, SoftMaxTiling& tiling, const bool isUpdate = false) { twin::host_softmax_tiling(twin::SoftmaxKind::Flash, srcShape, dataTypeSize, dataTypeSize, isUpdate, localWorkSpaceSize, tiling); }

// ---- GetSoftMaxFlashV2MaxTmpSize GetSoftMaxFlashV2MinTmpSize
// limits: dataTypeSize1 is that of src, dataTypeSize2 that of max and sum
inline uint32_t GetSoftMaxFlashV2MaxTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2, const bool isUpdate, const bool /*isBasicBlock*/ = false, const bool /*isFlashOutputBrc*/ = false) { return twin::host_softmax_most(twin::SoftmaxKind::FlashV2, srcShape, dataTypeSize1, dataTypeSize2, isUpdate); }
inline uint32_t GetSoftMaxFlashV2MinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2, const bool isUpdate, const bool /*isBasicBlock*/ = false, const bool /*isFlashOutputBrc*/ = false) { return twin::host_softmax_least(twin::SoftmaxKind::FlashV2, srcShape, dataTypeSize1, dataTypeSize2, isUpdate); }
// ---- SoftMaxFlashV2TilingFunc
// limits: isFlashOutputBrc = true means max and sum of one element per row, with mode SOFTMAX_OUTPUT_WITHOUT_BRC
inline void SoftMaxFlashV2TilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize, SoftMaxTiling& tiling, const bool isUpdate, const bool /*isBasicBlock*/ = false, const bool /*isFlashOutputBrc*/ = false) { twin::host_softmax_tiling(twin::SoftmaxKind::FlashV2, srcShape, dataTypeSize1, dataTypeSize2, isUpdate, localWorkSpaceSize, tiling); }

// ---- GetSoftMaxFlashV3MaxMinTmpSize
// bytes of workspace of SoftMaxFlashV3. limits: host code only
inline void GetSoftMaxFlashV3MaxMinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2, uint32_t& maxValue, uint32_t& minValue, const bool isUpdate, const bool /*isBasicBlock*/ = false) {
    maxValue = twin::host_softmax_most(twin::SoftmaxKind::FlashV3, srcShape, dataTypeSize1, dataTypeSize2, isUpdate);
    minValue = twin::host_softmax_least(twin::SoftmaxKind::FlashV3, srcShape, dataTypeSize1, dataTypeSize2, isUpdate);
}
// ---- SoftMaxFlashV3TilingFunc
// fills the tiling of SoftMaxFlashV3. limits: host code only
inline void SoftMaxFlashV3TilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize1, const uint32_t dataTypeSize2, const uint32_t localWorkSpaceSize, SoftMaxTiling& tiling, const bool isUpdate, const bool /*isBasicBlock*/ = false) { twin::host_softmax_tiling(twin::SoftmaxKind::FlashV3, srcShape, dataTypeSize1, dataTypeSize2, isUpdate, localWorkSpaceSize, tiling); }

// ---- GetSoftMaxGradMaxTmpSize GetSoftMaxGradMinTmpSize
// bytes of workspace of SoftMaxGrad. limits: host code only
inline uint32_t GetSoftMaxGradMaxTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isFront*/, const bool /*isReuseSource*/) { return twin::host_softmax_most(twin::SoftmaxKind::Grad, srcShape, dataTypeSize, dataTypeSize, false); }
inline uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isFront*/, const bool /*isReuseSource*/) { return twin::host_softmax_least(twin::SoftmaxKind::Grad, srcShape, dataTypeSize, dataTypeSize, false); }
// ---- SoftMaxGradTilingFunc
// fills the tiling of SoftMaxGrad. limits: host code only
inline void SoftMaxGradTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, SoftMaxTiling& tiling, const bool /*isFront*/ = false) { twin::host_softmax_tiling(twin::SoftmaxKind::Grad, srcShape, dataTypeSize, dataTypeSize, false, localWorkSpaceSize, tiling); }

// ---- GetLogSoftMaxMaxTmpSize GetLogSoftMaxMinTmpSize
// bytes of workspace of LogSoftMax. limits: host code only
inline uint32_t GetLogSoftMaxMaxTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isReuseSource*/) { return twin::host_softmax_most(twin::SoftmaxKind::Log, srcShape, dataTypeSize, dataTypeSize, false); }
inline uint32_t GetLogSoftMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t dataTypeSize, const bool /*isReuseSource*/) { return twin::host_softmax_least(twin::SoftmaxKind::Log, srcShape, dataTypeSize, dataTypeSize, false); }
// ---- LogSoftMaxTilingFunc
// fills the tiling of LogSoftMax. limits: host code only
inline void LogSoftMaxTilingFunc(const ge::Shape& srcShape, const uint32_t dataTypeSize, const uint32_t localWorkSpaceSize, LogSoftMaxTiling& tiling) {
    SoftMaxTiling t{};
    twin::host_softmax_tiling(twin::SoftmaxKind::Log, srcShape, dataTypeSize, dataTypeSize, false, localWorkSpaceSize, t);
    static_assert(sizeof(t) == sizeof(tiling), "the same fields");
    __builtin_memcpy(&tiling, &t, sizeof(t));
}

// ---- IsBasicBlockInSoftMax
// whether isBasicBlock = true may be used with this tiling
// limits: dataTypeSize is that of src
inline bool IsBasicBlockInSoftMax(const SoftMaxTiling& tiling, const uint32_t dataTypeSize = 2) {
    return twin::softmax_basic_block(tiling.srcM, tiling.srcK, dataTypeSize) && tiling.splitM % 8 == 0;
}

}  // namespace AscendC
