// Everything one launch owns. Internal to the engine: topic files use engine.h.
#pragma once
#include <ucontext.h>

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "chip.h"
#include "clock.h"
#include "engine.h"
#include "launch.h"
#include "in_order.h"
#include "shadow.h"

namespace twin {

constexpr int kEvents = 35, kEventIds = 8, kFlagIds = 16;

// One event id. The scalar unit may issue the next set before the waiting pipe has come to its wait; what counts as
// "set twice" is the program order.
struct Flag {
    bool reserved = false, from_queue = false;
    std::vector<Clock> raised;   // sets that no wait has taken yet, oldest first
    int issued = 0;         // sets minus waits in program order: a second set in a row is a mistake
    bool set() const { return !raised.empty(); }
    At set_at{}, issued_at{}, wait_at{}, alloc_at{};
    uint32_t sets = 0, waits = 0;
};

// Most kernels use three or four events: the others take no room.
struct FlagTable {
    Flag* operator[](int event) {
        if (!used(event)) row_[event].reset(new Flag[kEventIds]);
        return row_[event].get();
    }
    bool used(int event) const { return row_[event] != nullptr; }

  private:
    std::unique_ptr<Flag[]> row_[kEvents];
};

// What stands in the queue of a pipe that cannot run on yet.
struct Pending {
    enum Kind : uint8_t { Op, Set, Wait, Barrier, Cross } kind;
    std::unique_ptr<Instr> in;
    int event = 0, id = 0;
    Clock issued;            // what the scalar unit knew when it issued this
    At at{};
    uint32_t seq = 0, rec = 0;
};

struct Scoreboard {
    Clock K[kPipes];         // what is known complete before the next operation of the pipe starts
    uint32_t n[kPipes] = {}; // operations issued on the pipe
    bool scalar_open = false;
    FlagTable flags;
    InOrder<Pending> queue[kPipes];
    uint32_t seq = 0;
    Shadow shadow[static_cast<int>(Mem::N)];
    std::vector<BufferInfo> buffers;
    uint32_t in_use[static_cast<int>(Mem::N)] = {};
    // scalar unit
    float s_cycles = 0, s_ns = 0;
    double s_total = 0;
    struct Window { Mem mem = Mem::N; uint64_t lo = 0, hi = 0; } read_window[4];
    int next_window = 0;
    Window write_room;                         // piece of the shadow that the current run of scalar stores may grow in
    Mem run_mem = Mem::N; uint64_t run_lo = 0, run_hi = 0; At run_at{}; const char* run_op = "";
    // polling: how often the same GM element was read in a row
    const void* polled = nullptr; uint32_t polls = 0;
    // cross-core counters
    std::vector<Remote> arrived[kFlagIds];
    uint32_t cross_sets[kFlagIds] = {}, cross_waits[kFlagIds] = {};
    At cross_at[kFlagIds]{};
};

struct Fiber {
    ucontext_t context{};
    char* stack = nullptr;   // lowest address is the guard page
};

// One instance of the kernel function.
struct Instance {
    Core core;
    Fiber fiber;
    bool started = false, done = false;
    const char* waiting = nullptr;             // name of the primitive it waits in
    At waiting_at{};
    int waiting_key = 0;
    std::function<bool()> ready;
    uint32_t sync_round = 0;                   // SyncAll calls made
    At sync_at{};
    CoreTrace trace;
    uint8_t* storage = nullptr;
};

struct LaunchState {
    LaunchSpec spec;
    Chip chip;
    uint32_t capacity[static_cast<int>(Mem::N)] = {};
    std::vector<std::unique_ptr<Instance>> instances;
    Instance* running = nullptr;
    ucontext_t scheduler{};
    bool in_fiber = false, stopped = false;
    std::vector<GmBuffer> gm;                  // sorted by base
    std::vector<std::unique_ptr<Shadow>> gm_shadow;
    size_t gm_last = 0;
    std::vector<FindingOut> findings;
    std::map<std::tuple<int, std::string, int, std::string>, size_t> finding_index;  // severity, code, line, file
    std::string text;
    bool text_cut = false;
    bool cores_met = false;                    // a cross-core primitive was used
    Trace trace;
    std::unordered_map<const void*, uint16_t> op_index, file_index;
    struct Known { const char* text = nullptr; uint16_t index = 0; } op_last[16], file_last;   // the latest answers
    std::map<std::pair<const char*, const char*>, VecCost> vec_costs;
    std::vector<double> line_cycles;
    std::vector<uint64_t> line_count, line_accesses;   // charges, and single elements among them
    std::vector<std::string> source_lines;
    std::map<std::tuple<const char*, int, const char*, int>, std::string> arguments;   // of calls, as written: file, line, callee, place
    std::map<std::tuple<const char*, int, int>, std::string> names;                    // of buffers: file, line, which InitBuffer of the line
    std::map<uint64_t, Remote> published;
    std::map<std::tuple<int, int, int>, std::map<int, std::deque<Remote>>> arrivals;  // (mode, group, id) -> core -> snapshots
    std::map<std::tuple<int, int, int>, std::pair<At, int>> arrivals_at;   // the latest set, and how many cores have to set
    std::vector<Remote> sync_clock;
    struct SyncRound { std::vector<Remote> in; Remote out; int arrived = 0, needed = 0; bool complete = false; At at{}; };
    std::map<std::pair<int, uint32_t>, SyncRound> sync;  // (kind of barrier, round)
    std::vector<BufferOut> buffers_out;
    const char *known_file = nullptr, *other_file = nullptr, *live_op = nullptr;   // names already compared
    std::set<int> literal_ids;                 // lines already looked at
    struct Retired { Instance* instance; uint64_t mark; };  // ended, but bodies of it may still run on the worker
    std::vector<Retired> retired;
    std::vector<uint8_t*> free_storage[2], clean_storage[2];   // per core kind; clean: filled as at the start of a core
    struct Mapped { void* start; size_t bytes; CoreKind kind; };
    std::vector<Mapped> mapped;
    std::vector<char*> free_stacks;
    size_t record_limit = 3'000'000, records = 0;
    double clock_ghz = 1;
    int cores_of_kind[2] = {1, 1};             // that the chip has
};

LaunchState& launch();
inline Scoreboard& board() { return *core().board; }
uint32_t trace_add(Record r);                  // returns the index in the running core's trace
// The same for a primitive in which cores meet: they are no longer independent.
uint32_t trace_meeting(Rec kind, At at, const char* op, int event, int id, Pipe p = Pipe::S, uint64_t a = 0);
uint16_t trace_op(const char* op);
void end_core();                               // what happens when the kernel function has returned
bool drain_all();                              // runs every pipe queue of the running core as far as possible
void flush_scalar_run();
void note_scalar(At at);                       // an instruction is issued: the scalar phase ends
void core_begin(Instance& i);
void core_release(Instance& i);
void keep_memories();                           // end of the launch's life: its mappings serve the next one
bool independent_cores();                        // they have not met, and no conflict between them is known
void let_go_retired();                          // waits for the worker, then frees what ended cores still hold
[[noreturn]] void stop_launch();
std::vector<char*>& spare_stacks();
bool yield_until(const std::function<bool()>& ready, const char* what, At at, int key);
std::string where(At at);                      // "line 12" or "file.h:12"

}  // namespace twin
