// What every call of the high-level API checks, what it costs, and what it leaves behind.
#include "adv_core.h"

#include <algorithm>
#include <cmath>

#include "queues.h"
#include "vec_lanes.h"

namespace twin {

static const char kScratch[] = "sharedTmpBuffer";
static const char kDestroyed[] = "destroyed source";

using ull = unsigned long long;

AdvGroup::AdvGroup(const char* api, At at, Undef undef) : api_(api), at_(at) {
    in.op = api;
    in.at = at;
    in.undef = undef;
    in.any_core = true;                                      // vec_unit_here() has decided
    in.s_cycles = 40;                                        // guess: tiling arithmetic on the scalar unit
    in.repeats = 1;
    in.slope = 0;
    used_.reserve(8);
}

void AdvGroup::check(const char* role, const LocalRef& t, uint64_t bytes, uint64_t elements, DType type, const char* count_name) {
    if (t.mem == Mem::N) fatal("OUT_OF_BOUNDS", at_, fmt("%s: %s is a LocalTensor that was never assigned", api_, role), "take it from AllocTensor, DeQue or TBuf::Get first");
    if (t.mem != Mem::UB)
        fatal("WRONG_POSITION", at_, fmt("%s: operand must be a UB tensor (VECIN/VECCALC/VECOUT); %s is %s", api_, role, describe(t).c_str()), "use a tensor of VECIN, VECOUT or VECCALC");
    if (t.addr % kBlock && checks_on())
        fatal("MISALIGNED", at_, fmt("%s: start address of %s is not 32-byte aligned (UB address 0x%x)", api_, role, t.addr), "offset the tensor by a multiple of 32 bytes");
    if (bytes > t.bytes) {
        const uint32_t z = size_of(type);
        fatal("OUT_OF_BOUNDS", at_, fmt("%s: %s %llu exceeds tensor size %llu of %s (%s)", api_, count_name, ull(elements), ull(t.bytes / z), role, describe(t).c_str()),
              "count elements, not bytes; the tensor must hold all of them");
    }
}

void AdvGroup::note(const char* role, const LocalRef& t, uint64_t lo, uint64_t hi, uint8_t rw) {
    if (t.mem == Mem::UB && lo < hi) used_.push_back({role, t, lo, hi, rw});
}

uint32_t AdvGroup::operand(const char* role, const LocalRef& t, DType type, uint8_t rw, uint64_t elements, const char* count_name) {
    const uint64_t bytes = elements * size_of(type);
    check(role, t, bytes, elements, type, count_name);
    if (!elements) return t.addr;
    in.add(local(t, rw, 0, uint32_t(bytes), role, uint8_t(size_of(type))));
    note(role, t, t.addr, t.addr + bytes, rw);
    in.elements = std::max(in.elements, elements);
    return t.addr;
}

uint32_t AdvGroup::rows(const char* role, const LocalRef& t, DType type, uint8_t rw, uint64_t n, uint64_t len, uint64_t pitch, uint64_t first, uint64_t whole,
                        const char* count_name) {
    const uint32_t z = size_of(type);
    const uint64_t last = n && len ? (n - 1) * pitch + len + first : 0, bytes = std::max(last * z, whole);
    check(role, t, bytes, bytes / z, type, count_name);
    if (!last) return t.addr;
    Region r = local(t, rw, first * z, uint32_t((len == pitch ? n * len : len) * z), role, uint8_t(z));
    if (len != pitch) {
        r.n0 = uint32_t(n);
        r.s0 = int64_t(pitch) * z;
    }
    in.add(r);
    note(role, t, t.addr, t.addr + bytes, rw);
    in.elements = std::max(in.elements, n * len);
    return t.addr;
}

void AdvGroup::leftover(const char* role, const LocalRef& t, DType type, uint64_t n, uint64_t len, uint64_t pitch, uint64_t first) {
    const uint32_t z = size_of(type);
    if (!n || !len || t.mem != Mem::UB || (first + (n - 1) * pitch + len) * z > t.bytes) return;
    Region r = local(t, kWrite, first * z, uint32_t(len * z), role, uint8_t(z));
    r.n0 = uint32_t(n);
    r.s0 = int64_t(pitch) * z;
    r.pad_value = 1;
    in.add(r);
}

void AdvGroup::destroyed(const char*, const LocalRef& t, DType type, uint64_t elements) {
    if (t.mem != Mem::UB || elements * size_of(type) > t.bytes) return;
    Region r = local(t, kWrite, 0, uint32_t(elements * size_of(type)), kDestroyed, uint8_t(size_of(type)));
    r.pad_value = 2;
    in.add(r);
}

void AdvGroup::may_be_same(const char* dst, const char* src) { same_.push_back({dst, src}); }
void AdvGroup::forbid_same(const char* dst, const char* src) { never_.push_back({dst, src}); }

uint64_t adv_free_ub() {
    const uint64_t top = up32(queue_state().top[int(Mem::UB)]), all = capacity(Mem::UB);
    return top < all ? all - top : 0;
}

void AdvGroup::scratch(const AdvTmp& tmp, uint64_t least, uint64_t most, const char* sizer, bool certain) {
    if (!tmp.given) {
        const uint64_t left = adv_free_ub();
        if (left < least)
            report(certain ? Severity::Error : Severity::Warning, "UB_OVERFLOW", at_,
                   fmt("%s: only %llu bytes of UB are unallocated, needs %llu for its own workspace", api_, ull(left), ull(least)), "leave room or pass sharedTmpBuffer");
        return;
    }
    check(kScratch, tmp.ref, 0, 0, DType::U8, "");
    const uint64_t have = tmp.ref.mem == Mem::UB ? tmp.ref.bytes : 0;
    if (have < least)
        report(certain ? Severity::Error : Severity::Warning, certain ? "OUT_OF_BOUNDS" : "BAD_PARAMETER", at_,
               fmt("%s: sharedTmpBuffer has %llu bytes, needs at least %llu", api_, ull(have), ull(least)), fmt("size it with %s", sizer));
    const uint64_t bytes = std::min(have, std::max(least, most));
    if (!bytes) return;
    Region r = local(tmp.ref, kWrite, 0, uint32_t(bytes), kScratch, 1);
    r.pad_value = 2;
    in.add(r);
    note(kScratch, tmp.ref, tmp.ref.addr, tmp.ref.addr + bytes, kWrite);
}

void AdvGroup::steps(const char* op, DType type, uint64_t elements, double times) {
    if (!elements || times <= 0) return;
    const char* cls = type == DType::F16 ? "f16" : type == DType::F32 ? "f32" : size_of(type) == 2 ? "b16" : size_of(type) == 4 ? "b32" : size_of(type) == 8 ? "b64" : "b8";
    const VecCost cost = vec_cost(op, cls);
    const double repeats = double((elements * size_of(type) + kRepeat - 1) / kRepeat);
    in.slope += float(times * (cost.head + std::max(3.0, cost.slope * repeats)));
}

void AdvGroup::reductions(const char* join, const char* whole, DType type, uint64_t elements, uint64_t rows, double times) {
    const uint64_t lanes = kRepeat / size_of(type);
    steps(join, type, elements > rows * lanes ? elements - rows * lanes : 0, times);
    steps(whole, type, rows * lanes, times);
}

void AdvGroup::check_overlaps() {
    auto listed = [](const auto& pairs, const char* a, const char* b) {
        return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return (!std::strcmp(p.first, a) && !std::strcmp(p.second, b)) || (!std::strcmp(p.first, b) && !std::strcmp(p.second, a)); });
    };
    for (size_t i = 0; i < used_.size(); ++i)
        for (size_t k = i + 1; k < used_.size(); ++k) {
            const Used &a = used_[i], &b = used_[k];
            if (!((a.rw | b.rw) & kWrite) || !std::strcmp(a.role, b.role) || a.lo >= b.hi || b.lo >= a.hi) continue;
            const bool scratch_ = a.role == kScratch || b.role == kScratch, both = (a.rw & b.rw & kWrite) != 0, same = a.lo == b.lo;
            if (same && !scratch_ && listed(same_, a.role, b.role)) continue;
            if (scratch_) {
                report(Severity::Error, "OVERLAP", at_, fmt("%s: sharedTmpBuffer overlaps %s", api_, a.role == kScratch ? b.role : a.role), "give the workspace its own buffer");
                continue;
            }
            const Severity s = same && !both && !listed(never_, a.role, b.role) ? Severity::Warning : Severity::Error;
            const uint64_t base = std::min(a.lo, b.lo);
            report(s, "OVERLAP", at_, both ? fmt("%s: the results %s and %s overlap", api_, a.role, b.role)
                                           : fmt("%s: source and destination overlap: %s is bytes [%llu..%llu), %s is bytes [%llu..%llu)%s", api_, a.role, ull(a.lo - base), ull(a.hi - base), b.role,
                                                 ull(b.lo - base), ull(b.hi - base), s == Severity::Warning ? "; that may work by luck" : ""), "use separate buffers");
        }
}

void adv_leave_mask(At at) {
    MaskState& m = core().mask;
    // Only a mask that the kernel chose itself is lost: the next instruction that relies on it says so.
    const bool chosen = m.counter || ((~m.lo || ~m.hi) && !m.set_at.line);
    m.counter = false;
    m.lo = m.hi = ~0ull;
    m.set_at = chosen ? at : At{};
}

void AdvGroup::issue(Body body) {
    if (checks_on()) check_overlaps();
    adv_leave_mask(at_);
    in.body = body;
    twin::issue(in);
}

// ----- values
template <class T> static T value(const uint8_t* p, int64_t i) { T v; std::memcpy(&v, p + i * int64_t(sizeof(T)), sizeof(T)); return v; }
template <class T> static void put(uint8_t* p, int64_t i, T v) { std::memcpy(p + i * int64_t(sizeof(T)), &v, sizeof(T)); }
// To the nearest integer of that width, ties to even; the ends of the range hold what does not fit.
template <class T> static T whole(double v) {
    if (v != v) return 0;
    const double r = std::nearbyint(v), lo = double(std::numeric_limits<T>::lowest()), hi = double(std::numeric_limits<T>::max());
    return r <= lo ? std::numeric_limits<T>::lowest() : r >= hi ? std::numeric_limits<T>::max() : T(r);
}

double adv_load(DType t, const uint8_t* p, int64_t i) {
    switch (t) {
        case DType::F16: return half_value(value<uint16_t>(p, i));
        case DType::BF16: return bf16_value(value<uint16_t>(p, i));
        case DType::F32: return value<float>(p, i);
        case DType::I32: return value<int32_t>(p, i);
        case DType::U32: return value<uint32_t>(p, i);
        case DType::I16: return value<int16_t>(p, i);
        case DType::U16: return value<uint16_t>(p, i);
        case DType::I8: return value<int8_t>(p, i);
        case DType::U8: case DType::Bool: return value<uint8_t>(p, i);
        default: return 0;
    }
}

static float float_of_double_odd(double v) {                  // toward zero with a sticky last bit: a second rounding is then exact
    float f = float(v);
    if (double(f) == v || f - f != 0) return f;
    uint32_t u = float_bits(f);
    if (std::fabs(double(f)) > std::fabs(v)) --u;
    return bits_float(u | 1);
}

void adv_store(DType t, uint8_t* p, int64_t i, double v) {
    switch (t) {
        case DType::F16: put(p, i, half_of_double(v)); break;
        case DType::BF16: put(p, i, bf16_bits(float_of_double_odd(v))); break;
        case DType::F32: put(p, i, float(v)); break;
        case DType::I32: put(p, i, whole<int32_t>(v)); break;
        case DType::U32: put(p, i, whole<uint32_t>(v)); break;
        case DType::I16: put(p, i, whole<int16_t>(v)); break;
        case DType::U16: put(p, i, whole<uint16_t>(v)); break;
        case DType::I8: put(p, i, whole<int8_t>(v)); break;
        case DType::U8: case DType::Bool: put(p, i, whole<uint8_t>(v)); break;
        default: break;
    }
}

void adv_load_row(DType t, const uint8_t* p, double* out, int64_t n) {
    if (t == DType::F32) { for (int64_t i = 0; i < n; ++i) out[i] = value<float>(p, i); return; }
    if (t == DType::F16) {
        float f[256];
        for (int64_t i = 0; i < n; i += 256) {
            const int64_t m = std::min<int64_t>(256, n - i);
            half_to_float(p + 2 * i, f, m);
            for (int64_t k = 0; k < m; ++k) out[i + k] = f[k];
        }
        return;
    }
    for (int64_t i = 0; i < n; ++i) out[i] = adv_load(t, p, i);
}

void adv_store_row(DType t, uint8_t* p, const double* v, int64_t n) {
    if (t == DType::F32) { for (int64_t i = 0; i < n; ++i) put(p, i, float(v[i])); return; }
    for (int64_t i = 0; i < n; ++i) adv_store(t, p, i, v[i]);
}

}  // namespace twin
