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

constexpr uint64_t kJobs = 4096;            // the engine runs at most this far ahead
constexpr uint64_t kNoLimit = ~0ull;

// One producer, one consumer. Each looks a short while for the other and then sleeps: yielding would hand the CPU to
// other processes for a whole time slice.
struct Worker {
    std::vector<Job*> ring = std::vector<Job*>(kJobs);
    std::vector<std::unique_ptr<Job>> jobs;  // all there are, engine only
    std::vector<Job*> idle;                  // those that wait for their next use, engine only
    uint64_t returned = 0;                   // the first job that has not come back to idle
    std::atomic<uint64_t> head{0}, tail{0};  // done, handed over
    std::atomic<uint64_t> limit{kNoLimit};   // the engine itself does the jobs from here on
    std::atomic<bool> worker_sleeps{false}, engine_sleeps{false};
    std::mutex mutex;
    std::condition_variable changed;
    struct Later { uint64_t job; Core* core; std::function<void()> f; };
    std::vector<Later> later, later_here;    // what bodies on the worker, and on the engine in help(), leave to be done
    struct Block { uint64_t begin, end; };   // jobs of a core that has ended
    std::vector<Block> blocks;               // engine only
    uint64_t block_begin = 0, running_job = 0, helped_job = 0;
    HeldLoads held, own;                     // of the worker, of the engine
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

    void do_job(HeldLoads& where, uint64_t at) {
        Job& j = *ring[at % kJobs];
        if (!j.core) where.flush();
        else if (j.in.body) where.run(*j.core, j.in);
        else where.leave(*j.core);
    }
    void run() {
        t_on_worker = true;
        for (;;) {
            const uint64_t h = head.load();
            if (h == tail.load() || h >= limit.load()) {
                sleep_until(worker_sleeps, 2000, [&] { return tail.load() != h && h < limit.load(); });
                continue;
            }
            running_job = h;
            do_job(held, h);
            head.store(h + 1);
            wake(engine_sleeps);
        }
    }
    // A job that is done is used again at once: the fewer there are, the more of them stay in the cache.
    Job* fresh_job() {
        for (const uint64_t h = head.load(); returned != h; ++returned) idle.push_back(ring[returned % kJobs]);
        if (idle.empty()) {
            jobs.push_back(std::make_unique<Job>());
            return jobs.back().get();
        }
        Job* j = idle.back();
        idle.pop_back();
        return j;
    }
    void give_flush() { static Instr none; give(nullptr, none); }
    void give(Core* c, const Instr& in) {
        const uint64_t t = tail.load();
        if (t - head.load() >= kJobs) sleep_until(engine_sleeps, 500, [&] { return t - head.load() < kJobs; });
        Job* j = fresh_job();
        j->core = c;
        j->in.keep(in);
        ring[t % kJobs] = j;
        tail.store(t + 1, std::memory_order_release);
        // Without a fence it may be overlooked that the worker is about to sleep: the next job wakes it, or wait() and help().
        if (worker_sleeps.load(std::memory_order_relaxed)) wake(worker_sleeps);
        if (!idle.empty())                   // the worker has touched it: fetch it while there is other work to do
            for (size_t at = 0; at < sizeof(Job); at += 64) __builtin_prefetch(reinterpret_cast<const char*>(idle.back()) + at, 1);
    }
    void wait() {
        give_flush();
        const uint64_t t = tail.load();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        wake(worker_sleeps);
        sleep_until(engine_sleeps, 500, [&] { return head.load() == t; });
    }
    // The engine does the jobs of a core itself, unless the worker is there already. `limit` keeps the worker out.
    bool take(const Block& b) {
        limit.store(b.begin);
        if (head.load() >= b.begin) return false;
        t_on_worker = t_helping = true;      // bodies leave their reports for later here too
        for (uint64_t j = b.begin; j < b.end; ++j) {
            helped_job = j;
            do_job(own, j);
        }
        t_on_worker = t_helping = false;
        return true;
    }
    void open() {
        limit.store(kNoLimit);
        wake(worker_sleeps);
    }
    // The engine has nothing else to do: it takes cores from the end of the order while the worker goes on at the front.
    void help() {
        uint64_t from = tail.load();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        wake(worker_sleeps);
        for (size_t k = blocks.size(); k-- > 0 && blocks[k].end == from && take(blocks[k]);) from = blocks[k].begin;
        if (from == tail.load()) { open(); return; }
        limit.store(from);
        wake(worker_sleeps);
        sleep_until(engine_sleeps, 500, [&] { return head.load() == from; });
        head.store(tail.load());
        open();
    }
};

Worker* g_worker = nullptr;                  // started by the first launch that wants it, asleep between launches
bool g_working = false;                      // this launch wants it

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
    static int last = -1;
    const int here = sched_getcpu();
    if (here == last || here < 0 || sched_getaffinity(0, sizeof s, &s) != 0) return;
    last = here;
    CPU_CLR(here, &s);
    if (CPU_COUNT(&s)) pthread_setaffinity_np(thread, sizeof s, &s);
#else
    (void)thread;
#endif
}

}  // namespace

void worker_start() {
    if (cpus() < 2) return;
    if (!g_worker) {
        auto w = std::make_unique<Worker>();
        try {
            w->thread = std::thread([w = w.get()] { w->run(); });
        } catch (const std::exception&) {     // no thread to be had: the engine does everything itself
            return;
        }
        g_worker = w.release();
    }
    keep_apart(g_worker->thread.native_handle());
    g_worker->given = g_worker->waits = 0;
    g_working = true;
}

int worker_threads() { return g_worker ? 1 : 0; }

void worker_stop() {
    worker_wait();
    g_working = false;
}

// A kernel that looks at its results after every few instructions gains nothing and pays for every hand-over.
static bool pays(const Worker& w) { return w.waits < 16 || w.given > 16 * w.waits; }

bool worker_take(Core& c, const Instr& in) {
    Worker* w = g_worker;
    if (!g_working || (!g_bodies_pending && !pays(*w))) return false;
    ++w->given;
    w->give(&c, in);
    g_bodies_pending = true;
    return true;
}

void worker_wait() {
    if (!g_bodies_pending || t_on_worker) return;
    Worker* w = g_worker;
    ++w->waits;
    w->wait();
    g_bodies_pending = false;
    w->held.forget_written();
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
    if (g_bodies_pending) g_worker->help();
}

uint64_t worker_leave(Core& c) {
    if (!g_bodies_pending) return 0;
    Worker& w = *g_worker;
    static Instr none;
    w.give(&c, none);                         // loads held back for it still point into the memories that are passed on
    w.blocks.push_back({w.block_begin, w.tail.load()});
    return w.block_begin = w.tail.load();
}
bool worker_passed(uint64_t mark) { return !g_bodies_pending || g_worker->head.load() >= mark; }

void on_engine(Core& c, std::function<void()> f) {
    if (t_helping) g_worker->later_here.push_back({g_worker->helped_job, &c, std::move(f)});
    else if (t_on_worker) g_worker->later.push_back({g_worker->running_job, &c, std::move(f)});
    else f();
}

}  // namespace twin
