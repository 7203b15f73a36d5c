// Host side of reductions, transforms, sorting, filters and quantisation: workspace sizes and tilings.
#pragma once
#include "twin/abi_adv_filter.h"
#include "twin/abi_adv_reduce.h"
#include "twin/abi_adv_transform.h"
#include "twin/adv_transform_tiling.h"
#include "twin/host_types.h"

namespace twin {
inline uint32_t axis(const ge::Shape& s, size_t i) { return static_cast<uint32_t>(s.GetDim(i)); }
inline uint32_t last_axis(const ge::Shape& s) { return axis(s, s.GetDimNum() - 1); }
inline uint32_t all_of(const ge::Shape& s) { return static_cast<uint32_t>(s.GetShapeSize()); }
constexpr uint32_t bytes_of(ge::DataType t) { return t == ge::DT_FLOAT || t == ge::DT_INT32 || t == ge::DT_UINT32 ? 4 : t == ge::DT_INT8 || t == ge::DT_UINT8 || t == ge::DT_BOOL ? 1 : 2; }
}  // namespace twin

namespace AscendC {

// ---- GetSumMaxMinTmpSize GetMeanMaxMinTmpSize GetReduceXorSumMaxMinTmpSize
// workspace of Sum, Mean and ReduceXorSum
// limits: host code only
inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t typeSize, const bool, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = tw_sum_tmp(n, typeSize); }
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t srcTypeSize, const uint32_t accTypeSize, const bool, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = tw_mean_tmp(n, srcTypeSize, accTypeSize);
}
inline void GetReduceXorSumMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, uint32_t& maxValue, uint32_t& minValue) {
    minValue = 256;
    maxValue = 8 * twin::all_of(srcShape) + 256;
}
#define TWIN_HOST_REDUCE(NAME)                                                                                                                        \
    template <class Pattern>                                                                                                                          \
    inline void NAME(const ge::Shape& srcShape, const ge::DataType dataType, Pattern, bool, bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) { \
        const uint32_t size = twin::bytes_of(dataType), row = (twin::last_axis(srcShape) * size + 31) / 32 * 32;                                      \
        maxValue = minValue = isReuseSource ? 0 : twin::all_of(srcShape) / twin::last_axis(srcShape) * row;                                           \
    }
// ---- GetReduceSumMaxMinTmpSize GetReduceMeanMaxMinTmpSize GetReduceProdMaxMinTmpSize GetReduceMaxMaxMinTmpSize GetReduceMinMaxMinTmpSize
// workspace of a reduction with a pattern: none when the source may be destroyed
// limits: host code only
TWIN_HOST_REDUCE(GetReduceSumMaxMinTmpSize)
TWIN_HOST_REDUCE(GetReduceMeanMaxMinTmpSize)
TWIN_HOST_REDUCE(GetReduceProdMaxMinTmpSize)
TWIN_HOST_REDUCE(GetReduceMaxMaxMinTmpSize)
TWIN_HOST_REDUCE(GetReduceMinMaxMinTmpSize)
// ---- GetReduceAnyMaxMinTmpSize GetReduceAllMaxMinTmpSize
// workspace of ReduceAny and ReduceAll
// limits: host code only
TWIN_HOST_REDUCE(GetReduceAnyMaxMinTmpSize)
TWIN_HOST_REDUCE(GetReduceAllMaxMinTmpSize)

// ---- GetBroadCastMaxMinTmpSize
// workspace of BroadCast
// limits: host code only
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& srcShape, const ge::Shape& dstShape, const uint32_t typeSize, const bool,
                                      uint32_t& maxValue, uint32_t& minValue) {
    const int dim = static_cast<int>(dstShape.GetDimNum());
    const bool rows = dim > 1 && twin::axis(srcShape, 0) == twin::axis(dstShape, 0);
    tw_broadcast_tmp(dim, rows, dim > 1 ? twin::axis(dstShape, 0) : 1, twin::last_axis(dstShape), typeSize, &maxValue, &minValue);
}

// ---- GetPadMaxMinTmpSize PadTilingFunc GetUnPadMaxMinTmpSize UnPadTilingFunc
// workspace and tiling of Pad and UnPad; shapes {height, width}
// limits: host code only
inline void GetPadMaxMinTmpSize(const ge::Shape&, const uint32_t, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline void PadTilingFunc(const ge::Shape srcShape, const ge::Shape oriSrcShape, const uint32_t, const uint32_t, PadTiling& tiling) {
    tiling = {};
    tiling.srcWidth = twin::last_axis(srcShape);
    tiling.srcHeight = twin::all_of(srcShape) / tiling.srcWidth;
    tiling.srcOriWidth = twin::last_axis(oriSrcShape);
}
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape&, const uint32_t, uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline void UnPadTilingFunc(const ge::Shape srcShape, const uint32_t, const uint32_t, UnPadTiling& tiling) {
    tiling = {};
    tiling.srcWidth = twin::last_axis(srcShape);
    tiling.srcHeight = twin::all_of(srcShape) / tiling.srcWidth;
}

#define TWIN_HOST_TRANSPOSE(NAME)                                                                                                                                \
    inline void Get##NAME##MaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const uint32_t transposeType, uint32_t& maxValue, uint32_t& minValue) { \
        maxValue = minValue = transposeType == 7 ? 0 : tw_shuffle_tmp(static_cast<int>(transposeType), twin::axis(srcShape, 2), twin::axis(srcShape, 3), typeSize); \
    }                                                                                                                                                            \
    inline void Get##NAME##TilingInfo(const ge::Shape& srcShape, const uint32_t, const uint32_t, const uint32_t transposeType, ConfusionTransposeTiling& tiling) { \
        tiling = {};                                                                                                                                             \
        const bool plain = transposeType == 7;                                                                                                                   \
        tiling.param0 = plain ? 1 : twin::axis(srcShape, 0);                                                                                                     \
        tiling.param1 = plain ? 1 : twin::axis(srcShape, 1);                                                                                                     \
        tiling.param2 = twin::axis(srcShape, plain ? 0 : 2);                                                                                                     \
        tiling.param3 = twin::axis(srcShape, plain ? 1 : 3);                                                                                                     \
    }
// ---- GetTransposeMaxMinTmpSize GetTransposeTilingInfo GetConfusionTransposeMaxMinTmpSize GetConfusionTransposeTilingInfo
// workspace and tiling of ConfusionTranspose; shape {B, N, S, H/N}, or {H, W} for type 7
// limits: host code only
TWIN_HOST_TRANSPOSE(Transpose)
TWIN_HOST_TRANSPOSE(ConfusionTranspose)
// ---- GetConfusionTransposeOnlyTilingInfo
// tiling of type 7, {H, W} -> {W, H}
// limits: host code only
inline void GetConfusionTransposeOnlyTilingInfo(const ge::Shape& srcShape, const uint32_t stackBufferSize, const uint32_t typeSize, ConfusionTransposeTiling& tiling) {
    GetConfusionTransposeTilingInfo(srcShape, stackBufferSize, typeSize, 7, tiling);
}

// ---- GetArithProgressionMaxMinTmpSize GetArangeMaxMinTmpSize GetConcatTmpSize GetSortTmpSize
// workspace of counting (none), Concat (none on Atlas A2) and Sort (8 bytes per element)
// limits: host code only
inline void GetArithProgressionMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline void GetArangeMaxMinTmpSize(uint32_t& maxValue, uint32_t& minValue) { maxValue = minValue = 0; }
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC& p, const uint32_t elemCount, const uint32_t dataTypeSize) {
    return p.GetSocVersion() == platform_ascendc::SocVersion::ASCEND310P ? elemCount * 8 * dataTypeSize : 0;
}
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC& p, const uint32_t elemCount, const uint32_t dataTypeSize) {
    return elemCount * 8 * (p.GetSocVersion() == platform_ascendc::SocVersion::ASCEND310P ? dataTypeSize : 1);
}

// ---- GetTopKMaxMinTmpSize TopKTilingFunc
// workspace and tiling of TopK; false when the rows are too long or k does not fit
// limits: host code only
template <class Mode>
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const int32_t inner, const int32_t outter, const bool, const bool isInitIndex, Mode mode,
                                 const bool isLargest, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = tw_topk_tmp(static_cast<int>(mode), isInitIndex, isLargest, static_cast<uint32_t>(inner), static_cast<uint32_t>(outter));
    return inner % 32 == 0 && inner > 0 && inner <= 4096;
}
template <class Mode>
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC& p, const int32_t inner, const int32_t outter, const int32_t k, const uint32_t dataTypeSize,
                           const bool isInitIndex, Mode mode, const bool isLargest, TopkTiling& tiling) {
    tiling = {};
    uint32_t most = 0, least = 0;
    const bool fits = GetTopKMaxMinTmpSize(p, inner, outter, false, isInitIndex, mode, isLargest, dataTypeSize, most, least);
    tiling.tmpLocalSize = static_cast<int32_t>(least / (dataTypeSize ? dataTypeSize : 1));
    tiling.allDataSize = inner * outter;
    tiling.innerDataSize = inner;
    tiling.sortRepeat = static_cast<uint32_t>(inner) / 32;
    return fits && k >= 1 && k <= inner;
}

// ---- GetDropOutMaxMinTmpSize GetDropOutMaxTmpSize GetDropOutMinTmpSize
// workspace of DropOut
// limits: host code only
inline uint32_t GetDropOutMaxTmpSize(const ge::Shape& srcShape, const uint32_t, const bool) { return 2 * twin::all_of(srcShape) + 1024; }
inline uint32_t GetDropOutMinTmpSize(const ge::Shape&, const uint32_t, const bool) { return 1024; }
inline void GetDropOutMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = GetDropOutMaxTmpSize(srcShape, typeSize, isReuseSource);
    minValue = GetDropOutMinTmpSize(srcShape, typeSize, isReuseSource);
}

#define TWIN_HOST_BYTES_MASK(NAME)                                                                                                                           \
    inline void NAME(const ge::Shape& src0Shape, const ge::Shape& src1Shape, const uint32_t, const ge::Shape& maskShape, const uint32_t maskTypeSize,        \
                     const bool isReuseMask, uint32_t& maxValue, uint32_t& minValue) {                                                                       \
        const ge::Shape& src = src0Shape.GetShapeSize() > 1 ? src0Shape : src1Shape;                                                                         \
        const uint32_t cols = twin::last_axis(src), mask = twin::last_axis(maskShape);                                                                       \
        minValue = 2 * cols + 512 + (mask != cols && !isReuseMask ? mask * maskTypeSize : 0);                                                                \
        maxValue = minValue * (twin::all_of(src) / cols);                                                                                                    \
    }
// ---- GetSelectWithBytesMaskMaxMinTmpSize GetSelectMaxMinTmpSize
// workspace of SelectWithBytesMask; a number has the shape {1}
// limits: host code only
TWIN_HOST_BYTES_MASK(GetSelectWithBytesMaskMaxMinTmpSize)
TWIN_HOST_BYTES_MASK(GetSelectMaxMinTmpSize)

// ---- GetAscendQuantMaxMinTmpSize GetAscendDequantMaxMinTmpSize GetAscendAntiQuantMaxMinTmpSize
// workspace of the quantisation calls
// limits: host code only
inline void GetAscendQuantMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    minValue = 512;
    maxValue = 4 * twin::all_of(srcShape) > minValue ? 4 * twin::all_of(srcShape) : minValue;
}
inline void GetAscendDequantMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = 4 * (twin::all_of(srcShape) + 2 * twin::last_axis(srcShape)) + 64;
}
inline void GetAscendAntiQuantMaxMinTmpSize(const ge::Shape& srcShape, const ge::Shape&, const bool isTranspose, const ge::DataType, const ge::DataType outputDataType,
                                            uint32_t& maxValue, uint32_t& minValue) {
    maxValue = minValue = twin::all_of(srcShape) * (outputDataType == ge::DT_FLOAT16 ? (isTranspose ? 2 : 0) : 8);
}

}  // namespace AscendC
