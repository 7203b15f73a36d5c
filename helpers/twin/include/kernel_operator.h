// Everything a kernel file may use, one topic per header.
#pragma once
#include "twin/qualifiers.h"
#include "twin/types.h"
#include "twin/enums.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"
#include "twin/tque.h"
#include "twin/tbuf.h"
#include "twin/bufpool.h"
#include "twin/tpipe.h"
#include "twin/sync.h"
#include "twin/cross_core.h"
#include "twin/system.h"
#include "twin/tiling.h"
#include "twin/list_tensor.h"
#include "twin/std.h"

// vector unit
#include "twin/mask.h"
#include "twin/repeat_params.h"
#include "twin/vec_unary.h"
#include "twin/vec_binary.h"
#include "twin/vec_scalar.h"
#include "twin/vec_fused.h"
#include "twin/vec_cast.h"
#include "twin/vec_duplicate.h"
#include "twin/vec_compare_select.h"
#include "twin/vec_reduce.h"
#include "twin/vec_gather.h"
#include "twin/vec_gather_mask.h"
#include "twin/vec_transpose.h"
#include "twin/vec_sort.h"
#include "twin/vec_brcb.h"
#include "twin/vec_index.h"
#include "twin/vec_bilinear.h"
#include "twin/vec_control.h"
#include "twin/vec_intrinsics.h"
#include "twin/vec_absent.h"
#include "twin/operators.h"

// copies
#include "twin/copy_params.h"
#include "twin/data_copy.h"
#include "twin/data_copy_pad.h"
#include "twin/copy_masked.h"
#include "twin/init_global.h"
#include "twin/atomic.h"
#include "twin/data_cache.h"

// high-level API
#include "twin/adv_softmax.h"
#include "twin/adv_activation.h"
#include "twin/adv_norm.h"
#include "twin/adv_norm_grad.h"
#include "twin/adv_math.h"
#include "twin/adv_math2.h"
#include "twin/adv_reduce.h"

#include "twin/scalar.h"
#include "twin/debug.h"

// The name of the programming interface before its first release.
namespace tik2 = AscendC;
