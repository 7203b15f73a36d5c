// Order between cores.
#pragma once
#include "twin/sync.h"

namespace AscendC {

// ---- CrossCoreSetFlag
// Reports when everything issued before on the pipe has finished: mode 0 all cores of this kind, 1 the two AIVs, 2 AIC and its AIVs.
// limits: id 0..15 (11..15 are the library's), at most 15 unconsumed sets, kernel type MIX; pipe neither S nor ALL
// pipe: the named one
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, ::twin::At at = ::twin::At::here()) {
    static_assert(modeId != 4, "UNSUPPORTED_API: CrossCoreSetFlag mode 4 needs Ascend 950. Fix: use mode 2, which joins an AIC with its AIVs on Atlas A2");
    static_assert(modeId <= 2 || modeId == 4, "BAD_PARAMETER: CrossCoreSetFlag takes mode 0 (all cores), 1 (AIVs of one AI Core) or 2 (AIC and its AIVs)");
    static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "BAD_PARAMETER: CrossCoreSetFlag follows one pipe. Fix: PIPE_MTE3 after stores from UB, PIPE_FIX after Fixpipe");
    tw_cross_set(modeId, ::twin::pipe_of(pipe), flagId, at);
}
// ---- CrossCoreWaitFlag
// The core issues nothing more until the counter of the flag is above 0, which then falls by 1.
// limits: as CrossCoreSetFlag; mode and pipe have no effect on Atlas A2
// pipe: S
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, ::twin::At at = ::twin::At::here()) {
    static_assert(modeId != 4, "UNSUPPORTED_API: CrossCoreWaitFlag mode 4 needs Ascend 950. Fix: use mode 2, which joins an AIC with its AIVs on Atlas A2");
    tw_cross_wait(flagId, at);
}
// ---- NotifyEvent
template <pipe_t pipe>
void NotifyEvent(uint16_t flagId, ::twin::At at = ::twin::At::here()) { CrossCoreSetFlag<2, pipe>(flagId, at); }
// ---- WaitEvent
template <pipe_t pipe = PIPE_S>
void WaitEvent(uint16_t flagId, ::twin::At at = ::twin::At::here()) { CrossCoreWaitFlag<0, pipe>(flagId, at); }
// ---- GetffstMsg
// the message that ffts_cross_core_sync sends
inline uint64_t GetffstMsg(uint16_t mode, uint16_t flagId) { return 1 + (mode & 3u) * 16u + (flagId & 15u) * 256u; }
// ---- SetSyncBaseAddr
// does nothing here: the flags of a launch need no memory
inline void SetSyncBaseAddr(uint64_t) {}

// ---- SyncAll
// Every core reaches this point before any goes on; begins with PipeBarrier<PIPE_ALL>. Without workspace: hardware flags.
// limits: as many calls on every block, blocks <= physical cores; hardware form: kernel type MIX_AIV_1_0 or MIX
// pipe: all
template <bool isAIVOnly = true>
void SyncAll(::twin::At at = ::twin::At::here()) { tw_sync_all(isAIVOnly, at); }
template <bool isAIVOnly, auto config>
void SyncAll() { static_assert(::twin::never_value<isAIVOnly>, "UNSUPPORTED_API: SyncAll with SyncAllConfig needs Ascend 950. Fix: use SyncAll<isAIVOnly>()"); }
// Software form: gmWorkspace and ubWorkspace hold 32 B per block; gmWorkspace is zeroed before the kernel.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t usedCores = 0, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_sync_all_soft(isAIVOnly, &g, &u, usedCores, at);
}

// ---- IBSet
// Sets the software flag (blockIdx, eventID) in gmWorkspace for one other block.
// limits: gmWorkspace zeroed, 32 B per core and event; ubWorkspace >= 32 B
// pipe: all, at entry and exit
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx, int32_t eventID, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_ib(0, isAIVOnly, &g, &u, blockIdx, eventID, at);
}
// ---- IBWait
// Waits for IBSet of the same gmWorkspace, blockIdx and eventID and clears it.
// limits: as IBSet
// pipe: all, at entry and exit
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>& ubWorkspace, int32_t blockIdx, int32_t eventID, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_ib(1, isAIVOnly, &g, &u, blockIdx, eventID, at);
}

// ---- InitDetermineComputeWorkspace
// Between WaitPreBlock and NotifyNextBlock the blocks run in the order 0, 1, 2, ...
// limits: gmWorkspace >= blocks * 32 B, ubWorkspace >= blocks * 32 + 32 B; equal numbers of Wait and Notify on every block
// pipe: all
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_ordered(TW_ORDER_INIT, &g, &u, at);
}
// ---- WaitPreBlock
// waits for the block before this one
inline void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_ordered(TW_ORDER_WAIT, &g, &u, at);
}
// ---- NotifyNextBlock
// lets the next block go on
inline void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>& ubWorkspace, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef g = gmWorkspace.ref();
    const ::twin::LocalRef u = ubWorkspace.ref();
    tw_ordered(TW_ORDER_NOTIFY, &g, &u, at);
}

// ---- GroupBarrier
// Wait returns when all arriveSize members have called Arrive in this round.
// limits: groupWorkspace 512 B aligned and zeroed; Arrive index < arriveSize, Wait index < waitSize
// pipe: MTE3
template <PipeMode pipeMode>
class GroupBarrier {
    static_assert(pipeMode == PipeMode::MTE3_MODE, "BAD_PARAMETER: GroupBarrier works in PipeMode::MTE3_MODE only");

public:
    GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn) : ws_(groupWorkspace), arrive_(arriveSizeIn), wait_(waitSizeIn) {}
    void Arrive(uint32_t index, ::twin::At at = ::twin::At::here()) { tw_group(0, ws_, index, arrive_, ++arrived_, at); }
    void Wait(uint32_t index, ::twin::At at = ::twin::At::here()) {
        if (index >= wait_) tw_group(2, ws_, index, wait_, 0, at);
        tw_group(1, ws_, index, arrive_, ++waited_, at);
    }
    uint64_t GetWorkspaceLen() { return 512ull * (arrive_ > wait_ ? arrive_ : wait_); }

private:
    GM_ADDR ws_;
    uint32_t arrive_, wait_;
    uint64_t arrived_ = 0, waited_ = 0;
};

// ---- SetNextTaskStart
// Effective only inside a SuperKernel of newer chips: no operation here.
template <pipe_t AIV_PIPE = PIPE_MTE3, pipe_t AIC_PIPE = PIPE_FIX, bool FORCE = false>
void SetNextTaskStart() {}
// ---- WaitPreTaskEnd
template <bool FORCE = false>
void WaitPreTaskEnd() {}

}  // namespace AscendC

// ---- ffts_cross_core_sync
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t msg, ::twin::At at = ::twin::At::here()) {
    tw_cross_set(static_cast<int>(msg >> 4 & 3), ::twin::pipe_of(pipe), static_cast<int>(msg >> 8 & 15), at);
}
// ---- wait_flag_dev
inline void wait_flag_dev(int64_t flagId, ::twin::At at = ::twin::At::here()) { tw_cross_wait(static_cast<int>(flagId), at); }
inline void wait_flag_dev(pipe_t, int64_t flagId, ::twin::At at = ::twin::At::here()) { tw_cross_wait(static_cast<int>(flagId), at); }
inline void set_ffts_base_addr(uint64_t) {}
