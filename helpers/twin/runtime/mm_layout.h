// How an operand of Matmul lies in L1, for those who fill it and those who load from it. Internal to mm_load.cpp and mm_l0.cpp.
#pragma once
#include "mm_machine.h"

namespace twin {

// NZ of what GM holds: its rows are M or N, or K.
struct MmPlan {
    DType type;
    int c0;
    bool rows_are_k;         // A transposed, B not transposed: the package has K rows
    int64_t square;          // multiple that rows need: 16, or the side of a square of the transposing load
};

inline MmPlan mm_plan(const MmObject& o, const MmParams& p, bool a) {
    MmPlan f{};
    f.type = a ? o.setup.a.type : o.setup.b.type;
    f.c0 = mm_c0(f.type);
    f.rows_are_k = a == (a ? p.a.trans : p.b.trans);      // a && trans, or !a && !trans
    f.square = f.rows_are_k && f.c0 > 16 ? f.c0 : 16;
    return f;
}

inline int64_t mm_pitch_rows(const MmPlan& f, int64_t size, int64_t kn) { return mm_up(f.rows_are_k ? kn : size, f.square); }
inline int64_t mm_package_bytes(const MmPlan& f, int64_t size, int64_t kn) {
    const int64_t cols = mm_up(f.rows_are_k ? size : kn, f.c0);
    return int64_t(mm_bytes(f.type, mm_pitch_rows(f, size, kn) * cols));
}

}  // namespace twin
