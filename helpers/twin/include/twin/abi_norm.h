// Normalisations as the runtime sees them.
#pragma once
#include "twin/abi_adv.h"
#include "twin/adv_norm_sizes.h"

namespace twin {

struct NormCall {
    const char* api = "";
    At at{};
    Norm kind = Norm::N;
    DType type = DType::None, weight = DType::None, stat = DType::None;     // of x and dst; of gamma and beta; of mean and variance
    LocalRef dst, mean, var, x, gamma, beta, second;    // second: gx of DeepNorm, inputDy of the gradients
    LocalRef res;                                       // resForGamma of the gradients
    AdvTmp tmp;
    NormShape shape;
    uint32_t b = 0, s = 0;                              // for messages
    uint64_t channel = 0, channels = 1;                 // GroupNorm: elements of a channel, channels of an image
    uint64_t groups = 1;
    float epsilon = 0, alpha = 1;
    uint8_t reuse = 0, basic_block = 0, has_gamma = 1, has_beta = 1;
    const char* dst_name = "output";
    const char* x_name = "inputX";
};
struct WelfordCall {
    At at{};
    DType type = DType::F32;                            // of x
    LocalRef out_mean, out_var, in_mean, in_var, x, counts;
    AdvTmp tmp;
    uint32_t rn = 1, ab = 0, compute = 0, head = 0, head_length = 0, tail = 0, tail_length = 0;
    float ab_rec = 0, rn_rec = 0;
    uint8_t in_place = 0, has_counts = 0, reuse = 0;
};

}  // namespace twin

extern "C" {
void tw_norm(const twin::NormCall* call);
void tw_norm_grad(const twin::NormCall* call);
void tw_welford_update(const twin::WelfordCall* call);
void tw_welford_finalize(const twin::WelfordCall* call);
}
