// High-level mathematics: what is known of each function, and its loops.
#pragma once
#include "twin/abi_adv_math.h"
#include "vec_core.h"

namespace twin {

struct MathRow {
    const char* name;
    uint32_t types;              // element types, as bits (type_bit)
    uint8_t steps;               // basic instructions per repeat the cost estimate counts
    uint8_t half, single, reuse; // temporary space in copies of the input: half; float; float when the source may be destroyed
    uint16_t least;              // bytes of temporary space that are needed at least, 0 = as the factor says
    bool in_place;
    double lo, hi;               // where the function is defined on the device
    bool open;                   // the ends of the range are outside
};
const MathRow& math_row(MathOp op);
int math_op_of(const char* api);                        // -1 = unknown

// n elements; b may be null; number[0], number[1]: sources that are a number point to one element and do not move.
struct MathLoop {
    DType type, from;
    uint8_t mode;
    bool still[2];
};
void math_unary(MathOp op, const MathLoop& m, void* dst, const void* src, int64_t n);
void math_binary(MathOp op, const MathLoop& m, void* dst, const void* a, const void* b, int64_t n);

}  // namespace twin
