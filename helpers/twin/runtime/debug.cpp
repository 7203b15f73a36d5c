// Text from inside a kernel: printf, DumpTensor, assert, traps.
#include <cinttypes>
#include <cstdio>

#include "queues.h"
#include "twin/types.h"

namespace twin {

constexpr size_t kPrintLimit = 32 * 1024, kDumpLimit = 30 * 1024;   // bytes per call; the device drops longer ones

static const char* type_name(DType t) {
    static const char* names[] = {"unknown", "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int4", "bool"};
    return names[int(t)];
}

static std::string element_text(const uint8_t* base, DType t, uint64_t i) {
    const uint8_t* p = base + (t == DType::I4 ? i / 2 : i * size_of(t));
    auto as = [&](auto zero) { decltype(zero) v; std::memcpy(&v, p, sizeof v); return v; };
    switch (t) {
        case DType::F16: return fmt("%.6f", double(as(half())));
        case DType::BF16: return fmt("%.6f", double(float(as(bfloat16_t()))));
        case DType::F32: return fmt("%.6f", double(as(float())));
        case DType::F64: return fmt("%.6f", as(double()));
        case DType::I8: return fmt("%d", as(int8_t()));
        case DType::U8: case DType::Bool: return fmt("%u", as(uint8_t()));
        case DType::I16: return fmt("%d", as(int16_t()));
        case DType::U16: return fmt("%u", as(uint16_t()));
        case DType::I32: return fmt("%d", as(int32_t()));
        case DType::U32: return fmt("%u", as(uint32_t()));
        case DType::I64: return fmt("%" PRId64, as(int64_t()));
        case DType::U64: return fmt("%" PRIu64, as(uint64_t()));
        case DType::I4: return fmt("%d", ((*p >> (i % 2 * 4) & 0xf) ^ 8) - 8);
        default: return "?";
    }
}

// printf with arguments that know their own kind: a wrong %-letter prints the value anyway.
static std::string formatted(const char* format, const PrintArg* args, uint32_t n) {
    std::string out;
    uint32_t next = 0;
    for (const char* c = format; *c; ++c) {
        if (*c != '%') { out += *c; continue; }
        if (c[1] == '%') { out += '%'; ++c; continue; }
        std::string spec = "%";
        const char* e = c + 1;
        while (*e && std::strchr("-+ #0123456789.", *e)) spec += *e++;
        while (*e && std::strchr("lhzjt", *e)) ++e;
        const char letter = *e;
        if (!letter || !std::strchr("diuxXofFeEgGspc", letter)) { out += *c; continue; }
        c = e;
        if (next >= n) { out += spec + letter; continue; }
        const PrintArg& a = args[next++];
        const bool wants_real = std::strchr("fFeEgG", letter) != nullptr;
        const int64_t whole = a.kind == 2 ? int64_t(a.f) : a.kind >= 3 ? int64_t(reinterpret_cast<intptr_t>(a.p)) : a.i;
        if (letter == 's') out += a.kind == 4 ? fmt((spec + "s").c_str(), a.p ? static_cast<const char*>(a.p) : "(null)") : a.kind == 2 ? fmt("%f", a.f) : fmt("%" PRId64, whole);
        else if (letter == 'p') out += fmt("0x%" PRIx64, uint64_t(whole));
        else if (letter == 'c') out += char(whole);
        else if (wants_real) out += fmt((spec + letter).c_str(), a.kind == 2 ? a.f : a.kind == 1 ? double(uint64_t(a.i)) : double(whole));
        else if (a.kind == 2) out += fmt((spec + (letter == 'd' || letter == 'i' ? PRId64 : PRIx64)).c_str(), whole);
        else {
            // %x and %u show the bits of the value's own width
            uint64_t bits = uint64_t(whole);
            if (letter != 'd' && letter != 'i' && a.bytes < 8) bits &= (1ull << (8 * a.bytes)) - 1;
            out += fmt((spec + "l" + letter).c_str(), bits);
        }
    }
    return out;
}

static void nested(std::string& out, const uint8_t* base, DType t, uint64_t first, uint64_t n, const ShapeRecord& s, uint32_t dim, uint64_t& next) {
    out += "[";
    for (uint32_t i = 0; i < s.shape[dim]; ++i) {
        if (i) out += dim + 1 == s.dims ? ", " : ",\n";
        if (dim + 1 < s.dims) nested(out, base, t, first, n, s, dim + 1, next);
        else out += next < n ? element_text(base, t, first + next) : std::string("-"), ++next;
        if (out.size() > 16 * kDumpLimit) return;
    }
    out += "]";
}

static void dump(const uint8_t* base, uint64_t addr, const char* position, DType t, uint32_t desc, uint64_t first, uint64_t n, const ShapeRecord* s, At at) {
    if (n * size_of(t) > kDumpLimit) {
        report(Severity::Warning, "BAD_PARAMETER", at, fmt("DumpTensor of %llu B prints nothing: one call shows at most %zu B", (unsigned long long)(n * size_of(t)), kDumpLimit), "dump fewer elements");
        return;
    }
    std::string out = fmt("DumpTensor: desc=%u, addr=0x%llx, data_type=%s, position=%s, dump_size=%llu\n", desc, (unsigned long long)addr, type_name(t), position, (unsigned long long)n);
    if (s && s->dims) {
        uint64_t all = 1;
        std::string text;
        for (uint32_t i = 0; i < s->dims; ++i) { all *= s->shape[i]; text += fmt(i ? ", %u" : "%u", s->shape[i]); }
        if (n != all)
            out += fmt("shape is [%s], dumpSize is %llu, %s\n", text.c_str(), (unsigned long long)n, n < all ? "data is not enough." : "dumpSize is greater than shapeSize.");
        uint64_t next = 0;
        nested(out, base, t, first, n, *s, 0, next);
    } else {
        out += "[";
        for (uint64_t i = 0; i < n; ++i) out += (i ? ", " : "") + element_text(base, t, first + i);
        out += "]";
    }
    print_text(out + "\n");
}

static std::string where_in_file(At at) {
    const char* slash = at.file ? std::strrchr(at.file, '/') : nullptr;
    return fmt("%s:%d", at.file ? (slash ? slash + 1 : at.file) : "?", at.line);
}

}  // namespace twin

using namespace twin;

extern "C" {

void tw_printf(const char* format, const PrintArg* args, uint32_t n) {
    if (!format) return;
    const std::string text = formatted(format, args, n);
    // The device drops it without a word.
    print_text(text.size() <= kPrintLimit ? text : fmt("[printf: %zu characters dropped, a call may print %zu]\n", text.size(), kPrintLimit));
}

void tw_dump_local(const LocalRef* r, DType t, uint32_t desc, uint32_t offset, uint32_t n, const ShapeRecord* s, At at) {
    if (r->mem == Mem::N) fatal("OUT_OF_BOUNDS", at, "DumpTensor of a LocalTensor that was never assigned", "take it from AllocTensor, DeQue or TBuf::Get first");
    if (!size_of(t)) return;
    const uint64_t first = uint64_t(offset) * size_of(t), bytes = uint64_t(n) * size_of(t);
    if (first + bytes > r->bytes)
        fatal("OUT_OF_BOUNDS", at, fmt("DumpTensor of elements %u to %llu of %s, which has %llu", offset, (unsigned long long)offset + n, describe(*r).c_str(), (unsigned long long)r->bytes / size_of(t)), "dump at most GetSize() elements");
    // the dump waits for what was issued before it
    pipe_barrier(Pipe::ALL, at);
    static const char* names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};
    dump(core().at(r->mem, r->addr), r->addr, names[int(r->mem)], t, desc, offset, n, s, at);
}

void tw_dump_global(const GlobalRef* r, DType t, uint32_t desc, uint32_t offset, uint32_t n, const ShapeRecord* s, At at) {
    if (!size_of(t)) return;
    gm_check(*r, uint64_t(offset) * size_of(t), uint64_t(n) * size_of(t), at, "DumpTensor", "tensor");
    pipe_barrier(Pipe::ALL, at);
    wait_for_bodies();
    dump(r->ptr, gm_device_address(r->ptr), "GM", t, desc, offset, n, s, at);
}

void tw_assert(const char* text, const char* format, const PrintArg* args, uint32_t n, At at) {
    std::string message = fmt("[ASSERT] %s: Assertion `%s'", where_in_file(at).c_str(), text);
    if (format) message += " " + formatted(format, args, n);
    print_text(message + "\n");
    fatal("ASSERT", at, format ? fmt("assertion `%s' does not hold: %s", text, formatted(format, args, n).c_str()) : fmt("assertion `%s' does not hold", text),
          "print the values in it with printf to see which one differs");
}

void tw_trap(At at) { fatal("ASSERT", at, "the kernel stopped itself with Trap()", "look at the condition that leads to this call"); }

void tw_time_stamp(uint32_t id, At at) { print_text(fmt("time stamp %u: %lld cycles (line %d)\n", id, (long long)now_cycles(), at.line)); }

void tw_local_print(const LocalRef* r, DType t, uint32_t n, At at) {
    if (r->mem == Mem::N) fatal("OUT_OF_BOUNDS", at, "Print of a LocalTensor that was never assigned", "take it from AllocTensor, DeQue or TBuf::Get first");
    if (!size_of(t)) return;
    const uint32_t all = r->bytes / size_of(t), per_row = kBlock / size_of(t);
    if (n > all) fatal("OUT_OF_BOUNDS", at, fmt("Print of %u elements of %s, which has %u", n, describe(*r).c_str(), all), "print at most GetSize() elements");
    pipe_barrier(Pipe::ALL, at);
    std::string out;
    for (uint32_t i = 0; i < n; ++i) out += element_text(core().at(r->mem, r->addr), t, i) + ((i + 1) % per_row == 0 || i + 1 == n ? "\n" : " ");
    print_text(out);
}

int32_t tw_local_to_file(const LocalRef* r, const char* path) {
    if (r->mem == Mem::N) return -1;
    FILE* f = std::fopen(path, "wb");
    if (!f) return -1;
    const size_t n = std::fwrite(core().at(r->mem, r->addr), 1, r->bytes, f);
    return std::fclose(f) == 0 && n == r->bytes ? 0 : -1;
}

}  // extern "C"
