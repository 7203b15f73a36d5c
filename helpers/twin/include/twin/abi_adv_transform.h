// High-level calls that move elements of a tensor around, as the runtime sees them.
#pragma once
#include "twin/abi_adv.h"

namespace twin {

struct BroadcastCall {
    const char* api = "";
    At at{};
    DType type = DType::None;
    int32_t dim = 1, axis = 0;
    uint32_t to[2] = {1, 1}, from[2] = {1, 1};
    LocalRef dst, src;
    AdvTmp tmp;
};

struct PadCall {                      // Pad; UnPad with drop = 1
    At at{};
    DType type = DType::None;
    uint8_t drop = 0;
    uint32_t height = 0, width = 0, valid = 0;     // of the source; valid: columns that count
    uint32_t left = 0, right = 0;
    uint64_t value = 0;               // bits in the element type
    LocalRef dst, src;
    AdvTmp tmp;
};

struct ShuffleCall {                  // ConfusionTranspose, Transpose with a tiling: kind = TransposeType
    const char* api = "";
    At at{};
    DType type = DType::None;
    int32_t kind = 0;
    uint32_t b = 0, n = 0, s = 0, d = 0;           // kind 7: s rows, d columns
    LocalRef dst, src;
    AdvTmp tmp;
};

}  // namespace twin

extern "C" {
void tw_adv_broadcast(const twin::BroadcastCall* call);
void tw_adv_pad(const twin::PadCall* call);
void tw_adv_shuffle(const twin::ShuffleCall* call);
void tw_broadcast_tmp(int dim, int axis, uint32_t rows, uint32_t cols, uint32_t size, uint32_t* most, uint32_t* least);
uint32_t tw_shuffle_tmp(int kind, uint32_t s, uint32_t d, uint32_t size);
}
