// The mask registers of the vector unit: which lanes of a repeat take part, or (counter mode) how many elements.
#pragma once
#include "twin/abi_vec.h"
#include "twin/enums.h"

namespace AscendC {

constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

// ---- SetMaskCount
// counter mode: the register holds the number of elements of the whole instruction, repeatTime has no effect
// limits: undo with SetMaskNorm before the next normal call
// pipe: V (register)
inline void SetMaskCount(twin::At at = twin::At::here()) { tw_vec_mask_mode(1, at); }

// ---- SetMaskNorm
// normal mode (the default): the register holds one bit per lane of a repeat
// limits: the register keeps its bits, so call ResetMask too
// pipe: V (register)
inline void SetMaskNorm(twin::At at = twin::At::here()) { tw_vec_mask_mode(0, at); }

// ---- SetVectorMask
// (high, low): lanes 64..127 and 0..63, or in counter mode (0, count); (len): the first len lanes, or the count
// limits: the MaskMode argument has to agree with the mode set before
// pipe: V (register)
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t maskHigh, const uint64_t maskLow, twin::At at = twin::At::here()) {
    tw_vec_mask_set(maskHigh, maskLow, static_cast<int>(mode), at);
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int64_t len, twin::At at = twin::At::here()) {
    tw_vec_mask_len(len, static_cast<int>(sizeof(PrimT<T>)), static_cast<int>(mode), at);
}

// ---- ResetMask
// every bit of the register = 1
// limits: the mode stays as it is
// pipe: V (register)
inline void ResetMask(twin::At at = twin::At::here()) { tw_vec_mask_reset(at); }

// ---- SaturationMode
enum class SaturationMode : uint8_t { FLOAT, CAST };

// ---- SetSaturationFlag
// FLOAT true: half results clamp to +-65504 and NaN becomes 0; CAST false: conversions to integers keep the low bits
// limits: defaults are FLOAT false, CAST true
// pipe: S
template <SaturationMode mode>
inline void SetSaturationFlag(bool enableSat, twin::At at = twin::At::here()) { tw_vec_saturation(static_cast<int>(mode), enableSat, at); }

// ---- AscendCUtils
// the same switches under the older names, as static members
// limits: as SetVectorMask
// pipe: V (register)
struct AscendCUtils {
    template <typename T = uint8_t> static void SetMaskCount(twin::At at = twin::At::here()) { tw_vec_mask_mode(1, at); }
    template <typename T = uint8_t> static void SetMaskNorm(twin::At at = twin::At::here()) { tw_vec_mask_mode(0, at); }
    template <typename T, bool isSetMask = true> static void SetMask(const uint64_t& maskHigh, const uint64_t& maskLow, twin::At at = twin::At::here()) {
        if (isSetMask) tw_vec_mask_set(maskHigh, maskLow, -1, at);
    }
    template <typename T, bool isSetMask = true> static void SetMask(int64_t len, twin::At at = twin::At::here()) {
        if (isSetMask) tw_vec_mask_len(len, static_cast<int>(sizeof(PrimT<T>)), -1, at);
    }
    static void ResetMask(twin::At at = twin::At::here()) { tw_vec_mask_reset(at); }
    static void SetOverflow(uint64_t infNanMode, twin::At at = twin::At::here()) { tw_vec_saturation(0, infNanMode == 0, at); }
};

}  // namespace AscendC

// ---- set_mask_count set_mask_norm set_vector_mask
// the raw intrinsics behind the calls above
inline void set_mask_count(twin::At at = twin::At::here()) { tw_vec_mask_mode(1, at); }
inline void set_mask_norm(twin::At at = twin::At::here()) { tw_vec_mask_mode(0, at); }
inline void set_vector_mask(uint64_t maskHigh, uint64_t maskLow, twin::At at = twin::At::here()) { tw_vec_mask_set(maskHigh, maskLow, -1, at); }
