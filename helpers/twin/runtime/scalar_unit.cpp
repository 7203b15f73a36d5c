// The scalar unit: its cycles, and single elements of local and global memory.
//
// Scalar loops make millions of accesses. Reads are checked once per piece of the shadow and phase (a phase ends when
// an instruction, flag or barrier is issued); stores to neighbouring elements are collected into one run.
#include "fibers.h"
#include "races.h"
#include "regions.h"

namespace twin {

// Is this line in the learner's own text? (The same text has the same address: compare the name once.)
bool in_users_text(At at) {
    LaunchState& l = launch();
    if (at.file == l.known_file) return true;
    if (!at.file || at.file == l.other_file) return false;
    const bool yes = !l.spec.file.empty() && l.spec.file == at.file;
    (yes ? l.known_file : l.other_file) = at.file;
    return yes;
}

void charge_line(float cycles, At at) {
    LaunchState& l = launch();
    if (at.line < 0 || at.line > 100000 || !in_users_text(at)) return;
    if (at.line >= int(l.line_cycles.size())) { l.line_cycles.resize(at.line + 64); l.line_count.resize(at.line + 64); l.line_accesses.resize(at.line + 64); }
    l.line_cycles[at.line] += cycles;
    ++l.line_count[at.line];
}

static void count_access(At at) {
    LaunchState& l = launch();
    if (in_users_text(at) && at.line >= 0 && at.line < int(l.line_accesses.size())) ++l.line_accesses[at.line];
}

void charge(float cycles, At at) {
    Scoreboard& b = board();
    b.s_cycles += cycles;
    b.s_total += cycles;
    charge_line(cycles, at);
}

void charge_ns(float ns, At at) {
    Scoreboard& b = board();
    b.s_ns += ns;
    charge_line(float(ns * launch().clock_ghz), at);
}

double now_cycles() {
    const double us = board().s_total / (launch().clock_ghz * 1e3);
    return us * 50.0;   // 50 MHz counter
}

static Touch scalar_access_record(At at, const char* op) {
    Scoreboard& b = board();
    if (!b.scalar_open) { ++b.n[0]; b.scalar_open = true; }
    b.K[0].own[0] = b.n[0];
    Touch a;
    a.k = b.n[0];
    a.core = core().id;
    a.seq = b.seq;
    a.line = at.line;
    a.file = at.file;
    a.op = op;
    a.pipe = uint8_t(Pipe::S);
    return a;
}

// The scalar unit has to wait for operation k of pipe p.
static void join_scalar(uint8_t pipe, uint32_t k, At at) {
    Scoreboard& b = board();
    uint32_t& known = b.K[0].own[pipe];
    if (k <= known) return;
    known = k;
    Record r;
    r.kind = Rec::Join;
    r.pipe = Pipe(pipe);
    r.dep = k;
    r.line = at.line;
    r.op = trace_op("scalar access");
    trace_add(r);
}

static void scalar_meets(const Touch& other, bool other_wrote, bool write, At at, const char* op, const LocalRef& t, uint64_t lo, uint64_t hi) {
    if (!other.k || other.pipe == uint8_t(Pipe::S)) return;
    Scoreboard& b = board();
    if (other.k <= b.K[0].own[other.pipe]) return;
    if (!strict_sync() && on(CoreKind::AIV)) { join_scalar(other.pipe, other.k, at); return; }
    if (!other_wrote && !write) return;
    const char* p = pipe_name(Pipe(other.pipe));
    report(Severity::Error, "MISSING_SYNC", at,
           fmt("%s: the scalar unit %s %s, UB bytes 0x%llx..0x%llx (%s) but %s %s it (%s, %s) and no %s_S lies between", other_wrote ? (write ? "WAW" : "RAW") : "WAR",
               write ? "writes" : "reads", describe(t).c_str(), (unsigned long long)lo, (unsigned long long)hi, op, p,
               other_wrote ? "may still be writing" : "may still be reading", other.op, where({other.file, other.line}).c_str(), p),
           fmt("SetFlag/WaitFlag<HardEvent::%s_S> before the access", p));
    b.K[0].own[other.pipe] = std::max(b.K[0].own[other.pipe], other.k);
}

void settle(Mem m, uint64_t lo, uint64_t hi, bool write, At at) {
    Scoreboard& b = board();
    for (int p = 1; p < kPipes; ++p) {
        auto overlaps = [&] {
            for (const Pending& x : b.queue[p]) {
                if (x.kind != Pending::Op) continue;
                auto hit = [&](const Region& r) {
                    uint64_t a, z;
                    return r.mem == m && (write || (r.rw & kWrite)) && extent(r, a, z) && a < hi && lo < z;
                };
                for (int i = 0; i < x.in->nreg; ++i) if (hit(x.in->reg[i])) return true;
                for (const Region& r : x.in->more) if (hit(r)) return true;
            }
            return false;
        };
        if (b.queue[p].empty() || strict_sync() || !overlaps()) continue;
        drain_all();
        if (!b.queue[p].empty() && overlaps()) deadlock(at, fmt("the scalar unit needs a tensor that %s has not finished", pipe_name(Pipe(p))));
    }
}

void flush_scalar_run() {
    Scoreboard& b = board();
    if (b.run_mem == Mem::N) return;
    const Mem m = b.run_mem;
    b.run_mem = Mem::N;
    b.shadow[int(m)].overwrite(b.run_lo, b.run_hi, scalar_access_record(b.run_at, b.run_op), kDefined);
}

static bool inside(const Scoreboard::Window& w, Mem m, uint64_t lo, uint64_t hi) { return w.mem == m && lo >= w.lo && hi <= w.hi; }

void* scalar_access(const LocalRef& t, uint64_t offset, uint32_t bytes, bool write, At at, const char* op) {
    Core& c = core();
    Scoreboard& b = board();
    charge(write ? 10.f : 12.f, at);
    count_access(at);
    const uint64_t lo = t.addr + offset, hi = lo + bytes;
    const bool fits = offset + bytes <= t.bytes;
    if (fits && launch().spec.checks) {
        if (!write)
            for (const auto& w : b.read_window) if (inside(w, t.mem, lo, hi)) return c.at(t.mem, lo);
        if (write && b.run_mem == t.mem && lo == b.run_hi && inside(b.write_room, t.mem, lo, hi) && b.run_at.line == at.line) {
            b.run_hi = hi;
            return c.at(t.mem, lo);
        }
    }
    if (t.mem == Mem::N) fatal("OUT_OF_BOUNDS", at, fmt("%s: this LocalTensor was never assigned", op), "take it from AllocTensor, DeQue or TBuf::Get first");
    if (t.mem != Mem::UB)
        fatal("WRONG_POSITION", at, fmt("%s: scalar access works only in UB, this tensor lies elsewhere (%s)", op, describe(t).c_str()), "copy the data to UB first");
    if (!fits)
        fatal("OUT_OF_BOUNDS", at,
              fmt("%s: index %llu is past the %llu elements of %s", op, (unsigned long long)(offset / bytes), (unsigned long long)(t.bytes / bytes), describe(t).c_str()));
    if (hi > capacity(t.mem)) fatal("OUT_OF_BOUNDS", at, fmt("%s: byte %llu is past the end of UB (%u B)", op, (unsigned long long)hi, capacity(t.mem)));
    if (t.buf >= 0 && t.buf < int(b.buffers.size())) {
        const BufferInfo& f = b.buffers[t.buf];
        if (!f.live || f.gen != t.gen)
            fatal("USE_AFTER_FREE", at, fmt("%s uses %s, which was freed at %s", op, describe(t).c_str(), where(f.freed).c_str()), "move FreeTensor behind the last use");
    }
    launch().spec.live ? void(launch().spec.live->line = at.line) : void();
    settle(t.mem, lo, hi, write, at);
    if (!launch().spec.checks) return c.at(t.mem, lo);
    flush_scalar_run();
    Shadow& s = b.shadow[int(t.mem)];
    if (!write) {
        s.look(lo, hi, [&](uint64_t, uint64_t, const Cell& cell) {
            scalar_meets(cell.write, true, false, at, op, t, lo, hi);
            if (cell.undef == kNeverWritten)
                report(Severity::Error, "UNINITIALISED_READ", at, fmt("%s reads element %llu of %s, which was never written", op, (unsigned long long)(offset / bytes), describe(t).c_str()));
            else if (cell.undef == kPadding)
                report(Severity::Warning, "UNINITIALISED_READ", at, fmt("%s reads element %llu of %s, which is padding, not your data", op, (unsigned long long)(offset / bytes), describe(t).c_str()));
        });
        uint64_t a = lo, z = hi;
        bool defined = false;
        s.piece_at(lo, a, z, [&](const Cell& cell) { defined = cell.undef == kDefined; });
        if (defined) {
            auto& w = b.read_window[b.next_window++ & 3];
            w.mem = t.mem;
            w.lo = std::max<uint64_t>(a, t.addr);
            w.hi = std::min<uint64_t>(z, uint64_t(t.addr) + t.bytes);
        }
        return c.at(t.mem, lo);
    }
    uint64_t a = lo, z = hi;
    s.piece_at(lo, a, z, [&](const Cell&) {});
    s.look(lo, hi, [&](uint64_t, uint64_t, const Cell& cell) {
        scalar_meets(cell.write, true, true, at, op, t, lo, hi);
        for (const Touch& x : cell.reads) scalar_meets(x, false, true, at, op, t, lo, hi);
    });
    scalar_access_record(at, op);
    b.run_mem = t.mem;
    b.run_lo = lo;
    b.run_hi = hi;
    b.run_at = at;
    b.run_op = op;
    b.write_room.mem = t.mem;
    b.write_room.lo = lo;
    b.write_room.hi = std::max(hi, std::min<uint64_t>(z, uint64_t(t.addr) + t.bytes));
    return c.at(t.mem, lo);
}

void scalar_gm(const void* p, uint32_t bytes, bool write, At at, const char* op) {
    Scoreboard& b = board();
    const uint64_t lo = reinterpret_cast<uint64_t>(p), hi = lo + bytes;
    count_access(at);
    settle(Mem::GM, lo, hi, write, at);
    wait_for_bodies();
    if (!write && b.polled == p) { if (++b.polls % 64 == 0) give_way(); } else { b.polled = write ? nullptr : p; b.polls = 0; }
    if (!launch().spec.checks) return;
    Shadow* s = gm_shadow_of(lo);
    if (!s) return;
    const int me = core().id;
    s->look(lo, hi, [&](uint64_t, uint64_t, const Cell& cell) {
        auto local_only = [&](const Touch& x, bool wrote) {
            if (!x.k || x.core != me || x.pipe == uint8_t(Pipe::S) || x.k <= b.K[0].own[x.pipe]) return;
            if (!strict_sync() && on(CoreKind::AIV)) { join_scalar(x.pipe, x.k, at); return; }
            if (!wrote && !write) return;
            report(Severity::Error, "MISSING_SYNC", at,
                   fmt("the scalar unit %s %s (%s) but %s (%s, %s) may not have finished and no %s_S lies between", write ? "writes" : "reads", describe_gm(p).c_str(), op,
                       x.op, pipe_name(Pipe(x.pipe)), where({x.file, x.line}).c_str(), pipe_name(Pipe(x.pipe))),
                   fmt("SetFlag/WaitFlag<HardEvent::%s_S> before the access", pipe_name(Pipe(x.pipe))));
        };
        local_only(cell.write, true);
        if (write) for (const Touch& x : cell.reads) local_only(x, false);
        if (write && cell.write.k && cell.write.core != me) {
            const Remote& r = b.K[0].remote;
            if (!r || cell.write.k > (*r)[cell.write.core * kPipes + cell.write.pipe])
                report(Severity::Error, "BLOCK_CONFLICT", at,
                       fmt("blocks %lld and %lld both write %s with no order between them (%s; %s, %s)", (long long)launch().instances[cell.write.core]->core.block,
                           (long long)core().block, describe_gm(p).c_str(), op, cell.write.op, where({cell.write.file, cell.write.line}).c_str()),
                       "give every block its own bytes, or put SyncAll between");
        }
    });
    if (write) s->overwrite(lo, hi, scalar_access_record(at, op), kDefined);
}

}  // namespace twin
