// A and B from L1 to L0A and L0B, one base block at a time.
//
// L0A wants ZZ of M x K and L0B wants ZN of K x N. NZ of N x K is ZN of K x N: a transposed B needs no transposing load.
// 16-bit fractals are turned by the 2D load, float by the 3D load, 8 and 4 bits in squares.
#include <algorithm>

#include "mm_layout.h"
#include "twin/abi_cube.h"
#include "twin/enums.h"

namespace twin {

namespace {

constexpr uint32_t kFractal = 512;

struct Fractals { DType type; LocalRef dst, src; At at; };

void load(const Fractals& f, int64_t dst, int64_t start, int64_t repeats, int64_t stride, int64_t gap, bool transpose) {
    for (int64_t done = 0; done < repeats; done += 255) {    // the repeat count has 8 bits
        const int64_t n = std::min<int64_t>(255, repeats - done), to = (dst + done * (gap + 1)) * kFractal;
        LocalRef d = f.dst;
        d.addr += uint32_t(to);
        d.bytes -= uint32_t(to);
        Load2D p;
        p.start = start + done * stride;
        p.repeats = n;
        p.src_stride = stride;
        p.dst_gap = gap;
        p.transpose = transpose;
        tw_load_2d(&d, &f.src, f.type, &p, f.at);
    }
}

// dst fractal (i, j) of an n0 x n1 grid at i * d0 + j * d1 from src fractal start + i * s0 + j * s1; one of d0, d1 is 1.
void grid(const Fractals& f, int64_t n0, int64_t n1, int64_t d0, int64_t d1, int64_t start, int64_t s0, int64_t s1, bool transpose) {
    if (n0 <= n1)
        for (int64_t i = 0; i < n0; ++i) load(f, i * d0, start + i * s0, n1, s1, d1 - 1, transpose);
    else
        for (int64_t j = 0; j < n1; ++j) load(f, j * d1, start + j * s1, n0, s0, d0 - 1, transpose);
}

void img2col(const Fractals& f, int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t n_rows, int64_t n_cols, bool transpose) {
    Load3D p;
    p.h = 1;
    p.w = rows;
    p.channels = cols;
    p.k_extent = n_cols;
    p.m_extent = n_rows;
    p.k_start = col;
    p.m_start = row;
    p.transpose = transpose;
    tw_load_3d(&f.dst, &f.src, f.type, &p, f.at);
}

}  // namespace

void mm_to_l0(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmPackage& package, const MmBlock& b, const LocalRef& dst, At at) {
    MmPackage& pkg = const_cast<MmPackage&>(package);
    const MmTensor& t = a ? p.a : p.b;
    const MmPlan f = mm_plan(o, p, a);
    Fractals q{f.type, dst, {}, at};
    int64_t pr, row, kk = b.k0;                              // rows of the NZ block in L1, first row (column) of the base block, first K
    if (t.where == MmTensor::L1) {
        q.src = t.local;
        pr = mm_up(f.rows_are_k ? p.k : (a ? p.m : p.n), 16);
        row = b.first;
    } else {
        mm_need_block(x, o, p, a, pkg, b, at);
        q.src = x.ref(Mem::L1, pkg.addr, (a ? x.a : x.b).bytes, uint8_t(a ? AscendC::TPosition::A1 : AscendC::TPosition::B1), at);
        pr = mm_pitch_rows(f, pkg.rows, pkg.kn);
        row = b.first - pkg.group * (a ? o.t.baseM : o.t.baseN);
        kk = b.k0 - pkg.k0;
    }
    const int64_t R = pr / 16, S = mm_up(b.size, 16) / 16, K = mm_up(b.kn, f.c0) / f.c0;
    if (a && mm_vector(o, p, b.size)) {                      // K elements side by side
        LocalRef s = q.src;
        s.addr += uint32_t(kk / f.c0 * kBlock);
        s.bytes -= uint32_t(kk / f.c0 * kBlock);
        q.src = s;
        load(q, 0, 0, (K + 15) / 16, 1, 0, false);
        return;
    }
    if (a && !f.rows_are_k) { grid(q, S, K, K, 1, kk / f.c0 * R + row / 16, 1, R, false); return; }
    if (!a && !f.rows_are_k) { grid(q, K, S, S, 1, kk / f.c0 * R + row / 16, R, 1, false); return; }
    if (size_of(f.type) == 2) {
        const int64_t start = row / 16 * R + kk / 16;
        if (a) grid(q, S, K, K, 1, start, R, 1, true); else grid(q, K, S, S, 1, start, 1, R, true);
        return;
    }
    if (size_of(f.type) == 4) {
        const int64_t cols = mm_up(t.where == MmTensor::L1 ? (a ? p.m : p.n) : pkg.rows, f.c0);
        img2col(q, pr, cols, kk, row, b.kn, b.size, true);
        return;
    }
    const int64_t n = f.c0, squares_k = mm_up(b.kn, n) / n, squares = mm_up(b.size, n) / n, each = n / 16, RQ = pr / n;
    for (int64_t i = 0; i < (a ? squares : squares_k); ++i) {
        LoadSquares s;
        LocalRef d = dst;
        const int64_t to = (a ? i * each * squares_k : i * squares * each) * kFractal;
        d.addr += uint32_t(to);
        d.bytes -= uint32_t(to);
        s.start = a ? (row / n + i) * RQ + kk / n : row / n * RQ + kk / n + i;
        s.repeats = a ? squares_k : squares;
        s.src_stride = a ? 1 : RQ;
        s.dst_gap = a ? 0 : each - 1;
        s.frac_gap = a ? squares_k - 1 : 0;
        tw_load_squares(&d, &q.src, f.type, &s, at);
    }
}

}  // namespace twin
