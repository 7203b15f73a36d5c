// BroadCast, Pad, UnPad.
#include <algorithm>

#include "adv_move.h"
#include "twin/abi_adv_transform.h"

namespace twin {
namespace {

using ull = unsigned long long;

struct BroadcastPlan { MoveShape m; uint32_t cols; uint8_t by_row, copy; };

void broadcast_run(Core& c, const Instr& in) {
    const BroadcastPlan& p = in.get<BroadcastPlan>();
    move_elements(c, in, p.m, [&](uint64_t i) { return int64_t(p.copy ? i : p.by_row ? i / p.cols : i % p.cols); });
}

void broadcast(const BroadcastCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    const uint32_t z = size_of(s.type);
    const int axis = s.dim == 1 ? 0 : s.axis;
    const uint32_t rows = s.dim == 1 ? 1 : s.to[0], cols = s.dim == 1 ? s.to[0] : s.to[1];
    const bool copy = s.to[0] == s.from[0] && (s.dim == 1 || s.to[1] == s.from[1]);
    const std::string shapes = s.dim == 1 ? fmt("{%u} -> {%u}", s.from[0], s.to[0]) : fmt("{%u, %u} -> {%u, %u}", s.from[0], s.from[1], s.to[0], s.to[1]);
    if (!rows || !cols) fatal("BAD_PARAMETER", s.at, fmt("%s %s: an axis is empty", s.api, shapes.c_str()), "every axis has at least one element");
    if (!copy && (s.from[axis] != 1 || (s.dim == 2 && s.from[1 - axis] != s.to[1 - axis])))
        fatal("BAD_PARAMETER", s.at, fmt("%s %s along axis %d: that axis of the source has to be 1, the other stays as it is", s.api, shapes.c_str(), axis),
              s.dim == 2 && s.from[1 - axis] == 1 ? fmt("use axis %d", 1 - axis) : "give srcShape as the source really is");
    if (s.dim == 2 && axis == 0 && !copy && cols * z % kBlock)
        fatal("MISALIGNED", s.at, fmt("%s %s along axis 0: last dimension %u*%u must be a multiple of 32 bytes", s.api, shapes.c_str(), cols, z), fmt("pad rows to %u elements with DataCopyPad", (cols * z + 31) / 32 * 32 / z));
    const uint64_t out = uint64_t(rows) * cols, in_n = copy ? out : s.dim == 1 ? 1 : axis == 0 ? cols : rows;
    BroadcastPlan p{{0, 0, z, out, in_n, 0}, cols, uint8_t(s.dim == 1 || axis == 1), copy};
    AdvGroup g(s.api, s.at, Undef::Ignore);
    p.m.src = g.operand("src", s.src, s.type, kRead, in_n, "srcShape");
    p.m.dst = g.operand("dst", s.dst, s.type, kWrite, out, "dstShape");
    uint32_t most = 0, least = 0;
    if (!copy) tw_broadcast_tmp(s.dim, axis, rows, cols, z, &most, &least);
    g.scratch(s.tmp, least, most, "GetBroadCastMaxMinTmpSize", false);
    const DType t = z == 1 ? DType::F16 : s.type;
    if (copy || (s.dim == 2 && axis == 0)) g.steps("Copy", t, out);
    else if (s.dim == 1) g.steps("Duplicate", t, out);
    else { g.steps("Brcb", t, uint64_t(rows) * (kBlock / size_of(t))); g.steps("Copy", t, out); }
    if (z == 1) g.steps("Cast", DType::F16, out, 2);
    g.in.put(p);
    g.issue(broadcast_run);
}

// ===== Pad, UnPad
struct PadPlan { MoveShape m; uint32_t pitch, width, valid, left, right, from_pitch; };

void pad_run(Core& c, const Instr& in) {
    const PadPlan& p = in.get<PadPlan>();
    move_elements(c, in, p.m, [&](uint64_t i) -> int64_t {
        const uint32_t row = uint32_t(i / p.pitch), col = uint32_t(i % p.pitch);
        if (col < p.left) return kFill;
        if (col < p.left + p.valid) return int64_t(row) * p.from_pitch + (col - p.left);
        return col < p.left + p.valid + p.right ? kFill : kNothing;
    });
}

void pad(const PadCall& s) {
    if (!vec_unit_here(s.drop ? "UnPad" : "Pad", s.at)) return;
    const uint32_t z = size_of(s.type), per = kBlock / z, up = (s.width + per - 1) / per * per;
    const char* api = s.drop ? "UnPad" : "Pad";
    if (!s.height || !s.width) fatal("BAD_PARAMETER", s.at, fmt("%s: the tiling says %u rows of %u", api, s.height, s.width), s.drop ? "fill it with UnPadTilingFunc" : "fill it with PadTilingFunc");
    PadPlan p{};
    p.m.z = z;
    p.width = p.from_pitch = s.width;
    if (s.drop) {
        if (s.width % per) fatal("MISALIGNED", s.at, fmt("UnPad: rows of %u elements are not a multiple of 32 bytes", s.width), "UnPad takes rows that DataCopyPad or Pad made");
        if (!s.right || s.right >= per || s.right >= s.width)
            fatal("BAD_PARAMETER", s.at, fmt("UnPad: rightPad is %u, outside 1..%u", s.right, per - 1), "it drops less than one 32-byte block per row");
        p.valid = p.pitch = s.width - s.right;
    } else if (s.width % per) {
        if (s.left + s.right + s.width > up)
            fatal("BAD_PARAMETER", s.at, fmt("Pad: %u + %u + %u columns do not fit into rows of %u", s.left, s.width, s.right, up), fmt("leftPad + rightPad is at most %u here", up - s.width));
        if (uint64_t(s.height) * s.width * z % kBlock)
            fatal("MISALIGNED", s.at, fmt("Pad: the source has %llu bytes, not a multiple of 32", ull(s.height) * s.width * z), "take more rows at a time");
        p.pitch = up;
        p.valid = s.width;
        p.left = s.left;
        p.right = s.right;
    } else {
        if (s.valid >= s.width || !s.valid) fatal("BAD_PARAMETER", s.at, fmt("Pad: width %u already aligned, nothing to pad", s.width), "give the valid width as originalShape to PadTilingFunc");
        if (s.left || s.right != s.width - s.valid)
            fatal("BAD_PARAMETER", s.at, fmt("Pad: leftPad %u and rightPad %u, but the aligned rows leave %u columns on the right", s.left, s.right, s.width - s.valid), fmt("use {0, %u, value}", s.width - s.valid));
        p.pitch = s.width;
        p.valid = s.valid;
        p.right = s.right;
    }
    p.m.src_n = uint64_t(s.height) * s.width;
    p.m.dst_n = uint64_t(s.height) * p.pitch;
    p.m.fill = s.value;
    AdvGroup g(api, s.at, Undef::Ignore);
    p.m.src = g.operand("src", s.src, s.type, kRead, p.m.src_n, "srcHeight * srcWidth");
    p.m.dst = g.operand("dst", s.dst, s.type, kWrite, p.m.dst_n, "padded size");
    g.scratch(s.tmp, 0, 0, s.drop ? "GetUnPadMaxMinTmpSize" : "GetPadMaxMinTmpSize", false);
    g.steps("TransDataTo5HD", s.type, p.m.dst_n, 2);
    g.steps("Copy", s.type, p.m.dst_n);
    g.in.put(p);
    g.issue(pad_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_broadcast(const twin::BroadcastCall* call) { twin::broadcast(*call); }
void tw_adv_pad(const twin::PadCall* call) { twin::pad(*call); }
void tw_broadcast_tmp(int dim, int axis, uint32_t rows, uint32_t cols, uint32_t size, uint32_t* most, uint32_t* least) {
    const uint32_t row = (cols * size + 31) / 32 * 32, wide = size == 1 ? 2 : 1;
    *least = dim == 1 ? 32 : axis == 0 ? 0 : wide * (8 * row + 256);
    *most = dim == 1 ? 32 : axis == 0 ? 0 : std::max(*least, wide * (rows * row + 32 * ((rows + 7) / 8 * 8)));
}
}
