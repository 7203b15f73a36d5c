// What is known of each high-level function: types, range, temporary space. One row per name.
#include <algorithm>
#include <cstring>

#include "adv_math.h"

namespace twin {
namespace {

constexpr double kInf = __builtin_huge_val();
constexpr double kHalf = 65504;
constexpr uint32_t kFloats = kF16 | kF32;

// The factors are those of the vendor's size functions; the rounding around them may differ between releases.
// name, types, steps, half, float, float reused, least, in place, range, open ends
const MathRow kRows[] = {
    {"Tanh", kFloats, 12, 4, 1, 1, 0, false, -kInf, kInf, false},
    {"Sin", kFloats, 18, 8, 3, 2, 0, false, -kHalf, kHalf, false},
    {"Cos", kFloats, 18, 8, 3, 2, 0, false, -kHalf, kHalf, false},
    {"Tan", kFloats, 24, 10, 4, 4, 0, false, -kHalf, kHalf, true},
    {"Asin", kFloats, 22, 6, 2, 2, 0, false, -1, 1, false},
    {"Acos", kFloats, 24, 6, 2, 2, 0, false, -1, 1, false},
    {"Atan", kFloats, 30, 12, 5, 5, 0, false, -kInf, kInf, false},
    {"Sinh", kFloats, 9, 4, 1, 1, 0, false, -kInf, kInf, false},
    {"Cosh", kFloats, 9, 6, 2, 2, 0, false, -kInf, kInf, false},
    {"Asinh", kFloats, 8, 3, 3, 3, 0, false, -kHalf, kHalf, false},
    {"Acosh", kFloats, 6, 2, 1, 1, 0, false, 1, kHalf, false},
    {"Atanh", kFloats, 6, 4, 1, 1, 0, false, -0.99, 0.99, true},
    {"Erf", kFloats, 18, 8, 3, 3, 0, false, -kInf, kInf, false},
    {"Erfc", kFloats, 40, 16, 7, 7, 0, false, -kInf, kInf, false},
    {"Lgamma", kFloats, 90, 26, 8, 7, 0, false, -kInf, kInf, false},
    {"Digamma", kFloats, 70, 16, 7, 6, 0, false, -kInf, kInf, false},
    {"Log", kFloats, 1, 0, 0, 0, 0, false, -kInf, kInf, false},
    {"Log2", kFloats, 2, 2, 0, 0, 256, false, -kInf, kInf, false},
    {"Log10", kFloats, 2, 0, 0, 0, 0, false, -kInf, kInf, false},
    {"Exp", kFloats, 24, 8, 3, 2, 1024, false, -kInf, kInf, false},
    {"Ceil", kFloats, 2, 2, 1, 1, 0, false, -kInf, kInf, false},
    {"Floor", kFloats, 2, 2, 0, 0, 0, false, -kInf, kInf, false},
    {"Trunc", kFloats, 2, 2, 1, 1, 0, true, -kInf, kInf, false},
    {"Round", kFloats, 2, 1, 0, 0, 0, false, -kInf, kInf, false},
    {"Frac", kFloats, 3, 4, 0, 0, 0, false, -kInf, kInf, false},
    {"Sign", kFloats, 6, 3, 3, 3, 0, false, -kInf, kInf, false},
    {"Fmod", kFloats, 5, 8, 1, 1, 0, false, -kInf, kInf, false},
    {"Xor", kI16 | kU16, 4, 1, 1, 1, 0, false, -kInf, kInf, false},
    {"Power", kFloats | kI32, 20, 14, 4, 4, 0, false, -kInf, kInf, false},
    {"Axpy", kFloats, 2, 4, 0, 0, 0, false, -kInf, kInf, false},
    {"ClampMax", kFloats, 2, 0, 0, 0, 0, false, -kInf, kInf, false},
    {"ClampMin", kFloats, 2, 0, 0, 0, 0, false, -kInf, kInf, false},
};
static_assert(sizeof(kRows) / sizeof(kRows[0]) == size_t(MathOp::N), "one row per MathOp");

struct Space { uint32_t live = 0, extra = 0, least = 0; };

Space space_of(MathOp op, uint32_t size, bool reuse, int form) {
    const MathRow& r = math_row(op);
    Space s;
    s.live = size == 2 ? r.half : reuse ? r.reuse : r.single;
    s.least = s.live * 256;
    if (s.live && r.least && size == 2) s.least = r.least;
    if (op == MathOp::Power) {
        const bool integers = form & 4, scalar = (form & 3) != 3;
        if (integers) s.live = scalar ? 7 : 6;
        else if (size == 4) s.live = scalar ? 5 : 4;
        s.extra = integers ? 0 : 256;
        s.least = s.live * (size == 2 ? 128 : 256) + s.extra;
    }
    return s;
}

}  // namespace

const MathRow& math_row(MathOp op) { return kRows[int(op)]; }

int math_op_of(const char* api) {
    if (!std::strcmp(api, "Clamp")) return int(MathOp::ClampMax);
    for (int i = 0; i < int(MathOp::N); ++i)
        if (!std::strcmp(api, kRows[i].name)) return i;
    return -1;
}

}  // namespace twin

using namespace twin;

extern "C" {
int tw_math_factor(const char* api, uint32_t size, int reuse, int form, uint32_t* live, uint32_t* extra) {
    const int op = math_op_of(api);
    if (op < 0) return 0;
    const Space s = space_of(MathOp(op), size, reuse, form);
    *live = s.live;
    *extra = s.extra;
    if (op == int(MathOp::ClampMax)) { *live = 1; *extra = 0; }   // one byte per element, not one copy: an upper bound
    return 1;
}
int tw_math_tmp(const char* api, uint64_t elements, uint32_t size, int reuse, int form, uint32_t* most, uint32_t* least) {
    const int op = math_op_of(api);
    if (op < 0) return 0;
    if (op == int(MathOp::ClampMax) || op == int(MathOp::ClampMin)) {
        *least = size == 2 ? 128 : 64;
        *most = std::max<uint32_t>(*least, uint32_t(elements));
        return 1;
    }
    const Space s = space_of(MathOp(op), size, reuse, form);
    *least = s.least;
    *most = s.live ? std::max<uint32_t>(*least, uint32_t(s.live * elements * size + s.extra)) : *least;
    return 1;
}
}
