// A call of the softmax family after its checks, and the loop that carries it out.
#pragma once
#include "adv_core.h"
#include "twin/abi_softmax.h"

namespace twin {

struct SoftmaxPlan {
    SoftmaxKind kind = SoftmaxKind::Plain;
    DType type = DType::None, stat = DType::None;
    uint32_t dst = 0, src = 0, sum = 0, max = 0, exp_max = 0, in_sum = 0, in_max = 0, grad = 0, mean = 0, in_mean = 0, reduce_max = 0;   // UB byte addresses
    uint32_t m = 0, k = 0, pitch = 0, fractal = 0;       // valid rows and columns; elements from row to row; NZ: rows of a column of fractals
    uint32_t stat_lanes = 0, exp_lanes = 0;              // equal elements per row of max and sum, of expMax
    bool stats = false, update = false, reduce = false;
    uint32_t loop = 1;
    float alpha = 0;
};
void softmax_run(Core& c, const Instr& in);              // softmax and its online forms
void softmax_grad_run(Core& c, const Instr& in);

// Element (row, column) of a matrix in UB, in rows or in fractals of 16 x 16.
inline int64_t softmax_place(uint32_t pitch, uint32_t fractal, uint32_t r, uint32_t c) {
    return fractal ? int64_t(c / 16) * fractal * 16 + int64_t(r) * 16 + c % 16 : int64_t(r) * pitch + c;
}
// Registers an M x K matrix: whole rows, or the fractals that hold it.
uint32_t softmax_matrix(AdvGroup& g, const char* role, const LocalRef& t, DType type, uint8_t rw, const SoftmaxShape& s, bool nz);

}  // namespace twin
