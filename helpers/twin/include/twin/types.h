// Scalar types of kernel code and their names for the runtime.
#pragma once
#include "twin/base.h"
#include "twin/qualifiers.h"

// ---- half
// 1-5-10 IEEE, a built-in arithmetic type as on the device; float -> half rounds to nearest even, overflow to inf.
using half = _Float16;
using float16_t = half;
using float32_t = float;

// ---- bfloat16_t
// 1-8-7, float with 16 bits cut off; float -> bfloat16_t rounds to nearest even. Arithmetic goes through float.
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value || std::is_same<T, half>::value || std::is_enum<T>::value>>
    constexpr bfloat16_t(T v) : bits(pack(static_cast<float>(v))) {}
    constexpr operator float() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
    bfloat16_t& operator+=(float v) { return *this = bfloat16_t(static_cast<float>(*this) + v); }
    bfloat16_t& operator-=(float v) { return *this = bfloat16_t(static_cast<float>(*this) - v); }
    bfloat16_t& operator*=(float v) { return *this = bfloat16_t(static_cast<float>(*this) * v); }
    bfloat16_t& operator/=(float v) { return *this = bfloat16_t(static_cast<float>(*this) / v); }

private:
    static constexpr uint16_t pack(float v) {
        const uint32_t u = __builtin_bit_cast(uint32_t, v);
        if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);  // NaN stays NaN
        return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
};

// ---- int4b_t
// -8..7, two per byte in memory (even index = low nibble); as a scalar one value in one byte.
struct int4b_t {
    int8_t value;
    int4b_t() = default;
    template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
    constexpr int4b_t(T v) : value(static_cast<int8_t>(((static_cast<int>(v) & 0xf) ^ 8) - 8)) {}
    constexpr operator int8_t() const { return value; }
};

// Names that exist so that shared headers compile; Atlas A2 and the inference chip have no arithmetic for them.
struct hifloat8_t { uint8_t bits; };
struct fp8_e4m3fn_t { uint8_t bits; };
struct fp8_e5m2_t { uint8_t bits; };
struct fp8_e8m0_t { uint8_t bits; };
struct fp4x2_e2m1_t { uint8_t bits; };
struct fp4x2_e1m2_t { uint8_t bits; };
struct int4x2_t { uint8_t bits; };
struct complex32 { half real, imag; };
struct complex64 { float real, imag; };

#ifndef __STDCPP_FLOAT16_T__
namespace std {
// The primary template would answer zero for every limit of half.
template <>
struct numeric_limits<half> {
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, has_infinity = true,
                          has_quiet_NaN = true, has_signaling_NaN = true, is_iec559 = true, is_bounded = true, is_modulo = false;
    static constexpr int digits = 11, digits10 = 3, max_digits10 = 5, radix = 2, min_exponent = -13, max_exponent = 16;
    static constexpr half min() noexcept { return static_cast<half>(6.103515625e-05f); }
    static constexpr half max() noexcept { return static_cast<half>(65504.0f); }
    static constexpr half lowest() noexcept { return static_cast<half>(-65504.0f); }
    static constexpr half epsilon() noexcept { return static_cast<half>(0.0009765625f); }
    static constexpr half round_error() noexcept { return static_cast<half>(0.5f); }
    static constexpr half infinity() noexcept { return static_cast<half>(__builtin_huge_valf()); }
    static constexpr half quiet_NaN() noexcept { return static_cast<half>(__builtin_nanf("")); }
    static constexpr half signaling_NaN() noexcept { return static_cast<half>(__builtin_nanf("")); }
    static constexpr half denorm_min() noexcept { return static_cast<half>(5.9604644775390625e-08f); }
};
}  // namespace std
#endif

namespace AscendC {
using ::bfloat16_t;
using ::half;
using ::int4b_t;

// ---- TensorTrait
// Element type that carries position and layout at compile time; tensors of it behave as tensors of LiteType.
template <class T, int pos = 0, class LayoutT = void>
struct TensorTrait {
    using LiteType = T;
    using LiteLayout = LayoutT;
    static constexpr int tPos = pos;
};
}  // namespace AscendC

namespace twin {
template <class T> struct PrimOf { using type = T; };
template <class T, int pos, class L> struct PrimOf<AscendC::TensorTrait<T, pos, L>> { using type = T; };

// Always false, but only known when a template is used: the condition of a "this cannot work here" message.
template <class...> constexpr bool never = false;
template <auto...> constexpr bool never_value = false;

template <class T>
constexpr DType dtype_of_prim() {
    if (std::is_same<T, half>::value) return DType::F16;
    if (std::is_same<T, bfloat16_t>::value) return DType::BF16;
    if (std::is_same<T, float>::value) return DType::F32;
    if (std::is_same<T, double>::value) return DType::F64;
    if (std::is_same<T, bool>::value) return DType::Bool;
    if (std::is_same<T, int4b_t>::value) return DType::I4;
    if (std::is_integral<T>::value) {
        const bool s = std::is_signed<T>::value;
        switch (sizeof(T)) {
            case 1: return s ? DType::I8 : DType::U8;
            case 2: return s ? DType::I16 : DType::U16;
            case 4: return s ? DType::I32 : DType::U32;
            default: return s ? DType::I64 : DType::U64;
        }
    }
    return DType::None;
}
// The runtime's name for an element type; DType::None when the chip has no such type.
template <class T> constexpr DType dtype_of() { return dtype_of_prim<std::remove_cv_t<typename PrimOf<T>::type>>(); }
// Bytes of n elements and elements in n bytes: int4b_t packs two in a byte.
template <class T> constexpr uint64_t bytes_of(uint64_t n) {
    return dtype_of<T>() == DType::I4 ? n / 2 : n * sizeof(typename PrimOf<T>::type);
}
template <class T> constexpr uint64_t elements_in(uint64_t bytes) {
    return dtype_of<T>() == DType::I4 ? bytes * 2 : bytes / sizeof(typename PrimOf<T>::type);
}
}  // namespace twin

namespace AscendC {
// ---- PrimT
template <class T> using PrimT = typename ::twin::PrimOf<T>::type;
// ---- IsSameType
template <class A, class B> struct IsSameType { static constexpr bool value = std::is_same<A, B>::value; };
// ---- Conditional
template <bool b, class A, class B> struct Conditional { using type = std::conditional_t<b, A, B>; };

// ---- ShapeInfo
struct ShapeInfo;
}  // namespace AscendC
