// The body of a vector instruction: repeat by repeat in order, all sources of a repeat before its destination.
#include <algorithm>

#include "vec_core.h"
#include "vec_lanes.h"
#include "held.h"
#include "worker.h"

namespace twin {
namespace {

constexpr int64_t kWatch = 2048;      // elements between two looks for inf and NaN: what was written is still in L1

struct Born { int64_t index = -1; char text[160]; };

void saturate_half(void* dst, int64_t n) {
    uint16_t* d = static_cast<uint16_t*>(dst);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
        const uint16_t a = d[i] & 0x7fffu;
        d[i] = a > 0x7c00u ? uint16_t(0) : a == 0x7c00u ? uint16_t((d[i] & 0x8000u) | 0x7bffu) : d[i];
    }
}

bool overlaps(const void* a, int64_t na, const void* b, int64_t nb) {
    const char *x = static_cast<const char*>(a), *y = static_cast<const char*>(b);
    return x < y + nb && y < x + na;
}

// n elements that lie side by side in every operand.
void block(const VecPlan& p, void* dst, const void* a, const void* b, int64_t n, int64_t before, Born& born) {
    if (!p.numeric) {
        p.fn(dst, a, b, n, p.s);
        if (p.saturate) saturate_half(dst, n);
        return;
    }
    alignas(64) unsigned char keep[3][kWatch * 4];
    uint8_t* d = static_cast<uint8_t*>(dst);
    const uint8_t* x = static_cast<const uint8_t*>(a);
    const uint8_t* y = static_cast<const uint8_t*>(b);
    for (int64_t i = 0; i < n; i += kWatch) {
        const int64_t m = std::min(kWatch, n - i);
        VecOperands v{d, nullptr, p.sources > 0 ? x : nullptr, p.sources > 1 ? y : nullptr};
        // Values that are about to be overwritten are kept, so that a new inf can be told from an old one.
        if (p.reads_dst) { std::memcpy(keep[0], d, size_t(m * p.size[0])); v.old = keep[0]; }
        if (v.a && overlaps(d, m * p.size[0], x, m * p.size[1]) && p.size[1] <= 4) { std::memcpy(keep[1], x, size_t(m * p.size[1])); v.a = keep[1]; }
        if (v.b && overlaps(d, m * p.size[0], y, m * p.size[2]) && p.size[2] <= 4) { std::memcpy(keep[2], y, size_t(m * p.size[2])); v.b = keep[2]; }
        p.fn(d, x, y, m, p.s);
        if (born.index < 0 && any_nonfinite(p.type, d, m)) {
            const int64_t at = first_born(p, v, m);
            if (at >= 0) { born.index = before + i + at; operands_text(p, v, at, born.text, sizeof born.text); }
        }
        d += m * p.size[0];
        x += m * p.size[1];
        y += m * p.size[2];
    }
}

uint64_t address(const VecPlan& p, int operand, uint32_t repeat, uint32_t lane) {
    const uint32_t per_block = kBlock / p.size[operand];
    return p.at[operand] + (int64_t(repeat) * p.rep[operand] + int64_t(lane / per_block) * p.blk[operand]) * kBlock + lane % per_block * p.size[operand];
}

// Lanes [from, from + n) of one repeat, packed; a pointer into UB when they are packed already.
const uint8_t* gather(const VecPlan& p, int o, uint8_t* ub, uint32_t r, uint32_t from, uint32_t n, uint8_t* buf) {
    return packed_lanes(ub + address(p, o, r, from), p.blk[o], n * p.size[o], buf);
}

void scatter(const VecPlan& p, uint8_t* ub, uint32_t r, uint32_t from, uint32_t n, const uint8_t* buf) {
    const uint32_t bytes = n * p.size[0];
    uint8_t* first = ub + address(p, 0, r, from);
    const int64_t step = int64_t(p.blk[0]) * kBlock;
    for (uint32_t at = 0; at < bytes; at += kBlock, first += step) std::memcpy(first, buf + at, std::min(kBlock, bytes - at));
}

void leading_lanes(const VecPlan& p, uint8_t* ub, uint32_t r, uint32_t from, uint32_t n, Born& born, uint64_t& where_) {
    alignas(64) uint8_t buf[3][kRepeat];
    const uint8_t* a = p.sources > 0 ? gather(p, 1, ub, r, from, n, buf[1]) : nullptr;
    const uint8_t* b = p.sources > 1 ? gather(p, 2, ub, r, from, n, buf[2]) : nullptr;
    const bool packed = p.blk[0] == 1 || n * p.size[0] <= kBlock;
    uint8_t* d = packed ? ub + address(p, 0, r, from) : buf[0];
    if (!packed && p.reads_dst) gather(p, 0, ub, r, from, n, buf[0]);
    const bool known = born.index >= 0;
    block(p, d, a, b, n, 0, born);
    if (!known && born.index >= 0) where_ = address(p, 0, r, from + uint32_t(born.index));
    if (!packed) scatter(p, ub, r, from, n, buf[0]);
}

// Any set of lanes: packed one by one, computed, put back.
void masked_lanes(const VecPlan& p, uint8_t* ub, uint32_t r, const uint8_t* lane, uint32_t n, Born& born, uint64_t& where_) {
    alignas(64) uint8_t buf[3][kRepeat];
    for (int o = p.reads_dst ? 0 : 1; o <= p.sources; ++o)
        for (uint32_t k = 0; k < n; ++k) std::memcpy(buf[o] + k * p.size[o], ub + address(p, o, r, lane[k]), p.size[o]);
    const bool known = born.index >= 0;
    block(p, buf[0], buf[1], buf[2], n, 0, born);
    if (!known && born.index >= 0) where_ = address(p, 0, r, lane[born.index]);
    for (uint32_t k = 0; k < n; ++k) std::memcpy(ub + address(p, 0, r, lane[k]), buf[0] + k * p.size[0], p.size[0]);
}

}  // namespace

void vec_run(Core& c, const Instr& in) {
    const VecPlan& p = in.get<VecPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    Born born;
    uint64_t where_ = 0;
    if (p.op == uint8_t(VecOp::ShiftLeft)) check_shift(in, p, ub);
    if (p.contiguous) {
        const uint8_t* a = t_through[1] ? t_through[1] : ub + p.at[1];
        const uint8_t* b = t_through[2] ? t_through[2] : ub + p.at[2];
        block(p, ub + p.at[0], a, b, p.total, 0, born);
        where_ = p.at[0] + uint64_t(std::max<int64_t>(born.index, 0)) * p.size[0];
    } else if (p.first) {
        for (uint32_t r = 0; r < p.repeats; ++r) {
            const uint32_t n = p.tail && r + 1 == p.repeats ? p.tail : p.first;
            for (uint32_t from = 0; from < n; from += p.lanes) leading_lanes(p, ub, r, from, std::min(p.lanes, n - from), born, where_);
        }
    } else {
        uint8_t lane[128];
        uint32_t n = 0;
        for (uint32_t l = 0; l < p.lanes && l < 128; ++l) if (p.mask[l / 64] >> (l % 64) & 1) lane[n++] = uint8_t(l);
        for (uint32_t r = 0; r < p.repeats; ++r) masked_lanes(p, ub, r, lane, n, born, where_);
    }
    if (born.index >= 0) {
        const double result = element_value(p.type, ub + where_);
        on_engine(c, [=] { report_born(in, in.get<VecPlan>(), where_, born.text, result); });
    }
    if (p.op == uint8_t(VecOp::AddDeqRelu))                   // a software sequence that uses its sources as scratch
        for (int o = 1; o <= 2; ++o) {
            const Region& r = in.reg[o];
            for_each_run(r, [&](uint64_t lo, uint64_t hi) { mark_undefined(c, r.mem, lo, hi); });
        }
}

}  // namespace twin
