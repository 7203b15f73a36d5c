// Tiling structs and keys that host and kernel share.
#pragma once
#include "../../twin/tiling.h"
