// AscendQuant, AscendDequant, AscendAntiQuant: between numbers and 8-bit, 4-bit or 32-bit integers.
#include <cmath>

#include "adv_core.h"
#include "twin/abi_adv_quant.h"

namespace twin {
namespace {

using ll = long long;
float as_half(double v) { return half_value(half_of_double(v)); }

// ===== AscendQuant: half(half(x * scale) + offset), rounded to int8_t
struct QuantPlan { uint32_t dst, src, scales, offsets; int64_t n, channels; DType type; uint8_t scale_tensor, offset_tensor; float scale, offset; };

void quant_run(Core& c, const Instr& in) {
    const QuantPlan& p = in.get<QuantPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (int64_t i = 0; i < p.n; ++i) {
        const float s = p.scale_tensor ? as_half(adv_load(p.type, ub + p.scales, i % p.channels)) : p.scale;
        const float o = p.offset_tensor ? as_half(adv_load(p.type, ub + p.offsets, i % p.channels)) : p.offset;
        const float scaled = as_half(as_half(adv_load(p.type, ub + p.src, i)) * s);
        adv_store(DType::I8, ub + p.dst, i, double(as_half(scaled + o)));
    }
}

void quant(const QuantCall& s) {
    if (!vec_unit_here("AscendQuant", s.at)) return;
    if (s.counted && s.count < 0) fatal("BAD_PARAMETER", s.at, fmt("AscendQuant: calCount is %lld", ll(s.count)), "count the elements of the source");
    const uint32_t z = size_of(s.type);
    QuantPlan p{};
    p.n = s.counted ? s.count : int64_t(s.src.mem == Mem::UB ? s.src.bytes / z : 0);
    if (s.counted && !p.n) return;
    p.type = s.type;
    p.scale_tensor = s.scale_tensor;
    p.offset_tensor = s.offset_tensor;
    p.scale = as_half(double(s.scale));
    p.offset = as_half(double(s.offset));
    if (checks_on() && ((!s.scale_tensor && std::isinf(p.scale) && std::isfinite(s.scale)) || (!s.offset_tensor && std::isinf(p.offset) && std::isfinite(s.offset))))
        report(Severity::Warning, "NUMERIC", s.at, fmt("AscendQuant: scale %g and offset %g are rounded to half, which ends at 65504", double(s.scale), double(s.offset)), "scale the input first");
    AdvGroup g("AscendQuant", s.at);
    p.src = g.operand("src", s.src, s.type, kRead, uint64_t(p.n));
    if (s.scale_tensor) {
        p.channels = s.scale_count ? s.scale_count : int64_t(s.scales.bytes / z);
        const int64_t offsets = s.offset_tensor ? (s.offset_count ? s.offset_count : int64_t(s.offsets.bytes / z)) : p.channels;
        if (p.channels < 1 || p.channels % 32 || p.n % p.channels)
            fatal("BAD_PARAMETER", s.at, fmt("AscendQuant: scaleCount is %lld, calCount is %lld", ll(p.channels), ll(p.n)), "scaleCount is a multiple of 32 and divides calCount; SetSize gives a tensor its length");
        if (offsets != p.channels) fatal("BAD_PARAMETER", s.at, fmt("AscendQuant: offsetCount is %lld, scaleCount is %lld", ll(offsets), ll(p.channels)), "one offset per scale");
        p.scales = g.operand("scale", s.scales, s.type, kRead, uint64_t(p.channels), "scaleCount");
        if (s.offset_tensor) p.offsets = g.operand("offset", s.offsets, s.type, kRead, uint64_t(p.channels), "offsetCount");
    }
    p.dst = g.operand("dst", s.dst, DType::I8, kWrite, uint64_t(p.n));
    g.may_be_same("dst", "src");
    const uint64_t n = uint64_t(p.n);
    g.scratch(s.tmp, 512, 4 * n, "GetAscendQuantMaxMinTmpSize", false);
    if (s.type == DType::F32) g.steps("Cast", DType::F32, n);
    g.steps("Muls", DType::F16, n, 2);
    g.steps("Cast", DType::F16, n);
    g.in.put(p);
    g.issue(quant_run);
}

// ===== AscendDequant: float(x) * scale of the column
struct DequantPlan { uint32_t dst, src, scales, m, n, count, pitch; DType type, scale_type; uint8_t number; float scale; };

void dequant_run(Core& c, const Instr& in) {
    const DequantPlan& p = in.get<DequantPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (uint32_t i = 0; i < p.m; ++i)
        for (uint32_t j = 0; j < p.count; ++j) {
            float s = p.scale;
            if (!p.number) {
                if (p.scale_type == DType::U64) std::memcpy(&s, ub + p.scales + 8ull * j, 4);
                else s = float(adv_load(p.scale_type, ub + p.scales, j));
            }
            const float x = float(adv_load(DType::I32, ub + p.src, int64_t(i) * p.n + j));
            adv_store(p.type, ub + p.dst, int64_t(i) * p.pitch + j, double(x * s));
        }
}

void dequant(const DequantCall& s) {
    if (!vec_unit_here("AscendDequant", s.at)) return;
    uint32_t m = s.m, n = s.n, count = s.count;
    const uint32_t per = kBlock / size_of(s.type);
    if (!m || !n || !count || count > n) fatal("BAD_PARAMETER", s.at, fmt("AscendDequant: {m, n, calCount} is {%u, %u, %u}", m, n, count), "all are at least 1, and calCount is at most n");
    if (n * 4 % kBlock) fatal("MISALIGNED", s.at, fmt("AscendDequant: last dimension n = %u*4 B must be a multiple of 32", n), fmt("pad rows to %u elements with DataCopyPad", (n + 7) / 8 * 8));
    // one long row that holds several rows of scales
    if (!s.multi_row && m == 1 && count % per == 0 && n % count == 0) { m = n / count; n = count; }
    DequantPlan p{0, 0, 0, m, n, count, (n + per - 1) / per * per, s.type, s.scale_type, s.number, s.scale};
    AdvGroup g("AscendDequant", s.at);
    p.src = g.rows("src", s.src, DType::I32, kRead, m, count, n, 0, 0, "m * n");
    if (!s.number) p.scales = g.operand("deqScale", s.scales, s.scale_type, kRead, count);
    p.dst = g.rows("dst", s.dst, s.type, kWrite, m, count, p.pitch, 0, 0, "m * n");
    g.leftover("dst", s.dst, s.type, m, p.pitch - count, p.pitch, count);
    const uint64_t all = uint64_t(m) * n, tmp = 4 * (all + 2 * n) + 64;
    g.scratch(s.tmp, tmp, tmp, "GetAscendDequantMaxMinTmpSize", false);
    g.steps("Cast", DType::F32, all, s.type == DType::F32 ? 1 : 2);
    g.steps("Mul", DType::F32, all);
    g.in.put(p);
    g.issue(dequant_run);
}

// ===== AscendAntiQuant: (x + offset) * scale of the group
struct AntiQuantPlan { uint32_t dst, src, scales, offsets, k, n, group; DType type, from; uint8_t transposed, numbers, has_offset; float scale, offset; };

void antiquant_run(Core& c, const Instr& in) {
    const AntiQuantPlan& p = in.get<AntiQuantPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t rows = p.transposed ? p.n : p.k, cols = p.transposed ? p.k : p.n, groups = p.k / p.group;
    const bool half = p.type == DType::F16;
    for (uint32_t i = 0; i < rows; ++i)
        for (uint32_t j = 0; j < cols; ++j) {
            const int64_t at = int64_t(i) * cols + j;
            int x;
            if (p.from == DType::I4) {
                const int two = ub[p.src + at / 2];
                x = ((at % 2 ? two >> 4 : two & 15) ^ 8) - 8;
            } else {
                x = int(adv_load(DType::I8, ub + p.src, at));
            }
            const int64_t place = p.transposed ? int64_t(i) * groups + j / p.group : int64_t(i / p.group) * p.n + j;
            const float s = p.numbers ? p.scale : float(adv_load(p.type, ub + p.scales, place));
            const float o = p.numbers || !p.has_offset ? p.offset : float(adv_load(p.type, ub + p.offsets, place));
            const float moved = half ? as_half(double(float(x) + o)) : float(x) + o;
            adv_store(p.type, ub + p.dst, at, double(moved * s));
        }
}

void antiquant(const AntiQuantCall& s) {
    if (!vec_unit_here("AscendAntiQuant", s.at)) return;
    AntiQuantPlan p{0, 0, 0, 0, s.k, 0, s.k, s.type, s.from, s.transposed, s.numbers, s.has_offset, s.scale, s.has_offset ? s.offset : 0.0f};
    const uint64_t n = s.src.mem == Mem::UB ? uint64_t(s.src.bytes) * (s.from == DType::I4 ? 2 : 1) : 0;
    if (!s.k || !n || n % s.k) fatal("BAD_PARAMETER", s.at, fmt("AscendAntiQuant: K is %u, the source has %llu elements", s.k, (unsigned long long)n), "the source is K rows (or columns, transposed); SetSize sets its length");
    p.n = uint32_t(n / s.k);
    if (s.transposed && s.k * (s.from == DType::I4 ? 1 : 2) % (2 * kBlock))
        fatal("MISALIGNED", s.at, fmt("AscendAntiQuant: transposed rows of K = %u elements are not a multiple of 32 bytes", s.k), "pad K");
    if (!s.numbers) {
        const uint32_t groups = s.transposed ? s.scale_width : s.scale_height, other = s.transposed ? s.scale_height : s.scale_width;
        if (!groups || s.k % groups || other != p.n)
            fatal("BAD_PARAMETER", s.at, fmt("AscendAntiQuant: scale has shape [%u, %u], source K = %u, N = %u", s.scale_height, s.scale_width, s.k, p.n),
                  s.transposed ? "scale is [N, groups], and groups divides K" : "scale is [groups, N], and groups divides K");
        if (s.has_offset && (s.offset_height != s.scale_height || s.offset_width != s.scale_width))
            fatal("BAD_PARAMETER", s.at, fmt("AscendAntiQuant: offset has shape [%u, %u], scale [%u, %u]", s.offset_height, s.offset_width, s.scale_height, s.scale_width), "one offset per scale");
        p.group = s.k / groups;
    }
    AdvGroup g("AscendAntiQuant", s.at);
    p.src = s.from == DType::I4 ? g.operand("src", s.src, DType::U8, kRead, n / 2, "number of bytes") : g.operand("src", s.src, DType::I8, kRead, n, "number of elements");
    if (s.from == DType::I4) g.in.undef = Undef::Forbid;         // two elements share a byte, so operands cannot be paired
    const uint64_t table = uint64_t(s.scale_height) * s.scale_width;
    if (!s.numbers) {
        p.scales = g.operand("scale", s.scales, s.type, kRead, table, "scale shape");
        if (s.has_offset) p.offsets = g.operand("offset", s.offsets, s.type, kRead, table, "offset shape");
    }
    p.dst = g.operand("dst", s.dst, s.type, kWrite, n, "number of elements");
    g.in.elements = n;
    const uint64_t tmp = s.type == DType::F16 ? (s.transposed ? 2 * n : 0) : 8 * n;
    g.scratch(s.tmp, tmp, tmp, "GetAscendAntiQuantMaxMinTmpSize", false);
    g.steps("Cast", DType::F16, n);
    if (s.type == DType::BF16) g.steps("Cast", DType::F32, n, 2);
    g.steps("Mul", s.type == DType::F16 ? DType::F16 : DType::F32, n, s.has_offset ? 2 : 1);
    g.in.put(p);
    g.issue(antiquant_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_quant(const twin::QuantCall* call) { twin::quant(*call); }
void tw_adv_dequant(const twin::DequantCall* call) { twin::dequant(*call); }
void tw_adv_antiquant(const twin::AntiQuantCall* call) { twin::antiquant(*call); }
}
