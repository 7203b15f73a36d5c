// What the headers of the high-level API share: the workspace argument and the text of "this type does not exist here".
#pragma once
#include "twin/abi_adv.h"
#include "twin/local_tensor.h"

namespace twin {

inline AdvTmp adv_tmp() { return {}; }
inline AdvTmp adv_tmp(const AscendC::LocalTensor<uint8_t>& t) { return {t.ref(), 1}; }

}  // namespace twin

// LIST: the element types as text, "half, float".
#define TWIN_ADV_TYPES(API, T, SET, LIST) \
    static_assert(twin::has_type(SET, twin::dtype_of<T>()), API ": this element type is not supported on Atlas A2 (supported: " LIST "). Fix: Cast first")
