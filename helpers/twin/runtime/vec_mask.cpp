// The mask registers: modes, contents, and what a call makes of them.
#include <algorithm>

#include "vec_core.h"

namespace twin {

static void lanes_to_bits(uint64_t n, uint64_t out[2]) {
    out[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
    out[1] = n >= 128 ? ~0ull : n > 64 ? (1ull << (n - 64)) - 1 : 0;
}

static std::string counter_since(const MaskState& m) {
    return m.counter_at.line ? fmt("Counter mode has been active since line %d", m.counter_at.line) : std::string("Counter mode is active");
}

// Counter mode: the register holds the number of elements of the whole instruction.
static bool counter_extent(const VecCall& c, uint32_t lanes, uint64_t n, VecExtent& e) {
    const MaskState& m = core().mask;
    if (n > uint64_t(capacity(Mem::UB)))
        fatal("BAD_PARAMETER", c.at, fmt("%s: %s, so the mask register is read as a number of elements: %llu", c.api, counter_since(m).c_str(), (unsigned long long)n),
              "call SetMaskNorm() and ResetMask() when the counted part is over");
    e.counter = true;
    e.total = int64_t(n);
    e.repeats = uint32_t((n + lanes - 1) / lanes);
    e.first = lanes;
    e.tail = n % lanes;
    if (c.op == VecOp::Copy) {                              // here the count is per repeat, and repeatTime counts
        e.repeats = uint32_t(std::min<int64_t>(std::max<int64_t>(c.mask.repeat, 0), 255));
        e.first = uint32_t(n);
        e.tail = 0;
        e.total = int64_t(n) * e.repeats;
    } else if (e.repeats == 1) {
        e.first = uint32_t(n);
        e.tail = 0;
    }
    return true;
}

// A count that no tile can have would not even fit the numbers that the checks compute with.
void vec_check_count(const VecCall& c, int64_t n) {
    if (n > int64_t(capacity(Mem::UB)) * 2)
        fatal("OUT_OF_BOUNDS", c.at, fmt("%s: count is %lld elements; UB has %u B in all", c.api, (long long)n, capacity(Mem::UB)),
              "count is the number of elements of one tile, not of the whole array");
}

static bool count_extent(const VecCall& c, uint32_t lanes, VecExtent& e) {
    MaskState& m = core().mask;
    int64_t n = c.mask.n;
    if (!c.mask.set) {
        if (!m.counter)
            fatal("BAD_PARAMETER", c.at, fmt("%s<…, false> with a count takes the count from the mask register, but Counter mode is not on", c.api),
                  "call SetMaskCount() and SetVectorMask<T, MaskMode::COUNTER>(n) before");
        n = int64_t(m.lo);
    } else {
        m.counter = false;                                  // the count form leaves normal mode and a full register behind
        m.hi = m.lo = ~0ull;
        m.set_at = {};
    }
    if (n < 0) {
        report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: count is %lld", c.api, (long long)n), "a difference of unsigned numbers that went below zero looks like this");
        return false;
    }
    vec_check_count(c, n);
    e.contiguous = true;
    e.total = n;
    e.repeats = uint32_t((n + lanes - 1) / lanes);
    e.first = lanes;
    return true;
}

static int64_t checked_repeat(const VecCall& c) {
    const int64_t r = c.mask.repeat;
    if (r >= 0 && r <= 255) return r;
    if (r < 0) fatal("BAD_PARAMETER", c.at, fmt("%s: repeatTime is %lld", c.api, (long long)r), "repeatTime is 0..255");
    report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: repeatTime %lld does not fit 8 bits and becomes %lld%s", c.api, (long long)r, (long long)(r & 255), r & 255 ? "" : ": nothing is done"),
           fmt("split into %lld calls of at most 255 repeats, or use the count form", (long long)((r + 254) / 255)));
    return r & 255;
}

bool vec_extent(const VecCall& c, uint32_t lanes, VecExtent& e) {
    MaskState& m = core().mask;
    if (c.mask.form == 0) return count_extent(c, lanes, e);
    if (c.mask.set) {
        if (c.mask.form == 2) {
            if (m.counter)
                fatal("BAD_PARAMETER", c.at, fmt("%s: a number of lanes is given, but %s and would read its bit pattern as a count", c.api, counter_since(m).c_str()),
                      "call SetMaskNorm() first, or pass uint64_t mask[2] = {n, 0}");
            uint64_t n = uint64_t(c.mask.n);
            if (n > lanes) {
                report(Severity::Error, "BAD_PARAMETER", c.at, fmt("%s: mask %lld > %u lanes of %s in one repeat", c.api, (long long)c.mask.n, lanes, dtype_name(size_of(c.type) >= size_of(c.from) || !c.sources ? c.type : c.from)),
                       fmt("use mask %u and more repeats", lanes));
                n = lanes;
            }
            uint64_t bits[2];
            lanes_to_bits(n, bits);
            m.lo = bits[0];
            m.hi = bits[1];
        } else {
            m.lo = c.mask.bits[0];
            m.hi = c.mask.bits[1];
        }
        m.set_at = c.at;                                    // an instruction left this mask, not SetVectorMask
    } else if (m.set_at.line && !m.counter) {
        report(Severity::Warning, "BAD_PARAMETER", c.at, fmt("%s<…, false> uses the mask register as it is, and that holds the mask of line %d", c.api, m.set_at.line),
               "call SetVectorMask<T>(…) before the calls that share a mask");
    }
    if (m.counter) return counter_extent(c, lanes, m.lo, e);
    e.repeats = uint32_t(checked_repeat(c));
    e.mask[0] = lanes >= 64 ? m.lo : m.lo & ((1ull << lanes) - 1);
    e.mask[1] = lanes > 64 ? m.hi : 0;
    uint32_t active = uint32_t(__builtin_popcountll(e.mask[0]) + __builtin_popcountll(e.mask[1]));
    uint64_t prefix[2];
    lanes_to_bits(active, prefix);
    if (prefix[0] == e.mask[0] && prefix[1] == e.mask[1]) e.first = active;
    e.total = int64_t(active) * e.repeats;
    if (!active) e.repeats = 0;
    return true;
}

}  // namespace twin

using twin::core;
extern "C" {
void tw_vec_mask_mode(int counter, twin::At at) {
    if (!twin::vec_unit_here()) return;
    core().mask.counter = counter != 0;
    core().mask.counter_at = at;
    twin::charge(1, at);
}
static void agree(int wants_counter, const char* what, twin::At at) {
    if (wants_counter < 0 || (wants_counter != 0) == core().mask.counter) return;
    twin::report(twin::Severity::Error, "BAD_PARAMETER", at,
                 twin::fmt("%s says MaskMode::%s, but the mask registers are in %s mode", what, wants_counter ? "COUNTER" : "NORMAL", wants_counter ? "normal" : "counter"),
                 wants_counter ? "call SetMaskCount() before it" : "call SetMaskNorm() before it, or say MaskMode::COUNTER");
}
void tw_vec_mask_set(uint64_t high, uint64_t low, int wants_counter, twin::At at) {
    if (!twin::vec_unit_here()) return;
    agree(wants_counter, "SetVectorMask", at);
    core().mask.hi = high;
    core().mask.lo = low;
    core().mask.set_at = {};
    twin::charge(1, at);
}
void tw_vec_mask_len(int64_t len, int bytes, int wants_counter, twin::At at) {
    if (!twin::vec_unit_here()) return;
    agree(wants_counter, "SetVectorMask", at);
    if (len < 0) twin::fatal("BAD_PARAMETER", at, twin::fmt("SetVectorMask: length is %lld", (long long)len));
    twin::MaskState& m = core().mask;
    m.set_at = {};
    twin::charge(1, at);
    if (m.counter) { m.hi = 0; m.lo = uint64_t(len); return; }
    const uint64_t lanes = twin::kRepeat / uint64_t(std::max(bytes, 2));
    uint64_t bits[2];
    if (uint64_t(len) > lanes)
        twin::report(twin::Severity::Error, "BAD_PARAMETER", at, twin::fmt("SetVectorMask: %lld > %llu lanes of a %d-byte type in one repeat", (long long)len, (unsigned long long)lanes, bytes));
    twin::lanes_to_bits(std::min<uint64_t>(uint64_t(len), lanes), bits);
    m.lo = bits[0];
    m.hi = bits[1];
}
void tw_vec_mask_reset(twin::At at) {
    if (!twin::vec_unit_here()) return;
    core().mask.hi = core().mask.lo = ~0ull;
    core().mask.set_at = {};
    twin::charge(1, at);
}
void tw_vec_deq_scale(float scale, int offset, int sign, int full, twin::At at) {
    if (!twin::vec_unit_here()) return;
    twin::NumericState& n = core().num;
    n.deq_scale = scale;
    n.deq_offset = static_cast<int16_t>(offset);
    n.deq_sign = sign != 0;
    twin::vec_registers(core()).deq_vector = false;
    n.deq_set = !full;                                      // the other form fills the same register with something else
    twin::charge(1, at);
}
void tw_vec_saturation(int what, int on, twin::At at) {
    if (what == 0) core().num.saturate = on != 0;
    else core().num.cast_saturate = on != 0;
    twin::charge(1, at);
}
}
