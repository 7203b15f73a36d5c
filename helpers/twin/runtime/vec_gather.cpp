// Gather and Gatherb: offsets are bytes behind the start of src.
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct GatherPlan {
    uint32_t dst, offset;
    LocalRef src;
    uint64_t base;
    int32_t dst_blk, dst_rep;             // blocks
    uint32_t lanes, repeats, first, tail; // offsets per repeat
    uint64_t mask[2];
    uint8_t z, unit;                      // bytes of an element; bytes moved per offset
};

[[noreturn]] void bad_offset(const Instr& in, const GatherPlan& p, uint32_t r, uint32_t l, uint32_t offset) {
    const uint64_t at = p.base + offset;
    const std::string where_ = p.repeats > 1 ? fmt("lane %u of repeat %u", l, r) : fmt("lane %u", l);
    const std::string base = p.base ? fmt(" (srcBaseAddr %llu + %u)", (unsigned long long)p.base, offset) : std::string();
    if (at + p.unit > p.src.bytes)
        fatal("OUT_OF_BOUNDS", in.at,
              fmt("%s: offset %llu B%s of %s is past the %u B of src (%s)", in.op, (unsigned long long)at, base.c_str(), where_.c_str(), p.src.bytes, describe(p.src).c_str()),
              "offsets count bytes; clamp the indices, and give padding lanes offset 0 (Duplicate)");
    fatal("MISALIGNED", in.at, p.unit == kBlock ? fmt("Gatherb: offset %llu B of %s is inside a block", (unsigned long long)at, where_.c_str())
                                                : fmt("Gather: offset %llu B%s of %s is inside element %llu", (unsigned long long)at, base.c_str(), where_.c_str(), (unsigned long long)(at / p.z)),
          fmt("%s k starts at byte k * %u", p.unit == kBlock ? "block" : "element", p.unit));
}

// An offset nobody wrote: say so instead of looking at its value.
void check_offset(const Instr& in, const Undefined& unknown, uint64_t at, uint32_t r, uint32_t l) {
    if (!unknown.at(at, 4)) return;
    fatal("UNINITIALISED_READ", in.at, fmt("%s: the offset of lane %u in repeat %u was never written", in.op, l, r), "write every offset, or give padding lanes offset 0 with Duplicate");
}

void gather_run(Core& c, const Instr& in) {
    const GatherPlan& p = in.get<GatherPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const Region& offsets = in.reg[1];
    const Undefined unknown(offsets.addr, offsets.addr + offsets.s0 * (offsets.n0 - 1) + offsets.len), holes(p.src.addr, uint64_t(p.src.addr) + p.src.bytes);
    uint64_t least = ~0ull, most = 0, low = ~0ull, high = 0;
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint32_t n = p.first ? (p.tail && r + 1 == p.repeats ? p.tail : p.first) : p.lanes;
        for (uint32_t l = 0; l < n; ++l) {
            if (!p.first && !lane_on(p.mask, l)) continue;
            const uint64_t from = p.offset + (uint64_t(r) * p.lanes + l) * 4;
            if (unknown.any) check_offset(in, unknown, from, r, l);
            uint32_t o;
            std::memcpy(&o, ub + from, 4);
            const uint64_t at = p.base + o;
            if (at + p.unit > p.src.bytes || at % p.unit) bad_offset(in, p, r, l, o);
            const uint64_t s = p.src.addr + at, per = kBlock / p.unit,
                           d = p.dst + (uint64_t(r) * uint64_t(p.dst_rep) + l / per * uint64_t(p.dst_blk)) * kBlock + l % per * p.unit;
            std::memmove(ub + d, ub + s, p.unit);
            if (holes.any && holes.at(s, p.unit)) mark_undefined(c, Mem::UB, d, d + p.unit);
            least = std::min(least, s); most = std::max(most, s + p.unit);
            low = std::min(low, d); high = std::max(high, d + p.unit);
        }
    }
    if (low < most && least < high && checks_on())
        report(Severity::Error, "OVERLAP", in.at, fmt("%s: dst lies inside the bytes that are read from src", in.op), "give dst its own buffer");
}

void gather(const GatherCall& g) {
    if (!vec_unit_here(g.api, g.at)) return;
    GatherPlan p{};
    p.z = uint8_t(size_of(g.type));
    p.unit = g.blocks ? kBlock : p.z;
    p.lanes = g.blocks ? 8 : kRepeat / p.z;
    VecCall v;
    v.api = g.api;
    v.at = g.at;
    v.type = v.from = g.type;
    v.mask = g.mask;
    v.mask.form = g.blocks ? 2 : g.mask.form;
    if (g.blocks) v.mask.n = 8;
    if (g.blocks && !chip_is_a2()) fatal("UNSUPPORTED_API", g.at, fmt("Gatherb does not exist on %s", chip().name.c_str()), "use Gather");
    core().mask.counter = false;                                               // not driven by the counter
    VecExtent e;
    if (!vec_extent(v, p.lanes, e)) return;
    if (!g.mask.form && !g.blocks && e.total / p.lanes > 255) {
        report(Severity::Error, "BAD_PARAMETER", g.at, fmt("Gather: count %lld is more than 255 repeats of %u elements", (long long)e.total, p.lanes), fmt("split the call after %u elements", 255 * p.lanes));
        return;
    }
    if (g.blocks) { core().mask.lo = core().mask.hi = ~0ull; core().mask.set_at = {}; }
    else if (g.mask.set) leave_mask(e.contiguous && e.total % p.lanes ? uint64_t(e.total % p.lanes) : e.first ? e.first : p.lanes, g.at);
    check_place(g.api, g.at, 0, "dst", g.dst, p.z, g.type, kBlock);
    check_place(g.api, g.at, 1, "src", g.src, p.z, g.type, kBlock);
    check_place(g.api, g.at, 2, "srcOffset", g.offset, 4, DType::U32, kBlock);
    p.dst = g.dst.addr;
    p.src = g.src;
    p.offset = g.offset.addr;
    p.base = g.base;
    p.dst_blk = g.blocks && g.dst_blk == 0 ? 1 : check_range(g.api, g.at, "dstBlkStride", g.dst_blk, 0, 255, "strides count 32-byte blocks");
    p.dst_rep = check_range(g.api, g.at, "dstRepStride", e.contiguous ? 8 : g.dst_rep, 0, 65535, "strides count 32-byte blocks");
    p.repeats = e.repeats;
    p.first = e.first;
    p.tail = e.contiguous ? uint32_t(e.total % p.lanes) : 0;
    p.mask[0] = e.mask[0];
    p.mask[1] = e.mask[1];
    Instr in;
    in.op = g.api;
    in.at = g.at;
    in.undef = Undef::Ignore;                                                  // followed element by element below
    if (e.repeats) {
        Region dst = lanes_region(g.dst, kWrite, "dst", p.z, e, p.lanes, 1, p.dst_rep);
        if (g.blocks) {
            dst = rows_region(g.dst, kWrite, "dst", p.z, e.repeats, kBlock, int64_t(p.dst_rep) * kBlock);
            dst.n1 = 8;
            dst.s1 = int64_t(p.dst_blk) * kBlock;
        }
        in.add(dst);
        in.add(lanes_region(g.offset, kRead, "srcOffset", 4, e, p.lanes, 1, int32_t(p.lanes * 4 / kBlock)));
        in.add(local(g.src, kRead, 0, g.src.bytes, "src", p.z));
        set_cost(in, g.blocks ? "Gatherb" : "Gather", g.type == DType::F16 || g.type == DType::BF16 ? DType::U16 : g.type == DType::F32 ? DType::U32 : g.type, e.repeats,
                 uint64_t(e.total) * (g.blocks ? kBlock / p.z : 1));
        in.body = gather_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_gather(const twin::GatherCall* call) { twin::gather(*call); }
void tw_ub_ref(const void* p, twin::LocalRef* out) {
    *out = {};
    const uint8_t* base = twin::core().base[int(twin::Mem::UB)];
    const uint8_t* q = static_cast<const uint8_t*>(p);
    if (base && q >= base && q < base + twin::capacity(twin::Mem::UB)) tw_ub_at(uint32_t(q - base), out);
}
void tw_ub_at(uint32_t address, twin::LocalRef* out) {
    *out = {};
    if (address >= twin::capacity(twin::Mem::UB)) return;
    out->mem = twin::Mem::UB;
    out->addr = address;
    out->bytes = twin::capacity(twin::Mem::UB) - out->addr;
    const auto& all = twin::buffers();
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i].mem == twin::Mem::UB && all[i].live && out->addr >= all[i].addr && out->addr < all[i].addr + all[i].bytes) {
            out->buf = int32_t(i);
            out->gen = all[i].gen;
            out->bytes = all[i].addr + all[i].bytes - out->addr;
        }
}
}
