// Brcb: one element fills a block of 32 bytes.
#include "twin/abi_move.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct BrcbPlan { uint32_t dst, src, repeats; int32_t blk, rep; uint8_t z; };

void brcb_run(Core& c, const Instr& in) {
    const BrcbPlan& p = in.get<BrcbPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const Undefined holes(p.src, p.src + uint64_t(p.repeats) * 8 * p.z);
    for (uint32_t i = 0; i < p.repeats * 8; ++i) {
        const uint64_t s = p.src + uint64_t(i) * p.z, d = p.dst + (uint64_t(i / 8) * uint64_t(p.rep) + uint64_t(i % 8) * uint64_t(p.blk)) * kBlock;
        uint8_t element[4];
        std::memcpy(element, ub + s, p.z);
        for (uint32_t k = 0; k < kBlock; k += p.z) std::memcpy(ub + d + k, element, p.z);
        if (holes.any && holes.at(s, p.z)) mark_undefined(c, Mem::UB, d, d + kBlock);
    }
}

void brcb(const BrcbCall& b) {
    if (!vec_unit_here("Brcb", b.at)) return;
    BrcbPlan p{};
    p.z = uint8_t(size_of(b.type));
    if (!chip_is_a2() && b.type == DType::BF16) fatal("UNSUPPORTED_TYPE", b.at, fmt("Brcb<bfloat16_t> does not exist on %s", chip().name.c_str()), "ReinterpretCast to uint16_t");
    check_place("Brcb", b.at, 0, "dst", b.dst, p.z, b.type, kBlock);
    check_place("Brcb", b.at, 1, "src0", b.src, p.z, b.type, kBlock);
    p.repeats = uint32_t(check_range("Brcb", b.at, "repeatTime", b.repeats, 0, 255, "one repeat spreads 8 elements; split longer rows into several calls"));
    p.blk = check_range("Brcb", b.at, "dstBlkStride", b.dst_blk, 0, 65535, "strides count 32-byte blocks");
    p.rep = check_range("Brcb", b.at, "dstRepStride", b.dst_rep, 0, 65535, "strides count 32-byte blocks");
    if (p.blk == 0) {
        report(Severity::Error, "BAD_PARAMETER", b.at, "Brcb: dstBlkStride 0 writes 8 blocks to one place, which is undefined", "use 1 for contiguous data");
        p.blk = 1;
    }
    p.dst = b.dst.addr;
    p.src = b.src.addr;
    Instr in;
    in.op = "Brcb";
    in.at = b.at;
    in.undef = Undef::Ignore;                                  // one source element stands for a whole block: followed in the body
    if (p.repeats) {
        const uint64_t reach = (uint64_t(p.repeats - 1) * uint64_t(p.rep) + 7 * uint64_t(p.blk) + 1) * kBlock;
        check_apart("Brcb", b.at, b.dst, reach, b.src, uint64_t(p.repeats) * 8 * p.z, "src0",
                    fmt("Brcb makes data %u times as long: give dst its own buffer of %u B", kBlock / p.z, p.repeats * kRepeat).c_str());
        in.add(local(b.src, kRead, 0, p.repeats * 8 * p.z, "src0", p.z));
        Region dst = rows_region(b.dst, kWrite, "dst", p.z, p.repeats, kBlock, int64_t(p.rep) * kBlock);
        dst.n1 = 8;
        dst.s1 = int64_t(p.blk) * kBlock;
        in.add(dst);
        set_cost(in, "Brcb", p.z == 2 ? DType::U16 : DType::U32, p.repeats, uint64_t(p.repeats) * 8);
        in.body = brcb_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" void tw_vec_brcb(const twin::BrcbCall* call) { twin::brcb(*call); }
