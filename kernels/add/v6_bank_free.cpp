// add, v6: x and y in different banks of UB.
// What changed: tiles of 16,256 elements, and 256 B between the buffers of x and those of y.
// Why: in v5 x and y start in the same group of banks, and every repeat of Add waits for the second read. Three queues
//      x 2 x 32,512 B leave 1,536 B of UB: room for the shift of 256 B, which puts y half a bank row away from x.
// Timeline: V takes half as long. The kernel does not get faster: V was not what it waited for.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 16256;   // elements: 32,512 B of half, 127 repeats of Add

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
        pipe->InitBuffer(shift, 256);
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
    TBuf<TPosition::VECCALC> shift;   // moves inQueueY by half a bank row; holds no data
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
