// Reductions: what a call may say, which bytes it reads and writes, what it costs.
#include "vec_reduce.h"

#include <algorithm>

#include "vec_lanes.h"

namespace twin {
namespace {

const char* cost_row(const ReduceCall& c) {
    static const char* rows[4][3] = {{"BlockReduceSum", "BlockReduceMax", "BlockReduceMin"}, {"PairReduceSum", "PairReduceSum", "PairReduceSum"},
                                     {"WholeReduceSum", "WholeReduceMax", "WholeReduceMin"}, {"ReduceSum", "ReduceMax", "ReduceMin"}};
    return rows[int(c.shape)][int(c.kind)];
}

uint32_t up(uint64_t a, uint64_t b) { return uint32_t((a + b - 1) / b); }

// Elements of sharedTmpBuffer; rep = repeats of the call.
uint32_t scratch(const ReduceCall& c, uint32_t rep, uint32_t lanes, uint32_t per_block) {
    if (c.kind == ReduceKind::Sum) return up(rep, per_block) * per_block;
    const uint32_t first = up(2ull * rep, per_block) * per_block;
    if (!c.cal_index) return first;
    const uint32_t out2 = up(2ull * rep, lanes) * 2, second = up(out2, per_block) * per_block;
    if (out2 <= 2) return first + second;
    return first + second + up(up(out2, lanes) * 2, per_block) * per_block;
}

uint32_t result_bytes(const ReduceCall& c, uint32_t z) {
    if (c.shape == ReduceShape::All) return c.cal_index ? 2 * z : z;
    if (c.kind == ReduceKind::Sum || c.order == 2) return z;
    return c.order == 3 ? 4 : 2 * z;
}

// Results of one repeat that are written: blocks or pairs with an active lane.
Region parts_region(const ReduceCall& c, const ReducePlan& p, uint32_t width) {
    Region r = rows_region(c.call.dst.ref, kWrite, "dst", p.z, p.repeats, 0, p.step);
    const uint32_t count = p.lanes / width;
    if (p.first) {
        r.len = up(p.first, width) * p.z;
        r.tail = p.tail && up(p.tail, width) != up(p.first, width) ? up(p.tail, width) : 0;
        return r;
    }
    r.len = count * p.z;
    r.masked = true;
    r.mask[0] = r.mask[1] = 0;
    for (uint32_t l = 0; l < p.lanes; ++l) if (lane_on(p.mask, l)) r.mask[0] |= 1ull << (l / width);
    return r;
}

void check_overlap(const ReduceCall& c, const ReducePlan& p, const Region& dst, uint32_t src_bytes) {
    const LocalRef &d = c.call.dst.ref, &s = c.call.src[0].ref;
    if (d.mem != Mem::UB || s.mem != Mem::UB || p.repeats < 2) return;
    const int64_t end = int64_t(s.addr) + int64_t(p.repeats - 1) * p.rep * kBlock + src_bytes;
    for (uint32_t r = 0; r + 1 < p.repeats; ++r) {
        const int64_t lo = d.addr + int64_t(r) * p.step, hi = lo + dst.len, later = int64_t(s.addr) + int64_t(r + 1) * p.rep * kBlock;
        if (lo >= end || hi <= later) continue;
        report(Severity::Error, "OVERLAP", c.call.at,
               fmt("%s: the result of repeat %u goes to bytes [%lld..%lld) of src, which a later repeat reads", c.call.api, r, (long long)(lo - s.addr), (long long)(hi - s.addr)),
               "give dst its own buffer");
        return;
    }
}

void check_strides(const ReduceCall& c, const ReducePlan& p) {
    const VecCall& v = c.call;
    const char* hint = "source strides count 32-byte blocks";
    check_range(v.api, v.at, "srcBlkStride", p.blk, 0, 65535, hint);
    check_range(v.api, v.at, "srcRepStride", p.rep, 0, 65535, hint);
    check_range(v.api, v.at, "dstRepStride", c.dst_rep, 0, 65535, "dstRepStride counts results of one repeat");
    const uint32_t blocks = up(uint64_t(p.first ? p.first : p.lanes) * p.z, kBlock);
    if (checks_on() && p.first && !p.tail && p.repeats > 1 && p.blk == 1 && p.rep > 0 && uint32_t(p.rep) < blocks)
        report(Severity::Warning, "BAD_PARAMETER", v.at,
               fmt("%s: srcRepStride %d is shorter than the %u blocks of a repeat: %u/%u of every repeat are read again", v.api, p.rep, blocks, blocks - uint32_t(p.rep), blocks),
               fmt("strides count 32-byte blocks: contiguous data needs %u", blocks));
}

void check_operands(const ReduceCall& c, const ReducePlan& p, uint32_t result) {
    const VecCall& v = c.call;
    uint32_t align = result;                                  // values 2 or 4 B, pairs 4 or 8 B
    if (c.shape == ReduceShape::Block) align = 8 * p.z;
    if (c.shape == ReduceShape::Pair) align = kBlock;
    if (c.shape == ReduceShape::All && c.kind != ReduceKind::Sum) align = 2 * p.z;
    check_place(v.api, v.at, 0, "dst", v.dst.ref, p.z, v.type, align);
    check_place(v.api, v.at, 1, "src", v.src[0].ref, p.z, v.type, kBlock);
    if (c.shape == ReduceShape::All && c.kind == ReduceKind::Sum && v.dst.ref.addr % (2 * p.z) && checks_on())
        report(Severity::Warning, "MISALIGNED", v.at,
               fmt("ReduceSum: dst starts at UB address 0x%x; some toolkit versions ask for a multiple of %u B for a %s result", v.dst.ref.addr, 2 * p.z, dtype_name(v.type)),
               "use every second element, or one block per result");
}

// The buffer for intermediate results: all of it becomes undefined.
void add_scratch(const ReduceCall& c, ReducePlan& p, Instr& in) {
    const VecCall& v = c.call;
    const bool unused = c.kind == ReduceKind::Sum && p.counted && chip_is_a2();      // sums of a count stay in a register
    uint32_t rep = p.repeats;
    if (p.counted && c.kind != ReduceKind::Sum) rep = std::max<uint32_t>(1, uint32_t((uint64_t(p.repeats) * p.lanes - (p.tail ? p.lanes - p.tail : 0)) / p.lanes));
    const uint32_t need = scratch(c, rep, p.lanes, kBlock / p.z) * p.z;
    const std::string what = fmt("%s%s of %u repeat%s of %s", v.api, c.cal_index ? " with index" : "", p.repeats, p.repeats == 1 ? "" : "s", dtype_name(v.type));
    if (unused) {
        check_needs(what.c_str(), v.at, "sharedTmpBuffer", c.tmp, need, Severity::Warning, "; Atlas A2 sums a count without it, other chips and the strided form write to it");
        return;
    }
    check_needs(what.c_str(), v.at, "sharedTmpBuffer", c.tmp, need, Severity::Error, "");
    check_place(v.api, v.at, 2, "sharedTmpBuffer", c.tmp, p.z, v.type, kBlock);
    p.tmp = c.tmp.addr;
    p.tmp_bytes = c.tmp.mem == Mem::UB ? std::min(need, c.tmp.bytes) : 0;
    if (p.tmp_bytes) in.add(local(c.tmp, kWrite, 0, p.tmp_bytes, "sharedTmpBuffer", p.z));
}

void reduce(const ReduceCall& c) {
    if (!vec_unit_here(c.call.api, c.call.at)) return;
    VecCall v = c.call;
    if (!has_type(kF16 | kF32, v.type)) fatal("UNSUPPORTED_TYPE", v.at, fmt("%s<%s> does not exist on Atlas A2", v.api, dtype_name(v.type)), "Cast to float first");
    if (!chip_is_a2() && c.shape == ReduceShape::Repeat && c.kind != ReduceKind::Sum && c.order > 1)
        fatal("UNSUPPORTED_API", v.at, fmt("%s: ORDER_ONLY_VALUE and ORDER_ONLY_INDEX do not exist on %s", v.api, chip().name.c_str()), "use ORDER_VALUE_INDEX and read every second element");
    ReducePlan p;
    p.z = uint8_t(size_of(v.type));
    p.lanes = kRepeat / p.z;
    p.kind = c.kind;
    p.shape = c.shape;
    p.order = c.order;
    p.cal_index = c.cal_index;
    p.saturate = core().num.saturate && v.type == DType::F16;
    const bool all = c.shape == ReduceShape::All;
    p.counted = v.mask.form == 0;
    p.to_register = c.to_register;
    p.strided = all && !p.counted && !p.to_register;
    int64_t repeats = v.mask.repeat;
    if (p.strided) {
        if (core().mask.counter)
            fatal("BAD_PARAMETER", v.at, fmt("%s with a mask works in normal mode, but Counter mode has been active since line %d", v.api, core().mask.counter_at.line), "call SetMaskNorm() first");
        if (repeats < 0) fatal("BAD_PARAMETER", v.at, fmt("%s: repeatTime is %lld", v.api, (long long)repeats));
        v.mask.repeat = 1;                                    // 32 bits here, done in groups of 255
    }
    VecExtent e;
    if (!vec_extent(v, p.lanes, e)) return;
    if (p.strided && e.repeats) {
        e.total *= repeats;
        e.repeats = uint32_t(repeats);
    }
    p.repeats = e.repeats;
    p.first = e.contiguous ? p.lanes : e.first;
    p.tail = e.contiguous ? uint32_t(e.total % p.lanes) : e.tail;
    p.mask[0] = e.mask[0];
    p.mask[1] = e.mask[1];
    p.dst = v.dst.ref.addr;
    p.src = v.src[0].ref.addr;
    p.blk = v.src[0].stride.blk;
    p.rep = v.src[0].stride.rep;
    const uint32_t result = result_bytes(c, p.z), width = c.shape == ReduceShape::Block ? kBlock / p.z : 2;
    p.step = c.shape == ReduceShape::Block ? c.dst_rep * 8 * p.z : c.shape == ReduceShape::Pair ? c.dst_rep * 128 : c.dst_rep * result;
    if (!p.to_register) check_operands(c, p, result);
    Instr in;
    in.op = v.api;
    in.at = v.at;
    in.undef = Undef::Forbid;
    if (p.repeats) {
        check_strides(c, p);
        in.add(lanes_region(v.src[0].ref, kRead, "src", p.z, e, p.lanes, p.blk, p.rep));
        if (all && !p.to_register) add_scratch(c, p, in);
        Region dst = all ? local(v.dst.ref, kWrite, 0, result, "dst", p.z)
                   : c.shape == ReduceShape::Repeat ? rows_region(v.dst.ref, kWrite, "dst", p.z, p.repeats, result, p.step) : parts_region(c, p, width);
        if (!all && checks_on()) check_overlap(c, p, dst, (p.first ? p.first : p.lanes) * p.z);
        if (!p.to_register) in.add(dst);
        set_cost(in, cost_row(c), v.type, p.repeats, uint64_t(e.total));
        in.body = reduce_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
    const bool pair_only = c.cal_index && p.repeats == 1;      // one instruction stores value and index
    if (all && p.repeats && !p.to_register && !pair_only && !(p.strided && c.kind == ReduceKind::Sum && p.repeats > p.lanes)) scalar_awaits_vector(v.at);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_reduce(const twin::ReduceCall* call) { twin::reduce(*call); }
uint64_t tw_vec_reduce_sum(int, twin::At at) {
    if (!twin::vec_unit_here()) return 0;
    twin::scalar_awaits_vector(at);
    twin::charge(1, at);
    return twin::vec_registers(twin::core()).sum;
}
void tw_vec_reduce_extreme(uint64_t* value, uint64_t* index, twin::At at) {
    if (!twin::vec_unit_here()) return;
    twin::scalar_awaits_vector(at);
    twin::charge(1, at);
    *value = twin::vec_registers(twin::core()).extreme;
    *index = twin::vec_registers(twin::core()).extreme_index;
}
}
