// unitFlag: one flag per 512 bytes of L0C between Mmad and Fixpipe, instead of M_FIX and FIX_M.
#pragma once
#include "cube_core.h"

namespace twin {

struct UnitRange { uint64_t addr; uint32_t columns; int64_t pitch; uint32_t bytes; };   // 16-wide columns of a tile, bytes of each
void unit_check_value(const char* api, int64_t flag, At at);
// Before the instruction is issued: what is queued on the other pipe comes first, and the timeline waits for it.
void unit_issue(bool fixpipe, int64_t flag, At at);
void unit_issued(bool fixpipe, int64_t flag, At at);
// While it is checked: wait for the flags of its tile, and leave them as the value says.
void unit_enter(Core& c, const Instr& in, bool fixpipe, const UnitRange& r);
void unit_leave(Core& c, const Instr& in, bool fixpipe, int64_t flag, const UnitRange& r);
void unit_clear(Core& c);

}  // namespace twin
