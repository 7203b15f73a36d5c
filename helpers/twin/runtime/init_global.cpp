// Filling memory with one value: GM through a scratch area in UB, L1 and L0 directly.
#include <cstring>
#include <map>

#include "copy_core.h"
#include "core_kind.h"
#include "hooks.h"
#include "queues.h"

using namespace twin;

namespace twin {

struct FillMove {
    uint64_t addr, value;
    int64_t pitch;
    uint32_t rows, len, size;
    Mem mem;
};

static void fill_rows(Core& c, const Instr& in) {
    const FillMove& m = in.get<FillMove>();
    uint8_t* p = c.at(m.mem, m.addr);
    for (uint32_t r = 0; r < m.rows; ++r, p += m.pitch)
        for (uint32_t i = 0; i < m.len; i += m.size) std::memcpy(p + i, &m.value, m.size);
}

struct Scratch { uint32_t addr, bytes, size; uint64_t value; };
static std::map<int, Scratch> g_scratch;   // by core: what the area above the buffers holds
void init_global_begin() { g_scratch.clear(); }

static void init_global(const GlobalRef& g, DType t, uint64_t count, uint64_t bits, const char* api, At at) {
    if (belongs_elsewhere(CoreKind::AIV, api, at)) return;
    const uint32_t size = size_of(t);
    gm_check(g, 0, count * size, at, api, "gm");
    if (!count) return;
    const uint32_t top = static_cast<uint32_t>((queue_state().top[static_cast<int>(Mem::UB)] + kBlock - 1) / kBlock * kBlock), end = capacity(Mem::UB);
    const uint32_t free_bytes = top < end ? end - top : 0;
    if (free_bytes < kBlock)
        fatal("UB_OVERFLOW", at, fmt("%s first fills free UB above the buffers, and %u of %u B are left", api, free_bytes, end), fmt("call %s before pipe.InitBuffer", api));
    const uint64_t total = count * size;
    const uint32_t chunk = static_cast<uint32_t>(std::min<uint64_t>({65280, free_bytes / kBlock * kBlock, (total + kBlock - 1) / kBlock * kBlock}));
    if (checks_on() && top)
        report(Severity::Warning, "BAD_PARAMETER", at, fmt("%s is called after InitBuffer: it fills free UB first, %u B are left above the buffers", api, free_bytes),
               fmt("call %s before pipe.InitBuffer", api));

    LocalRef scratch;
    scratch.addr = top;
    scratch.bytes = chunk;
    scratch.mem = Mem::UB;
    scratch.pos = 11;                                       // VECCALC
    const Scratch now{top, chunk, size, bits};
    Scratch& before = g_scratch[core().id];
    const bool same = before.addr == now.addr && before.bytes >= now.bytes && before.size == now.size && before.value == now.value;
    Instr fill;
    fill.op = api;
    fill.pipe = Pipe::V;
    fill.any_core = !chip_is_a2();
    fill.at = at;
    const VecCost cost = vec_cost("Duplicate", size == 2 ? "b16" : "b32");
    fill.head = cost.head;
    fill.slope = cost.slope;
    fill.repeats = (chunk + kRepeat - 1) / kRepeat;
    fill.elements = chunk / size;
    // The same bytes again change nothing that an earlier store could still be reading.
    if (!same) fill.add(local(scratch, kWrite, 0, chunk, "scratch", static_cast<uint8_t>(size)));
    fill.put(FillMove{top, bits, 0, 1, chunk, size, Mem::UB});
    fill.body = fill_rows;
    issue(fill);
    if (!same) before = now;

    constexpr int v_mte3 = 7;
    const int id = alloc_event(v_mte3, at);
    set_flag(v_mte3, id, at, true);
    wait_flag(v_mte3, id, at, true);
    release_event(v_mte3, id, at);
    for (uint64_t done = 0; done < total; done += chunk) {
        CopyCall c(api, at, t, scratch, g, true);
        c.global.ptr += done;
        if (c.global.bytes) c.global.bytes -= done;
        CopyRows r;
        r.len = static_cast<uint32_t>(std::min<uint64_t>(chunk, total - done));
        r.note = false;
        r.ragged = r.len % kBlock != 0;
        issue_rows(c, r);
    }
    pipe_barrier(Pipe::MTE3, at);
}

static void fill_local(const LocalRef& dst, DType t, int64_t repeats, int64_t blocks, int64_t gap, uint64_t bits, const char* api, At at) {
    if (belongs_elsewhere(CoreKind::AIC, api, at)) return;
    const bool l0 = dst.mem == Mem::L0A || dst.mem == Mem::L0B;
    if (!l0 && dst.mem != Mem::L1)
        fatal("UNSUPPORTED_API", at, fmt("%s fills L1, L0A and L0B; this tensor is %s", api, describe(dst).c_str()), "in UB use Duplicate");
    if (size_of(t) != 2 && size_of(t) != 4)
        fatal("UNSUPPORTED_TYPE", at, fmt("%s does not take %s", api, type_name(t)), "ReinterpretCast to a type of 2 or 4 bytes");
    const int64_t given[] = {repeats, blocks, gap};
    static const char* names[] = {"repeatTimes", "blockNum", "dstGap"};
    for (int i = 0; i < 3; ++i)
        if (given[i] < 0 || given[i] > 32767)
            fatal("BAD_PARAMETER", at, fmt("%s: %s=%lld is outside 0..32767", api, names[i], static_cast<long long>(given[i])), "split the fill");
    if (!repeats || !blocks) return;
    const uint32_t block = l0 ? 512 : kBlock;
    const uint32_t align = l0 ? 512 : kBlock;
    if (checks_on() && dst.addr % align)
        report(Severity::Error, "MISALIGNED", at, fmt("%s: %s starts at byte %u; it must be a multiple of %u", api, describe(dst).c_str(), dst.addr, align), "start at a multiple of the block");
    Instr in;
    in.op = api;
    in.pipe = l0 ? Pipe::MTE1 : Pipe::MTE2;
    in.needs = CoreKind::AIC;
    in.any_core = !chip_is_a2();
    in.at = at;
    in.undef = Undef::Ignore;
    in.head = 24;
    in.slope = 1;
    in.repeats = static_cast<uint32_t>(repeats * blocks);
    in.elements = static_cast<uint64_t>(repeats * blocks) * block / size_of(t);
    Region d = local(dst, kWrite, 0, static_cast<uint32_t>(blocks) * block, "dst", static_cast<uint8_t>(size_of(t)));
    d.n0 = static_cast<uint32_t>(repeats);
    d.s0 = (blocks + gap) * block;
    in.add(d);
    in.put(FillMove{d.addr, bits, d.s0, d.n0, d.len, size_of(t), dst.mem});
    in.body = fill_rows;
    issue(in);
}

}  // namespace twin

extern "C" void tw_init_global(const GlobalRef* dst, DType t, uint64_t count, uint64_t bits, const char* api, At at) { init_global(*dst, t, count, bits, api, at); }
extern "C" void tw_fill_local(const LocalRef* dst, DType t, int64_t repeats, int64_t blocks, int64_t gap, uint64_t bits, const char* api, At at) {
    fill_local(*dst, t, repeats, blocks, gap, bits, api, at);
}
