// What exists on which chip, and what is said about the rest.
#include "vec_core.h"

namespace twin {

// The inference chip (npu_arch 2002) lacks some instructions and conversions of Atlas A2.
static uint32_t modes_here(DType from, DType to) {
    const uint32_t a2 = cast_modes(from, to);
    if (chip_is_a2()) return a2;
    constexpr uint32_t none = 1, rint = 2, directed = 0x3c, odd = 0x40;
    if (from == DType::I4 || from == DType::I64 || from == DType::BF16 || to == DType::BF16) return 0;
    if (from == DType::I16) return to == DType::F16 ? none : 0;
    if (from == DType::F16) {
        switch (to) {
            case DType::I4: return none;
            case DType::I8: case DType::U8: return directed | none;
            case DType::I16: return rint;
            default: return a2;
        }
    }
    if (from == DType::I32) return to == DType::F32 ? none : to == DType::I64 ? 0 : a2;
    if (from == DType::F32) return to == DType::F16 ? odd | none : to == DType::I16 ? 0 : a2;
    return a2;
}
static void lacks(const VecCall& c) {
    if (chip_is_a2()) return;
    const bool gone = c.op == VecOp::ShiftLeft || c.op == VecOp::ShiftRight || c.op == VecOp::Copy;
    if (gone) fatal("UNSUPPORTED_API", c.at, fmt("%s does not exist on this chip (npu_arch 2002)", c.api), c.op == VecOp::Copy ? "use DataCopy(dst, src, count)" : "use Muls with a power of two, or Atlas A2");
    if (c.type == DType::BF16 || c.from == DType::BF16)
        fatal("UNSUPPORTED_TYPE", c.at, fmt("%s: this chip (npu_arch 2002) has no bfloat16_t", c.api), "use half or float");
}

static std::string modes_text(DType from, DType to) {
    static const char* names[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
    std::string out;
    const uint32_t modes = modes_here(from, to);
    for (int m = 0; m < 7; ++m) if (modes >> m & 1) out += (out.empty() ? "" : ", ") + std::string(names[m]);
    return out;
}

// The call names no instruction: say what does exist.
static void no_kernel(const VecCall& c) {
    const char* chip_name = chip_is_a2() ? "Atlas A2" : "this chip";
    if (c.op == VecOp::Cast && modes_here(c.from, c.type)) {
        static const char* names[] = {"CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD"};
        fatal("BAD_PARAMETER", c.at, fmt("Cast %s -> %s does not know %s: on the device such a call does nothing", dtype_name(c.from), dtype_name(c.type),
                                         c.mode < 7 ? names[c.mode] : "this rounding mode"),
              "use one of " + modes_text(c.from, c.type));
    }
    if (c.op == VecOp::Cast)
        fatal("UNSUPPORTED_TYPE", c.at, fmt("Cast %s -> %s does not exist on %s", dtype_name(c.from), dtype_name(c.type), chip_name), "go over half or float in two steps");
    fatal("UNSUPPORTED_TYPE", c.at, fmt("%s<%s> does not exist on %s", c.api, dtype_name(c.type), chip_name), "Cast to half or float first");
}

void vec_must_exist(const VecCall& c, bool on_atlas_a2) {
    lacks(c);
    if (!on_atlas_a2 || (c.op == VecOp::Cast && !(modes_here(c.from, c.type) >> c.mode & 1))) no_kernel(c);
}

}  // namespace twin
