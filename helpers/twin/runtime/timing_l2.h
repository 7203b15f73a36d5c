// The L2 cache of the cost model: lines of 512 bytes, least recently used out first, shared by all cores.
//
// A line knows which of its sixteen 32-byte sectors it holds, so that neighbours of a copy are not counted as read.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trace.h"

namespace twin {

struct Passage {
    double hit_bursts = 0, miss_bursts = 0;
    uint64_t hit_bytes = 0, miss_bytes = 0;
};

class L2 {
public:
    explicit L2(double capacity_bytes) : capacity_(capacity_bytes) {}

    // Before the first pass: when every copy of the kernel starts and ends on multiples of 1 KB, 2 KB, … 64 KB, its lines
    // always come and go together and are kept as one.
    void meet(const CopyCost& c);
    // First pass over all copies of a kernel: the distinct bytes that want a place in the L2.
    void want(const CopyCost& c);
    // Ends the first pass. warm: the previous run left its bytes, if they all fit.
    void settle(bool warm);

    double footprint() const { return double(footprint_); }
    bool fits() const { return footprint() <= capacity_; }
    // One copy passes through the cache.
    Passage touch(const CopyCost& c);

private:
    static constexpr uint32_t kLines = 1024, kNone = ~0u;   // lines of one page
    struct Page {
        uint16_t want[kLines] = {}, have[kLines] = {};
    };
    struct Links { uint32_t prev[kLines], next[kLines]; };  // list of lines by last use, only when evicting

    double capacity_;
    uint64_t line_ = 64 << 10;     // bytes that come and go together
    uint64_t footprint_ = 0;       // bytes
    uint64_t resident_ = 0;        // lines
    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<std::unique_ptr<Links>> links_;
    std::unordered_map<uint64_t, uint32_t> index_;
    uint64_t last_key_ = ~0ull;
    uint32_t last_page_ = 0, newest_ = kNone, oldest_ = kNone;

    uint32_t page(uint64_t key);
    uint32_t& prev(uint32_t n) { return links_[n / kLines]->prev[n % kLines]; }
    uint32_t& next(uint32_t n) { return links_[n / kLines]->next[n % kLines]; }
    void use(uint32_t node, bool fresh);
    template <class F> void each_line(const CopyCost& c, F f);
};

}  // namespace twin
