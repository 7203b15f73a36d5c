// The functions themselves: in double and rounded once, except where the library visibly works step by step.
#include <cmath>
#include <memory>
#include <mutex>

#include "adv_math.h"
#include "vec_half.h"

namespace twin {
namespace {

// Derivative of ln Gamma: reflected to the right half, raised to 10 by its recurrence, then the asymptotic series.
double digamma(double x) {
    constexpr double pi = 3.14159265358979323846;
    if (x == 0) return std::copysign(__builtin_huge_val(), -x);
    if (x < 0) return x == std::floor(x) ? __builtin_nan("") : digamma(1 - x) - pi / std::tan(pi * (x - std::floor(x)));
    double r = 0;
    for (; x < 10; x += 1) r -= 1 / x;
    const double z = 1 / (x * x);
    return r + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
}

double value(MathOp op, double x) {
    switch (op) {
        case MathOp::Tanh: return std::tanh(x);
        case MathOp::Sin: return std::sin(x);
        case MathOp::Cos: return std::cos(x);
        case MathOp::Tan: return std::tan(x);
        case MathOp::Asin: return std::asin(x);
        case MathOp::Acos: return std::acos(x);
        case MathOp::Atan: return std::atan(x);
        case MathOp::Sinh: return std::sinh(x);
        case MathOp::Cosh: return std::cosh(x);
        case MathOp::Asinh: return std::asinh(x);
        case MathOp::Acosh: return std::acosh(x);
        case MathOp::Atanh: return std::atanh(x);
        case MathOp::Erf: return std::erf(x);
        case MathOp::Erfc: return std::erfc(x);
        case MathOp::Lgamma: return std::lgamma(x);
        case MathOp::Digamma: return digamma(x);
        case MathOp::Log: return std::log(x);
        case MathOp::Log2: return std::log2(x);
        case MathOp::Log10: return std::log10(x);
        case MathOp::Exp: return std::exp(x);
        case MathOp::Ceil: return std::ceil(x);
        case MathOp::Floor: return std::floor(x);
        case MathOp::Trunc: return std::trunc(x);
        case MathOp::Round: return std::nearbyint(x);                 // ties to even
        case MathOp::Frac: return x - std::trunc(x);
        case MathOp::Sign: return x > 0 ? 1 : x < 0 ? -1 : 0;          // NaN and -0 give 0
        default: return 0;
    }
}

// e^x by a series of `level` terms behind the whole part: with few terms the error shows, as on the device.
float exp_series(float x, int level) {
    const float whole = std::floor(x), f = x - whole;
    float sum = 1, term = 1;
    for (int i = 1; i <= level; ++i) {
        term = term * f / float(i);
        sum = sum + term;
    }
    return std::exp(whole) * sum;
}

// Half has 65536 values: every function is tabulated when it is first used.
const uint16_t* half_table(MathOp op) {
    static std::unique_ptr<uint16_t[]> tables[int(MathOp::N)];
    static std::mutex lock;
    const std::lock_guard<std::mutex> hold(lock);
    auto& t = tables[int(op)];
    if (!t) {
        t.reset(new uint16_t[65536]);
        for (int i = 0; i < 65536; ++i) t[i] = half_of_double(value(op, double(half_value(uint16_t(i)))));
    }
    return t.get();
}

template <class T, class F> void map(void* dst, const void* src, int64_t n, F f) {
    T* d = static_cast<T*>(dst);
    const T* s = static_cast<const T*>(src);
    for (int64_t i = 0; i < n; ++i) d[i] = f(s[i]);
}
template <class T, class F> void zip(const MathLoop& m, void* dst, const void* a, const void* b, int64_t n, F f) {
    T* d = static_cast<T*>(dst);
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    for (int64_t i = 0; i < n; ++i) d[i] = f(x[m.still[0] ? 0 : i], y[m.still[1] ? 0 : i]);
}
template <class F> void zip_float(const MathLoop& m, void* dst, const void* a, const void* b, int64_t n, F f) {
    if (m.type == DType::F32) zip<float>(m, dst, a, b, n, f);
    else zip<uint16_t>(m, dst, a, b, n, [&](uint16_t x, uint16_t y) { return half_bits(f(half_value(x), half_value(y))); });
}

float fmod_of(float a, float b, int iterations) {
    if (iterations) return std::fmod(a, b);
    const float whole = std::trunc(a / b), back = whole * b;
    return a - back;
}

// Low 32 bits of base^exponent; below zero the truncated true value.
int32_t power_of(int32_t base, int32_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint32_t r = 1, b = uint32_t(base);
    for (uint32_t e = uint32_t(exponent); e; e >>= 1, b *= b) if (e & 1) r *= b;
    return int32_t(r);
}

void axpy(const MathLoop& m, void* dst, const void* src, const void* scalar, int64_t n) {
    const bool half_in = m.from == DType::F16, half_out = m.type == DType::F16;
    const float s = half_in ? half_value(*static_cast<const uint16_t*>(scalar)) : *static_cast<const float*>(scalar);
    for (int64_t i = 0; i < n; ++i) {
        const float x = half_in ? half_value(static_cast<const uint16_t*>(src)[i]) : static_cast<const float*>(src)[i];
        const float product = x * s;
        if (half_out) {
            uint16_t& d = static_cast<uint16_t*>(dst)[i];
            d = half_bits(product + half_value(d));
        } else {
            float& d = static_cast<float*>(dst)[i];
            d = product + d;
        }
    }
}

}  // namespace

void math_unary(MathOp op, const MathLoop& m, void* dst, const void* src, int64_t n) {
    if (op == MathOp::Exp && m.mode) {
        const int level = m.mode;
        if (m.type == DType::F32) map<float>(dst, src, n, [=](float x) { return exp_series(x, level); });
        else map<uint16_t>(dst, src, n, [=](uint16_t x) { return half_bits(exp_series(half_value(x), level)); });
    } else if (m.type == DType::F16) {
        const uint16_t* t = half_table(op);
        map<uint16_t>(dst, src, n, [=](uint16_t x) { return t[x]; });
    } else {
        map<float>(dst, src, n, [=](float x) { return float(value(op, double(x))); });
    }
}

void math_binary(MathOp op, const MathLoop& m, void* dst, const void* a, const void* b, int64_t n) {
    switch (op) {
        case MathOp::Fmod: zip_float(m, dst, a, b, n, [&](float x, float y) { return fmod_of(x, y, m.mode); }); break;
        case MathOp::ClampMax: zip_float(m, dst, a, b, n, [](float x, float y) { return x > y ? y : x; }); break;      // NaN stays
        case MathOp::ClampMin: zip_float(m, dst, a, b, n, [](float x, float y) { return x < y ? y : x; }); break;
        case MathOp::Xor: zip<uint16_t>(m, dst, a, b, n, [](uint16_t x, uint16_t y) { return uint16_t(x ^ y); }); break;
        case MathOp::Axpy: axpy(m, dst, a, b, n); break;
        case MathOp::Power:
            if (m.type == DType::I32) zip<int32_t>(m, dst, a, b, n, power_of);
            else if (m.type == DType::F32) zip<float>(m, dst, a, b, n, [](float x, float y) { return float(std::pow(double(x), double(y))); });
            else zip<uint16_t>(m, dst, a, b, n, [](uint16_t x, uint16_t y) { return half_of_double(std::pow(double(half_value(x)), double(half_value(y)))); });
            break;
        default: break;
    }
}

}  // namespace twin
