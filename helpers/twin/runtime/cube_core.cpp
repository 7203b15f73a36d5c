// What all instructions of the cube unit check, and how "never written" travels through them.
#include "cube_core.h"

#include "core_kind.h"

namespace twin {

CubeState& cube_state() {
    Core& c = core();
    if (!c.cube) {
        c.cube = std::make_shared<CubeState>();
        auto num = [](const char* key, double otherwise) { return float(chip().num(key, otherwise)); };
        CubeCosts& k = c.cube->cost;
        k.l0a = num("l0a_bytes_per_cycle", 256);
        k.l0b = num("l0b_bytes_per_cycle", 128);
        k.table = num("bt_bytes_per_cycle", 32);
        k.start = num("mte1_start_cycles", 2);
        k.mmad_head = num("mmad_head_cycles", 10);
        k.mmad_alone = num("mmad_isolated_head_cycles", 24);
        k.fix_l1 = num("fix_l1_elements_per_cycle", 64);
        c.cube->unit.resize(capacity(Mem::L0C) / kFractal);
    }
    return *c.cube;
}

bool cube_begin(const char* api, At at) {
    if (!belongs_elsewhere(CoreKind::AIC, api, at)) return true;
    if (in_launch(CoreKind::AIC))
        report(Severity::Warning, "UNSUPPORTED_API", at, fmt("%s is an instruction of the cube core, and a vector core came here: it does nothing", api),
           "guard it with if ASCEND_IS_AIC { … }");
    return false;
}

void cube_memory(const char* api, At at, const LocalRef& t, const char* role, std::initializer_list<Mem> want, const char* where) {
    if (t.mem == Mem::N)
        fatal("OUT_OF_BOUNDS", at, fmt("%s: %s is a LocalTensor that was never assigned", api, role), "take it from AllocTensor, DeQue or TBuf::Get first");
    for (Mem m : want) if (t.mem == m) return;
    fatal("WRONG_POSITION", at, fmt("%s: %s must be in %s, and this tensor is in %s (TPosition::%s)", api, role, where, memory_name(t.mem), position_name(t.pos)),
          "the position of its queue, buffer or LocalTensor decides the memory");
}

void cube_alignment(const char* api, At at, const LocalRef& t, const char* role, uint32_t bytes) {
    if (!checks_on() || t.addr % bytes == 0) return;
    const uint32_t next = (t.addr / bytes + 1) * bytes;
    report(Severity::Error, "MISALIGNED", at, fmt("%s: %s starts at byte 0x%x of %s, which is not a multiple of %u", api, role, t.addr, memory_name(t.mem), bytes),
           fmt("start at byte 0x%x or 0x%x%s", next - bytes, next, bytes == kFractal ? ": 512 B are one fractal" : ""));
}

void cube_fields(const char* api, At at, std::initializer_list<CubeField> all, const char* hint) {
    for (const CubeField& f : all)
        if (f.value < f.min || f.value > f.max) {
            const int64_t bits = f.max <= 255 ? 255 : f.max <= 65535 ? 65535 : 0xffffffffll;
            const std::string cut = f.value > bits ? fmt("; the device would use %lld", (long long)(f.value & bits)) : "";
            fatal("BAD_PARAMETER", at, fmt("%s: %s=%lld is outside %lld..%lld%s", api, f.name, (long long)f.value, (long long)f.min, (long long)f.max, cut.c_str()), hint);
        }
}

void cube_instr(Instr& in, const char* api, At at, Pipe pipe) {
    in.op = api;
    in.pipe = pipe;
    in.needs = CoreKind::AIC;
    in.any_core = !chip_is_a2();
    in.at = at;
    in.slope = 1;
    in.detached = true;
}

bool any_undefined(Core& c, Mem m, uint64_t lo, uint64_t hi) {
    bool found = false;
    c.board->shadow[int(m)].look(lo, hi, [&](uint64_t, uint64_t, const Cell& cell) { found = found || cell.undef != kDefined; });
    return found;
}

void carry_undefined(Core& c, Mem dst_mem, Mem src_mem, uint64_t src_lo, uint64_t src_hi, const ByteMap& map) {
    if (!any_undefined(c, src_mem, src_lo, src_hi)) return;
    std::vector<uint8_t> bad(src_hi - src_lo, 0);
    c.board->shadow[int(src_mem)].look(src_lo, src_hi, [&](uint64_t a, uint64_t z, const Cell& cell) {
        if (cell.undef != kDefined) std::memset(bad.data() + (a - src_lo), cell.undef, z - a);
    });
    uint64_t lo = 0, hi = 0;                                // run of undefined destination bytes
    auto flush = [&] { if (lo < hi) c.board->shadow[int(dst_mem)].define(lo, hi, kNeverWritten); };
    for (uint64_t k = 0; k < map.n; ++k) {
        uint64_t d = 0, s = 0;
        map.at(map.self, k, d, s);
        if (s < src_lo || s >= src_hi || !bad[s - src_lo]) continue;
        if (d == hi) { hi += map.esize; continue; }
        flush();
        lo = d;
        hi = d + map.esize;
    }
    flush();
}

}  // namespace twin

using namespace twin;

extern "C" void tw_cube_absent(const char* api, const char* instead, At at) {
    if (chip_is_a2() && !on(CoreKind::AIC)) return;
    fatal("UNSUPPORTED_API", at, fmt("%s does not exist on %s", api, chip().name.c_str()), instead);
}
