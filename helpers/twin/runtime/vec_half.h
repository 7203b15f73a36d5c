// Blocks of half and bfloat16 to float and back. A compiler without native half arithmetic does not vectorise it, so
// the conversion is spelled out: 8 lanes at a time where the machine has the instruction, bit by bit elsewhere.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace twin {

inline uint32_t float_bits(float f) { uint32_t u; std::memcpy(&u, &f, 4); return u; }
inline float bits_float(uint32_t u) { float f; std::memcpy(&f, &u, 4); return f; }

inline float half_value(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000u) << 16;
    uint32_t e = h >> 10 & 31, m = h & 1023;
    if (e == 31) return bits_float(sign | 0x7f800000u | m << 13);
    if (e) return bits_float(sign | (e + 112) << 23 | m << 13);
    const float v = float(m) * 5.9604644775390625e-08f;    // subnormal: m * 2^-24
    return sign ? -v : v;
}

inline uint16_t half_bits(float f) {                        // nearest, ties to even
    const uint32_t u = float_bits(f), sign = u >> 16 & 0x8000u;
    uint32_t a = u & 0x7fffffffu;
    if (a >= 0x7f800000u) return uint16_t(sign | 0x7c00u | (a > 0x7f800000u ? 0x200u | (a >> 13 & 0x3ffu) : 0));
    if (a >= 0x477ff000u) return uint16_t(sign | 0x7c00u);  // 65520 and above
    if (a < 0x38800000u) {                                   // below the smallest normal: let float addition round
        const float magic = bits_float(0x3f000000u);         // 0.5: its last mantissa bit is 2^-24
        return uint16_t(sign | ((float_bits(bits_float(a) + magic) - 0x3f000000u) & 0xffffu));
    }
    a += 0xfffu + (a >> 13 & 1);
    return uint16_t(sign | (a - 0x38000000u) >> 13);
}

inline void half_to_float(const void* src, float* f, int64_t n) {
    const uint8_t* s = static_cast<const uint8_t*>(src);
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(f + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + 2 * i))));
#endif
    for (; i < n; ++i) { uint16_t h; std::memcpy(&h, s + 2 * i, 2); f[i] = half_value(h); }
}

inline void float_to_half(const float* f, void* dst, int64_t n) {
    uint8_t* d = static_cast<uint8_t*>(dst);
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) _mm_storeu_si128(reinterpret_cast<__m128i*>(d + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; ++i) { const uint16_t h = half_bits(f[i]); std::memcpy(d + 2 * i, &h, 2); }
}

// double to half in one rounding: float keeps a sticky last bit, so the second step rounds as the exact value would.
inline uint16_t half_of_double(double v) {
    float f = static_cast<float>(v);
    const double back = f;
    if (back == v || f - f != 0) return half_bits(f);
    uint32_t u = float_bits(f);
    const bool larger = (back < 0 ? -back : back) > (v < 0 ? -v : v);
    if (larger) --u;                                         // toward zero ...
    return half_bits(bits_float(u | 1));                     // ... and odd
}

inline float bf16_value(uint16_t b) { return bits_float(uint32_t(b) << 16); }
inline uint16_t bf16_bits(float f) {
    const uint32_t u = float_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return uint16_t(u >> 16 | 0x40u);
    return uint16_t((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

}  // namespace twin
