// Reductions as the runtime sees them: one plain description of a call.
#pragma once
#include "twin/abi_vec.h"

namespace twin {

enum class ReduceKind : uint8_t { Sum, Max, Min };
// What is folded into one result: a block of 32 bytes, two neighbours, a repeat, or everything (count or repeats).
enum class ReduceShape : uint8_t { Block, Pair, Repeat, All };

struct ReduceCall {
    VecCall call;                     // api, type, mask, dst.ref, src[0].ref with block and repeat stride
    ReduceKind kind = ReduceKind::Sum;
    ReduceShape shape = ReduceShape::All;
    uint8_t order = 0;                // ReduceOrder of maximum and minimum per repeat
    uint8_t cal_index = 0;            // ReduceMax, ReduceMin: dst[1] = index
    int64_t dst_rep = 0;              // in results of one repeat
    uint8_t to_register = 0;          // the sum of all repeats goes to the register only
    LocalRef tmp;                     // sharedTmpBuffer of shape All
};

}  // namespace twin

extern "C" {
void tw_vec_reduce(const twin::ReduceCall* call);
uint64_t tw_vec_reduce_sum(int bytes, twin::At at);                                   // GetAccVal, as bits
void tw_vec_reduce_extreme(uint64_t* value, uint64_t* index, twin::At at);            // GetReduceMaxMinCount, as bits
}
