// What a crash leaves behind: where, which address, which argument it belongs to, and a way back to the main stack.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "fibers.h"
#include "registers.h"
#include "runner.h"

namespace twin {

namespace {
constexpr int kFrames = 64;
CrashRecord* record = nullptr;     // nullptr: no kernel is running
std::vector<CrashArg> crash_args;
uint64_t code_base = 0;
volatile sig_atomic_t depth = 0;
sigjmp_buf back;
int nowhere = -1;                  // /dev/null

// The argument whose neighbourhood (up to half of the empty space between two) holds the address.
void nearest_argument(uint64_t address, CrashRecord& r) {
    r.arg = -1;
    uint64_t best = kGuard + 1;
    for (const CrashArg& a : crash_args) {
        uint64_t distance = address < a.base ? a.base - address : address >= a.base + a.bytes ? address - (a.base + a.bytes) : 0;
        if (distance >= best) continue;
        best = distance;
        r.arg = a.arg;
        r.arg_offset = int64_t(address - a.base);
    }
}

void kernel_frames(CrashRecord& r) {
    void* pc[kFrames];
    int n = backtrace(pc, kFrames);
    for (int i = 0; i < n && r.nframes < 16; ++i) {
        Dl_info info{};
        if (!dladdr(pc[i], &info) || uint64_t(info.dli_fbase) != code_base) continue;
        // A return address points behind the call; the interrupted instruction is exact.
        uint64_t at = uint64_t(pc[i]) - code_base;
        r.frame[r.nframes++] = uint64_t(pc[i]) == r.pc ? at : at - 1;
    }
}

int32_t kind_of(int signal) {
    switch (signal) {
        case SIGSEGV: return kSegv;
        case SIGBUS: return kBus;
        case SIGFPE: return kFpe;
        case SIGILL: return kIll;
        case SIGTRAP: return kIll;
        case SIGABRT: return kAbort;
        default: return kStopped;
    }
}

void on_signal(int signal, siginfo_t* info, void* context) {
    auto address = reinterpret_cast<uint64_t>(info->si_addr);
    if ((signal == SIGSEGV || signal == SIGBUS) && unlock_on_write(address, signal == SIGSEGV)) return;
    if (!record || depth > 0) _exit(signal == SIGTERM ? 0 : 128 + signal);   // a crash while describing a crash
    depth = 1;
    CrashRecord r{};
    Registers now = registers(context);
    r.kind = kind_of(signal);
    r.code = info->si_code;
    r.pc = now.pc;
    r.arg = -1;
    if (r.kind == kSegv || r.kind == kBus) {
        r.address = address;
        nearest_argument(address, r);
        for (const Mapping& m : arrays().maps) {
            auto lo = reinterpret_cast<uint64_t>(m.base);
            if (m.used && m.access == Access::ReadOnly && address >= lo && address < lo + m.bytes) r.kind = kReadOnly;
        }
        // A fault right below the stack pointer is a stack that ran out; a larger frame touches its far end first.
        bool below = now.sp && address + (1u << 20) > now.sp && address < now.sp + (64u << 10);
        if (is_stack_guard(info->si_addr) || (r.arg < 0 && address > (1u << 16) && below)) r.kind = kStack;
    }
    *record = r;
    alarm(2);                                        // default action: even a broken heap cannot hold us here
    kernel_frames(*record);
    siglongjmp(back, 1);
}
}  // namespace

void install_signals() {
    struct sigaction a{};
    a.sa_sigaction = on_signal;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&a.sa_mask);
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGTERM}) sigaction(s, &a, nullptr);
    // Output beyond its limit: the rest goes nowhere, and quickly.
    signal(SIGXFSZ, [](int) { if (nowhere >= 0) { dup2(nowhere, 1); dup2(nowhere, 2); } });
    signal(SIGPIPE, SIG_IGN);
}

void prepare_for_crashes() {
    constexpr size_t bytes = 256u << 10;
    stack_t s{};
    s.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    s.ss_size = bytes;
    sigaltstack(&s, nullptr);
    nowhere = open("/dev/null", O_WRONLY);
    void* warm[2];
    backtrace(warm, 2);                              // loads the unwinder now, not inside a handler
}

void arm_signals(CrashRecord* to, std::vector<CrashArg> args, const void* kernel_address) {
    Dl_info info{};
    if (kernel_address && dladdr(kernel_address, &info)) code_base = uint64_t(info.dli_fbase);
    crash_args = std::move(args);
    depth = 0;
    record = to;
}

void disarm_signals() {
    record = nullptr;
    alarm(0);
}

sigjmp_buf& after_crash() { return back; }

}  // namespace twin
