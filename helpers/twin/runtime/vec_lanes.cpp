// Lanes, operand checks and the way of a vector result to the scalar unit.
#include "vec_lanes.h"

#include <algorithm>

#include "state.h"
#include "twin/abi_move.h"
#include "vec_half.h"

namespace twin {

bool lane_on(const uint64_t mask[2], uint32_t lane) { return mask[lane / 64] >> (lane % 64) & 1; }

Region lanes_region(const LocalRef& t, uint8_t rw, const char* name, uint32_t z, const VecExtent& e, uint32_t lanes, int32_t blk, int32_t rep) {
    Region r = local(t, rw, 0, 0, name, uint8_t(z));
    if (e.contiguous) { r.len = uint32_t(e.total * z); return r; }
    const uint32_t per_block = kBlock / z, n = e.first ? e.first : lanes;
    r.n0 = e.repeats;
    r.s0 = int64_t(rep) * kBlock;
    r.tail = e.tail == n ? 0 : e.tail;
    if (blk == 1 || n <= per_block) {
        r.len = n * z;
    } else {
        r.n1 = (n + per_block - 1) / per_block;
        r.len = kBlock;
        r.s1 = int64_t(blk) * kBlock;
    }
    const bool ragged = r.n1 > 1 && n % per_block;
    if (!e.first || ragged) {
        r.masked = true;
        r.mask[0] = e.first ? (n >= 64 ? ~0ull : (1ull << n) - 1) : e.mask[0];
        r.mask[1] = e.first ? (n <= 64 ? 0 : n >= 128 ? ~0ull : (1ull << (n - 64)) - 1) : e.mask[1];
    }
    return r;
}

Region rows_region(const LocalRef& t, uint8_t rw, const char* name, uint32_t z, uint32_t n0, uint32_t bytes, int64_t step) {
    Region r = local(t, rw, 0, bytes, name, uint8_t(z));
    r.n0 = n0;
    r.s0 = step;
    return r;
}

static std::string place(const char* api, At at, int argument, const char* role) {
    const std::string name = argument_at(at, api, argument);
    return name.empty() ? role : fmt("%s %s", role, name.c_str());
}

void check_place(const char* api, At at, int argument, const char* role, const LocalRef& t, uint32_t z, DType type, uint32_t align) {
    if (t.mem == Mem::N) return;                                               // the engine names it
    if (t.mem != Mem::UB)
        fatal("WRONG_POSITION", at, fmt("%s: %s is %s; vector instructions read and write the Unified Buffer only", api, place(api, at, argument, role).c_str(),
                                        describe(t).c_str()), "use a tensor of VECIN, VECOUT or VECCALC");
    if (t.addr % align == 0 || !checks_on()) return;
    uint32_t base = 0;
    const auto& all = buffers();
    if (t.buf >= 0 && t.buf < int(all.size())) base = all[size_t(t.buf)].addr;
    const uint32_t into = t.addr - base, next = (into + align - 1) / align * align;
    fatal("MISALIGNED", at,
          fmt("%s: %s starts at byte %u of its buffer (UB address 0x%x); here it has to start at a multiple of %u B", api, place(api, at, argument, role).c_str(), into,
              t.addr, align),
          align <= z ? "start at a whole element" : fmt("%s offsets step by %u elements: the next legal index is %u", dtype_name(type), align / z, next / z));
}

int32_t check_range(const char* api, At at, const char* what, int64_t value, int64_t least, int64_t most, const char* hint) {
    if (value < least || value > most) fatal("BAD_PARAMETER", at, fmt("%s: %s is %lld, outside %lld..%lld", api, what, (long long)value, (long long)least, (long long)most), hint);
    return int32_t(value);
}

void check_needs(const char* api, At at, const char* role, const LocalRef& t, uint64_t need, Severity severity, const char* why) {
    const uint64_t got = t.mem == Mem::UB ? t.bytes : 0;
    if (got >= need) return;
    report(severity, severity == Severity::Error ? "OUT_OF_BOUNDS" : "BAD_PARAMETER", at,
           fmt("%s needs %llu B of %s, got %llu B%s", api, (unsigned long long)need, role, (unsigned long long)got, why),
           fmt("give it a buffer of %llu B", (unsigned long long)need));
}

bool ranges_meet(const LocalRef& a, uint64_t a_bytes, const LocalRef& b, uint64_t b_bytes) {
    return a.mem == b.mem && a.mem != Mem::N && a.addr < b.addr + b_bytes && b.addr < a.addr + a_bytes;
}

void check_apart(const char* api, At at, const LocalRef& dst, uint64_t dst_bytes, const LocalRef& src, uint64_t src_bytes, const char* role, const char* hint) {
    if (!checks_on() || !ranges_meet(dst, dst_bytes, src, src_bytes)) return;
    const uint32_t base = std::min(dst.addr, src.addr);
    report(Severity::Error, "OVERLAP", at,
           fmt("%s: dst bytes [%u..%llu) and %s bytes [%u..%llu) overlap", api, dst.addr - base, (unsigned long long)(dst.addr - base + dst_bytes), role, src.addr - base,
               (unsigned long long)(src.addr - base + src_bytes)), hint);
}

void set_cost(Instr& in, const char* op, DType t, uint32_t repeats, uint64_t elements) {
    const char* cls = t == DType::F16 ? "f16" : t == DType::F32 ? "f32" : size_of(t) == 2 ? "b16" : size_of(t) == 4 ? "b32" : "b8";
    const VecCost cost = vec_cost(op, cls);
    in.head = cost.head;
    in.slope = cost.slope;
    in.repeats = repeats;
    in.elements = elements;
}

void scalar_awaits_vector(At at) {
    static const int v_s = [] { int e = 0; while (std::strcmp(event_name(e), "V_S") != 0) ++e; return e; }();
    // An id that nobody holds and that is not on its way: flags of the kernel itself stay what they are.
    int id = -1;
    for (int i = 0; i < kEventIds && id < 0; ++i) if (!board().flags[v_s][i].reserved && board().flags[v_s][i].issued == 0) id = i;
    if (id < 0) id = fetch_event(v_s, at);
    set_flag(v_s, id, at, true);
    wait_flag(v_s, id, at, true);
}

double element_value(DType t, const void* p) {
    if (t == DType::F16) { uint16_t h; std::memcpy(&h, p, 2); return half_value(h); }
    float f;
    std::memcpy(&f, p, 4);
    return f;
}

void settle_vector(At at) {
    if (!board().queue[int(Pipe::V)].empty()) scalar_awaits_vector(at);
}

void leave_mask(uint64_t lanes, At at) {
    MaskState& m = core().mask;
    m.counter = false;
    m.lo = lanes >= 64 ? ~0ull : (1ull << lanes) - 1;
    m.hi = lanes >= 128 ? ~0ull : lanes > 64 ? (1ull << (lanes - 64)) - 1 : 0;
    m.set_at = at;
}

Undefined::Undefined(uint64_t lo, uint64_t hi) {
    if (checks_on() && lo < hi) any = at(lo, uint32_t(hi - lo));
}

bool Undefined::at(uint64_t address, uint32_t bytes) const {
    bool found = false;
    board().shadow[int(Mem::UB)].look(address, address + bytes, [&](uint64_t, uint64_t, const Cell& c) { found |= c.undef != kDefined; });
    return found;
}

bool check_decides(const Instr& in, const char* role, const LocalRef& t, uint64_t lo, uint64_t hi) {
    if (!checks_on()) return true;
    bool fine = true;
    board().shadow[int(Mem::UB)].look(lo, hi, [&](uint64_t a, uint64_t z, const Cell& c) {
        if (c.undef == kDefined || !fine) return;
        fine = false;
        report(Severity::Error, "UNINITIALISED_READ", in.at,
               fmt("%s: bytes %llu..%llu of %s (%s) %s", in.op, (unsigned long long)(a - t.addr), (unsigned long long)(z - t.addr), role, describe(t).c_str(),
                   c.undef == kPadding ? "are padding, not your data" : "were never written"),
               "use the real count, or fill the rest with Duplicate first");
    });
    return fine;
}

}  // namespace twin

extern "C" int tw_vec_saturated(twin::At at) {
    twin::charge(1, at);
    return twin::core().num.saturate;
}
