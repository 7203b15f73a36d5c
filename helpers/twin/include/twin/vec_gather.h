// Reading by offset: elements or blocks of 32 bytes.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

#define TWIN_MOVE_TYPES (twin::kI16 | twin::kU16 | twin::kF16 | twin::kBF16 | twin::kI32 | twin::kU32 | twin::kF32)
#define TWIN_GATHER(MASK_PARAMETERS, BY, REPEAT_STRIDE)                                                                                      \
    template <typename T>                                                                                                                    \
    inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset, const uint32_t srcBaseAddr, \
                       MASK_PARAMETERS, twin::At at = twin::At::here()) {                                                                    \
        TWIN_VEC_TYPES("Gather", T, TWIN_MOVE_TYPES, "takes 16-bit and 32-bit types: use ReinterpretCast for others");                       \
        twin::GatherCall c;                                                                                                                  \
        c.api = "Gather";                                                                                                                    \
        c.at = at;                                                                                                                           \
        c.type = twin::dtype_of<T>();                                                                                                        \
        c.mask = BY;                                                                                                                         \
        c.dst = dst.ref();                                                                                                                   \
        c.src = src.ref();                                                                                                                   \
        c.offset = srcOffset.ref();                                                                                                          \
        c.base = srcBaseAddr;                                                                                                                \
        c.dst_rep = REPEAT_STRIDE;                                                                                                           \
        tw_vec_gather(&c);                                                                                                                   \
    }
#define TWIN_COMMA_ ,
// ---- Gather
// dst[i] = the element srcBaseAddr + srcOffset[i] BYTES behind the start of src
// limits: 16-bit and 32-bit types; offsets are multiples of the element size and stay inside src; at most 255 full repeats; dst apart from src
// pipe: V
TWIN_GATHER(const int64_t count, twin::by_count(count), 8)
TWIN_GATHER(const uint64_t mask TWIN_COMMA_ const int64_t repeatTime TWIN_COMMA_ const int64_t dstRepStride, twin::by_lanes(mask, repeatTime, true), dstRepStride)
TWIN_GATHER(const uint64_t mask[] TWIN_COMMA_ const int64_t repeatTime TWIN_COMMA_ const int64_t dstRepStride, twin::by_bits(mask, repeatTime, true), dstRepStride)

// ---- Gatherb
// block b of repeat r of dst = the 32 bytes offset[8r + b] bytes behind the start of src
// limits: uint16_t, uint32_t; offsets are multiples of 32; the mask registers have no effect and are full afterwards
// pipe: V
template <typename T>
inline void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset, const int64_t repeatTime,
                    const GatherRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Gatherb", T, twin::kU16 | twin::kU32, "takes uint16_t or uint32_t: use ReinterpretCast for others");
    twin::GatherCall c;
    c.api = "Gatherb";
    c.at = at;
    c.type = twin::dtype_of<T>();
    c.blocks = 1;
    c.mask.repeat = repeatTime;
    c.dst = dst.ref();
    c.src = src.ref();
    c.offset = offset.ref();
    c.dst_blk = repeatParams.dstBlkStride;
    c.dst_rep = repeatParams.dstRepStride;
    tw_vec_gather(&c);
}

}  // namespace AscendC
