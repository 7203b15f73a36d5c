// swiglu, v1, second of two kernels: y = gate * up. Here gate is silu(gate), which the first kernel has stored.
// What: a plain product, rounded once. The vector unit has no product of bfloat16: it takes the way through float.
// Why: it is the yardstick. Its two loads and one store make five tensors with those of the first kernel.
// Timeline: as add: MTE2 sets the pace.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 8192;   // elements

struct SwigluTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelMul {
    static constexpr bool VIA_FLOAT = std::is_same_v<T, bfloat16_t>;

public:
    __aicore__ inline KernelMul() {}

    __aicore__ inline void Init(GM_ADDR gate, GM_ADDR up, GM_ADDR y, const SwigluTiling& tiling, TPipe* pipe)
    {
        uint32_t first = GetBlockIdx() * tiling.share;
        if (first >= tiling.length) {
            return;   // more blocks than shares: nothing to do here
        }
        length = tiling.length - first < tiling.share ? tiling.length - first : tiling.share;
        gateGm.SetGlobalBuffer((__gm__ T*)gate + first, length);
        upGm.SetGlobalBuffer((__gm__ T*)up + first, length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first, length);
        pipe->InitBuffer(gateQueue, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(upQueue, BUFFER_NUM, TILE * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, TILE * sizeof(T));
        if constexpr (VIA_FLOAT) {
            pipe->InitBuffer(gateBuf, TILE * sizeof(float));
            pipe->InitBuffer(upBuf, TILE * sizeof(float));
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
        LocalTensor<T> gateLocal = gateQueue.template AllocTensor<T>(), upLocal = upQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(gateLocal, gateGm[start], params, padding);
        DataCopyPad(upLocal, upGm[start], params, padding);
        gateQueue.EnQue(gateLocal);
        upQueue.EnQue(upLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> gateLocal = gateQueue.template DeQue<T>(), upLocal = upQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        if constexpr (VIA_FLOAT) {
            LocalTensor<float> gate = gateBuf.Get<float>(), up = upBuf.Get<float>();
            Cast(gate, gateLocal, RoundMode::CAST_NONE, count);
            Cast(up, upLocal, RoundMode::CAST_NONE, count);
            Mul(gate, gate, up, count);
            Cast(yLocal, gate, RoundMode::CAST_RINT, count);
        } else {
            Mul(yLocal, gateLocal, upLocal, count);
        }
        outQueue.EnQue(yLocal);
        gateQueue.FreeTensor(gateLocal);
        upQueue.FreeTensor(upLocal);
    }

    __aicore__ inline void CopyOut(uint32_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> gateQueue, upQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> gateBuf, upBuf;
    GlobalTensor<T> gateGm, upGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void mul_half(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelMul<half> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void mul_bf16(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelMul<bfloat16_t> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void mul_float(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelMul<float> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}
