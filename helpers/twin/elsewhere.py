"""Names of public kernels that Atlas A2 does not have: whose they are, and what to write instead.

The coverage counts them apart, and the compiler message of a kernel that uses one says so by name. A name that a header of
the twin declares is never looked up here.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

OTHER_CHIPS, COMMUNICATION, LIBRARY, OWN = "other chips", "communication", "inside the library", "kernels' own"
GROUPS = (OTHER_CHIPS, COMMUNICATION, LIBRARY, OWN)


@dataclass(frozen=True)
class Elsewhere:
    group: str
    why: str                 # "is …", after the name
    instead: str             # a sentence

# (group, why, what to do on Atlas A2, names, enumerations whose enumerators are meant)
_REGISTERS = "belongs to the register-level API of Ascend 950"
_ROWS = (
    (OTHER_CHIPS, _REGISTERS, "Atlas A2 computes on LocalTensor in UB: Add(dst, src0, src1, count) and its like in the API table.",
     "RegTensor AddrReg RegTrait RegLayout CastTrait PostLiteral LoadDist StoreDist MemType UnalignReg UnalignRegForLoad UnalignRegForStore HighLowPart SpecialPurposeReg GetSpr ClearSpr "
     "__VEC_SCOPE__ asc_vf_call plt_b32 MicroAPI Reg VECTOR_REG __simd_vf__ DataCopyMode",
     "RegLayout PostLiteral LoadDist StoreDist MemType HighLowPart DataCopyMode GatherMaskMode"),
    (OTHER_CHIPS, _REGISTERS, "The mask of Atlas A2 is a register set by SetVectorMask, or the mask argument of a call.", "MaskReg MaskMergeMode MaskPattern MaskDist CreateMask UpdateMask", "MaskMergeMode MaskPattern MaskDist"),
    (OTHER_CHIPS, _REGISTERS, "PipeBarrier<PIPE_V>() orders the vector instructions of Atlas A2.", "LocalMemBar mem_bar", ""),
    (OTHER_CHIPS, _REGISTERS, "Cast(dst, src, RoundMode, count) converts on Atlas A2; its integer results saturate.", "SatMode Pack UnPack Unpack", "SatMode"),
    (OTHER_CHIPS, _REGISTERS, "GatherMask keeps chosen elements of a tensor.", "Squeeze Unsqueeze", ""),
    (OTHER_CHIPS, _REGISTERS, "Copy or DataCopy moves inside UB.", "Move", ""),
    (OTHER_CHIPS, _REGISTERS, "Use MulAddDst(dst, src0, src1, count), or FusedMulAdd.", "MulDstAdd", ""),
    (OTHER_CHIPS, _REGISTERS, "Use Sub, then Exp.", "FusedExpSub", ""),
    (OTHER_CHIPS, _REGISTERS, "Use ShiftLeft(dst, src, scalar, count) or ShiftRight.", "ShiftLefts ShiftRights", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Count with Compare, Select and ReduceSum.", "Histograms HistogramsType HistogramsBinType", "HistogramsType HistogramsBinType"),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use SetAtomicAdd<T>() around a DataCopy to GM: Atlas A2 has atomics on stores only, without a return value.", "AtomicAdd AtomicExch AtomicCas AtomicMax AtomicMin", ""),
    (OTHER_CHIPS, "belongs to the thread programs (SIMT) of Ascend 950", "Divide with / on the scalar unit.", "GetUintDivMagicAndShift UintDiv", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use DataCopy with Nd2NzParams or DataCopyPad with strides, once per outer dimension.",
     "NdDmaConfig NdDmaParams NdDmaLoopInfo NdDmaDci MultiCopyParams MultiCopyConfig MultiCopyLoopInfo LoopModeParams SetLoopModePara ResetLoopModePara DataCopyMVType Dn2NzParams Load2DBitModeParam Load3DBitModeParam",
     "DataCopyMVType"),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use SetFlag and WaitFlag, or a queue.", "AllocMutexID ReleaseMutexID Mutex", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use Sort32 with MrgSort, Sort, or TopK without a config.", "SortConfig SortType TopKConfig TopKAlgo TopKOrder IndexOrder", "SortType TopKAlgo TopKOrder IndexOrder"),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use Div without a config.", "DivConfig DivSpecificMode DivAlgo", "DivAlgo DivSpecificMode"),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use AscendQuant, AscendDequant or AscendAntiQuant with a scale tensor.", "QuantizePolicy AscendDeQuantPolicy AscendQuantPolicy PER_TOKEN PER_GROUP PER_CHANNEL PER_TENSOR",
     "QuantizePolicy AscendDeQuantPolicy AscendQuantPolicy"),
    (OTHER_CHIPS, "is a number format of Ascend 950", "Atlas A2 computes in half, bfloat16_t, float and integers.",
     "float8_e4m3_t float8_e5m2_t float8_e8m0_t hifloat8_t fp8_e4m3fn_t fp8_e5m2_t fp8_e8m0_t fp4x2_e2m1_t fp4x2_e1m2_t complex32 complex64 DT_COMPLEX32", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use Fixpipe with FixpipeParamsV220.", "FixpipeParamsArch3510 FixpipeParamsC310 ReluMode", "ReluMode"),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use LoadData with LoadData3DParamsV2 and its own strides.", "LoadDataWithStride SetLoadDataRepeatWithStride LoadDataRepeatParamWithStride", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Use Mmad with half, bfloat16_t, float or int8_t and LoadData with LoadData2DParams.", "LoadData2DMxParams MatrixMadType", "MatrixMadType"),
    (OTHER_CHIPS, "belongs to the tensor API of later chips", "Use LocalTensor and GlobalTensor with operator[], and DataCopy parameters for the strides.", "MakeTensor MakeMemPtr MakeFrameLayout MakeCoord Coord Slice", ""),
    (OTHER_CHIPS, "belongs to the first Ascend chips, whose vector and cube core are one", "Use Fixpipe for results of the cube unit, Mmad with a bias for added rows.", "BroadCastVecToMM Conv2D", ""),
    (OTHER_CHIPS, "belongs to Ascend 950", "Leave the argument out.", "ScopeType TraceId", "ScopeType TraceId"),
    (COMMUNICATION, "belongs to the communication library between devices (HCCL)", "The twin is one device: keep kernels with communication for the hardware.",
     "Hccl GetHcclContext HcclHandle HcclDataType HcclReduceOp HcclServerType", "HcclServerType HcclDataType HcclReduceOp MC2_BUFFER_LOCATION CcuRepType"),
    (LIBRARY, "belongs to the convolution templates of the vendor's library", "The twin has no convolution: its core is a Matmul over Img2Col rows.",
     "ConvFormat ConvType ConvParam ConvDataType ConvL0PingPong ConvBL1ByPass ConvConfig ConvBpContext Conv3dConfig GroupConvType NoGroup_Conv GroupConv_Weight_Gfz SetOrgWeightShape SetSingleOutputShape SetWeight "
     "SetInput SetPadding B2Condition TShapeType CONV_DECLARE_REG_IMPL CONV_REG_IMPL CONV_CHECK_FUN CONV_CHECK_FUN_TEMPLATE ContextData HF32Mode",
     "ConvFormat ConvL0PingPong ConvBL1ByPass GroupConvType B2Condition TShapeType HF32Mode"),
    (LIBRARY, "is part of the inside of the vendor's library", "Kernels use Matmul, LocalTensor and the calls of the API table.",
     "TBuffAddr Impl ImplDataType TypeGet MATMUL_MODULE MATMUL_USE_MODULE MATMUL_USE_MODULE_ON DECLARE_IMPL DECLARE_SYNC_IMPL DECLARE_CHECK_IMPL DECLARE_CHECK_SYNC_IMPL DECLARE_DEFAULT_OVERLOADING_FUN "
     "DEFINE_STUCT_FIELD DEFINE_STUCT_TEMPLATE_FIELD CHECK_FUN ASSERT_MSG ENABLE_DETERMINISTIC MatmulPolicy CopyND2NZOnTheFly GetDstType L0A_OPEN L0B_OPEN Address Ext PRELOAD IsSame Format Config Local", "CoreType tag_debug_exception"),
    (OWN, "is a name that kernels declare themselves", "Declare it before this line.",
     "Kernel Mode OpType ContextType SrcAT SrcBT WeightT OutputT InputT ScaleT TYPE local TensorShape quant_pre End .SetAddr", ""),
)
_FAMILIES = (
    (re.compile(r"^(DIST_|VL\d+$|RegTensor|MaskReg)"), 0),
    (re.compile(r"^(DT_(FLOAT|HIFLOAT)\d|fp\d|float[48]_|hifloat)"), next(i for i, r in enumerate(_ROWS) if r[1].startswith("is a number format"))),
    (re.compile(r"^(Hccl|HCCL_|MC2_)"), next(i for i, r in enumerate(_ROWS) if r[0] == COMMUNICATION)),
    (re.compile(r"^(NdDma|MultiCopy)"), next(i for i, r in enumerate(_ROWS) if "NdDmaConfig" in r[3])),
)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Elsewhere]:
    return {word: Elsewhere(*row[:3]) for row in _ROWS for word in row[3].split()}


@lru_cache(maxsize=1)
def _by_enumeration() -> dict[str, Elsewhere]:
    return {word: Elsewhere(*row[:3]) for row in _ROWS for word in row[4].split()}


def find(name: str, kind: str = "") -> Elsewhere | None:
    """Where a name belongs, None for names nothing is known about. kind: "enumerator:RegLayout" for a value of an enumeration."""
    if kind.startswith("enumerator:"):
        found = _by_enumeration().get(kind.partition(":")[2])
        if found:
            return found
    found = _by_name().get(name)
    if found:
        return found
    return next((Elsewhere(*_ROWS[row][:3]) for pattern, row in _FAMILIES if pattern.search(name)), None)


def for_message(name: str, kind: str = "") -> Elsewhere | None:
    """As find, but only what a message can say for sure: not the names that anybody may give to something of their own."""
    found = find(name, kind)
    return found if found and found.group in (OTHER_CHIPS, COMMUNICATION) else None
