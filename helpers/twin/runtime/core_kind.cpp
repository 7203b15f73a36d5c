#include "core_kind.h"

#include <algorithm>

#include "state.h"

namespace twin {

bool in_launch(CoreKind kind) {
    const auto& all = launch().instances;
    return std::any_of(all.begin(), all.end(), [&](const auto& i) { return i->core.kind == kind; });
}

bool belongs_elsewhere(CoreKind needs, const char* api, At at) {
    if (on(needs) || !chip_is_a2()) return false;
    if (in_launch(needs) || !checks_on()) return true;
    const bool vector = needs == CoreKind::AIV;
    report(Severity::Warning, "UNSUPPORTED_API", at,
           fmt("%s needs %s, and this launch has %s cores only: it does nothing, here and on the device", api, vector ? "the vector unit and UB of a vector core" : "the memories of a cube core", vector ? "cube" : "vector"),
           fmt("declare KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) and put it under if ASCEND_IS_%s { … }; data pass from one kind to the other through GM, ordered by CrossCoreSetFlag<2, …>", vector ? "AIV" : "AIC"));
    return true;
}

}  // namespace twin
