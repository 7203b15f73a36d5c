#pragma once

namespace twin {

void blocked_report();   // reports DEADLOCK and stops the launch

}  // namespace twin
