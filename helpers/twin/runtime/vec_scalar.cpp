// Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, Axpy.
#include "vec_loops.h"

namespace twin {
namespace {

template <class T> inline T scalar_of(const VecScalar& s) { T v; std::memcpy(&v, &s.bits, sizeof(T)); return v; }

template <class Op>
void float_s(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float* d = static_cast<float*>(dst);
    const float* x = static_cast<const float*>(a);
    const float v = s.f;
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = Op::f(x[i], v);
}
template <class Op>
void half_s(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float x[kChunk];
    const float v = s.f;
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        for (int64_t k = 0; k < m; ++k) x[k] = Op::f(x[k], v);
        float_to_half(x, static_cast<uint16_t*>(dst) + i, m);
    }
}
template <class T, class Op>
void int_s(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    T* d = static_cast<T*>(dst);
    const T* x = static_cast<const T*>(a);
    const T v = scalar_of<T>(s);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = Op::f(x[i], v);
}

struct AddF { static float f(float a, float b) { return a + b; } };
struct MulF { static float f(float a, float b) { return a * b; } };
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
struct LeakyF { static float f(float x, float s) { return float_bits(x) >> 31 ? x * s : x; } };   // the sign bit decides, so -0 too
struct AddI { template <class T> static T f(T a, T b) { using U = std::make_unsigned_t<T>; return T(U(U(a) + U(b))); } };
struct MulI { template <class T> static T f(T a, T b) { return T(uint32_t(a) * uint32_t(b)); } };
struct MaxI { template <class T> static T f(T a, T b) { return a > b ? a : b; } };
struct MinI { template <class T> static T f(T a, T b) { return a < b ? a : b; } };
template <class T> T clamp(int64_t v) { return T(std::min<int64_t>(std::numeric_limits<T>::max(), std::max<int64_t>(std::numeric_limits<T>::min(), v))); }
struct AddS { template <class T> static T f(T a, T b) { return clamp<T>(int64_t(a) + b); } };
struct MulS { template <class T> static T f(T a, T b) { return clamp<T>(int64_t(a) * b); } };

template <class F, class I>
VecFn four(DType t) {
    switch (t) {
        case DType::F16: return half_s<F>;
        case DType::F32: return float_s<F>;
        case DType::I16: return int_s<int16_t, I>;
        case DType::I32: return int_s<int32_t, I>;
        default: return nullptr;
    }
}

template <class T>
void shift_left(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    using U = std::make_unsigned_t<T>;
    constexpr int width = 8 * sizeof(T);
    constexpr U sign = std::is_signed<T>::value ? U(U(1) << (width - 1)) : U(0);       // kept by signed types
    const int by = int(std::min<uint64_t>(s.bits, width));
    U* d = static_cast<U*>(dst);
    const U* x = static_cast<const U*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
        const U moved = by >= width ? U(0) : U(uint64_t(x[i]) << by);
        d[i] = U((x[i] & sign) | (moved & U(~sign)));
    }
}
template <class T>
void shift_right(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    constexpr int width = 8 * sizeof(T);
    const int by = int(std::min<uint64_t>(s.bits, width));
    const bool round = s.mode && std::is_signed<T>::value && by > 0;
    T* d = static_cast<T*>(dst);
    const T* x = static_cast<const T*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
        const int64_t v = x[i];
        const int64_t r = v >> by;
        d[i] = T(round ? r + ((v >> (by > 0 ? by - 1 : 0)) & 1) : r);
    }
}

void axpy_f(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float* d = static_cast<float*>(dst);
    const float* x = static_cast<const float*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = x[i] * s.f + d[i];
}
void axpy_h(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float x[kChunk], y[kChunk];
    uint16_t* d = static_cast<uint16_t*>(dst);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        for (int64_t k = 0; k < m; ++k) x[k] *= s.f;
        round_through_half(x, m);
        half_to_float(d + i, y, m);
        for (int64_t k = 0; k < m; ++k) x[k] += y[k];
        float_to_half(x, d + i, m);
    }
}
void axpy_hf(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float x[kChunk];
    float* d = static_cast<float*>(dst);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        for (int64_t k = 0; k < m; ++k) d[i + k] = x[k] * s.f + d[i + k];
    }
}

}  // namespace

VecKernel vec_scalar_kernel(const VecKey& k) {
    const DType t = k.type;
    switch (k.op) {
        case VecOp::Adds: return {k.saturate ? four<AddF, AddS>(t) : four<AddF, AddI>(t), false, true};
        case VecOp::Muls: return {k.saturate ? four<MulF, MulS>(t) : four<MulF, MulI>(t), false, true};
        case VecOp::Maxs: return {four<MaxF, MaxI>(t)};
        case VecOp::Mins: return {four<MinF, MinI>(t)};
        case VecOp::LeakyRelu: return {t == DType::F16 ? half_s<LeakyF> : t == DType::F32 ? float_s<LeakyF> : nullptr, false, true};
        case VecOp::ShiftLeft:
            switch (t) {
                case DType::I16: return {shift_left<int16_t>};
                case DType::U16: return {shift_left<uint16_t>};
                case DType::I32: return {shift_left<int32_t>};
                case DType::U32: return {shift_left<uint32_t>};
                default: return {};
            }
        case VecOp::ShiftRight:
            switch (t) {
                case DType::I16: return {shift_right<int16_t>};
                case DType::U16: return {shift_right<uint16_t>};
                case DType::I32: return {shift_right<int32_t>};
                case DType::U32: return {shift_right<uint32_t>};
                default: return {};
            }
        case VecOp::Axpy:
            if (t == DType::F32) return {k.from == DType::F32 ? axpy_f : k.from == DType::F16 ? axpy_hf : nullptr, true, true};
            return {t == DType::F16 && k.from == t ? axpy_h : nullptr, true, true};
        default: return {};
    }
}

}  // namespace twin
