// A host program that crashes: what was touched, and the way there for the one who reads the report.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl_state.h"
#include "registers.h"

namespace twin {
namespace acl {

static constexpr int kFrames = 32;
static constexpr uintptr_t kNull = 1 << 16;      // an address below this is a null pointer plus an index
static const char* running_kernel = nullptr;
static At running_at{};
static char trail[4096];                         // file beside the report; "" = nobody asked for one

void now_running(const char* kernel, At at) {
    running_kernel = kernel;
    running_at = at;
}

// Which signal, in which kernel, and the frames as offsets into their files. Without a heap: it may be what broke.
static void leave_trail(int signal, siginfo_t* info, const Registers& now) {
    const int file = trail[0] ? open(trail, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0) return;
    dprintf(file, "signal %d\nsent %d\n", signal, int(info->si_code <= 0 && signal != SIGABRT));
    if (running_kernel) dprintf(file, "kernel %s\n", running_kernel);
    void* pc[kFrames];
    const int n = backtrace(pc, kFrames);
    for (int i = 0; i < n; ++i) {
        Dl_info where{};
        if (!dladdr(pc[i], &where) || !where.dli_fname) continue;
        // A return address points behind the call; the interrupted instruction is exact.
        const uint64_t at = uint64_t(pc[i]) - uint64_t(where.dli_fbase) - (uint64_t(pc[i]) == now.pc ? 0 : 1);
        dprintf(file, "frame %llx %s\n", (unsigned long long)at, where.dli_fname);
    }
    close(file);
}

static void on_fault(int signal, siginfo_t* info, void* context) {
    const Registers now = registers(context);
    alarm(2);                                    // default action: even a broken heap cannot hold us here
    leave_trail(signal, info, now);
    if (signal != SIGSEGV && signal != SIGBUS) {
        ::signal(signal, SIG_DFL);
        raise(signal);
        return;
    }
    At at = running_at;
    std::string message, hint;
    const char* code = "CRASH";
    auto* address = static_cast<uint8_t*>(info->si_addr);
    Allocation* a = nullptr;
    for (auto& [p, m] : world().memory)
        if (address >= m->map && address < m->map + m->map_bytes) a = m.get();
    const auto number = reinterpret_cast<uint64_t>(address);
    if (running_kernel) {
        message = text("%s touched an address that it must not", running_kernel);
        if (a) message += text(": byte %lld of %s", (long long)(address - a->base), a->words().c_str());
        hint = "Run the kernel from Python (hp.compile): it names the line.";
        if (a) code = a->freed ? "USE_AFTER_FREE" : "GM_OUT_OF_BOUNDS";
    } else if (a && a->side == Side::Device) {
        code = a->freed ? "USE_AFTER_FREE" : "HOST_ARGUMENT";
        message = text("Host code touched device memory: byte %lld of %s", (long long)(address - a->base), a->words().c_str());
        hint = "The host cannot follow a device pointer: copy with aclrtMemcpy, and use the host's buffer.";
    } else if (a) {
        code = a->freed ? "USE_AFTER_FREE" : "OUT_OF_BOUNDS";
        message = text("Host code touched byte %lld of %s", (long long)(address - a->base), a->words().c_str());
        hint = "Compare the index with the size given to the allocation.";
    } else if (info->si_code <= 0) {
        message = "A signal was sent to the program with raise() or kill()";
        hint = "Look for who sent it: the program itself, or another one.";
    } else if (now.sp && number >= kNull && number + (1u << 20) > now.sp && number < now.sp + (64u << 10)) {
        message = "The stack of the host code ran out: a function calls itself without end, or a local array is too large";
        hint = "Turn the recursion into a loop; keep large arrays in a std::vector.";
    } else if (number < kNull && info->si_code < 128) {
        message = "Host code used a null pointer" + (number ? text(" plus %llu B", (unsigned long long)number) : std::string());
        hint = "Test what a call gave back before it is used: malloc, fopen and aclrtMalloc may fail.";
    } else {
        message = "Host code touched an address that it was never given";
        hint = "Look for an index that is too large, or a pointer that was never set.";
    }
    fflush(stdout);
    note_finding(code, 2, at, message + ".", hint);
    write_report();
    _exit(128 + signal);
}

static void watch(std::initializer_list<int> signals) {
    static char stack[64 * 1024];
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, nullptr);
    void* warm[2];
    backtrace(warm, 2);                          // loads the unwinder now, not inside a handler
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int s : signals) sigaction(s, &action, nullptr);
}

void watch_faults() {
    static bool once = false;
    if (once) return;
    once = true;
    watch({SIGSEGV, SIGBUS});
}

// A program that was started for its report is watched from its first line on.
__attribute__((constructor)) static void watch_from_the_start() {
    const char* report = getenv(kReport);
    if (!report || strlen(report) + 16 > sizeof trail) return;
    snprintf(trail, sizeof trail, "%s.crash", report);
    watch({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT});
}

}  // namespace acl
}  // namespace twin
