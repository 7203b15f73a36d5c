// add, v5: the inputs bypass the L2 cache.
// What changed: SetL2CacheHint(CACHE_MODE_DISABLE) on x and y.
// Why: x and y are read once. Kept out of L2 they leave it to z, which then does not have to go to HBM.
// Timeline: as v4, but loads and stores no longer share HBM: two thirds of the bytes, two thirds of the time.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 16384;   // elements: 32,768 B of half

struct AddTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddTiling& tiling, TPipe* pipe)
    {
        uint32_t first = GetBlockIdx() * tiling.share;
        if (first >= tiling.length) {
            return;   // more blocks than shares: nothing to do here
        }
        length = tiling.length - first < tiling.share ? tiling.length - first : tiling.share;
        xGm.SetGlobalBuffer((__gm__ half*)x + first, length);
        yGm.SetGlobalBuffer((__gm__ half*)y + first, length);
        zGm.SetGlobalBuffer((__gm__ half*)z + first, length);
        xGm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        yGm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        pipe->InitBuffer(inQueueX, BUFFER_NUM, TILE * sizeof(half));
        pipe->InitBuffer(inQueueY, BUFFER_NUM, TILE * sizeof(half));
        pipe->InitBuffer(outQueueZ, BUFFER_NUM, TILE * sizeof(half));
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
        LocalTensor<half> xLocal = inQueueX.AllocTensor<half>();
        LocalTensor<half> yLocal = inQueueY.AllocTensor<half>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
        DataCopyPadExtParams<half> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        DataCopyPad(yLocal, yGm[start], params, padding);
        inQueueX.EnQue(xLocal);
        inQueueY.EnQue(yLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<half> xLocal = inQueueX.DeQue<half>();
        LocalTensor<half> yLocal = inQueueY.DeQue<half>();
        LocalTensor<half> zLocal = outQueueZ.AllocTensor<half>();
        Add(zLocal, xLocal, yLocal, count);
        outQueueZ.EnQue(zLocal);
        inQueueX.FreeTensor(xLocal);
        inQueueY.FreeTensor(yLocal);
    }

    __aicore__ inline void CopyOut(uint32_t start, uint32_t count)
    {
        LocalTensor<half> zLocal = outQueueZ.DeQue<half>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
        DataCopyPad(zGm[start], zLocal, params);
        outQueueZ.FreeTensor(zLocal);
    }

    TQue<TPosition::VECIN, 1> inQueueX, inQueueY;
    TQue<TPosition::VECOUT, 1> outQueueZ;
    GlobalTensor<half> xGm, yGm, zGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling)
{
    TPipe pipe;
    KernelAdd op;
    op.Init(x, y, z, tiling, &pipe);
    op.Process();
}
