// Small tables beside L0: the bias table (C2) and the fixpipe buffer (C2PIPE2GM), filled from L1.
#pragma once
#include "twin/abi_cube.h"
#include "twin/data_copy.h"

namespace twin {
template <class T, class U> constexpr bool table_types = dtype_of<T>() == DType::F32 && dtype_of<U>() == DType::F16;
}

namespace AscendC {

// ---- DataCopy (bias table)
// C1 in L1 -> C2: half becomes float on the way. Blocks of 64 B, srcStride in 32 B, dstStride in 64 B, both from the end of a block.
// Destination on 64 B, source on 32 B, at most 1024 B in the table.
// MTE1
template <class T, class U>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t count, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::table_types<T, U>, TWIN_COPY_TYPES_);
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    ::tw_copy_to_table(&d, &s, ::twin::dtype_of<T>(), ::twin::dtype_of<U>(), count, 0, 0, 0, 0, at);
}
template <class T, class U>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& p, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::table_types<T, U>, TWIN_COPY_TYPES_);
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_to_table(&d, &s, ::twin::dtype_of<T>(), ::twin::dtype_of<U>(), -1, b.block_count, b.block_len, b.src_stride, b.dst_stride, at);
}

}  // namespace AscendC
