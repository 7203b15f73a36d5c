// Conversions of Fixpipe, in the order of rounding and clamping of the published reference scripts.
#include "cube_quant.h"

#include <algorithm>
#include <cmath>

#include "vec_half.h"

namespace twin {

QuantWord quant_word(uint64_t bits) {
    QuantWord w;
    w.scale = bits_float(uint32_t(bits) & 0xffffe000u);
    w.shift = int32_t(bits >> 32 & 15) + 1;
    w.narrow = bits >> 36 & 1;
    const int32_t offset = int32_t(bits >> 37 & 511);
    w.offset = offset >= 256 ? offset - 512 : offset;
    w.is_signed = bits >> 46 & 1;
    return w;
}

static float clamped_half(float f, bool saturate) {
    if (!saturate) return f;
    if (f != f) return 0;
    return std::min(65504.0f, std::max(-65504.0f, f));
}

static float scaled(const QuantPlan& p, const QuantWord& w, const uint8_t* src) {
    if (!p.integer) {
        float x;
        std::memcpy(&x, src, 4);
        return x * (x >= 0 || !p.relu ? w.scale : 0.0f);
    }
    int32_t x;
    std::memcpy(&x, src, 4);
    if (w.narrow) x = std::min(32767, std::max(-32768, x >> w.shift));
    return float(x) * (x >= 0 || !p.relu ? w.scale : 0.0f);
}

static int32_t to_9_bits(float f) {
    if (f != f) return 0;
    return int32_t(std::min(255.0f, std::max(-256.0f, std::nearbyint(f))));
}

void quantise(const QuantPlan& p, const QuantWord* words, bool per_value, const uint8_t* src, uint8_t* dst, int n) {
    float f[64];
    switch (p.mode) {
        case Quant::None:
            if (!p.relu) { std::memcpy(dst, src, size_t(n) * 4); return; }
            for (int i = 0; i < n; ++i) {
                if (p.integer) { int32_t x; std::memcpy(&x, src + 4 * i, 4); x = std::max(x, 0); std::memcpy(dst + 4 * i, &x, 4); }
                else { float x; std::memcpy(&x, src + 4 * i, 4); x = x > 0 || x != x ? x : 0.0f; std::memcpy(dst + 4 * i, &x, 4); }
            }
            return;
        case Quant::Half:
        case Quant::BFloat:
            for (int at = 0; at < n; at += 64) {
                const int part = std::min(64, n - at);
                std::memcpy(f, src + 4 * at, size_t(part) * 4);
                if (p.relu) for (int i = 0; i < part; ++i) f[i] = f[i] > 0 || f[i] != f[i] ? f[i] : 0.0f;
                if (p.mode == Quant::Half) {
                    if (p.saturate) for (int i = 0; i < part; ++i) f[i] = clamped_half(f[i], true);
                    float_to_half(f, dst + 2 * at, part);
                    continue;
                }
                for (int i = 0; i < part; ++i) {
                    uint16_t b = bf16_bits(f[i]);
                    if (p.saturate && (b & 0x7f80u) == 0x7f80u) b = b & 0x7fu ? 0 : uint16_t((b & 0x8000u) | 0x7f7fu);
                    std::memcpy(dst + 2 * (at + i), &b, 2);
                }
            }
            return;
        case Quant::Deq:
            for (int i = 0; i < n; ++i) {
                const uint16_t h = half_bits(clamped_half(scaled(p, words[per_value ? i : 0], src + 4 * i), true));
                std::memcpy(dst + 2 * i, &h, 2);
            }
            return;
        case Quant::Req:
            for (int i = 0; i < n; ++i) {
                const QuantWord& w = words[per_value ? i : 0];
                const int32_t y = to_9_bits(scaled(p, w, src + 4 * i)) + w.offset;
                dst[i] = w.is_signed ? uint8_t(int8_t(std::min(127, std::max(-128, y)))) : uint8_t(std::min(255, std::max(0, y)));
            }
    }
}

}  // namespace twin
