// Tanh, Sin, Log, Power ... over whole tensors: checks, workspace, cost; the loops are in adv_math_loops.cpp.
#include "adv_math.h"

#include <cmath>

#include "adv_core.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct MathPlan {
    MathOp op;
    uint32_t dst, src[2];
    uint64_t number;             // bits of the operand that is a number
    int64_t n;
    MathLoop loop;
    uint8_t sources;
};

using ll = long long;

// Inputs that the device answers with something undefined, and inf or NaN that finite inputs make: one message a call.
void look_at_values(const Instr& in, const MathPlan& p, const uint8_t* ub) {
    const MathRow& row = math_row(p.op);
    const DType t = p.loop.from;
    if (t != DType::F16 && t != DType::F32) return;
    const uint32_t z = size_of(t);
    const uint8_t* x = p.loop.still[0] ? reinterpret_cast<const uint8_t*>(&p.number) : ub + p.src[0];
    const Undefined holes(p.src[0], p.src[0] + uint64_t(p.n) * z);
    for (int64_t i = 0; i < p.n; ++i) {
        const double v = adv_load(t, x, p.loop.still[0] ? 0 : i);
        const bool in_range = row.open ? v > row.lo && v < row.hi : v >= row.lo && v <= row.hi;
        if (in_range || v != v || (holes.any && holes.at(p.src[0] + uint64_t(i) * z, z))) continue;
        report(Severity::Warning, "NUMERIC", in.at, fmt("%s: input x[%lld]=%g outside %c%g, %g%c; result is undefined on the device", in.op, ll(i), v, row.open ? '(' : '[', row.lo, row.hi, row.open ? ')' : ']'),
               "bring the input into the range first, with Maxs and Mins");
        return;
    }
}

// base^exponent of integers: below zero the true value is a fraction.
void look_at_exponents(const Instr& in, const MathPlan& p, const uint8_t* ub) {
    const uint8_t* e = p.loop.still[1] ? reinterpret_cast<const uint8_t*>(&p.number) : ub + p.src[1];
    const Undefined holes(p.src[1], p.src[1] + (p.loop.still[1] ? 0 : uint64_t(p.n) * 4));
    for (int64_t i = 0; i < (p.loop.still[1] ? 1 : p.n); ++i) {
        const double v = adv_load(DType::I32, e, i);
        if (v >= 0 || (holes.any && holes.at(p.src[1] + uint64_t(i) * 4, 4))) continue;
        report(Severity::Warning, "NUMERIC", in.at, fmt("%s: exponent[%lld] = %g is negative; of the true value only the whole part is kept", in.op, ll(i), v), "Cast to float first");
        return;
    }
}

void look_at_results(const Instr& in, const MathPlan& p, const uint8_t* dst, const double* before, int64_t i0, int64_t n, const Undefined& holes) {
    const uint32_t z = size_of(p.loop.from);
    for (int64_t i = 0; i < n; ++i) {
        const double v = adv_load(p.loop.type, dst, i0 + i);
        if (std::isfinite(v) || !std::isfinite(before[i]) || (holes.any && holes.at(p.src[0] + uint64_t(i0 + i) * z, z))) continue;
        report(Severity::Warning, "NUMERIC", in.at, fmt("%s: dst[%lld] = %g from x = %g: born here", in.op, ll(i0 + i), v, before[i]), "limit the input first (Maxs, Mins), or compute in float");
        return;
    }
}

void run_part(const MathPlan& p, uint8_t* ub, const uint8_t* a, const uint8_t* b, int64_t i, int64_t n) {
    const uint32_t z = size_of(p.loop.type), s = size_of(p.loop.from);
    uint8_t* d = ub + p.dst + i * z;
    if (p.op < MathOp::Fmod) math_unary(p.op, p.loop, d, a + i * s, n);
    else math_binary(p.op, p.loop, d, p.loop.still[0] ? a : a + i * s, p.loop.still[1] ? b : b + i * s, n);
}

void math_run(Core& c, const Instr& in) {
    const MathPlan& p = in.get<MathPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const auto* number = reinterpret_cast<const uint8_t*>(&p.number);
    const uint8_t* a = p.loop.still[0] ? number : ub + p.src[0];
    const uint8_t* b = p.loop.still[1] ? number : ub + p.src[1];
    const MathRow& row = math_row(p.op);
    const bool limited = std::isfinite(row.lo) || std::isfinite(row.hi), floats = p.loop.type == DType::F16 || p.loop.type == DType::F32;
    if (checks_on() && limited) look_at_values(in, p, ub);
    if (checks_on() && p.op == MathOp::Power && p.loop.type == DType::I32) look_at_exponents(in, p, ub);
    if (!checks_on() || limited || !floats || p.loop.still[0]) {
        run_part(p, ub, a, b, 0, p.n);
    } else {
        const Undefined holes(p.src[0], p.src[0] + uint64_t(p.n) * size_of(p.loop.from));
        double before[512];
        bool said = false;
        for (int64_t i = 0; i < p.n; i += 512) {
            const int64_t n = p.n - i < 512 ? p.n - i : 512;
            adv_load_row(p.loop.from, a + i * size_of(p.loop.from), before, n);
            run_part(p, ub, a, b, i, n);
            if (said || !any_nonfinite(p.loop.type, ub + p.dst + i * size_of(p.loop.type), n)) continue;
            look_at_results(in, p, ub + p.dst, before, i, n, holes);
            said = true;
        }
    }
}

// What the call costs, as basic instructions.
void add_cost(AdvGroup& g, const MathPlan& p) {
    const bool half = p.loop.from == DType::F16;
    const uint64_t n = uint64_t(p.n);
    const int steps = math_row(p.op).steps;
    switch (p.op) {
        case MathOp::Log: case MathOp::Log2: case MathOp::Log10:
            g.steps("Ln", p.loop.from, n);
            g.steps("Muls", p.loop.from, n, steps - 1);
            return;
        case MathOp::Ceil: case MathOp::Floor: case MathOp::Trunc: case MathOp::Round: g.steps("Cast", DType::F32, n, steps); return;
        case MathOp::ClampMax: case MathOp::ClampMin: case MathOp::Sign: case MathOp::Xor: g.steps("Maxs", p.loop.from, n, steps); return;
        default:
            g.steps("Muls", p.op == MathOp::Power && p.loop.type == DType::I32 ? DType::I32 : DType::F32, n, p.op == MathOp::Exp && p.loop.mode ? 4 + 2 * p.loop.mode : steps);
            if (half) g.steps("Cast", DType::F32, n, 2);
    }
}

const char* sizer_of(MathOp op) {
    switch (op) {
        case MathOp::ClampMax: case MathOp::ClampMin: return "GetClampMaxMinTmpSize";
        case MathOp::Power: return "GetPowerMaxMinTmpSize";
        default: return nullptr;
    }
}

void math(const MathCall& m) {
    if (!vec_unit_here(m.api, m.at)) return;
    const MathRow& row = math_row(m.op);
    if (m.counted && m.count < 0) fatal("BAD_PARAMETER", m.at, fmt("%s: calCount is %lld", m.api, ll(m.count)), "count the elements of the source, 0 or more");
    if (m.op == MathOp::Fmod && m.mode > 11) fatal("BAD_PARAMETER", m.at, fmt("%s: iterationNum is %u, outside 1..11", m.api, m.mode), "use 11");
    MathPlan p{};
    p.op = m.op;
    p.loop = {m.type, m.from, m.mode, {m.number == 1, m.number == 2}};
    p.number = m.scalar;
    p.sources = m.op < MathOp::Fmod ? 1 : 2;
    const LocalRef& first = m.src[m.number == 1 ? 1 : 0];
    p.n = m.counted ? m.count : int64_t(first.mem == Mem::UB ? first.bytes / size_of(m.from) : 0);
    if (m.counted && !p.n) return;
    AdvGroup g(m.api, m.at);
    const uint64_t n = uint64_t(p.n);
    static const char* names[] = {"src0", "src1"};
    for (int i = 0; i < p.sources; ++i) {
        if (p.loop.still[i]) continue;
        const char* role = p.sources == 1 || m.number ? "src" : names[i];
        p.src[i] = g.operand(role, m.src[i], m.from, kRead, n);
        if (row.in_place) g.may_be_same("dst", role);
    }
    p.dst = g.operand("dst", m.dst, m.type, m.op == MathOp::Axpy ? kReadWrite : kWrite, n);
    // the library's own source buffer is free for its use only where that saves workspace
    if (m.reuse && m.from == DType::F32 && row.reuse < row.single && m.src[0].addr != m.dst.addr) g.destroyed("src", m.src[0], m.from, n);
    uint32_t most = 0, least = 0;
    const int form = (m.number == 1 ? 0 : 1) | (m.number == 2 ? 0 : 2) | (m.type == DType::I32 ? 4 : 0);
    tw_math_tmp(row.name, n, size_of(m.from), m.reuse, form, &most, &least);
    const char* sizer = sizer_of(m.op);
    g.scratch(m.tmp, least, most, (sizer ? std::string(sizer) : fmt("Get%sMaxMinTmpSize", row.name)).c_str());
    add_cost(g, p);
    g.in.put(p);
    g.issue(math_run);
}

}  // namespace
}  // namespace twin

extern "C" void tw_adv_math(const twin::MathCall* call) { twin::math(*call); }
