// swiglu, v1, first of two kernels: y = silu(x) = x / (1 + exp(-x)). The second one is a product (v1_mul.cpp).
// What: float inside. For very negative x exp is inf, and x / inf is the right limit, -0.
// Why: it is the yardstick. The result goes to GM, only to be loaded again by the second kernel.
// Timeline: V sets the pace. Eleven cycles of V for 64 elements are more than the bytes of one tensor need.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 8192;   // elements

struct SwigluTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelSilu {
public:
    __aicore__ inline KernelSilu() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SwigluTiling& tiling, TPipe* pipe)
    {
        uint32_t first = GetBlockIdx() * tiling.share;
        if (first >= tiling.length) {
            return;   // more blocks than shares: nothing to do here
        }
        length = tiling.length - first < tiling.share ? tiling.length - first : tiling.share;
        xGm.SetGlobalBuffer((__gm__ T*)x + first, length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first, length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(xBuf, TILE * sizeof(float));
        pipe->InitBuffer(expBuf, TILE * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        for (uint32_t start = 0; start < length; start += TILE) {
            uint32_t count = length - start < TILE ? length - start : TILE;
            CopyIn(start, count);
            Compute(count);
            CopyOut(start, count);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t start, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> x = xBuf.Get<float>(), power = expBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            Muls(x, xLocal, 1.0f, count);
        } else {
            Cast(x, xLocal, RoundMode::CAST_NONE, count);
        }
        inQueue.FreeTensor(xLocal);
        Muls(power, x, -1.0f, count);
        Exp(power, power, count);
        Adds(power, power, 1.0f, count);
        if constexpr (sizeof(T) == 4) {
            Div(yLocal, x, power, count);
        } else {
            Div(x, x, power, count);
            Cast(yLocal, x, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
    }

    __aicore__ inline void CopyOut(uint32_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> xBuf, expBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void silu_half(GM_ADDR x, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSilu<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void silu_bf16(GM_ADDR x, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSilu<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void silu_float(GM_ADDR x, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSilu<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
