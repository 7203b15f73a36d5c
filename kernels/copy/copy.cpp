// copy, finished: any length, any number of blocks, half, bfloat16 and float.
// What changed: DataCopyPad in both directions with the length in bytes, and a short last tile.
// Why: DataCopy moves whole units of 32 B and drops the rest. Of 1003 half it moves 992.
// Timeline: as v2 (two buffers); only the last tile of the last block is shorter.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct CopyTiling {
    uint32_t length;   // elements in all
    uint32_t tile;     // elements moved at once: a multiple of 32 B
};

template <typename T>
class KernelCopy {
public:
    __aicore__ inline KernelCopy() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const CopyTiling& tiling, TPipe* pipe)
    {
        length = tiling.length;
        tile = tiling.tile;
        xGm.SetGlobalBuffer((__gm__ T*)x, length);
        yGm.SetGlobalBuffer((__gm__ T*)y, length);
        pipe->InitBuffer(queue, BUFFER_NUM, tile * sizeof(T));
    }

    __aicore__ inline void Process()
    {
        // Block b takes the tiles b, b + blocks, b + 2 * blocks, ... : no two blocks write the same bytes.
        uint32_t tileNum = (length + tile - 1) / tile;
        for (uint32_t i = GetBlockIdx(); i < tileNum; i += GetBlockNum()) {
            uint32_t start = i * tile;
            uint32_t count = length - start < tile ? length - start : tile;
            CopyIn(start, count);
            CopyOut(start, count);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t start, uint32_t count)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, xGm[start], params, padding);
        queue.EnQue(local);
    }

    __aicore__ inline void CopyOut(uint32_t start, uint32_t count)
    {
        LocalTensor<T> local = queue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], local, params);
        queue.FreeTensor(local);
    }

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<T> xGm, yGm;
    uint32_t length = 0;
    uint32_t tile = 0;
};

extern "C" __global__ __aicore__ void copy_half(GM_ADDR x, GM_ADDR y, CopyTiling tiling)
{
    TPipe pipe;
    KernelCopy<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void copy_bf16(GM_ADDR x, GM_ADDR y, CopyTiling tiling)
{
    TPipe pipe;
    KernelCopy<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void copy_float(GM_ADDR x, GM_ADDR y, CopyTiling tiling)
{
    TPipe pipe;
    KernelCopy<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
