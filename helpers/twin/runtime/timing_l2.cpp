#include "timing_l2.h"

#include <algorithm>

namespace twin {

namespace {
constexpr uint64_t kLine = 512;
constexpr uint64_t kSectors = 16;              // of a line
int bits(uint32_t v) { return __builtin_popcount(v); }
}  // namespace

uint32_t L2::page(uint64_t key) {
    if (key == last_key_) return last_page_;
    auto [it, fresh] = index_.try_emplace(key, uint32_t(pages_.size()));
    if (fresh) pages_.push_back(std::make_unique<Page>());
    last_key_ = key;
    return last_page_ = it->second;
}

void L2::meet(const CopyCost& c) {
    const uint64_t all = c.gm | c.row_bytes | (c.rows > 1 ? uint64_t(c.row_pitch) : 0);
    while (line_ > kLine && all % line_) line_ /= 2;
}

// f(node, mask of sectors, bytes) for every line that a row of the copy touches.
template <class F>
void L2::each_line(const CopyCost& c, F f) {
    for (uint32_t i = 0; i < c.rows; ++i) {
        uint64_t lo = c.gm + uint64_t(int64_t(i) * c.row_pitch);
        const uint64_t end = lo + c.row_bytes;
        while (lo < end) {                             // page by page, and inside a page line by line
            const uint64_t key = lo / (line_ * kLines), stop = std::min(end, (key + 1) * line_ * kLines);
            uint32_t node = page(key) * kLines + uint32_t(lo / line_ % kLines);
            for (; lo < stop; ++node) {
                const uint32_t from = uint32_t(lo % line_);
                if (from == 0 && stop - lo >= line_) { f(node, 0xffffu, line_); lo += line_; continue; }
                const uint64_t hi = std::min(stop, lo - from + line_);
                const uint32_t first = from / (line_ / kSectors), last = uint32_t((hi - 1) % line_ / (line_ / kSectors));
                f(node, ((2u << last) - 1) & ~((1u << first) - 1), hi - lo);
                lo = hi;
            }
        }
    }
}

void L2::want(const CopyCost& c) {
    if (!c.store && !c.cache) return;
    each_line(c, [&](uint32_t n, uint32_t mask, uint64_t) {
        uint16_t& w = pages_[n / kLines]->want[n % kLines];
        footprint_ += uint64_t(bits(mask & ~uint32_t(w))) * (line_ / kSectors);
        w = uint16_t(w | mask);
    });
}

void L2::settle(bool warm) {
    if (fits()) {
        if (warm)
            for (auto& p : pages_) std::copy(p->want, p->want + kLines, p->have);
        return;
    }
    links_.resize(pages_.size());
    for (auto& l : links_) l = std::make_unique<Links>();
}

// Moves a line to the front; when a fresh one makes too many, the oldest leaves.
void L2::use(uint32_t n, bool fresh) {
    if (n == newest_) return;
    if (!fresh) {
        const uint32_t p = prev(n), q = next(n);
        next(p) = q;                                   // n is not the newest: p exists
        if (q != kNone) prev(q) = p; else oldest_ = p;
    }
    prev(n) = kNone;
    next(n) = newest_;
    if (newest_ != kNone) prev(newest_) = n; else oldest_ = n;
    newest_ = n;
    if (!fresh) return;
    if (double(++resident_ * line_) > capacity_ && oldest_ != n) {
        const uint32_t out = oldest_;
        pages_[out / kLines]->have[out % kLines] = 0;
        oldest_ = prev(out);
        next(oldest_) = kNone;
        --resident_;
    }
}

Passage L2::touch(const CopyCost& c) {
    Passage t;
    const bool bypass = !c.store && !c.cache, evicting = !links_.empty();
    const double bursts = double(line_ / kLine);      // of one line
    if (bypass) {
        for (uint32_t i = 0; i < c.rows && c.row_bytes; ++i) {
            const uint64_t lo = c.gm + uint64_t(int64_t(i) * c.row_pitch);
            t.miss_bursts += double((lo + c.row_bytes - 1) / kLine - lo / kLine + 1);
        }
        t.miss_bytes = uint64_t(c.rows) * c.row_bytes;
        return t;
    }
    each_line(c, [&](uint32_t n, uint32_t mask, uint64_t bytes) {
        uint16_t& have = pages_[n / kLines]->have[n % kLines];
        const uint32_t missing = mask & ~uint32_t(have);
        const bool fresh = have == 0;
        if (missing) {
            const uint64_t missed = bytes * bits(missing) / bits(mask);
            t.miss_bursts += bursts;
            t.miss_bytes += missed;
            t.hit_bytes += bytes - missed;
            have = uint16_t(have | mask);
        } else {
            t.hit_bursts += bursts;
            t.hit_bytes += bytes;
        }
        if (evicting) use(n, fresh);
    });
    return t;
}

}  // namespace twin
