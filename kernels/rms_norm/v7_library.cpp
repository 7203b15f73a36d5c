// rms_norm, v7: the library's RmsNorm, one call for a tile.
// What changed: RmsNorm does all rows of a tile, with a tiling struct and a workspace from the host. Tiles, not rows, are dealt out:
//      block b takes the tiles b, b + blocks, ... Only the last tile of all is shorter, and has a tiling struct of its own.
// Why: the steps of v5 are what everybody needs. The library writes them once, and S issues one call where it issued dozens.
//      (One thing to know: eps is passed as T. Rounded to half, 1e-6 becomes 1.01e-6, and below 3e-8 it is 0.)
// Timeline: V is one bar per tile, and S has almost nothing to do. MTE2 sets the pace as in v5.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;

struct RmsNormTilingData {
    uint32_t rows;
    uint32_t length;        // elements of a row
    uint32_t tileRows;      // rows of a tile
    uint32_t tmpBytes;      // workspace of RmsNorm
    float eps;
    RmsNormTiling whole;    // of a tile of tileRows rows
    RmsNormTiling last;     // of the last tile
};

template <typename T>
class KernelRmsNorm {
public:
    __aicore__ inline KernelRmsNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, const RmsNormTilingData& data, TPipe* pipe)
    {
        tiling = data;
        uint32_t pitch = (tiling.length * sizeof(T) + 31) / 32 * 32;   // bytes: in UB a row starts on a data block
        xGm.SetGlobalBuffer((__gm__ T*)x, static_cast<uint64_t>(tiling.rows) * tiling.length);
        gammaGm.SetGlobalBuffer((__gm__ T*)gamma, tiling.length);
        yGm.SetGlobalBuffer((__gm__ T*)y, static_cast<uint64_t>(tiling.rows) * tiling.length);
        pipe->InitBuffer(gammaQueue, 1, pitch);
        pipe->InitBuffer(inQueue, BUFFER_NUM, tiling.tileRows * pitch);
        pipe->InitBuffer(outQueue, BUFFER_NUM, tiling.tileRows * pitch);
        pipe->InitBuffer(tmpBuf, tiling.tmpBytes);
    }

    __aicore__ inline void Process()
    {
        uint32_t tiles = (tiling.rows + tiling.tileRows - 1) / tiling.tileRows;
        if (GetBlockIdx() >= tiles) {
            return;   // more blocks than tiles: nothing to do here
        }
        CopyInGamma();
        gammaLocal = gammaQueue.template DeQue<T>();
        for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            bool isLast = tile + 1 == tiles;
            uint32_t count = isLast ? tiling.rows - tile * tiling.tileRows : tiling.tileRows;
            uint64_t start = static_cast<uint64_t>(tile) * tiling.tileRows * tiling.length;
            CopyIn(start, count);
            Compute(isLast ? tiling.last : tiling.whole);
            CopyOut(start, count);
        }
        gammaQueue.FreeTensor(gammaLocal);
    }

private:
    __aicore__ inline void CopyInGamma()
    {
        LocalTensor<T> local = gammaQueue.template AllocTensor<T>();
        DataCopyExtParams params{1, static_cast<uint32_t>(tiling.length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(local, gammaGm, params, padding);
        gammaQueue.EnQue(local);
    }

    __aicore__ inline void CopyIn(uint64_t start, uint32_t count)
    {
        LocalTensor<T> xLocal = inQueue.template AllocTensor<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(tiling.length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[start], params, padding);
        inQueue.EnQue(xLocal);
    }

    __aicore__ inline void Compute(const RmsNormTiling& shape)
    {
        LocalTensor<T> xLocal = inQueue.template DeQue<T>();
        LocalTensor<T> yLocal = outQueue.template AllocTensor<T>();
        LocalTensor<uint8_t> tmp = tmpBuf.Get<uint8_t>();
        RmsNorm(yLocal, xLocal, gammaLocal, tmp, static_cast<T>(tiling.eps), shape);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint64_t start, uint32_t count)
    {
        LocalTensor<T> yLocal = outQueue.template DeQue<T>();
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(tiling.length * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[start], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }

    TQue<TPosition::VECIN, 1> gammaQueue, inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> tmpBuf;
    GlobalTensor<T> xGm, gammaGm, yGm;
    LocalTensor<T> gammaLocal;
    RmsNormTilingData tiling;
};

extern "C" __global__ __aicore__ void rms_norm_half(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm<half> op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void rms_norm_float(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, RmsNormTilingData tiling)
{
    TPipe pipe;
    KernelRmsNorm<float> op;
    op.Init(x, gamma, y, tiling, &pipe);
    op.Process();
}
