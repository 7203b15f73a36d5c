// Host side of the activations: workspace sizes.
#pragma once
#include "twin/adv_activation_sizes.h"
#include "twin/host_types.h"

namespace AscendC {

#define TWIN_HOST_ACT(NAME, KIND, ...)                                                                                              \
    inline void NAME(const ge::Shape& srcShape, __VA_ARGS__) {                                                                      \
        const twin::TmpSize size = twin::activation_tmp(twin::Activation::KIND, static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize); \
        maxValue = size.most;                                                                                                       \
        minValue = size.least;                                                                                                      \
    }
// maxTmp = maxLiveNodeCount * elements * typeSize + extraBuffer
#define TWIN_HOST_ACT_FACTOR(NAME, KIND)                                                                                            \
    inline void NAME(const uint32_t typeSize, uint32_t& maxLiveNodeCount, uint32_t& extraBuffer) {                                  \
        maxLiveNodeCount = twin::activation_copies(twin::Activation::KIND, typeSize);                                               \
        extraBuffer = 0;                                                                                                            \
    }
#define TWIN_SIZES uint32_t& maxValue, uint32_t& minValue

// ---- GetSigmoidMaxMinTmpSize
// bytes of workspace of Sigmoid. limits: host code only
TWIN_HOST_ACT(GetSigmoidMaxMinTmpSize, Sigmoid, const uint32_t typeSize, const bool /*isReuseSource*/, TWIN_SIZES)
// ---- GetReGluMaxMinTmpSize
// bytes of workspace of ReGlu. limits: host code only
TWIN_HOST_ACT(GetReGluMaxMinTmpSize, ReGlu, const uint32_t typeSize, const bool /*isReuseSource*/, TWIN_SIZES)
// ---- GetGeGLUMaxMinTmpSize GetGeGLUTmpBufferFactorSize
// bytes of workspace of GeGLU. limits: host code only
TWIN_HOST_ACT(GetGeGLUMaxMinTmpSize, GeGLU, const uint32_t typeSize, const bool /*isReuseSource*/, TWIN_SIZES)
TWIN_HOST_ACT_FACTOR(GetGeGLUTmpBufferFactorSize, GeGLU)
// ---- GetSwiGLUMaxMinTmpSize GetSwiGLUTmpBufferFactorSize
// limits: isReuseSource comes last
TWIN_HOST_ACT(GetSwiGLUMaxMinTmpSize, SwiGLU, const uint32_t typeSize, TWIN_SIZES, const bool /*isReuseSource*/)
TWIN_HOST_ACT_FACTOR(GetSwiGLUTmpBufferFactorSize, SwiGLU)
// ---- GetSiluTmpSize
// bytes of workspace of Silu. limits: host code only
TWIN_HOST_ACT(GetSiluTmpSize, Silu, const uint32_t typeSize, const bool /*isReuseSource*/, TWIN_SIZES)
// ---- GetSwishTmpSize
// bytes of workspace of Swish. limits: host code only
TWIN_HOST_ACT(GetSwishTmpSize, Swish, const uint32_t typeSize, const bool /*isReuseSource*/, TWIN_SIZES)
// ---- GetGeluMaxMinTmpSize
// limits: for Gelu, FasterGelu and FasterGeluV2
TWIN_HOST_ACT(GetGeluMaxMinTmpSize, Gelu, const uint32_t typeSize, TWIN_SIZES)
// ---- GetGeluMaxTmpSize GetGeluMinTmpSize
// bytes of workspace of Gelu. limits: host code only
inline uint32_t GetGeluMaxTmpSize(const ge::Shape& srcShape, const uint32_t typeSize) { return twin::activation_tmp(twin::Activation::Gelu, static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize).most; }
inline uint32_t GetGeluMinTmpSize(const ge::Shape& srcShape, const uint32_t typeSize) { return twin::activation_tmp(twin::Activation::Gelu, static_cast<uint64_t>(srcShape.GetShapeSize()), typeSize).least; }

}  // namespace AscendC
