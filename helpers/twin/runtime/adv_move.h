// Calls whose results are elements of the source in another order.
#pragma once
#include <vector>

#include "adv_core.h"
#include "vec_lanes.h"

namespace twin {

constexpr int64_t kNothing = -1;      // a place of dst that the call leaves undefined
constexpr int64_t kFill = -2;         // a place of dst that gets the fill value

struct MoveShape { uint32_t dst, src, z; uint64_t dst_n, src_n, fill; };

// dst[i] = src[from(i)] for all i. All of src is read first, so the two may overlap; undefined stays undefined.
template <class F> void move_elements(Core& c, const Instr& in, const MoveShape& m, F from) {
    uint8_t* ub = c.at(Mem::UB, 0);
    const Undefined holes(m.src, m.src + m.src_n * m.z);
    std::vector<uint8_t> undefined;
    if (holes.any) {
        undefined.resize(m.src_n);
        for (uint64_t i = 0; i < m.src_n; ++i) undefined[i] = holes.at(m.src + i * m.z, m.z);
    }
    const std::vector<uint8_t> old(ub + m.src, ub + m.src + m.src_n * m.z);
    for (uint64_t i = 0; i < m.dst_n; ++i) {
        const int64_t k = from(i);
        uint8_t* to = ub + m.dst + i * m.z;
        if (k >= 0) std::memcpy(to, &old[uint64_t(k) * m.z], m.z);
        else if (k == kFill) std::memcpy(to, &m.fill, m.z);
        if (checks_on() && (k == kNothing || (k >= 0 && holes.any && undefined[uint64_t(k)]))) mark_undefined(c, Mem::UB, m.dst + i * m.z, m.dst + (i + 1) * m.z);
    }
}

}  // namespace twin
