// L1 to the bias table and to the fixpipe buffer.
#include "copy_core.h"
#include "cube_core.h"
#include "cube_load.h"
#include "vec_half.h"

namespace twin {

struct TableMove { uint32_t dst, src, rows, len; int64_t dst_pitch, src_pitch; Mem mem; uint8_t widen; };

static void move_table(Core& c, const Instr& in) {
    const TableMove& p = in.get<TableMove>();
    uint8_t* dst = c.at(p.mem, p.dst);
    const uint8_t* src = c.at(Mem::L1, p.src);
    for (uint32_t r = 0; r < p.rows; ++r, dst += p.dst_pitch, src += p.src_pitch) {
        if (!p.widen) { std::memcpy(dst, src, p.len); continue; }
        for (uint32_t i = 0; i < p.len / 2; ++i) {
            uint16_t h;
            std::memcpy(&h, src + 2 * i, 2);
            const float f = half_value(h);
            std::memcpy(dst + 4 * i, &f, 4);
        }
    }
}

static void to_table(const LocalRef& dst, const LocalRef& src, DType to, DType from, int64_t count, int64_t blocks, int64_t len, int64_t src_gap, int64_t dst_gap, At at) {
    if (!cube_begin("DataCopy", at)) return;
    cube_memory("DataCopy", at, dst, "dst", {Mem::BT, Mem::FB}, "the bias table or the fixpipe buffer: other copies do not convert half to float");
    cube_memory("DataCopy", at, src, "src", {Mem::L1}, "L1 (TPosition::C1)");
    const bool bias = dst.mem == Mem::BT;
    const int64_t unit = bias ? 64 : 128;
    if (bias ? to != DType::F32 && to != DType::I32 : size_of(to) != 8)
        fatal("UNSUPPORTED_TYPE", at, fmt("DataCopy to %s does not take %s", memory_name(dst.mem), type_name(to)), bias ? "the bias is float or int32_t (half is converted)" : "the fixpipe buffer holds uint64_t words");
    cube_alignment("DataCopy", at, dst, "dst", uint32_t(unit));
    cube_alignment("DataCopy", at, src, "src", kBlock);
    TableMove p{dst.addr, src.addr, 1, 0, 0, 0, dst.mem, uint8_t(to != from)};
    const int64_t wider = p.widen ? 2 : 1;
    if (count >= 0) {
        const int64_t bytes = count * int64_t(size_of(from)), whole = bytes / kBlock * kBlock;
        if (whole != bytes && checks_on())
            report(Severity::Error, "TAIL_DROPPED", at, fmt("DataCopy moves whole 32 B blocks: the last %lld B of %lld elements stay behind", (long long)(bytes - whole), (long long)count), "copy a multiple of 32 B: the table is padded anyway");
        p.len = uint32_t(whole);
    } else {
        cube_fields("DataCopy", at, {{"blockCount", blocks, 0, 4095}, {"blockLen", len, 0, 65535}, {"srcStride", src_gap, 0, 65535}, {"dstStride", dst_gap, 0, 65535}}, "the table is small: one block is enough");
        if (checks_on() && blocks > 1 && !dst_gap && !bias)
            report(Severity::Warning, "BAD_PARAMETER", at, "DataCopy to the fixpipe buffer: strides count from start to start there, and dstStride=0 overwrites the first block", "use blockCount 1");
        p.rows = uint32_t(blocks);
        p.len = uint32_t(len * unit);
        // documented from the end of a block for the bias table, from its start for the fixpipe buffer
        p.src_pitch = src_gap * kBlock + (bias ? p.len : 0);
        p.dst_pitch = dst_gap * unit + (bias ? p.len * wider : 0);
    }
    if (!p.rows || !p.len) return;
    const uint64_t end = dst.addr + uint64_t(p.rows - 1) * uint64_t(p.dst_pitch) + uint64_t(p.len * wider);
    if (end > capacity(dst.mem))
        fatal("UB_OVERFLOW", at, fmt("DataCopy ends at byte %llu of %s, which has %u B", (unsigned long long)end, memory_name(dst.mem), capacity(dst.mem)), bias ? "a base block has at most 256 bias values: use a smaller baseN" : "stage the scales in parts");
    Instr in;
    cube_instr(in, "DataCopy", at, bias ? Pipe::MTE1 : Pipe::FIX);
    in.slope = load_cycles(dst, uint64_t(p.rows) * p.len);
    in.repeats = 1;
    in.elements = uint64_t(p.rows) * p.len / size_of(from);
    Region s = local(src, kRead, 0, p.len, "src", uint8_t(size_of(from))), d = local(dst, kWrite, 0, uint32_t(p.len * wider), "dst", uint8_t(size_of(to)));
    s.n0 = d.n0 = p.rows;
    s.s0 = p.src_pitch;
    d.s0 = p.dst_pitch;
    in.add(s);
    in.add(d);
    in.put(p);
    in.body = move_table;
    issue(in);
}

}  // namespace twin

using namespace twin;

extern "C" void tw_copy_to_table(const LocalRef* dst, const LocalRef* src, DType to, DType from, int64_t count, int64_t blocks, int64_t len, int64_t src_gap, int64_t dst_gap, At at) {
    to_table(*dst, *src, to, from, count, blocks, len, src_gap, dst_gap, at);
}
