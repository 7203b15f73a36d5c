// softmax, v2: several rows per call.
// What changed: one call works on all rows of a tile. Halves of each row are compared (or added) until 64 elements are left;
//      one WholeReduceMax (or Sum) finishes all rows. Places behind the end of a row hold -inf: no maximum, and exp gives 0.
// Why: the start of a call is paid once for all rows of a tile, and S does not wait for any number.
// Timeline: V has no holes, and needs less than half of the cycles of v1. It still sets the pace.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr float MINUS_INF = -__builtin_inff();

struct SoftmaxTiling {
    uint32_t rowsPerBlock;
    uint32_t extraBlocks;   // this many blocks have one row more
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows moved at once: at most 255
};

template <typename T>
class KernelSoftmax {
public:
    __aicore__ inline KernelSoftmax() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SoftmaxTiling& tiling, TPipe* pipe)
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
        yGm.SetGlobalBuffer((__gm__ T*)y + first * length, rows * length);
        uint32_t groups = (tileRows + 7) / 8;
        pipe->InitBuffer(inQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
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
        } else {
            WholeReduceSum(result, fold, LANES, count, 1, 1, foldPitch / 8);
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

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, foldBuf, resultBuf, oneBuf, spreadBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t pitch = 0;
    uint32_t parts = 0;
    uint32_t foldPitch = 0;
    uint32_t tileRows = 0;
};

extern "C" __global__ __aicore__ void softmax_half(GM_ADDR x, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelSoftmax<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void softmax_bf16(GM_ADDR x, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelSoftmax<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void softmax_float(GM_ADDR x, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelSoftmax<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
