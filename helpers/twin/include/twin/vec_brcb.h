// One element becomes a block of 32 bytes.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- Brcb
// all elements of block b of repeat r of dst = src[8r + b]
// limits: 16-bit and 32-bit types; dst apart from src (it is 8 or 16 times as long); dstBlkStride >= 1; no mask
// pipe: V
template <typename T>
inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const int64_t repeatTime, const BrcbRepeatParams& repeatParams,
                 twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Brcb", T, twin::kI16 | twin::kU16 | twin::kF16 | twin::kBF16 | twin::kI32 | twin::kU32 | twin::kF32, "takes 16-bit and 32-bit types: use ReinterpretCast for others");
    twin::BrcbCall c;
    c.at = at;
    c.type = twin::dtype_of<T>();
    c.dst = dst.ref();
    c.src = src0.ref();
    c.repeats = repeatTime;
    c.dst_blk = repeatParams.dstBlkStride;
    c.dst_rep = repeatParams.dstRepStride;
    tw_vec_brcb(&c);
}

}  // namespace AscendC
