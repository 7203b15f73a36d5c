// Sort32, Sort and Extract: groups of 32 pairs by score, descending.
#include <algorithm>
#include <vector>

#include "twin/abi_move.h"
#include "vec_pairs.h"

namespace twin {
namespace {

struct SortPlan { uint32_t dst, src, index, repeats; uint8_t z, full; };

void sort_run(Core& c, const Instr& in) {
    const SortPlan& p = in.get<SortPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t n = p.repeats * 32;
    std::vector<Pair> pairs(n);
    bool nan = false;
    for (uint32_t i = 0; i < n; ++i) {
        Pair q{};
        std::memcpy(q.byte, ub + p.src + i * p.z, p.z);
        std::memcpy(q.byte + 4, ub + p.index + i * 4, 4);
        nan |= std::isnan(score(q, p.z));
        pairs[i] = q;
    }
    const uint8_t z = p.z;
    auto order = [z](const Pair& a, const Pair& b) { return before(a, b, z); };
    if (p.full) std::stable_sort(pairs.begin(), pairs.end(), order);
    else for (uint32_t r = 0; r < p.repeats; ++r) std::stable_sort(pairs.begin() + r * 32, pairs.begin() + (r + 1) * 32, order);
    std::memcpy(ub + p.dst, pairs.data(), n * sizeof(Pair));
    if (nan && checks_on()) report(Severity::Warning, "NUMERIC", in.at, fmt("%s: a score is NaN, its place in the order is not defined", in.op), "replace NaN by the lowest value first");
    if (in.nreg > 3) mark_undefined(c, Mem::UB, in.reg[3].addr, in.reg[3].addr + in.reg[3].len);     // tmp
}

void note_alignment(const SortCall& s, const char* role, const LocalRef& t, uint32_t align) {
    if (checks_on() && t.mem == Mem::UB && t.addr % align)
        report(Severity::Note, "MISALIGNED", s.at, fmt("%s: %s starts at UB address 0x%x; the documentation also asks for multiples of %u B per group", s.api, role, t.addr, align),
               "32 B is enough for the twin");
}

SortPlan sort_plan(const SortCall& s, Instr& in) {
    SortPlan p{};
    p.z = uint8_t(size_of(s.type));
    p.repeats = uint32_t(check_range(s.api, s.at, "repeatTime", s.repeats, 0, 255, "one repeat is 32 elements; split longer lists and merge them with MrgSort"));
    check_place(s.api, s.at, 0, "dst", s.dst, p.z, s.type, kBlock);
    check_place(s.api, s.at, 1, "scores", s.src, p.z, s.type, kBlock);
    check_place(s.api, s.at, 2, "indices", s.index, 4, DType::U32, kBlock);
    note_alignment(s, "dst", s.dst, 256);
    note_alignment(s, "the scores", s.src, 32u * p.z);
    note_alignment(s, "the indices", s.index, 128);
    p.dst = s.dst.addr;
    p.src = s.src.addr;
    p.index = s.index.addr;
    in.op = s.api;
    in.at = s.at;
    in.undef = Undef::Forbid;
    if (!p.repeats) return p;
    const uint32_t n = p.repeats * 32;
    check_apart(s.api, s.at, s.dst, n * 8, s.src, n * p.z, "scores", "give dst its own buffer of 8 bytes per element");
    check_apart(s.api, s.at, s.dst, n * 8, s.index, n * 4, "indices", "give dst its own buffer of 8 bytes per element");
    in.add(local(s.src, kRead, 0, n * p.z, "scores", p.z));
    in.add(local(s.index, kRead, 0, n * 4, "indices", 4));
    in.add(local(s.dst, kWrite, 0, n * 8, "dst", p.z));
    in.body = sort_run;
    return p;
}

void sort32(const SortCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    Instr in;
    const SortPlan p = sort_plan(s, in);
    if (p.repeats) set_cost(in, "Sort32", s.type, p.repeats, uint64_t(p.repeats) * 32);
    in.put(p);
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

void sort(const SortCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    Instr in;
    SortPlan p = sort_plan(s, in);
    p.full = s.full;
    if (p.repeats) {
        const uint32_t bytes = p.repeats * 256;
        set_cost(in, "Sort32", s.type, p.repeats, uint64_t(p.repeats) * 32);
        if (p.full && p.repeats > 1) {
            check_needs("Sort", s.at, "tmp", s.tmp, bytes, Severity::Error, ", 8 B per element");
            check_place("Sort", s.at, 3, "tmp", s.tmp, p.z, s.type, kBlock);
            if (s.tmp.mem == Mem::UB) in.add(local(s.tmp, kWrite, 0, std::min(bytes, s.tmp.bytes), "tmp", p.z));
            const VecCost merge = vec_cost("MrgSort", "f32");
            uint32_t passes = 0;
            for (uint32_t lists = p.repeats; lists > 1; lists = (lists + 3) / 4) ++passes;
            in.slope = (in.slope * float(p.repeats) + float(passes) * merge.slope * float(p.repeats * 32)) / float(p.repeats);
            in.head += float(passes) * merge.head;
        }
    }
    in.put(p);
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

// ===== Extract
void extract_run(Core& c, const Instr& in) {
    const SortPlan& p = in.get<SortPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t n = p.repeats * 32;
    const Undefined holes(p.src, p.src + uint64_t(n) * 8);
    const std::vector<uint8_t> pairs(ub + p.src, ub + p.src + n * 8);
    bool broken = false;
    uint32_t unsorted = 0;
    Pair last{};
    for (uint32_t k = 0; k < n; ++k) {
        Pair q;
        std::memcpy(q.byte, &pairs[k * 8], 8);
        std::memcpy(ub + p.dst + k * p.z, q.byte, p.z);
        std::memcpy(ub + p.index + k * 4, q.byte + 4, 4);
        if (holes.any && holes.at(p.src + k * 8, p.z)) mark_undefined(c, Mem::UB, p.dst + k * p.z, p.dst + (k + 1) * p.z);
        if (holes.any && holes.at(p.src + k * 8 + 4, 4)) mark_undefined(c, Mem::UB, p.index + k * 4, p.index + (k + 1) * 4);
        if (k && before(q, last, p.z)) { if (k % 32) broken = true; else ++unsorted; }
        last = q;
    }
    if (unsorted && !broken && !holes.any && checks_on())
        report(Severity::Note, "BAD_PARAMETER", in.at, fmt("Extract: the groups of 32 are sorted, the whole list of %u is not: the groups were not merged", n),
               "Sort32 sorts groups of 32; join them with MrgSort, or use Sort<T, true>");
}

void extract(const SortCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    SortPlan p{};
    p.z = uint8_t(size_of(s.type));
    p.repeats = uint32_t(check_range(s.api, s.at, "repeatTime", s.repeats, 0, 255, "one repeat is 32 pairs"));
    check_place(s.api, s.at, 0, "dstValue", s.dst, p.z, s.type, kBlock);
    check_place(s.api, s.at, 1, "dstIndex", s.index, 4, DType::U32, kBlock);
    check_place(s.api, s.at, 2, "sorted", s.src, p.z, s.type, kBlock);
    p.dst = s.dst.addr;
    p.src = s.src.addr;
    p.index = s.index.addr;
    Instr in;
    in.op = s.api;
    in.at = s.at;
    in.undef = Undef::Ignore;
    leave_mask(kRepeat / p.z, s.at);
    if (p.repeats) {
        const uint32_t n = p.repeats * 32;
        in.add(local(s.src, kRead, 0, n * 8, "sorted", p.z));
        in.add(local(s.dst, kWrite, 0, n * p.z, "dstValue", p.z));
        in.add(local(s.index, kWrite, 0, n * 4, "dstIndex", 4));
        set_cost(in, "GatherMask", DType::U32, 2 * p.repeats, n);              // it consists of two
        in.body = extract_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_sort32(const twin::SortCall* call) { twin::sort32(*call); }
void tw_vec_sort(const twin::SortCall* call) { twin::sort(*call); }
void tw_vec_extract(const twin::SortCall* call) { twin::extract(*call); }
}
