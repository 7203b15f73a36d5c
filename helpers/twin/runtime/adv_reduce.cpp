// Sum, Mean, ReduceXorSum and the reductions that are told a pattern.
#include <algorithm>
#include <cmath>
#include <vector>

#include "adv_core.h"
#include "twin/abi_adv_reduce.h"
#include "vec_loops.h"

namespace twin {
namespace {

using ll = long long;

// Neighbours are added until one number is left, every step rounded to half or float.
float fold_repeat(float* v, uint32_t n, bool half) {
    while (n > 1) {
        const uint32_t pairs = n / 2;
        for (uint32_t i = 0; i < pairs; ++i) v[i] = v[2 * i] + v[2 * i + 1];
        if (half) round_through_half(v, pairs);
        if (n % 2) v[pairs] = v[n - 1];
        n = (n + 1) / 2;
    }
    return v[0];
}
// Repeats of 256 bytes become one number each, these again, and so on.
float fold(std::vector<float>& v, bool half) {
    const uint32_t lanes = half ? 128 : 64;
    while (v.size() > 1) {
        uint32_t out = 0;
        for (size_t at = 0; at < v.size(); at += lanes) v[out++] = fold_repeat(v.data() + at, uint32_t(std::min<size_t>(lanes, v.size() - at)), half);
        v.resize(out);
    }
    return v.empty() ? 0.0f : v[0];
}

// ===== Sum, Mean
struct SumPlan { uint32_t dst, src, outer, inner, n; DType type, acc; uint8_t mean; };

void sum_run(Core& c, const Instr& in) {
    const SumPlan& p = in.get<SumPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t z = size_of(p.type);
    const bool half = p.acc == DType::F16;
    std::vector<float> row;
    std::vector<double> out(p.outer);
    bool said = false;
    for (uint32_t i = 0; i < p.outer; ++i) {
        const uint8_t* src = ub + p.src + uint64_t(i) * p.inner * z;
        row.resize(p.n);
        if (p.type == DType::F16) half_to_float(src, row.data(), p.n);
        else std::memcpy(row.data(), src, p.n * z);
        const bool finite = !any_nonfinite(p.type, src, p.n);
        float sum = fold(row, half);
        if (checks_on() && !said && finite && !std::isfinite(sum)) {
            said = true;
            report(Severity::Warning, "NUMERIC", in.at, fmt("%s: the sum of row %u leaves the range of %s: born here", in.op, i, half ? "half" : "float"),
                   half ? "Cast to float first, or scale the input" : "scale the input");
        }
        if (p.mean) sum = half ? half_value(half_bits(sum * half_value(half_bits(1.0f / float(p.n))))) : sum * (1.0f / float(p.n));
        out[i] = sum;
    }
    adv_store_row(p.type, ub + p.dst, out.data(), p.outer);
}

void check_inner(const SumCall& s, uint32_t z) {
    if (!s.outer || !s.n || s.n > s.inner)
        fatal("BAD_PARAMETER", s.at, fmt("%s: {outter, inner, n} is {%u, %u, %u}", s.api, s.outer, s.inner, s.n), "outter and n are at least 1, and n is at most inner");
    const uint32_t wanted = (s.n * z + 31) / 32 * 32 / z;
    if (s.inner == wanted) return;
    const std::string text = fmt("%s: inner must be n rounded up to 32 bytes, that is %u; it is %u", s.api, wanted, s.inner);
    if (s.outer > 1) fatal("BAD_PARAMETER", s.at, text, fmt("store rows %u elements apart: DataCopyPad does it", wanted));
    if (checks_on()) report(Severity::Warning, "BAD_PARAMETER", s.at, text, "with one row it does not matter yet");
}

void sum(const SumCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    const uint32_t z = size_of(s.type);
    check_inner(s, z);
    SumPlan p{0, 0, s.outer, s.inner, s.n, s.type, s.acc, s.mean};
    AdvGroup g(s.api, s.at, Undef::Forbid);
    p.src = g.rows("src", s.src, s.type, kRead, s.outer, s.n, s.inner, 0, 0, "outter * inner");
    p.dst = g.operand("dst", s.dst, s.type, kWrite, s.outer, "outter");
    const uint32_t tmp = s.mean ? tw_mean_tmp(s.n, z, size_of(s.acc)) : tw_sum_tmp(s.n, z);
    g.scratch(s.tmp, tmp, tmp, s.mean ? "GetMeanMaxMinTmpSize" : "GetSumMaxMinTmpSize", s.acc == s.type);
    if (s.acc != s.type) g.steps("Cast", s.acc, s.n, s.outer);
    for (uint32_t n = s.n; n > 1; n = (n + kRepeat / z - 1) / (kRepeat / z)) g.steps("WholeReduceSum", s.acc, n, s.outer);
    if (s.mean) g.steps("Muls", s.acc, s.outer);
    g.in.put(p);
    g.issue(sum_run);
}

// ===== ReduceXorSum
struct XorSumPlan { uint32_t dst, a, b; int64_t n; };

void xor_sum_run(Core& c, const Instr& in) {
    const XorSumPlan& p = in.get<XorSumPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    ll total = 0;
    for (int64_t i = 0; i < p.n; ++i) total += int16_t(int(adv_load(DType::I16, ub + p.a, i)) ^ int(adv_load(DType::I16, ub + p.b, i)));
    adv_store(DType::I16, ub + p.dst, 0, double(total));
}

void xor_sum(const XorSumCall& s) {
    if (!vec_unit_here() || !s.count) return;
    if (s.count < 0) fatal("BAD_PARAMETER", s.at, fmt("ReduceXorSum: calCount is %lld", ll(s.count)), "count the elements of the sources");
    XorSumPlan p{0, 0, 0, s.count};
    AdvGroup g("ReduceXorSum", s.at, Undef::Forbid);
    p.a = g.operand("src0", s.src0, DType::I16, kRead, uint64_t(s.count));
    p.b = g.operand("src1", s.src1, DType::I16, kRead, uint64_t(s.count));
    p.dst = g.operand("dst", s.dst, DType::I16, kWrite, 1);
    const uint64_t n = uint64_t(s.count);
    g.scratch(s.tmp, 256, 8 * n + 256, "GetReduceXorSumMaxMinTmpSize", false);
    g.steps("And", DType::I16, n, 4);
    g.steps("Cast", DType::F32, n);
    g.steps("WholeReduceSum", DType::F32, n);
    g.in.put(p);
    g.issue(xor_sum_run);
}

// ===== Patterns
struct PatternPlan { uint32_t dst, src, rows, cols, pitch; DType type; PatternOp op; uint8_t rows_first; };

struct Fold {
    PatternOp op;
    double start() const { return op == PatternOp::Prod || op == PatternOp::All ? 1 : op == PatternOp::Max ? -__builtin_huge_val() : op == PatternOp::Min ? __builtin_huge_val() : 0; }
    double operator()(double a, double b) const {
        switch (op) {
            case PatternOp::Prod: return double(float(a * b));
            case PatternOp::Max: return b != b || a != a ? __builtin_nan("") : std::max(a, b);
            case PatternOp::Min: return b != b || a != a ? __builtin_nan("") : std::min(a, b);
            case PatternOp::Any: return a != 0 || b != 0;
            case PatternOp::All: return a != 0 && b != 0;
            default: return a + b;                             // rounded once at the end
        }
    }
};

void pattern_run(Core& c, const Instr& in) {
    const PatternPlan& p = in.get<PatternPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const Fold f{p.op};
    const uint32_t results = p.rows_first ? p.cols : p.rows;
    std::vector<double> out(results, f.start()), row(p.cols);
    for (uint32_t r = 0; r < p.rows; ++r) {
        adv_load_row(p.type, ub + p.src + uint64_t(r) * p.pitch * size_of(p.type), row.data(), p.cols);
        for (uint32_t k = 0; k < p.cols; ++k) { double& o = out[p.rows_first ? k : r]; o = f(o, row[k]); }
    }
    if (p.op == PatternOp::Mean) for (double& o : out) o /= double(p.rows_first ? p.rows : p.cols);
    adv_store_row(p.type, ub + p.dst, out.data(), results);
}

void pattern(const PatternCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    if (!s.padded)
        fatal("BAD_PARAMETER", s.at, fmt("%s: srcInnerPad is false; it must be true on Atlas A2", s.api), "pad the last axis to 32 bytes, as DataCopyPad does, and pass true");
    const uint32_t z = size_of(s.type), rows = s.shape[0], cols = s.shape[1];
    if (!rows || !cols) fatal("BAD_PARAMETER", s.at, fmt("%s: srcShape is {%u, %u}", s.api, rows, cols), "both axes have at least one element");
    const uint32_t pitch = (cols * z + 31) / 32 * 32 / z, results = s.rows_first ? cols : rows;
    PatternPlan p{0, 0, rows, cols, pitch, s.type, s.op, s.rows_first};
    AdvGroup g(s.api, s.at, Undef::Forbid);
    p.src = g.rows("src", s.src, s.type, kRead, rows, cols, pitch, 0, 0, "srcShape");
    p.dst = g.operand("dst", s.dst, s.type, kWrite, results, "number of results");
    const uint64_t all = uint64_t(rows) * pitch * z;
    if (s.reuse) g.destroyed("src", s.src, s.type, uint64_t(rows - 1) * pitch + cols);
    const uint64_t tmp = s.reuse ? 0 : all;
    const char* name = s.api;
    g.scratch(s.tmp, tmp, tmp, fmt("Get%sMaxMinTmpSize", name).c_str(), false);
    const char* step = s.op == PatternOp::Max || s.op == PatternOp::Min || s.op == PatternOp::Any || s.op == PatternOp::All ? "Max" : s.op == PatternOp::Prod ? "Mul" : "Add";
    const DType t = s.type == DType::U8 ? DType::F16 : s.type;
    if (s.rows_first) for (uint32_t n = rows; n > 1; n = (n + 1) / 2) g.steps(step, t, uint64_t(n / 2) * pitch);
    else for (uint32_t n = cols; n > 1; n = (n + 1) / 2) g.steps(step, t, uint64_t(rows) * (n / 2));
    g.in.put(p);
    g.issue(pattern_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_sum(const twin::SumCall* call) { twin::sum(*call); }
void tw_adv_xor_sum(const twin::XorSumCall* call) { twin::xor_sum(*call); }
void tw_adv_pattern(const twin::PatternCall* call) { twin::pattern(*call); }
uint32_t tw_sum_tmp(uint32_t n, uint32_t size) {
    const uint32_t lanes = 256 / size, per_block = 32 / size, repeats = (n + lanes - 1) / lanes;
    return (repeats + per_block - 1) / per_block * 32;
}
uint32_t tw_mean_tmp(uint32_t n, uint32_t size, uint32_t acc_size) {
    const uint32_t inner = (n * size + 31) / 32 * 32 / size;
    return tw_sum_tmp(n, size) + (acc_size != size ? 4 * inner + 64 : 0);
}
}
