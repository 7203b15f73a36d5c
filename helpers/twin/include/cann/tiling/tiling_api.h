// Host tiling of the high-level API.
// Host part of an operator project: it is built by CANN, not by the twin. The header exists so that a file shared
// between host and kernel compiles; what the kernel needs of it is in twin/tiling.h.
#pragma once
#include "../../twin/tiling.h"
