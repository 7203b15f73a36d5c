// The scoreboard: instructions, flags and barriers of one core.
//
// An instruction runs at once when nothing is queued on its pipe. A WaitFlag whose flag is not set yet blocks only
// its own pipe: what follows on that pipe is parked by value until the SetFlag comes (it may stand later in the text).
// schedule="lazy" is the same mechanism: copies are parked although they could run, until something orders them.
#include "regions.h"
#include "races.h"

namespace twin {

static bool is_copy_pipe(Pipe p) { return p == Pipe::MTE2 || p == Pipe::MTE3; }

// ===== Trace
uint16_t trace_op(const char* op) {
    LaunchState& l = launch();
    auto [it, fresh] = l.op_index.try_emplace(op, uint16_t(l.trace.ops.size()));
    if (fresh) l.trace.ops.push_back(op);
    return it->second;
}

static uint16_t trace_file(const char* file) {
    LaunchState& l = launch();
    auto [it, fresh] = l.file_index.try_emplace(file, uint16_t(l.trace.files.size()));
    if (fresh) l.trace.files.push_back(file ? file : "");
    return it->second;
}

uint32_t trace_add(Record r) {
    LaunchState& l = launch();
    Scoreboard& b = board();
    r.s_cycles += b.s_cycles;
    r.s_ns += b.s_ns;
    auto& rec = l.running->trace.rec;
    if (l.records >= l.record_limit) { l.trace.truncated = true; return uint32_t(-1); }
    b.s_cycles = b.s_ns = 0;
    ++l.records;
    rec.push_back(r);
    return uint32_t(rec.size() - 1);
}

static void live(At at, const char* op) {
    LaunchState& l = launch();
    if (!l.spec.live) return;
    l.spec.live->block = l.running->core.block;
    l.spec.live->core = l.running->core.id;
    l.spec.live->line = at.line;
    std::strncpy(l.spec.live->op, op, sizeof(l.spec.live->op) - 1);
}

static Record record(Rec kind, Pipe p, At at, const char* op, float s_cycles) {
    Record r;
    r.kind = kind;
    r.pipe = p;
    r.line = at.line;
    r.file = trace_file(at.file);
    r.op = trace_op(op);
    r.s_cycles = s_cycles;
    return r;
}

void note_scalar(At) {
    Scoreboard& b = board();
    flush_scalar_run();
    b.scalar_open = false;
    for (auto& w : b.read_window) w.mem = Mem::N;
    b.write_room.mem = Mem::N;
}

// ===== Running what is queued
static void take_issue_clock(Scoreboard& b, Pipe p, const Clock& issued) {
    Clock c = issued;
    c.own[int(Pipe::S)] = 0;     // its own stores may still be in flight
    join(b.K[int(p)], c);
}

static void perform_set(int event, int id, const Clock& issued, At at) {
    Scoreboard& b = board();
    Flag& f = b.flags[event][id];
    const int a = int(event_source(event));
    if (a != int(Pipe::S)) take_issue_clock(b, Pipe(a), issued);
    if (f.set)
        report(Severity::Error, "UNPAIRED_FLAG", at,
               fmt("%s id %d is set again (first at %s) before anything waited for it", event_name(event), id, where(f.set_at).c_str()),
               "wait for the flag between the two sets, or take another event id");
    f.set = true;
    f.set_at = at;
    ++f.sets;
    f.clock = a == int(Pipe::S) ? issued : b.K[a];
    f.clock.own[a] = b.n[a];
}

static bool try_wait(int event, int id, At at) {
    Scoreboard& b = board();
    Flag& f = b.flags[event][id];
    if (!f.set) return false;
    join(b.K[int(event_target(event))], f.clock);
    f.set = false;
    f.wait_at = at;
    ++f.waits;
    return true;
}

static void perform_barrier(Pipe p, const Clock& issued) {
    Scoreboard& b = board();
    take_issue_clock(b, p, issued);
    b.K[int(p)].own[int(p)] = b.n[int(p)];
}

static void perform_cross(const Pending& x);

// Runs the head of a queue; false when it has to wait.
static bool run_head(Pipe p) {
    Scoreboard& b = board();
    Pending& h = b.queue[int(p)].front();
    if (h.kind == Pending::Wait && !try_wait(h.event, h.id, h.at)) return false;
    Pending x = std::move(h);
    b.queue[int(p)].pop_front();
    switch (x.kind) {
        case Pending::Op: perform(*x.in, x.issued, x.seq, x.rec); break;
        case Pending::Set: perform_set(x.event, x.id, x.issued, x.at); break;
        case Pending::Barrier: perform_barrier(p, x.issued); break;
        case Pending::Cross: perform_cross(x); break;
        case Pending::Wait: take_issue_clock(b, p, x.issued); break;
    }
    return true;
}

// Runs queued work until nothing moves. With lazy copies, MTE2 and MTE3 only move when `copies` says so.
static bool run_ready(bool copies) {
    Scoreboard& b = board();
    const bool lazy = launch().spec.lazy && !copies;
    bool any = false;
    for (bool moved = true; moved;) {
        moved = false;
        for (int p = 1; p < kPipes; ++p) {
            if (lazy && is_copy_pipe(Pipe(p))) continue;
            while (!b.queue[p].empty() && run_head(Pipe(p))) moved = any = true;
        }
    }
    return any;
}

bool drain_all() { return run_ready(true); }

// Runs the queue of pipe p (and what it needs) until `done` holds or nothing moves.
template <class F> static bool force(Pipe p, F done) {
    Scoreboard& b = board();
    for (int guard = 0; !done(); ++guard) {
        if (!b.queue[int(p)].empty() && run_head(p)) continue;
        if (b.queue[int(p)].empty()) return done();
        const Pending& h = b.queue[int(p)].front();       // it waits: run its source pipe one step
        Pipe from = event_source(h.event);
        if (from == Pipe::S || b.queue[int(from)].empty() || guard > 100000) return done();
        if (!run_head(from)) { if (!run_ready(true)) return done(); }
    }
    return true;
}

static bool must_park(const Instr& in) {
    Scoreboard& b = board();
    if (!b.queue[int(in.pipe)].empty()) { if (!launch().spec.lazy) run_ready(true); if (!b.queue[int(in.pipe)].empty()) return true; }
    return launch().spec.lazy && is_copy_pipe(in.pipe);
}

void issue(Instr& in) {
    LaunchState& l = launch();
    Core& c = core();
    if (!in.any_core && c.kind != in.needs) return;        // no-op on the other core kind
    Scoreboard& b = board();
    live(in.at, in.op);
    note_scalar(in.at);
    check_regions(in);
    const uint32_t seq = ++b.seq;
    Record r = record(in.copy.is ? Rec::Copy : Rec::Op, in.pipe, in.at, in.op, in.s_cycles);
    r.head = in.head;
    r.busy = in.slope * float(in.repeats);
    r.elements = in.elements;
    if (in.copy.is) {
        auto& copies = l.running->trace.copies;
        r.copy = uint32_t(copies.size());
        r.bytes = uint64_t(in.copy.rows) * in.copy.row_bytes;
        if (l.records < l.record_limit) copies.push_back(in.copy);
    }
    if (!l.spec.checks && in.pipe == Pipe::V) r.dep = b.n[int(Pipe::V)];   // nothing known: assume a chain
    const uint32_t rec = trace_add(r);
    charge_line(in.s_cycles, in.at);
    const Clock& now = b.K[int(Pipe::S)];
    if (must_park(in)) {
        Pending x;
        x.kind = Pending::Op;
        x.in = std::make_unique<Instr>(in);
        x.issued = now;
        x.at = in.at;
        x.seq = seq;
        x.rec = rec;
        b.queue[int(in.pipe)].push_back(std::move(x));
        return;
    }
    perform(in, now, seq, rec);
}

// Runs one instruction: its place in the clocks, its races, its effect.
void perform(const Instr& in, const Clock& issued, uint32_t seq, uint32_t rec) {
    LaunchState& l = launch();
    Core& c = core();
    Scoreboard& b = board();
    const int p = int(in.pipe);
    take_issue_clock(b, in.pipe, issued);
    const uint32_t k = ++b.n[p];
    if (l.spec.checks) {
        uint32_t dep = track(in, k, seq);
        if (dep && rec != uint32_t(-1)) l.running->trace.rec[rec].dep = dep;
    }
    if (in.body) in.body(c, in);
}

// ===== Flags
// Events a kernel shared by both core kinds may name: silently skipped on the kind that has no such pipe.
static bool skipped_here(int event) {
    static const std::set<std::string> vector_only = {"MTE2_V", "V_MTE2", "MTE3_V", "V_MTE3", "V_V", "S_V", "V_S"};
    static const std::set<std::string> cube_only = {"MTE2_MTE1", "MTE1_MTE2", "MTE1_M", "M_MTE1", "M_FIX", "FIX_M"};
    return (on(CoreKind::AIC) ? vector_only : cube_only).count(event_name(event)) > 0;
}

static bool exists_on_vector_core(int event) {
    auto ok = [](Pipe p) { return p == Pipe::S || p == Pipe::V || p == Pipe::MTE2 || p == Pipe::MTE3; };
    return ok(event_source(event)) && ok(event_target(event));
}

static bool check_event(int event, int id, At at, const char* what) {
    if (event < 0 || event >= kEvents) fatal("EVENT_ID", at, fmt("%s: HardEvent number %d does not exist", what, event));
    if (skipped_here(event)) return false;
    if (on(CoreKind::AIV) && chip_is_a2() && !exists_on_vector_core(event))
        fatal("EVENT_ID", at, fmt("event %s does not exist on a vector core (its pipes are S, V, MTE2, MTE3)", event_name(event)),
              "guard cube code with if ASCEND_IS_AIC");
    if (id < 0 || id >= kEventIds)
        fatal("EVENT_ID", at, fmt("%s<%s>: event id %d is not in 0..7", what, event_name(event), id),
              "take an id from GetTPipePtr()->FetchEventID(HardEvent::" + std::string(event_name(event)) + ")");
    return true;
}

void set_flag(int event, int id, At at, bool from_queue) {
    if (!check_event(event, id, at, "SetFlag")) return;
    const Pipe a = event_source(event);
    if (a == event_target(event)) { pipe_barrier(a, at); return; }
    Scoreboard& b = board();
    live(at, "SetFlag");
    note_scalar(at);
    Record r = record(Rec::SetFlag, a, at, "SetFlag", from_queue ? 0 : 1);
    r.event = int16_t(event);
    r.id = int16_t(id);
    trace_add(r);
    charge_line(r.s_cycles, at);
    b.flags[event][id].from_queue = from_queue;
    if (a != Pipe::S && !b.queue[int(a)].empty()) {
        Pending x;
        x.kind = Pending::Set;
        x.event = event;
        x.id = id;
        x.issued = b.K[int(Pipe::S)];
        x.at = at;
        b.queue[int(a)].push_back(std::move(x));
        return;
    }
    perform_set(event, id, b.K[int(Pipe::S)], at);
    run_ready(false);
}

void wait_flag(int event, int id, At at, bool from_queue) {
    if (!check_event(event, id, at, "WaitFlag")) return;
    const Pipe a = event_source(event), to = event_target(event);
    if (a == to) return;                                   // V_V, FIX_FIX: the set was the barrier
    Scoreboard& b = board();
    live(at, "WaitFlag");
    note_scalar(at);
    Record r = record(Rec::WaitFlag, to, at, "WaitFlag", from_queue ? 0 : 1);
    r.event = int16_t(event);
    r.id = int16_t(id);
    trace_add(r);
    charge_line(r.s_cycles, at);
    if (b.queue[int(to)].empty() || to == Pipe::S) {
        if (to != Pipe::S) take_issue_clock(b, to, b.K[int(Pipe::S)]);
        if (try_wait(event, id, at)) return;
        if (force(a, [&] { return b.flags[event][id].set; }) && try_wait(event, id, at)) return;
    }
    if (to == Pipe::S) deadlock(at, fmt("the scalar unit waits for %s id %d", event_name(event), id));
    Pending x;
    x.kind = Pending::Wait;
    x.event = event;
    x.id = id;
    x.issued = b.K[int(Pipe::S)];
    x.at = at;
    b.queue[int(to)].push_back(std::move(x));
}

// ===== Barriers
static void barrier_all(At at) {
    Scoreboard& b = board();
    drain_all();
    for (int p = 1; p < kPipes; ++p)
        if (!b.queue[p].empty()) deadlock(at, "PipeBarrier<PIPE_ALL> waits for every pipe");
    Clock j = b.K[0];
    for (int p = 1; p < kPipes; ++p) join(j, b.K[p]);
    for (int p = 0; p < kPipes; ++p) j.own[p] = b.n[p];
    for (int p = 0; p < kPipes; ++p) b.K[p] = j;
}

void pipe_barrier(Pipe p, At at) {
    Scoreboard& b = board();
    if (p == Pipe::S)
        fatal("BAD_PARAMETER", at, "PipeBarrier<PIPE_S> is not supported: it triggers a hardware error. The scalar unit keeps its own order", "delete the call");
    if (p == Pipe::V && on(CoreKind::AIC)) return;
    live(at, "PipeBarrier");
    note_scalar(at);
    Record r = record(Rec::Barrier, p, at, "PipeBarrier", 1);
    trace_add(r);
    charge_line(1, at);
    if (p == Pipe::ALL) { barrier_all(at); return; }
    if (!b.queue[int(p)].empty()) {
        Pending x;
        x.kind = Pending::Barrier;
        x.issued = b.K[int(Pipe::S)];
        x.at = at;
        b.queue[int(p)].push_back(std::move(x));
        return;
    }
    perform_barrier(p, b.K[int(Pipe::S)]);
}

void data_sync_barrier(int what, At at) {
    (void)what;   // DDR, UB or both: the stronger order is taken for all of them
    note_scalar(at);
    Record r = record(Rec::Barrier, Pipe::ALL, at, "DataSyncBarrier", 1);
    trace_add(r);
    barrier_all(at);
}

// ===== Event ids
int alloc_event(int event, At at) {
    Scoreboard& b = board();
    std::string held;
    for (int id = 0; id < kEventIds; ++id) {
        Flag& f = b.flags[event][id];
        if (!f.reserved) { f.reserved = true; f.alloc_at = at; return id; }
        held += fmt("%s%d (%s)", id ? ", " : "", id, where(f.alloc_at).c_str());
    }
    fatal("EVENT_ID", at, fmt("no %s event id is left: all 8 are in use: %s", event_name(event), held.c_str()),
          "release ids with ReleaseEventID, fetch one outside the loop, or hold fewer tensors of this queue position at a time");
}

void release_event(int event, int id, At at) {
    if (!check_event(event, id, at, "ReleaseEventID")) return;
    Flag& f = board().flags[event][id];
    if (!f.reserved) report(Severity::Warning, "EVENT_ID", at, fmt("ReleaseEventID<%s>(%d): this id was not allocated", event_name(event), id));
    f.reserved = false;
}

int fetch_event(int event, At at) {
    Scoreboard& b = board();
    for (int id = 0; id < kEventIds; ++id) if (!b.flags[event][id].reserved) return id;
    fatal("EVENT_ID", at, fmt("no %s event id is left to fetch: all 8 are in use", event_name(event)), "release ids with ReleaseEventID");
}

// ===== Deadlock
void deadlock(At at, const std::string& what) {
    Scoreboard& b = board();
    std::string list;
    for (int p = 1; p < kPipes; ++p) {
        if (b.queue[p].empty()) continue;
        const Pending& h = b.queue[p].front();
        if (h.kind != Pending::Wait) continue;
        const Flag& f = b.flags[h.event][h.id];
        list += fmt("\n  %s waits for %s id %d since %s (set %u times, waited %u times so far)", pipe_name(Pipe(p)), event_name(h.event), h.id,
                    where(h.at).c_str(), f.sets, f.waits);
    }
    fatal("DEADLOCK", at, what + ", but nothing that runs can set it" + list,
          "give every WaitFlag a SetFlag of the same event and id on every path");
}

// ===== Cross-core flags of this core's side (the counters are in sched.cpp)
void cross_arrive(int mode, int flag, const Clock& snapshot, At at);

static void perform_cross(const Pending& x) {
    Scoreboard& b = board();
    const int pipe = int(x.rec);   // a cross-core set keeps its pipe where an instruction keeps its record
    take_issue_clock(b, Pipe(pipe), x.issued);
    Clock c = b.K[pipe];
    c.own[pipe] = b.n[pipe];
    cross_arrive(x.event, x.id, c, x.at);
}

void cross_core_set(int mode, Pipe p, int flag, At at) {
    Scoreboard& b = board();
    live(at, "CrossCoreSetFlag");
    note_scalar(at);
    Record r = record(Rec::CrossSet, p, at, "CrossCoreSetFlag", 1);
    r.event = int16_t(mode);
    r.id = int16_t(flag & 15);
    trace_add(r);
    Pending x;
    x.kind = Pending::Cross;
    x.event = mode;
    x.id = flag & 15;
    x.issued = b.K[int(Pipe::S)];
    x.at = at;
    x.rec = uint32_t(p);
    if (!b.queue[int(p)].empty()) { b.queue[int(p)].push_back(std::move(x)); return; }
    perform_cross(x);
}

}  // namespace twin
