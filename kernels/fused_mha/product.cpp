// product: c = a b + bias for groups of matrices, on cube cores alone. Six launches of it and a softmax are attention without fusion.
// What: tiles of c are dealt out in turns; each walks over the depth in steps of 256 B and adds in float. b may be given as columns.
//      A group is a batch and a head; each operand has its own distance from batch to batch, from head to head and from row to row.
// Why: every result goes to GM and comes back for the next launch. That is what the fused kernel is compared with.
// Timeline: MTE2 loads the next step while the cube multiplies. For a few tokens the launch takes longer than the work.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t SIDE = 16;                         // rows of a fractal, and its columns in L0C
constexpr uint32_t SLOTS = 2;                         // one is used while the other is filled

struct Operand {
    uint64_t batch;     // elements from one batch to the next
    uint64_t head;
    uint32_t row;
};

struct ProductTiling {
    Operand a, b, c;
    uint32_t batches;
    uint32_t heads;
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t byColumns;    // 1: b is n x k, its rows are the columns of the right operand
    uint32_t hasBias;      // 1: n float, for every row of c
    uint32_t rows;         // of a tile of c: a multiple of 16, at most 128
    uint32_t columns;      // of a tile of c: a multiple of 16, at most 128
};

__aicore__ inline uint32_t RoundUp(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

template <typename T>
class KernelProduct {
    static constexpr uint32_t C0 = 32 / sizeof(T);       // columns of a fractal
    static constexpr uint32_t FRACTAL = SIDE * C0;       // elements of a fractal
    static constexpr uint32_t DEPTH = 256 / sizeof(T);   // of a step

public:
    __aicore__ inline KernelProduct() {}

    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const ProductTiling& tiling, TPipe* pipe)
    {
        t = tiling;
        aGm.SetGlobalBuffer((__gm__ T*)a);
        bGm.SetGlobalBuffer((__gm__ T*)b);
        cGm.SetGlobalBuffer((__gm__ T*)c);
        biasGm.SetGlobalBuffer((__gm__ float*)bias, t.n);
        pipe->InitBuffer(aQueue, SLOTS, t.rows * DEPTH * sizeof(T));
        pipe->InitBuffer(bQueue, SLOTS, t.columns * DEPTH * sizeof(T));
        pipe->InitBuffer(biasQueue, 1, t.columns * sizeof(float));
        pipe->InitBuffer(leftQueue, SLOTS, t.rows * DEPTH * sizeof(T));
        pipe->InitBuffer(rightQueue, SLOTS, t.columns * DEPTH * sizeof(T));
        pipe->InitBuffer(tableQueue, 1, t.columns * sizeof(float));
        pipe->InitBuffer(sumQueue, SLOTS, t.rows * t.columns * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        uint32_t high = (t.m + t.rows - 1) / t.rows, across = (t.n + t.columns - 1) / t.columns;
        for (uint32_t task = GetBlockIdx(); task < t.batches * t.heads * high * across; task += GetBlockNum()) {
            uint32_t group = task / (high * across), row = task / across % high * t.rows, column = task % across * t.columns;
            Tile(group / t.heads, group % t.heads, row, column);
        }
    }

private:
    __aicore__ inline uint64_t At(const Operand& o, uint32_t batch, uint32_t head, uint32_t row, uint32_t column) const
    {
        return batch * o.batch + head * o.head + static_cast<uint64_t>(row) * o.row + column;
    }

    __aicore__ inline void Tile(uint32_t batch, uint32_t head, uint32_t row, uint32_t column)
    {
        uint32_t rows = t.m - row < t.rows ? t.m - row : t.rows, columns = t.n - column < t.columns ? t.n - column : t.columns;
        LocalTensor<float> table;
        if (t.hasBias) {
            table = BiasTable(biasGm[column], columns);
        }
        LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
        for (uint32_t depth = 0; depth < t.k; depth += DEPTH) {
            uint32_t size = t.k - depth < DEPTH ? t.k - depth : DEPTH;
            Load(aQueue, aGm[At(t.a, batch, head, row, depth)], rows, size, t.a.row);
            if (t.byColumns) {
                Load(bQueue, bGm[At(t.b, batch, head, column, depth)], columns, size, t.b.row);
            } else {
                Load(bQueue, bGm[At(t.b, batch, head, depth, column)], size, columns, t.b.row);
            }
            LocalTensor<T> left = Left(RoundUp(rows, SIDE) / SIDE, RoundUp(size, C0) / C0), right = Right(size, columns);
            MmadParams params;
            params.m = RoundUp(rows, SIDE);   // m = 1 would read the left operand as a plain vector
            params.n = columns;
            params.k = size;
            params.cmatrixInitVal = depth == 0 && !t.hasBias;
            if (depth == 0 && t.hasBias) {
                Mmad(sum, left, right, table, params);   // the bias is where the sum starts
            } else {
                Mmad(sum, left, right, params);
            }
            if (params.m / SIDE * (params.n / SIDE) < 10) {
                PipeBarrier<PIPE_M>();                   // small results: the next product may not overtake this one
            }
            leftQueue.FreeTensor(left);
            rightQueue.FreeTensor(right);
        }
        if (t.hasBias) {
            tableQueue.FreeTensor(table);
        }
        Store(cGm[At(t.c, batch, head, row, column)], sum, rows, columns);
    }

    // rows x columns of GM become fractals in L1, column of fractals after column. Rows up to a multiple of 16 are filled with zeros.
    template <typename Queue>
    __aicore__ inline void Load(Queue& queue, const GlobalTensor<T>& from, uint32_t rows, uint32_t columns, uint32_t pitch)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        uint16_t whole = RoundUp(rows, SIDE), left = whole - rows, wide = RoundUp(columns, C0) / C0;
        if (left > 0) {
            Fill(local[rows * C0], InitConstValueParams<T>(wide, left, static_cast<uint16_t>(rows), static_cast<T>(0.0f)));
        }
        DataCopy(local, from, Nd2NzParams{1, static_cast<uint16_t>(rows), static_cast<uint16_t>(columns), 0, static_cast<uint16_t>(pitch), whole, 1, 0});
        queue.EnQue(local);
    }

    __aicore__ inline LocalTensor<float> BiasTable(const GlobalTensor<float>& from, uint32_t columns)
    {
        LocalTensor<float> bias = biasQueue.template AllocTensor<float>(), table = tableQueue.template AllocTensor<float>();
        DataCopy(bias, from, Nd2NzParams{1, 1, static_cast<uint16_t>(columns), 0, static_cast<uint16_t>(columns), 1, 1, 0});   // a row with a padded end
        biasQueue.EnQue(bias);
        bias = biasQueue.template DeQue<float>();
        DataCopy(table, bias, RoundUp(columns, SIDE));
        tableQueue.EnQue(table);
        biasQueue.FreeTensor(bias);
        return tableQueue.template DeQue<float>();
    }

    __aicore__ inline LocalTensor<T> Left(uint32_t high, uint32_t depth)
    {
        LocalTensor<T> from = aQueue.template DeQue<T>(), to = leftQueue.template AllocTensor<T>();
        for (uint32_t i = 0; i < high; i++) {
            LoadData(to[i * depth * FRACTAL], from[i * FRACTAL], LoadData2DParams(0, depth, high, 0, 0, false, 0));
        }
        aQueue.FreeTensor(from);
        leftQueue.EnQue(to);
        return leftQueue.template DeQue<T>();
    }

    // b by rows: each fractal is transposed on the way to L0B; for float the 3D load does it. b by columns: the bytes are in order already.
    __aicore__ inline LocalTensor<T> Right(uint32_t size, uint32_t columns)
    {
        uint32_t depth = RoundUp(size, C0) / C0, wide = RoundUp(columns, SIDE) / SIDE;
        LocalTensor<T> from = bQueue.template DeQue<T>(), to = rightQueue.template AllocTensor<T>();
        if (t.byColumns) {
            LoadData(to, from, LoadData2DParams(0, depth * wide, 1, 0, 0, false, 0));
        } else if constexpr (sizeof(T) == 2) {
            for (uint32_t i = 0; i < depth; i++) {
                LoadData(to[i * wide * FRACTAL], from[i * FRACTAL], LoadData2DParams(0, wide, depth, 0, 0, true, 0));
            }
        } else {
            LoadData3DParamsV2<T> params;
            params.l1H = 1;
            params.l1W = RoundUp(size, SIDE);
            params.channelSize = RoundUp(columns, C0);
            params.kExtension = columns;
            params.mExtension = size;
            LoadData(to, from, params);
        }
        bQueue.FreeTensor(from);
        rightQueue.EnQue(to);
        return rightQueue.template DeQue<T>();
    }

    __aicore__ inline void Store(const GlobalTensor<T>& to, LocalTensor<float>& sum, uint32_t rows, uint32_t columns)
    {
        sumQueue.EnQue(sum);
        sum = sumQueue.template DeQue<float>();
        FixpipeParamsV220 params;
        params.nSize = columns;
        params.mSize = rows;
        params.srcStride = RoundUp(rows, SIDE);
        params.dstStride = t.c.row;
        params.quantPre = IsSameType<T, float>::value ? QuantMode_t::NoQuant : IsSameType<T, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
        Fixpipe(to, sum, params);
        sumQueue.FreeTensor(sum);
    }

    TQue<TPosition::A1, 1> aQueue;
    TQue<TPosition::B1, 1> bQueue;
    TQue<TPosition::C1, 1> biasQueue;
    TQue<TPosition::A2, 1> leftQueue;
    TQue<TPosition::B2, 1> rightQueue;
    TQue<TPosition::C2, 1> tableQueue;
    TQue<TPosition::CO1, 1> sumQueue;
    GlobalTensor<T> aGm, bGm, cGm;
    GlobalTensor<float> biasGm;
    ProductTiling t;
};

extern "C" __global__ __aicore__ void product_half(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, ProductTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    KernelProduct<half> op;
    op.Init(a, b, bias, c, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void product_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, ProductTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    KernelProduct<bfloat16_t> op;
    op.Init(a, b, bias, c, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void product_float(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, ProductTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    KernelProduct<float> op;
    op.Init(a, b, bias, c, tiling, &pipe);
    op.Process();
}
