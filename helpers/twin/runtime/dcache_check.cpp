// What the data cache hides: lines shared by cores, copies that do not see dirty bytes, reads of old values.
#include "dcache.h"

#include "copy_core.h"
#include "hooks.h"
#include "races.h"
#include "state.h"

namespace twin {

// ===== Words
static long long ll(int64_t v) { return static_cast<long long>(v); }
static std::string element_of(const void* p) {
    const GmBuffer* b = gm_find(p);
    if (!b) return describe_gm(p);
    const uint32_t size = size_of(b->dtype) ? size_of(b->dtype) : 1;
    return fmt("%s[%lld]", b->workspace ? "workspace" : b->name.c_str(), ll((static_cast<const uint8_t*>(p) - b->base) / size));
}
static std::string line_of(uint64_t line) {
    for (const GmBuffer& b : launch().gm)
        if (line >= b.device && line < b.device + b.bytes) return element_of(b.base + (line - b.device));
    return fmt("0x%llx", static_cast<unsigned long long>(line));
}
static std::string both(At a, At b) { return a.line == b.line ? "both at " + where(a) : where(a) + " and " + where(b); }

static const char* kCleanAfter = "after the write call DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT> on the element";
static const char* kCleanBefore = "call DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT> before the read, or use ReadGmByPassDCache";
static const char* kOwnLine = "give every block a line of its own (64 B apart), collect the values in UB and store them with DataCopyPad, or use WriteGmByPassDCache";
static const char* kKeepApart = "call DataCacheCleanAndInvalid on the line between SetValue and the copy, or keep scalar results in lines that no copy touches";

// ===== Order between cores
static bool known(int core, int pipe, uint32_t k) {
    const Clock& now = board().K[static_cast<int>(Pipe::S)];
    return now.remote && (*now.remote)[static_cast<size_t>(core * kPipes + pipe)] >= k;
}
static bool ordered_after(const Writer& w) { return w.cleaned && known(w.core, static_cast<int>(Pipe::S), w.cleaned); }

void now_stale(const Core* except, uint64_t line, uint64_t bytes, const char* by, At at) {
    if (except && !caches().shared) return;
    auto h = caches().holders.find(line);
    if (h == caches().holders.end()) return;
    for (auto& [owner, l] : h->second) {
        if (owner == except || !(l->valid & bytes)) continue;
        l->stale |= l->valid & bytes;
        l->stale_at = at;
        l->stale_by = by;
        l->stale_block = core().block;
    }
}

// ===== Scalar writes
static void note_writer(Core& c, uint64_t line, uint64_t bytes, At at) {
    constexpr size_t kRemembered = 1u << 18;
    auto& all = caches().writers;
    auto found = all.find(line);
    if (found == all.end()) {
        if (all.size() >= kRemembered) return;
        found = all.emplace(line, std::vector<Writer>()).first;
    }
    Writer* mine = nullptr;
    for (Writer& w : found->second) {
        if (w.core == c.id) { mine = &w; continue; }
        if (!(w.bytes & ~bytes) || ordered_after(w)) continue;        // the same bytes: a conflict of its own
        report(Severity::Error, "CACHE_STALE", at,
               fmt("blocks %lld and %lld write different bytes of one 64-byte cache line, the one that starts at %s (%s): a line goes back to GM whole, so the later write-back undoes the earlier",
                   ll(w.block), ll(c.block), line_of(line).c_str(), both(w.at, at).c_str()),
               kOwnLine);
    }
    if (!mine) { found->second.push_back({c.id, c.block, bytes, bytes, at, 0}); return; }
    mine->bytes |= bytes;
    mine->dirty |= bytes;
    mine->at = at;
    mine->cleaned = 0;
}

// Copies of other cores that went into the rest of the line and are not known to be over.
static void check_neighbours(Core& c, uint64_t line, const void* p, At at) {
    Shadow* s = gm_shadow_of(reinterpret_cast<uint64_t>(p));
    const GmBuffer* b = gm_find(p);
    if (!s || !b) return;
    const uint64_t base = reinterpret_cast<uint64_t>(b->base), begin = base + (line - b->device);
    s->look(begin, std::min(begin + kLine, base + b->bytes), [&](uint64_t lo, uint64_t, const Cell& cell) {
        auto one = [&](const Touch& w) {
            if (!w.k || w.core == c.id || w.pipe == static_cast<uint8_t>(Pipe::S) || known(w.core, w.pipe, w.k)) return;
            report(Severity::Error, "CACHE_STALE", at,
                   fmt("SetValue dirties the cache line at %s while %s of block %lld (%s) stores %s, in the same line: the write-back of the whole line may undo that", line_of(line).c_str(), w.op,
                       ll(launch().instances[static_cast<size_t>(w.core)]->core.block), where({w.file, w.line}).c_str(), element_of(reinterpret_cast<const void*>(lo)).c_str()),
                   kOwnLine);
        };
        one(cell.write);
        for (const Touch& x : cell.reads) if (x.atomic) one(x);
    });
}

void check_cached_write(Core& c, const Line& l, uint64_t line, uint64_t bytes, const void* p, At at) {
    if (l.stale & ~bytes)
        report(Severity::Error, "CACHE_STALE", at,
               fmt("SetValue dirties the cache line at %s, loaded at %s; since then %s of block %lld changed other bytes of it (%s), and the write-back of the whole line undoes that",
                   line_of(line).c_str(), where(l.loaded_at).c_str(), l.stale_by, ll(l.stale_block), where(l.stale_at).c_str()),
               "call DataCacheCleanAndInvalid on the line before SetValue, or keep scalar results in lines that no copy touches");
    if (!l.dirty) check_neighbours(c, line, p, at);
    note_writer(c, line, bytes, at);
    now_stale(&c, line, bytes, "SetValue", at);
}

void note_written_back(Core& c, uint64_t line, uint64_t bytes) {
    auto w = caches().writers.find(line);
    if (w == caches().writers.end()) return;
    for (Writer& x : w->second) {
        if (x.core != c.id || !(x.dirty & bytes)) continue;
        x.dirty &= ~bytes;
        if (!x.dirty) x.cleaned = board().n[static_cast<int>(Pipe::S)];
    }
}

// ===== Scalar reads
void check_cached_read(Core& c, const Line& l, uint64_t line, uint64_t bytes, const void* p, At at) {
    if (l.stale & bytes) {
        const std::string since = fmt("%s of block %lld changed it in GM (%s)", l.stale_by, ll(l.stale_block), where(l.stale_at).c_str());
        const bool polling = board().polled == p && board().polls > 0;
        report(Severity::Error, "CACHE_STALE", at,
               polling ? fmt("this loop never sees the update: %s was cached at %s, then %s", element_of(p).c_str(), where(l.loaded_at).c_str(), since.c_str())
                       : fmt("the scalar unit reads an old %s: its cache line was loaded at %s, then %s", element_of(p).c_str(), where(l.loaded_at).c_str(), since.c_str()),
               kCleanBefore);
    }
    if (caches().writers.empty()) return;
    const auto w = caches().writers.find(line);
    if (w == caches().writers.end()) return;
    for (const Writer& x : w->second)
        if (x.core != c.id && (x.dirty & bytes))
            report(Severity::Error, "CACHE_STALE", at,
                   fmt("%s was written by SetValue of block %lld (%s) and never left that core's data cache: block %lld reads the old value", element_of(p).c_str(), ll(x.block),
                       where(x.at).c_str(), ll(c.block)),
                   kCleanAfter);
}

// ===== Past the cache
void check_bypass(Core&, uint64_t line, uint64_t bytes, bool write, const void* p, const char* op, At at) {
    const auto w = caches().writers.find(line);
    if (w == caches().writers.end()) return;
    for (const Writer& x : w->second) {
        if (!write && (x.dirty & bytes))
            report(Severity::Error, "CACHE_STALE", at,
                   fmt("%s was written by SetValue of block %lld (%s) and never left that core's data cache: %s reads the old value", element_of(p).c_str(), ll(x.block), where(x.at).c_str(), op),
                   kCleanAfter);
        if (write && x.dirty)
            report(Severity::Error, "CACHE_STALE", at,
                   fmt("%s writes into a line that SetValue of block %lld (%s) holds dirty in its data cache: the write-back may undo it", op, ll(x.block), where(x.at).c_str()),
                   "first DataCacheCleanAndInvalid on the line, then DataSyncBarrier<MemDsbT::DDR>(), then the write");
    }
}

void dcache_gm_dma(Core& c, const void* p, uint64_t bytes, bool write, At at) {
    Caches& g = caches();
    if (!bytes || (g.writers.empty() && g.holders.empty())) return;
    const uint64_t lo = gm_device_address(p), hi = lo + bytes, first = lo / kLine * kLine;
    for (auto w = g.writers.lower_bound(first); w != g.writers.end() && w->first < hi; ++w) {
        const uint64_t mask = line_mask(w->first, lo, bytes);
        for (const Writer& x : w->second) {
            if (!write && (x.dirty & mask))
                report(Severity::Error, "CACHE_STALE", at,
                       fmt("this copy reads %s.. from GM, but SetValue of block %lld (%s) left bytes of it in the data cache: copies do not see them", line_of(w->first).c_str(), ll(x.block),
                           where(x.at).c_str()),
                       kCleanAfter);
            else if (write && (x.dirty || (x.core != c.id && (x.bytes & ~mask) && !ordered_after(x))))
                report(Severity::Error, "CACHE_STALE", at,
                       fmt("this copy stores into the cache line at %s, which SetValue of block %lld (%s) has dirtied: the write-back of the whole line may undo the copy", line_of(w->first).c_str(),
                           ll(x.block), where(x.at).c_str()),
                       x.core == c.id ? kKeepApart : kOwnLine);
        }
    }
    if (!write) return;
    for (auto h = g.holders.lower_bound(first); h != g.holders.end() && h->first < hi; ++h) now_stale(nullptr, h->first, line_mask(h->first, lo, bytes), "a copy", at);
}

}  // namespace twin
