// Races and undefined bytes: every access meets the shadow of the bytes it touches.
//
// An earlier access (core, pipe, k) is ordered before the next operation of pipe p when k <= K[p][core, pipe].
// What the device compiler orders by itself on a vector core (V with V, scalar with everything) is not reported
// unless the launch is strict; it is still noted, because the later instruction has to wait.
#include "races.h"

#include "hooks.h"
#include "queues.h"
#include "regions.h"

namespace twin {

static const char* pipe_name(uint8_t p) { return pipe_name(Pipe(p)); }

// ===== Bounds and life time
static void check_local(const Instr& in, const Region& r) {
    const LocalRef& t = r.owner;
    if (t.mem == Mem::N)
        fatal("OUT_OF_BOUNDS", in.at, fmt("%s: %s is a LocalTensor that was never assigned", in.op, r.name),
              "take it from AllocTensor, DeQue or TBuf::Get first");
    const auto& all = board().buffers;
    if (t.buf >= 0 && t.buf < int(all.size())) {
        const BufferInfo& b = all[t.buf];
        if (!b.live || b.gen != t.gen)
            fatal("USE_AFTER_FREE", in.at,
                  fmt("%s: %s is %s, which was freed at %s%s", in.op, r.name, describe(t).c_str(), where(b.freed).c_str(),
                      b.live ? " and is now in use again" : ""),
                  "move FreeTensor behind the last use of the tensor");
    }
    uint64_t lo, hi;
    if (!extent(r, lo, hi)) return;
    const uint64_t begin = t.addr, end = uint64_t(t.addr) + t.bytes;
    if (lo < begin || hi > end) {
        const uint32_t e = r.esize ? r.esize : 1;
        fatal("OUT_OF_BOUNDS", in.at,
              fmt("%s: %s reaches element %lld of %s, which has %llu elements (%llu of %u B)", in.op, r.name, (long long)(int64_t(hi - begin) / e - 1),
                  describe(t).c_str(), (unsigned long long)(t.bytes / e), (unsigned long long)(hi - begin), t.bytes),
              fmt("the call may touch at most %llu elements: derive count and buffer length from one constant", (unsigned long long)(t.bytes / e)));
    }
    if (hi > capacity(r.mem))
        fatal("OUT_OF_BOUNDS", in.at, fmt("%s: %s ends at byte %llu, the memory has %u B", in.op, r.name, (unsigned long long)hi, capacity(r.mem)));
}

static void check_global(const Instr& in, const Region& r) {
    uint64_t lo, hi;
    if (!extent(r, lo, hi)) return;
    const GmBuffer* b = gm_find(reinterpret_cast<const void*>(lo));
    if (!b)
        fatal("GM_OUT_OF_BOUNDS", in.at, fmt("%s: %s starts at an address that belongs to no argument of this launch", in.op, r.name),
              "check SetGlobalBuffer and the offset: GlobalTensor[] counts elements, GM_ADDR + n counts bytes");
    const uint64_t base = reinterpret_cast<uint64_t>(b->base), end = base + b->bytes;
    if (hi > end) {
        const uint32_t e = size_of(b->dtype) ? size_of(b->dtype) : 1;
        fatal("GM_OUT_OF_BOUNDS", in.at,
              fmt("%s %s bytes [%llu, %llu) of %s, which has %llu B (elements up to %llu of %llu)", in.op, r.rw & kWrite ? "writes" : "reads",
                  (unsigned long long)(lo - base), (unsigned long long)(hi - base), describe_gm(b->base).c_str(), (unsigned long long)b->bytes,
                  (unsigned long long)((hi - base + e - 1) / e), (unsigned long long)(b->bytes / e)),
              "check the last tile and the split over blocks: lengths and offsets are in elements");
    }
}

void check_regions(const Instr& in) {
    auto one = [&](const Region& r) { if (r.mem == Mem::GM) check_global(in, r); else check_local(in, r); };
    for (int i = 0; i < in.nreg; ++i) one(in.reg[i]);
    for (const Region& r : in.more) one(r);
}

// ===== Order
static bool compiler_orders(uint8_t a, uint8_t b) {
    if (strict_sync() || on(CoreKind::AIC)) return false;
    if (a == uint8_t(Pipe::V) && b == uint8_t(Pipe::V)) return true;
    return a == uint8_t(Pipe::S) || b == uint8_t(Pipe::S);
}

static bool ordered(const Touch& a, const Core& c, int pipe) {
    const Scoreboard& b = board();
    if (a.core == c.id) {
        if (a.pipe == pipe && pipe == int(Pipe::S)) return true;
        return a.k <= b.K[pipe].own[a.pipe];
    }
    const Remote& r = b.K[pipe].remote;
    return r && a.k <= (*r)[a.core * kPipes + a.pipe];
}

struct Conflict {
    bool found = false;
    Touch other;
    bool now_writes = false, other_wrote = false;
    uint64_t lo = 0, hi = 0;
    Mem mem = Mem::UB;
    const Region* region = nullptr;
};

// Keeps the conflict whose other side is the latest: one missing order makes many conflicting pairs.
static void keep(Conflict& best, const Conflict& c) {
    if (!best.found || c.other.seq > best.other.seq) best = c;
}

static std::string bytes_text(const Conflict& x) {
    if (x.mem == Mem::GM) {
        const GmBuffer* b = gm_find(reinterpret_cast<const void*>(x.lo));
        uint64_t base = b ? reinterpret_cast<uint64_t>(b->base) : 0;
        return fmt("bytes %llu..%llu of %s", (unsigned long long)(x.lo - base), (unsigned long long)(x.hi - base), describe_gm(reinterpret_cast<const void*>(x.lo)).c_str());
    }
    return fmt("%s, %s bytes 0x%llx..0x%llx", x.region && x.region->owner.mem != Mem::N ? describe(x.region->owner).c_str() : "a tensor", memory_name(x.mem),
               (unsigned long long)x.lo, (unsigned long long)x.hi);
}

// "block 3", or "AIC of block 3" where cube and vector cores work together.
static std::string core_text(const Core& c, bool mixed) {
    if (!mixed) return fmt("block %lld", (long long)c.block);
    return c.kind == CoreKind::AIC ? fmt("the AIC of block %lld", (long long)c.block_group) : fmt("AIV %d of block %lld", int(c.sub), (long long)c.block_group);
}

// What orders two cores. Inside one AI Core a flag follows one pipe: that of the access which must be complete.
static std::string between_cores_fix(const Core& a, const Core& b, const Touch& first, bool first_writes, bool second_writes) {
    if (a.block_group == b.block_group && a.kind != b.kind)
        return fmt("CrossCoreSetFlag<2, PIPE_%s> behind the %s (%s), since a flag follows one pipe, and CrossCoreWaitFlag before the %s", pipe_name(Pipe(first.pipe)),
                   first_writes ? "write" : "read", where({first.file, first.line}).c_str(), second_writes ? "write" : "read");
    return first_writes && second_writes ? "give every block its own bytes: store exact lengths with DataCopyPad, or accumulate with SetAtomicAdd"
                                         : "put SyncAll (or a cross-core flag) between the write and the read";
}

static void report_conflict(const Conflict& x, const Touch& me) {
    LaunchState& l = launch();
    const Core& c = core();
    // In program order the other access may be the later one (it ran first because this one had been parked).
    const bool swap = x.other.core == c.id && x.other.seq > me.seq;
    const Touch& first = swap ? me : x.other;
    const Touch& second = swap ? x.other : me;
    const bool first_writes = swap ? x.now_writes : x.other_wrote, second_writes = swap ? x.other_wrote : x.now_writes;
    const char* kind = first_writes ? (second_writes ? "WAW" : "RAW") : "WAR";
    const At at{second.file, second.line}, before{first.file, first.line};
    const std::string bytes = bytes_text(x);
    if (x.other.core != c.id) {
        const Instance& o = *l.instances[x.other.core];
        const bool mixed = l.instances.front()->core.kind != l.instances.back()->core.kind;
        report(Severity::Error, "BLOCK_CONFLICT", at,
               fmt("%s: %s %s %s (%s, %s) and %s %s the same bytes (%s, %s), with no order between them", kind,
                   core_text(o.core, mixed).c_str(), x.other_wrote ? "writes" : "reads", bytes.c_str(), x.other.op, where({x.other.file, x.other.line}).c_str(),
                   core_text(c, mixed).c_str(), x.now_writes ? "writes" : "reads", me.op, where({me.file, me.line}).c_str()),
               between_cores_fix(o.core, c, first, first_writes, second_writes));
        return;
    }
    const char *a = pipe_name(first.pipe), *b = pipe_name(second.pipe);
    if (first.pipe == second.pipe) {
        report(Severity::Error, "MISSING_SYNC", at,
               fmt("%s: %s %s %s (%s) while the earlier %s (%s, %s) may not have finished: instructions of one pipe start in order but may overlap", kind, b,
                   second_writes ? "writes" : "reads", bytes.c_str(), second.op, first.op, a, where(before).c_str()),
               fmt("put PipeBarrier<PIPE_%s>() between the two", b));
        return;
    }
    report(Severity::Error, "MISSING_SYNC", at,
           fmt("%s: %s %s %s (%s) but %s %s it (%s, %s) and no %s_%s lies between", kind, b, second_writes ? "writes" : "reads", bytes.c_str(), second.op, a,
               first_writes ? "may still be writing" : "may still be reading", first.op, where(before).c_str(), a, b),
           fmt("hand the tensor over with EnQue/DeQue (or FreeTensor/AllocTensor), or SetFlag/WaitFlag<HardEvent::%s_%s>", a, b));
}

Shadow* gm_shadow_of(uint64_t address) {
    LaunchState& l = launch();
    const GmBuffer* b = gm_find(reinterpret_cast<const void*>(address));
    return b ? l.gm_shadow[b - l.gm.data()].get() : nullptr;
}

static Shadow* shadow_of(const Region& r) {
    return r.mem == Mem::GM ? gm_shadow_of(r.addr) : &board().shadow[int(r.mem)];
}

// Checks one access against one piece; notes the dependence for the timing pass.
static void meet(const Touch& other, bool other_wrote, bool now_writes, const Touch& me, const Region& r, uint64_t lo, uint64_t hi, uint32_t& dep, Conflict& best) {
    if (!other.k || (other.core == me.core && other.seq == me.seq && other.pipe == me.pipe)) return;
    if (other.atomic && other.atomic == me.atomic && other_wrote && now_writes) return;
    const Core& c = core();
    if (other.core == me.core && other.pipe == me.pipe) dep = std::max(dep, other.k);
    if (ordered(other, c, me.pipe)) return;
    if (other.core == me.core && compiler_orders(other.pipe, me.pipe)) {
        uint32_t& known = board().K[me.pipe].own[other.pipe];
        if (other.pipe != me.pipe) known = std::max(known, other.k);
        return;
    }
    Conflict x;
    x.found = true;
    x.other = other;
    x.now_writes = now_writes;
    x.other_wrote = other_wrote;
    x.lo = lo;
    x.hi = hi;
    x.mem = r.mem;
    x.region = &r;
    keep(best, x);
}

static bool stores_to_workspace(const Instr& in) {
    for (int i = 0; i < in.nreg; ++i)
        if (in.reg[i].mem == Mem::GM && (in.reg[i].rw & kWrite)) {
            const GmBuffer* b = gm_find(reinterpret_cast<const void*>(in.reg[i].addr));
            return b && b->workspace;
        }
    return false;
}

static void undefined_read(const Instr& in, const Region& r, uint64_t lo, uint64_t hi, uint8_t kind) {
    const uint32_t e = r.esize ? r.esize : 1;
    const uint64_t first = (lo - r.owner.addr) / e, last = (hi - 1 - r.owner.addr) / e;
    const std::string what = fmt("%s: %s reads %llu element%s of %s (elements %llu..%llu, %llu B) that %s", in.op, r.name, (unsigned long long)(last - first + 1),
                                 last == first ? "" : "s", describe(r.owner).c_str(), (unsigned long long)first, (unsigned long long)last, (unsigned long long)(hi - lo),
                                 kind == kPadding ? "are padding, not your data" : "were never written");
    if (in.undef == Undef::Store) {
        if (stores_to_workspace(in)) return;
        report(kind == kPadding ? Severity::Warning : Severity::Error, "UNINITIALISED_READ", in.at, what + " and stores them to global memory",
               "store only the real length (DataCopyPad, blockLen in bytes), or fill the rest with Duplicate first");
    } else {
        report(Severity::Error, "UNINITIALISED_READ", in.at, what,
               kind == kPadding ? "use the real count, or load with isPad=true and the neutral value of your operation" : "use the real count, or fill the rest with Duplicate first");
    }
}

static void remember(Cell& cell, const Touch& me) {
    for (Touch& x : cell.reads) if (x.core == me.core && x.pipe == me.pipe) { x = me; return; }
    cell.reads.push_back(me);
}

uint32_t track(const Instr& in, uint32_t k, uint32_t seq) {
    Core& c = core();
    Touch me;
    me.k = k;
    me.core = c.id;
    me.seq = seq;
    me.line = in.at.line;
    me.file = in.at.file;
    me.op = in.op;
    me.pipe = uint8_t(in.pipe);
    me.atomic = in.atomic;
    uint32_t dep = 0;
    Conflict best;
    bool undefined = false;
    auto all = [&](auto f) { for (int i = 0; i < in.nreg; ++i) f(in.reg[i]); for (const Region& r : in.more) f(r); };
    all([&](const Region& r) {
        if (!(r.rw & kRead)) return;
        Shadow* s = shadow_of(r);
        if (!s) return;
        walk(r, [&](uint64_t lo, uint64_t hi) {
            if (r.mem == Mem::GM) dcache_gm_dma(c, reinterpret_cast<const void*>(lo), hi - lo, false, in.at);
            s->visit(lo, hi, [&](uint64_t a, uint64_t z, Cell& cell) {
                meet(cell.write, true, false, me, r, a, z, dep, best);
                for (const Touch& x : cell.reads) if (x.atomic) meet(x, true, false, me, r, a, z, dep, best);
                if (cell.undef != kDefined) {
                    undefined = true;
                    if (in.undef == Undef::Forbid || in.undef == Undef::Store) undefined_read(in, r, a, z, cell.undef);
                }
                remember(cell, me);
            });
        });
    });
    Elements bad;                                                  // looked up before the instruction overwrites its own sources
    if (undefined && (in.undef == Undef::Propagate || (in.undef == Undef::Store && stores_to_workspace(in)))) bad = undefined_elements(shadow_of, in);
    all([&](const Region& r) {
        if (!(r.rw & kWrite)) return;
        Shadow* s = shadow_of(r);
        if (!s) return;
        walk(r, [&](uint64_t lo, uint64_t hi) {
            if (r.mem == Mem::GM) dcache_gm_dma(c, reinterpret_cast<const void*>(lo), hi - lo, true, in.at);
            s->look(lo, hi, [&](uint64_t a, uint64_t z, const Cell& cell) {
                meet(cell.write, true, true, me, r, a, z, dep, best);
                for (const Touch& x : cell.reads) meet(x, x.atomic != 0, true, me, r, a, z, dep, best);
                if (in.atomic && cell.undef == kNeverWritten)
                    report(Severity::Error, "UNINITIALISED_READ", in.at, fmt("%s accumulates into %s, bytes that nobody has initialised", in.op, describe_gm(reinterpret_cast<const void*>(a)).c_str()),
                           "zero the area first (InitGlobalMemory, then SyncAll), or pass a zeroed array");
            });
            if (in.atomic && r.mem == Mem::GM) {           // accumulations stand beside each other, on top of the last plain write
                s->visit(lo, hi, [&](uint64_t, uint64_t, Cell& cell) { remember(cell, me); });
                return;
            }
            s->overwrite(lo, hi, me, r.pad_value == 2 ? kNeverWritten : r.pad_value ? kPadding : kDefined);
        });
    });
    propagate_undefined(shadow_of, in, bad);
    if (best.found) report_conflict(best, me);
    return dep;
}

void mark_undefined(Core& c, Mem m, uint64_t lo, uint64_t hi) {
    if (launch().spec.checks && m != Mem::GM && lo < hi) c.board->shadow[int(m)].define(lo, hi, kNeverWritten);
}

void mark_defined(Core& c, Mem m, uint64_t lo, uint64_t hi) {
    if (launch().spec.checks && m != Mem::GM && lo < hi) c.board->shadow[int(m)].define(lo, hi, kDefined);
}

}  // namespace twin
