// From a copy call to an instruction.
#include "copy_core.h"
#include "held.h"
#include "stream_copy.h"

#include <cstring>

#include "core_kind.h"
#include "hooks.h"
#include "queues.h"

namespace twin {

const char* type_name(DType t) {
    static const char* names[] = {"?", "half", "bfloat16_t", "float", "double", "int8_t", "uint8_t", "int16_t", "uint16_t",
                                  "int32_t", "uint32_t", "int64_t", "uint64_t", "int4b_t", "bool"};
    return t < DType::N ? names[static_cast<int>(t)] : "?";
}

// ===== Names
static std::string written_argument(const char* api, At at, int n) {
    std::string s = argument_at(at, fmt("%s(", api).c_str(), n);
    if (s.empty()) s = argument_at(at, fmt("%s<", api).c_str(), n);
    return s.size() <= 48 && s.find('\n') == std::string::npos ? s : std::string();
}

std::string operand_name(const char* api, At at, int argument, const LocalRef& t) {
    std::string s = written_argument(api, at, argument);
    return s.empty() ? describe(t) : s;
}

std::string CopyCall::local_name() const { return operand_name(api, at, store ? 1 : 0, local); }
std::string CopyCall::global_name() const {
    std::string s = written_argument(api, at, store ? 0 : 1);
    return s.empty() ? describe_gm(global.ptr) : s;
}

uint64_t CopyCall::global_room() const {
    if (global.set == 2 && !global.bytes) return 0;            // the view was shifted past its end
    const GmBuffer* b = gm_find(global.ptr);
    const uint64_t lo = b ? static_cast<uint64_t>(global.ptr - b->base) : 0;
    const uint64_t left = b && lo < b->bytes ? b->bytes - lo : 0;
    return global.bytes && global.bytes < left ? global.bytes : left;
}

// ===== Operands
void check_local_alignment(const char* api, const LocalRef& t, DType type, int argument, At at) {
    if (t.addr % kBlock == 0) return;
    const uint32_t size = size_of(type) ? size_of(type) : 1;
    uint32_t off = t.addr;
    std::string in = t.mem == Mem::L1 ? "L1" : "UB";
    const std::string memory = in;
    const auto& all = buffers();
    if (t.buf >= 0 && t.buf < static_cast<int>(all.size())) {
        off = t.addr - all[static_cast<size_t>(t.buf)].addr;
        LocalRef whole = t;
        whole.addr = all[static_cast<size_t>(t.buf)].addr;
        in = describe(whole);
    }
    const uint32_t next = (off / kBlock + 1) * kBlock;
    std::string hint = row_hint(t, type);
    if (hint.empty())
        hint = fmt("start at element %u (byte %u) or %u (byte %u); data that must be shifted can be loaded from another GM offset", off / kBlock * kBlock / size,
                   off / kBlock * kBlock, next / size, next);
    report(Severity::Error, "MISALIGNED", at,
           fmt("%s starts at byte %u of %s; %s needs %s addresses that are multiples of 32", operand_name(api, at, argument, t).c_str(), off, in.c_str(), api,
               memory.c_str()),
           hint);
}

static void check_global_alignment(const CopyCall& c) {
    const uint64_t a = gm_device_address(c.global.ptr);
    if (c.size > 1 && a % c.size)
        report(Severity::Error, "MISALIGNED", c.at,
               fmt("%s starts at GM byte %llu of %s, in the middle of an element: %s data starts at multiples of %u B", c.global_name().c_str(),
                   static_cast<unsigned long long>(a % 512), describe_gm(c.global.ptr).c_str(), type_name(c.type), c.size),
               "GM_ADDR + n counts bytes: multiply the offset by sizeof(T), or add it to a typed pointer");
    else if (!chip_is_a2() && c.store && a % kBlock)
        report(Severity::Error, "MISALIGNED", c.at,
               fmt("%s starts %llu B behind a 32 B boundary of GM; stores of this chip start on one", c.global_name().c_str(),
                   static_cast<unsigned long long>(a % kBlock)),
               "pad the rows on the host, or accumulate into zeroed memory with SetAtomicAdd");
}

// A queue's positions decide which pipes its EnQue and DeQue order. Synchronised by hand, any position is legal.
static void check_position(const CopyCall& c) {
    const auto& all = buffers();
    if (c.local.buf < 0 || c.local.buf >= static_cast<int>(all.size()) || !all[static_cast<size_t>(c.local.buf)].queue) return;
    QueueState& s = queue_state();
    const auto slot = s.slot_of.find(c.local.buf);
    if (slot == s.slot_of.end()) return;
    const Queue& q = s.queues[static_cast<size_t>(s.slots[static_cast<size_t>(slot->second)].queue)];
    if (q.enque_event < 0 || q.mem != Mem::UB) return;
    const Pipe from = event_source(q.enque_event), to = event_target(q.enque_event);
    if (!c.store && from != Pipe::MTE2)
        report(Severity::Warning, "WRONG_POSITION", c.at,
               fmt("%s is a %s queue but the destination of a GM -> UB copy: its EnQue and DeQue order %s before %s, not MTE2 before V", q.name.c_str(),
                   position_name(q.pos), pipe_name(from), pipe_name(to)),
               fmt("declare %s as TQue<TPosition::VECIN, …>, or order the copy with SetFlag/WaitFlag<HardEvent::MTE2_V>", q.name.c_str()));
    if (c.store && to != Pipe::MTE3)
        report(Severity::Warning, "WRONG_POSITION", c.at,
               fmt("%s is a %s queue but the source of a UB -> GM copy: its EnQue and DeQue order %s before %s, not V before MTE3", q.name.c_str(),
                   position_name(q.pos), pipe_name(from), pipe_name(to)),
               fmt("declare %s as TQue<TPosition::VECOUT, …>, or order the copy with SetFlag/WaitFlag<HardEvent::V_MTE3>", q.name.c_str()));
}

bool copy_begin(const CopyCall& c) {
    const bool vector = c.local.mem == Mem::UB || (c.local.mem == Mem::N && in_launch(CoreKind::AIV));
    const CoreKind kind = vector ? CoreKind::AIV : CoreKind::AIC;
    if (belongs_elsewhere(kind, c.api, c.at)) return false;
    if (c.local.mem == Mem::N)
        fatal("OUT_OF_BOUNDS", c.at, fmt("%s: %s is a LocalTensor that was never assigned", c.api, c.local_name().c_str()),
              "take it from AllocTensor, DeQue or TBuf::Get first");
    if (c.local.mem != Mem::UB && c.local.mem != Mem::L1) {
        const char* other = c.store ? "results of L0C leave through Fixpipe" : "load to L1 with DataCopy, then to L0 with LoadData";
        fatal("UNSUPPORTED_API", c.at, fmt("%s: there is no direct copy between GM and %s", c.api, c.local_name().c_str()), other);
    }
    if (!c.size || (c.type == DType::BF16 && !chip_is_a2()))
        fatal("UNSUPPORTED_TYPE", c.at, fmt("%s has no %s on this chip", c.api, c.size ? type_name(c.type) : "such element type"),
              "ReinterpretCast both tensors to an integer type of the same size");
    if (c.type == DType::I4 && c.local.mem == Mem::UB)
        fatal("UNSUPPORTED_TYPE", c.at, fmt("%s between GM and UB does not take int4b_t", c.api), "ReinterpretCast<int8_t>() both tensors and halve the count");
    if (!checks_on()) return true;
    check_local_alignment(c.api, c.local, c.type, c.store ? 1 : 0, c.at);
    if (std::strcmp(c.api, "DataCopyPad") && c.global.ptr) check_global_alignment(c);
    check_position(c);
    if (c.store) check_atomic_store(c);
    return true;
}

// ===== The instruction
static uint8_t element_bytes(const CopyCall& c, uint32_t len) { return static_cast<uint8_t>(len % c.size ? 1 : c.size); }

Region local_rows(const CopyCall& c, const CopyRows& r, uint64_t offset, uint32_t len, uint8_t rw) {
    Region g = local(c.local, rw, offset, len, c.local_role(), element_bytes(c, len));
    g.n0 = r.rows;
    g.s0 = r.local_pitch;
    return g;
}

Region global_rows(const CopyCall& c, const CopyRows& r) {
    Region g = global(c.global.ptr, c.store ? kWrite : kRead, r.len, c.global_role());
    g.esize = element_bytes(c, r.len);
    g.n0 = r.rows;
    g.s0 = r.global_pitch;
    return g;
}

static float g_issue = 8, g_issue_pad = 15;   // scalar cycles of a call, from the chip

void fill_copy(Instr& in, const CopyCall& c, const CopyRows& r) {
    in.op = c.api;
    in.pipe = c.pipe();
    in.needs = c.local.mem == Mem::L1 ? CoreKind::AIC : CoreKind::AIV;
    in.any_core = !chip_is_a2();
    in.at = c.at;
    in.undef = c.store ? Undef::Store : Undef::Propagate;
    in.atomic = c.store ? core().dma.atomic_op : 0;
    in.s_cycles = r.padded ? g_issue_pad : g_issue;
    in.elements = static_cast<uint64_t>(r.rows) * r.len / c.size;
    in.copy.is = true;
    in.copy.store = c.store;
    in.copy.cache = c.global.cache;
    in.copy.ragged = r.ragged;
    in.copy.rows = r.rows;
    in.copy.row_bytes = r.len;
    in.copy.row_pitch = r.global_pitch;
    in.copy.gm = gm_device_address(c.global.ptr);
}

void issue_rows(const CopyCall& c, const CopyRows& r) {
    Instr in;
    fill_copy(in, c, r);
    const Region g = global_rows(c, r), l = local_rows(c, r, 0, r.len, c.store ? kRead : kWrite);
    RowMove m;
    m.rows = r.rows;
    m.len = r.len;
    m.atomic = static_cast<Atomic>(in.atomic);
    m.type = core().dma.atomic_type;
    if (c.store) {
        in.add(l);
        in.add(g);
        m.dst = g.addr, m.dst_mem = Mem::GM, m.dst_pitch = r.global_pitch;
        m.src = l.addr, m.src_mem = l.mem, m.src_pitch = r.local_pitch;
    } else {
        in.add(g);
        in.add(l);
        m.dst = l.addr, m.dst_mem = l.mem, m.dst_pitch = r.local_pitch;
        m.src = g.addr, m.src_mem = Mem::GM, m.src_pitch = r.global_pitch;
    }
    in.put(m);
    in.body = move_rows;
    in.detached = m.atomic == Atomic::None;
    if (in.detached && (r.rows == 1 || (r.local_pitch == int64_t(r.len) && r.global_pitch == int64_t(r.len)))) in.shape = c.store ? Instr::PlainStore : Instr::PlainLoad;
    if (checks_on() && r.note) note_copy(c, r);
    issue(in);
}

void move_rows(Core& c, const Instr& in) {
    const RowMove& m = in.get<RowMove>();
    uint8_t* dst = c.at(m.dst_mem, m.dst);
    const uint8_t* src = c.at(m.src_mem, m.src);
    if (m.atomic != Atomic::None) {
        bool wrapped = false;
        for (uint32_t b = 0; b < m.rows; ++b) wrapped |= atomic_combine(m.atomic, m.type, dst + b * m.dst_pitch, src + b * m.src_pitch, m.len);
        if (wrapped && checks_on())
            report(Severity::Warning, "NUMERIC", in.at, fmt("an atomic sum left the range of %s and wrapped around", type_name(m.type)), "accumulate in a wider type");
        return;
    }
    if (m.rows == 1 || (m.dst_pitch == m.len && m.src_pitch == m.len)) {
        const size_t n = static_cast<size_t>(m.rows) * m.len;
        if (m.dst_mem == Mem::GM) stream_copy(dst, t_through[0] ? t_through[0] : src, n); else std::memmove(dst, src, n);
        return;
    }
    for (uint32_t b = 0; b < m.rows; ++b) std::memmove(dst + b * m.dst_pitch, src + b * m.src_pitch, m.len);
}

void copy_launch_begin() {
    g_issue = static_cast<float>(chip().num("issue_cycles", 8));
    g_issue_pad = static_cast<float>(chip().num("issue_pad_cycles", 15));
    copy_notes_begin();
    dcache_begin();
    init_global_begin();
}

}  // namespace twin
