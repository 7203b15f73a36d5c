#include "timing_core.h"

#include <algorithm>

namespace twin {

namespace {
constexpr int kEvents = 48, kIds = 16;     // room for every HardEvent and id
constexpr double kOwnEvent = 50;           // ns: longer scalar work is an event of its own line
}  // namespace

CoreTimer::CoreTimer(int i, const CoreTrace& t, const Costs& c, Neighbourhood& w, int op)
    : trace(t), index(i), scalar_op(op), costs_(c), world_(w) {
    for (PipeTimer& p : pipe) p.starts.resize(size_t(c.queue_depth));
}

CoreTimer::Times& CoreTimer::flag(const Record& r) {
    uint16_t& at = flag_index_[size_t(r.event % kEvents) * kIds + size_t(r.id % kIds)];
    if (!at) {
        flags_.emplace_back();
        at = uint16_t(flags_.size());
    }
    return flags_[at - 1u];
}

void CoreTimer::start(double time) {
    started = true;
    now_ = time;
    for (PipeTimer& p : pipe) p.free = p.gate = p.last = p.busy_until = time;
}

void CoreTimer::run() {
    if (!started || done) return;
    for (bool moved = true; moved;) {
        moved = false;
        while (scalar_step()) moved = true;
        for (int p = 1; p < kTimedPipes; ++p)
            while (pipe_step(p)) moved = true;
    }
}

// ===== The scalar unit
bool CoreTimer::scalar_step() {
    if (done) return false;
    static const Record finish = [] { Record r; r.kind = Rec::End; return r; }();
    const Record& r = next_ < trace.rec.size() ? trace.rec[next_] : finish;
    if (!charged_) {
        const double from = now_;
        now_ += double(r.s_cycles) * costs_.cycle + double(r.s_ns);
        scalar_busy(from, now_, r.line, r.file);
        charged_ = true;
    }
    if (!scalar_record(r)) return false;
    charged_ = false;
    ++next_;
    return true;
}

// Does one record; false: it has to wait for something that is not known yet.
bool CoreTimer::scalar_record(const Record& r) {
    switch (r.kind) {
        case Rec::Op:
        case Rec::Copy:
            return issue(r);
        case Rec::SetFlag:
            if (r.pipe == Pipe::S) flag(r).push(now_);
            else pipe[int(r.pipe)].items.push({&r, now_});
            return true;
        case Rec::WaitFlag: {
            if (r.pipe != Pipe::S) { pipe[int(r.pipe)].items.push({&r, now_}); return true; }
            Times& f = flag(r);
            if (f.empty()) return false;
            now_ = std::max(now_, f.pop() + costs_.flag);
            return true;
        }
        case Rec::Barrier:
            if (r.pipe == Pipe::ALL) {
                const double all = drained();
                if (all < 0) return false;
                now_ = std::max(now_, all) + costs_.barrier_all;
            } else if (r.pipe != Pipe::S) {
                pipe[int(r.pipe)].items.push({&r, now_});
            }
            return true;
        case Rec::Join: {
            const PipeTimer& p = pipe[int(r.pipe)];
            const uint32_t number = std::min(r.dep, p.issued);
            if (r.pipe == Pipe::S || number == 0) return true;
            if (p.ends.size() < number) return false;
            now_ = std::max(now_, p.ends[number - 1] + costs_.flag);
            return true;
        }
        case Rec::CrossSet:
            if (r.pipe == Pipe::S) world_.cross_set(*this, r.event, r.id, now_);
            else pipe[int(r.pipe)].items.push({&r, now_});
            return true;
        case Rec::CrossWait: {
            Times& f = cross_[r.id & 15];
            if (f.empty()) return false;
            now_ = std::max(now_, f.pop());
            return true;
        }
        case Rec::SyncAll: {
            if (!waiting_sync_) {
                const double all = drained();
                if (all < 0) return false;
                waiting_sync_ = true;
                sync_time_ = -1;
                world_.sync_arrives(*this, r.event != 0, r.id != 0, std::max(now_, all));
            }
            if (sync_time_ < 0) return false;
            now_ = std::max(now_, sync_time_);
            waiting_sync_ = false;
            return true;
        }
        case Rec::Publish: {
            if (r.pipe != Pipe::S) { pipe[int(r.pipe)].items.push({&r, now_}); return true; }
            const double all = drained();
            if (all < 0) return false;
            now_ = std::max(now_, all);
            world_.published(r.a, now_);
            return true;
        }
        case Rec::Await: {
            const double* t = world_.when_published(r.a);
            if (!t) return false;
            now_ = std::max(now_, *t + (r.event == kInsideCore ? costs_.cross_near : costs_.hop));
            return true;
        }
        case Rec::BufAlloc:
            pending_allocs_.push_back({r.id, now_});
            return true;
        case Rec::BufFree:
            // The buffer is free when the last instruction before this point has finished with it.
            if (last_pipe_ < 0) marks.push_back({trace.core, r.id, false, now_});
            else if (PipeTimer& p = pipe[last_pipe_]; p.ends.size() >= p.issued)
                marks.push_back({trace.core, r.id, false, std::max(now_, p.ends.back())});
            else p.frees.push({p.issued, r.id, now_});
            return true;
        case Rec::End: {
            const double all = drained();
            if (all < 0) return false;
            for (auto& [buffer, time] : pending_allocs_) marks.push_back({trace.core, buffer, true, time});
            pending_allocs_.clear();
            end = std::max(now_, all);
            done = true;
            world_.ended(*this);
            return true;
        }
    }
    return true;
}

bool CoreTimer::issue(const Record& r) {
    if (r.pipe == Pipe::S) {                             // the scalar unit does it itself
        const double from = now_;
        now_ += double(r.head + r.busy) * costs_.cycle;
        scalar_busy(from, now_, r.line, r.file);
        return true;
    }
    PipeTimer& p = pipe[int(r.pipe)];
    const uint32_t depth = uint32_t(costs_.queue_depth);
    if (p.issued >= depth) {                             // the queue has a place when its oldest has started
        if (p.started + depth <= p.issued) return false;
        now_ = std::max(now_, p.starts[p.issued % depth]);
    }
    ++p.issued;
    for (auto& [buffer, time] : pending_allocs_) p.allocs.push({p.issued, buffer, time});
    pending_allocs_.clear();
    last_pipe_ = int(r.pipe);
    p.items.push({&r, now_});
    return true;
}

void CoreTimer::scalar_busy(double from, double to, int line, uint32_t file) {
    if (to <= from) return;
    PipeTimer& p = pipe[int(Pipe::S)];
    p.busy += to - from;
    const bool small = to - from < kOwnEvent;
    if (!p.events.empty()) {
        Event& e = p.events.back();
        const bool together = small && gathering_ && e.end - e.start < 20 * kOwnEvent;
        if (e.end >= from && (together || e.line == line)) { e.end = to; return; }
    }
    gathering_ = small;
    Record r;
    r.line = line;
    r.file = file;
    p.events.push_back(event(int(Pipe::S), r, from, to));
    p.events.back().op = scalar_op;
}

double CoreTimer::drained() const {
    double all = 0;
    for (int p = 1; p < kTimedPipes; ++p) {
        if (!pipe[p].idle()) return -1;
        all = std::max(all, pipe[p].last);
    }
    return all;
}

// ===== Pipes
bool CoreTimer::pipe_step(int i) {
    PipeTimer& p = pipe[i];
    if (p.items.empty()) return false;
    const Record& r = *p.items.front().rec;
    const double issued = p.items.front().issued;
    switch (r.kind) {
        case Rec::WaitFlag: {
            Times& f = flag(r);
            if (f.empty()) return false;
            p.gate = std::max(p.gate, f.pop() + costs_.flag);
            break;
        }
        case Rec::SetFlag:
            if (p.moving) return false;
            flag(r).push(std::max(p.last, issued));
            break;
        case Rec::CrossSet:
            if (p.moving) return false;
            world_.cross_set(*this, r.event, r.id, std::max(p.last, issued));
            break;
        case Rec::Publish:
            if (p.moving) return false;
            world_.published(r.a, std::max(p.last, issued));
            break;
        case Rec::Barrier:
            if (p.moving) return false;
            p.gate = std::max(p.gate, p.last);
            p.fenced = uint32_t(p.ends.size());
            break;
        case Rec::Copy: {
            if (p.moving) return false;
            const CopyCost& c = trace.copies[r.copy];
            const double ready = std::max(issued, p.gate);
            // The start cost is a delay, not work: behind another copy it is hidden.
            p.copy_start = std::max(ready, p.free);
            p.copy_begin = std::max(ready + costs_.start(c, trace.kind, r.pipe), p.free);
            p.copy = &r;
            p.moving = true;
            started_at(p, p.copy_start);
            p.items.pop();
            world_.copy_begins(*this, Pipe(i), p.copy_begin);
            return true;
        }
        default: {
            if (p.moving) return false;
            double start = std::max({issued, p.gate, p.free});
            if (r.dep > p.fenced) {                        // the barrier the compiler puts before a dependent instruction
                start = std::max(start, p.last);
                p.fenced = uint32_t(p.ends.size());
            }
            started_at(p, start);
            p.free = start + costs_.vector_busy(r.busy);
            finished_at(i, r, start, start + costs_.vector_busy(double(r.head) + double(r.busy)));
            break;
        }
    }
    p.items.pop();
    return true;
}

void CoreTimer::copy_moves(Pipe p, double least_end) { pipe[int(p)].copy_least = least_end; }

void CoreTimer::copy_ends(Pipe i, double time) {
    PipeTimer& p = pipe[int(i)];
    p.moving = false;
    p.free = time;
    finished_at(int(i), *p.copy, p.copy_start, std::max(time, p.copy_least));
}

void CoreTimer::started_at(PipeTimer& p, double time) {
    p.starts[p.started % p.starts.size()] = time;
    ++p.started;
    while (!p.allocs.empty() && p.allocs.front().number <= p.started) {
        marks.push_back({trace.core, p.allocs.front().buffer, true, std::max(time, p.allocs.front().time)});
        p.allocs.pop();
    }
}

void CoreTimer::finished_at(int i, const Record& r, double start, double finish) {
    PipeTimer& p = pipe[i];
    p.last = std::max(p.last, finish);
    p.ends.push_back(finish);
    p.busy += std::max(0.0, finish - std::max(start, p.busy_until));
    p.busy_until = std::max(p.busy_until, finish);
    p.events.push_back(event(i, r, start, finish));
    while (!p.frees.empty() && p.frees.front().number <= p.ends.size()) {
        marks.push_back({trace.core, p.frees.front().buffer, false, std::max(finish, p.frees.front().time)});
        p.frees.pop();
    }
}

Event CoreTimer::event(int p, const Record& r, double start, double finish) const {
    return {trace.core, int32_t(trace.block), int32_t(trace.kind), p, r.op, r.line, int32_t(r.file), trace.sub,
            start, finish, r.bytes, r.elements};
}

// ===== News from other cores
void CoreTimer::flag_from_core(int flag, double time) { cross_[flag & 15].push(time); }
void CoreTimer::sync_done(double time) { sync_time_ = time; }

std::string CoreTimer::blocked() const {
    if (next_ >= trace.rec.size()) return "the end of the kernel";
    const Record& r = trace.rec[next_];
    const char* what = r.kind == Rec::WaitFlag ? "a flag" : r.kind == Rec::CrossWait ? "a cross-core flag"
                     : r.kind == Rec::SyncAll ? "SyncAll" : r.kind == Rec::Await ? "another block" : "its pipes";
    return fmt("%s at line %d", what, r.line);
}

}  // namespace twin
