// Vector instructions with one source and one scalar: dst = f(src, scalar).
#pragma once
#include "twin/vec_call.h"

namespace twin {
// One of two overload sets: scalar type S of the tensor's own type T, or of the element type of the trait T.
template <class T, class S> using same_scalar = std::enable_if_t<std::is_same<S, T>::value || std::is_same<S, typename PrimOf<T>::type>::value, int>;
}  // namespace twin

namespace AscendC {

// The three forms of a vector-scalar instruction. The scalar has exactly the element type, or T is given explicitly.
// The forms with U are for tensors of a TensorTrait: there the scalar has the trait's element type.
#define TWIN_SCALAR_FORMS(NAME, SET, TEXT, HEAD, S)                                                                                \
    template <HEAD, bool isSetMask = true, twin::same_scalar<T, S> = 0>                                                            \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const S& scalarValue, const int64_t count,              \
                     twin::At at = twin::At::here()) {                                                                             \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                       \
        twin::vec_with_scalar<T, T>(twin::VecOp::NAME, #NAME, dst, src, scalarValue, twin::by_count(count, isSetMask), {}, 0, at); \
    }                                                                                                                              \
    template <HEAD, bool isSetMask = true, twin::same_scalar<T, S> = 0>                                                            \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const S& scalarValue, const uint64_t mask[],            \
                     const int64_t repeatTime, const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {            \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                       \
        twin::vec_with_scalar<T, T>(twin::VecOp::NAME, #NAME, dst, src, scalarValue, twin::by_bits(mask, repeatTime, isSetMask),   \
                                    repeatParams, 0, at);                                                                          \
    }                                                                                                                              \
    template <HEAD, bool isSetMask = true, twin::same_scalar<T, S> = 0>                                                            \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const S& scalarValue, uint64_t mask,                    \
                     const int64_t repeatTime, const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {            \
        TWIN_VEC_TYPES(#NAME, T, SET, TEXT);                                                                                       \
        twin::vec_with_scalar<T, T>(twin::VecOp::NAME, #NAME, dst, src, scalarValue, twin::by_lanes(mask, repeatTime, isSetMask),  \
                                    repeatParams, 0, at);                                                                          \
    }
#define TWIN_TWO_TYPES typename T, typename U
#define TWIN_SCALAR(NAME, SET, TEXT)                  \
    TWIN_SCALAR_FORMS(NAME, SET, TEXT, typename T, T) \
    TWIN_SCALAR_FORMS(NAME, SET, TEXT, TWIN_TWO_TYPES, U)
}  // namespace AscendC

namespace twin {
template <class T, class U>
inline void vec_with_scalar(VecOp op, const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src,
                            const AscendC::PrimT<U>& scalar, const VecMask& mask, const AscendC::UnaryRepeatParams& p, int mode, At at) {
    VecCall c = vec_call(op, api, dtype_of<T>(), dtype_of<U>(), 1, mask, at);
    c.scalar = scalar_bits(scalar);
    c.mode = static_cast<uint8_t>(mode);
    vec_unary(c, dst.ref(), src.ref(), p);
}
}  // namespace twin

namespace AscendC {

#define TWIN_SCALAR_TYPES (twin::kI16 | twin::kF16 | twin::kI32 | twin::kF32)
#define TWIN_SCALAR_TEXT "takes half, float, int16_t or int32_t: Cast other types first"
#define TWIN_SHIFT_TYPES (twin::kI16 | twin::kU16 | twin::kI32 | twin::kU32)

// ---- Adds
// dst = src + scalar, rounded once; integers wrap
// limits: half, float, int16_t, int32_t; the scalar has the element type: (half)0.5f
// pipe: V
TWIN_SCALAR(Adds, TWIN_SCALAR_TYPES, TWIN_SCALAR_TEXT)

// ---- Muls
// dst = src * scalar, rounded once; integers keep the low bits
// limits: half, float, int16_t, int32_t
// pipe: V
TWIN_SCALAR(Muls, TWIN_SCALAR_TYPES, TWIN_SCALAR_TEXT)

// ---- Maxs
// dst = the larger of src and scalar; NaN if either is NaN
// limits: half, float, int16_t, int32_t
// pipe: V
TWIN_SCALAR(Maxs, TWIN_SCALAR_TYPES, TWIN_SCALAR_TEXT)

// ---- Mins
// dst = the smaller of src and scalar; NaN if either is NaN
// limits: half, float, int16_t, int32_t
// pipe: V
TWIN_SCALAR(Mins, TWIN_SCALAR_TYPES, TWIN_SCALAR_TEXT)

// ---- LeakyRelu
// dst = src where the sign bit is clear, src * scalar where it is set (so -0 is multiplied too)
// limits: half, float
// pipe: V
TWIN_SCALAR(LeakyRelu, twin::kF16 | twin::kF32, "takes half or float: Cast to one of them first")

// ---- ShiftLeft
// dst = src << scalar; signed types keep their sign bit and shift the bits below it
// limits: int16_t, uint16_t, int32_t, uint32_t; scalar 0..16 or 0..32
// pipe: V
TWIN_SCALAR(ShiftLeft, TWIN_SHIFT_TYPES, "takes int16_t, uint16_t, int32_t or uint32_t")

// ---- ShiftRight
// dst = src >> scalar (signed: copies of the sign enter); roundEn adds the last bit shifted out (signed only)
// limits: int16_t, uint16_t, int32_t, uint32_t; scalar 0..16 or 0..32
// pipe: V
template <typename T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const int64_t count, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("ShiftRight", T, TWIN_SHIFT_TYPES, "takes int16_t, uint16_t, int32_t or uint32_t");
    twin::vec_with_scalar<T, T>(twin::VecOp::ShiftRight, "ShiftRight", dst, src, scalarValue, twin::by_count(count, isSetMask), {}, 0, at);
}
template <typename T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, const uint64_t mask[], const int64_t repeatTime,
                       const UnaryRepeatParams& repeatParams, bool roundEn = false, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("ShiftRight", T, TWIN_SHIFT_TYPES, "takes int16_t, uint16_t, int32_t or uint32_t");
    twin::vec_with_scalar<T, T>(twin::VecOp::ShiftRight, "ShiftRight", dst, src, scalarValue, twin::by_bits(mask, repeatTime, isSetMask),
                                repeatParams, roundEn, at);
}
template <typename T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalarValue, uint64_t mask, const int64_t repeatTime,
                       const UnaryRepeatParams& repeatParams, bool roundEn = false, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("ShiftRight", T, TWIN_SHIFT_TYPES, "takes int16_t, uint16_t, int32_t or uint32_t");
    twin::vec_with_scalar<T, T>(twin::VecOp::ShiftRight, "ShiftRight", dst, src, scalarValue, twin::by_lanes(mask, repeatTime, isSetMask),
                                repeatParams, roundEn, at);
}

// ---- Axpy
// dst = round(scalar * src) + dst, two roundings; with a half source and float dst the product is exact
// limits: half->half, float->float, half->float (64 lanes per repeat, strides {1,1,8,4}, no overlap); scalar of the source type
// pipe: V
#define TWIN_AXPY_TEXT "Axpy on Atlas A2 takes (dst, src) = (half, half), (float, float) or (float, half): Cast first"
template <typename T, typename U>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const int64_t count, twin::At at = twin::At::here()) {
    static_assert(twin::mul_add_types(twin::dtype_of<U>(), twin::dtype_of<T>()), TWIN_AXPY_TEXT);
    twin::vec_with_scalar<T, U>(twin::VecOp::Axpy, "Axpy", dst, src, scalarValue, twin::by_count(count), {}, 0, at);
}
template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, const uint64_t mask[], const int64_t repeatTime,
                 const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    static_assert(twin::mul_add_types(twin::dtype_of<U>(), twin::dtype_of<T>()), TWIN_AXPY_TEXT);
    twin::vec_with_scalar<T, U>(twin::VecOp::Axpy, "Axpy", dst, src, scalarValue, twin::by_bits(mask, repeatTime, isSetMask), repeatParams, 0, at);
}
template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalarValue, uint64_t mask, const int64_t repeatTime,
                 const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    static_assert(twin::mul_add_types(twin::dtype_of<U>(), twin::dtype_of<T>()), TWIN_AXPY_TEXT);
    twin::vec_with_scalar<T, U>(twin::VecOp::Axpy, "Axpy", dst, src, scalarValue, twin::by_lanes(mask, repeatTime, isSetMask), repeatParams, 0, at);
}

}  // namespace AscendC
