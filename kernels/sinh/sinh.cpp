// sinh, done right: y = sinh(x), half, bfloat16 or float outside, float inside.
// What: (exp(x) - exp(-x)) / 2 in float, and for |x| < 0.5 the series x + x^3/6 + x^5/120 + x^7/5040.
// Why: near 0 the two exp are nearly equal and their difference loses all its digits. And half has no exp above 11.09, although
//      sinh itself stays finite up to 11.78. float has neither problem in this range: exp(x - ln 2) even reaches sinh(89.4).
// Timeline: V sets the pace, with about 20 instructions for each element.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t TILE = 5120;   // elements
constexpr float LN_2 = 0.69314718f;

struct SinhTiling {
    uint32_t length;   // elements in all
    uint32_t share;    // elements per block: a multiple of 256, so that every block starts on a 512 B line
};

template <typename T>
class KernelSinh {
public:
    __aicore__ inline KernelSinh() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, const SinhTiling& tiling, TPipe* pipe)
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
        pipe->InitBuffer(plusBuf, TILE * sizeof(float));
        pipe->InitBuffer(minusBuf, TILE * sizeof(float));
        pipe->InitBuffer(squareBuf, TILE * sizeof(float));
        pipe->InitBuffer(smallBuf, TILE / 8);
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
        LocalTensor<float> x = xBuf.Get<float>(), plus = plusBuf.Get<float>(), minus = minusBuf.Get<float>(), square = squareBuf.Get<float>();
        LocalTensor<uint8_t> small = smallBuf.Get<uint8_t>();
        if constexpr (sizeof(T) == 4) {
            Muls(x, xLocal, 1.0f, count);
        } else {
            Cast(x, xLocal, RoundMode::CAST_NONE, count);
        }
        inQueue.FreeTensor(xLocal);
        // exp(x) / 2 - exp(-x) / 2
        Adds(plus, x, -LN_2, count);
        Exp(plus, plus, count);
        Muls(minus, x, -1.0f, count);
        Adds(minus, minus, -LN_2, count);
        Exp(minus, minus, count);
        Sub(plus, plus, minus, count);
        // x * (1 + square / 6 * (1 + square / 20 * (1 + square / 42)))
        Mul(square, x, x, count);
        Muls(minus, square, 1.0f / 42, count);
        Adds(minus, minus, 1.0f, count);
        Mul(minus, minus, square, count);
        Muls(minus, minus, 1.0f / 20, count);
        Adds(minus, minus, 1.0f, count);
        Mul(minus, minus, square, count);
        Muls(minus, minus, 1.0f / 6, count);
        Mul(minus, minus, x, count);
        Add(minus, minus, x, count);
        // square < 1/4 chooses the series; a comparison works on whole repeats of 64
        CompareScalar(small, square, 0.25f, CMPMODE::LT, (count + 63) / 64 * 64);
        Select(plus, small, minus, plus, SELMODE::VSEL_TENSOR_TENSOR_MODE, count);
        if constexpr (sizeof(T) == 4) {
            Muls(yLocal, plus, 1.0f, count);
        } else {
            Cast(yLocal, plus, RoundMode::CAST_RINT, count);
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
    TBuf<TPosition::VECCALC> xBuf, plusBuf, minusBuf, squareBuf, smallBuf;
    GlobalTensor<T> xGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void sinh_half(GM_ADDR x, GM_ADDR y, SinhTiling tiling)
{
    TPipe pipe;
    KernelSinh<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void sinh_bf16(GM_ADDR x, GM_ADDR y, SinhTiling tiling)
{
    TPipe pipe;
    KernelSinh<bfloat16_t> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void sinh_float(GM_ADDR x, GM_ADDR y, SinhTiling tiling)
{
    TPipe pipe;
    KernelSinh<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}
