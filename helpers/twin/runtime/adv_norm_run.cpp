// Normalisation in double, rounded once when it is stored: rows and groups, then columns.
#include <cmath>

#include "adv_norm.h"
#include "held.h"

namespace twin {

namespace {

// Rows of float with one factor per element, straight from where they lie: mean, variance and result in one go each.
double plain_row(const NormPlan& p, const float* x, const double* gamma, const double* beta, float* to, uint32_t n, double& mean, double& var, bool given) {
    if (!given) {
        if (p.kind != Norm::Rms) mean = adv_sum(n, [=](int64_t i) { return double(x[i]); }) / n;
        const double m = mean;
        var = adv_sum(n, [=](int64_t i) { return (double(x[i]) - m) * (double(x[i]) - m); }) / n;
    }
    const double rstd = 1 / std::sqrt(var + p.epsilon), m = mean;
    if (beta) {
        TW_INDEPENDENT
        for (uint32_t i = 0; i < n; ++i) to[i] = float(gamma[i] * ((double(x[i]) - m) * rstd) + beta[i]);
    } else {
        TW_INDEPENDENT
        for (uint32_t i = 0; i < n; ++i) to[i] = float(gamma[i] * ((double(x[i]) - m) * rstd) + 0.0);   // -0 becomes +0
    }
    return rstd;
}

void put_stats(const NormPlan& p, uint8_t* ub, uint32_t r, double mean, double var, double rstd) {
    if (p.kind == Norm::Normalize) { adv_store(p.stat, ub + p.res, r, rstd); return; }
    if (p.kind == Norm::Rms) return;
    adv_store(p.stat, ub + p.mean, r, mean);
    adv_store(p.stat, ub + p.var, r, p.kind == Norm::LayerAR ? rstd : var);
}

}  // namespace

void norm_run(Core& c, const Instr& in) {
    const NormPlan& p = in.get<NormPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint8_t* from = t_through[0] ? t_through[0] : ub + p.x;
    const uint64_t z = size_of(p.type);
    const uint32_t n = p.valid, weights = p.kind == Norm::Group ? p.channels : n;
    std::vector<double> x(n), second(p.kind == Norm::Deep ? n : 0), gamma(weights, 1), beta(weights, 0);
    if (p.has_gamma) adv_load_row(p.weight, ub + p.gamma, gamma.data(), weights);
    if (p.has_beta) adv_load_row(p.weight, ub + p.beta, beta.data(), weights);
    for (uint32_t r = 0; r < p.rows; ++r) {
        const uint64_t row = uint64_t(r) * p.h * z;
        if (p.look_at_padding) norm_check_padding(in, p, ub + p.x + row, r, in.reg[0].name);
        if (p.type == DType::F32 && p.kind != Norm::Deep && p.kind != Norm::Group) {
            const bool given = p.kind == Norm::Normalize;
            double mean = given ? adv_load(p.stat, ub + p.mean, r) : 0, var = given ? adv_load(p.stat, ub + p.var, r) : 0;
            const double rstd = plain_row(p, reinterpret_cast<const float*>(from + row), gamma.data(), p.has_beta ? beta.data() : nullptr,
                                          reinterpret_cast<float*>(ub + p.dst + row), n, mean, var, given);
            put_stats(p, ub, r, mean, var, rstd);
            continue;
        }
        adv_load_row(p.type, from + row, x.data(), n);
        if (p.kind == Norm::Deep) {
            adv_load_row(p.type, ub + p.second + row, second.data(), n);
            for (uint32_t i = 0; i < n; ++i) x[i] = p.alpha * x[i] + second[i];
        }
        double mean = 0, var = 0;
        if (p.kind == Norm::Normalize) {
            mean = adv_load(p.stat, ub + p.mean, r);
            var = adv_load(p.stat, ub + p.var, r);
        } else {
            const double* v = x.data();
            if (p.kind != Norm::Rms) mean = adv_sum(n, [=](int64_t i) { return v[i]; }) / n;
            var = adv_sum(n, [=](int64_t i) { return (v[i] - mean) * (v[i] - mean); }) / n;
        }
        const double rstd = 1 / std::sqrt(var + p.epsilon);
        // One factor and summand for each channel of a group, else for each element.
        const uint32_t first = p.kind == Norm::Group ? r % p.groups * (p.channels / p.groups) : 0;
        const uint32_t each = p.kind == Norm::Group ? p.channel : 1;
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t w = first + (each == 1 ? i : i / each);
            x[i] = gamma[w] * ((x[i] - mean) * rstd) + beta[w];
        }
        adv_store_row(p.type, ub + p.dst + row, x.data(), n);
        put_stats(p, ub, r, mean, var, rstd);
    }
}

void norm_batch_run(Core& c, const Instr& in) {
    const NormPlan& p = in.get<NormPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    std::vector<double> gamma(p.rows), beta(p.rows), x(p.rows);
    adv_load_row(p.weight, ub + p.gamma, gamma.data(), p.rows);
    adv_load_row(p.weight, ub + p.beta, beta.data(), p.rows);
    for (uint32_t k = 0; k < p.h; ++k) {
        double mean = 0, var = 0;
        for (uint32_t b = 0; b < p.rows; ++b) mean += x[b] = adv_load(p.type, ub + p.x, int64_t(b) * p.h + k);
        mean /= p.rows;
        for (double v : x) var += (v - mean) * (v - mean);
        var /= p.rows;
        const double rstd = 1 / std::sqrt(var + p.epsilon);
        for (uint32_t b = 0; b < p.rows; ++b) adv_store(p.type, ub + p.dst, int64_t(b) * p.h + k, gamma[b] * ((x[b] - mean) * rstd) + beta[b]);
        adv_store(p.stat, ub + p.mean, k, mean);
        adv_store(p.stat, ub + p.var, k, var);
    }
}

}  // namespace twin
