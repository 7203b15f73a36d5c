// Folding the lanes of one repeat: sums as a tree of neighbours, extremes with the lane they stand in.
#pragma once
#include "vec_core.h"

namespace twin {

struct Lanes {
    alignas(64) uint8_t raw[kRepeat];     // elements side by side
    uint64_t on[2];                       // lanes that take part
    uint32_t n;                           // lanes looked at
    bool prefix;                          // all of the first n take part
};
struct Extreme { uint32_t bits = 0; int32_t lane = -1; };   // lane -1: no lane takes part

// Where an addition of finite numbers first left the range of the type.
struct Overflow { bool found = false; uint32_t step = 0, pair = 0; float a = 0, b = 0; };

// Arithmetic of one element type.
struct FoldType {
    uint32_t z;                           // bytes: 2 half, 4 float
    bool saturate;                        // half results clamp
    float value(uint32_t bits) const;
    uint32_t bits(float v) const;
    float add(float a, float b) const;    // rounded to the type
    // Sum over lanes from..from+n-1; `any` = false when none takes part.
    float sum(const Lanes& l, uint32_t from, uint32_t n, bool& any) const;
    float sum(const uint32_t* bits, uint32_t n) const;                        // packed elements
    Overflow find_overflow(const Lanes& l, uint32_t from, uint32_t n) const;
    Extreme extreme(const Lanes& l, uint32_t from, uint32_t n, bool largest) const;
    bool better(uint32_t candidate, uint32_t best, bool largest) const;       // NaN beats everything, +0 > -0
    bool finite(uint32_t bits) const;
};

}  // namespace twin
