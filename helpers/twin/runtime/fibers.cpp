// Each core instance runs on a stack of its own and gives way only in cross-core primitives.
#include <sys/mman.h>
#include <unistd.h>

#include "fibers.h"

namespace twin {

static constexpr size_t kStack = 1u << 20;
static size_t page() { static const size_t p = size_t(sysconf(_SC_PAGESIZE)); return p; }
static std::vector<char*>& all_stacks() { static std::vector<char*> s; return s; }

std::vector<char*>& spare_stacks() { static std::vector<char*> s; return s; }   // kept between launches

static char* new_stack() {
    void* p = mmap(nullptr, kStack + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fatal("OUT_OF_MEMORY", {}, "no memory for the stack of another block");
    mprotect(p, page(), PROT_NONE);
    all_stacks().push_back(static_cast<char*>(p));
    return static_cast<char*>(p);
}

bool is_stack_guard(const void* address) {
    const char* a = static_cast<const char*>(address);
    for (const char* s : all_stacks()) if (a >= s - page() && a < s + page()) return true;
    return false;
}

static void entry() {
    LaunchState& l = launch();
    Instance& me = *l.running;
    try {
        const bool cube = me.core.kind == CoreKind::AIC && l.spec.cube_entry;
        (cube ? l.spec.cube_entry : l.spec.entry)(l.spec.args);
        end_core();
    } catch (const std::bad_alloc&) {
        report(Severity::Error, "OUT_OF_MEMORY", {l.spec.file.c_str(), l.spec.live ? int32_t(l.spec.live->line) : 0}, "the kernel asked for more host memory than the limit allows",
               "kernels have no heap on the device: use TBuf, or a workspace argument");
        l.stopped = true;
    } catch (const std::exception& e) {
        report(Severity::Error, "CRASH", {l.spec.file.c_str(), l.spec.live ? int32_t(l.spec.live->line) : 0}, fmt("the kernel threw a C++ exception: %s", e.what()), "device code has no exceptions");
        l.stopped = true;
    } catch (...) {
        report(Severity::Error, "CRASH", {l.spec.file.c_str(), l.spec.live ? int32_t(l.spec.live->line) : 0}, "the kernel threw a C++ exception", "device code has no exceptions");
        l.stopped = true;
    }
    me.done = true;
    l.in_fiber = false;
    setcontext(&l.scheduler);
}

void fiber_resume(Instance& i) {
    LaunchState& l = launch();
    l.running = &i;
    if (!i.started) {
        i.started = true;
        if (l.free_stacks.empty()) i.fiber.stack = new_stack();
        else { i.fiber.stack = l.free_stacks.back(); l.free_stacks.pop_back(); }
        getcontext(&i.fiber.context);
        i.fiber.context.uc_stack.ss_sp = i.fiber.stack + page();
        i.fiber.context.uc_stack.ss_size = kStack;
        i.fiber.context.uc_link = nullptr;
        makecontext(&i.fiber.context, entry, 0);
    }
    l.in_fiber = true;
    swapcontext(&l.scheduler, &i.fiber.context);
    l.in_fiber = false;
    l.running = nullptr;
}

bool yield_until(const std::function<bool()>& ready, const char* what, At at, int key) {
    LaunchState& l = launch();
    if (ready()) return true;
    if (!l.in_fiber) return false;                        // a front end without stacks of its own cannot wait
    Instance& me = *l.running;
    me.waiting = what;
    me.waiting_at = at;
    me.waiting_key = key;
    me.ready = ready;
    l.in_fiber = false;
    swapcontext(&me.fiber.context, &l.scheduler);
    l.in_fiber = true;
    me.waiting = nullptr;
    return true;
}

void give_way() {
    LaunchState& l = launch();
    if (!l.in_fiber) return;
    bool asked = false;
    yield_until([&] { bool second = asked; asked = true; return second; }, "polling global memory", {}, 0);
}

void stop_launch() {
    LaunchState& l = launch();
    l.stopped = true;
    if (l.in_fiber) {
        l.in_fiber = false;
        l.running->done = true;
        setcontext(&l.scheduler);
    }
    throw Stopped{};
}

}  // namespace twin
