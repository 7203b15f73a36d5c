// Mmad: from the call to an instruction of the M pipe.
#include "cube_layout.h"
#include "cube_product.h"
#include "cube_unit.h"
#include "races.h"
#include "worker.h"

namespace twin {

struct MmadMove {
    uint64_t c, a, b, bias;
    DType type;
    int32_t m, n, k, k_fractals;
    uint8_t start;                     // 0 zero, 1 what L0C holds, 2 the bias table
    uint8_t vector, round, away, unit_flag;
    uint32_t a_bytes, b_bytes;
};
enum : uint8_t { kZero, kHeld, kTable };

static int64_t m_rounded(const MmadMove& p) { return round_up(p.m, 16); }
static uint32_t columns(const MmadMove& p) { return uint32_t(ceil_div(p.n, 16)); }
static UnitRange tile(const MmadMove& p) { return {p.c, columns(p), m_rounded(p) * 64, uint32_t(m_rounded(p) * 64)}; }

// ===== The body
static void run_mmad(Core& core, const Instr& in) {
    const MmadMove& p = in.get<MmadMove>();
    uint8_t* c = core.at(Mem::L0C, p.c);
    const int64_t column = m_rounded(p) * 64;
    for (uint32_t k = 0; k < columns(p); ++k) {
        if (p.start == kZero) std::memset(c + k * column, 0, size_t(p.m) * 64);
        if (p.start == kTable)
            for (int32_t r = 0; r < p.m; ++r) std::memcpy(c + k * column + r * 64, core.at(Mem::BT, p.bias) + k * 64, size_t(std::min(16, p.n - int(k) * 16)) * 4);
    }
    Product q{core.at(Mem::L0A, p.a), core.at(Mem::L0B, p.b), c, p.type, p.m, p.n, p.k, p.k_fractals, p.vector != 0, p.round != 0, p.away != 0};
    ProductNotes notes;
    multiply(q, notes);
    if (!checks_on() || (!notes.overflow && !notes.not_finite)) return;
    on_engine(core, [at = in.at, notes] {
        if (notes.overflow)
            report(Severity::Warning, "NUMERIC", at, "Mmad: a sum left the range of int32_t and was clamped", "split K and add the parts in a wider type, or scale the inputs down");
        if (notes.not_finite)
            report(Severity::Note, "NUMERIC", at, "Mmad: an operand holds inf or NaN; the cube unit of a device may stop on them", "look for the instruction before that made it");
    });
}

// ===== While it is checked
static bool never_written(Core& c, Mem m, uint64_t lo, uint64_t hi) {
    bool found = false;
    c.board->shadow[int(m)].look(lo, hi, [&](uint64_t, uint64_t, const Cell& cell) { found = found || cell.undef == kNeverWritten; });
    return found;
}

// Names the part of an operand that nobody has loaded. `lines` runs over m or n, the fractals lie `place` apart.
template <class At2> static void report_holes(const Instr& in, const char* operand, const char* lines, Core& c, Mem mem, uint64_t lo, uint32_t bytes, int64_t count, const MmadMove& p, At2 element) {
    std::vector<uint8_t> bad(bytes, 0);
    c.board->shadow[int(mem)].look(lo, lo + bytes, [&](uint64_t a, uint64_t z, const Cell& cell) { if (cell.undef != kDefined) std::memset(bad.data() + (a - lo), 1, z - a); });
    int64_t first[2] = {INT32_MAX, INT32_MAX}, last[2] = {-1, -1};
    for (int64_t r = 0; r < count; ++r)
        for (int64_t t = 0; t < p.k; ++t)
            if (bad[element(r, t)]) {
                first[0] = std::min(first[0], r), last[0] = std::max(last[0], r);
                first[1] = std::min(first[1], t), last[1] = std::max(last[1], t);
            }
    if (last[0] < 0) return;
    // K was rounded up if all lines end early in the last fractal of K; with anything else the fractals lie in other places.
    const bool tail = last[1] == p.k - 1 && first[1] > 0 && p.k - first[1] < std::max<int64_t>(16, fractal_width(p.type)) && first[0] == 0 && last[0] == count - 1;
    report(Severity::Error, "UNINITIALISED_READ", in.at,
           fmt("Mmad: %s is not loaded at k %lld..%lld of 0..%d, %s %lld..%lld of 0..%lld", operand, (long long)first[1], (long long)last[1], p.k - 1, lines, (long long)first[0], (long long)last[0], (long long)count - 1),
           tail ? fmt("pass the real K as k (%lld): the cube unit masks the rest; or zero the tail in L1 with Fill before the load", (long long)first[1])
                : std::string("compare the fractals that LoadData writes with m, n and k: A is ZZ, B is ZN"));
}

static void before_mmad(Core& c, const Instr& in) {
    const MmadMove& p = in.get<MmadMove>();
    Scoreboard& b = *c.board;
    constexpr int M = int(Pipe::M);
    const uint64_t c_end = p.c + uint64_t(m_rounded(p)) * 64 * columns(p);
    if (p.unit_flag) unit_enter(c, in, false, tile(p));
    // Two Mmad on one tile: large tiles are kept apart by the hardware.
    const Touch* open = nullptr;
    Touch found;
    b.shadow[int(Mem::L0C)].look(p.c, c_end, [&](uint64_t, uint64_t, const Cell& cell) {
        if (!open && cell.write.k && cell.write.core == c.id && cell.write.pipe == M && cell.write.k > b.K[M].own[M]) { found = cell.write; open = &found; }
    });
    if (open) {
        if ((p.m / 16) * (p.n / 16) < 10)
            report(Severity::Warning, "MISSING_SYNC", in.at,
                   fmt("Mmad goes on with a tile of L0C that the Mmad at %s may still be writing: (m/16)*(n/16) = %d is below 10, where the hardware does not wait", where({open->file, open->line}).c_str(), (p.m / 16) * (p.n / 16)),
                   "put PipeBarrier<PIPE_M>() between the two");
        b.K[M].own[M] = b.n[M];
    }
    const int64_t w = fractal_width(p.type), bits = p.type == DType::I4 ? 4 : 8 * size_of(p.type);
    if (any_undefined(c, Mem::L0A, p.a, p.a + p.a_bytes))
        report_holes(in, "A", "rows", c, Mem::L0A, p.a, p.a_bytes, p.m, p, [&](int64_t r, int64_t t) {
            return uint64_t(p.vector ? t * bits / 8 : (((r / 16) * p.k_fractals + t / w) * 16 + r % 16) * 32 + t % w * bits / 8);
        });
    if (any_undefined(c, Mem::L0B, p.b, p.b + p.b_bytes))
        report_holes(in, "B", "columns", c, Mem::L0B, p.b, p.b_bytes, p.n, p, [&](int64_t j, int64_t t) {
            return uint64_t(((t / w * columns(p) + j / 16) * 16 + j % 16) * 32 + t % w * bits / 8);
        });
    layout_check(c, in, {p.a, p.b, p.m, p.n, p.k, p.k_fractals, int32_t(w), p.vector != 0});
    if (p.start == kHeld)
        for (uint32_t k = 0; k < columns(p); ++k)
            if (const uint64_t lo = p.c + uint64_t(k) * uint64_t(m_rounded(p)) * 64; never_written(c, Mem::L0C, lo, lo + uint64_t(p.m) * 64)) {
                report(Severity::Error, "UNINITIALISED_READ", in.at, fmt("Mmad adds to a tile of L0C that was never written (columns %u..%d of %d)", k * 16, std::min(int(k) * 16 + 15, p.n - 1), p.n),
                       "cmatrixInitVal = true for the first step over K, false for the following ones");
                break;
            }
    if (p.start == kTable && never_written(c, Mem::BT, p.bias, p.bias + uint64_t(p.n) * 4))
        report(Severity::Error, "UNINITIALISED_READ", in.at, fmt("Mmad starts from %d values of the bias table, and not all of them were loaded", p.n), "copy n values from C1 to C2 first, and wait with MTE1_M");
}

// What lies behind the m rows and n columns is not specified afterwards.
static void after_mmad(Core& c, const Instr& in) {
    const MmadMove& p = in.get<MmadMove>();
    Shadow& s = c.board->shadow[int(Mem::L0C)];
    const uint64_t column = uint64_t(m_rounded(p)) * 64;
    for (uint32_t k = 0; k < columns(p); ++k) {
        const uint64_t lo = p.c + k * column;
        if (p.m % 16) s.define(lo + uint64_t(p.m) * 64, lo + column, kPadding);
        if (p.n % 16 && k + 1 == columns(p))
            for (int32_t r = 0; r < p.m; ++r) s.define(lo + uint64_t(r) * 64 + uint64_t(p.n % 16) * 4, lo + uint64_t(r) * 64 + 64, kPadding);
    }
    if (p.unit_flag) unit_leave(c, in, false, p.unit_flag, tile(p));
}

// ===== The call
static void need_room(At at, const LocalRef& t, const char* role, int64_t rows, int64_t cols, DType type, uint64_t bytes) {
    if (bytes <= t.bytes && t.addr + bytes <= capacity(t.mem)) return;
    const bool memory = t.addr + bytes > capacity(t.mem);
    fatal(memory ? "UB_OVERFLOW" : "OUT_OF_BOUNDS", at,
          fmt("Mmad: %s takes %lld x %lld %s = %llu B of %s, %s", role, (long long)rows, (long long)cols, type == DType::I4 ? "int4b_t" : type == DType::F32 ? "float" : type == DType::I32 ? "int32_t" : type == DType::F16 ? "half" : type == DType::BF16 ? "bfloat16_t" : "int8_t",
              (unsigned long long)bytes, memory_name(t.mem), memory ? fmt("only %u exist%s", capacity(t.mem), t.addr ? fmt(" and it starts at byte %u", t.addr).c_str() : "").c_str() : fmt("and the tensor has %u B", t.bytes).c_str()),
          t.mem == Mem::L0C ? "use a smaller base block (m x n)" : "use a smaller k, or a larger buffer");
}

static void mmad(const MmadCall& c) {
    if (!cube_begin("Mmad", c.at)) return;
    cube_memory("Mmad", c.at, c.dst, "dst", {Mem::L0C}, "L0C (TPosition::CO1)");
    cube_memory("Mmad", c.at, c.fm, "fm", {Mem::L0A}, "L0A (TPosition::A2)");
    cube_memory("Mmad", c.at, c.filter, "filter", {Mem::L0B}, "L0B (TPosition::B2)");
    if (c.with_bias) cube_memory("Mmad", c.at, c.bias, "bias", {Mem::BT, Mem::L0C}, "the bias table (TPosition::C2) or in L0C");
    cube_fields("Mmad", c.at, {{"m", c.m, 0, 4095}, {"n", c.n, 0, 4095}, {"k", c.k, 0, 4095}}, "L0A and L0B hold smaller blocks anyway: split the matrix");
    unit_check_value("Mmad", c.unit_flag, c.at);
    if (!c.m || !c.n || !c.k) return;
    cube_alignment("Mmad", c.at, c.dst, "dst", 1024);
    cube_alignment("Mmad", c.at, c.fm, "fm", kFractal);
    cube_alignment("Mmad", c.at, c.filter, "filter", kFractal);
    if (c.with_bias) cube_alignment("Mmad", c.at, c.bias, "bias", 64);
    CubeState& s = cube_state();
    MmadMove p{};
    p.type = c.fm_type;
    p.m = int32_t(c.m), p.n = int32_t(c.n), p.k = int32_t(c.k);
    const int64_t w = fractal_width(p.type), deep = c.k_aligned && p.type == DType::F32 ? 16 : w, k_all = round_up(c.k, deep), m_all = round_up(c.m, 16), n_all = round_up(c.n, 16);
    p.k_fractals = int32_t(k_all / w);
    p.vector = c.m == 1 && chip_is_a2();
    p.round = s.hf32 && p.type == DType::F32;
    p.away = s.hf32_away;
    p.unit_flag = uint8_t(c.unit_flag);
    p.a_bytes = uint32_t(p.vector ? bytes_of(round_up(c.k, w), p.type) : bytes_of(m_all * k_all, p.type));
    p.b_bytes = uint32_t(bytes_of(n_all * k_all, p.type));
    need_room(c.at, c.fm, "A", p.vector ? 1 : m_all, k_all, p.type, p.a_bytes);
    need_room(c.at, c.filter, "B", k_all, n_all, p.type, p.b_bytes);
    need_room(c.at, c.dst, "C", m_all, n_all, c.dst_type, uint64_t(m_all * n_all) * 4);
    if (c.with_bias) {
        p.start = c.bias.mem == Mem::BT ? kTable : kHeld;
        if (c.init_zero && checks_on())
            report(Severity::Warning, "BAD_PARAMETER", c.at, "Mmad: a bias is given and cmatrixInitVal is true, which starts from zero; the twin uses the bias", "set cmatrixInitVal = false when passing a bias");
    } else {
        p.start = c.init_zero && !c.accumulate ? kZero : c.from_table ? kTable : kHeld;
    }
    if (c.with_bias && c.bias.mem == Mem::L0C && c.bias.addr != c.dst.addr)
        fatal("BAD_PARAMETER", c.at, "Mmad: a bias in L0C is the value dst already holds, and this bias is another tensor", "pass dst as the bias");
    LocalRef table = c.bias;
    if (p.start == kTable && !c.with_bias) {
        table.mem = Mem::BT;
        table.addr = 0;
        table.bytes = capacity(Mem::BT);
        table.buf = -1;
    }
    p.c = c.dst.addr, p.a = c.fm.addr, p.b = c.filter.addr, p.bias = table.addr;
    unit_issue(false, c.unit_flag, c.at);
    Instr in;
    cube_instr(in, "Mmad", c.at, Pipe::M);
    in.undef = Undef::Ignore;
    in.head = s.cost.mmad_alone - s.cost.mmad_head;
    const int64_t step = p.type == DType::F32 ? (p.round ? 8 : 4) : w, depth = ceil_div(p.type == DType::F32 ? round_up(c.k, 8) : c.k, step);
    in.slope = s.cost.mmad_head + float(ceil_div(c.m, 16) * ceil_div(c.n, 16) * depth);
    in.repeats = 1;
    in.elements = uint64_t(c.m) * uint64_t(c.n) * uint64_t(c.k);
    in.add(local(c.fm, kRead, 0, p.a_bytes, "fm"));
    in.add(local(c.filter, kRead, 0, p.b_bytes, "filter"));
    in.add(local(c.dst, p.start == kHeld ? kReadWrite : kWrite, 0, uint32_t(m_all * n_all) * 4, "dst", 4));
    if (p.start == kTable) in.add(local(table, kRead, 0, uint32_t(c.n) * 4, "bias", 4));
    in.put(p);
    in.body = run_mmad;
    in.before = before_mmad;
    in.after = after_mmad;
    issue(in);
    unit_issued(false, c.unit_flag, c.at);
}

}  // namespace twin

using namespace twin;

extern "C" {
void tw_mmad(const MmadCall* call) { mmad(*call); }
void tw_set_hf32(int on, At at) { if (cube_begin("SetHF32Mode", at)) { charge(1, at); cube_state().hf32 = on != 0; } }
void tw_set_hf32_away(int away, At at) { if (cube_begin("SetHF32TransMode", at)) { charge(1, at); cube_state().hf32_away = away != 0; } }
}
