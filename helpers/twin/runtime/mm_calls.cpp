// The calls on a Matmul object: what they check, and the requests they make.
#include <algorithm>

#include "mm_object.h"
#include "state.h"
#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;

static MmRequest request(MmObject& o, MmRequest::Kind kind, At at) {
    MmRequest r;
    r.kind = kind;
    r.object = &o;
    r.p = o.p;
    r.at = at;
    return r;
}

static void atomics(const MatmulTarget& to, const char* api, At at) {
    if (to.atomic > 3) fatal("BAD_PARAMETER", at, fmt("%s: enAtomic=%d", api, to.atomic), "0 none, 1 add, 2 max, 3 min");
}

static bool nothing(MmObject& o, const char* api, At at) {
    o.left.asked = true;
    if (o.p.m > 0 && o.p.n > 0 && o.p.k > 0) return false;
    report(Severity::Warning, "BAD_PARAMETER", at, fmt("%s with an empty shape (%lld, %lld, %lld) does nothing", api, (long long)o.p.m, (long long)o.p.n, (long long)o.p.k), "a core without work should return before");
    return true;
}

}  // namespace twin

using namespace twin;

extern "C" {

int tw_matmul_iterate(int32_t handle, int sync, int partial, const LocalRef* tile, At at) {
    if (mm_idle(handle)) return 0;
    MmObject& o = mm_object(handle, at, "Iterate");
    if (o.setup.outer_product) fatal("UNSUPPORTED_API", at, "Iterate of a config with ScheduleType::OUTER_PRODUCT yields two tiles at once: not modelled", "use INNER_PRODUCT, or IterateAll");
    if (nothing(o, "Iterate", at)) return 0;
    o.left.fresh = false;
    const int64_t steps = o.setup.partial_output ? o.k_steps() : 1, total = o.m_tiles() * o.n_tiles() * steps;
    if (o.next == 0) { mm_check(o, at, "Iterate"); mm_begin_product(o); }
    while (o.next < total && mm_skipped(o, mm_tile(o, o.p, o.next / steps))) ++o.next;
    if (o.next >= total) return 0;
    if (!sync) {
        if (!mm_client()) fatal("BAD_PARAMETER", at, "Iterate<false> runs beside the vector core: on the cube core itself there is nothing to run beside", "use Iterate()");
        if (o.p.workspace.where != MmTensor::Gm)
            fatal("BAD_PARAMETER", at, "Iterate<false> keeps its tiles in a workspace, and SetWorkspace was not called", fmt("mm.SetWorkspace(gm) with singleM * singleN = %lld elements", (long long)(o.p.m * o.p.n)));
        o.async = true;
        o.left.asked_at = at;
        if (o.next == 0) {
            MmRequest r = request(o, MmRequest::Tiles, at);
            r.sync = false;
            o.tile_keys.clear();
            for (int64_t i = 0; i < total; ++i) o.tile_keys.push_back(mm_new_key());
            r.first_tile_answer = o.tile_keys[0];
            mm_submit(r);
            o.last_key = r.answer;
        }
        ++o.next;
        return 1;
    }
    o.async = false;
    if (!partial) mm_tile_lost(o);
    MmRequest r = request(o, MmRequest::Tile, at);
    r.index = o.next / steps;
    r.slice = o.setup.partial_output ? o.next % steps : -1;
    r.partial = partial != 0;
    if (tile) r.own_tile = *tile;
    if (partial && !o.partial_open && checks_on())
        report(Severity::Error, "UNINITIALISED_READ", at, "Iterate(true) adds to a tile that no Iterate(false) has begun", "the first part of K takes Iterate(false): Iterate(k != 0)");
    mm_submit(r);
    if (++o.next == 1) o.left.first = at;
    o.partial_open = true;
    o.left.open = tile ? At{} : at;                       // a tensor of the caller's own is the caller's to fetch
    o.left.tile = mm_tile(o, o.p, r.index);
    return 1;
}

void tw_matmul_get(int32_t handle, int sync, const MatmulTarget* to, GlobalRef* cached, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "GetTensorC");
    if (!o.setup.get_c) fatal("BAD_PARAMETER", at, "GetTensorC: the config of this Matmul has enableGetTensorC = false", "leave that field true, or use IterateAll");
    atomics(*to, "GetTensorC", at);
    if (o.async != !sync && o.next)
        fatal("BAD_PARAMETER", at, fmt("GetTensorC<%s> after Iterate<%s>: both take the same template argument", sync ? "true" : "false", o.async ? "false" : "true"), o.async ? "write GetTensorC<false>" : "write GetTensorC<true>");
    const int64_t steps = o.setup.partial_output ? o.k_steps() : 1;
    if (o.async) {
        if (o.taken >= int64_t(o.tile_keys.size())) fatal("BAD_PARAMETER", at, fmt("no computed tile is left: all %lld were taken", (long long)o.taken), "call GetTensorC once for each tile");
        const int64_t i = o.taken++;
        const MmTile t = mm_tile(o, o.p, i);
        mm_await(o.tile_keys[size_t(i)], at, "GetTensorC");
        MatmulTarget from = mm_workspace_tile(o, o.p, i);
        if (cached) { *cached = from.gm; cached->bytes = uint64_t(mm_room_elements(o, t.m, t.n)) * size_of(o.setup.c.type); }
        else if (to->local.mem == Mem::UB) mm_to_ub(o, from.gm, to->local, t.m, t.n, false, "GetTensorC", at);
        else fatal("WRONG_POSITION", at, "GetTensorC<false> takes a UB tensor, or returns the tile in GM", "declare C with TPosition::VECIN");
        return;
    }
    if (o.taken >= o.next && !o.partial_open) fatal("BAD_PARAMETER", at, "no computed tile is left: GetTensorC was called more often than Iterate", "call it once behind every Iterate() that returned true");
    MmRequest r = request(o, MmRequest::Get, at);
    r.index = std::max<int64_t>(o.next - 1, 0) / steps;
    r.to = *to;
    o.taken = o.next;
    o.partial_open = false;
    o.left.open = {};
    const MmTile t = mm_tile(o, o.p, r.index);
    const bool both = to->gm.ptr && to->local.mem == Mem::UB;
    if (!cached && to->local.mem == Mem::UB && !to->sequential && o.p.n > o.t.baseN && checks_on())
        report(Severity::Warning, "BAD_PARAMETER", at, fmt("GetTensorC to UB without enSequentialWrite: rows lie as far apart as the tile is wide here, %lld elements; a device may take the %lld columns of the core", (long long)t.n, (long long)o.p.n),
               "pass enSequentialWrite = true: GetTensorC(tile, 0, true)");
    if (to->gm.ptr) mm_submit(r);
    if (!to->gm.ptr || both) {
        r.to.gm = {};
        r.answer = 0;                                     // to both: a second request
        if (cached) { r.to.local = {}; r.to.gm = mm_room(kRoomC, uint64_t(mm_room_elements(o, t.m, t.n)) * size_of(o.setup.c.type), at); r.to.sequential = 1; *cached = r.to.gm; }
        else mm_through_room(o, r.to, mm_room_elements(o, t.m, t.n), "GetTensorC", at);
        mm_submit(r);
        if (!cached) mm_to_ub(o, r.to.gm, to->local, t.m, t.n, true, "GetTensorC", at);
    }
}

void tw_matmul_all(int32_t handle, int sync, const MatmulTarget* to, int wait, int fake, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "IterateAll");
    if (o.setup.part_sum) fatal("UNSUPPORTED_API", at, "intraBlockPartSum is not available on Atlas A2", "let each vector core compute its own product");
    if (nothing(o, "IterateAll", at)) return;
    mm_check(o, at, "IterateAll");
    atomics(*to, "IterateAll", at);
    if (to->sequential && o.m_tiles() * o.n_tiles() > 1)
        report(Severity::Error, "BAD_PARAMETER", at, fmt("IterateAll with enSequentialWrite writes all %lld tiles to the same place", (long long)(o.m_tiles() * o.n_tiles())), "leave enSequentialWrite false, or use Iterate and GetTensorC and move the tensor");
    if (!sync && !mm_client()) fatal("BAD_PARAMETER", at, "IterateAll<false> runs beside the vector core: on the cube core itself there is nothing to run beside", "use IterateAll(gm)");
    mm_tile_lost(o);
    mm_begin_product(o);
    o.async = false;
    if (fake) return;                                     // nothing of its own to compute
    MmRequest r = request(o, MmRequest::All, at);
    if (mm_client() && o.setup.a.share && o.setup.b.share) {   // both vector cores mean one product: the first asks for it
        r.answer = mm_shared_key(o, o.shared_calls++);
        if (core().sub != 0) {
            if (sync) mm_await(r.answer, at, "IterateAll");
            else mm_beside(o, r.answer, wait != 0, at);
            return;
        }
    }
    r.to = *to;
    r.sync = sync != 0;
    const bool room = mm_through_room(o, r.to, mm_room_elements(o, o.p.m, o.p.n), "IterateAll", at);
    if (room) {                                           // the whole part of this core, rows of n
        r.to.sequential = 0;
        r.p.Kc = MmFormat(o.setup.c.format) == MmFormat::ND ? o.p.n : mm_up(o.p.n, kBlock / size_of(o.setup.c.type));
        r.p.M = o.p.m;
    }
    mm_submit(r);
    o.next = o.m_tiles() * o.n_tiles();
    o.taken = o.next;
    o.partial_open = false;
    if (!sync) mm_beside(o, r.answer, wait != 0, at);
    if (room) mm_to_ub(o, r.to.gm, to->local, o.p.m, o.p.n, true, "IterateAll", at);
}

void tw_matmul_batch(int32_t handle, int sync, const MatmulTarget* to, const MatmulBatch* batch, int wait, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "IterateBatch");
    MatmulBatch b = *batch;
    if (!b.a && !b.b) { b.a = o.p.batch_a; b.b = o.p.batch_b; }
    if (!b.a || !b.b || std::max(b.a, b.b) % std::min(b.a, b.b))
        fatal("BAD_PARAMETER", at, fmt("IterateBatch: batchA=%u and batchB=%u: one must divide the other", b.a, b.b), "the smaller operand is used again for each part of the larger one");
    if (nothing(o, "IterateBatch", at)) return;
    if (!sync && !mm_client()) fatal("BAD_PARAMETER", at, "IterateBatch<false> runs beside the vector core: on the cube core itself there is nothing to run beside", "use IterateBatch(gm, ...)");
    mm_check(o, at, "IterateBatch");
    mm_check_layouts(o.t, o.setup, at);
    mm_begin_product(o);
    o.async = false;
    o.left.cut = false;
    atomics(*to, "IterateBatch", at);
    MmRequest r = request(o, MmRequest::Batch, at);
    r.batch = b;
    r.to = *to;
    r.to.sequential = 0;
    r.sync = sync != 0;
    const int64_t products = std::max(b.a, b.b);
    bool room = false;
    if (b.loops) {
        if (o.p.workspace.where != MmTensor::Gm) fatal("BAD_PARAMETER", at, "IterateNBatch keeps its results in a workspace, and SetWorkspace was not called", "mm.SetWorkspace(gm) with room for all products");
        if (!o.setup.n_batch) report(Severity::Error, "BAD_PARAMETER", at, "IterateNBatch needs a config with isNBatch = true", "GetNormalConfig(false, true)");
        r.to.gm = o.p.workspace.gm;
        o.batch_taken = 0;
    } else {
        room = mm_through_room(o, r.to, products * o.p.m * o.p.n, "IterateBatch", at);
        r.to.sequential = 0;
    }
    mm_submit(r);
    if (!sync) mm_beside(o, r.answer, wait != 0, at);
    if (room) mm_to_ub(o, r.to.gm, to->local, products * o.p.m, o.p.n, true, "IterateBatch", at);
}

void tw_matmul_get_batch(int32_t handle, const MatmulTarget* to, uint32_t a, uint32_t b, GlobalRef* cached, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "GetBatchTensorC");
    if (o.p.workspace.where != MmTensor::Gm) fatal("BAD_PARAMETER", at, "GetBatchTensorC: nothing was computed into a workspace", "SetWorkspace and IterateNBatch come first");
    if (o.last_key) { mm_await(o.last_key, at, "GetBatchTensorC"); o.last_key = 0; }
    const int64_t n = int64_t(std::max(a, b)) * o.p.m * o.p.n;
    GlobalRef g = o.p.workspace.gm;
    g.ptr += uint64_t(o.batch_taken) * size_of(o.setup.c.type);
    g.bytes = uint64_t(n) * size_of(o.setup.c.type);
    o.batch_taken += n;
    if (cached) *cached = g;
    else mm_to_ub(o, g, to->local, int64_t(std::max(a, b)) * o.p.m, o.p.n, true, "GetBatchTensorC", at);
}

void tw_matmul_wait(int32_t handle, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "WaitIterateAll");
    if (o.async) { mm_order(HardEvent::MTE2_V, at); return; }
    if (o.promised.empty())
        fatal("DEADLOCK", at, "this wait belongs to IterateAll<false>(gm, 0, false, true) or IterateBatch<false, true>, and none is under way: it would never return", "pass waitIterateAll = true, and wait once for each call");
    const uint64_t answer = o.promised.front();
    o.promised.erase(o.promised.begin());
    mm_await(answer, at, "WaitIterateAll");
    if (answer == o.last_key) o.last_key = 0;
}

void tw_matmul_end(int32_t handle, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "End");
    mm_unfinished(o);
    if (o.last_key) { mm_await(o.last_key, at, "End"); o.last_key = 0; }
    o.promised.clear();
    MmRequest r = request(o, MmRequest::End, at);
    mm_submit(r);
    o.p.a.where = o.p.b.where = MmTensor::None;
    o.p.bias_on = false;
    o.async = false;
    o.restart();
}

}
