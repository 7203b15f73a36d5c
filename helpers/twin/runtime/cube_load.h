// Shared by the loads of L0A and L0B.
#pragma once
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "cube_core.h"

namespace twin {

float load_cycles(const LocalRef& dst, uint64_t bytes);   // on MTE1, start included

// dst[r*16 + c] = src[c*16 + r]; the two do not overlap.
inline void transpose_16x16(uint16_t* dst, const uint16_t* src) {
#if defined(__SSE2__)
    for (int br = 0; br < 16; br += 8)
        for (int bc = 0; bc < 16; bc += 8) {
            __m128i x[8], y[8];
            for (int i = 0; i < 8; ++i) x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + (br + i) * 16 + bc));
            for (int i = 0; i < 4; ++i) { y[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]); y[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]); }
            for (int i = 0; i < 4; ++i) { x[2 * i] = _mm_unpacklo_epi16(y[i], y[i + 4]); x[2 * i + 1] = _mm_unpackhi_epi16(y[i], y[i + 4]); }
            for (int i = 0; i < 4; ++i) { y[2 * i] = _mm_unpacklo_epi16(x[i], x[i + 4]); y[2 * i + 1] = _mm_unpackhi_epi16(x[i], x[i + 4]); }
            for (int i = 0; i < 8; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + (bc + i) * 16 + br), y[i]);
        }
#else
    for (int r = 0; r < 16; ++r)
        for (int c = 0; c < 16; ++c) dst[r * 16 + c] = src[c * 16 + r];
#endif
}

}  // namespace twin
