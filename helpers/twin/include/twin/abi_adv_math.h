// High-level mathematics as the runtime sees it: one plain description of a call.
#pragma once
#include "twin/abi_adv.h"

namespace twin {

enum class MathOp : uint8_t {
    Tanh, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, Erf, Erfc, Lgamma, Digamma,
    Log, Log2, Log10, Exp, Ceil, Floor, Trunc, Round, Frac, Sign,          // dst = f(src)
    Fmod, Xor, Power, Axpy, ClampMax, ClampMin,                            // dst = f(src0, src1), one of them may be a number
    N
};

struct MathCall {
    const char* api = "";             // the name as written
    At at{};
    MathOp op = MathOp::N;
    DType type = DType::None;         // element type of dst
    DType from = DType::None;         // element type of the sources
    uint8_t reuse = 0;                // isReuseSource
    uint8_t mode = 0;                 // Exp: taylorExpandLevel; Fmod: iterations, 0 = plain
    uint8_t number = 0;               // which source is a number: 0 none, 1 src[0], 2 src[1]
    uint8_t counted = 0;              // calCount was given
    int64_t count = 0;
    uint64_t scalar = 0;              // bits of the number, in the type of the sources
    LocalRef dst, src[2];
    AdvTmp tmp;
};

struct CumSumCall {
    At at{};
    DType type = DType::None;
    uint8_t last_axis = 1, last_row = 1;
    uint32_t outer = 0, inner = 0;
    LocalRef dst, last, src;
    AdvTmp tmp;
};

}  // namespace twin

extern "C" {
void tw_adv_math(const twin::MathCall* call);
void tw_adv_cumsum(const twin::CumSumCall* call);
// Bytes of temporary space for `elements` elements of `size` bytes: *most is as much as helps, *least is required.
// form: Power only, bit 0 = base is a tensor, bit 1 = exponent is a tensor, bit 2 = integers. Returns 0 for an unknown name.
int tw_math_tmp(const char* api, uint64_t elements, uint32_t size, int reuse, int form, uint32_t* most, uint32_t* least);
// The same as a formula: most = live * elements * size + extra.
int tw_math_factor(const char* api, uint32_t size, int reuse, int form, uint32_t* live, uint32_t* extra);
}
