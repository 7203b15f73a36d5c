// What the instructions that are not element-wise share: lanes of a repeat, operand checks, results for the scalar unit.
#pragma once
#include "vec_core.h"

namespace twin {

// Bytes of the lanes that take part, repeat by repeat.
Region lanes_region(const LocalRef& t, uint8_t rw, const char* name, uint32_t z, const VecExtent& e, uint32_t lanes, int32_t blk, int32_t rep);
// n0 rows of `bytes`, `step` bytes apart.
Region rows_region(const LocalRef& t, uint8_t rw, const char* name, uint32_t z, uint32_t n0, uint32_t bytes, int64_t step);
bool lane_on(const uint64_t mask[2], uint32_t lane);

// argument: place of the operand in the call, for its name in the learner's text.
void check_place(const char* api, At at, int argument, const char* role, const LocalRef& t, uint32_t z, DType type, uint32_t align);
int32_t check_range(const char* api, At at, const char* what, int64_t value, int64_t least, int64_t most, const char* hint);
void check_needs(const char* api, At at, const char* role, const LocalRef& t, uint64_t need, Severity severity, const char* why);
bool ranges_meet(const LocalRef& a, uint64_t a_bytes, const LocalRef& b, uint64_t b_bytes);
void check_apart(const char* api, At at, const LocalRef& dst, uint64_t dst_bytes, const LocalRef& src, uint64_t src_bytes, const char* role, const char* hint);

// An instruction with the cost row `op` of the chip.
void set_cost(Instr& in, const char* op, DType t, uint32_t repeats, uint64_t elements);
// The scalar unit waits until every earlier vector instruction has finished, as the library does behind some calls.
void scalar_awaits_vector(At at);
double element_value(DType t, const void* p);               // half and float, for messages
// Instructions whose extent depends on data in UB: what is queued on the vector pipe runs first.
void settle_vector(At at);
// Leaves a mask behind that no SetVectorMask asked for.
void leave_mask(uint64_t lanes, At at);

// Undefined bytes of UB, for instructions that move elements around: the destination of an undefined element is undefined.
struct Undefined {
    bool any = false;                     // somewhere in the range given
    Undefined(uint64_t lo, uint64_t hi);
    bool at(uint64_t address, uint32_t bytes) const;
};
// Reports an operand that decides something although nobody wrote it; `lane` names the element.
bool check_decides(const Instr& in, const char* role, const LocalRef& t, uint64_t lo, uint64_t hi);

}  // namespace twin
