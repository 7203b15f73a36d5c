// Regions: building them, walking their bytes, and carrying undefined bytes from sources to destinations.
#include "regions.h"

namespace twin {

Region local(const LocalRef& t, uint8_t rw, uint64_t offset, uint32_t bytes, const char* name, uint8_t esize) {
    Region r;
    r.mem = t.mem;
    r.rw = rw;
    r.esize = esize;
    r.len = bytes;
    r.addr = t.addr + offset;
    r.owner = t;
    r.name = name;
    return r;
}

Region global(const void* p, uint8_t rw, uint64_t bytes, const char* name) {
    Region r;
    r.mem = Mem::GM;
    r.rw = rw;
    // len has 32 bits: larger transfers (one copy moves at most 4095 x 2 MiB) become rows of 1 GiB
    constexpr uint64_t row = 1u << 30;
    if (bytes > row) { r.n1 = uint32_t(bytes / row); r.s1 = row; r.len = row; } else { r.len = uint32_t(bytes); }
    r.addr = reinterpret_cast<uint64_t>(p);
    r.name = name;
    return r;
}

void for_each_run(const Region& r, const std::function<void(uint64_t, uint64_t)>& f) { walk(r, [&](uint64_t lo, uint64_t hi) { f(lo, hi); }); }

bool extent(const Region& r, uint64_t& lo, uint64_t& hi) {
    if (r.len == 0 || r.n0 == 0 || r.n1 == 0) return false;
    if (!r.masked && !r.tail) {
        int64_t a = std::min<int64_t>(0, int64_t(r.n0 - 1) * r.s0) + std::min<int64_t>(0, int64_t(r.n1 - 1) * r.s1);
        int64_t b = std::max<int64_t>(0, int64_t(r.n0 - 1) * r.s0) + std::max<int64_t>(0, int64_t(r.n1 - 1) * r.s1);
        lo = r.addr + a;
        hi = r.addr + b + r.len;
        return true;
    }
    lo = ~0ull; hi = 0;
    walk(r, [&](uint64_t a, uint64_t b) { lo = std::min(lo, a); hi = std::max(hi, b); });
    return lo < hi;
}

// Calls f(first element, bytes lo, hi) for each run of consecutive elements in element order.
template <class F> static void walk_elements(const Region& r, F f) {
    const uint64_t row = r.len / r.esize, per_i = row * r.n1;
    for (uint32_t i = 0; i < r.n0; ++i) {
        uint64_t limit = r.tail && i == r.n0 - 1 ? r.tail : per_i;
        for (uint32_t j = 0; j < r.n1; ++j) {
            uint64_t e0 = j * row;
            if (e0 >= limit) break;
            uint64_t count = std::min<uint64_t>(row, limit - e0);
            uint64_t base = r.addr + int64_t(i) * r.s0 + int64_t(j) * r.s1;
            if (!r.masked) { f(i * per_i + e0, base, base + count * r.esize); continue; }
            for (uint64_t k = 0; k < count; ++k) {
                uint64_t bit = e0 + k;
                if (bit < 128 && (r.mask[bit / 64] >> (bit % 64) & 1))
                    f(i * per_i + e0 + k, base + k * r.esize, base + (k + 1) * r.esize);
            }
        }
    }
}

Elements undefined_elements(const std::function<Shadow*(const Region&)>& shadow, const Instr& in) {
    Elements bad;
    auto all = [&](auto f) { for (int i = 0; i < in.nreg; ++i) f(in.reg[i]); for (const Region& r : in.more) f(r); };
    all([&](const Region& r) {
        if (!(r.rw & kRead)) return;
        Shadow* s = shadow(r);
        if (!s) return;
        walk_elements(r, [&](uint64_t e, uint64_t lo, uint64_t hi) {
            s->look(lo, hi, [&](uint64_t a, uint64_t z, const Cell& c) {
                if (c.undef != kDefined) bad.push_back({e + (a - lo) / r.esize, e + (z - lo + r.esize - 1) / r.esize});
            });
        });
    });
    std::sort(bad.begin(), bad.end());
    size_t kept = 0;
    for (const auto& r : bad) {
        if (kept && r.first <= bad[kept - 1].second) bad[kept - 1].second = std::max(bad[kept - 1].second, r.second);
        else bad[kept++] = r;
    }
    bad.resize(kept);
    return bad;
}

void propagate_undefined(const std::function<Shadow*(const Region&)>& shadow, const Instr& in, const Elements& bad) {
    if (bad.empty()) return;
    auto all = [&](auto f) { for (int i = 0; i < in.nreg; ++i) f(in.reg[i]); for (const Region& r : in.more) f(r); };
    all([&](const Region& r) {
        if (!(r.rw & kWrite)) return;
        Shadow* s = shadow(r);
        if (!s) return;
        walk_elements(r, [&](uint64_t e, uint64_t lo, uint64_t hi) {
            const uint64_t n = (hi - lo) / r.esize;
            auto i = std::partition_point(bad.begin(), bad.end(), [&](const auto& x) { return x.second <= e; });
            for (; i != bad.end() && i->first < e + n; ++i) {
                uint64_t a = std::max(i->first, e), z = std::min(i->second, e + n);
                s->define(lo + (a - e) * r.esize, lo + (z - e) * r.esize, kNeverWritten);
            }
        });
    });
}

}  // namespace twin
