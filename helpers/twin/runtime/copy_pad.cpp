// DataCopyPad: rows of any byte length. In UB every row starts on a 32 B boundary.
#include "copy_check.h"

#include <cstring>

using namespace twin;

namespace twin {

static long long ll(uint64_t v) { return static_cast<long long>(v); }
static uint64_t align_up(uint64_t v) { return (v + kBlock - 1) / kBlock * kBlock; }

enum class PadFill : uint8_t { Value, First, Undefined };
constexpr uint8_t kPoison = 0xCD;   // what nobody asked for must not look like a result

struct PadMove {
    uint64_t dst, src, value;
    int64_t dst_pitch, src_pitch;
    uint32_t rows, len, left, right, width;
    uint32_t size;
    Mem mem;
    PadFill fill;
};

static void fill_elements(uint8_t* p, uint32_t bytes, uint64_t value, uint32_t size) {
    uint32_t i = 0;
    for (; i + size <= bytes; i += size) std::memcpy(p + i, &value, size);
    std::memcpy(p + i, &value, bytes - i);
}

static void move_padded(Core& c, const Instr& in) {
    const PadMove& m = in.get<PadMove>();
    uint8_t* dst = c.at(m.mem, m.dst);
    const uint8_t* src = c.at(Mem::GM, m.src);
    for (uint32_t b = 0; b < m.rows; ++b, dst += m.dst_pitch, src += m.src_pitch) {
        uint8_t* tail = dst + m.left + m.len;
        const uint32_t rest = m.width - m.left - m.len;
        if (m.fill == PadFill::Undefined) {
            std::memset(dst, kPoison, m.left);
            std::memset(tail, kPoison, rest);
        } else {
            uint64_t value = m.value;
            if (m.fill == PadFill::First) std::memcpy(&value, src, m.size < m.len ? m.size : m.len);
            fill_elements(dst, m.left, value, m.size);
            fill_elements(tail, rest, value, m.size);
        }
        std::memcpy(dst + m.left, src, m.len);
    }
}

// ===== Checks
static bool begin(const CopyCall& c) {
    if (!copy_begin(c)) return false;
    if (!chip_is_a2())
        fatal("UNSUPPORTED_API", c.at, fmt("DataCopyPad does not exist on %s", chip().name.c_str()),
              c.store ? "store whole 32 B blocks with DataCopy: pad the rows on the host, or accumulate into zeroed memory with SetAtomicAdd"
                      : "load whole 32 B blocks with DataCopy and use the real count afterwards");
    return true;
}

static void check_length(const CopyCall& c, const CopyBlocks& p) {
    if (!checks_on()) return;
    if (p.block_len % c.size)
        report(Severity::Error, "BAD_PARAMETER", c.at,
               fmt("DataCopyPad: blockLen=%lld B is not a whole number of %s (%u B each)", static_cast<long long>(p.block_len), type_name(c.type), c.size),
               fmt("blockLen is in bytes: elements * %u", c.size));
    // Elements given as bytes: the copy would fill the tensor exactly if blockLen counted elements, and the text names no unit.
    if (c.size > 1 && p.block_count == 1 && p.block_len && static_cast<uint64_t>(p.block_len) * c.size == c.local.bytes) {
        const std::string text = source_line(p.at) + source_line(c.at);
        const bool braces = source_line(p.at).find('{') != std::string::npos;
        auto has = [&](const char* w) { return text.find(w) != std::string::npos; };
        if (braces && !has("sizeof") && !has("yte") && !has("BYTE") && !has("*"))
            report(Severity::Warning, "BAD_PARAMETER", c.at,
                   fmt("DataCopyPad: blockLen=%lld is in bytes and moves %lld of the %lld %s of %s", static_cast<long long>(p.block_len), ll(static_cast<uint64_t>(p.block_len) / c.size),
                       ll(c.local.bytes / c.size), type_name(c.type), c.local_name().c_str()),
                   fmt("to move %lld elements write blockLen = %lld * sizeof(%s)", static_cast<long long>(p.block_len), static_cast<long long>(p.block_len), type_name(c.type)));
    }
}

static void check_padding(const CopyCall& c, const CopyPad& q) {
    for (int i = 0; i < 2; ++i) {
        const int64_t n = i ? q.right : q.left;
        const char* name = i ? "rightPadding" : "leftPadding";
        if (n < 0 || n * c.size > kBlock)
            fatal("BAD_PARAMETER", c.at, fmt("DataCopyPad: %s=%s = %lld B; the limit is 32 B a side (%u elements)", name, count_of(n, c.type).c_str(),
                                             static_cast<long long>(n * c.size), kBlock / c.size),
                  "padding counts elements and only fills a row up to the next blocks; Duplicate the buffer first if you need more");
    }
    const uint64_t mask = c.size >= 8 ? ~0ull : (1ull << (8 * c.size)) - 1;
    if (c.size == 8 && q.is_pad && q.value)
        fatal("BAD_PARAMETER", c.at, fmt("DataCopyPad: with 64-bit elements the padding value can only be 0 (given: bits 0x%llx)", ll(q.value)),
              "Duplicate the buffer first, or view the data as pairs of 32-bit elements");
    if (!q.raw_value || !q.is_pad) return;
    const int64_t s = static_cast<int64_t>(q.value);
    const bool sign = s < 0 && c.size < 8 && s >= -(1ll << (8 * c.size - 1));
    if ((q.value & ~mask) && !sign)
        fatal("BAD_PARAMETER", c.at, fmt("DataCopyPad: paddingValue 0x%llx does not fit %s", ll(q.value), type_name(c.type)), "DataCopyPadExtParams<T> takes the value as an element");
    const bool floating = c.type == DType::F16 || c.type == DType::BF16 || c.type == DType::F32;
    if (checks_on() && floating && q.value && q.value < 1024)
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("DataCopyPad: the old DataCopyPadParams takes the bits of the value: 0x%llx is not %lld as %s", ll(q.value), ll(q.value), type_name(c.type)),
               "DataCopyPadExtParams<T> takes the value as an element");
}

// Rows that would fit if they were packed, or a stride in the wrong unit.
static void check_ub_extent(const CopyCall& c, const SideExtent& s, uint64_t packed_row) {
    if (s.end <= s.room) return;
    const std::string reach = fmt("DataCopyPad needs %lld B of %s, which has %lld B", ll(s.end), c.local_name().c_str(), ll(s.room));
    const std::string why = stride_confusion(s, "32 B blocks");
    if (!why.empty()) fatal("OUT_OF_BOUNDS", c.at, reach, why);
    if (packed_row != s.row && s.rows * packed_row <= s.room)
        fatal("OUT_OF_BOUNDS", c.at, fmt("%s: in UB every row starts on a 32 B boundary, so row 1 is at element %lld, not %lld", reach.c_str(), ll(s.row / c.size), ll(packed_row / c.size)),
              fmt("%lld rows of %lld B take %lld B each: InitBuffer with at least %lld B and index rows with a pitch of %lld elements", ll(s.rows), ll(packed_row), ll(s.row), ll(align_up(s.end)),
                  ll(s.row / c.size)));
}

static BlockLimits limits(const CopyBlocks& p) {
    return p.ext ? BlockLimits{4095, 2097151, 0x7fffffffll, 0x7fffffffll} : BlockLimits{4095, 65535, 65535, 65535};
}

static void pad_in(const CopyCall& c, const CopyBlocks& p, const CopyPad& q) {
    if (!begin(c)) return;
    check_fields(c.api, p, limits(p), "bytes", c.at);
    check_padding(c, q);
    if (!p.block_count || !p.block_len) return;
    check_length(c, p);
    const DmaState& d = core().dma;
    const uint64_t len = static_cast<uint64_t>(p.block_len), rows = static_cast<uint64_t>(p.block_count);
    const uint64_t left = static_cast<uint64_t>(q.left) * c.size, right = static_cast<uint64_t>(q.right) * c.size, width = align_up(left + len + right);
    CopyRows r;
    r.rows = static_cast<uint32_t>(rows);
    r.len = static_cast<uint32_t>(len);
    r.local_pitch = static_cast<int64_t>(width) + p.dst_stride * kBlock;
    r.global_pitch = p.block_len + p.src_stride;
    r.ragged = len % kBlock != 0;
    r.padded = true;
    const SideExtent l{"dstStride", p.dst_stride, kBlock, width, rows, (rows - 1) * static_cast<uint64_t>(r.local_pitch) + width, c.local.bytes};
    const SideExtent g{"srcStride", p.src_stride, 1, len, rows, (rows - 1) * static_cast<uint64_t>(r.global_pitch) + len, c.global_room()};
    check_ub_extent(c, l, len);
    check_global_extent(c, g, "bytes");
    gm_check(c.global, 0, g.end, c.at, c.api, "src");

    Instr in;
    fill_copy(in, c, r);
    in.add(global_rows(c, r));
    const bool asked = left || right;                                // padding the learner asked for
    PadFill fill = q.is_pad ? PadFill::Value : asked ? PadFill::Undefined : PadFill::First;
    if (!q.is_pad && d.pad_set) fill = PadFill::Value;
    const bool user_data = q.is_pad || (asked && d.pad_set);
    in.add(local_rows(c, r, left, r.len, kWrite));
    if (left) {
        in.add(local_rows(c, r, 0, static_cast<uint32_t>(left), kWrite));
        in.reg[in.nreg - 1].pad_value = !user_data;
    }
    if (width > left + len) {
        in.add(local_rows(c, r, left + len, static_cast<uint32_t>(width - left - len), kWrite));
        in.reg[in.nreg - 1].pad_value = !user_data;
    }
    in.put(PadMove{c.local.addr, reinterpret_cast<uint64_t>(c.global.ptr), q.is_pad ? q.value : d.pad_value, r.local_pitch, r.global_pitch, r.rows, r.len,
                   static_cast<uint32_t>(left), static_cast<uint32_t>(right), static_cast<uint32_t>(width), c.size, c.local.mem, fill});
    in.body = move_padded;
    in.detached = true;
    if (width == len && (rows == 1 || (r.local_pitch == int64_t(len) && r.global_pitch == int64_t(len)))) in.shape = Instr::PlainLoad;
    if (checks_on()) {
        check_pitch(c, p, len, static_cast<uint64_t>(p.src_stride), rows);
        note_copy(c, r);
        note_padded_rows(c, r.rows, r.len, static_cast<uint32_t>(r.local_pitch));
    }
    issue(in);
}

static void pad_out(const CopyCall& c, const CopyBlocks& p) {
    if (!begin(c)) return;
    check_fields(c.api, p, limits(p), "bytes", c.at);
    if (!p.block_count || !p.block_len) return;
    check_length(c, p);
    const uint64_t len = static_cast<uint64_t>(p.block_len), rows = static_cast<uint64_t>(p.block_count), width = align_up(len);
    CopyRows r;
    r.rows = static_cast<uint32_t>(rows);
    r.len = static_cast<uint32_t>(len);
    r.local_pitch = static_cast<int64_t>(width) + p.src_stride * kBlock;
    r.global_pitch = p.block_len + p.dst_stride;
    r.ragged = len % kBlock != 0;
    r.padded = true;
    const SideExtent l{"srcStride", p.src_stride, kBlock, width, rows, (rows - 1) * static_cast<uint64_t>(r.local_pitch) + len, c.local.bytes};
    const SideExtent g{"dstStride", p.dst_stride, 1, len, rows, (rows - 1) * static_cast<uint64_t>(r.global_pitch) + len, c.global_room()};
    check_ub_extent(c, l, len);
    check_global_extent(c, g, "bytes");
    gm_check(c.global, 0, g.end, c.at, c.api, "dst");
    if (checks_on()) check_pitch(c, p, len, static_cast<uint64_t>(p.dst_stride), rows);
    issue_rows(c, r);
}

}  // namespace twin

extern "C" {

void tw_copy_pad_in(const LocalRef* dst, const GlobalRef* src, DType t, const CopyBlocks* p, const CopyPad* pad, At at) {
    static const CopyPad none{};
    pad_in({"DataCopyPad", at, t, *dst, *src, false}, *p, pad ? *pad : none);
}

void tw_copy_pad_out(const GlobalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) { pad_out({"DataCopyPad", at, t, *src, *dst, true}, *p); }

void tw_set_pad_value(uint64_t bits, DType t, At at) {
    charge(1, at);
    if (!on(CoreKind::AIV) && chip_is_a2()) return;
    if (!chip_is_a2()) fatal("UNSUPPORTED_API", at, fmt("SetPadValue belongs to DataCopyPad, which does not exist on %s", chip().name.c_str()), "fill the buffer with Duplicate before the copy");
    if (size_of(t) == 8 && bits) fatal("BAD_PARAMETER", at, "SetPadValue: with 64-bit elements the padding value can only be 0", "Duplicate the buffer first");
    DmaState& d = core().dma;
    d.pad_set = true;
    d.pad_value = bits;
}

}  // extern "C"
