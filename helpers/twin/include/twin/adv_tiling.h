// Tiling structs of the high-level API, as host and kernel share them: plain fields, and set_/get_ for the host.
// The results depend on the shape fields only; the others are filled as a hint of how the device would loop.
#pragma once
#include "twin/tiling.h"

// ---- SoftMaxTiling
// What the softmax family reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(SoftMaxTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcM) TILING_DATA_FIELD_DEF(uint32_t, srcK) TILING_DATA_FIELD_DEF(uint32_t, srcSize)
    TILING_DATA_FIELD_DEF(uint32_t, outMaxM) TILING_DATA_FIELD_DEF(uint32_t, outMaxK) TILING_DATA_FIELD_DEF(uint32_t, outMaxSize)
    TILING_DATA_FIELD_DEF(uint32_t, splitM) TILING_DATA_FIELD_DEF(uint32_t, splitK) TILING_DATA_FIELD_DEF(uint32_t, splitSize)
    TILING_DATA_FIELD_DEF(uint32_t, reduceM) TILING_DATA_FIELD_DEF(uint32_t, reduceK) TILING_DATA_FIELD_DEF(uint32_t, reduceSize)
    TILING_DATA_FIELD_DEF(uint32_t, rangeM) TILING_DATA_FIELD_DEF(uint32_t, tailM) TILING_DATA_FIELD_DEF(uint32_t, tailSplitSize)
    TILING_DATA_FIELD_DEF(uint32_t, tailReduceSize)
END_TILING_DATA_DEF;

// ---- LogSoftMaxTiling
// What LogSoftMax reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(LogSoftMaxTiling)
    TILING_DATA_FIELD_DEF(uint32_t, srcM) TILING_DATA_FIELD_DEF(uint32_t, srcK) TILING_DATA_FIELD_DEF(uint32_t, srcSize)
    TILING_DATA_FIELD_DEF(uint32_t, outMaxM) TILING_DATA_FIELD_DEF(uint32_t, outMaxK) TILING_DATA_FIELD_DEF(uint32_t, outMaxSize)
    TILING_DATA_FIELD_DEF(uint32_t, splitM) TILING_DATA_FIELD_DEF(uint32_t, splitK) TILING_DATA_FIELD_DEF(uint32_t, splitSize)
    TILING_DATA_FIELD_DEF(uint32_t, reduceM) TILING_DATA_FIELD_DEF(uint32_t, reduceK) TILING_DATA_FIELD_DEF(uint32_t, reduceSize)
    TILING_DATA_FIELD_DEF(uint32_t, rangeM) TILING_DATA_FIELD_DEF(uint32_t, tailM) TILING_DATA_FIELD_DEF(uint32_t, tailSplitSize)
    TILING_DATA_FIELD_DEF(uint32_t, tailReduceSize)
END_TILING_DATA_DEF;

namespace AscendC { namespace tiling {
using ::SoftMaxTiling;
using ::LogSoftMaxTiling;
} }
namespace optiling {
using ::SoftMaxTiling;
using ::LogSoftMaxTiling;
}
