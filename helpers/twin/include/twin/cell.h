// What the build puts before every kernel text, precompiled: kernel_operator.h in the text itself then costs nothing.
#pragma once
#include "kernel_operator.h"
#include "twin/entry.h"
