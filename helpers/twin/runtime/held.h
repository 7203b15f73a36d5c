// Loads that the worker holds back: what follows can read its operand where it still lies, in GM.
//
// A tile is usually loaded, read once and overwritten by the next load. Then its bytes never need to be copied into UB.
// A held load is carried out as soon as anything else touches its bytes, on either side.
#pragma once
#include <vector>

#include "regions.h"

namespace twin {

// Where a body finds region i, when not in UB; set by the worker around the body of a store or element-wise instruction.
extern thread_local const uint8_t* t_through[4];

class HeldLoads {
  public:
    // Runs the job's body, now or later.
    void run(Core& c, const Instr& in);
    // Carries out what is still held.
    void flush();
    // The core has ended: nobody will read its local memory any more. What was written there is filled as at its start.
    void leave(const Core& c);
    // The engine's thread goes on: it cannot know any more what is written where.
    void forget_written();

  private:
    struct Span { uint64_t lo, hi; };                     // host addresses
    struct Held { Core* core = nullptr; Instr in; Span from{}, to{}; };
    struct Written { Core* core; Span bytes; };           // in local memory
    std::vector<Held> held_;                              // oldest first
    std::vector<Written> written_;

    static bool span(Core& c, const Region& r, Span& s);
    static bool meets(const Span& a, const Span& b) { return a.lo < b.hi && b.lo < a.hi; }
    void carry_out(size_t i);
    void note_written(Core& c, const Instr& in);
};

}  // namespace twin
