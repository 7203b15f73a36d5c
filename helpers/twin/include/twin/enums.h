// Enumerations and constants of the programming model, in their documented order.
#pragma once
#include "twin/types.h"

// ----- global names (never inside AscendC on the device either)
// ---- event_t
enum event_t { EVENT_ID0 = 0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
// ---- pipe_t
enum pipe_t { PIPE_S = 0, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_MTE4, PIPE_MTE5, PIPE_V2, PIPE_FIX };
// ---- CubeFormat
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
// ---- QuantMode_t
enum QuantMode_t {
    NoQuant = 0, F322F16 = 1, VQF322HIF8_PRE = 2, QF322HIF8_PRE = 3, VDEQF16 = 4, DEQF16 = 5, VREQ8 = 8, REQ8 = 9,
    VSHIFTS322S16 = 12, SHIFTS322S16 = 13, F322BF16 = 16, VQF322B8_PRE = 23, QF322B8_PRE = 24
};
// ---- pad_t
enum pad_t { PAD_NONE = 0, PAD_MODE1, PAD_MODE2, PAD_MODE3, PAD_MODE4, PAD_MODE5, PAD_MODE6, PAD_MODE7, PAD_MODE8 };
enum class cache_line_t : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class dcci_dst_t : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum mem_dsb_t { DSB_ALL = 0, DSB_DDR, DSB_UB, DSB_SEQ };
// ---- KernelMetaType
enum KernelMetaType : uint8_t {
    KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0, KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE, KERNEL_TYPE_MIX_AICORE, KERNEL_TYPE_MIX_VECTOR_CORE,
    KERNEL_TYPE_MAX
};
// ---- KernelMode
enum class KernelMode { MIX_MODE = 0, AIC_MODE, AIV_MODE };

namespace AscendC {
using ::CubeFormat;
using ::KernelMetaType;
using ::KernelMode;
using TEventID = int8_t;

// ---- TPosition
enum class TPosition : uint8_t {
    GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM, C2PIPE2LOCAL, MAX
};
using QuePosition = TPosition;
// ---- Hardware
enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };
// ---- HardEvent
// Named source_target: the source pipe sets the flag, the target pipe waits for it.
enum class HardEvent : uint8_t {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V, MTE2_M,
    M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX, FIX_MTE2, FIX_S, M_S,
    FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, MAX
};
// ---- CacheMode
enum class CacheMode { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL = 1, CACHE_MODE_LAST = 2, CACHE_MODE_PERSISTENT = 4 };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
// ---- CacheLine
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
// ---- DataFormat
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC };
// ---- MaskMode
enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };
// ---- MemDsbT
enum class MemDsbT : uint8_t { ALL = 0, DDR, UB, SEQ };
enum class BlockMode : uint8_t { BLOCK_MODE_NORMAL = 0, BLOCK_MODE_MATRIX, BLOCK_MODE_VECTOR, BLOCK_MODE_SMALL_CHANNEL, BLOCK_MODE_DEPTHWISE };
enum class DeqScale : uint8_t { DEQ_NONE = 0, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
// ---- EngineType
enum class EngineType { AIC, AIV };
// ---- TBufState
enum class TBufState : uint8_t { FREE = 0, OCCUPIED, ENQUE, DEQUE };
// ---- RoundMode
// NONE = RINT when inexact; RINT ties to even; ROUND ties away from zero; ODD: the neighbour with last mantissa bit 1.
enum class RoundMode : uint8_t { CAST_NONE = 0, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
// ---- PipeMode
enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1 };
// ---- AtomicDtype
enum class AtomicDtype { ATOMIC_NONE = 0, ATOMIC_F32, ATOMIC_F16, ATOMIC_S16, ATOMIC_S32, ATOMIC_S8, ATOMIC_BF16 };
enum class AtomicOp { ATOMIC_SUM = 0 };

constexpr int32_t ONE_BLK_SIZE = 32;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr int32_t MAX_REPEAT_TIMES = 255;
constexpr int32_t DEFAULT_BLK_NUM = 8;
constexpr int32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint64_t CONST_MASK_VALUE = 0x8000000000000000ull;
constexpr uint64_t MASK_PLACEHOLDER = 0;
#if __NPU_ARCH__ == 2002
constexpr int32_t TOTAL_UB_SIZE = 256 * 1024, TOTAL_L1_SIZE = 1024 * 1024, TOTAL_L0C_SIZE = 256 * 1024;
#else
constexpr int32_t TOTAL_UB_SIZE = 192 * 1024, TOTAL_L1_SIZE = 512 * 1024, TOTAL_L0C_SIZE = 128 * 1024;
#endif
constexpr int32_t TOTAL_L0A_SIZE = 64 * 1024, TOTAL_L0B_SIZE = 64 * 1024;

// Legacy members SYNC_*: flag ids the library keeps for its own barriers.
constexpr uint16_t SYNC_AIC_FLAG = 11, SYNC_AIV_FLAG = 12, SYNC_AIC_AIV_FLAG = 13, SYNC_AIV_ONLY_ALL = 14;

// ---- ShapeInfo
struct ShapeInfo {
    uint8_t shapeDim = 0, originalShapeDim = 0;
    uint32_t shape[8] = {}, originalShape[8] = {};
    DataFormat dataFormat = DataFormat::ND;
    ShapeInfo() = default;
    ShapeInfo(uint8_t dim, const uint32_t* s, uint8_t orig_dim, const uint32_t* o, DataFormat f)
        : shapeDim(dim), originalShapeDim(orig_dim), dataFormat(f) {
        for (int i = 0; i < dim && i < 8; ++i) shape[i] = s[i];
        for (int i = 0; i < orig_dim && i < 8; ++i) originalShape[i] = o[i];
    }
    ShapeInfo(uint8_t dim, const uint32_t* s, DataFormat f) : ShapeInfo(dim, s, dim, s, f) {}
    ShapeInfo(uint8_t dim, const uint32_t* s) : ShapeInfo(dim, s, dim, s, DataFormat::ND) {}
};
// ---- GetShapeSize
// product of the lengths of all axes
inline int GetShapeSize(const ShapeInfo& info) {
    int n = 1;
    for (int i = 0; i < info.shapeDim && i < 8; ++i) n *= static_cast<int>(info.shape[i]);
    return n;
}
}  // namespace AscendC
