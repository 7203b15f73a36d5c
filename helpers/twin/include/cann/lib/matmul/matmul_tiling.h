// Host tiling of matrix multiplication.
#pragma once
#include "../../../twin/host_matmul.h"
