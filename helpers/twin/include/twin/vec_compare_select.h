// Comparisons into packed bits and the choice by bits.
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

// ---- CMPMODE
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };

// ---- SELMODE
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

}  // namespace AscendC
