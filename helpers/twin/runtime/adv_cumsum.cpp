// CumSum: running sums along one axis of a matrix.
#include <vector>

#include "adv_core.h"
#include "twin/abi_adv_math.h"

namespace twin {
namespace {

struct CumSumPlan { uint32_t dst, last, src, outer, inner; DType type; uint8_t last_axis, last_row; };

void cumsum_run(Core& c, const Instr& in) {
    const CumSumPlan& p = in.get<CumSumPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t z = size_of(p.type);
    std::vector<double> row(p.inner), above(p.inner, 0.0);
    for (uint32_t i = 0; i < p.outer; ++i) {
        adv_load_row(p.type, ub + p.src + uint64_t(i) * p.inner * z, row.data(), p.inner);
        // sums are kept in float, half results are rounded when they are stored
        if (p.last_axis) for (uint32_t j = 1; j < p.inner; ++j) row[j] = double(float(row[j - 1]) + float(row[j]));
        else for (uint32_t j = 0; j < p.inner; ++j) row[j] = above[j] = double(float(above[j]) + float(row[j]));
        adv_store_row(p.type, ub + p.dst + uint64_t(i) * p.inner * z, row.data(), p.inner);
    }
    if (p.last_row) std::memcpy(ub + p.last, ub + p.dst + uint64_t(p.outer - 1) * p.inner * z, uint64_t(p.inner) * z);
}

void cumsum(const CumSumCall& s) {
    if (!vec_unit_here("CumSum", s.at)) return;
    const uint32_t z = size_of(s.type);
    if (!s.outer || !s.inner) fatal("BAD_PARAMETER", s.at, fmt("CumSum: outter is %u and inner is %u", s.outer, s.inner), "both count elements and are at least 1");
    if (s.inner * z % kBlock)
        fatal("MISALIGNED", s.at, fmt("CumSum: last dimension %u*%u B must be a multiple of 32", s.inner, z), fmt("pad rows to %u elements with DataCopyPad", (s.inner * z + 31) / 32 * 32 / z));
    const uint64_t n = uint64_t(s.outer) * s.inner;
    CumSumPlan p{0, 0, 0, s.outer, s.inner, s.type, s.last_axis, s.last_row};
    AdvGroup g("CumSum", s.at);
    p.src = g.operand("src", s.src, s.type, kRead, n, "outter * inner");
    p.dst = g.operand("dst", s.dst, s.type, kWrite, n, "outter * inner");
    if (s.last_row) p.last = g.operand("lastRow", s.last, s.type, kWrite, s.inner, "inner");
    const uint64_t tmp = 16ull * s.inner * 4 + 2 * n * 4;
    g.scratch(s.tmp, tmp, tmp, "GetCumSumMaxMinTmpSize", false);
    if (s.last_axis) g.steps("TransDataTo5HD", s.type, n, 2);
    g.steps("Add", DType::F32, s.last_axis ? s.outer : s.inner, s.last_axis ? s.inner : s.outer);
    if (s.type == DType::F16) g.steps("Cast", DType::F32, n, 2);
    g.in.put(p);
    g.issue(cumsum_run);
}

}  // namespace
}  // namespace twin

extern "C" void tw_adv_cumsum(const twin::CumSumCall* call) { twin::cumsum(*call); }
