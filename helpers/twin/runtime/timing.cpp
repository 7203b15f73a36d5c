// Time of a trace: cores run ahead on what they know, copies share the memory in global order of time.
//
// A copy never begins before the fact that let it begin, so taking the earliest of "next copy begins" and "next copy
// ends" keeps every later decision later. Ties go by core and pipe: the same trace gives the same digits everywhere.
#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "timing_core.h"
#include "timing_fluid.h"
#include "timing_l2.h"

namespace twin {

namespace {

class Machine : public Neighbourhood {
public:
    Machine(const Trace& trace, const Chip& chip, bool warm)
        : trace_(trace), costs_(chip), l2_(costs_.l2_capacity), fluid_({costs_.hbm, costs_.l2_read, costs_.l2_write}) {
        for (const CoreTrace& t : trace.cores)
            for (const CopyCost& c : t.copies) l2_.meet(c);
        for (const CoreTrace& t : trace.cores)
            for (const CopyCost& c : t.copies) l2_.want(c);
        l2_.settle(warm);
        cores_.reserve(trace.cores.size());
        // Time between instructions carries the name "scalar work", when the trace has that name.
        const auto op = std::find(trace.ops.begin(), trace.ops.end(), "scalar work");
        const int scalar_op = op == trace.ops.end() ? -1 : int(op - trace.ops.begin());
        for (const CoreTrace& t : trace.cores) cores_.push_back(std::make_unique<CoreTimer>(int(cores_.size()), t, costs_, *this, scalar_op));
        find_waves();
        count_syncs();
    }

    Timing run();

private:
    struct Begin {
        double time; int job;
        bool operator>(const Begin& o) const { return time != o.time ? time > o.time : job > o.job; }
    };
    struct Meeting { std::vector<Fifo<double>> times; };                   // of each participant
    struct Sync { size_t expected = 0; std::vector<int> here; double last = 0; };

    const Trace& trace_;
    Costs costs_;
    L2 l2_;
    Fluid fluid_;
    std::vector<std::unique_ptr<CoreTimer>> cores_;
    std::deque<int> ready_;                                                // cores that have news
    std::priority_queue<Begin, std::vector<Begin>, std::greater<Begin>> begins_;
    std::unordered_map<uint64_t, int> readers_;                            // copies in flight by their first line
    std::vector<std::vector<int>> blocks_;                                 // the cores of each block, in the order in which blocks start
    std::vector<size_t> block_of_;                                         // of each core
    size_t next_block_ = 0;
    std::priority_queue<double, std::vector<double>, std::greater<double>> free_;   // when a physical core has become free
    std::map<std::tuple<int, int, int, int>, Meeting> meetings_;           // mode, kind, group, flag
    std::vector<int> sync_count_[2];
    std::map<std::pair<int, int>, Sync> syncs_;                            // kind of sync, its number
    std::map<uint64_t, double> published_;
    std::vector<std::string> notes_;
    double hbm_bytes_ = 0, hbm_busy_ = 0, read_ = 0, write_ = 0, hit_ = 0;
    uint64_t copies_ = 0;

    static int job(const CoreTimer& c, Pipe p) { return c.index * kTimedPipes + int(p); }
    static uint64_t line_of(const CopyCost& c) { return c.gm / 512; }
    void find_waves();
    void count_syncs();
    void start_block(double time);
    void start_first_wave();
    void serve();
    void begin_together();
    void end_together();
    void give_up();
    Timing collect();

    void copy_begins(CoreTimer& c, Pipe p, double begin) override { begins_.push({begin, job(c, p)}); }
    void cross_set(CoreTimer& c, int mode, int flag, double time) override;
    void sync_arrives(CoreTimer& c, bool vector_only, bool hard, double time) override;
    void published(uint64_t key, double time) override {
        published_.emplace(key, time);
        for (auto& c : cores_) ready_.push_back(c->index);
    }
    const double* when_published(uint64_t key) const override {
        auto it = published_.find(key);
        return it == published_.end() ? nullptr : &it->second;
    }
    void ended(CoreTimer& c) override;
};

// ===== Waves: a physical core that has become free gets the next block
void Machine::find_waves() {
    bool mixed = false;
    for (const CoreTrace& t : trace_.cores) mixed = mixed || t.kind != trace_.cores[0].kind;
    // The cores of an AI core come and go together when cube and vector cores work together.
    std::map<int, std::vector<int>> members;
    for (auto& c : cores_) members[mixed ? c->trace.group : c->trace.core].push_back(c->index);
    block_of_.resize(cores_.size());
    for (auto& [key, cores] : members) {
        for (int i : cores) block_of_[size_t(i)] = blocks_.size();
        blocks_.push_back(std::move(cores));
    }
}

void Machine::start_block(double time) {
    for (int i : blocks_[next_block_++]) { cores_[size_t(i)]->start(time); ready_.push_back(i); }
}

void Machine::start_first_wave() {
    while (next_block_ < blocks_.size() && cores_[size_t(blocks_[next_block_][0])]->trace.wave == 0) start_block(0);
}

void Machine::ended(CoreTimer& c) {
    double time = 0;
    for (int i : blocks_[block_of_[size_t(c.index)]]) {
        if (!cores_[size_t(i)]->done) return;
        time = std::max(time, cores_[size_t(i)]->end);
    }
    free_.push(time);
}

// ===== Between cores
void Machine::cross_set(CoreTimer& c, int mode, int flag, double time) {
    const CoreKind kind = c.trace.kind;
    const int group = mode == 0 ? 0 : c.trace.group;
    const double hop = mode == 0 ? costs_.cross_all : costs_.cross_near;
    std::vector<CoreTimer*> from, to;
    for (auto& o : cores_) {
        const bool same = o->trace.kind == kind, near = mode == 0 || o->trace.group == group;
        if (same && near) from.push_back(o.get());
        if (near && (mode == 2 ? !same : same)) to.push_back(o.get());
    }
    Meeting& m = meetings_[{mode, int(kind), group, flag}];
    m.times.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
        if (from[i] == &c) m.times[i].push(time);
    for (auto& t : m.times) if (t.empty()) return;
    double last = 0;
    for (auto& t : m.times) last = std::max(last, t.pop());
    for (CoreTimer* o : to) { o->flag_from_core(flag, last + hop); ready_.push_back(o->index); }
}

// The n-th SyncAll of a core meets the n-th of all cores that have one.
void Machine::count_syncs() {
    for (auto& n : sync_count_) n.assign(cores_.size(), 0);
    for (auto& c : cores_) {
        int n[2] = {};
        for (const Record& r : c->trace.rec)
            if (r.kind == Rec::SyncAll) ++syncs_[{r.event != 0, n[r.event != 0]++}].expected;
    }
}

void Machine::sync_arrives(CoreTimer& c, bool vector_only, bool hard, double time) {
    Sync& s = syncs_[{vector_only, sync_count_[vector_only][size_t(c.index)]++}];
    s.here.push_back(c.index);
    s.last = std::max(s.last, time);
    if (s.here.size() < s.expected) return;
    const double cost = !hard ? costs_.sync_soft : vector_only ? costs_.sync_hard : costs_.sync_mixed;
    for (int i : s.here) { cores_[size_t(i)]->sync_done(s.last + cost); ready_.push_back(i); }
}

// ===== Copies
void Machine::begin_together() {
    const double time = begins_.top().time;
    std::vector<int> jobs;
    for (; !begins_.empty() && begins_.top().time == time; begins_.pop()) jobs.push_back(begins_.top().job);
    fluid_.advance(time);
    auto copy_of = [&](int j) -> const CopyCost& {
        const CoreTimer& c = *cores_[size_t(j / kTimedPipes)];
        return c.trace.copies[c.pipe[j % kTimedPipes].copy->copy];
    };
    for (int j : jobs)
        if (!copy_of(j).store) ++readers_[line_of(copy_of(j))];
    for (int j : jobs) {
        CoreTimer& core = *cores_[size_t(j / kTimedPipes)];
        const Pipe p = Pipe(j % kTimedPipes);
        const CopyCost& c = copy_of(j);
        const Passage t = l2_.touch(c);
        double work = costs_.occupied(c, core.trace.kind, p, t.hit_bursts, t.miss_bursts);
        if (!c.store && readers_[line_of(c)] >= costs_.same_line_cores) work *= costs_.same_line;
        const double bytes = double(t.hit_bytes + t.miss_bytes);
        // Stores stay in the L2 when everything the kernel touches fits; else every stored byte goes on to HBM.
        const double hbm = c.store ? (l2_.fits() ? 0 : bytes) : double(t.miss_bytes);
        const double share = costs_.hbm_share(c);
        Demand d;
        d.hbm = hbm / share / work;
        (c.store ? d.l2_write : d.l2_read) = bytes / work;
        core.copy_moves(p, time + costs_.round_trip(c, p, t.miss_bursts > 0));
        fluid_.add(work, d, j);
        ++copies_;
        hbm_bytes_ += hbm;
        hbm_busy_ += hbm / share / costs_.hbm;
        (c.store ? write_ : read_) += bytes;
        if (!c.store) hit_ += double(t.hit_bytes);
    }
}

void Machine::end_together() {
    static thread_local std::vector<int> jobs;
    fluid_.finished(jobs);
    for (int j : jobs) {
        CoreTimer& core = *cores_[size_t(j / kTimedPipes)];
        const Pipe p = Pipe(j % kTimedPipes);
        const CopyCost& c = core.trace.copies[core.pipe[int(p)].copy->copy];
        if (!c.store)
            if (auto it = readers_.find(line_of(c)); it != readers_.end() && --it->second == 0) readers_.erase(it);
        core.copy_ends(p, fluid_.now());
        ready_.push_back(core.index);
    }
}

// ===== The run
void Machine::serve() {
    while (!ready_.empty()) {
        CoreTimer& c = *cores_[size_t(ready_.front())];
        ready_.pop_front();
        c.run();
    }
}

// A launch that failed leaves a trace in which something waits for ever: say so and time what there is.
void Machine::give_up() {
    for (auto& c : cores_) {
        if (c->done) continue;
        if (c->started) notes_.push_back(fmt("core %d: the estimate ends where the core waits for %s", c->trace.core, c->blocked().c_str()));
        for (const PipeTimer& p : c->pipe) c->end = std::max({c->end, p.last, p.busy_until});
    }
}

Timing Machine::run() {
    start_first_wave();
    for (serve();; serve()) {
        const double end = fluid_.empty() ? -1 : fluid_.next();
        constexpr double never = std::numeric_limits<double>::infinity();
        const double next = std::min(fluid_.empty() ? never : end, begins_.empty() ? never : begins_.top().time);
        if (next_block_ < blocks_.size() && !free_.empty() && free_.top() <= next) {   // nothing earlier can free another core
            const double freed = free_.top();
            free_.pop();
            start_block(freed + costs_.wave);
            continue;
        }
        if (!begins_.empty() && (fluid_.empty() || begins_.top().time <= end)) begin_together();
        else if (!fluid_.empty()) { fluid_.advance(end); end_together(); }
        else break;
    }
    give_up();
    return collect();
}

Timing Machine::collect() {
    Timing out;
    out.launch_ns = costs_.launch;
    for (const std::string& op : trace_.ops)
        if (op == "REGIST_MATMUL_OBJ" && cores_.size() > 1) {
            bool vector = false;
            for (const CoreTrace& t : trace_.cores) vector = vector || t.kind == CoreKind::AIV;
            if (vector) out.launch_ns += costs_.matmul_message;
        }
    size_t events = 0;
    for (auto& c : cores_) for (PipeTimer& p : c->pipe) events += p.events.size();
    out.events.reserve(events);
    double last = 0, repeats_busy = 0;
    uint64_t vector_instructions = 0, vector_elements = 0;
    std::set<int> waves;
    for (auto& c : cores_) {
        PipeTotal total;
        for (int p = 0; p < kTimedPipes; ++p) {
            total.busy_ns[p] = c->pipe[p].busy;
            out.events.insert(out.events.end(), c->pipe[p].events.begin(), c->pipe[p].events.end());
        }
        for (const Event& e : c->pipe[int(Pipe::V)].events) { ++vector_instructions; vector_elements += e.elements; }
        repeats_busy += c->pipe[int(Pipe::V)].busy;
        out.core_busy.push_back(total);
        out.core_end_ns.push_back(c->end);
        std::stable_sort(c->marks.begin(), c->marks.end(), [](const Timing::Mark& a, const Timing::Mark& b) { return a.ns < b.ns; });
        out.marks.insert(out.marks.end(), c->marks.begin(), c->marks.end());
        last = std::max(last, c->end);
        waves.insert(c->trace.wave);
    }
    out.kernel_ns = out.launch_ns + last;
    out.totals = {
        {"gm_read_bytes", read_}, {"gm_write_bytes", write_}, {"hbm_bytes", hbm_bytes_}, {"hbm_busy_ns", hbm_busy_},
        {"l2_hit_bytes", hit_}, {"gm_footprint_bytes", l2_.footprint()}, {"l2_capacity_bytes", costs_.l2_capacity},
        {"launch_ns", out.launch_ns}, {"copies", double(copies_)}, {"vector_instructions", double(vector_instructions)},
        {"vector_elements", double(vector_elements)}, {"vector_busy_ns", repeats_busy}, {"waves", double(waves.size())},
    };
    out.notes = std::move(notes_);
    return out;
}

}  // namespace

Timing time_trace(const Trace& trace, const Chip& chip, bool warm) {
    return Machine(trace, chip, warm).run();
}

}  // namespace twin
