// Which fractal of which matrix lies where in L0: enough to say that a product would multiply the wrong elements.
#pragma once
#include "cube_core.h"

namespace twin {

// DataCopy with Nd2NzParams has written a matrix to L1.
void layout_matrix(Core& c, const Instr& in, uint64_t addr, uint32_t rows, uint32_t cols, int64_t c0_pitch, int64_t n_pitch, uint32_t size);
// LoadData has copied whole fractals to L0A or L0B.
struct FractalRun { Mem mem; uint64_t dst, src; int64_t dst_pitch, src_pitch; uint32_t repeats; bool transposed; };
void layout_load(Core& c, const Instr& in, const FractalRun& r);
// An Mmad is about to read m x k of A and k x n of B.
struct MmadShape { uint64_t a, b; int32_t m, n, k, k_fractals, width; bool vector; };
void layout_check(Core& c, const Instr& in, const MmadShape& s);

}  // namespace twin
