// Internal: the queues of the pipes, shared by instructions (scoreboard.cpp) and flags (flags.cpp).
#pragma once
#include "state.h"

namespace twin {

// ===== scoreboard.cpp
void live(At at, const char* op);                       // tells the parent process where the kernel is
Record record(Rec kind, Pipe p, At at, const char* op, float s_cycles);
void take_issue_clock(Scoreboard& b, Pipe p, const Clock& issued);
bool run_ready(bool copies);                            // runs queued work until nothing moves
bool run_until(Pipe p, const std::function<bool()>& done);  // runs the queue of p, and what it needs, until done

// ===== flags.cpp
void perform_set(int event, int id, const Clock& issued, At at);
bool try_wait(int event, int id, At at);
void perform_barrier(Pipe p, const Clock& issued);
void perform_cross(const Pending& x);

}  // namespace twin
