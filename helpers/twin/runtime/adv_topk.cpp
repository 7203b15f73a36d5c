// TopK: the k largest or smallest of every row, with their indices.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "adv_core.h"
#include "twin/abi_adv_filter.h"

namespace twin {
namespace {

struct TopKPlan {
    uint32_t value, index, src, src_index, finish;
    int32_t k, outer, inner, n, value_pitch, index_pitch;
    DType type;
    uint8_t init_index, has_finish, small, largest;
};

void topk_run(Core& c, const Instr& in) {
    const TopKPlan& p = in.get<TopKPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    std::vector<double> row(static_cast<size_t>(p.inner));
    std::vector<int32_t> order(row.size());
    const uint32_t z = size_of(p.type);
    bool said = false;
    for (int32_t r = 0; r < p.outer; ++r) {
        adv_load_row(p.type, ub + p.src + uint64_t(r) * uint64_t(p.inner) * z, row.data(), p.inner);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            const double x = row[size_t(a)], y = row[size_t(b)];
            if (x != x || y != y) return x != x && y == y;                  // NaN first
            return p.largest ? x > y : x < y;
        });
        for (int32_t i = 0; i < p.k; ++i) {
            const int32_t at = order[size_t(i)];
            int32_t index = at;
            if (p.init_index) std::memcpy(&index, ub + p.src_index + 4 * (p.small ? int64_t(r) * p.inner + at : at), 4);
            if (p.has_finish && ub[p.finish + uint32_t(r)]) index = p.n;
            adv_store(p.type, ub + p.value, int64_t(r) * p.value_pitch + i, row[size_t(at)]);
            std::memcpy(ub + p.index + 4 * (int64_t(r) * p.index_pitch + i), &index, 4);
            if (at < p.n || said || !checks_on()) continue;
            said = true;
            report(Severity::Warning, "BAD_PARAMETER", in.at, fmt("TopK: row %d returns column %d, which is padding (n = %d)", r, at, p.n),
                   p.largest ? "fill the columns behind n with the lowest value" : "fill the columns behind n with the highest value");
        }
    }
}

void topk(const TopKCall& s) {
    if (!vec_unit_here("TopK", s.at)) return;
    auto bad = [&](const std::string& what, const char* hint) { fatal("BAD_PARAMETER", s.at, "TopK: " + what, hint); };
    if (s.outer < 1 || s.n < 1 || s.n > s.inner) bad(fmt("{outter, inner, n} is {%d, %d, %d}", s.outer, s.inner, s.n), "outter and n are at least 1, and n is at most inner");
    if (s.inner % 32) bad(fmt("inner is %d, not a multiple of 32", s.inner), "pad the rows");
    if (s.small ? s.inner != 32 : s.inner > 4096) bad(fmt("inner is %d", s.inner), s.small ? "TOPK_NSMALL takes rows of 32" : "TOPK_NORMAL takes rows of up to 4096: sort longer ones with Sort");
    if (s.k < 1 || s.k > s.n) bad(fmt("k is %d, outside 1..%d", s.k, s.n), "k counts results of one row");
    if (s.has_finish && s.small) bad("isHasfinish does not go with TOPK_NSMALL", "use TOPK_NORMAL");
    TopKPlan p{};
    const int32_t per = int32_t(kBlock / size_of(s.type));
    p.k = s.k; p.outer = s.outer; p.inner = s.inner; p.n = s.n;
    p.value_pitch = s.small ? s.k : (s.k + per - 1) / per * per;
    p.index_pitch = s.small ? s.k : (s.k + 7) / 8 * 8;
    p.type = s.type; p.init_index = s.init_index; p.has_finish = s.has_finish; p.small = s.small; p.largest = s.largest;
    AdvGroup g("TopK", s.at, Undef::Forbid);
    const uint64_t outer = uint64_t(s.outer), inner = uint64_t(s.inner), k = uint64_t(s.k);
    p.src = g.operand("src", s.src, s.type, kRead, outer * inner, "outter * inner");
    if (s.init_index) p.src_index = g.operand("srcIndex", s.src_index, DType::I32, kRead, s.small ? outer * inner : inner, "number of indices");
    if (s.has_finish) p.finish = g.operand("finish", s.finish, DType::Bool, kRead, outer, "outter");
    p.value = g.rows("dstValue", s.value, s.type, kWrite, outer, k, uint64_t(p.value_pitch));
    p.index = g.rows("dstIndex", s.index, DType::I32, kWrite, outer, k, uint64_t(p.index_pitch));
    g.leftover("dstValue", s.value, s.type, outer, uint64_t(p.value_pitch) - k, uint64_t(p.value_pitch), k);
    g.leftover("dstIndex", s.index, DType::I32, outer, uint64_t(p.index_pitch) - k, uint64_t(p.index_pitch), k);
    const uint32_t tmp = tw_topk_tmp(s.small, s.init_index, s.largest, uint32_t(s.inner), uint32_t(s.outer));
    g.scratch(s.tmp, tmp, tmp, "GetTopKMaxMinTmpSize");
    g.steps("Sort32", s.type, outer * inner);
    for (uint64_t lists = inner / 32; !s.small && lists > 1; lists = (lists + 3) / 4) g.in.slope += vec_cost("MrgSort", "f32").slope * float(outer * inner);
    g.steps("GatherMask", DType::U32, outer * k, 2);
    g.in.put(p);
    g.issue(topk_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_topk(const twin::TopKCall* call) { twin::topk(*call); }
uint32_t tw_topk_tmp(int small, int init_index, int largest, uint32_t inner, uint32_t outer) {
    if (!small) return 16 * inner + (init_index ? 0 : 4 * inner);
    return 8 * inner * outer + 64 + (init_index ? 0 : 4 * inner * outer) + (largest ? 0 : 4 * inner * outer);
}
}
