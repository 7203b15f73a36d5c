// TPipe: InitBuffer hands out on-chip memory; the layout is explained when it does not fit.
#include "queues.h"

#include <algorithm>

#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;
using AscendC::TPosition;
constexpr uint32_t kMaxBuffers = 64;
constexpr int kReservedMatmulIds = 3;   // M_MTE1 ids 0..2 belong to the matmul library while a TPipe lives on a cube core

static const char* memory_name(Mem m) {
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

static uint64_t up32(uint64_t n) { return (n + 31) / 32 * 32; }

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

// ----- bookkeeping of InitBuffer
static std::string named(At at) {
    std::string n = argument_at(at, "InitBuffer", 0);
    if (n.rfind("this->", 0) == 0) n.erase(0, 6);
    while (!n.empty() && (n[0] == '*' || n[0] == '(')) n.erase(0, 1);
    return n.empty() ? "queue" : n;
}

static void check_request(QueueState& s, const std::string& name, int64_t num, int64_t len, At at) {
    if (!s.pipe) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the TPipe was destroyed", name.c_str()), "construct a TPipe, or call Init() after Destroy()");
    if (num < 1) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): num is %lld, it must be 1 to 64", name.c_str(), (long long)num), "use 1, or 2 for double buffering");
    if (len < 1) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the length is %lld B", name.c_str(), (long long)len), "give the bytes of one tile: elements * sizeof(type)");
    if (len > 0xffffffffll)
        fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the length %lld does not fit into 32 bits", name.c_str(), (long long)len), "the length is in bytes of one tile, not of the whole array");
    if (num > kMaxBuffers || s.buffer_count + num > kMaxBuffers) {
        std::string list;
        for (const Request& r : s.requests) list += fmt("\n  %-16s %2llu", r.name.c_str(), (unsigned long long)r.num);
        fatal("TOO_MANY_BUFFERS", at, fmt("%lld buffers with %s, a kernel may have %u:%s\n  %-16s %2lld", (long long)(s.buffer_count + num), name.c_str(), kMaxBuffers, list.c_str(), name.c_str(), (long long)num),
              "take several tensors from one TBuf with GetWithOffset");
    }
}

static Pool* pool_at(QueueState& s, int32_t pool, At at) {
    if (!pool) return nullptr;
    if (pool < 0 || pool > int32_t(s.pools.size()) || !s.pools[pool - 1].live)
        fatal("BAD_PARAMETER", at, "InitBuffer on a TBufPool that has no memory", "call pipe.InitBufPool(pool, length) first");
    return &s.pools[pool - 1];
}

// Takes bytes from the pipe or from a pool; false = they lie beyond the memory.
static bool take(QueueState& s, int32_t pool, Mem m, uint64_t bytes, uint32_t count, const std::string& name, uint64_t& addr, At at) {
    if (Pool* p = pool_at(s, pool, at)) {
        if (p->mem != m) fatal("WRONG_POSITION", at, fmt("%s lives in %s, its pool in %s", name.c_str(), memory_name(m), memory_name(p->mem)));
        if (p->buffers + count > p->max_buffers)
            fatal("TOO_MANY_BUFFERS", at, fmt("%s needs %u buffers, the pool may hold %u and has %u", name.c_str(), count, p->max_buffers, p->buffers), "raise the second template argument of TBufPool (at most 16)");
        if (p->used + bytes > p->bytes)
            fatal("UB_OVERFLOW", at, fmt("%s needs %llu B, its pool has %llu of %llu B left", name.c_str(), (unsigned long long)bytes, (unsigned long long)(p->bytes - p->used), (unsigned long long)p->bytes),
                  "give InitBufPool more bytes, or the buffer fewer");
        for (size_t i = 0; i < s.pools.size(); ++i) {
            Pool& o = s.pools[i];
            const bool alias = &o != p && o.live && o.mem == p->mem && o.addr < p->addr + p->bytes && p->addr < o.addr + o.bytes && (o.share || p->share);
            if (alias && o.buffers)
                report(Severity::Warning, "OVERLAP", at, fmt("%s gets bytes that another pool still uses (its InitBufPool at %s)", name.c_str(), at_line(o.at).c_str()),
                       "call Reset() on the other pool before this one takes over");
        }
        addr = p->addr + p->used;
        p->used += bytes;
        p->buffers += count;
        return addr + bytes <= capacity(m);
    }
    uint64_t& top = s.top[int(m)];
    addr = top;
    top += bytes;
    if (top + (m == Mem::L1 ? s.tscm : 0) <= capacity(m)) return true;
    if (s.overflow_mem == Mem::N) { s.overflow_mem = m; s.overflow_at = at; }
    return false;
}

struct Events { int enque, free; };
static Events events_of(const QueueSpec& q) {
    const Mem a = memory_of(q.src), b = memory_of(q.dst);
    auto e = [](HardEvent x, HardEvent y) { return Events{int(x), int(y)}; };
    const bool a2 = chip_is_a2();
    if (!a2 && (q.config & 1) && a == Mem::GM && b == Mem::L1) return e(HardEvent::MTE3_MTE1, HardEvent::MTE1_MTE3);
    if (q.src == uint8_t(TPosition::CO2) && b == Mem::GM) return e(HardEvent::V_MTE3, HardEvent::MTE3_V);
    if (a == Mem::GM && b == Mem::UB) return e(HardEvent::MTE2_V, HardEvent::V_MTE2);
    if (a == Mem::UB && b == Mem::GM) return e(HardEvent::V_MTE3, HardEvent::MTE3_V);
    if (a == Mem::UB && b == Mem::UB) return e(HardEvent::MTE2_MTE3, HardEvent::MTE3_MTE2);
    if (a == Mem::GM && b == Mem::L1) return e(HardEvent::MTE2_MTE1, HardEvent::MTE1_MTE2);
    if (a == Mem::GM && (b == Mem::L0A || b == Mem::L0B)) return e(HardEvent::MTE2_M, HardEvent::M_MTE2);
    if (a == Mem::UB && b == Mem::L1) return e(HardEvent::MTE3_MTE1, HardEvent::MTE1_MTE3);
    if (a == Mem::L1 && (b == Mem::L0A || b == Mem::L0B || b == Mem::BT)) return e(HardEvent::MTE1_M, HardEvent::M_MTE1);
    if (a == Mem::L1 && b == Mem::FB) return e(HardEvent::MTE1_FIX, HardEvent::FIX_MTE1);
    if (a == Mem::L0C && b == Mem::GM) return e(HardEvent::M_FIX, HardEvent::FIX_M);
    if (a == Mem::L0C && b == Mem::UB) return e(HardEvent::M_V, HardEvent::V_M);
    return {-2, -2};
}

static Queue make_queue(int32_t old, const QueueSpec& spec, int64_t num, int64_t len, At at) {
    QueueState& s = queue_state();
    Queue q;
    q.spec = spec;
    q.name = named(at);
    q.at = at;
    q.num = int(num);
    check_request(s, q.name, num, len, at);
    if (old > 0 && old <= int32_t(s.queues.size()) && s.queues[old - 1].live)
        fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the queue has buffers already (%s)", q.name.c_str(), at_line(s.queues[old - 1].at).c_str()), "call InitBuffer once per queue, or pipe.Reset() before the second time");
    const auto src = TPosition(spec.src), dst = TPosition(spec.dst);
    auto bad = [](TPosition p) { return p == TPosition::VECCALC || p == TPosition::SPM || uint8_t(p) >= uint8_t(TPosition::MAX); };
    const Events e = events_of(spec);
    if (bad(src) || bad(dst) || e.enque == -2)
        fatal("WRONG_POSITION", at,
              src == dst ? fmt("%s: %s is no position of a queue", q.name.c_str(), position_name(spec.src))
                         : fmt("%s: a queue from %s to %s does not exist", q.name.c_str(), position_name(spec.src), position_name(spec.dst)),
              src == TPosition::VECCALC ? "use TBuf<TPosition::VECCALC> for scratch memory, VECIN for loads, VECOUT for stores" : "use VECIN for loads and VECOUT for stores");
    if ((spec.buffer_number && spec.buffer_number != uint64_t(num)) || (spec.buffer_len && spec.buffer_len != uint64_t(len)))
        fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s, %lld, %lld): its TQueConfig says %u buffers of %u B", q.name.c_str(), (long long)num, (long long)len, spec.buffer_number, spec.buffer_len));
    const bool to_gm = dst == TPosition::GM || (chip_is_a2() && dst == TPosition::CO2);
    q.pos = to_gm ? spec.src : spec.dst;
    q.mem = memory_of(q.pos);
    // On a vector core TSCM data moves by message to the cube core: no flags of this core.
    const bool silent = dst == TPosition::TSCM && chip_is_a2() && on(CoreKind::AIV);
    q.enque_event = silent ? -1 : e.enque;
    q.free_event = silent ? -1 : e.free;
    return q;
}

static int32_t keep_queue(QueueState& s, Queue q, const std::vector<std::pair<uint64_t, uint64_t>>& where, bool fits) {
    q.first = int(s.slots.size());
    for (size_t i = 0; i < where.size(); ++i) {
        Slot b;
        b.queue = int(s.queues.size());
        b.index = int(i);
        b.addr = uint32_t(where[i].first);
        b.bytes = uint32_t(where[i].second);
        if (fits) {
            b.engine = buffer_new(q.mem, b.addr, b.bytes, q.name, int(i), q.at);
            s.slot_of[b.engine] = int(s.slots.size());
        }
        s.slots.push_back(b);
    }
    s.buffer_count += uint32_t(where.size());
    charge_ns(30, q.at);
    s.queues.push_back(std::move(q));
    return int32_t(s.queues.size());
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
            const std::string rounds = fmt("AllocTensor ran %llu times, EnQue %llu, DeQue %llu, FreeTensor %llu", (unsigned long long)q.allocs, (unsigned long long)q.enques, (unsigned long long)q.deques, (unsigned long long)q.frees);
            const char* name = q.name.c_str();
            if (b.state == SlotState::Free) continue;
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

int32_t tw_queue_init(int32_t queue, const QueueSpec* spec, int64_t num, int64_t len, At at) {
    QueueState& s = queue_state();
    Queue q = make_queue(queue, *spec, num, len, at);
    const uint64_t each = up32(uint64_t(len));
    uint64_t addr = 0;
    bool fits;
    if (spec->dst == uint8_t(TPosition::TSCM)) {
        s.tscm += each * num;
        addr = capacity(q.mem) - std::min<uint64_t>(s.tscm, capacity(q.mem));
        fits = s.top[int(q.mem)] + s.tscm <= capacity(q.mem);
        if (!fits && s.overflow_mem == Mem::N) { s.overflow_mem = q.mem; s.overflow_at = at; }
    } else {
        fits = take(s, spec->pool, q.mem, each * num, uint32_t(num), q.name, addr, at);
    }
    if (!spec->pool) s.requests.push_back({q.name, uint64_t(num), uint64_t(len), q.mem});
    std::vector<std::pair<uint64_t, uint64_t>> where;
    for (int64_t i = 0; i < num; ++i) where.push_back({addr + each * i, each});
    return keep_queue(s, std::move(q), where, fits);
}

int32_t tw_queue_init_at(int32_t queue, const QueueSpec* spec, uint32_t num, const uint32_t* pairs, At at) {
    QueueState& s = queue_state();
    Queue q = make_queue(queue, *spec, num, pairs[1], at);
    std::vector<std::pair<uint64_t, uint64_t>> where;
    for (uint32_t i = 0; i < num; ++i) {
        const uint64_t addr = pairs[2 * i], bytes = pairs[2 * i + 1];
        if (addr % 32 || addr + bytes > capacity(q.mem))
            fatal(addr % 32 ? "MISALIGNED" : "UB_OVERFLOW", at, fmt("InitBuffer(%s): buffer %u at byte %llu with %llu B; %s has %u B and addresses step by 32", q.name.c_str(), i, (unsigned long long)addr, (unsigned long long)bytes, memory_name(q.mem), capacity(q.mem)));
        s.top[int(q.mem)] = std::max(s.top[int(q.mem)], addr + up32(bytes));
        s.requests.push_back({q.name, 1, bytes, q.mem});
        where.push_back({addr, bytes});
    }
    return keep_queue(s, std::move(q), where, true);
}

int32_t tw_tbuf_init(int32_t tbuf, uint8_t position, int64_t len, int32_t pool, At at) {
    QueueState& s = queue_state();
    Plain t;
    t.name = named(at);
    t.at = at;
    t.pos = position;
    t.mem = memory_of(position);
    t.pool = pool;
    check_request(s, t.name, 1, len, at);
    if (t.mem == Mem::GM) fatal("WRONG_POSITION", at, fmt("TBuf %s: position %s is not on the chip", t.name.c_str(), position_name(position)), "use TBuf<TPosition::VECCALC>");
    if (tbuf > 0 && tbuf <= int32_t(s.plain.size()) && s.plain[tbuf - 1].live)
        fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the TBuf has memory already (%s)", t.name.c_str(), at_line(s.plain[tbuf - 1].at).c_str()), "call InitBuffer once per TBuf");
    uint64_t addr = 0;
    t.bytes = uint32_t(up32(uint64_t(len)));
    const bool fits = take(s, pool, t.mem, t.bytes, 1, t.name, addr, at);
    if (!pool) s.requests.push_back({t.name, 1, uint64_t(len), t.mem});
    t.addr = uint32_t(addr);
    if (fits) t.engine = buffer_new(t.mem, t.addr, t.bytes, t.name, -1, at);
    ++s.buffer_count;
    charge_ns(30, at);
    s.plain.push_back(std::move(t));
    return int32_t(s.plain.size());
}

int32_t tw_pool_init(uint8_t position, uint32_t max_buffers, int64_t len, int32_t parent, int32_t share, At at) {
    QueueState& s = queue_state();
    std::string name = argument_at(at, "InitBufPool", 0);
    check_request(s, name, 1, len, at);
    Pool p;
    p.at = at;
    p.mem = memory_of(position);
    p.max_buffers = max_buffers;
    p.parent = parent;
    p.share = share;
    p.bytes = up32(uint64_t(len));
    if (share) {
        const Pool& o = *pool_at(s, share, at);
        if (p.mem != o.mem) fatal("WRONG_POSITION", at, fmt("%s and the pool it shares with live in different memories", name.c_str()));
        if (p.bytes > o.bytes) fatal("UB_OVERFLOW", at, fmt("%s wants %llu B of a shared pool of %llu B", name.c_str(), (unsigned long long)p.bytes, (unsigned long long)o.bytes), "a sharing pool is at most as long as the first");
        p.addr = o.addr;
    } else {
        uint64_t addr = 0;
        take(s, parent, p.mem, p.bytes, 1, name, addr, at);
        if (!parent) s.requests.push_back({name, 1, uint64_t(len), p.mem});
        p.addr = addr;
    }
    s.pools.push_back(p);
    return int32_t(s.pools.size());
}

void tw_pool_reset(int32_t pool, At at) {
    QueueState& s = queue_state();
    settle_layout();
    Pool* p = pool_at(s, pool, at);
    if (!p) return;
    release_pending_events(at, pool);
    for (Slot& b : s.slots) {
        Queue& q = s.queues[b.queue];
        if (!q.live || q.spec.pool != pool) continue;
        if (b.engine >= 0 && b.state != SlotState::Free) buffer_free(b.engine, at);
        s.slot_of.erase(b.engine);
    }
    for (Queue& q : s.queues) if (q.spec.pool == pool) { s.buffer_count -= q.live ? uint32_t(q.num) : 0; q.live = false; }
    for (Plain& t : s.plain) if (t.pool == pool && t.live) { if (t.engine >= 0) buffer_free(t.engine, at); t.live = false; --s.buffer_count; }
    p->used = 0;
    p->buffers = 0;
}

}  // extern "C"
