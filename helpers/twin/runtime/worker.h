// A second thread for the bodies of large, self-contained instructions.
//
// The engine decides everything (checks, clocks, trace) on its own thread; copying and adding bytes is left to the
// worker, strictly in issue order. Whoever looks at memory on the engine's thread waits for the worker first
// (Core::at, gm_check, barriers), so results and findings are the same as without it.
#pragma once
#include <functional>

#include "engine.h"

namespace twin {

void worker_start();                        // for launches that move much data, when there is a second CPU
void worker_stop();
int worker_threads();                       // it stays between launches, asleep
bool worker_take(Core& c, const Instr& in); // false: run it yourself
void worker_wait();                         // until everything handed over has been done
void worker_help();                         // the engine does a part of what is left itself: for independent_cores()
uint64_t worker_leave(Core& c);             // the core has ended: a point in the order of what was handed over …
bool worker_passed(uint64_t mark);          // … and whether the worker is past it
// Run on the engine's thread with c as the running core: now, or at the next worker_wait when a body on the worker asks.
void on_engine(Core& c, std::function<void()> f);

}  // namespace twin
