// Normalisations of rows: RmsNorm, LayerNorm, DeepNorm, Normalize; and of columns and groups: BatchNorm, GroupNorm.
#pragma once
#include "twin/abi_norm.h"
#include "twin/adv_call.h"

namespace AscendC {

// ---- LayerNormConfig
struct LayerNormConfig { bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false, isOutputRstd = true; };
inline constexpr LayerNormConfig LNCFG_NORM = {false, false, false, true};
// ---- LayerNormPara
struct LayerNormPara { uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0; };
// ---- NormalizePara
struct NormalizePara { uint32_t aLength = 0, rLength = 0, rLengthWithPadding = 0; };
// ---- ReducePattern
enum class ReducePattern : uint32_t { AR = 0, RA = 1, R, ARA, ARAR, ARARA, ARARAR, ARARARA, ARARARAR, ARARARARA, RAR, RARA, RARAR, RARARA, RARARAR, RARARARA };
// ---- NormalizeConfig
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
inline constexpr NormalizeConfig NLCFG_NORM = {ReducePattern::AR, -1, false, false, false}, NLCFG_NOBETA = {ReducePattern::AR, -1, true, false, false},
                                 NLCFG_NOGAMMA = {ReducePattern::AR, -1, false, true, false}, NLCFG_NOOPT = {ReducePattern::AR, -1, true, true, false};

}  // namespace AscendC

namespace twin {

template <class T> inline NormCall norm_call(Norm kind, const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& x, const AdvTmp& tmp, float epsilon, At at) {
    NormCall c;
    c.api = api;
    c.at = at;
    c.kind = kind;
    c.type = c.weight = c.stat = dtype_of<T>();
    c.dst = dst.ref();
    c.x = x.ref();
    c.tmp = tmp;
    c.epsilon = epsilon;
    return c;
}
template <class Tiling> inline void norm_bsh(NormCall& c, const Tiling& t) {
    c.b = t.bLength;
    c.s = t.sLength;
    c.shape = {uint64_t(t.bLength) * t.sLength, t.hLength, t.originalHLength};
}

}  // namespace twin

namespace AscendC {

#define TWIN_NORM_FLOATS(API) TWIN_ADV_TYPES(API, T, twin::kF16 | twin::kF32, "half, float")
#define TWIN_NORM_AT twin::At at = twin::At::here()
#define TWIN_NORM_TMP const LocalTensor<uint8_t>&sharedTmpBuffer,

#define TWIN_RMS(TMP, ARG)                                                                                                          \
    template <typename T, bool isBasicBlock = false>                                                                                \
    inline void RmsNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<T>& gammaLocal, TMP       \
                        const T epsilon, const RmsNormTiling& tiling, TWIN_NORM_AT) {                                               \
        TWIN_NORM_FLOATS("RmsNorm");                                                                                                \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Rms, "RmsNorm", dstLocal, srcLocal, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        twin::norm_bsh(c, tiling);                                                                                                  \
        c.gamma = gammaLocal.ref();                                                                                                 \
        c.has_beta = 0;                                                                                                             \
        c.basic_block = isBasicBlock;                                                                                               \
        c.dst_name = "dst";                                                                                                         \
        c.x_name = "src";                                                                                                           \
        tw_norm(&c);                                                                                                                \
    }
// ---- RmsNorm
// dst = gamma * src / sqrt(mean of src^2 over the row + epsilon)
// limits: half, float; dst may be src, not gamma; shapes come from the tiling of GetRmsNormTilingInfo
// pipe: V; the device approximates, here every result is rounded once
TWIN_RMS(, )
TWIN_RMS(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_LAYER(TMP, ARG)                                                                                                        \
    template <typename T, bool isReuseSource = false>                                                                               \
    inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,     \
                          const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta, TMP const T epsilon, \
                          const LayerNormTiling& tiling, TWIN_NORM_AT) {                                                            \
        TWIN_NORM_FLOATS("LayerNorm");                                                                                              \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Layer, "LayerNorm", output, inputX, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        twin::norm_bsh(c, tiling);                                                                                                  \
        c.mean = outputMean.ref();                                                                                                  \
        c.var = outputVariance.ref();                                                                                               \
        c.gamma = gamma.ref();                                                                                                      \
        c.beta = beta.ref();                                                                                                        \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm(&c);                                                                                                                \
    }
#define TWIN_LAYER_AR(TMP, ARG)                                                                                                     \
    template <typename U, typename T, bool isReuseSource = false, const LayerNormConfig& config = LNCFG_NORM>                       \
    inline void LayerNorm(const LocalTensor<T>& output, const LocalTensor<float>& outputMean, const LocalTensor<float>& outputRstd, \
                          const LocalTensor<T>& inputX, const LocalTensor<U>& gamma, const LocalTensor<U>& beta, const float epsilon, TMP \
                          const LayerNormPara& para, const LayerNormSeparateTiling& tiling, TWIN_NORM_AT) {                         \
        TWIN_NORM_FLOATS("LayerNorm");                                                                                              \
        TWIN_ADV_TYPES("LayerNorm", U, twin::kF16 | twin::kF32, "half, float");                                                     \
        static_assert(sizeof(U) >= sizeof(T), "LayerNorm: gamma and beta are at least as precise as inputX. Fix: Cast them to its type"); \
        static_assert(!config.isOnlyOutput, "LayerNorm: isOnlyOutput = true is not supported on Atlas A2");                         \
        static_assert(config.isOutputRstd, "LayerNorm: isOutputRstd = false is not supported on Atlas A2. Fix: compute the variance from rstd"); \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::LayerAR, "LayerNorm", output, inputX, twin::adv_tmp(ARG), epsilon, at);   \
        c.shape = {para.aLength, para.rLengthWithPadding, para.rLength};                                                            \
        c.b = 1;                                                                                                                    \
        c.s = tiling.aLength;                                                                                                       \
        c.weight = twin::dtype_of<U>();                                                                                             \
        c.stat = twin::DType::F32;                                                                                                  \
        c.mean = outputMean.ref();                                                                                                  \
        c.var = outputRstd.ref();                                                                                                   \
        c.gamma = gamma.ref();                                                                                                      \
        c.beta = beta.ref();                                                                                                        \
        c.has_gamma = !config.isNoGamma;                                                                                            \
        c.has_beta = !config.isNoBeta;                                                                                              \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm(&c);                                                                                                                \
    }
// ---- LayerNorm
// output = gamma * (inputX - mean) / sqrt(variance + epsilon) + beta over the last axis; mean and variance are outputs too
// limits: half, float; B-S-H form: output may be inputX; A-R form (gamma type first): float mean and 1 / standard deviation
// pipe: V; the device approximates, here every result is rounded once
TWIN_LAYER(, )
TWIN_LAYER(TWIN_NORM_TMP, sharedTmpBuffer)
TWIN_LAYER_AR(, )
TWIN_LAYER_AR(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_DEEP(TMP, ARG)                                                                                                         \
    template <typename T, bool isReuseSrc = false, bool isBasicBlock = false>                                                       \
    inline void DeepNorm(const LocalTensor<T>& dstLocal, const LocalTensor<T>& meanLocal, const LocalTensor<T>& rstdLocal,          \
                         const LocalTensor<T>& srcLocal, const LocalTensor<T>& gxLocal, const LocalTensor<T>& betaLocal,            \
                         const LocalTensor<T>& gammaLocal, TMP const T alpha, const T epsilon, const DeepNormTiling& tiling, TWIN_NORM_AT) { \
        TWIN_NORM_FLOATS("DeepNorm");                                                                                               \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Deep, "DeepNorm", dstLocal, srcLocal, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        twin::norm_bsh(c, tiling);                                                                                                  \
        c.mean = meanLocal.ref();                                                                                                   \
        c.var = rstdLocal.ref();                                                                                                    \
        c.second = gxLocal.ref();                                                                                                   \
        c.beta = betaLocal.ref();                                                                                                   \
        c.gamma = gammaLocal.ref();                                                                                                 \
        c.alpha = static_cast<float>(alpha);                                                                                        \
        c.reuse = isReuseSrc;                                                                                                       \
        c.basic_block = isBasicBlock;                                                                                               \
        c.dst_name = "dst";                                                                                                         \
        c.x_name = "src";                                                                                                           \
        tw_norm(&c);                                                                                                                \
    }
// ---- DeepNorm
// dst = LayerNorm(alpha * src + gx); mean and, under the name rstd, the variance of that sum are outputs too
// limits: half, float; H <= 2040; beta comes before gamma; dst may be src with isReuseSrc only
// pipe: V; the device approximates, here every result is rounded once
TWIN_DEEP(, )
TWIN_DEEP(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_NORMALIZE(TMP, ARG)                                                                                                    \
    template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>                       \
    inline void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd, const LocalTensor<float>& inputMean,  \
                          const LocalTensor<float>& inputVariance, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma,       \
                          const LocalTensor<U>& beta, TMP const float epsilon, const NormalizePara& para, TWIN_NORM_AT) {           \
        TWIN_NORM_FLOATS("Normalize");                                                                                              \
        TWIN_ADV_TYPES("Normalize", U, twin::kF16 | twin::kF32, "half, float");                                                     \
        static_assert(sizeof(U) >= sizeof(T), "Normalize: gamma and beta are at least as precise as inputX. Fix: Cast them to its type"); \
        static_assert(config.reducePattern == ReducePattern::AR, "Normalize: only ReducePattern::AR is supported on Atlas A2");     \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Normalize, "Normalize", output, inputX, twin::adv_tmp(ARG), epsilon, at); \
        c.shape = {para.aLength, para.rLengthWithPadding, para.rLength};                                                            \
        c.b = 1;                                                                                                                    \
        c.s = config.aLength == -1 ? para.aLength : static_cast<uint32_t>(config.aLength);                                          \
        c.weight = twin::dtype_of<U>();                                                                                             \
        c.stat = twin::DType::F32;                                                                                                  \
        c.res = outputRstd.ref();                                                                                                   \
        c.mean = inputMean.ref();                                                                                                   \
        c.var = inputVariance.ref();                                                                                                \
        c.gamma = gamma.ref();                                                                                                      \
        c.beta = beta.ref();                                                                                                        \
        c.has_gamma = !config.isNoGamma;                                                                                            \
        c.has_beta = !config.isNoBeta;                                                                                              \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm(&c);                                                                                                                \
    }
// ---- Normalize
// outputRstd = 1 / sqrt(variance + epsilon); output = gamma * (inputX - mean) * rstd + beta with the given mean and variance
// limits: half, float; float statistics; gamma and beta at least as precise as inputX; output is not inputX
// pipe: V; the device approximates, here every result is rounded once
TWIN_NORMALIZE(, )
TWIN_NORMALIZE(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_BATCH(TMP, ARG)                                                                                                        \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false>                                                    \
    inline void BatchNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,     \
                          const LocalTensor<T>& inputX, const LocalTensor<T>& gamm, const LocalTensor<T>& beta, TMP const T epsilon, \
                          const BatchNormTiling& tiling, TWIN_NORM_AT) {                                                            \
        TWIN_NORM_FLOATS("BatchNorm");                                                                                              \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Batch, "BatchNorm", output, inputX, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        c.shape = {tiling.originalBLength, tiling.meanVarSize, tiling.meanVarSize};                                                 \
        c.b = tiling.originalBLength;                                                                                               \
        c.s = 1;                                                                                                                    \
        c.mean = outputMean.ref();                                                                                                  \
        c.var = outputVariance.ref();                                                                                               \
        c.gamma = gamm.ref();                                                                                                       \
        c.beta = beta.ref();                                                                                                        \
        c.reuse = isReuseSource;                                                                                                    \
        c.basic_block = isBasicBlock;                                                                                               \
        tw_norm(&c);                                                                                                                \
    }
// ---- BatchNorm
// output[b] = gamma[b] * (inputX[b] - mean) / sqrt(variance + epsilon) + beta[b]; mean and variance over the B axis
// limits: half, float; gamma and beta have B elements; output may be inputX
// pipe: V; the device approximates, here every result is rounded once
TWIN_BATCH(, )
TWIN_BATCH(TWIN_NORM_TMP, sharedTmpBuffer)

#define TWIN_GROUP(TMP, ARG)                                                                                                        \
    template <typename T, bool isReuseSource = false>                                                                               \
    inline void GroupNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,     \
                          const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta, TMP const T epsilon, \
                          const GroupNormTiling& tiling, TWIN_NORM_AT) {                                                            \
        TWIN_NORM_FLOATS("GroupNorm");                                                                                              \
        twin::NormCall c = twin::norm_call<T>(twin::Norm::Group, "GroupNorm", output, inputX, twin::adv_tmp(ARG), static_cast<float>(epsilon), at); \
        c.shape = {uint64_t(tiling.n) * tiling.g, uint64_t(tiling.d) * tiling.hw, uint64_t(tiling.d) * tiling.hw};                  \
        c.b = tiling.n;                                                                                                             \
        c.s = tiling.g;                                                                                                             \
        c.channel = tiling.hw;                                                                                                      \
        c.channels = tiling.c;                                                                                                      \
        c.groups = tiling.g;                                                                                                        \
        c.mean = outputMean.ref();                                                                                                  \
        c.var = outputVariance.ref();                                                                                               \
        c.gamma = gamma.ref();                                                                                                      \
        c.beta = beta.ref();                                                                                                        \
        c.reuse = isReuseSource;                                                                                                    \
        tw_norm(&c);                                                                                                                \
    }
// ---- GroupNorm
// output = gamma[c] * (inputX - mean) / sqrt(variance + epsilon) + beta[c]; mean and variance of every group of channels
// limits: half, float; inputX is N, C, H, W with H * W a multiple of 32 B; not on the inference chip
// pipe: V; the device approximates, here every result is rounded once
TWIN_GROUP(, )
TWIN_GROUP(TWIN_NORM_TMP, sharedTmpBuffer)

}  // namespace AscendC
