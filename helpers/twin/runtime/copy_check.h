// Checks of block copy parameters that DataCopy and DataCopyPad share.
#pragma once
#include "copy_core.h"

namespace twin {

struct BlockLimits { int64_t count, len, src_stride, dst_stride; };
// Raises BAD_PARAMETER for a field out of its range. `units` of blockLen: "32 B blocks" or "bytes".
void check_fields(const char* api, const CopyBlocks& p, const BlockLimits& max, const char* units, At at);
// One side of a row copy: where it ends, and what a reader of the message should compare.
struct SideExtent {
    const char* stride_name;   // "srcStride"
    int64_t stride;            // as written
    int64_t stride_unit;       // bytes per unit of the stride: 1 or 32
    uint64_t row, rows, end;   // bytes of a row on this side, rows, end of the last row
    uint64_t room;             // bytes of the tensor
};
// Explains a side that is too long because a stride was given as a pitch or in the wrong unit; "" when neither fits.
std::string stride_confusion(const SideExtent& s, const char* unit_name);
// Warns when a GM stride looks like a row pitch although everything stays in bounds.
void check_pitch(const CopyCall& c, const CopyBlocks& p, uint64_t row, uint64_t gap, uint64_t rows);
// Raises GM_OUT_OF_BOUNDS with the better explanation, if there is one.
void check_global_extent(const CopyCall& c, const SideExtent& s, const char* unit_name);

}  // namespace twin
