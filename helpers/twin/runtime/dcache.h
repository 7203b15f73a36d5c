// The data caches of all cores: which 64 B lines each holds, which bytes are dirty, and which have gone stale.
//
// Values are stored through at once, so that results are those of a correct program. The cache exists to find programs
// that are right only here: on the device lines reach GM late and whole, and nothing tells a cache that GM has changed.
// Lines are counted in device addresses, where every buffer starts on a line.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "engine.h"

namespace twin {

constexpr uint64_t kLine = 64;

struct Line {
    uint64_t valid = 0, dirty = 0, stale = 0;   // one bit per byte
    At loaded_at{nullptr, 0}, stale_at{nullptr, 0};
    int64_t stale_block = -1;
    const char* stale_by = "";
};

// What a core wrote into a line during the launch. It outlives the core: a write-back at the end of a kernel is not
// ordered with anything other cores do.
struct Writer {
    int core;
    int64_t block;
    uint64_t bytes, dirty;   // ever written; not written back yet
    At at;
    uint32_t cleaned;        // number of the scalar operation that wrote it back, 0 = not yet
};

struct CacheState {
    std::unordered_map<uint64_t, Line> lines;
    std::vector<uint64_t> order;   // lines in the order they were loaded
    size_t oldest = 0;
    uint64_t last = 0;             // the line used last
    Line* last_line = nullptr;
};

struct Caches {
    std::map<uint64_t, std::vector<std::pair<Core*, Line*>>> holders;   // who holds a line
    size_t shared = 0;                                                  // lines that more than one core holds
    std::map<uint64_t, std::vector<Writer>> writers;
    std::unordered_map<uint64_t, char> fetched;                         // 512 B lines the scalar units have brought into L2
    struct Costs { float get_hit, get_l2, get_hbm, set, clean_line, clean_all, bypass_get, bypass_set; } cost;
};
Caches& caches();

// Bits of [p, p + bytes) inside the line at `line`.
inline uint64_t line_mask(uint64_t line, uint64_t p, uint64_t bytes) {
    const uint64_t lo = p > line ? p - line : 0, hi = p + bytes < line + kLine ? p + bytes - line : kLine;
    if (lo >= hi) return 0;
    return (hi - lo == 64 ? ~0ull : ((1ull << (hi - lo)) - 1)) << lo;
}

// ----- what dcache_check.cpp looks for
void check_cached_read(Core& c, const Line& l, uint64_t line, uint64_t bytes, const void* p, At at);
void check_cached_write(Core& c, const Line& l, uint64_t line, uint64_t bytes, const void* p, At at);
void check_bypass(Core& c, uint64_t line, uint64_t bytes, bool write, const void* p, const char* op, At at);
void note_written_back(Core& c, uint64_t line, uint64_t bytes);
// Bytes of a line have changed in GM: caches that hold them (except one) are out of date.
void now_stale(const Core* except, uint64_t line, uint64_t bytes, const char* by, At at);

}  // namespace twin
