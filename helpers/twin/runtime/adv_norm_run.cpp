// Normalisation in double, rounded once when it is stored: rows and groups, then columns.
#include <cmath>

#include "adv_norm.h"
#include "held.h"

namespace twin {

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
        if (each == 1) {
            const double *g = gamma.data() + first, *b = beta.data() + first;
            double* v = x.data();
            if (p.type == DType::F32) {
                float* to = reinterpret_cast<float*>(ub + p.dst + row);
                for (uint32_t i = 0; i < n; ++i) to[i] = float(g[i] * ((v[i] - mean) * rstd) + b[i]);
            } else {
                for (uint32_t i = 0; i < n; ++i) v[i] = g[i] * ((v[i] - mean) * rstd) + b[i];
            }
        } else {
            for (uint32_t i = 0; i < n; ++i) x[i] = gamma[first + i / each] * ((x[i] - mean) * rstd) + beta[first + i / each];
        }
        if (p.type != DType::F32 || each > 1) adv_store_row(p.type, ub + p.dst + row, x.data(), n);
        if (p.kind == Norm::Normalize) adv_store(p.stat, ub + p.res, r, rstd);
        else if (p.kind != Norm::Rms) {
            adv_store(p.stat, ub + p.mean, r, mean);
            adv_store(p.stat, ub + p.var, r, p.kind == Norm::LayerAR ? rstd : var);
        }
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
