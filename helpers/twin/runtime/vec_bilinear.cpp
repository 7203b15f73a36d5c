// BilinearInterpolation: gathered blocks times weights, added up in half.
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_half.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct BilinearPlan { uint32_t dst, offset, weight, h, v; int32_t blk; uint32_t row; LocalRef src; uint64_t mask[2]; bool one_each; };

void bilinear_run(Core& c, const Instr& in) {
    const BilinearPlan& p = in.get<BilinearPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    for (uint32_t v = 0; v < p.v; ++v) {
        float sum[128];
        for (uint32_t h = 0; h < p.h; ++h)
            for (uint32_t b = 0; b < 8; ++b) {
                const uint32_t q = v * p.h + h;
                uint32_t o;
                std::memcpy(&o, ub + p.offset + (8 * q + b) * 4, 4);
                if (o % kBlock) fatal("MISALIGNED", in.at, fmt("BilinearInterpolation: offset %u B of block %u is no multiple of 32 B", o, 8 * q + b), "offsets count bytes; block k starts at 32 k");
                if (uint64_t(o) + kBlock > p.src.bytes) fatal("OUT_OF_BOUNDS", in.at, fmt("BilinearInterpolation: offset %u B of block %u is past the %u B of src0", o, 8 * q + b, p.src.bytes));
                uint16_t w;
                std::memcpy(&w, ub + p.weight + (p.one_each ? 8 * q + b : q) * 2, 2);
                float g[16];
                half_to_float(ub + p.src.addr + o, g, 16);
                for (uint32_t j = 0; j < 16; ++j) {
                    const float t = half_value(half_bits(g[j] * half_value(w)));
                    float& s = sum[16 * b + j];
                    s = h ? half_value(half_bits(s + t)) : t;
                }
            }
        for (uint32_t l = 0; l < 128; ++l) {
            if (!lane_on(p.mask, l)) continue;
            const uint16_t r = half_bits(sum[l]);
            std::memcpy(ub + p.dst + uint64_t(v) * p.row * 2 + uint64_t(l / 16) * uint64_t(p.blk) * kBlock + l % 16 * 2, &r, 2);
        }
    }
}

void bilinear(const BilinearCall& b) {
    if (!vec_unit_here("BilinearInterpolation", b.at)) return;
    const char* api = "BilinearInterpolation";
    VecCall call;
    call.api = api;
    call.at = b.at;
    call.type = call.from = DType::F16;
    call.mask = b.mask;
    VecExtent e;
    if (!vec_extent(call, 128, e)) return;
    BilinearPlan p{};
    p.h = uint32_t(check_range(api, b.at, "hRepeat", b.horizontal, 1, 255, "split the call"));
    p.v = uint32_t(check_range(api, b.at, "vRepeat", b.vertical, 1, 255, "split the call"));
    p.row = uint32_t(check_range(api, b.at, "vROffset", b.row, 128, 65534, "it counts elements from one result row to the next"));
    p.blk = check_range(api, b.at, "dstBlkStride", b.dst_blk, 1, 65535, "strides count 32-byte blocks");
    if (p.row % 16) fatal("MISALIGNED", b.at, fmt("%s: vROffset %u elements are no multiple of 32 B", api, p.row), "use a multiple of 16");
    const LocalRef* place[] = {&b.dst, &b.src, &b.offset, &b.weight, &b.tmp};
    static const char* names[] = {"dst", "src0", "src0Offset", "src1", "sharedTmpBuffer"};
    const uint32_t rows = p.h * p.v, weights = rows * (b.one_each ? 8 : 1);
    for (int i = 0; i < 5; ++i) check_place(api, b.at, i, names[i], *place[i], i == 2 ? 4 : 2, i == 2 ? DType::U32 : DType::F16, kBlock);
    const uint32_t need = (rows * 8 + weights) * kBlock;
    check_needs(api, b.at, "sharedTmpBuffer", b.tmp, need, Severity::Error, "");
    for (int i = 1; i < 4; ++i) {
        const uint64_t bytes[] = {0, b.src.bytes, rows * 32ull, weights * 2ull};
        if (i > 1) check_apart(api, b.at, b.dst, (uint64_t(p.v - 1) * p.row + 128) * 2, *place[i], bytes[i], names[i], "give dst its own buffer");
    }
    p.dst = b.dst.addr;
    p.src = b.src;
    p.offset = b.offset.addr;
    p.weight = b.weight.addr;
    p.one_each = b.one_each;
    p.mask[0] = e.mask[0];
    p.mask[1] = e.mask[1];
    Instr in;
    in.op = api;
    in.at = b.at;
    in.undef = Undef::Ignore;
    in.add(local(b.offset, kRead, 0, rows * 32, "src0Offset", 4));
    in.add(local(b.weight, kRead, 0, weights * 2, "src1", 2));
    in.add(local(b.src, kRead, 0, b.src.bytes, "src0", 2));
    VecExtent one = e;
    one.repeats = p.v;
    one.contiguous = false;
    one.tail = 0;
    Region dst = lanes_region(b.dst, kWrite, "dst", 2, one, 128, p.blk, int32_t(p.row * 2 / kBlock));
    in.add(dst);
    set_cost(in, api, DType::F16, rows, uint64_t(rows) * 128);
    in.body = bilinear_run;
    in.put(p);
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" void tw_vec_bilinear(const twin::BilinearCall* call) { twin::bilinear(*call); }
