// Weighted sums of gathered blocks.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

#define TWIN_BILINEAR(MASK, BY)                                                                                                                 \
    template <typename T>                                                                                                                       \
    inline void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src0Offset,           \
                                      const LocalTensor<T>& src1, MASK, int64_t hRepeat, bool repeatMode, int64_t dstBlkStride, int64_t vROffset, \
                                      int64_t vRepeat, const LocalTensor<uint8_t>& sharedTmpBuffer, twin::At at = twin::At::here()) {           \
        TWIN_VEC_TYPES("BilinearInterpolation", T, twin::kF16, "takes half: Cast first");                                                       \
        twin::BilinearCall c;                                                                                                                   \
        c.at = at;                                                                                                                              \
        c.mask = twin::BY(mask, 1, true);                                                                                                       \
        c.dst = dst.ref();                                                                                                                      \
        c.src = src0.ref();                                                                                                                     \
        c.offset = src0Offset.ref();                                                                                                            \
        c.weight = src1.ref();                                                                                                                  \
        c.tmp = sharedTmpBuffer.ref();                                                                                                          \
        c.horizontal = hRepeat;                                                                                                                 \
        c.one_each = repeatMode;                                                                                                                \
        c.dst_blk = dstBlkStride;                                                                                                               \
        c.row = vROffset;                                                                                                                       \
        c.vertical = vRepeat;                                                                                                                   \
        tw_vec_bilinear(&c);                                                                                                                    \
    }
// ---- BilinearInterpolation
// row v of dst = sum over h of (8 blocks gathered by src0Offset) * weight; one weight per row of blocks, or per block with repeatMode
// limits: half; offsets are multiples of 32 bytes; vROffset 128..65534 elements, a multiple of 16; own buffers for all operands
// pipe: V
TWIN_BILINEAR(uint64_t mask, by_lanes)
TWIN_BILINEAR(const uint64_t mask[], by_bits)

}  // namespace AscendC
