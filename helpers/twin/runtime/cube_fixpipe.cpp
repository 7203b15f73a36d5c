// Fixpipe and DataCopy from L0C: where each element goes, and what the parameters have to be.
#include "copy_core.h"
#include "cube_core.h"
#include "cube_quant.h"
#include "cube_unit.h"
#include "twin/enums.h"

namespace twin {

struct FixMove {
    uint64_t src, dst, words;              // words: byte address of the scale words
    int64_t src_column, src_matrix;        // bytes between 16-wide columns and between matrices of L0C
    int64_t pitch, dst_matrix;             // ND: bytes between rows; NZ: between columns
    int32_t n, m, matrices;
    Mem dst_mem, words_mem;
    uint8_t nd, size, width, unit_flag;    // width: columns of the destination that lie side by side
    Atomic atomic;
    DType atomic_type;
    QuantPlan quant;
    uint64_t scalar;
    uint8_t vector_words;
};
static UnitRange tile(const FixMove& p) { return {p.src, uint32_t(ceil_div(p.n, 16)), p.src_column, uint32_t(round_up(p.m, 16) * 64)}; }

// ===== The body
static void run_fixpipe(Core& core, const Instr& in) {
    const FixMove& p = in.get<FixMove>();
    const uint8_t* src = core.at(Mem::L0C, p.src);
    uint8_t* dst = core.at(p.dst_mem, p.dst);
    QuantWord one = quant_word(p.scalar);
    std::vector<QuantWord> words;
    if (p.vector_words) {
        const uint8_t* w = core.at(p.words_mem, p.words);
        for (int32_t i = 0; i < p.n; ++i) { uint64_t bits; std::memcpy(&bits, w + 8 * i, 8); words.push_back(quant_word(bits)); }
    }
    bool wrapped = false;
    for (int32_t d = 0; d < p.matrices; ++d, src += p.src_matrix, dst += p.dst_matrix)
        for (int32_t from = 0; from < p.n;) {
            // side by side in source and destination: at most 16 columns, at most what one destination column holds
            const int32_t inside = p.nd ? from : from % p.width;
            const int32_t part = std::min({16 - from % 16, p.n - from, p.nd ? 16 : p.width - inside});
            // an odd last column of 16 stays 16 wide when two are merged into 32
            const int32_t width = !p.nd && p.width == 32 && from / 32 * 32 + 16 >= p.n ? 16 : p.width;
            uint8_t* out = p.nd ? dst + int64_t(from) * p.size : dst + from / p.width * p.pitch + inside * p.size;
            const int64_t step = p.nd ? p.pitch : int64_t(width) * p.size;
            const uint8_t* s = src + from / 16 * p.src_column + from % 16 * 4;
            const QuantWord* w = p.vector_words ? words.data() + from : &one;
            for (int32_t r = 0; r < p.m; ++r, s += 64, out += step) {
                if (p.atomic == Atomic::None) { quantise(p.quant, w, p.vector_words, s, out, part); continue; }
                uint8_t piece[64];
                quantise(p.quant, w, p.vector_words, s, piece, part);
                wrapped |= atomic_combine(p.atomic, p.atomic_type, out, piece, uint64_t(part) * p.size);
            }
            from += part;
        }
    if (wrapped && checks_on())
        report(Severity::Warning, "NUMERIC", in.at, fmt("an atomic sum left the range of %s and wrapped around", type_name(p.atomic_type)), "accumulate in a wider type");
}

// ===== While it is checked
static void before_fixpipe(Core& c, const Instr& in) {
    const FixMove& p = in.get<FixMove>();
    if (p.unit_flag) unit_enter(c, in, true, tile(p));
    uint64_t never = 0, padding = 0;
    auto look = [&](uint64_t lo, uint64_t hi) {
        c.board->shadow[int(Mem::L0C)].look(lo, hi, [&](uint64_t a, uint64_t z, const Cell& cell) {
            if (cell.undef == kNeverWritten) never += z - a;
            if (cell.undef == kPadding) padding += z - a;
        });
    };
    for (int32_t d = 0; d < p.matrices; ++d)
        for (int32_t k = 0; k * 16 < p.n; ++k) {
            const uint64_t lo = p.src + uint64_t(d) * uint64_t(p.src_matrix) + uint64_t(k) * uint64_t(p.src_column);
            const int32_t part = std::min(16, p.n - k * 16);
            if (part == 16 || !any_undefined(c, Mem::L0C, lo, lo + uint64_t(p.m) * 64)) { look(lo, lo + uint64_t(p.m) * 64); continue; }
            for (int32_t r = 0; r < p.m; ++r) look(lo + uint64_t(r) * 64, lo + uint64_t(r) * 64 + uint64_t(part) * 4);
        }
    if (never)
        report(Severity::Error, "UNINITIALISED_READ", in.at, fmt("%s: %llu of the %d x %d elements it takes from L0C were never written by an Mmad", in.op, (unsigned long long)(never / 4), p.m, p.n),
               "compare mSize, nSize and srcStride with m and n of the Mmad: srcStride is AlignUp(m, 16)");
    const GmBuffer* b = p.dst_mem == Mem::GM ? gm_find(reinterpret_cast<const void*>(p.dst)) : nullptr;
    if (padding && p.nd && b && !b->workspace)
        report(Severity::Warning, "UNINITIALISED_READ", in.at, fmt("%s: %llu elements lie behind the m rows and n columns of the Mmad that wrote the tile: their values are not specified", in.op, (unsigned long long)(padding / 4)),
               "mSize and nSize are those of the Mmad, not rounded up");
}

static void after_fixpipe(Core& c, const Instr& in) {
    const FixMove& p = in.get<FixMove>();
    if (p.unit_flag) unit_leave(c, in, true, p.unit_flag, tile(p));
}

// ===== Types
struct QuantRule { QuantMode_t mode; const char* name; DType from; Quant does; bool vector; };
static const QuantRule kRules[] = {
    {NoQuant, "NoQuant", DType::None, Quant::None, false}, {F322F16, "F322F16", DType::F32, Quant::Half, false}, {F322BF16, "F322BF16", DType::F32, Quant::BFloat, false},
    {DEQF16, "DEQF16", DType::I32, Quant::Deq, false}, {VDEQF16, "VDEQF16", DType::I32, Quant::Deq, true}, {REQ8, "REQ8", DType::I32, Quant::Req, false},
    {VREQ8, "VREQ8", DType::I32, Quant::Req, true}, {QF322B8_PRE, "QF322B8_PRE", DType::F32, Quant::Req, false}, {VQF322B8_PRE, "VQF322B8_PRE", DType::F32, Quant::Req, true}};

static bool gives(const QuantRule& r, DType src, DType dst) {
    if (r.does == Quant::None) return src == dst;
    if (r.from != src) return false;
    if (r.does == Quant::Half || r.does == Quant::Deq) return dst == DType::F16;
    if (r.does == Quant::BFloat) return dst == DType::BF16;
    return dst == DType::I8 || dst == DType::U8;
}

static const QuantRule& rule_of(const FixpipeCall& c) {
    for (const QuantRule& r : kRules)
        if (r.mode == c.quant) {
            if (gives(r, c.src_type, c.dst_type)) return r;
            std::string fitting;
            for (const QuantRule& o : kRules) if (gives(o, c.src_type, c.dst_type)) fitting += fmt("%s%s", fitting.empty() ? "" : " or ", o.name);
            fatal("UNSUPPORTED_TYPE", c.at, fmt("%s: quantPre=%s does not make %s of %s", c.api, r.name, type_name(c.dst_type), type_name(c.src_type)),
                  fitting.empty() ? "float goes to float, half, bfloat16_t and 8 bits, int32_t to int32_t, half and 8 bits" : fmt("quantPre must be %s", fitting.c_str()));
        }
    fatal("BAD_PARAMETER", c.at, fmt("%s: quantPre=%d is no mode of this chip", c.api, c.quant), "see QuantMode_t: NoQuant, F322F16, F322BF16, DEQF16, VDEQF16, REQ8, VREQ8, QF322B8_PRE, VQF322B8_PRE");
}

static void check_scale(const FixpipeCall& c, const QuantRule& r, uint64_t word) {
    const float s = quant_word(word).scale;
    if (!word) fatal("BAD_PARAMETER", c.at, fmt("%s: %s needs a scale, and none was given", c.api, r.name),
                     c.from_table ? "call SetFixpipePreQuantFlag with the 64-bit word first (a float in the low half)" : "set deqScalar: a 64-bit word with the float scale in the low half");
    if (!(s - s == 0) || s == 0)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: the scale of %s is %g; it must be a normal number", c.api, r.name, double(s)), "the low 32 bits are the bits of the float, not its value as an integer");
    if (r.does == Quant::Req && checks_on() && quant_word(word).is_signed != (c.dst_type == DType::I8))
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s: bit 46 of the scale word makes %s results, and the destination is %s", c.api, quant_word(word).is_signed ? "int8_t" : "uint8_t", type_name(c.dst_type)),
               "bit 46 set: int8_t, clear: uint8_t");
}

// ===== The call
static void check_shape(const FixpipeCall& c) {
    cube_fields(c.api, c.at, {{"nSize", c.n, 0, 4095}, {"mSize", c.m, 0, c.nd ? 8192 : 65535}, {"srcStride", c.src_stride, 0, 65535}, {"dstStride", c.dst_stride, 0, 0xffffffffll}, {"ndNum", c.nd_num, 0, 65535}},
                "send the tile in several pieces");
    if (c.nd && c.nd_num > 1) cube_fields(c.api, c.at, {{"srcNdStride", c.src_nd, 0, 512}, {"dstNdStride", c.dst_nd, 0, 65535}}, "srcNdStride counts 1024 B fractals of L0C");
    if (!checks_on() || !c.m || !c.n) return;
    if (c.nd && !c.dst_stride)
        fatal("BAD_PARAMETER", c.at, fmt("%s: dstStride=0; for ND it is the row pitch of the destination in elements", c.api), fmt("for a dense matrix of %lld columns: dstStride = %lld", (long long)c.n, (long long)c.n));
    if (c.nd && c.m > 1 && c.dst_stride < c.n)
        report(Severity::Error, "OVERLAP", c.at, fmt("%s: rows of %lld elements, and dstStride=%lld: they overwrite each other", c.api, (long long)c.n, (long long)c.dst_stride), "dstStride is the row pitch of the destination in elements");
    if (c.nd && c.nd_num > 1 && !c.src_nd)
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s: ndNum=%lld and srcNdStride=0: all matrices read the same tile", c.api, (long long)c.nd_num), "srcNdStride = AlignUp(m, 16) * AlignUp(n, 16) / 256");
    if (!c.nd && !c.dst_stride && !c.dense)
        fatal("BAD_PARAMETER", c.at, fmt("%s: dstStride=0; for NZ it is the distance of two columns in 32 B", c.api), "dense columns of m rows: dstStride = m * 16 * sizeof(T) / 32");
    if (!c.nd && c.n % (c.split ? 8 : 16))
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: nSize=%lld; NZ takes whole columns of %d", c.api, (long long)c.n, c.split ? 8 : 16), "round nSize up: the padding columns are part of the layout");
    if (c.n > 16 && c.src_stride < c.m)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: srcStride=%lld is below mSize=%lld: columns of L0C would share rows", c.api, (long long)c.src_stride, (long long)c.m),
               fmt("srcStride counts rows: AlignUp(m, 16) = %lld for the tile of an Mmad of %lld rows", (long long)round_up(c.m, 16), (long long)c.m));
    if (c.src_stride % 16)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: srcStride=%lld is not a multiple of 16, the rows of a fractal in L0C", c.api, (long long)c.src_stride), fmt("srcStride = %lld", (long long)round_up(c.src_stride, 16)));
    if (c.split && (c.nd || c.to_local || c.src_type != DType::F32 || c.dst_type != DType::F32 || c.unit_flag))
        fatal("BAD_PARAMETER", c.at, fmt("%s: channel split takes float to float, NZ, to global memory, without unitFlag", c.api), "use NZ without split, or ND");
}

// Integer sums have the size of a float: in an array of floats they would pass as tiny numbers, and the other way round.
static void check_array(const FixpipeCall& c) {
    const GmBuffer* b = c.gm.ptr ? gm_find(c.gm.ptr) : nullptr;
    const bool sums = c.dst_type == DType::I32;
    if (!b || b->workspace || !(sums ? b->dtype == DType::F32 : c.dst_type == DType::F32 && b->dtype == DType::I32)) return;
    report(Severity::Warning, "HOST_ARGUMENT", c.at, fmt("%s stores %s, and argument %s is an array of %s: nothing is converted", c.api, type_name(c.dst_type), b->name.c_str(), sums ? "float32" : "int32"),
           sums ? "make the array with dtype=np.int32; for scaled results declare C as half and call SetQuantScalar (in Fixpipe: quantPre = DEQF16)" : "make the array with dtype=np.float32");
}

static void fixpipe(FixpipeCall c) {
    if (!cube_begin(c.api, c.at)) return;
    if (!chip_is_a2()) fatal("UNSUPPORTED_API", c.at, fmt("%s: %s has no fixpipe", c.api, chip().name.c_str()), "copy L0C to UB, then to global memory");
    CubeState& s = cube_state();
    cube_memory(c.api, c.at, c.src, "src", {Mem::L0C}, "L0C (TPosition::CO1)");
    if (c.to_local) {
        cube_memory(c.api, c.at, c.local, "dst", {Mem::L1}, "L1 or global memory: L0C has no other way out on Atlas A2");
        c.nd = 0;
    }
    if (c.from_table && c.nd) {
        if (!s.nd_set) fatal("BAD_PARAMETER", c.at, fmt("%s: nz2ndEn without SetFixpipeNz2ndFlag", c.api), "call SetFixpipeNz2ndFlag(1, 1, 1) first");
        c.nd_num = s.nd_num, c.src_nd = s.src_nd, c.dst_nd = s.dst_nd;
    }
    if (!c.nd) c.nd_num = 1;
    check_shape(c);
    unit_check_value(c.api, c.unit_flag, c.at);
    if (!c.m || !c.n) return;
    if (!c.nd_num) { report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s: ndNum=0 moves nothing", c.api), "ndNum = 1 for one matrix"); return; }
    const QuantRule& rule = rule_of(c);
    if (c.to_local && rule.does == Quant::None)
        fatal("UNSUPPORTED_TYPE", c.at, fmt("%s: L0C goes to L1 only with a conversion, and quantPre is NoQuant", c.api), "F322F16, F322BF16 or a quantisation; float results leave to global memory");
    cube_alignment(c.api, c.at, c.src, "src", 64);
    if (c.to_local) cube_alignment(c.api, c.at, c.local, "dst", kBlock);
    FixMove p{};
    p.quant = {rule.does, c.relu != 0, c.src_type == DType::I32, core().num.saturate, c.dst_type};
    p.size = uint8_t(size_of(c.dst_type));
    p.width = c.split ? 8 : p.size == 1 ? 32 : 16;
    p.n = int32_t(c.n), p.m = int32_t(c.m), p.matrices = int32_t(c.nd_num);
    p.nd = c.nd, p.unit_flag = uint8_t(c.unit_flag);
    p.src = c.src.addr;
    p.src_column = c.src_stride * 64;
    p.src_matrix = c.nd_num > 1 ? c.src_nd * 1024 : 0;
    p.pitch = c.nd ? c.dst_stride * p.size : c.dst_stride * kBlock + (c.dense ? c.m * p.width * p.size : 0);
    p.dst_matrix = c.nd_num > 1 ? c.dst_nd * p.size : 0;
    p.scalar = c.from_table ? s.quant_word : c.scalar;
    p.vector_words = rule.vector;
    Instr in;
    Region words;
    if (rule.vector) {
        LocalRef table = c.from_table ? s.quant_table : c.workspace;
        if (c.from_table ? table.mem == Mem::N : !c.with_workspace)
            fatal("BAD_PARAMETER", c.at, fmt("%s: %s takes one scale per column, and none were given", c.api, rule.name),
                  c.from_table ? "copy them to a C2PIPE2GM tensor and pass it to SetFixPipeConfig" : "pass the tensor in L1 that holds nSize words as third argument");
        cube_memory(c.api, c.at, table, "the scales", {Mem::L1, Mem::FB}, c.from_table ? "the fixpipe buffer (TPosition::C2PIPE2GM)" : "L1 (TPosition::C1)");
        words = local(table, kRead, 0, uint32_t(p.n) * 8, "cbufWorkspace", 8);
        p.words = words.addr, p.words_mem = table.mem;
    } else if (rule.does == Quant::Deq || rule.does == Quant::Req) {
        check_scale(c, rule, p.scalar);
    }
    // 8-bit NZ: columns of 16 are merged in pairs
    const int64_t columns = ceil_div(c.n, p.width), row = p.nd ? c.n * p.size : c.m * p.width * p.size;
    const int64_t odd = !p.nd && p.width == 32 && c.n % 32 ? row / 2 : row;   // length of the last column
    const int64_t lines = p.nd ? c.m : columns;
    const uint64_t reach = uint64_t((c.nd_num - 1) * p.dst_matrix + (lines - 1) * p.pitch + odd);
    if (!p.nd && lines > 1 && p.pitch < row && checks_on())
        report(Severity::Error, "OVERLAP", c.at, fmt("%s: columns of %lld B, and dstStride puts them %lld B apart", c.api, (long long)row, (long long)p.pitch), fmt("dstStride of at least %lld (in 32 B)", (long long)ceil_div(row, kBlock)));
    Region src = local(c.src, kRead, 0, uint32_t(c.m) * 64, "src", 4);
    src.n0 = uint32_t(ceil_div(c.n, 16));
    src.s0 = p.src_column;
    if (c.nd_num > 1) { src.n1 = src.n0, src.s1 = src.s0; src.n0 = uint32_t(c.nd_num), src.s0 = p.src_matrix; }
    Region dst;
    if (c.to_local) {
        cube_instr(in, c.api, c.at, Pipe::FIX);
        in.slope = float(c.m * c.n) / s.cost.fix_l1;
        in.repeats = 1;
        dst = local(c.local, kWrite, 0, uint32_t(row), "dst", p.size);
        dst.n0 = uint32_t(lines);
        dst.s0 = p.pitch;
        p.dst_mem = Mem::L1;
    } else {
        CopyCall call(c.api, c.at, c.dst_type, c.src, c.gm, true);
        if (checks_on()) {
            check_atomic_store(call);
            check_array(c);
            if (!c.nd && gm_device_address(c.gm.ptr) % kBlock)
                report(Severity::Error, "MISALIGNED", c.at, fmt("%s: NZ results start on 32 B of global memory, and dst is %llu B behind such an address", c.api, (unsigned long long)(gm_device_address(c.gm.ptr) % kBlock)), "round the offset");
        }
        gm_check(c.gm, 0, reach, c.at, c.api, "dst");
        CopyRows r;
        r.rows = uint32_t(lines * c.nd_num);
        r.len = uint32_t(row);
        r.global_pitch = p.pitch;
        fill_copy(in, call, r);
        in.pipe = Pipe::FIX;
        in.needs = CoreKind::AIC;
        in.detached = in.atomic == 0;
        dst = global(c.gm.ptr, kWrite, uint64_t(row), "dst");
        dst.esize = p.size;
        dst.n0 = uint32_t(lines);
        dst.s0 = p.pitch;
        if (c.nd_num > 1) { dst.n1 = dst.n0, dst.s1 = dst.s0; dst.n0 = uint32_t(c.nd_num), dst.s0 = p.dst_matrix; }
        p.dst_mem = Mem::GM;
        p.atomic = static_cast<Atomic>(in.atomic);
        p.atomic_type = core().dma.atomic_type;
    }
    if (odd != row && lines > 1) {                          // the last column is half as long
        Region last = dst;
        last.addr += uint64_t((lines - 1) * p.pitch);
        last.len = uint32_t(odd);
        last.n0 = 1;
        dst.n0 = uint32_t(lines - 1);
        in.add(last);
    } else if (odd != row) {
        dst.len = uint32_t(odd);
    }
    p.dst = c.to_local ? uint64_t(c.local.addr) : reinterpret_cast<uint64_t>(c.gm.ptr);
    in.undef = Undef::Ignore;
    in.elements = uint64_t(c.m * c.n * c.nd_num);
    in.add(src);
    in.add(dst);
    if (rule.vector) in.add(words);
    in.put(p);
    in.body = run_fixpipe;
    in.before = before_fixpipe;
    in.after = after_fixpipe;
    unit_issue(true, c.unit_flag, c.at);
    issue(in);
    unit_issued(true, c.unit_flag, c.at);
}

}  // namespace twin

using namespace twin;

extern "C" {
void tw_fixpipe(const FixpipeCall* call) { fixpipe(*call); }
void tw_set_nz2nd(int64_t nd_num, int64_t src_stride, int64_t dst_stride, At at) {
    if (!cube_begin("SetFixpipeNz2ndFlag", at)) return;
    charge(1, at);
    CubeState& s = cube_state();
    s.nd_set = true;
    s.nd_num = nd_num, s.src_nd = src_stride, s.dst_nd = dst_stride;
}
void tw_set_pre_quant(uint64_t word, At at) {
    if (!cube_begin("SetFixpipePreQuantFlag", at)) return;
    charge(1, at);
    cube_state().quant_word = word;
}
void tw_set_fix_config(const LocalRef* quant, int clear_unit_flags, At at) {
    if (!cube_begin("SetFixPipeConfig", at)) return;
    charge(1, at);
    CubeState& s = cube_state();
    if (clear_unit_flags) { drain_all(); unit_clear(core()); }
    if (clear_unit_flags && quant->mem == Mem::L0C) return;   // the tensor only names the memory whose flags are cleared
    cube_memory("SetFixPipeConfig", at, *quant, "preTensor", {Mem::FB}, "the fixpipe buffer (TPosition::C2PIPE2GM)");
    s.quant_table = *quant;
}
}
