// Scalar access to GM through the data cache of a core: lines, costs, entry points.
#include "dcache.h"

#include <cstring>

#include "copy_core.h"
#include "hooks.h"
#include "state.h"

using namespace twin;

namespace twin {

static Caches g_caches;
Caches& caches() { return g_caches; }

void dcache_begin() {
    g_caches.holders.clear();
    g_caches.shared = 0;
    g_caches.writers.clear();
    g_caches.fetched.clear();
    auto n = [](const char* key, double otherwise) { return static_cast<float>(chip().num(key, otherwise)); };
    g_caches.cost = {n("gm_get_hit_cycles", 12), n("gm_get_l2_ns", 250), n("gm_get_hbm_ns", 450), n("gm_set_cycles", 10),
                     n("clean_line_ns", 100), n("clean_all_ns", 2000), n("gm_bypass_get_ns", 350), n("gm_bypass_set_cycles", 20)};
}

static CacheState& cache_of(Core& c) {
    if (!c.cache) c.cache = std::make_shared<CacheState>();
    return *c.cache;
}

// ===== Lines
static void forget(Core& c, uint64_t line) {
    CacheState& s = *c.cache;
    auto h = g_caches.holders.find(line);
    if (h != g_caches.holders.end()) {
        auto& v = h->second;
        for (size_t i = 0; i < v.size(); ++i) if (v[i].first == &c) { v[i] = v.back(); v.pop_back(); break; }
        if (v.size() == 1) --g_caches.shared;
        if (v.empty()) g_caches.holders.erase(h);
    }
    s.lines.erase(line);
    if (s.last == line) s.last_line = nullptr;
}

// The cache holds 32 KB. Clean lines leave in the order they came. When a dirty line leaves is not known and nothing may
// rely on it, so it stays, until there are far too many.
static void make_room(Core& c, uint64_t newest) {
    CacheState& s = *c.cache;
    constexpr size_t kLines = 512, kTooMany = 65536;
    while (s.order.size() - s.oldest > kLines) {
        auto l = s.lines.find(s.order[s.oldest++]);
        if (l != s.lines.end() && !l->second.dirty) forget(c, l->first);
    }
    if (s.lines.size() > kTooMany) {
        auto any = s.lines.begin();
        if (any->first == newest) ++any;
        forget(c, any->first);
    }
    if (s.oldest > 4 * kLines) { s.order.erase(s.order.begin(), s.order.begin() + static_cast<long>(s.oldest)); s.oldest = 0; }
}

static Line& load(Core& c, uint64_t line, uint64_t need, bool charge_miss, At at) {
    CacheState& s = cache_of(c);
    Line* l = s.last == line ? s.last_line : nullptr;
    if (!l) {
        auto found = s.lines.find(line);
        if (found != s.lines.end()) l = &found->second;
    }
    if (!l) {
        l = &s.lines[line];
        s.order.push_back(line);
        auto& holders = g_caches.holders[line];
        holders.push_back({&c, l});
        if (holders.size() == 2) ++g_caches.shared;
        make_room(c, line);
    }
    s.last = line;
    s.last_line = l;
    if ((l->valid & need) == need) return *l;
    if (!l->valid) l->loaded_at = at;
    l->stale &= l->valid;              // what is fetched now is fresh
    l->valid = ~0ull;
    if (charge_miss) {
        char& in_l2 = g_caches.fetched[line / 512];
        charge_ns(in_l2 ? g_caches.cost.get_l2 : g_caches.cost.get_hbm, at);
        in_l2 = 1;
    }
    return *l;
}

// ===== Reading and writing
static void scalar_bytes(uint8_t* p, uint32_t bytes, bool write, At at) {
    Core& c = core();
    const uint64_t a = gm_device_address(p);
    for (uint64_t line = a / kLine * kLine; line < a + bytes; line += kLine) {
        const uint64_t mask = line_mask(line, a, bytes);
        Line& l = load(c, line, mask, !write, at);
        if (!checks_on()) continue;
        if (!write) { check_cached_read(c, l, line, mask, p, at); continue; }
        if ((l.dirty & mask) != mask || l.stale || g_caches.shared) check_cached_write(c, l, line, mask, p, at);
        l.dirty |= mask;
    }
}

// ===== Writing back
static void clean_line(Core& c, uint64_t line, uint64_t bytes) {
    note_written_back(c, line, bytes);
    auto found = cache_of(c).lines.find(line);
    if (found == cache_of(c).lines.end()) return;
    Line& l = found->second;
    l.dirty &= ~bytes;
    l.valid &= ~bytes;
    l.stale &= ~bytes;
    if (!l.valid) forget(c, line);
}

// A write-back is a scalar operation of its own: cores that learn of it through a later sync see the line.
static void step_scalar_clock(At at) {
    note_scalar(at);
    Scoreboard& b = board();
    b.K[static_cast<int>(Pipe::S)].own[static_cast<int>(Pipe::S)] = ++b.n[static_cast<int>(Pipe::S)];
}

void dcache_core_end(Core& c) {
    if (!c.cache) return;
    while (!c.cache->lines.empty()) forget(c, c.cache->lines.begin()->first);
    c.cache.reset();
}

}  // namespace twin

extern "C" {

void tw_gm_scalar(const GlobalRef* g, uint64_t byte_offset, uint32_t bytes, void* value, int write, At at) {
    const char* op = write ? "SetValue" : "GetValue";
    gm_check(*g, byte_offset, bytes, at, op, "the tensor");
    uint8_t* p = g->ptr + byte_offset;
    charge(write ? g_caches.cost.set : g_caches.cost.get_hit, at);
    scalar_gm(p, bytes, write, at, op);
    scalar_bytes(p, bytes, write, at);
    if (write) std::memcpy(p, value, bytes); else std::memcpy(value, p, bytes);
}

void tw_gm_bypass(void* address, uint32_t bytes, void* value, int write, At at) {
    const char* op = write ? "WriteGmByPassDCache" : "ReadGmByPassDCache";
    GlobalRef g;
    g.ptr = static_cast<uint8_t*>(address);
    g.set = 1;
    gm_check(g, 0, bytes, at, op, "the address");
    if (write) charge(g_caches.cost.bypass_set, at); else charge_ns(g_caches.cost.bypass_get, at);
    scalar_gm(address, bytes, write, at, op);
    const uint64_t a = gm_device_address(address), line = a / kLine * kLine, mask = line_mask(line, a, bytes);
    if (checks_on()) check_bypass(core(), line, mask, write, address, op, at);
    if (write && checks_on()) now_stale(nullptr, line, mask, op, at);
    if (write) std::memcpy(address, value, bytes); else std::memcpy(value, address, bytes);
}

void tw_dcache_clean(const void* p, int entire, int dst, At at) {
    constexpr int ub = 1, atomic = 3;
    if (dst == atomic)
        fatal("UNSUPPORTED_API", at, "DataCacheCleanAndInvalid: DcciDst::CACHELINE_ATOMIC does not exist on this chip", "use DcciDst::CACHELINE_OUT");
    charge_ns(entire ? g_caches.cost.clean_all : g_caches.cost.clean_line, at);
    Core& c = core();
    if (dst == ub || !c.cache) return;
    step_scalar_clock(at);
    if (entire) {
        std::vector<uint64_t> all;
        for (const auto& l : c.cache->lines) all.push_back(l.first);
        for (uint64_t line : all) clean_line(c, line, ~0ull);
        return;
    }
    const uint64_t a = gm_device_address(p), line = a / kLine * kLine;
    clean_line(c, line, line_mask(line, a, line + kLine - a));
}

void tw_dcache_preload(const void* p, At at) {
    charge(8, at);
    if (gm_find(p)) load(core(), gm_device_address(p) / kLine * kLine, ~0ull, false, at);
}

}  // extern "C"
