#pragma once

#include "engine.h"

namespace twin {

void blocked_report();   // reports DEADLOCK and stops the launch
// Sets of cross-core flags that nobody takes: noted when a core ends and when a set comes for one that has ended, told when
// all have ended.
void unclaimed_launch_begin();
void unclaimed_core_end();
void unclaimed_set(const Core& receiver, int flag, At at);
void unclaimed_launch_end();

}  // namespace twin
