// The control register of the vector unit: the one bit that changes results on Atlas A2.
#pragma once
#include "twin/abi_move.h"

namespace AscendC {

// ---- SetCtrlSpr
// bits startBit..endBit of the control register = value; bit 48: 1 = IEEE inf and NaN (the default here), 0 = half results clamp to +-65504
// limits: Atlas A2 knows bit 48 only
// pipe: S
template <int8_t startBit, int8_t endBit>
inline void SetCtrlSpr(int64_t value, twin::At at = twin::At::here()) {
    static_assert(startBit == 48 && endBit == 48, "SetCtrlSpr on Atlas A2 knows bit 48 (inf and NaN, or saturation): use SetCtrlSpr<48, 48>");
    tw_vec_saturation(0, value == 0, at);
}
// ---- GetCtrlSpr
// reads what SetCtrlSpr wrote
// limits: Atlas A2 knows bit 48 only
// pipe: S
template <int8_t startBit, int8_t endBit>
inline int64_t GetCtrlSpr(twin::At at = twin::At::here()) {
    static_assert(startBit == 48 && endBit == 48, "GetCtrlSpr on Atlas A2 knows bit 48 (inf and NaN, or saturation): use GetCtrlSpr<48, 48>");
    return tw_vec_saturated(at) ? 0 : 1;
}
// ---- ResetCtrlSpr
// the bits go back to their defaults
// limits: Atlas A2 knows bit 48 only
// pipe: S
template <int8_t startBit, int8_t endBit>
inline void ResetCtrlSpr(twin::At at = twin::At::here()) { SetCtrlSpr<startBit, endBit>(1, at); }

}  // namespace AscendC
