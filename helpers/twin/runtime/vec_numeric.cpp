// inf and NaN that an instruction makes out of finite inputs.
#include <cmath>
#include <cstdio>

#include "state.h"
#include "vec_core.h"
#include "vec_half.h"

namespace twin {

template <class U> static bool reaches(const void* p, int64_t n, U magnitude, U limit) {
    const U* x = static_cast<const U*>(p);
    U most = 0;
    for (int64_t i = 0; i < n; ++i) { const U a = U(x[i] & magnitude); most = a > most ? a : most; }
    return most >= limit;
}

bool any_nonfinite(DType t, const void* p, int64_t n) {
    if (t == DType::F16) return reaches<uint16_t>(p, n, 0x7fff, 0x7c00);
    if (t == DType::BF16) return reaches<uint16_t>(p, n, 0x7fff, 0x7f80);
    return reaches<uint32_t>(p, n, 0x7fffffffu, 0x7f800000u);
}

static double value(DType t, const void* p, int64_t i) {
    const uint8_t* b = static_cast<const uint8_t*>(p) + i * size_of(t);
    switch (t) {
        case DType::F16: { uint16_t h; std::memcpy(&h, b, 2); return half_value(h); }
        case DType::BF16: { uint16_t h; std::memcpy(&h, b, 2); return bf16_value(h); }
        case DType::F32: { float f; std::memcpy(&f, b, 4); return f; }
        case DType::I32: { int32_t v; std::memcpy(&v, b, 4); return v; }
        case DType::I16: { int16_t v; std::memcpy(&v, b, 2); return v; }
        case DType::I64: { int64_t v; std::memcpy(&v, b, 8); return double(v); }
        case DType::I8: return *reinterpret_cast<const int8_t*>(b);
        case DType::U8: return *b;
        default: return 0;
    }
}

static bool has_scalar(uint8_t op) { return op >= uint8_t(VecOp::Adds) && op <= uint8_t(VecOp::Axpy); }

int64_t first_born(const VecPlan& p, const VecOperands& v, int64_t n) {
    if (has_scalar(p.op) && !std::isfinite(p.s.f)) return -1;
    for (int64_t i = 0; i < n; ++i) {
        if (std::isfinite(value(p.type, v.dst, i))) continue;
        if (v.a && !std::isfinite(value(p.from, v.a, i))) continue;
        if (v.b && !std::isfinite(value(p.from, v.b, i))) continue;
        if (v.old && !std::isfinite(value(p.type, v.old, i))) continue;
        return i;
    }
    return -1;
}

void operands_text(const VecPlan& p, const VecOperands& v, int64_t i, char* out, size_t room) {
    int n = 0;
    auto add = [&](const char* name, double x) { if (n >= 0 && size_t(n) < room) n += std::snprintf(out + n, room - size_t(n), "%s%s = %.6g", n ? ", " : "", name, x); };
    out[0] = 0;
    if (v.a) add(v.b ? "src0" : "src", value(p.from, v.a, i));
    if (v.b) add("src1", value(p.from, v.b, i));
    if (has_scalar(p.op)) add("scalar", p.s.f);
    if (v.old) add("dst", value(p.type, v.old, i));
}

static const char* advice(VecOp op, DType t, bool nan) {
    const bool half = t == DType::F16;
    switch (op) {
        case VecOp::Exp: return half ? "e^x leaves half above 11.09: subtract the row maximum first, or compute in float" : "e^x leaves float above 88.72: subtract the row maximum first";
        case VecOp::Ln: return nan ? "the logarithm needs positive numbers" : "ln(0) is -inf: keep the argument away from zero (Maxs with a small number)";
        case VecOp::Sqrt: return "the square root needs numbers >= 0";
        case VecOp::Rsqrt: case VecOp::Reciprocal: case VecOp::Div: return "keep the divisor away from zero: Adds or Maxs with a small epsilon first";
        default: return half ? "half ends at 65504: Cast to float for this step, or scale the values first" : "float ends at 3.4e38: scale the values first";
    }
}

void report_born(const Instr& in, const VecPlan& p, uint64_t address, const char* operands, double r) {
    // Lanes that nobody ever wrote may hold anything; a result of theirs says nothing about the kernel.
    bool undefined = false;
    board().shadow[int(Mem::UB)].look(address, address + p.size[0], [&](uint64_t, uint64_t, const Cell& c) { undefined |= c.undef != kDefined; });
    if (undefined) return;
    const LocalRef& t = in.reg[0].owner;
    const std::string name = argument_at(in.at, in.op, 0);
    report(Severity::Warning, "NUMERIC", in.at,
           fmt("%s: element %llu of %s became %s (%s)", in.op, (unsigned long long)((address - t.addr) / p.size[0]), name.empty() ? describe(t).c_str() : name.c_str(),
               r != r ? "NaN" : r > 0 ? "inf" : "-inf", operands),
           advice(VecOp(p.op), p.type, r != r));
}

// ShiftLeft of signed types keeps the sign bit, which differs from C when a bit runs into it.
void check_shift(const Instr& in, const VecPlan& p, const uint8_t* ub) {
    if (!checks_on() || (p.type != DType::I16 && p.type != DType::I32) || !p.contiguous) return;
    const int width = 8 * p.size[0], by = int(p.s.bits);
    if (by == 0) return;
    for (int64_t i = 0; i < p.total; ++i) {
        const int64_t x = int64_t(value(p.type, ub + p.at[1], i));
        const bool sign = x < 0, moved = by < width && (uint64_t(x) >> (width - 1 - by) & 1);
        if (sign == moved) continue;
        report(Severity::Warning, "NUMERIC", in.at,
               fmt("ShiftLeft keeps the sign bit of signed types: element %lld, %lld << %d, differs from the C result", (long long)i, (long long)x, by),
               "use ReinterpretCast to the unsigned type for a plain shift");
        return;
    }
}

}  // namespace twin
