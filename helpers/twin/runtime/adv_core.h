// The high-level API inside the runtime: one call is one group of vector instructions that reads and writes whole tensors.
//
//   if (!vec_unit_here()) return;                          // a cube core skips the call
//   AdvGroup g("SoftMax", at, Undef::Forbid);
//   plan.src = g.operand("src", src, type, kRead, count);  // checks, registers the bytes, returns the UB address
//   plan.dst = g.operand("dst", dst, type, kWrite, count);
//   g.may_be_same("dst", "src");                           // what may lie in the same place
//   g.scratch(tmp, least, most, "GetSoftMaxMinTmpSize");   // both forms of the workspace
//   g.steps("Exp", type, count);                           // what it costs, one basic instruction at a time
//   g.in.put(plan);
//   g.issue(body);
#pragma once
#include "twin/abi_adv.h"
#include "vec_core.h"
#include "vec_half.h"

namespace twin {

class AdvGroup {
public:
    AdvGroup(const char* api, At at, Undef undef = Undef::Propagate);

    // `elements` side by side. count_name: what the number is called in the API, for the message when it is too large.
    uint32_t operand(const char* role, const LocalRef& t, DType type, uint8_t rw, uint64_t elements, const char* count_name = "calCount");
    // n rows of `len` elements, `pitch` elements apart; `first` elements are skipped. whole: bytes the layout needs, 0 = up to the last row.
    uint32_t rows(const char* role, const LocalRef& t, DType type, uint8_t rw, uint64_t n, uint64_t len, uint64_t pitch, uint64_t first = 0, uint64_t whole = 0,
                  const char* count_name = "the shape");
    // As rows, for bytes that the call leaves with meaningless values (padding columns): written, but not to be stored.
    void leftover(const char* role, const LocalRef& t, DType type, uint64_t n, uint64_t len, uint64_t pitch, uint64_t first);
    // The source may be destroyed by the call (isReuseSource): undefined afterwards.
    void destroyed(const char* role, const LocalRef& t, DType type, uint64_t elements);
    void may_be_same(const char* dst, const char* src);
    void forbid_same(const char* dst, const char* src);     // an error also when both start at the same place
    // least: bytes the call must have (0: none); most: bytes beyond which more does not help. certain = false: the vendor's
    // figure is not known exactly, so that too little is a warning only.
    void scratch(const AdvTmp& tmp, uint64_t least, uint64_t most, const char* sizer, bool certain = true);
    // One basic instruction over `elements` of `type`, `times` in a row; each waits for the one before.
    void steps(const char* op, DType type, uint64_t elements, double times = 1);
    // A reduction of `rows` rows with `elements` in all: `join` folds each row until one repeat is left, which `whole` finishes.
    void reductions(const char* join, const char* whole, DType type, uint64_t elements, uint64_t rows, double times = 1);
    // Leaves the vector mask full and the mode normal, checks overlaps, hands the group to the engine.
    void issue(Body body);

    const char* api() const { return api_; }
    At at() const { return at_; }
    Instr in;                                               // put() your plan here

private:
    struct Used { const char* role; LocalRef ref; uint64_t lo, hi; uint8_t rw; };
    void check(const char* role, const LocalRef& t, uint64_t bytes, uint64_t elements, DType type, const char* count_name);
    void note(const char* role, const LocalRef& t, uint64_t lo, uint64_t hi, uint8_t rw);
    void check_overlaps();
    const char* api_;
    At at_;
    std::vector<Used> used_;
    std::vector<std::pair<const char*, const char*>> same_, never_;
};

// Marks `lanes` of the mask as this call leaves them.
void adv_leave_mask(At at);
// Bytes of UB that no InitBuffer has claimed.
uint64_t adv_free_ub();

// Elements as double and back: one rounding at the end, whatever the type (half, bfloat16_t, float, int32_t, int16_t, 8 bits).
double adv_load(DType t, const uint8_t* p, int64_t i);
void adv_store(DType t, uint8_t* p, int64_t i, double v);
void adv_load_row(DType t, const uint8_t* p, double* out, int64_t n);
void adv_store_row(DType t, uint8_t* p, const double* v, int64_t n);
// Sum of f(0) ... f(n - 1) in eight parts: the order is fixed, and the loop vectorises.
template <class F> double adv_sum(int64_t n, F f) {
    double part[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) part[k] += f(i + k);
    for (int k = 0; i + k < n; ++k) part[k] += f(i + k);
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

}  // namespace twin
