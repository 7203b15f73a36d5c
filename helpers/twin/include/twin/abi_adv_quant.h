// Quantisation as the runtime sees it.
#pragma once
#include "twin/abi_adv.h"

namespace twin {

struct QuantCall {                    // AscendQuant: half or float -> int8_t
    At at{};
    DType type = DType::None;
    uint8_t scale_tensor = 0, offset_tensor = 0, counted = 0;
    float scale = 1, offset = 0;      // where they are numbers
    int64_t count = 0, scale_count = 0, offset_count = 0;
    LocalRef dst, src, scales, offsets;
    AdvTmp tmp;
};

struct DequantCall {                  // AscendDequant: int32_t -> half, bfloat16_t, float
    At at{};
    DType type = DType::None, scale_type = DType::None;
    uint8_t number = 0, multi_row = 0;
    float scale = 1;
    uint32_t m = 0, n = 0, count = 0;
    LocalRef dst, src, scales;
    AdvTmp tmp;
};

struct AntiQuantCall {                // AscendAntiQuant: int8_t, int4b_t -> half, bfloat16_t
    At at{};
    DType type = DType::None, from = DType::None;
    uint8_t transposed = 0, numbers = 0, has_offset = 0;
    float scale = 1, offset = 0;
    uint32_t k = 0, offset_height = 0, offset_width = 0, scale_height = 0, scale_width = 0;
    LocalRef dst, src, scales, offsets;
    AdvTmp tmp;
};

}  // namespace twin

extern "C" {
void tw_adv_quant(const twin::QuantCall* call);
void tw_adv_dequant(const twin::DequantCall* call);
void tw_adv_antiquant(const twin::AntiQuantCall* call);
}
