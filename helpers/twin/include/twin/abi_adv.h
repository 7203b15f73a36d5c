// The high-level API as the runtime sees it: what all its calls share.
#pragma once
#include "twin/abi_vec.h"

namespace twin {

// Workspace of a call: given by the kernel, or taken from the UB that no InitBuffer claimed.
struct AdvTmp {
    LocalRef ref;
    uint8_t given = 0;
};

}  // namespace twin
