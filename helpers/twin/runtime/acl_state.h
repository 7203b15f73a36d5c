// What the ACL of the twin keeps: allocations, streams with their waiting tasks, events, contexts, and what was found.
//
// acl_device.cpp   process, device, context          acl_memory.cpp   allocations, copies
// acl_stream.cpp   streams, events                   acl_launch.cpp   kernels
// acl_report.cpp   findings, leaks, the report as JSON
#pragma once
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cann/acl/acl.h"
#include "launch.h"

namespace twin {
namespace acl {

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string place(At at);                        // "main.cpp, line 12"
std::string size_words(size_t bytes);            // "24 KB", "100 B"

enum class Side { Device, Host, Gm };            // Gm: device memory of the CPU style, which host code may touch

struct Allocation {
    uint8_t* base = nullptr;
    size_t bytes = 0;
    uint8_t* map = nullptr;                      // pages around it, with a guard page on both sides
    size_t map_bytes = 0;
    Side side = Side::Device;
    At at{}, freed_at{};
    bool freed = false, written = false;
    int number = 0;                              // order of allocation
    std::string name;                            // parameter it was first passed as
    bool holds(const void* p) const { auto* q = static_cast<const uint8_t*>(p); return q >= base && q < base + (bytes ? bytes : 1); }
    std::string words() const;                   // "z (4096 B, aclrtMalloc at main.cpp, line 30)", "a buffer of 4096 B (aclrtMalloc at …)"
};

struct Stream;
struct Event {
    At at{}, recorded_at{};
    Stream* stream = nullptr;
    bool recorded = false, done = false, sync_only = false;
    double ns = 0;
};
struct Task {
    std::string what;                            // "add_custom", "aclrtMemcpyAsync"
    At at{};
    bool launch = false;
    std::vector<Allocation*> uses;
    std::function<aclError()> run;
    std::shared_ptr<Event> event;                // the event that it records
};
struct Context { int device = 0; At at{}; bool implicit = false; std::unique_ptr<Stream> standard; };
struct Stream {
    int number = 0;
    Context* context = nullptr;
    At at{};
    std::deque<Task> tasks;
    double clock_ns = 0;
    aclError failed = 0;
    bool running = false;
};

struct Found { std::string code, message, hint, source; int severity; At at; int count; };
struct CallRow { const char* name; At at; aclError code; int stream; std::string what; };
struct LaunchRow { std::string kernel; At at; int64_t blocks; int stream; double start_ns, end_ns; bool failed; };

struct World {
    std::recursive_mutex lock;
    bool initialised = false, finalised = false, cpu_style = false, bad = false;
    std::map<const void*, std::unique_ptr<Allocation>> memory;       // by base address, freed ones too
    size_t device_bytes = 0, peak_bytes = 0;
    std::map<void*, std::unique_ptr<Context>> contexts;
    std::map<void*, std::unique_ptr<Stream>> streams;
    std::map<void*, std::shared_ptr<Event>> events;
    std::map<int, Context*> of_device;           // the context that aclrtSetDevice made
    std::vector<Found> found;
    std::vector<CallRow> calls;
    std::vector<LaunchRow> launches;
    int streams_made = 0;
};
World& world();
Context*& current();                             // of this thread

// ===== One call: locks, and remembers how it ended
class Call {
public:
    Call(const char* name, At at);
    ~Call() = default;
    aclError ok(std::string what = "", int stream = -1) { return end(0, std::move(what), stream); }
    // The finding that explains the code, and the code.
    aclError fail(aclError code, const char* finding, std::string message, std::string hint);
    aclError end(aclError code, std::string what, int stream = -1);
    bool ready(aclError& code);                  // false: aclInit or the device is missing
    At at;
    const char* name;
private:
    std::lock_guard<std::recursive_mutex> held_;
};

// ===== Memory
Allocation* allocate(size_t bytes, Side side, At at);
void release(Allocation& a, At at);
Allocation* find(const void* p, bool freed_too = false);             // the allocation that holds this address
std::vector<Allocation*> living();                                   // in the order of their allocation
struct Open { Open(); ~Open(); };                // device memory can be touched while one exists
std::string overrun(Allocation& a);              // "" or what was written behind its end

void watch_faults();                             // names a touch of closed memory; only in a host program
void now_running(const char* kernel, At at);     // what a fault is put down to; null: host code

// ===== Streams
Stream* stream_of(void* handle);                 // null: unknown handle; nullptr names the standard stream
aclError drain(Stream& s);
aclError drain_all();
void add_task(Stream& s, Task t);
const Task* user_of(const Allocation* a, Stream** where = nullptr);  // a waiting launch that uses it

// ===== Findings
void note_finding(const char* code, int severity, At at, std::string message, std::string hint, std::string source = "", int count = 1);
void report_leaks(At at, const char* when);
constexpr const char* kReport = "TWIN_REPORT";      // variable with the file for it
void write_report();
void at_exit_once();                             // writes the report when the program ends
const char* recent_message();
void set_recent(aclError code, const std::string& message);
aclError last_error(bool clear);

}  // namespace acl
}  // namespace twin
