// One core of the cost model: a scalar unit that issues in program order, and pipes that work through their queues.
//
// A core runs as far ahead as known facts allow. What it cannot know alone - how long a copy takes while others share
// the memory, when another core arrives - it asks of a Neighbourhood, and goes on when the answer comes.
#pragma once
#include "timing_costs.h"

namespace twin {

constexpr int kTimedPipes = static_cast<int>(Pipe::N);

// A queue that costs nothing until it is used: there are hundreds per core.
template <class T>
class Fifo {
public:
    bool empty() const { return head_ == items_.size(); }
    const T& front() const { return items_[head_]; }
    void push(const T& v) { items_.push_back(v); }
    T pop() {
        T v = items_[head_++];
        if (head_ == items_.size()) { items_.clear(); head_ = 0; }
        return v;
    }

private:
    std::vector<T> items_;
    size_t head_ = 0;
};

struct CoreTimer;

// What a core needs from outside.
struct Neighbourhood {
    virtual ~Neighbourhood() = default;
    virtual void copy_begins(CoreTimer& core, Pipe pipe, double begin) = 0;
    virtual void cross_set(CoreTimer& core, int mode, int flag, double time) = 0;
    virtual void sync_arrives(CoreTimer& core, bool vector_only, bool hard, double time) = 0;
    virtual void published(uint64_t key, double time) = 0;
    virtual const double* when_published(uint64_t key) const = 0;
    virtual void ended(CoreTimer& core) = 0;
};

struct PipeTimer {
    struct Item { const Record* rec; double issued; };
    struct Hold { uint32_t number; int buffer; double time; };   // a mark that waits for an instruction

    Fifo<Item> items;                    // issued, not started
    double free = 0;                     // the next instruction may start
    double gate = 0;                     // flags and barriers let it start
    double last = 0;                     // all earlier instructions have finished
    uint32_t fenced = 0;                 // instructions that a barrier has waited for: to depend on them costs nothing more
    bool moving = false;                 // a copy is between start and end
    const Record* copy = nullptr;        // that copy
    double copy_start = 0, copy_begin = 0, copy_least = 0;
    uint32_t issued = 0, started = 0;
    std::vector<double> starts, ends;    // starts: ring of the last queue_depth; ends: of every instruction
    Fifo<Hold> allocs, frees;
    double busy = 0, busy_until = 0;
    std::vector<Event> events;
    bool idle() const { return items.empty() && !moving; }
};

struct CoreTimer {
    CoreTimer(int index, const CoreTrace& trace, const Costs& costs, Neighbourhood& world, int scalar_op);

    const CoreTrace& trace;
    const int index;                     // in Trace::cores
    const int scalar_op;                 // Event::op of scalar work between instructions
    PipeTimer pipe[kTimedPipes];
    std::vector<Timing::Mark> marks;
    double end = 0;
    bool started = false, done = false;

    void start(double time);
    void run();                                       // as far as known facts allow
    void copy_moves(Pipe p, double least_end);        // the copy begins now; its answer is not back before least_end
    void copy_ends(Pipe p, double time);
    void flag_from_core(int flag, double time);       // one more set of a cross-core flag
    void sync_done(double time);
    std::string blocked() const;                      // what it waits for, for notes

private:
    using Times = Fifo<double>;
    const Costs& costs_;
    Neighbourhood& world_;
    size_t next_ = 0;
    double now_ = 0;                                  // the scalar unit
    bool charged_ = false, waiting_sync_ = false;
    bool gathering_ = false;                          // the last event of scalar work collects small pieces
    double sync_time_ = -1;
    uint16_t flag_index_[48 * 16] = {};               // (event, id) -> 1 + place in flags_
    std::vector<Times> flags_;                         // those that are used
    Times cross_[16];
    std::vector<std::pair<int, double>> pending_allocs_;   // buffer, time
    int last_pipe_ = -1;

    Times& flag(const Record& r);
    bool scalar_step();
    bool scalar_record(const Record& r);
    bool pipe_step(int p);
    bool issue(const Record& r);
    void scalar_busy(double from, double to, int line, uint32_t file);
    double drained() const;                           // when all pipes have finished; negative: not known yet
    void started_at(PipeTimer& p, double time);
    void finished_at(int p, const Record& r, double start, double finish);
    Event event(int p, const Record& r, double start, double finish) const;
};

}  // namespace twin
