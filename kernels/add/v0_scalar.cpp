// add, v0: a loop over elements on one core.
// What: z[i] = x[i] + y[i] with GetValue and SetValue, as a program for an ordinary processor would do it.
// Why: it is the yardstick. Tiles, queues and the tail are already as in every later version.
// Timeline: the scalar unit (S) is busy nearly all the time, V is empty. About 34 cycles for each element.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 1;
constexpr uint32_t TILE = 4096;   // elements: 8,192 B of half

struct AddTiling {
    uint32_t length;   // elements in all
};

class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, const AddTiling& tiling, TPipe* pipe)
    {
        length = tiling.length;
        xGm.SetGlobalBuffer((__gm__ half*)x, length);
        yGm.SetGlobalBuffer((__gm__ half*)y, length);
        zGm.SetGlobalBuffer((__gm__ half*)z, length);
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
        for (uint32_t i = 0; i < count; i++) {
            float sum = static_cast<float>(xLocal.GetValue(i)) + static_cast<float>(yLocal.GetValue(i));
            zLocal.SetValue(i, static_cast<half>(sum));
        }
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
