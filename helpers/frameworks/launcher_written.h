// Did a kernel write all of its outputs? Before a launch they hold a pattern. Where there is a doubt
// afterwards, a second launch on another pattern tells a value from a gap: a byte that follows the pattern was never written.
#pragma once
#include <string>
#include <vector>

#include "launcher.h"
#include "launcher_plan.h"

namespace workbook {

// The byte that an output holds before a launch. 0: floats are NaN, so that a gap is seen; 1: of the second launch.
uint8_t pattern(const char* dtype, int launch);

// Is a second launch needed to tell? Of floats where one looks like the pattern of the first launch: as that is NaN, it stays
// when something is added to it. One walk over them; a value may look so by chance. Of integers always, as any sum is a number.
bool doubtful(const uint8_t* data, uint64_t bytes, int item, const char* dtype);

// What two launches on different patterns left in one output, as a sentence. "": all of it was written.
std::string gap(const PlanTensor& t, const workbook_tensor& tensor, int item, const uint8_t* first, const uint8_t* second);

}  // namespace workbook
