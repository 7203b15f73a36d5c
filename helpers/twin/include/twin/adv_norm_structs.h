// Tiling structs of the normalisations, as host and kernel share them: plain fields, and set_/get_ for the host.
// The results depend on the shape fields only; the others are filled as a hint of how the device would loop.
#pragma once
#include "twin/tiling.h"

// ---- RmsNormTiling
// What RmsNorm reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(RmsNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength) TILING_DATA_FIELD_DEF(uint32_t, sLength) TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength) TILING_DATA_FIELD_DEF(float, reciprocalOfHLength) TILING_DATA_FIELD_DEF(uint32_t, mainBshLength)
    TILING_DATA_FIELD_DEF(uint32_t, mainBsLength) TILING_DATA_FIELD_DEF(uint32_t, mainBsLengthAlign) TILING_DATA_FIELD_DEF(uint32_t, loopRound)
    TILING_DATA_FIELD_DEF(uint32_t, inputTailPos) TILING_DATA_FIELD_DEF(uint32_t, tailBshLength) TILING_DATA_FIELD_DEF(uint32_t, tailBsLength)
END_TILING_DATA_DEF;

// ---- LayerNormTiling
// What LayerNorm over B, S, H reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(LayerNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength) TILING_DATA_FIELD_DEF(uint32_t, sLength) TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength) TILING_DATA_FIELD_DEF(uint32_t, inputXSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarSize)
    TILING_DATA_FIELD_DEF(uint32_t, numberOfTmpBuf) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorSize)
    TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorSize) TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize)
    TILING_DATA_FIELD_DEF(uint32_t, oneTmpSize) TILING_DATA_FIELD_DEF(uint32_t, firstTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, secondTmpStartPos)
    TILING_DATA_FIELD_DEF(uint32_t, thirdTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, inputTailSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailPos) TILING_DATA_FIELD_DEF(uint32_t, meanVarRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarTailSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarTailPos) TILING_DATA_FIELD_DEF(uint32_t, bshCurLength)
    TILING_DATA_FIELD_DEF(uint32_t, bsCurLength) TILING_DATA_FIELD_DEF(float, lastDimValueBack)
END_TILING_DATA_DEF;

// ---- DeepNormTiling
// What DeepNorm reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(DeepNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, bLength) TILING_DATA_FIELD_DEF(uint32_t, sLength) TILING_DATA_FIELD_DEF(uint32_t, hLength)
    TILING_DATA_FIELD_DEF(uint32_t, originalHLength) TILING_DATA_FIELD_DEF(uint32_t, inputXSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarSize)
    TILING_DATA_FIELD_DEF(uint32_t, numberOfTmpBuf) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorSize)
    TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorSize) TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize)
    TILING_DATA_FIELD_DEF(uint32_t, oneTmpSize) TILING_DATA_FIELD_DEF(uint32_t, firstTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, secondTmpStartPos)
    TILING_DATA_FIELD_DEF(uint32_t, thirdTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, inputTailSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailPos) TILING_DATA_FIELD_DEF(uint32_t, meanVarRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarTailSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarTailPos) TILING_DATA_FIELD_DEF(uint32_t, bshCurLength)
    TILING_DATA_FIELD_DEF(uint32_t, bsCurLength) TILING_DATA_FIELD_DEF(float, lastDimValueBack)
END_TILING_DATA_DEF;

// ---- LayerNormSeparateTiling
// What LayerNorm over A, R reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(LayerNormSeparateTiling)
    TILING_DATA_FIELD_DEF(uint32_t, aLength) TILING_DATA_FIELD_DEF(uint32_t, rLength) TILING_DATA_FIELD_DEF(uint32_t, halfAddRepeatTimes)
    TILING_DATA_FIELD_DEF(uint32_t, rHeadLength) TILING_DATA_FIELD_DEF(float, k2Rec) TILING_DATA_FIELD_DEF(float, k2RRec)
    TILING_DATA_FIELD_DEF(uint32_t, inputXSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarSize) TILING_DATA_FIELD_DEF(uint32_t, numberOfTmpBuf)
    TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorSize) TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize)
    TILING_DATA_FIELD_DEF(uint32_t, oneTmpSize) TILING_DATA_FIELD_DEF(uint32_t, firstTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, secondTmpStartPos)
    TILING_DATA_FIELD_DEF(uint32_t, thirdTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, inputTailSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailPos) TILING_DATA_FIELD_DEF(uint32_t, meanVarRoundSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarTailSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarTailPos) TILING_DATA_FIELD_DEF(uint32_t, arCurLength)
    TILING_DATA_FIELD_DEF(uint32_t, aCurLength) TILING_DATA_FIELD_DEF(float, rValueBack)
END_TILING_DATA_DEF;

// ---- LayerNormGradTiling
// What LayerNormGrad reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(LayerNormGradTiling)
    TILING_DATA_FIELD_DEF(uint32_t, stackBufferSize) TILING_DATA_FIELD_DEF(uint32_t, bLength) TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength) TILING_DATA_FIELD_DEF(uint32_t, originalHLength) TILING_DATA_FIELD_DEF(uint32_t, oneCalSize)
    TILING_DATA_FIELD_DEF(uint32_t, nohCalSize) TILING_DATA_FIELD_DEF(uint32_t, loopNum) TILING_DATA_FIELD_DEF(uint32_t, tailSize)
    TILING_DATA_FIELD_DEF(uint32_t, nohTailSize) TILING_DATA_FIELD_DEF(uint32_t, tmpTensorBSHPos) TILING_DATA_FIELD_DEF(uint32_t, tmpTensorBSHSize)
    TILING_DATA_FIELD_DEF(uint32_t, pdVarTensorPos) TILING_DATA_FIELD_DEF(uint32_t, pdVarTensorSize) TILING_DATA_FIELD_DEF(uint32_t, pdMeanTensorPos)
    TILING_DATA_FIELD_DEF(uint32_t, pdMeanTensorSize) TILING_DATA_FIELD_DEF(uint32_t, x1TensorPos) TILING_DATA_FIELD_DEF(uint32_t, x1TensorSize)
    TILING_DATA_FIELD_DEF(uint32_t, x2TensorPos) TILING_DATA_FIELD_DEF(uint32_t, x2TensorSize) TILING_DATA_FIELD_DEF(uint32_t, x3TensorPos)
    TILING_DATA_FIELD_DEF(uint32_t, x3TensorSize) TILING_DATA_FIELD_DEF(uint32_t, tmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, tmpTensorSize)
    TILING_DATA_FIELD_DEF(uint32_t, tmpTensor1Pos) TILING_DATA_FIELD_DEF(uint32_t, tmpTensor1Size) TILING_DATA_FIELD_DEF(uint32_t, tmpTensor2Pos)
    TILING_DATA_FIELD_DEF(uint32_t, tmpTensor2Size) TILING_DATA_FIELD_DEF(uint32_t, lastDimValueBack) TILING_DATA_FIELD_DEF(uint32_t, lastDimValueBackMulTwo)
END_TILING_DATA_DEF;

// ---- LayerNormGradBetaTiling
// What LayerNormGradBeta reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(LayerNormGradBetaTiling)
    TILING_DATA_FIELD_DEF(uint32_t, stackBufferSize) TILING_DATA_FIELD_DEF(uint32_t, bLength) TILING_DATA_FIELD_DEF(uint32_t, sLength)
    TILING_DATA_FIELD_DEF(uint32_t, hLength) TILING_DATA_FIELD_DEF(uint32_t, originalHLength) TILING_DATA_FIELD_DEF(uint32_t, bshLength)
    TILING_DATA_FIELD_DEF(uint32_t, bsLength) TILING_DATA_FIELD_DEF(uint32_t, oneCalSize) TILING_DATA_FIELD_DEF(uint32_t, numberOfTmpBuf)
    TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputTailSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailPos)
    TILING_DATA_FIELD_DEF(uint32_t, bsTailSize) TILING_DATA_FIELD_DEF(uint32_t, bshCurLength) TILING_DATA_FIELD_DEF(uint32_t, bsCurLength)
    TILING_DATA_FIELD_DEF(uint32_t, gammaTempTensorPos) TILING_DATA_FIELD_DEF(uint32_t, betaTempTensorPos) TILING_DATA_FIELD_DEF(uint32_t, inputDyTmpTensorPos)
    TILING_DATA_FIELD_DEF(uint32_t, resForGammaTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, reserved)
END_TILING_DATA_DEF;

// ---- BatchNormTiling
// What BatchNorm reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(BatchNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, originalBLength) TILING_DATA_FIELD_DEF(uint32_t, meanVarSize) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorPos)
    TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize) TILING_DATA_FIELD_DEF(uint32_t, oneTmpSize)
    TILING_DATA_FIELD_DEF(uint32_t, firstTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, secondTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, thirdTmpStartPos)
    TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputTailSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailPos)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarTailSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarTailPos) TILING_DATA_FIELD_DEF(uint32_t, bshCurLength)
    TILING_DATA_FIELD_DEF(uint32_t, shCurLength) TILING_DATA_FIELD_DEF(float, firstDimValueBack) TILING_DATA_FIELD_DEF(uint32_t, castHalfRepStride)
    TILING_DATA_FIELD_DEF(uint32_t, shCurLengthBlockNum) TILING_DATA_FIELD_DEF(uint32_t, castHalfOutRepStride)
END_TILING_DATA_DEF;

// ---- GroupNormTiling
// What GroupNorm reads of its shapes and its workspace.
BEGIN_TILING_DATA_DEF(GroupNormTiling)
    TILING_DATA_FIELD_DEF(uint32_t, n) TILING_DATA_FIELD_DEF(uint32_t, c) TILING_DATA_FIELD_DEF(uint32_t, hw) TILING_DATA_FIELD_DEF(uint32_t, g)
    TILING_DATA_FIELD_DEF(uint32_t, d) TILING_DATA_FIELD_DEF(uint32_t, hwAlignSize) TILING_DATA_FIELD_DEF(uint32_t, dhwAlignSize)
    TILING_DATA_FIELD_DEF(uint32_t, inputXSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarSize) TILING_DATA_FIELD_DEF(uint32_t, numberOfTmpBuf)
    TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorPos) TILING_DATA_FIELD_DEF(uint32_t, meanTmpTensorSize) TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorPos)
    TILING_DATA_FIELD_DEF(uint32_t, varianceTmpTensorSize) TILING_DATA_FIELD_DEF(uint32_t, tmpBufSize) TILING_DATA_FIELD_DEF(uint32_t, oneTmpSize)
    TILING_DATA_FIELD_DEF(uint32_t, firstTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, secondTmpStartPos) TILING_DATA_FIELD_DEF(uint32_t, thirdTmpStartPos)
    TILING_DATA_FIELD_DEF(uint32_t, loopRound) TILING_DATA_FIELD_DEF(uint32_t, inputRoundSize) TILING_DATA_FIELD_DEF(uint32_t, inputTailSize)
    TILING_DATA_FIELD_DEF(uint32_t, inputTailPos) TILING_DATA_FIELD_DEF(uint32_t, meanVarRoundSize) TILING_DATA_FIELD_DEF(uint32_t, meanVarTailSize)
    TILING_DATA_FIELD_DEF(uint32_t, meanVarTailPos) TILING_DATA_FIELD_DEF(uint32_t, bshCurLength) TILING_DATA_FIELD_DEF(uint32_t, bsCurLength)
    TILING_DATA_FIELD_DEF(float, factor) TILING_DATA_FIELD_DEF(bool, smallShape)
END_TILING_DATA_DEF;

namespace AscendC { namespace tiling {
using ::RmsNormTiling;
using ::LayerNormTiling;
using ::DeepNormTiling;
using ::LayerNormSeparateTiling;
using ::LayerNormGradTiling;
using ::LayerNormGradBetaTiling;
using ::BatchNormTiling;
using ::GroupNormTiling;
} }
namespace optiling {
using ::RmsNormTiling;
using ::LayerNormTiling;
using ::DeepNormTiling;
using ::LayerNormSeparateTiling;
using ::LayerNormGradTiling;
using ::LayerNormGradBetaTiling;
using ::BatchNormTiling;
using ::GroupNormTiling;
}
