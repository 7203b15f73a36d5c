// softmax, v3: the library's SoftMax, one call for a tile.
// What changed: SoftMax does all rows of a tile, with a tiling struct and a workspace from the host. Tiles, not rows, are dealt out:
//      block b takes the tiles b, b + blocks, ... The shape is an argument, so the last, shorter tile needs no tiling of its own.
// Why: maximum, difference, exp, sum and division are what everybody needs. The library writes them once, pads included.
// Timeline: V is one bar per tile, and tiles are short: the first store starts early.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct SoftmaxTiling {
    uint32_t rows;
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows of a tile
    uint32_t tmpBytes;      // workspace of SoftMax
    SoftMaxTiling whole;    // of a tile of tileRows rows
};

template <typename T>
class KernelSoftmax {
public:
    __aicore__ inline KernelSoftmax() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SoftmaxTiling& data, TPipe* pipe)
    {
        tiling = data;
        pitch = (tiling.length * sizeof(T) + 31) / 32 * 32 / sizeof(T);   // in UB a row starts on a data block
        xGm.SetGlobalBuffer((__gm__ T*)x, static_cast<uint64_t>(tiling.rows) * tiling.length);
        yGm.SetGlobalBuffer((__gm__ T*)y, static_cast<uint64_t>(tiling.rows) * tiling.length);
        pipe->InitBuffer(inQueue, BUFFER_NUM, tiling.tileRows * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tiling.tileRows * pitch * sizeof(T));
        pipe->InitBuffer(tmpBuf, tiling.tmpBytes);
    }

    __aicore__ inline void Process()
    {
        uint32_t tiles = (tiling.rows + tiling.tileRows - 1) / tiling.tileRows;
        for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            uint32_t left = tiling.rows - tile * tiling.tileRows, count = left < tiling.tileRows ? left : tiling.tileRows;
            uint64_t start = static_cast<uint64_t>(tile) * tiling.tileRows * tiling.length;
            CopyIn(start, count);
            Compute(count);
            CopyOut(start, count);
        }
    }

private:
    __aicore__ inline void CopyIn(uint64_t start, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(tiling.length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<uint8_t> tmp = tmpBuf.Get<uint8_t>();
        SoftMaxShapeInfo shape{count, pitch, count, tiling.length};   // rows and columns in UB, and how many of them are data
        SoftMax<T>(yLocal, xLocal, tmp, tiling.whole, shape);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint64_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(tiling.length * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> tmpBuf;
    GlobalTensor<T> xGm, yGm;
    SoftmaxTiling tiling;
    uint32_t pitch = 0;
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
