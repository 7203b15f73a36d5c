// Sums and other reductions over rows or columns of a matrix.
#pragma once
#include "twin/abi_adv_reduce.h"
#include "twin/adv_call.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- SumParams MeanParams
// {outter, inner, n}: rows, elements from row to row, elements that count
// limits: inner = n rounded up to 32 bytes, 1 <= n <= inner
// used by Sum, Mean
struct SumParams { uint32_t outter = 1, inner = 0, n = 0; };
struct MeanParams { uint32_t outter = 1, inner = 0, n = 0; };

}  // namespace AscendC
namespace twin {
template <class P> inline SumCall sum_call(const char* api, DType type, DType acc, bool mean, const P& p, const LocalRef& dst, const LocalRef& src, const AdvTmp& tmp, At at) {
    SumCall c;
    c.api = api;
    c.at = at;
    c.type = type;
    c.acc = acc;
    c.mean = mean;
    c.outer = p.outter;
    c.inner = p.inner;
    c.n = p.n;
    c.dst = dst;
    c.src = src;
    c.tmp = tmp;
    return c;
}
}  // namespace twin
namespace AscendC {

// ---- Sum
// dst[i] = sum of src[i*inner .. i*inner + n), a tree within every 256 bytes, each step rounded to T
// limits: half, float; half overflows above 65504; own dst; padding is not read; GetSumMaxMinTmpSize
// pipe: V
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
inline void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const SumParams& sumParams,
                twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("Sum", T, twin::kF16 | twin::kF32, "half, float");
    constexpr twin::DType t = twin::dtype_of<T>();
    const twin::SumCall c = twin::sum_call("Sum", t, t, false, sumParams, dstTensor.ref(), srcTensor.ref(), twin::adv_tmp(sharedTmpBuffer), at);
    tw_adv_sum(&c);
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
inline void Sum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const SumParams& sumParams, twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("Sum", T, twin::kF16 | twin::kF32, "half, float");
    constexpr twin::DType t = twin::dtype_of<T>();
    const twin::SumCall c = twin::sum_call("Sum", t, t, false, sumParams, dstTensor.ref(), srcTensor.ref(), twin::adv_tmp(), at);
    tw_adv_sum(&c);
}

// ---- Mean
// dst[i] = Sum of row i times 1/n; accType float keeps the sum of half in float
// limits: half, float; accType T or float; own dst; GetMeanMaxMinTmpSize
// pipe: V
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const MeanParams& meanParams,
                 twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("Mean", T, twin::kF16 | twin::kF32, "half, float");
    static_assert(std::is_same<accType, T>::value || std::is_same<accType, float>::value, "UNSUPPORTED_TYPE: Mean sums in T or in float. Fix: accType = float");
    const twin::SumCall c = twin::sum_call("Mean", twin::dtype_of<T>(), twin::dtype_of<accType>(), true, meanParams, dstTensor.ref(), srcTensor.ref(),
                                           twin::adv_tmp(sharedTmpBuffer), at);
    tw_adv_sum(&c);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const MeanParams& meanParams, twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("Mean", T, twin::kF16 | twin::kF32, "half, float");
    static_assert(std::is_same<accType, T>::value || std::is_same<accType, float>::value, "UNSUPPORTED_TYPE: Mean sums in T or in float. Fix: accType = float");
    const twin::SumCall c = twin::sum_call("Mean", twin::dtype_of<T>(), twin::dtype_of<accType>(), true, meanParams, dstTensor.ref(), srcTensor.ref(), twin::adv_tmp(), at);
    tw_adv_sum(&c);
}

// ---- ReduceXorSum
// dst[0] = sum of (src0 ^ src1), held at the ends of int16_t
// limits: int16_t; own dst; GetReduceXorSumMaxMinTmpSize
// pipe: V, S
template <typename T, bool isReuseSource = false>
inline void ReduceXorSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor,
                         const LocalTensor<uint8_t>& sharedTmpBuffer, const int64_t calCount, twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("ReduceXorSum", T, twin::kI16, "int16_t");
    const twin::XorSumCall c{at, calCount, dstTensor.ref(), src0Tensor.ref(), src1Tensor.ref(), twin::adv_tmp(sharedTmpBuffer)};
    tw_adv_xor_sum(&c);
}
template <typename T, bool isReuseSource = false>
inline void ReduceXorSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor, const int64_t calCount,
                         twin::At at = twin::At::here()) {
    TWIN_ADV_TYPES("ReduceXorSum", T, twin::kI16, "int16_t");
    const twin::XorSumCall c{at, calCount, dstTensor.ref(), src0Tensor.ref(), src1Tensor.ref(), twin::adv_tmp()};
    tw_adv_xor_sum(&c);
}

// ---- Pattern::Reduce::AR Pattern::Reduce::RA
// AR: srcShape {A, R}, one result per row; RA: srcShape {R, A}, one result per column
// limits: two axes
// used by ReduceSum, ReduceMax ... with a pattern
namespace Pattern { namespace Reduce {
struct AR { static constexpr int rows_first = 0; };
struct RA { static constexpr int rows_first = 1; };
struct R { static constexpr int rows_first = -1; };
struct ARA { static constexpr int rows_first = -1; };
struct ARAR { static constexpr int rows_first = -1; };
struct ARARA { static constexpr int rows_first = -1; };
struct RARA { static constexpr int rows_first = -1; };
struct RAR { static constexpr int rows_first = -1; };
} }  // namespace Pattern::Reduce

#define TWIN_PATTERN_FORM(NAME, OP, SET, LIST, TMP_PARAMETER, TMP)                                                                             \
    template <class T, class pattern, bool isReuseSource = false, int rowsFirst = pattern::rows_first>                                         \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor TMP_PARAMETER, const uint32_t srcShape[],                \
                     bool srcInnerPad, twin::At at = twin::At::here()) {                                                                       \
        TWIN_ADV_TYPES(#NAME, T, SET, LIST);                                                                                                   \
        static_assert(rowsFirst >= 0, "BAD_PARAMETER: " #NAME " on Atlas A2 knows only the 2-D patterns AR and RA. Fix: fold one axis at a time"); \
        static_assert(__NPU_ARCH__ == 2201 || twin::never<T>, "UNSUPPORTED_API: " #NAME " with a pattern does not exist on the inference chip. Fix: use " #NAME " with a count"); \
        twin::PatternCall c;                                                                                                                   \
        c.api = #NAME;                                                                                                                         \
        c.at = at;                                                                                                                             \
        c.type = twin::dtype_of<T>();                                                                                                          \
        c.op = twin::PatternOp::OP;                                                                                                            \
        c.rows_first = rowsFirst;                                                                                                              \
        c.padded = srcInnerPad;                                                                                                                \
        c.reuse = isReuseSource;                                                                                                               \
        c.shape[0] = srcShape[0];                                                                                                              \
        c.shape[1] = srcShape[1];                                                                                                              \
        c.dst = dstTensor.ref();                                                                                                               \
        c.src = srcTensor.ref();                                                                                                               \
        c.tmp = TMP;                                                                                                                           \
        tw_adv_pattern(&c);                                                                                                                    \
    }
#define TWIN_PATTERN_TMP_ , const LocalTensor<uint8_t>& sharedTmpBuffer
#define TWIN_PATTERN(NAME, OP, SET, LIST)                                                        \
    TWIN_PATTERN_FORM(NAME, OP, SET, LIST, , twin::adv_tmp())                                    \
    TWIN_PATTERN_FORM(NAME, OP, SET, LIST, TWIN_PATTERN_TMP_, twin::adv_tmp(sharedTmpBuffer))

// ---- ReduceSum
// with a pattern: sums of rows (AR) or columns (RA)
// limits: float; srcInnerPad true: rows start at 32 bytes; isReuseSource destroys src; GetReduceSumMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceSum, Sum, twin::kF32, "float")
// ---- ReduceMean
// means of rows (AR) or columns (RA)
// limits: float; srcInnerPad true; isReuseSource destroys src; GetReduceMeanMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceMean, Mean, twin::kF32, "float")
// ---- ReduceProd
// products of rows (AR) or columns (RA)
// limits: float; srcInnerPad true; isReuseSource destroys src; GetReduceProdMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceProd, Prod, twin::kF32, "float")
// ---- ReduceMax
// with a pattern: the largest of every row (AR) or column (RA)
// limits: half, float; srcInnerPad true; isReuseSource destroys src; GetReduceMaxMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceMax, Max, twin::kF16 | twin::kF32, "half, float")
// ---- ReduceMin
// with a pattern: the smallest of every row (AR) or column (RA)
// limits: half, float; srcInnerPad true; isReuseSource destroys src; GetReduceMinMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceMin, Min, twin::kF16 | twin::kF32, "half, float")
// ---- ReduceAny
// 1 where a row (AR) or column (RA) has a 1
// limits: uint8_t, float with values 0 and 1; srcInnerPad true; isReuseSource destroys src; GetReduceAnyMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceAny, Any, twin::kU8 | twin::kF32, "uint8_t, float")
// ---- ReduceAll
// 1 where a row (AR) or column (RA) has only 1
// limits: uint8_t, float with values 0 and 1; srcInnerPad true; isReuseSource destroys src; GetReduceAllMaxMinTmpSize
// pipe: V
TWIN_PATTERN(ReduceAll, All, twin::kU8 | twin::kF32, "uint8_t, float")

}  // namespace AscendC
