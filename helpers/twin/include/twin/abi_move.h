// Instructions that move elements around, as the runtime sees them: plain descriptions of calls.
#pragma once
#include "twin/abi_vec.h"

namespace twin {

struct GatherCall {                   // Gather: one element per offset; Gatherb: one block of 32 bytes per offset
    const char* api = "";
    At at{};
    DType type = DType::None;
    uint8_t blocks = 0;
    VecMask mask;
    LocalRef dst, src, offset;
    uint64_t base = 0;
    int64_t dst_blk = 1, dst_rep = 8;
};

struct GatherMaskCall {
    At at{};
    DType type = DType::None;
    uint8_t fixed = 0;                // number of a fixed pattern, 0 = the tensor
    uint8_t counter = 0;              // reduceMode
    LocalRef dst, src, pattern;
    uint64_t mask = 0;
    int64_t blk = 1, repeats = 0, src_rep = 8, pattern_rep = 8;
};

struct BrcbCall { At at{}; DType type = DType::None; LocalRef dst, src; int64_t repeats = 0, dst_blk = 1, dst_rep = 8; };

struct IndexCall {                    // CreateVecIndex, ArithProgression: first + i * step
    const char* api = "";
    At at{};
    DType type = DType::None;
    uint8_t progression = 0;
    VecMask mask;
    LocalRef dst;
    uint64_t first = 0, step = 0;     // bits in the element type
    int64_t dst_blk = 1, dst_rep = 8;
};

struct TransposeCall {                // kind: 0 16x16 of 2 bytes, 1 NCHW -> NHWC, 2 NHWC -> NCHW
    At at{};
    DType type = DType::None;
    uint8_t kind = 0;
    LocalRef dst, src, tmp;
    int64_t n = 0, c = 0, h = 0, w = 0;
};

struct Trans5HDCall {                 // 16 blocks of 32 bytes per repeat
    At at{};
    DType type = DType::None;
    uint8_t dst_high = 0, src_high = 0;
    LocalRef dst[16], src[16];
    int64_t repeats = 1, dst_rep = 0, src_rep = 0;
};

struct SortCall {                     // Sort32, Sort, Extract: repeats of 32 pairs (score, index)
    const char* api = "";
    At at{};
    DType type = DType::None;
    uint8_t full = 0;
    LocalRef dst, src, index, tmp;    // Extract: dst = scores, index = indices, src = sorted pairs
    int64_t repeats = 0;
};

struct MergeCall {                    // MrgSort
    At at{};
    DType type = DType::None;
    LocalRef dst, list[4];
    int64_t length[4] = {0, 0, 0, 0};
    int64_t valid = 0, repeats = 1;
    uint8_t suspend = 0;
};

struct BilinearCall {
    At at{};
    VecMask mask;
    LocalRef dst, src, offset, weight, tmp;
    int64_t horizontal = 1, vertical = 1, dst_blk = 1, row = 128;
    uint8_t one_each = 0;             // repeatMode: a weight per block instead of one per row
};

}  // namespace twin

extern "C" {
void tw_vec_gather(const twin::GatherCall* call);
uint64_t tw_vec_gather_mask(const twin::GatherMaskCall* call);            // elements kept
uint64_t tw_vec_gather_count(twin::At at);                                // of the last GatherMask
void tw_vec_brcb(const twin::BrcbCall* call);
void tw_vec_index(const twin::IndexCall* call);
void tw_vec_transpose(const twin::TransposeCall* call);
void tw_vec_5hd(const twin::Trans5HDCall* call);
void tw_vec_5hd_list(const twin::LocalRef* tensor, twin::LocalRef* list, twin::At at);    // 16 addresses stored in UB
void tw_vec_sort32(const twin::SortCall* call);
void tw_vec_sort(const twin::SortCall* call);
void tw_vec_extract(const twin::SortCall* call);
void tw_vec_merge(const twin::MergeCall* call);
void tw_vec_merged(uint16_t* lengths, twin::At at);                       // pairs taken from each list by the last MrgSort
void tw_vec_bilinear(const twin::BilinearCall* call);
int tw_vec_saturated(twin::At at);                                         // are half results clamped?
void tw_ub_ref(const void* p, twin::LocalRef* out);                       // the tensor bytes a host pointer into UB stands for
void tw_ub_at(uint32_t address, twin::LocalRef* out);                     // … a byte address of UB stands for
}
