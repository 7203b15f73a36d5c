// Forwards to the one header of the programming interface.
#pragma once
#include "../../../kernel_operator.h"
