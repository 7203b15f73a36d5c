// rms_norm, backward: gradients of x and of gamma.
// What: with normed = x / rms, dx = (dy * gamma - normed * mean(dy * gamma * normed)) / rms and dgamma = sum over rows of dy * normed.
// Why: rms is computed again from x, which is loaded anyway. dgamma is float, also for half and bfloat16, since it sums over all rows.
// Timeline: two loads, and V sets the pace with about three times the work of v5. At its end each block adds its dgamma to GM.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct RmsNormTilingData {
    uint32_t rowsPerBlock;
    uint32_t extraBlocks;   // this many blocks have one row more
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows moved at once: at most 255
    float eps;
};

template <typename T>
class KernelRmsNormGrad {
public:
    __aicore__ inline KernelRmsNormGrad() {}

    __aicore__ inline void Init(GM_ADDR dy, GM_ADDR x, GM_ADDR gamma, GM_ADDR dx, GM_ADDR dgamma, const RmsNormTilingData& tiling, TPipe* pipe)
    {
        uint32_t block = GetBlockIdx(), before = block < tiling.extraBlocks ? block : tiling.extraBlocks;
        uint64_t first = static_cast<uint64_t>(block) * tiling.rowsPerBlock + before;
        rows = tiling.rowsPerBlock + (block < tiling.extraBlocks ? 1 : 0);
        if (rows == 0) {
            return;
        }
        length = tiling.length;
        tileRows = tiling.tileRows;
        eps = tiling.eps;
        pitch = (length + LANES - 1) / LANES * LANES;   // in UB a row starts every `pitch` elements
        dyGm.SetGlobalBuffer((__gm__ T*)dy + first * length, rows * length);
        xGm.SetGlobalBuffer((__gm__ T*)x + first * length, rows * length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        dxGm.SetGlobalBuffer((__gm__ T*)dx + first * length, rows * length);
        dgammaGm.SetGlobalBuffer((__gm__ float*)dgamma, length);
        uint32_t groups = (tileRows + 7) / 8;
        pipe->InitBuffer(gammaQueue, 1, pitch * sizeof(T));
        pipe->InitBuffer(dyQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(inQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(dgammaQueue, 1, pitch * sizeof(float));
        pipe->InitBuffer(productBuf, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(normedBuf, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(sumBuf, groups * 32);
        pipe->InitBuffer(oneBuf, groups * 32);
        pipe->InitBuffer(scaleBuf, groups * 256);
        pipe->InitBuffer(meanBuf, groups * 256);
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(gammaBuf, pitch * sizeof(float));
            pipe->InitBuffer(dyBuf, tileRows * pitch * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        if (rows == 0) {
            return;   // more blocks than rows: nothing to do here
        }
        CopyInGamma();
        LocalTensor<T> local = gammaQueue.template DeQue<T>();
        gammaLocal = ToFloat(local, gammaBuf, pitch);
        total = dgammaQueue.AllocTensor<float>();
        Duplicate(total, 0.0f, pitch);
        for (uint32_t row = 0; row < rows; row += tileRows) {
            uint32_t count = rows - row < tileRows ? rows - row : tileRows;
            CopyIn(row, count);
            Compute(count);
            CopyOut(row, count);
        }
        gammaQueue.FreeTensor(local);
        AddToGamma();
    }

private:
    __aicore__ inline void CopyInGamma()
    {
        LocalTensor<T> local = gammaQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, gammaGm, params, padding);
        gammaQueue.EnQue(local);
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

    // Blocks of 32 B between the end of a row and the start of the next one in UB.
    __aicore__ inline uint32_t Gap() const
    {
        return pitch * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
    }

    __aicore__ inline void CopyIn(uint32_t row, uint32_t count)
    {
        LocalTensor<T> dyLocal = dyQueue.template AllocTensor<T>(), xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), 0, Gap(), 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(dyLocal, dyGm[row * length], params, padding);
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        dyQueue.EnQue(dyLocal);
        inQueue.EnQue(xLocal);
    }

    // sum[r] = sum of row r of values, which is used up: halves are added until 64 elements of each row are left.
    __aicore__ inline void RowSums(const LocalTensor<float>& sum, const LocalTensor<float>& values, uint32_t count)
    {
        if (length < pitch) {   // what follows the row in its last 64 elements must not count
            uint64_t mask[2] = {~0ULL << (LANES - (pitch - length)), 0};
            for (uint32_t r = 0; r < count; r++) {
                Duplicate(values[r * pitch + pitch - LANES], 0.0f, mask, 1, 1, 8);
            }
        }
        for (uint32_t parts = pitch / LANES; parts > 1; parts -= parts / 2) {
            uint32_t keep = parts - parts / 2;
            for (uint32_t r = 0; r < count; r++) {
                Add(values[r * pitch], values[r * pitch], values[r * pitch + keep * LANES], parts / 2 * LANES);
            }
        }
        WholeReduceSum(sum, values, LANES, count, 1, 1, pitch / 8);
        Muls(sum, sum, 1.0f / length, count);
    }

    // Row r of to = row r of from, times the number in block r of factor.
    __aicore__ inline void MulRows(const LocalTensor<float>& to, const LocalTensor<float>& from, const LocalTensor<float>& factor, uint32_t count)
    {
        for (uint32_t r = 0; r < count; r++) {
            Mul(to[r * pitch], from[r * pitch], factor[r * 8], LANES, pitch / LANES, {1, 1, 0, 8, 8, 0});
        }
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> dyLocal = dyQueue.template DeQue<T>(), xLocal = inQueue.template DeQue<T>(), dxLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> product = productBuf.Get<float>(), normed = normedBuf.Get<float>(), sum = sumBuf.Get<float>(), one = oneBuf.Get<float>();
        LocalTensor<float> scale = scaleBuf.Get<float>(), mean = meanBuf.Get<float>();
        LocalTensor<float> grad = ToFloat(dyLocal, dyBuf, count * pitch), x = ToFloat(xLocal, normedBuf, count * pitch);
        // normed = x / rms
        Mul(product, x, x, count * pitch);
        RowSums(sum, product, count);
        Adds(sum, sum, eps, count);
        Sqrt(sum, sum, count);
        Duplicate(one, 1.0f, count);
        Div(sum, one, sum, count);
        Brcb(scale, sum, (count + 7) / 8, {1, 8});
        MulRows(normed, x, scale, count);
        inQueue.FreeTensor(xLocal);
        // dgamma += dy * normed; mean of dy * gamma * normed
        Mul(product, grad, normed, count * pitch);
        for (uint32_t r = 0; r < count; r++) {
            Add(total, total, product[r * pitch], length);
            Mul(product[r * pitch], product[r * pitch], gammaLocal, length);
            Mul(grad[r * pitch], grad[r * pitch], gammaLocal, length);
        }
        RowSums(sum, product, count);
        Brcb(mean, sum, (count + 7) / 8, {1, 8});
        // dx = (dy * gamma - normed * mean) / rms
        MulRows(normed, normed, mean, count);
        Sub(grad, grad, normed, count * pitch);
        if constexpr (sizeof(T) == 4) {
            MulRows(dxLocal, grad, scale, count);
        } else {
            MulRows(grad, grad, scale, count);
            Cast(dxLocal, grad, RoundMode::CAST_RINT, count * pitch);
        }
        outQueue.EnQue(dxLocal);
        dyQueue.FreeTensor(dyLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t count)
    {
        LocalTensor<T> dxLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), Gap(), 0, 0};
        DataCopyPad(dxGm[row * length], dxLocal, params);
        outQueue.FreeTensor(dxLocal);
    }

    // Every block adds its part; dgamma is 0 before the launch. The order of the additions is not fixed on a device.
    __aicore__ inline void AddToGamma()
    {
        dgammaQueue.EnQue(total);
        total = dgammaQueue.DeQue<float>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(float)), 0, 0, 0};
        SetAtomicAdd<float>();
        DataCopyPad(dgammaGm, total, params);
        SetAtomicNone();
        dgammaQueue.FreeTensor(total);
    }

    TQue<TPosition::VECIN, 1> gammaQueue, dyQueue, inQueue;
    TQue<TPosition::VECOUT, 1> outQueue, dgammaQueue;
    TBuf<TPosition::VECCALC> gammaBuf, dyBuf, productBuf, normedBuf, sumBuf, oneBuf, scaleBuf, meanBuf;
    GlobalTensor<T> dyGm, xGm, gammaGm, dxGm;
    GlobalTensor<float> dgammaGm;
    LocalTensor<float> gammaLocal, total;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t pitch = 0;
    uint32_t tileRows = 0;
    float eps = 0;
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
