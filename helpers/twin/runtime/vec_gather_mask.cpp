// GatherMask: the chosen elements of all repeats, side by side.
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct KeepPlan {
    uint32_t dst, src, pattern;
    int32_t blk, src_rep, pattern_rep;
    uint32_t repeats, n;              // elements looked at per repeat
    uint8_t z, fixed;
};

bool chosen(const KeepPlan& p, const uint8_t* bits, uint32_t k) {
    switch (p.fixed) {
        case 0: return bits[k / 8] >> (k % 8) & 1;
        case 1: return k % 2 == 0;
        case 2: return k % 2 == 1;
        case 7: return true;
        default: return k % 4 == p.fixed - 3u;
    }
}

// Elements of one repeat that a fixed pattern keeps.
uint32_t chosen_of(const KeepPlan& p) {
    switch (p.fixed) {
        case 1: return (p.n + 1) / 2;
        case 2: return p.n / 2;
        case 7: return p.n;
        default: return (p.n + 6 - p.fixed) / 4;
    }
}

// Calls f(byte address of the element) for every element that is kept, in order.
template <class F> void each(const KeepPlan& p, const uint8_t* ub, F f) {
    const uint32_t per = kBlock / p.z;
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint8_t* bits = ub + p.pattern + uint64_t(r) * uint64_t(p.pattern_rep) * kBlock;
        for (uint32_t k = 0; k < p.n; ++k)
            if (chosen(p, bits, k)) f(p.src + (uint64_t(r) * uint64_t(p.src_rep) + uint64_t(k / per) * uint64_t(p.blk)) * kBlock + k % per * p.z);
    }
}

void keep_run(Core& c, const Instr& in) {
    const KeepPlan& p = in.get<KeepPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    uint64_t d = p.dst;
    if (!p.fixed)
        for (uint32_t r = 0; r < p.repeats; ++r) {
            const uint64_t at = p.pattern + uint64_t(r) * uint64_t(p.pattern_rep) * kBlock;
            if (!check_decides(in, "src1Pattern", in.reg[1].owner, at, at + (p.n + 7) / 8)) break;
        }
    const Undefined holes(p.src, p.src + (uint64_t(p.repeats - 1) * uint64_t(p.src_rep) + uint64_t((p.n - 1) / (kBlock / p.z)) * uint64_t(p.blk) + 1) * kBlock);
    // In place is fine: what is kept never moves to a higher address than it is read from, unless the strides go backwards.
    each(p, ub, [&](uint64_t s) {
        if (holes.any) { const bool hole = holes.at(s, p.z); std::memmove(ub + d, ub + s, p.z); if (hole) mark_undefined(c, Mem::UB, d, d + p.z); }
        else std::memmove(ub + d, ub + s, p.z);
        d += p.z;
    });
    vec_registers(c).gathered = (d - p.dst) / p.z;
}

void check_call(const GatherMaskCall& g, uint32_t z) {
    if (g.fixed > 7)
        fatal("BAD_PARAMETER", g.at, fmt("GatherMask: pattern %d does not exist", g.fixed == 255 ? 0 : g.fixed), "1 even, 2 odd, 3..6 every 4th element from 0..3, 7 all");
    if (!chip_is_a2() && g.type == DType::BF16) fatal("UNSUPPORTED_TYPE", g.at, fmt("GatherMask<bfloat16_t> does not exist on %s", chip().name.c_str()), "ReinterpretCast to uint16_t");
    const char* hint = "strides count 32-byte blocks";
    check_range("GatherMask", g.at, "src0BlockStride", g.blk, 0, 255, hint);
    check_range("GatherMask", g.at, "repeatTimes", g.repeats, 0, 65535, "split the call");
    check_range("GatherMask", g.at, "src0RepeatStride", g.src_rep, 0, 65535, hint);
    check_range("GatherMask", g.at, "src1RepeatStride", g.pattern_rep, 0, 255, hint);
    if (g.counter && g.mask * z > capacity(Mem::UB))
        fatal("OUT_OF_BOUNDS", g.at, fmt("GatherMask: mask %llu elements are more than the Unified Buffer holds", (unsigned long long)g.mask), "with reduceMode = true, mask is the number of elements per repeat");
    if (g.counter && g.mask == 0 && g.repeats)
        report(Severity::Error, "BAD_PARAMETER", g.at, "GatherMask: with reduceMode = true, mask is the number of elements per repeat, and it is 0", "pass the element count, or reduceMode = false");
    if (!g.counter && g.src_rep > 0 && g.src_rep < 8 && g.blk == 1 && checks_on())
        report(g.repeats > 1 ? Severity::Warning : Severity::Note, "BAD_PARAMETER", g.at,
               fmt("GatherMask: src0RepeatStride %lld block%s re-reads %lld/8 of each repeat", (long long)g.src_rep, g.src_rep == 1 ? "" : "s", (long long)(8 - g.src_rep)),
               "repeat strides count 32-byte blocks: contiguous data needs 8");
}

void add_source(Instr& in, const GatherMaskCall& g, const KeepPlan& p) {
    const uint32_t per = kBlock / p.z, full = p.n / per, rest = p.n % per;
    if (p.blk == 1) { in.add(rows_region(g.src, kRead, "src0", p.z, p.repeats, p.n * p.z, int64_t(p.src_rep) * kBlock)); return; }
    Region r = rows_region(g.src, kRead, "src0", p.z, p.repeats, kBlock, int64_t(p.src_rep) * kBlock);
    r.n1 = full;
    r.s1 = int64_t(p.blk) * kBlock;
    if (full) in.add(r);
    Region last = rows_region(g.src, kRead, "src0", p.z, p.repeats, rest * p.z, int64_t(p.src_rep) * kBlock);
    last.addr += uint64_t(full) * uint64_t(p.blk) * kBlock;
    if (rest) in.add(last);
}

uint64_t gather_mask(const GatherMaskCall& g) {
    if (!vec_unit_here("GatherMask", g.at)) return 0;
    KeepPlan p{};
    p.z = uint8_t(size_of(g.type));
    check_call(g, p.z);
    check_place("GatherMask", g.at, 0, "dst", g.dst, p.z, g.type, kBlock);
    check_place("GatherMask", g.at, 1, "src0", g.src, p.z, g.type, kBlock);
    if (!g.fixed) check_place("GatherMask", g.at, 2, "src1Pattern", g.pattern, p.z, p.z == 2 ? DType::U16 : DType::U32, kBlock);
    const uint32_t lanes = kRepeat / p.z;
    p.dst = g.dst.addr;
    p.src = g.src.addr;
    p.pattern = g.fixed ? 0 : g.pattern.addr;
    p.blk = int32_t(g.blk);
    p.src_rep = int32_t(g.src_rep);
    p.pattern_rep = g.fixed ? 0 : int32_t(g.pattern_rep);
    p.fixed = g.fixed;
    p.n = g.counter ? uint32_t(g.mask) : lanes;
    p.repeats = p.n ? uint32_t(g.repeats) : 0;
    if (!chip_is_a2() && g.counter) {                          // there the mask counts all elements and repeatTimes has no effect
        p.n = lanes;
        p.repeats = uint32_t((g.mask + lanes - 1) / lanes);
    }
    leave_mask(g.mask, g.at);
    Instr in;
    in.op = "GatherMask";
    in.at = g.at;
    in.undef = Undef::Ignore;
    uint64_t kept = 0;
    if (p.repeats) {
        const uint64_t last = uint64_t(p.repeats - 1) * uint64_t(p.pattern_rep) * kBlock + (p.n + 7) / 8;
        if (!g.fixed && (g.pattern.mem != Mem::UB || last > g.pattern.bytes))
            fatal("OUT_OF_BOUNDS", g.at, fmt("GatherMask: src1Pattern needs %llu B, a bit per element, and has %u B", (unsigned long long)last, g.pattern.bytes),
                  "make the pattern longer, or use src1RepeatStride 0 to use the same bits in every repeat");
        settle_vector(g.at);
        if (p.fixed) kept = uint64_t(p.repeats) * chosen_of(p);
        else each(p, core().at(Mem::UB, 0), [&](uint64_t) { ++kept; });
        add_source(in, g, p);
        if (!g.fixed) {
            Region bits = rows_region(g.pattern, kRead, "src1Pattern", 1, p.repeats, (p.n + 7) / 8, int64_t(p.pattern_rep) * kBlock);
            if (in.nreg > 1) std::swap(in.reg[1], bits);
            in.add(bits);
        }
        in.add(local(g.dst, kWrite, 0, uint32_t(kept * p.z), "dst", p.z));
        const uint64_t end = kept * p.z, block = std::min<uint64_t>((end + kBlock - 1) / kBlock * kBlock, std::max<uint64_t>(g.dst.bytes, end));
        Region rest = local(g.dst, kWrite, end, uint32_t(block - end), "dst", p.z);   // the last block is written as a whole
        rest.pad_value = 1;
        const bool in_place = g.dst.addr < g.src.addr + g.src.bytes && g.src.addr < g.dst.addr + block;
        if (block > end && !in_place) in.add(rest);
        if (in_place && g.dst.addr != g.src.addr && ranges_meet(g.dst, end, g.src, uint64_t(p.n) * p.z) && checks_on())
            report(Severity::Error, "OVERLAP", g.at, "GatherMask: dst and src0 overlap without starting at the same place", "use the same start, or separate buffers");
        set_cost(in, g.fixed ? "GatherMask" : "GatherMaskTensor", p.z == 2 ? DType::U16 : DType::U32, (p.n + lanes - 1) / lanes * p.repeats, uint64_t(p.n) * p.repeats);
        in.body = keep_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
    scalar_awaits_vector(g.at);
    return kept;
}

}  // namespace
}  // namespace twin

extern "C" {
uint64_t tw_vec_gather_mask(const twin::GatherMaskCall* call) { return twin::gather_mask(*call); }
uint64_t tw_vec_gather_count(twin::At at) {
    if (!twin::vec_unit_here()) return 0;
    twin::scalar_awaits_vector(at);
    twin::charge(1, at);
    return twin::vec_registers(twin::core()).gathered;
}
}
