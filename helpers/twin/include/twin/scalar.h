// Arithmetic on single values that the scalar unit offers beyond C++.
#pragma once
#include "twin/local_tensor.h"

// min, max and abs are built in on the device. They live in a namespace of their own, so that a kernel's own wins.
namespace twin_builtin {
template <class A, class B> constexpr auto min(A a, B b) -> std::decay_t<decltype(a < b ? a : b)> { return b < a ? b : a; }
template <class A, class B> constexpr auto max(A a, B b) -> std::decay_t<decltype(a < b ? a : b)> { return a < b ? b : a; }
inline half abs(half v) { return v < half(0) ? half(-v) : v; }
inline bfloat16_t abs(bfloat16_t v) { v.bits &= 0x7fff; return v; }
}  // namespace twin_builtin
using namespace twin_builtin;
using std::abs;

namespace AscendC {

// ---- ToFloat
// bfloat16_t to float, exact
inline float ToFloat(const bfloat16_t& v) { return static_cast<float>(v); }
// ---- ToBfloat16
// float to bfloat16_t, nearest, ties to even
inline bfloat16_t ToBfloat16(const float& v) { return bfloat16_t(v); }
// 9.x spellings
inline float Cast(const bfloat16_t& v) { return static_cast<float>(v); }
inline bfloat16_t Cast(const float& v) { return bfloat16_t(v); }

// ---- ScalarGetCountOfValue
// Number of bits equal to v. limits: v is 0 or 1. pipe: S
template <int v> int64_t ScalarGetCountOfValue(uint64_t x) {
    static_assert(v == 0 || v == 1, "BAD_PARAMETER: ScalarGetCountOfValue counts bits equal to 0 or 1");
    return __builtin_popcountll(v ? x : ~x);
}
template <int v> int64_t GetBitCount(uint64_t x) { return ScalarGetCountOfValue<v>(x); }
// ---- ScalarCountLeadingZero CountLeadingZero
// zero bits above the highest set bit
inline int64_t ScalarCountLeadingZero(uint64_t x) { return x ? __builtin_clzll(x) : 64; }
inline int64_t CountLeadingZero(uint64_t x) { return ScalarCountLeadingZero(x); }
// ---- CountBitsCntSameAsSignBit
// bits behind the sign bit that equal it
inline int64_t CountBitsCntSameAsSignBit(int64_t x) {
    if (x == 0 || x == -1) return -1;
    const uint64_t u = static_cast<uint64_t>(x < 0 ? ~x : x);
    return __builtin_clzll(u) - 1;
}
// ---- ScalarGetSFFValue
template <int v> int64_t ScalarGetSFFValue(uint64_t x) {
    static_assert(v == 0 || v == 1, "BAD_PARAMETER: ScalarGetSFFValue finds the lowest bit equal to 0 or 1");
    const uint64_t u = v ? x : ~x;
    return u ? __builtin_ctzll(u) : -1;
}
template <int v> int64_t GetSFFValue(uint64_t x) { return ScalarGetSFFValue<v>(x); }

// ---- ScalarCast
// float -> half with CAST_ODD, float -> int32 with ROUND, CEIL, FLOOR, RINT; results clamp to the range, NaN gives 0.
// limits: the combinations above. pipe: S
template <class S, class D, RoundMode mode>
D ScalarCast(S v) {
    constexpr bool to_half = std::is_same<D, half>::value && mode == RoundMode::CAST_ODD;
    constexpr bool to_int = std::is_same<D, int32_t>::value && (mode == RoundMode::CAST_ROUND || mode == RoundMode::CAST_CEIL || mode == RoundMode::CAST_FLOOR || mode == RoundMode::CAST_RINT);
    static_assert(std::is_same<S, float>::value && (to_half || to_int), "UNSUPPORTED_TYPE: ScalarCast converts float to half with CAST_ODD, or to int32_t with CAST_ROUND, CAST_CEIL, CAST_FLOOR or CAST_RINT");
    if constexpr (to_half) {
        const half near = static_cast<half>(v);
        const float back = static_cast<float>(near);
        if (back == v || v != v) return near;
        const uint16_t bits = __builtin_bit_cast(uint16_t, near);
        if (bits & 1) return near;
        // step to the neighbour on the other side of v, whose last bit is 1
        const bool grow = (back < v) == (v > 0);
        return __builtin_bit_cast(half, static_cast<uint16_t>(grow ? bits + 1 : bits - 1));
    } else {
        if (v != v) return 0;
        const double x = v;
        const double r = mode == RoundMode::CAST_CEIL ? std::ceil(x) : mode == RoundMode::CAST_FLOOR ? std::floor(x) : mode == RoundMode::CAST_ROUND ? std::round(x) : std::nearbyint(x);
        return static_cast<D>(r > 2147483647.0 ? 2147483647.0 : r < -2147483648.0 ? -2147483648.0 : r);
    }
}
template <class S, class D, RoundMode mode> D Cast(S v) { return ScalarCast<S, D, mode>(v); }

// ---- GetScalarBitcodeValue
template <class S, class D> D GetScalarBitcodeValue(S v) {
    static_assert(sizeof(S) == sizeof(D), "UNSUPPORTED_TYPE: GetScalarBitcodeValue keeps the bits: both types have the same size");
    return __builtin_bit_cast(D, v);
}

// ---- NumericLimits
// Limits of T as a value, or written to the first `count` elements of a tensor (Duplicate).
template <class T>
class NumericLimits {
    using L = std::numeric_limits<T>;

public:
    static T Max() { return L::max(); }
    static T Lowest() { return L::lowest(); }
    static T Min() { return L::min(); }
    static T Infinity() { return L::infinity(); }
    static T NegativeInfinity() { return static_cast<T>(-L::infinity()); }
    static T QuietNaN() { return L::quiet_NaN(); }
    static T SignalingNaN() { return L::signaling_NaN(); }
    static T DeNormMin() { return L::denorm_min(); }
    template <class Tensor> static void Max(const Tensor& dst, uint32_t count) { Duplicate(dst, Max(), count); }
    template <class Tensor> static void Lowest(const Tensor& dst, uint32_t count) { Duplicate(dst, Lowest(), count); }
    template <class Tensor> static void Min(const Tensor& dst, uint32_t count) { Duplicate(dst, Min(), count); }
    template <class Tensor> static void Infinity(const Tensor& dst, uint32_t count) { Duplicate(dst, Infinity(), count); }
    template <class Tensor> static void NegativeInfinity(const Tensor& dst, uint32_t count) { Duplicate(dst, NegativeInfinity(), count); }
    template <class Tensor> static void QuietNaN(const Tensor& dst, uint32_t count) { Duplicate(dst, QuietNaN(), count); }
    template <class Tensor> static void SignalingNaN(const Tensor& dst, uint32_t count) { Duplicate(dst, SignalingNaN(), count); }
    template <class Tensor> static void DeNormMin(const Tensor& dst, uint32_t count) { Duplicate(dst, DeNormMin(), count); }
};

}  // namespace AscendC
