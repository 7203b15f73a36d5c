// Two kinds of cores run one kernel text, and each skips the calls that belong to the other.
#pragma once
#include "engine.h"

namespace twin {

// Cores of this kind run the kernel.
bool in_launch(CoreKind kind);
// True: this kind of core lacks the unit, and the call does nothing here. A finding says so when no core of the launch has
// it; where the other kind is there too, code shared by both is normal practice.
bool belongs_elsewhere(CoreKind needs, const char* api, At at);

}  // namespace twin
