// Entry points of the data movement part of the runtime. Kernel headers and the NumPy tiling simulation call the same ones.
#pragma once
#include "base.h"

namespace twin {

// Block copy parameters with the values as they were written, before any field cut them.
// Units are those of the call: 32 B blocks for DataCopy, bytes and blocks for DataCopyPad.
struct CopyBlocks {
    int64_t block_count, block_len, src_stride, dst_stride;
    At at;                    // where the struct was filled in
    uint8_t ext;              // 1: DataCopyExtParams (32-bit fields), 0: DataCopyParams (16-bit fields)
};

struct CopyPad {
    uint8_t is_pad;
    int64_t left, right;      // elements
    uint64_t value;           // bits of the padding value, in the element type
    uint8_t raw_value;        // 1: value came as 64 bits (DataCopyPadParams), not as an element
};

struct CopySlice { int64_t start, end, stride, burst, shape; };

struct CopyNd2Nz {
    int64_t nd_num, n_value, d_value, src_nd_matrix_stride, src_d_value, dst_nz_c0_stride, dst_nz_n_stride, dst_nz_matrix_stride;
};

struct CopyNz2Nd { int64_t nd_num, n_value, d_value, src_nd_matrix_stride, src_n_stride, dst_d_stride, dst_nd_matrix_stride; };

enum class Atomic : uint8_t { None, Add, Max, Min };

}  // namespace twin

extern "C" {
// DataCopy, contiguous: `count` elements, whole 32 B blocks.
void tw_copy_in_count(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, int64_t count, twin::At at);
void tw_copy_out_count(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, int64_t count, twin::At at);
void tw_copy_local_count(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, int64_t count, twin::At at);
// DataCopy, strided: everything in 32 B blocks.
void tw_copy_in_blocks(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
void tw_copy_out_blocks(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
void tw_copy_local_blocks(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
// DataCopy of slices: arrays of `dims` entries, innermost dimension first.
void tw_copy_in_slice(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopySlice* ds,
                      const twin::CopySlice* ss, uint32_t dims, twin::At at);
void tw_copy_out_slice(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopySlice* ds,
                       const twin::CopySlice* ss, uint32_t dims, twin::At at);
// DataCopy with a change of format.
void tw_copy_nd2nz(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopyNd2Nz* p, twin::At at);
void tw_copy_nz2nd(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyNz2Nd* p, twin::At at);
// DataCopyPad: byte granular on the GM side. `pad` may be null (old forms without padding).
void tw_copy_pad_in(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopyBlocks* p,
                    const twin::CopyPad* pad, twin::At at);
void tw_copy_pad_out(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
void tw_set_pad_value(uint64_t bits, twin::DType t, twin::At at);
// Copy paths between two local memories or in one direction that this chip or the twin does not have.
void tw_copy_no_path(const char* text, twin::At at);
// InitGlobalMemory / Fill / InitOutput: `api` is the name the learner used (static string).
void tw_init_global(const twin::GlobalRef* dst, twin::DType t, uint64_t count, uint64_t bits, const char* api, twin::At at);
// Fill / InitConstValue of L1, L0A, L0B.
void tw_fill_local(const twin::LocalRef* dst, twin::DType t, int64_t repeats, int64_t blocks, int64_t gap, uint64_t bits, const char* api, twin::At at);
// SetAtomicAdd / Max / Min / None; tw_set_atomic_type keeps the operation.
void tw_set_atomic(twin::Atomic op, twin::DType t, twin::At at);
void tw_set_atomic_type(twin::DType t, twin::At at);
void tw_get_atomic(twin::Atomic* op, twin::DType* t);
// Scalar access to GM through the data cache: GetValue (write = 0: *value receives the bytes) and SetValue (write = 1).
void tw_gm_scalar(const twin::GlobalRef* g, uint64_t byte_offset, uint32_t bytes, void* value, int write, twin::At at);
// The same for a bare `__gm__ T*`, and past the cache.
void tw_gm_bypass(void* p, uint32_t bytes, void* value, int write, twin::At at);
// DataCacheCleanAndInvalid / dcci: `dst` is a DcciDst value.
void tw_dcache_clean(const void* p, int entire, int dst, twin::At at);
void tw_dcache_preload(const void* p, twin::At at);
}
