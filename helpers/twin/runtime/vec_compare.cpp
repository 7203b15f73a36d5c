// Compare and CompareScalar: packed bits, a repeat at a time; the CMPMASK register.
#include <algorithm>

#include "vec_core.h"
#include "vec_half.h"

namespace twin {
namespace {

enum Mode : uint8_t { kLT, kGT, kEQ, kLE, kGE, kNE };
const char* kModeNames[] = {"LT", "GT", "EQ", "LE", "GE", "NE"};

struct ComparePlan {
    uint32_t dst, src[2];
    int32_t blk[2], rep[2];
    uint32_t repeats, lanes;
    DType type;
    uint8_t mode;
    bool scalar, to_register;
    uint64_t bits;                     // the scalar
    uint64_t mask[2];                  // register form: lanes that take part
};

// One byte per lane, 0 or 1. A NaN makes every comparison false, also NE.
template <class T>
void compare_lanes(const T* a, const T* b, uint32_t n, uint8_t mode, uint8_t* out) {
    switch (mode) {
        case kLT: for (uint32_t i = 0; i < n; ++i) out[i] = a[i] < b[i]; break;
        case kGT: for (uint32_t i = 0; i < n; ++i) out[i] = a[i] > b[i]; break;
        case kEQ: for (uint32_t i = 0; i < n; ++i) out[i] = a[i] == b[i]; break;
        case kLE: for (uint32_t i = 0; i < n; ++i) out[i] = a[i] <= b[i]; break;
        case kGE: for (uint32_t i = 0; i < n; ++i) out[i] = a[i] >= b[i]; break;
        default: for (uint32_t i = 0; i < n; ++i) out[i] = (a[i] < b[i]) | (a[i] > b[i]); break;
    }
}

// Eight lanes into eight bits, lane 0 lowest: the product moves the bits side by side into the top byte.
void pack_bits(const uint8_t* lanes, uint32_t n, uint8_t* out) {
    for (uint32_t i = 0; i < n; i += 8) {
        uint64_t v;
        std::memcpy(&v, lanes + i, 8);
        out[i / 8] = uint8_t((v * 0x0102040810204080ull) >> 56);
    }
}

void run_compare(Core& c, const Instr& in) {
    const ComparePlan& p = in.get<ComparePlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t bytes = p.lanes * size_of(p.type);
    alignas(64) uint8_t buf[2][kRepeat], flags[128], out[16];
    alignas(64) float wide[2][128];
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint8_t* s[2];
        for (int i = 0; i < 2; ++i) {
            if (i == 1 && p.scalar) {
                for (uint32_t k = 0; k < bytes; k += size_of(p.type)) std::memcpy(buf[1] + k, &p.bits, size_of(p.type));
                s[1] = buf[1];
            } else {
                s[i] = packed_lanes(ub + p.src[i] + int64_t(r) * p.rep[i] * kBlock, p.blk[i], bytes, buf[i]);
            }
        }
        if (p.type == DType::F16) {
            for (int i = 0; i < 2; ++i) half_to_float(s[i], wide[i], p.lanes);
            compare_lanes(wide[0], wide[1], p.lanes, p.mode, flags);
        } else if (p.type == DType::F32) {
            compare_lanes(reinterpret_cast<const float*>(s[0]), reinterpret_cast<const float*>(s[1]), p.lanes, p.mode, flags);
        } else {
            compare_lanes(reinterpret_cast<const int32_t*>(s[0]), reinterpret_cast<const int32_t*>(s[1]), p.lanes, kEQ, flags);
        }
        pack_bits(flags, p.lanes, out);
        if (!p.to_register) { std::memcpy(ub + p.dst + r * p.lanes / 8, out, p.lanes / 8); continue; }
        VecRegisters& v = vec_registers(c);
        v.compare[0] = v.compare[1] = 0;
        std::memcpy(v.compare, out, p.lanes / 8);
        v.compare[0] &= p.mask[0];
        v.compare[1] &= p.mask[1];
    }
}

void compare(const VecCall& c, bool to_register) {
    if (!vec_unit_here()) return;
    const DType t = c.from;
    if (!has_type(kF16 | kF32 | kI32, t))
        fatal("UNSUPPORTED_TYPE", c.at, fmt("%s<%s> does not exist on Atlas A2", c.api, dtype_name(t)), "Cast to half or float first");
    if (t == DType::I32 && c.mode != kEQ)
        report(Severity::Error, "UNSUPPORTED_TYPE", c.at, fmt("%s of int32_t knows EQ only on Atlas A2; %s runs as EQ on the device", c.api, c.mode < 6 ? kModeNames[c.mode] : "this mode"),
               "Cast to float first");
    const uint32_t z = size_of(t), lanes = kRepeat / z;
    ComparePlan p{};
    p.type = t;
    p.mode = c.mode;
    p.lanes = lanes;
    p.scalar = c.sources == 1;
    p.to_register = to_register;
    p.bits = c.scalar;
    p.dst = c.dst.ref.addr;
    VecExtent e;
    if (to_register) {
        if (!vec_extent(c, lanes, e)) return;
        p.repeats = 1;
        p.mask[0] = e.counter ? (e.total >= 64 ? ~0ull : (1ull << e.total) - 1) : e.mask[0];
        p.mask[1] = e.counter ? 0 : e.mask[1];
    } else if (c.mask.form == 0) {
        const int64_t n = c.mask.n;
        if (n < 0) fatal("BAD_PARAMETER", c.at, fmt("%s: count is %lld", c.api, (long long)n));
        vec_check_count(c, n);
        p.repeats = uint32_t(n / lanes);
        if (n % lanes && checks_on())
            report(Severity::Error, "TAIL_DROPPED", c.at,
                   fmt("%s works on whole 256-byte repeats: %lld %s are %lld B, the last %lld are not compared", c.api, (long long)n, dtype_name(t), (long long)(n * z), (long long)(n % lanes)),
                   fmt("round the count up to %lld (a multiple of %u) and give the buffers that length", (long long)((n + lanes - 1) / lanes * lanes), lanes));
    } else {
        if (c.mask.repeat < 0 || c.mask.repeat > 255)
            fatal("BAD_PARAMETER", c.at, fmt("%s: repeatTime %lld does not fit 0..255", c.api, (long long)c.mask.repeat), "split the call, or use the count form");
        p.repeats = uint32_t(c.mask.repeat);
    }
    const bool strided = c.mask.form != 0;
    if (!to_register) vec_check_start(c, 0, c.dst.ref, 1, DType::U8);
    VecPlan cost_plan;
    cost_plan.sources = uint8_t(c.sources);
    cost_plan.contiguous = !strided;
    cost_plan.lanes = cost_plan.first = lanes;
    cost_plan.repeats = p.repeats;
    cost_plan.size[0] = 1;
    Instr in;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.op = c.api;
    in.at = c.at;
    in.undef = Undef::Ignore;          // a tail that nobody asked for may be compared; Select notices masks never written
    for (int i = 0; i < c.sources; ++i) {
        p.src[i] = c.src[i].ref.addr;
        p.blk[i] = strided ? c.src[i].stride.blk : 1;
        p.rep[i] = strided ? c.src[i].stride.rep : 8;
        vec_check_start(c, to_register ? i : i + 1, c.src[i].ref, z, t);
        if (strided) vec_check_stride(c, i + 1, c.src[i].stride, c.sources == 2 ? 255 : 65535, 255);
        cost_plan.at[i + 1] = p.src[i];
        cost_plan.size[i + 1] = uint8_t(z);
        cost_plan.blk[i + 1] = p.blk[i];
        cost_plan.rep[i + 1] = p.rep[i];
        if (!p.repeats) continue;
        Region r = local(c.src[i].ref, kRead, 0, 0, c.sources == 1 ? "src" : i ? "src1" : "src0", uint8_t(z));
        r.n0 = p.repeats;
        r.s0 = int64_t(p.rep[i]) * kBlock;
        if (p.blk[i] == 1) { r.len = kRepeat; } else { r.n1 = 8; r.len = kBlock; r.s1 = int64_t(p.blk[i]) * kBlock; }
        in.add(r);
    }
    if (p.repeats && !to_register) in.add(local(c.dst.ref, kWrite, 0, p.repeats * lanes / 8, "dst", 1));
    const VecCost cost = vec_cost(to_register ? "CompareToRegister" : vec_op_name(c.op), z == 2 ? "b16" : "b32");
    if (p.repeats) {
        int group;
        in.head = cost.head;
        in.slope = vec_slope(cost_plan, cost.slope, group);
        in.repeats = p.repeats;
        in.elements = uint64_t(p.repeats) * lanes;
        in.body = run_compare;
        in.put(p);
    }
    issue(in);
}

void run_cmpmask(Core& c, const Instr& in) {
    uint8_t* p = c.at(Mem::UB, in.reg[0].addr);
    VecRegisters& v = vec_registers(c);
    if (in.get<int>()) std::memcpy(v.compare, p, 16); else std::memcpy(p, v.compare, 16);
}

void cmpmask(const LocalRef& t, int load, At at) {
    if (!vec_unit_here()) return;
    const char* name = load ? "SetCmpMask" : "GetCmpMask";
    if (t.mem != Mem::UB && t.mem != Mem::N) fatal("WRONG_POSITION", at, fmt("%s: %s does not lie in the Unified Buffer", name, describe(t).c_str()));
    if (t.addr % 16)
        fatal("MISALIGNED", at, fmt("%s: the tensor starts at UB byte %u; it has to start at a multiple of 16 B", name, t.addr));
    Instr in;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.op = name;
    in.at = at;
    in.undef = load ? Undef::Forbid : Undef::Ignore;
    const VecCost cost = vec_cost(name, "b32");
    in.head = cost.head;
    in.slope = cost.slope;
    in.repeats = 1;
    in.add(local(t, load ? kRead : kWrite, 0, 16, load ? "src" : "dst", 1));
    in.body = run_cmpmask;
    in.put(load);
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_compare(const twin::VecCall* call, int to_register) { twin::compare(*call, to_register != 0); }
void tw_vec_cmpmask(const twin::LocalRef* tensor, int load, twin::At at) { twin::cmpmask(*tensor, load, at); }
}
