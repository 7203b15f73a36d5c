// rope, v3: neighbours belong together, swapped by shifts. For half only.
// What changed: y = x * cos + swapped(x) * sin with tables in the layout of x: cos[2i] = cos[2i+1] and -sin[2i] = sin[2i+1].
// Why: two half are one word of 32 bits. A shift to the left and one to the right swap them, at one cycle per repeat each. No Gather.
// Timeline: MTE2 sets the pace again. Its tables have twice the size, which many heads share.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;   // float in one repeat of 256 B

struct RopeTiling {
    uint32_t positionsPerBlock;
    uint32_t extraBlocks;     // this many blocks have one position more
    uint32_t heads;           // rows of x with the same position: at most 255
    uint32_t dim;             // elements of a row: even, at most 2040
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
        tilePositions = tiling.tilePositions;
        pitch = (dim + LANES - 1) / LANES * LANES;   // in UB a row starts every `pitch` elements
        xGm.SetGlobalBuffer((__gm__ T*)x + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        cosGm.SetGlobalBuffer((__gm__ T*)cos + first * dim, positions * dim);
        sinGm.SetGlobalBuffer((__gm__ T*)sin + first * dim, positions * dim);
        yGm.SetGlobalBuffer((__gm__ T*)y + first * heads * dim, static_cast<uint64_t>(positions) * heads * dim);
        uint32_t rows = tilePositions * heads;
        pipe->InitBuffer(inQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(cosQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(sinQueue, BUFFER_NUM, tilePositions * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, BUFFER_NUM, rows * pitch * sizeof(T));
        pipe->InitBuffer(leftBuf, rows * pitch * sizeof(T));
        pipe->InitBuffer(rightBuf, rows * pitch * sizeof(T));
        pipe->InitBuffer(wideBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(swapBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(cosBuf, tilePositions * pitch * sizeof(float));
        pipe->InitBuffer(sinBuf, tilePositions * pitch * sizeof(float));
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
        Load(inQueue, xGm[static_cast<uint64_t>(position) * heads * dim], count * heads, dim, 0, pitch);
        Load(cosQueue, cosGm[position * dim], count, dim, 0, pitch);
        Load(sinQueue, sinGm[position * dim], count, dim, 0, pitch);
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

    __aicore__ inline void Compute(uint32_t count)
    {
        uint32_t number = count * heads * pitch;
        LocalTensor<T> xLocal = inQueue.template DeQue<T>(), yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<T> cosLocal = cosQueue.template DeQue<T>(), sinLocal = sinQueue.template DeQue<T>();
        LocalTensor<uint32_t> left = leftBuf.Get<uint32_t>(), right = rightBuf.Get<uint32_t>();
        LocalTensor<uint16_t> left16 = leftBuf.Get<uint16_t>(), right16 = rightBuf.Get<uint16_t>();
        LocalTensor<float> wide = wideBuf.Get<float>(), swapped = swapBuf.Get<float>(), cos = cosBuf.Get<float>(), sin = sinBuf.Get<float>();
        ShiftLeft(left, xLocal.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(16), number / 2);
        ShiftRight(right, xLocal.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(16), number / 2);
        Or(left16, left16, right16, number);
        Cast(swapped, leftBuf.template Get<T>(), RoundMode::CAST_NONE, number);
        Cast(wide, xLocal, RoundMode::CAST_NONE, number);
        Cast(cos, cosLocal, RoundMode::CAST_NONE, count * pitch);
        Cast(sin, sinLocal, RoundMode::CAST_NONE, count * pitch);
        MulRows(wide, wide, cos, count, pitch);
        MulRows(swapped, swapped, sin, count, pitch);
        Add(wide, wide, swapped, number);
        Cast(yLocal, wide, RoundMode::CAST_RINT, number);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
        cosQueue.FreeTensor(cosLocal);
        sinQueue.FreeTensor(sinLocal);
    }

    __aicore__ inline void CopyOut(uint32_t position, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count * heads), static_cast<uint32_t>(dim * sizeof(T)), Gap(dim, pitch), 0, 0};
        DataCopyPad(yGm[static_cast<uint64_t>(position) * heads * dim], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> inQueue, cosQueue, sinQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> leftBuf, rightBuf, wideBuf, swapBuf, cosBuf, sinBuf;
    GlobalTensor<T> xGm, cosGm, sinGm, yGm;
    uint32_t positions = 0;
    uint32_t heads = 0;
    uint32_t dim = 0;
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
