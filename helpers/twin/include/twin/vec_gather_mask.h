// Keeping some elements and closing the gaps.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- GatherMaskParams
// {src0BlockStride, repeatTimes, src0RepeatStride, src1RepeatStride}: strides in 32-byte blocks
// limits: 0..255, 0..65535, 0..65535, 0..255; contiguous data has src0RepeatStride 8
// used by GatherMask
struct GatherMaskParams {
    int32_t src0BlockStride = 1, repeatTimes = 0, src0RepeatStride = 8, src1RepeatStride = 8;
    constexpr GatherMaskParams() = default;
    constexpr GatherMaskParams(twin::StrideArg src0Blk, twin::StrideArg repeat, twin::StrideArg src0Rep, twin::StrideArg src1Rep)
        : src0BlockStride(src0Blk), repeatTimes(repeat), src0RepeatStride(src0Rep), src1RepeatStride(src1Rep) {}
};
// ---- GatherMaskMode
enum class GatherMaskMode : uint8_t { VERSION_V1 = 0, VERSION_V2 = 1 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

}  // namespace AscendC

namespace twin {
inline void gather_mask(GatherMaskCall c, DType t, bool counter, uint32_t mask, const AscendC::GatherMaskParams& p, uint64_t& count, At at) {
    c.at = at;
    c.type = t;
    c.counter = counter;
    c.mask = mask;
    c.blk = p.src0BlockStride;
    c.repeats = p.repeatTimes;
    c.src_rep = p.src0RepeatStride;
    c.pattern_rep = p.src1RepeatStride;
    count = tw_vec_gather_mask(&c);
}
}  // namespace twin

namespace AscendC {

#define TWIN_GATHER_MASK_TYPES (twin::kI16 | twin::kU16 | twin::kF16 | twin::kBF16 | twin::kI32 | twin::kU32 | twin::kF32)
// ---- GatherMask
// appends the chosen elements of every repeat to dst; rsvdCnt = how many. Patterns 1 even, 2 odd, 3..6 every 4th from 0..3, 7 all; or bits
// limits: 16-bit types with uint16_t bits, 32-bit types with uint32_t bits; reduceMode: `mask` elements per repeat instead of 256 B
// pipe: V; the mask register is overwritten
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern, const bool reduceMode, const uint32_t mask,
                       const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("GatherMask", T, TWIN_GATHER_MASK_TYPES, "takes 16-bit and 32-bit types: use ReinterpretCast for others");
    static_assert(twin::dtype_of<U>() == (sizeof(PrimT<T>) == 2 ? twin::DType::U16 : twin::DType::U32),
                  "GatherMask takes its pattern as uint16_t for 16-bit elements and uint32_t for 32-bit elements: use ReinterpretCast on the pattern");
    twin::GatherMaskCall c;
    c.dst = dst.ref();
    c.src = src0.ref();
    c.pattern = src1Pattern.ref();
    twin::gather_mask(c, twin::dtype_of<T>(), reduceMode, mask, gatherMaskParams, rsvdCnt, at);
}
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode, const uint32_t mask,
                       const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("GatherMask", T, TWIN_GATHER_MASK_TYPES, "takes 16-bit and 32-bit types: use ReinterpretCast for others");
    twin::GatherMaskCall c;
    c.fixed = src1Pattern ? src1Pattern : 255;
    c.dst = dst.ref();
    c.src = src0.ref();
    twin::gather_mask(c, twin::dtype_of<T>(), reduceMode, mask, gatherMaskParams, rsvdCnt, at);
}

// ---- GetGatherMaskRemainCount
// number of elements the last GatherMask kept
// limits: none
// pipe: S
inline int64_t GetGatherMaskRemainCount(twin::At at = twin::At::here()) { return static_cast<int64_t>(tw_vec_gather_count(at)); }

}  // namespace AscendC
