// softmax, with a mask: elements whose mask byte is not 0 take no part.
// What changed: masked places become -inf before the maximum. A fully masked row gives zeros: that is our rule, stated here.
// Why: -inf - (-inf) is NaN. Two Maxs, on one number per row, keep the maximum finite and the sum above 0.
// Timeline: as v2, with a third copy of one byte per element, and Cast, CompareScalar and Select in V.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr float MINUS_INF = -__builtin_inff();
constexpr float LOWEST = -3.4028235e38f;              // of all finite float
constexpr float TINY = 1.1754944e-38f;

struct SoftmaxTiling {
    uint32_t rowsPerBlock;
    uint32_t extraBlocks;   // this many blocks have one row more
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows moved at once: at most 255
};

template <typename T>
class KernelMaskedSoftmax {
public:
    __aicore__ inline KernelMaskedSoftmax() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR mask, GM_ADDR y, const SoftmaxTiling& tiling, TPipe* pipe)
    {
        uint32_t block = GetBlockIdx(), before = block < tiling.extraBlocks ? block : tiling.extraBlocks;
        uint64_t first = static_cast<uint64_t>(block) * tiling.rowsPerBlock + before;
        rows = tiling.rowsPerBlock + (block < tiling.extraBlocks ? 1 : 0);
        length = tiling.length;
        tileRows = tiling.tileRows;
        pitch = (length + LANES - 1) / LANES * LANES;   // in UB a row starts every `pitch` elements
        parts = pitch / LANES;
        foldPitch = (parts - parts / 2) * LANES;        // what is left of a row after the first fold
        xGm.SetGlobalBuffer((__gm__ T*)x + first * length, rows * length);
        maskGm.SetGlobalBuffer((__gm__ uint8_t*)mask + first * length, rows * length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * length, rows * length);
        uint32_t groups = (tileRows + 7) / 8;
        pipe->InitBuffer(inQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        uint32_t lanes = (tileRows * pitch + 127) / 128 * 128;   // CompareScalar works on whole repeats of 128 half
        pipe->InitBuffer(maskQueue, BUFFER_NUM, lanes);
        pipe->InitBuffer(maskBuf, lanes * sizeof(half));
        pipe->InitBuffer(bitsBuf, (lanes / 8 + 31) / 32 * 32);
        pipe->InitBuffer(outQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(wideBuf, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(foldBuf, tileRows * foldPitch * sizeof(float));
        pipe->InitBuffer(resultBuf, groups * 32);
        pipe->InitBuffer(oneBuf, groups * 32);
        pipe->InitBuffer(spreadBuf, groups * 256);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = 0; row < rows; row += tileRows) {
            uint32_t count = rows - row < tileRows ? rows - row : tileRows;
            CopyIn(row, count);
            Compute(count);
            CopyOut(row, count);
        }
    }

private:
    // Blocks of 32 B between the end of a row and the start of the next one in UB.
    __aicore__ inline uint32_t Gap() const
    {
        return pitch * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
    }

    __aicore__ inline void CopyIn(uint32_t row, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), 0, Gap(), 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        inQueue.EnQue(xLocal);
        LocalTensor<uint8_t> maskLocal = maskQueue.AllocTensor<uint8_t>();
        DataCopyExtParams bytes{static_cast<uint16_t>(count), length, 0, pitch / 32 - (length + 31) / 32, 0};
        DataCopyPadExtParams<uint8_t> none{false, 0, 0, 0};
        DataCopyPad(maskLocal, maskGm[row * length], bytes, none);
        maskQueue.EnQue(maskLocal);
    }

    // -inf where the mask is not 0. Compare packs eight answers into a byte; Select reads them as such.
    __aicore__ inline void Hide(const LocalTensor<float>& wide, uint32_t count)
    {
        LocalTensor<uint8_t> maskLocal = maskQueue.DeQue<uint8_t>(), bits = bitsBuf.Get<uint8_t>();
        LocalTensor<half> numbers = maskBuf.Get<half>();
        Cast(numbers, maskLocal, RoundMode::CAST_NONE, count * pitch);
        CompareScalar(bits, numbers, static_cast<half>(0), CMPMODE::EQ, (count * pitch + 127) / 128 * 128);
        Select(wide, bits, wide, MINUS_INF, SELMODE::VSEL_TENSOR_SCALAR_MODE, count * pitch);
        maskQueue.FreeTensor(maskLocal);
    }

    // The places between the end of a row and the start of the next one.
    __aicore__ inline void FillPads(const LocalTensor<float>& wide, float value, uint32_t count)
    {
        if (length < pitch) {
            uint64_t mask[2] = {~0ULL << (LANES - (pitch - length)), 0};
            for (uint32_t r = 0; r < count; r++) {
                Duplicate(wide[r * pitch + pitch - LANES], value, mask, 1, 1, 8);
            }
        }
    }

    template <bool isMax>
    __aicore__ inline void Join(const LocalTensor<float>& to, const LocalTensor<float>& a, const LocalTensor<float>& b, uint32_t number)
    {
        if constexpr (isMax) {
            Max(to, a, b, number);
        } else {
            Add(to, a, b, number);
        }
    }

    // spread = maximum, or 1 / sum, of each row of wide: 8 copies, one block of 32 B, for each row. wide keeps its contents.
    template <bool isMax>
    __aicore__ inline void Reduce(const LocalTensor<float>& spread, const LocalTensor<float>& wide, uint32_t count)
    {
        LocalTensor<float> fold = foldBuf.Get<float>(), result = resultBuf.Get<float>(), one = oneBuf.Get<float>();
        uint32_t pairs = parts / 2, keep = parts - pairs;
        for (uint32_t r = 0; r < count; r++) {
            if (pairs > 0) {
                Join<isMax>(fold[r * foldPitch], wide[r * pitch], wide[r * pitch + keep * LANES], pairs * LANES);
            }
            if (keep > pairs) {   // an odd number of parts: the middle one has no partner
                Muls(fold[r * foldPitch + pairs * LANES], wide[r * pitch + pairs * LANES], 1.0f, LANES);
            }
        }
        for (uint32_t left = keep; left > 1; left -= left / 2) {
            for (uint32_t r = 0; r < count; r++) {
                Join<isMax>(fold[r * foldPitch], fold[r * foldPitch], fold[r * foldPitch + (left - left / 2) * LANES], left / 2 * LANES);
            }
        }
        if constexpr (isMax) {
            WholeReduceMax(result, fold, LANES, count, 1, 1, foldPitch / 8, ReduceOrder::ORDER_ONLY_VALUE);
            Maxs(result, result, LOWEST, count);   // a fully masked row: -inf - (-inf) would be NaN
        } else {
            WholeReduceSum(result, fold, LANES, count, 1, 1, foldPitch / 8);
            Maxs(result, result, TINY, count);     // and its sum is 0: 0 / 0 would be NaN
            Duplicate(one, 1.0f, count);
            Div(result, one, result, count);
        }
        Brcb(spread, result, (count + 7) / 8, {1, 8});
    }

    // The rows of y before they are rounded: y itself when it is float.
    __aicore__ inline LocalTensor<float> Unrounded(const LocalTensor<T>& yLocal, const LocalTensor<float>& wide)
    {
        if constexpr (sizeof(T) == 4) {
            return yLocal;
        } else {
            return wide;
        }
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> wide = wideBuf.Get<float>(), spread = spreadBuf.Get<float>(), scaled = Unrounded(yLocal, wide);
        if constexpr (sizeof(T) == 4) {
            Muls(wide, xLocal, 1.0f, count * pitch);
        } else {
            Cast(wide, xLocal, RoundMode::CAST_NONE, count * pitch);
        }
        inQueue.FreeTensor(xLocal);
        Hide(wide, count);
        FillPads(wide, MINUS_INF, count);
        Reduce<true>(spread, wide, count);
        for (uint32_t r = 0; r < count; r++) {   // block stride 0: all 64 lanes read the same block
            Sub(wide[r * pitch], wide[r * pitch], spread[r * 8], LANES, parts, {1, 1, 0, 8, 8, 0});
        }
        Exp(wide, wide, count * pitch);
        Reduce<false>(spread, wide, count);
        for (uint32_t r = 0; r < count; r++) {
            Mul(scaled[r * pitch], wide[r * pitch], spread[r * 8], LANES, parts, {1, 1, 0, 8, 8, 0});
        }
        if constexpr (sizeof(T) == 2) {
            Cast(yLocal, scaled, RoundMode::CAST_RINT, count * pitch);
        }
        outQueue.EnQue(yLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), Gap(), 0, 0};
        DataCopyPad(yGm[row * length], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue, maskQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, foldBuf, maskBuf, bitsBuf, resultBuf, oneBuf, spreadBuf;
    GlobalTensor<T> xGm, yGm;
    GlobalTensor<uint8_t> maskGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t pitch = 0;
    uint32_t parts = 0;
    uint32_t foldPitch = 0;
    uint32_t tileRows = 0;
};

extern "C" __global__ __aicore__ void masked_softmax_half(GM_ADDR x, GM_ADDR mask, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelMaskedSoftmax<half> op;
    op.Init(x, mask, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void masked_softmax_bf16(GM_ADDR x, GM_ADDR mask, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelMaskedSoftmax<bfloat16_t> op;
    op.Init(x, mask, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void masked_softmax_float(GM_ADDR x, GM_ADDR mask, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelMaskedSoftmax<float> op;
    op.Init(x, mask, y, tiling, &pipe);
    op.Process();
}
