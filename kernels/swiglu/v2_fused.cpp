// swiglu, v2: y = gate / (1 + exp(-gate)) * up in one kernel.
// What changed: the product follows in UB, before anything is stored.
// Why: two kernels move five tensors, one moves three: gate, up and y. silu(gate) never leaves UB, and is not rounded to half.
// Timeline: MTE2 and V are both busy nearly all the time: bytes and arithmetic are balanced.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 5120;   // elements

struct SwigluTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelSwiglu {
public:
    __aicore__ inline KernelSwiglu() {}

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
        pipe->InitBuffer(expBuf, TILE * sizeof(float));
        if constexpr (sizeof(T) == 2) {
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

    // float stays where it is, other types are converted into buf.
    __aicore__ inline LocalTensor<float> ToFloat(const LocalTensor<T>& local, TBuf<TPosition::VECCALC>& buf, uint32_t count)
    {
        if constexpr (sizeof(T) == 4) {
            return local;
        } else {
            LocalTensor<float> wide = buf.template Get<float>();
            Cast(wide, local, RoundMode::CAST_NONE, count);
            return wide;
        }
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> gateLocal = gateQueue.template DeQue<T>(), upLocal = upQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> gate = ToFloat(gateLocal, gateBuf, count), up = ToFloat(upLocal, upBuf, count), power = expBuf.Get<float>();
        Muls(power, gate, -1.0f, count);
        Exp(power, power, count);
        Adds(power, power, 1.0f, count);
        Div(gate, gate, power, count);
        if constexpr (sizeof(T) == 4) {
            Mul(yLocal, gate, up, count);
        } else {
            Mul(gate, gate, up, count);
            Cast(yLocal, gate, RoundMode::CAST_RINT, count);
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
    TBuf<TPosition::VECCALC> gateBuf, upBuf, expBuf;
    GlobalTensor<T> gateGm, upGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void swiglu_half(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSwiglu<half> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void swiglu_bf16(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSwiglu<bfloat16_t> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void swiglu_float(GM_ADDR gate, GM_ADDR up, GM_ADDR y, SwigluTiling tiling)
{
    TPipe pipe;
    KernelSwiglu<float> op;
    op.Init(gate, up, y, tiling, &pipe);
    op.Process();
}
