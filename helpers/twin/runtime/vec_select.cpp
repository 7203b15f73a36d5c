// Select: dst = bit ? src0 : src1. The bits come from a tensor or from the CMPMASK register.
#include <algorithm>

#include "state.h"
#include "vec_core.h"

namespace twin {
namespace {

enum : uint8_t { kSpr, kScalar, kTensor };

struct SelectPlan {
    uint32_t dst, src[2], bits;
    int32_t blk[3], rep[3];            // dst, src0, src1
    uint32_t lanes, repeats, tail;     // tail: elements of the last repeat, 0 = all
    uint32_t top;                      // lanes looked at: up to the last one that is written
    uint64_t mask[2];                  // lanes that are written
    uint64_t scalar;
    uint8_t size, mode;
    bool from_register;                // no selMask: CMPMASK holds the bits (mode 0) or their address (mode 2)
    bool scalar_in_register;           // mode 1 with selMask: CMPMASK holds the scalar
    uint32_t known;                    // bytes of selMask that are defined
};

template <class T>
void choose(T* d, const T* a, const T* b, const uint8_t* bits, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) { const uint32_t k = first + i; d[i] = bits[k / 8] >> (k % 8) & 1 ? a[i] : b[i]; }
}

// Results that hang on bits nobody wrote are undefined.
void forget_unknown(Core& c, const SelectPlan& p, uint32_t r, uint32_t n) {
    for (uint32_t l = 0; l < n; ++l) {
        const uint32_t k = p.mode == kSpr ? l : r * p.lanes + l;
        if (k / 8 < p.known || !(p.mask[l / 64] >> (l % 64) & 1)) continue;
        const uint32_t per = kBlock / p.size;
        const uint64_t at = p.dst + (uint64_t(r) * uint64_t(p.rep[0]) + uint64_t(l / per) * uint64_t(p.blk[0])) * kBlock + l % per * p.size;
        mark_undefined(c, Mem::UB, at, at + p.size);
    }
}

void run_select(Core& c, const Instr& in) {
    const SelectPlan& p = in.get<SelectPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const VecRegisters& v = vec_registers(c);
    const uint64_t scalar = p.scalar_in_register ? v.compare[0] : p.scalar;
    const uint8_t* bits = ub + p.bits;
    if (p.from_register) {
        bits = reinterpret_cast<const uint8_t*>(v.compare);
        if (p.mode == kTensor) {
            const uint32_t at = uint32_t(v.compare[0]);
            if (uint64_t(at) + (uint64_t(p.repeats) * p.lanes + 7) / 8 > capacity(Mem::UB)) {
                report(Severity::Error, "OUT_OF_BOUNDS", in.at, fmt("Select: CMPMASK holds 0x%x as the address of selMask, which lies outside the Unified Buffer", at),
                       "SetCmpMask a tensor whose first word is the UB address of selMask");
                return;
            }
            bits = ub + at;
        }
    }
    alignas(64) uint8_t buf[3][kRepeat];
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint32_t n = p.tail && r + 1 == p.repeats ? p.tail : p.top, bytes = n * p.size;
        const uint32_t first = p.mode == kSpr ? 0 : r * p.lanes;
        const uint8_t* a = packed_lanes(ub + p.src[0] + int64_t(r) * p.rep[1] * kBlock, p.blk[1], bytes, buf[0]);
        const uint8_t* b = buf[1];
        if (p.mode == kScalar) for (uint32_t k = 0; k < bytes; k += p.size) std::memcpy(buf[1] + k, &scalar, p.size);
        else b = packed_lanes(ub + p.src[1] + int64_t(r) * p.rep[2] * kBlock, p.blk[2], bytes, buf[1]);
        if (p.size == 2) choose(reinterpret_cast<uint16_t*>(buf[2]), reinterpret_cast<const uint16_t*>(a), reinterpret_cast<const uint16_t*>(b), bits, first, n);
        else choose(reinterpret_cast<uint32_t*>(buf[2]), reinterpret_cast<const uint32_t*>(a), reinterpret_cast<const uint32_t*>(b), bits, first, n);
        const uint32_t per = kBlock / p.size;
        uint8_t* d = ub + p.dst + int64_t(r) * p.rep[0] * kBlock;
        for (uint32_t l = 0; l < n; ++l)
            if (p.mask[l / 64] >> (l % 64) & 1)
                std::memcpy(d + int64_t(l / per) * p.blk[0] * kBlock + l % per * p.size, buf[2] + l * p.size, p.size);
        if (p.known != ~0u) forget_unknown(c, p, r, n);
    }
}

uint32_t defined_prefix(uint64_t lo, uint64_t hi) {
    uint64_t end = hi;
    board().shadow[int(Mem::UB)].look(lo, hi, [&](uint64_t a, uint64_t, const Cell& c) { if (c.undef == kNeverWritten) end = std::min(end, a); });
    return uint32_t(end - lo);
}

void select(const VecCall& c, const LocalRef* bits) {
    if (!vec_unit_here()) return;
    const DType t = c.type;
    if (!has_type(kF16 | kF32, t)) fatal("UNSUPPORTED_TYPE", c.at, fmt("Select<%s> does not exist on Atlas A2", dtype_name(t)), "use half or float, or ReinterpretCast to one of the same width");
    const bool scalar = c.sources == 1;
    if (scalar != (c.mode == kScalar))
        fatal("BAD_PARAMETER", c.at, fmt("Select with a %s as the second choice needs SELMODE::%s", scalar ? "scalar" : "tensor", scalar ? "VSEL_TENSOR_SCALAR_MODE" : "VSEL_TENSOR_TENSOR_MODE (or VSEL_CMPMASK_SPR)"));
    const uint32_t z = size_of(t), lanes = kRepeat / z;
    VecExtent e;
    if (!vec_extent(c, lanes, e)) return;
    SelectPlan p{};
    p.lanes = p.top = lanes;
    p.repeats = e.repeats;
    p.size = uint8_t(z);
    p.mode = c.mode;
    p.scalar = c.scalar;
    p.from_register = bits == nullptr;
    p.scalar_in_register = c.flag != 0;
    p.known = ~0u;
    const bool counted = e.contiguous || e.counter;
    if (counted) {
        p.mask[0] = p.mask[1] = ~0ull;
        p.tail = uint32_t(e.total % lanes);
        p.repeats = uint32_t((e.total + lanes - 1) / lanes);
    } else {
        p.mask[0] = e.mask[0];
        p.mask[1] = e.mask[1];
        if (p.mask[1]) p.top = 128 - uint32_t(__builtin_clzll(p.mask[1]));
        else if (p.mask[0]) p.top = 64 - uint32_t(__builtin_clzll(p.mask[0]));
    }
    if (p.mode == kSpr && bits && p.repeats > 1 && checks_on())
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("Select: VSEL_CMPMASK_SPR uses the first %u bits of selMask again in each of the %u repeats", lanes, p.repeats),
               "use SELMODE::VSEL_TENSOR_TENSOR_MODE to go on through the bits");
    Instr in;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.op = c.api;
    in.at = c.at;
    const VecOperand* op[3] = {&c.dst, &c.src[0], &c.src[1]};
    static const char* names[] = {"dst", "src0", "src1"};
    VecPlan cost_plan;
    cost_plan.sources = uint8_t(c.sources);
    cost_plan.contiguous = e.contiguous;
    cost_plan.lanes = cost_plan.first = lanes;
    cost_plan.repeats = p.repeats;
    for (int i = 0; i <= c.sources; ++i) {
        const VecStride s = e.contiguous ? VecStride{} : op[i]->stride;
        (i ? p.src[i - 1] : p.dst) = op[i]->ref.addr;
        p.blk[i] = s.blk;
        p.rep[i] = s.rep;
        cost_plan.at[i] = op[i]->ref.addr;
        cost_plan.size[i] = uint8_t(z);
        cost_plan.blk[i] = s.blk;
        cost_plan.rep[i] = s.rep;
        vec_check_start(c, i == 0 ? 0 : i + (bits ? 1 : 0), op[i]->ref, z, t);
        if (!e.contiguous) vec_check_stride(c, i, s, 255, 255);
        if (!p.repeats) continue;
        Region r = local(op[i]->ref, i ? kRead : kWrite, 0, 0, names[i], uint8_t(z));
        if (e.contiguous) {
            r.len = uint32_t(e.total * z);
        } else {
            r.n0 = p.repeats;
            r.s0 = int64_t(s.rep) * kBlock;
            r.tail = counted ? p.tail : 0;
            if (s.blk == 1) { r.len = kRepeat; } else { r.n1 = 8; r.len = kBlock; r.s1 = int64_t(s.blk) * kBlock; }
            if (!counted) { r.masked = true; r.mask[0] = p.mask[0]; r.mask[1] = p.mask[1]; }
        }
        in.add(r);
    }
    if (bits && p.repeats) {
        p.bits = bits->addr;
        vec_check_start(c, 1, *bits, 1, DType::U8);
        const uint64_t last = counted ? uint64_t(e.total) : uint64_t(p.repeats) * lanes;
        const uint32_t bytes = p.mode == kSpr ? uint32_t((std::min<uint64_t>(last, lanes) + 7) / 8) : uint32_t((last + 7) / 8);
        uint32_t read = bytes;
        if (checks_on() && bits->mem == Mem::UB && uint64_t(bits->addr) + bytes <= capacity(Mem::UB)) {
            read = defined_prefix(bits->addr, uint64_t(bits->addr) + bytes);
            if (read < bytes) p.known = read;
        }
        // The bits as one unit: they decide, they are not elements. Undefined ones are dealt with by the body.
        if (bytes > bits->bytes) read = bytes;
        if (read) { Region r = local(*bits, kRead, 0, read, "selMask", 1); in.add(r); }
    }
    if (bits && p.mode != kSpr && p.repeats) vec_check_reserved(c.api, c.at);
    const VecCost cost = vec_cost("Select", z == 2 ? "b16" : "b32");
    if (p.repeats) {
        int group;
        in.head = cost.head;
        in.slope = vec_slope(cost_plan, cost.slope, group);
        in.repeats = p.repeats;
        in.elements = uint64_t(e.total);
        in.body = run_select;
        in.put(p);
    }
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" void tw_vec_select(const twin::VecCall* call, const twin::LocalRef* bits) { twin::select(*call, bits); }
