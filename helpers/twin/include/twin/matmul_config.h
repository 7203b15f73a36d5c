// Types and constants of the high-level matrix multiplication.
#pragma once
#include "twin/abi_matmul.h"
#include "twin/adv_matmul_tiling.h"
#include "twin/enums.h"

// ---- LayoutMode
enum class LayoutMode { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
// ---- BatchMode
enum class BatchMode { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
// ---- IterateOrder
enum class IterateOrder { ORDER_M = 0, ORDER_N, UNDEF };
// ---- ScheduleType
enum class ScheduleType { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
// ---- MatmulConfigMode
enum class MatmulConfigMode { CONFIG_NORM = 0, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };
// ---- IterateMode
enum IterateMode : uint8_t { ITERATE_MODE_NORMAL = 1, ITERATE_MODE_ALL = 2, ITERATE_MODE_BATCH = 4, ITERATE_MODE_N_BATCH = 8, ITERATE_MODE_DEFAULT = 255 };
enum BatchOutMode { SINGLE_BATCH = 0, MULTI_BATCH, DYNAMIC };

// ---- MatmulConfig
// Which template a Matmul object uses and which of its calls exist. Results depend on few of the fields; all others are speed.
// limits: an aggregate; made by the Get...Config functions or GetMMConfig; a constexpr object as template argument of Matmul
struct MatmulConfig {
    bool doNorm = false, doBasicBlock = false, doMultiDataLoad = false;
    uint32_t basicM = 0, basicN = 0, basicK = 0;
    bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0, singleCoreMN = 0;
    bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false, enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true, enableQuantVector = true, enableSetDefineData = true;
    uint8_t iterateMode = ITERATE_MODE_DEFAULT;
    bool enableReuse = true, enableUBReuse = false, enableL1CacheUB = false, intraBlockPartSum = false;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false, enableMixDualMaster = false, isA2B2Shared = false;
    bool isEnableChannelSplit = false, enableKdimReorderLoad = false, isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 65536;
    BatchOutMode bmmOutMode = SINGLE_BATCH;
    bool enableL1BankConflictOptimise = false, enableRelu = false;
};

// ---- GetNormalConfig
// the Norm template: base blocks are brought to L1 one by one
constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false, const bool isVecND2NZ = false, const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                       const bool isMsgReuse = true, const IterateOrder iterateOrder = IterateOrder::UNDEF, const ScheduleType scheduleType = ScheduleType::INNER_PRODUCT,
                                       const bool enUnitFlag = true, const bool enableMixDualMaster = false, const BatchOutMode bmmOutMode = SINGLE_BATCH) {
    MatmulConfig c;
    c.doNorm = true;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.enVecND2NZ = isVecND2NZ;
    c.batchMode = bmmMode;
    c.enableReuse = isMsgReuse;
    c.iterateOrder = iterateOrder;
    c.scheduleType = scheduleType;
    c.enUnitFlag = enUnitFlag;
    c.enableMixDualMaster = enableMixDualMaster;
    c.bmmOutMode = bmmOutMode;
    return c;
}
// ---- GetMDLConfig
// the MDL template: stepM * stepKa base blocks of A, stepN * stepKb of B, come to L1 at once
constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false, const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false, bool isPerTensor = false,
                                    bool hasAntiQuantOffset = false, const bool enUnitFlag = false, const bool isMsgReuse = true, const bool enableUBReuse = true, const bool enableL1CacheUB = false,
                                    const bool enableMixDualMaster = false, const bool enableKdimReorderLoad = false, const bool enableL1BankConflictOptimise = false) {
    MatmulConfig c;
    c.doMultiDataLoad = true;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.doMTE2Preload = doMTE2Preload;
    c.enVecND2NZ = isVecND2NZ;
    c.isPerTensor = isPerTensor;
    c.hasAntiQuantOffset = hasAntiQuantOffset;
    c.enUnitFlag = enUnitFlag;
    c.enableReuse = isMsgReuse;
    c.enableUBReuse = enableUBReuse;
    c.enableL1CacheUB = enableL1CacheUB;
    c.enableMixDualMaster = enableMixDualMaster;
    c.enableKdimReorderLoad = enableKdimReorderLoad;
    c.enableL1BankConflictOptimise = enableL1BankConflictOptimise;
    return c;
}
// ---- GetSpecialMDLConfig
// MDL with stepN = 2
constexpr MatmulConfig GetSpecialMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false, const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false, bool isPerTensor = false,
                                           bool hasAntiQuantOffset = false) {
    MatmulConfig c = GetMDLConfig(intrinsicsLimit, batchLoop, doMTE2Preload, isVecND2NZ, isPerTensor, hasAntiQuantOffset);
    c.doSpecialMDL = true;
    return c;
}
// ---- GetBasicConfig
// blocks without tails: the single-core shape is a multiple of the base
constexpr MatmulConfig GetBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK, const bool intrinsicsLimit = false, const bool batchLoop = false,
                                      const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c;
    c.doBasicBlock = true;
    c.basicM = basicM;
    c.basicN = basicN;
    c.basicK = basicK;
    c.intrinsicsCheck = intrinsicsLimit;
    c.isNBatch = batchLoop;
    c.batchMode = bmmMode;
    return c;
}
// ---- GetSpecialBasicConfig
// the same with the single-core shape known at compile time
constexpr MatmulConfig GetSpecialBasicConfig(const uint32_t basicM, const uint32_t basicN, const uint32_t basicK, const uint32_t singleCoreM, const uint32_t singleCoreN, const uint32_t singleCoreK,
                                             const uint32_t stepM, const uint32_t stepN, const bool intrinsicsLimit = false, const bool batchLoop = false,
                                             const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetBasicConfig(basicM, basicN, basicK, intrinsicsLimit, batchLoop, bmmMode);
    c.doBasicBlock = false;
    c.doSpecialBasicBlock = true;
    c.singleCoreM = singleCoreM;
    c.singleCoreN = singleCoreN;
    c.singleCoreK = singleCoreK;
    c.stepM = stepM;
    c.stepN = stepN;
    c.baseMN = basicM * basicN;
    c.singleCoreMN = singleCoreM * singleCoreN;
    return c;
}
// ---- GetIBShareNormConfig
// Norm where both vector cores of an AI core share one operand
constexpr MatmulConfig GetIBShareNormConfig(const bool intrinsicsLimit = false, const bool batchLoop = false, const bool isVecND2NZ = false, const BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                            const bool isDoubleCache = false, const bool enUnitFlag = true) {
    MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ, bmmMode);
    c.doIBShareNorm = true;
    c.enableDoubleCache = isDoubleCache;
    c.enUnitFlag = enUnitFlag;
    return c;
}
// ---- CFG_NORM CFG_MDL CFG_IBSHARE_NORM MM_CFG_BB
// the usual configurations
inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();
inline constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);

// ---- MatmulShapeParams
struct MatmulShapeParams { uint32_t singleCoreM, singleCoreN, singleCoreK, basicM, basicN, basicK; };
// ---- MatmulQuantParams
struct MatmulQuantParams { bool isPerTensor, hasAntiQuantOffset; };
// ---- MatmulBatchParams
struct MatmulBatchParams { bool isNBatch; BatchMode batchMode; bool isBiasBatch = true; BatchOutMode bmmOutMode = SINGLE_BATCH; };
// ---- MatmulBiasParams
struct MatmulBiasParams { bool enableSetBias = true; };
// ---- MatmulFuncParams
struct MatmulFuncParams {
    bool intrinsicsCheck = false, enVecND2NZ = false, enableDoubleCache = false, enableL1CacheUB = false;
    uint32_t doMTE2Preload = 0;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableReuse = true, enableUBReuse = false, isPartialOutput = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false, isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 65536;
    bool enableL1BankConflictOptimise = false;
};

namespace twin {
constexpr void matmul_take(MatmulConfig& c, const MatmulShapeParams& p) {
    c.singleCoreM = p.singleCoreM; c.singleCoreN = p.singleCoreN; c.singleCoreK = p.singleCoreK;
    c.basicM = p.basicM; c.basicN = p.basicN; c.basicK = p.basicK;
}
constexpr void matmul_take(MatmulConfig& c, const MatmulQuantParams& p) { c.isPerTensor = p.isPerTensor; c.hasAntiQuantOffset = p.hasAntiQuantOffset; }
constexpr void matmul_take(MatmulConfig& c, const MatmulBatchParams& p) {
    c.isNBatch = p.isNBatch; c.batchMode = p.batchMode; c.isBiasBatch = p.isBiasBatch; c.bmmOutMode = p.bmmOutMode;
}
constexpr void matmul_take(MatmulConfig& c, const MatmulBiasParams& p) { c.enableSetBias = p.enableSetBias; }
constexpr void matmul_take(MatmulConfig& c, const MatmulFuncParams& p) {
    c.intrinsicsCheck = p.intrinsicsCheck; c.enVecND2NZ = p.enVecND2NZ; c.enableDoubleCache = p.enableDoubleCache; c.enableL1CacheUB = p.enableL1CacheUB;
    c.doMTE2Preload = p.doMTE2Preload; c.iterateOrder = p.iterateOrder; c.scheduleType = p.scheduleType; c.enableReuse = p.enableReuse; c.enableUBReuse = p.enableUBReuse;
    c.isPartialOutput = p.isPartialOutput; c.isA2B2Shared = p.isA2B2Shared; c.isEnableChannelSplit = p.isEnableChannelSplit; c.enableKdimReorderLoad = p.enableKdimReorderLoad;
}
}  // namespace twin

// ---- GetMMConfig
// A mode, changed by any of the ...Params structs.
// limits: constexpr; each struct at most once
template <MatmulConfigMode mode, typename... P>
constexpr MatmulConfig GetMMConfig(P&&... params) {
    MatmulConfig c = mode == MatmulConfigMode::CONFIG_NORM ? GetNormalConfig() : mode == MatmulConfigMode::CONFIG_MDL ? GetMDLConfig()
                   : mode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig() : GetIBShareNormConfig();
    (::twin::matmul_take(c, params), ...);
    return c;
}

// ---- MatmulApiStaticTiling
// A tiling known at compile time: the fields of TCubeTiling, -1 where the one of the host counts.
// limits: made by GetMatmulApiTiling; a constexpr object in the place of the config
struct MatmulApiStaticTiling {
    int32_t usedCoreNum = -1, M = -1, N = -1, Ka = -1, Kb = -1, singleCoreM = -1, singleCoreN = -1, singleCoreK = -1, baseM = -1, baseN = -1, baseK = -1, depthA1 = -1, depthB1 = -1, stepM = -1, stepN = -1,
            isBias = -1, transLength = -1, iterateOrder = -1, shareMode = -1, shareL1Size = -1, shareL0CSize = -1, shareUbSize = -1, stepKa = -1, stepKb = -1, depthAL1CacheUB = -1, depthBL1CacheUB = -1,
            dbL0A = -1, dbL0B = -1, dbL0C = -1, ALayoutInfoB = -1, ALayoutInfoS = -1, ALayoutInfoN = -1, ALayoutInfoG = -1, ALayoutInfoD = -1, BLayoutInfoB = -1, BLayoutInfoS = -1, BLayoutInfoN = -1,
            BLayoutInfoG = -1, BLayoutInfoD = -1, CLayoutInfoB = -1, CLayoutInfoS1 = -1, CLayoutInfoN = -1, CLayoutInfoG = -1, CLayoutInfoS2 = -1, BatchNum = -1;
    MatmulConfig cfg = CFG_NORM;
};

namespace AscendC {
using ::BatchMode;
using ::CFG_IBSHARE_NORM;
using ::CFG_MDL;
using ::CFG_NORM;
using ::GetBasicConfig;
using ::GetIBShareNormConfig;
using ::GetMDLConfig;
using ::GetMMConfig;
using ::GetNormalConfig;
using ::GetSpecialBasicConfig;
using ::GetSpecialMDLConfig;
using ::IterateMode;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulApiStaticTiling;
using ::MatmulBatchParams;
using ::MatmulBiasParams;
using ::MatmulConfig;
using ::MatmulConfigMode;
using ::MatmulFuncParams;
using ::MatmulQuantParams;
using ::MatmulShapeParams;
using ::MM_CFG_BB;
using ::ScheduleType;

// ---- MatmulType
// One operand: where it lies, in which layout, its element type, and whether it may be given transposed.
// limits: A and B: GM, VECOUT, TSCM in ND or NZ; C: GM, VECIN, CO1; bias: GM, VECOUT
template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
    constexpr static TPosition pos = POSITION, srcPos = SRCPOS;
    constexpr static CubeFormat format = FORMAT;
    using T = TYPE;
    constexpr static bool isTrans = ISTRANS, ibShare = IBSHARE;
    constexpr static LayoutMode layout = LAYOUT;
};

// ---- GetMatmulApiTiling
// The constants of a config as a tiling: with base and single-core shape given, nothing of them is read at run time.
// limits: constexpr; what the config leaves open comes from the tiling of the host
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t /*l1Size*/ = 524288) {
    MatmulApiStaticTiling t;
    t.cfg = mmCFG;
    auto take = [](int32_t& to, uint32_t v) { if (v) to = static_cast<int32_t>(v); };
    take(t.baseM, mmCFG.basicM);
    take(t.baseN, mmCFG.basicN);
    take(t.baseK, mmCFG.basicK);
    take(t.singleCoreM, mmCFG.singleCoreM);
    take(t.singleCoreN, mmCFG.singleCoreN);
    take(t.singleCoreK, mmCFG.singleCoreK);
    t.isBias = mmCFG.enableSetBias;
    return t;
}

}  // namespace AscendC
