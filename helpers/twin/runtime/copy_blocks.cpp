// DataCopy: contiguous and strided, GM <-> UB / L1 and UB -> UB.
#include "copy_check.h"
#include "core_kind.h"
#include "queues.h"
#include "twin/abi_cube.h"

using namespace twin;

namespace twin {

static long long ll(int64_t v) { return static_cast<long long>(v); }

// Bytes of `count` elements that really move; says what stays behind. `name` gives the operand of an argument number:
// names are read from the text, which is too slow for the copies that are all right.
template <class Name> static uint64_t whole_blocks(const char* api, int64_t count, DType t, Name name, const CopyCall* gm, At at) {
    if (count < 0 || count > 0xffffffffll)
        fatal("BAD_PARAMETER", at, fmt("%s: count=%lld does not fit an unsigned 32-bit number of elements", api, ll(count)),
              "a count below zero usually comes from total - offset; check the last tile");
    const uint64_t bits = t == DType::I4 ? 4 : 8ull * size_of(t);
    const uint64_t bytes = static_cast<uint64_t>(count) * bits / 8, whole = bytes / kBlock * kBlock;
    if (whole != bytes && checks_on()) {
        const std::string to = name(0), from = name(1);
        const uint64_t lost = (bytes - whole) * 8 / bits;
        std::string message = fmt("DataCopy moves whole 32 B blocks: %s are %lld B, %lld B reach %s and the last %lld element%s of %s stay%s behind", count_of(count, t).c_str(),
                                  ll(static_cast<int64_t>(bytes)), ll(static_cast<int64_t>(whole)), to.c_str(), ll(static_cast<int64_t>(lost)), lost == 1 ? "" : "s",
                                  from.c_str(), lost == 1 ? "s" : "");
        std::string hint;
        if (!gm) hint = fmt("copy a multiple of %lld elements: both buffers are padded to 32 B anyway", ll(static_cast<int64_t>(kBlock * 8 / bits)));
        else if (!chip_is_a2()) hint = "this chip has no DataCopyPad: pad the rows on the host, or let tiles end on 32 B";
        else if (gm->store) {
            hint = fmt("DataCopyPad(%s, %s, {1, %lld, 0, 0, 0}) moves exactly %lld bytes; its blockLen is in bytes", to.c_str(), from.c_str(),
                       ll(static_cast<int64_t>(bytes)), ll(static_cast<int64_t>(bytes)));
            if (const At load = tail_load(); load.line) message += fmt(". The load of line %d handled the tail with DataCopyPad, this store does not", load.line);
        } else {
            hint = fmt("DataCopyPad(%s, %s, {1, %lld, 0, 0, 0}, {false, 0, 0, 0}) moves exactly %lld bytes; its blockLen is in bytes", to.c_str(), from.c_str(),
                       ll(static_cast<int64_t>(bytes)), ll(static_cast<int64_t>(bytes)));
        }
        report(Severity::Error, "TAIL_DROPPED", at, message, hint);
    }
    return whole;
}

static void copy_count(const CopyCall& c, int64_t count) {
    if (!copy_begin(c)) return;
    const uint64_t bytes = whole_blocks(c.api, count, c.type, [&](int i) { return c.store == (i == 1) ? c.local_name() : c.global_name(); }, &c, c.at);
    gm_check(c.global, 0, bytes, c.at, c.api, c.global_role());
    if (!bytes) return;
    CopyRows r;
    r.len = static_cast<uint32_t>(bytes);
    issue_rows(c, r);
}

// A tensor that is too short for blockLen blocks but long enough for blockLen bytes: the unit was mistaken.
template <class Name> static void check_block_unit(const char* api, const CopyBlocks& p, Name operand, const SideExtent& s, At at) {
    const uint64_t extent = s.end, room = s.room;
    if (extent <= room) return;
    const std::string name = operand();
    const uint64_t as_bytes = static_cast<uint64_t>(p.block_count * p.block_len);
    if (p.block_len >= kBlock && as_bytes <= room)
        fatal("OUT_OF_BOUNDS", at,
              fmt("%s: blockLen=%lld means %lld blocks of 32 B, %lld B in all; %s has %lld B", api, ll(p.block_len), ll(p.block_len), ll(p.block_count * p.block_len * kBlock),
                  name.c_str(), ll(static_cast<int64_t>(room))),
              fmt("DataCopy counts blockLen in 32 B blocks: %lld bytes are %lld blocks. DataCopyPad counts it in bytes", ll(p.block_len), ll(p.block_len / kBlock)));
    const std::string why = stride_confusion(s, "32 B blocks");
    if (!why.empty())
        fatal("OUT_OF_BOUNDS", at, fmt("%s needs %lld B of %s, which has %lld B", api, ll(static_cast<int64_t>(extent)), name.c_str(), ll(static_cast<int64_t>(room))), why);
}

static SideExtent side(const char* name, int64_t stride, const CopyBlocks& p, uint64_t room) {
    const uint64_t row = static_cast<uint64_t>(p.block_len) * kBlock, rows = static_cast<uint64_t>(p.block_count);
    return {name, stride, kBlock, row, rows, (rows - 1) * (row + static_cast<uint64_t>(stride) * kBlock) + row, room};
}

static constexpr BlockLimits kLimits{4095, 65535, 65535, 65535};

static void copy_blocks(const CopyCall& c, const CopyBlocks& p) {
    if (!copy_begin(c)) return;
    check_fields(c.api, p, kLimits, "32 B blocks", c.at);
    if (!p.block_count || !p.block_len) return;
    const int64_t local_gap = c.store ? p.src_stride : p.dst_stride, global_gap = c.store ? p.dst_stride : p.src_stride;
    const SideExtent l = side(c.store ? "srcStride" : "dstStride", local_gap, p, c.local.bytes);
    const SideExtent g = side(c.store ? "dstStride" : "srcStride", global_gap, p, c.global_room());
    check_block_unit(c.api, p, [&] { return c.local_name(); }, l, c.at);
    check_global_extent(c, g, "32 B blocks");
    gm_check(c.global, 0, g.end, c.at, c.api, c.global_role());
    if (checks_on()) check_pitch(c, p, g.row, static_cast<uint64_t>(global_gap) * kBlock, g.rows);
    CopyRows r;
    r.rows = static_cast<uint32_t>(p.block_count);
    r.len = static_cast<uint32_t>(l.row);
    r.local_pitch = static_cast<int64_t>(l.row) + local_gap * kBlock;
    r.global_pitch = static_cast<int64_t>(g.row) + global_gap * kBlock;
    issue_rows(c, r);
}

// ===== UB -> UB
static void copy_local(const LocalRef& dst, const LocalRef& src, DType t, uint32_t rows, uint32_t len, int64_t dst_pitch, int64_t src_pitch, At at) {
    if (dst.mem == Mem::UB && src.mem == Mem::UB) {
        // rows that do not meet exactly and still share bytes: the order of reads and writes inside one instruction is open
        const uint64_t d1 = dst.addr + (rows - 1) * static_cast<uint64_t>(dst_pitch) + len, s1 = src.addr + (rows - 1) * static_cast<uint64_t>(src_pitch) + len;
        if (checks_on() && dst.addr < s1 && src.addr < d1 && !(dst.addr == src.addr && dst_pitch == src_pitch)) {
            bool meet = rows == 1 || dst_pitch != src_pitch;
            const int64_t apart = static_cast<int64_t>(dst.addr) - static_cast<int64_t>(src.addr), phase = dst_pitch ? ((apart % dst_pitch) + dst_pitch) % dst_pitch : 0;
            if (!meet) meet = phase < len || dst_pitch - phase < len;
            if (meet)
                report(Severity::Error, "OVERLAP", at,
                       fmt("DataCopy: %s and %s overlap in part; the order inside one copy is not defined", operand_name("DataCopy", at, 0, dst).c_str(),
                           operand_name("DataCopy", at, 1, src).c_str()),
                       "copy to a separate buffer, or move the data in steps that do not overlap");
        }
    }
    Instr in;
    in.op = "DataCopy";
    in.pipe = Pipe::V;
    in.at = at;
    in.any_core = !chip_is_a2();
    const VecCost cost = vec_cost("Copy", size_of(t) == 2 ? "b16" : "b32");
    in.head = cost.head;
    in.slope = cost.slope;
    in.repeats = static_cast<uint32_t>((static_cast<uint64_t>(rows) * len + kRepeat - 1) / kRepeat);
    in.elements = static_cast<uint64_t>(rows) * len / size_of(t);
    Region s = local(src, kRead, 0, len, "src", static_cast<uint8_t>(size_of(t))), d = local(dst, kWrite, 0, len, "dst", static_cast<uint8_t>(size_of(t)));
    s.n0 = d.n0 = rows;
    s.s0 = src_pitch;
    d.s0 = dst_pitch;
    in.add(s);
    in.add(d);
    in.put(RowMove{d.addr, s.addr, dst_pitch, src_pitch, rows, len, Mem::UB, Mem::UB, Atomic::None, t});
    in.body = move_rows;
    issue(in);
}

static bool local_begin(const LocalRef& dst, const LocalRef& src, DType t, At at) {
    const bool in_ub = dst.mem == Mem::UB && src.mem == Mem::UB, nowhere = dst.mem == Mem::N && src.mem == Mem::N;
    if (!nowhere && belongs_elsewhere(dst.mem == Mem::UB || src.mem == Mem::UB ? CoreKind::AIV : CoreKind::AIC, "DataCopy", at)) return false;
    for (int i = 0; i < 2; ++i)
        if ((i ? src : dst).mem == Mem::N)
            fatal("OUT_OF_BOUNDS", at, fmt("DataCopy: %s is a LocalTensor that was never assigned", operand_name("DataCopy", at, i, i ? src : dst).c_str()),
                  "take it from AllocTensor, DeQue or TBuf::Get first");
    if (!in_ub)
        fatal("UNSUPPORTED_API", at, fmt("DataCopy from %s (%s) to %s (%s) is not modelled", operand_name("DataCopy", at, 1, src).c_str(), memory_name(src.mem), operand_name("DataCopy", at, 0, dst).c_str(), memory_name(dst.mem)),
              "modelled paths: GM <-> UB, GM <-> L1, UB -> UB, L1 -> bias table and fixpipe buffer; L1 -> L0 is LoadData, L0C leaves with Fixpipe");
    if (!size_of(t) || t == DType::I4) fatal("UNSUPPORTED_TYPE", at, fmt("DataCopy inside UB does not take %s", type_name(t)), "ReinterpretCast both tensors to int8_t");
    if (checks_on()) {
        check_local_alignment("DataCopy", dst, t, 0, at);
        check_local_alignment("DataCopy", src, t, 1, at);
    }
    return true;
}

// The bias table and the fixpipe buffer count their blocks in other units.
static bool to_table(const LocalRef& dst) { return dst.mem == Mem::BT || dst.mem == Mem::FB; }

}  // namespace twin

extern "C" {

void tw_copy_in_count(const LocalRef* dst, const GlobalRef* src, DType t, int64_t count, At at) { copy_count({"DataCopy", at, t, *dst, *src, false}, count); }
void tw_copy_out_count(const GlobalRef* dst, const LocalRef* src, DType t, int64_t count, At at) { copy_count({"DataCopy", at, t, *src, *dst, true}, count); }
void tw_copy_in_blocks(const LocalRef* dst, const GlobalRef* src, DType t, const CopyBlocks* p, At at) { copy_blocks({"DataCopy", at, t, *dst, *src, false}, *p); }
void tw_copy_out_blocks(const GlobalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) { copy_blocks({"DataCopy", at, t, *src, *dst, true}, *p); }

void tw_copy_local_count(const LocalRef* dst, const LocalRef* src, DType t, int64_t count, At at) {
    if (to_table(*dst)) { tw_copy_to_table(dst, src, t, t, count, 0, 0, 0, 0, at); return; }
    if (!local_begin(*dst, *src, t, at)) return;
    const uint64_t bytes = whole_blocks("DataCopy", count, t, [&](int i) { return operand_name("DataCopy", at, i, i ? *src : *dst); }, nullptr, at);
    if (bytes) copy_local(*dst, *src, t, 1, static_cast<uint32_t>(bytes), 0, 0, at);
}

void tw_copy_local_blocks(const LocalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) {
    if (to_table(*dst)) { tw_copy_to_table(dst, src, t, t, -1, p->block_count, p->block_len, p->src_stride, p->dst_stride, at); return; }
    if (!local_begin(*dst, *src, t, at)) return;
    check_fields("DataCopy", *p, kLimits, "32 B blocks", at);
    if (!p->block_count || !p->block_len) return;
    const SideExtent d = side("dstStride", p->dst_stride, *p, dst->bytes), s = side("srcStride", p->src_stride, *p, src->bytes);
    check_block_unit("DataCopy", *p, [&] { return operand_name("DataCopy", at, 0, *dst); }, d, at);
    check_block_unit("DataCopy", *p, [&] { return operand_name("DataCopy", at, 1, *src); }, s, at);
    copy_local(*dst, *src, t, static_cast<uint32_t>(p->block_count), static_cast<uint32_t>(d.row), static_cast<int64_t>(d.row) + p->dst_stride * kBlock,
               static_cast<int64_t>(s.row) + p->src_stride * kBlock, at);
}

void tw_copy_no_path(const char* text, At at) { fatal("UNSUPPORTED_API", at, text); }

}  // extern "C"
