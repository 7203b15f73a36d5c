// The on-chip memories of each core: given at its start, passed on to a later block at its end.
#include <sys/mman.h>
#include <unistd.h>

#include "state.h"
#include "worker.h"

namespace twin {

static size_t page_up(size_t n) { const size_t p = size_t(sysconf(_SC_PAGESIZE)); return (n + p - 1) / p * p; }

static bool has_memory(CoreKind k, Mem m) {
    if (!chip_is_a2()) return true;                        // unified core
    return k == CoreKind::AIC ? m != Mem::UB : m == Mem::UB;
}

static void hand_back(Instance& i, bool clean) {
    if (i.storage) (clean ? launch().clean_storage : launch().free_storage)[int(i.core.kind)].push_back(i.storage);
    i.storage = nullptr;
}

// Memories whose last body the worker has done go to the next block.
static void reclaim_memory() {
    for (auto& r : launch().retired)
        if (r.instance->storage && worker_passed(r.mark)) hand_back(*r.instance, !r.instance->core.touched);
}

static void let_go(Instance& i, bool clean = false) {
    i.core.queues.reset();
    i.core.board.reset();
    i.core.cube.reset();
    hand_back(i, clean);
}

// When the worker is idle nothing needs the ended cores any more.
void let_go_retired() {
    wait_for_bodies();
    for (auto& r : launch().retired) let_go(*r.instance, !r.instance->core.touched);
    launch().retired.clear();
}

// f(memory, its first page, bytes of its pages) for what a core of that kind has.
template <class F> static void each_memory(uint8_t* storage, CoreKind kind, F f) {
    const size_t guard = page_up(1);
    uint8_t* at = storage + guard;
    for (int m = 1; m < int(Mem::N); ++m) {
        if (!has_memory(kind, Mem(m)) || !launch().capacity[m]) continue;
        const size_t n = page_up(launch().capacity[m]);
        f(m, at, n);
        at += n + guard;
    }
}

// Mappings of earlier launches: their pages are there already, and filled.
static std::vector<LaunchState::Mapped>& spares() { static std::vector<LaunchState::Mapped> s; return s; }

// Filling them here costs nobody time: the result of the launch has been delivered.
void keep_memories() {
    constexpr size_t most = 128;
    for (auto& r : launch().retired) hand_back(*r.instance, !r.instance->core.touched);
    std::vector<uint8_t*> clean;
    for (auto& pool : launch().clean_storage) { clean.insert(clean.end(), pool.begin(), pool.end()); pool.clear(); }
    std::sort(clean.begin(), clean.end());
    for (auto& m : launch().mapped) {
        if (spares().size() >= most) { munmap(m.start, m.bytes); continue; }
        if (std::binary_search(clean.begin(), clean.end(), static_cast<uint8_t*>(m.start))) { spares().push_back(m); continue; }
        each_memory(static_cast<uint8_t*>(m.start), m.kind, [](int, uint8_t* at, size_t n) { std::memset(at, kUnwritten, n); });
        spares().push_back(m);
    }
    launch().mapped.clear();
}

static void* spare_memory(size_t bytes, CoreKind kind) {
    auto& s = spares();
    for (size_t k = s.size(); k-- > 0;)
        if (s[k].bytes == bytes && s[k].kind == kind) {
            void* p = s[k].start;
            s[k] = s.back();
            s.pop_back();
            return p;
        }
    return nullptr;
}

static void give_memory(Instance& i) {
    if (launch().retired.size() > 64) let_go_retired();
    else reclaim_memory();
    const CoreKind kind = i.core.kind;
    const size_t guard = page_up(1);
    size_t total = guard;
    for (int m = 1; m < int(Mem::N); ++m) if (has_memory(kind, Mem(m))) total += page_up(launch().capacity[m]) + guard;
    constexpr size_t own = 48;                 // so many cores get memory of their own: it is filled already, but for the first launch
    auto &pool = launch().free_storage[int(kind)], &clean = launch().clean_storage[int(kind)];
    void* p = nullptr;
    if (!clean.empty()) { p = clean.back(); clean.pop_back(); }
    const bool hot = p != nullptr;
    if (!hot) p = spare_memory(total, kind);
    const bool filled = p != nullptr, again = !p && !pool.empty() && launch().mapped.size() >= own;
    if (again) {
        p = pool.back();
        pool.pop_back();
    } else {
        if (!p) p = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) fatal("OUT_OF_MEMORY", {}, "no memory for the on-chip memories of another block");
        if (!hot) launch().mapped.push_back({p, total, kind});
    }
    i.storage = static_cast<uint8_t*>(p);
    each_memory(i.storage, kind, [&](int m, uint8_t* at, size_t n) {
        if (!filled && !again) mprotect(at, n, PROT_READ | PROT_WRITE);
        // End the memory at the guard page, so that a raw pointer past it is caught.
        i.core.base[m] = at + n - launch().capacity[m];
        if (!filled) std::memset(i.core.base[m], kUnwritten, launch().capacity[m]);
    });
}

bool independent_cores() {
    const LaunchState& l = launch();
    return l.spec.checks && !l.cores_met && std::none_of(l.findings.begin(), l.findings.end(), [](const FindingOut& f) { return f.code == "BLOCK_CONFLICT"; });
}

void core_begin(Instance& i) {
    if (!i.core.board) i.core.board = std::make_shared<Scoreboard>();
    give_memory(i);
    if (!launch().trace.cores.empty()) i.trace.rec.reserve(launch().trace.cores.back().rec.size());   // cores do much the same
    i.trace.core = i.core.id;
    i.trace.block = i.core.block;
    i.trace.kind = i.core.kind;
    i.trace.group = int(i.core.block_group);
    i.trace.sub = int(i.core.sub);
}

void core_release(Instance& i) {
    launch().trace.cores.push_back(std::move(i.trace));
    i.trace = {};
    if (i.fiber.stack) launch().free_stacks.push_back(i.fiber.stack);
    i.fiber.stack = nullptr;
    if (g_bodies_pending) launch().retired.push_back({&i, worker_leave(i.core)});
    else let_go(i);
}

}  // namespace twin
