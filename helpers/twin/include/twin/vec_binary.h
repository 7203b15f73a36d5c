// Vector instructions with two sources of one type: dst = f(src0, src1).
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

// The three forms of a binary instruction. SET and TEXT: element types of the count form; SET2: of the two repeat forms.
#define TWIN_BINARY(NAME, SET, SET2, TEXT)                                                                                        \
    template <typename T>                                                                                                         \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int64_t count,      \
                     twin::At at = twin::At::here()) {                                                                            \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                      \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                            \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 2, twin::by_count(count), at), dst.ref(), src0.ref(),     \
                         src1.ref());                                                                                             \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[],    \
                     const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {          \
        TWIN_VEC_TYPES(#NAME, T, SET2, TEXT);                                                                                     \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                            \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 2, twin::by_bits(mask, repeatTime, isSetMask), at),       \
                         dst.ref(), src0.ref(), src1.ref(), repeatParams);                                                        \
    }                                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                                  \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,            \
                     const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {          \
        TWIN_VEC_TYPES(#NAME, T, SET2, TEXT);                                                                                     \
        constexpr twin::DType t = twin::dtype_of<T>();                                                                            \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, t, 2, twin::by_lanes(mask, repeatTime, isSetMask), at),      \
                         dst.ref(), src0.ref(), src1.ref(), repeatParams);                                                        \
    }

#define TWIN_ARITH (twin::kI16 | twin::kF16 | twin::kI32 | twin::kF32)
#define TWIN_ARITH_TEXT "takes half, float, int16_t or int32_t: Cast other types first (unsigned of the same width: ReinterpretCast, the bits are the same)"
#define TWIN_FLOAT2_TEXT "takes half or float: Cast to one of them first"
#define TWIN_BITS (twin::kI16 | twin::kU16)
#define TWIN_BITS_TEXT "takes int16_t or uint16_t: for other types use ReinterpretCast<uint16_t>() and count the 16-bit halves"

// ---- Add
// dst = src0 + src1, rounded once; integers wrap
// limits: half, float, int16_t, int32_t; operands start at multiples of 32 B; dst may be a source
// pipe: V
TWIN_BINARY(Add, TWIN_ARITH, TWIN_ARITH, TWIN_ARITH_TEXT)

// ---- Sub
// dst = src0 - src1, rounded once; integers wrap
// limits: half, float, int16_t, int32_t; dst may be a source
// pipe: V
TWIN_BINARY(Sub, TWIN_ARITH, TWIN_ARITH, TWIN_ARITH_TEXT)

// ---- Mul
// dst = src0 * src1, rounded once; integers keep the low bits
// limits: half, float, int16_t, int32_t; dst may be a source
// pipe: V
TWIN_BINARY(Mul, TWIN_ARITH, TWIN_ARITH, TWIN_ARITH_TEXT)

// ---- Div
// dst = src0 / src1; x/0 = inf, 0/0 = NaN
// limits: half, float; dst may be a source
// pipe: V
TWIN_BINARY(Div, twin::kF16 | twin::kF32, twin::kF16 | twin::kF32, TWIN_FLOAT2_TEXT)

// ---- Max
// dst = the larger of src0 and src1; NaN if either is NaN; max(+0, -0) = +0
// limits: half, float, int16_t, int32_t; dst may be a source
// pipe: V
TWIN_BINARY(Max, TWIN_ARITH, TWIN_ARITH, TWIN_ARITH_TEXT)

// ---- Min
// dst = the smaller of src0 and src1; NaN if either is NaN; min(+0, -0) = -0
// limits: half, float, int16_t, int32_t; dst may be a source
// pipe: V
TWIN_BINARY(Min, TWIN_ARITH, TWIN_ARITH, TWIN_ARITH_TEXT)

// ---- And
// dst = src0 & src1
// limits: int16_t, uint16_t; the count form also compiles for 32-bit types but counts 16-bit halves
// pipe: V
TWIN_BINARY(And, TWIN_BITS | twin::kI32 | twin::kU32, TWIN_BITS, TWIN_BITS_TEXT)

// ---- Or
// dst = src0 | src1
// limits: as And
// pipe: V
TWIN_BINARY(Or, TWIN_BITS | twin::kI32 | twin::kU32, TWIN_BITS, TWIN_BITS_TEXT)

// ---- AddRelu
// dst = max(0, src0 + src1), the sum rounded before the maximum; NaN stays NaN
// limits: half, float, int16_t; dst may be a source
// pipe: V
TWIN_BINARY(AddRelu, twin::kI16 | twin::kF16 | twin::kF32, twin::kI16 | twin::kF16 | twin::kF32, "takes half, float or int16_t: Cast other types first")

// ---- SubRelu
// dst = max(0, src0 - src1), the difference rounded before the maximum; NaN stays NaN
// limits: half, float, int16_t; dst may be a source
// pipe: V
TWIN_BINARY(SubRelu, twin::kI16 | twin::kF16 | twin::kF32, twin::kI16 | twin::kF16 | twin::kF32, "takes half, float or int16_t: Cast other types first")

// ---- FusedMulAdd
// dst = round(src0 * dst) + src1, two roundings (no fma); dst is an input too
// limits: half, float
// pipe: V
TWIN_BINARY(FusedMulAdd, twin::kF16 | twin::kF32, twin::kF16 | twin::kF32, TWIN_FLOAT2_TEXT)

// ---- FusedMulAddRelu
// dst = max(0, round(src0 * dst) + src1); dst is an input too
// limits: half, float
// pipe: V
TWIN_BINARY(FusedMulAddRelu, twin::kF16 | twin::kF32, twin::kF16 | twin::kF32, TWIN_FLOAT2_TEXT)

}  // namespace AscendC
