// The softmax family: which shape counts, what the operands must be, which bytes are read and written, what it costs.
#include "adv_softmax.h"

#include <algorithm>

#include "vec_lanes.h"

namespace twin {

uint32_t softmax_matrix(AdvGroup& g, const char* role, const LocalRef& t, DType type, uint8_t rw, const SoftmaxShape& s, bool nz) {
    const uint64_t z = size_of(type), whole = uint64_t(s.m) * s.k * z;
    if (!nz) {
        const uint32_t at = g.rows(role, t, type, rw, s.valid_m, s.valid_k, s.k, 0, whole, "srcM*srcK =");
        if (rw & kWrite) {
            g.leftover(role, t, type, s.valid_m, s.k - s.valid_k, s.k, s.valid_k);
            g.leftover(role, t, type, s.m - s.valid_m, s.k, s.k, uint64_t(s.valid_m) * s.k);
        }
        return at;
    }
    // columns of fractals: 16 elements of a row side by side, the rows of one column of fractals behind each other
    const uint32_t full = s.valid_k / 16, rest = s.valid_k % 16;
    if (full) g.rows(role, t, type, rw, full, uint64_t(s.valid_m) * 16, uint64_t(s.m) * 16, 0, whole, "srcM*srcK =");
    if (rest) g.rows(role, t, type, rw, s.valid_m, rest, 16, uint64_t(full) * s.m * 16, whole, "srcM*srcK =");
    if (rw & kWrite) {
        if (rest) g.leftover(role, t, type, s.valid_m, 16 - rest, 16, uint64_t(full) * s.m * 16 + rest);
        g.leftover(role, t, type, (s.valid_k + 15) / 16, uint64_t(s.m - s.valid_m) * 16, uint64_t(s.m) * 16, uint64_t(s.valid_m) * 16);
    }
    return t.addr;
}

namespace {

const char* sizer(SoftmaxKind k) {
    switch (k) {
        case SoftmaxKind::Flash: return "GetSoftMaxFlashMinTmpSize";
        case SoftmaxKind::FlashV2: return "GetSoftMaxFlashV2MinTmpSize";
        case SoftmaxKind::FlashV3: return "GetSoftMaxFlashV3MaxMinTmpSize";
        case SoftmaxKind::Grad: case SoftmaxKind::GradFront: return "GetSoftMaxGradMinTmpSize";
        case SoftmaxKind::Log: return "GetLogSoftMaxMinTmpSize";
        default: return "GetSoftMaxMinTmpSize";
    }
}

SoftmaxShape known_shape(const SoftmaxCall& c) {
    SoftmaxShape s = c.shape;
    if (!s.m || !s.k) {
        s = c.tiling;
        if (!s.m || !s.k) fatal("BAD_PARAMETER", c.at, fmt("%s: neither SoftMaxShapeInfo nor the tiling says how many rows and columns there are", c.api), "pass SoftMaxShapeInfo{srcM, srcK, oriSrcM, oriSrcK}");
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s: shape unknown; the %u x %u of the tiling is taken", c.api, s.m, s.k), "pass SoftMaxShapeInfo");
    } else if (!c.check_tiling && (c.tiling.m != s.m || c.tiling.k != s.k)) {
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s: isCheckTiling is false, but the tiling was made for %u x %u and the shape is %u x %u", c.api, c.tiling.m, c.tiling.k, s.m, s.k),
               "make the tiling for this shape, or leave isCheckTiling on");
    }
    if (!s.valid_m) s.valid_m = s.m;
    if (!s.valid_k) s.valid_k = s.k;
    if (s.valid_m > s.m || s.valid_k > s.k)
        fatal("BAD_PARAMETER", c.at, fmt("%s: the valid part %u x %u is larger than the %u x %u that lie in UB", c.api, s.valid_m, s.valid_k, s.m, s.k), "oriSrcM <= srcM and oriSrcK <= srcK");
    if (uint64_t(s.m) * s.k > uint64_t(capacity(Mem::UB)))
        fatal("OUT_OF_BOUNDS", c.at, fmt("%s: %u x %u elements do not fit UB (%u B)", c.api, s.m, s.k, capacity(Mem::UB)), "srcM and srcK describe one tile, not the whole array");
    return s;
}

void check_shape(const SoftmaxCall& c, const SoftmaxShape& s) {
    const uint32_t z = size_of(c.type);
    if (c.nz && s.m % 16) fatal("BAD_PARAMETER", c.at, fmt("%s: isDataFormatNZ needs srcM to be a multiple of 16, it is %u", c.api, s.m), "round srcM up and give the real rows as oriSrcM");
    if (c.nz && c.no_brc) fatal("BAD_PARAMETER", c.at, fmt("%s: SOFTMAX_OUTPUT_WITHOUT_BRC and isDataFormatNZ exclude each other", c.api), "use SOFTMAX_NORMAL for NZ data");
    if (c.no_brc && c.kind != SoftmaxKind::FlashV2) fatal("BAD_PARAMETER", c.at, fmt("%s: SOFTMAX_OUTPUT_WITHOUT_BRC exists for SoftmaxFlashV2 only", c.api), "use SOFTMAX_NORMAL");
    if (!c.nz && s.k * z % kBlock)
        fatal("BAD_PARAMETER", c.at, fmt("%s: last dimension %u*%u must be a multiple of 32", c.api, s.k, z), "pad with DataCopyPad: srcK is the padded length, oriSrcK the real one");
    if (c.nz && s.k % 16) fatal("BAD_PARAMETER", c.at, fmt("%s: isDataFormatNZ needs srcK to be a multiple of 16, it is %u", c.api, s.k), "give the real columns as oriSrcK");
    const bool padded = s.valid_m != s.m || s.valid_k != s.k;
    if (c.basic_block && (padded || !softmax_basic_block(s.m, s.k, z)))
        report(Severity::Error, "BAD_PARAMETER", c.at,
               fmt("%s: isBasicBlock=true needs K multiple of 64 in [%u, 2048) and M multiple of 8%s; here M is %u, K is %u", c.api, 256 / z, padded ? ", without padding" : "", s.m, s.k),
               "leave isBasicBlock out: the result is the same");
    if (c.kind == SoftmaxKind::FlashV3 && (s.k < 512 || s.k % 64 || s.m % 8 || padded || c.mean_parts != 8 || !c.loop))
        fatal("BAD_PARAMETER", c.at,
              fmt("SoftmaxFlashV3 needs K >= 512 and a multiple of 64, M a multiple of 8, no padding, splitMeanCnt 8, loopCnt >= 1; here M %u, K %u, splitMeanCnt %u, loopCnt %u", s.m, s.k, c.mean_parts, c.loop),
              "use SoftmaxFlashV2 for other shapes");
}

// Cost: the basic instructions the library runs, each after the one before (guess for the number of passes).
void add_cost(AdvGroup& g, const SoftmaxCall& c, const SoftmaxShape& s) {
    const uint64_t all = uint64_t(s.valid_m) * s.k, blocks = uint64_t(s.valid_m) * 8;
    const DType f = DType::F32;
    if (c.type == DType::F16) g.steps("Cast", f, all, 2);                       // to float and back
    if (c.kind == SoftmaxKind::Grad || c.kind == SoftmaxKind::GradFront) {
        g.steps("Mul", f, all);
        g.reductions("Add", "WholeReduceSum", f, all, s.valid_m);
        g.steps("Brcb", f, blocks);
        if (c.kind == SoftmaxKind::Grad) { g.steps("Sub", f, all); g.steps("Mul", f, all); }
        return;
    }
    if (c.kind == SoftmaxKind::FlashV3) { g.reductions("Add", "WholeReduceSum", f, all, s.valid_m, 2); g.steps("Muls", f, blocks, 4); g.steps("Sub", f, all); }
    if (c.kind != SoftmaxKind::Simple) {
        g.reductions("Max", "WholeReduceMax", f, all, s.valid_m);
        g.reductions("Add", "WholeReduceSum", f, all, s.valid_m);
        g.steps("Brcb", f, blocks, 2);
    }
    g.steps("Sub", f, all);
    g.steps("Exp", f, all);
    if (c.update) { g.steps("Max", f, blocks); g.steps("Sub", f, blocks); g.steps("Exp", f, blocks); g.steps("Mul", f, blocks); g.steps("Add", f, blocks); }
    if (c.kind != SoftmaxKind::FlashV2 && c.kind != SoftmaxKind::FlashV3) g.steps("Div", f, all);
    if (c.kind == SoftmaxKind::Log) { g.steps("Ln", f, all); g.steps("Muls", f, all); }
}

// One value per row: a block of equal lanes, or one element.
uint32_t row_values(AdvGroup& g, const char* role, const LocalRef& t, DType type, uint8_t rw, const SoftmaxShape& s, uint32_t lanes) {
    const uint64_t need = uint64_t(lanes == 1 ? s.valid_m : s.m) * lanes * size_of(type);
    if (t.mem == Mem::UB && t.bytes < need)
        fatal("OUT_OF_BOUNDS", g.at(),
              lanes == 1 ? fmt("%s: %s has %u bytes, needs %llu: one element for each of %u rows", g.api(), role, t.bytes, (unsigned long long)need, s.valid_m)
                         : fmt("%s: %s has %u bytes, needs %llu: one 32-byte block for each of %u rows", g.api(), role, t.bytes, (unsigned long long)need, s.m), "give it a larger buffer");
    if (rw == kRead) return g.rows(role, t, type, rw, s.valid_m, 1, lanes);     // lane 0 is what counts
    const uint32_t at = g.rows(role, t, type, rw, s.valid_m, lanes, lanes);
    if (lanes > 1) g.leftover(role, t, type, s.m - s.valid_m, lanes, lanes, uint64_t(s.valid_m) * lanes);
    return at;
}

void softmax(const SoftmaxCall& c) {
    if (!vec_unit_here(c.api, c.at)) return;
    if (!chip_is_a2() && c.kind == SoftmaxKind::FlashV3) fatal("UNSUPPORTED_API", c.at, "SoftmaxFlashV3 does not exist on this chip (npu_arch 2002)", "use SoftmaxFlashV2");
    if (c.has_reduce_max && !c.no_brc) {
        report(Severity::Error, "BAD_PARAMETER", c.at, "SoftmaxFlashV2 with outReduceMax works in mode SOFTMAX_OUTPUT_WITHOUT_BRC only: in SOFTMAX_NORMAL the call does nothing",
               "pass a SoftmaxConfig {true, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC}");
        return;
    }
    const SoftmaxShape s = known_shape(c);
    check_shape(c, s);
    AdvGroup g(c.api, c.at, Undef::Forbid);
    SoftmaxPlan p;
    p.kind = c.kind;
    p.type = c.type;
    p.stat = c.stat;
    p.m = s.valid_m;
    p.k = s.valid_k;
    p.pitch = s.k;
    p.fractal = c.nz ? s.m : 0;
    p.stat_lanes = c.no_brc ? 1 : kBlock / size_of(c.stat);
    p.exp_lanes = c.no_brc ? 1 : kBlock / size_of(c.type);
    p.stats = c.has_stats;
    p.update = c.update;
    p.loop = c.loop;
    p.alpha = c.alpha;
    auto stat = [&](const char* role, const LocalRef& t, uint8_t rw) { return row_values(g, role, t, c.stat, rw, s, p.stat_lanes); };
    p.src = softmax_matrix(g, "src", c.src, c.type, kRead, s, c.nz);
    const bool online = c.kind == SoftmaxKind::Flash || c.kind == SoftmaxKind::FlashV2 || c.kind == SoftmaxKind::FlashV3;
    if (c.kind == SoftmaxKind::Grad || c.kind == SoftmaxKind::GradFront) {
        p.grad = softmax_matrix(g, "grad", c.grad, c.type, kRead, s, c.nz);
    } else if (c.kind == SoftmaxKind::Simple) {
        p.in_sum = stat("inSum", c.in_sum, kRead);
        p.in_max = stat("inMax", c.in_max, kRead);
    } else if (c.has_stats) {
        p.sum = stat(c.kind == SoftmaxKind::FlashV2 || c.kind == SoftmaxKind::FlashV3 ? "expSum" : "sum", c.sum, kWrite);
        p.max = stat("max", c.max, kWrite);
    }
    if (online && c.update) {
        p.exp_max = row_values(g, "expMax", c.exp_max, c.type, kWrite, s, p.exp_lanes);
        p.in_sum = stat("inSum", c.in_sum, kRead);
        p.in_max = stat("inMax", c.in_max, kRead);
        if (c.has_reduce_max) { p.reduce_max = stat("outReduceMax", c.reduce_max, kWrite); p.reduce = true; }
    }
    if (c.kind == SoftmaxKind::FlashV3) {
        p.mean = stat("mean", c.mean, kWrite);
        if (c.update) p.in_mean = stat("inMean", c.in_mean, kRead);
    }
    if (c.kind == SoftmaxKind::GradFront) p.dst = row_values(g, "dst", c.dst, c.type, kWrite, s, p.exp_lanes);
    else p.dst = softmax_matrix(g, "dst", c.dst, c.type, kWrite, s, c.nz);
    if (c.kind != SoftmaxKind::Log) g.may_be_same("dst", "src");
    g.may_be_same("max", "inMax");
    g.may_be_same("sum", "inSum");
    g.may_be_same("expSum", "inSum");
    g.may_be_same("mean", "inMean");
    const uint32_t row = softmax_row_bytes(c.kind, s.k, size_of(c.type), size_of(c.stat), c.update);
    g.scratch(c.tmp, row, uint64_t(row) * s.m, sizer(c.kind), false);
    if (!c.split_m && c.tiling.m)
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: the tiling was made with a localWorkSpaceSize that does not hold one row (%u bytes)", c.api, row), fmt("pass at least the size from %s", sizer(c.kind)));
    add_cost(g, c, s);
    g.in.detached = !(c.kind == SoftmaxKind::Simple || (online && c.update));      // those look at the lanes of what they are given
    if (g.in.detached && !c.nz && c.kind != SoftmaxKind::Grad && c.kind != SoftmaxKind::GradFront) g.in.shape = Instr::ReadsFirst;
    g.in.put(p);
    g.issue(c.kind == SoftmaxKind::Grad || c.kind == SoftmaxKind::GradFront ? softmax_grad_run : softmax_run);
}

// The scalar unit looks at every max; rows that match are filled.
bool adjust(const AdjustCall& c) {
    if (!vec_unit_here("AdjustSoftMaxRes", c.at)) return false;
    const SoftmaxShape s = c.shape;
    const char* api = "AdjustSoftMaxRes";
    const uint32_t z = size_of(c.type), mz = size_of(c.stat), rows = s.valid_m ? s.valid_m : s.m, step = c.no_brc ? mz : kBlock;
    if (!s.m || !s.k) fatal("BAD_PARAMETER", c.at, "AdjustSoftMaxRes: softMaxShapeInfo has no rows or no columns", "pass SoftMaxShapeInfo{srcM, srcK, oriSrcM, oriSrcK}");
    if (c.no_brc && c.nz) fatal("BAD_PARAMETER", c.at, "AdjustSoftMaxRes: stepSizeMode != 0 works with ND data only", "use stepSizeMode 0 for NZ data");
    if (!c.nz && s.k * z % kBlock) fatal("BAD_PARAMETER", c.at, fmt("AdjustSoftMaxRes: last dimension %u*%u must be a multiple of 32", s.k, z), "pad with DataCopyPad");
    if (c.max.mem == Mem::UB && uint64_t(rows) * step > c.max.bytes)
        fatal("OUT_OF_BOUNDS", c.at, fmt("AdjustSoftMaxRes: max has %u bytes, needs %llu for %u rows", c.max.bytes, (unsigned long long)(uint64_t(rows) * step), rows), "check stepSizeMode and the shape");
    scalar_awaits_vector(c.at);
    std::vector<uint32_t> hit;
    for (uint32_t r = 0; r < rows; ++r) {
        uint32_t bits = 0;
        std::memcpy(&bits, scalar_access(c.max, uint64_t(r) * step, mz, false, c.at, api), mz);
        if (bits == (mz == 2 ? c.from & 0xffffu : c.from)) hit.push_back(r);
    }
    if (hit.empty()) return false;
    struct Plan { uint32_t res, row, count, z; int64_t step; uint64_t to; };
    for (uint32_t r : hit) {                                                   // one Duplicate per row, as on the device
        AdvGroup g(api, c.at, Undef::Ignore);
        const uint64_t blocks = c.nz ? (s.k + 15) / 16 : 1, len = c.nz ? 16 : s.k;
        g.in.s_cycles = 8;
        g.rows("res", c.res, c.type, kWrite, blocks, len, c.nz ? uint64_t(s.m) * 16 : s.k, c.nz ? uint64_t(r) * 16 : uint64_t(r) * s.k, 0, "the shape");
        g.steps("Duplicate", c.type, s.k);
        g.in.put(Plan{c.res.addr + uint32_t((c.nz ? uint64_t(r) * 16 : uint64_t(r) * s.k) * z), uint32_t(blocks), uint32_t(len), z, int64_t(s.m) * 16 * z, c.to});
        g.issue([](Core& core, const Instr& in) {
            const Plan p = in.get<Plan>();
            for (uint32_t b = 0; b < p.row; ++b)
                for (uint32_t i = 0; i < p.count; ++i) std::memcpy(core.at(Mem::UB, uint64_t(int64_t(p.res) + b * p.step)) + i * p.z, &p.to, p.z);
        });
    }
    return true;
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_softmax(const twin::SoftmaxCall* call) { twin::softmax(*call); }
int tw_adjust_softmax(const twin::AdjustCall* call) { return twin::adjust(*call); }
}
