// The inner products of Mmad, apart from all checks.
//
// C = start + A * B. The sum runs over k in groups of one fractal width (16-bit: 16, float: 8): a group is added up in
// double, where every product is exact, then added to the float result with one rounding. So the result does not depend
// on the compiler, on FMA or on the width of vectors. Integers are exact.
//
// The limit is the rate of double multiply-adds of one thread (8 lanes with AVX-512, 4 with AVX2); a block of 128 x 256 x
// 64 reaches two thirds of it, the rest goes into packing B. `python tests/bench.py` prints what this machine reaches
// beside NumPy's own product of doubles.
#pragma once
#include <cstdint>

#include "twin/base.h"

namespace twin {

struct Product {
    const uint8_t* a;         // L0A: ZZ fractals, or a plain vector
    const uint8_t* b;         // L0B: ZN fractals
    uint8_t* c;               // L0C: NZ fractals of 16 x 16, holding the start values
    DType type;               // of a and b
    int32_t m, n, k;
    int32_t k_fractals;       // fractals of A in a row, of B in a column
    bool vector;              // m == 1: A is a plain vector
    bool round, away;         // HF32: float inputs lose mantissa bits, ties to even or away from zero
};
struct ProductNotes { bool not_finite = false, overflow = false; };   // inf or NaN among the inputs; an int32 sum was clamped
void multiply(const Product& p, ProductNotes& notes);

}  // namespace twin
