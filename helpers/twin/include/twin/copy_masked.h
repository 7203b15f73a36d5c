// Copy inside UB on the vector unit, with mask and strides.
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

#define TWIN_COPY_TYPES (twin::kI16 | twin::kU16 | twin::kF16 | twin::kBF16 | twin::kI32 | twin::kU32 | twin::kF32)
#define TWIN_COPY_TEXT "takes 16-bit and 32-bit types: for others use ReinterpretCast, or DataCopy(dst, src, count)"

// ---- Copy
// dst = src, bit for bit, lane by lane; in counter mode the register counts the elements of every repeat
// limits: 16-bit and 32-bit types; block strides of CopyRepeatParams have to be given; no count form on Atlas A2
// pipe: V
template <typename T, bool isSetMask = true>
inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int64_t repeatTime,
                 const CopyRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Copy", T, TWIN_COPY_TYPES, TWIN_COPY_TEXT);
    constexpr twin::DType t = twin::dtype_of<T>();
    twin::VecCall c = twin::vec_call(twin::VecOp::Copy, "Copy", t, t, 1, twin::by_bits(mask, repeatTime, isSetMask), at);
    c.dst = {dst.ref(), {repeatParams.dstStride, repeatParams.dstRepeatSize}};
    c.src[0] = {src.ref(), {repeatParams.srcStride, repeatParams.srcRepeatSize}};
    tw_vec(&c);
}
template <typename T, bool isSetMask = true>
inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask, const int64_t repeatTime,
                 const CopyRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Copy", T, TWIN_COPY_TYPES, TWIN_COPY_TEXT);
    constexpr twin::DType t = twin::dtype_of<T>();
    twin::VecCall c = twin::vec_call(twin::VecOp::Copy, "Copy", t, t, 1, twin::by_lanes(mask, repeatTime, isSetMask), at);
    c.dst = {dst.ref(), {repeatParams.dstStride, repeatParams.dstRepeatSize}};
    c.src[0] = {src.ref(), {repeatParams.srcStride, repeatParams.srcRepeatSize}};
    tw_vec(&c);
}

}  // namespace AscendC
