// Softmax row by row: every input of a row is read before anything of it is written, computed in double, rounded once.
#include <cmath>
#include <limits>

#include "adv_softmax.h"
#include "held.h"
#include "vec_exp.h"

namespace twin {
namespace {

class Rows {
public:
    Rows(Core& c, const Instr& in, const SoftmaxPlan& p) : c_(c), in_(in), p_(p) {}
    void load(uint32_t at, uint32_t r, double* out) const {
        const uint8_t* base = at == p_.src && t_through[0] ? t_through[0] : c_.at(Mem::UB, at);
        if (!p_.fractal) { adv_load_row(p_.type, base + softmax_place(p_.pitch, 0, r, 0) * size_of(p_.type), out, p_.k); return; }
        for (uint32_t k = 0; k < p_.k; ++k) out[k] = adv_load(p_.type, base, softmax_place(p_.pitch, p_.fractal, r, k));
    }
    void store(uint32_t at, uint32_t r, const double* v) const {
        uint8_t* base = c_.at(Mem::UB, at);
        if (!p_.fractal) { adv_store_row(p_.type, base + softmax_place(p_.pitch, 0, r, 0) * size_of(p_.type), v, p_.k); return; }
        for (uint32_t k = 0; k < p_.k; ++k) adv_store(p_.type, base, softmax_place(p_.pitch, p_.fractal, r, k), v[k]);
    }
    const float* floats(uint32_t at, uint32_t r) const {
        const uint8_t* base = at == p_.src && t_through[0] ? t_through[0] : c_.at(Mem::UB, at);
        return reinterpret_cast<const float*>(base) + softmax_place(p_.pitch, 0, r, 0);
    }
    float* own_floats(uint32_t at, uint32_t r) const { return reinterpret_cast<float*>(c_.at(Mem::UB, at)) + softmax_place(p_.pitch, 0, r, 0); }
    double stat(uint32_t at, uint32_t r, const char* role) const {
        const uint8_t* base = c_.at(Mem::UB, at);
        const uint32_t z = size_of(p_.stat);
        const uint8_t* first = base + uint64_t(r) * p_.stat_lanes * z;
        if (p_.stat_lanes > 1 && checks_on())
            for (uint32_t l = 1; l < p_.stat_lanes; ++l)
                if (std::memcmp(first, first + l * z, z)) {
                    report(Severity::Warning, "BAD_PARAMETER", in_.at, fmt("%s: %s row %u: the %u lanes differ", in_.op, role, r, p_.stat_lanes), "fill the whole 32-byte block of every row");
                    break;
                }
        return adv_load(p_.stat, base, int64_t(r) * p_.stat_lanes);
    }
    void put(uint32_t at, uint32_t r, DType t, uint32_t lanes, double v) const {
        uint8_t* base = c_.at(Mem::UB, at);
        for (uint32_t l = 0; l < lanes; ++l) adv_store(t, base, int64_t(r) * lanes + l, v);
    }

private:
    Core& c_;
    const Instr& in_;
    const SoftmaxPlan& p_;
};

// As integers that order like the values: their maximum may be taken in any order, so the loop vectorises.
template <class Int, class T>
T largest_of(const T* x, uint32_t n, Int inf) {               // NaN wins; inf as bits
    constexpr Int magnitude = std::numeric_limits<Int>::max();
    Int most = 0, best = std::numeric_limits<Int>::min();
    for (uint32_t i = 0; i < n; ++i) {
        Int u;
        std::memcpy(&u, x + i, sizeof u);
        const Int m = u & magnitude, key = u < 0 ? u ^ magnitude : u;
        most = m > most ? m : most;
        best = key > best ? key : best;
    }
    if (most > inf) return T(NAN);
    const Int u = best < 0 ? best ^ magnitude : best;
    T v;
    std::memcpy(&v, &u, sizeof v);
    for (uint32_t i = 0; v == 0; ++i) if (x[i] == 0) return x[i];      // of two zeros the first, with its sign
    return v;
}
double largest(const double* x, uint32_t n) { return largest_of<int64_t>(x, n, 0x7ff0000000000000); }
float largest(const float* x, uint32_t n) { return largest_of<int32_t>(x, n, 0x7f800000); }
double total(const double* x, uint32_t n) { return adv_sum(n, [=](int64_t i) { return x[i]; }); }

// SoftmaxFlashV3: rows are moved by the distance of their mean from the mean of an eighth of the row.
void flash_v3(const SoftmaxPlan& p, const Rows& rows, uint32_t r, double* x) {
    const uint32_t part = p.k / 8;
    const double s = double(p.alpha) / (1 - double(p.alpha)), g = total(x, p.k) / p.k;
    for (uint32_t b = 0; b < 8; ++b) {
        const double l = total(x + b * part, part) / part;
        for (uint32_t i = b * part; i < (b + 1) * part; ++i) x[i] -= (g - l) * s;
    }
    double mean = g, max = largest(x, p.k), shift = max;
    double in_max = 0, in_sum = 0, q = 0;
    if (p.update) {
        const double in_mean = rows.stat(p.in_mean, r, "inMean");
        in_max = rows.stat(p.in_max, r, "inMax");
        in_sum = rows.stat(p.in_sum, r, "inSum");
        mean = (g + in_mean * (double(p.loop) - 1)) / p.loop;
        const double c = (g - mean) * s, a = c + max;
        q = (in_mean - mean) * s;
        const double b = q + in_max;
        max = a != a || b != b ? NAN : a > b ? a : b;
        shift = max - c;
    }
    for (uint32_t i = 0; i < p.k; ++i) x[i] = std::exp(x[i] - shift);
    double sum = total(x, p.k);
    if (p.update) {
        const double e = std::exp(in_max - max + q);
        sum += e * in_sum;
        rows.put(p.exp_max, r, p.type, p.exp_lanes, e);
    }
    rows.put(p.mean, r, p.stat, p.stat_lanes, mean);
    rows.put(p.max, r, p.stat, p.stat_lanes, max);
    rows.put(p.sum, r, p.stat, p.stat_lanes, sum);
    rows.store(p.dst, r, x);
}

void one_row(const SoftmaxPlan& p, const Rows& rows, uint32_t r, double* x) {
    const bool joins = p.update && p.kind != SoftmaxKind::Simple;
    double max, sum = 0, in_max = 0, in_sum = 0;
    if (p.kind == SoftmaxKind::Simple) {
        max = rows.stat(p.in_max, r, "inMax");
        sum = rows.stat(p.in_sum, r, "inSum");
    } else {
        max = largest(x, p.k);
        if (joins) {
            in_max = rows.stat(p.in_max, r, "inMax");
            in_sum = rows.stat(p.in_sum, r, "inSum");
            if (p.reduce) rows.put(p.reduce_max, r, p.stat, p.stat_lanes, max);
            max = in_max != in_max || max != max ? NAN : in_max > max ? in_max : max;
        }
    }
    // The exponents are at most 0, but with a given maximum; and a logarithm asks for the smallest results.
    if (p.kind == SoftmaxKind::Simple || p.kind == SoftmaxKind::Log)
        for (uint32_t i = 0; i < p.k; ++i) x[i] = std::exp(x[i] - max);
    else
        for (uint32_t i = 0; i < p.k; ++i) x[i] = exp_between(x[i] - max, -708, 709);
    if (p.kind != SoftmaxKind::Simple) sum = total(x, p.k);
    if (joins) {
        const double e = std::exp(in_max - max), before = e * in_sum;
        sum += before;
        rows.put(p.exp_max, r, p.type, p.exp_lanes, p.kind == SoftmaxKind::Flash ? before / sum : e);
    }
    if (p.kind == SoftmaxKind::Log) {
        for (uint32_t i = 0; i < p.k; ++i) x[i] = std::log10(x[i] / sum);
    } else if (p.kind != SoftmaxKind::FlashV2) {
        const double share = 1 / sum;
        for (uint32_t i = 0; i < p.k; ++i) x[i] *= share;
    }
    if (p.stats && p.kind != SoftmaxKind::Simple) {
        rows.put(p.max, r, p.stat, p.stat_lanes, max);
        rows.put(p.sum, r, p.stat, p.stat_lanes, sum);
    }
    rows.store(p.dst, r, x);
}

// The common case, rows of float by themselves: the same arithmetic in fewer walks over the row.
bool float_row(const SoftmaxPlan& p) {
    return p.type == DType::F32 && !p.fractal && !p.update && (p.kind == SoftmaxKind::Plain || p.kind == SoftmaxKind::Flash);
}
void one_float_row(const SoftmaxPlan& p, const Rows& rows, uint32_t r, double* x) {
    const float* src = rows.floats(p.src, r);
    const double max = largest(src, p.k);
    for (uint32_t i = 0; i < p.k; ++i) x[i] = exp_between(double(src[i]) - max, -708, 709);
    const double sum = total(x, p.k), share = 1 / sum;
    if (p.stats) {
        rows.put(p.max, r, p.stat, p.stat_lanes, max);
        rows.put(p.sum, r, p.stat, p.stat_lanes, sum);
    }
    float* dst = rows.own_floats(p.dst, r);
    for (uint32_t i = 0; i < p.k; ++i) dst[i] = float(x[i] * share);
}

}  // namespace

void softmax_run(Core& c, const Instr& in) {
    const SoftmaxPlan& p = in.get<SoftmaxPlan>();
    const Rows rows(c, in, p);
    std::vector<double> x(p.k);
    const bool floats = float_row(p);
    for (uint32_t r = 0; r < p.m; ++r) {
        if (floats) { one_float_row(p, rows, r, x.data()); continue; }
        rows.load(p.src, r, x.data());
        if (p.kind == SoftmaxKind::FlashV3) flash_v3(p, rows, r, x.data());
        else one_row(p, rows, r, x.data());
    }
}

void softmax_grad_run(Core& c, const Instr& in) {
    const SoftmaxPlan& p = in.get<SoftmaxPlan>();
    const Rows rows(c, in, p);
    std::vector<double> x(p.k), g(p.k), d(p.m);
    // dst of the front form may lie where later rows of src are: all sums come first
    for (uint32_t r = 0; r < p.m; ++r) {
        rows.load(p.src, r, x.data());
        rows.load(p.grad, r, g.data());
        d[r] = 0;
        for (uint32_t i = 0; i < p.k; ++i) d[r] += g[i] * x[i];
    }
    for (uint32_t r = 0; r < p.m; ++r) {
        if (p.kind == SoftmaxKind::GradFront) { rows.put(p.dst, r, p.type, p.exp_lanes, d[r]); continue; }
        rows.load(p.src, r, x.data());
        rows.load(p.grad, r, g.data());
        for (uint32_t i = 0; i < p.k; ++i) x[i] = (g[i] - d[r]) * x[i];
        rows.store(p.dst, r, x.data());
    }
}

}  // namespace twin
