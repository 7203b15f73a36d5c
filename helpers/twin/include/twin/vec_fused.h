// Vector instructions that combine steps and may change the element type: multiply-add, add + relu + cast, dequantise.
#pragma once
#include "twin/vec_binary.h"

namespace AscendC {

// The three forms with a source type U and a destination type T.
#define TWIN_BINARY_MIXED(NAME, LEGAL, TEXT)                                                                                      \
    template <typename T, typename U>                                                                                             \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const int64_t count,      \
                     twin::At at = twin::At::here()) {                                                                            \
        constexpr twin::DType t = twin::dtype_of<T>(), u = twin::dtype_of<U>();                                                   \
        static_assert(LEGAL(u, t), #NAME " on Atlas A2 " TEXT);                                                                   \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, u, 2, twin::by_count(count), at), dst.ref(), src0.ref(),     \
                         src1.ref());                                                                                             \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint64_t mask[],    \
                     const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {          \
        constexpr twin::DType t = twin::dtype_of<T>(), u = twin::dtype_of<U>();                                                   \
        static_assert(LEGAL(u, t), #NAME " on Atlas A2 " TEXT);                                                                   \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, u, 2, twin::by_bits(mask, repeatTime, isSetMask), at),       \
                         dst.ref(), src0.ref(), src1.ref(), repeatParams);                                                        \
    }                                                                                                                             \
    template <typename T, typename U, bool isSetMask = true>                                                                      \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,            \
                     const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {          \
        constexpr twin::DType t = twin::dtype_of<T>(), u = twin::dtype_of<U>();                                                   \
        static_assert(LEGAL(u, t), #NAME " on Atlas A2 " TEXT);                                                                   \
        twin::vec_binary(twin::vec_call(twin::VecOp::NAME, #NAME, t, u, 2, twin::by_lanes(mask, repeatTime, isSetMask), at),      \
                         dst.ref(), src0.ref(), src1.ref(), repeatParams);                                                        \
    }

// ---- MulAddDst
// dst = round(src0 * src1) + dst, two roundings; with half sources and float dst the product is exact
// limits: (half,half)->half, (float,float)->float, (half,half)->float (64 lanes per repeat, no overlap)
// pipe: V
TWIN_BINARY_MIXED(MulAddDst, twin::mul_add_types, "takes (dst, src) = (half, half), (float, float) or (float, half): Cast first")

// ---- AddReluCast
// dst = Cast(max(0, src0 + src1)), the sum rounded in the source type; integer results clamp, NaN becomes 0
// limits: half -> int8_t, int16_t -> int8_t, float -> half; repeat strides {.., 4, 8, 8}
// pipe: V
TWIN_BINARY_MIXED(AddReluCast, twin::relu_cast_types, "converts half or int16_t to int8_t, or float to half: use AddRelu and Cast for others")

// ---- SubReluCast
// dst = Cast(max(0, src0 - src1))
// limits: as AddReluCast
// pipe: V
TWIN_BINARY_MIXED(SubReluCast, twin::relu_cast_types, "converts half or int16_t to int8_t, or float to half: use SubRelu and Cast for others")

// ---- MulCast
// dst = Cast(src0 * src1), product rounded to half, then to the nearest integer, clamped; NaN becomes 0
// limits: half -> int8_t, half -> uint8_t; repeat strides {.., 4, 8, 8}
// pipe: V
TWIN_BINARY_MIXED(MulCast, twin::mul_cast_types, "converts half to int8_t or uint8_t: use Mul and Cast for others")

// ---- AddDeqRelu
// dst = max(0, half(((float(src0 + src1) * 2^-17) * s) * 2^17)), s from SetDeqScale((half)s); the int32 sum wraps
// limits: int32_t -> half; 64 lanes per repeat; both sources are used as scratch and are undefined afterwards
// pipe: V
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1, const int64_t count,
                       twin::At at = twin::At::here()) {
    twin::vec_binary(twin::vec_call(twin::VecOp::AddDeqRelu, "AddDeqRelu", twin::DType::F16, twin::DType::I32, 2, twin::by_count(count), at),
                     dst.ref(), src0.ref(), src1.ref());
}
template <bool isSetMask = true>
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1, const uint64_t mask[],
                       const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    twin::vec_binary(twin::vec_call(twin::VecOp::AddDeqRelu, "AddDeqRelu", twin::DType::F16, twin::DType::I32, 2,
                                    twin::by_bits(mask, repeatTime, isSetMask), at), dst.ref(), src0.ref(), src1.ref(), repeatParams);
}
template <bool isSetMask = true>
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1, uint64_t mask,
                       const int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    twin::vec_binary(twin::vec_call(twin::VecOp::AddDeqRelu, "AddDeqRelu", twin::DType::F16, twin::DType::I32, 2,
                                    twin::by_lanes(mask, repeatTime, isSetMask), at), dst.ref(), src0.ref(), src1.ref(), repeatParams);
}

// ---- MulAddRelu
// newer name of FusedMulAddRelu: dst = max(0, round(src0 * dst) + src1)
// limits: half, float
// pipe: V
template <typename T>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int64_t count, twin::At at = twin::At::here()) {
    FusedMulAddRelu<T>(dst, src0, src1, count, at);
}
template <typename T, bool isSetMask = true>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[], const int64_t repeatTime,
                       const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}
template <typename T, bool isSetMask = true>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, const int64_t repeatTime,
                       const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}

}  // namespace AscendC
