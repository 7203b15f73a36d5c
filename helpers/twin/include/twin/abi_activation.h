// Element-wise activations as the runtime sees them.
#pragma once
#include "twin/abi_adv.h"
#include "twin/adv_activation_sizes.h"

namespace twin {

struct ActivationCall {
    const char* api = "";
    At at{};
    Activation op = Activation::N;
    DType type = DType::None;
    uint8_t sources = 1;
    uint8_t precise = 0;            // highPrecision: half goes through float
    LocalRef dst, src0, src1;
    AdvTmp tmp;
    uint64_t count = 0;
    float beta = 1;
};

}  // namespace twin

extern "C" void tw_activation(const twin::ActivationCall* call);
