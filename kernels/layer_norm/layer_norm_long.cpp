// layer_norm, long rows: a row that does not fit UB, cut into tiles and loaded twice.
// What changed: the first pass finds mean and variance tile by tile, the second one loads the row again and normalises it.
// Why: mean(x * x) - mean(x)^2 over the whole row would need one pass less in UB, but no digit is left when the mean is large.
//      Each tile has its own mean and sum of squared distances; two such pairs are joined without loss (Welford, Chan).
// Timeline: loads of pass 1 wait for the scalar unit once a tile; pass 2 streams. MTE2 moves the row twice.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct LayerNormTilingData {
    uint32_t rows;
    uint32_t length;   // elements of a row
    uint32_t tile;     // elements moved at once: a multiple of 64
    float eps;
};

template <typename T>
class KernelLayerNorm {
public:
    __aicore__ inline KernelLayerNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, const LayerNormTilingData& tiling, TPipe* pipe)
    {
        rows = tiling.rows;
        length = tiling.length;
        tile = tiling.tile;
        eps = tiling.eps;
        xGm.SetGlobalBuffer((__gm__ T*)x, static_cast<uint64_t>(rows) * length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        betaGm.SetGlobalBuffer((__gm__ T*)beta, length);
        yGm.SetGlobalBuffer((__gm__ T*)y, static_cast<uint64_t>(rows) * length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(gammaQueue, 1, tile * sizeof(T));
        pipe->InitBuffer(betaQueue, 1, tile * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(workBuf, tile * sizeof(float));
        pipe->InitBuffer(sumBuf, 32);
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(wideBuf, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            uint64_t first = static_cast<uint64_t>(row) * length;
            Statistics(first);
            for (uint32_t start = 0; start < length; start += tile) {
                uint32_t count = length - start < tile ? length - start : tile;
                CopyIn(inQueue, xGm[first + start], count);
                CopyIn(gammaQueue, gammaGm[start], count);
                CopyIn(betaQueue, betaGm[start], count);
                Compute(count);
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

    // Float stays where it is, other types are converted into buf.
    __aicore__ inline LocalTensor<float> ToFloat(const LocalTensor<T>& local, TBuf<TPosition::VECCALC>& buf, uint32_t count)
    {
        if constexpr (sizeof(T) == 4) {
            return local;
        } else {
            LocalTensor<float> wide = buf.template Get<float>();
            Cast(wide, local, RoundMode::CAST_NONE, count);
            return wide;
        }
    }

    // The scalar unit converts signed integers only.
    __aicore__ inline float Number(uint32_t n) const
    {
        return static_cast<float>(static_cast<int32_t>(n));
    }

    // Sum of `count` values, which are used up: halves are added until 64 elements are left.
    __aicore__ inline float Sum(const LocalTensor<float>& values, uint32_t count)
    {
        uint32_t parts = (count + LANES - 1) / LANES;
        if (count < parts * LANES) {   // what follows the last value must not count
            uint64_t mask[2] = {~0ULL << (LANES - (parts * LANES - count)), 0};
            Duplicate(values[(parts - 1) * LANES], 0.0f, mask, 1, 1, 8);
        }
        for (; parts > 1; parts -= parts / 2) {
            Add(values, values, values[(parts - parts / 2) * LANES], parts / 2 * LANES);
        }
        LocalTensor<float> sum = sumBuf.Get<float>();
        WholeReduceSum(sum, values, LANES, 1, 1, 1, 8);
        return sum.GetValue(0);
    }

    // Pass 1: mean of the row, and 1 / sqrt(variance + eps).
    __aicore__ inline void Statistics(uint64_t first)
    {
        LocalTensor<float> work = workBuf.Get<float>();
        float squares = 0;
        mean = 0;
        for (uint32_t start = 0; start < length; start += tile) {
            uint32_t count = length - start < tile ? length - start : tile;
            CopyIn(inQueue, xGm[first + start], count);
            LocalTensor<T> xLocal = inQueue.template DeQue<T>();
            LocalTensor<float> wide = ToFloat(xLocal, wideBuf, count);
            Muls(work, wide, 1.0f, count);
            float tileMean = Sum(work, count) / Number(count);
            Adds(work, wide, -tileMean, count);
            inQueue.FreeTensor(xLocal);
            Mul(work, work, work, count);
            // Join the tile with all tiles before it.
            float part = Number(count) / Number(start + count), step = tileMean - mean;
            squares += Sum(work, count) + step * step * Number(start) * part;
            mean += step * part;
        }
        LocalTensor<float> sum = sumBuf.Get<float>();
        Duplicate(sum, squares / Number(length) + eps, 8);
        Sqrt(sum, sum, 8);
        scale = 1.0f / sum.GetValue(0);
    }

    // Pass 2.
    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), gammaLocal = gammaQueue.template DeQue<T>(), betaLocal = betaQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> wide = ToFloat(xLocal, wideBuf, count);
        Adds(wide, wide, -mean, count);
        Muls(wide, wide, scale, count);
        Mul(wide, wide, ToFloat(gammaLocal, workBuf, count), count);
        if constexpr (sizeof(T) == 4) {
            Add(yLocal, wide, betaLocal, count);
        } else {
            Add(wide, wide, ToFloat(betaLocal, workBuf, count), count);
            Cast(yLocal, wide, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
        gammaQueue.FreeTensor(gammaLocal);
        betaQueue.FreeTensor(betaLocal);
    }

    __aicore__ inline void CopyOut(uint64_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue, gammaQueue, betaQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, workBuf, sumBuf;
    GlobalTensor<T> xGm, gammaGm, betaGm, yGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t tile = 0;
    float eps = 0;
    float mean = 0;
    float scale = 0;
};

extern "C" __global__ __aicore__ void layer_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<half> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void layer_norm_bf16(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<bfloat16_t> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void layer_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<float> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}
