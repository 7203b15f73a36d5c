// Internal: what happens when an instruction meets the shadow memory.
#pragma once
#include "state.h"

namespace twin {

// Bounds, life time: before the instruction is queued.
void check_regions(const Instr& in);
// Races, undefined bytes; returns the number of the latest earlier instruction of the same pipe it depends on.
uint32_t track(const Instr& in, uint32_t k, uint32_t seq);
void perform(const Instr& in, const Clock& issued, uint32_t seq, uint32_t rec);
void charge_line(float cycles, At at);
bool in_users_text(At at);
[[noreturn]] void deadlock(At at, const std::string& what);
Shadow* gm_shadow_of(uint64_t address);
// Runs queued copies that touch [lo, hi) of a memory (the scalar unit is about to access it).
void settle(Mem m, uint64_t lo, uint64_t hi, bool write, At at);

}  // namespace twin
