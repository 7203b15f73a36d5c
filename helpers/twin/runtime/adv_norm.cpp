// Normalisations: which shapes are legal, which bytes are read and written, what it costs.
#include "adv_norm.h"

#include <algorithm>

namespace twin {

using ull = unsigned long long;

const char* norm_sizer(Norm n) {
    switch (n) {
        case Norm::Rms: return "GetRmsNormMaxMinTmpSize";
        case Norm::LayerGrad: return "GetLayerNormGradMaxMinTmpSize";
        case Norm::LayerGradBeta: return "GetLayerNormGradBetaMaxMinTmpSize";
        case Norm::Batch: return "GetBatchNormMaxMinTmpSize";
        case Norm::Deep: return "GetDeepNormMaxMinTmpSize";
        case Norm::Group: return "GetGroupNormMaxMinTmpSize";
        case Norm::Normalize: return "GetNormalizeMaxMinTmpSize";
        case Norm::WelfordUpdate: return "GetWelfordUpdateMaxMinTmpSize";
        case Norm::WelfordFinalize: return "GetWelfordFinalizeMaxMinTmpSize";
        default: return "GetLayerNormMaxMinTmpSize";
    }
}

NormPlan norm_plan(const NormCall& c) {
    NormPlan p;
    p.kind = c.kind;
    p.type = c.type;
    p.weight = c.weight;
    p.stat = c.stat;
    p.rows = uint32_t(c.shape.rows);
    p.h = uint32_t(c.shape.h);
    p.valid = uint32_t(c.kind == Norm::Rms && c.basic_block ? c.shape.h : c.shape.valid);
    p.channel = uint32_t(c.channel);
    p.channels = uint32_t(c.channels);
    p.groups = uint32_t(c.groups);
    p.epsilon = c.epsilon;
    p.alpha = c.alpha;
    p.has_gamma = c.has_gamma;
    p.has_beta = c.has_beta;
    // The library sums the whole row: what is no data has to be 0.
    p.look_at_padding = checks_on() && c.shape.valid < c.shape.h && (c.kind == Norm::Layer || c.kind == Norm::Deep || c.kind == Norm::LayerGrad);
    return p;
}

void norm_check_shape(const NormCall& c) {
    const uint32_t z = size_of(c.type);
    const NormShape& s = c.shape;
    const bool from_para = c.kind == Norm::LayerAR || c.kind == Norm::Normalize;
    if (!s.rows || !s.h || !s.valid)
        fatal("BAD_PARAMETER", c.at, from_para ? fmt("%s: para has no shape: %llu rows of %llu (%llu valid)", c.api, ull(s.rows), ull(s.h), ull(s.valid))
                                               : fmt("%s: the tiling has no shape: %u x %u x %llu (%llu valid)", c.api, c.b, c.s, ull(s.h), ull(s.valid)),
              from_para ? "fill aLength, rLength and rLengthWithPadding" : "fill it with the tiling function of this API and pass it to the kernel");
    if (s.valid > s.h) fatal("BAD_PARAMETER", c.at, fmt("%s: %llu valid elements in a row of %llu", c.api, ull(s.valid), ull(s.h)), "the padded length is at least the valid one");
    if (s.rows * s.h > uint64_t(capacity(Mem::UB)) || s.rows > UINT32_MAX / s.h)
        fatal("OUT_OF_BOUNDS", c.at, fmt("%s: tiling shape B*S*H = %llu elements does not fit UB (%u B)", c.api, ull(s.rows * s.h), capacity(Mem::UB)), "the shape is that of one tile, not of the whole array");
    const uint64_t row = c.kind == Norm::Group ? c.channel : s.h;
    if (row * z % kBlock)
        fatal("BAD_PARAMETER", c.at, fmt("%s: last dimension %llu*%u must be a multiple of 32", c.api, ull(row), z), "pad with DataCopyPad");
    if (c.kind == Norm::Group && c.groups && c.channels % c.groups == 0 && c.channels / c.groups * c.channel != s.h)
        fatal("BAD_PARAMETER", c.at, fmt("GroupNorm: the tiling has d = %llu, but c / g = %llu / %llu", ull(s.h / c.channel), ull(c.channels), ull(c.groups)), "fill it with GetGroupNormNDTilingInfo");
    if (c.kind == Norm::Group && (!c.groups || c.channels % c.groups))
        fatal("BAD_PARAMETER", c.at, fmt("GroupNorm: %llu channels cannot be split into %llu groups", ull(c.channels), ull(c.groups)), "groupNum divides the number of channels");
    if (c.kind == Norm::Deep && s.h > 2040) fatal("BAD_PARAMETER", c.at, fmt("DeepNorm: H is %llu, at most 2040 is supported", ull(s.h)), "use LayerNorm on alpha * src + gx");
    if (c.basic_block && !norm_basic_block(c.kind, s)) {
        const char* rule = c.kind == Norm::Batch ? "B multiple of 8 and S*H multiple of 64 below 2048" : c.kind == Norm::Deep ? "H multiple of 64 up to 2040, B*S multiple of 8 and no padding"
                                                                                                    : "H multiple of 64 below 2048, B*S multiple of 8 and no padding";
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: isBasicBlock=true needs %s; here %llu rows of %llu (%llu valid)", c.api, rule, ull(s.rows), ull(s.h), ull(s.valid)),
               "leave isBasicBlock out: the result is the same");
    }
    if (c.kind == Norm::LayerAR && s.rows > c.s)
        fatal("BAD_PARAMETER", c.at, fmt("LayerNorm: para.aLength %llu is larger than the %u the tiling was made for", ull(s.rows), c.s), "make the tiling for the largest aLength");
    if (c.kind == Norm::Normalize && s.rows != c.s)
        fatal("BAD_PARAMETER", c.at, fmt("Normalize: config.aLength is %u, para.aLength is %llu", c.s, ull(s.rows)), "use aLength = -1, or the same number in both");
}

void norm_scratch(AdvGroup& g, const NormCall& c) {
    const TmpSize size = norm_tmp(c.kind, c.shape, size_of(c.type), c.reuse);
    g.scratch(c.tmp, size.least, size.most, norm_sizer(c.kind), false);
}

void norm_check_padding(const Instr& in, const NormPlan& p, const uint8_t* row, uint32_t r, const char* role) {
    for (uint32_t i = p.valid; i < p.h; ++i) {
        const double v = adv_load(p.type, row, i);
        if (v == 0) continue;
        report(Severity::Warning, "BAD_PARAMETER", in.at, fmt("%s: %s row %u has %g at column %u, which is padding behind the %u valid columns; the device sums the whole row", in.op, role, r, v, i, p.valid),
               "fill the padding with 0 (DataCopyPad with isPad), or store rows without padding");
        return;
    }
}

namespace {

// Cost: passes of the library over the data, each after the one before (guess for their number).
void add_cost(AdvGroup& g, const NormCall& c) {
    const uint64_t all = c.shape.rows * c.shape.h, rows = c.kind == Norm::Batch ? c.shape.h : c.shape.rows;
    const DType f = DType::F32;
    if (c.type == DType::F16) g.steps("Cast", f, all, c.kind == Norm::Deep ? 3 : 2);
    if (c.kind == Norm::Deep) g.steps("Axpy", f, all);
    auto sum = [&] { if (c.kind == Norm::Batch) g.steps("Add", f, all); else g.reductions("Add", "WholeReduceSum", f, all, rows); };
    if (c.kind == Norm::Rms) {
        g.steps("Mul", f, all);
        sum();
    } else if (c.kind != Norm::Normalize) {
        g.steps("Muls", f, all);
        sum();
        g.steps("Sub", f, all);
        g.steps("Mul", f, all);
        sum();
    } else {
        g.steps("Sub", f, all);
    }
    g.steps("Adds", f, rows);
    g.steps("Sqrt", f, rows);
    g.steps("Div", f, rows);
    g.steps("Brcb", f, rows * 8);
    g.steps("Mul", f, all, c.has_gamma ? 2 : 1);
    if (c.has_beta) g.steps("Add", f, all);
}

void norm(const NormCall& c) {
    if (!vec_unit_here(c.api, c.at)) return;
    if (!chip_is_a2() && c.kind == Norm::Group) fatal("UNSUPPORTED_API", c.at, "GroupNorm does not exist on this chip (npu_arch 2002)", "use LayerNorm on every group");
    norm_check_shape(c);
    AdvGroup g(c.api, c.at, Undef::Forbid);
    NormPlan p = norm_plan(c);
    const bool batch = c.kind == Norm::Batch, given = c.kind == Norm::Normalize;
    const char* shape = given || c.kind == Norm::LayerAR ? "shape A*R =" : "tiling shape B*S*H =";
    const uint64_t whole = c.shape.rows * c.shape.h * size_of(c.type), stats = batch ? c.shape.h : c.shape.rows;
    const uint64_t weights = batch ? c.shape.rows : c.kind == Norm::Group ? c.channels : p.valid;
    p.x = g.rows(c.x_name, c.x, c.type, kRead, c.shape.rows, p.valid, c.shape.h, 0, whole, shape);
    if (c.kind == Norm::Deep) p.second = g.rows("gx", c.second, c.type, kRead, c.shape.rows, p.valid, c.shape.h, 0, whole, shape);
    if (c.has_gamma) p.gamma = g.operand("gamma", c.gamma, c.weight, kRead, weights, "the number of factors");
    if (c.has_beta) p.beta = g.operand("beta", c.beta, c.weight, kRead, weights, "the number of summands");
    if (c.kind != Norm::Rms) {
        const uint8_t rw = given ? kRead : kWrite;
        p.mean = g.operand(given ? "inputMean" : c.kind == Norm::Deep ? "mean" : "outputMean", c.mean, c.stat, rw, stats, "the number of means");
        p.var = g.operand(given ? "inputVariance" : c.kind == Norm::Deep ? "rstd" : c.kind == Norm::LayerAR ? "outputRstd" : "outputVariance", c.var, c.stat, rw, stats, "the number of variances");
    }
    if (given) p.res = g.operand("outputRstd", c.res, c.stat, kWrite, stats, "the number of rows");
    p.dst = g.rows(c.dst_name, c.dst, c.type, kWrite, c.shape.rows, p.valid, c.shape.h, 0, whole, shape);
    g.leftover(c.dst_name, c.dst, c.type, c.shape.rows, c.shape.h - p.valid, c.shape.h, p.valid);
    const bool in_place = c.kind == Norm::Rms || c.kind == Norm::Layer || batch || (c.kind == Norm::Deep && c.reuse);
    if (in_place) g.may_be_same(c.dst_name, c.x_name);
    if (c.kind == Norm::Rms) g.forbid_same("dst", "gamma");
    if (c.kind == Norm::LayerAR) g.forbid_same("output", "inputX");
    norm_scratch(g, c);
    if (c.reuse && c.type == DType::F32 && c.dst.addr != c.x.addr && c.kind != Norm::Normalize) g.destroyed(c.x_name, c.x, c.type, c.shape.rows * c.shape.h);
    add_cost(g, c);
    g.in.detached = !p.look_at_padding;
    if (!batch && g.in.detached) g.in.shape = Instr::ReadsFirst;
    g.in.put(p);
    g.issue(batch ? norm_batch_run : norm_run);
}

}  // namespace
}  // namespace twin

extern "C" void tw_norm(const twin::NormCall* call) { twin::norm(*call); }
