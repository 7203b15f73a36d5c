// rms_norm, backward for rows that do not fit UB: two passes over each row.
// What changed: pass 1 sums x * x and dy * gamma * x tile by tile; pass 2 loads again, writes dx and adds to dgamma.
// Why: both means are known only after the last element. They can be summed in one pass, since rms is a common factor.
// Timeline: as rms_norm_long, with three loads in each pass. V is the busiest pipe.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct RmsNormTilingData {
    uint32_t rows;
    uint32_t length;   // elements of a row
    uint32_t tile;     // elements moved at once: a multiple of 64
    float eps;
};

template <typename T>
class KernelRmsNormGrad {
public:
    __aicore__ inline KernelRmsNormGrad() {}

    __aicore__ inline void Init(GM_ADDR dy, GM_ADDR x, GM_ADDR gamma, GM_ADDR dx, GM_ADDR dgamma, const RmsNormTilingData& tiling, TPipe* pipe)
    {
        rows = tiling.rows;
        length = tiling.length;
        tile = tiling.tile;
        eps = tiling.eps;
        uint64_t all = static_cast<uint64_t>(rows) * length;
        dyGm.SetGlobalBuffer((__gm__ T*)dy, all);
        xGm.SetGlobalBuffer((__gm__ T*)x, all);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        dxGm.SetGlobalBuffer((__gm__ T*)dx, all);
        dgammaGm.SetGlobalBuffer((__gm__ float*)dgamma, length);
        pipe->InitBuffer(dyQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(inQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(gammaQueue, BUFFER_NUM, tile * sizeof(T));
        pipe->InitBuffer(outQueue, 1, tile * sizeof(T));
        pipe->InitBuffer(dgammaQueue, 1, tile * sizeof(float));
        pipe->InitBuffer(squareBuf, tile * sizeof(float));
        pipe->InitBuffer(productBuf, tile * sizeof(float));
        pipe->InitBuffer(sumBuf, 32);
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(dyBuf, tile * sizeof(float));
            pipe->InitBuffer(xBuf, tile * sizeof(float));
            pipe->InitBuffer(gammaBuf, tile * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            uint64_t first = static_cast<uint64_t>(row) * length;
            Sums(first);
            for (uint32_t start = 0; start < length; start += tile) {
                uint32_t count = length - start < tile ? length - start : tile;
                CopyIn(first, start, count);
                Compute(count);
                CopyOut(first, start, count);
            }
        }
    }

private:
    __aicore__ inline void CopyIn(uint64_t first, uint32_t start, uint32_t count)
    {
        Load(dyQueue, dyGm[first + start], count);
        Load(inQueue, xGm[first + start], count);
        Load(gammaQueue, gammaGm[start], count);
    }

    __aicore__ inline void Load(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& from, uint32_t count)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, from, params, padding);
        queue.EnQue(local);
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

    __aicore__ inline float Sum(const LocalTensor<float>& values)
    {
        LocalTensor<float> sum = sumBuf.Get<float>();
        for (uint32_t parts = tile / LANES; parts > 1; parts -= parts / 2) {
            Add(values, values, values[(parts - parts / 2) * LANES], parts / 2 * LANES);
        }
        WholeReduceSum(sum, values, LANES, 1, 1, 1, 8);
        return sum.GetValue(0);
    }

    // Pass 1: scale = 1 / rms and share = mean of dy * gamma * normed, divided by rms.
    __aicore__ inline void Sums(uint64_t first)
    {
        LocalTensor<float> square = squareBuf.Get<float>(), product = productBuf.Get<float>(), sum = sumBuf.Get<float>();
        Duplicate(square, 0.0f, tile);
        Duplicate(product, 0.0f, tile);
        for (uint32_t start = 0; start < length; start += tile) {
            uint32_t count = length - start < tile ? length - start : tile;
            CopyIn(first, start, count);
            LocalTensor<T> dyLocal = dyQueue.template DeQue<T>(), xLocal = inQueue.template DeQue<T>(), gammaLocal = gammaQueue.template DeQue<T>();
            LocalTensor<float> grad = ToFloat(dyLocal, dyBuf, count), x = ToFloat(xLocal, xBuf, count), gamma = ToFloat(gammaLocal, gammaBuf, count);
            Mul(grad, grad, x, count);
            Mul(grad, grad, gamma, count);
            Add(product, product, grad, count);
            Mul(x, x, x, count);
            Add(square, square, x, count);
            dyQueue.FreeTensor(dyLocal);
            inQueue.FreeTensor(xLocal);
            gammaQueue.FreeTensor(gammaLocal);
        }
        sum.SetValue(0, Sum(square) / length + eps);
        Sqrt(sum, sum, 1);
        scale = 1.0f / sum.GetValue(0);
        share = Sum(product) / length * scale * scale;
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> dyLocal = dyQueue.template DeQue<T>(), xLocal = inQueue.template DeQue<T>(), gammaLocal = gammaQueue.template DeQue<T>();
        LocalTensor<T> dxLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> dgammaLocal = dgammaQueue.AllocTensor<float>(), product = productBuf.Get<float>();
        LocalTensor<float> grad = ToFloat(dyLocal, dyBuf, count), x = ToFloat(xLocal, xBuf, count), gamma = ToFloat(gammaLocal, gammaBuf, count);
        Mul(dgammaLocal, grad, x, count);
        Muls(dgammaLocal, dgammaLocal, scale, count);
        Mul(grad, grad, gamma, count);
        Muls(product, x, share, count);
        Sub(grad, grad, product, count);
        if constexpr (sizeof(T) == 4) {
            Muls(dxLocal, grad, scale, count);
        } else {
            Muls(grad, grad, scale, count);
            Cast(dxLocal, grad, RoundMode::CAST_RINT, count);
        }
        outQueue.EnQue(dxLocal);
        dgammaQueue.EnQue(dgammaLocal);
        dyQueue.FreeTensor(dyLocal);
        inQueue.FreeTensor(xLocal);
        gammaQueue.FreeTensor(gammaLocal);
    }

    // dgamma is 0 before the launch; every row of every block adds its part.
    __aicore__ inline void CopyOut(uint64_t first, uint32_t start, uint32_t count)
    {
        LocalTensor<T> dxLocal = outQueue.template DeQue<T>();
        LocalTensor<float> dgammaLocal = dgammaQueue.DeQue<float>();
        DataCopyExtParams params{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        DataCopyExtParams floats{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPad(dxGm[first + start], dxLocal, params);
        SetAtomicAdd<float>();
        DataCopyPad(dgammaGm[start], dgammaLocal, floats);
        SetAtomicNone();
        outQueue.FreeTensor(dxLocal);
        dgammaQueue.FreeTensor(dgammaLocal);
    }

    TQue<TPosition::VECIN, 1> dyQueue, inQueue, gammaQueue;
    TQue<TPosition::VECOUT, 1> outQueue, dgammaQueue;
    TBuf<TPosition::VECCALC> squareBuf, productBuf, sumBuf, dyBuf, xBuf, gammaBuf;
    GlobalTensor<T> dyGm, xGm, gammaGm, dxGm;
    GlobalTensor<float> dgammaGm;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t tile = 0;
    float eps = 0;
    float scale = 0;
    float share = 0;
};

extern "C" __global__ __aicore__ void rms_norm_grad_half(GM_ADDR dy, GM_ADDR x, GM_ADDR gamma, GM_ADDR dx, GM_ADDR dgamma,
                                                         RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNormGrad<half> op;
    op.Init(dy, x, gamma, dx, dgamma, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rms_norm_grad_bf16(GM_ADDR dy, GM_ADDR x, GM_ADDR gamma, GM_ADDR dx, GM_ADDR dgamma,
                                                         RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNormGrad<bfloat16_t> op;
    op.Init(dy, x, gamma, dx, dgamma, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rms_norm_grad_float(GM_ADDR dy, GM_ADDR x, GM_ADDR gamma, GM_ADDR dx, GM_ADDR dgamma,
                                                          RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNormGrad<float> op;
    op.Init(dy, x, gamma, dx, dgamma, tiling, &pipe);
    op.Process();
}
