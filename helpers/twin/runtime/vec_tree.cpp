// Trees of neighbours and extremes.
#include "vec_tree.h"

#include <cmath>
#include <limits>

#include "vec_half.h"

namespace twin {
namespace {

uint32_t element(const uint8_t* raw, uint32_t z, uint32_t i) {
    if (z == 2) { uint16_t h; std::memcpy(&h, raw + 2 * i, 2); return h; }
    uint32_t u;
    std::memcpy(&u, raw + 4 * i, 4);
    return u;
}

// A number that orders like the value, with -0 below +0; NaN is handled before.
int32_t key(uint32_t bits, uint32_t z) {
    const int32_t s = z == 2 ? int32_t(int16_t(uint16_t(bits))) : int32_t(bits);
    return s ^ (s >> 31 & 0x7fffffff);
}
bool is_nan(uint32_t bits, uint32_t z) { return z == 2 ? (bits & 0x7fffu) > 0x7c00u : (bits & 0x7fffffffu) > 0x7f800000u; }

// The first extreme of n packed elements, with I the signed integer of their width.
template <class I> Extreme extreme_of(const uint8_t* raw, uint32_t n, bool largest, I inf) {
    constexpr I low = std::numeric_limits<I>::max();
    I keys[kRepeat / sizeof(I)];
    std::memcpy(keys, raw, n * sizeof(I));
    bool nan = false;
    for (uint32_t i = 0; i < n; ++i) nan |= (keys[i] & low) > inf;
    uint32_t at = 0;
    if (nan) {
        while ((keys[at] & low) <= inf) ++at;
    } else {
        I best = largest ? std::numeric_limits<I>::min() : low;
        for (uint32_t i = 0; i < n; ++i) keys[i] = I(keys[i] ^ (keys[i] < 0 ? low : 0));
        if (largest) for (uint32_t i = 0; i < n; ++i) best = keys[i] > best ? keys[i] : best;
        else for (uint32_t i = 0; i < n; ++i) best = keys[i] < best ? keys[i] : best;
        while (keys[at] != best) ++at;
    }
    return {element(raw, sizeof(I), at), int32_t(at)};
}

void clamp(float* v, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) v[i] = v[i] != v[i] ? 0.0f : v[i] > 65504.0f ? 65504.0f : v[i] < -65504.0f ? -65504.0f : v[i];
}

// Rounds n sums to half, eight at a time.
void round_half(float* v, uint32_t n) {
    uint16_t h[64];
    float_to_half(v, h, n);
    half_to_float(h, v, n);
}

float tree(float* v, uint32_t n, bool half, bool saturate) {
    float w[64];
    while (n > 1) {
        const uint32_t m = n / 2;
        for (uint32_t i = 0; i < m; ++i) w[i] = v[2 * i] + v[2 * i + 1];
        if (half) {
            round_half(w, m);
            if (saturate) clamp(w, m);
        }
        const float last = v[n - 1];
        std::memcpy(v, w, m * sizeof(float));
        if (n % 2) v[m] = last;                                // absent + x = x
        n = (n + 1) / 2;
    }
    return v[0];
}

void load(const Lanes& l, uint32_t z, uint32_t from, uint32_t n, float* v) {
    if (z == 2) half_to_float(l.raw + 2 * from, v, n);
    else std::memcpy(v, l.raw + 4 * from, 4 * n);
}

}  // namespace

float FoldType::value(uint32_t b) const { return z == 2 ? half_value(uint16_t(b)) : bits_float(b); }
uint32_t FoldType::bits(float v) const { return z == 2 ? half_bits(v) : float_bits(v); }
bool FoldType::finite(uint32_t b) const { return z == 2 ? (b & 0x7c00u) != 0x7c00u : (b & 0x7f800000u) != 0x7f800000u; }

float FoldType::add(float a, float b) const {
    float s = a + b;
    if (z == 2) {
        s = half_value(half_bits(s));
        if (saturate) clamp(&s, 1);
    }
    return s;
}

float FoldType::sum(const uint32_t* b, uint32_t n) const {
    float v[128];
    for (uint32_t i = 0; i < n; ++i) v[i] = value(b[i]);
    return tree(v, n, z == 2, saturate);
}

float FoldType::sum(const Lanes& l, uint32_t from, uint32_t n, bool& any) const {
    float v[128] = {};
    const uint32_t end = from + n < l.n ? from + n : l.n;
    any = from < end;
    if (!any) return 0;
    load(l, z, from, end - from, v);
    if (l.prefix) return tree(v, end - from, z == 2, saturate);
    bool on[128] = {};
    any = false;
    for (uint32_t i = 0; i < end - from; ++i) any |= on[i] = l.on[(from + i) / 64] >> ((from + i) % 64) & 1;
    for (uint32_t m = n; m > 1; m = (m + 1) / 2)
        for (uint32_t i = 0; i < (m + 1) / 2; ++i) {
            const bool left = on[2 * i], right = 2 * i + 1 < m && on[2 * i + 1];
            v[i] = left && right ? add(v[2 * i], v[2 * i + 1]) : left ? v[2 * i] : v[right ? 2 * i + 1 : 2 * i];
            on[i] = left || right;
        }
    return v[0];
}

Overflow FoldType::find_overflow(const Lanes& l, uint32_t from, uint32_t n) const {
    Overflow o;
    float v[128] = {};
    bool on[128] = {};
    const uint32_t end = from + n < l.n ? from + n : l.n;
    for (uint32_t i = from; i < end; ++i) {
        v[i - from] = value(element(l.raw, z, i));
        on[i - from] = l.prefix || (l.on[i / 64] >> (i % 64) & 1);
        if (on[i - from] && !std::isfinite(v[i - from])) return o;
    }
    uint32_t step = 0;
    for (uint32_t m = n; m > 1; m = (m + 1) / 2, ++step)
        for (uint32_t i = 0; i < (m + 1) / 2; ++i) {
            const bool left = on[2 * i], right = 2 * i + 1 < m && on[2 * i + 1];
            const float a = v[2 * i], b = right ? v[2 * i + 1] : 0, exact = a + b;
            if (left && right && (z == 2 ? !std::isfinite(half_value(half_bits(exact))) : !std::isfinite(exact))) return {true, step, i, a, b};
            v[i] = left && right ? add(a, b) : left ? a : b;
            on[i] = left || right;
        }
    return o;
}

bool FoldType::better(uint32_t c, uint32_t best, bool largest) const {
    if (is_nan(best, z)) return false;
    if (is_nan(c, z)) return true;
    return largest ? key(c, z) > key(best, z) : key(c, z) < key(best, z);
}

Extreme FoldType::extreme(const Lanes& l, uint32_t from, uint32_t n, bool largest) const {
    const uint32_t end = from + n < l.n ? from + n : l.n;
    Extreme best;
    if (l.prefix && from < end) {
        best = z == 2 ? extreme_of<int16_t>(l.raw + 2 * from, end - from, largest, 0x7c00) : extreme_of<int32_t>(l.raw + 4 * from, end - from, largest, 0x7f800000);
        best.lane += int32_t(from);
        return best;
    }
    for (uint32_t i = from; i < end; ++i) {
        if (!l.prefix && !(l.on[i / 64] >> (i % 64) & 1)) continue;
        const uint32_t c = element(l.raw, z, i);
        if (best.lane < 0 || better(c, best.bits, largest)) best = {c, int32_t(i)};
    }
    return best;
}

}  // namespace twin
