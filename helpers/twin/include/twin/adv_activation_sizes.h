// Workspace of the activations: one place for kernel, host and Python.
#pragma once
#include "twin/base.h"

namespace twin {

enum class Activation : uint8_t { Sigmoid, Silu, Swish, Gelu, FasterGelu, FasterGeluV2, SwiGLU, GeGLU, ReGlu, N };

struct TmpSize { uint32_t most = 0, least = 0; };

// Copies of the input that the workspace holds at most.
constexpr uint32_t activation_copies(Activation a, uint32_t type_size) {
    switch (a) {
        case Activation::Sigmoid: return 1;
        case Activation::Gelu: case Activation::FasterGelu: case Activation::FasterGeluV2: return type_size == 2 ? 6 : 3;
        case Activation::SwiGLU: return type_size == 2 ? 6 : 0;
        case Activation::GeGLU: return type_size == 2 ? 4 : 0;
        case Activation::ReGlu: return type_size == 2 ? 6 : 1;
        default: return 0;
    }
}
constexpr TmpSize activation_tmp(Activation a, uint64_t elements, uint32_t type_size) {
    const uint32_t f = activation_copies(a, type_size);
    const bool gelu = a == Activation::Gelu || a == Activation::FasterGelu || a == Activation::FasterGeluV2;
    const uint32_t least = gelu ? 768 : f * 256;
    if (a == Activation::ReGlu && type_size == 4) return {256, 256};
    const uint64_t most = uint64_t(f) * elements * type_size;
    return {most > least ? static_cast<uint32_t>(most) : least, least};
}

}  // namespace twin
