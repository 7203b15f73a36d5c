// What the functional run leaves for the timing pass: one record per step of a core's program, in program order.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "twin/base.h"

namespace twin {

struct VecCost { float head = 60, slope = 4, conflict = 4; bool known = false; };  // conflict: slope when two sources share a bank group

struct CopyCost {
    bool is = false;          // this instruction is a copy between GM and local memory
    bool store = false;       // local -> GM
    uint8_t cache = 1;        // CacheMode of the GM side; 0 = bypass L2 for reads
    bool ragged = false;      // row length not a multiple of 32 B (DataCopyPad)
    bool nd2nz = false;
    uint32_t rows = 0;
    uint32_t row_bytes = 0;   // GM bytes of one row
    int64_t row_pitch = 0;    // GM start to start, bytes
    uint64_t gm = 0;          // device address of row 0 (gm_device_address)
};

enum class Rec : uint8_t {
    Op,          // instruction with fixed cost on its pipe
    Copy,        // instruction with a CopyCost (index in `copy`)
    SetFlag, WaitFlag,   // event, id
    Barrier,     // pipe (Pipe::ALL = all)
    Join,        // the scalar unit waits until instruction number `dep` of pipe `pipe` has finished (automatic sync)
    CrossSet,    // event = mode, id = flag; after pipe `pipe`
    CrossWait,   // id = flag
    SyncAll,     // event = 1: AIV only, 0: all; id = 1: hard
    Publish, Await,      // key in `a`; event = kInsideCore: the short way between the cores of one AI core
    BufAlloc, BufFree,   // buffer index in `id`: marks for the UB map
    End,
};

constexpr int kInsideCore = 1;

struct Record {
    Rec kind = Rec::Op;
    Pipe pipe = Pipe::S;
    uint16_t op = 0;          // index into Trace::ops
    int32_t line = 0;
    float s_cycles = 0;       // scalar cycles spent since the previous record, including this issue
    float s_ns = 0;           // scalar waits in ns since the previous record
    int16_t event = 0;
    int16_t id = 0;
    float head = 0, busy = 0; // cycles: latency = head + busy (busy = slope*repeats)
    uint32_t copy = 0;        // index into CoreTrace::copies
    // number (1-based, per pipe) of the latest earlier instruction of the same pipe that this one depends on
    // (automatic V->V barrier); 0 = none
    uint32_t dep = 0;
    uint32_t file = 0;        // index into Trace::files
    uint64_t a = 0;
    uint64_t bytes = 0, elements = 0;
};

struct CoreTrace {
    int core = 0;             // index over all cores
    int64_t block = 0;
    CoreKind kind = CoreKind::AIV;
    int group = 0;            // AI core it belongs to
    int sub = 0;
    int wave = 0;             // blocks beyond the physical cores run in later waves on the same physical core
    std::vector<Record> rec;
    std::vector<CopyCost> copies;
};

struct Trace {
    std::vector<std::string> ops, files;
    std::vector<CoreTrace> cores;
    bool truncated = false;
};

struct Event {                // 64 bytes, exported to Python as a structured array
    int32_t core, block, kind, pipe, op, line, file, sub;
    double start, end;        // ns from the launch of the kernel body (before the fixed launch cost)
    uint64_t bytes, elements;
};

struct PipeTotal { double busy_ns[7] = {}; };   // union of [start, end) per pipe

struct Timing {
    double kernel_ns = 0;                 // including the launch cost
    double launch_ns = 0;
    std::vector<Event> events;
    std::vector<double> core_end_ns;      // per core
    std::vector<PipeTotal> core_busy;     // per core
    std::vector<std::pair<std::string, double>> totals;  // "gm_read_bytes", "gm_write_bytes", "hbm_bytes", "l2_hit_bytes", "hbm_busy_ns" …
    struct Mark { int core, buffer; bool alloc; double ns; };
    std::vector<Mark> marks;              // UB map over time
    std::vector<std::string> notes;
};

struct Chip;
// The cost model of the chip applied to a trace: pure function, no globals. `warm`: GM data starts in L2.
Timing time_trace(const Trace& t, const Chip& chip, bool warm = false);

}  // namespace twin
