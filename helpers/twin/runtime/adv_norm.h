// A normalisation after its checks, and the loops that carry it out.
#pragma once
#include "adv_core.h"
#include "twin/abi_norm.h"

namespace twin {

struct NormPlan {
    Norm kind = Norm::N;
    DType type = DType::None, weight = DType::None, stat = DType::None;
    uint32_t dst = 0, mean = 0, var = 0, x = 0, gamma = 0, beta = 0, second = 0, res = 0;   // UB byte addresses
    uint32_t rows = 0, h = 0, valid = 0;
    uint32_t channel = 0, channels = 0, groups = 1;
    double epsilon = 0, alpha = 1;
    bool has_gamma = true, has_beta = true, look_at_padding = false;
};
NormPlan norm_plan(const NormCall& c);
void norm_check_shape(const NormCall& c);                  // what the tiling or the parameters may say
const char* norm_sizer(Norm n);
void norm_scratch(AdvGroup& g, const NormCall& c);
// Warns when an element behind the valid part of a row is not 0.
void norm_check_padding(const Instr& in, const NormPlan& p, const uint8_t* row, uint32_t r, const char* role);
void norm_run(Core& c, const Instr& in);                   // rows and groups
void norm_batch_run(Core& c, const Instr& in);             // columns

}  // namespace twin
