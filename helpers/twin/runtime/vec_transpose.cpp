// Transpose: 16 x 16 matrices of 2-byte elements, and [n][c][h][w] <-> [n][h][w][c].
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct MatrixPlan { uint32_t dst, src, planes, rows, columns; uint8_t z; };    // dst[p][j][i] = src[p][i][j]

void matrix_run(Core& c, const Instr& in) {
    const MatrixPlan& p = in.get<MatrixPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const uint64_t plane = uint64_t(p.rows) * p.columns, bytes = p.planes * plane * p.z;
    const Undefined holes(p.src, p.src + bytes);
    const std::vector<uint8_t> src(ub + p.src, ub + p.src + bytes);
    for (uint64_t n = 0; n < p.planes; ++n)
        for (uint64_t i = 0; i < p.rows; ++i)
            for (uint64_t j = 0; j < p.columns; ++j) {
                const uint64_t from = (n * plane + i * p.columns + j) * p.z, to = (n * plane + j * p.rows + i) * p.z;
                std::memcpy(ub + p.dst + to, &src[from], p.z);
                if (holes.any && p.dst != p.src && holes.at(p.src + from, p.z)) mark_undefined(c, Mem::UB, p.dst + to, p.dst + to + p.z);
            }
}

void transpose(const TransposeCall& t) {
    if (!vec_unit_here("Transpose", t.at)) return;
    const uint32_t z = size_of(t.type);
    if (t.kind == 4)
        fatal("UNSUPPORTED_API", t.at, "Transpose: this TransposeType belongs to ConfusionTranspose", "use TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC or TRANSPOSE_NHWC2NCHW");
    if (t.kind == 3) return;
    if (t.kind == 0 && z != 2) fatal("UNSUPPORTED_TYPE", t.at, fmt("Transpose of 16 x 16 does not know %s", dtype_name(t.type)), "it takes 2-byte elements: use TransDataTo5HD for others");
    check_place("Transpose", t.at, 0, "dst", t.dst, z, t.type, kBlock);
    check_place("Transpose", t.at, 1, "src", t.src, z, t.type, kBlock);
    MatrixPlan p{t.dst.addr, t.src.addr, 1, 16, 16, uint8_t(z)};
    Instr in;
    in.op = "Transpose";
    in.at = t.at;
    in.undef = Undef::Ignore;
    uint64_t need = 0;
    if (t.kind) {
        check_range("Transpose", t.at, "nSize", t.n, 0, 65535, "sizes count elements");
        check_range("Transpose", t.at, "cSize", t.c, 0, 4095, "sizes count elements");
        const int64_t area = t.h * t.w;
        check_range("Transpose", t.at, "hSize * wSize", area, 0, 4095, "split the picture");
        if (area * z % kBlock)
            fatal("MISALIGNED", t.at, fmt("Transpose: a plane of hSize * wSize = %lld elements has %lld B, no multiple of 32 B", (long long)area, (long long)(area * z)),
                  fmt("pad it to %lld elements", (long long)((area * z + kBlock - 1) / kBlock * kBlock / z)));
        if (t.n * t.c * area == 0) { in.any_core = true; issue(in); return; }
        const uint64_t h0 = z == 1 ? 32 : 16, w0 = kBlock / z;
        need = (t.kind == 1 ? uint64_t(t.c) + 2 : 2 * uint64_t(t.c) + 1) * h0 * w0 * z;
        p.planes = uint32_t(t.n);
        p.rows = uint32_t(t.kind == 1 ? t.c : area);
        p.columns = uint32_t(t.kind == 1 ? area : t.c);
    }
    const uint64_t bytes = uint64_t(p.planes) * p.rows * p.columns * z;
    if (bytes > capacity(Mem::UB)) fatal("OUT_OF_BOUNDS", t.at, fmt("Transpose: %llu B are more than the Unified Buffer holds", (unsigned long long)bytes));
    if (t.kind || t.dst.addr != t.src.addr)
        check_apart("Transpose", t.at, t.dst, bytes, t.src, bytes, "src", t.kind ? "this form does not work in place: give dst its own buffer" : "use the same start, or separate buffers");
    in.add(local(t.src, kRead, 0, uint32_t(bytes), "src", uint8_t(z)));
    in.add(local(t.dst, kWrite, 0, uint32_t(bytes), "dst", uint8_t(z)));
    if (need && chip_is_a2()) {
        check_needs("Transpose", t.at, "sharedTmpBuffer", t.tmp, need, Severity::Error, "");
        check_place("Transpose", t.at, 2, "sharedTmpBuffer", t.tmp, 1, DType::U8, kBlock);
        const uint32_t used = t.tmp.mem == Mem::UB ? uint32_t(std::min<uint64_t>(need, t.tmp.bytes)) : 0;
        if (used) in.add(local(t.tmp, kWrite, 0, used, "sharedTmpBuffer", 1));
    }
    set_cost(in, "Transpose", t.type, uint32_t((bytes + kRepeat - 1) / kRepeat), bytes / z);
    in.body = matrix_run;
    in.put(p);
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" void tw_vec_transpose(const twin::TransposeCall* call) { twin::transpose(*call); }
