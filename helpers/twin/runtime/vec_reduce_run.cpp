// The loop of a reduction: repeat by repeat in order, all lanes of a repeat before its result.
#include <vector>

#include "vec_half.h"
#include "vec_lanes.h"
#include "vec_reduce.h"

namespace twin {
namespace {

enum : uint8_t { kValueIndex, kIndexValue, kOnlyValue, kOnlyIndex };

void load(const ReducePlan& p, const uint8_t* ub, uint32_t r, Lanes& l) {
    uint32_t n = p.first ? (p.tail && r + 1 == p.repeats ? p.tail : p.first) : p.lanes;
    if (!p.first) while (n && !lane_on(p.mask, n - 1)) --n;       // lanes above the last active one may lie outside the tensor
    l.n = n;
    l.prefix = p.first != 0;
    l.on[0] = p.mask[0];
    l.on[1] = p.mask[1];
    const uint8_t* from = ub + p.src + int64_t(r) * p.rep * kBlock;
    const uint32_t bytes = n * p.z;
    if (const uint8_t* at = packed_lanes(from, p.blk, bytes, l.raw); at != l.raw) std::memcpy(l.raw, at, bytes);
}

void store(uint8_t* to, uint32_t bits, uint32_t z) {
    const uint16_t h = uint16_t(bits);
    if (z == 2) std::memcpy(to, &h, 2);
    else std::memcpy(to, &bits, 4);
}

void store_extreme(const ReducePlan& p, uint8_t* to, const Extreme& e) {
    const uint32_t lane = uint32_t(e.lane);
    switch (p.order) {
        case kValueIndex: store(to, e.bits, p.z); store(to + p.z, lane, p.z); break;
        case kIndexValue: store(to, lane, p.z); store(to + p.z, e.bits, p.z); break;
        case kOnlyValue: store(to, e.bits, p.z); break;
        default: std::memcpy(to, &lane, 4);
    }
}

struct Fold {
    Core& c;
    const Instr& in;
    const ReducePlan& p;
    FoldType t;
    uint8_t* ub;
    bool told = false;

    void overflow(uint32_t repeat, const std::string& how) {
        if (told) return;
        told = true;
        const char* type = p.z == 2 ? "half" : "float";
        report(Severity::Warning, "NUMERIC", in.at, fmt("%s: the %s sum %s at repeat %u (%s)", in.op, type, p.saturate ? "stopped at the largest half" : "overflowed", repeat, how.c_str()),
               p.z == 2 ? "half ends at 65504: Cast to float before the sum" : "float ends at 3.4e38: scale the values first");
    }
    float sum(const Lanes& l, uint32_t from, uint32_t n, uint32_t repeat, bool& any) {
        const float s = t.sum(l, from, n, any);
        const bool odd = !t.finite(t.bits(s)) || (p.saturate && (s >= 65504.0f || s <= -65504.0f));
        if (odd && any && checks_on()) {
            const Overflow o = t.find_overflow(l, from, n);
            if (o.found) overflow(repeat, fmt("step %u of the tree, pair %u: %g + %g", o.step, o.pair, double(o.a), double(o.b)));
        }
        return s;
    }

    void parts(uint32_t width, uint32_t count) {              // blocks or pairs: `width` lanes each
        Lanes l;
        for (uint32_t r = 0; r < p.repeats; ++r) {
            load(p, ub, r, l);
            uint32_t result[64];
            bool any[64];
            for (uint32_t b = 0; b < count; ++b) {
                if (p.kind == ReduceKind::Sum) result[b] = t.bits(sum(l, b * width, width, r, any[b]));
                else {
                    const Extreme e = t.extreme(l, b * width, width, p.kind == ReduceKind::Max);
                    result[b] = e.bits;
                    any[b] = e.lane >= 0;
                }
            }
            uint8_t* to = ub + p.dst + int64_t(r) * p.step;
            for (uint32_t b = 0; b < count; ++b) if (any[b]) store(to + b * p.z, result[b], p.z);
        }
    }

    void repeats() {
        Lanes l;
        VecRegisters& v = vec_registers(c);
        Extreme best;
        for (uint32_t r = 0; r < p.repeats; ++r) {
            load(p, ub, r, l);
            uint8_t* to = ub + p.dst + int64_t(r) * p.step;
            if (p.kind == ReduceKind::Sum) {
                bool any;
                const float s = sum(l, 0, p.lanes, r, any);
                store(to, t.bits(s), p.z);
                continue;
            }
            const bool largest = p.kind == ReduceKind::Max;
            const Extreme e = t.extreme(l, 0, p.lanes, largest);
            store_extreme(p, to, e);
            if (best.lane < 0 || t.better(e.bits, best.bits, largest)) best = {e.bits, int32_t(r * p.lanes) + e.lane};
        }
        if (p.kind == ReduceKind::Sum) return;
        v.extreme = best.bits;
        v.extreme_index = uint32_t(best.lane);
    }

    // Count: repeat after repeat joins the sum so far. Repeats: the sums of the repeats form a tree again.
    void sum_all() {
        Lanes l;
        bool any;
        float acc = 0;
        std::vector<uint32_t> w(p.strided ? p.repeats : 0);
        for (uint32_t r = 0; r < p.repeats; ++r) {
            load(p, ub, r, l);
            const float s = sum(l, 0, p.lanes, r, any);
            if (p.strided) { w[r] = t.bits(s); continue; }
            const float before = acc;
            acc = r ? t.add(acc, s) : s;
            if (r && !t.finite(t.bits(acc)) && t.finite(t.bits(before)) && t.finite(t.bits(s)) && checks_on()) overflow(r, fmt("%g so far + %g", double(before), double(s)));
        }
        if (p.strided) {
            for (size_t i = 0; i < w.size() && (i + 1) * p.z <= p.tmp_bytes; ++i) store(ub + p.tmp + i * p.z, w[i], p.z);
            while (w.size() > 1) {
                size_t m = 0;
                for (size_t i = 0; i < w.size(); i += p.lanes, ++m) w[m] = t.bits(t.sum(&w[i], uint32_t(w.size() - i < p.lanes ? w.size() - i : p.lanes)));
                w.resize(m);
            }
            acc = t.value(w[0]);
        } else {
            vec_registers(c).sum = t.bits(acc);
        }
        if (!p.to_register) store(ub + p.dst, t.bits(acc), p.z);
    }

    void extreme_all() {
        Lanes l;
        const bool largest = p.kind == ReduceKind::Max;
        const uint32_t row = p.counted ? p.lanes : uint32_t(p.rep) * kBlock / p.z;
        Extreme best;
        for (uint32_t r = 0; r < p.repeats; ++r) {
            load(p, ub, r, l);
            const Extreme e = t.extreme(l, 0, p.lanes, largest);
            if (best.lane < 0 || t.better(e.bits, best.bits, largest)) best = {e.bits, int32_t(r * row) + e.lane};
        }
        store(ub + p.dst, best.bits, p.z);
        vec_registers(c).extreme = best.bits;
        vec_registers(c).extreme_index = uint32_t(best.lane);
        if (!p.cal_index) return;
        if (p.z == 2 && best.lane > 65535)
            report(Severity::Error, "BAD_PARAMETER", in.at, fmt("%s: the index %d does not fit the 16 bits of a half", in.op, best.lane), "split the row, or Cast to float first");
        store(ub + p.dst + p.z, uint32_t(best.lane), p.z);
    }
};

}  // namespace

void reduce_run(Core& c, const Instr& in) {
    const ReducePlan& p = in.get<ReducePlan>();
    Fold f{c, in, p, {p.z, p.saturate}, c.at(Mem::UB, 0)};
    switch (p.shape) {
        case ReduceShape::Block: f.parts(kBlock / p.z, 8); return;
        case ReduceShape::Pair: f.parts(2, p.lanes / 2); return;
        case ReduceShape::Repeat: f.repeats(); return;
        default: break;
    }
    if (p.kind == ReduceKind::Sum) f.sum_all();
    else f.extreme_all();
    // What is left in the scratch means nothing; the result may stand inside it.
    const uint64_t lo = p.dst, hi = p.dst + (p.cal_index ? 2u : 1u) * p.z, a = p.tmp, z = uint64_t(p.tmp) + p.tmp_bytes;
    mark_undefined(c, Mem::UB, a, z < lo ? z : lo > a ? lo : a);
    mark_undefined(c, Mem::UB, hi > a ? hi : a, z);
}

}  // namespace twin
