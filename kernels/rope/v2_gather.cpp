// rope, v2: neighbours belong together, sorted apart and together again by Gather.
// What: y[2i] = x[2i] cos[i] - x[2i+1] sin[i] and y[2i+1] = x[2i+1] cos[i] + x[2i] sin[i], in float inside.
// Why: V computes on whole repeats, so even and odd elements must lie apart. Gather reads each element at its own offset in bytes.
// Timeline: V sets the pace: each Gather takes 12 cycles for 64 float, and there is one for every input and one for every output.
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
        pitch = (pairs + LANES - 1) / LANES * LANES;   // elements from the even part of a row to its odd part
        xGm.SetGlobalBuffer((__gm__ T*)x + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        cosGm.SetGlobalBuffer((__gm__ T*)cos + first * pairs, positions * pairs);
        sinGm.SetGlobalBuffer((__gm__ T*)sin + first * pairs, positions * pairs);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        uint32_t rows = tilePositions * heads;
        pipe->InitBuffer(inQueue, BUFFER_NUM, rows * 2 * pitch * sizeof(T));
        pipe->InitBuffer(cosQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(sinQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, rows * 2 * pitch * sizeof(T));
        pipe->InitBuffer(evenBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(oddBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(resultBuf, rows * 2 * pitch * sizeof(float));
        pipe->InitBuffer(productBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(apartBuf, pitch * sizeof(int32_t));
        pipe->InitBuffer(togetherBuf, 2 * pitch * sizeof(int32_t));
        pipe->InitBuffer(pairBuf, 2 * pitch * sizeof(int32_t));
        if constexpr (sizeof(T) == 2) {
            pipe->InitBuffer(wideBuf, rows * 2 * pitch * sizeof(float));
            pipe->InitBuffer(cosBuf, tilePositions * pitch * sizeof(float));
            pipe->InitBuffer(sinBuf, tilePositions * pitch * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        if (positions == 0) {
            return;
        }
        MakeOffsets();
        for (uint32_t position = 0; position < positions; position += tilePositions) {
            uint32_t count = positions - position < tilePositions ? positions - position : tilePositions;
            CopyIn(position, count);
            Compute(count);
            CopyOut(position, count);
        }
    }

private:
    // apart: 0, 8, 16, ... bytes, every other float. together: 0, P, 4, P + 4, ... with P = bytes from the even to the odd part.
    __aicore__ inline void MakeOffsets()
    {
        LocalTensor<int32_t> apart = apartBuf.Get<int32_t>(), together = togetherBuf.Get<int32_t>(), pair = pairBuf.Get<int32_t>();
        int32_t part = pitch * sizeof(float);
        CreateVecIndex(apart, static_cast<int32_t>(0), pitch);
        Muls(apart, apart, static_cast<int32_t>(8), pitch);
        CreateVecIndex(together, static_cast<int32_t>(0), 2 * pitch);
        ShiftRight(pair, together, static_cast<int32_t>(1), 2 * pitch);
        Muls(together, together, part, 2 * pitch);
        Muls(pair, pair, 4 - 2 * part, 2 * pitch);
        Add(together, together, pair, 2 * pitch);   // part * (j mod 2) + 4 * (j / 2)
    }

    __aicore__ inline void CopyIn(uint32_t position, uint32_t count)
    {
        Load(inQueue, xGm[static_cast<uint64_t>(position) * heads * dim], count * heads, dim, 0, 2 * pitch);
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

    // float stays where it is, half is converted into buf.
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
    __aicore__ inline void MulRows(const LocalTensor<float>& to, uint32_t toPitch, const LocalTensor<float>& a, const LocalTensor<float>& table, uint32_t count)
    {
        for (uint32_t p = 0; p < count; p++) {
            for (uint32_t c = 0; c < pitch; c += LANES) {
                Mul(to[p * heads * toPitch + c], a[p * heads * pitch + c], table[p * pitch + c], LANES, heads, {1, 1, 1, toPitch / 8, pitch / 8, 0});
            }
        }
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        uint32_t rows = count * heads, row = 2 * pitch;
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<T> cosLocal = cosQueue.template DeQue<T>(), sinLocal = sinQueue.template DeQue<T>();
        LocalTensor<float> wide = ToFloat(xLocal, wideBuf, rows * row);
        LocalTensor<float> cos = ToFloat(cosLocal, cosBuf, count * pitch), sin = ToFloat(sinLocal, sinBuf, count * pitch);
        LocalTensor<float> even = evenBuf.Get<float>(), odd = oddBuf.Get<float>(), result = resultBuf.Get<float>(), product = productBuf.Get<float>();
        LocalTensor<uint32_t> apart = apartBuf.Get<uint32_t>(), together = togetherBuf.Get<uint32_t>();
        for (uint32_t r = 0; r < rows; r++) {
            Gather(even[r * pitch], wide[r * row], apart, 0, pairs);
            Gather(odd[r * pitch], wide[r * row], apart, sizeof(float), pairs);
        }
        MulRows(result, row, even, cos, count);
        MulRows(product, pitch, odd, sin, count);
        for (uint32_t r = 0; r < rows; r++) {
            Sub(result[r * row], result[r * row], product[r * pitch], pairs);
        }
        MulRows(result[pitch], row, odd, cos, count);
        MulRows(product, pitch, even, sin, count);
        for (uint32_t r = 0; r < rows; r++) {
            Add(result[r * row + pitch], result[r * row + pitch], product[r * pitch], pairs);
        }
        for (uint32_t r = 0; r < rows; r++) {
            if constexpr (sizeof(T) == 4) {
                Gather(yLocal[r * row], result[r * row], together, 0, dim);
            } else {
                Gather(wide[r * row], result[r * row], together, 0, dim);
            }
        }
        if constexpr (sizeof(T) == 2) {
            Cast(yLocal, wide, RoundMode::CAST_RINT, rows * row);
        }
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
        cosQueue.FreeTensor(cosLocal);
        sinQueue.FreeTensor(sinLocal);
    }

    __aicore__ inline void CopyOut(uint32_t position, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count * heads), static_cast<uint32_t>(dim * sizeof(T)), Gap(dim, 2 * pitch), 0, 0};
        DataCopyPad(yGm[static_cast<uint64_t>(position) * heads * dim], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue, cosQueue, sinQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> wideBuf, cosBuf, sinBuf, evenBuf, oddBuf, resultBuf, productBuf, apartBuf, togetherBuf, pairBuf;
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

extern "C" __global__ __aicore__ void rope_float(GM_ADDR x, GM_ADDR cos, GM_ADDR sin, GM_ADDR y, RopeTiling tiling)
{
    TPipe pipe;
    KernelRope<float> op;
    op.Init(x, cos, sin, y, tiling, &pipe);
    op.Process();
}
