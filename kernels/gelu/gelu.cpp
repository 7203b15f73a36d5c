// gelu, the tanh form: y = x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) * (x + 0.044715 * x^3).
// What: (1 + tanh(u)) / 2 is 1 / (1 + exp(-2u)). So y = x / (1 + exp(-2u)): one Exp, one Div, and no tanh.
// Why: for very negative x exp becomes inf and x / inf is the right limit, -0. For large x it is 0, and y = x. No case needs a Select.
// Timeline: V sets the pace. Eight instructions for each element, of which Div takes four cycles per repeat.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 8192;   // elements
constexpr float LINEAR = -1.5957691216f;   // -2 * sqrt(2 / pi)
constexpr float CUBIC = -0.0713548163f;    // 0.044715 times that

struct GeluTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelGelu {
public:
    __aicore__ inline KernelGelu() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const GeluTiling& tiling, TPipe* pipe)
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
        pipe->InitBuffer(xBuf, TILE * sizeof(float));
        pipe->InitBuffer(powerBuf, TILE * sizeof(float));
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
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> x = xBuf.Get<float>(), power = powerBuf.Get<float>();
        if constexpr (sizeof(T) == 4) {
            Muls(x, xLocal, 1.0f, count);
        } else {
            Cast(x, xLocal, RoundMode::CAST_NONE, count);
        }
        inQueue.FreeTensor(xLocal);
        Mul(power, x, x, count);
        Muls(power, power, CUBIC, count);
        Adds(power, power, LINEAR, count);
        Mul(power, power, x, count);       // -2u = x * (LINEAR + CUBIC * x * x)
        Exp(power, power, count);
        Adds(power, power, 1.0f, count);
        if constexpr (sizeof(T) == 4) {
            Div(yLocal, x, power, count);
        } else {
            Div(x, x, power, count);
            Cast(yLocal, x, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(yLocal);
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
    TBuf<TPosition::VECCALC> xBuf, powerBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void gelu_half(GM_ADDR x, GM_ADDR y, GeluTiling tiling)
{
    TPipe pipe;
    KernelGelu<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void gelu_bf16(GM_ADDR x, GM_ADDR y, GeluTiling tiling)
{
    TPipe pipe;
    KernelGelu<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void gelu_float(GM_ADDR x, GM_ADDR y, GeluTiling tiling)
{
    TPipe pipe;
    KernelGelu<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
