// Internal: walking regions without a std::function.
#pragma once
#include "state.h"

namespace twin {

// f(lo, hi) for every maximal contiguous run of bytes of the region.
template <class F> void walk(const Region& r, F f) {
    if (r.len == 0) return;
    const bool dense1 = r.n1 == 1 || r.s1 == int64_t(r.len);
    const uint64_t per_i = uint64_t(r.len) * r.n1;
    if (!r.masked && !r.tail) {
        if (dense1) {
            if (r.n0 == 1 || r.s0 == int64_t(per_i)) { f(r.addr, r.addr + per_i * r.n0); return; }
            for (uint32_t i = 0; i < r.n0; ++i) { uint64_t a = r.addr + int64_t(i) * r.s0; f(a, a + per_i); if (r.s0 == 0) break; }
            return;
        }
        for (uint32_t i = 0; i < r.n0; ++i) {
            for (uint32_t j = 0; j < r.n1; ++j) { uint64_t a = r.addr + int64_t(i) * r.s0 + int64_t(j) * r.s1; f(a, a + r.len); if (r.s1 == 0) break; }
            if (r.s0 == 0) break;
        }
        return;
    }
    const uint32_t row = r.len / r.esize;
    for (uint32_t i = 0; i < r.n0; ++i) {
        uint64_t limit = r.tail && i == r.n0 - 1 ? r.tail : uint64_t(row) * r.n1;
        uint64_t lo = 0, hi = 0;   // run being grown
        for (uint32_t j = 0; j < r.n1; ++j) {
            uint64_t base = r.addr + int64_t(i) * r.s0 + int64_t(j) * r.s1;
            uint64_t first = uint64_t(j) * row;
            if (first >= limit) break;
            uint64_t count = std::min<uint64_t>(row, limit - first);
            for (uint64_t k = 0; k < count; ++k) {
                uint64_t bit = first + k;
                if (r.masked && (bit >= 128 || !(r.mask[bit / 64] >> (bit % 64) & 1))) continue;
                uint64_t a = base + k * r.esize;
                if (hi == a && lo < hi) { hi += r.esize; continue; }
                if (lo < hi) f(lo, hi);
                lo = a;
                hi = a + r.esize;
            }
        }
        if (lo < hi) f(lo, hi);
    }
}

// Lowest and highest byte the region touches; false when it touches none.
bool extent(const Region& r, uint64_t& lo, uint64_t& hi);
// Of an element-wise instruction, before it writes: ranges of elements that are undefined in some source.
using Elements = std::vector<std::pair<uint64_t, uint64_t>>;
Elements undefined_elements(const std::function<Shadow*(const Region&)>& shadow, const Instr& in);
// After it: what was computed from them is undefined.
void propagate_undefined(const std::function<Shadow*(const Region&)>& shadow, const Instr& in, const Elements& bad);

}  // namespace twin
