// MrgSort: up to four descending lists of pairs become one.
#include <algorithm>
#include <vector>

#include "twin/abi_move.h"
#include "vec_pairs.h"

namespace twin {
namespace {

struct MergePlan { uint32_t dst, list[4], length[4], lists, repeats; uint8_t z, suspend; };

// Calls f(list, pair) in the order of the result; fills how many pairs came from each list.
template <class F> void merge(const MergePlan& p, const uint8_t* ub, uint32_t shift, uint32_t taken[4], F f) {
    for (int i = 0; i < 4; ++i) taken[i] = 0;
    for (;;) {
        int best = -1;
        Pair top{};
        for (uint32_t i = 0; i < p.lists; ++i) {
            if (taken[i] == p.length[i]) continue;
            Pair q;
            std::memcpy(q.byte, ub + p.list[i] + shift + taken[i] * 8, 8);
            if (best < 0 || before(q, top, p.z)) { best = int(i); top = q; }
        }
        if (best < 0) return;
        f(top);
        if (++taken[best] == p.length[best] && p.suspend) return;
    }
}

void merge_run(Core& c, const Instr& in) {
    const MergePlan& p = in.get<MergePlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    uint32_t total = 0;
    for (uint32_t i = 0; i < p.lists; ++i) total += p.length[i];
    std::vector<Pair> out;
    uint32_t taken[4];
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint32_t shift = r * total * 8;
        for (uint32_t i = 0; checks_on() && i < p.lists; ++i)
            for (uint32_t k = 1; k < p.length[i]; ++k) {
                Pair a, b;
                std::memcpy(a.byte, ub + p.list[i] + shift + (k - 1) * 8, 8);
                std::memcpy(b.byte, ub + p.list[i] + shift + k * 8, 8);
                if (!before(b, a, p.z)) continue;
                report(Severity::Error, "BAD_PARAMETER", in.at,
                       fmt("MrgSort: list %u is not descending at pair %u (%g after %g)", i + 1, k, double(score(b, p.z)), double(score(a, p.z))),
                       k % 32 == 0 ? "Sort32 sorts groups of 32: a list longer than that has to be merged before" : "sort the list first, and give its length in pairs");
                break;
            }
        out.clear();
        merge(p, ub, shift, taken, [&](const Pair& q) { out.push_back(q); });
        std::memcpy(ub + p.dst + shift, out.data(), out.size() * sizeof(Pair));
    }
    for (int i = 0; i < 4; ++i) vec_registers(c).merged[i] = uint16_t(taken[i]);
}

void check_repeats(const MergeCall& m, const MergePlan& p) {
    if (p.repeats < 2) return;
    const char* hint = "use repeatTimes 1, or four lists of one length side by side";
    const bool equal = p.length[0] == p.length[1] && p.length[0] == p.length[2] && p.length[0] == p.length[3];
    bool side_by_side = true;
    for (int i = 1; i < 4; ++i) side_by_side &= p.list[i] == p.list[0] + uint32_t(i) * p.length[0] * 8;
    if (m.valid != 15) fatal("BAD_PARAMETER", m.at, fmt("MrgSort: repeatTimes %u needs all four lists, validBit is %lld", p.repeats, (long long)m.valid), hint);
    if (!equal) fatal("BAD_PARAMETER", m.at, fmt("MrgSort: repeatTimes %u needs lists of one length, they have %u, %u, %u, %u pairs", p.repeats, p.length[0], p.length[1], p.length[2], p.length[3]), hint);
    if (!side_by_side) fatal("BAD_PARAMETER", m.at, fmt("MrgSort: repeatTimes %u needs the four lists one behind the other", p.repeats), hint);
    if (m.suspend) fatal("BAD_PARAMETER", m.at, fmt("MrgSort: repeatTimes %u does not go with ifExhaustedSuspension", p.repeats), hint);
}

void merge_sort(const MergeCall& m) {
    if (!vec_unit_here("MrgSort", m.at)) return;
    MergePlan p{};
    p.z = uint8_t(size_of(m.type));
    p.suspend = m.suspend;
    if (m.valid != 3 && m.valid != 7 && m.valid != 15)
        fatal("BAD_PARAMETER", m.at, fmt("MrgSort: validBit is %lld", (long long)m.valid), "3, 7 or 15: the first two, three or four lists");
    p.lists = m.valid == 3 ? 2 : m.valid == 7 ? 3 : 4;
    p.repeats = uint32_t(check_range("MrgSort", m.at, "repeatTimes", m.repeats, 0, 255, "split the call"));
    check_place("MrgSort", m.at, 0, "dst", m.dst, p.z, m.type, kBlock);
    p.dst = m.dst.addr;
    Instr in;
    in.op = "MrgSort";
    in.at = m.at;
    in.undef = Undef::Forbid;
    uint32_t total = 0;
    for (uint32_t i = 0; i < p.lists; ++i) {
        p.length[i] = uint32_t(check_range("MrgSort", m.at, fmt("length of list %u", i + 1).c_str(), m.length[i], 0, 4095, "lengths count pairs"));
        check_place("MrgSort", m.at, 1, fmt("list %u", i + 1).c_str(), m.list[i], p.z, m.type, 8);
        p.list[i] = m.list[i].addr;
        total += p.length[i];
    }
    if (p.repeats && total) {
        check_repeats(m, p);
        uint32_t made = total * p.repeats;
        const bool one_each = p.repeats == 1;
        static const char* names[] = {"list 1", "list 2", "list 3", "list 4"};
        for (uint32_t i = 0; i < p.lists; ++i) {
            const uint32_t bytes = p.length[i] * 8;
            if (one_each || i == 0) check_apart("MrgSort", m.at, m.dst, made * 8, m.list[i], one_each ? bytes : made * 8, names[i], "give dst its own buffer");
            in.add(rows_region(m.list[i], kRead, names[i], p.z, p.repeats, bytes, int64_t(total) * 8));
        }
        if (p.suspend) {                                       // how much is written depends on the scores
            uint32_t taken[4];
            bool inside = true;
            for (uint32_t i = 0; i < p.lists; ++i) inside &= p.length[i] * 8 <= m.list[i].bytes;
            settle_vector(m.at);
            made = 0;
            if (inside) merge(p, core().at(Mem::UB, 0), 0, taken, [&](const Pair&) { ++made; });
        }
        in.add(local(m.dst, kWrite, 0, made * 8, "dst", p.z));
        const VecCost cost = vec_cost("MrgSort", "f32");
        in.head = cost.head;
        in.slope = cost.slope * float(made);
        in.repeats = 1;
        in.elements = made;
        in.body = merge_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_merge(const twin::MergeCall* call) { twin::merge_sort(*call); }
void tw_vec_merged(uint16_t* lengths, twin::At at) {
    for (int i = 0; i < 4; ++i) lengths[i] = 0;
    if (!twin::vec_unit_here()) return;
    twin::scalar_awaits_vector(at);
    twin::charge(1, at);
    for (int i = 0; i < 4; ++i) lengths[i] = twin::vec_registers(twin::core()).merged[i];
}
}
