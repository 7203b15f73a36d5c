// Synchronisation between cores: flag counters, SyncAll, and keys that library primitives publish.
#include "blocked.h"
#include "fibers.h"
#include "races.h"

namespace twin {

static Remote snapshot(const Clock& c) { return to_remote(c, core().id, int(launch().instances.size())); }

static void learn(const Remote& r, bool all_pipes) {
    Scoreboard& b = board();
    for (int p = 0; p < (all_pipes ? kPipes : 1); ++p) join_from(b.K[p], r, core().id);
}

uint32_t trace_meeting(Rec kind, At at, const char* op, int event, int id, Pipe p, uint64_t a) {
    launch().cores_met = true;
    note_scalar(at);
    Record r;
    r.kind = kind;
    r.pipe = p;
    r.line = at.line;
    r.op = trace_op(op);
    r.event = int16_t(event);
    r.id = int16_t(id);
    r.a = a;
    r.s_cycles = 1;
    return trace_add(r);
}

// ===== Flags
// Delivered when every participant of the mode has set: one more on the counter of every receiver.
void cross_arrive(int mode, int flag, const Clock& c, At at) {
    LaunchState& l = launch();
    const Instance& me = *l.running;
    std::vector<Instance*> senders, receivers;
    int group = -1;
    for (auto& i : l.instances) {
        const bool same_group = i->core.block_group == me.core.block_group;
        if (mode == 0 && i->core.kind == me.core.kind) { senders.push_back(i.get()); receivers.push_back(i.get()); }
        if (mode == 1 && same_group && i->core.kind == CoreKind::AIV) { senders.push_back(i.get()); receivers.push_back(i.get()); }
        if (mode == 2 && same_group) (i->core.kind == me.core.kind ? senders : receivers).push_back(i.get());
    }
    if (mode != 0) group = int(me.core.block_group);
    else group = me.core.kind == CoreKind::AIC ? -2 : -1;
    auto& arrivals = l.arrivals[{mode * 2 + (me.core.kind == CoreKind::AIC), group, flag}];
    l.arrivals_at[{mode * 2 + (me.core.kind == CoreKind::AIC), group, flag}] = {at, int(senders.size())};
    arrivals[me.core.id].push_back(snapshot(c));
    Scoreboard& b = board();
    b.cross_at[flag] = at;
    if (++b.cross_sets[flag] > b.cross_waits[flag] + 15 && arrivals[me.core.id].size() > 15)
        fatal("UNPAIRED_FLAG", at, fmt("flag %d was set 16 times without a wait: the counter holds 15", flag), "insert a flag in the other direction");
    for (Instance* s : senders) if (arrivals[s->core.id].empty()) return;
    Remote all;
    for (Instance* s : senders) { all = join_remote(all, arrivals[s->core.id].front()); arrivals[s->core.id].pop_front(); }
    for (Instance* r : receivers) {
        if (r->done) { unclaimed_set(r->core, flag, at); continue; }   // it left without waiting
        if (!r->core.board) r->core.board = std::make_shared<Scoreboard>();   // it starts later and finds the flag set
        auto& counter = r->core.board->arrived[flag];
        counter.push_back(all);
        if (counter.size() > 15)
            fatal("UNPAIRED_FLAG", at, fmt("flag %d of block %lld holds 16 sets that nothing waited for: the counter holds 15", flag, (long long)r->core.block), "insert a flag in the other direction");
    }
}

void cross_core_reaches(int mode, int flag, const char* op, At at);

void cross_core_wait(int flag, At at) {
    cross_core_reaches(-1, flag, "CrossCoreWaitFlag", at);
    Scoreboard& b = board();
    flag &= 15;
    trace_meeting(Rec::CrossWait, at, "CrossCoreWaitFlag", 0, flag);
    ++b.cross_waits[flag];
    if (!yield_until([&b, flag] { return !b.arrived[flag].empty(); }, "CrossCoreWaitFlag", at, flag))
        fatal("DEADLOCK", at, fmt("CrossCoreWaitFlag(%d): no core has set this flag", flag));
    learn(b.arrived[flag].front(), false);
    b.arrived[flag].erase(b.arrived[flag].begin());
}

// ===== SyncAll
void sync_all(bool aiv_only, bool hard, int used_cores, At at) {
    LaunchState& l = launch();
    Instance& me = *l.running;
    const int kind = aiv_only ? 1 : 0;
    bool cube = false;
    for (auto& i : l.instances) cube = cube || i->core.kind == CoreKind::AIC;
    if (!aiv_only && !cube)
        fatal("DEADLOCK", at, "SyncAll<false> waits for cube cores, and this kernel starts none: it would never return", "write SyncAll() in a kernel that runs on vector cores only");
    if (hard && l.spec.kernel_type == 0)
        fatal("DEADLOCK", at, "SyncAll() without workspace needs the hardware scheduler, which KERNEL_TYPE_AIV_ONLY does not start",
              "declare KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0), or call SyncAll(gmWorkspace, ubWorkspace)");
    int needed = 0, resident = 0;
    for (auto& i : l.instances) if (!aiv_only || i->core.kind == CoreKind::AIV) { ++needed; }
    if (used_cores > 0) needed = std::min(needed, used_cores);
    resident = int(l.chip.num("aiv_cores", 48)) + (aiv_only ? 0 : int(l.chip.num("aic_cores", 24)));
    if (needed > resident)
        fatal("DEADLOCK", at, fmt("SyncAll can never complete: %d blocks take part but %s has %d cores, and later blocks start only when earlier ones end", needed, l.chip.name.c_str(), resident),
              fmt("launch at most %d blocks and let each do several tiles", resident));
    pipe_barrier(Pipe::ALL, at);
    trace_meeting(Rec::SyncAll, at, "SyncAll", aiv_only, hard);
    const auto key = std::make_pair(kind, me.sync_round++);
    me.sync_at = at;
    auto& round = l.sync[key];
    round.at = at;
    round.in.push_back(snapshot(board().K[0]));
    round.needed = needed;
    if (++round.arrived == needed) {
        for (const Remote& r : round.in) round.out = join_remote(round.out, r);
        round.complete = true;
    }
    if (!yield_until([&round] { return round.complete; }, "SyncAll", at, 0))
        fatal("DEADLOCK", at, "SyncAll needs blocks that run side by side");
    learn(round.out, true);
}

// ===== Keys
void publish(uint64_t key, At at, const char* op) {
    pipe_barrier(Pipe::ALL, at);
    trace_meeting(Rec::Publish, at, op, 0, 0, Pipe::S, key);
    launch().published[key] = snapshot(board().K[0]);
}

void await(uint64_t key, At at, const char* op) {
    LaunchState& l = launch();
    trace_meeting(Rec::Await, at, op, 0, 0, Pipe::S, key);
    if (!yield_until([&l, key] { return l.published.count(key) > 0; }, op, at, int(key & 0xffff)))
        fatal("DEADLOCK", at, fmt("%s waits for a block that never arrives", op));
    learn(l.published[key], true);
}

}  // namespace twin
