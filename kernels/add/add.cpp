// add, finished: any length, any number of blocks, half, bfloat16 and float.
// What changed: the type is a parameter, and a tile has 8,192 elements: six of float are the 196,608 B of UB, to the last byte.
// Why: the vector unit has no sum of bfloat16. Its tiles are half as long in bytes, so two of float fit beside them.
// Timeline: as v4: MTE2 sets the pace.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 8192;   // elements

struct AddTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelAdd {
    static constexpr bool VIA_FLOAT = std::is_same_v<T, bfloat16_t>;

public:
    __aicore__ inline KernelAdd() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddTiling& tiling, TPipe* pipe)
    {
        uint32_t first = GetBlockIdx() * tiling.share;
        if (first >= tiling.length) {
            return;   // more blocks than shares: nothing to do here
        }
        length = tiling.length - first < tiling.share ? tiling.length - first : tiling.share;
        xGm.SetGlobalBuffer((__gm__ T*)x + first, length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first, length);
        zGm.SetGlobalBuffer((__gm__ T*)z + first, length);
        pipe->InitBuffer(inQueueX, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(inQueueY, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(outQueueZ, BUFFER_NUM, TILE * sizeof(T));
        if constexpr (VIA_FLOAT) {
            pipe->InitBuffer(xBuf, TILE * sizeof(float));
            pipe->InitBuffer(yBuf, TILE * sizeof(float));
        }
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
        LocalTensor<T> xLocal = inQueueX.template AllocTensor<T>();
        LocalTensor<T> yLocal = inQueueY.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        DataCopyPad(yLocal, yGm[start], params, padding);
        inQueueX.EnQue(xLocal);
        inQueueY.EnQue(yLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueueX.template DeQue<T>();
        LocalTensor<T> yLocal = inQueueY.template DeQue<T>();
        LocalTensor<T> zLocal = outQueueZ.template AllocTensor<T>();
        if constexpr (VIA_FLOAT) {
            LocalTensor<float> x = xBuf.Get<float>(), y = yBuf.Get<float>();
            Cast(x, xLocal, RoundMode::CAST_NONE, count);
            Cast(y, yLocal, RoundMode::CAST_NONE, count);
            Add(x, x, y, count);
            Cast(zLocal, x, RoundMode::CAST_RINT, count);
        } else {
            Add(zLocal, xLocal, yLocal, count);
        }
        outQueueZ.EnQue(zLocal);
        inQueueX.FreeTensor(xLocal);
        inQueueY.FreeTensor(yLocal);
    }

    __aicore__ inline void CopyOut(uint32_t start, uint32_t count)
    {
        LocalTensor<T> zLocal = outQueueZ.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(zGm[start], zLocal, params);
        outQueueZ.FreeTensor(zLocal);
    }

    TQue<TPosition::VECIN, 1> inQueueX, inQueueY;
    TQue<TPosition::VECOUT, 1> outQueueZ;
    TBuf<TPosition::VECCALC> xBuf, yBuf;
    GlobalTensor<T> xGm, yGm, zGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void add_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling)
{
    TPipe pipe;
    KernelAdd<half> op;
    op.Init(x, y, z, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void add_bf16(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling)
{
    TPipe pipe;
    KernelAdd<bfloat16_t> op;
    op.Init(x, y, z, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void add_float(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling)
{
    TPipe pipe;
    KernelAdd<float> op;
    op.Init(x, y, z, tiling, &pipe);
    op.Process();
}
