#include "worker.h"

#include "held.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace twin {

bool g_bodies_pending = false;               // engine thread only: something may still run on the worker
thread_local bool t_on_worker = false;

namespace {

struct Job { Core* core; Instr in; };

constexpr uint32_t kJobs = 4096;            // the engine runs at most this far ahead

// One producer, one consumer. Each looks a short while for the other and then sleeps: yielding would hand the CPU to
// other processes for a whole time slice.
struct Worker {
    std::vector<Job> ring{kJobs};
    std::atomic<uint32_t> head{0}, tail{0};  // done, handed over
    std::atomic<bool> stop{false}, worker_sleeps{false}, engine_sleeps{false};
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::pair<Core*, std::function<void()>>> later;  // written by the worker, read by the engine when the worker is idle
    HeldLoads held;                          // worker only
    uint32_t given = 0, waits = 0;           // engine only
    std::thread thread;

    // `looks`: how often to look before sleeping; two threads may share one core, and looking takes from the other.
    template <class F> void sleep_until(std::atomic<bool>& sleeps, int looks, F ready) {
        for (int i = 0; i < looks; ++i) { if (ready()) return; pause(); }
        std::unique_lock<std::mutex> lock(mutex);
        sleeps.store(true);
        changed.wait(lock, ready);
        sleeps.store(false);
    }
    void wake(std::atomic<bool>& sleeps) {
        if (!sleeps.load()) return;
        std::lock_guard<std::mutex> lock(mutex);
        changed.notify_all();
    }
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    void run() {
        t_on_worker = true;
        for (;;) {
            const uint32_t h = head.load();
            if (h == tail.load()) {
                if (stop.load()) return;
                sleep_until(worker_sleeps, 2000, [&] { return tail.load() != h || stop.load(); });
                continue;
            }
            Job& j = ring[h % kJobs];
            if (!j.core) held.flush();
            else if (j.in.body) held.run(*j.core, j.in);
            else held.drop(*j.core);
            head.store(h + 1);
            wake(engine_sleeps);
        }
    }
    void give_flush() { give(nullptr, {}); }
    void give(Core* c, const Instr& in) {
        const uint32_t t = tail.load();
        if (t - head.load() >= kJobs) sleep_until(engine_sleeps, 500, [&] { return t - head.load() < kJobs; });
        Job& j = ring[t % kJobs];
        j.core = c;
        j.in = in;
        tail.store(t + 1);
        wake(worker_sleeps);
    }
    void wait() {
        give_flush();
        const uint32_t t = tail.load();
        sleep_until(engine_sleeps, 500, [&] { return head.load() == t; });
    }
    void finish() {
        stop.store(true);
        wake(worker_sleeps);
        thread.join();
    }
};

std::unique_ptr<Worker> g_worker;

int cpus() {
    cpu_set_t s;
    CPU_ZERO(&s);
    return sched_getaffinity(0, sizeof s, &s) == 0 ? CPU_COUNT(&s) : 1;
}

// The scheduler tends to wake the worker on the CPU that hands it work, where it has to wait: rule that one out.
void keep_apart(pthread_t thread) {
#ifdef __linux__
    cpu_set_t s;
    CPU_ZERO(&s);
    const int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof s, &s) != 0) return;
    CPU_CLR(here, &s);
    if (CPU_COUNT(&s)) pthread_setaffinity_np(thread, sizeof s, &s);
#else
    (void)thread;
#endif
}

}  // namespace

void worker_start() {
    if (g_worker || cpus() < 2) return;
    try {
        g_worker = std::make_unique<Worker>();
        g_worker->thread = std::thread([w = g_worker.get()] { w->run(); });
        keep_apart(g_worker->thread.native_handle());
    } catch (const std::exception&) {         // no thread to be had: the engine does everything itself
        g_worker.reset();
    }
}

void worker_stop() {
    if (!g_worker) return;
    worker_wait();
    g_worker->finish();
    g_worker.reset();
}

// A kernel that looks at its results after every few instructions gains nothing and pays for every hand-over.
static bool pays(const Worker& w) { return w.waits < 16 || w.given > 16 * w.waits; }

bool worker_take(Core& c, const Instr& in) {
    Worker* w = g_worker.get();
    if (!w || (!g_bodies_pending && !pays(*w))) return false;
    ++w->given;
    w->give(&c, in);
    g_bodies_pending = true;
    return true;
}

void worker_wait() {
    if (!g_bodies_pending || t_on_worker) return;
    Worker* w = g_worker.get();
    ++w->waits;
    w->wait();
    g_bodies_pending = false;
    auto later = std::move(w->later);
    w->later.clear();
    for (auto& f : later) as_running(*f.first, f.second);
}

uint32_t worker_leave(Core& c) {
    if (!g_bodies_pending) return 0;
    g_worker->give(&c, {});                   // loads held back for it still point into the memories that are passed on
    return g_worker->tail.load();
}
bool worker_passed(uint32_t mark) { return !g_bodies_pending || int32_t(g_worker->head.load(std::memory_order_acquire) - mark) >= 0; }

void on_engine(Core& c, std::function<void()> f) {
    if (t_on_worker) g_worker->later.push_back({&c, std::move(f)});
    else f();
}

}  // namespace twin
