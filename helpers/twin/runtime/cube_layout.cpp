// The way of fractals from an ND2NZ copy through LoadData to Mmad. Only what can be traced without a gap is judged, and
// only patterns that multiply wrong elements for certain are reported.
#include "cube_layout.h"

#include "races.h"

namespace twin {

static const Touch* last_write(Core& c, Mem m, uint64_t at) {
    const Touch* found = nullptr;
    c.board->shadow[int(m)].look(at, at + 1, [&](uint64_t, uint64_t, const Cell& cell) { found = cell.write.k ? &cell.write : nullptr; });
    return found;
}

void layout_matrix(Core& c, const Instr& in, uint64_t addr, uint32_t rows, uint32_t cols, int64_t c0_pitch, int64_t n_pitch, uint32_t size) {
    if (n_pitch != kBlock || c0_pitch % kFractal) return;   // not the usual NZ
    if (!c.cube) cube_state();
    NzMatrix m{c.board->n[int(Pipe::MTE2)], addr, rows, cols, uint32_t(c0_pitch / kFractal), size, in.at};
    auto& all = c.cube->matrices;
    all.push_back(m);
    if (all.size() > 64) all.pop_front();                   // older ones are not traced
}

void layout_load(Core& c, const Instr&, const FractalRun& r) {
    auto& places = c.cube->origins[r.mem == Mem::L0B];
    if (places.empty()) places.resize(capacity(r.mem) / kFractal);
    for (uint32_t i = 0; i < r.repeats; ++i) {
        const uint64_t src = r.src + uint64_t(i * r.src_pitch), dst = (r.dst + uint64_t(i * r.dst_pitch)) / kFractal;
        if (dst >= places.size()) return;
        Origin& o = places[dst];
        o = {};
        const Touch* w = last_write(c, Mem::L1, src);
        if (!w || w->pipe != uint8_t(Pipe::MTE2)) continue;
        for (auto m = c.cube->matrices.rbegin(); m != c.cube->matrices.rend(); ++m) {
            if (m->k != w->k) continue;
            const uint64_t off = src - m->addr;
            if (off % kFractal) break;                      // starts inside a fractal
            o.matrix = m->k;
            o.row = uint32_t(off / kFractal % m->pitch);
            o.column = uint32_t(off / kFractal / m->pitch);
            o.transposed = r.transposed;
            o.load = c.board->n[int(Pipe::MTE1)];
            break;
        }
    }
}

namespace {

// The fractals of one operand as `lines` x `deep` (A: rows of 16 by k, B: columns of 16 by k).
struct Grid {
    const NzMatrix* matrix = nullptr;
    std::vector<Origin> at;                                 // in the order of L0
    uint32_t lines = 0, deep = 0;
    bool b = false;
    At where{};                                             // the load of the first one
    const Origin& of(uint32_t line, uint32_t k) const { return at[b ? k * lines + line : line * deep + k]; }
    // Does every fractal come from row r + dr and column c + dc, where (dr, dc) = (line, k) or swapped?
    bool consistent(bool line_is_row) const {
        for (uint32_t l = 0; l < lines; ++l)
            for (uint32_t k = 0; k < deep; ++k)
                if (of(l, k).row - at[0].row != (line_is_row ? l : k) || of(l, k).column - at[0].column != (line_is_row ? k : l)) return false;
        return true;
    }
    bool in_order_of_l1() const {
        const uint32_t first = at[0].column * matrix->pitch + at[0].row;
        for (uint32_t p = 0; p < at.size(); ++p)
            if (at[p].column * matrix->pitch + at[p].row != first + p) return false;
        return true;
    }
};

bool trace(Core& c, Mem mem, uint64_t addr, uint32_t lines, uint32_t deep, Grid& g) {
    auto& places = c.cube->origins[mem == Mem::L0B];
    g.lines = lines;
    g.deep = deep;
    g.b = mem == Mem::L0B;
    if (places.empty() || addr % kFractal) return false;
    for (uint32_t p = 0; p < lines * deep; ++p) {
        const uint64_t at = addr / kFractal + p;
        if (at >= places.size() || !places[at].matrix) return false;
        const Origin& o = places[at];
        const Touch* w = last_write(c, mem, at * kFractal);
        if (!w || w->pipe != uint8_t(Pipe::MTE1) || w->k != o.load) return false;
        if (p && (o.matrix != g.at[0].matrix || o.transposed != g.at[0].transposed)) return false;
        g.at.push_back(o);
        if (!p) g.where = {w->file, w->line};
    }
    for (const NzMatrix& m : c.cube->matrices) if (m.k == g.at[0].matrix) g.matrix = &m;
    return g.matrix != nullptr;
}

}  // namespace

// With m == 1 the unit reads A as a plain vector; a matrix that DataCopy has laid out in fractals is none beyond the first 32 bytes.
static void check_vector(Core& c, const Instr& in, const MmadShape& s) {
    Grid g;
    if (s.k <= s.width || !trace(c, Mem::L0A, s.a, 1, 1, g)) return;
    report(Severity::Error, "BAD_PARAMETER", in.at,
           fmt("Mmad with m=1 reads A as %d elements in a row, and A was laid out in fractals of 16 rows (%s): only the first %d belong to its row", s.k, where(g.matrix->at).c_str(), s.width),
           "pass m=16 and use the first row of the result, or load the row as a plain vector: DataCopy without Nd2NzParams, then LoadData");
}

void layout_check(Core& c, const Instr& in, const MmadShape& s) {
    if (++c.cube->layouts_checked[in.at.line] > 16) return;               // the first ones tell
    if (s.vector) { check_vector(c, in, s); return; }
    const uint32_t deep = uint32_t(s.k_fractals);
    for (const bool b : {false, true}) {
        Grid g;
        const int32_t n = b ? s.n : s.m;
        if (!trace(c, b ? Mem::L0B : Mem::L0A, b ? s.b : s.a, uint32_t(ceil_div(n, 16)), deep, g)) continue;
        const bool transposed = g.at[0].transposed, square = s.width == 16;
        // Stored as it is used: A as m x k, B as n x k. Stored the other way round, the inside of each fractal must be swapped.
        const bool right = g.consistent(!transposed), other = square && g.consistent(transposed);
        const bool sizes = int64_t(g.matrix->rows) == s.k && int64_t(g.matrix->cols) == n && s.k != n, fit = int64_t(g.matrix->rows) == n && int64_t(g.matrix->cols) == s.k && s.k != n;
        const char *name = b ? "B" : "A", *stored = b ? "K x N" : "K x M", *wanted = b ? "N x K" : "M x K";
        const std::string what = fmt("Mmad at %s reads %s (%d x %d)", where(in.at).c_str(), name, b ? s.k : s.m, b ? s.n : s.k);
        const bool out_of_order = !right && g.lines > 1 && g.deep > 1 && g.in_order_of_l1();
        if (!transposed && (sizes || (!right && other && !out_of_order)))
            report(Severity::Error, "BAD_PARAMETER", g.where,
                   fmt("%s, but it was given as %s (%u x %u, %s) and loaded without transposition: rows and columns are exchanged", what.c_str(), stored, g.matrix->rows, g.matrix->cols, where(g.matrix->at).c_str()),
                   fmt("set ifTranspose%s, or give %s as %s", square ? "" : " (16-bit elements; else LoadDataWithTranspose)", name, wanted));
        else if (transposed && (fit || (!right && other && !out_of_order)))
            report(Severity::Error, "BAD_PARAMETER", g.where,
                   fmt("%s, but it was given as %s (%u x %u, %s) and loaded with ifTranspose: rows and columns are exchanged", what.c_str(), wanted, g.matrix->rows, g.matrix->cols, where(g.matrix->at).c_str()), "load it without ifTranspose");
        else if (out_of_order)
            report(Severity::Error, "BAD_PARAMETER", g.where,
                   fmt("%s, and its %u x %u fractals lie in the order of L1 (NZ: one column of fractals after the other); %s", what.c_str(), b ? g.deep : g.lines, b ? g.lines : g.deep,
                       b ? "L0B is ZN: for each block of k all blocks of n" : "L0A is ZZ: for each block of 16 rows all blocks of k"),
                   b ? fmt("one LoadData per block of k: LoadData(b0[k * %u * fractal], b1[k * fractal], {0, %u, %u, 0, 0, true, 0})", g.lines, g.lines, g.matrix->pitch)
                     : fmt("one LoadData per 16 rows: LoadData(a0[i * %u * fractal], a1[i * fractal], {0, %u, %u, 0, 0, false, 0})", g.deep, g.deep, g.matrix->pitch));
    }
}

}  // namespace twin
