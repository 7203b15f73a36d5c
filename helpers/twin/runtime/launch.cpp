// A launch from its description to its result: instances, schedule, end-of-core checks, timing.
#include "blocked.h"
#include "fibers.h"
#include "hooks.h"
#include "perf_notes.h"
#include "races.h"
#include "worker.h"

namespace twin {

static std::unique_ptr<LaunchState> g;
LaunchState& launch() { return *g; }
Core& core() { return g->running->core; }
bool on(CoreKind k) { return g->running->core.kind == k; }
const Chip& chip() { return g->chip; }
static bool a2 = true;                        // asked for at every copy: no look-up by name
bool chip_is_a2() { return a2; }
// Names are static strings: their addresses find the row again without comparing text.
VecCost vec_cost(const char* op, const char* cls) {
    auto [it, fresh] = g->vec_costs.try_emplace({op, cls});
    if (fresh) it->second = chip_vec_cost(g->chip, op, cls);
    return it->second;
}
bool checks_on() { return g->spec.checks; }
bool strict_sync() { return g->spec.strict_sync; }
int64_t block_num() { return g->spec.blocks; }
uint64_t tiling_key() { return g->spec.tiling_key; }

// KernelMetaType in the order of the enum.
enum KernelType { kAivOnly, kAicOnly, kMixAiv10, kMixAic10, kMixAic11, kMixAic12, kAiCore, kVectorCore, kMixAiCore, kMixVectorCore };

int64_t task_ratio() { return g->spec.kernel_type == kMixAic12 && on(CoreKind::AIV) ? 2 : 1; }

void print_text(const std::string& s) {
    if (!g) { fputs(s.c_str(), stdout); return; }          // host code of a program, between its launches
    constexpr size_t limit = 1u << 20;
    if (g->text.size() + s.size() > limit) {
        if (!g->text_cut) g->text += "\n… output cut here: a kernel may print 1 MB per launch\n";
        g->text_cut = true;
        return;
    }
    if (!g->text_cut) g->text += s;
}

void as_running(Core& c, const std::function<void()>& f) {
    Instance* before = g->running;
    g->running = g->instances[size_t(c.id)].get();
    f();
    g->running = before;
}

// ===== End of a core
void end_core() {
    Scoreboard& b = board();
    Core& c = core();
    flush_scalar_run();
    drain_all();
    const At end{g->spec.file.c_str(), 0};
    for (int p = 1; p < kPipes; ++p)
        if (!b.queue[p].empty()) {
            const Pending& h = b.queue[p].front();
            deadlock(h.at, fmt("%s waits at the end of the kernel", pipe_name(Pipe(p))));
        }
    if (g->spec.checks) {
        for (int e = 0; e < kEvents; ++e)
            for (int id = 0; b.flags.used(e) && id < kEventIds; ++id) {
                const Flag& f = b.flags[e][id];
                if (f.set() && !f.from_queue)
                    report(Severity::Error, "UNPAIRED_FLAG", f.set_at,
                           fmt("%s id %d is still set at the end of the kernel: set %u times, waited %u times. The next kernel on this core would start with it", event_name(e), id, f.sets, f.waits),
                           "wait once for every set, on every path");
            }
        if (c.mask.counter)
            report(Severity::Warning, "BAD_PARAMETER", c.mask.counter_at.line ? c.mask.counter_at : end, "Counter mode is still active at the end of the kernel", "call SetMaskNorm() and ResetMask()");
        uint32_t known = 0;                                // stores that some pipe has waited for are done before the end
        for (const Clock& k : b.K) known = std::max(known, k.own[int(Pipe::MTE3)]);
        if (b.n[int(Pipe::MTE3)] > known && !had_pipe(c)) {
            const auto& rec = g->running->trace.rec;
            const auto last = std::find_if(rec.rbegin(), rec.rend(), [](const Record& r) { return r.kind == Rec::Copy && r.pipe == Pipe::MTE3; });
            report(Severity::Warning, "MISSING_SYNC", {g->spec.file.c_str(), last == rec.rend() ? 0 : last->line}, "the kernel ends while this copy to global memory may still be under way",
                   "end a kernel without TPipe with PipeBarrier<PIPE_ALL>()");
        }
    }
    unclaimed_core_end();
    mm_core_end(c);
    queues_core_end(c);
    copy_core_end(c);
    dcache_core_end(c);
    Record r;
    r.kind = Rec::End;
    trace_add(r);
}

// ===== Instances
static void add_instance(CoreKind kind, int64_t group, int sub, int ratio) {
    auto i = std::make_unique<Instance>();
    i->core.id = int(g->instances.size());
    i->core.kind = kind;
    i->core.block_group = group;
    i->core.sub = sub;
    i->core.block = kind == CoreKind::AIV ? group * ratio + sub : group;
    const int physical = g->cores_of_kind[int(ratio > 1 ? CoreKind::AIC : kind)];
    i->trace.wave = int(group / physical);
    g->instances.push_back(std::move(i));
}

void launch_forget() {
    if (!g) return;
    keep_memories();
    for (char* s : g->free_stacks) spare_stacks().push_back(s);
    g.reset();
}

void launch_begin(const LaunchSpec& spec) {
    launch_forget();
    g = std::make_unique<LaunchState>();
    g->spec = spec;
    g->free_stacks.swap(spare_stacks());
    g->chip = make_chip(spec.chip);
    a2 = g->chip.num("npu_arch", 2201) == 2201;
    g->clock_ghz = g->chip.num("clock_ghz", 1.0);
    for (CoreKind k : {CoreKind::AIV, CoreKind::AIC}) g->cores_of_kind[int(k)] = int(std::max(1.0, g->chip.num(k == CoreKind::AIC ? "aic_cores" : "aiv_cores", 1)));
    static const char* keys[] = {"", "ub_bytes", "l1_bytes", "l0a_bytes", "l0b_bytes", "l0c_bytes", "bt_bytes", "fb_bytes"};
    for (int m = 1; m < int(Mem::N); ++m) g->capacity[m] = uint32_t(std::max(0.0, g->chip.num(keys[m], 0)));
    constexpr uint64_t huge = 2u << 20;
    uint64_t device = 0x12c000000000ull;                   // a stand-in for device addresses: pages of 2 MB
    std::vector<GmArg> sorted = spec.gm;
    for (size_t i = 0; i < sorted.size(); ++i) {
        g->gm.push_back({sorted[i].base, sorted[i].bytes, sorted[i].name, sorted[i].dtype, int(i), sorted[i].workspace, device});
        device += (sorted[i].bytes / huge + 2) * huge;
    }
    std::sort(g->gm.begin(), g->gm.end(), [](const GmBuffer& a, const GmBuffer& b) { return a.base < b.base; });
    for (const GmBuffer& b : g->gm) g->gm_shadow.push_back(std::make_unique<Shadow>(b.workspace ? kNeverWritten : kDefined));
    copy_launch_begin();
    mm_launch_begin();
    unclaimed_launch_begin();
    std::string line;
    for (char c : spec.source) { if (c == '\n') { g->source_lines.push_back(line); line.clear(); } else line += c; }
    g->source_lines.push_back(line);
    const int type = spec.kernel_type < 0 ? int(kAivOnly) : spec.kernel_type;
    for (int64_t b = 0; b < spec.blocks; ++b) {
        if (type == kAicOnly || type == kMixAic10) add_instance(CoreKind::AIC, b, 0, 1);
        else if (type == kMixAic11) { add_instance(CoreKind::AIC, b, 0, 1); add_instance(CoreKind::AIV, b, 0, 1); }
        else if (type == kMixAic12) { add_instance(CoreKind::AIC, b, 0, 2); add_instance(CoreKind::AIV, b, 0, 2); add_instance(CoreKind::AIV, b, 1, 2); }
        else add_instance(CoreKind::AIV, b, 0, 1);
    }
}

static void schedule() {
    std::vector<Instance*> active;
    size_t next = 0;
    int in_use[2] = {0, 0};
    auto room = [&](CoreKind k) {
        return in_use[int(k)] < g->cores_of_kind[int(k)];
    };
    auto step = [&](Instance& i) {
        fiber_resume(i);
        if (i.done) { --in_use[int(i.core.kind)]; g->running = &i; core_release(i); g->running = nullptr; }
    };
    while (!g->stopped) {
        bool moved = false;
        while (next < g->instances.size() && !g->stopped && room(g->instances[next]->core.kind)) {
            Instance& i = *g->instances[next++];
            ++in_use[int(i.core.kind)];
            g->running = &i;
            core_begin(i);
            active.push_back(&i);
            step(i);
            moved = true;
        }
        for (Instance* i : active) {
            if (g->stopped) return;
            if (i->done || !i->started || !i->ready || !i->ready()) continue;
            i->ready = nullptr;
            step(*i);
            moved = true;
        }
        active.erase(std::remove_if(active.begin(), active.end(), [](Instance* i) { return i->done; }), active.end());
        if (active.empty() && next == g->instances.size()) return;
        if (moved || g->stopped) continue;
        for (Instance* i : active) {                       // copies held back by schedule="lazy" may carry a flag
            g->running = i;
            moved = drain_all() || moved;
        }
        g->running = nullptr;
        if (!moved) { blocked_report(); return; }
    }
}

constexpr uint64_t kWorthAThread = 8u << 20;               // bytes of arguments

void run_launch(const LaunchSpec& spec, LaunchResult& out) {
    launch_begin(spec);
    if (spec.live) spec.live->state = 1;
    uint64_t bytes = 0;
    for (const GmArg& a : spec.gm) bytes += a.bytes;
    if (bytes >= kWorthAThread) worker_start();
    try { schedule(); } catch (const Stopped&) {}
    launch_end(out);
}

// ===== Driven by a front end

void launch_core(int64_t block, CoreKind kind, int sub) {
    for (auto& i : g->instances)
        if (i->core.block == block && i->core.kind == kind && i->core.sub == sub) {
            g->running = i.get();
            if (!i->started) { i->started = true; core_begin(*i); }
            return;
        }
}

void launch_core_end() {
    end_core();
    Instance& i = *g->running;
    i.done = true;
    core_release(i);
    g->running = nullptr;
}

void launch_end(LaunchResult& out) {
    for (auto& i : g->instances) if (i->started && !i->done) { g->running = i.get(); core_release(*i); }
    g->running = nullptr;
    const auto failed = [] { return std::any_of(g->findings.begin(), g->findings.end(), [](const FindingOut& f) { return f.severity == int(Severity::Error); }); };
    out.text = std::move(g->text);
    out.text_cut = g->text_cut;
    std::sort(g->trace.cores.begin(), g->trace.cores.end(), [](const CoreTrace& a, const CoreTrace& b) { return a.core < b.core; });
    if (!failed()) { mm_launch_end(); unclaimed_launch_end(); }
    trace_op("scalar work");                               // names what the timing sums up between instructions
    if (!failed()) out.timing = time_trace(g->trace, g->chip, g->spec.warm);   // while the worker copies the last bytes
    if (independent_cores()) worker_help();
    worker_stop();
    out.failed = failed();
    if (!out.failed) perf_notes(g->trace, out.timing);
    if (g->trace.truncated) out.timing.notes.push_back(fmt("the estimate covers the first %zu steps of the kernel", g->record_limit));
    out.findings = std::move(g->findings);
    out.ops = g->trace.ops;
    out.files = g->trace.files;
    out.buffers = g->buffers_out;
    for (size_t i = 0; i < g->line_cycles.size(); ++i)
        if (g->line_count[i]) out.scalar_lines.push_back({int(i), g->line_cycles[i], g->line_count[i]});
}

}  // namespace twin
