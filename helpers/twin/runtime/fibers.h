// Internal: cooperative stacks.
#pragma once
#include "state.h"

namespace twin {

void fiber_resume(Instance& i);              // runs the instance until it finishes or waits
bool is_stack_guard(const void* address);    // for the crash handler: endless recursion ends there
void give_way();                             // lets other blocks run (polling loops)

}  // namespace twin
