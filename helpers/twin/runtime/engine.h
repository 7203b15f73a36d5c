// The engine: one instruction at a time, from its issue to its effect.
//
// Every API call that touches memory builds an Instr (pipe, op, byte regions, cost, body) and hands it to issue().
// The engine checks bounds and life time of the regions, runs the body when its pipe is free to run it, keeps the
// vector clocks (races), the undefined bytes, and one trace record per instruction for the timing pass.
#pragma once
#include <cstdarg>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace.h"
#include "twin/base.h"

namespace twin {

struct Core;
struct Launch;

// ===== Messages
enum class Severity : uint8_t { Note, Warning, Error };
std::string fmt(const char* f, ...) __attribute__((format(printf, 1, 2)));
// Records a finding; an error is raised after the launch. `at` is the learner's line. Repeats are counted, not repeated.
void report(Severity s, const char* code, At at, std::string message, std::string hint = {});
// Was this already reported at this line? Then it is counted: ask first where the message is costly and comes often.
bool said_before(Severity s, const char* code, At at);
// Records an error and stops the launch: for what would make every later result meaningless.
[[noreturn]] void fatal(const char* code, At at, std::string message, std::string hint = {});
// Source helpers for messages: text of a line, and the n-th argument of the call `callee` on that line ("" if not found).
std::string source_line(At at);
std::string argument_at(At at, const char* callee, int n);
std::string assigned_name(At at);                  // "xLocal" of `LocalTensor<half> xLocal = …`, "" if none
std::string describe(const LocalRef& r);           // "inQueueX buffer 0", "xBuf", "UB[0x400..)"
std::string describe_gm(const void* p);            // "argument x", "workspace", or the address

// ===== Regions: the bytes an instruction reads or writes
enum : uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };
enum class Undef : uint8_t {
    Propagate,  // element-wise: undefined sources make undefined destinations, silently
    Forbid,     // reductions, comparisons that decide: reading an undefined byte is UNINITIALISED_READ
    Store,      // to GM: never-written bytes are an error, padding bytes a warning
    Ignore,     // destination becomes defined whatever the source
};
// For i < n0, j < n1: bytes [addr + i*s0 + j*s1, +len). Elements are enumerated row by row, so that the e-th element of
// every operand of an element-wise instruction belongs together. `mask` selects elements inside one i (bit = element
// index j*(len/esize)+k); `tail` > 0 limits the last i to its first `tail` elements (counter mode).
struct Region {
    Mem mem = Mem::UB;
    uint8_t rw = kRead;
    uint8_t esize = 1;
    bool masked = false;
    uint8_t pad_value = 0;          // what a write leaves: 0 data, 1 padding nobody asked for, 2 nothing of meaning (scratch)
    uint32_t n0 = 1, n1 = 1, len = 0;
    uint32_t tail = 0;
    int64_t s0 = 0, s1 = 0;
    uint64_t addr = 0;              // byte address in mem; host address for GM
    uint64_t mask[2] = {~0ull, ~0ull};
    LocalRef owner;                 // the tensor it was taken from (bounds, life time, name); unused for GM
    const char* name = "";          // operand name in the API: "dst", "src0"
};
Region local(const LocalRef& t, uint8_t rw, uint64_t offset, uint32_t bytes, const char* name, uint8_t esize = 1);
Region global(const void* p, uint8_t rw, uint64_t bytes, const char* name);
// Calls f(lo, hi) for every maximal contiguous run of bytes of the region, in order.
void for_each_run(const Region& r, const std::function<void(uint64_t lo, uint64_t hi)>& f);

// ===== Instructions
struct Instr;
using Body = void (*)(Core&, const Instr&);
struct InstrHead {                  // all of an instruction but its operands
    const char* op = "";            // API name as the learner wrote it (static string)
    Pipe pipe = Pipe::V;
    CoreKind needs = CoreKind::AIV; // silently skipped on the other core kind
    bool any_core = false;
    At at{};
    Undef undef = Undef::Propagate;
    uint8_t atomic = 0;             // nonzero: GM writes are DMA atomics of this operation (no race among themselves)
    float s_cycles = 8;             // address set-up on the scalar unit
    // cost on its own pipe (spec: latency = head + slope*repeats, busy = max(3, slope*repeats)), in cycles
    float head = 0, slope = 0;
    uint32_t repeats = 0;
    uint64_t elements = 0;          // for reports
    // copies between GM and local memory: filled by the copy APIs instead of head/slope
    CopyCost copy;
    uint8_t nreg = 0;
    Body body = nullptr;
    Body before = nullptr, after = nullptr;   // around the check for races, with checks on, on the engine's thread
    enum : uint8_t { Opaque, PlainLoad, PlainStore, ElementWise, ReadsFirst };
    uint8_t shape = Opaque;         // for the worker: a contiguous load or store, a body that reads operands 1 to 3, or 0, through held.h
    bool detached = false;          // the body needs nothing but its operands' bytes: a second thread may run it (worker.h)
    uint16_t payload_bytes = 0;
};
struct Instr : InstrHead {
    Region reg[6];
    std::vector<Region> more;       // rarely needed extra regions
    alignas(16) unsigned char payload[224];  // body's own arguments, copied by value

    template <class T> void put(const T& v) {
        static_assert(sizeof(T) <= sizeof(payload), "payload");
        std::memcpy(payload, &v, sizeof(T));
        payload_bytes = sizeof(T);
    }
    template <class T> const T& get() const { return *reinterpret_cast<const T*>(payload); }
    void add(const Region& r) { if (nreg < 6) reg[nreg++] = r; else more.push_back(r); }
    // As *this = o, without the parts that o does not use.
    void keep(const Instr& o) {
        InstrHead::operator=(o);
        for (int i = 0; i < nreg; ++i) reg[i] = o.reg[i];
        if (!more.empty() || !o.more.empty()) more = o.more;
        std::memcpy(payload, o.payload, payload_bytes);
    }
};
void issue(Instr& in);

// ===== The running core
constexpr int kUnwritten = 0xCD;      // byte of local memory that nobody has written: must not look like a result
struct MaskState { bool counter = false; uint64_t hi = ~0ull, lo = ~0ull; At set_at{}; At counter_at{}; };  // vector mask registers
struct DmaState { uint8_t atomic_op = 0; DType atomic_type = DType::None; At atomic_at{}; bool pad_set = false; uint64_t pad_value = 0; };
struct NumericState { bool saturate = false; bool cast_saturate = true; bool deq_set = false; float deq_scale = 1; int16_t deq_offset = 0; bool deq_sign = false; };
struct QueueState;                  // queues.cpp
struct CacheState;                  // dcache.cpp
struct Scoreboard;                  // scoreboard.cpp
struct CubeState;                   // cube_state.h

// Bodies that another thread is still running are waited for before anyone looks at memory (worker.h).
extern bool g_bodies_pending;
extern thread_local bool t_on_worker;
void worker_wait();
inline void wait_for_bodies() { if (g_bodies_pending && !t_on_worker) worker_wait(); }

struct Core {
    int id = 0;                     // index over all cores of the launch
    CoreKind kind = CoreKind::AIV;
    int64_t block = 0;              // what GetBlockIdx returns
    int64_t block_group = 0;        // block_idx
    int64_t sub = 0;                // GetSubBlockIdx
    MaskState mask;
    DmaState dma;
    NumericState num;
    std::shared_ptr<QueueState> queues;
    std::shared_ptr<CacheState> cache;
    std::shared_ptr<Scoreboard> board;
    std::shared_ptr<CubeState> cube;
    uint8_t* base[static_cast<int>(Mem::N)] = {};
    bool touched = false;           // the engine's thread has had a pointer to its memories: anything in them may have changed
    uint8_t* at(Mem m, uint64_t addr) {
        wait_for_bodies();
        if (m == Mem::GM) return reinterpret_cast<uint8_t*>(addr);
        if (!t_on_worker) touched = true;
        return base[static_cast<int>(m)] + addr;
    }
};
void as_running(Core& c, const std::function<void()>& f);   // f with c as the running core
Core& core();                       // the core whose kernel code is running now
bool on(CoreKind k);                // is the running core of this kind?
uint32_t capacity(Mem m);           // bytes on this chip

// ===== Scalar unit
// Charges scalar cycles to the running core and to the line.
void charge(float cycles, At at);
void charge_ns(float ns, At at);    // scalar waits that do not scale with the clock (cache misses)
// One scalar access to local memory (GetValue / SetValue). Checks bounds, life time, order; returns the host address.
void* scalar_access(const LocalRef& t, uint64_t offset, uint32_t bytes, bool write, At at, const char* op);
// Shadow of scalar access to GM (called by dcache.cpp after its own bookkeeping): races, undefined bytes.
void scalar_gm(const void* p, uint32_t bytes, bool write, At at, const char* op);

// ===== Order inside a core
void set_flag(int event, int id, At at, bool from_queue = false);
void wait_flag(int event, int id, At at, bool from_queue = false);
void pipe_barrier(Pipe p, At at);
void data_sync_barrier(int what, At at);
int alloc_event(int event, At at);            // lowest free id 0..7, marked used
void release_event(int event, int id, At at);
int fetch_event(int event, At at);
Pipe event_source(int event);
Pipe event_target(int event);
const char* event_name(int event);            // "MTE2_V"
const char* pipe_name(Pipe p);                // "MTE2"

// ===== Buffers: who owns which bytes of local memory (UB map, life time)
// Registers a buffer of this core; returns its index (LocalRef::buf). `name` e.g. "inQueueX"; `slot` its number in the queue.
int buffer_new(Mem m, uint32_t addr, uint32_t bytes, std::string name, int slot, At at);
void buffer_alloc(int buf, At at);            // AllocTensor: contents become undefined, generation + 1
void buffer_free(int buf, At at);             // FreeTensor: later use of this generation is USE_AFTER_FREE
void buffer_forget_all(At at);                // TPipe::Reset / Destroy
uint32_t buffer_generation(int buf);
struct BufferInfo { Mem mem; uint32_t addr, bytes; std::string name; int slot; At made, allocated, freed; bool queue, live; uint32_t gen; };
const std::vector<BufferInfo>& buffers();     // of the running core
// Marks bytes of local memory as undefined (API that destroys its operand).
void mark_undefined(Core& c, Mem m, uint64_t lo, uint64_t hi);
void mark_defined(Core& c, Mem m, uint64_t lo, uint64_t hi);   // … or as written, by means that the engine does not see

// ===== Between cores
void cross_core_set(int mode, Pipe p, int flag, At at);
void cross_core_wait(int flag, At at);
void sync_all(bool aiv_only, bool hard, int used_cores, At at);
// Ordering through memory that the library itself implements (IBSet/IBWait, WaitPreBlock): publish and await a key.
void publish(uint64_t key, At at, const char* op);
void await(uint64_t key, At at, const char* op);

// ===== GM
struct GmBuffer { uint8_t* base; uint64_t bytes; std::string name; DType dtype; int arg; bool workspace; uint64_t device; };
const GmBuffer* gm_find(const void* p);       // nullptr: not in any argument
uint64_t gm_device_address(const void* p);    // what the kernel would see: buffers start 512 B aligned
// Raises GM_OUT_OF_BOUNDS when [p, p+bytes) leaves the tensor view or its allocation.
void gm_check(const GlobalRef& g, uint64_t offset, uint64_t bytes, At at, const char* op, const char* name);

// ===== Launch
struct Chip { std::string name; double num(const char* key, double otherwise = -1) const; std::string source(const char* key) const; void* impl = nullptr; };
const Chip& chip();
bool chip_is_a2();                            // Atlas A2/A3 (npu_arch 2201)
VecCost vec_cost(const char* op, const char* dtype_class);  // "b16", "b32", "f16", "f32", …; from the chip's table
bool checks_on();
bool strict_sync();                           // auto_sync = False
void print_text(const std::string& s);        // kernel printf
int64_t block_num();
int64_t task_ratio();
double now_cycles();                          // GetSystemCycle (50 MHz), a monotone stand-in during the run
uint64_t tiling_key();

}  // namespace twin
