// TPipe: its life, what is left at its end, and the table of buffers when they do not fit.
#include <algorithm>

#include "queues.h"
#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;
constexpr int kReservedMatmulIds = 3;   // M_MTE1 ids 0..2 belong to the matmul library while a TPipe lives on a cube core

const char* memory_name(Mem m) {
    switch (m) {
        case Mem::UB: return "UB";
        case Mem::L1: return "L1";
        case Mem::L0A: return "L0A";
        case Mem::L0B: return "L0B";
        case Mem::L0C: return "L0C";
        case Mem::BT: return "the bias table";
        case Mem::FB: return "the Fixpipe buffer";
        default: return "GM";
    }
}


// ----- layout that does not fit
static std::string layout_table(const QueueState& s, Mem m, uint64_t& total) {
    std::string text;
    total = 0;
    for (const Request& r : s.requests) {
        if (r.mem != m) continue;
        const uint64_t bytes = r.num * up32(r.len);
        total += bytes;
        text += fmt("\n  %-16s %2llu x %8llu B = %9llu B", r.name.c_str(), (unsigned long long)r.num, (unsigned long long)up32(r.len), (unsigned long long)bytes);
    }
    return text;
}

// The largest length of the longest buffers such that everything fits; buffers of similar size shrink along in proportion.
static uint64_t largest_length(const QueueState& s, Mem m, uint64_t& longest, bool& mixed) {
    longest = 0;
    for (const Request& r : s.requests) if (r.mem == m) longest = std::max(longest, r.len);
    mixed = false;
    for (uint64_t l = std::min<uint64_t>(longest, capacity(m)) / 32 * 32; l >= 32; l -= 32) {
        uint64_t total = 0;
        for (const Request& r : s.requests) {
            if (r.mem != m) continue;
            const bool shrinks = r.len * 16 >= longest;
            mixed = mixed || (shrinks && r.len != longest);
            total += r.num * up32(shrinks ? uint64_t(double(r.len) * double(l) / double(longest) + 0.999) : r.len);
        }
        if (total <= capacity(m)) return l;
    }
    return 0;
}

void settle_layout() {
    QueueState& s = queue_state();
    if (s.overflow_mem == Mem::N) return;
    const Mem m = s.overflow_mem;
    s.overflow_mem = Mem::N;
    uint64_t total = 0, longest = 0;
    bool mixed = false;
    const std::string table = layout_table(s, m, total);
    const uint64_t fit = largest_length(s, m, longest, mixed);
    std::string fix = "use fewer or smaller buffers";
    if (fit && mixed)
        fix = fmt("shrink the tile to %.0f %%: then the longest buffer has %llu B where it now has %llu", 100.0 * double(fit) / double(longest), (unsigned long long)fit, (unsigned long long)longest);
    else if (fit)
        fix = fmt("the largest legal length here is %llu B per buffer (tile of %llu half or %llu float)", (unsigned long long)fit, (unsigned long long)fit / 2, (unsigned long long)fit / 4);
    fatal("UB_OVERFLOW", s.overflow_at, fmt("%s needs %llu B, has %u B:%s", memory_name(m), (unsigned long long)total, capacity(m), table.c_str()), fix);
}

// ----- life of the pipe
void release_pending_events(At at, int pool) {
    QueueState& s = queue_state();
    for (Slot& b : s.slots) {
        const Queue& q = s.queues[b.queue];
        if (!q.live || (pool && q.spec.pool != pool)) continue;
        if (b.free_id >= 0) {
            wait_flag(q.free_event, b.free_id, at, true);
            release_event(q.free_event, b.free_id, at);
            b.free_id = -1;
        }
        if (b.enque_id >= 0) {
            wait_flag(b.enque_event, b.enque_id, at, true);
            release_event(b.enque_event, b.enque_id, at);
            b.enque_id = -1;
        }
    }
}

void report_leaks(Severity severity) {
    QueueState& s = queue_state();
    for (const Queue& q : s.queues) {
        if (!q.live) continue;
        for (int i = 0; i < q.num; ++i) {
            const Slot& b = s.slots[q.first + i];
            if (b.state == SlotState::Free) continue;
            const std::string rounds = fmt("AllocTensor ran %llu times, EnQue %llu, DeQue %llu, FreeTensor %llu", (unsigned long long)q.allocs, (unsigned long long)q.enques, (unsigned long long)q.deques, (unsigned long long)q.frees);
            const char* name = q.name.c_str();
            if (b.state == SlotState::Occupied)
                report(severity, "LEAK", b.alloc_at, fmt("%s: the tensor of AllocTensor at %s was neither handed on nor freed (%s)", name, at_line(b.alloc_at).c_str(), rounds.c_str()), fmt("call %s.EnQue or %s.FreeTensor on every path", name, name));
            else if (b.state == SlotState::Enque)
                report(severity, "LEAK", b.enque_at, fmt("%s: the tensor of EnQue at %s still waits in the queue at the end (%s)", name, at_line(b.enque_at).c_str(), rounds.c_str()), fmt("give producer and consumer of %s the same number of rounds", name));
            else
                report(severity, "LEAK", b.deque_at, fmt("%s: the tensor of DeQue at %s was never freed (%s)", name, at_line(b.deque_at).c_str(), rounds.c_str()), fmt("call %s.FreeTensor after the last use, on every path", name));
            break;
        }
    }
}

void drop_everything(At at) {
    QueueState& s = queue_state();
    for (Queue& q : s.queues) q.live = false;
    for (Plain& t : s.plain) t.live = false;
    for (Pool& p : s.pools) p.live = false;
    s.slot_of.clear();
    s.statics.clear();
    s.tags.clear();
    s.requests.clear();
    std::fill(std::begin(s.top), std::end(s.top), 0);
    s.tscm = 0;
    s.buffer_count = 0;
    s.overflow_mem = Mem::N;
    buffer_forget_all(at);
}

static void matmul_ids(bool take_them, At at) {
    if (!on(CoreKind::AIC)) return;
    for (int i = 0; i < kReservedMatmulIds; ++i) {
        if (take_them) {
            set_flag(int(HardEvent::M_MTE1), alloc_event(int(HardEvent::M_MTE1), at), at, true);
        } else {
            wait_flag(int(HardEvent::M_MTE1), i, at, true);
            release_event(int(HardEvent::M_MTE1), i, at);
        }
    }
}

void queues_core_end(Core& c) {
    if (!c.queues) return;
    const QueueState& s = *c.queues;
    // A plain else branch may serve all other keys: only a kernel that never asked for memory did nothing.
    if (s.key_at.line && !s.key_hit && s.queues.empty() && s.plain.empty())
        report(Severity::Error, "HOST_ARGUMENT", s.key_at,
               fmt("tilingKey=%llu has no TILING_KEY_IS(%llu) branch: the kernel did nothing (it asks for %s)", (unsigned long long)tiling_key(), (unsigned long long)tiling_key(), s.keys_tested.c_str()),
               "launch with kernel.launch(blocks, args, tiling_key=k)");
    if (s.static_at.line && !s.soc_ready)
        report(Severity::Warning, "BAD_PARAMETER", s.static_at, "no TPipe and no InitSocState: mask and atomic state are whatever the previous kernel left", "call InitSocState() first");
    if (!s.pipe) return;
    settle_layout();
    report_leaks(Severity::Error);
}

}  // namespace twin

using namespace twin;

extern "C" {

void tw_pipe_init(void* pipe, At at) {
    QueueState& s = queue_state();
    if (s.pipe && s.pipe != pipe)
        fatal("BAD_PARAMETER", at, fmt("a second TPipe while the first one (%s) is alive: both hand out the same memory and the device hangs", at_line(s.pipe_at).c_str()), "pass the first TPipe on as a pointer, or call Destroy() on it");
    if (s.pipe) drop_everything(at);
    s.pipe = pipe;
    s.pipe_at = at;
    tw_init_soc_state(at);
    charge_ns(300, at);
    matmul_ids(true, at);
}

void tw_pipe_reset(At at) {
    settle_layout();
    release_pending_events(at, 0);
    report_leaks(Severity::Warning);
    tw_init_soc_state(at);
    drop_everything(at);
}

void tw_pipe_destroy(int barrier, At at) {
    QueueState& s = queue_state();
    if (!s.pipe) return;
    settle_layout();
    report_leaks(Severity::Error);
    release_pending_events(at, 0);
    matmul_ids(false, at);
    if (barrier) pipe_barrier(Pipe::ALL, at);
    drop_everything(at);
    s.pipe = nullptr;
}

void tw_pipe_gone(void* pipe) {
    QueueState& s = queue_state();
    if (s.pipe == pipe) tw_pipe_destroy(1, s.pipe_at);
}

void* tw_pipe_current() { return queue_state().pipe; }

}  // extern "C"
