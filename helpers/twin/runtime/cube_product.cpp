// Inner products: operands become packed doubles once, then blocks of rows x 16 columns stay in registers.
#include "cube_product.h"

#include <algorithm>
#include <cstring>
#include <vector>
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#include "cube_load.h"
#include "vec_half.h"

namespace twin {

namespace {

// ===== Vectors of doubles. Products are exact, so multiply-and-add in one or two steps gives the same bits.
#if defined(__AVX512F__)
using V = __m512d;
constexpr int kWide = 8, kRows = 8;
inline V zero() { return _mm512_setzero_pd(); }
inline V load(const double* p) { return _mm512_loadu_pd(p); }
inline V all(double x) { return _mm512_set1_pd(x); }
inline V madd(V a, V b, V s) { return _mm512_fmadd_pd(a, b, s); }
inline void add_to(float* c, V s) { _mm256_storeu_ps(c, _mm512_cvtpd_ps(_mm512_add_pd(_mm512_cvtps_pd(_mm256_loadu_ps(c)), s))); }
inline void store(double* p, V s) { _mm512_storeu_pd(p, s); }
#elif defined(__AVX2__) && defined(__FMA__)
using V = __m256d;
constexpr int kWide = 4, kRows = 2;
inline V zero() { return _mm256_setzero_pd(); }
inline V load(const double* p) { return _mm256_loadu_pd(p); }
inline V all(double x) { return _mm256_set1_pd(x); }
inline V madd(V a, V b, V s) { return _mm256_fmadd_pd(a, b, s); }
inline void add_to(float* c, V s) { _mm_storeu_ps(c, _mm256_cvtpd_ps(_mm256_add_pd(_mm256_cvtps_pd(_mm_loadu_ps(c)), s))); }
inline void store(double* p, V s) { _mm256_storeu_pd(p, s); }
#else
typedef double V __attribute__((vector_size(16)));
constexpr int kWide = 2, kRows = 2;
inline V zero() { return V{0, 0}; }
inline V load(const double* p) { V v; std::memcpy(&v, p, sizeof v); return v; }
inline V all(double x) { return V{x, x}; }
inline V madd(V a, V b, V s) { return a * b + s; }
inline void add_to(float* c, V s) { for (int i = 0; i < kWide; ++i) c[i] = float(double(c[i]) + s[i]); }
inline void store(double* p, V s) { std::memcpy(p, &s, sizeof s); }
#endif
constexpr int kVectors = 16 / kWide;

// R rows of A (row-major, lda apart) times 16 columns of B (k rows of 16).
template <int R> void float_block(const double* a, int64_t lda, const double* b, int k, int group, float* c) {
    for (int from = 0; from < k; from += group) {
        const int to = std::min(k, from + group);
        V s[R][kVectors];
        for (auto& row : s) for (V& v : row) v = zero();
        for (int t = from; t < to; ++t) {
            V y[kVectors];
            for (int v = 0; v < kVectors; ++v) y[v] = load(b + t * 16 + v * kWide);
            for (int r = 0; r < R; ++r) {
                const V x = all(a[r * lda + t]);
                for (int v = 0; v < kVectors; ++v) s[r][v] = madd(x, y[v], s[r][v]);
            }
        }
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < kVectors; ++v) add_to(c + r * 16 + v * kWide, s[r][v]);
    }
}

// The sum of at most 4095 products of 8 bits is exact in a double, whatever the order.
template <int R> void integer_block(const double* a, int64_t lda, const double* b, int k, int32_t* c, bool& overflow) {
    V s[R][kVectors];
    for (auto& row : s) for (V& v : row) v = zero();
    for (int t = 0; t < k; ++t) {
        V y[kVectors];
        for (int v = 0; v < kVectors; ++v) y[v] = load(b + t * 16 + v * kWide);
        for (int r = 0; r < R; ++r) {
            const V x = all(a[r * lda + t]);
            for (int v = 0; v < kVectors; ++v) s[r][v] = madd(x, y[v], s[r][v]);
        }
    }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < kVectors; ++v) {
            double out[kWide];
            store(out, s[r][v]);
            for (int i = 0; i < kWide; ++i) {
                int32_t& x = c[r * 16 + v * kWide + i];
                const int64_t sum = int64_t(x) + int64_t(out[i]);
                const int64_t kept = std::min<int64_t>(INT32_MAX, std::max<int64_t>(INT32_MIN, sum));
                overflow = overflow || kept != sum;
                x = int32_t(kept);
            }
        }
}

// ===== Operands as floats
float rounded(float f, bool away) {
    const uint32_t u = float_bits(f);
    if ((u & 0x7f800000u) == 0x7f800000u) return f;
    return bits_float((away ? u + 0x800u : u + 0x7ffu + (u >> 12 & 1)) & ~0xfffu);
}

// n elements, a multiple of a fractal's width.
void to_float(const Product& p, const uint8_t* src, float* f, int n) {
    switch (p.type) {
        case DType::F16: half_to_float(src, f, n); break;
        case DType::BF16: for (int i = 0; i < n; ++i) { uint16_t h; std::memcpy(&h, src + 2 * i, 2); f[i] = bf16_value(h); } break;
        case DType::I8: for (int i = 0; i < n; ++i) f[i] = float(int8_t(src[i])); break;
        case DType::U8: for (int i = 0; i < n; ++i) f[i] = float(src[i]); break;
        case DType::I4:
            for (int i = 0; i < n; i += 2) {
                f[i] = float(int8_t(uint8_t(src[i / 2] << 4)) >> 4);
                f[i + 1] = float(int8_t(src[i / 2]) >> 4);
            }
            break;
        default:
            std::memcpy(f, src, size_t(n) * 4);
            if (p.round) for (int i = 0; i < n; ++i) f[i] = rounded(f[i], p.away);
    }
}

bool all_finite(const float* f, int n) {
    float x = 0;
    for (int i = 0; i < n; ++i) x += f[i] * 0.0f;          // inf and NaN become NaN and stay
    return x == 0;
}

int64_t width_of(DType t) { return fractal_width(t); }

// Row-major doubles of A, `lda` apart.
void pack_a(const Product& p, double* out, int64_t lda, bool& finite) {
    const int64_t w = width_of(p.type), bytes = 32;
    float f[64];
    for (int32_t r = 0; r < p.m; ++r)
        for (int32_t f0 = 0; f0 * w < p.k; ++f0) {
            const uint8_t* src = p.vector ? p.a + f0 * bytes : p.a + ((int64_t(r / 16) * p.k_fractals + f0) * 16 + r % 16) * bytes;
            to_float(p, src, f, int(w));
            const int64_t n = std::min<int64_t>(w, p.k - f0 * w);
            finite = finite && all_finite(f, int(n));
            double* d = out + r * lda + f0 * w;
            for (int64_t i = 0; i < n; ++i) d[i] = f[i];
        }
}

// k rows of 16 doubles: one column of fractals of B.
void pack_b(const Product& p, int32_t block, double* out, bool& finite) {
    const int64_t w = width_of(p.type), blocks = (p.n + 15) / 16;
    const int columns = std::min(16, p.n - block * 16);
    float f[1024];
    for (int32_t f0 = 0; f0 * w < p.k; ++f0) {
        const uint8_t* src = p.b + (f0 * blocks + block) * int64_t(kFractal);
        const int64_t rows = std::min<int64_t>(w, p.k - f0 * w);
        double* d = out + f0 * w * 16;
        if (w == 16) {                                     // 16-bit elements change places before they are converted
            uint16_t swapped[256];
            transpose_16x16(swapped, reinterpret_cast<const uint16_t*>(src));
            to_float(p, reinterpret_cast<const uint8_t*>(swapped), f, 256);
            for (int64_t i = 0; i < rows * 16; ++i) d[i] = f[i];
        } else {
            to_float(p, src, f, int(16 * w));
            for (int64_t t = 0; t < rows; ++t)
                for (int j = 0; j < 16; ++j) d[t * 16 + j] = f[j * w + t];
        }
        for (int64_t t = 0; t < rows && finite; ++t)
            for (int j = 0; j < columns; ++j) finite = finite && d[t * 16 + j] - d[t * 16 + j] == 0;
    }
}

template <int R> void rows(const Product& p, const double* a, int64_t lda, const double* b, int group, uint8_t* c, bool integer, ProductNotes& notes) {
    if (integer) integer_block<R>(a, lda, b, p.k, reinterpret_cast<int32_t*>(c), notes.overflow);
    else float_block<R>(a, lda, b, p.k, group, reinterpret_cast<float*>(c));
}

}  // namespace

void multiply(const Product& p, ProductNotes& notes) {
    static thread_local std::vector<double> a, b;          // kept: tiles of a kernel have one size
    const int64_t lda = p.k;
    if (a.size() < size_t(lda) * size_t(p.m)) a.resize(size_t(lda) * size_t(p.m));
    if (b.size() < size_t(lda) * 16) b.resize(size_t(lda) * 16);
    bool finite = true;
    pack_a(p, a.data(), lda, finite);
    const int group = int(width_of(p.type));
    const bool integer = p.type == DType::I8 || p.type == DType::U8 || p.type == DType::I4;
    const int64_t column = round_up(p.m, 16) * 64;         // bytes from one 16-wide column of C to the next
    for (int32_t block = 0; block * 16 < p.n; ++block) {
        pack_b(p, block, b.data(), finite);
        uint8_t* c = p.c + block * column;
        int32_t r = 0;
        for (; r + kRows <= p.m; r += kRows) rows<kRows>(p, a.data() + r * lda, lda, b.data(), group, c + r * 64, integer, notes);
        for (; r < p.m; ++r) rows<1>(p, a.data() + r * lda, lda, b.data(), group, c + r * 64, integer, notes);
    }
    notes.not_finite = !finite;
}

}  // namespace twin
