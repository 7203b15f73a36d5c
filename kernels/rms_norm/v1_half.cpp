// rms_norm, v1: everything in half, row by row, one core.
// What: y = x / sqrt(mean(x * x) + eps) * gamma, one row per tile. Squares, their sum and eps are half, like x and y.
// Why: "half in, half out" seems to ask for it. A square above 65,504 or a small eps shows why it is wrong.
// Timeline: load, V and store take turns. V works half of the time: seven short calls pay their start again for every row.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 1;

struct RmsNormTilingData {
    uint32_t rows;
    uint32_t length;   // elements of a row
    float eps;
};

class KernelRmsNorm {
public:
    __aicore__ inline KernelRmsNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, const RmsNormTilingData& tiling, TPipe* pipe)
    {
        rows = tiling.rows;
        length = tiling.length;
        eps = tiling.eps;
        uint32_t bytes = (length * sizeof(half) + 31) / 32 * 32;
        xGm.SetGlobalBuffer((__gm__ half*)x, rows * length);
        gammaGm.SetGlobalBuffer((__gm__ half*)gamma, length);
        yGm.SetGlobalBuffer((__gm__ half*)y, rows * length);
        pipe->InitBuffer(gammaQueue, 1, bytes);
        pipe->InitBuffer(inQueue, BUFFER_NUM, bytes);
        pipe->InitBuffer(outQueue, BUFFER_NUM, bytes);
        pipe->InitBuffer(squareBuf, bytes);
        pipe->InitBuffer(workBuf, (length / 128 * sizeof(half) + 63) / 32 * 32);   // one partial sum for each 128 elements
        pipe->InitBuffer(sumBuf, 32);
    }

    __aicore__ inline void Process()
    {
        CopyInGamma();
        gammaLocal = gammaQueue.DeQue<half>();
        for (uint32_t row = 0; row < rows; row++) {
            CopyIn(row);
            Compute();
            CopyOut(row);
        }
        gammaQueue.FreeTensor(gammaLocal);
    }

private:
    __aicore__ inline void CopyInGamma()
    {
        LocalTensor<half> local = gammaQueue.AllocTensor<half>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPadExtParams<half> padding{false, 0, 0, 0};
        DataCopyPad(local, gammaGm, params, padding);
        gammaQueue.EnQue(local);
    }

    __aicore__ inline void CopyIn(uint32_t row)
    {
        LocalTensor<half> xLocal = inQueue.AllocTensor<half>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPadExtParams<half> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute()
    {
        LocalTensor<half> xLocal = inQueue.DeQue<half>();
        LocalTensor<half> yLocal = outQueue.AllocTensor<half>();
        LocalTensor<half> square = squareBuf.Get<half>(), work = workBuf.Get<half>(), sum = sumBuf.Get<half>();
        Mul(square, xLocal, xLocal, length);
        ReduceSum(sum, square, work, length);
        Muls(sum, sum, static_cast<half>(1.0f / length), 1);
        Adds(sum, sum, static_cast<half>(eps), 1);
        Sqrt(sum, sum, 1);
        float scale = 1.0f / static_cast<float>(sum.GetValue(0));
        Muls(yLocal, xLocal, static_cast<half>(scale), length);
        Mul(yLocal, yLocal, gammaLocal, length);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row)
    {
        LocalTensor<half> yLocal = outQueue.DeQue<half>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(half)), 0, 0, 0};
        DataCopyPad(yGm[row * length], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> gammaQueue, inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> squareBuf, workBuf, sumBuf;
    GlobalTensor<half> xGm, gammaGm, yGm;
    LocalTensor<half> gammaLocal;
    uint32_t rows = 0;
    uint32_t length = 0;
    float eps = 0;
};

extern "C" __global__ __aicore__ void rms_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}
