// Counting up: 0, 1, 2 … and other steps.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace twin {
template <class T>
inline IndexCall index_call(const char* api, const LocalRef& dst, T first, T step, const VecMask& mask, At at) {
    IndexCall c;
    c.api = api;
    c.at = at;
    c.type = dtype_of<T>();
    c.mask = mask;
    c.dst = dst;
    c.first = scalar_bits(first);
    c.step = scalar_bits(step);
    return c;
}
}  // namespace twin

namespace AscendC {

#define TWIN_INDEX_CHECK(NAME, T) TWIN_VEC_TYPES(NAME, T, twin::kI16 | twin::kF16 | twin::kI32 | twin::kF32, "takes int16_t, half, int32_t or float: Cast afterwards for others")
// ---- CreateVecIndex
// dst[i] = firstValue + i, built block by block, so that half is exact up to 2048 only; the mask forms write active lanes only
// limits: int16_t, half, int32_t, float; the count form always writes one whole block
// pipe: S for the first block, V for the rest
template <typename T>
inline void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, int64_t count, twin::At at = twin::At::here()) {
    TWIN_INDEX_CHECK("CreateVecIndex", T);
    twin::IndexCall c = twin::index_call<PrimT<T>>("CreateVecIndex", dst.ref(), firstValue, PrimT<T>(1), twin::by_count(count), at);
    tw_vec_index(&c);
}
template <typename T>
inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, int64_t repeatTime, int64_t dstBlkStride, int64_t dstRepStride,
                           twin::At at = twin::At::here()) {
    TWIN_INDEX_CHECK("CreateVecIndex", T);
    twin::IndexCall c = twin::index_call<PrimT<T>>("CreateVecIndex", dst.ref(), firstValue, PrimT<T>(1), twin::by_lanes(mask, repeatTime, true), at);
    c.dst_blk = dstBlkStride;
    c.dst_rep = dstRepStride;
    tw_vec_index(&c);
}
template <typename T>
inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, const uint64_t mask[], int64_t repeatTime, int64_t dstBlkStride, int64_t dstRepStride,
                           twin::At at = twin::At::here()) {
    TWIN_INDEX_CHECK("CreateVecIndex", T);
    twin::IndexCall c = twin::index_call<PrimT<T>>("CreateVecIndex", dst.ref(), firstValue, PrimT<T>(1), twin::by_bits(mask, repeatTime, true), at);
    c.dst_blk = dstBlkStride;
    c.dst_rep = dstRepStride;
    tw_vec_index(&c);
}

// ---- ArithProgression Arange
// dst[i] = firstValue + i * diffValue, built block by block: rounding adds up for half and float steps that are no integers
// limits: int16_t, half, int32_t, float; diffValue >= 0, count >= 1; above one block whole blocks are written
// pipe: S for the first block, V for the rest
template <typename T>
inline void ArithProgression(const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int64_t count, twin::At at = twin::At::here()) {
    TWIN_INDEX_CHECK("ArithProgression", T);
    twin::IndexCall c = twin::index_call<PrimT<T>>("ArithProgression", dst.ref(), firstValue, diffValue, twin::by_count(count), at);
    c.progression = 1;
    tw_vec_index(&c);
}
template <typename T>
inline void Arange(const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int64_t count, twin::At at = twin::At::here()) {
    TWIN_INDEX_CHECK("Arange", T);
    twin::IndexCall c = twin::index_call<PrimT<T>>("Arange", dst.ref(), firstValue, diffValue, twin::by_count(count), at);
    c.progression = 1;
    tw_vec_index(&c);
}

}  // namespace AscendC
