// Entry points for a front end that is no C++ kernel: Python drives the cores itself, one after the other, and calls
// these instead of the tw_* functions behind them. Each returns a FrontState, because an error must not be thrown
// through a foreign call: Stopped means that a finding ended the launch, and front_end says which.
#pragma once
#include "twin/abi_copy.h"
#include "twin/abi_core.h"
#include "twin/abi_reduce.h"
#include "twin/abi_vec.h"

namespace twin {

enum FrontState : int { kFrontOk = 0, kFrontStopped = 1, kFrontIdle = 2 };   // Idle: no launch, or no core, is running

struct FrontArray {
    uint8_t* base;
    uint64_t bytes;
    uint8_t dtype, workspace;
    const char* name;
};
struct FrontLaunch {
    const FrontArray* arrays;
    uint64_t array_count;
    int64_t blocks;
    uint64_t seed;
    int32_t kernel_type, first_line;
    uint8_t checks, lazy, strict_sync;
    const char* source;        // the learner's text
    const char* file;          // the name its lines carry
    const char* chip;          // lines `key value` of the chip profile
};
// Memory of the library, valid until the next front_begin or front_forget.
struct FrontResult {
    const char* json;
    uint64_t json_bytes;
    const void* events;
    uint64_t event_count;
    const void* marks;
    uint64_t mark_count;
};

}  // namespace twin

extern "C" {
int front_begin(const twin::FrontLaunch* launch);
int front_core(int64_t block, twin::At at);             // this core runs now and has a TPipe
int front_core_end();                                   // its program has ended
int front_end(twin::FrontResult* out);                  // also after an error, or in the middle of a core
void front_forget();
int front_fatal(const char* code, const char* message, const char* hint, twin::At at);   // what the front end found itself

int front_queue_init(int32_t* queue, const twin::QueueSpec* q, int64_t num, int64_t len, twin::At at);
int front_tbuf_init(int32_t* tbuf, uint8_t position, int64_t len, twin::At at);
int front_tbuf_get(twin::LocalRef* out, int32_t tbuf, uint64_t elements, uint64_t bytes, uint64_t offset, int whole, twin::DType t, twin::At at);
int front_queue_alloc(twin::LocalRef* out, int32_t queue, twin::DType t, twin::At at);
int front_queue_enque(int32_t queue, const twin::LocalRef* r, twin::At at);
int front_queue_deque(twin::LocalRef* out, int32_t queue, twin::DType t, twin::At at);
int front_queue_free(int32_t queue, const twin::LocalRef* r, twin::At at);
int front_queue_query(int32_t* out, int32_t queue, int what, twin::At at);
int front_local_scalar(const twin::LocalRef* r, uint64_t offset, uint32_t bytes, void* value, int write, twin::At at);
int front_local_peek(const twin::LocalRef* r, void* out);   // the bytes of a tensor as they are now: costs and checks nothing

int front_event_alloc(int32_t* id, int event, twin::At at);
int front_event_release(int event, int id, twin::At at);
int front_event_fetch(int32_t* id, int event, twin::At at);
int front_set_flag(int event, int64_t id, twin::At at);
int front_wait_flag(int event, int64_t id, twin::At at);
int front_pipe_barrier(twin::Pipe p, twin::At at);

int front_vec(const twin::VecCall* call);
int front_vec_compare(const twin::VecCall* call);
int front_vec_select(const twin::VecCall* call, const twin::LocalRef* bits);
int front_vec_reduce(const twin::ReduceCall* call);
int front_vec_mask_mode(int counter, twin::At at);
int front_vec_mask_set(uint64_t high, uint64_t low, twin::At at);
int front_vec_mask_len(int64_t len, int bytes, twin::At at);
int front_vec_mask_reset(twin::At at);
int front_vec_deq_scale(float scale, twin::At at);

int front_copy_in(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, int64_t count, twin::At at);
int front_copy_out(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, int64_t count, twin::At at);
int front_copy_local(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, int64_t count, twin::At at);
int front_copy_in_blocks(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
int front_copy_out_blocks(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
int front_copy_local_blocks(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
int front_copy_pad_in(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::CopyBlocks* p, const twin::CopyPad* pad, twin::At at);
int front_copy_pad_out(const twin::GlobalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::CopyBlocks* p, twin::At at);
int front_set_pad_value(uint64_t bits, twin::DType t, twin::At at);
int front_set_atomic(twin::Atomic op, twin::DType t, twin::At at);
int front_gm_scalar(const twin::GlobalRef* g, uint64_t byte_offset, uint32_t bytes, void* value, int write, twin::At at);
int front_dcache_clean(const void* p, int entire, twin::At at);
}
