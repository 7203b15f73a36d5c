// Host side of the normalisations: workspace sizes and tilings.
#pragma once
#include "twin/adv_norm_sizes.h"
#include "twin/host_types.h"

namespace twin {

constexpr uint64_t host_dim(const ge::Shape& s, size_t i) { return static_cast<uint64_t>(s.GetDim(i)); }
// {B, S, storageH, originH}
inline NormShape host_bsh(const ge::Shape& s) { return {host_dim(s, 0) * host_dim(s, 1), host_dim(s, 2), s.GetDimNum() > 3 ? host_dim(s, 3) : host_dim(s, 2)}; }
inline NormShape host_bsh(const ge::Shape& s, const ge::Shape& origin) { return {host_dim(s, 0) * host_dim(s, 1), host_dim(s, 2), host_dim(origin, 2)}; }
inline NormShape host_ar(const ge::Shape& s) { return {host_dim(s, 0), host_dim(s, 1), host_dim(s, 1)}; }
inline NormShape host_columns(const ge::Shape& s) { return {host_dim(s, 0), host_dim(s, 1) * host_dim(s, 2), host_dim(s, 1) * host_dim(s, 2)}; }
inline uint64_t host_hw(const ge::Shape& s) {
    uint64_t n = 1;
    for (size_t i = 2; i < s.GetDimNum(); ++i) n *= host_dim(s, i);
    return n;
}
inline NormShape host_groups(const ge::Shape& s, uint32_t groups) {
    const uint64_t h = groups ? host_dim(s, 1) / groups * host_hw(s) : 0;
    return {host_dim(s, 0) * groups, h, h};
}
// The two shapes of a tensor with padded rows belong together.
inline bool host_rank3(const ge::Shape& s, const ge::Shape& origin, Norm n, bool basic) {
    if (s.GetDimNum() != 3 || origin.GetDimNum() != 3) return false;
    if (n == Norm::Batch) return host_dim(s, 1) == host_dim(origin, 1) && host_dim(s, 2) == host_dim(origin, 2) && host_dim(origin, 0) <= host_dim(s, 0) && (!basic || norm_basic_block(n, host_columns(s)));
    return host_dim(s, 0) == host_dim(origin, 0) && host_dim(s, 1) == host_dim(origin, 1) && host_dim(origin, 2) <= host_dim(s, 2) && (!basic || norm_basic_block(n, host_bsh(s, origin)));
}
inline void host_sizes(Norm n, const NormShape& s, uint32_t z, bool reuse, uint32_t& most, uint32_t& least) {
    const TmpSize size = norm_tmp(n, s, z, reuse);
    most = size.most;
    least = size.least;
}

}  // namespace twin

namespace AscendC {

#define TWIN_SIZES_ uint32_t& maxValue, uint32_t& minValue
// ---- GetRmsNormMaxMinTmpSize
// limits: shape {B, S, H}; false when it has another rank or breaks the rule of isBasicBlock
inline bool GetRmsNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, TWIN_SIZES_, const bool isBasicBlock = false) {
    if (!twin::host_rank3(srcShape, srcShape, twin::Norm::Rms, isBasicBlock)) return false;
    twin::host_sizes(twin::Norm::Rms, twin::host_bsh(srcShape), typeSize, false, maxValue, minValue);
    return true;
}
// ---- GetRmsNormTilingInfo
// limits: srcShape with padded rows, originSrcShape without; false when the workspace is too small or the shapes do not fit
inline bool GetRmsNormTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t stackBufferByteSize, const uint32_t typeSize, RmsNormTiling& tiling, const bool isBasicBlock = false) {
    return twin::host_rank3(srcShape, originSrcShape, twin::Norm::Rms, isBasicBlock) &&
           twin::norm_fill(tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_bsh(srcShape, originSrcShape), typeSize, stackBufferByteSize);
}

// ---- GetLayerNormMaxMinTmpSize
// limits: {B, S, storageH, originH}, or {A, R} with isComputeRstd and isOnlyOutput
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, TWIN_SIZES_) { twin::host_sizes(twin::Norm::Layer, twin::host_bsh(srcShape), typeSize, isReuseSource, maxValue, minValue); }
inline void GetLayerNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, const bool /*isComputeRstd*/, const bool /*isOnlyOutput*/, TWIN_SIZES_) { twin::host_sizes(twin::Norm::LayerAR, twin::host_ar(srcShape), typeSize, isReuseSource, maxValue, minValue); }
// ---- GetLayerNormNDTilingInfo GetLayerNormNDTillingInfo
// limits: stackBufferSize in bytes
inline void GetLayerNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource, LayerNormTiling& tiling) { twin::norm_fill_bsh(twin::Norm::Layer, tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_bsh(srcShape), typeSize, isReuseSource, stackBufferSize); }
inline void GetLayerNormNDTillingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource, LayerNormTiling& tiling) { GetLayerNormNDTilingInfo(srcShape, stackBufferSize, typeSize, isReuseSource, tiling); }
inline void GetLayerNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource, const bool /*isComputeRstd*/, LayerNormSeparateTiling& tiling) { twin::norm_fill(tiling, twin::host_ar(srcShape), typeSize, isReuseSource, stackBufferSize); }

// ---- GetLayerNormGradMaxMinTmpSize
// bytes of workspace of LayerNormGrad. limits: host code only
inline void GetLayerNormGradMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, TWIN_SIZES_) { twin::host_sizes(twin::Norm::LayerGrad, twin::host_bsh(srcShape), typeSize, isReuseSource, maxValue, minValue); }
// ---- GetLayerNormGradNDTilingInfo
// limits: stackBufferSize counts elements of typeSize bytes here, not bytes
inline void GetLayerNormGradNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool /*isReuseSource*/, LayerNormGradTiling& tiling) { twin::norm_fill(tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_bsh(srcShape), typeSize, uint64_t(stackBufferSize) * typeSize); }
// ---- GetLayerNormGradBetaMaxMinTmpSize
// bytes of workspace of LayerNormGradBeta. limits: host code only
inline void GetLayerNormGradBetaMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, TWIN_SIZES_) { twin::host_sizes(twin::Norm::LayerGradBeta, twin::host_bsh(srcShape), typeSize, isReuseSource, maxValue, minValue); }
// ---- GetLayerNormGradBetaNDTilingInfo
// fills the tiling of LayerNormGradBeta. limits: host code only
inline void GetLayerNormGradBetaNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool /*isReuseSource*/, LayerNormGradBetaTiling& tiling) { twin::norm_fill(tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_bsh(srcShape), typeSize, uint64_t(stackBufferSize) * typeSize); }

// ---- GetBatchNormMaxMinTmpSize
// limits: {B, S, H}
inline bool GetBatchNormMaxMinTmpSize(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t typeSize, const bool isReuseSource, TWIN_SIZES_, const bool isBasicBlock = false) {
    if (!twin::host_rank3(srcShape, originSrcShape, twin::Norm::Batch, isBasicBlock)) return false;
    twin::host_sizes(twin::Norm::Batch, twin::host_columns(srcShape), typeSize, isReuseSource, maxValue, minValue);
    return true;
}
// ---- GetBatchNormNDTilingInfo
// fills the tiling of BatchNorm. limits: host code only
inline bool GetBatchNormNDTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t stackBufferByteSize, const uint32_t typeSize, const bool isReuseSource, BatchNormTiling& tiling, const bool isBasicBlock = false) {
    return twin::host_rank3(srcShape, originSrcShape, twin::Norm::Batch, isBasicBlock) &&
           twin::norm_fill(tiling, twin::host_columns(srcShape), twin::host_dim(originSrcShape, 0), typeSize, isReuseSource, stackBufferByteSize);
}

// ---- GetDeepNormMaxMinTmpSize
// limits: {B, S, storageH, originH}; H <= 2040
inline bool GetDeepNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, const bool isBasicBlock, TWIN_SIZES_) {
    if (twin::host_dim(srcShape, 2) > 2040 || (isBasicBlock && !twin::norm_basic_block(twin::Norm::Deep, twin::host_bsh(srcShape)))) return false;
    twin::host_sizes(twin::Norm::Deep, twin::host_bsh(srcShape), typeSize, isReuseSource, maxValue, minValue);
    return true;
}
// ---- GetDeepNormTilingInfo
// fills the tiling of DeepNormTilingInfo. limits: host code only
inline bool GetDeepNormTilingInfo(const ge::Shape& srcShape, const ge::Shape& originSrcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource, const bool isBasicBlock, DeepNormTiling& tiling) {
    return twin::host_rank3(srcShape, originSrcShape, twin::Norm::Deep, isBasicBlock) && twin::host_dim(srcShape, 2) <= 2040 &&
           twin::norm_fill_bsh(twin::Norm::Deep, tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_bsh(srcShape, originSrcShape), typeSize, isReuseSource, stackBufferSize);
}

// ---- GetGroupNormMaxMinTmpSize
// limits: {N, C, H, W}
inline void GetGroupNormMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, const uint32_t groupNum, TWIN_SIZES_) { twin::host_sizes(twin::Norm::Group, twin::host_groups(srcShape, groupNum), typeSize, isReuseSource, maxValue, minValue); }
// ---- GetGroupNormNDTilingInfo
// fills the tiling of GroupNorm. limits: host code only
inline void GetGroupNormNDTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, const bool isReuseSource, const uint32_t groupNum, GroupNormTiling& tiling) {
    if (groupNum) twin::norm_fill(tiling, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 1), twin::host_hw(srcShape), groupNum, typeSize, isReuseSource, stackBufferSize);
}

// ---- GetNormalizeMaxMinTmpSize
// limits: {A, R}
inline void GetNormalizeMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t /*typeSizeU*/, const uint32_t typeSizeT, const bool isReuseSource, const bool /*isComputeRstd*/, const bool /*isOnlyOutput*/, TWIN_SIZES_) { twin::host_sizes(twin::Norm::Normalize, twin::host_ar(srcShape), typeSizeT, isReuseSource, maxValue, minValue); }
// ---- GetWelfordUpdateMaxMinTmpSize
// limits: {rnLength, abLength}
inline void GetWelfordUpdateMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSizeT, const uint32_t /*typeSizeU*/, const bool isReuseSource, const bool /*isInplace*/, TWIN_SIZES_) { twin::host_sizes(twin::Norm::WelfordUpdate, twin::host_ar(srcShape), typeSizeT, isReuseSource, maxValue, minValue); }
// ---- GetWelfordFinalizeMaxMinTmpSize
// limits: {abLength}
inline void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, TWIN_SIZES_) { twin::host_sizes(twin::Norm::WelfordFinalize, {1, twin::host_dim(srcShape, 0), twin::host_dim(srcShape, 0)}, typeSize, isReuseSource, maxValue, minValue); }

}  // namespace AscendC
