// Welford's mean and variance: one update, and the joining of the lanes.
#include "adv_norm.h"

namespace twin {
namespace {

struct UpdatePlan {
    uint32_t out_mean, out_var, in_mean, in_var, x, ab, compute;
    DType type;
    float rec;
    bool in_place;
};
struct FinalPlan {
    uint32_t out_mean, out_var, in_mean, in_var, counts, ab, rn, head, head_length, tail;
    float ab_rec, rec;
    bool has_counts, uneven;
};

void update_run(Core& c, const Instr& in) {
    const UpdatePlan p = in.get<UpdatePlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (uint32_t i = 0; i < p.compute; ++i) {
        const double x = adv_load(p.type, ub + p.x, i), m = adv_load(DType::F32, ub + p.in_mean, i), v = adv_load(DType::F32, ub + p.in_var, i);
        const double d = x - m, mean = m + d * p.rec;
        adv_store(DType::F32, ub + p.out_mean, i, mean);
        adv_store(DType::F32, ub + p.out_var, i, v + d * (x - mean));
    }
    if (p.in_place && p.compute < p.ab)
        for (const auto& [to, from] : {std::pair{p.out_mean, p.in_mean}, std::pair{p.out_var, p.in_var}})
            std::memmove(ub + to + 4 * p.compute, ub + from + 4 * p.compute, 4 * (p.ab - p.compute));
}

void final_run(Core& c, const Instr& in) {
    const FinalPlan p = in.get<FinalPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const bool weighted = p.has_counts || p.uneven;
    auto count = [&](uint32_t i) { return p.has_counts ? adv_load(DType::I32, ub + p.counts, i) : p.uneven ? double(i < p.head_length ? p.head : p.tail) : double(p.rn); };
    double mean = 0, sum = 0;
    for (uint32_t i = 0; i < p.ab; ++i) mean += (weighted ? count(i) : 1) * adv_load(DType::F32, ub + p.in_mean, i);
    mean *= weighted ? p.rec : p.ab_rec;
    for (uint32_t i = 0; i < p.ab; ++i) {
        const double d = adv_load(DType::F32, ub + p.in_mean, i) - mean;
        sum += adv_load(DType::F32, ub + p.in_var, i) + count(i) * d * d;
    }
    adv_store(DType::F32, ub + p.out_mean, 0, mean);
    adv_store(DType::F32, ub + p.out_var, 0, p.rec * sum);
    for (uint32_t out : {p.out_mean, p.out_var}) mark_undefined(c, Mem::UB, out + 4, out + kBlock);    // the other lanes of the block
}

void update(const WelfordCall& w) {
    if (!vec_unit_here("WelfordUpdate", w.at)) return;
    const char* api = "WelfordUpdate";
    const uint32_t z = size_of(w.type);
    if (!w.compute || w.compute > w.ab) fatal("BAD_PARAMETER", w.at, fmt("%s: abComputeLength is %u, it must be 1..abLength = %u", api, w.compute, w.ab), "abComputeLength counts the lanes that hold data");
    if (w.rn != 1) fatal("BAD_PARAMETER", w.at, fmt("%s: rnLength is %u, only 1 is supported", api, w.rn), "call it once per row");
    if (uint64_t(w.ab) * z % kBlock) fatal("BAD_PARAMETER", w.at, fmt("%s: last dimension %u*%u must be a multiple of 32", api, w.ab, z), "pad with DataCopyPad: abLength is the padded length, abComputeLength the real one");
    AdvGroup g(api, w.at);
    const uint32_t n = w.in_place ? w.ab : w.compute;
    UpdatePlan p{};
    p.ab = w.ab;
    p.compute = w.compute;
    p.type = w.type;
    p.rec = w.rn_rec;
    p.in_place = w.in_place;
    p.x = g.operand("inputX", w.x, w.type, kRead, w.compute, "abComputeLength");
    p.in_mean = g.operand("inputMean", w.in_mean, DType::F32, kRead, n, "abLength");
    p.in_var = g.operand("inputVariance", w.in_var, DType::F32, kRead, n, "abLength");
    p.out_mean = g.operand("outputMean", w.out_mean, DType::F32, kWrite, n, "abLength");
    p.out_var = g.operand("outputVariance", w.out_var, DType::F32, kWrite, n, "abLength");
    const TmpSize size = norm_tmp(Norm::WelfordUpdate, {1, w.ab, w.ab}, z, w.reuse);
    g.scratch(w.tmp, size.least, size.most, norm_sizer(Norm::WelfordUpdate), false);
    if (w.reuse && w.type == DType::F32) g.destroyed("inputX", w.x, w.type, w.compute);
    // Cost: the instructions of the formula (guess).
    if (z == 2) g.steps("Cast", DType::F32, n);
    g.steps("Sub", DType::F32, n, 2);
    g.steps("Axpy", DType::F32, n);
    g.steps("Mul", DType::F32, n);
    g.steps("Add", DType::F32, n);
    g.in.put(p);
    g.issue(update_run);
}

void finalize(const WelfordCall& w) {
    if (!vec_unit_here("WelfordFinalize", w.at)) return;
    const char* api = "WelfordFinalize";
    if (!w.ab || w.ab % 8) fatal("BAD_PARAMETER", w.at, fmt("%s: last dimension %u*4 must be a multiple of 32", api, w.ab), "abLength is a multiple of 8");
    if (!w.has_counts && uint64_t(w.head_length) + w.tail_length != w.ab)
        fatal("BAD_PARAMETER", w.at, fmt("%s: headCountLength %u + tailCountLength %u is not abLength %u", api, w.head_length, w.tail_length, w.ab), "every lane belongs to the head or to the tail");
    if (!w.has_counts && !w.tail && w.tail_length) fatal("BAD_PARAMETER", w.at, fmt("%s: tailCount is 0, but tailCountLength is %u", api, w.tail_length), "use tailCountLength 0, or give the count of the tail");
    AdvGroup g(api, w.at, Undef::Forbid);
    FinalPlan p{};
    p.ab = w.ab;
    p.rn = w.rn;
    p.head = w.head;
    p.head_length = w.head_length;
    p.tail = w.tail;
    p.ab_rec = w.ab_rec;
    p.rec = w.rn_rec;
    p.has_counts = w.has_counts;
    p.uneven = !w.has_counts && w.tail && w.tail_length;
    p.in_mean = g.operand("inputMean", w.in_mean, DType::F32, kRead, w.ab, "abLength");
    p.in_var = g.operand("inputVariance", w.in_var, DType::F32, kRead, w.ab, "abLength");
    if (w.has_counts) p.counts = g.operand("counts", w.counts, DType::I32, kRead, w.ab, "abLength");
    p.out_mean = g.operand("outputMean", w.out_mean, DType::F32, kWrite, 8, "one 32-byte block,");
    p.out_var = g.operand("outputVariance", w.out_var, DType::F32, kWrite, 8, "one 32-byte block,");
    const TmpSize size = norm_tmp(Norm::WelfordFinalize, {1, w.ab, w.ab}, 4, w.reuse);
    g.scratch(w.tmp, size.least, size.most, norm_sizer(Norm::WelfordFinalize), false);
    // Cost: the instructions of the formula, and two sums that come back to the scalar unit (guess).
    if (w.has_counts) g.steps("Cast", DType::F32, w.ab);
    g.steps("Mul", DType::F32, w.ab, 3);
    g.steps("Adds", DType::F32, w.ab);
    g.steps("Add", DType::F32, w.ab);
    g.steps("ReduceSum", DType::F32, w.ab, 2);
    g.in.put(p);
    g.issue(final_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_welford_update(const twin::WelfordCall* call) { twin::update(*call); }
void tw_welford_finalize(const twin::WelfordCall* call) { twin::finalize(*call); }
}
