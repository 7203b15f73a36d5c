// InitBuffer and InitBufPool: on-chip memory is handed out from address 0 upwards, in the order of the calls.
#include <algorithm>

#include "queues.h"
#include "state.h"
#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;
using AscendC::TPosition;
constexpr uint32_t kMaxBuffers = 64;

// Name of the queue in `pipe.InitBuffer(inQueueX, 2, 1024)`, the nth call of its line.
static std::string find_name(At at, int nth) {
    const std::string line = source_line(at);
    std::vector<size_t> calls;
    for (size_t p = line.find("InitBuffer("); p != std::string::npos; p = line.find("InitBuffer(", p + 1)) calls.push_back(p + 11);
    std::string n;
    if (calls.size() > 1) {
        const size_t p = calls[size_t(nth) % calls.size()];
        n = line.substr(p, line.find(',', p) - p);
    } else {
        n = argument_at(at, "InitBuffer", 0);
    }
    while (!n.empty() && (n[0] == '*' || n[0] == '(' || n[0] == ' ')) n.erase(0, 1);
    if (n.rfind("this->", 0) == 0) n.erase(0, 6);
    if (n.empty()) n = assigned_name(at);                  // `queue = core.TQue("VECIN", …)` of a tiling simulation
    return n.empty() ? "queue" : n;
}

static const std::string& named(At at) {
    QueueState& s = queue_state();
    s.init_nth = s.init_line == at.line ? s.init_nth + 1 : 0;
    s.init_line = at.line;
    auto [it, fresh] = launch().names.try_emplace({at.file, at.line, s.init_nth});
    if (fresh) it->second = find_name(at, s.init_nth);
    return it->second;
}

// Raw tensors made before the pipe handed out the same bytes.
static void meet_statics(const QueueState& s, Mem m, uint64_t lo, uint64_t hi, const std::string& name, At at) {
    for (const auto& entry : s.statics) {
        const uint64_t a = entry.first.second >> 32, z = a + (entry.first.second & 0xffffffffu);
        if (entry.first.first == int(m) && a < hi && lo < z)
            report(Severity::Warning, "OVERLAP", at, fmt("%s gets bytes [%llu, %llu), which overlap the raw tensor %s [%llu, %llu)", name.c_str(), (unsigned long long)lo, (unsigned long long)hi,
                                                         buffers()[size_t(entry.second)].name.c_str(), (unsigned long long)a, (unsigned long long)z),
                   "use one mechanism only: TBuf from the TPipe, or raw addresses without a TPipe");
    }
}

static void check_request(QueueState& s, const std::string& name, int64_t num, int64_t len, At at) {
    if (!s.pipe) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the TPipe was destroyed", name.c_str()), "construct a TPipe, or call Init() after Destroy()");
    if (num < 1) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): num is %lld, it must be 1 to 64", name.c_str(), (long long)num), "use 1, or 2 for double buffering");
    if (len < 1) fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the length is %lld B", name.c_str(), (long long)len), "give the bytes of one tile: elements * sizeof(type)");
    if (len > 0xffffffffll)
        fatal("BAD_PARAMETER", at, fmt("InitBuffer(%s): the length %lld does not fit into 32 bits", name.c_str(), (long long)len), "the length is in bytes of one tile, not of the whole array");
    if (num > kMaxBuffers || s.buffer_count + num > kMaxBuffers) {
        std::string list;
        for (size_t i = 0, k; i < s.requests.size(); i = k) {      // an array of queues is one line
            uint64_t sum = 0;
            for (k = i; k < s.requests.size() && s.requests[k].name == s.requests[i].name; ++k) sum += s.requests[k].num;
            list += fmt("\n  %-16s %2llu", s.requests[i].name.c_str(), (unsigned long long)sum);
        }
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
            meet_statics(s, q.mem, b.addr, where[i].first + where[i].second, q.name, q.at);
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

}  // namespace twin

using namespace twin;

extern "C" {

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
    if (fits) {
        meet_statics(s, t.mem, t.addr, uint64_t(t.addr) + t.bytes, t.name, at);
        t.engine = buffer_new(t.mem, t.addr, t.bytes, t.name, -1, at);
    }
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
