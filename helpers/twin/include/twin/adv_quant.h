// Quantisation: half or float to int8_t and back, with one scale, one per column, or one per group.
#pragma once
#include "twin/abi_adv_quant.h"
#include "twin/adv_call.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- AscendQuantConfig
// {calcCount, offsetCount, scaleCount, workLocalSize}: sizes known at compile time, 0 = look at the arguments
// limits: a static constexpr object as template argument
// used by AscendQuant
struct AscendQuantConfig {
    uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0;
    constexpr AscendQuantConfig() = default;
    constexpr AscendQuantConfig(uint32_t c, uint32_t o, uint32_t s, uint32_t w) : calcCount(c), offsetCount(o), scaleCount(s), workLocalSize(w) {}
};
inline constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG{0, 0, 0, 0};
// ---- DeQuantMode
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW = 0, DEQUANT_WITH_MULTI_ROW };
// ---- DequantParams
// {m, n, calCount}: rows, elements from row to row, elements that count
// limits: n a multiple of 8, calCount <= n
// used by AscendDequant
struct DequantParams { uint32_t m = 0, n = 0, calCount = 0; };
// ---- AntiQuantShapeInfo
// {offsetHeight, offsetWidth, scaleHeight, scaleWidth}; zeros: the ShapeInfo of the tensors
// limits: offset and scale have one shape
// used by AscendAntiQuant
struct AntiQuantShapeInfo { uint32_t offsetHeight = 0, offsetWidth = 0, scaleHeight = 0, scaleWidth = 0; };

}  // namespace AscendC
namespace twin {
template <class T> inline QuantCall quant_call(const AscendC::LocalTensor<int8_t>& dst, const AscendC::LocalTensor<T>& src, const AdvTmp& tmp, const int64_t* count, At at) {
    TWIN_ADV_TYPES("AscendQuant", T, kF16 | kF32, "half, float");
    QuantCall c;
    c.at = at;
    c.type = dtype_of<T>();
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    if (count) { c.counted = 1; c.count = *count; }
    return c;
}
inline void quant_one(QuantCall c, float scale, float offset) {
    c.scale = scale;
    c.offset = offset;
    tw_adv_quant(&c);
}
inline void quant_many(QuantCall c, const LocalRef& scales, int64_t scale_count, float offset) {
    c.scale_tensor = 1;
    c.scales = scales;
    c.scale_count = scale_count;
    c.offset = offset;
    tw_adv_quant(&c);
}
inline void quant_pairs(QuantCall c, const LocalRef& scales, int64_t scale_count, const LocalRef& offsets, int64_t offset_count) {
    c.offset_tensor = 1;
    c.offsets = offsets;
    c.offset_count = offset_count;
    quant_many(c, scales, scale_count, 0);
}
}  // namespace twin
namespace AscendC {

#define TWIN_QUANT_FORM(TMP, COUNT, RUN, ...)                                                                                             \
    template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>                         \
    inline void AscendQuant(const LocalTensor<int8_t>& dstTensor, const LocalTensor<T>& srcTensor, __VA_ARGS__, twin::At at = twin::At::here()) { \
        const twin::QuantCall c = twin::quant_call(dstTensor, srcTensor, TMP, COUNT, at);                                                 \
        RUN;                                                                                                                              \
    }
#define TWIN_QUANT_BOTH(A, B, COUNTS, RUN_WHOLE, RUN_COUNTED)                                                                                        \
    TWIN_QUANT_FORM(twin::adv_tmp(), nullptr, RUN_WHOLE, A, B)                                                                                       \
    TWIN_QUANT_FORM(twin::adv_tmp(sharedTmpBuffer), nullptr, RUN_WHOLE, const LocalTensor<uint8_t>& sharedTmpBuffer, A, B)                           \
    TWIN_QUANT_FORM(twin::adv_tmp(), &calCount, RUN_COUNTED, A, B, COUNTS() const int64_t calCount)                                                  \
    TWIN_QUANT_FORM(twin::adv_tmp(sharedTmpBuffer), &calCount, RUN_COUNTED, const LocalTensor<uint8_t>& sharedTmpBuffer, A, B, COUNTS() const int64_t calCount)
#define TWIN_QUANT_COUNT1_()
#define TWIN_QUANT_COUNT2_() const int64_t scaleCount,
#define TWIN_QUANT_COUNT3_() const int64_t scaleCount, const int64_t offsetCount,
#define TWIN_QUANT_TMP_ , const LocalTensor<uint8_t>& sharedTmpBuffer
// ---- AscendQuant
// dst = int8 of half(half(x * scale) + offset), rounded to nearest even and held at -128..127; float is rounded to half first
// limits: half, float; scaleCount a multiple of 32 that divides calCount; dst may lie on src; GetAscendQuantMaxMinTmpSize
// pipe: V
TWIN_QUANT_BOTH(const float scale, const float offset, TWIN_QUANT_COUNT1_, twin::quant_one(c, scale, offset), twin::quant_one(c, scale, offset))
TWIN_QUANT_BOTH(const LocalTensor<T>& scaleTensor, const PrimT<T> offset, TWIN_QUANT_COUNT2_, twin::quant_many(c, scaleTensor.ref(), config.scaleCount, static_cast<float>(offset)),
                twin::quant_many(c, scaleTensor.ref(), scaleCount, static_cast<float>(offset)))
TWIN_QUANT_BOTH(const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor, TWIN_QUANT_COUNT3_,
                twin::quant_pairs(c, scaleTensor.ref(), config.scaleCount, offsetTensor.ref(), config.offsetCount),
                twin::quant_pairs(c, scaleTensor.ref(), scaleCount, offsetTensor.ref(), offsetCount))

}  // namespace AscendC
namespace twin {
template <class D, AscendC::DeQuantMode mode>
inline void dequant_call(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<int32_t>& src, DType scale_type, const LocalRef* scales, float number, const AdvTmp& tmp,
                         const AscendC::DequantParams& p, At at) {
    DequantCall c;
    c.at = at;
    c.type = dtype_of<D>();
    c.scale_type = scale_type;
    c.number = scales == nullptr;
    c.scale = number;
    if (scales) c.scales = *scales;
    c.multi_row = mode == AscendC::DeQuantMode::DEQUANT_WITH_MULTI_ROW;
    c.m = p.m;
    c.n = p.n;
    c.count = p.calCount;
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    tw_adv_dequant(&c);
}
template <class D, class S> constexpr bool dequant_types(bool number) {
    const DType d = dtype_of<D>(), s = dtype_of<S>();
    if (d == DType::F16) return s == DType::U64 && !number;
    return (d == DType::F32 || d == DType::BF16) && (s == DType::F32 || s == DType::BF16);
}
}  // namespace twin
namespace AscendC {

#define TWIN_DEQUANT_TYPES(NUMBER) \
    static_assert(twin::dequant_types<dstT, scaleT>(NUMBER), "UNSUPPORTED_TYPE: AscendDequant makes half with uint64_t scales, float or bfloat16_t with float or bfloat16_t scales")
#define TWIN_DEQUANT_VECTOR(TMP_PARAMETER, TMP, LAST, PARAMS)                                                                                              \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                                                     \
    inline void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor, const LocalTensor<scaleT>& deqScale TMP_PARAMETER LAST, \
                              twin::At at = twin::At::here()) {                                                                                            \
        TWIN_DEQUANT_TYPES(false);                                                                                                                         \
        const twin::LocalRef scales = deqScale.ref();                                                                                                      \
        twin::dequant_call<dstT, mode>(dstTensor, srcTensor, twin::dtype_of<scaleT>(), &scales, 1, TMP, PARAMS, at);                                       \
    }
#define TWIN_DEQUANT_NUMBER(TMP_PARAMETER, TMP)                                                                                                            \
    template <typename dstT, typename scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                                                     \
    inline void AscendDequant(const LocalTensor<dstT>& dstTensor, const LocalTensor<int32_t>& srcTensor, const scaleT deqScale TMP_PARAMETER,              \
                              const DequantParams& params, twin::At at = twin::At::here()) {                                                               \
        TWIN_DEQUANT_TYPES(true);                                                                                                                          \
        twin::dequant_call<dstT, mode>(dstTensor, srcTensor, twin::dtype_of<scaleT>(), nullptr, static_cast<float>(deqScale), TMP, params, at);            \
    }
#define TWIN_DEQUANT_PARAMS_ , const DequantParams& params
#define TWIN_DEQUANT_COUNT_ , const uint32_t calCount
// ---- AscendDequant
// dst[i*nd + j] = float(src[i*n + j]) * deqScale[j], nd = n rounded up to 32 bytes of dst
// limits: int32_t to half (uint64_t scales holding a float), float, bfloat16_t; own dst; GetAscendDequantMaxMinTmpSize
// pipe: V
TWIN_DEQUANT_VECTOR(, twin::adv_tmp(), TWIN_DEQUANT_PARAMS_, params)
TWIN_DEQUANT_VECTOR(TWIN_QUANT_TMP_, twin::adv_tmp(sharedTmpBuffer), TWIN_DEQUANT_PARAMS_, params)
TWIN_DEQUANT_NUMBER(, twin::adv_tmp())
TWIN_DEQUANT_NUMBER(TWIN_QUANT_TMP_, twin::adv_tmp(sharedTmpBuffer))
// the older forms: one row, as long as the source
TWIN_DEQUANT_VECTOR(, twin::adv_tmp(), TWIN_DEQUANT_COUNT_, (DequantParams{1, srcTensor.GetSize(), calCount}))
TWIN_DEQUANT_VECTOR(TWIN_QUANT_TMP_, twin::adv_tmp(sharedTmpBuffer), TWIN_DEQUANT_COUNT_, (DequantParams{1, srcTensor.GetSize(), calCount}))
TWIN_DEQUANT_VECTOR(, twin::adv_tmp(), , (DequantParams{1, srcTensor.GetSize(), deqScale.GetSize()}))
TWIN_DEQUANT_VECTOR(TWIN_QUANT_TMP_, twin::adv_tmp(sharedTmpBuffer), , (DequantParams{1, srcTensor.GetSize(), deqScale.GetSize()}))

}  // namespace AscendC
namespace twin {
template <class I, class O, bool transposed>
inline AntiQuantCall antiquant_call(const AscendC::LocalTensor<O>& dst, const AscendC::LocalTensor<I>& src, const AdvTmp& tmp, uint32_t k, At at) {
    static_assert(dtype_of<I>() == DType::I8 || dtype_of<I>() == DType::I4, "UNSUPPORTED_TYPE: AscendAntiQuant takes int8_t and int4b_t");
    static_assert(dtype_of<O>() == DType::F16 || dtype_of<O>() == DType::BF16, "UNSUPPORTED_TYPE: AscendAntiQuant makes half and bfloat16_t");
    AntiQuantCall c;
    c.at = at;
    c.type = dtype_of<O>();
    c.from = dtype_of<I>();
    c.transposed = transposed;
    c.k = k;
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    return c;
}
inline void antiquant_number(AntiQuantCall c, float scale, float offset, bool has_offset) {
    c.numbers = 1;
    c.scale = scale;
    c.offset = offset;
    c.has_offset = has_offset;
    tw_adv_antiquant(&c);
}
template <class O>
inline void antiquant_tables(AntiQuantCall c, const AscendC::LocalTensor<O>& scale, const AscendC::LocalTensor<O>* offset, const AscendC::AntiQuantShapeInfo& i) {
    AscendC::AntiQuantShapeInfo s = i;
    if (!s.scaleHeight && !s.scaleWidth) {
        const AscendC::ShapeInfo of = scale.GetShapeInfo(c.at);
        s.scaleHeight = of.shape[0];
        s.scaleWidth = of.shape[1];
    }
    if (offset && !s.offsetHeight && !s.offsetWidth) {
        const AscendC::ShapeInfo of = offset->GetShapeInfo(c.at);
        s.offsetHeight = of.shape[0];
        s.offsetWidth = of.shape[1];
    }
    c.scales = scale.ref();
    c.has_offset = offset != nullptr;
    if (offset) c.offsets = offset->ref();
    c.scale_height = s.scaleHeight;
    c.scale_width = s.scaleWidth;
    c.offset_height = s.offsetHeight;
    c.offset_width = s.offsetWidth;
    tw_adv_antiquant(&c);
}
}  // namespace twin
namespace AscendC {

#define TWIN_ANTIQUANT(PARAMS, TMP, INFO, RUN)                                                                                                  \
    template <typename InputDataType, typename OutputDataType, bool isTranspose>                                                                \
    inline void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src, PARAMS, const uint32_t k INFO,   \
                                twin::At at = twin::At::here()) {                                                                               \
        const twin::AntiQuantCall c = twin::antiquant_call<InputDataType, OutputDataType, isTranspose>(dst, src, TMP, k, at);                   \
        RUN;                                                                                                                                    \
    }
#define TWIN_ANTIQUANT_INFO_ , const AntiQuantShapeInfo& shapeInfo = {}
#define TWIN_ANTIQUANT_TWO_ const LocalTensor<OutputDataType>&offset, const LocalTensor<OutputDataType>&scale
#define TWIN_ANTIQUANT_ONE_ const LocalTensor<OutputDataType>& scale
#define TWIN_ANTIQUANT_TMP_ const LocalTensor<uint8_t>& sharedTmpBuffer
#define TWIN_ANTIQUANT_2T_ TWIN_ANTIQUANT_TWO_, TWIN_ANTIQUANT_TMP_
#define TWIN_ANTIQUANT_1T_ TWIN_ANTIQUANT_ONE_, TWIN_ANTIQUANT_TMP_
#define TWIN_ANTIQUANT_N2_ const PrimT<OutputDataType> offset, const PrimT<OutputDataType> scale, TWIN_ANTIQUANT_TMP_
#define TWIN_ANTIQUANT_N1_ const PrimT<OutputDataType> scale, TWIN_ANTIQUANT_TMP_
// ---- AscendAntiQuant
// dst = (src + offset) * scale; scale [groups, N] for a source [K, N], or [N, groups] transposed; half in half steps, bfloat16_t in float
// limits: int8_t, int4b_t to half, bfloat16_t; GetSize() of src says how much; own dst; GetAscendAntiQuantMaxMinTmpSize
// pipe: V
TWIN_ANTIQUANT(TWIN_ANTIQUANT_2T_, twin::adv_tmp(sharedTmpBuffer), TWIN_ANTIQUANT_INFO_, twin::antiquant_tables(c, scale, &offset, shapeInfo))
TWIN_ANTIQUANT(TWIN_ANTIQUANT_TWO_, twin::adv_tmp(), TWIN_ANTIQUANT_INFO_, twin::antiquant_tables(c, scale, &offset, shapeInfo))
TWIN_ANTIQUANT(TWIN_ANTIQUANT_1T_, twin::adv_tmp(sharedTmpBuffer), TWIN_ANTIQUANT_INFO_, twin::antiquant_tables<OutputDataType>(c, scale, nullptr, shapeInfo))
TWIN_ANTIQUANT(TWIN_ANTIQUANT_N2_, twin::adv_tmp(sharedTmpBuffer), TWIN_ANTIQUANT_INFO_, twin::antiquant_number(c, static_cast<float>(scale), static_cast<float>(offset), true))
TWIN_ANTIQUANT(TWIN_ANTIQUANT_N1_, twin::adv_tmp(sharedTmpBuffer), TWIN_ANTIQUANT_INFO_, twin::antiquant_number(c, static_cast<float>(scale), 0, false))

}  // namespace AscendC
