// MulAddDst, FusedMulAdd, FusedMulAddRelu, AddReluCast, SubReluCast, MulCast, AddDeqRelu: every step rounds.
#include "vec_loops.h"

namespace twin {
namespace {

inline float relu(float x) { return x <= 0 ? 0.0f : x; }

// d = round(x*y) + z for float; which operand plays which part is decided by the caller.
template <bool kRelu>
void float_mul_add(float* d, const float* x, const float* y, const float* z, int64_t n) {
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
        const float r = x[i] * y[i] + z[i];
        d[i] = kRelu ? relu(r) : r;
    }
}
template <bool kRelu>
void half_mul_add(uint16_t* d, const uint16_t* x, const uint16_t* y, const uint16_t* z, int64_t n) {
    float a[kChunk], b[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(x + i, a, m);
        half_to_float(y + i, b, m);
        for (int64_t k = 0; k < m; ++k) a[k] *= b[k];
        round_through_half(a, m);
        half_to_float(z + i, b, m);
        for (int64_t k = 0; k < m; ++k) { const float r = a[k] + b[k]; a[k] = kRelu ? relu(r) : r; }
        float_to_half(a, d + i, m);
    }
}

// MulAddDst: dst = a*b + dst.
void mla_f(void* d, const void* a, const void* b, int64_t n, const VecScalar&) {
    float_mul_add<false>(static_cast<float*>(d), static_cast<const float*>(a), static_cast<const float*>(b), static_cast<const float*>(d), n);
}
void mla_h(void* d, const void* a, const void* b, int64_t n, const VecScalar&) {
    half_mul_add<false>(static_cast<uint16_t*>(d), static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), static_cast<const uint16_t*>(d), n);
}
void mla_hf(void* dst, const void* a, const void* b, int64_t n, const VecScalar&) {
    float x[kChunk], y[kChunk];
    float* d = static_cast<float*>(dst);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        half_to_float(static_cast<const uint16_t*>(b) + i, y, m);
        for (int64_t k = 0; k < m; ++k) d[i + k] = x[k] * y[k] + d[i + k];
    }
}
// FusedMulAdd: dst = a*dst + b.
template <bool kRelu>
void madd_f(void* d, const void* a, const void* b, int64_t n, const VecScalar&) {
    float_mul_add<kRelu>(static_cast<float*>(d), static_cast<const float*>(a), static_cast<const float*>(d), static_cast<const float*>(b), n);
}
template <bool kRelu>
void madd_h(void* d, const void* a, const void* b, int64_t n, const VecScalar&) {
    half_mul_add<kRelu>(static_cast<uint16_t*>(d), static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(d), static_cast<const uint16_t*>(b), n);
}

// To 8 bits: nearest (ties to even), clamped, NaN = 0.
template <class T>
inline T to_byte(float x) {
    const float lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
    float r = __builtin_rintf(x);
    r = r < lo ? lo : r > hi ? hi : r;
    return static_cast<T>(static_cast<int32_t>(r == r ? r : 0.0f));
}

enum Step { kAdd, kSub, kMul };
template <class T, Step step>
void half_to_byte(void* dst, const void* a, const void* b, int64_t n, const VecScalar&) {
    float x[kChunk], y[kChunk];
    T* d = static_cast<T*>(dst);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        half_to_float(static_cast<const uint16_t*>(b) + i, y, m);
        for (int64_t k = 0; k < m; ++k) x[k] = step == kAdd ? relu(x[k] + y[k]) : step == kSub ? relu(x[k] - y[k]) : x[k] * y[k];
        round_through_half(x, m);
        for (int64_t k = 0; k < m; ++k) d[i + k] = to_byte<T>(x[k]);
    }
}
template <Step step>
void short_to_byte(void* dst, const void* a, const void* b, int64_t n, const VecScalar& s) {
    int8_t* d = static_cast<int8_t*>(dst);
    const int16_t* x = static_cast<const int16_t*>(a);
    const int16_t* y = static_cast<const int16_t*>(b);
    const bool sat = s.saturate;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t exact = step == kAdd ? x[i] + y[i] : x[i] - y[i];
        const int32_t r = sat ? exact : int32_t(int16_t(uint16_t(exact)));
        d[i] = static_cast<int8_t>(r < 0 ? 0 : r > 127 ? 127 : r);
    }
}
template <Step step>
void float_to_half_relu(void* dst, const void* a, const void* b, int64_t n, const VecScalar&) {
    float x[kChunk];
    const float* p = static_cast<const float*>(a);
    const float* q = static_cast<const float*>(b);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        for (int64_t k = 0; k < m; ++k) {
            const float r = step == kAdd ? p[i + k] + q[i + k] : p[i + k] - q[i + k];
            x[k] = r > 0 ? r : 0.0f;                 // NaN becomes 0 here
        }
        float_to_half(x, static_cast<uint16_t*>(dst) + i, m);
    }
}
void add_deq_relu(void* dst, const void* a, const void* b, int64_t n, const VecScalar& s) {
    float x[kChunk];
    const int32_t* p = static_cast<const int32_t*>(a);
    const int32_t* q = static_cast<const int32_t*>(b);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        for (int64_t k = 0; k < m; ++k)
            x[k] = static_cast<float>(static_cast<int32_t>(uint32_t(p[i + k]) + uint32_t(q[i + k]))) * 0x1p-17f * s.deq * 0x1p17f;
        round_through_half(x, m);
        for (int64_t k = 0; k < m; ++k) x[k] = relu(x[k]);
        float_to_half(x, static_cast<uint16_t*>(dst) + i, m);
    }
}

template <Step step>
VecFn relu_cast(DType from, DType type) {
    if (type == DType::I8) return from == DType::F16 ? half_to_byte<int8_t, step> : from == DType::I16 ? short_to_byte<step> : nullptr;
    return type == DType::F16 && from == DType::F32 ? float_to_half_relu<step> : nullptr;
}

}  // namespace

VecKernel vec_fused_kernel(const VecKey& k) {
    const DType t = k.type, u = k.from;
    const bool f = t == DType::F32 && u == t, h = t == DType::F16 && u == t;
    switch (k.op) {
        case VecOp::MulAddDst: return {f ? mla_f : h ? mla_h : t == DType::F32 && u == DType::F16 ? mla_hf : nullptr, true, true};
        case VecOp::FusedMulAdd: return {f ? madd_f<false> : h ? madd_h<false> : nullptr, true, true};
        case VecOp::FusedMulAddRelu: return {f ? madd_f<true> : h ? madd_h<true> : nullptr, true, true};
        case VecOp::AddReluCast: return {relu_cast<kAdd>(u, t), false, t == DType::F16};
        case VecOp::SubReluCast: return {relu_cast<kSub>(u, t), false, t == DType::F16};
        case VecOp::MulCast:
            if (u != DType::F16) return {};
            return {t == DType::I8 ? half_to_byte<int8_t, kMul> : t == DType::U8 ? half_to_byte<uint8_t, kMul> : nullptr};
        case VecOp::AddDeqRelu: return {t == DType::F16 && u == DType::I32 ? add_deq_relu : nullptr, false, true};
        default: return {};
    }
}

}  // namespace twin
