// Ranges of copy parameters, and the two classic confusions: pitch for gap, bytes for blocks.
#include "copy_check.h"

#include <cstring>

namespace twin {

static void check_field(const char* api, const char* name, int64_t v, int64_t max, const CopyBlocks& p, const std::string& hint, At at) {
    if (v >= 0 && v <= max) return;
    const std::string place = p.at.line && p.at.line != at.line ? fmt(" (parameters of line %d)", p.at.line) : "";
    const int64_t field = p.ext && std::strcmp(name, "blockCount") ? 0xffffffffll : 0xffffll;
    if (v < 0)
        fatal("BAD_PARAMETER", at, fmt("%s: %s=%lld is negative%s; the field is unsigned", api, name, static_cast<long long>(v), place.c_str()),
              "a stride is the hole between two blocks, pitch - length; rows cannot overlap or run backwards");
    if (p.ext && v > 0x7fffffffll && v <= 0xffffffffll)
        fatal("BAD_PARAMETER", at, fmt("%s: %s=%lld%s is %lld as an unsigned 32-bit value", api, name, static_cast<long long>(v), place.c_str(),
                                       static_cast<long long>(static_cast<int32_t>(static_cast<uint32_t>(v)))),
              "the difference went below zero: a stride is pitch - length and cannot be negative");
    const std::string cut = v > field ? fmt("; the device would use %lld", static_cast<long long>(v & field)) : "";
    fatal("BAD_PARAMETER", at, fmt("%s: %s=%lld is outside 0..%lld%s%s", api, name, static_cast<long long>(v), static_cast<long long>(max), place.c_str(), cut.c_str()), hint);
}

void check_fields(const char* api, const CopyBlocks& p, const BlockLimits& max, const char* units, At at) {
    auto fits = [](int64_t v, int64_t most) { return v >= 0 && v <= most; };
    if (fits(p.block_count, max.count) && fits(p.block_len, max.len) && fits(p.src_stride, max.src_stride) && fits(p.dst_stride, max.dst_stride)) return;
    const bool pad = !std::strcmp(units, "bytes");
    check_field(api, "blockCount", p.block_count, max.count, p,
                fmt("split the copy into %lld batches of at most %lld blocks", static_cast<long long>((p.block_count + max.count - 1) / max.count),
                    static_cast<long long>(max.count)), at);
    std::string len_hint = fmt("copy it in several blocks: blockLen is limited to %lld %s", static_cast<long long>(max.len), units);
    if (!pad) len_hint = fmt("blockLen counts 32 B blocks: %lld bytes are %lld blocks", static_cast<long long>(p.block_len), static_cast<long long>(p.block_len / kBlock));
    else if (!p.ext) len_hint = "DataCopyExtParams holds a blockLen of up to 2097151 bytes";
    check_field(api, "blockLen", p.block_len, max.len, p, len_hint, at);
    const std::string stride_hint = pad && !p.ext ? "DataCopyExtParams has 32-bit strides"
                                                  : "a stride is the hole between two blocks (pitch - length), not the size of the tensor; check pitch and total size";
    check_field(api, "srcStride", p.src_stride, max.src_stride, p, stride_hint, at);
    check_field(api, "dstStride", p.dst_stride, max.dst_stride, p, stride_hint, at);
}

static long long ll(uint64_t v) { return static_cast<long long>(v); }

std::string stride_confusion(const SideExtent& s, const char* unit_name) {
    if (s.rows < 2 || s.stride <= 0) return {};
    const uint64_t gap = static_cast<uint64_t>(s.stride * s.stride_unit);
    if (gap > s.row && (s.rows - 1) * gap + s.row <= s.room) {
        const uint64_t right = (gap - s.row) / static_cast<uint64_t>(s.stride_unit);
        return fmt("a stride is the hole between two blocks. For a row pitch of %lld B: %lld - %lld = %lld B, so %s = %lld (%s). With %lld the rows drift apart by %lld B each",
                   ll(gap), ll(gap), ll(s.row), ll(gap - s.row), s.stride_name, ll(right), unit_name, static_cast<long long>(s.stride), ll(s.row));
    }
    if (s.stride_unit == kBlock && s.stride >= kBlock && s.rows * s.row + (s.rows - 1) * static_cast<uint64_t>(s.stride) <= s.room)
        return fmt("%s counts 32 B blocks on this side: %lld bytes are %lld blocks", s.stride_name, static_cast<long long>(s.stride),
                   static_cast<long long>(s.stride / kBlock));
    return {};
}

void check_pitch(const CopyCall& c, const CopyBlocks&, uint64_t row, uint64_t gap, uint64_t rows) {
    if (rows < 2 || gap < 2 * row || gap % row) return;
    const GmBuffer* b = gm_find(c.global.ptr);
    if (!b || b->workspace || b->bytes % gap || b->bytes % (gap + row) == 0) return;
    report(Severity::Warning, "BAD_PARAMETER", c.at,
           fmt("the stride of %lld B divides %s (%lld B) like a row pitch, but it is the hole between blocks: rows start %lld B apart", ll(gap),
               describe_gm(c.global.ptr).c_str(), ll(b->bytes), ll(gap + row)),
           fmt("if the pitch is %lld B, the stride is pitch - length = %lld - %lld = %lld B", ll(gap), ll(gap), ll(row), ll(gap - row)));
}

void check_global_extent(const CopyCall& c, const SideExtent& s, const char* unit_name) {
    if (s.end <= s.room || !s.room || c.global.set != 1 || !c.global.ptr) return;
    const uint64_t gap = static_cast<uint64_t>(s.stride * s.stride_unit);
    const std::string reach = fmt("%s: %s needs %lld B behind its start, %s has %lld B", c.api, c.global_name().c_str(), ll(s.end), describe_gm(c.global.ptr).c_str(), ll(s.room));
    if (s.rows > 1 && gap >= s.room)
        fatal("GM_OUT_OF_BOUNDS", c.at, fmt("%s. %s = %lld is larger than the tensor itself", reach.c_str(), s.stride_name, static_cast<long long>(s.stride)),
              "the stride is pitch - length of one row; check that it was not computed from the total size");
    const std::string why = stride_confusion(s, unit_name);
    if (!why.empty()) fatal("GM_OUT_OF_BOUNDS", c.at, reach, why);
}

}  // namespace twin
