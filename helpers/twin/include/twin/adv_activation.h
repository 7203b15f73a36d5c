// Activations, element by element: Sigmoid, Silu, Swish, the Gelu family and the gated units.
#pragma once
#include "twin/abi_activation.h"
#include "twin/adv_call.h"

namespace twin {

template <class T> inline void activation(Activation op, const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                                          const AscendC::LocalTensor<T>* src1, const AdvTmp& tmp, uint64_t count, float beta, bool precise, At at) {
    ActivationCall c;
    c.api = api;
    c.at = at;
    c.op = op;
    c.type = dtype_of<T>();
    c.dst = dst.ref();
    c.src0 = src.ref();
    if (src1) { c.src1 = src1->ref(); c.sources = 2; }
    c.tmp = tmp;
    c.count = count;
    c.beta = beta;
    c.precise = precise;
    tw_activation(&c);
}

}  // namespace twin

namespace AscendC {

#define TWIN_ACT_FLOATS(NAME) TWIN_ADV_TYPES(#NAME, T, twin::kF16 | twin::kF32, "half, float")
#define TWIN_ACT_AT twin::At at = twin::At::here()
// Forms with one source. COUNT: the parameter, N: how many elements.
#define TWIN_ACT1(NAME, TMP, ARG, COUNT, N)                                                                           \
    template <typename T, bool isReuseSource = false>                                                                 \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, TMP COUNT TWIN_ACT_AT) {       \
        TWIN_ACT_FLOATS(NAME);                                                                                        \
        twin::activation<T>(twin::Activation::NAME, #NAME, dstTensor, srcTensor, nullptr, twin::adv_tmp(ARG), N, 1, false, at); \
    }
#define TWIN_ACT_COUNT const uint32_t calCount TWIN_ACT_COMMA
#define TWIN_ACT_COMMA ,
#define TWIN_ACT_TMP const LocalTensor<uint8_t>& sharedTmpBuffer TWIN_ACT_COMMA

// ---- Sigmoid
// dst = 1 / (1 + e^-src)
// limits: half, float; dst is not src; needs workspace of GetSigmoidMaxMinTmpSize
// pipe: V; the device approximates, here every result is rounded once
TWIN_ACT1(Sigmoid, TWIN_ACT_TMP, sharedTmpBuffer, TWIN_ACT_COUNT, calCount)
TWIN_ACT1(Sigmoid, TWIN_ACT_TMP, sharedTmpBuffer, , srcTensor.GetSize())
TWIN_ACT1(Sigmoid, , , TWIN_ACT_COUNT, calCount)
TWIN_ACT1(Sigmoid, , , , srcTensor.GetSize())

// ---- Silu
// dst = src / (1 + e^-src)
// limits: half, float; dst is not src
// pipe: V; the device approximates, here every result is rounded once
TWIN_ACT1(Silu, , , TWIN_ACT_COUNT, calCount)

// ---- Swish
// dst = src / (1 + e^(-scalarValue * src)): the scalar is beta itself
// limits: half, float; dst is not src
// pipe: V; the device approximates, here every result is rounded once
template <typename T, bool isReuseSource = false>
inline void Swish(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dataSize, const T scalarValue, TWIN_ACT_AT) {
    TWIN_ACT_FLOATS(Swish);
    twin::activation<T>(twin::Activation::Swish, "Swish", dstLocal, srcLocal, nullptr, twin::adv_tmp(), dataSize, static_cast<float>(scalarValue), false, at);
}

#define TWIN_GELU(NAME, TMP, ARG)                                                                                     \
    template <typename T, bool highPrecision = false, bool highPerformance = false>                                   \
    inline void NAME(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, TMP const uint32_t dataSize, TWIN_ACT_AT) { \
        TWIN_ACT_FLOATS(NAME);                                                                                        \
        twin::activation<T>(twin::Activation::NAME, #NAME, dstLocal, srcLocal, nullptr, twin::adv_tmp(ARG), dataSize, 1, highPrecision, at); \
    }
// ---- Gelu
// dst = src / (1 + exp(-1.59576912 * (src + 0.044715 * src^3)))
// limits: half, float; dst may be src; needs workspace of GetGeluMinTmpSize
// pipe: V; the device approximates, here every result is rounded once
TWIN_GELU(Gelu, , )
TWIN_GELU(Gelu, TWIN_ACT_TMP, sharedTmpBuffer)
// ---- FasterGelu
// dst = src / (1 + exp(-1.702 * src))
// limits: as Gelu
// pipe: V; the device approximates, here every result is rounded once
TWIN_GELU(FasterGelu, , )
TWIN_GELU(FasterGelu, TWIN_ACT_TMP, sharedTmpBuffer)
// ---- FasterGeluV2
// dst = src * (sgn(src) * (0.5 - 0.1444 * (min(0.7071 * |src|, 1.769) - 1.769)^2) + 0.5)
// limits: as Gelu
// pipe: V; the device approximates, here every result is rounded once
TWIN_GELU(FasterGeluV2, , )
TWIN_GELU(FasterGeluV2, TWIN_ACT_TMP, sharedTmpBuffer)

// Gated units: two sources. BETA: SwiGLU's scalar, in front of the workspace.
#define TWIN_GATED(NAME, CHECK, BETA, B, TMP, ARG, COUNT, N)                                                          \
    template <typename T, bool isReuseSource = false>                                                                 \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor0, const LocalTensor<T>& srcTensor1, BETA TMP COUNT TWIN_ACT_AT) { \
        CHECK;                                                                                                        \
        twin::activation<T>(twin::Activation::NAME, #NAME, dstTensor, srcTensor0, &srcTensor1, twin::adv_tmp(ARG), N, B, false, at); \
    }
#define TWIN_BETA const float& scalarValue TWIN_ACT_COMMA
// ---- SwiGLU
// dst = src0 * src1 / (1 + e^(-beta * src1))
// limits: half, float; dst is neither source; needs workspace of GetSwiGLUMaxMinTmpSize
// pipe: V; the device approximates, here every result is rounded once
TWIN_GATED(SwiGLU, TWIN_ACT_FLOATS(SwiGLU), TWIN_BETA, scalarValue, TWIN_ACT_TMP, sharedTmpBuffer, TWIN_ACT_COUNT, calCount)
TWIN_GATED(SwiGLU, TWIN_ACT_FLOATS(SwiGLU), TWIN_BETA, scalarValue, TWIN_ACT_TMP, sharedTmpBuffer, , srcTensor0.GetSize())
TWIN_GATED(SwiGLU, TWIN_ACT_FLOATS(SwiGLU), TWIN_BETA, scalarValue, , , TWIN_ACT_COUNT, calCount)
TWIN_GATED(SwiGLU, TWIN_ACT_FLOATS(SwiGLU), TWIN_BETA, scalarValue, , , , srcTensor0.GetSize())
// ---- GeGLU
// dst = src0 * Gelu(src1)
// limits: half, float; dst is neither source; needs workspace of GetGeGLUMaxMinTmpSize
// pipe: V; the device approximates, here every result is rounded once
TWIN_GATED(GeGLU, TWIN_ACT_FLOATS(GeGLU), , 1, TWIN_ACT_TMP, sharedTmpBuffer, TWIN_ACT_COUNT, calCount)
TWIN_GATED(GeGLU, TWIN_ACT_FLOATS(GeGLU), , 1, TWIN_ACT_TMP, sharedTmpBuffer, , srcTensor0.GetSize())
TWIN_GATED(GeGLU, TWIN_ACT_FLOATS(GeGLU), , 1, , , TWIN_ACT_COUNT, calCount)
TWIN_GATED(GeGLU, TWIN_ACT_FLOATS(GeGLU), , 1, , , , srcTensor0.GetSize())
// ---- ReGlu
// dst = src0 * max(src1, 0)
// limits: half, bfloat16_t, float; dst is neither source; needs workspace of GetReGluMaxMinTmpSize
// pipe: V
#define TWIN_REGLU TWIN_ADV_TYPES("ReGlu", T, twin::kF16 | twin::kBF16 | twin::kF32, "half, bfloat16_t, float")
TWIN_GATED(ReGlu, TWIN_REGLU, , 1, TWIN_ACT_TMP, sharedTmpBuffer, TWIN_ACT_COUNT, calCount)
TWIN_GATED(ReGlu, TWIN_REGLU, , 1, , , TWIN_ACT_COUNT, calCount)

}  // namespace AscendC
