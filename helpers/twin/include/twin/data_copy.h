// DataCopy: whole 32 B blocks between GM and UB (or L1), and inside UB.
#pragma once
#include "twin/copy_params.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

#define TWIN_GM_TO_GM_ "Both operands are GlobalTensor and there is no GM to GM path: copy GM -> UB -> GM, staged in a LocalTensor."
#define TWIN_COPY_TYPES_ "DataCopy moves bytes and does not convert: source and destination need the same element type. Copy first, then Cast."

namespace AscendC {

// ---- DataCopy
// dst[i] = src[i] for i < floor(count * sizeof(T) / 32) * 32 / sizeof(T).
// UB address on 32 B, GM address on sizeof(T); count * sizeof(T) a multiple of 32 or the tail stays behind.
// GM -> UB: MTE2 · UB -> GM: MTE3 · UB -> UB: V
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, int64_t count, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    ::tw_copy_in_count(&d, &s, ::twin::dtype_of<T>(), count, at);
}
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, int64_t count, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    ::tw_copy_out_count(&d, &s, ::twin::dtype_of<T>(), count, at);
}
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    ::tw_copy_local_count(&d, &s, ::twin::dtype_of<T>(), count, at);
}

// ---- DataCopy (blocks)
// For b < blockCount: 32 * blockLen bytes from src + b * 32 * (blockLen + srcStride) to dst + b * 32 * (blockLen + dstStride).
// blockCount 0..4095, other fields 0..65535, all in 32 B blocks; a stride is the hole between two blocks, not the pitch.
// GM -> UB: MTE2 · UB -> GM: MTE3 · UB -> UB: V
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_in_blocks(&d, &s, ::twin::dtype_of<T>(), &b, at);
}
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_out_blocks(&d, &s, ::twin::dtype_of<T>(), &b, at);
}
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_local_blocks(&d, &s, ::twin::dtype_of<T>(), &b, at);
}
// The enhanced parameters act on the L0C -> UB path of the inference chip only; everywhere else they change nothing.
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, const DataCopyEnhancedParams&,
                     ::twin::At at = ::twin::At::here()) { DataCopy(dst, src, p, at); }
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, const DataCopyEnhancedParams&,
                     ::twin::At at = ::twin::At::here()) { DataCopy(dst, src, p, at); }
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, const DataCopyEnhancedParams&,
                     ::twin::At at = ::twin::At::here()) { DataCopy(dst, src, p, at); }

// ---- DataCopy (slices)
// The n-th piece of the source slice goes to the n-th piece of the destination slice (innermost dimension first).
// At most 8 dimensions, innermost first in the arrays; UB pieces on 32 B; element types of 1, 2 and 4 bytes.
// GM -> UB: MTE2 · UB -> GM: MTE3
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSlice[], const SliceInfo srcSlice[],
                     uint32_t dimValue = 1, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    ::twin::CopySlice ds[8], ss[8];
    for (uint32_t i = 0; i < dimValue && i < 8; ++i) { ds[i] = dstSlice[i].slice_(); ss[i] = srcSlice[i].slice_(); }
    ::tw_copy_in_slice(&d, &s, ::twin::dtype_of<T>(), ds, ss, dimValue, at);
}
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSlice[], const SliceInfo srcSlice[],
                     uint32_t dimValue = 1, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    ::twin::CopySlice ds[8], ss[8];
    for (uint32_t i = 0; i < dimValue && i < 8; ++i) { ds[i] = dstSlice[i].slice_(); ss[i] = srcSlice[i].slice_(); }
    ::tw_copy_out_slice(&d, &s, ::twin::dtype_of<T>(), ds, ss, dimValue, at);
}

// ---- DataCopy (ND to NZ)
// Row r, column c of matrix i goes to byte i*dstNzMatrixStride*S + ((c/C0)*dstNzC0Stride + r*dstNzNStride)*32 + (c%C0)*S,
// C0 = 32/S, columns filled with 0 up to a multiple of C0. ndNum 0..4095, nValue 0..16384, dstNz strides 1..16384.
// GM -> UB or L1: MTE2
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    const ::twin::CopyNd2Nz q = p.nd2nz_();
    ::tw_copy_nd2nz(&d, &s, ::twin::dtype_of<T>(), &q, at);
}

// ---- DataCopy (NZ to ND)
// dst[i*dstNdMatrixStride + r*dstDStride + c] = src[i*srcNdMatrixStride*256 + (c/16)*srcNStride*16 + r*16 + c%16].
// dValue a multiple of 16; nValue and dValue 1..8192; element types of 2 and 4 bytes.
// UB -> GM: MTE3
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    const ::twin::CopyNz2Nd q = p.nz2nd_();
    ::tw_copy_nz2nd(&d, &s, ::twin::dtype_of<T>(), &q, at);
}

// What cannot work says so, instead of "no matching function".
template <class T, class U> inline void DataCopy(const GlobalTensor<T>&, const GlobalTensor<U>&, int64_t) { static_assert(::twin::never<T, U>, TWIN_GM_TO_GM_); }
template <class T, class U> inline void DataCopy(const GlobalTensor<T>&, const GlobalTensor<U>&, const DataCopyParams&) { static_assert(::twin::never<T, U>, TWIN_GM_TO_GM_); }
template <class T, class U> inline void DataCopy(const LocalTensor<T>&, const GlobalTensor<U>&, int64_t) { static_assert(::twin::never<T, U>, TWIN_COPY_TYPES_); }
template <class T, class U> inline void DataCopy(const GlobalTensor<T>&, const LocalTensor<U>&, int64_t) { static_assert(::twin::never<T, U>, TWIN_COPY_TYPES_); }
template <class T, class U> inline void DataCopy(const LocalTensor<T>&, const GlobalTensor<U>&, const DataCopyParams&) { static_assert(::twin::never<T, U>, TWIN_COPY_TYPES_); }
template <class T, class U> inline void DataCopy(const GlobalTensor<T>&, const LocalTensor<U>&, const DataCopyParams&) { static_assert(::twin::never<T, U>, TWIN_COPY_TYPES_); }

// ---- DataCopy (UB to L1)
// UB -> L1 with Nd2NzParams.
// Not modelled: Atlas A2 has no wire from UB to L1, a Matmul object sends such data through global memory.
// MTE3
template <class T> inline void DataCopy(const LocalTensor<T>&, const LocalTensor<T>&, const Nd2NzParams&) {
    static_assert(::twin::never<T>, "DataCopy UB -> L1 with Nd2NzParams is not modelled here; store to GM and load with Nd2NzParams.");
}

}  // namespace AscendC
