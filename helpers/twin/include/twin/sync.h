// Order inside one core: flags between two pipes, barriers of one pipe.
#pragma once
#include "twin/local_tensor.h"

namespace twin {
constexpr Pipe pipe_of(pipe_t p) {
    switch (p) {
        case PIPE_S: return Pipe::S;
        case PIPE_V: return Pipe::V;
        case PIPE_M: return Pipe::M;
        case PIPE_MTE1: return Pipe::MTE1;
        case PIPE_MTE2: return Pipe::MTE2;
        case PIPE_MTE3: return Pipe::MTE3;
        case PIPE_FIX: return Pipe::FIX;
        default: return Pipe::ALL;
    }
}
}  // namespace twin

namespace AscendC {

// ---- SetFlag
// The flag (event, id) becomes 1 when everything issued before on the source pipe has finished; never blocks.
// limits: id 0..7; one set per wait
// pipe: source of the event
template <HardEvent event>
void SetFlag(int32_t id, ::twin::At at = ::twin::At::here()) { tw_set_flag(static_cast<int>(event), id, at); }
// ---- WaitFlag
// Later instructions of the target pipe start after the flag (event, id) is 1, which becomes 0; WaitFlag<X_S> stops the scalar unit.
// limits: id 0..7; needs a SetFlag of the same event and id on every path
// pipe: target of the event
template <HardEvent event>
void WaitFlag(int32_t id, ::twin::At at = ::twin::At::here()) { tw_wait_flag(static_cast<int>(event), id, at); }

// ---- PipeBarrier
// Later instructions of the pipe start after all its earlier ones have finished; PIPE_ALL: of every pipe, the scalar unit included.
// limits: not PIPE_S
// pipe: the named one
template <pipe_t pipe>
void PipeBarrier(::twin::At at = ::twin::At::here()) {
    static_assert(pipe != PIPE_S, "BAD_PARAMETER: PipeBarrier<PIPE_S> is not supported: scalar order is kept by hardware. Fix: remove it");
    tw_pipe_barrier(::twin::pipe_of(pipe), at);
}

// ---- DataSyncBarrier
// Later instructions wait until earlier accesses to the named memory (ALL, DDR, UB, SEQ) have finished.
// limits: Atlas A2; not for L1 and L0
// pipe: S
template <MemDsbT memory>
void DataSyncBarrier(::twin::At at = ::twin::At::here()) {
    static_assert(__NPU_ARCH__ == 2201 || ::twin::never_value<memory>, "UNSUPPORTED_API: DataSyncBarrier is not available on the inference chip. Fix: use PipeBarrier<PIPE_ALL>()");
    tw_data_sync_barrier(static_cast<int>(memory), at);
}

// ---- TQueSync
// Portable spelling of SetFlag / WaitFlag by the two pipes.
template <pipe_t src, pipe_t dst>
class TQueSync {
public:
    void SetFlag(TEventID id, ::twin::At at = ::twin::At::here()) { tw_raw_flag(1, ::twin::pipe_of(src), ::twin::pipe_of(dst), id, at); }
    void WaitFlag(TEventID id, ::twin::At at = ::twin::At::here()) { tw_raw_flag(0, ::twin::pipe_of(src), ::twin::pipe_of(dst), id, at); }
};

// Newer chips only.
class Mutex {
public:
    template <pipe_t pipe, class... A>
    static void Lock(A...) { static_assert(::twin::never_value<pipe>, "UNSUPPORTED_API: Mutex needs Ascend 950. Fix: use SetFlag / WaitFlag"); }
    template <pipe_t pipe, class... A>
    static void Unlock(A...) { static_assert(::twin::never_value<pipe>, "UNSUPPORTED_API: Mutex needs Ascend 950. Fix: use SetFlag / WaitFlag"); }
};
template <class... A>
int AllocMutexID(A...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: AllocMutexID needs Ascend 950. Fix: use TPipe::AllocEventID with SetFlag / WaitFlag"); return 0; }
template <class... A>
void ReleaseMutexID(A...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: ReleaseMutexID needs Ascend 950. Fix: use TPipe::ReleaseEventID"); }

}  // namespace AscendC

// ---- set_flag
inline void set_flag(pipe_t src, pipe_t dst, int64_t id, ::twin::At at = ::twin::At::here()) { tw_raw_flag(1, ::twin::pipe_of(src), ::twin::pipe_of(dst), id, at); }
// ---- wait_flag
inline void wait_flag(pipe_t src, pipe_t dst, int64_t id, ::twin::At at = ::twin::At::here()) { tw_raw_flag(0, ::twin::pipe_of(src), ::twin::pipe_of(dst), id, at); }
// ---- pipe_barrier
inline void pipe_barrier(pipe_t pipe, ::twin::At at = ::twin::At::here()) { tw_pipe_barrier(::twin::pipe_of(pipe), at); }
// ---- dsb
inline void dsb(mem_dsb_t what, ::twin::At at = ::twin::At::here()) { tw_data_sync_barrier(static_cast<int>(what), at); }
