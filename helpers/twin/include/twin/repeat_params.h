// Strides of the repeat forms. Field order is the documented one. The hardware fields are 8 or 16 bits wide; here they
// are wider, so that a stride that does not fit is reported instead of losing its upper bits.
#pragma once
#include <type_traits>

#include "twin/base.h"

namespace twin {
// An integer of any type inside braces: {1, 1, 1, stride, 8, 8} compiles for int, uint32_t and size_t alike.
struct StrideArg {
    int32_t value;
    template <class I, class = std::enable_if_t<std::is_integral<I>::value || std::is_enum<I>::value>>
    constexpr StrideArg(I v) : value(fit(static_cast<int64_t>(v))) {}
    constexpr operator int32_t() const { return value; }
    static constexpr int32_t fit(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : static_cast<int32_t>(v); }
};
}  // namespace twin

namespace AscendC {

// ---- UnaryRepeatParams
// {dstBlkStride, srcBlkStride, dstRepStride, srcRepStride[, halfBlock]}: 32-byte blocks, start to start
// limits: block strides 0..65535 (dst >= 1), repeat strides 0..255
// defaults {1, 1, 8, 8} = contiguous data
struct UnaryRepeatParams {
    int32_t dstBlkStride = 1, srcBlkStride = 1, dstRepStride = 8, srcRepStride = 8;
    bool halfBlock = false;
    uint32_t blockNumber = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    constexpr UnaryRepeatParams() = default;
    constexpr UnaryRepeatParams(twin::StrideArg dstBlk, twin::StrideArg srcBlk, twin::StrideArg dstRep, twin::StrideArg srcRep, bool half_block = false)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep), halfBlock(half_block) {}
};

// ---- BinaryRepeatParams
// {dstBlkStride, src0BlkStride, src1BlkStride, dstRepStride, src0RepStride, src1RepStride}: 32-byte blocks
// limits: 0..255 each (dstBlkStride >= 1); a source block stride 0 repeats block 0, a repeat stride 0 repeats the row
// defaults {1, 1, 1, 8, 8, 8} = contiguous data
struct BinaryRepeatParams {
    int32_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    uint32_t blockNumber = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    constexpr BinaryRepeatParams() = default;
    constexpr BinaryRepeatParams(twin::StrideArg dstBlk, twin::StrideArg src0Blk, twin::StrideArg src1Blk, twin::StrideArg dstRep,
                                 twin::StrideArg src0Rep, twin::StrideArg src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk), dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep) {}
};

// ---- CopyRepeatParams
// {dstStride, srcStride, dstRepeatSize, srcRepeatSize}: block strides, then repeat strides, in 32-byte blocks
// limits: repeat strides 0..4095; the default block strides are 0 on the device, so always pass them
// used by Copy
struct CopyRepeatParams {
    int32_t dstStride = 0, srcStride = 0, dstRepeatSize = 8, srcRepeatSize = 8;
    constexpr CopyRepeatParams() = default;
    constexpr CopyRepeatParams(twin::StrideArg dst, twin::StrideArg src, twin::StrideArg dstRepeat, twin::StrideArg srcRepeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat) {}
};

// ---- GatherRepeatParams
// {dstBlkStride, dstRepStride}: 32-byte blocks
// limits: 0..255, 0..65535
// used by Gatherb
struct GatherRepeatParams {
    int32_t dstBlkStride = 1, dstRepStride = 8;
    uint32_t blockNumber = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    constexpr GatherRepeatParams() = default;
    constexpr GatherRepeatParams(twin::StrideArg dstBlk, twin::StrideArg dstRep) : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
};

// ---- BrcbRepeatParams
// {dstBlkStride, dstRepStride}: 32-byte blocks
// limits: 0..65535 (dstBlkStride >= 1)
// used by Brcb
struct BrcbRepeatParams {
    int32_t dstBlkStride = 1, dstRepStride = 8;
    uint32_t blockNumber = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    constexpr BrcbRepeatParams() = default;
    constexpr BrcbRepeatParams(twin::StrideArg dstBlk, twin::StrideArg dstRep) : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
};

}  // namespace AscendC
