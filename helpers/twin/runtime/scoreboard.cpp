// The scoreboard: instructions, flags and barriers of one core.
//
// An instruction runs at once when nothing is queued on its pipe. A WaitFlag whose flag is not set yet blocks only
// its own pipe: what follows on that pipe is parked by value until the SetFlag comes (it may stand later in the text).
// schedule="lazy" is the same mechanism: copies are parked although they could run, until something orders them.
#include "pipes.h"
#include "races.h"
#include "worker.h"

namespace twin {

static bool is_copy_pipe(Pipe p) { return p == Pipe::MTE2 || p == Pipe::MTE3; }

// ===== Trace
// Static strings are looked up by address first; the same text may stand at several addresses.
static uint16_t intern(std::unordered_map<const void*, uint16_t>& known, std::vector<std::string>& all, const char* text) {
    auto [it, fresh] = known.try_emplace(text, uint16_t(0));
    if (!fresh) return it->second;
    const std::string t = text ? text : "";
    size_t i = 0;
    while (i < all.size() && all[i] != t) ++i;
    if (i == all.size()) all.push_back(t);
    return it->second = uint16_t(i);
}

uint16_t trace_op(const char* op) {
    LaunchState& l = launch();
    auto& last = l.op_last[(reinterpret_cast<uintptr_t>(op) * 0x9e3779b97f4a7c15ull) >> 60];
    if (last.text != op || !op) { last.index = intern(l.op_index, l.trace.ops, op); last.text = op; }
    return last.index;
}
static uint16_t trace_file(const char* file) {
    LaunchState& l = launch();
    if (l.file_last.text != file || !file) { l.file_last.index = intern(l.file_index, l.trace.files, file); l.file_last.text = file; }
    return l.file_last.index;
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

void live(At at, const char* op) {
    LaunchState& l = launch();
    if (!l.spec.live) return;
    l.spec.live->block = l.running->core.block;
    l.spec.live->core = l.running->core.id;
    l.spec.live->line = at.line;
    if (op == l.live_op) return;
    l.live_op = op;
    std::strncpy(l.spec.live->op, op, sizeof(l.spec.live->op) - 1);
}

Record record(Rec kind, Pipe p, At at, const char* op, float s_cycles) {
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
void take_issue_clock(Scoreboard& b, Pipe p, const Clock& issued) {
    Clock c = issued;
    c.own[int(Pipe::S)] = 0;     // its own stores may still be in flight
    join(b.K[int(p)], c);
}

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
bool run_ready(bool copies) {
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
bool run_until(Pipe p, const std::function<bool()>& done) {
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
    if (l.spec.checks && in.before) in.before(c, in);
    const uint32_t k = ++b.n[p];
    if (l.spec.checks) {
        uint32_t dep = track(in, k, seq);
        // Barriers that the compiler places by itself stand between vector instructions only.
        if (dep && in.pipe == Pipe::V && rec != uint32_t(-1)) l.running->trace.rec[rec].dep = dep;
        if (in.after) in.after(c, in);
    }
    if (!in.body) return;
    // Small bodies are not worth a hand-over, unless the worker still has earlier ones to do.
    if (in.detached && (g_bodies_pending || uint64_t(in.reg[0].n0) * in.reg[0].n1 * in.reg[0].len >= 16384) && worker_take(c, in)) return;
    wait_for_bodies();
    in.body(c, in);
}

}  // namespace twin
