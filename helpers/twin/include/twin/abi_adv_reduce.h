// High-level reductions as the runtime sees them.
#pragma once
#include "twin/abi_adv.h"

namespace twin {

struct SumCall {                      // Sum, Mean: one result per row
    const char* api = "";
    At at{};
    DType type = DType::None, acc = DType::None;   // acc: type the sum is kept in
    uint8_t mean = 0;
    uint32_t outer = 1, inner = 0, n = 0;
    LocalRef dst, src;
    AdvTmp tmp;
};

struct XorSumCall {
    At at{};
    int64_t count = 0;
    LocalRef dst, src0, src1;
    AdvTmp tmp;
};

enum class PatternOp : uint8_t { Sum, Mean, Prod, Max, Min, Any, All };
struct PatternCall {                  // ReduceSum<T, Pattern::Reduce::AR> and its kind
    const char* api = "";
    At at{};
    DType type = DType::None;
    PatternOp op = PatternOp::Sum;
    uint8_t rows_first = 0;           // RA: the rows are folded, one result per column
    uint8_t padded = 1;               // srcInnerPad
    uint8_t reuse = 0;
    uint32_t shape[2] = {0, 0};
    LocalRef dst, src;
    AdvTmp tmp;
};

}  // namespace twin

extern "C" {
void tw_adv_sum(const twin::SumCall* call);
void tw_adv_xor_sum(const twin::XorSumCall* call);
void tw_adv_pattern(const twin::PatternCall* call);
uint32_t tw_sum_tmp(uint32_t n, uint32_t size);                       // bytes of workspace of Sum
uint32_t tw_mean_tmp(uint32_t n, uint32_t size, uint32_t acc_size);   // of Mean
}
