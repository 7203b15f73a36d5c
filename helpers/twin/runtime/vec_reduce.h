// A reduction after its checks, and the loop that carries it out.
#pragma once
#include "twin/abi_reduce.h"
#include "vec_tree.h"

namespace twin {

struct ReducePlan {
    uint32_t dst = 0, src = 0, tmp = 0;      // UB byte addresses
    uint32_t tmp_bytes = 0;                  // scratch whose contents are undefined afterwards
    int32_t blk = 1, rep = 8;
    int64_t step = 0;                        // bytes from the result of one repeat to the next
    uint32_t lanes = 0, repeats = 0, first = 0, tail = 0;
    uint64_t mask[2] = {0, 0};
    uint8_t z = 0, order = 0, cal_index = 0;
    bool saturate = false, counted = false, strided = false, to_register = false;
    ReduceKind kind = ReduceKind::Sum;
    ReduceShape shape = ReduceShape::All;
};
void reduce_run(Core& c, const Instr& in);

}  // namespace twin
