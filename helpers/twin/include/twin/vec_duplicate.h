// Filling a tensor with one value.
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

#define TWIN_DUP_TYPES (twin::kI16 | twin::kU16 | twin::kF16 | twin::kBF16 | twin::kI32 | twin::kU32 | twin::kF32)
#define TWIN_DUP_TEXT "takes 16-bit and 32-bit types: for bytes use ReinterpretCast<uint16_t>() and a doubled byte pattern"

// ---- Duplicate
// every element that takes part = scalarValue, bit for bit
// limits: int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float; the scalar has the element type: Duplicate<half>(t, 0, n)
// pipe: V
template <typename T>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const int64_t count, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Duplicate", T, TWIN_DUP_TYPES, TWIN_DUP_TEXT);
    twin::VecCall c = twin::vec_call(twin::VecOp::Duplicate, "Duplicate", twin::dtype_of<T>(), twin::dtype_of<T>(), 0, twin::by_count(count), at);
    c.scalar = twin::scalar_bits(scalarValue);
    c.dst.ref = dst.ref();
    tw_vec(&c);
}
template <typename T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, const uint64_t mask[], const int64_t repeatTime,
                      const int64_t dstBlockStride, const int64_t dstRepeatStride, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Duplicate", T, TWIN_DUP_TYPES, TWIN_DUP_TEXT);
    twin::VecCall c = twin::vec_call(twin::VecOp::Duplicate, "Duplicate", twin::dtype_of<T>(), twin::dtype_of<T>(), 0,
                                     twin::by_bits(mask, repeatTime, isSetMask), at);
    c.scalar = twin::scalar_bits(scalarValue);
    c.dst = {dst.ref(), {twin::StrideArg(dstBlockStride), twin::StrideArg(dstRepeatStride)}};
    tw_vec(&c);
}
template <typename T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalarValue, uint64_t mask, const int64_t repeatTime, const int64_t dstBlockStride,
                      const int64_t dstRepeatStride, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Duplicate", T, TWIN_DUP_TYPES, TWIN_DUP_TEXT);
    twin::VecCall c = twin::vec_call(twin::VecOp::Duplicate, "Duplicate", twin::dtype_of<T>(), twin::dtype_of<T>(), 0,
                                     twin::by_lanes(mask, repeatTime, isSetMask), at);
    c.scalar = twin::scalar_bits(scalarValue);
    c.dst = {dst.ref(), {twin::StrideArg(dstBlockStride), twin::StrideArg(dstRepeatStride)}};
    tw_vec(&c);
}

}  // namespace AscendC
