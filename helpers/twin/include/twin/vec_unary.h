// Vector instructions with one source: dst = f(src).
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

// The three forms of a unary instruction: count, bit per lane, first lanes.
#define TWIN_UNARY(NAME, SET, TEXT)                                                                                              \
    template <typename T>                                                                                                        \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int64_t count, twin::At at = twin::At::here()) { \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                     \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                           \
        twin::vec_unary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 1, twin::by_count(count), at), dst.ref(), src.ref());     \
    }                                                                                                                            \
    template <typename T, bool isSetMask = true>                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int64_t repeatTime,      \
                     const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {                                    \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                     \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                           \
        twin::vec_unary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 1, twin::by_bits(mask, repeatTime, isSetMask), at),       \
                        dst.ref(), src.ref(), repeatParams);                                                                     \
    }                                                                                                                            \
    template <typename T, bool isSetMask = true>                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, const int64_t repeatTime,              \
                     const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {                                    \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                     \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                           \
        twin::vec_unary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 1, twin::by_lanes(mask, repeatTime, isSetMask), at),      \
                        dst.ref(), src.ref(), repeatParams);                                                                     \
    }

#define TWIN_FLOATS "takes half or float: Cast to one of them first"

// ---- Exp
// dst = e^src, computed in double and rounded once
// limits: half, float; dst may be src; half overflows above 11.09, float above 88.72
// pipe: V
TWIN_UNARY(Exp, twin::kF16 | twin::kF32, TWIN_FLOATS)

// ---- Ln
// dst = natural logarithm of src; ln(0) = -inf, negative numbers give NaN
// limits: half, float; dst may be src
// pipe: V
TWIN_UNARY(Ln, twin::kF16 | twin::kF32, TWIN_FLOATS)

// ---- Abs
// dst = src without its sign
// limits: half, float; dst may be src
// pipe: V
TWIN_UNARY(Abs, twin::kF16 | twin::kF32, "takes half or float: Cast integers first, or take Max of x and Muls(x, -1)")

// ---- Reciprocal
// dst = 1 / src; the hardware approximates (the 3rd or 4th digit may differ), the twin rounds exactly
// limits: half, float; dst may be src
// pipe: V
TWIN_UNARY(Reciprocal, twin::kF16 | twin::kF32, TWIN_FLOATS)

// ---- Sqrt
// dst = square root of src; negative numbers give NaN
// limits: half, float; dst may be src
// pipe: V
TWIN_UNARY(Sqrt, twin::kF16 | twin::kF32, TWIN_FLOATS)

// ---- Rsqrt
// dst = 1 / square root of src; approximate on the hardware, exact here
// limits: half, float; dst may be src
// pipe: V
TWIN_UNARY(Rsqrt, twin::kF16 | twin::kF32, TWIN_FLOATS)

// ---- Relu
// dst = src > 0 ? src : +0; NaN stays NaN
// limits: half, int32_t, float; dst may be src
// pipe: V
TWIN_UNARY(Relu, twin::kF16 | twin::kI32 | twin::kF32, "takes half, float or int32_t: Cast other types first")

// ---- Not
// dst = src with every bit flipped
// limits: int16_t, uint16_t; for wider data use ReinterpretCast<uint16_t>() and a larger count
// pipe: V
TWIN_UNARY(Not, twin::kI16 | twin::kU16, "takes int16_t or uint16_t: for other types use ReinterpretCast<uint16_t>() and count the 16-bit halves")

}  // namespace AscendC
