// Order inside a core: flags, barriers, event ids, and the report when nothing can set what is waited for.
#include "hooks.h"
#include "pipes.h"
#include "races.h"

namespace twin {

// ===== Taking effect
void perform_set(int event, int id, const Clock& issued, At at) {
    Scoreboard& b = board();
    Flag& f = b.flags[event][id];
    const int a = int(event_source(event));
    if (a != int(Pipe::S)) take_issue_clock(b, Pipe(a), issued);
    f.set_at = at;
    ++f.sets;
    f.raised.push_back(a == int(Pipe::S) ? issued : b.K[a]);
    f.raised.back().own[a] = b.n[a];
}

bool try_wait(int event, int id, At at) {
    Scoreboard& b = board();
    Flag& f = b.flags[event][id];
    if (!f.set()) return false;
    join(b.K[int(event_target(event))], f.raised.front());
    f.raised.erase(f.raised.begin());
    f.wait_at = at;
    ++f.waits;
    return true;
}

void perform_barrier(Pipe p, const Clock& issued) {
    Scoreboard& b = board();
    take_issue_clock(b, p, issued);
    b.K[int(p)].own[int(p)] = b.n[int(p)];
}

// ===== Flags
// Events a kernel shared by both core kinds may name: silently skipped on the kind that has no such pipe.
struct Skipped {
    bool vector_only[kEvents] = {}, cube_only[kEvents] = {};
    Skipped() {
        static const std::set<std::string> v = {"MTE2_V", "V_MTE2", "MTE3_V", "V_MTE3", "V_V", "S_V", "V_S"};
        static const std::set<std::string> c = {"MTE2_MTE1", "MTE1_MTE2", "MTE1_M", "M_MTE1", "M_FIX", "FIX_M"};
        for (int e = 0; e < kEvents; ++e) { vector_only[e] = v.count(event_name(e)) > 0; cube_only[e] = c.count(event_name(e)) > 0; }
    }
};
static bool skipped_here(int event) {
    static const Skipped skipped;
    return on(CoreKind::AIC) ? skipped.vector_only[event] : skipped.cube_only[event];
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

// A literal id may be one that a queue of the same TPipe holds at that moment.
static void note_literal_id(int event, int id, At at) {
    LaunchState& l = launch();
    if (!has_queues(core()) || !l.spec.checks || !l.literal_ids.insert(at.line).second) return;
    const std::string text = argument_at(at, "SetFlag", 0);
    if (text.empty() || (text.find_first_not_of("0123456789") != std::string::npos && text.find("EVENT_ID") == std::string::npos)) return;
    report(Severity::Warning, "EVENT_ID", at, fmt("SetFlag<%s>(%s) names its event id %d literally: a queue of this kernel may hold the same id", event_name(event), text.c_str(), id),
           fmt("take it from GetTPipePtr()->FetchEventID(HardEvent::%s)", event_name(event)));
}

void set_flag(int event, int id, At at, bool from_queue) {
    if (!check_event(event, id, at, "SetFlag")) return;
    if (!from_queue) note_literal_id(event, id, at);
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
    Flag& f = b.flags[event][id];
    f.from_queue = from_queue;
    if (++f.issued > 1) {
        report(Severity::Error, "UNPAIRED_FLAG", at,
               fmt("%s id %d is set again (first at %s) before anything waited for it", event_name(event), id, where(f.issued_at).c_str()),
               "wait for the flag between the two sets, or take another event id");
        f.issued = 1;
    }
    f.issued_at = at;
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
    --b.flags[event][id].issued;
    if (to == Pipe::S) wait_for_bodies();                  // the kernel may look at memory through a raw pointer now
    if (b.queue[int(to)].empty() || to == Pipe::S) {
        if (to != Pipe::S) take_issue_clock(b, to, b.K[int(Pipe::S)]);
        if (try_wait(event, id, at)) return;
        if (run_until(a, [&] { return b.flags[event][id].set(); }) && try_wait(event, id, at)) return;
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
    bool moved = false;                                    // the finding stands at the first wait that blocks
    for (int p = 1; p < kPipes; ++p) {
        if (b.queue[p].empty()) continue;
        const Pending& h = b.queue[p].front();
        if (h.kind != Pending::Wait) continue;
        const Flag& f = b.flags[h.event][h.id];
        if (!moved) { at = h.at; moved = true; }
        list += fmt("\n  %s waits for %s id %d since %s (set %u times, waited %u times so far)", pipe_name(Pipe(p)), event_name(h.event), h.id,
                    where(h.at).c_str(), f.sets, f.waits);
    }
    fatal("DEADLOCK", at, what + ", but nothing that runs can set it" + list,
          "give every WaitFlag a SetFlag of the same event and id on every path");
}

// ===== Cross-core flags of this core's side (the counters are in sched.cpp)
void cross_arrive(int mode, int flag, const Clock& snapshot, At at);

void perform_cross(const Pending& x) {
    Scoreboard& b = board();
    const int pipe = int(x.rec);   // a cross-core set keeps its pipe where an instruction keeps its record
    take_issue_clock(b, Pipe(pipe), x.issued);
    Clock c = b.K[pipe];
    c.own[pipe] = b.n[pipe];
    cross_arrive(x.event, x.id, c, x.at);
}

// A scheduler that only the mixed kernel types start brings these flags to their cores (KernelMetaType: 0 AIV_ONLY, 1 AIC_ONLY,
// 2 MIX_AIV_1_0, 3 MIX_AIC_1_0, 4 MIX_AIC_1_1, 5 MIX_AIC_1_2).
void cross_core_reaches(int mode, int flag, const char* op, At at) {
    const int type = launch().spec.kernel_type;
    const bool inside = mode == 1 || mode == 2;            // an AI Core: its AIC and AIVs
    if (type > 5 || type >= (inside ? 4 : 2)) return;
    static const char* names[] = {"KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_AIC_ONLY", "KERNEL_TYPE_MIX_AIV_1_0", "KERNEL_TYPE_MIX_AIC_1_0"};
    const char* name = names[std::max(type, 0)];
    const std::string why = inside && type > 1 ? fmt("mode %d joins the cores of an AI Core, and with %s each of them is alone", mode, name) : fmt("%s does not start the scheduler that delivers cross-core flags", name);
    fatal("DEADLOCK", at, fmt("%s(%d): %s: a wait for it never ends", op, flag, why.c_str()),
          inside ? "declare KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) or _1_1" : fmt("declare KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_%s_1_0)", type == 1 ? "AIC" : "AIV"));
}

void cross_core_set(int mode, Pipe p, int flag, At at) {
    cross_core_reaches(mode, flag, "CrossCoreSetFlag", at);
    Scoreboard& b = board();
    launch().cores_met = true;
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
