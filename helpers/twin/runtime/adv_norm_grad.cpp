// LayerNormGrad and LayerNormGradBeta: checks, cost, loops.
#include <cmath>

#include "adv_norm.h"

namespace twin {
namespace {

void grad_run(Core& c, const Instr& in) {
    const NormPlan& p = in.get<NormPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t n = p.valid;
    std::vector<double> x(n), dy(n), gamma(n), res(n);
    adv_load_row(p.weight, ub + p.gamma, gamma.data(), n);
    for (uint32_t r = 0; r < p.rows; ++r) {
        const uint64_t row = uint64_t(r) * p.h * size_of(p.type);
        if (p.look_at_padding) norm_check_padding(in, p, ub + p.x + row, r, "inputX");
        adv_load_row(p.type, ub + p.x + row, x.data(), n);
        adv_load_row(p.type, ub + p.second + row, dy.data(), n);
        const double mean = adv_load(p.stat, ub + p.mean, r), rstd = 1 / std::sqrt(adv_load(p.stat, ub + p.var, r) + p.epsilon);
        double pd_var = 0, sum_p = 0, sum_c = 0;
        for (uint32_t i = 0; i < n; ++i) {
            x[i] -= mean;
            res[i] = x[i] * rstd;
            dy[i] *= gamma[i];
            pd_var += -0.5 * dy[i] * x[i] * rstd * rstd * rstd;
            sum_p += -dy[i] * rstd;
            sum_c += -2 * x[i];
        }
        const double pd_mean = sum_p + pd_var / n * sum_c;
        for (uint32_t i = 0; i < n; ++i) x[i] = dy[i] * rstd + pd_var * 2 / n * x[i] + pd_mean / n;
        adv_store_row(p.type, ub + p.dst + row, x.data(), n);
        adv_store_row(p.type, ub + p.res + row, res.data(), n);
    }
}

void grad_beta_run(Core& c, const Instr& in) {
    const NormPlan& p = in.get<NormPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t n = p.valid;
    std::vector<double> res(n), dy(n), gamma(n, 0), beta(n, 0);
    for (uint32_t r = 0; r < p.rows; ++r) {
        const uint64_t row = uint64_t(r) * p.h * size_of(p.type);
        adv_load_row(p.type, ub + p.x + row, res.data(), n);
        adv_load_row(p.type, ub + p.second + row, dy.data(), n);
        for (uint32_t i = 0; i < n; ++i) { gamma[i] += dy[i] * res[i]; beta[i] += dy[i]; }
    }
    adv_store_row(p.type, ub + p.dst, gamma.data(), n);
    adv_store_row(p.type, ub + p.beta, beta.data(), n);
}

void norm_grad(const NormCall& c) {
    if (!vec_unit_here(c.api, c.at)) return;
    norm_check_shape(c);
    AdvGroup g(c.api, c.at, Undef::Forbid);
    NormPlan p = norm_plan(c);
    const bool beta = c.kind == Norm::LayerGradBeta;
    const uint64_t all = c.shape.rows * c.shape.h, whole = all * size_of(c.type);
    const char* shape = "tiling shape B*S*H =";
    auto matrix = [&](const char* role, const LocalRef& t, uint8_t rw) {
        const uint32_t at = g.rows(role, t, c.type, rw, c.shape.rows, p.valid, c.shape.h, 0, whole, shape);
        if (rw == kWrite) g.leftover(role, t, c.type, c.shape.rows, c.shape.h - p.valid, c.shape.h, p.valid);
        return at;
    };
    const char* inputs[] = {"inputDy", beta ? "resForGamma" : "inputX"};
    const char* outputs[] = {beta ? "outputPdGamma" : "outputPdX", beta ? "outputPdBeta" : "resForGamma"};
    p.x = matrix(inputs[1], c.x, kRead);
    p.second = matrix("inputDy", c.second, kRead);
    const DType f = DType::F32;
    // Cost: the basic instructions of the published formulas (guess for their number).
    if (c.type == DType::F16) g.steps("Cast", f, all, beta ? 2 : 4);
    if (beta) {
        p.dst = g.operand(outputs[0], c.dst, c.type, kWrite, p.valid, "the number of columns");
        p.beta = g.operand(outputs[1], c.beta, c.type, kWrite, p.valid, "the number of columns");
        g.steps("Mul", f, all);
        g.steps("Add", f, all, 2);
    } else {
        p.var = g.operand("inputVariance", c.var, c.type, kRead, c.shape.rows, "the number of rows");
        p.mean = g.operand("inputMean", c.mean, c.type, kRead, c.shape.rows, "the number of rows");
        p.gamma = g.operand("inputGamma", c.gamma, c.type, kRead, p.valid, "the number of factors");
        p.dst = matrix(outputs[0], c.dst, kWrite);
        p.res = matrix(outputs[1], c.res, kWrite);
        g.steps("Mul", f, all, 7);
        g.steps("Sub", f, all);
        g.steps("Muls", f, all, 4);
        g.steps("WholeReduceSum", f, all, 3);
        g.steps("Sqrt", f, c.shape.rows);
        g.steps("Brcb", f, c.shape.rows * 8, 3);
        g.steps("Add", f, all, 2);
    }
    for (const char* o : outputs) for (const char* i : inputs) g.may_be_same(o, i);
    norm_scratch(g, c);
    g.in.put(p);
    g.issue(beta ? grad_beta_run : grad_run);
}

}  // namespace
}  // namespace twin

extern "C" void tw_norm_grad(const twin::NormCall* call) { twin::norm_grad(*call); }
