// layer_norm: y = (x - mean) / sqrt(variance + eps) * gamma + beta for each row.
// What: as rms_norm v5, with a mean that is taken away first. The variance is the mean square of what is left: two passes over UB.
// Why: mean(x * x) - mean(x)^2 in one pass loses all digits when the mean is large, and may come out negative.
// Timeline: V sets the pace, with about twice the work of rms_norm.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct LayerNormTilingData {
    uint32_t rowsPerBlock;
    uint32_t extraBlocks;   // this many blocks have one row more
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows moved at once: at most 255
    float eps;
};

template <typename T>
class KernelLayerNorm {
public:
    __aicore__ inline KernelLayerNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, const LayerNormTilingData& tiling, TPipe* pipe)
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
        xGm.SetGlobalBuffer((__gm__ T*)x + first * length, rows * length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        betaGm.SetGlobalBuffer((__gm__ T*)beta, length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * length, rows * length);
        uint32_t groups = (tileRows + 7) / 8;
        pipe->InitBuffer(gammaQueue, 1, pitch * sizeof(T));
        pipe->InitBuffer(betaQueue, 1, pitch * sizeof(T));
        pipe->InitBuffer(inQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(squareBuf, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(meanBuf, groups * 32);
        pipe->InitBuffer(oneBuf, groups * 32);
        pipe->InitBuffer(spreadBuf, groups * 256);
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(gammaBuf, pitch * sizeof(float));
            pipe->InitBuffer(betaBuf, pitch * sizeof(float));
            pipe->InitBuffer(wideBuf, tileRows * pitch * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        if (rows == 0) {
            return;   // more blocks than rows: nothing to do here
        }
        CopyInRow(gammaQueue, gammaGm);
        CopyInRow(betaQueue, betaGm);
        LocalTensor<T> gamma = gammaQueue.template DeQue<T>(), beta = betaQueue.template DeQue<T>();
        gammaLocal = ToFloat(gamma, gammaBuf, pitch);
        betaLocal = ToFloat(beta, betaBuf, pitch);
        for (uint32_t row = 0; row < rows; row += tileRows) {
            uint32_t count = rows - row < tileRows ? rows - row : tileRows;
            CopyIn(row, count);
            Compute(count);
            CopyOut(row, count);
        }
        gammaQueue.FreeTensor(gamma);
        betaQueue.FreeTensor(beta);
    }

private:
    __aicore__ inline void CopyInRow(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& from)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
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

    // The rows of y before they are rounded: y itself when it is float.
    __aicore__ inline LocalTensor<float> Unrounded(const LocalTensor<T>& yLocal, const LocalTensor<float>& wide)
    {
        if constexpr (sizeof(T) == 4) {
            return yLocal;
        } else {
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
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), 0, Gap(), 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        inQueue.EnQue(xLocal);
    }

    // mean[r] = mean of row r of values, which is used up: halves are added until 64 elements of each row are left.
    __aicore__ inline void RowMeans(const LocalTensor<float>& mean, const LocalTensor<float>& values, uint32_t count)
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
        WholeReduceSum(mean, values, LANES, count, 1, 1, pitch / 8);
        Muls(mean, mean, 1.0f / length, count);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> square = squareBuf.Get<float>(), mean = meanBuf.Get<float>(), one = oneBuf.Get<float>(), spread = spreadBuf.Get<float>();
        LocalTensor<float> wide = ToFloat(xLocal, wideBuf, count * pitch), scaled = Unrounded(yLocal, wide);
        // First pass over UB: the mean, taken away at once.
        Muls(square, wide, 1.0f, count * pitch);
        RowMeans(mean, square, count);
        Brcb(spread, mean, (count + 7) / 8, {1, 8});   // 8 copies of each row's number: one block of 32 B
        for (uint32_t r = 0; r < count; r++) {         // block stride 0: all 64 lanes read the same block
            Sub(wide[r * pitch], wide[r * pitch], spread[r * 8], LANES, pitch / LANES, {1, 1, 0, 8, 8, 0});
        }
        // Second pass: the mean of the squares of what is left. It cannot be negative.
        Mul(square, wide, wide, count * pitch);
        RowMeans(mean, square, count);
        Adds(mean, mean, eps, count);
        Sqrt(mean, mean, count);
        Duplicate(one, 1.0f, count);
        Div(mean, one, mean, count);
        Brcb(spread, mean, (count + 7) / 8, {1, 8});
        for (uint32_t r = 0; r < count; r++) {
            Mul(scaled[r * pitch], wide[r * pitch], spread[r * 8], LANES, pitch / LANES, {1, 1, 0, 8, 8, 0});
        }
        for (uint32_t r = 0; r < count; r++) {
            Mul(scaled[r * pitch], scaled[r * pitch], gammaLocal, pitch);
        }
        for (uint32_t r = 0; r < count; r++) {
            Add(scaled[r * pitch], scaled[r * pitch], betaLocal, pitch);
        }
        if constexpr (sizeof(T) == 2) {
            Cast(yLocal, scaled, RoundMode::CAST_RINT, count * pitch);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), Gap(), 0, 0};
        DataCopyPad(yGm[row * length], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> gammaQueue, betaQueue, inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> gammaBuf, betaBuf, wideBuf, squareBuf, meanBuf, oneBuf, spreadBuf;
    GlobalTensor<T> xGm, gammaGm, betaGm, yGm;
    LocalTensor<float> gammaLocal, betaLocal;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t pitch = 0;
    uint32_t tileRows = 0;
    float eps = 0;
};

extern "C" __global__ __aicore__ void layer_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<half> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void layer_norm_bf16(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<bfloat16_t> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void layer_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, LayerNormTilingData tiling)
{
    TPipe pipe;
    KernelLayerNorm<float> op;
    op.Init(x, gamma, beta, y, tiling, &pipe);
    op.Process();
}
