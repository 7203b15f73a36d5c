// rms_norm, long rows: a row that does not fit UB, in two passes.
// What changed: a row is cut into tiles. The first pass adds up squares, the second one loads the row again and scales it.
// Why: the factor of a row is known only after its last element. Loading twice costs 3 tensors instead of 2, and any length works.
//      A running mean and variance (Welford) would not help: there is no mean to subtract, and the second pass stays.
// Timeline: loads of pass 1, then loads and stores of pass 2, row after row. MTE2 is the busiest pipe.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct RmsNormTilingData {
    uint32_t rows;
    uint32_t length;   // elements of a row
    uint32_t tile;     // elements moved at once: a multiple of 64
    float eps;
};

template <typename T>
class KernelRmsNorm {
public:
    __aicore__ inline KernelRmsNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, const RmsNormTilingData& tiling, TPipe* pipe)
    {
        rows = tiling.rows;
        length = tiling.length;
        tile = tiling.tile;
        eps = tiling.eps;
        xGm.SetGlobalBuffer((__gm__ T*)x, static_cast<uint64_t>(rows) * length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        yGm.SetGlobalBuffer((__gm__ T*)y, static_cast<uint64_t>(rows) * length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(gammaQueue, 1, tile * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(squareBuf, tile * sizeof(float));    // in pass 2: gamma as float
        pipe->InitBuffer(totalBuf, tile * sizeof(float));     // in pass 2: x as float
        pipe->InitBuffer(sumBuf, 32);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            uint64_t first = static_cast<uint64_t>(row) * length;
            float scale = Scale(first);
            for (uint32_t start = 0; start < length; start += tile) {
                uint32_t count = length - start < tile ? length - start : tile;
                CopyIn(inQueue, xGm[first + start], count);
                CopyIn(gammaQueue, gammaGm[start], count);
                Compute(scale, count);
                CopyOut(first + start, count);
            }
        }
    }

private:
    __aicore__ inline void CopyIn(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& from, uint32_t count)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, from, params, padding);
        queue.EnQue(local);
    }

    // Pass 1: 1 / sqrt(mean of squares + eps). Element i of `total` collects the squares of elements i, i + tile, i + 2 tile, ...
    __aicore__ inline float Scale(uint64_t first)
    {
        LocalTensor<float> square = squareBuf.Get<float>(), total = totalBuf.Get<float>(), sum = sumBuf.Get<float>();
        Duplicate(total, 0.0f, tile);
        for (uint32_t start = 0; start < length; start += tile) {
            uint32_t count = length - start < tile ? length - start : tile;
            CopyIn(inQueue, xGm[first + start], count);
            LocalTensor<T> xLocal = inQueue.template DeQue<T>();
            if constexpr (sizeof(T) == 4) {
                Mul(square, xLocal, xLocal, count);
            } else {
                Cast(square, xLocal, RoundMode::CAST_NONE, count);
                Mul(square, square, square, count);
            }
            inQueue.FreeTensor(xLocal);
            Add(total, total, square, count);
        }
        for (uint32_t parts = tile / LANES; parts > 1; parts -= parts / 2) {
            Add(total, total, total[(parts - parts / 2) * LANES], parts / 2 * LANES);
        }
        WholeReduceSum(sum, total, LANES, 1, 1, 1, 8);
        Muls(sum, sum, 1.0f / length, 1);
        Adds(sum, sum, eps, 1);
        Sqrt(sum, sum, 1);
        return 1.0f / sum.GetValue(0);
    }

    __aicore__ inline void Compute(float scale, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), gammaLocal = gammaQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        if constexpr (sizeof(T) == 4) {
            Muls(yLocal, xLocal, scale, count);
            Mul(yLocal, yLocal, gammaLocal, count);
        } else {
            LocalTensor<float> wide = totalBuf.Get<float>(), gammaWide = squareBuf.Get<float>();
            Cast(wide, xLocal, RoundMode::CAST_NONE, count);
            Cast(gammaWide, gammaLocal, RoundMode::CAST_NONE, count);
            Muls(wide, wide, scale, count);
            Mul(wide, wide, gammaWide, count);
            Cast(yLocal, wide, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
        gammaQueue.FreeTensor(gammaLocal);
    }

    __aicore__ inline void CopyOut(uint64_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue, gammaQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> squareBuf, totalBuf, sumBuf;
    GlobalTensor<T> xGm, gammaGm, yGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t tile = 0;
    float eps = 0;
};

extern "C" __global__ __aicore__ void rms_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm<half> op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rms_norm_bf16(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm<bfloat16_t> op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rms_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm<float> op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}
