// DropOut and Select with a mask of bytes.
#include "adv_core.h"
#include "twin/abi_adv_filter.h"

namespace twin {
namespace {

void check_row(const char* api, At at, const char* what, uint32_t elements, uint32_t bytes) {
    if (!elements) fatal("BAD_PARAMETER", at, fmt("%s: %s is 0", api, what), "the shape counts elements, every axis has at least one");
    if (elements * bytes % kBlock)
        fatal("MISALIGNED", at, fmt("%s: last dimension %s = %u*%u B must be a multiple of 32", api, what, elements, bytes), fmt("pad rows to %u elements with DataCopyPad", (elements * bytes + 31) / 32 * 32 / bytes));
}

// ===== DropOut
struct DropOutPlan { uint32_t dst, src, mask, rows, cols, mask_cols; DType type; uint8_t bits; float factor; };

void dropout_run(Core& c, const Instr& in) {
    const DropOutPlan& p = in.get<DropOutPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (uint32_t r = 0; r < p.rows; ++r)
        for (uint32_t k = 0; k < p.cols; ++k) {
            const uint8_t* row = ub + p.mask + uint64_t(r) * p.mask_cols;
            const bool kept = p.bits ? row[k / 8] >> (k % 8) & 1 : row[k] != 0;
            const int64_t i = int64_t(r) * p.cols + k;
            adv_store(p.type, ub + p.dst, i, kept ? double(float(adv_load(p.type, ub + p.src, i)) * p.factor) : 0.0);
        }
}

void dropout(const DropOutCall& s) {
    if (!vec_unit_here("DropOut", s.at)) return;
    check_row("DropOut", s.at, "srcLastAxis", s.cols, size_of(s.type));
    if (!s.rows || !s.mask_cols) fatal("BAD_PARAMETER", s.at, fmt("DropOut: firstAxis is %u and maskLastAxis is %u", s.rows, s.mask_cols), "both count elements and are at least 1");
    if (!(s.keep > 0 && s.keep <= 1)) fatal("BAD_PARAMETER", s.at, fmt("DropOut: keepProb is %g", double(s.keep)), "a probability above 0 and at most 1");
    int mode = s.mode;
    if (!mode) mode = s.mask_cols == s.cols ? 2 : s.mask_cols > s.cols ? 1 : s.mask_cols * 8 == s.cols ? 3 : 4;
    const bool bits = mode >= 3;
    const uint32_t need = bits ? (s.cols + 7) / 8 : s.cols;
    if (mode > 4) fatal("BAD_PARAMETER", s.at, fmt("DropOut: dropOutMode %d is not one of 0..4", mode), "1 bytes with padded rows, 2 bytes, 3 bits, 4 bits with padded rows");
    if (s.mask_cols < need || ((mode == 2 || mode == 3) && s.mask_cols != need))
        fatal("BAD_PARAMETER", s.at, fmt("DropOut: dropOutMode %d with rows of %u elements needs maskLastAxis %s%u, it is %u", mode, s.cols, mode == 2 || mode == 3 ? "" : "of at least ", need, s.mask_cols),
              "one byte (modes 1, 2) or one bit (modes 3, 4) per element");
    DropOutPlan p{0, 0, 0, s.rows, s.cols, s.mask_cols, s.type, bits, 1.0f / s.keep};
    if (s.type == DType::F16) p.factor = half_value(half_bits(p.factor));
    const uint64_t n = uint64_t(s.rows) * s.cols;
    AdvGroup g("DropOut", s.at);
    p.src = g.operand("src", s.src, s.type, kRead, n, "firstAxis * srcLastAxis");
    p.dst = g.operand("dst", s.dst, s.type, kWrite, n, "firstAxis * srcLastAxis");
    p.mask = g.rows("mask", s.mask, DType::U8, kRead, s.rows, need, s.mask_cols, 0, 0, "firstAxis * maskLastAxis");
    if (mode == 1 || mode == 4) g.leftover("mask", s.mask, DType::U8, s.rows, s.mask_cols - need, s.mask_cols, need);
    g.may_be_same("dst", "src");
    g.scratch(s.tmp, 1024, 2 * n + 1024, "GetDropOutMaxMinTmpSize", false);
    if (!bits) { g.steps("Cast", DType::F16, n); g.steps("CompareScalar", DType::F16, n); }
    g.steps("Select", s.type, n);
    g.steps("Muls", s.type, n);
    g.in.put(p);
    g.issue(dropout_run);
}

// ===== SelectWithBytesMask
struct BytesMaskPlan { uint32_t dst, src, mask, rows, cols, mask_cols; DType type, mask_type; uint8_t number_first; uint64_t number; };

void bytes_mask_run(Core& c, const Instr& in) {
    const BytesMaskPlan& p = in.get<BytesMaskPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint32_t z = size_of(p.type);
    for (uint32_t r = 0; r < p.rows; ++r)
        for (uint32_t k = 0; k < p.cols; ++k) {
            const bool one = adv_load(p.mask_type, ub + p.mask, int64_t(r) * p.mask_cols + k) != 0;
            const uint64_t i = uint64_t(r) * p.cols + k;
            const uint8_t* number = reinterpret_cast<const uint8_t*>(&p.number);
            std::memmove(ub + p.dst + i * z, one == bool(p.number_first) ? ub + p.src + i * z : number, z);
        }
}

void bytes_mask(const BytesMaskCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    const uint32_t z = size_of(s.type), mz = size_of(s.mask_type);
    check_row(s.api, s.at, "srcLastAxis", s.cols, z);
    check_row(s.api, s.at, "maskLastAxis", s.mask_cols, mz);
    if (!s.rows) fatal("BAD_PARAMETER", s.at, fmt("%s: firstAxis is 0", s.api), "count the rows");
    if (s.mask_cols < s.cols || s.mask_cols % 16)
        fatal("BAD_PARAMETER", s.at, fmt("%s: maskLastAxis is %u, srcLastAxis is %u", s.api, s.mask_cols, s.cols), "rows of the mask are at least as long as those of the source and a multiple of 16");
    BytesMaskPlan p{0, 0, 0, s.rows, s.cols, s.mask_cols, s.type, s.mask_type, s.number_first, s.number};
    const uint64_t n = uint64_t(s.rows) * s.cols;
    if (checks_on() && s.src.mem == Mem::UB && s.src.bytes / z != n)
        report(Severity::Warning, "BAD_PARAMETER", s.at, fmt("%s: firstAxis * srcLastAxis is %llu, the source has %u elements", s.api, (unsigned long long)n, s.src.bytes / z), "the shape has to cover the tensor: SetSize sets its length");
    AdvGroup g(s.api, s.at);
    p.src = g.operand("src", s.src, s.type, kRead, n, "firstAxis * srcLastAxis");
    p.dst = g.operand("dst", s.dst, s.type, kWrite, n, "firstAxis * srcLastAxis");
    p.mask = g.rows("mask", s.mask, s.mask_type, kRead, s.rows, s.cols, s.mask_cols, 0, 0, "firstAxis * maskLastAxis");
    g.may_be_same("dst", "src");
    const bool longer = s.mask_cols != s.cols;
    if (longer && s.reuse_mask) g.destroyed("mask", s.mask, s.mask_type, uint64_t(s.rows) * s.mask_cols);
    const uint64_t least = 2ull * s.cols + 512 + (longer && !s.reuse_mask ? uint64_t(s.mask_cols) * mz : 0);
    g.scratch(s.tmp, least, least * s.rows, "GetSelectWithBytesMaskMaxMinTmpSize", false);
    g.steps("Cast", DType::F16, n);
    g.steps("CompareScalar", DType::F16, n);
    g.steps("Select", s.type, n);
    g.in.put(p);
    g.issue(bytes_mask_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_dropout(const twin::DropOutCall* call) { twin::dropout(*call); }
void tw_adv_bytes_mask(const twin::BytesMaskCall* call) { twin::bytes_mask(*call); }
}
