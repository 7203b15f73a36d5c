// One launch as the runner (or the tiling simulation) describes it, and what comes back.
#pragma once
#include <string>
#include <vector>

#include "trace.h"
#include "twin/base.h"

namespace twin {

struct GmArg { uint8_t* base; uint64_t bytes; DType dtype; std::string name; bool workspace = false; };

// Lives in memory shared with the parent and is written at every instruction, so that the parent can still say
// where a kernel was after it had to be killed.
struct LiveHeader {
    uint32_t magic;        // 'TWIN'
    volatile int32_t state;        // 0 starting, 1 running, 2 finished (result complete), 3 crashed
    volatile int64_t block;
    volatile int32_t core, line;
    char op[48];
    uint64_t json_offset, json_bytes, events_offset, events_count;
};

struct LaunchSpec {
    std::vector<GmArg> gm;
    int64_t blocks = 1;
    int kernel_type = 0;           // KernelMetaType
    bool checks = true, lazy = false, strict_sync = false, warm = false;
    uint64_t seed = 0, tiling_key = 0;
    std::string source;            // the learner's text (names in messages)
    std::string file;              // the file name its lines carry
    int first_line = 1;            // number of the text's first line
    std::string chip;              // the chip profile: a line `key value` for each number
    void (*entry)(void** args) = nullptr;
    void (*cube_entry)(void** args) = nullptr;   // for cube cores, when the text was compiled once per core kind
    void** args = nullptr;
    LiveHeader* live = nullptr;
};

struct FindingOut { std::string code; int severity; int line; std::string file, message, hint; int64_t block; int core; int count; };
struct BufferOut { int core; std::string name; int slot; int mem; uint32_t addr, bytes; int line; };
struct ScalarLine { int line; double cycles; uint64_t count; };

struct LaunchResult {
    std::vector<FindingOut> findings;
    bool failed = false;           // an error was found
    std::string text;              // kernel printf / DumpTensor
    bool text_cut = false;
    Timing timing;
    std::vector<std::string> ops, files;
    std::vector<BufferOut> buffers;
    std::vector<ScalarLine> scalar_lines;
};

void run_launch(const LaunchSpec& spec, LaunchResult& out);

// Frees what the last launch still holds; for when nobody is waiting.
void launch_forget();

// The same in steps, for a front end that drives the cores itself (one core at a time, in order).
void launch_begin(const LaunchSpec& spec);
void launch_core(int64_t block, CoreKind kind, int sub);   // make this core the running one
void launch_core_end();
void launch_end(LaunchResult& out);
// What fatal() throws when no stack can be switched away from: in a front end that drives the cores itself.
struct Stopped {};

}  // namespace twin
