// Add, Sub, Mul, Div, Max, Min, And, Or, AddRelu, SubRelu.
#include "vec_loops.h"

namespace twin {
namespace {

struct AddF { static float f(float a, float b) { return a + b; } };
struct SubF { static float f(float a, float b) { return a - b; } };
struct MulF { static float f(float a, float b) { return a * b; } };
struct DivF { static float f(float a, float b) { return a / b; } };
// A NaN wins, and of two zeros the one with the fitting sign: zeros compare equal, so their sign bits decide.
struct MaxF {
    static float f(float a, float b) {
        const float zero_aware = bits_float(float_bits(a) & float_bits(b));
        const float m = a > b ? a : a < b ? b : zero_aware;
        return a != a || b != b ? a + b : m;
    }
};
struct MinF {
    static float f(float a, float b) {
        const float zero_aware = bits_float(float_bits(a) | float_bits(b));
        const float m = a < b ? a : a > b ? b : zero_aware;
        return a != a || b != b ? a + b : m;
    }
};
struct AddReluF { static float f(float a, float b) { const float r = a + b; return r <= 0 ? 0.0f : r; } };
struct SubReluF { static float f(float a, float b) { const float r = a - b; return r <= 0 ? 0.0f : r; } };

// Integers wrap; unsigned arithmetic says so.
template <class T> struct AddI { static T f(T a, T b) { using U = std::make_unsigned_t<T>; return T(U(U(a) + U(b))); } };
template <class T> struct SubI { static T f(T a, T b) { using U = std::make_unsigned_t<T>; return T(U(U(a) - U(b))); } };
template <class T> struct MulI { static T f(T a, T b) { return T(uint32_t(a) * uint32_t(b)); } };
template <class T> struct MaxI { static T f(T a, T b) { return a > b ? a : b; } };
template <class T> struct MinI { static T f(T a, T b) { return a < b ? a : b; } };
struct AndI { static uint16_t f(uint16_t a, uint16_t b) { return a & b; } };
struct OrI { static uint16_t f(uint16_t a, uint16_t b) { return a | b; } };
struct AddReluI { static int16_t f(int16_t a, int16_t b) { const int16_t r = int16_t(uint16_t(a + b)); return r > 0 ? r : int16_t(0); } };
struct SubReluI { static int16_t f(int16_t a, int16_t b) { const int16_t r = int16_t(uint16_t(a - b)); return r > 0 ? r : int16_t(0); } };

// Saturation mode: the exact result, clamped.
template <class T> T clamp(int64_t v) { return T(std::min<int64_t>(std::numeric_limits<T>::max(), std::max<int64_t>(std::numeric_limits<T>::min(), v))); }
template <class T> struct AddS { static T f(T a, T b) { return clamp<T>(int64_t(a) + b); } };
template <class T> struct SubS { static T f(T a, T b) { return clamp<T>(int64_t(a) - b); } };
template <class T> struct MulS { static T f(T a, T b) { return clamp<T>(int64_t(a) * b); } };
struct AddReluS { static int16_t f(int16_t a, int16_t b) { return clamp<int16_t>(std::max(0, a + b)); } };
struct SubReluS { static int16_t f(int16_t a, int16_t b) { return clamp<int16_t>(std::max(0, a - b)); } };

template <class F, class I16, class I32>
VecFn four(DType t) {
    switch (t) {
        case DType::F16: return half2<F>;
        case DType::F32: return map2<float, F>;
        case DType::I16: return map2<int16_t, I16>;
        case DType::I32: return map2<int32_t, I32>;
        default: return nullptr;
    }
}
template <class F, class I>
VecFn relu3(DType t) {
    return t == DType::F16 ? half2<F> : t == DType::F32 ? map2<float, F> : t == DType::I16 ? map2<int16_t, I> : nullptr;
}

}  // namespace

VecKernel vec_binary_kernel(const VecKey& k) {
    const DType t = k.type;
    const bool sat = k.saturate;
    switch (k.op) {
        case VecOp::Add: return {sat ? four<AddF, AddS<int16_t>, AddS<int32_t>>(t) : four<AddF, AddI<int16_t>, AddI<int32_t>>(t), false, true};
        case VecOp::Sub: return {sat ? four<SubF, SubS<int16_t>, SubS<int32_t>>(t) : four<SubF, SubI<int16_t>, SubI<int32_t>>(t), false, true};
        case VecOp::Mul: return {sat ? four<MulF, MulS<int16_t>, MulS<int32_t>>(t) : four<MulF, MulI<int16_t>, MulI<int32_t>>(t), false, true};
        case VecOp::Div: return {t == DType::F16 ? half2<DivF> : t == DType::F32 ? map2<float, DivF> : nullptr, false, true};
        case VecOp::Max: return {four<MaxF, MaxI<int16_t>, MaxI<int32_t>>(t)};
        case VecOp::Min: return {four<MinF, MinI<int16_t>, MinI<int32_t>>(t)};
        case VecOp::And: return {t == DType::I16 || t == DType::U16 ? map2<uint16_t, AndI> : nullptr};
        case VecOp::Or: return {t == DType::I16 || t == DType::U16 ? map2<uint16_t, OrI> : nullptr};
        case VecOp::AddRelu: return {sat ? relu3<AddReluF, AddReluS>(t) : relu3<AddReluF, AddReluI>(t), false, true};
        case VecOp::SubRelu: return {sat ? relu3<SubReluF, SubReluS>(t) : relu3<SubReluF, SubReluI>(t), false, true};
        default: return {};
    }
}

}  // namespace twin
