// Activations: checks, cost, and one loop in double with a single rounding.
#include <cmath>

#include "adv_core.h"
#include "twin/abi_activation.h"

namespace twin {
namespace {

struct ActivationPlan {
    Activation op = Activation::N;
    DType type = DType::None;
    uint32_t dst = 0, src0 = 0, src1 = 0;
    int64_t n = 0;
    double beta = 1;
};

double gelu(double x) { return x / (1 + std::exp(-1.59576912 * (x + 0.044715 * x * x * x))); }

double value(Activation op, double x, double y, double beta) {
    switch (op) {
        case Activation::Sigmoid: return 1 / (1 + std::exp(-x));
        case Activation::Silu: return x / (1 + std::exp(-x));
        case Activation::Swish: return x / (1 + std::exp(-beta * x));
        case Activation::Gelu: return gelu(x);
        case Activation::FasterGelu: return x / (1 + std::exp(-1.702 * x));
        case Activation::FasterGeluV2: {
            const double t = std::fmin(0.7071 * std::fabs(x), 1.769) - 1.769;
            return x * ((x < 0 ? -1 : 1) * (0.5 - 0.1444 * t * t) + 0.5);
        }
        case Activation::SwiGLU: return x * (y / (1 + std::exp(-beta * y)));
        case Activation::GeGLU: return x * gelu(y);
        case Activation::ReGlu: return x * (y != y ? y : y > 0 ? y : 0);
        default: return 0;
    }
}

void activation_run(Core& c, const Instr& in) {
    const ActivationPlan p = in.get<ActivationPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    constexpr int64_t chunk = 512;
    double x[chunk], y[chunk] = {};
    for (int64_t i = 0; i < p.n; i += chunk) {
        const int64_t m = p.n - i < chunk ? p.n - i : chunk, at = i * size_of(p.type);
        adv_load_row(p.type, ub + p.src0 + at, x, m);
        if (p.op >= Activation::SwiGLU) adv_load_row(p.type, ub + p.src1 + at, y, m);
        for (int64_t k = 0; k < m; ++k) x[k] = value(p.op, x[k], y[k], p.beta);
        adv_store_row(p.type, ub + p.dst + at, x, m);
    }
}

// Cost: the basic instructions of the published formula, one after the other (guess for their number).
void add_cost(AdvGroup& g, const ActivationCall& c) {
    const bool through_float = c.type != DType::F32 && (c.precise || c.op >= Activation::SwiGLU);
    const DType t = through_float ? DType::F32 : c.type;
    const uint64_t n = c.count;
    if (through_float) g.steps("Cast", DType::F32, n, c.sources + 1);
    auto logistic = [&] { g.steps("Muls", t, n); g.steps("Exp", t, n); g.steps("Adds", t, n); g.steps("Div", t, n); };
    switch (c.op) {
        case Activation::Gelu: g.steps("Mul", t, n, 2); g.steps("Muls", t, n); g.steps("Add", t, n); logistic(); break;
        case Activation::GeGLU: g.steps("Mul", t, n, 3); g.steps("Muls", t, n); g.steps("Add", t, n); logistic(); break;
        case Activation::SwiGLU: logistic(); g.steps("Mul", t, n); break;
        case Activation::ReGlu: g.steps("Maxs", t, n); g.steps("Mul", t, n); break;
        case Activation::FasterGeluV2:
            g.steps("Muls", t, n, 2); g.steps("Abs", t, n, 2); g.steps("Mins", t, n); g.steps("Adds", t, n, 4); g.steps("Mul", t, n, 3); g.steps("Div", t, n);
            break;
        default: logistic();
    }
}

const char* sizer(Activation a) {
    switch (a) {
        case Activation::Sigmoid: return "GetSigmoidMaxMinTmpSize";
        case Activation::SwiGLU: return "GetSwiGLUMaxMinTmpSize";
        case Activation::GeGLU: return "GetGeGLUMaxMinTmpSize";
        case Activation::ReGlu: return "GetReGluMaxMinTmpSize";
        default: return "GetGeluMaxMinTmpSize";
    }
}

void activation(const ActivationCall& c) {
    if (!vec_unit_here() || !c.count) return;
    if (c.type == DType::BF16 && !chip_is_a2()) fatal("UNSUPPORTED_TYPE", c.at, fmt("%s: this chip (npu_arch 2002) has no bfloat16_t", c.api), "use half or float");
    AdvGroup g(c.api, c.at);
    ActivationPlan p;
    p.op = c.op;
    p.type = c.type;
    p.n = int64_t(c.count);
    p.beta = c.beta;
    if (c.op == Activation::Swish && c.type == DType::F16) p.beta = half_value(half_bits(c.beta));
    const char* name = c.op == Activation::Silu || c.op == Activation::Swish || (c.op >= Activation::Gelu && c.op <= Activation::FasterGeluV2) ? "dataSize" : "calCount";
    p.src0 = g.operand(c.sources == 2 ? "src0" : "src", c.src0, c.type, kRead, c.count, name);
    if (c.sources == 2) p.src1 = g.operand("src1", c.src1, c.type, kRead, c.count, name);
    p.dst = g.operand("dst", c.dst, c.type, kWrite, c.count, name);
    if (c.op >= Activation::Gelu && c.op <= Activation::FasterGeluV2) g.may_be_same("dst", "src");
    const TmpSize size = activation_tmp(c.op, c.count, size_of(c.type));
    g.scratch(c.tmp, size.least, size.most, sizer(c.op));
    add_cost(g, c);
    g.in.put(p);
    g.issue(activation_run);
}

}  // namespace
}  // namespace twin

extern "C" void tw_activation(const twin::ActivationCall* call) { twin::activation(*call); }
