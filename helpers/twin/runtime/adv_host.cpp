// Workspace sizes and tilings for Python: the functions of the host headers, called by name of the API.
#include <cstring>

#include "twin/adv_norm_sizes.h"
#include "twin/adv_softmax_tiling.h"

namespace twin {
namespace {

struct HostShape { uint64_t b, s, h, valid, groups; };       // rows are b * s; of GroupNorm: N, C, H*W

NormShape shape_of(Norm n, const HostShape& s) {
    switch (n) {
        case Norm::Batch: return {s.b, s.s * s.h, s.s * s.h};
        case Norm::Group: return {s.b * s.groups, s.s / s.groups * s.h, s.s / s.groups * s.h};
        default: return {s.b * s.s, s.h, s.valid};
    }
}

template <class T, class F> int filled(void* out, F fill) {
    T t{};
    const bool done = fill(t);
    std::memcpy(out, &t, sizeof t);
    return done;
}

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {
void tw_host_activation_size(int op, uint64_t elements, uint32_t type_size, uint32_t* most, uint32_t* least) {
    const TmpSize size = activation_tmp(Activation(op), elements, type_size);
    *most = size.most;
    *least = size.least;
}

void tw_host_softmax_size(int kind, uint32_t m, uint32_t k, uint32_t src_size, uint32_t stat_size, int update, uint32_t* most, uint32_t* least) {
    *least = softmax_row_bytes(SoftmaxKind(kind), k, src_size, stat_size, update != 0);
    *most = *least * m;
}
// out: SoftMaxTiling or LogSoftMaxTiling. 0: the workspace does not hold one row.
int tw_host_softmax_tiling(int kind, uint32_t m, uint32_t k, uint32_t src_size, uint32_t stat_size, int update, uint32_t bytes, void* out) {
    const SoftMaxTiling t = softmax_tiling(SoftmaxKind(kind), m, k, src_size, stat_size, update != 0, bytes);
    std::memcpy(out, &t, sizeof t);
    return t.splitM != 0;
}

void tw_host_norm_size(int kind, uint64_t b, uint64_t s, uint64_t h, uint64_t valid, uint64_t groups, uint32_t type_size, int reuse, uint32_t* most, uint32_t* least) {
    const TmpSize size = norm_tmp(Norm(kind), shape_of(Norm(kind), {b, s, h, valid, groups}), type_size, reuse != 0);
    *most = size.most;
    *least = size.least;
}
// out: the tiling struct of that API; valid: for BatchNorm the valid part of B. 0: the workspace is too small. -1: there is no tiling.
int tw_host_norm_tiling(int kind, uint64_t b, uint64_t s, uint64_t h, uint64_t valid, uint64_t groups, uint32_t type_size, int reuse_, uint64_t bytes, void* out) {
    const Norm n = Norm(kind);
    const bool reuse = reuse_ != 0;
    const NormShape shape = shape_of(n, {b, s, h, valid, groups});
    switch (n) {
        case Norm::Rms: return filled<RmsNormTiling>(out, [&](auto& t) { return norm_fill(t, b, s, shape, type_size, bytes); });
        case Norm::Layer: return filled<LayerNormTiling>(out, [&](auto& t) { return norm_fill_bsh(n, t, b, s, shape, type_size, reuse, bytes); });
        case Norm::Deep: return filled<DeepNormTiling>(out, [&](auto& t) { return norm_fill_bsh(n, t, b, s, shape, type_size, reuse, bytes); });
        case Norm::LayerAR: return filled<LayerNormSeparateTiling>(out, [&](auto& t) { return norm_fill(t, shape, type_size, reuse, bytes); });
        case Norm::LayerGrad: return filled<LayerNormGradTiling>(out, [&](auto& t) { return norm_fill(t, b, s, shape, type_size, bytes); });
        case Norm::LayerGradBeta: return filled<LayerNormGradBetaTiling>(out, [&](auto& t) { return norm_fill(t, b, s, shape, type_size, bytes); });
        case Norm::Batch: return filled<BatchNormTiling>(out, [&](auto& t) { return norm_fill(t, shape, valid, type_size, reuse, bytes); });
        case Norm::Group: return filled<GroupNormTiling>(out, [&](auto& t) { return norm_fill(t, b, s, h, groups, type_size, reuse, bytes); });
        default: return -1;
    }
}
}
