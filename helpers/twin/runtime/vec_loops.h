// The few loop shapes all element-wise instructions share.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "vec_core.h"
#include "vec_half.h"

namespace twin {

constexpr int64_t kChunk = 256;      // half values converted at a time: three float buffers of 1 KB

// Correctly rounded; vectorised because the runtime is built without errno for mathematical functions.
inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }

// T -> T, one source.
template <class T, class Op>
void map1(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    T* d = static_cast<T*>(dst);
    const T* x = static_cast<const T*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = Op::f(x[i]);
}

// T, T -> T.
template <class T, class Op>
void map2(void* dst, const void* a, const void* b, int64_t n, const VecScalar&) {
    T* d = static_cast<T*>(dst);
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = Op::f(x[i], y[i]);
}

// half -> half through float: one rounding.
template <class Op>
void half1(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float x[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        for (int64_t k = 0; k < m; ++k) x[k] = Op::f(x[k]);
        float_to_half(x, static_cast<uint16_t*>(dst) + i, m);
    }
}
template <class Op>
void half2(void* dst, const void* a, const void* b, int64_t n, const VecScalar&) {
    float x[kChunk], y[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = std::min(kChunk, n - i);
        half_to_float(static_cast<const uint16_t*>(a) + i, x, m);
        half_to_float(static_cast<const uint16_t*>(b) + i, y, m);
        for (int64_t k = 0; k < m; ++k) x[k] = Op::f(x[k], y[k]);
        float_to_half(x, static_cast<uint16_t*>(dst) + i, m);
    }
}

// Rounds floats to the nearest half and back: the step between the two operations of a compound instruction.
inline void round_through_half(float* x, int64_t n) {
    uint16_t h[kChunk];
    float_to_half(x, h, n);
    half_to_float(h, x, n);
}

}  // namespace twin
