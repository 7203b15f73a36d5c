// A tile of C on the cube core: K in steps through L0, two buffers each where the tiling says so.
#include <algorithm>

#include "mm_machine.h"
#include "queues.h"
#include "state.h"
#include "twin/abi_copy.h"
#include "twin/abi_cube.h"
#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;
using AscendC::TPosition;

static std::map<int, std::unique_ptr<MmMachine>>& machines() { static std::map<int, std::unique_ptr<MmMachine>> all; return all; }
void mm_machines_begin() { machines().clear(); }

void MmFlag::raise(At at) {
    if (id < 0) id = alloc_event(event, at);
    set_flag(event, id, at, true);
    set = true;
}
void MmFlag::settle(At at) {
    if (!set) return;
    wait_flag(event, id, at, true);
    set = false;
}

MmMachine& mm_machine() {
    auto& m = machines()[core().id];
    if (!m) {
        m = std::make_unique<MmMachine>();
        m->core = core().id;
        auto flags = [](HardEvent e, std::initializer_list<MmFlag*> all) { for (MmFlag* f : all) f->event = int(e); };
        flags(HardEvent::MTE2_MTE1, {&m->bias_filled});
        flags(HardEvent::MTE1_MTE2, {&m->bias_free});
        flags(HardEvent::M_MTE1, {&m->bias_read, &m->a_free[0], &m->a_free[1], &m->b_free[0], &m->b_free[1]});
        flags(HardEvent::MTE1_M, {&m->l0_filled[0], &m->l0_filled[1]});
        flags(HardEvent::M_FIX, {&m->c_done[0], &m->c_done[1]});
        flags(HardEvent::FIX_M, {&m->c_free[0], &m->c_free[1]});
        flags(HardEvent::MTE2_FIX, {&m->quant_filled});
        flags(HardEvent::FIX_MTE2, {&m->quant_free});
    }
    return *m;
}

LocalRef MmMachine::ref(Mem m, uint32_t addr, uint32_t size, uint8_t pos, At at) {
    int& b = buf[int(m)];
    if (b < 0) {
        static const char* names[] = {"", "", "Matmul L1", "Matmul L0A", "Matmul L0B", "Matmul L0C", "Matmul bias table", "Matmul quantisation"};
        const uint32_t lo = m == Mem::L1 ? base : 0, hi = m == Mem::L1 ? base + bytes : capacity(m);
        b = buffer_new(m, lo, hi - lo, names[int(m)], -1, at);
        buffer_alloc(b, at);
    }
    LocalRef r;
    r.addr = addr;
    r.bytes = size;
    r.buf = b;
    r.gen = buffer_generation(b);
    r.mem = m;
    r.pos = pos;
    return r;
}

// The bytes of L1 behind what the kernel has taken for itself. All objects of a core share them: one computes at a time.
static void take_l1(MmMachine& x, MmObject& o, At at) {
    QueueState& q = queue_state();
    uint64_t& top = q.top[int(Mem::L1)];
    if (!x.bytes || x.pipe != q.pipe) {
        x.pipe = q.pipe;
        x.base = uint32_t(mm_up(int64_t(top), 512));
        x.layout_of = 0;
        x.bytes = 0;
        x.buf[int(Mem::L1)] = -1;
    }
    const uint32_t before = x.bytes;
    x.prepare(o, at);
    if (x.bytes > before) {
        x.buf[int(Mem::L1)] = -1;
        top = std::max<uint64_t>(top, x.base + x.bytes);
    }
}

static void bias_to_l1(MmMachine& x, const MmObject& o, const MmParams& p, const MmTile& t, At at) {
    const DType type = o.setup.bias.type;
    const uint32_t size = size_of(type);
    GlobalRef g = p.bias.gm;
    g.ptr += t.col * size;
    if (g.bytes) g.bytes = g.bytes > uint64_t(t.col) * size ? g.bytes - uint64_t(t.col) * size : 0;
    x.bias_free.settle(at);
    const LocalRef l1 = x.ref(Mem::L1, x.bias_addr, 1024, uint8_t(TPosition::C1), at);
    const CopyNd2Nz c{1, 1, t.n, 0, t.n, 1, 1, 0};
    tw_copy_nd2nz(&l1, &g, type, &c, at);
    x.bias_filled.raise(at);
}

static LocalRef bias_to_table(MmMachine& x, const MmObject& o, const MmTile& t, At at) {
    x.bias_read.settle(at);
    x.bias_filled.settle(at);
    const DType type = o.setup.bias.type, to = type == DType::I32 ? DType::I32 : DType::F32;
    const LocalRef l1 = x.ref(Mem::L1, x.bias_addr, 1024, uint8_t(TPosition::C1), at), table = x.ref(Mem::BT, 0, uint32_t(mm_up(t.n * 4, 64)), uint8_t(TPosition::C2), at);
    tw_copy_to_table(&table, &l1, to, type, mm_up(t.n, size_of(type) == 2 ? 32 : 16), 0, 0, 0, 0, at);
    x.bias_free.raise(at);
    return table;
}

// Which base steps of K one tile takes, package by package.
static MmBlock package_block(const MmObject& o, const MmParams& p, bool a, const MmTile& t, int64_t step) {
    const int64_t base = a ? o.t.baseM : o.t.baseN, many = mm_width(o, a), per = mm_depth(o, a);
    const int64_t index = a ? t.mi : t.ni, all = a ? p.m : p.n;
    MmBlock b{};
    b.group = index / many * many;
    b.first = b.group * base;
    b.size = std::min(many * base, all - b.first);
    b.step = step / per;
    b.k0 = b.step * per * o.t.baseK;
    b.kn = std::min<int64_t>(per * o.t.baseK, p.k - b.k0);
    return b;
}

struct Sweep { const MmTile* next = nullptr; int64_t first = 0, last = 0; };   // steps of K; the tile after this one, when it is known

static void compute(MmMachine& x, MmObject& o, const MmParams& p, const MmTile& t, const Sweep& s, bool partial, const LocalRef& dst, At at) {
    const bool l1_a = p.a.where == MmTensor::L1, l1_b = p.b.where == MmTensor::L1, two = o.t.dbL0A == o.t.dbL0B;
    const bool bias = o.t.isBias && p.bias_on && !partial && s.first == 0;
    const int64_t wide = mm_wide(o, p, false, t.n), k_al = o.t.baseK;
    const uint32_t room_a = capacity(Mem::L0A) / uint32_t(o.t.dbL0A), room_b = capacity(Mem::L0B) / uint32_t(o.t.dbL0B);
    const bool vector = mm_vector(o, p, t.m);
    if (bias) bias_to_l1(x, o, p, t, at);
    for (int64_t k = s.first; k < s.last; ++k) {
        MmPackage* pkg[2] = {nullptr, nullptr};
        MmBlock whole[2];
        for (int w = 0; w < 2; ++w) {
            const bool a = w == 0;
            if (a ? l1_a : l1_b) continue;
            whole[w] = package_block(o, p, a, t, k);
            pkg[w] = &mm_need(x, o, p, a, whole[w], at);
        }
        for (int w = 0; w < 2; ++w) {                       // the packages after these, while these are at work
            const bool a = w == 0;
            if (!pkg[w]) continue;
            const int64_t per = mm_depth(o, a);
            if (k != s.first && k % per) continue;
            const int64_t then = (k / per + 1) * per;
            if (then < s.last) mm_fetch(x, o, p, a, package_block(o, p, a, t, then), at);
            else if (s.next) mm_fetch(x, o, p, a, package_block(o, p, a, *s.next, 0), at);
        }
        const int ia = int(x.step_a++ % uint32_t(o.t.dbL0A)), ib = int(x.step_b++ % uint32_t(o.t.dbL0B));
        x.a_free[ia].settle(at);
        if (!two) x.b_free[ib].settle(at);
        LocalRef table;
        const bool with_bias = bias && k == s.first;
        if (with_bias) table = bias_to_table(x, o, t, at);
        MmBlock ba{}, bb{};
        ba.first = t.row;
        ba.size = t.m;
        bb.first = t.col;
        bb.size = t.n;
        ba.k0 = bb.k0 = k * k_al;
        ba.kn = bb.kn = std::min<int64_t>(k_al, p.k - ba.k0);
        const LocalRef l0a = x.ref(Mem::L0A, uint32_t(ia) * room_a, room_a, uint8_t(TPosition::A2), at), l0b = x.ref(Mem::L0B, uint32_t(ib) * room_b, room_b, uint8_t(TPosition::B2), at);
        static const MmPackage none{};
        mm_to_l0(x, o, p, true, pkg[0] ? *pkg[0] : none, ba, l0a, at);
        mm_to_l0(x, o, p, false, pkg[1] ? *pkg[1] : none, bb, l0b, at);
        for (int w = 0; w < 2; ++w)                         // the last read of a package in this sweep
            if (pkg[w] && (k + 1 == s.last || (k + 1) % mm_depth(o, w == 0) == 0)) pkg[w]->free.raise(at);
        MmFlag& filled = x.l0_filled[x.fill++ % 2];
        filled.raise(at);
        filled.settle(at);
        MmadCall c;
        c.at = at;
        c.dst_type = o.setup.a.type == DType::I8 || o.setup.a.type == DType::I4 ? DType::I32 : DType::F32;
        c.fm_type = o.setup.a.type;
        c.filter_type = o.setup.b.type;
        c.bias_type = c.dst_type;
        c.dst = dst;
        c.fm = l0a;
        c.filter = l0b;
        c.m = t.m == 1 && !vector ? 16 : t.m;               // one row would be taken for a vector
        c.n = wide;
        c.k = ba.kn;
        c.k_aligned = mm_k_aligned(o, p);
        c.init_zero = !partial && k == s.first && !with_bias;
        if (with_bias) { c.with_bias = 1; c.bias = table; }
        const bool small = (c.m / 16) * (c.n / 16) < 10;
        if (partial && small && k == s.first) pipe_barrier(Pipe::M, at);   // behind the sum of the call before
        tw_mmad(&c);
        if (with_bias) x.bias_read.raise(at);
        x.a_free[ia].raise(at);
        if (!two) x.b_free[ib].raise(at);
        if (k + 1 < s.last && small) pipe_barrier(Pipe::M, at);
    }
}

// L0C for the next tile; the one in use stays for a partial sum.
static LocalRef tile_room(MmMachine& x, const MmObject& o, const LocalRef& own, bool partial, At at) {
    if (own.bytes) return own;
    if (!partial) x.c_slot = int(x.tile++ % uint32_t(o.t.dbL0C));
    const uint32_t room = capacity(Mem::L0C) / uint32_t(o.t.dbL0C);
    if (!partial) x.c_free[x.c_slot].settle(at);
    return x.ref(Mem::L0C, uint32_t(x.c_slot) * room, room, uint8_t(TPosition::CO1), at);
}

static void begin(MmMachine& x, MmRequest& r) {
    MmObject& o = *r.object;
    if (x.computing && x.computing != uint32_t(o.id) && checks_on()) {
        const MmObject& other = mm_object(int32_t(x.computing), r.at, "Set");
        if (other.setup.end && other.owner == o.owner)       // the two vector cores of an AI core are served in turn
            report(Severity::Warning, "BAD_PARAMETER", r.at, fmt("this Matmul object computes while another one (since %s) has not called End()", where(x.computing_at).c_str()), "call End() on the first object when its results are taken");
    }
    if (x.computing != uint32_t(o.id)) { x.computing = uint32_t(o.id); x.computing_at = r.at; }
    if (x.stored && r.kind != MmRequest::Tile) { pipe_barrier(Pipe::FIX, r.at); x.stored = false; }   // it may store to the same place
    take_l1(x, o, r.at);
    tw_set_hf32(r.p.hf32, r.at);
    if (r.p.hf32) tw_set_hf32_away(r.p.hf32_away, r.at);
}

static void take_tile(MmMachine& x, MmObject& o, const MmParams& p, const MmTile& t, const LocalRef& tile, const MatmulTarget& to, At at, bool own) {
    MmFlag& done = x.c_done[x.c_slot];
    if (!own) { done.raise(at); done.settle(at); }
    mm_store(x, o, p, t, tile, to, at);
    x.stored = true;
    if (!own) {
        x.c_free[x.c_slot].settle(at);                    // stored once before: to GM, now for UB
        x.c_free[x.c_slot].raise(at);
    }
}

static void all_tiles(MmMachine& x, MmRequest& r, const MmParams& p, const MatmulTarget& to) {
    MmObject& o = *r.object;
    std::vector<MmTile> tiles;
    const int64_t n = ((p.m + o.t.baseM - 1) / o.t.baseM) * ((p.n + o.t.baseN - 1) / o.t.baseN), steps = (p.k + o.t.baseK - 1) / o.t.baseK;
    for (int64_t i = 0; i < n; ++i) {
        const MmTile t = mm_tile(o, p, i);
        if (!mm_skipped(o, t)) tiles.push_back(t);
    }
    for (size_t i = 0; i < tiles.size(); ++i) {
        const LocalRef room = tile_room(x, o, {}, false, r.at);
        compute(x, o, p, tiles[i], {i + 1 < tiles.size() ? &tiles[i + 1] : nullptr, 0, steps}, false, room, r.at);
        take_tile(x, o, p, tiles[i], room, to, r.at, false);
    }
}

// Where batch i of an operand starts, and its row pitch, by layout (info: B, S, N, G, D of the tiling).
static void batch_operand(MmTensor& x, const MatmulSide& side, const int32_t* info, int64_t i, uint32_t stride, int64_t plain, int64_t& pitch) {
    int64_t at = i * (stride ? int64_t(stride) : plain);
    const int64_t S = info[1], N = std::max(info[2], 1), G = std::max(info[3], 1), D = info[4], B = std::max(info[0], 1);
    const int64_t b = i / (N * G), head = i % (N * G);
    if (side.layout == 1) { at = b * S * N * G * D + head * D; pitch = N * G * D; }
    if (side.layout == 2) { at = b * N * G * D + head * D; pitch = B * N * G * D; }
    x.gm.ptr += mm_bytes(side.type, at);
    if (x.gm.bytes) x.gm.bytes = x.gm.bytes > mm_bytes(side.type, at) ? x.gm.bytes - mm_bytes(side.type, at) : 0;
}

static void batch(MmMachine& x, MmRequest& r) {
    MmObject& o = *r.object;
    const uint32_t n = std::max(r.batch.a, r.batch.b), ra = n / std::max(r.batch.a, 1u), rb = n / std::max(r.batch.b, 1u);
    const MmParams& p = r.p;
    const uint32_t loops = std::max(r.batch.loops, 1u);
    for (uint32_t i = 0; i < n * loops; ++i) {
        MmParams q = p;
        const int64_t ia = int64_t(i / n) * r.batch.a + i % n / ra, ib = int64_t(i / n) * r.batch.b + i % n / rb;
        int64_t pitch_a = q.a.trans ? p.m : p.k, pitch_b = q.b.trans ? p.k : p.n, pitch_c = p.n;
        batch_operand(q.a, o.setup.a, &o.t.ALayoutInfoB, ia, r.batch.stride_a, p.m * p.k, pitch_a);
        batch_operand(q.b, o.setup.b, &o.t.BLayoutInfoB, ib, r.batch.stride_b, p.k * p.n, pitch_b);
        MatmulTarget to = r.to;
        MmTensor c;
        c.gm = to.gm;
        batch_operand(c, o.setup.c, &o.t.CLayoutInfoB, i, r.batch.stride_c, p.m * p.n, pitch_c);
        to.gm = c.gm;
        (q.a.trans ? q.M : q.Ka) = pitch_a;
        (q.b.trans ? q.Kb : q.N) = pitch_b;
        q.Kc = pitch_c;
        q.a.version = p.a.version * 100003u + uint32_t(ia) + 1;      // another matrix: nothing of it lies in L1
        q.b.version = p.b.version * 100003u + uint32_t(ib) + 1;
        if (q.bias_on && o.setup.bias_per_batch) {
            const uint64_t skip = uint64_t(i) * uint64_t(p.n) * size_of(o.setup.bias.type);
            q.bias.gm.ptr += skip;
            if (q.bias.gm.bytes) q.bias.gm.bytes = q.bias.gm.bytes > skip ? q.bias.gm.bytes - skip : 0;
        }
        all_tiles(x, r, q, to);
    }
}

void mm_run(MmRequest& r) {
    MmMachine& x = mm_machine();
    MmObject& o = *r.object;
    if (r.kind == MmRequest::End) {
        if (x.computing == uint32_t(o.id)) x.computing = 0;
        if (x.open_object == uint32_t(o.id)) x.open_object = 0;
        return;
    }
    begin(x, r);
    const MmParams& p = r.p;
    const int64_t steps = (p.k + o.t.baseK - 1) / o.t.baseK;
    switch (r.kind) {
        case MmRequest::Tile: {
            const MmTile t = mm_tile(o, p, r.index);
            const Sweep s{nullptr, r.slice < 0 ? 0 : r.slice, r.slice < 0 ? steps : r.slice + 1};
            compute(x, o, p, t, s, r.partial, tile_room(x, o, r.own_tile, r.partial, r.at), r.at);
            x.open_object = r.own_tile.bytes ? 0 : uint32_t(o.id);
            x.open_tile = t;
            break;
        }
        case MmRequest::Get: {
            const uint32_t room = capacity(Mem::L0C) / uint32_t(o.t.dbL0C);
            const LocalRef tile = x.ref(Mem::L0C, uint32_t(x.c_slot) * room, room, uint8_t(TPosition::CO1), r.at);
            take_tile(x, o, p, mm_tile(o, p, r.index), tile, r.to, r.at, false);
            x.open_object = 0;
            break;
        }
        case MmRequest::All: all_tiles(x, r, p, r.to); break;
        case MmRequest::Batch: batch(x, r); break;
        case MmRequest::Tiles: {                             // one after the other, each in its own part of the workspace
            const int64_t n = ((p.m + o.t.baseM - 1) / o.t.baseM) * ((p.n + o.t.baseN - 1) / o.t.baseN);
            for (int64_t i = 0; i < n; ++i) {
                const MmTile t = mm_tile(o, p, i), next = i + 1 < n ? mm_tile(o, p, i + 1) : t;
                const LocalRef room = tile_room(x, o, {}, false, r.at);
                compute(x, o, p, t, {i + 1 < n ? &next : nullptr, 0, steps}, false, room, r.at);
                take_tile(x, o, p, t, room, mm_workspace_tile(o, p, i), r.at, false);
                mm_answer(r.first_tile_answer + uint64_t(i), r.at);
            }
            break;
        }
        default: break;
    }
}

}  // namespace twin

namespace twin {
uint32_t mm_open_object() { return mm_machine().open_object; }
void mm_close(uint32_t) { mm_machine().open_object = 0; }
}
