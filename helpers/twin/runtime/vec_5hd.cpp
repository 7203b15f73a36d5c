// TransDataTo5HD: sixteen source blocks become sixteen destination blocks, transposed.
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct BlocksPlan { uint32_t dst[16], src[16], repeats, dst_step, src_step; uint8_t z, dst_high, src_high; };

void blocks_run(Core& c, const Instr& in) {
    const BlocksPlan& p = in.get<BlocksPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    uint64_t lo = ~0ull, hi = 0;
    for (uint32_t s : p.src) { lo = std::min<uint64_t>(lo, s); hi = std::max<uint64_t>(hi, s + uint64_t(p.repeats - 1) * p.src_step + kBlock); }
    const Undefined holes(lo, hi);
    const uint32_t n = p.z == 4 ? 8 : 16;
    for (uint32_t r = 0; r < p.repeats; ++r) {
        uint8_t block[16][kBlock];
        for (int k = 0; k < 16; ++k) std::memcpy(block[k], ub + p.src[k] + uint64_t(r) * p.src_step, kBlock);
        auto move = [&](uint32_t to, uint32_t to_element, uint32_t from, uint32_t from_element) {
            const uint64_t d = p.dst[to] + uint64_t(r) * p.dst_step + to_element * p.z, s = p.src[from] + uint64_t(r) * p.src_step + from_element * p.z;
            std::memcpy(ub + d, block[from] + from_element * p.z, p.z);
            if (holes.any && holes.at(s, p.z)) mark_undefined(c, Mem::UB, d, d + p.z);
        };
        for (uint32_t i = 0; i < n; ++i)
            for (uint32_t j = 0; j < n; ++j) {
                if (p.z == 2) move(i, j, j, i);
                if (p.z == 1) move(i, p.dst_high * 16u + j, j, p.src_high * 16u + i);
                if (p.z == 4) { move(2 * i, j, j, i); move(2 * i + 1, j, j + 8, i); }
            }
    }
}

// One region when the blocks are evenly spaced, else sixteen.
void add_blocks(Instr& in, const LocalRef (&list)[16], uint8_t rw, uint32_t repeats, uint32_t step, uint32_t offset, uint32_t bytes, uint8_t z, const char* name) {
    const int64_t gap = int64_t(list[1].addr) - list[0].addr;
    bool even = gap > 0;
    for (int i = 1; i < 16; ++i) even &= int64_t(list[i].addr) - list[i - 1].addr == gap && list[i].buf == list[0].buf && list[i].gen == list[0].gen && list[i].mem == list[0].mem;
    LocalRef whole = list[0];
    whole.bytes = std::max<uint32_t>(list[0].bytes, list[15].addr + list[15].bytes - list[0].addr);
    for (int i = 0; i < (even ? 1 : 16); ++i) {
        Region r = rows_region(even ? whole : list[i], rw, name, z, repeats, bytes, step);
        r.addr += offset;
        if (even) { r.n1 = 16; r.s1 = gap; }
        in.add(r);
    }
}

void trans_5hd(const Trans5HDCall& call) {
    if (!vec_unit_here("TransDataTo5HD", call.at)) return;
    Trans5HDCall t = call;
    const uint32_t z = size_of(t.type);
    BlocksPlan p{};
    p.z = uint8_t(z);
    p.dst_high = z == 1 && t.dst_high;
    p.src_high = z == 1 && t.src_high;
    p.repeats = uint32_t(check_range("TransDataTo5HD", t.at, "repeatTimes", t.repeats, 0, 255, "split the call"));
    p.dst_step = uint32_t(check_range("TransDataTo5HD", t.at, "dstRepStride", t.dst_rep, 0, 65535, "strides count 32-byte blocks")) * kBlock;
    p.src_step = uint32_t(check_range("TransDataTo5HD", t.at, "srcRepStride", t.src_rep, 0, 65535, "strides count 32-byte blocks")) * kBlock;
    Instr in;
    in.op = "TransDataTo5HD";
    in.at = t.at;
    in.undef = Undef::Ignore;
    if (p.repeats == 0) { in.any_core = true; issue(in); return; }
    if (p.repeats == 1 && (p.dst_step || p.src_step)) {
        report(Severity::Warning, "BAD_PARAMETER", t.at, fmt("TransDataTo5HD: repeatTimes is 1, and strides %lld and %lld shift the start of dst and src", (long long)t.dst_rep, (long long)t.src_rep),
               "with repeatTimes 1 both strides have to be 0");
        for (LocalRef* list : {t.dst, t.src})
            for (int i = 0; i < 16; ++i) {
                const uint32_t shift = list == t.dst ? p.dst_step : p.src_step;
                list[i].addr += shift;
                list[i].bytes = list[i].bytes > shift ? list[i].bytes - shift : 0;
            }
    }
    for (int i = 0; i < 16; ++i) {
        check_place("TransDataTo5HD", t.at, 0, fmt("dst block %d", i).c_str(), t.dst[i], z, t.type, kBlock);
        check_place("TransDataTo5HD", t.at, 1, fmt("src block %d", i).c_str(), t.src[i], z, t.type, kBlock);
        p.dst[i] = t.dst[i].addr;
        p.src[i] = t.src[i].addr;
        for (int k = 0; k < i; ++k)
            if (checks_on() && p.dst[k] == p.dst[i])
                report(Severity::Error, "OVERLAP", t.at, fmt("TransDataTo5HD: dst blocks %d and %d have the same address", k, i), "give each of the 16 rows its own block");
    }
    const uint32_t half = z == 1 ? 16 : kBlock;
    add_blocks(in, t.src, kRead, p.repeats, p.src_step, p.src_high ? 16 : 0, half, uint8_t(z), "src");
    add_blocks(in, t.dst, kWrite, p.repeats, p.dst_step, p.dst_high ? 16 : 0, half, uint8_t(z), "dst");
    set_cost(in, "TransDataTo5HD", t.type, 2 * p.repeats, uint64_t(p.repeats) * (z == 1 ? 256 : 512 / z));
    in.body = blocks_run;
    in.put(p);
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_vec_5hd(const twin::Trans5HDCall* call) { twin::trans_5hd(*call); }
void tw_vec_5hd_list(const twin::LocalRef* tensor, twin::LocalRef* list, twin::At at) {
    if (!twin::vec_unit_here()) return;
    for (int i = 0; i < 16; ++i) {
        uint64_t address;
        std::memcpy(&address, twin::scalar_access(*tensor, uint64_t(i) * 8, 8, false, at, "TransDataTo5HD"), 8);
        tw_ub_at(address > UINT32_MAX ? UINT32_MAX : uint32_t(address), &list[i]);
    }
}
}
