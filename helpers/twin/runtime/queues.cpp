// TQue: AllocTensor, EnQue, DeQue, FreeTensor with the events they set and wait for.
#include "queues.h"

#include <cctype>

namespace twin {

constexpr float kQueueCycles = 10;   // scalar cycles of each of the four operations

// "inQueueX" of `inQueueX.AllocTensor<half>()`.
static std::string object_of(At at, const char* op) {
    const std::string line = source_line(at);
    size_t p = line.find(op);
    if (p == std::string::npos || p < 2) return "this queue";
    size_t e = line[p - 1] == '.' ? p - 1 : line.compare(p - 2, 2, "->") == 0 ? p - 2 : 0, b = e;
    auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '[' || c == ']'; };
    while (b > 0 && part(line[b - 1])) --b;
    return b < e ? line.substr(b, e - b) : "this queue";
}

static Queue& queue_at(int32_t id, At at, const char* op) {
    QueueState& s = queue_state();
    settle_layout();
    if (id <= 0 || id > int32_t(s.queues.size()) || !s.queues[id - 1].live) {
        const bool dropped = id > 0 && id <= int32_t(s.queues.size());
        fatal("QUEUE_EMPTY", at,
              dropped ? fmt("%s: queue %s lost its buffers when the pipe or its pool was Reset or destroyed", op, s.queues[id - 1].name.c_str())
                      : fmt("%s: %s has no buffers", op, object_of(at, op).c_str()),
              "call pipe.InitBuffer(queue, num, length) before the first use");
    }
    return s.queues[id - 1];
}

static std::string tensor_word(At at, const char* callee) {
    std::string t = argument_at(at, callee, 0);
    return t.empty() ? "tensor" : t;
}

// "DeQue at line 31, no FreeTensor"
static std::string held_since(const Slot& b) {
    switch (b.state) {
        case SlotState::Occupied: return fmt("AllocTensor at %s, no EnQue or FreeTensor", at_line(b.alloc_at).c_str());
        case SlotState::Enque: return fmt("EnQue at %s, no DeQue", at_line(b.enque_at).c_str());
        case SlotState::Deque: return fmt("DeQue at %s, no FreeTensor", at_line(b.deque_at).c_str());
        default: return "free";
    }
}

static std::string held_list(const Queue& q) {
    QueueState& s = queue_state();
    bool same = true;
    for (int i = 1; i < q.num; ++i) same = same && held_since(s.slots[q.first + i]) == held_since(s.slots[q.first]);
    if (same) {
        const std::string who = q.num == 1 ? "its only buffer is" : q.num == 2 ? "both buffers are" : fmt("all %d buffers are", q.num);
        return fmt("%s: %s still held (%s)", q.name.c_str(), who.c_str(), held_since(s.slots[q.first]).c_str());
    }
    std::string text = fmt("%s: all %d buffers are still held", q.name.c_str(), q.num);
    for (int i = 0; i < q.num; ++i) text += fmt("%s buffer %d (%s)", i ? "," : ":", i, held_since(s.slots[q.first + i]).c_str());
    return text;
}

static int take_event(Queue& q, int event, const char* op, At at) {
    QueueState& s = queue_state();
    if (s.slots.size() < 8) return alloc_event(event, at);    // each buffer holds one at most
    int held = 0;
    for (const Slot& b : s.slots) {
        const Queue& o = s.queues[b.queue];
        held += o.live && ((b.enque_id >= 0 && b.enque_event == event) || (b.free_id >= 0 && o.free_event == event));
    }
    if (held >= 8)
        fatal("TOO_MANY_BUFFERS", at,
              fmt("%s on %s needs a ninth %s event: 8 buffers are already on their way between these pipes", op, q.name.c_str(), event_name(event)),
              fmt("use at most 8 buffers per queue position (%s has %d)", q.name.c_str(), q.num));
    return alloc_event(event, at);
}

static LocalRef tensor_of(const Queue& q, const Slot& b) {
    LocalRef r;
    r.addr = b.addr;
    r.bytes = b.bytes;
    r.buf = b.engine;
    r.gen = buffer_generation(b.engine);
    r.mem = q.mem;
    r.pos = q.pos;
    return r;
}

// The slot number of a tensor that is handed to queue q; explains itself when it is not one of q's.
static int slot_of(Queue& q, const LocalRef& r, const char* op, At at) {
    QueueState& s = queue_state();
    auto word = [&] { return tensor_word(at, op); };   // read from the text only for a message
    if (r.mem == Mem::N)
        fatal("USE_AFTER_FREE", at, fmt("%s: %s was never assigned", op, word().c_str()),
              fmt("take it from %s.AllocTensor or %s.DeQue first", q.name.c_str(), q.name.c_str()));
    auto f = s.slot_of.find(r.buf);
    if (f == s.slot_of.end())
        fatal("WRONG_POSITION", at, fmt("%s on %s: %s is %s, which does not come from a queue", op, q.name.c_str(), word().c_str(), describe(r).c_str()),
              fmt("hand over a tensor of %s.AllocTensor", q.name.c_str()));
    Slot& b = s.slots[f->second];
    Queue& owner = s.queues[b.queue];
    if (&owner != &q)
        fatal("WRONG_POSITION", at,
              fmt("%s on %s: %s belongs to queue %s (AllocTensor at %s)", op, q.name.c_str(), word().c_str(), owner.name.c_str(), at_line(b.alloc_at).c_str()),
              fmt("write %s.%s(%s)", owner.name.c_str(), op, word().c_str()));
    if (b.state == SlotState::Free || r.gen != buffer_generation(r.buf)) {
        const bool again = std::string(op) == "FreeTensor";
        fatal("USE_AFTER_FREE", at,
              again ? fmt("FreeTensor on %s: %s was freed already at %s", q.name.c_str(), word().c_str(), at_line(b.free_at).c_str())
                    : fmt("%s on %s: %s was freed at %s", op, q.name.c_str(), word().c_str(), at_line(b.free_at).c_str()),
              again ? "free every tensor once: delete one of the two calls" : "take a new tensor with AllocTensor");
    }
    return f->second;
}

static int user_event(int src, int dst, bool& known) {
    auto mem = [](int p) { return memory_of(uint8_t(p)); };
    const Mem a = mem(src), b = mem(dst);
    known = (a == Mem::GM || a == Mem::UB) && (b == Mem::GM || b == Mem::UB) && !(a == Mem::GM && b == Mem::GM);
    constexpr int MTE2_V = 4, V_MTE3 = 7, MTE2_MTE3 = 20;
    return a == Mem::GM ? MTE2_V : b == Mem::GM ? V_MTE3 : MTE2_MTE3;
}

static int event_for(Queue& q, int user_src, int user_dst, const char* op, At at) {
    if (user_src < 0) return q.enque_event;
    bool known = false;
    const int e = user_event(user_src, user_dst, known);
    if (!known)
        fatal("BAD_PARAMETER", at, fmt("%s on %s: positions %s and %s name no pair of pipes", op, q.name.c_str(), position_name(uint8_t(user_src)), position_name(uint8_t(user_dst))),
              "use GM, VECIN, VECOUT or VECCALC, and not GM twice");
    return e;
}

}  // namespace twin

using namespace twin;

extern "C" {

void tw_queue_alloc(LocalRef* out, int32_t queue, DType, At at) {
    Queue& q = queue_at(queue, at, "AllocTensor");
    QueueState& s = queue_state();
    charge(kQueueCycles, at);
    int found = -1;
    for (int i = 0; i < q.num && found < 0; ++i) {
        const int k = (q.cursor + i) % q.num;
        if (s.slots[q.first + k].state == SlotState::Free) found = k;
    }
    if (found < 0) {
        const Slot& b = s.slots[q.first];
        std::string fix;
        switch (b.state) {
            case SlotState::Deque: {
                std::string t = assigned_name(b.deque_at);
                fix = fmt("call %s.FreeTensor(%s) after the last use of the tensor, on every path", q.name.c_str(), t.empty() ? "tensor" : t.c_str());
                break;
            }
            case SlotState::Enque: fix = fmt("call %s.DeQue and FreeTensor before the next AllocTensor; the producer ran %llu times, the consumer %llu times",
                                             q.name.c_str(), (unsigned long long)q.enques, (unsigned long long)q.deques); break;
            default: fix = fmt("hand the tensor on with %s.EnQue, or return it with %s.FreeTensor", q.name.c_str(), q.name.c_str());
        }
        fatal("DEADLOCK", at, held_list(q) + ". AllocTensor waits forever", fix);
    }
    Slot& b = s.slots[q.first + found];
    q.cursor = (found + 1) % q.num;
    if (b.free_id >= 0) {
        wait_flag(q.free_event, b.free_id, at, true);
        release_event(q.free_event, b.free_id, at);
        b.free_id = -1;
    }
    b.state = SlotState::Occupied;
    b.alloc_at = q.alloc_at = at;
    ++q.allocs;
    buffer_alloc(b.engine, at);
    *out = tensor_of(q, b);
}

int tw_queue_enque(int32_t queue, const LocalRef* r, int user_src, int user_dst, At at) {
    Queue& q = queue_at(queue, at, "EnQue");
    QueueState& s = queue_state();
    charge(kQueueCycles, at);
    const int k = slot_of(q, *r, "EnQue", at);
    Slot& b = s.slots[k];
    if (b.state == SlotState::Enque)
        fatal("QUEUE_FULL", at, fmt("EnQue on %s: %s is in the queue already (EnQue at %s)", q.name.c_str(), tensor_word(at, "EnQue").c_str(), at_line(b.enque_at).c_str()),
              fmt("call %s.DeQue before the second EnQue", q.name.c_str()));
    if (q.spec.depth > 0 && int(q.fifo.size()) >= q.spec.depth) {
        const Slot& waiting = s.slots[q.fifo.front()];
        fatal("QUEUE_FULL", at,
              fmt("EnQue on %s: the queue has depth %d and already holds %s (EnQue at %s)", q.name.c_str(), q.spec.depth,
                  q.fifo.size() == 1 ? "a tensor" : fmt("%zu tensors", q.fifo.size()).c_str(), at_line(waiting.enque_at).c_str()),
              fmt("DeQue the first one before, or declare the queue with depth %d", q.spec.depth + 1));
    }
    const int event = event_for(q, user_src, user_dst, "EnQue", at);
    b.enque_event = event;
    if (event >= 0) {
        b.enque_id = take_event(q, event, "EnQue", at);
        set_flag(event, b.enque_id, at, true);
    }
    b.state = SlotState::Enque;
    b.enque_at = q.enque_at = at;
    ++q.enques;
    if (q.spec.depth > 0) q.fifo.push_back(k);
    return 1;
}

void tw_queue_deque(LocalRef* out, int32_t queue, DType, const LocalRef* in_place, int user_src, int user_dst, At at) {
    Queue& q = queue_at(queue, at, "DeQue");
    QueueState& s = queue_state();
    charge(kQueueCycles, at);
    int k = -1;
    if (q.spec.depth > 0 && !q.fifo.empty()) k = q.fifo.front();
    if (q.spec.depth == 0) {
        if (in_place && in_place->mem != Mem::N) {
            k = slot_of(q, *in_place, "DeQue", at);
        } else {
            for (int i = 0; i < q.num && k < 0; ++i) if (s.slots[q.first + i].state == SlotState::Enque) k = q.first + i;
        }
        if (k >= 0 && s.slots[k].state != SlotState::Enque) k = -1;
    }
    if (k < 0) {
        std::string since, fix = fmt("call %s.EnQue(tensor) after the copy or the computation that fills it", q.name.c_str());
        if (!q.allocs) since = "AllocTensor was never called on it";
        else if (!q.enques) since = fmt("nothing was EnQue'd since AllocTensor at %s", at_line(q.alloc_at).c_str());
        else {
            since = fmt("all %llu tensors that EnQue (%s) put in were taken out before (DeQue at %s)", (unsigned long long)q.enques,
                        at_line(q.enque_at).c_str(), at_line(q.deque_at).c_str());
            fix = "give producer and consumer the same number of rounds";
        }
        fatal("QUEUE_EMPTY", at, fmt("DeQue on %s, which holds no tensor: %s", q.name.c_str(), since.c_str()), fix);
    }
    Slot& b = s.slots[k];
    const int event = event_for(q, user_src, user_dst, "DeQue", at);
    if (event != b.enque_event)
        fatal("WRONG_POSITION", at,
              fmt("DeQue on %s waits for %s, but EnQue at %s set %s", q.name.c_str(), event_name(event), at_line(b.enque_at).c_str(), event_name(b.enque_event)),
              "give EnQue and DeQue the same pair of positions");
    if (b.enque_id >= 0) {
        wait_flag(event, b.enque_id, at, true);
        release_event(event, b.enque_id, at);
        b.enque_id = -1;
    }
    if (q.spec.depth > 0) q.fifo.pop_front();
    b.state = SlotState::Deque;
    b.deque_at = q.deque_at = at;
    ++q.deques;
    *out = tensor_of(q, b);
}

void tw_queue_free(int32_t queue, const LocalRef* r, At at) {
    Queue& q = queue_at(queue, at, "FreeTensor");
    QueueState& s = queue_state();
    charge(kQueueCycles, at);
    Slot& b = s.slots[slot_of(q, *r, "FreeTensor", at)];
    if (b.state == SlotState::Enque)
        fatal("USE_AFTER_FREE", at,
              fmt("FreeTensor on %s: %s still waits in the queue (EnQue at %s)", q.name.c_str(), tensor_word(at, "FreeTensor").c_str(), at_line(b.enque_at).c_str()),
              fmt("take it out with %s.DeQue before freeing it", q.name.c_str()));
    if (q.free_event >= 0) {
        b.free_id = take_event(q, q.free_event, "FreeTensor", at);
        set_flag(q.free_event, b.free_id, at, true);
    }
    b.state = SlotState::Free;
    b.free_at = q.free_at = at;
    ++q.frees;
    s.tags.erase(b.engine);
    buffer_free(b.engine, at);
}

int32_t tw_queue_query(int32_t queue, int what, At at) {
    Queue& q = queue_at(queue, at, "queue query");
    QueueState& s = queue_state();
    charge(2, at);
    if (what == TW_QUEUE_VACANT) return int(q.fifo.size()) < q.spec.depth;
    if (what == TW_QUEUE_COUNT) return int32_t(q.fifo.size());
    int idle = 0;
    for (int i = 0; i < q.num; ++i) idle += s.slots[q.first + i].state == SlotState::Free;
    return idle;
}

int tw_queue_state(int32_t queue, const LocalRef* r, At at) {
    Queue& q = queue_at(queue, at, "GetState");
    QueueState& s = queue_state();
    auto f = s.slot_of.find(r->buf);
    if (f == s.slot_of.end() || &s.queues[s.slots[f->second].queue] != &q)
        fatal("WRONG_POSITION", at, fmt("GetState on %s: %s is not one of its tensors", q.name.c_str(), describe(*r).c_str()));
    return int(s.slots[f->second].state);
}

void tw_queue_free_events(int32_t queue, At at) {
    Queue& q = queue_at(queue, at, "FreeAllEvent");
    QueueState& s = queue_state();
    if (!q.fifo.empty())
        fatal("LEAK", at, fmt("FreeAllEvent on %s: %zu tensors still wait in the queue (EnQue at %s)", q.name.c_str(), q.fifo.size(), at_line(q.enque_at).c_str()),
              "DeQue them first");
    for (int i = 0; i < q.num; ++i) {
        Slot& b = s.slots[q.first + i];
        if (b.free_id < 0) continue;
        wait_flag(q.free_event, b.free_id, at, true);
        release_event(q.free_event, b.free_id, at);
        b.free_id = -1;
    }
}

void tw_queue_buffer(LocalRef* out, int32_t queue, uint32_t index, At at) {
    Queue& q = queue_at(queue, at, "GetBufferAddr");
    if (int64_t(index) >= q.num) fatal("BAD_PARAMETER", at, fmt("buffer %u of %s: it has %d", index, q.name.c_str(), q.num));
    *out = tensor_of(q, queue_state().slots[q.first + int(index)]);
}

}  // extern "C"
