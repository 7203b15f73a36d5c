// rms_norm, v6: residual add and norm in one kernel.
// What changed: x + residual is formed in UB, stored as `sum`, and normalised there. v5 would load the same sum again.
// Why: Add moves 3 tensors and the norm 2. Together they need 4: load x and residual, store y and sum. One launch less, too.
// Timeline: twice the copies of v5 and nearly the same V. MTE2 has hardly a hole.
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
class KernelAddRmsNorm {
public:
    __aicore__ inline KernelAddRmsNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR residual, GM_ADDR gamma, GM_ADDR y, GM_ADDR sum, const RmsNormTilingData& tiling, TPipe* pipe)
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
        residualGm.SetGlobalBuffer((__gm__ T*)residual + first * length, rows * length);
        sumGm.SetGlobalBuffer((__gm__ T*)sum + first * length, rows * length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, length);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * length, rows * length);
        uint32_t groups = (tileRows + 7) / 8;
        pipe->InitBuffer(gammaQueue, 1, pitch * sizeof(T));
        pipe->InitBuffer(inQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(residualQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(sumQueue, BUFFER_NUM, tileRows * pitch * sizeof(T));
        pipe->InitBuffer(squareBuf, tileRows * pitch * sizeof(float));
        pipe->InitBuffer(meanBuf, groups * 32);
        pipe->InitBuffer(oneBuf, groups * 32);
        pipe->InitBuffer(scaleBuf, groups * 256);
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(gammaBuf, pitch * sizeof(float));
            pipe->InitBuffer(wideBuf, tileRows * pitch * sizeof(float));
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
        for (uint32_t row = 0; row < rows; row += tileRows) {
            uint32_t count = rows - row < tileRows ? rows - row : tileRows;
            CopyIn(row, count);
            Compute(count);
            CopyOut(row, count);
        }
        gammaQueue.FreeTensor(local);
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
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>(), residualLocal = residualQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), 0, Gap(), 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[row * length], params, padding);
        DataCopyPad(residualLocal, residualGm[row * length], params, padding);
        inQueue.EnQue(xLocal);
        residualQueue.EnQue(residualLocal);
    }

    // The vector unit has no sum of bfloat16: it takes the way through float.
    __aicore__ inline void AddRows(const LocalTensor<T>& sum, const LocalTensor<T>& x, const LocalTensor<T>& residual, uint32_t count)
    {
        if constexpr (std::is_same_v<T, bfloat16_t>) {
            LocalTensor<float> a = wideBuf.Get<float>(), b = squareBuf.Get<float>();
            Cast(a, x, RoundMode::CAST_NONE, count);
            Cast(b, residual, RoundMode::CAST_NONE, count);
            Add(a, a, b, count);
            Cast(sum, a, RoundMode::CAST_RINT, count);
        } else {
            Add(sum, x, residual, count);
        }
    }

    // sum[r] = sum of row r of square, which is used up: halves are added until 64 elements of each row are left.
    __aicore__ inline void RowSums(const LocalTensor<float>& sum, const LocalTensor<float>& square, uint32_t count)
    {
        if (length < pitch) {   // what follows the row in its last 64 elements must not count
            uint64_t mask[2] = {~0ULL << (LANES - (pitch - length)), 0};
            for (uint32_t r = 0; r < count; r++) {
                Duplicate(square[r * pitch + pitch - LANES], 0.0f, mask, 1, 1, 8);
            }
        }
        for (uint32_t parts = pitch / LANES; parts > 1; parts -= parts / 2) {
            uint32_t keep = parts - parts / 2;
            for (uint32_t r = 0; r < count; r++) {
                Add(square[r * pitch], square[r * pitch], square[r * pitch + keep * LANES], parts / 2 * LANES);
            }
        }
        WholeReduceSum(sum, square, LANES, count, 1, 1, pitch / 8);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), residualLocal = residualQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>(), sumLocal = sumQueue.template AllocTensor<T>();
        AddRows(sumLocal, xLocal, residualLocal, count * pitch);   // rounded to T, exactly as a separate Add would do
        inQueue.FreeTensor(xLocal);
        residualQueue.FreeTensor(residualLocal);
        LocalTensor<float> square = squareBuf.Get<float>(), mean = meanBuf.Get<float>(), one = oneBuf.Get<float>(), scale = scaleBuf.Get<float>();
        LocalTensor<float> wide = ToFloat(sumLocal, wideBuf, count * pitch);
        Mul(square, wide, wide, count * pitch);
        RowSums(mean, square, count);
        Muls(mean, mean, 1.0f / length, count);
        Adds(mean, mean, eps, count);
        Sqrt(mean, mean, count);
        Duplicate(one, 1.0f, count);
        Div(mean, one, mean, count);
        Brcb(scale, mean, (count + 7) / 8, {1, 8});   // 8 copies of each row's factor: one block of 32 B
        LocalTensor<float> scaled = Unrounded(yLocal, wide);
        for (uint32_t r = 0; r < count; r++) {       // block stride 0: all 64 lanes read the same block
            Mul(scaled[r * pitch], wide[r * pitch], scale[r * 8], LANES, pitch / LANES, {1, 1, 0, 8, 8, 0});
        }
        for (uint32_t r = 0; r < count; r++) {
            Mul(scaled[r * pitch], scaled[r * pitch], gammaLocal, pitch);
        }
        if constexpr (sizeof(T) == 2) {
            Cast(yLocal, scaled, RoundMode::CAST_RINT, count * pitch);
        }
        outQueue.EnQue(yLocal);
        sumQueue.EnQue(sumLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>(), sumLocal = sumQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(length * sizeof(T)), Gap(), 0, 0};
        DataCopyPad(yGm[row * length], yLocal, params);
        DataCopyPad(sumGm[row * length], sumLocal, params);
        outQueue.FreeTensor(yLocal);
        sumQueue.FreeTensor(sumLocal);
    }

    TQue<TPosition::VECIN, 1> gammaQueue, inQueue, residualQueue;
    TQue<TPosition::VECOUT, 1> outQueue, sumQueue;
    TBuf<TPosition::VECCALC> gammaBuf, wideBuf, squareBuf, meanBuf, oneBuf, scaleBuf;
    GlobalTensor<T> xGm, residualGm, gammaGm, yGm, sumGm;
    LocalTensor<float> gammaLocal;
    uint32_t rows = 0;
    uint32_t length = 0;
    uint32_t pitch = 0;
    uint32_t tileRows = 0;
    float eps = 0;
};

extern "C" __global__ __aicore__ void add_rms_norm_half(GM_ADDR x, GM_ADDR residual, GM_ADDR gamma, GM_ADDR y, GM_ADDR sum,
                                                      RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelAddRmsNorm<half> op;
    op.Init(x, residual, gamma, y, sum, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void add_rms_norm_bf16(GM_ADDR x, GM_ADDR residual, GM_ADDR gamma, GM_ADDR y, GM_ADDR sum,
                                                      RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelAddRmsNorm<bfloat16_t> op;
    op.Init(x, residual, gamma, y, sum, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void add_rms_norm_float(GM_ADDR x, GM_ADDR residual, GM_ADDR gamma, GM_ADDR y, GM_ADDR sum,
                                                      RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelAddRmsNorm<float> op;
    op.Init(x, residual, gamma, y, sum, tiling, &pipe);
    op.Process();
}
