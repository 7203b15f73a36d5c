#include "worker.h"

#include "held.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace twin {

bool g_bodies_pending = false;               // engine thread only: something may still run on the worker
thread_local bool t_on_worker = false;
static thread_local bool t_helping = false;

namespace {

struct Job { Core* core; Instr in; };

constexpr uint32_t kJobs = 4096;            // the engine runs at most this far ahead

// One producer, one consumer. Each looks a short while for the other and then sleeps: yielding would hand the CPU to
// other processes for a whole time slice.
struct Worker {
    std::vector<Job> ring{kJobs};
    std::atomic<uint32_t> head{0}, tail{0};  // done, handed over
    std::atomic<uint32_t> limit{~0u};        // the engine itself does the jobs from here on
    std::atomic<bool> stop{false}, worker_sleeps{false}, engine_sleeps{false};
    std::mutex mutex;
    std::condition_variable changed;
    struct Later { uint32_t job; Core* core; std::function<void()> f; };
    std::vector<Later> later, later_here;    // what bodies on the worker, and on the engine in help(), leave to be done
    std::vector<std::pair<uint32_t, uint32_t>> blocks;   // jobs of cores that have ended, engine only
    uint32_t block_begin = 0, running_job = 0, helped_job = 0;
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

    void do_job(HeldLoads& where, uint32_t at) {
        Job& j = ring[at % kJobs];
        if (!j.core) where.flush();
        else if (j.in.body) where.run(*j.core, j.in);
        else where.drop(*j.core);
    }
    void run() {
        t_on_worker = true;
        for (;;) {
            const uint32_t h = head.load();
            if (h == tail.load() || h >= limit.load()) {
                if (stop.load()) return;
                sleep_until(worker_sleeps, 2000, [&] { return (tail.load() != h && h < limit.load()) || stop.load(); });
                continue;
            }
            running_job = h;
            do_job(held, h);
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
    // The engine has nothing else to do: it takes whole cores from the end of the order while the worker goes on at the
    // front. For kernels whose cores do not meet.
    void help() {
        HeldLoads mine;
        uint32_t from = tail.load();
        if (blocks.empty() || blocks.back().second != from) return;
        for (size_t k = blocks.size(); k-- > 0 && blocks[k].second == from;) {
            const uint32_t begin = blocks[k].first;
            limit.store(begin);
            if (head.load() >= begin) break;  // the worker is there already
            t_on_worker = t_helping = true;   // bodies leave their reports for later here too
            for (uint32_t j = begin; j < from; ++j) { helped_job = j; do_job(mine, j); }
            t_on_worker = t_helping = false;
            from = begin;
        }
        limit.store(from);
        wake(worker_sleeps);
        sleep_until(engine_sleeps, 500, [&] { return head.load() == from; });
        head.store(tail.load());
        limit.store(~0u);
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
    w->blocks.clear();
    w->block_begin = w->tail.load();
    auto later = std::move(w->later);
    w->later.clear();
    later.insert(later.end(), w->later_here.begin(), w->later_here.end());
    w->later_here.clear();
    std::stable_sort(later.begin(), later.end(), [](const Worker::Later& a, const Worker::Later& b) { return a.job < b.job; });
    for (auto& l : later) as_running(*l.core, l.f);
}

void worker_help() {
    if (g_worker && g_bodies_pending) g_worker->help();
}

uint32_t worker_leave(Core& c) {
    if (!g_bodies_pending) return 0;
    Worker& w = *g_worker;
    w.give(&c, {});                           // loads held back for it still point into the memories that are passed on
    w.blocks.push_back({w.block_begin, w.tail.load()});
    return w.block_begin = w.tail.load();
}
bool worker_passed(uint32_t mark) { return !g_bodies_pending || int32_t(g_worker->head.load(std::memory_order_acquire) - mark) >= 0; }

void on_engine(Core& c, std::function<void()> f) {
    if (t_helping) g_worker->later_here.push_back({g_worker->helped_job, &c, std::move(f)});
    else if (t_on_worker) g_worker->later.push_back({g_worker->running_job, &c, std::move(f)});
    else f();
}

}  // namespace twin
