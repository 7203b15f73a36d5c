// A and B on their way to L1: in packages of base blocks, two of them where the tiling says so.
//
// In L1 an operand lies as NZ of what GM holds: rows of A are rows of the package, or columns when A is transposed.
#include <algorithm>

#include "mm_layout.h"
#include "twin/abi_copy.h"
#include "twin/enums.h"

namespace twin {

namespace {

LocalRef part(const LocalRef& r, int64_t offset, int64_t bytes) {
    LocalRef s = r;
    s.addr += uint32_t(offset);
    s.bytes = uint32_t(bytes);
    return s;
}

// Rows [r0, r0 + rows) and columns [c0, c0 + cols) of the matrix in GM into the package at (row, col).
struct Piece { int64_t r0, rows, c0, cols, row, col, pitch_rows; };

void from_nd(const MmTensor& x, const MmPlan& f, const LocalRef& l1, const Piece& q, int64_t pitch, At at) {
    GlobalRef g = x.gm;
    const uint64_t skip = mm_bytes(f.type, q.r0 * pitch + q.c0);
    g.ptr += skip;
    if (g.bytes) g.bytes = g.bytes > skip ? g.bytes - skip : 0, g.set = g.bytes ? 1 : 2;
    const int unit = f.type == DType::I4 ? 2 : 1;           // 4-bit elements are counted in bytes
    const DType t = f.type == DType::I4 ? DType::I8 : f.type;
    CopyNd2Nz c{1, q.rows, q.cols / unit, 0, pitch / unit, q.pitch_rows, 1, 0};
    const int64_t offset = (q.col / f.c0 * q.pitch_rows + q.row) * kBlock;
    if (pitch / unit <= 65535) {
        const LocalRef d = part(l1, offset, l1.bytes - offset);
        tw_copy_nd2nz(&d, &g, t, &c, at);
        return;
    }
    c.n_value = 1;                                          // rows further apart than the field can say: one by one
    c.src_d_value = c.d_value;
    for (int64_t r = 0; r < q.rows; ++r) {
        const LocalRef d = part(l1, offset + r * kBlock, l1.bytes - offset - r * kBlock);
        tw_copy_nd2nz(&d, &g, t, &c, at);
        const uint64_t row = mm_bytes(f.type, pitch);
        g.ptr += row;
        if (g.bytes) g.bytes = g.bytes > row ? g.bytes - row : 0;
    }
}

void from_nz(const MmTensor& x, const MmPlan& f, const LocalRef& l1, const Piece& q, int64_t rows_in_gm, At at) {
    GlobalRef g = x.gm;
    const int64_t all = mm_up(rows_in_gm, 16);
    const uint64_t skip = uint64_t((q.c0 / f.c0 * all + q.r0) * kBlock);
    g.ptr += skip;
    if (g.bytes) g.bytes = g.bytes > skip ? g.bytes - skip : 0, g.set = g.bytes ? 1 : 2;
    const int64_t blocks = mm_up(q.rows, 16), offset = (q.col / f.c0 * q.pitch_rows + q.row) * kBlock;
    const CopyBlocks c{mm_up(q.cols, f.c0) / f.c0, blocks, all - blocks, q.pitch_rows - blocks, at, 0};
    const LocalRef d = part(l1, offset, l1.bytes - offset);
    tw_copy_in_blocks(&d, &g, f.type, &c, at);
}

// The K rows behind the end, up to a whole fractal: they are loaded with the others, and must not be what lay there before.
void zero_rows(const MmPlan& f, const LocalRef& l1, int64_t cols, int64_t kn, int64_t pitch, At at) {
    const int64_t end = mm_up(kn, f.square);
    if (!f.rows_are_k || end == kn) return;
    const LocalRef d = part(l1, kn * kBlock, l1.bytes - kn * kBlock);
    tw_fill_local(&d, DType::U16, mm_up(cols, f.c0) / f.c0, end - kn, pitch - (end - kn), 0, "Fill", at);
}

void fill_number(const MmTensor& x, const MmPlan& f, const LocalRef& l1, int64_t bytes, At at) {
    const LocalRef d = part(l1, 0, bytes);
    tw_fill_local(&d, f.type, 1, bytes / kBlock, 0, x.bits, "Fill", at);
}

// Brings [k, k + kn) of the package into L1.
void bring(MmObject& o, const MmParams& p, bool a, const MmPackage& pkg, const LocalRef& l1, int64_t first, int64_t k, int64_t kn, bool last, At at) {
    const MmPlan f = mm_plan(o, p, a);
    const MmTensor& x = a ? p.a : p.b;
    const MatmulHooks& h = o.setup.hooks;
    if (a ? h.copy_a != nullptr : h.copy_b != nullptr) {
        const int unit_k = o.t.baseK, unit = a ? o.t.baseM : o.t.baseN;
        if (a) h.copy_a(&l1, x.gm.ptr, int(first / unit), int(k / unit_k), int(pkg.rows), int(kn), p.user_info, p.self_data);
        else h.copy_b(&l1, x.gm.ptr, int(k / unit_k), int(first / unit), int(kn), int(pkg.rows), p.user_info, p.self_data);
        return;
    }
    const int64_t pr = mm_pitch_rows(f, pkg.rows, pkg.kn);
    if (x.where == MmTensor::Number) { fill_number(x, f, l1, mm_package_bytes(f, pkg.rows, pkg.kn), at); return; }
    const bool vector = a && mm_vector(o, p, pkg.rows);
    Piece q{};
    q.pitch_rows = vector ? 1 : pr;
    const int64_t kk = k - pkg.k0;
    if (f.rows_are_k) q = {k, kn, first, pkg.rows, kk, 0, pr};
    else q = {first, pkg.rows, k, kn, 0, kk, q.pitch_rows};
    const MatmulSide& side = a ? o.setup.a : o.setup.b;
    int64_t pitch, rows;                                    // of the matrix in GM
    if (x.dense) { pitch = f.rows_are_k ? (a ? p.m : p.n) : p.k; rows = f.rows_are_k ? p.k : (a ? p.m : p.n); }
    else if (a) { pitch = x.trans ? p.M : p.Ka; rows = x.trans ? p.Ka : p.M; }
    else { pitch = x.trans ? p.Kb : p.N; rows = x.trans ? p.N : p.Kb; }
    if (MmFormat(side.format) == MmFormat::NZ) from_nz(x, f, l1, q, rows, at);
    else from_nd(x, f, l1, q, pitch, at);
    if (last) zero_rows(f, l1, pkg.rows, pkg.kn, pr, at);
}

bool same(const MmPackage& s, const MmObject& o, const MmTensor& x, const MmBlock& b) {
    return s.object == uint32_t(o.id) && s.version == x.version && s.group == b.group && s.step == b.step && s.kn == b.kn && s.rows == b.size;
}

}  // namespace

static bool hooked(const MmObject& o, bool a) { return (a ? o.setup.hooks.copy_a : o.setup.hooks.copy_b) != nullptr; }
int64_t mm_depth(const MmObject& o, bool a) { return hooked(o, a) && !o.setup.packages ? 1 : a ? o.t.stepKa : o.t.stepKb; }
int64_t mm_width(const MmObject& o, bool a) { return hooked(o, a) && !o.setup.packages ? 1 : a ? o.t.stepM : o.t.stepN; }
int64_t mm_wide(const MmObject& o, const MmParams& p, bool a, int64_t size) {
    const int64_t square = mm_plan(o, p, a).square;
    return square > 16 ? mm_up(size, square) : size;
}
bool mm_vector(const MmObject& o, const MmParams& p, int64_t rows) {
    return rows == 1 && o.t.stepM == 1 && !p.a.trans && p.a.where == MmTensor::Gm && MmFormat(o.setup.a.format) != MmFormat::NZ && !o.setup.hooks.copy_a;
}
bool mm_k_aligned(const MmObject& o, const MmParams& p) { return o.setup.a.type == DType::F32 && p.a.trans; }

// `b` is the package here: all its rows, all its K.
static MmPackage& claim(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmBlock& b, At at, bool& fresh) {
    MmOperandSlots& s = a ? x.a : x.b;
    const MmTensor& t = a ? p.a : p.b;
    fresh = false;
    for (MmPackage& k : s.slot)
        if (same(k, o, t, b)) return k;
    MmPackage* oldest = &s.slot[0];
    for (MmPackage& k : s.slot) if (k.used < oldest->used) oldest = &k;
    fresh = true;
    oldest->filled.settle(at);                              // fetched, and never used
    oldest->free.settle(at);
    oldest->object = uint32_t(o.id);
    oldest->version = t.version;
    oldest->group = b.group;
    oldest->step = b.step;
    oldest->rows = b.size;
    oldest->k0 = b.k0;
    oldest->kn = b.kn;
    oldest->whole = o.setup.packages || hooked(o, a) || t.where == MmTensor::Number || (a && mm_vector(o, p, b.size));
    oldest->have.assign(size_t(oldest->whole ? 1 : (b.kn + o.t.baseK - 1) / o.t.baseK), false);
    oldest->used = ++x.clock;
    return *oldest;
}

void mm_fetch(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmBlock& b, At at) {
    if (!o.setup.packages || (a ? x.a : x.b).slot.size() < 2) return;
    bool fresh;
    MmPackage& k = claim(x, o, p, a, b, at, fresh);
    if (!fresh) return;
    bring(o, p, a, k, x.ref(Mem::L1, k.addr, (a ? x.a : x.b).bytes, uint8_t(a ? AscendC::TPosition::A1 : AscendC::TPosition::B1), at), b.first, b.k0, b.kn, true, at);
    k.have[0] = true;
    k.filled.raise(at);
}

MmPackage& mm_need(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmBlock& whole, At at) {
    bool fresh;
    MmBlock b = whole;
    MmPackage& k = claim(x, o, p, a, b, at, fresh);
    k.used = ++x.clock;
    if (!fresh) k.free.settle(at);                          // used again: the next sign comes after this use
    const LocalRef l1 = x.ref(Mem::L1, k.addr, (a ? x.a : x.b).bytes, uint8_t(a ? AscendC::TPosition::A1 : AscendC::TPosition::B1), at);
    if (k.whole && !k.have[0]) {
        bring(o, p, a, k, l1, b.first, b.k0, b.kn, true, at);
        k.have[0] = true;
        k.filled.raise(at);
    }
    k.filled.settle(at);
    return k;
}

void mm_need_block(MmMachine& x, MmObject& o, const MmParams& p, bool a, MmPackage& k, const MmBlock& b, At at) {
    const size_t i = size_t((b.k0 - k.k0) / o.t.baseK);
    if (k.whole || k.have[i]) return;
    const LocalRef l1 = x.ref(Mem::L1, k.addr, (a ? x.a : x.b).bytes, uint8_t(a ? AscendC::TPosition::A1 : AscendC::TPosition::B1), at);
    bring(o, p, a, k, l1, k.group * (a ? o.t.baseM : o.t.baseN), b.k0, b.kn, b.k0 + b.kn == k.k0 + k.kn, at);
    k.have[i] = true;
    k.filled.raise(at);
    k.filled.settle(at);
}

// ===== The layout of L1
void MmMachine::prepare(MmObject& o, At at) {
    if (layout_of == uint32_t(o.id)) return;
    for (MmOperandSlots* s : {&a, &b})
        for (MmPackage& k : s->slot) { k.filled.settle(at); k.free.settle(at); k.object = 0; k.used = 0; }
    for (MmFlag* f : {&bias_free, &quant_free, &bias_read, &a_free[0], &a_free[1], &b_free[0], &b_free[1], &c_free[0], &c_free[1]}) f->settle(at);   // L0 is cut anew, too
    layout_of = uint32_t(o.id);
    const TCubeTiling& t = o.t;
    auto lay = [&](MmOperandSlots& s, bool is_a, uint32_t from) {
        MmPlan f{};
        f.type = is_a ? o.setup.a.type : o.setup.b.type;
        f.c0 = mm_c0(f.type);
        const int64_t size = int64_t(is_a ? t.baseM * t.stepM : t.baseN * t.stepN), kn = int64_t(t.baseK) * (is_a ? t.stepKa : t.stepKb);
        // whichever way round it will be given
        f.square = 16;
        int64_t need = mm_package_bytes(f, size, kn);
        f.rows_are_k = true;
        f.square = f.c0 > 16 ? f.c0 : 16;
        if (is_a ? o.setup.a.trans : !o.setup.b.trans) need = std::max(need, mm_package_bytes(f, size, kn));
        s.bytes = uint32_t(need);
        const int slots = is_a ? t.depthA1 / (t.stepM * t.stepKa) : t.depthB1 / (t.stepN * t.stepKb);
        const int event_in = int(AscendC::HardEvent::MTE2_MTE1), event_out = int(AscendC::HardEvent::MTE1_MTE2);
        while (int(s.slot.size()) < slots) {
            MmPackage k;
            k.filled.event = event_in;
            k.free.event = event_out;
            s.slot.push_back(k);
        }
        s.slot.resize(size_t(slots), s.slot[0]);
        for (MmPackage& k : s.slot) { k.addr = from; from += s.bytes; }
        return from;
    };
    const uint32_t limit = capacity(Mem::L1) - 128;
    uint32_t end = lay(b, false, lay(a, true, base));
    bias_addr = uint32_t(mm_up(end, 64));
    quant_addr = bias_addr + 1024;
    end = quant_addr + (o.setup.c.type == DType::I8 || o.setup.c.type == DType::U8 || o.setup.a.type == DType::I8 ? uint32_t(t.baseN) * 8 : 0);
    if (!t.isBias && end == quant_addr) end = bias_addr;
    if (end > limit)
        fatal("UB_OVERFLOW", at, fmt("this Matmul object needs %u B of L1 from byte %u on; L1 has %u B, the last 128 of them reserved", end - base, base, limit + 128),
              "choose smaller depths, or give the host SetBufferSpace(l1) with what your own buffers leave");
    bytes = std::max(bytes, end - base);
}

}  // namespace twin
