// softmax, v1: one row at a time.
// What: y = exp(x - max) / sum of exp(x - max), in float inside; the blocks take rows in uneven parts.
// Why: without the maximum exp(12) is inf in half and exp(89) in float. With it the largest exponent is 0.
// Timeline: V is busy three quarters of the time. ReduceMax and ReduceSum pay a long start for every row, and S waits for both.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct SoftmaxTiling {
    uint32_t rowsPerBlock;
    uint32_t extraBlocks;   // this many blocks have one row more
    uint32_t length;        // elements of a row
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
        uint32_t bytes = (length * sizeof(T) + 31) / 32 * 32;
        xGm.SetGlobalBuffer((__gm__ T*)x + first * length, rows * length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * length, rows * length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, bytes);
        pipe->InitBuffer(outQueue, BUFFER_NUM, bytes);
        pipe->InitBuffer(wideBuf, (length * sizeof(float) + 31) / 32 * 32);
        pipe->InitBuffer(workBuf, length / 64 * 8 + 96);   // ReduceMax: two numbers for each 64 elements
        pipe->InitBuffer(resultBuf, 32);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = 0; row < rows; row++) {
            CopyIn(row);
            Compute();
            CopyOut(row);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t row)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute()
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> wide = wideBuf.Get<float>(), work = workBuf.Get<float>(), result = resultBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            Muls(wide, xLocal, 1.0f, length);
        } else {
            Cast(wide, xLocal, RoundMode::CAST_NONE, length);
        }
        ReduceMax(result, wide, work, length);
        Adds(wide, wide, -result.GetValue(0), length);
        Exp(wide, wide, length);
        ReduceSum(result, wide, work, length);
        float scale = 1.0f / result.GetValue(0);
        if constexpr (sizeof(T) == 4) {
            Muls(yLocal, wide, scale, length);
        } else {
            Muls(wide, wide, scale, length);
            Cast(yLocal, wide, RoundMode::CAST_RINT, length);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[row * length], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, workBuf, resultBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t rows = 0;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void softmax_half(GM_ADDR x, GM_ADDR y, SoftmaxTiling tiling)
{
    TPipe pipe;
    KernelSoftmax<half> op;
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
