// C on its way out: a tile of L0C to its place in GM, converted to the type of C.
#include <algorithm>

#include "mm_machine.h"
#include "twin/abi_copy.h"
#include "twin/abi_cube.h"
#include "twin/enums.h"

namespace twin {

static int quant_mode(DType acc, DType out, bool per_column) {
    if (acc == out) return NoQuant;
    if (acc == DType::F32) return out == DType::F16 ? F322F16 : out == DType::BF16 ? F322BF16 : per_column ? VQF322B8_PRE : QF322B8_PRE;
    return out == DType::F16 ? (per_column ? VDEQF16 : DEQF16) : per_column ? VREQ8 : REQ8;
}

static LocalRef scales(MmMachine& x, const MmParams& p, const MmTile& t, At at) {
    GlobalRef g = p.quant.gm;
    g.ptr += t.col * 8;
    if (g.bytes) g.bytes = g.bytes > uint64_t(t.col) * 8 ? g.bytes - uint64_t(t.col) * 8 : 0;
    x.quant_free.settle(at);
    const LocalRef l1 = x.ref(Mem::L1, x.quant_addr, uint32_t(mm_up(t.n * 8, 32)), uint8_t(AscendC::TPosition::C1), at);
    const CopyNd2Nz c{1, 1, t.n * 2, 0, t.n * 2, 1, 1, 0};   // as pairs of 32 bits
    tw_copy_nd2nz(&l1, &g, DType::U32, &c, at);
    x.quant_filled.raise(at);
    x.quant_filled.settle(at);
    return l1;
}

void mm_store(MmMachine& x, MmObject& o, const MmParams& p, const MmTile& t, const LocalRef& tile, const MatmulTarget& to, At at) {
    const DType acc = o.setup.a.type == DType::I8 || o.setup.a.type == DType::I4 ? DType::I32 : DType::F32, out = o.setup.c.type;
    const bool nd = MmFormat(o.setup.c.format) != MmFormat::NZ, vector = p.quant.where == MmTensor::Gm;
    FixpipeCall f;
    f.api = "GetTensorC";
    f.at = at;
    f.dst_type = out;
    f.src_type = acc;
    f.src = tile;
    f.nd = nd;
    f.n = t.n;
    f.m = t.m;
    f.src_stride = std::max<int64_t>(mm_up(t.m, 16), 16);
    f.split = o.setup.channel_split && out == DType::F32 && !nd;
    f.quant = quant_mode(acc, out, vector);
    f.scalar = p.quant_scalar;
    if (f.quant != NoQuant && f.quant != F322F16 && f.quant != F322BF16 && vector) {
        f.workspace = scales(x, p, t, at);
        f.with_workspace = 1;
    }
    f.gm = to.gm;
    int64_t offset;
    if (nd) {
        const int64_t align = kBlock / size_of(out), pitch = mm_pitch(o, p);
        f.dst_stride = to.sequential ? (MmFormat(o.setup.c.format) == MmFormat::ND_ALIGN ? mm_up(t.n, align) : t.n) : pitch;
        offset = to.sequential ? 0 : t.row * pitch + t.col;
    } else {
        const int64_t rows = to.sequential ? mm_up(t.m, 16) : mm_up(p.M, 16), w = size_of(out) == 1 ? 32 : f.split ? 8 : 16;
        f.n = mm_up(t.n, f.split ? 8 : 16);
        f.dst_stride = rows * w * size_of(out) / kBlock;
        offset = to.sequential ? 0 : t.col * rows + t.row * w;
    }
    const uint64_t skip = uint64_t(offset) * size_of(out);
    f.gm.ptr += skip;
    if (f.gm.bytes) f.gm.bytes = f.gm.bytes > skip ? f.gm.bytes - skip : 0, f.gm.set = f.gm.bytes ? 1 : 2;
    if (o.setup.hooks.copy_out) {
        MatmulOutParams q;
        q.quantMode = uint8_t(f.quant);
        q.cBurstNum = uint16_t((t.n + 15) / 16);
        q.burstLen = uint16_t(mm_up(t.m, 16) * 16 * 4 / kBlock);
        q.dstStride = uint32_t(f.dst_stride);
        q.oriNSize = uint16_t(t.n);
        q.quantScalar = p.quant_scalar;
        q.curM = int(t.mi);
        q.curN = int(t.ni);
        LocalRef whole = tile;
        whole.bytes = uint32_t(mm_up(t.m, 16) * mm_up(t.n, 16) * 4);
        o.setup.hooks.copy_out(to.gm.ptr, &whole, &q, p.user_info, p.self_data);
        return;
    }
    if (to.atomic) tw_set_atomic(to.atomic == 1 ? Atomic::Add : to.atomic == 2 ? Atomic::Max : Atomic::Min, out, at);
    tw_fixpipe(&f);
    if (to.atomic) tw_set_atomic(Atomic::None, out, at);
    if (f.with_workspace) x.quant_free.raise(at);
}

}  // namespace twin
