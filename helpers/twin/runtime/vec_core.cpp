// From a call to an instruction: which loop, which elements, which bytes, which cost.
#include "vec_core.h"

#include <algorithm>
#include <cstdio>

namespace twin {

static const char* kOpNames[] = {
    "Exp", "Ln", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu", "Not", "Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "AddRelu", "SubRelu",
    "MulAddDst", "FusedMulAdd", "FusedMulAddRelu", "AddReluCast", "SubReluCast", "MulCast", "AddDeqRelu",
    "Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "ShiftLeft", "ShiftRight", "Axpy", "Cast", "CastDeq", "Duplicate", "Copy",
    "Compare", "CompareScalar", "Select"};
static_assert(sizeof(kOpNames) / sizeof(kOpNames[0]) == static_cast<size_t>(VecOp::N), "one name per VecOp");

const char* vec_op_name(VecOp op) { return op < VecOp::N ? kOpNames[int(op)] : "?"; }

const char* dtype_name(DType t) {
    static const char* names[] = {"no type", "half", "bfloat16_t", "float", "double", "int8_t", "uint8_t", "int16_t", "uint16_t",
                                  "int32_t", "uint32_t", "int64_t", "uint64_t", "int4b_t", "bool"};
    return t < DType::N ? names[int(t)] : "?";
}

static VecKernel find_kernel(const VecKey& k) {
    if (k.op <= VecOp::Not) return vec_unary_kernel(k);
    if (k.op <= VecOp::SubRelu) return vec_binary_kernel(k);
    if (k.op <= VecOp::AddDeqRelu) return vec_fused_kernel(k);
    if (k.op <= VecOp::Axpy) return vec_scalar_kernel(k);
    if (k.op == VecOp::Cast) return vec_cast_kernel(k);
    return vec_duplicate_kernel(k);
}

static float half_scalar(uint64_t bits) {
    // float of a half without the block helpers: exact by construction
    const uint32_t h = uint32_t(bits & 0xffffu), sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023;
    float f;
    uint32_t u;
    if (e == 0) { f = float(m) * 5.9604644775390625e-08f; std::memcpy(&u, &f, 4); u |= sign; }
    else u = sign | (e == 31 ? 0x7f800000u : (e + 112) << 23) | m << 13;
    std::memcpy(&f, &u, 4);
    return f;
}

static VecScalar scalar_of_call(const VecCall& c, const NumericState& num) {
    VecScalar s;
    s.bits = c.scalar;
    s.mode = c.mode;
    s.deq = num.deq_scale;
    s.deq_offset = num.deq_offset;
    s.saturate = num.saturate;
    s.wrap = !num.cast_saturate;
    const DType t = c.from;
    if (t == DType::F16) s.f = half_scalar(c.scalar);
    if (t == DType::F32) { const uint32_t u = uint32_t(c.scalar); std::memcpy(&s.f, &u, 4); }
    return s;
}

// Element sizes. int4b_t is handled in pairs: two lanes are one unit of 1 byte, the other side's unit is twice as big.
struct Widths { uint32_t dst, src, per_unit; };
static Widths widths(const VecCall& c) {
    const DType from = c.sources ? c.from : c.type;
    if (c.type == DType::I4) return {1, 2 * size_of(from), 2};
    if (from == DType::I4) return {2 * size_of(c.type), 1, 2};
    return {size_of(c.type), size_of(from), 1};
}

// Two mask bits of a pair must agree; the pair keeps one.
static uint64_t halve_bits(uint64_t lo, uint64_t hi, uint64_t out[2], bool& uneven) {
    out[0] = out[1] = 0;
    for (int i = 0; i < 64; ++i) {
        const uint64_t word = i < 32 ? lo : hi;
        const int at = 2 * i % 64;
        const bool a = word >> at & 1, b = word >> (at + 1) & 1;
        if (a != b) uneven = true;
        if (a) out[0] |= 1ull << i;
    }
    return out[0];
}

static void to_pairs(const VecCall& c, VecExtent& e) {
    bool uneven = e.total % 2 || e.tail % 2 || e.first % 2;
    uint64_t m[2] = {e.mask[0], e.mask[1]};
    if (!e.first && !e.contiguous) halve_bits(m[0], m[1], e.mask, uneven);
    e.total /= 2; e.tail = (e.tail + 1) / 2; e.first /= 2;
    if (uneven)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: two int4b_t share a byte, so count and mask have to cover whole pairs", c.api),
               "use an even count or mask; in a bit mask the bits 2k and 2k+1 are equal");
}

static VecPlan make_plan(const VecCall& c, const VecKernel& k, const VecExtent& e, const Widths& w, uint32_t lanes, const VecScalar& s) {
    VecPlan p;
    p.fn = k.fn;
    p.reads_dst = k.reads_dst;
    p.saturate = s.saturate && c.type == DType::F16;
    p.numeric = k.may_overflow && checks_on() && !p.saturate && (c.type == DType::F16 || c.type == DType::F32 || c.type == DType::BF16);
    p.sources = c.sources;
    p.op = static_cast<uint8_t>(c.op);
    p.type = c.type;
    p.from = c.from;
    p.lanes = lanes;
    p.repeats = e.repeats;
    p.first = e.first;
    p.tail = e.tail;
    p.total = e.total;
    p.mask[0] = e.mask[0];
    p.mask[1] = e.mask[1];
    p.s = s;
    const VecOperand* op[3] = {&c.dst, &c.src[0], &c.src[1]};
    bool dense = e.contiguous || (e.first && (e.first == lanes || e.repeats == 1));
    for (int i = 0; i <= c.sources; ++i) {
        p.at[i] = op[i]->ref.addr;
        p.size[i] = static_cast<uint8_t>(i ? w.src : w.dst);
        p.blk[i] = op[i]->stride.blk;
        p.rep[i] = op[i]->stride.rep;
        if (e.contiguous) continue;
        if (p.blk[i] != 1 && e.first * p.size[i] > kBlock) dense = false;
        if (e.repeats > 1 && uint32_t(p.rep[i]) * kBlock != lanes * p.size[i]) dense = false;
    }
    p.contiguous = dense;
    return p;
}

// The bytes of one operand, element by element in the order of lanes and repeats.
static Region region_of(const VecPlan& p, const VecOperand& o, int i, uint8_t rw, const char* name) {
    const uint32_t z = p.size[i], per_block = kBlock / z;
    Region r = local(o.ref, rw, 0, 0, name, uint8_t(z));
    if (p.contiguous) { r.len = uint32_t(p.total * z); return r; }
    const uint32_t n = p.first ? p.first : p.lanes;
    r.n0 = p.repeats;
    r.s0 = int64_t(p.rep[i]) * kBlock;
    r.tail = p.tail == n ? 0 : p.tail;
    if (p.blk[i] == 1 || n <= per_block) {
        r.len = n * z;
    } else {
        r.n1 = (n + per_block - 1) / per_block;
        r.len = kBlock;
        r.s1 = int64_t(p.blk[i]) * kBlock;
    }
    const bool ragged = r.n1 > 1 && n % per_block;
    if (!p.first || (ragged && n <= 128)) {
        r.masked = true;
        r.mask[0] = p.first ? (n >= 64 ? ~0ull : (1ull << n) - 1) : p.mask[0];
        r.mask[1] = p.first ? (n <= 64 ? 0 : n >= 128 ? ~0ull : (1ull << (n - 64)) - 1) : p.mask[1];
    }
    return r;
}

static const char* cost_class(const VecCall& c) {
    if (c.sources && size_of(c.from) != size_of(c.type) && c.op != VecOp::Cast) return "mixed";
    switch (c.type) {
        case DType::F16: return "f16";
        case DType::F32: return "f32";
        case DType::BF16: return "bf16";
        case DType::I16: case DType::U16: return "b16";
        case DType::I32: case DType::U32: return "b32";
        case DType::I64: case DType::U64: return "b64";
        default: return "b8";
    }
}

static void note_conflict(const VecCall& c, float s1, float s, int group) {
    const Core& k = core();
    if (k.block != 0 || k.sub != 0) return;                // one core speaks for all
    if (said_before(Severity::Note, "PERF_BANK_CONFLICT", c.at)) return;
    const bool two = c.sources == 2 && c.src[0].ref.addr % 512 == c.src[1].ref.addr % 512 && c.mask.form == 0;
    if (two)
        report(Severity::Note, "PERF_BANK_CONFLICT", c.at,
               fmt("%s: src0 %s and src1 %s start in the same bank group (equal mod 512 B): %g instead of %g cycles per repeat", c.api,
                   argument_at(c.at, c.api, 1).c_str(), argument_at(c.at, c.api, 2).c_str(), s, s1),
               "shift one of the two buffers by 256 B (a buffer length that is 256 mod 512 does it)");
    else
        report(Severity::Note, "PERF_BANK_CONFLICT", c.at,
               fmt("%s: several blocks of one repeat lie in bank group %d (row mod 16): %g instead of %g cycles per repeat", c.api, group, s, s1),
               "use block strides that are not multiples of 8, or shift one operand by 256 B");
}

static void run(const VecCall& call) {
    if (!vec_unit_here(call.api, call.at)) return;
    VecCall c = call;
    const NumericState& num = core().num;
    if (c.op == VecOp::CastDeq) {
        if (c.from != DType::I32) { vec_dequantise(c); return; }
        c.op = VecOp::Cast;                                  // int32_t -> half is what Cast does
        c.mode = 0;
    }
    if ((c.op == VecOp::And || c.op == VecOp::Or) && c.mask.form == 0 && size_of(c.type) == 4) {
        report(Severity::Warning, "UNSUPPORTED_TYPE", c.at,
               fmt("%s<%s> with count %lld handles %lld 16-bit halves, that is half of the elements", c.api, dtype_name(c.type), (long long)c.mask.n, (long long)c.mask.n),
               "use ReinterpretCast<uint16_t>() on all operands and 2 * count");
        c.type = c.from = DType::U16;
    }
    const VecKernel k = find_kernel({c.op, c.type, c.sources ? c.from : c.type, c.mode, num.saturate});
    vec_must_exist(c, k.fn != nullptr);
    if (!num.deq_set && (c.op == VecOp::AddDeqRelu || (c.op == VecOp::Cast && c.from == DType::I32 && c.type == DType::F16)))
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s int32_t -> half multiplies by a scale that was never set", c.api), "call SetDeqScale((half)1.0) first");
    if (c.op == VecOp::ShiftLeft || c.op == VecOp::ShiftRight) {
        const int64_t width = 8 * size_of(c.type);
        const int64_t by = size_of(c.type) == 2 ? (c.type == DType::I16 ? int64_t(int16_t(c.scalar)) : int64_t(uint16_t(c.scalar)))
                                                : (c.type == DType::I32 ? int64_t(int32_t(c.scalar)) : int64_t(uint32_t(c.scalar)));
        if (by < 0 || by > width)
            fatal("BAD_PARAMETER", c.at, fmt("%s by %lld: %s has %lld bits, the shift is 0..%lld", c.api, (long long)by, dtype_name(c.type), (long long)width, (long long)width));
        c.scalar = uint64_t(by);
    }
    const Widths w = widths(c);
    const uint32_t lanes = kRepeat / std::max(w.dst, w.src);               // units per repeat
    VecExtent e;
    if (!vec_extent(c, lanes * w.per_unit, e)) return;
    if (w.per_unit == 2) to_pairs(c, e);
    VecPlan p = make_plan(c, k, e, w, lanes, scalar_of_call(c, num));
    const VecOperand* op[3] = {&c.dst, &c.src[0], &c.src[1]};
    for (int i = 0; i <= c.sources; ++i) {
        vec_check_start(c, i, op[i]->ref, p.size[i], i ? c.from : c.type);
        if (c.mask.form) vec_check_stride(c, i, op[i]->stride, c.sources == 2 ? 255 : 65535, c.op == VecOp::Copy ? 4095 : 255);
    }
    const bool nothing = p.contiguous ? p.total == 0 : p.repeats == 0 || (!p.first && !(p.mask[0] | p.mask[1]));
    if (!nothing && checks_on() && !vec_check_operands(c, p, e)) return;

    Instr in;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.op = c.api;
    in.at = c.at;
    if (c.op == VecOp::AddDeqRelu && !nothing) vec_check_reserved(c.api, c.at);
    const VecCost cost = vec_cost(vec_op_name(c.op), cost_class(c));
    if (!nothing) {
        int group = 0;
        const float s = vec_slope(p, cost.slope, group);
        in.head = cost.head;
        in.slope = s;
        in.repeats = e.repeats;
        in.elements = uint64_t(e.total) * w.per_unit;
        in.body = vec_run;
        if (p.contiguous) in.shape = Instr::ElementWise;
        in.detached = c.op != VecOp::ShiftLeft && c.op != VecOp::AddDeqRelu;
        in.put(p);
        static const char* names2[] = {"dst", "src0", "src1"};
        static const char* names1[] = {"dst", "src", ""};
        for (int i = 0; i <= c.sources; ++i)
            in.add(region_of(p, *op[i], i, i ? kRead : p.reads_dst ? kReadWrite : kWrite, c.sources == 2 ? names2[i] : names1[i]));
        if (checks_on() && s >= 2 * cost.slope && e.repeats >= 8) note_conflict(c, cost.slope, s, group);
    }
    issue(in);
}

}  // namespace twin

extern "C" {
void tw_vec(const twin::VecCall* call) {
    if (call->op == twin::VecOp::Compare || call->op == twin::VecOp::CompareScalar) tw_vec_compare(call, 0);
    else twin::run(*call);
}
int tw_vec_op(const char* name) {
    for (int i = 0; i < int(twin::VecOp::N); ++i)
        if (!std::strcmp(name, twin::kOpNames[i])) return i;
    return -1;
}
}
