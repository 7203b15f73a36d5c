// Internal: performance notes at the end of a launch.
#pragma once
#include "state.h"

namespace twin {

void perf_notes(const Trace& trace, const Timing& t);

}  // namespace twin
