// Local tensors that do not come from a queue, and what a tensor handle can do besides being an operand.
#include <cctype>
#include <cstdio>

#include "hooks.h"
#include "queues.h"
#include "vec_core.h"
#include "twin/enums.h"

namespace twin {

using AscendC::TPosition;

QueueState& queue_state() {
    Core& c = core();
    if (!c.queues) c.queues = std::make_shared<QueueState>();
    return *c.queues;
}

bool had_pipe(const Core& c) { return c.queues && c.queues->pipe_at.line > 0; }
bool has_queues(const Core& c) { return c.queues && !c.queues->queues.empty(); }

Mem memory_of(uint8_t position) {
    const bool a2 = chip_is_a2();
    switch (static_cast<TPosition>(position)) {
        case TPosition::VECIN: case TPosition::VECOUT: case TPosition::VECCALC: return Mem::UB;
        case TPosition::A1: case TPosition::B1: case TPosition::TSCM: return Mem::L1;
        case TPosition::A2: return Mem::L0A;
        case TPosition::B2: return Mem::L0B;
        case TPosition::CO1: return Mem::L0C;
        case TPosition::C1: return a2 ? Mem::L1 : Mem::UB;
        case TPosition::C2: return a2 ? Mem::BT : Mem::L0C;
        case TPosition::CO2: return a2 ? Mem::GM : Mem::UB;
        case TPosition::SPM: return a2 ? Mem::GM : Mem::L1;
        case TPosition::C2PIPE2GM: case TPosition::C2PIPE2LOCAL: return Mem::FB;
        default: return Mem::GM;
    }
}

const char* position_name(uint8_t position) {
    static const char* names[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
    return position < sizeof names / sizeof *names ? names[position] : "?";
}

std::string at_line(At at) { return at.line > 0 ? fmt("line %d", at.line) : std::string("an unknown line"); }

bool static_overlaps(const QueueState& s, Mem m, uint64_t lo, uint64_t hi, std::string& with) {
    for (const Slot& b : s.slots)
        if (s.queues[b.queue].live && s.queues[b.queue].mem == m && b.addr < hi && lo < uint64_t(b.addr) + b.bytes) {
            with = fmt("%s buffer %d [%u, %u)", s.queues[b.queue].name.c_str(), b.index, b.addr, b.addr + b.bytes);
            return true;
        }
    for (const Plain& t : s.plain)
        if (t.live && t.mem == m && t.addr < hi && lo < uint64_t(t.addr) + t.bytes) {
            with = fmt("%s [%u, %u)", t.name.c_str(), t.addr, t.addr + t.bytes);
            return true;
        }
    return false;
}

// The variable of `LocalTensor<half> xLocal(…)` or `auto xLocal = …`.
static std::string declared_name(At at) {
    const std::string line = source_line(at);
    size_t p = line.find("LocalTensor<");
    if (p != std::string::npos) {
        int depth = 0;
        for (p += 11; p < line.size(); ++p) {
            if (line[p] == '<') ++depth;
            if (line[p] == '>' && --depth == 0) break;
        }
        while (++p < line.size() && line[p] == ' ') {}
        size_t e = p;
        while (e < line.size() && (std::isalnum(static_cast<unsigned char>(line[e])) || line[e] == '_')) ++e;
        if (e > p) return line.substr(p, e - p);
    }
    const std::string n = assigned_name(at);
    return n.empty() ? "static tensor" : n;
}

// Registers raw bytes once, so that the UB map and messages know them.
static int static_buffer(QueueState& s, Mem m, uint32_t addr, uint32_t bytes, const std::string& name, At at) {
    auto key = std::make_pair(int(m), uint64_t(addr) << 32 | bytes);
    auto f = s.statics.find(key);
    if (f != s.statics.end()) return f->second;
    if (!s.static_at.line) s.static_at = at;
    return s.statics[key] = buffer_new(m, addr, bytes, name, -1, at);
}

static LocalRef raw(Mem m, uint8_t position, uint64_t addr, uint64_t bytes, int buf) {
    LocalRef r;
    r.addr = uint32_t(addr);
    r.bytes = uint32_t(bytes);
    r.buf = buf;
    r.gen = buffer_generation(buf);
    r.mem = m;
    r.pos = position;
    return r;
}

}  // namespace twin

using namespace twin;

extern "C" {

Mem tw_memory_of(uint8_t position) { return memory_of(position); }

void tw_local_static(LocalRef* out, uint8_t position, uint32_t addr, uint64_t bytes, At at) {
    QueueState& s = queue_state();
    const Mem m = memory_of(position);
    const std::string name = declared_name(at);
    if (m == Mem::GM) fatal("WRONG_POSITION", at, fmt("%s: position %s is not on the chip", name.c_str(), position_name(position)), "use VECIN, VECOUT or VECCALC for UB");
    if (addr % 32)
        fatal("MISALIGNED", at, fmt("%s starts at byte %u; addresses step by 32", name.c_str(), addr), fmt("use address %u", (addr + 31) / 32 * 32));
    if (addr + bytes > capacity(m))
        fatal("UB_OVERFLOW", at, fmt("%s ends at byte %llu; the memory of %s has %u", name.c_str(), (unsigned long long)(addr + bytes), position_name(position), capacity(m)), "lower the address or the length");
    std::string with;
    if (s.pipe && static_overlaps(s, m, addr, addr + bytes, with))
        report(Severity::Warning, "OVERLAP", at, fmt("%s at raw bytes [%u, %llu) overlaps %s of the TPipe", name.c_str(), addr, (unsigned long long)(addr + bytes), with.c_str()), "use one mechanism only: TBuf from the TPipe, or raw addresses without a TPipe");
    *out = raw(m, position, addr, bytes, static_buffer(s, m, addr, uint32_t(bytes), name, at));
}

void tw_local_window(LocalRef* r, int64_t shift, uint64_t bytes, At at) {
    if (r->mem == Mem::N) fatal("OUT_OF_BOUNDS", at, "SetSize on a LocalTensor that was never assigned", "take it from AllocTensor, DeQue or TBuf::Get first");
    const uint64_t lo = r->addr + shift;
    if (lo + bytes > capacity(r->mem))
        fatal("OUT_OF_BOUNDS", at, fmt("%s would end at byte %llu of a memory of %u B", describe(*r).c_str(), (unsigned long long)(lo + bytes), capacity(r->mem)));
    r->addr = uint32_t(lo);
    r->bytes = uint32_t(bytes);
}

void* tw_local_scalar(const LocalRef* r, uint64_t offset, uint32_t bytes, int write, At at) {
    return scalar_access(*r, offset, bytes, write != 0, at, write ? "SetValue" : "GetValue");
}

void* tw_local_pointer(const LocalRef* r) { return r->mem == Mem::N ? nullptr : core().at(r->mem, r->addr); }

void* tw_local_raw(const LocalRef* r) {
    // What is written through the pointer is not seen: from here on these bytes count as written.
    if (r->mem != Mem::N && uint64_t(r->addr) + r->bytes <= capacity(r->mem)) mark_defined(core(), r->mem, r->addr, uint64_t(r->addr) + r->bytes);
    return tw_local_pointer(r);
}

// NumPy makes float64 and int64 when nothing else is said. Through a GM_ADDR their bytes would pass as any type; other
// reinterpretations (bytes, bit patterns of the same size, halves of an integer) are common and meant.
void tw_gm_type(const void* p, DType t, At at) {
    const GmBuffer* b = checks_on() && p ? gm_find(p) : nullptr;
    if (!b || b->workspace) return;
    const DType a = b->dtype;
    auto real = [](DType x) { return x == DType::F16 || x == DType::BF16 || x == DType::F32 || x == DType::F64; };
    if (a == t || size_of(a) < 2 || size_of(t) < 2 || (!real(a) && !real(t)) || (size_of(a) == size_of(t) && !(real(a) && real(t)))) return;
    static const char* numpy[] = {"", "float16", "ml_dtypes.bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "", "bool_"};
    report(Severity::Warning, "HOST_ARGUMENT", at,
           fmt("argument %s is an array of %s, and this GlobalTensor reads its bytes as %s: nothing is converted", b->name.c_str(), numpy[int(a)], dtype_name(t)),
           fmt("make the array with dtype=%s%s", t == DType::BF16 ? "" : "np.", numpy[int(t)]));
}

int32_t tw_user_tag(const LocalRef* r, int32_t value, int write) {
    QueueState& s = queue_state();
    if (write) { s.tags[r->buf] = value; return value; }
    auto f = s.tags.find(r->buf);
    return f == s.tags.end() ? -1 : f->second;
}

uint32_t tw_shape_store(const ShapeRecord* shape) {
    QueueState& s = queue_state();
    for (size_t i = 0; i < s.shapes.size(); ++i)
        if (!std::memcmp(&s.shapes[i], shape, sizeof *shape)) return uint32_t(i + 1);
    s.shapes.push_back(*shape);
    return uint32_t(s.shapes.size());
}

void tw_shape_load(uint32_t id, ShapeRecord* out, At at) {
    QueueState& s = queue_state();
    if (!id || id > s.shapes.size()) fatal("BAD_PARAMETER", at, "GetShapeInfo before SetShapeInfo: the tensor has no shape yet", "call SetShapeInfo first");
    *out = s.shapes[id - 1];
}

void tw_abs_addr(LocalRef* out, uint8_t position, int32_t offset, uint64_t bytes, At at) {
    const Mem m = memory_of(position);
    if (m == Mem::GM) fatal("WRONG_POSITION", at, fmt("GetAbsAddr: position %s is not on the chip", position_name(position)));
    if (offset < 0 || uint64_t(offset) + bytes > capacity(m))
        fatal("OUT_OF_BOUNDS", at, fmt("GetAbsAddr: bytes [%d, %lld) leave a memory of %u B", offset, (long long)(offset + int64_t(bytes)), capacity(m)));
    *out = raw(m, position, uint64_t(offset), bytes, -1);
}

int tw_pop_stack(LocalRef* out, uint8_t position, At at) {
    QueueState& s = queue_state();
    settle_layout();
    const Mem m = memory_of(position);
    if (m != Mem::UB) fatal("WRONG_POSITION", at, fmt("PopStackBuffer: %s does not lie in UB", position_name(position)), "use TPosition::LCM");
    const uint64_t lo = (s.top[int(m)] + 31) / 32 * 32, hi = capacity(m) - (chip_is_a2() ? 64 : 0);
    if (lo >= hi) return 0;
    *out = raw(m, position, lo, hi - lo, static_buffer(s, m, uint32_t(lo), uint32_t(hi - lo), "stack buffer", at));
    return 1;
}

uint8_t* tw_base(uint8_t position) { return core().at(memory_of(position), 0); }

void tw_tbuf_get(LocalRef* out, int32_t tbuf, uint64_t elements, uint64_t bytes, uint64_t offset, int whole, DType t, At at) {
    QueueState& s = queue_state();
    settle_layout();
    if (tbuf <= 0 || tbuf > int32_t(s.plain.size()) || !s.plain[tbuf - 1].live)
        fatal("BAD_PARAMETER", at, "Get: this TBuf has no memory", "call pipe.InitBuffer(tbuf, length) first");
    const Plain& b = s.plain[tbuf - 1];
    static const char* names[] = {"?", "half", "bfloat16_t", "float", "double", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "int4b_t", "bool"};
    const char* type = names[int(t)];
    if (whole) bytes = b.bytes;
    if (offset % 32)
        fatal("MISALIGNED", at, fmt("%s: GetWithOffset starts at byte %llu; offsets are bytes and step by 32", b.name.c_str(), (unsigned long long)offset), fmt("use offset %llu", (unsigned long long)((offset + 31) / 32 * 32)));
    if (offset + bytes > b.bytes)
        fatal("OUT_OF_BOUNDS", at,
              offset ? fmt("TBuf %s holds %u B; GetWithOffset<%s>(%llu, %llu) needs %llu B", b.name.c_str(), b.bytes, type, (unsigned long long)elements, (unsigned long long)offset, (unsigned long long)(offset + bytes))
                     : fmt("TBuf %s holds %u B; Get<%s>(%llu) needs %llu B", b.name.c_str(), b.bytes, type, (unsigned long long)elements, (unsigned long long)bytes),
              fmt("InitBuffer(%s, %llu) or fewer elements", b.name.c_str(), (unsigned long long)((offset + bytes + 31) / 32 * 32)));
    charge(2, at);
    *out = raw(b.mem, b.pos, b.addr + offset, bytes, b.engine);
}

}  // extern "C"
