// What happens to a value of L0C on its way out: relu, scale, rounding, clamping.
#pragma once
#include <cstdint>

#include "twin/base.h"

namespace twin {

enum class Quant : uint8_t { None, Half, BFloat, Deq, Req };        // F322F16, F322BF16, DEQF16, REQ8 / QF322B8
// One scale word: float in the low half (19 bits of it count), shift, offset, sign.
struct QuantWord {
    float scale = 1;
    int32_t offset = 0, shift = 1;
    bool is_signed = false, narrow = false;                          // narrow: int32 is shifted and cut to 16 bits first
};
QuantWord quant_word(uint64_t bits);
struct QuantPlan {
    Quant mode = Quant::None;
    bool relu = false, integer = false, saturate = false;            // integer: L0C holds int32_t; saturate: no inf or NaN in half results
    DType to = DType::F32;
};
// n values of L0C to n results; words: one for all, or one per value.
void quantise(const QuantPlan& p, const QuantWord* words, bool per_value, const uint8_t* src, uint8_t* dst, int n);

}  // namespace twin
