// The C face of the library for a front end in another language: launches step by step, errors as return values.
#include "twin/abi_front.h"

#include <cstring>
#include <memory>
#include <new>
#include <sstream>

#include "engine.h"
#include "runner.h"

namespace twin {

namespace {
struct Front {
    LaunchResult result;
    std::string json;
    std::vector<MarkRow> marks;
};
std::unique_ptr<Front> g_front;
bool g_open = false, g_core = false;   // between begin and end; between core and core_end
char g_pipe;                           // its address stands for the TPipe object of the running core

template <class F>
int guarded(F f) {
    if (!g_core) return kFrontIdle;
    try {
        f();
        return kFrontOk;
    } catch (const Stopped&) {
    } catch (const std::bad_alloc&) {
        report(Severity::Error, "OUT_OF_MEMORY", {}, "the host has no memory left for this launch", "use smaller arrays");
    } catch (const std::exception& e) {
        report(Severity::Error, "CRASH", {}, fmt("the twin stopped: %s", e.what()), "");
    }
    g_core = false;
    return kFrontStopped;
}
}  // namespace

}  // namespace twin

using namespace twin;

extern "C" {

// ===== Launch
int front_begin(const FrontLaunch* l) {
    g_core = false;
    g_front = std::make_unique<Front>();
    LaunchSpec spec;
    for (uint64_t i = 0; i < l->array_count; ++i) {
        const FrontArray& a = l->arrays[i];
        spec.gm.push_back({a.base, a.bytes, static_cast<DType>(a.dtype), a.name, a.workspace != 0});
    }
    spec.blocks = l->blocks;
    spec.kernel_type = l->kernel_type;
    spec.checks = l->checks;
    spec.lazy = l->lazy;
    spec.strict_sync = l->strict_sync;
    spec.seed = l->seed;
    spec.source = l->source;
    spec.file = l->file;
    spec.first_line = l->first_line;
    spec.chip = l->chip;
    try {
        launch_begin(spec);
    } catch (const std::bad_alloc&) {
        g_open = false;
        return kFrontStopped;
    }
    g_open = true;
    return kFrontOk;
}

int front_core(int64_t block, At at) {
    if (!g_open) return kFrontIdle;
    g_core = true;
    return guarded([&] {
        launch_core(block, CoreKind::AIV, 0);
        tw_pipe_init(&g_pipe, at);
    });
}

int front_core_end() {
    const int state = guarded([&] {
        tw_pipe_gone(&g_pipe);
        launch_core_end();
    });
    g_core = false;
    return state;
}

int front_end(FrontResult* out) {
    if (!g_open) return kFrontIdle;
    g_open = g_core = false;
    Front& f = *g_front;
    try {
        launch_end(f.result);
        f.marks = mark_table(f.result);
        f.json = describe_result(f.result, {}, 0, f.marks.size());
    } catch (const std::bad_alloc&) {
        return kFrontStopped;
    }
    *out = {f.json.data(), f.json.size(), f.result.timing.events.data(), f.result.timing.events.size(), f.marks.data(), f.marks.size()};
    return kFrontOk;
}

void front_forget() { g_front.reset(); }

int front_fatal(const char* code, const char* message, const char* hint, At at) {
    return guarded([&] { fatal(code, at, message, hint); });
}

// ===== Queues, buffers, tensors
int front_queue_init(int32_t* queue, const QueueSpec* q, int64_t num, int64_t len, At at) { return guarded([&] { *queue = tw_queue_init(0, q, num, len, at); }); }
int front_tbuf_init(int32_t* tbuf, uint8_t position, int64_t len, At at) { return guarded([&] { *tbuf = tw_tbuf_init(0, position, len, 0, at); }); }
int front_tbuf_get(LocalRef* out, int32_t tbuf, uint64_t elements, uint64_t bytes, uint64_t offset, int whole, DType t, At at) {
    return guarded([&] { tw_tbuf_get(out, tbuf, elements, bytes, offset, whole, t, at); });
}
int front_queue_alloc(LocalRef* out, int32_t queue, DType t, At at) { return guarded([&] { tw_queue_alloc(out, queue, t, at); }); }
int front_queue_enque(int32_t queue, const LocalRef* r, At at) { return guarded([&] { tw_queue_enque(queue, r, -1, -1, at); }); }
int front_queue_deque(LocalRef* out, int32_t queue, DType t, At at) { return guarded([&] { tw_queue_deque(out, queue, t, nullptr, -1, -1, at); }); }
int front_queue_free(int32_t queue, const LocalRef* r, At at) { return guarded([&] { tw_queue_free(queue, r, at); }); }
int front_queue_query(int32_t* out, int32_t queue, int what, At at) { return guarded([&] { *out = tw_queue_query(queue, what, at); }); }
int front_local_scalar(const LocalRef* r, uint64_t offset, uint32_t bytes, void* value, int write, At at) {
    return guarded([&] {
        void* p = tw_local_scalar(r, offset, bytes, write, at);
        if (write) std::memcpy(p, value, bytes);
        else std::memcpy(value, p, bytes);
    });
}
int front_local_peek(const LocalRef* r, void* out) {
    return guarded([&] {
        if (r->mem != Mem::N && uint64_t(r->addr) + r->bytes <= capacity(r->mem)) std::memcpy(out, tw_local_pointer(r), r->bytes);
    });
}

// ===== Order
int front_event_alloc(int32_t* id, int event, At at) { return guarded([&] { *id = tw_event_alloc(event, at); }); }
int front_event_release(int event, int id, At at) { return guarded([&] { tw_event_release(event, id, at); }); }
int front_event_fetch(int32_t* id, int event, At at) { return guarded([&] { *id = tw_event_fetch(event, at); }); }
int front_set_flag(int event, int64_t id, At at) { return guarded([&] { tw_set_flag(event, id, at); }); }
int front_wait_flag(int event, int64_t id, At at) { return guarded([&] { tw_wait_flag(event, id, at); }); }
int front_pipe_barrier(Pipe p, At at) { return guarded([&] { tw_pipe_barrier(p, at); }); }

// ===== Vector unit
int front_vec(const VecCall* call) { return guarded([&] { tw_vec(call); }); }
int front_vec_compare(const VecCall* call) { return guarded([&] { tw_vec_compare(call, 0); }); }
int front_vec_select(const VecCall* call, const LocalRef* bits) { return guarded([&] { tw_vec_select(call, bits); }); }
int front_vec_reduce(const ReduceCall* call) { return guarded([&] { tw_vec_reduce(call); }); }
int front_vec_mask_mode(int counter, At at) { return guarded([&] { tw_vec_mask_mode(counter, at); }); }
int front_vec_mask_set(uint64_t high, uint64_t low, At at) { return guarded([&] { tw_vec_mask_set(high, low, -1, at); }); }
int front_vec_mask_len(int64_t len, int bytes, At at) { return guarded([&] { tw_vec_mask_len(len, bytes, -1, at); }); }
int front_vec_mask_reset(At at) { return guarded([&] { tw_vec_mask_reset(at); }); }
int front_vec_deq_scale(float scale, At at) { return guarded([&] { tw_vec_deq_scale(scale, 0, 0, 0, at); }); }

// ===== Copies
int front_copy_in(const LocalRef* dst, const GlobalRef* src, DType t, int64_t count, At at) { return guarded([&] { tw_copy_in_count(dst, src, t, count, at); }); }
int front_copy_out(const GlobalRef* dst, const LocalRef* src, DType t, int64_t count, At at) { return guarded([&] { tw_copy_out_count(dst, src, t, count, at); }); }
int front_copy_local(const LocalRef* dst, const LocalRef* src, DType t, int64_t count, At at) { return guarded([&] { tw_copy_local_count(dst, src, t, count, at); }); }
int front_copy_in_blocks(const LocalRef* dst, const GlobalRef* src, DType t, const CopyBlocks* p, At at) { return guarded([&] { tw_copy_in_blocks(dst, src, t, p, at); }); }
int front_copy_out_blocks(const GlobalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) { return guarded([&] { tw_copy_out_blocks(dst, src, t, p, at); }); }
int front_copy_local_blocks(const LocalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) { return guarded([&] { tw_copy_local_blocks(dst, src, t, p, at); }); }
int front_copy_pad_in(const LocalRef* dst, const GlobalRef* src, DType t, const CopyBlocks* p, const CopyPad* pad, At at) { return guarded([&] { tw_copy_pad_in(dst, src, t, p, pad, at); }); }
int front_copy_pad_out(const GlobalRef* dst, const LocalRef* src, DType t, const CopyBlocks* p, At at) { return guarded([&] { tw_copy_pad_out(dst, src, t, p, at); }); }
int front_set_pad_value(uint64_t bits, DType t, At at) { return guarded([&] { tw_set_pad_value(bits, t, at); }); }
int front_set_atomic(Atomic op, DType t, At at) { return guarded([&] { tw_set_atomic(op, t, at); }); }
int front_gm_scalar(const GlobalRef* g, uint64_t byte_offset, uint32_t bytes, void* value, int write, At at) {
    return guarded([&] { tw_gm_scalar(g, byte_offset, bytes, value, write, at); });
}
int front_dcache_clean(const void* p, int entire, At at) { return guarded([&] { tw_dcache_clean(p, entire, 2, at); }); }

}  // extern "C"
