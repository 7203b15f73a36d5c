// Entry points of the core part of the runtime: tensors, TPipe, queues, synchronisation, queries, debug output.
// Kernel headers and the NumPy tiling simulation call the same ones.
#pragma once
#include "base.h"

namespace twin {

// What a queue is: positions are TPosition values. `config` bits: 1 = nd2nz, 2 = nz2nd, 4 = scmBlockGroup, 8 = loop queue.
struct QueueSpec {
    uint8_t src = 0, dst = 0;
    int32_t depth = 1;
    uint32_t config = 0;
    uint32_t buffer_number = 0, buffer_len = 0;  // from TQueConfig; 0 = not given
    int32_t pool = 0;                            // TBufPool it is carved from; 0 = the pipe itself
};
struct ShapeRecord { uint32_t dims, shape[8], orig_dims, orig[8], format; };
// One printf argument: how the caller's value is to be read.
struct PrintArg { uint8_t kind; uint8_t bytes; int64_t i; double f; const void* p; };  // kind 0 signed, 1 unsigned, 2 float, 3 pointer, 4 text

}  // namespace twin

extern "C" {
// Tensors
twin::Mem tw_memory_of(uint8_t position);
void tw_local_static(twin::LocalRef* out, uint8_t position, uint32_t addr, uint64_t bytes, twin::At at);
void tw_local_window(twin::LocalRef* r, int64_t shift, uint64_t bytes, twin::At at);  // operator[], SetSize
void* tw_local_scalar(const twin::LocalRef* r, uint64_t offset, uint32_t bytes, int write, twin::At at);
void* tw_local_pointer(const twin::LocalRef* r);
void* tw_local_raw(const twin::LocalRef* r);               // a pointer that the kernel may write through, unseen
void tw_gm_type(const void* p, twin::DType t, twin::At at);            // SetGlobalBuffer: does the array hold this type?
int32_t tw_user_tag(const twin::LocalRef* r, int32_t value, int write);
uint32_t tw_shape_store(const twin::ShapeRecord* s);
void tw_shape_load(uint32_t id, twin::ShapeRecord* out, twin::At at);
void tw_local_print(const twin::LocalRef* r, twin::DType t, uint32_t n, twin::At at);
int32_t tw_local_to_file(const twin::LocalRef* r, const char* path);

// TPipe
void tw_pipe_init(void* pipe, twin::At at);
void tw_pipe_reset(twin::At at);
void tw_pipe_destroy(int barrier, twin::At at);
void tw_pipe_gone(void* pipe);  // destructor
void* tw_pipe_current();
int32_t tw_queue_init(int32_t queue, const twin::QueueSpec* q, int64_t num, int64_t len, twin::At at);
int32_t tw_queue_init_at(int32_t queue, const twin::QueueSpec* q, uint32_t num, const uint32_t* addr_len_pairs, twin::At at);
int32_t tw_tbuf_init(int32_t tbuf, uint8_t position, int64_t len, int32_t pool, twin::At at);
int32_t tw_pool_init(uint8_t position, uint32_t max_buffers, int64_t len, int32_t parent, int32_t share, twin::At at);
void tw_pool_reset(int32_t pool, twin::At at);
void tw_abs_addr(twin::LocalRef* out, uint8_t position, int32_t offset, uint64_t bytes, twin::At at);
int tw_pop_stack(twin::LocalRef* out, uint8_t position, twin::At at);
uint8_t* tw_base(uint8_t position);

// TQue, TBuf
void tw_queue_alloc(twin::LocalRef* out, int32_t queue, twin::DType t, twin::At at);
int tw_queue_enque(int32_t queue, const twin::LocalRef* r, int user_src, int user_dst, twin::At at);
void tw_queue_deque(twin::LocalRef* out, int32_t queue, twin::DType t, const twin::LocalRef* in_place, int user_src, int user_dst, twin::At at);
void tw_queue_free(int32_t queue, const twin::LocalRef* r, twin::At at);
enum { TW_QUEUE_VACANT, TW_QUEUE_COUNT, TW_QUEUE_IDLE };
int32_t tw_queue_query(int32_t queue, int what, twin::At at);
int tw_queue_state(int32_t queue, const twin::LocalRef* r, twin::At at);
void tw_queue_free_events(int32_t queue, twin::At at);
void tw_queue_buffer(twin::LocalRef* out, int32_t queue, uint32_t index, twin::At at);
void tw_tbuf_get(twin::LocalRef* out, int32_t tbuf, uint64_t elements, uint64_t bytes, uint64_t offset, int whole, twin::DType t, twin::At at);

// Events and barriers
int32_t tw_event_alloc(int event, twin::At at);
void tw_event_release(int event, int id, twin::At at);
int32_t tw_event_fetch(int event, twin::At at);
void tw_set_flag(int event, int64_t id, twin::At at);
void tw_wait_flag(int event, int64_t id, twin::At at);
void tw_raw_flag(int set, twin::Pipe from, twin::Pipe to, int64_t id, twin::At at);  // set_flag(pipe, pipe, id)
void tw_pipe_barrier(twin::Pipe p, twin::At at);
void tw_data_sync_barrier(int what, twin::At at);
void tw_cross_set(int mode, twin::Pipe p, int flag, twin::At at);
void tw_cross_wait(int flag, twin::At at);
void tw_sync_all(int aiv_only, twin::At at);
void tw_sync_all_soft(int aiv_only, const twin::GlobalRef* gm, const twin::LocalRef* ub, int32_t used, twin::At at);
void tw_ib(int wait, int aiv_only, const twin::GlobalRef* gm, const twin::LocalRef* ub, int32_t block, int32_t event, twin::At at);
enum { TW_ORDER_INIT, TW_ORDER_WAIT, TW_ORDER_NOTIFY };
void tw_ordered(int what, const twin::GlobalRef* gm, const twin::LocalRef* ub, twin::At at);
void tw_group(int wait, const void* workspace, uint32_t arrive, uint32_t total, uint64_t round, twin::At at);

// Queries
int64_t tw_block_idx();
int64_t tw_block_group();
int64_t tw_block_num();
int64_t tw_sub_block_idx();
int64_t tw_sub_block_num();
int64_t tw_task_ratio();
int tw_is_aiv();
int64_t tw_system_cycle(twin::At at);
int64_t tw_program_counter();
uint64_t tw_tiling_key();
int tw_tiling_key_is(uint64_t key, twin::At at);
void tw_init_soc_state(twin::At at);
void tw_nop(int n, twin::At at);
uint8_t* tw_sys_workspace();
void tw_user_workspace(const void* ws, twin::At at);
void tw_tiling_copy(void* dst, uint64_t bytes, uint64_t offset, const void* src, uint64_t whole, const char* type, twin::At at);

// Debug output
void tw_printf(const char* format, const twin::PrintArg* args, uint32_t n);
void tw_dump_local(const twin::LocalRef* r, twin::DType t, uint32_t desc, uint32_t offset, uint32_t n, const twin::ShapeRecord* s, twin::At at);
void tw_dump_global(const twin::GlobalRef* r, twin::DType t, uint32_t desc, uint32_t offset, uint32_t n, const twin::ShapeRecord* s, twin::At at);
void tw_assert(const char* text, const char* format, const twin::PrintArg* args, uint32_t n, twin::At at);
void tw_trap(twin::At at);
void tw_time_stamp(uint32_t id, twin::At at);
}
