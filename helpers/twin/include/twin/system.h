// Where a kernel runs and what the chip offers.
#pragma once
#include "twin/local_tensor.h"

namespace twin {
// block_idx and its like are variables on the device; here they ask the runtime, because cores share one process.
struct BlockIdxVar { operator int64_t() const { return tw_block_group(); } };
struct BlockNumVar { operator int64_t() const { return tw_block_num(); } };
struct CoreTypeVar { operator int() const { return tw_is_aiv() ? 2 : 1; } };
}  // namespace twin

namespace AscendC {
constexpr int AIC = 1, AIV = 2;

// ---- GetBlockIdx
// Index of this core among those of its kind. limits: AIV of a MIX kernel: block * ratio + sub. pipe: S
inline int64_t GetBlockIdx() { return tw_block_idx(); }
// ---- GetBlockNum
// blocks of the launch
inline int64_t GetBlockNum() { return tw_block_num(); }
// ---- GetSubBlockIdx
// which of the vector cores of its AI core this is
inline int64_t GetSubBlockIdx() { return tw_sub_block_idx(); }
// ---- GetSubBlockNum
// vector cores per AI core
inline int64_t GetSubBlockNum() { return tw_sub_block_num(); }
// ---- GetTaskRation
// vector cores per cube core of the launch; the older spelling
inline int64_t GetTaskRation() { return tw_task_ratio(); }
// ---- GetTaskRatio
// vector cores per cube core of the launch
inline int64_t GetTaskRatio() { return tw_task_ratio(); }

// ---- InitSocState
// Atomic mode off, vector mask NORMAL and all ones. limits: first call of a kernel without TPipe. pipe: S
inline void InitSocState(::twin::At at = ::twin::At::here()) { tw_init_soc_state(at); }
// ---- GetSystemCycle
// 50 MHz counter (50 per microsecond). limits: put PipeBarrier<PIPE_ALL> before to measure other pipes. pipe: S
inline int64_t GetSystemCycle(::twin::At at = ::twin::At::here()) { return tw_system_cycle(at); }
// ---- GetDataBlockSizeInBytes
// bytes of one data block: 32
constexpr int16_t GetDataBlockSizeInBytes() { return 32; }
// ---- GetUBSizeInBytes
// bytes of UB a kernel may use
constexpr uint32_t GetUBSizeInBytes() { return TOTAL_UB_SIZE; }
// ---- GetRuntimeUBSize
// bytes of UB a kernel may use
inline uint32_t GetRuntimeUBSize() { return TOTAL_UB_SIZE; }
// ---- GetVecLen
// bytes of one vector repeat
constexpr uint32_t GetVecLen() { return 256; }
// ---- GetArchVersion
// number of the architecture
inline void GetArchVersion(uint32_t& version) { version = __NPU_ARCH__ == 2201 ? 0x220 : 0x200; }
// ---- GetProgramCounter
// a stand-in: the place in the code has no number here
inline int64_t GetProgramCounter() { return tw_program_counter(); }
// ---- ICachePreLoad
// does nothing here: the instruction cache is not part of the model
inline void ICachePreLoad(int64_t) {}
// ---- GetICachePreloadStatus
// nothing is on its way: 0
inline int64_t GetICachePreloadStatus() { return 0; }
// ---- Nop
template <int n = 1> void Nop(::twin::At at = ::twin::At::here()) { tw_nop(n, at); }
// ---- CeilDivision
// a / b rounded up
constexpr int32_t CeilDivision(int32_t a, int32_t b) { return b == 0 ? 0 : (a + b - 1) / b; }
// ---- DivCeil
// a / b rounded up
constexpr uint32_t DivCeil(uint32_t a, uint32_t b) { return b == 0 ? 0 : a / b + (a % b != 0); }
// ---- Ceil
// a / b rounded up; for tensors see adv_math.h
constexpr uint32_t Ceil(uint32_t a, uint32_t b) { return DivCeil(a, b); }
// ---- AlignUp
// a rounded up to a multiple of b
constexpr uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }

// ---- Async
// Calls fun(args...) on the named core type only. limits: MIX kernels. pipe: those of fun
template <EngineType engine, auto fun, class... A>
void Async(A... args) {
    if ((engine == EngineType::AIV) == (tw_is_aiv() != 0)) fun(args...);
}

// ---- SetSysWorkspace SetSysWorkspaceForce
// does nothing here: the library part of the workspace is not needed
inline void SetSysWorkspace(GM_ADDR) {}
inline void SetSysWorkspaceForce(GM_ADDR) {}
// ---- GetUserWorkspace
// The user's part of the workspace: the argument itself, as in CPU mode. limits: a null workspace is reported. pipe: S
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace, ::twin::At at = ::twin::At::here()) {
    tw_user_workspace(workspace, at);
    return workspace;
}

// ---- GmAlloc
// host memory, as in CPU mode; limits: host code
inline void* GmAlloc(size_t bytes) { return __builtin_malloc(bytes); }
// ---- GmFree
// gives back what GmAlloc gave
inline void GmFree(void* p) { __builtin_free(p); }
// ---- SetKernelMode
// does nothing here: the kernel type is read from the text
inline void SetKernelMode(KernelMode) {}
}  // namespace AscendC

inline const ::twin::BlockIdxVar block_idx{};
inline const ::twin::BlockNumVar block_num{};
inline const ::twin::CoreTypeVar g_coreType{};
inline int64_t get_block_idx() { return tw_block_group(); }
inline int64_t get_block_num() { return tw_block_num(); }
inline int64_t get_subblockid() { return tw_sub_block_idx(); }
inline int64_t get_subblockdim() { return tw_sub_block_num(); }
inline uint64_t get_ctrl() { return 0; }
inline void set_ctrl(uint64_t) {}
template <class T> constexpr T get_imm(T v) { return v; }
// ---- GetSysWorkSpacePtr
inline __gm__ uint8_t* GetSysWorkSpacePtr() { return tw_sys_workspace(); }
inline void SetSysWorkSpacePtr(GM_ADDR) {}
using AscendC::SetKernelMode;

#define ASCEND_IS_AIV (::tw_is_aiv() != 0)
#define ASCEND_IS_AIC (::tw_is_aiv() == 0)
#define ASCEND_IS_NOT_AIV (::tw_is_aiv() == 0)
#define ASCEND_IS_NOT_AIC (::tw_is_aiv() != 0)
#define ASC_UB_SIZE (::AscendC::TOTAL_UB_SIZE)
#define ASC_L1_SIZE (::AscendC::TOTAL_L1_SIZE)
#define ASC_L0A_SIZE (::AscendC::TOTAL_L0A_SIZE)
#define ASC_L0B_SIZE (::AscendC::TOTAL_L0B_SIZE)
#define ASC_L0C_SIZE (::AscendC::TOTAL_L0C_SIZE)
#define ASC_BT_SIZE 1024
// Read from the text before the launch; nothing to do here.
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)
// The host part of a CPU-mode file compiles and is not run: the kernel is launched from Python.
#define ICPU_RUN_KF(func, numBlocks, ...) ((void)0)
#define ICPU_SET_TILING_KEY(key) ((void)(key))
#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
