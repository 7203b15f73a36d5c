#pragma once

#include "engine.h"

namespace twin {

void blocked_report();   // reports DEADLOCK and stops the launch
// Sets of cross-core flags that nobody takes: when a core ends, when a set comes for one that has ended, when all have ended.
void unclaimed_core_end();
void unclaimed_set(const Core& receiver, int flag, At at);
void unclaimed_launch_end();

}  // namespace twin
