// twin_runner SOCKET: serves launches over a Unix socket until it is told to stop, or its parent is gone.
// twin_runner --describe KERNEL.so: prints the entries of a kernel and the types of their parameters.
//
// A request is a header {magic, number of descriptors, bytes}, the descriptors themselves (SCM_RIGHTS), then lines
// `key value…` up to the line `end`, then the blobs that the lines announced, in their order. The first descriptor is
// the result memory, the second collects what the kernel writes to file descriptors 1 and 2.
// The answer is one byte: 'D' when the result is complete.
#include <dlfcn.h>
#ifdef __linux__
#include <malloc.h>
#endif
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cerrno>
#include <iostream>
#include <new>

#include "engine.h"
#include "runner.h"
#include "runner_library.h"
#include "runner_request.h"
#include "twin/entry.h"
#include "worker.h"

namespace twin {

namespace {
constexpr uint64_t kOwnMemory = 512ull << 20;   // address space of the twin itself, on top of the kernel's share
constexpr int kIdleSeconds = 20;
constexpr uint64_t kWorthMeasuring = 8u << 20;  // bytes of arrays: reading the own memory use takes as long as a tiny kernel

KernelLibrary& library() {
    static KernelLibrary l;
    return l;
}

// What the kernel of the last launch may have left behind.
struct Process { uint64_t address_space = 0; int threads = 1; };
Process process() {
    Process p;
    char text[1024];
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return p;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char* rest = strrchr(text, ')');           // the name before it may hold anything
    if (rest) (void)sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %*u %lu", &p.threads, &p.address_space);
    return p;
}

bool alone() {
    return process().threads == 1 + worker_threads() && waitpid(-1, nullptr, WNOHANG) < 0;
}

void limit(int what, uint64_t bytes) {
    rlimit r{};
    getrlimit(static_cast<decltype(RLIMIT_AS)>(what), &r);
    r.rlim_cur = bytes == 0 || (r.rlim_max != RLIM_INFINITY && bytes > r.rlim_max) ? r.rlim_max : bytes;
    setrlimit(static_cast<decltype(RLIMIT_AS)>(what), &r);
}

void limits_on(const Request& q) {
    if (uint64_t now = process().address_space) limit(RLIMIT_AS, now + kOwnMemory + q.memory_bytes);
    limit(RLIMIT_FSIZE, q.output_bytes);
}

void limits_off() {
    limit(RLIMIT_AS, 0);
    limit(RLIMIT_FSIZE, 0);
}

// Kernel text that bypasses the twin (printf of the C library, std::cout, messages of the C library itself).
void capture_output(int fd) {
    dup2(fd, 1);
    dup2(fd, 2);
}

void flush_output() {
    fflush(stdout);
    std::cout.flush();
    std::cout.clear();
}

uint64_t peak_bytes() {
    // Not ru_maxrss: it also remembers the parent, whose memory this process shared before exec.
    unsigned long kb = 0;
    if (FILE* f = fopen("/proc/self/status", "r")) {
        char line[256];
        while (fgets(line, sizeof line, f)) if (sscanf(line, "VmHWM: %lu", &kb) == 1) break;
        fclose(f);
    }
    return uint64_t(kb) * 1024;
}

// Fills spec.gm and the argument values from the request; false: an array cannot be mapped.
bool bind(Request& q, LaunchSpec& spec, std::vector<CrashArg>& crash_args) {
    std::vector<Mapping>& maps = arrays().maps;
    for (int64_t id : q.unmap) {
        for (Mapping& m : maps) if (m.id == id && !m.used) unmap_array(m), m.id = -1;
    }
    q.map_index.clear();
    for (Mapping& want : q.maps) {
        int found = -1;
        for (size_t i = 0; i < maps.size(); ++i) if (maps[i].base && maps[i].id == want.id) found = int(i);
        if (found < 0) {
            for (size_t i = 0; i < maps.size() && found < 0; ++i) if (!maps[i].base) found = int(i);
            if (found < 0) { found = int(maps.size()); maps.emplace_back(); }
            maps[found] = want;
            if (!map_array(maps[found])) return false;
        }
        maps[found].used = true;
        q.map_index.push_back(found);
    }
    arrays().watches.clear();
    for (const Watch& w : q.watches) arrays().watches.push_back({q.map_index[w.mapping], w.offset, w.bytes, {}});
    for (const Request::Gm& g : q.gm) {
        const Mapping& m = maps[q.map_index[g.mapping]];
        GmArg a{m.base + g.offset, g.bytes, static_cast<DType>(g.dtype), g.name, g.workspace};
        spec.gm.push_back(a);
        q.pointers[g.arg] = a.base;
        crash_args.push_back({g.arg, reinterpret_cast<uint64_t>(a.base), g.bytes});
    }
    return true;
}

void release(Extra& x) {
    for (size_t i = 0; i < arrays().maps.size(); ++i) {
        Mapping& m = arrays().maps[i];
        if (!m.used) continue;
        m.used = false;
        x.mapped_bytes += m.bytes;
    }
}

// After the answer: giving pages back takes longer than a short kernel.
void unmap_unused() {
    for (Mapping& m : arrays().maps)
        if (m.base && !m.keep) { unmap_array(m); m.id = -1; }
}

std::vector<int> written_maps(const Request& q) {
    std::vector<int> out;
    for (size_t i = 0; i < q.map_index.size(); ++i) if (arrays().maps[q.map_index[i]].written) out.push_back(int(i));
    return out;
}

// Returns true when the process is as good as new and may serve another launch.
bool serve(Request& q) {
    LiveHeader* live = q.live();
    if (!live) return false;
    std::memset(static_cast<void*>(live), 0, kHeaderBytes);
    live->magic = 0x4E495754;
    live->block = -1;
    capture_output(q.fds[1]);

    LaunchSpec spec;
    LaunchResult result;
    Extra extra;
    std::vector<CrashArg> crash_args;
    q.fill(spec);
    spec.live = live;
    arm_signals(reinterpret_cast<CrashRecord*>(reinterpret_cast<char*>(live) + kCrashOffset), {}, nullptr);
    if (sigsetjmp(after_crash(), 1) != 0) {
        // Back from a signal handler. What the engine has noted so far is still worth telling.
        extra.crashed = true;
        limits_off();
        if (live->state != 0) {
            // Marks the launch as failed; the parent writes the message, it knows the arguments and the lines.
            report(Severity::Error, "CRASH", {}, "");
            launch_end(result);
        }
        extra.written = written_maps(q);
        release(extra);
        write_result(q.fds[0], live, result, extra);
        flush_output();                              // last: it may hang when the crash was inside printf
        return false;
    }
    extra.error = library().load(q.kernel);
    const Entry* entry = extra.error.empty() ? library().entry(q.entry) : nullptr;
    if (extra.error.empty() && !entry) extra.error = "no entry named " + q.entry;
    if (extra.error.empty() && !bind(q, spec, crash_args)) extra.error = std::string("mmap: ") + strerror(errno);
    if (extra.error.empty()) {
        if (spec.kernel_type < 0) spec.kernel_type = entry->kernel_type;
        spec.entry = entry->call;
        if (const Entry* cube = library().cube_entry(q.entry)) spec.cube_entry = cube->call;
        spec.args = q.argument_pointers();
        arm_signals(reinterpret_cast<CrashRecord*>(reinterpret_cast<char*>(live) + kCrashOffset), std::move(crash_args),
                    entry);
        watch_begin();
        limits_on(q);
        try {
            run_launch(spec, result);
        } catch (const std::bad_alloc&) {
            extra.error = "out of memory";
        }
        disarm_signals();
        limits_off();
        extra.overruns = watch_end();
        for (Overrun& o : extra.overruns) o.mapping = q.number_of(o.mapping);
        extra.written = written_maps(q);
    }
    disarm_signals();
    flush_output();
    release(extra);
    if (extra.mapped_bytes >= kWorthMeasuring) extra.peak_bytes = peak_bytes();
    write_result(q.fds[0], live, result, extra);
    return extra.error.empty() && !result.failed && extra.overruns.empty() && alone();
}

int print_entries(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    auto* all = static_cast<const Entry*>(dlsym(library, "twin_entries"));
    for (const Entry* e = all; e && e->name; ++e) {
        printf("entry %d %s\nnames %s\n", e->kernel_type, e->name, e->names);
        for (uint32_t i = 0; i < e->nparams; ++i) printf("param %d %d %u\n", e->params[i].kind, int(e->params[i].dtype), e->params[i].bytes);
    }
    return all ? 0 : 1;
}

void settle_in() {
    limit(RLIMIT_CORE, 0);
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // When memory runs out, this process goes before the notebook does.
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    if (fd >= 0 && write(fd, "1000", 4) < 0) { /* not allowed here: nothing lost */ }
    if (fd >= 0) close(fd);
#endif
    setvbuf(stdout, nullptr, _IOFBF, 1 << 16);   // a kernel may print without end: no system call for every line
    sigset_t none_blocked;
    sigemptyset(&none_blocked);
    sigprocmask(SIG_SETMASK, &none_blocked, nullptr);   // the thread that starts us may have held some back
    install_signals();
    prepare_for_crashes();
}

int loop(int socket) {
    for (;;) {
        pollfd p{socket, POLLIN, 0};
        if (poll(&p, 1, kIdleSeconds * 1000) <= 0) return 0;
        Request q;
        if (!q.receive(socket) || library().stuck(q.kernel)) return 0;   // the parent starts another runner
        install_signals();                           // a kernel may have put its own in place
        // A backstop in case the parent, which watches the clock, has been killed or stopped.
        itimerval t{};
        t.it_value.tv_sec = q.timeout_seconds;
        setitimer(ITIMER_REAL, &t, nullptr);
        const bool again = serve(q);
        t.it_value.tv_sec = 0;
        setitimer(ITIMER_REAL, &t, nullptr);
        if (send(socket, again ? "D" : "E", 1, 0) != 1 || !again) return 0;
        unmap_unused();                              // nobody waits for this
        launch_forget();
    }
}
}  // namespace

}  // namespace twin

int main(int argc, char** argv) {
#ifdef __GLIBC__
    // Traces of several MB come and go with every launch: keep their pages instead of asking the system again.
    mallopt(M_MMAP_THRESHOLD, 512 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_TOP_PAD, 4 << 20);
#endif

    if (argc == 3 && std::string(argv[1]) == "--describe") return twin::print_entries(argv[2]);
    if (argc != 2) { fprintf(stderr, "usage: twin_runner SOCKET | --describe KERNEL\n"); return 2; }
    twin::settle_in();
    _exit(twin::loop(atoi(argv[1])));   // no destructors of the kernel, no flushing: everything has been delivered
}
