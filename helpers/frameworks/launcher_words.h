// What happened in a launch, in words: the findings of the twin, a crash, a time limit.
#pragma once
#include <string>

#include "launcher_plan.h"
#include "launcher_process.h"

namespace workbook {

// "" when the launch came to a good end. time_us: the estimate.
std::string explain(const Plan& plan, const Answer& answer, int result_fd, double& time_us);

}  // namespace workbook
