// CMPMASK and the dequantisation table of each core. They belong to a launch: a new scoreboard means fresh registers.
#include <deque>

#include "vec_core.h"

namespace twin {

VecRegisters& vec_registers(Core& c) {
    struct Slot { std::weak_ptr<Scoreboard> owner; VecRegisters registers; };
    static std::deque<Slot> slots;
    if (slots.size() <= size_t(c.id)) slots.resize(size_t(c.id) + 1);
    Slot& s = slots[size_t(c.id)];
    const bool same = !s.owner.owner_before(c.board) && !c.board.owner_before(s.owner);
    if (!same) s = {c.board, {}};
    return s.registers;
}

}  // namespace twin
