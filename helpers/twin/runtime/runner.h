// The runner: a small process that loads one kernel, maps its arrays, runs it, and describes what happened.
//
// runner.cpp          protocol loop and one launch
// runner_library.cpp  the loaded kernel
// runner_memory.cpp   arrays, each between guard pages
// runner_signals.cpp  what a crash leaves behind
// runner_result.cpp   the result as JSON plus binary tables
#pragma once
#include <csetjmp>
#include <cstdint>
#include <string>
#include <vector>

#include "launch.h"

namespace twin {

// ===== Arrays
enum class Access : uint8_t { ReadWrite, ReadOnly, Track };  // Track: starts read-only, the first write unlocks and notes it

struct Mapping {
    int64_t id = 0;            // the parent's name for the memory; mappings with keep = true survive a launch
    uint8_t* base = nullptr;   // first page
    uint64_t bytes = 0;        // whole pages
    uint64_t file_offset = 0;
    int fd = -1;               // -1: anonymous (workspace)
    Access access = Access::ReadWrite;
    bool keep = false, used = false;
    volatile bool written = false, locked = false;
};
// Bytes around an argument that belong to nobody; compared after the run.
struct Watch { int mapping; uint64_t offset, bytes; std::vector<uint8_t> before; };
struct Overrun { int mapping; uint64_t offset, bytes; };

struct Arrays {
    std::vector<Mapping> maps;
    std::vector<Watch> watches;
};
Arrays& arrays();
constexpr uint64_t kGuard = 16u << 20;               // address space left empty on both sides of an array
bool map_array(Mapping& m);                          // false: the system refuses (errno is set)
void unmap_array(Mapping& m);
void watch_begin();
std::vector<Overrun> watch_end();                    // what was overwritten; foreign bytes are put back
bool unlock_on_write(uint64_t address, bool may_retry);              // signal handler: true when the fault was a first write

// ===== Crashes
enum CrashKind : int32_t {
    kNone = 0, kSegv = 1, kBus = 2, kFpe = 3, kIll = 4, kAbort = 5, kStopped = 6, kReadOnly = 7, kStack = 8,
};
// Lies in the result memory behind the live header (offset kCrashOffset), so it survives the process.
struct CrashRecord {
    int32_t kind, code;        // CrashKind, si_code
    uint64_t address, pc;
    int32_t arg, nframes;      // nearest argument (-1 = none); frames inside the kernel's own code
    int64_t arg_offset;        // bytes from the start of that argument
    uint64_t frame[16];        // offsets into the kernel's shared object
};
constexpr uint64_t kCrashOffset = 1024, kHeaderBytes = 4096;
struct CrashArg { int arg; uint64_t base, bytes; };

void prepare_for_crashes();                          // once: a stack for the handler, what it will need
void install_signals();                              // before every launch: a kernel may have put its own in place
void arm_signals(CrashRecord* record, std::vector<CrashArg> args, const void* kernel_address);
void disarm_signals();
sigjmp_buf& after_crash();                           // where the handler goes: set before the launch

// ===== Result
struct Extra {                                       // what the runner itself adds to the launch's result
    std::vector<Overrun> overruns;
    std::vector<int> written;                        // mappings the kernel wrote
    std::string error;                               // "" or why the launch never started
    uint64_t peak_bytes = 0, mapped_bytes = 0;
    bool crashed = false;
};
struct MarkRow { int32_t core, buffer, alloc, unused; double ns; };   // when a buffer was allocated and freed
std::vector<MarkRow> mark_table(const LaunchResult& r);
std::string describe_result(const LaunchResult& r, const Extra& x, uint64_t marks_at, uint64_t mark_count);   // the JSON
void write_result(int fd, LiveHeader* live, const LaunchResult& r, const Extra& x);

}  // namespace twin
