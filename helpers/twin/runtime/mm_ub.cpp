// What passes between UB and the cube core: operands that a vector core holds, results that it wants. Both go through GM.
#include <algorithm>

#include "mm_object.h"
#include "twin/abi_copy.h"
#include "twin/enums.h"

namespace twin {

using AscendC::HardEvent;
using ull = unsigned long long;

void mm_order(HardEvent e, At at) {
    const int id = fetch_event(int(e), at);
    set_flag(int(e), id, at, true);
    wait_flag(int(e), id, at, true);
}

MatmulTarget mm_workspace_tile(const MmObject& o, const MmParams& p, int64_t index) {
    MatmulTarget t;
    t.gm = p.workspace.gm;
    const uint64_t skip = uint64_t(index) * uint64_t(o.t.baseM) * uint64_t(o.t.baseN) * size_of(o.setup.c.type);
    t.gm.ptr += skip;
    if (t.gm.bytes) t.gm.bytes = t.gm.bytes > skip ? t.gm.bytes - skip : 0, t.gm.set = t.gm.bytes ? 1 : 2;
    t.sequential = 1;
    return t;
}

void mm_to_ub(const MmObject& o, const GlobalRef& g, const LocalRef& ub, int64_t rows, int64_t cols, bool wait, const char* api, At at) {
    const uint32_t size = size_of(o.setup.c.type);
    const MmFormat f = MmFormat(o.setup.c.format);
    if (f == MmFormat::NZ) { rows = mm_up(rows, 16); cols = mm_up(cols, size == 1 ? 32 : 16); }
    const bool aligned = cols * size % kBlock == 0;
    const int64_t pitch = mm_up(cols * size, kBlock);
    if (!aligned && f != MmFormat::ND_ALIGN)
        fatal("MISALIGNED", at, fmt("%s: rows of %lld elements are %lld B; in UB every row starts on 32 B", api, (long long)cols, (long long)(cols * size)), "declare C as CubeFormat::ND_ALIGN, or choose baseN so that rows are whole 32 B");
    if (uint64_t(rows * pitch) > ub.bytes)
        fatal("OUT_OF_BOUNDS", at, fmt("%s copies %lld elements into a tensor of %u", api, (long long)(rows * pitch / size), ub.bytes / size), "the tensor must hold the whole tile: baseM * baseN elements");
    if (aligned) tw_copy_in_count(&ub, &g, o.setup.c.type, rows * cols, at);
    else {
        const CopyBlocks b{rows, cols * size, 0, 0, at, 1};
        tw_copy_pad_in(&ub, &g, o.setup.c.type, &b, nullptr, at);
    }
    if (wait) mm_order(HardEvent::MTE2_V, at);
}

bool mm_through_room(const MmObject& o, MatmulTarget& to, int64_t elements, const char* api, At at) {
    if (to.gm.ptr) return false;
    if (on(CoreKind::AIC) || to.local.mem != Mem::UB)
        fatal("WRONG_POSITION", at, fmt("%s: the result goes to GM, or to UB of a vector core; this tensor is %s", api, to.local.mem == Mem::N ? "not assigned" : describe(to.local).c_str()), "pass a GlobalTensor, or call it on the vector core of a MIX kernel");
    if (to.atomic) fatal("BAD_PARAMETER", at, fmt("%s: atomic operations work on GM only", api), "enAtomic = 0 for a UB tensor");
    to.gm = mm_room(kRoomC, uint64_t(elements) * size_of(o.setup.c.type), at);
    to.sequential = 1;
    return true;
}

int64_t mm_room_elements(const MmObject& o, int64_t m, int64_t n) {
    const bool nz = MmFormat(o.setup.c.format) == MmFormat::NZ;
    const int64_t align = MmFormat(o.setup.c.format) == MmFormat::ND_ALIGN ? kBlock / size_of(o.setup.c.type) : 1;
    return nz ? mm_up(m, 16) * mm_up(n, 32) : m * mm_up(n, align);
}

}  // namespace twin

using namespace twin;

extern "C" void tw_matmul_local(int32_t handle, MatmulOperand what, const LocalRef* local, DType type, int trans, const GlobalRef* through, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "SetTensor");
    const char* api = what == MatmulOperand::A ? "SetTensorA" : what == MatmulOperand::B ? "SetTensorB" : "SetBias";
    if (what == MatmulOperand::Bias && !o.t.isBias) fatal("BAD_PARAMETER", at, "SetBias: the tiling says no bias (isBias = 0)", "call EnableBias(true) on the host before GetTiling");
    MmTensor& x = what == MatmulOperand::A ? o.p.a : what == MatmulOperand::B ? o.p.b : o.p.bias;
    if (local->mem == Mem::L1 && on(CoreKind::AIC) && what != MatmulOperand::Bias) {
        x.renew(MmTensor::L1, at).local = *local;
        x.trans = trans;
        o.renewed();
        return;
    }
    if (local->mem != Mem::UB || on(CoreKind::AIC))
        fatal("WRONG_POSITION", at, fmt("%s takes tensors of GM, of UB (on a vector core) and of L1 (on the cube core); this one is %s", api, local->mem == Mem::N ? "not assigned" : describe(*local).c_str()), "pass a GlobalTensor");
    const MmParams& p = o.p;
    const bool a = what == MatmulOperand::A, bias = what == MatmulOperand::Bias;
    const MatmulSide& side = bias ? o.setup.bias : a ? o.setup.a : o.setup.b;
    int64_t rows = bias ? 1 : (a == (trans != 0)) ? p.k : a ? p.m : p.n, cols = bias ? p.n : (a == (trans != 0)) ? (a ? p.m : p.n) : p.k;
    if (MmFormat(side.format) == MmFormat::NZ) { rows = mm_up(rows, 16); cols = mm_up(cols, mm_c0(type)); }
    const uint64_t need = mm_bytes(type, rows * cols);
    if (need > local->bytes)
        fatal("OUT_OF_BOUNDS", at, fmt("%s: a tensor of UB must hold the whole part of this core, %lld x %lld elements; it has %llu B of %llu", api, (long long)rows, (long long)cols, ull(local->bytes), ull(need)), "make the tensor larger, or call SetTail with what it holds first");
    GlobalRef g = through ? *through : mm_room(bias ? kRoomBias : a ? kRoomA : kRoomB, mm_up(int64_t(need), kBlock), at);
    mm_order(HardEvent::V_MTE3, at);
    mm_order(HardEvent::MTE2_MTE3, at);
    LocalRef from = *local;
    from.bytes = std::min<uint32_t>(from.bytes, uint32_t(mm_up(int64_t(need), kBlock)));
    const CopyBlocks one{1, int64_t(need), 0, 0, at, 1};
    tw_copy_pad_out(&g, &from, type, &one, at);
    tw_matmul_gm(handle, what, &g, type, trans, at);
    x.dense = !through;
    mm_order(HardEvent::MTE3_V, at);                         // the tensor may be written again
}
