// Softmax and its relatives: plain, online (flash attention), gradient, logarithm.
#pragma once
#include "twin/abi_softmax.h"
#include "twin/adv_call.h"

namespace AscendC {

// ---- SoftmaxMode
enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
// ---- SoftmaxConfig
// isCheckTiling, the valid shape when it is known at compile time, and the layout of max and sum
struct SoftmaxConfig {
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0, oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
    constexpr SoftmaxConfig(const bool check) : isCheckTiling(check) {}
    constexpr SoftmaxConfig(const bool check, const uint32_t m, const uint32_t k) : isCheckTiling(check), oriSrcM(m), oriSrcK(k) {}
    constexpr SoftmaxConfig(const bool check, const uint32_t m, const uint32_t k, const SoftmaxMode layout) : isCheckTiling(check), oriSrcM(m), oriSrcK(k), mode(layout) {}
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};
// ---- SoftMaxParams
// shape of SoftmaxFlashV3 and how it shifts the rows by their means
struct SoftMaxParams {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0, loopCnt = 1, splitMeanCnt = 8;
    float alpha = 0.9375;
};

}  // namespace AscendC

namespace twin {

template <class T> inline SoftmaxShape softmax_shape(const AscendC::LocalTensor<T>& src, uint32_t m, uint32_t k, uint32_t valid_m, uint32_t valid_k,
                                                     const AscendC::SoftmaxConfig& config, At at) {
    SoftmaxShape s{m, k, valid_m ? valid_m : m, valid_k ? valid_k : k};
    if (!(m && k) && src.has_shape_info()) {
        const AscendC::ShapeInfo i = src.GetShapeInfo(at);
        s = {1, 0, 1, 0};
        for (int d = 0; d + 1 < i.shapeDim; ++d) s.m *= i.shape[d];
        for (int d = 0; d + 1 < i.originalShapeDim; ++d) s.valid_m *= i.originalShape[d];
        if (i.shapeDim) s.k = i.shape[i.shapeDim - 1];
        if (i.originalShapeDim) s.valid_k = i.originalShape[i.originalShapeDim - 1];
    }
    if (config.oriSrcM && config.oriSrcK) {
        const uint32_t per_block = kBlock / sizeof(T), pitch = (config.oriSrcK + per_block - 1) / per_block * per_block;
        if (s.m < config.oriSrcM) s.m = config.oriSrcM;
        if (s.k < pitch) s.k = pitch;
        s.valid_m = config.oriSrcM;
        s.valid_k = config.oriSrcK;
    }
    return s;
}

template <class T, class U, class Tiling>
inline SoftmaxCall softmax_call(SoftmaxKind kind, const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AdvTmp& tmp,
                                const Tiling& tiling, const AscendC::SoftMaxShapeInfo& info, const AscendC::SoftmaxConfig& config, bool basic, bool nz, At at) {
    SoftmaxCall c;
    c.api = api;
    c.at = at;
    c.kind = kind;
    c.type = dtype_of<T>();
    c.stat = dtype_of<U>();
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    c.shape = softmax_shape(src, info.srcM, info.srcK, info.oriSrcM, info.oriSrcK, config, at);
    c.tiling = {tiling.srcM, tiling.srcK, tiling.srcM, tiling.srcK};
    c.split_m = tiling.splitM;
    c.basic_block = basic && !(config.oriSrcM && config.oriSrcK);
    c.nz = nz;
    c.no_brc = config.mode == AscendC::SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC;
    c.check_tiling = config.isCheckTiling;
    return c;
}

}  // namespace twin

namespace AscendC {

#define TWIN_SOFTMAX_TYPES(API) TWIN_ADV_TYPES(API, T, twin::kF16 | twin::kF32, "half, float")
// Every form exists with and without sharedTmpBuffer: TMP is the parameter, ARG what becomes of it.
#define TWIN_TMP const LocalTensor<uint8_t>& sharedTmpBuffer,
#define TWIN_SOFTMAX_STATS(NAME, KIND, T, U, SUM, MAX, TMP, ARG)                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& SUM##Tensor, const LocalTensor<U>& MAX##Tensor, const LocalTensor<T>& src, TMP      \
                     const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, twin::At at = twin::At::here()) {                                    \
        TWIN_ADV_TYPES(#NAME, T, twin::kF16 | twin::kF32, "half, float");                                                                                 \
        twin::SoftmaxCall c = twin::softmax_call<T, U>(twin::SoftmaxKind::KIND, #NAME, dst, src, twin::adv_tmp(ARG), tiling, info, config, isBasicBlock, isDataFormatNZ, at); \
        c.SUM = SUM##Tensor.ref();                                                                                                                        \
        c.MAX = MAX##Tensor.ref();                                                                                                                        \
        tw_softmax(&c);                                                                                                                                   \
    }
#define TWIN_SOFTMAX_HEAD(...) template <__VA_ARGS__, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>

// ---- SoftMax
// dst = exp(src - max) / sum in every row; max and sum hold one 32-byte block per row
// limits: half, float, or half with float max and sum; dst may be src; needs workspace of GetSoftMaxMinTmpSize
// pipe: V; the device approximates, here every result is rounded once
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SoftMax, Plain, T, T, sum, max, , )
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SoftMax, Plain, T, T, sum, max, TWIN_TMP, sharedTmpBuffer)
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SoftMax, Plain, half, float, sum, max, , )
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SoftMax, Plain, half, float, sum, max, TWIN_TMP, sharedTmpBuffer)
#define TWIN_SOFTMAX_BARE(TMP, ARG)                                                                                                                       \
    template <typename T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                       \
    inline void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, TMP const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {},         \
                        twin::At at = twin::At::here()) {                                                                                                 \
        TWIN_SOFTMAX_TYPES("SoftMax");                                                                                                                    \
        twin::SoftmaxCall c = twin::softmax_call<T, T>(twin::SoftmaxKind::Plain, "SoftMax", dst, src, twin::adv_tmp(ARG), tiling, info, config, isBasicBlock, false, at); \
        c.has_stats = 0;                                                                                                                                  \
        tw_softmax(&c);                                                                                                                                   \
    }
TWIN_SOFTMAX_BARE(, )
TWIN_SOFTMAX_BARE(TWIN_TMP, sharedTmpBuffer)

// ---- SimpleSoftMax
// dst = exp(src - inMax) / inSum with the given max and sum of every row
// limits: as SoftMax; one 32-byte block per row in inMax and inSum, all lanes equal
// pipe: V; the device approximates, here every result is rounded once
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SimpleSoftMax, Simple, T, T, in_sum, in_max, , )
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SimpleSoftMax, Simple, T, T, in_sum, in_max, TWIN_TMP, sharedTmpBuffer)
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SimpleSoftMax, Simple, half, float, in_sum, in_max, , )
TWIN_SOFTMAX_HEAD(typename T) TWIN_SOFTMAX_STATS(SimpleSoftMax, Simple, half, float, in_sum, in_max, TWIN_TMP, sharedTmpBuffer)

#define TWIN_SOFTMAX_FLASH(NAME, KIND, T, U, CONFIG, NZ, UPDATE_PARAMETER, TMP, ARG)                                                                      \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& sum, const LocalTensor<U>& max, const LocalTensor<T>& src, const LocalTensor<T>& expMax, \
                     const LocalTensor<U>& inSum, const LocalTensor<U>& inMax, TMP const SoftMaxTiling& tiling, UPDATE_PARAMETER                          \
                     const SoftMaxShapeInfo& info = {}, twin::At at = twin::At::here()) {                                                                 \
        TWIN_ADV_TYPES(#NAME, T, twin::kF16 | twin::kF32, "half, float");                                                                                 \
        twin::SoftmaxCall c = twin::softmax_call<T, U>(twin::SoftmaxKind::KIND, #NAME, dst, src, twin::adv_tmp(ARG), tiling, info, CONFIG, isBasicBlock, NZ, at); \
        c.sum = sum.ref();                                                                                                                                \
        c.max = max.ref();                                                                                                                                \
        c.exp_max = expMax.ref();                                                                                                                         \
        c.in_sum = inSum.ref();                                                                                                                           \
        c.in_max = inMax.ref();                                                                                                                           \
        c.update = isUpdate;                                                                                                                              \
        tw_softmax(&c);                                                                                                                                   \
    }
#define TWIN_COMMA_ ,
#define TWIN_UPDATE bool isUpdate = false TWIN_COMMA_
#define TWIN_FLASH_HEAD template <typename T, bool isReuseSource = false, bool isBasicBlock = false>

// ---- SoftmaxFlash
// SoftMax; with isUpdate it joins the result of earlier columns: dst and expMax are divided by the new sum
// limits: as SoftMax, ND only; older than SoftmaxFlashV2
// pipe: V; the device approximates, here every result is rounded once
TWIN_FLASH_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlash, Flash, T, T, SOFTMAX_DEFAULT_CFG, false, TWIN_UPDATE, , )
TWIN_FLASH_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlash, Flash, T, T, SOFTMAX_DEFAULT_CFG, false, TWIN_UPDATE, TWIN_TMP, sharedTmpBuffer)
TWIN_FLASH_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlash, Flash, half, float, SOFTMAX_DEFAULT_CFG, false, TWIN_UPDATE, , )
TWIN_FLASH_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlash, Flash, half, float, SOFTMAX_DEFAULT_CFG, false, TWIN_UPDATE, TWIN_TMP, sharedTmpBuffer)

#define TWIN_FLASH2_HEAD template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
// ---- SoftmaxFlashV2
// dst = exp(src - max), not divided; with isUpdate max, expSum and expMax = exp(inMax - max) carry earlier columns along
// limits: as SoftMax; first call of a row with isUpdate = false
// pipe: V; the device approximates, here every result is rounded once
TWIN_FLASH2_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlashV2, FlashV2, T, T, config, isDataFormatNZ, , , )
TWIN_FLASH2_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlashV2, FlashV2, T, T, config, isDataFormatNZ, , TWIN_TMP, sharedTmpBuffer)
TWIN_FLASH2_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlashV2, FlashV2, half, float, config, isDataFormatNZ, , , )
TWIN_FLASH2_HEAD TWIN_SOFTMAX_FLASH(SoftmaxFlashV2, FlashV2, half, float, config, isDataFormatNZ, , TWIN_TMP, sharedTmpBuffer)
#define TWIN_FLASH2_MAX(TMP, ARG)                                                                                                                         \
    TWIN_FLASH2_HEAD                                                                                                                                      \
    inline void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<T>& outReduceMax, const LocalTensor<T>& expSum, const LocalTensor<T>& max,    \
                               const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<T>& inExpSum, const LocalTensor<T>& inMax, TMP  \
                               const SoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, twin::At at = twin::At::here()) {                          \
        TWIN_SOFTMAX_TYPES("SoftmaxFlashV2");                                                                                                             \
        twin::SoftmaxCall c = twin::softmax_call<T, T>(twin::SoftmaxKind::FlashV2, "SoftmaxFlashV2", dst, src, twin::adv_tmp(ARG), tiling, info, config, isBasicBlock, isDataFormatNZ, at); \
        c.sum = expSum.ref();                                                                                                                             \
        c.max = max.ref();                                                                                                                                \
        c.exp_max = expMax.ref();                                                                                                                         \
        c.in_sum = inExpSum.ref();                                                                                                                        \
        c.in_max = inMax.ref();                                                                                                                           \
        c.reduce_max = outReduceMax.ref();                                                                                                                \
        c.has_reduce_max = 1;                                                                                                                             \
        c.update = isUpdate;                                                                                                                              \
        tw_softmax(&c);                                                                                                                                   \
    }
TWIN_FLASH2_MAX(, )
TWIN_FLASH2_MAX(TWIN_TMP, sharedTmpBuffer)

#define TWIN_FLASH3(TMP, ARG)                                                                                                                             \
    template <typename T, typename U, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,          \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                                                                          \
    inline void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean, const LocalTensor<U>& expSum, const LocalTensor<U>& max,            \
                               const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<U>& inMean, const LocalTensor<U>& inExpSum,     \
                               const LocalTensor<U>& inMax, TMP const SoftMaxTiling& tiling, const SoftMaxParams& params, twin::At at = twin::At::here()) { \
        TWIN_ADV_TYPES("SoftmaxFlashV3", T, twin::kF16, "half");                                                                                          \
        TWIN_ADV_TYPES("SoftmaxFlashV3", U, twin::kF32, "float");                                                                                         \
        twin::SoftmaxCall c = twin::softmax_call<T, U>(twin::SoftmaxKind::FlashV3, "SoftmaxFlashV3", dst, src, twin::adv_tmp(ARG), tiling,                \
                                                       {params.srcM, params.srcK, params.oriSrcM, params.oriSrcK}, config, isBasicBlock, isDataFormatNZ, at); \
        c.mean = mean.ref();                                                                                                                              \
        c.sum = expSum.ref();                                                                                                                             \
        c.max = max.ref();                                                                                                                                \
        c.exp_max = expMax.ref();                                                                                                                         \
        c.in_mean = inMean.ref();                                                                                                                         \
        c.in_sum = inExpSum.ref();                                                                                                                        \
        c.in_max = inMax.ref();                                                                                                                           \
        c.update = isUpdate;                                                                                                                              \
        c.loop = params.loopCnt;                                                                                                                          \
        c.mean_parts = params.splitMeanCnt;                                                                                                               \
        c.alpha = params.alpha;                                                                                                                           \
        tw_softmax(&c);                                                                                                                                   \
    }
// ---- SoftmaxFlashV3
// SoftmaxFlashV2 on rows shifted by their means, for half scores of long sequences
// limits: T half, U float; K >= 512 and a multiple of 64, M a multiple of 8, no padding, splitMeanCnt 8; not on the inference chip
// pipe: V; the device approximates, here every result is rounded once
TWIN_FLASH3(, )
TWIN_FLASH3(TWIN_TMP, sharedTmpBuffer)

#define TWIN_SOFTMAX_GRAD(NAME, KIND, NZ, FRONT_PARAMETER, TMP, ARG)                                                                                      \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src, TMP const SoftMaxTiling& tiling, FRONT_PARAMETER   \
                     const SoftMaxShapeInfo& info = {}, twin::At at = twin::At::here()) {                                                                 \
        TWIN_SOFTMAX_TYPES(#NAME);                                                                                                                        \
        twin::SoftmaxCall c = twin::softmax_call<T, T>(KIND, #NAME, dst, src, twin::adv_tmp(ARG), tiling, info, SOFTMAX_DEFAULT_CFG, isBasicBlock, NZ, at); \
        c.grad = grad.ref();                                                                                                                              \
        tw_softmax(&c);                                                                                                                                   \
    }
// ---- SoftmaxGrad
// dst = (grad - d) * src with d = sum of grad * src over the row; isFront: only d, one 32-byte block per row
// limits: half, float; dst may be src
// pipe: V; the device approximates, here every result is rounded once
#define TWIN_GRAD_KIND isFront ? twin::SoftmaxKind::GradFront : twin::SoftmaxKind::Grad
#define TWIN_FRONT bool isFront = false TWIN_COMMA_
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false, bool isBasicBlock = false> TWIN_SOFTMAX_GRAD(SoftmaxGrad, TWIN_GRAD_KIND, isDataFormatNZ, TWIN_FRONT, , )
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false, bool isBasicBlock = false> TWIN_SOFTMAX_GRAD(SoftmaxGrad, TWIN_GRAD_KIND, isDataFormatNZ, TWIN_FRONT, TWIN_TMP, sharedTmpBuffer)
// ---- SoftmaxGradFront
// dst = sum of grad * src over the row, one 32-byte block per row
// limits: half, float
// pipe: V; the device approximates, here every result is rounded once
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false> TWIN_SOFTMAX_GRAD(SoftmaxGradFront, twin::SoftmaxKind::GradFront, isDataFormatNZ, , , )
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false> TWIN_SOFTMAX_GRAD(SoftmaxGradFront, twin::SoftmaxKind::GradFront, isDataFormatNZ, , TWIN_TMP, sharedTmpBuffer)

// ---- LogSoftMax
// dst = log10(SoftMax(src)): base ten
// limits: half, float; dst is not src; always with sharedTmpBuffer
// pipe: V; the device approximates, here every result is rounded once
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
inline void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max, const LocalTensor<T>& src,
                       const LocalTensor<uint8_t>& sharedTmpBuffer, const LogSoftMaxTiling& tiling, const SoftMaxShapeInfo& info = {}, twin::At at = twin::At::here()) {
    TWIN_SOFTMAX_TYPES("LogSoftMax");
    twin::SoftmaxCall c = twin::softmax_call<T, T>(twin::SoftmaxKind::Log, "LogSoftMax", dst, src, twin::adv_tmp(sharedTmpBuffer), tiling, info, SOFTMAX_DEFAULT_CFG, false, isDataFormatNZ, at);
    c.sum = sum.ref();
    c.max = max.ref();
    tw_softmax(&c);
}

// ---- AdjustSoftMaxRes
// rows whose max has the bits `from` get `to` in all srcK columns of res; true if there was one
// limits: half, float; max: one 32-byte block per row, with stepSizeMode one element per row
// pipe: S reads max, V writes res
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
inline bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor, const uint32_t from, const T1 to, const SoftMaxShapeInfo& softmaxShapeInfo,
                             twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("AdjustSoftMaxRes", T1, twin::kF16 | twin::kF32, "half, float");
    TWIN_ADV_TYPES("AdjustSoftMaxRes", T2, twin::kF16 | twin::kF32, "half, float");
    twin::AdjustCall c;
    c.at = at;
    c.type = twin::dtype_of<T1>();
    c.stat = twin::dtype_of<T2>();
    c.res = softMaxRes.ref();
    c.max = maxTensor.ref();
    c.shape = {softmaxShapeInfo.srcM, softmaxShapeInfo.srcK, softmaxShapeInfo.oriSrcM, softmaxShapeInfo.oriSrcK};
    c.from = from;
    __builtin_memcpy(&c.to, &to, sizeof(T1));
    c.nz = isDataFormatNZ;
    c.no_brc = stepSizeMode != 0;
    return tw_adjust_softmax(&c) != 0;
}

}  // namespace AscendC
