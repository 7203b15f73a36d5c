// Host side of the mathematical functions: workspace sizes.
#pragma once
#include "twin/abi_adv_math.h"
#include "twin/host_types.h"

namespace AscendC {

#define TWIN_HOST_MATH_SIZE(NAME, API)                                                                                                      \
    inline void NAME(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) { \
        tw_math_tmp(API, static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize, isReuseSource, 3, &maxValue, &minValue);                 \
    }
// maxTmp = maxLiveNodeCount * elements * typeSize + extraBuffer
#define TWIN_HOST_MATH_FACTOR(NAME, API)                                                                                                    \
    inline void NAME(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {                                          \
        tw_math_factor(API, typeSize, 0, 3, &maxLiveNodeCount, &extraBuffer);                                                               \
    }
#define TWIN_HOST_MATH(API) TWIN_HOST_MATH_SIZE(Get##API##MaxMinTmpSize, #API) TWIN_HOST_MATH_FACTOR(Get##API##TmpBufferFactorSize, #API)

// ---- GetTanhMaxMinTmpSize GetSinMaxMinTmpSize GetCosMaxMinTmpSize GetTanMaxMinTmpSize GetAsinMaxMinTmpSize GetAcosMaxMinTmpSize
// workspace of the function in the name: at most and at least; Get…TmpBufferFactorSize gives the same as a formula
// limits: host code only
TWIN_HOST_MATH(Tanh) TWIN_HOST_MATH(Sin) TWIN_HOST_MATH(Cos) TWIN_HOST_MATH(Tan) TWIN_HOST_MATH(Asin) TWIN_HOST_MATH(Acos)
// ---- GetAtanMaxMinTmpSize GetSinhMaxMinTmpSize GetCoshMaxMinTmpSize GetAsinhMaxMinTmpSize GetAcoshMaxMinTmpSize GetAtanhMaxMinTmpSize
// workspace of the function in the name
// limits: host code only
TWIN_HOST_MATH(Atan) TWIN_HOST_MATH(Sinh) TWIN_HOST_MATH(Cosh) TWIN_HOST_MATH(Asinh) TWIN_HOST_MATH(Acosh) TWIN_HOST_MATH(Atanh)
// ---- GetErfMaxMinTmpSize GetErfcMaxMinTmpSize GetLgammaMaxMinTmpSize GetDigammaMaxMinTmpSize GetLogMaxMinTmpSize GetLog2MaxMinTmpSize GetLog10MaxMinTmpSize
// workspace of the function in the name
// limits: host code only
TWIN_HOST_MATH(Erf) TWIN_HOST_MATH(Erfc) TWIN_HOST_MATH(Lgamma) TWIN_HOST_MATH(Digamma) TWIN_HOST_MATH(Log) TWIN_HOST_MATH(Log2) TWIN_HOST_MATH(Log10)
// ---- GetCeilMaxMinTmpSize GetFloorMaxMinTmpSize GetTruncMaxMinTmpSize GetFracMaxMinTmpSize GetSignMaxMinTmpSize GetFmodMaxMinTmpSize GetXorMaxMinTmpSize
// workspace of the function in the name
// limits: host code only
TWIN_HOST_MATH(Ceil) TWIN_HOST_MATH(Floor) TWIN_HOST_MATH(Trunc) TWIN_HOST_MATH(Frac) TWIN_HOST_MATH(Sign) TWIN_HOST_MATH(Fmod) TWIN_HOST_MATH(Xor)
// ---- GetAxpyMaxMinTmpSize GetClampMaxMinTmpSize
// workspace of Axpy, and of ClampMin and ClampMax
// limits: host code only
TWIN_HOST_MATH(Axpy) TWIN_HOST_MATH(Clamp)

// ---- GetExpMaxMinTmpSize GetExpTmpBufferFactorSize
// workspace of Exp with a series; true
// limits: host code only
inline bool GetExpMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue, uint32_t& minValue) {
    return tw_math_tmp("Exp", static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize, isReuseSource, 3, &maxValue, &minValue) != 0;
}
inline bool GetExpTmpBufferFactorSize(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {
    return tw_math_factor("Exp", typeSize, 0, 3, &maxLiveNodeCount, &extraBuffer) != 0;
}

// ---- GetRoundMaxMinTmpSize GetRoundTmpBufferFactorSize
// workspace of Round
// limits: host code only; the platform comes first
inline void GetRoundMaxMinTmpSize(const platform_ascendc::PlatformAscendC&, const ge::Shape& srcShape, const uint32_t typeSize, const bool isReuseSource, uint32_t& maxValue,
                                  uint32_t& minValue) {
    tw_math_tmp("Round", static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize, isReuseSource, 3, &maxValue, &minValue);
}
inline void GetRoundTmpBufferFactorSize(const platform_ascendc::PlatformAscendC&, const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {
    tw_math_factor("Round", typeSize, 0, 3, &maxLiveNodeCount, &extraBuffer);
}

// ---- GetPowerMaxMinTmpSize GetPowerTmpBufferFactorSize
// workspace of Power; a number has the shape {1}
// limits: host code only
inline void GetPowerMaxMinTmpSize(const ge::Shape& srcShape1, const ge::Shape& srcShape2, const bool typeIsInt, const uint32_t typeSize, const bool isReuseSource,
                                  uint32_t& maxValue, uint32_t& minValue) {
    const int64_t a = srcShape1.GetShapeSize(), b = srcShape2.GetShapeSize();
    tw_math_tmp("Power", static_cast<uint64_t>(a > b ? a : b), typeSize, isReuseSource, (a > 1) | (b > 1) << 1 | typeIsInt << 2, &maxValue, &minValue);
}
inline void GetPowerTmpBufferFactorSize(const bool baseIsTensor, const bool expIsTensor, const bool typeIsInt, const uint32_t typeSize, uint32_t& maxLiveNodeCount,
                                        uint32_t& extraBuffer) {
    tw_math_factor("Power", typeSize, 0, baseIsTensor | expIsTensor << 1 | typeIsInt << 2, &maxLiveNodeCount, &extraBuffer);
}

// ---- GetCumSumMaxMinTmpSize
// workspace of CumSum over a matrix {outter, inner}
// limits: host code only
inline void GetCumSumMaxMinTmpSize(const ge::Shape& srcShape, const uint32_t, const bool, const bool, uint32_t& maxValue, uint32_t& minValue) {
    const uint32_t inner = static_cast<uint32_t>(srcShape.GetDim(srcShape.GetDimNum() - 1)), all = static_cast<uint32_t>(srcShape.GetShapeSize());
    maxValue = minValue = 16 * inner * 4 + 2 * all * 4;
}

}  // namespace AscendC
