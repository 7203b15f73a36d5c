// Gradients of LayerNorm, and Welford's way to mean and variance of data that comes in pieces.
#pragma once
#include "twin/adv_norm.h"

namespace AscendC {

// ---- LayerNormGradShapeInfo
struct LayerNormGradShapeInfo { DataFormat dataFormat = DataFormat::ND; };

#define TWIN_LAYER_GRAD(TMP, ARG)                                                                                                   \
    template <typename T, bool isReuseSource = false>                                                                               \
    inline void LayerNormGrad(const LocalTensor<T>& outputPdX, const LocalTensor<T>& resForGamma, const LocalTensor<T>& inputDy,    \
                              const LocalTensor<T>& inputX, const LocalTensor<T>& inputVariance, const LocalTensor<T>& inputMean,   \
                              const LocalTensor<T>& inputGamma, TMP T epsilon, const LayerNormGradTiling& tiling,                   \
                              const LayerNormGradShapeInfo& = {}, TWIN_NORM_AT) {                                                   \
        TWIN_NORM_FLOATS("LayerNormGrad");                                                                                          \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::LayerGrad, "LayerNormGrad", outputPdX, inputX, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        twin::norm_bsh(c, tiling);                                                                                                  \
        c.res = resForGamma.ref();                                                                                                  \
        c.second = inputDy.ref();                                                                                                   \
        c.var = inputVariance.ref();                                                                                                \
        c.mean = inputMean.ref();                                                                                                   \
        c.gamma = inputGamma.ref();                                                                                                 \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm_grad(&c);                                                                                                           \
    }
// ---- LayerNormGrad
// outputPdX = gradient with respect to inputX of a LayerNorm whose output has the gradient inputDy; resForGamma = normalised inputX
// limits: half, float; outputs may lie where inputs are
// pipe: V; the device approximates, here every result is rounded once
TWIN_LAYER_GRAD(, )
TWIN_LAYER_GRAD(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_LAYER_GRAD_BETA(TMP, ARG)                                                                                              \
    template <typename T, bool isReuseSource = false>                                                                               \
    inline void LayerNormGradBeta(const LocalTensor<T>& outputPdGamma, const LocalTensor<T>& outputPdBeta, const LocalTensor<T>& resForGamma, \
                                  const LocalTensor<T>& inputDy, TMP const LayerNormGradBetaTiling& tiling, TWIN_NORM_AT) {         \
        TWIN_NORM_FLOATS("LayerNormGradBeta");                                                                                      \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::LayerGradBeta, "LayerNormGradBeta", outputPdGamma, resForGamma, twin::adv_tmp(ARG), 0, at); \
        twin::norm_bsh(c, tiling);                                                                                                  \
        c.beta = outputPdBeta.ref();                                                                                                \
        c.second = inputDy.ref();                                                                                                   \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm_grad(&c);                                                                                                           \
    }
// ---- LayerNormGradBeta
// outputPdGamma = sum over the rows of inputDy * resForGamma, outputPdBeta = sum over the rows of inputDy
// limits: half, float; outputs may lie where inputs are
// pipe: V
TWIN_LAYER_GRAD_BETA(, )
TWIN_LAYER_GRAD_BETA(TWIN_NORM_TMP, sharedTmpBuffer)

// ---- WelfordUpdateParam
struct WelfordUpdateParam { uint32_t rnLength = 1, abLength = 0, abComputeLength = 0; float nRec = 0; };
// ---- WelfordUpdateConfig
struct WelfordUpdateConfig { bool isInplace = false; };
inline constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {false};
// ---- WelfordFinalizePara
struct WelfordFinalizePara {
    uint32_t rnLength = 0, abLength = 0, headCount = 0, headCountLength = 0, tailCount = 0, tailCountLength = 0;
    float abRec = 0, rRec = 0, rRecWithCorrection = 0;
};
// ---- WelfordFinalizeConfig
struct WelfordFinalizeConfig { bool isCorrection = false; };
inline constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {false};

#define TWIN_WELFORD_UPDATE(TMP, ARG)                                                                                               \
    template <typename T, typename U, bool isReuseSource = false, const WelfordUpdateConfig& config = WFUPDATE_DEFAULT_CFG>         \
    inline void WelfordUpdate(const LocalTensor<U>& outputMean, const LocalTensor<U>& outputVariance, const LocalTensor<U>& inputMean, \
                              const LocalTensor<U>& inputVariance, const LocalTensor<T>& inputX, TMP const WelfordUpdateParam& para, TWIN_NORM_AT) { \
        TWIN_NORM_FLOATS("WelfordUpdate");                                                                                          \
        TWIN_ADV_TYPES("WelfordUpdate", U, twin::kF32, "float");                                                                    \
        twin::WelfordCall c;                                                                                                        \
        c.at = at;                                                                                                                  \
        c.type = twin::dtype_of<T>();                                                                                               \
        c.out_mean = outputMean.ref();                                                                                              \
        c.out_var = outputVariance.ref();                                                                                           \
        c.in_mean = inputMean.ref();                                                                                                \
        c.in_var = inputVariance.ref();                                                                                             \
        c.x = inputX.ref();                                                                                                         \
        c.tmp = twin::adv_tmp(ARG);                                                                                                 \
        c.rn = para.rnLength;                                                                                                       \
        c.ab = para.abLength;                                                                                                       \
        c.compute = para.abComputeLength;                                                                                           \
        c.rn_rec = para.nRec;                                                                                                       \
        c.in_place = config.isInplace;                                                                                              \
        c.reuse = isReuseSource;                                                                                                    \
        tw_welford_update(&c);                                                                                                      \
    }
// ---- WelfordUpdate
// outMean = inMean + (x - inMean) * nRec; outVariance = inVariance + (x - inMean) * (x - outMean): a sum of squares, not divided
// limits: x half or float, statistics float; nRec = 1 / number of this update; no operand is another
// pipe: V
TWIN_WELFORD_UPDATE(, )
TWIN_WELFORD_UPDATE(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_WELFORD_FINALIZE(COUNTS, HAS, COUNTS_REF, TMP, ARG)                                                                    \
    template <bool isReuseSource = false, const WelfordFinalizeConfig& config = WFFINALIZE_DEFAULT_CFG>                             \
    inline void WelfordFinalize(const LocalTensor<float>& outputMean, const LocalTensor<float>& outputVariance, const LocalTensor<float>& inputMean, \
                                const LocalTensor<float>& inputVariance, COUNTS TMP const WelfordFinalizePara& para, TWIN_NORM_AT) { \
        static_assert(!config.isCorrection, "WelfordFinalize: isCorrection = true is not supported on Atlas A2. Fix: multiply the variance by n / (n - 1)"); \
        twin::WelfordCall c;                                                                                                        \
        c.at = at;                                                                                                                  \
        c.out_mean = outputMean.ref();                                                                                              \
        c.out_var = outputVariance.ref();                                                                                           \
        c.in_mean = inputMean.ref();                                                                                                \
        c.in_var = inputVariance.ref();                                                                                             \
        COUNTS_REF;                                                                                                                 \
        c.has_counts = HAS;                                                                                                         \
        c.tmp = twin::adv_tmp(ARG);                                                                                                 \
        c.rn = para.rnLength;                                                                                                       \
        c.ab = para.abLength;                                                                                                       \
        c.head = para.headCount;                                                                                                    \
        c.head_length = para.headCountLength;                                                                                       \
        c.tail = para.tailCount;                                                                                                    \
        c.tail_length = para.tailCountLength;                                                                                       \
        c.ab_rec = para.abRec;                                                                                                      \
        c.rn_rec = para.rRec;                                                                                                       \
        tw_welford_finalize(&c);                                                                                                    \
    }
#define TWIN_COUNTS const LocalTensor<int32_t>&counts,
// ---- WelfordFinalize
// joins the means and sums of squares of abLength lanes: one mean in outMean[0], one variance in outVariance[0]
// limits: float; abLength a multiple of 8; counts or head and tail counts say how many values a lane has seen
// pipe: V and S
TWIN_WELFORD_FINALIZE(, 0, , , )
TWIN_WELFORD_FINALIZE(, 0, , TWIN_NORM_TMP, sharedTmpBuffer)
TWIN_WELFORD_FINALIZE(TWIN_COUNTS, 1, c.counts = counts.ref(), , )
TWIN_WELFORD_FINALIZE(TWIN_COUNTS, 1, c.counts = counts.ref(), TWIN_NORM_TMP, sharedTmpBuffer)

}  // namespace AscendC
