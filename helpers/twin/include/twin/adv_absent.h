// High-level calls that Atlas A2 does not have: each says so at its line, with what to use instead.
#pragma once
#include "twin/local_tensor.h"

namespace AscendC {

// Only calls whose first argument is a LocalTensor match, so that functions of the same name in a kernel stay untouched.
#define TWIN_ADV_ABSENT(NAME, INSTEAD)                                                                                                        \
    template <class... T, class U, class... A>                                                                                                \
    inline void NAME(const LocalTensor<U>&, A&&...) {                                                                                         \
        static_assert(twin::never<U, A...>, "UNSUPPORTED_API: " #NAME " is not supported on Atlas A2, it needs Ascend 950. Fix: " INSTEAD);   \
    }                                                                                                                                         \
    template <class T, bool b, class U, class... A>                                                                                           \
    inline void NAME(const LocalTensor<U>&, A&&...) {                                                                                         \
        static_assert(twin::never<U, A...>, "UNSUPPORTED_API: " #NAME " is not supported on Atlas A2, it needs Ascend 950. Fix: " INSTEAD);   \
    }

TWIN_ADV_ABSENT(Clamp, "use ClampMin and ClampMax, or Maxs and Mins")
TWIN_ADV_ABSENT(Where, "use Compare and Select")
TWIN_ADV_ABSENT(Rint, "use Round")
TWIN_ADV_ABSENT(Fma, "use Mul and Add, or FusedMulAdd")
TWIN_ADV_ABSENT(SinCos, "use Sin and Cos")
TWIN_ADV_ABSENT(Hypot, "use Mul, Mul, Add and Sqrt")
TWIN_ADV_ABSENT(IsNan, "use Compare(mask, x, x, CMPMODE::NE, count)")
TWIN_ADV_ABSENT(IsInf, "use Abs and CompareScalar with CMPMODE::GT and the largest finite number")
TWIN_ADV_ABSENT(IsFinite, "use Abs and CompareScalar with CMPMODE::LE and the largest finite number")
TWIN_ADV_ABSENT(BitwiseAnd, "use And on ReinterpretCast<uint16_t>()")
TWIN_ADV_ABSENT(BitwiseOr, "use Or on ReinterpretCast<uint16_t>()")
TWIN_ADV_ABSENT(BitwiseNot, "use Not on ReinterpretCast<uint16_t>()")
TWIN_ADV_ABSENT(BitwiseXor, "use Xor on ReinterpretCast<uint16_t>()")
TWIN_ADV_ABSENT(LogicalAnd, "use Compare with 0, then And on the bit masks")
TWIN_ADV_ABSENT(LogicalOr, "use Compare with 0, then Or on the bit masks")
TWIN_ADV_ABSENT(LogicalNot, "use CompareScalar(mask, x, 0, CMPMODE::EQ, count)")
TWIN_ADV_ABSENT(LogicalXor, "use Compare with 0, then Xor on the bit masks")
TWIN_ADV_ABSENT(LogicalAnds, "use CompareScalar and Select")
TWIN_ADV_ABSENT(LogicalOrs, "use CompareScalar and Select")
TWIN_ADV_ABSENT(PhiloxRandom, "make the random numbers on the host and pass them as a tensor")
TWIN_ADV_ABSENT(Quantize, "use AscendQuant")
TWIN_ADV_ABSENT(Dequantize, "use AscendDequant")
TWIN_ADV_ABSENT(AntiQuantize, "use AscendAntiQuant")

}  // namespace AscendC
