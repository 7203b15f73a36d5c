// The softmax family as the runtime sees it.
#pragma once
#include "twin/abi_adv.h"
#include "twin/adv_softmax_tiling.h"

namespace twin {

struct SoftmaxShape { uint32_t m = 0, k = 0, valid_m = 0, valid_k = 0; };

struct SoftmaxCall {
    const char* api = "";
    At at{};
    SoftmaxKind kind = SoftmaxKind::Plain;
    DType type = DType::None, stat = DType::None;       // of src, dst and expMax; of max, sum, mean
    // a tensor that the form lacks stays empty
    LocalRef dst, src, sum, max, exp_max, in_sum, in_max, grad, mean, in_mean, reduce_max;
    AdvTmp tmp;
    SoftmaxShape shape;                                 // argument, else the ShapeInfo of src
    SoftmaxShape tiling;
    uint32_t split_m = 1;                               // of the tiling
    uint8_t has_stats = 1, has_reduce_max = 0, update = 0, basic_block = 0, nz = 0, no_brc = 0, check_tiling = 1;
    uint32_t loop = 1, mean_parts = 8;
    float alpha = 0.9375f;
};
struct AdjustCall {
    At at{};
    DType type = DType::None, stat = DType::None;
    LocalRef res, max;
    SoftmaxShape shape;
    uint32_t from = 0;
    uint64_t to = 0;                                    // bits of the new value
    uint8_t nz = 0, no_brc = 0;
};

}  // namespace twin

extern "C" {
void tw_softmax(const twin::SoftmaxCall* call);
int tw_adjust_softmax(const twin::AdjustCall* call);
}
