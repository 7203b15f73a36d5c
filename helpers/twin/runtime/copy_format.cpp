// DataCopy with a change of format: ND rows to NZ fractals on the way in, NZ back to ND rows on the way out.
#include <cstring>

#include "copy_core.h"
#include "cube_layout.h"

using namespace twin;

namespace twin {

static long long ll(int64_t v) { return static_cast<long long>(v); }

struct Range { const char* name; int64_t value, min, max; };
static void check_ranges(const std::initializer_list<Range>& all, At at) {
    for (const Range& r : all)
        if (r.value < r.min || r.value > r.max) {
            const std::string cut = r.value > 65535 ? fmt("; the 16-bit field would hold %lld", ll(r.value & 0xffff)) : "";
            fatal("BAD_PARAMETER", at, fmt("DataCopy: %s=%lld is outside %lld..%lld%s", r.name, ll(r.value), ll(r.min), ll(r.max), cut.c_str()),
                  "split the copy over rows or columns");
        }
}

struct FormatMove {
    uint64_t dst, src;
    Mem mem;
    uint32_t rows, cols, size, c0;          // elements; c0 = columns of one fractal
    int64_t nd_pitch;                       // bytes between rows on the ND side
    int64_t c0_pitch, n_pitch;              // bytes between column groups and between rows on the NZ side
    Atomic atomic;
    DType type;
};

static void move_nd2nz(Core& c, const Instr& in) {
    const FormatMove& m = in.get<FormatMove>();
    uint8_t* dst = c.at(m.mem, m.dst);
    const uint8_t* src = c.at(Mem::GM, m.src);
    for (uint32_t col = 0; col < m.cols; col += m.c0) {
        const uint32_t n = (m.cols - col < m.c0 ? m.cols - col : m.c0) * m.size;
        for (uint32_t r = 0; r < m.rows; ++r) {
            uint8_t* d = dst + col / m.c0 * m.c0_pitch + r * m.n_pitch;
            std::memcpy(d, src + r * m.nd_pitch + static_cast<uint64_t>(col) * m.size, n);
            std::memset(d + n, 0, kBlock - n);
        }
    }
}

static void note_matrix(Core& c, const Instr& in) {
    const FormatMove& m = in.get<FormatMove>();
    layout_matrix(c, in, m.dst, m.rows, m.cols, m.c0_pitch, m.n_pitch, m.size);
}

static void move_nz2nd(Core& c, const Instr& in) {
    const FormatMove& m = in.get<FormatMove>();
    uint8_t* dst = c.at(Mem::GM, m.dst);
    const uint8_t* src = c.at(m.mem, m.src);
    const uint32_t n = m.c0 * m.size;
    for (uint32_t r = 0; r < m.rows; ++r)
        for (uint32_t col = 0; col < m.cols; col += m.c0) {
            uint8_t* d = dst + r * m.nd_pitch + static_cast<uint64_t>(col) * m.size;
            const uint8_t* s = src + col / m.c0 * m.c0_pitch + r * m.n_pitch;
            if (m.atomic != Atomic::None) atomic_combine(m.atomic, m.type, d, s, n); else std::memcpy(d, s, n);
        }
}

static void nd2nz(const CopyCall& c, const CopyNd2Nz& p) {
    if (!copy_begin(c)) return;
    if (c.size == 8) fatal("UNSUPPORTED_TYPE", c.at, fmt("DataCopy ND to NZ does not take %s", type_name(c.type)), "it exists for elements of 1, 2 and 4 bytes");
    check_ranges({{"ndNum", p.nd_num, 0, 4095}, {"nValue", p.n_value, 0, 16384}, {"dValue", p.d_value, 0, 65535}}, c.at);
    if (!p.nd_num || !p.n_value || !p.d_value) return;
    check_ranges({{"srcNdMatrixStride", p.src_nd_matrix_stride, 0, 65535}, {"srcDValue", p.src_d_value, 1, 65535}, {"dstNzC0Stride", p.dst_nz_c0_stride, 1, 16384},
                  {"dstNzNStride", p.dst_nz_n_stride, 1, 16384}, {"dstNzMatrixStride", p.dst_nz_matrix_stride, 0, c.local.mem == Mem::UB ? 65535 : 16384}}, c.at);
    const uint32_t c0 = kBlock / c.size;
    const int64_t groups = (p.d_value + c0 - 1) / c0;
    if (checks_on()) {
        if (p.src_d_value < p.d_value && p.n_value > 1)
            report(Severity::Error, "BAD_PARAMETER", c.at, fmt("DataCopy: srcDValue=%lld is the row pitch of the source and shorter than dValue=%lld: rows would overlap", ll(p.src_d_value), ll(p.d_value)),
                   "srcDValue = elements from one row of the full matrix to the next");
        if (groups > 1 && p.dst_nz_c0_stride < (p.n_value - 1) * p.dst_nz_n_stride + 1)
            report(Severity::Error, "OVERLAP", c.at, fmt("DataCopy: column groups of %u are %lld blocks apart but take %lld: they overwrite each other", c0, ll(p.dst_nz_c0_stride), ll((p.n_value - 1) * p.dst_nz_n_stride + 1)),
                   fmt("dstNzC0Stride = AlignUp(nValue, 16) = %lld", ll((p.n_value + 15) / 16 * 16)));
    }
    for (int64_t i = 0; i < p.nd_num; ++i) {
        CopyCall part = c;
        const int64_t lo = i * p.dst_nz_matrix_stride * c.size, go = i * p.src_nd_matrix_stride * c.size;
        CopyRows r;
        r.rows = static_cast<uint32_t>(p.n_value);
        r.len = static_cast<uint32_t>(p.d_value * c.size);
        r.global_pitch = p.src_d_value * c.size;
        r.ragged = r.len % kBlock != 0;
        gm_check(c.global, static_cast<uint64_t>(go), static_cast<uint64_t>((p.n_value - 1) * r.global_pitch) + r.len, c.at, c.api, "src");
        part.global.ptr += go;
        Instr in;
        fill_copy(in, part, r);
        in.copy.nd2nz = true;
        in.undef = Undef::Ignore;                          // rows and fractals enumerate elements in different orders
        in.add(global_rows(part, r));
        Region d = local(c.local, kWrite, static_cast<uint64_t>(lo), kBlock, "dst", static_cast<uint8_t>(c.size));
        d.n0 = static_cast<uint32_t>(groups);
        d.s0 = p.dst_nz_c0_stride * kBlock;
        d.n1 = r.rows;
        d.s1 = p.dst_nz_n_stride * kBlock;
        in.add(d);
        in.put(FormatMove{d.addr, reinterpret_cast<uint64_t>(part.global.ptr), c.local.mem, r.rows, static_cast<uint32_t>(p.d_value), c.size, c0, r.global_pitch, d.s0, d.s1,
                          Atomic::None, c.type});
        in.body = move_nd2nz;
        in.detached = true;
        if (c.local.mem == Mem::L1) in.after = note_matrix;
        issue(in);
    }
}

static void nz2nd(const CopyCall& c, const CopyNz2Nd& p) {
    if (!copy_begin(c)) return;
    if (c.size != 2 && c.size != 4) fatal("UNSUPPORTED_TYPE", c.at, fmt("DataCopy NZ to ND does not take %s", type_name(c.type)), "it exists for elements of 2 and 4 bytes");
    check_ranges({{"ndNum", p.nd_num, 0, 4095}}, c.at);
    if (!p.nd_num) return;
    check_ranges({{"nValue", p.n_value, 1, 8192}, {"dValue", p.d_value, 1, 8192}, {"srcNdMatrixStride", p.src_nd_matrix_stride, 1, 512}, {"srcNStride", p.src_n_stride, 0, 4096},
                  {"dstDStride", p.dst_d_stride, 1, 65535}, {"dstNdMatrixStride", p.dst_nd_matrix_stride, 1, 65535}}, c.at);
    if (p.d_value % 16) fatal("BAD_PARAMETER", c.at, fmt("DataCopy: dValue=%lld is not a multiple of 16, the width of a fractal", ll(p.d_value)), "copy whole fractals and drop the padding columns on the way to the next step");
    for (int64_t i = 0; i < p.nd_num; ++i) {
        CopyCall part = c;
        const int64_t lo = i * p.src_nd_matrix_stride * 256 * c.size, go = i * p.dst_nd_matrix_stride * c.size;
        CopyRows r;
        r.rows = static_cast<uint32_t>(p.n_value);
        r.len = static_cast<uint32_t>(p.d_value * c.size);
        r.global_pitch = p.dst_d_stride * c.size;
        gm_check(c.global, static_cast<uint64_t>(go), static_cast<uint64_t>((p.n_value - 1) * r.global_pitch) + r.len, c.at, c.api, "dst");
        part.global.ptr += go;
        Instr in;
        fill_copy(in, part, r);
        Region s = local(c.local, kRead, static_cast<uint64_t>(lo), 16 * c.size, "src", static_cast<uint8_t>(c.size));
        s.n0 = static_cast<uint32_t>(p.d_value / 16);
        s.s0 = p.src_n_stride * 16 * c.size;
        s.n1 = r.rows;
        s.s1 = 16 * c.size;
        in.add(s);
        in.add(global_rows(part, r));
        in.put(FormatMove{reinterpret_cast<uint64_t>(part.global.ptr), s.addr, c.local.mem, r.rows, static_cast<uint32_t>(p.d_value), c.size, 16, r.global_pitch, s.s0, s.s1,
                          static_cast<Atomic>(in.atomic), core().dma.atomic_type});
        in.body = move_nz2nd;
        issue(in);
    }
}

}  // namespace twin

extern "C" void tw_copy_nd2nz(const LocalRef* dst, const GlobalRef* src, DType t, const CopyNd2Nz* p, At at) { nd2nz({"DataCopy", at, t, *dst, *src, false}, *p); }
extern "C" void tw_copy_nz2nd(const GlobalRef* dst, const LocalRef* src, DType t, const CopyNz2Nd* p, At at) { nz2nd({"DataCopy", at, t, *src, *dst, true}, *p); }
