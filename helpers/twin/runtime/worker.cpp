#include "worker.h"

#include <sched.h>

#include <atomic>
#include <thread>

namespace twin {

bool g_bodies_pending = false;               // engine thread only: something may still run on the worker
thread_local bool t_on_worker = false;

namespace {

struct Job { Core* core; Instr in; };

constexpr uint32_t kJobs = 128;              // the engine runs at most this far ahead
struct Worker {
    std::vector<Job> ring{kJobs};
    std::atomic<uint32_t> head{0}, tail{0};  // done, handed over
    std::atomic<bool> stop{false};
    std::vector<std::function<void()>> later;  // written by the worker, read by the engine when the worker is idle
    std::thread thread;

    void run() {
        t_on_worker = true;
        for (uint32_t idle = 0;;) {
            const uint32_t h = head.load(std::memory_order_relaxed);
            if (h == tail.load(std::memory_order_acquire)) {
                if (stop.load(std::memory_order_acquire)) return;
                if (++idle > 64) std::this_thread::yield();
                continue;
            }
            idle = 0;
            Job& j = ring[h % kJobs];
            j.in.body(*j.core, j.in);
            head.store(h + 1, std::memory_order_release);
        }
    }
};

std::unique_ptr<Worker> g_worker;

int cpus() {
    cpu_set_t s;
    CPU_ZERO(&s);
    return sched_getaffinity(0, sizeof s, &s) == 0 ? CPU_COUNT(&s) : 1;
}

}  // namespace

void worker_start() {
    if (g_worker || cpus() < 2) return;
    try {
        g_worker = std::make_unique<Worker>();
        g_worker->thread = std::thread([w = g_worker.get()] { w->run(); });
    } catch (const std::exception&) {         // no thread to be had: the engine does everything itself
        g_worker.reset();
    }
}

void worker_stop() {
    if (!g_worker) return;
    worker_wait();
    g_worker->stop.store(true, std::memory_order_release);
    g_worker->thread.join();
    g_worker.reset();
}

bool worker_take(Core& c, const Instr& in) {
    Worker* w = g_worker.get();
    if (!w) return false;
    const uint32_t t = w->tail.load(std::memory_order_relaxed);
    for (uint32_t spins = 0; t - w->head.load(std::memory_order_acquire) >= kJobs;) if (++spins > 64) std::this_thread::yield();
    Job& j = w->ring[t % kJobs];
    j.core = &c;
    j.in = in;
    w->tail.store(t + 1, std::memory_order_release);
    g_bodies_pending = true;
    return true;
}

void worker_wait() {
    if (!g_bodies_pending || t_on_worker) return;
    Worker* w = g_worker.get();
    const uint32_t t = w->tail.load(std::memory_order_relaxed);
    for (uint32_t spins = 0; w->head.load(std::memory_order_acquire) != t;) if (++spins > 64) std::this_thread::yield();
    g_bodies_pending = false;
    auto later = std::move(w->later);
    w->later.clear();
    for (auto& f : later) f();
}

void on_engine(std::function<void()> f) {
    if (t_on_worker) g_worker->later.push_back(std::move(f));
    else f();
}

}  // namespace twin
