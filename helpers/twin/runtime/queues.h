// Queues, TBufs and pools of one core: what TPipe handed out and who holds it.
#pragma once
#include <deque>
#include <map>

#include "engine.h"
#include "in_order.h"
#include "twin/abi_core.h"

namespace twin {

enum class SlotState : uint8_t { Free, Occupied, Enque, Deque };

// One buffer of a queue.
struct Slot {
    int engine = -1;                     // index of the engine's buffer, -1 = outside the memory (overflow)
    int queue = -1, index = 0;
    uint32_t addr = 0, bytes = 0;
    SlotState state = SlotState::Free;
    At alloc_at{}, enque_at{}, deque_at{}, free_at{};
    int enque_event = -1, enque_id = -1; // flag on its way from EnQue to DeQue
    int free_id = -1;                    // flag on its way from FreeTensor to AllocTensor
    int32_t tag = -1;
};

struct Queue {
    QueueSpec spec;
    std::string name;
    At at{};
    Mem mem = Mem::UB;
    uint8_t pos = 0;                     // TPosition of its tensors
    int num = 0, first = 0, cursor = 0;  // slots [first, first + num)
    InOrder<int> fifo;
    int enque_event = -1, free_event = -1;
    At alloc_at{}, enque_at{}, deque_at{}, free_at{};   // latest of each
    uint64_t allocs = 0, enques = 0, deques = 0, frees = 0;
    bool live = true;
};

struct Plain { std::string name; At at{}; int engine = -1; Mem mem = Mem::UB; uint8_t pos = 0; uint32_t addr = 0, bytes = 0; int pool = 0; bool live = true; };
struct Pool { At at{}; Mem mem = Mem::UB; uint64_t addr = 0, bytes = 0, used = 0; uint32_t max_buffers = 0, buffers = 0; int parent = 0, share = 0; bool live = true; };
// One line of the table in an overflow message.
struct Request { std::string name; uint64_t num, len; Mem mem; };

struct GmOrder;
struct QueueState {
    void* pipe = nullptr;                // living TPipe
    At pipe_at{};
    uint64_t top[static_cast<int>(Mem::N)] = {};   // next free byte
    uint64_t tscm = 0;                   // bytes taken from the top of L1
    std::deque<Slot> slots;
    std::deque<Queue> queues;            // handle = index + 1
    std::deque<Plain> plain;             // TBufs; handle = index + 1
    std::deque<Pool> pools;              // handle = index + 1
    std::map<int, int> slot_of;          // engine buffer -> slot
    std::map<std::pair<int, uint64_t>, int> statics;   // static tensors: (memory, address << 32 | bytes) -> engine buffer
    std::map<int, int32_t> tags;
    At static_at{};                      // first raw tensor
    bool soc_ready = false;              // InitSocState or a TPipe set mask and atomic state
    std::vector<ShapeRecord> shapes;
    std::vector<Request> requests;
    uint32_t buffer_count = 0;
    int init_line = 0, init_nth = 0;     // which InitBuffer of its line this one is
    At overflow_at{};                    // first InitBuffer that did not fit; reported when the layout is complete
    Mem overflow_mem = Mem::N;
    std::shared_ptr<GmOrder> gm_order;
    At key_at{};                         // first TILING_KEY_IS
    bool key_hit = false;
    std::string keys_tested;
};

QueueState& queue_state();
Mem memory_of(uint8_t position);
const char* memory_name(Mem m);
inline uint64_t up32(uint64_t n) { return (n + 31) / 32 * 32; }
const char* position_name(uint8_t position);
std::string at_line(At at);                         // "line 12"
bool static_overlaps(const QueueState& s, Mem m, uint64_t lo, uint64_t hi, std::string& with);
// Raises UB_OVERFLOW when an earlier InitBuffer did not fit: called before the first use of any buffer.
void settle_layout();
void release_pending_events(At at, int pool);       // waits the free events of all queues (pool 0: of every pool)
void report_leaks(Severity severity);
void drop_everything(At at);
// End of a core's program, for a TPipe whose destructor never ran.
void queues_core_end(Core& c);

}  // namespace twin
