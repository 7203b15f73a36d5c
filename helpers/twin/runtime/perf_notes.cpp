// Performance notes that need the whole launch: scalar loops, idle cores, many cores on one line of GM.
#include "perf_notes.h"

#include "races.h"

namespace twin {

static const char* users_file() { return launch().spec.file.c_str(); }

// A line whose scalar accesses take a visible part of the kernel.
static void scalar_loops(const Timing& t) {
    LaunchState& l = launch();
    const double blocks = double(std::max<size_t>(1, t.core_end_ns.size())), body = t.kernel_ns - t.launch_ns;
    for (size_t line = 0; line < l.line_accesses.size(); ++line) {
        const uint64_t n = l.line_accesses[line];
        const double ns = l.line_cycles[line] / blocks / l.chip.num("clock_ghz", 1);
        if (double(n) < 256 * blocks || ns < 0.05 * body) continue;
        report(Severity::Note, "PERF_SCALAR_LOOP", {users_file(), int32_t(line)},
               fmt("%llu single elements are read or written on this line: about %.0f %% of the time of a block", (unsigned long long)n, 100 * ns / body),
               "use one vector call on the whole tile; a vector instruction takes a few cycles for 64 or more elements");
    }
}

static void idle_cores(const Timing& t) {
    LaunchState& l = launch();
    const int have = int(l.chip.num("aiv_cores", 1));
    const double body = t.kernel_ns - t.launch_ns;
    if (body < 2 * t.launch_ns || t.core_end_ns.empty()) return;     // too short for more cores to pay
    for (const auto& i : l.instances) if (i->core.kind == CoreKind::AIC) return;
    const int64_t blocks = l.spec.blocks;
    if (blocks < have) {
        report(Severity::Note, "PERF_IDLE_CORES", {users_file(), 0}, fmt("%lld block%s on %d vector cores: %lld stand idle for %.1f us", (long long)blocks, blocks == 1 ? "" : "s", have,
                                                                        (long long)(have - blocks), body / 1000),
               fmt("split the work over up to %d blocks", have));
        return;
    }
    double sum = 0, last = 0;
    for (double e : t.core_end_ns) { sum += e; last = std::max(last, e); }
    const double mean = sum / double(t.core_end_ns.size());
    if (blocks <= have && last > 1.25 * mean)
        report(Severity::Note, "PERF_IDLE_CORES", {users_file(), 0}, fmt("the last block ends at %.1f us, the mean at %.1f us: the others wait for it", last / 1000, mean / 1000),
               "give every block the same number of tiles, or one more to the first ones");
}

// Loads of many cores that start in the same 512 B line of GM.
static void same_address(const Trace& trace) {
    struct Readers { int cores = 0, last = -1; };
    std::unordered_map<uint64_t, Readers> lines;
    std::map<int32_t, std::pair<int, uint64_t>> worst;               // line of text -> cores, GM line
    const size_t own = size_t(std::find(trace.files.begin(), trace.files.end(), launch().spec.file) - trace.files.begin());
    for (const CoreTrace& c : trace.cores)
        for (const Record& r : c.rec) {
            if (r.kind != Rec::Copy || r.copy >= c.copies.size() || c.copies[r.copy].store || r.file != own) continue;
            const uint64_t key = c.copies[r.copy].gm / 512;
            Readers& x = lines[key];
            if (x.last == c.core) continue;
            x.last = c.core;
            auto& w = worst[r.line];
            if (++x.cores > w.first) w = {x.cores, key};
        }
    for (const auto& w : worst)
        if (w.second.first >= 8)
            report(Severity::Note, "PERF_SAME_ADDRESS", {users_file(), w.first}, fmt("%d cores load from the same 512 B line of GM: such requests are served one after the other", w.second.first),
                   "let each block start at another row and wrap around, or load the shared data once");
}

void perf_notes(const Trace& trace, const Timing& t) {
    if (!launch().spec.checks) return;
    scalar_loops(t);
    idle_cores(t);
    same_address(trace);
}

}  // namespace twin
