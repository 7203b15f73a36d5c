// Copies that leave the caches to the tile: what goes to GM is not read again soon.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace twin {

// memcpy with stores that go around the caches. dst and src must not overlap.
inline void stream_copy(uint8_t* dst, const uint8_t* src, size_t n) {
#if defined(__AVX__)
    const size_t head = (32 - reinterpret_cast<uintptr_t>(dst) % 32) % 32;
    if (n < 4096) { std::memcpy(dst, src, n); return; }
    std::memcpy(dst, src, head);
    dst += head, src += head, n -= head;
    for (; n >= 128; n -= 128, dst += 128, src += 128) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)), b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 32));
        const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 64)), d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 96));
        _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), a);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + 32), b);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + 64), c);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + 96), d);
    }
    std::memcpy(dst, src, n);
    _mm_sfence();                             // other threads may look as soon as this returns
#else
    std::memcpy(dst, src, n);
#endif
}

}  // namespace twin
