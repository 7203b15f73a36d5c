// CastDeq: int16_t to 8 bits with scale and offset, into one half of each block; SetDeqScale with a table.
#include <algorithm>

#include "vec_core.h"

namespace twin {
namespace {

struct DeqPlan {
    uint32_t dst, src, table;
    int32_t dblk, drep, sblk, srep;
    uint32_t repeats, lanes, tail;
    uint64_t mask[2];
    float scale;
    int32_t offset;
    bool vector, is_signed;
};

// Packed word: float scale (the unit uses its upper 19 bits), 9-bit offset from bit 37, sign mode in bit 46.
struct DeqSet { float scale; int32_t offset; bool is_signed; };
DeqSet unpack(uint64_t w) {
    const uint32_t u = uint32_t(w) & 0xffffe000u;
    DeqSet s;
    std::memcpy(&s.scale, &u, 4);
    const int32_t o = int32_t(w >> 37 & 0x1ff);
    s.offset = o >= 256 ? o - 512 : o;
    s.is_signed = w >> 46 & 1;
    return s;
}

uint8_t quantise(int16_t x, const DeqSet& s) {
    const float v = __builtin_rintf(float(x) * s.scale + float(s.offset));
    const float lo = s.is_signed ? -128.0f : 0.0f, hi = s.is_signed ? 127.0f : 255.0f;
    return uint8_t(int32_t(v < lo ? lo : v > hi ? hi : v == v ? v : 0.0f));
}

void run_deq(Core& c, const Instr& in) {
    const DeqPlan& p = in.get<DeqPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint32_t n = p.tail && r + 1 == p.repeats ? p.tail : p.lanes;
        for (uint32_t l = 0; l < n; ++l) {
            if (!(p.mask[l / 64] >> (l % 64) & 1)) continue;
            int16_t x;
            std::memcpy(&x, ub + p.src + (int64_t(r) * p.srep + int64_t(l / 16) * p.sblk) * kBlock + l % 16 * 2, 2);
            DeqSet s{p.scale, p.offset, p.is_signed};
            if (p.vector) { uint64_t w; std::memcpy(&w, ub + p.table + l % 16 * 8, 8); s = unpack(w); }
            ub[p.dst + (int64_t(r) * p.drep + int64_t(l / 16) * p.dblk) * kBlock + l % 16] = quantise(x, s);
        }
    }
}

}  // namespace

void vec_dequantise(const VecCall& c) {
    const NumericState& num = core().num;
    const VecRegisters& v = vec_registers(core());
    const bool vector = c.flag != 0, is_signed = c.type == DType::I8;
    if (c.from != DType::I16 || (c.type != DType::I8 && c.type != DType::U8))
        fatal("UNSUPPORTED_TYPE", c.at, fmt("CastDeq %s -> %s does not exist on Atlas A2", dtype_name(c.from), dtype_name(c.type)), "use int16_t -> int8_t or uint8_t, or int32_t -> half");
    if (vector != v.deq_vector)
        fatal("BAD_PARAMETER", c.at, fmt("CastDeq: isVecDeq is %s, but the scale was %s", vector ? "true" : "false", v.deq_vector ? "set with a tensor" : "not set with a tensor"),
              vector ? "call SetDeqScale(tensor, VdeqInfo) first, or say isVecDeq = false" : "say isVecDeq = true, or call SetDeqScale(scale, offset, signMode)");
    if (!vector && num.deq_sign != is_signed)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("CastDeq to %s, but SetDeqScale said signMode = %s", dtype_name(c.type), num.deq_sign ? "true" : "false"), "signMode true goes with int8_t, false with uint8_t");
    VecExtent e;
    if (!vec_extent(c, 128, e)) return;
    DeqPlan p{};
    const bool flat = e.contiguous;
    p.dst = c.dst.ref.addr + (c.mode ? 16 : 0);
    p.src = c.src[0].ref.addr;
    p.dblk = flat ? 1 : c.dst.stride.blk;
    p.drep = flat ? 8 : c.dst.stride.rep;
    p.sblk = flat ? 1 : c.src[0].stride.blk;
    p.srep = flat ? 8 : c.src[0].stride.rep;
    p.lanes = 128;
    const bool counted = flat || e.counter;
    p.repeats = counted ? uint32_t((e.total + 127) / 128) : e.repeats;
    p.tail = counted ? uint32_t(e.total % 128) : 0;
    p.mask[0] = counted ? ~0ull : e.mask[0];
    p.mask[1] = counted ? ~0ull : e.mask[1];
    p.scale = num.deq_scale;
    p.offset = num.deq_offset;
    p.vector = vector;
    p.is_signed = is_signed;
    p.table = v.deq_table.addr;
    for (int i = 0; i < 2 && !flat; ++i) vec_check_stride(c, i, i ? c.src[0].stride : c.dst.stride, 65535, 255);
    vec_check_start(c, 0, c.dst.ref, 1, c.type);
    vec_check_start(c, 1, c.src[0].ref, 2, c.from);
    Instr in;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.op = c.api;
    in.at = c.at;
    if (p.repeats) {
        auto region = [&](const VecOperand& o, uint8_t rw, uint32_t shift, int32_t blk, int32_t rep, uint8_t z, const char* name) {
            Region r = local(o.ref, rw, shift, 0, name, z);
            r.n0 = p.repeats;
            r.s0 = int64_t(rep) * kBlock;
            r.n1 = 8;
            r.s1 = int64_t(blk) * kBlock;
            r.len = 16u * z;
            r.tail = p.tail;
            if (!counted) { r.masked = true; r.mask[0] = p.mask[0]; r.mask[1] = p.mask[1]; }
            in.add(r);
        };
        region(c.dst, kWrite, c.mode ? 16 : 0, p.dblk, p.drep, 1, "dst");
        region(c.src[0], kRead, 0, p.sblk, p.srep, 2, "src");
        const VecCost cost = vec_cost(vector ? "CastDequantPerElement" : "CastDequant", "b16");
        in.head = cost.head;
        in.slope = cost.slope;
        in.repeats = p.repeats;
        in.elements = uint64_t(e.total);
        in.body = run_deq;
        in.put(p);
    }
    issue(in);
}

}  // namespace twin

extern "C" void tw_vec_deq_table(const twin::LocalRef* table, const float* scale, const int16_t* offset, const uint8_t* sign, twin::At at) {
    if (!twin::vec_unit_here()) return;
    if (table->bytes < 128 || table->addr % 32)
        twin::fatal(table->addr % 32 ? "MISALIGNED" : "OUT_OF_BOUNDS", at,
                    twin::fmt("SetDeqScale writes 16 words of 8 B: the tensor has %u B and starts at UB byte %u", table->bytes, table->addr), "give it 128 B, 32-byte aligned");
    for (int i = 0; i < 16; ++i) {
        uint32_t s;
        std::memcpy(&s, scale + i, 4);
        const uint64_t word = uint64_t(s) | (uint64_t(uint16_t(offset[i])) & 0x1ff) << 37 | uint64_t(sign[i] != 0) << 46;
        std::memcpy(twin::scalar_access(*table, uint64_t(i) * 8, 8, true, at, "SetDeqScale"), &word, 8);
    }
    twin::VecRegisters& v = twin::vec_registers(twin::core());
    v.deq_table = *table;
    v.deq_vector = true;
    twin::core().num.deq_set = false;
}
