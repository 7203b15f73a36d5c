// DropOut, Select with a byte mask, TopK as the runtime sees them.
#pragma once
#include "twin/abi_adv.h"

namespace twin {

struct DropOutCall {
    At at{};
    DType type = DType::None;
    uint8_t mode = 0;                 // 0 infer, 1 byte with padding, 2 byte, 3 bit, 4 bit with padding
    float keep = 1;
    uint32_t rows = 0, cols = 0, mask_cols = 0;
    LocalRef dst, src, mask;
    AdvTmp tmp;
};

struct BytesMaskCall {
    const char* api = "";
    At at{};
    DType type = DType::None, mask_type = DType::None;
    uint8_t number_first = 0;         // the number is src0
    uint8_t reuse_mask = 1;
    uint64_t number = 0;              // bits in the element type
    uint32_t rows = 0, cols = 0, mask_cols = 0;
    LocalRef dst, src, mask;
    AdvTmp tmp;
};

struct TopKCall {
    At at{};
    DType type = DType::None;
    uint8_t init_index = 0, has_finish = 0, small = 0, largest = 1;
    int32_t k = 0, outer = 1, inner = 0, n = 0;
    LocalRef value, index, src, src_index, finish;
    AdvTmp tmp;
};

}  // namespace twin

extern "C" {
void tw_adv_dropout(const twin::DropOutCall* call);
void tw_adv_bytes_mask(const twin::BytesMaskCall* call);
void tw_adv_topk(const twin::TopKCall* call);
uint32_t tw_topk_tmp(int small, int init_index, int largest, uint32_t inner, uint32_t outer);
}
