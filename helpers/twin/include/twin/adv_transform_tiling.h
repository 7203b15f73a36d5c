// Tiling structs of Pad, UnPad and the transpositions. The shape fields count, the others stay zero.
#pragma once
#include "twin/tiling.h"

// ---- PadTiling
// srcHeight, srcWidth, srcOriWidth, filled by PadTilingFunc
BEGIN_TILING_DATA_DEF(PadTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcHeight) TILING_DATA_FIELD_DEF(uint32_t, srcWidth) TILING_DATA_FIELD_DEF(uint32_t, srcOriWidth)
    TILING_DATA_FIELD_DEF_ARR(uint32_t, 23, reserved)
END_TILING_DATA_DEF;

// ---- UnPadTiling
// srcHeight, srcWidth, filled by UnPadTilingFunc
BEGIN_TILING_DATA_DEF(UnPadTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcHeight) TILING_DATA_FIELD_DEF(uint32_t, srcWidth) TILING_DATA_FIELD_DEF(uint32_t, tmpBuffer1BlockNum)
    TILING_DATA_FIELD_DEF(uint32_t, tmpBuffer1RowNum) TILING_DATA_FIELD_DEF(uint32_t, tmpBuffer2Offset) TILING_DATA_FIELD_DEF(uint32_t, widthTiling)
    TILING_DATA_FIELD_DEF(uint32_t, widthFractal) TILING_DATA_FIELD_DEF(uint32_t, widthFractalTail)
END_TILING_DATA_DEF;

// ---- ConfusionTransposeTiling
// opaque on the device; here param0..3 hold B, N, S, H/N (or H, W in param2, param3)
BEGIN_TILING_DATA_DEF(ConfusionTransposeTiling)
    TILING_DATA_FIELD_DEF(uint32_t, param0) TILING_DATA_FIELD_DEF(uint32_t, param1) TILING_DATA_FIELD_DEF(uint32_t, param2) TILING_DATA_FIELD_DEF(uint32_t, param3)
    TILING_DATA_FIELD_DEF(uint32_t, param4) TILING_DATA_FIELD_DEF(uint32_t, param5) TILING_DATA_FIELD_DEF(uint32_t, param6) TILING_DATA_FIELD_DEF(uint32_t, param7)
    TILING_DATA_FIELD_DEF(uint32_t, param8) TILING_DATA_FIELD_DEF(uint32_t, param9) TILING_DATA_FIELD_DEF(uint32_t, param10) TILING_DATA_FIELD_DEF(uint32_t, param11)
    TILING_DATA_FIELD_DEF(uint32_t, param12) TILING_DATA_FIELD_DEF(uint32_t, param13) TILING_DATA_FIELD_DEF(uint32_t, param14) TILING_DATA_FIELD_DEF(uint32_t, param15)
    TILING_DATA_FIELD_DEF(uint32_t, param16) TILING_DATA_FIELD_DEF(uint32_t, param17)
END_TILING_DATA_DEF;

// ---- TopkTiling
// opaque: the results depend on TopKInfo only
BEGIN_TILING_DATA_DEF(TopkTiling)
    TILING_DATA_FIELD_DEF(int32_t, tmpLocalSize) TILING_DATA_FIELD_DEF(int32_t, allDataSize) TILING_DATA_FIELD_DEF(int32_t, innerDataSize)
    TILING_DATA_FIELD_DEF(uint32_t, sortRepeat) TILING_DATA_FIELD_DEF_ARR(uint32_t, 20, reserved)
END_TILING_DATA_DEF;

namespace AscendC { namespace tiling {
using ::PadTiling;
using ::UnPadTiling;
using ::ConfusionTransposeTiling;
using ::TopkTiling;
} }
namespace optiling {
using ::PadTiling;
using ::UnPadTiling;
using ::ConfusionTransposeTiling;
using ::TopkTiling;
}
