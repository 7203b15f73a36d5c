// Pairs of 8 bytes (score, index) in UB, and their order.
#pragma once
#include <cmath>

#include "vec_half.h"
#include "vec_lanes.h"

namespace twin {

struct Pair { uint8_t byte[8]; };
inline float score(const Pair& p, uint32_t z) {
    if (z == 2) { uint16_t h; std::memcpy(&h, p.byte, 2); return half_value(h); }
    float f;
    std::memcpy(&f, p.byte, 4);
    return f;
}
// NaN has no documented place; here it comes first, so that the order is the same everywhere.
inline bool before(const Pair& a, const Pair& b, uint32_t z) {
    const float x = score(a, z), y = score(b, z);
    return x != x ? y == y : x > y;
}

}  // namespace twin
