// Host tiling of the high-level API: workspace sizes and tilings, with the shapes and types of the host.
#pragma once
#include "../../twin/host_activation.h"
#include "../../twin/host_matmul.h"
#include "../../twin/host_norm.h"
#include "../../twin/host_softmax.h"
#include "../../twin/host_math.h"
#include "../../twin/host_shapes.h"
