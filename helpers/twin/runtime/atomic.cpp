// Atomic write-back: the mode of the core and the arithmetic of a store.
#include <cstring>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "copy_core.h"
#include "hooks.h"

namespace twin {

static const char* atomic_name(Atomic op) {
    static const char* names[] = {"SetAtomicNone", "SetAtomicAdd", "SetAtomicMax", "SetAtomicMin"};
    return names[static_cast<int>(op)];
}

// ===== Arithmetic
// float, half and bfloat16: one rounding to nearest even per addition. A sum of two halves is exact in float up to the
// final rounding (24 >= 2 * 11 + 2 bits), so going through float rounds once.
static float to_float(_Float16 v) { return static_cast<float>(v); }
struct Bf16 { uint16_t bits; };
static float to_float(Bf16 v) { return __builtin_bit_cast(float, static_cast<uint32_t>(v.bits) << 16); }
static void from_float(float v, _Float16& out) { out = static_cast<_Float16>(v); }
static void from_float(float v, Bf16& out) {
    const uint32_t u = __builtin_bit_cast(uint32_t, v);
    out.bits = (u & 0x7fffffffu) > 0x7f800000u ? static_cast<uint16_t>((u >> 16) | 0x40u) : static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

template <Atomic op> static float combine(float a, float b) {
    if (op == Atomic::Add) return a + b;
    if (a != a) return a;
    if (b != b) return b;
    return op == Atomic::Max ? (a > b ? a : b) : (a < b ? a : b);
}

constexpr uint64_t kChunk = 1024;   // elements converted at a time

static void widen(const _Float16* in, float* out, uint64_t n) {
    uint64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
#endif
    for (; i < n; ++i) out[i] = to_float(in[i]);
}
static void narrow(const float* in, _Float16* out, uint64_t n) {
    uint64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
#endif
    for (; i < n; ++i) from_float(in[i], out[i]);
}
static void widen(const Bf16* in, float* out, uint64_t n) { for (uint64_t i = 0; i < n; ++i) out[i] = to_float(in[i]); }
static void narrow(const float* in, Bf16* out, uint64_t n) { for (uint64_t i = 0; i < n; ++i) from_float(in[i], out[i]); }
static void widen(const float* in, float* out, uint64_t n) { std::memcpy(out, in, n * sizeof(float)); }
static void narrow(const float* in, float* out, uint64_t n) { std::memcpy(out, in, n * sizeof(float)); }

template <Atomic op, class T> static void combine_floats(uint8_t* dst, const uint8_t* src, uint64_t n) {
    T d[kChunk], s[kChunk];
    float a[kChunk], b[kChunk];
    for (uint64_t at = 0; at < n; at += kChunk) {
        const uint64_t m = n - at < kChunk ? n - at : kChunk;
        std::memcpy(d, dst + at * sizeof(T), m * sizeof(T));
        std::memcpy(s, src + at * sizeof(T), m * sizeof(T));
        widen(d, a, m);
        widen(s, b, m);
        for (uint64_t i = 0; i < m; ++i) a[i] = combine<op>(a[i], b[i]);
        narrow(a, d, m);
        std::memcpy(dst + at * sizeof(T), d, m * sizeof(T));
    }
}

template <Atomic op, class T> static bool combine_integers(uint8_t* dst, const uint8_t* src, uint64_t n) {
    bool wrapped = false;
    T d[kChunk], s[kChunk];
    for (uint64_t at = 0; at < n; at += kChunk) {
        const uint64_t m = n - at < kChunk ? n - at : kChunk;
        std::memcpy(d, dst + at * sizeof(T), m * sizeof(T));
        std::memcpy(s, src + at * sizeof(T), m * sizeof(T));
        uint8_t over = 0;
        for (uint64_t i = 0; i < m; ++i) {
            if (op == Atomic::Add) {
                const int64_t sum = static_cast<int64_t>(d[i]) + s[i];
                d[i] = static_cast<T>(sum);
                over |= static_cast<uint8_t>(d[i] != sum);
            } else {
                d[i] = op == Atomic::Max ? (d[i] > s[i] ? d[i] : s[i]) : (d[i] < s[i] ? d[i] : s[i]);
            }
        }
        std::memcpy(dst + at * sizeof(T), d, m * sizeof(T));
        wrapped |= over != 0;
    }
    return wrapped;
}

template <Atomic op> static bool combine_as(DType type, uint8_t* dst, const uint8_t* src, uint64_t n) {
    switch (type) {
        case DType::F32: combine_floats<op, float>(dst, src, n); return false;
        case DType::F16: combine_floats<op, _Float16>(dst, src, n); return false;
        case DType::BF16: combine_floats<op, Bf16>(dst, src, n); return false;
        case DType::I8: return combine_integers<op, int8_t>(dst, src, n);
        case DType::I16: return combine_integers<op, int16_t>(dst, src, n);
        case DType::I32: return combine_integers<op, int32_t>(dst, src, n);
        default: std::memmove(dst, src, n * size_of(type)); return false;
    }
}

bool atomic_combine(Atomic op, DType type, uint8_t* dst, const uint8_t* src, uint64_t bytes) {
    const uint32_t size = size_of(type) ? size_of(type) : 1;
    const uint64_t n = bytes / size;
    bool wrapped = false;
    switch (op) {
        case Atomic::Add: wrapped = combine_as<Atomic::Add>(type, dst, src, n); break;
        case Atomic::Max: wrapped = combine_as<Atomic::Max>(type, dst, src, n); break;
        case Atomic::Min: wrapped = combine_as<Atomic::Min>(type, dst, src, n); break;
        case Atomic::None: break;
    }
    std::memmove(dst + n * size, src + n * size, bytes - n * size);   // bytes that make no whole element
    return wrapped;
}

// ===== Mode
void check_atomic_store(const CopyCall& c) {
    const DmaState& d = core().dma;
    const Atomic op = static_cast<Atomic>(d.atomic_op);
    if (op == Atomic::None || d.atomic_type == c.type) return;
    report(Severity::Warning, "BAD_PARAMETER", c.at,
           fmt("%s<%s> (line %d) is active, but %s holds %s: the bytes are combined as %s", atomic_name(op), type_name(d.atomic_type), d.atomic_at.line,
               c.global_name().c_str(), type_name(c.type), type_name(d.atomic_type)),
           fmt("call %s<%s>() before this store, or SetAtomicNone() when the accumulation is over", atomic_name(op), type_name(c.type)));
}

static void check_type(const char* api, DType t, At at) {
    if (chip_is_a2() || t == DType::None || t == DType::I16 || t == DType::F16 || t == DType::F32) return;
    fatal("UNSUPPORTED_TYPE", at, fmt("%s<%s>: this chip adds int16_t, half and float atomically", api, type_name(t)), "Cast to half or float first");
}

void copy_core_end(Core& c) {
    copy_notes_end(c);
    const Atomic op = static_cast<Atomic>(c.dma.atomic_op);
    if (op == Atomic::None || !checks_on()) return;
    report(Severity::Warning, "BAD_PARAMETER", c.dma.atomic_at,
           fmt("%s<%s> is still active at the end of the kernel: every later store would combine instead of overwriting", atomic_name(op), type_name(c.dma.atomic_type)),
           "call SetAtomicNone() after the last accumulating store");
}

}  // namespace twin

using namespace twin;

extern "C" void tw_set_atomic(Atomic op, DType t, At at) {
    charge(1, at);
    check_type(atomic_name(op), t, at);
    if (!chip_is_a2() && (op == Atomic::Max || op == Atomic::Min))
        fatal("UNSUPPORTED_API", at, fmt("%s does not exist on this chip; it has SetAtomicAdd only", atomic_name(op)), "reduce inside UB and let one block combine the parts");
    DmaState& d = core().dma;
    d.atomic_op = static_cast<uint8_t>(op);
    d.atomic_type = t;
    d.atomic_at = at;
}

extern "C" void tw_set_atomic_type(DType t, At at) {
    charge(1, at);
    check_type("SetAtomicType", t, at);
    core().dma.atomic_type = t;
}

extern "C" void tw_get_atomic(Atomic* op, DType* t) {
    *op = static_cast<Atomic>(core().dma.atomic_op);
    *t = core().dma.atomic_type;
}
