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
bool worker_take(Core& c, const Instr& in); // false: run it yourself
void worker_wait();                         // until everything handed over has been done
// Run on the engine's thread: now, or at the next worker_wait when called from a body on the worker.
void on_engine(std::function<void()> f);

}  // namespace twin
