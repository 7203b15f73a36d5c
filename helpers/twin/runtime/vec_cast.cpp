// Cast: rounding, clamping, NaN; and CastDeq's arithmetic.
#include "vec_loops.h"

namespace twin {
namespace {

// To an integral value in float. The value is exact in every mode; ROUND takes ties away from zero.
template <RoundMode_ m>
inline float to_integral(float x) {
    if (m == kFloor) return __builtin_floorf(x);
    if (m == kCeil) return __builtin_ceilf(x);
    if (m == kTrunc) return __builtin_truncf(x);
    if (m == kRound) {
        const float t = __builtin_truncf(x);
        const float up = bits_float(float_bits(1.0f) | (float_bits(x) & 0x80000000u));
        return __builtin_fabsf(x - t) >= 0.5f ? t + up : t;
    }
    return __builtin_rintf(x);
}

// Float to integers of up to 32 bits: clamp, NaN = 0; or, with saturation off, the low bits.
template <class T>
inline T to_int(float r, bool wrap) {
    if (wrap) {
        const float inside = r >= -9.2e18f && r <= 9.2e18f ? r : 0.0f;
        return static_cast<T>(static_cast<uint64_t>(static_cast<int64_t>(inside)));
    }
    if (sizeof(T) == 4) {
        const float safe = r >= 2147483648.0f ? 2147483520.0f : r < -2147483648.0f ? -2147483648.0f : r == r ? r : 0.0f;
        const int32_t v = static_cast<int32_t>(safe);
        return static_cast<T>(r >= 2147483648.0f ? INT32_MAX : v);
    }
    const float lo = static_cast<float>(std::numeric_limits<T>::min()), hi = static_cast<float>(std::numeric_limits<T>::max());
    const float c = r < lo ? lo : r > hi ? hi : r == r ? r : 0.0f;
    return static_cast<T>(static_cast<int32_t>(c));
}

template <class T, RoundMode_ m>
void float_to_int(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    T* d = static_cast<T*>(dst);
    const float* x = static_cast<const float*>(a);
    if (s.wrap) { for (int64_t i = 0; i < n; ++i) d[i] = to_int<T>(to_integral<m>(x[i]), true); return; }
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = to_int<T>(to_integral<m>(x[i]), false);
}
template <class T, RoundMode_ m>
void half_to_int(void* dst, const void* a, const void* b, int64_t n, const VecScalar& s) {
    float x[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t k = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, k);
        float_to_int<T, m>(static_cast<T*>(dst) + i, x, b, k, s);
    }
}
template <RoundMode_ m>
void bf16_to_int(void* dst, const void* a, const void* b, int64_t n, const VecScalar& s) {
    float x[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t k = std::min(kChunk, n - i);
        for (int64_t j = 0; j < k; ++j) x[j] = bf16_value(static_cast<const uint16_t*>(a)[i + j]);
        float_to_int<int32_t, m>(static_cast<int32_t*>(dst) + i, x, b, k, s);
    }
}
template <RoundMode_ m>
void float_to_long(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    int64_t* d = static_cast<int64_t*>(dst);
    const float* x = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) {
        const float r = to_integral<m>(x[i]);
        const bool fits = r >= -9223372036854775808.0f && r < 9223372036854775808.0f;
        d[i] = fits ? static_cast<int64_t>(r) : r != r || s.wrap ? 0 : r < 0 ? INT64_MIN : INT64_MAX;
    }
}
// Float stays float: an integral value, and zero is +0.
template <RoundMode_ m>
void float_integral(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float* d = static_cast<float*>(dst);
    const float* x = static_cast<const float*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) { const float r = to_integral<m>(x[i]); d[i] = r == 0 ? 0.0f : r; }
}

// An unsigned magnitude loses its `drop` low bits; what is done with them depends on mode and sign.
inline uint64_t round_bits(uint64_t a, int drop, bool negative, int mode) {
    if (drop <= 0) return a;
    if (drop > 63) { a = a != 0; drop = 2; }                     // far below: only "something is there" matters
    const uint64_t kept = a >> drop, rest = a & ((1ull << drop) - 1), half = 1ull << (drop - 1);
    switch (mode) {
        case kFloor: return kept + (negative && rest);
        case kCeil: return kept + (!negative && rest);
        case kTrunc: return kept;
        case kRound: return kept + (rest >= half);
        case kOdd: return rest ? kept | 1 : kept;
        default: return kept + (rest > half || (rest == half && (kept & 1)));
    }
}
// Directed rounding to half; the exponent is unbounded while rounding, what ends above 65504 is inf.
inline uint16_t half_directed(float x, int mode) {
    const uint32_t u = float_bits(x), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a >= 0x7f800000u) return half_bits(x);
    const int e = static_cast<int>(a >> 23);
    const uint64_t m = e ? (a & 0x7fffffu) | 0x800000u : a & 0x7fffffu;
    const int drop = e >= 113 ? 13 : 13 + 113 - std::max(e, 1);  // subnormal halves keep fewer bits
    const uint64_t kept = round_bits(m, drop, sign != 0, mode);
    const uint64_t out = e >= 113 ? (uint64_t(e - 113) << 10) + kept : kept;   // the implicit one adds one to the exponent
    return static_cast<uint16_t>(sign | std::min<uint64_t>(out, 0x7c00u));
}
void float_half_near(void* dst, const void* a, const void*, int64_t n, const VecScalar&) { float_to_half(static_cast<const float*>(a), dst, n); }
template <RoundMode_ m>
void float_half_directed(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    uint16_t* d = static_cast<uint16_t*>(dst);
    const float* x = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) d[i] = half_directed(x[i], m);
}
template <RoundMode_ m>
void float_bf16(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    uint16_t* d = static_cast<uint16_t*>(dst);
    const float* x = static_cast<const float*>(a);
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t u = float_bits(x[i]), v = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;
        uint32_t r = v >= 0x7f800000u ? bf16_bits(x[i]) & 0x7fffu : static_cast<uint32_t>(round_bits(v, 16, sign != 0, m));
        if (s.saturate && r >= 0x7f80u) r = v > 0x7f800000u ? 0 : 0x7f7fu;
        d[i] = static_cast<uint16_t>(s.saturate && v > 0x7f800000u ? 0 : sign | r);
    }
}
void half_float(void* dst, const void* a, const void*, int64_t n, const VecScalar&) { half_to_float(a, static_cast<float*>(dst), n); }
void bf16_float(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    uint32_t* d = static_cast<uint32_t*>(dst);
    const uint16_t* x = static_cast<const uint16_t*>(a);
    for (int64_t i = 0; i < n; ++i) d[i] = uint32_t(x[i]) << 16;
}

// Integers to float: exact where they fit, else rounded on the integer itself.
template <RoundMode_ m, class T>
inline float int_float(T v) {
    const bool negative = v < 0;
    const uint64_t a = negative ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    const int width = a ? 64 - __builtin_clzll(a) : 0;
    if (width <= 24) return static_cast<float>(v);
    const uint64_t kept = round_bits(a, width - 24, negative, m);
    const float f = static_cast<float>(kept) * bits_float(static_cast<uint32_t>(127 + width - 24) << 23);
    return negative ? -f : f;
}
template <RoundMode_ m, class T>
void ints_float(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float* d = static_cast<float*>(dst);
    const T* x = static_cast<const T*>(a);
    if (m == kRint) { for (int64_t i = 0; i < n; ++i) d[i] = static_cast<float>(x[i]); return; }
    for (int64_t i = 0; i < n; ++i) d[i] = int_float<m>(x[i]);
}
void short_float(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float* d = static_cast<float*>(dst);
    const int16_t* x = static_cast<const int16_t*>(a);
    for (int64_t i = 0; i < n; ++i) d[i] = x[i];
}
template <class T, RoundMode_ m>
void small_half(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float x[kChunk];
    const T* s = static_cast<const T*>(a);
    uint16_t* d = static_cast<uint16_t*>(dst);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t k = std::min(kChunk, n - i);
        for (int64_t j = 0; j < k; ++j) x[j] = s[i + j];
        if (m == kRint) float_to_half(x, d + i, k);
        else for (int64_t j = 0; j < k; ++j) d[i + j] = half_directed(x[j], m);
    }
}
void int_half_scaled(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    float x[kChunk];
    const int32_t* p = static_cast<const int32_t*>(a);
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t k = std::min(kChunk, n - i);
        for (int64_t j = 0; j < k; ++j) x[j] = static_cast<float>(p[i + j]) * 0x1p-17f * s.deq * 0x1p17f;
        float_to_half(x, static_cast<uint16_t*>(dst) + i, k);
    }
}
template <class From, class To>
void int_int(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    To* d = static_cast<To*>(dst);
    const From* x = static_cast<const From*>(a);
    const From lo = From(std::numeric_limits<To>::min()), hi = From(std::numeric_limits<To>::max());
    if (s.wrap) { for (int64_t i = 0; i < n; ++i) d[i] = static_cast<To>(x[i]); return; }
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<To>(x[i] < lo ? lo : x[i] > hi ? hi : x[i]);
}
void int_long(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    int64_t* d = static_cast<int64_t*>(dst);
    const int32_t* x = static_cast<const int32_t*>(a);
    for (int64_t i = 0; i < n; ++i) d[i] = x[i];
}
// Pairs of 4-bit integers, the first in the low half of the byte; n counts pairs.
template <RoundMode_ m>
void half_int4(void* dst, const void* a, const void*, int64_t n, const VecScalar& s) {
    uint8_t* d = static_cast<uint8_t*>(dst);
    const uint16_t* x = static_cast<const uint16_t*>(a);
    auto one = [&](uint16_t h) {
        const float r = to_integral<m>(half_value(h));
        if (s.wrap) return to_int<int32_t>(r, false);
        return to_int<int32_t>(r < -8 ? -8.0f : r > 7 ? 7.0f : r, false);
    };
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<uint8_t>((one(x[2 * i]) & 15) | (one(x[2 * i + 1]) & 15) << 4);
}
void int4_half(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    uint16_t* d = static_cast<uint16_t*>(dst);
    const uint8_t* x = static_cast<const uint8_t*>(a);
    for (int64_t i = 0; i < n; ++i) {
        d[2 * i] = half_bits(static_cast<float>(static_cast<int8_t>(x[i] << 4) >> 4));
        d[2 * i + 1] = half_bits(static_cast<float>(static_cast<int8_t>(x[i]) >> 4));
    }
}

template <RoundMode_ m>
VecFn rounded(DType from, DType to) {
    if (from == DType::F32) {
        switch (to) {
            case DType::I16: return float_to_int<int16_t, m>;
            case DType::I32: return float_to_int<int32_t, m>;
            case DType::I64: return float_to_long<m>;
            case DType::F32: return float_integral<m>;
            case DType::BF16: return float_bf16<m>;
            case DType::F16: return m == kRint ? float_half_near : float_half_directed<m>;
            default: return nullptr;
        }
    }
    if (from == DType::F16) {
        switch (to) {
            case DType::I4: return half_int4<m>;
            case DType::I8: return half_to_int<int8_t, m>;
            case DType::U8: return half_to_int<uint8_t, m>;
            case DType::I16: return half_to_int<int16_t, m>;
            case DType::I32: return half_to_int<int32_t, m>;
            default: return nullptr;
        }
    }
    if (from == DType::BF16 && to == DType::I32) return bf16_to_int<m>;
    if (from == DType::I16 && to == DType::F16) return small_half<int16_t, m>;
    if (from == DType::I32 && to == DType::F32) return ints_float<m, int32_t>;
    if (from == DType::I64 && to == DType::F32) return ints_float<m, int64_t>;
    return nullptr;
}
// Conversions that lose nothing, or whose mode has no effect.
VecFn plain(DType from, DType to) {
    if (from == DType::F16 && to == DType::F32) return half_float;
    if (from == DType::BF16 && to == DType::F32) return bf16_float;
    if (from == DType::I16 && to == DType::F32) return short_float;
    if (from == DType::I8 && to == DType::F16) return small_half<int8_t, kRint>;
    if (from == DType::U8 && to == DType::F16) return small_half<uint8_t, kRint>;
    if (from == DType::I4 && to == DType::F16) return int4_half;
    if (from == DType::I32 && to == DType::I16) return int_int<int32_t, int16_t>;
    if (from == DType::I32 && to == DType::I64) return int_long;
    if (from == DType::I64 && to == DType::I32) return int_int<int64_t, int32_t>;
    if (from == DType::I32 && to == DType::F16) return int_half_scaled;
    return nullptr;
}

}  // namespace

VecKernel vec_cast_kernel(const VecKey& k) {
    if (k.op != VecOp::Cast || !(cast_modes(k.from, k.type) >> k.mode & 1)) return {};
    const bool grows = k.type == DType::F16 || k.type == DType::BF16;
    if (VecFn f = plain(k.from, k.type)) return {f, false, grows};
    switch (k.mode) {
        case kNone: case kRint: return {rounded<kRint>(k.from, k.type), false, grows};
        case kFloor: return {rounded<kFloor>(k.from, k.type), false, grows};
        case kCeil: return {rounded<kCeil>(k.from, k.type), false, grows};
        case kRound: return {rounded<kRound>(k.from, k.type), false, grows};
        case kTrunc: return {rounded<kTrunc>(k.from, k.type), false, grows};
        case kOdd: return {k.from == DType::F32 && k.type == DType::F16 ? float_half_directed<kOdd> : nullptr, false, grows};
        default: return {};
    }
}

}  // namespace twin
