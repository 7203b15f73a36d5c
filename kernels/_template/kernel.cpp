// softsign: y = x / (1 + |x|) for each element. Put your own operator here.
// What: Abs, Adds, Div on tiles of TILE elements, in float inside; half and bfloat16 are converted on the way in and out.
// Why: the frame is that of every element-wise kernel: a share for each block, a tail of any length, nothing beyond the end.
// Timeline: MTE2 loads the next tile while V works on this one, because each queue has two buffers.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 4096;   // elements moved at once

struct KernelTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements of one block: a multiple of 256, so that every block starts on a line of 512 B
};

template <typename T>
class KernelMine {
public:
    __aicore__ inline KernelMine() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const KernelTiling& tiling, TPipe* pipe)
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
        pipe->InitBuffer(wideBuf, TILE * sizeof(float));
        pipe->InitBuffer(sizeBuf, TILE * sizeof(float));
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
        DataCopyPad(xLocal, xGm[start], params, {false, 0, 0, 0});
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> wide = wideBuf.Get<float>(), size = sizeBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            wide = xLocal;
        } else {
            Cast(wide, xLocal, RoundMode::CAST_NONE, count);
        }
        Abs(size, wide, count);
        Adds(size, size, 1.0f, count);
        if constexpr (sizeof(T) == 4) {
            Div(yLocal, wide, size, count);
        } else {
            Div(wide, wide, size, count);
            Cast(yLocal, wide, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
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
    TBuf<TPosition::VECCALC> wideBuf, sizeBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void mine_half(GM_ADDR x, GM_ADDR y, KernelTiling tiling)
{
    TPipe pipe;
    KernelMine<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void mine_bf16(GM_ADDR x, GM_ADDR y, KernelTiling tiling)
{
    TPipe pipe;
    KernelMine<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void mine_float(GM_ADDR x, GM_ADDR y, KernelTiling tiling)
{
    TPipe pipe;
    KernelMine<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
