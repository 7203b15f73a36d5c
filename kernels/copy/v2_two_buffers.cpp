// copy, v2: two buffers.
// What changed: BUFFER_NUM = 2, nothing else. The depth of the queue stays 1.
// Why: with two buffers the load of tile i+1 and the store of tile i use different bytes of UB and may overlap.
// Timeline: MTE2 has no holes. The loads, which are slower than the stores, set the time.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct CopyTiling {
    uint32_t length;   // elements in all: a multiple of tile
    uint32_t tile;     // elements moved at once: a multiple of 8, which is 32 B
};

class KernelCopy {
public:
    __aicore__ inline KernelCopy() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const CopyTiling& tiling, TPipe* pipe)
    {
        tile = tiling.tile;
        tileNum = tiling.length / tile;
        xGm.SetGlobalBuffer((__gm__ float*)x, tiling.length);
        yGm.SetGlobalBuffer((__gm__ float*)y, tiling.length);
        pipe->InitBuffer(queue, BUFFER_NUM, tile * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        for (uint32_t i = GetBlockIdx(); i < tileNum; i += GetBlockNum()) {
            CopyIn(i);
            CopyOut(i);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t i)
    {
        LocalTensor<float> local = queue.AllocTensor<float>();
        DataCopy(local, xGm[i * tile], tile);
        queue.EnQue(local);
    }

    __aicore__ inline void CopyOut(uint32_t i)
    {
        LocalTensor<float> local = queue.DeQue<float>();
        DataCopy(yGm[i * tile], local, tile);
        queue.FreeTensor(local);
    }

    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<float> xGm, yGm;
    uint32_t tile = 0;
    uint32_t tileNum = 0;
};

extern "C" __global__ __aicore__ void copy_custom(GM_ADDR x, GM_ADDR y, CopyTiling tiling)
{
    TPipe pipe;
    KernelCopy op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
