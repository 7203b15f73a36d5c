// What host tiling of matrix multiplication is asked and what it answers: shared by C++ host code, the library and Python.
#pragma once
#include "base.h"

namespace twin {

// -1 = free, or not said. Sizes in bytes, everything else in elements or cores.
struct MatmulAsk {
    int32_t kind = 0;                                   // 0 one core, 1 several cores, 2 batch
    int32_t m = -1, n = -1, k = -1;                     // SetShape
    int32_t org_m = -1, org_n = -1, org_ka = -1, org_kb = -1;
    int32_t a = 0, b = 0, c = 0, bias_type = 0;         // DType, 0 = not set
    int32_t trans_a = 0, trans_b = 0, nz_a = 0, nz_b = 0, nz_c = 0, vector_a = 0;
    int32_t bias = 0;
    int32_t dim = 1, split_k = 0;
    int32_t single_m = -1, single_n = -1, single_k = -1;
    int32_t most_m = -1, most_n = -1, most_k = -1, least_m = -1, least_n = -1, least_k = -1;   // SetSingleRange
    int32_t align_m = -1, align_n = -1, align_k = -1;   // SetAlignSplit
    int32_t base_m = -1, base_n = -1, base_k = -1;      // SetFixSplit
    int32_t l1 = -1, l0a = -1, l0b = -1, l0c = -1, bt = -1;
    int32_t traverse = 0;                               // MatrixTraverse
    int32_t mdl = 1;                                    // large packages in L1
    int32_t layout_a[5] = {}, layout_b[5] = {}, layout_c[5] = {}, batch = 0;
};

struct MatmulSplit { int32_t m = 1, n = 1, k = 1; };    // parts along each axis

}  // namespace twin

struct TCubeTiling;
extern "C" {
// 0, or -1 with the reason in `why`.
int tw_matmul_tiling(const twin::MatmulAsk* ask, TCubeTiling* out, twin::MatmulSplit* split, char* why, size_t room);
// The reason why this tiling cannot run with these types ("" = it can): sizes against L1, L0, bias table; depths; multiples.
void tw_matmul_legal(const TCubeTiling* t, twin::DType a, twin::DType b, twin::DType bias, char* why, size_t room);
}
