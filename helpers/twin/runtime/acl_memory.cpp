// Allocations of a host program: each between guard pages, closed to host code, poisoned at birth.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "acl_state.h"

namespace twin {
namespace acl {

constexpr uint8_t kPoison = 0xCC, kRedZone = 0xA5;
static int open_count = 0;

static size_t page() { static const size_t n = size_t(sysconf(_SC_PAGESIZE)); return n; }
static size_t device_capacity() {
    const char* mb = getenv("TWIN_DEVICE_MB");
    return size_t(mb ? atoll(mb) : 4096) << 20;
}
static void protect(const Allocation& a, int rights) { mprotect(a.map + page(), a.map_bytes - 2 * page(), rights); }

Allocation* allocate(size_t bytes, Side side, At at) {
    World& w = world();
    if (side != Side::Host && w.device_bytes + bytes > device_capacity()) return nullptr;
    const size_t inner = (bytes + 64 + page() - 1) / page() * page(), whole = inner + 2 * page();
    void* map = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return nullptr;
    auto a = std::make_unique<Allocation>();
    a->map = static_cast<uint8_t*>(map);
    a->map_bytes = whole;
    a->base = a->map + page();
    a->bytes = bytes;
    a->side = side;
    a->at = at;
    static int allocations = 0;
    a->number = ++allocations;
    protect(*a, PROT_READ | PROT_WRITE);
    memset(a->base, kPoison, bytes);
    memset(a->base + bytes, kRedZone, inner - bytes);
    if (side == Side::Device && !open_count) protect(*a, PROT_NONE);
    if (side != Side::Host) { w.device_bytes += bytes; w.peak_bytes = std::max(w.peak_bytes, w.device_bytes); }
    Allocation* raw = a.get();
    w.memory[a->base] = std::move(a);
    return raw;
}

// The pages stay reserved for a while, so that the address is not given out again and a late use is recognised.
constexpr size_t kRememberFreed = 1000;

void release(Allocation& a, At at) {
    if (a.side != Side::Host) world().device_bytes -= a.bytes;
    a.freed = true;
    a.freed_at = at;
    madvise(a.map + page(), a.map_bytes - 2 * page(), MADV_DONTNEED);
    protect(a, PROT_NONE);
    static std::deque<const void*> freed;
    freed.push_back(a.base);
    if (freed.size() <= kRememberFreed) return;
    auto oldest = world().memory.find(freed.front());
    freed.pop_front();
    if (oldest == world().memory.end()) return;
    munmap(oldest->second->map, oldest->second->map_bytes);
    world().memory.erase(oldest);
}

Allocation* find(const void* p, bool freed_too) {
    auto& memory = world().memory;
    auto it = memory.upper_bound(p);
    if (it == memory.begin()) return nullptr;
    Allocation& a = *std::prev(it)->second;
    return a.holds(p) && (freed_too || !a.freed) ? &a : nullptr;
}

std::vector<Allocation*> living() {
    std::vector<Allocation*> out;
    for (auto& [p, a] : world().memory) if (!a->freed) out.push_back(a.get());
    std::sort(out.begin(), out.end(), [](const Allocation* a, const Allocation* b) { return a->number < b->number; });
    return out;
}

Open::Open() {
    if (open_count++) return;
    for (auto& [p, a] : world().memory) if (a->side == Side::Device && !a->freed) protect(*a, PROT_READ | PROT_WRITE);
}
Open::~Open() {
    if (--open_count) return;
    for (auto& [p, a] : world().memory) if (a->side == Side::Device && !a->freed) protect(*a, PROT_NONE);
}

std::string overrun(Allocation& a) {
    uint8_t *end = a.base + a.bytes, *limit = a.map + a.map_bytes - page();
    size_t first = 0, count = 0;
    for (uint8_t* p = end; p < limit; ++p)
        if (*p != kRedZone) { if (!count) first = size_t(p - end); ++count; *p = kRedZone; }
    return count ? text("%zu B were written by a raw pointer, starting %zu B behind the end of %s", count, first, a.words().c_str()) : "";
}

// ===== Checks of a copy: what is wrong with it, "" when nothing is
struct Trouble { aclError code = 0; const char* finding = "HOST_ARGUMENT"; std::string message, hint; };

static Trouble trouble(aclError code, const char* finding, std::string message, std::string hint) { return {code, finding, std::move(message), std::move(hint)}; }

static Trouble check_end(const void* p, size_t count, const char* word, bool device) {
    if (!p) return trouble(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("%s is a null pointer", word), "Allocate it first, and look at what aclrtMalloc returned.");
    Allocation* a = find(p, true);
    if (a && a->freed)
        return trouble(ACL_ERROR_RT_PARAM_INVALID, "USE_AFTER_FREE", text("%s is memory that was freed at %s: ", word, place(a->freed_at).c_str()) + a->words(),
                       "Free memory after its last use.");
    const bool is_device = a && a->side != Side::Host;
    if (device && !is_device)
        return trouble(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("%s is host memory, and the kind of copy says device", word), "Exchange the pointers or the kind: ACL_MEMCPY_HOST_TO_DEVICE copies from host to device.");
    if (!device && is_device && a->side == Side::Device)
        return trouble(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("%s is device memory, and the kind of copy says host: ", word) + a->words(), "Use ACL_MEMCPY_DEVICE_TO_DEVICE, or the other direction.");
    if (a) {
        const size_t offset = size_t(static_cast<const uint8_t*>(p) - a->base);
        if (offset + count > a->bytes)
            return trouble(ACL_ERROR_RT_PARAM_INVALID, "GM_OUT_OF_BOUNDS",
                           text("%zu B from byte %zu on go %zu B past the end of %s, ", count, offset, offset + count - a->bytes, word) + a->words(), "Compare the count, in bytes, with the size given to aclrtMalloc.");
    }
    return {};
}

static Trouble check_copy(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind) {
    if (!count) return trouble(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "a copy of 0 bytes", "Skip the call when there is nothing to copy.");
    if (count > room) return trouble(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("a copy of %zu B into a destination declared as %zu B", count, room), "The second argument is the room at the destination, the fourth the number of bytes.");
    if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) return trouble(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("there is no kind of copy %d", int(kind)), "Use ACL_MEMCPY_HOST_TO_DEVICE or one of its neighbours.");
    bool to = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, from = kind == ACL_MEMCPY_DEVICE_TO_HOST;
    if (kind == ACL_MEMCPY_DEVICE_TO_DEVICE || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) to = from = true;
    if (kind == ACL_MEMCPY_DEFAULT) {
        Allocation *d = find(dst), *s = find(src);
        to = d && d->side != Side::Host;
        from = s && s->side != Side::Host;
    }
    Trouble t = check_end(dst, count, "the destination", to);
    return t.code ? t : check_end(src, count, "the source", from);
}

static void waiting_writer(const char* call, At at, const void* p, const char* what) {
    Allocation* a = find(p);
    Stream* s = nullptr;
    const Task* t = a ? user_of(a, &s) : nullptr;
    if (!t) return;
    note_finding("MISSING_SYNC", 2, at, text("%s: %s %s while %s (%s) is still queued on stream %d: ", call, a->words().c_str(), what, t->what.c_str(), place(t->at).c_str(), s->number) + "the launch only put it there.",
                 "Call aclrtSynchronizeStream before this copy.");
}

static void check_defined(const char* call, At at, const void* p) {
    Allocation* a = find(p);
    if (a && a->side != Side::Host && !a->written)
        note_finding("UNINITIALISED_READ", 1, at, text("%s: nothing has written %s; on the device its contents are random.", call, a->words().c_str()), "Copy or set the data first, and launch the kernel that fills it.");
}
static void mark_written(void* p) { if (Allocation* a = find(p)) a->written = true; }

static aclError copy_now(const char* call, At at, void* dst, const void* src, size_t count) {
    check_defined(call, at, src);
    Open open;
    memmove(dst, src, count);
    Allocation* s = find(src);
    if (!s || s->written || s->side == Side::Host) mark_written(dst);
    return ACL_SUCCESS;
}

static std::string copy_words(size_t count, aclrtMemcpyKind kind) {
    static const char* words[] = {"H2H", "H2D", "D2H", "D2D"};
    return size_words(count) + " " + (kind <= 3 ? words[kind] : "");
}

static aclError copy(Call& c, void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind) {
    aclError code;
    if (!c.ready(code)) return code;
    Trouble t = check_copy(dst, room, src, count, kind);
    if (t.code) return c.fail(t.code, t.finding, t.message, t.hint);
    waiting_writer(c.name, c.at, src, "is read");
    waiting_writer(c.name, c.at, dst, "is overwritten");
    copy_now(c.name, c.at, dst, src, count);
    return c.ok(copy_words(count, kind));
}

static aclError copy_later(Call& c, void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    aclError code;
    if (!c.ready(code)) return code;
    Stream* s = stream_of(stream);
    if (!s) return c.fail(ACL_ERROR_RT_STREAM_CONTEXT, "HOST_ARGUMENT", "the stream does not exist, or belongs to another context", "Use a stream of this context that has not been destroyed.");
    Trouble t = check_copy(dst, room, src, count, kind);
    if (t.code) return c.fail(t.code, t.finding, t.message, t.hint);
    Task task;
    task.what = c.name;
    task.at = c.at;
    for (const void* p : {static_cast<const void*>(dst), src}) if (Allocation* a = find(p)) task.uses.push_back(a);
    const char* name = c.name;
    const At at = c.at;
    task.run = [=] { return copy_now(name, at, dst, src, count); };
    add_task(*s, std::move(task));
    return c.ok(copy_words(count, kind), s->number);
}

static aclError malloc_device(Call& c, void** p, size_t bytes) {
    aclError code;
    if (!c.ready(code)) return code;
    if (!p) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "the first argument is a null pointer", "Pass the address of a pointer: aclrtMalloc((void**)&x, …).");
    if (!bytes) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "0 bytes were asked for", "The size must be above 0: allocate only what is used.");
    Allocation* a = allocate(bytes, Side::Device, c.at);
    if (!a) return c.fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "OUT_OF_MEMORY", text("no room for %s; %s are in use", size_words(bytes).c_str(), size_words(world().device_bytes).c_str()), "Free what is not needed. The twin's device has 4 GB; TWIN_DEVICE_MB changes that.");
    *p = a->base;
    return c.ok(size_words(bytes));
}

static aclError give_back(Call& c, void* p, Side side) {
    aclError code;
    if (!c.ready(code)) return code;
    const char *own = side == Side::Host ? "aclrtFreeHost" : "aclrtFree", *other = side == Side::Host ? "aclrtFree" : "aclrtFreeHost";
    if (!p) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "a null pointer", "Free only what was allocated.");
    Allocation* a = find(p, true);
    if (!a) return c.fail(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", "this address does not come from aclrtMalloc or aclrtMallocHost", "Memory of malloc and new is freed with free and delete.");
    if (a->freed) return c.fail(ACL_ERROR_RT_MEMORY_FREE, "USE_AFTER_FREE", text("it was freed already at %s: ", place(a->freed_at).c_str()) + a->words(), "Free each allocation once, and set the pointer to nullptr.");
    if (a->side != side) return c.fail(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("this memory belongs to %s: ", other) + a->words(), text("Use %s for it.", other));
    if (a->base != p) return c.fail(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("the address is %zu B inside of ", size_t(static_cast<uint8_t*>(p) - a->base)) + a->words(), text("Give %s the address that the allocation returned.", own));
    Stream* s = nullptr;
    if (const Task* t = user_of(a, &s)) {
        note_finding("USE_AFTER_FREE", 2, c.at, text("%s: %s is freed while %s (%s) is still queued on stream %d.", c.name, a->words().c_str(), t->what.c_str(), place(t->at).c_str(), s->number),
                     "Call aclrtSynchronizeStream before freeing.");
        drain(*s);
    }
    if (side == Side::Device) { Open open; }
    release(*a, c.at);
    return c.ok(size_words(a->bytes));
}

static aclError set(Call& c, void* p, size_t room, int32_t value, size_t count, Stream* s, bool later) {
    if (count > room) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("%zu B are set where only %zu B were declared", count, room), "The second argument is the room, the fourth the number of bytes.");
    Allocation* a = find(p, true);
    Trouble t = check_end(p, count, "the destination", a && a->side != Side::Host);
    if (t.code) return c.fail(t.code, t.finding, t.message, t.hint);
    auto run = [=] { Open open; memset(p, value, count); mark_written(p); return aclError(ACL_SUCCESS); };
    if (!later) { waiting_writer(c.name, c.at, p, "is overwritten"); run(); return c.ok(size_words(count)); }
    Task task;
    task.what = c.name;
    task.at = c.at;
    if (a) task.uses.push_back(a);
    task.run = run;
    add_task(*s, std::move(task));
    return c.ok(size_words(count), s->number);
}

}  // namespace acl
}  // namespace twin

// ===== The calls
using namespace twin::acl;
using twin::At;

aclError aclrtMalloc(void** p, size_t n, aclrtMemMallocPolicy, At at) { Call c("aclrtMalloc", at); return malloc_device(c, p, n); }
aclError aclrtMallocAlign32(void** p, size_t n, aclrtMemMallocPolicy, At at) { Call c("aclrtMallocAlign32", at); return malloc_device(c, p, n); }
aclError aclrtMallocCached(void** p, size_t n, aclrtMemMallocPolicy, At at) { Call c("aclrtMallocCached", at); return malloc_device(c, p, n); }
aclError aclrtMallocWithCfg(void** p, size_t n, aclrtMemMallocPolicy, aclrtMallocConfig*, At at) { Call c("aclrtMallocWithCfg", at); return malloc_device(c, p, n); }
aclError aclrtFree(void* p, At at) { Call c("aclrtFree", at); return give_back(c, p, Side::Device); }
aclError aclrtFreeHost(void* p, At at) { Call c("aclrtFreeHost", at); return give_back(c, p, Side::Host); }

aclError aclrtMallocHost(void** p, size_t n, At at) {
    Call c("aclrtMallocHost", at);
    aclError code;
    if (!c.ready(code)) return code;
    if (!p || !n) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", p ? "0 bytes were asked for" : "the first argument is a null pointer", "Pass the address of a pointer and a size above 0.");
    Allocation* a = allocate(n, Side::Host, at);
    if (!a) return c.fail(ACL_ERROR_BAD_ALLOC, "OUT_OF_MEMORY", text("no room for %s", size_words(n).c_str()), "Free what is not needed.");
    *p = a->base;
    return c.ok(size_words(n));
}

aclError aclrtMemcpy(void* d, size_t room, const void* s, size_t n, aclrtMemcpyKind k, At at) { Call c("aclrtMemcpy", at); return copy(c, d, room, s, n, k); }
aclError aclrtMemcpyAsync(void* d, size_t room, const void* s, size_t n, aclrtMemcpyKind k, aclrtStream stream, At at) {
    Call c("aclrtMemcpyAsync", at);
    return copy_later(c, d, room, s, n, k, stream);
}
aclError aclrtMemcpy2d(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, aclrtMemcpyKind k, At at) {
    if (w > dp || w > sp) { Call c("aclrtMemcpy2d", at); return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("rows of %zu B with pitches of %zu and %zu B", w, dp, sp), "A pitch is the distance from row to row: at least the width."); }
    for (size_t i = 0; i < h; ++i)
        if (aclError e = aclrtMemcpy(static_cast<uint8_t*>(d) + i * dp, w, static_cast<const uint8_t*>(s) + i * sp, w, k, at)) return e;
    return ACL_SUCCESS;
}
aclError aclrtMemcpy2dAsync(void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, aclrtMemcpyKind k, aclrtStream stream, At at) {
    if (w > dp || w > sp) { Call c("aclrtMemcpy2dAsync", at); return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", text("rows of %zu B with pitches of %zu and %zu B", w, dp, sp), "A pitch is the distance from row to row: at least the width."); }
    for (size_t i = 0; i < h; ++i)
        if (aclError e = aclrtMemcpyAsync(static_cast<uint8_t*>(d) + i * dp, w, static_cast<const uint8_t*>(s) + i * sp, w, k, stream, at)) return e;
    return ACL_SUCCESS;
}
aclError aclrtMemset(void* p, size_t room, int32_t v, size_t n, At at) {
    Call c("aclrtMemset", at);
    aclError code;
    return c.ready(code) ? set(c, p, room, v, n, nullptr, false) : code;
}
aclError aclrtMemsetAsync(void* p, size_t room, int32_t v, size_t n, aclrtStream stream, At at) {
    Call c("aclrtMemsetAsync", at);
    aclError code;
    if (!c.ready(code)) return code;
    Stream* s = stream_of(stream);
    if (!s) return c.fail(ACL_ERROR_RT_STREAM_CONTEXT, "HOST_ARGUMENT", "the stream does not exist, or belongs to another context", "Use a stream of this context that has not been destroyed.");
    return set(c, p, room, v, n, s, true);
}

struct aclDataBuffer { void* data; size_t bytes; };
aclDataBuffer* aclCreateDataBuffer(void* data, size_t bytes) { return new aclDataBuffer{data, bytes}; }
aclError aclDestroyDataBuffer(const aclDataBuffer* b) { delete b; return ACL_SUCCESS; }
aclError aclUpdateDataBuffer(aclDataBuffer* b, void* data, size_t bytes) { if (!b) return ACL_ERROR_INVALID_PARAM; *b = {data, bytes}; return ACL_SUCCESS; }
void* aclGetDataBufferAddr(const aclDataBuffer* b) { return b ? b->data : nullptr; }
size_t aclGetDataBufferSizeV2(const aclDataBuffer* b) { return b ? b->bytes : 0; }
