// Scalar access to GM through the data cache of a core.
#include "dcache.h"

#include <cstring>

#include "copy_core.h"
#include "hooks.h"
#include "state.h"

using namespace twin;

namespace twin {

static Caches g_caches;

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

// ===== Words
static std::string element_of(const void* p) {
    const GmBuffer* b = gm_find(p);
    if (!b) return describe_gm(p);
    const uint32_t size = size_of(b->dtype) ? size_of(b->dtype) : 1;
    return fmt("%s[%llu]", b->workspace ? "workspace" : b->name.c_str(), static_cast<unsigned long long>((static_cast<const uint8_t*>(p) - b->base) / size));
}
// Lines are counted in device addresses, where every buffer starts on a line.
static std::string line_of(uint64_t line) {
    for (const GmBuffer& b : launch().gm)
        if (line >= b.device && line < b.device + b.bytes) return element_of(b.base + (line - b.device));
    return fmt("0x%llx", static_cast<unsigned long long>(line));
}
static std::string both(At a, At b) { return a.line == b.line ? "both at " + where(a) : where(a) + " and " + where(b); }
static const char* kClean = "after the write call DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT> on the element";

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
    for (int tries = 0; tries < 2 && s.lines.size() > kLines && s.order[s.oldest] != newest; ++tries) {
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

// ===== What another core or a copy did to a line that is held
static void now_stale(const Core* except, uint64_t line, uint64_t bytes, const char* by, At at) {
    if (except && !g_caches.shared) return;
    auto h = g_caches.holders.find(line);
    if (h == g_caches.holders.end()) return;
    for (auto& [owner, l] : h->second) {
        if (owner == except || !(l->valid & bytes)) continue;
        l->stale |= l->valid & bytes;
        l->stale_at = at;
        l->stale_by = by;
        l->stale_block = core().block;
    }
}

static bool ordered_after(const Writer& w) {
    if (!w.cleaned) return false;
    const Clock& now = board().K[static_cast<int>(Pipe::S)];
    return now.remote && (*now.remote)[static_cast<size_t>(w.core * kPipes + static_cast<int>(Pipe::S))] >= w.cleaned;
}

static void note_writer(Core& c, uint64_t line, uint64_t bytes, At at) {
    constexpr size_t kRemembered = 1u << 18;
    auto found = g_caches.writers.find(line);
    if (found == g_caches.writers.end()) {
        if (g_caches.writers.size() >= kRemembered) return;
        found = g_caches.writers.emplace(line, std::vector<Writer>()).first;
    }
    Writer* mine = nullptr;
    for (Writer& w : found->second) {
        if (w.core == c.id) { mine = &w; continue; }
        if (!(w.bytes & ~bytes) || ordered_after(w)) continue;        // the same bytes: a conflict of its own
        report(Severity::Error, "CACHE_STALE", at,
               fmt("blocks %lld and %lld write different bytes of one 64-byte cache line, the one that starts at %s (%s): a line goes back to GM whole, so the later write-back undoes the earlier",
                   static_cast<long long>(w.block), static_cast<long long>(c.block), line_of(line).c_str(), both(w.at, at).c_str()),
               "give every block a line of its own (64 B apart), collect the values in UB and store them with DataCopyPad, or use WriteGmByPassDCache");
    }
    if (!mine) { found->second.push_back({c.id, c.block, bytes, at, 0}); return; }
    mine->bytes |= bytes;
    mine->at = at;
    mine->cleaned = 0;
}

// ===== Reading and writing
static void check_read(Core& c, Line& l, uint64_t line, uint64_t bytes, const void* p, At at) {
    if (l.stale & bytes) {
        const bool polling = board().polled == p && board().polls > 0;
        report(Severity::Error, "CACHE_STALE", at,
               polling ? fmt("this loop never sees the update: %s was cached at %s, then %s of block %lld changed it in GM (%s)", element_of(p).c_str(), where(l.loaded_at).c_str(),
                             l.stale_by, static_cast<long long>(l.stale_block), where(l.stale_at).c_str())
                       : fmt("the scalar unit reads an old %s: its cache line was loaded at %s, then %s of block %lld changed GM (%s)", element_of(p).c_str(),
                             where(l.loaded_at).c_str(), l.stale_by, static_cast<long long>(l.stale_block), where(l.stale_at).c_str()),
               "call DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT> before the read, or use ReadGmByPassDCache");
    }
    if (!g_caches.shared) return;
    const auto h = g_caches.holders.find(line);
    if (h == g_caches.holders.end()) return;
    for (auto& [owner, other] : h->second)
        if (owner != &c && (other->dirty & bytes))
            report(Severity::Error, "CACHE_STALE", at,
                   fmt("%s was written by SetValue of block %lld (%s) and is still in that core's data cache: block %lld reads the old value", element_of(p).c_str(),
                       static_cast<long long>(owner->block), where(other->dirty_at).c_str(), static_cast<long long>(c.block)), kClean);
}

static void check_write(Core& c, Line& l, uint64_t line, uint64_t bytes, At at) {
    const uint64_t undone = l.stale & ~bytes;
    if (undone)
        report(Severity::Error, "CACHE_STALE", at,
               fmt("SetValue dirties the cache line at %s, loaded at %s; since then %s of block %lld changed other bytes of it (%s), and the write-back of the whole line undoes that",
                   line_of(line).c_str(), where(l.loaded_at).c_str(), l.stale_by, static_cast<long long>(l.stale_block), where(l.stale_at).c_str()),
               "call DataCacheCleanAndInvalid on the line before SetValue, or keep scalar results in lines that no copy touches");
    note_writer(c, line, bytes, at);
    now_stale(&c, line, bytes, "SetValue", at);
}

static void scalar_bytes(uint8_t* p, uint32_t bytes, bool write, At at) {
    Core& c = core();
    const uint64_t a = gm_device_address(p);
    for (uint64_t line = a / kLine * kLine; line < a + bytes; line += kLine) {
        const uint64_t mask = line_mask(line, a, bytes);
        Line& l = load(c, line, mask, !write, at);
        if (!checks_on()) continue;
        if (!write) { check_read(c, l, line, mask, p, at); continue; }
        if ((l.dirty & mask) != mask || l.stale || g_caches.shared) check_write(c, l, line, mask, at);
        l.dirty |= mask;
        l.dirty_at = at;
    }
}

// ===== Writing back
static void clean_line(Core& c, uint64_t line, uint64_t bytes) {
    auto found = cache_of(c).lines.find(line);
    if (found == cache_of(c).lines.end()) return;
    Line& l = found->second;
    if (l.dirty & bytes) {
        auto w = g_caches.writers.find(line);
        if (w != g_caches.writers.end() && !(l.dirty & ~bytes))
            for (Writer& x : w->second) if (x.core == c.id) x.cleaned = board().n[static_cast<int>(Pipe::S)];
    }
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

// ===== Copies go past the caches
void dcache_gm_dma(Core& c, const void* p, uint64_t bytes, bool write, At at) {
    if (g_caches.holders.empty() || !bytes) return;
    const uint64_t lo = gm_device_address(p), hi = lo + bytes;
    for (auto h = g_caches.holders.lower_bound(lo / kLine * kLine); h != g_caches.holders.end() && h->first < hi; ++h) {
        const uint64_t line = h->first, mask = line_mask(line, lo, bytes);
        for (auto& [owner, l] : h->second) {
            if (!write && (l->dirty & mask))
                report(Severity::Error, "CACHE_STALE", at,
                       fmt("this copy reads %s.. from GM, but SetValue of block %lld (%s) left bytes of it in the data cache: copies do not see them", line_of(line).c_str(),
                           static_cast<long long>(owner->block), where(l->dirty_at).c_str()), kClean);
            if (!write) continue;
            if (l->dirty)
                report(Severity::Error, "CACHE_STALE", at,
                       fmt("this copy stores into the cache line at %s while SetValue of block %lld (%s) holds it dirty in its data cache: the write-back of the whole line undoes the copy",
                           line_of(line).c_str(), static_cast<long long>(owner->block), where(l->dirty_at).c_str()),
                       "call DataCacheCleanAndInvalid on the line between SetValue and the copy, or keep scalar results in lines that no copy touches");
            l->stale |= l->valid & mask;
            l->stale_at = at;
            l->stale_by = "a copy";
            l->stale_block = c.block;
        }
    }
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
    const auto h = g_caches.holders.find(line);
    if (checks_on() && h != g_caches.holders.end())
        for (auto& [owner, l] : h->second) {
            if (!write && (l->dirty & mask))
                report(Severity::Error, "CACHE_STALE", at, fmt("%s was written by SetValue of block %lld (%s) and is still in that core's data cache: %s reads the old value", element_of(address).c_str(),
                                                               static_cast<long long>(owner->block), where(l->dirty_at).c_str(), op), kClean);
            if (write && l->dirty)
                report(Severity::Error, "CACHE_STALE", at,
                       fmt("%s writes into a line that SetValue of block %lld (%s) holds dirty in its data cache: the write-back may undo it", op, static_cast<long long>(owner->block), where(l->dirty_at).c_str()),
                       "first DataCacheCleanAndInvalid on the line, then DataSyncBarrier<MemDsbT::DDR>(), then the write");
        }
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
