// A chip profile as the runtime sees it: lines `key value`, made by helpers/chips.
#pragma once
#include <string>

#include "engine.h"

namespace twin {

// Profiles are kept until the process ends: a Chip is a plain value that points at its numbers.
Chip make_chip(const std::string& lines);

// Cost of a vector operation from the chip's table. Operations are API names ("Add", "WholeReduceSum"), classes are
// "f16" "bf16" "i16" "u16" "b16", "f32" "i32" "u32" "b32", "f64" "i64" "u64" "b64", "i8" "u8" "b8", "mixed", "any".
// The first of these that the table has is taken:
//   the class itself; types of the same width by their common row (f16 -> b16, f32 -> b32, i64 -> b64);
//   the float row of that width (b16 -> f16, i32 -> f32); 64-bit by the 32-bit row, 8-bit by the 16-bit row;
//   mixed by b32; "any"; the widest row the operation has. No row at all: the table's "*" row, known = false.
VecCost chip_vec_cost(const Chip& chip, const char* op, const char* dtype_class);

}  // namespace twin
