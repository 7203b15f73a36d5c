// Flags per 512 bytes of L0C. Everything runs in program order here, so a flag that is not as an instruction needs it
// would stop the device for ever.
#include "cube_unit.h"

#include "pipes.h"

namespace twin {

constexpr int kUnitEvents[2] = {40, 41};                    // marks of the timing pass, beyond the numbers of HardEvent

void unit_check_value(const char* api, int64_t flag, At at) {
    if (flag == 0 || flag == 2 || flag == 3) return;
    fatal("BAD_PARAMETER", at, fmt("%s: unitFlag=%lld; it is 0 (off), 2 (keep the flag) or 3 (flip it)", api, (long long)flag),
          "in a loop over K every Mmad but the last takes 2, the last 3, Fixpipe 3");
}

void unit_issue(bool fixpipe, int64_t flag, At at) {
    if (!flag) return;
    drain_all();
    uint32_t& sets = cube_state().unit_sets[fixpipe ? 0 : 1];
    for (; sets; --sets) {
        Record r = record(Rec::WaitFlag, fixpipe ? Pipe::FIX : Pipe::M, at, "WaitFlag", 0);
        r.event = int16_t(kUnitEvents[fixpipe ? 0 : 1]);
        trace_add(r);
    }
}

void unit_issued(bool fixpipe, int64_t flag, At at) {
    if (flag != 3) return;
    Record r = record(Rec::SetFlag, fixpipe ? Pipe::FIX : Pipe::M, at, "SetFlag", 0);
    r.event = int16_t(kUnitEvents[fixpipe ? 1 : 0]);
    trace_add(r);
    ++cube_state().unit_sets[fixpipe ? 1 : 0];
}

template <class F> static void each_flag(Core& c, const UnitRange& r, F f) {
    std::vector<UnitFlag>& unit = c.cube->unit;
    for (uint32_t k = 0; k < r.columns; ++k) {
        const uint64_t lo = (r.addr + uint64_t(k) * uint64_t(r.pitch)) / kFractal, hi = (r.addr + uint64_t(k) * uint64_t(r.pitch) + r.bytes + kFractal - 1) / kFractal;
        for (uint64_t i = lo; i < hi && i < unit.size(); ++i) f(unit[i]);
    }
}

void unit_enter(Core& c, const Instr& in, bool fixpipe, const UnitRange& r) {
    const UnitFlag* wrong = nullptr;
    each_flag(c, r, [&](UnitFlag& u) {
        if (u.full == fixpipe) join(c.board->K[int(in.pipe)], u.clock);
        else if (!wrong) wrong = &u;
    });
    if (!wrong) return;
    if (fixpipe)
        fatal("DEADLOCK", in.at, fmt("%s waits for the unit flag of its tile, and no Mmad with unitFlag=3 has filled it", in.op),
              "the last Mmad of the loop over K takes unitFlag 3, the ones before it 2; without flags use unitFlag 0 on both sides and M_FIX");
    fatal("DEADLOCK", in.at, fmt("Mmad waits until its tile is free: the Mmad at %s filled it with unitFlag=3, and no Fixpipe with unitFlag=3 has emptied all of it", where(wrong->at).c_str()),
          "Fixpipe covers the whole tile and takes unitFlag 3; SetFixPipeConfig(tensor, true) clears all flags");
}

void unit_leave(Core& c, const Instr& in, bool fixpipe, int64_t flag, const UnitRange& r) {
    if (flag != 3) return;
    Clock now = c.board->K[int(in.pipe)];
    now.own[int(in.pipe)] = c.board->n[int(in.pipe)];
    each_flag(c, r, [&](UnitFlag& u) { u.full = !fixpipe; u.clock = now; u.at = in.at; });
}

void unit_clear(Core& c) {
    for (UnitFlag& u : c.cube->unit) u.full = false;
}

}  // namespace twin
