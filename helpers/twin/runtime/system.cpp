// Queries of the running core, barriers and flags, ordering through GM workspaces, tiling data.
#include <map>
#include <tuple>

#include "hooks.h"
#include "queues.h"
#include "twin/enums.h"

namespace twin {

constexpr uint64_t kSystemWorkspace = 16u << 20;   // reserved for the library on Atlas A2

// Rounds of the orderings that the library keeps in GM, per core.
struct GmOrder { std::map<std::tuple<const void*, int, int, int>, uint64_t> rounds; };
static GmOrder& gm_order() {
    QueueState& s = queue_state();
    if (!s.gm_order) s.gm_order = std::make_shared<GmOrder>();
    return *s.gm_order;
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdull ^ (h >> 29);
}
static uint64_t key_of(const char* kind, const void* p, uint64_t a, uint64_t b, uint64_t round) {
    uint64_t h = 0x5eed;
    for (const char* c = kind; *c; ++c) h = mix(h, uint64_t(*c));
    return mix(mix(mix(mix(h, reinterpret_cast<uint64_t>(p)), a), b), round);
}

static int64_t vector_cores(bool mixed) { return block_num() * (mixed ? task_ratio() : 1); }

static void check_workspace(const GlobalRef& gm, uint64_t gm_bytes, const LocalRef& ub, uint64_t ub_bytes, const char* op, At at) {
    gm_check(gm, 0, gm_bytes, at, op, "gmWorkspace");
    if (ub.mem != Mem::UB) fatal("WRONG_POSITION", at, fmt("%s: ubWorkspace does not lie in UB (%s)", op, describe(ub).c_str()), "use a tensor of VECIN, VECOUT or VECCALC");
    if (ub.bytes < ub_bytes) fatal("OUT_OF_BOUNDS", at, fmt("%s: ubWorkspace has %u B, needs %llu", op, ub.bytes, (unsigned long long)ub_bytes), fmt("give it %llu int32_t", (unsigned long long)ub_bytes / 4));
    mark_undefined(core(), ub.mem, ub.addr, ub.addr + ub_bytes);   // the library polls through it
}

static void zeroed_once(const GlobalRef& gm, uint64_t bytes, const char* op, At at) {
    if (!checks_on() || core().id != 0) return;
    wait_for_bodies();
    const auto* w = reinterpret_cast<const int32_t*>(gm.ptr);
    for (uint64_t i = 0; i < bytes / 4; ++i)
        if (w[i]) {
            report(Severity::Error, "BAD_PARAMETER", at, fmt("%s: gmWorkspace[%llu] is %d; the flags in it must start at 0", op, (unsigned long long)i, w[i]), "zero the workspace before the launch");
            return;
        }
}

}  // namespace twin

using namespace twin;

extern "C" {

// ----- where am I
int64_t tw_block_idx() { return core().block; }
int64_t tw_block_group() { return core().block_group; }
int64_t tw_block_num() { return block_num(); }
int64_t tw_sub_block_idx() { return core().sub; }
int64_t tw_task_ratio() { return on(CoreKind::AIC) ? 1 : task_ratio(); }
int64_t tw_sub_block_num() { return tw_task_ratio(); }
int tw_is_aiv() { return on(CoreKind::AIV); }
int64_t tw_system_cycle(At at) { charge(2, at); return int64_t(now_cycles()); }
int64_t tw_program_counter() { static int64_t n = 0; return n += 4; }
void tw_nop(int n, At at) { charge(float(n), at); }

void tw_init_soc_state(At at) {
    Core& c = core();
    c.mask = MaskState{};
    c.mask.set_at = c.mask.counter_at = At{nullptr, 0};
    c.dma.atomic_op = 0;
    c.dma.atomic_type = DType::None;
    queue_state().soc_ready = true;
    (void)at;
}

// ----- flags and barriers
int32_t tw_event_alloc(int event, At at) { charge(4, at); return alloc_event(event, at); }
void tw_event_release(int event, int id, At at) { charge(2, at); release_event(event, id, at); }
int32_t tw_event_fetch(int event, At at) { charge(4, at); return fetch_event(event, at); }
static bool id_fits(int event, int64_t id, const char* op, At at) {
    if (id >= 0 && id < 8) return true;
    fatal("EVENT_ID", at, fmt("%s<HardEvent::%s>(%lld): ids are 0 to 7", op, event_name(event), (long long)id), "take the id from GetTPipePtr()->FetchEventID or AllocEventID");
}
void tw_set_flag(int event, int64_t id, At at) { if (id_fits(event, id, "SetFlag", at)) set_flag(event, int(id), at); }
void tw_wait_flag(int event, int64_t id, At at) { if (id_fits(event, id, "WaitFlag", at)) wait_flag(event, int(id), at); }
void tw_raw_flag(int set, Pipe from, Pipe to, int64_t id, At at) {
    for (int e = 0; e < int(AscendC::HardEvent::MAX); ++e) {
        if (event_source(e) != from || event_target(e) != to) continue;
        set ? tw_set_flag(e, id, at) : tw_wait_flag(e, id, at);
        return;
    }
    fatal("BAD_PARAMETER", at, fmt("%s: no flag leads from PIPE_%s to PIPE_%s", set ? "set_flag" : "wait_flag", pipe_name(from), pipe_name(to)), "name the pipe that must finish first, then the pipe that waits");
}
void tw_pipe_barrier(Pipe p, At at) {
    pipe_barrier(p, at);
    if (p == Pipe::ALL) wait_for_bodies();                 // the kernel may look at memory through a raw pointer now
}
void tw_data_sync_barrier(int what, At at) { data_sync_barrier(what, at); }
// Ids that work, but are not the kernel's own.
static void check_flag_id(int flag, At at) {
    mm_check_flag(flag & 15, at);
    if (flag < 11 || !checks_on()) return;
    report(Severity::Warning, "EVENT_ID", at,
           flag > 15 ? fmt("cross-core flag %d: a core has 16 flags, and only the last 4 bits count: this is flag %d", flag, flag & 15)
                     : fmt("cross-core flag %d: %s", flag, flag < 15 ? "SyncAll uses 11 to 14" : "the messages of the Matmul object begin with 15"),
           "take ids 0 to 10; behind N Matmul objects 2 N to 10");
}
void tw_cross_set(int mode, Pipe p, int flag, At at) {
    check_flag_id(flag, at);
    cross_core_set(mode, p, flag, at);
}
void tw_cross_wait(int flag, At at) {
    check_flag_id(flag, at);
    cross_core_wait(flag, at);
}
void tw_sync_all(int aiv_only, At at) { sync_all(aiv_only != 0, true, 0, at); }

// ----- ordering through GM
void tw_sync_all_soft(int aiv_only, const GlobalRef* gm, const LocalRef* ub, int32_t used, At at) {
    if (on(CoreKind::AIC)) return;
    const uint64_t bytes = uint64_t(used > 0 ? used : vector_cores(true)) * 32;
    check_workspace(*gm, bytes, *ub, bytes, "SyncAll", at);
    auto& round = gm_order().rounds[{gm->ptr, 0, 0, 0}];
    if (round++ == 0) zeroed_once(*gm, bytes, "SyncAll", at);
    (void)aiv_only;                             // both forms wait for vector cores only
    sync_all(true, false, used, at);
}

void tw_ib(int wait, int aiv_only, const GlobalRef* gm, const LocalRef* ub, int32_t block, int32_t event, At at) {
    if (on(CoreKind::AIC)) return;
    const char* op = wait ? "IBWait" : "IBSet";
    const int64_t cores = aiv_only ? block_num() : 2 * block_num();
    if (block < 0 || block >= cores || event < 0)
        fatal("BAD_PARAMETER", at, fmt("%s: blockIdx %d and eventID %d; there are %lld blocks", op, block, event, (long long)cores), "blockIdx is 0 to GetBlockNum() - 1, eventID starts at 0");
    check_workspace(*gm, (uint64_t(cores) * event + block) * 32 + 32, *ub, 32, op, at);
    // n-th set and n-th wait of a flag belong together; a set also waits until the flag before it was consumed
    const uint64_t round = ++gm_order().rounds[{gm->ptr, block, event, wait ? 2 : 1}];
    pipe_barrier(Pipe::ALL, at);
    if (wait) {
        await(key_of("IBSet", gm->ptr, block, event, round), at, op);
        publish(key_of("IBWait", gm->ptr, block, event, round), at, op);
    } else {
        if (round > 1) await(key_of("IBWait", gm->ptr, block, event, round - 1), at, op);
        publish(key_of("IBSet", gm->ptr, block, event, round), at, op);
    }
}

void tw_ordered(int what, const GlobalRef* gm, const LocalRef* ub, At at) {
    if (on(CoreKind::AIC)) return;
    static const char* names[] = {"InitDetermineComputeWorkspace", "WaitPreBlock", "NotifyNextBlock"};
    const int64_t blocks = vector_cores(true), me = core().block;
    check_workspace(*gm, uint64_t(blocks) * 32, *ub, uint64_t(blocks) * 32 + 32, names[what], at);
    auto& round = gm_order().rounds[{gm->ptr, -1, 0, 0}];
    pipe_barrier(Pipe::ALL, at);
    if (what == TW_ORDER_INIT) { round = 1; return; }
    if (!round) fatal("BAD_PARAMETER", at, fmt("%s before InitDetermineComputeWorkspace", names[what]), "call InitDetermineComputeWorkspace first, on every block");
    if (what == TW_ORDER_WAIT) {
        if (round > 1) await(key_of("ordered", gm->ptr, uint64_t(blocks - 1), 0, round - 1), at, names[what]);
        if (me > 0) await(key_of("ordered", gm->ptr, uint64_t(me - 1), 0, round), at, names[what]);
    } else {
        publish(key_of("ordered", gm->ptr, uint64_t(me), 0, round), at, names[what]);
        ++round;
    }
}

void tw_group(int wait, const void* ws, uint32_t index, uint32_t total, uint64_t round, At at) {
    if (wait == 2) fatal("BAD_PARAMETER", at, fmt("GroupBarrier::Wait(%u): the index must be below waitSize %u", index, total));
    if (!wait && index >= total) fatal("BAD_PARAMETER", at, fmt("GroupBarrier::Arrive(%u): the index must be below arriveSize %u", index, total));
    if (!wait) { publish(key_of("group", ws, index, 0, round), at, "Arrive"); return; }
    for (uint32_t i = 0; i < total; ++i) await(key_of("group", ws, i, 0, round), at, "Wait");
}

// ----- tiling and workspace
uint64_t tw_tiling_key() { return tiling_key(); }
int tw_tiling_key_is(uint64_t key, At at) {
    QueueState& s = queue_state();
    const bool hit = tiling_key() == key;
    if (!s.key_at.line) s.key_at = at;
    s.key_hit = s.key_hit || hit;
    if (s.keys_tested.size() < 200) s.keys_tested += (s.keys_tested.empty() ? "" : ", ") + std::to_string(key);
    return hit;
}

uint8_t* tw_sys_workspace() {
    static uint8_t* area = static_cast<uint8_t*>(std::calloc(1, kSystemWorkspace));
    return area;
}

void tw_user_workspace(const void* ws, At at) {
    if (!ws) report(Severity::Warning, "HOST_ARGUMENT", at, "the workspace is null: kernels usually return here and do nothing", "pass hp.workspace(bytes) in the place of this parameter");
}

void tw_tiling_copy(void* dst, uint64_t bytes, uint64_t offset, const void* src, uint64_t whole, const char* type, At at) {
    if (!src) fatal("HOST_ARGUMENT", at, fmt("the tiling buffer is null, struct %s needs %llu B", type, (unsigned long long)whole), "pass the tiling struct in the place of this parameter");
    const GmBuffer* b = gm_find(src);
    const auto* p = static_cast<const uint8_t*>(src);
    if (!b || p < b->base || p > b->base + b->bytes)
        fatal("HOST_ARGUMENT", at, fmt("the tiling pointer leads to no argument of this launch"), "tiling is the last parameter; check the order of the arguments");
    const uint64_t left = b->bytes - uint64_t(p - b->base);
    if (left < whole)
        fatal("HOST_ARGUMENT", at, fmt("tiling buffer has %llu B, struct %s needs %llu B: wrong struct or wrong parameter order", (unsigned long long)left, type, (unsigned long long)whole),
              "build it with hp.tiling_struct from the same text");
    std::memcpy(dst, p + offset, bytes);
    charge_ns(250, at);   // one line of the struct comes from L2
}

}  // extern "C"
