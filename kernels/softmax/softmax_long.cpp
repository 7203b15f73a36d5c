// softmax, long rows: a row that does not fit UB, in two passes.
// What changed: a row is cut into tiles. Pass 1 keeps a maximum and a sum that are right for the part seen so far; pass 2
//      loads the row again and writes exp(x - max) / sum.
// Why: a larger maximum in a later tile makes the earlier sum too large by exp(new - old), and one product repairs it.
// Timeline: loads of pass 1, then loads and stores of pass 2. V sets the pace; S waits for one number of every tile in pass 1.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr float MINUS_INF = -__builtin_inff();
constexpr float LOWEST = -3.4028235e38f;              // of all finite float

struct SoftmaxTiling {
    uint32_t rows;
    uint32_t length;   // elements of a row
    uint32_t tile;     // elements moved at once: a multiple of 64
};

template <typename T>
class KernelSoftmax {
public:
    __aicore__ inline KernelSoftmax() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SoftmaxTiling& tiling, TPipe* pipe)
    {
        rows = tiling.rows;
        length = tiling.length;
        tile = tiling.tile;
        xGm.SetGlobalBuffer((__gm__ T*)x, static_cast<uint64_t>(rows) * length);
        yGm.SetGlobalBuffer((__gm__ T*)y, static_cast<uint64_t>(rows) * length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(wideBuf, tile * sizeof(float));
        pipe->InitBuffer(foldBuf, tile * sizeof(float));
        pipe->InitBuffer(maxBuf, 32);
        pipe->InitBuffer(sumBuf, 32);
        pipe->InitBuffer(newBuf, 32);
        pipe->InitBuffer(repairBuf, 32);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            uint64_t first = static_cast<uint64_t>(row) * length;
            MaxAndSum(first);
            float scale = 1.0f / sumBuf.Get<float>().GetValue(0), shift = -maxBuf.Get<float>().GetValue(0);
            for (uint32_t start = 0; start < length; start += tile) {
                uint32_t count = length - start < tile ? length - start : tile;
                CopyIn(first + start, count);
                Compute(shift, scale, count);
                CopyOut(first + start, count);
            }
        }
    }

private:
    __aicore__ inline void CopyIn(uint64_t start, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void ToFloat(const LocalTensor<float>& wide, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        if constexpr (sizeof(T) == 4) {
            Muls(wide, xLocal, 1.0f, count);
        } else {
            Cast(wide, xLocal, RoundMode::CAST_NONE, count);
        }
        inQueue.FreeTensor(xLocal);
    }

    // The first element of `result` becomes the maximum, or the sum, of fold[0 .. whole). fold is used up.
    template <bool isMax>
    __aicore__ inline void Reduce(const LocalTensor<float>& result, const LocalTensor<float>& fold, uint32_t whole)
    {
        for (uint32_t left = whole / LANES; left > 1; left -= left / 2) {
            LocalTensor<float> second = fold[(left - left / 2) * LANES];
            if constexpr (isMax) {
                Max(fold, fold, second, left / 2 * LANES);
            } else {
                Add(fold, fold, second, left / 2 * LANES);
            }
        }
        if constexpr (isMax) {
            WholeReduceMax(result, fold, LANES, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            WholeReduceSum(result, fold, LANES, 1, 1, 1, 8);
        }
    }

    __aicore__ inline void MaxAndSum(uint64_t first)
    {
        LocalTensor<float> wide = wideBuf.Get<float>(), fold = foldBuf.Get<float>();
        LocalTensor<float> max = maxBuf.Get<float>(), sum = sumBuf.Get<float>(), found = newBuf.Get<float>(), repair = repairBuf.Get<float>();
        Duplicate(max, LOWEST, 8);   // finite: -inf - (-inf) would be NaN
        Duplicate(sum, 0.0f, 8);
        for (uint32_t start = 0; start < length; start += tile) {
            uint32_t count = length - start < tile ? length - start : tile, whole = (count + LANES - 1) / LANES * LANES;
            CopyIn(first + start, count);
            ToFloat(wide, count);
            if (count < whole) {
                uint64_t mask[2] = {~0ULL << (LANES - (whole - count)), 0};
                Duplicate(wide[whole - LANES], MINUS_INF, mask, 1, 1, 8);
            }
            Muls(fold, wide, 1.0f, whole);
            Reduce<true>(found, fold, whole);
            Max(found, found, max, 1);
            Sub(repair, max, found, 1);
            Exp(repair, repair, 1);
            Mul(sum, sum, repair, 1);
            Muls(max, found, 1.0f, 1);
            Adds(fold, wide, -found.GetValue(0), whole);
            Exp(fold, fold, whole);
            Reduce<false>(found, fold, whole);
            Add(sum, sum, found, 1);
        }
    }

    __aicore__ inline void Compute(float shift, float scale, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> wide = wideBuf.Get<float>();
        ToFloat(wide, count);
        Adds(wide, wide, shift, count);
        Exp(wide, wide, count);
        if constexpr (sizeof(T) == 4) {
            Muls(yLocal, wide, scale, count);
        } else {
            Muls(wide, wide, scale, count);
            Cast(yLocal, wide, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
    }

    __aicore__ inline void CopyOut(uint64_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, foldBuf, maxBuf, sumBuf, newBuf, repairBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t tile = 0;
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
