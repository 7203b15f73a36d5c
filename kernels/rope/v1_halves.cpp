// rope, v1: the two halves of a row belong together.
// What: y[i] = x[i] cos[i] - x[i + d/2] sin[i] and y[i + d/2] = x[i + d/2] cos[i] + x[i] sin[i], in float inside.
// Why: the copies bring both halves of every row into separate buffers, so that V works on whole repeats. No element is moved in UB.
// Timeline: MTE2 sets the pace: V needs about six cycles for 64 outputs, conversions aside.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct RopeTiling {
    uint32_t positionsPerBlock;
    uint32_t extraBlocks;     // this many blocks have one position more
    uint32_t heads;           // rows of x with the same position: at most 255
    uint32_t dim;             // elements of a row: even, at most 4080
    uint32_t tilePositions;   // positions moved at once
};

template <typename T>
class KernelRope {
public:
    __aicore__ inline KernelRope() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR cos, GM_ADDR sin, GM_ADDR y, const RopeTiling& tiling, TPipe* pipe)
    {
        uint32_t block = GetBlockIdx(), before = block < tiling.extraBlocks ? block : tiling.extraBlocks;
        uint64_t first = static_cast<uint64_t>(block) * tiling.positionsPerBlock + before;
        positions = tiling.positionsPerBlock + (block < tiling.extraBlocks ? 1 : 0);
        if (positions == 0) {
            return;   // more blocks than positions: nothing to do here
        }
        heads = tiling.heads;
        dim = tiling.dim;
        pairs = dim / 2;
        tilePositions = tiling.tilePositions;
        pitch = (pairs + LANES - 1) / LANES * LANES;   // in UB a half row starts every `pitch` elements
        xGm.SetGlobalBuffer((__gm__ T*)x + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        cosGm.SetGlobalBuffer((__gm__ T*)cos + first * pairs, positions * pairs);
        sinGm.SetGlobalBuffer((__gm__ T*)sin + first * pairs, positions * pairs);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        uint32_t rows = tilePositions * heads;
        pipe->InitBuffer(lowQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(highQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(cosQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(sinQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(outLowQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(outHighQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(sumBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(productBuf, rows * pitch * sizeof(float));
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(lowBuf, rows * pitch * sizeof(float));
            pipe->InitBuffer(highBuf, rows * pitch * sizeof(float));
            pipe->InitBuffer(cosBuf, tilePositions * pitch * sizeof(float));
            pipe->InitBuffer(sinBuf, tilePositions * pitch * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        if (positions == 0) {
            return;
        }
        for (uint32_t position = 0; position < positions; position += tilePositions) {
            uint32_t count = positions - position < tilePositions ? positions - position : tilePositions;
            CopyIn(position, count);
            Compute(count);
            CopyOut(position, count);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t position, uint32_t count)
    {
        uint64_t start = static_cast<uint64_t>(position) * heads * dim;
        Load(lowQueue, xGm[start], count * heads, pairs, pairs, pitch);   // gap: the other half of the row
        Load(highQueue, xGm[start + pairs], count * heads, pairs, pairs, pitch);
        Load(cosQueue, cosGm[position * pairs], count, pairs, 0, pitch);
        Load(sinQueue, sinGm[position * pairs], count, pairs, 0, pitch);
    }

    __aicore__ inline void Load(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& from, uint32_t rows, uint32_t length, uint32_t gap, uint32_t to)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(rows), static_cast<uint32_t>(length * sizeof(T)), static_cast<uint32_t>(gap * sizeof(T)), Gap(length, to), 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, from, params, padding);
        queue.EnQue(local);
    }

    // Blocks of 32 B between the end of a row and the start of the next one, `to` elements later, in UB.
    __aicore__ inline uint32_t Gap(uint32_t length, uint32_t to) const
    {
        return to * sizeof(T) / 32 - (length * sizeof(T) + 31) / 32;
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

    // to = a * table: row h of each position times the row of that position. Repeat stride 0 reads the table again for every head.
    __aicore__ inline void MulRows(const LocalTensor<float>& to, const LocalTensor<float>& a, const LocalTensor<float>& table, uint32_t count, uint32_t width)
    {
        for (uint32_t p = 0; p < count; p++) {
            for (uint32_t c = 0; c < width; c += LANES) {
                uint32_t at = p * heads * width + c;
                Mul(to[at], a[at], table[p * width + c], LANES, heads, {1, 1, 1, width / 8, width / 8, 0});
            }
        }
    }

    __aicore__ inline void Store(const LocalTensor<T>& local, const LocalTensor<float>& sum, uint32_t number)
    {
        if constexpr (sizeof(T) == 4) {
            Muls(local, sum, 1.0f, number);
        } else {
            Cast(local, sum, RoundMode::CAST_RINT, number);
        }
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        uint32_t number = count * heads * pitch;
        LocalTensor<T> lowLocal = lowQueue.template DeQue<T>(), highLocal = highQueue.template DeQue<T>();
        LocalTensor<T> cosLocal = cosQueue.template DeQue<T>(), sinLocal = sinQueue.template DeQue<T>();
        LocalTensor<T> outLow = outLowQueue.template AllocTensor<T>(), outHigh = outHighQueue.template AllocTensor<T>();
        LocalTensor<float> low = ToFloat(lowLocal, lowBuf, number), high = ToFloat(highLocal, highBuf, number);
        LocalTensor<float> cos = ToFloat(cosLocal, cosBuf, count * pitch), sin = ToFloat(sinLocal, sinBuf, count * pitch);
        LocalTensor<float> sum = sumBuf.Get<float>(), product = productBuf.Get<float>();
        MulRows(sum, low, cos, count, pitch);
        MulRows(product, high, sin, count, pitch);
        Sub(sum, sum, product, number);
        Store(outLow, sum, number);
        MulRows(sum, high, cos, count, pitch);
        MulRows(product, low, sin, count, pitch);
        Add(sum, sum, product, number);
        Store(outHigh, sum, number);
        outLowQueue.EnQue(outLow);
        outHighQueue.EnQue(outHigh);
        lowQueue.FreeTensor(lowLocal);
        highQueue.FreeTensor(highLocal);
        cosQueue.FreeTensor(cosLocal);
        sinQueue.FreeTensor(sinLocal);
    }

    __aicore__ inline void CopyOut(uint32_t position, uint32_t count)
    {
        uint64_t start = static_cast<uint64_t>(position) * heads * dim;
        DataCopyExtParams params{static_cast<uint16_t>(count * heads), static_cast<uint32_t>(pairs * sizeof(T)), Gap(pairs, pitch),
                                 static_cast<uint32_t>(pairs * sizeof(T)), 0};
        LocalTensor<T> outLow = outLowQueue.template DeQue<T>(), outHigh = outHighQueue.template DeQue<T>();
        DataCopyPad(yGm[start], outLow, params);
        DataCopyPad(yGm[start + pairs], outHigh, params);
        outLowQueue.FreeTensor(outLow);
        outHighQueue.FreeTensor(outHigh);
    }

    TQue<TPosition::VECIN, 1> lowQueue, highQueue, cosQueue, sinQueue;
    TQue<TPosition::VECOUT, 1> outLowQueue, outHighQueue;
    TBuf<TPosition::VECCALC> lowBuf, highBuf, cosBuf, sinBuf, sumBuf, productBuf;
    GlobalTensor<T> xGm, cosGm, sinGm, yGm;
    uint32_t positions = 0;
    uint32_t heads = 0;
    uint32_t dim = 0;
    uint32_t pairs = 0;
    uint32_t pitch = 0;
    uint32_t tilePositions = 0;
};

extern "C" __global__ __aicore__ void rope_half(GM_ADDR x, GM_ADDR cos, GM_ADDR sin, GM_ADDR y, RopeTiling tiling)
{
    TPipe pipe;
    KernelRope<half> op;
    op.Init(x, cos, sin, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rope_bf16(GM_ADDR x, GM_ADDR cos, GM_ADDR sin, GM_ADDR y, RopeTiling tiling)
{
    TPipe pipe;
    KernelRope<bfloat16_t> op;
    op.Init(x, cos, sin, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rope_float(GM_ADDR x, GM_ADDR cos, GM_ADDR sin, GM_ADDR y, RopeTiling tiling)
{
    TPipe pipe;
    KernelRope<float> op;
    op.Init(x, cos, sin, y, tiling, &pipe);
    op.Process();
}
