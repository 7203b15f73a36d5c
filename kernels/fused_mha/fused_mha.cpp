// fused_mha: y = attention(x Wq + bq, x Wk + bk, x Wv + bv) Wo + bo in one launch.
// What: the AICs project x, all cores meet, AIC and AIV pairs do the attention of chapter 08, all cores meet, the AICs project again.
//      q, k, v and the attention of all heads side by side stay in a workspace, as rows of x: a head is a range of columns.
// Why: one launch instead of seven, and the scores, the largest of all results between, never exist as a whole.
// Timeline: three stages with a meeting of all cores between them. In the first and the last the AIVs have nothing to do.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr uint32_t SIDE = 16;                         // rows of a fractal, and its columns in L0C
constexpr uint32_t SLOTS = 2;                         // places for each hand-over: one is read while the other is filled
constexpr uint32_t HALF_ROWS = 64;                    // rows of one AIV at most
constexpr uint16_t SCORES_READY = 0, SHARES_READY = 1, OUTPUT_READY = 2;
constexpr float MINUS_INF = -__builtin_inff();
constexpr float LOWEST = -3.4028235e38f;              // of all finite float
constexpr float TINY = 1.1754944e-38f;

struct MhaTiling {
    uint32_t batch;
    uint32_t seq;
    uint32_t hidden;       // elements of a token: heads * dim
    uint32_t heads;
    uint32_t dim;          // of a head: at most 256
    uint32_t causal;       // 1: token i sees the tokens 0 .. i
    uint32_t hasMask;      // 1: mask holds seq x seq bytes, and not 0 means hidden
    uint32_t maskPerBatch; // 1: every batch has its own mask
    uint32_t hasBias;      // 1: there are four biases, in float
    uint32_t rows;         // tokens of a tile: a multiple of 16, at most 128
    uint32_t columns;      // of a tile of a projection: a multiple of 16, at most 128
    uint32_t block;        // keys of a step: a multiple of 16
    uint32_t piece;        // keys that L0A and L0B take at once: a multiple of 16
    float scale;
};

struct Inputs {
    GM_ADDR x;
    GM_ADDR weight[4];     // of q, k, v and the output: hidden x hidden, rows are inputs
    GM_ADDR bias[4];
};

__aicore__ inline uint32_t RoundUp(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

// One block of keys for one tile of queries.
struct Step {
    uint32_t head;    // of all batches
    uint32_t first;   // query
    uint32_t count;   // queries
    uint32_t last;    // keys that this tile sees
    uint32_t key;     // first of this step
    uint32_t slot;
    uint32_t task;    // tiles so far
};

// Both kinds of cores walk over the same tasks and blocks of keys, and find each other's results at the same places.
template <typename T>
class Walk {
protected:
    __aicore__ inline void SetUp(GM_ADDR workspace, const MhaTiling& tiling, uint32_t block)
    {
        t = tiling;
        blockIdx = block;
        matrix = static_cast<uint64_t>(t.batch) * t.seq * t.hidden;
        outPitch = RoundUp(t.dim, SIDE);
        uint64_t shared = (4 * matrix * sizeof(T) + 511) / 512 * 512;
        uint32_t scoreBytes = SLOTS * RoundUp(t.rows * t.block * sizeof(float), 512), outBytes = SLOTS * RoundUp(t.rows * outPitch * sizeof(float), 512);
        uint32_t shareBytes = SLOTS * RoundUp(t.rows * t.block * sizeof(T), 512);
        GM_ADDR mine = workspace + shared + static_cast<uint64_t>(block) * (scoreBytes + outBytes + shareBytes);
        projectedGm.SetGlobalBuffer((__gm__ T*)workspace, 3 * matrix);
        contextGm.SetGlobalBuffer((__gm__ T*)workspace + 3 * matrix, matrix);
        scoreGm.SetGlobalBuffer((__gm__ float*)mine, scoreBytes / sizeof(float));
        partGm.SetGlobalBuffer((__gm__ float*)(mine + scoreBytes), outBytes / sizeof(float));
        shareGm.SetGlobalBuffer((__gm__ T*)(mine + scoreBytes + outBytes), shareBytes / sizeof(T));
    }

    // The tiles of all heads in turns. A tile has at least one step.
    __aicore__ inline bool Tile(Step& s, uint32_t task)
    {
        uint32_t tiles = (t.seq + t.rows - 1) / t.rows;
        s.head = task / tiles;
        s.first = task % tiles * t.rows;
        s.key = 0;
        s.count = t.seq - s.first < t.rows ? t.seq - s.first : t.rows;
        s.last = Seen(s, s.count - 1);   // the last row sees most
        return s.head < t.batch * t.heads;
    }

    __aicore__ inline bool Begin(Step& s)
    {
        s.slot = 0;
        s.task = 0;
        return Tile(s, blockIdx);
    }

    __aicore__ inline bool Next(Step& s)
    {
        s.slot = (s.slot + 1) % SLOTS;
        s.key += t.block;
        return s.key < s.last || Tile(s, blockIdx + ++s.task * GetBlockNum());
    }

    __aicore__ inline bool IsLast(const Step& s) const
    {
        return s.key + t.block >= s.last;
    }

    // Keys that row r of a tile sees: the later ones are hidden when the mask is causal.
    __aicore__ inline uint32_t Seen(const Step& s, uint32_t r) const
    {
        return t.causal ? s.first + r + 1 : t.seq;
    }

    __aicore__ inline uint32_t Keys(uint32_t key) const
    {
        return t.seq - key < t.block ? t.seq - key : t.block;
    }

    // The columns of this head in a token of this batch.
    __aicore__ inline uint64_t RowAt(const Step& s, uint32_t token) const
    {
        return (static_cast<uint64_t>(s.head / t.heads) * t.seq + token) * t.hidden + s.head % t.heads * t.dim;
    }

    __aicore__ inline uint64_t ScoreAt(const Step& s, uint32_t r) const
    {
        return s.slot * (scoreGm.GetSize() / SLOTS) + r * t.block;
    }

    __aicore__ inline uint64_t PartAt(const Step& s, uint32_t r) const
    {
        return s.slot * (partGm.GetSize() / SLOTS) + r * outPitch;
    }

    __aicore__ inline uint64_t ShareAt(const Step& s, uint32_t r) const
    {
        return s.slot * (shareGm.GetSize() / SLOTS) + r * t.block;
    }

    MhaTiling t;
    GlobalTensor<T> projectedGm;   // q, k and v
    GlobalTensor<T> contextGm;     // what the heads found, side by side
    GlobalTensor<float> scoreGm, partGm;
    GlobalTensor<T> shareGm;
    uint64_t matrix = 0;           // elements of x
    uint32_t blockIdx = 0;         // of the AI Core
    uint32_t outPitch = 0;         // of a row of partGm
};

template <typename T>
class CubeSide : public Walk<T> {
    using Base = Walk<T>;
    using Base::t;
    static constexpr uint32_t C0 = 32 / sizeof(T);       // columns of a fractal
    static constexpr uint32_t FRACTAL = SIDE * C0;       // elements of a fractal
    static constexpr uint32_t DEPTH = 256 / sizeof(T);   // of a step of a projection

public:
    __aicore__ inline CubeSide() {}

    __aicore__ inline void Init(const Inputs& inputs, GM_ADDR y, GM_ADDR workspace, const MhaTiling& tiling, TPipe* pipe)
    {
        Base::SetUp(workspace, tiling, GetBlockIdx());
        uint64_t tokens = static_cast<uint64_t>(t.batch) * t.seq, weights = static_cast<uint64_t>(t.hidden) * t.hidden;
        xGm.SetGlobalBuffer((__gm__ T*)inputs.x, tokens * t.hidden);
        yGm.SetGlobalBuffer((__gm__ T*)y, tokens * t.hidden);
        for (uint32_t i = 0; i < 4; i++) {
            weightGm[i].SetGlobalBuffer((__gm__ T*)inputs.weight[i], weights);
            biasGm[i].SetGlobalBuffer((__gm__ float*)inputs.bias[i], t.hidden);
        }
        uint32_t dim = RoundUp(t.dim, SIDE), most = dim > t.piece ? dim : t.piece;
        uint32_t deep = most > DEPTH ? most : DEPTH, wide = most > t.columns ? most : t.columns;
        uint32_t left = t.block > DEPTH ? t.block : DEPTH, right = t.block * dim > DEPTH * t.columns ? t.block * dim : DEPTH * t.columns;
        pipe->InitBuffer(queryQueue, 1, t.rows * dim * sizeof(T));
        pipe->InitBuffer(keyQueue, SLOTS, t.block * dim * sizeof(T));
        pipe->InitBuffer(valueQueue, SLOTS, right * sizeof(T));
        pipe->InitBuffer(shareQueue, SLOTS, t.rows * left * sizeof(T));
        pipe->InitBuffer(biasQueue, 1, t.columns * sizeof(float));
        pipe->InitBuffer(leftQueue, SLOTS, t.rows * deep * sizeof(T));
        pipe->InitBuffer(rightQueue, SLOTS, (t.piece * dim > DEPTH * t.columns ? t.piece * dim : DEPTH * t.columns) * sizeof(T));
        pipe->InitBuffer(tableQueue, 1, t.columns * sizeof(float));
        pipe->InitBuffer(sumQueue, SLOTS, t.rows * wide * sizeof(float));
    }

    __aicore__ inline void Process()
    {
        Project(3, xGm, weightGm, biasGm, Base::projectedGm);
        SyncAll<false>();   // q, k and v are complete
        Attend();
        SyncAll<false>();   // and now the context is
        Project(1, Base::contextGm, weightGm + 3, biasGm + 3, yGm);
    }

private:
    // to[m] = from * weight[m] + bias[m] for `number` matrices, cut into tiles which the blocks take in turns.
    __aicore__ inline void Project(uint32_t number, const GlobalTensor<T>& from, GlobalTensor<T>* weights, GlobalTensor<float>* biases, const GlobalTensor<T>& to)
    {
        uint32_t tokens = t.batch * t.seq, high = (tokens + t.rows - 1) / t.rows, across = (t.hidden + t.columns - 1) / t.columns;
        for (uint32_t task = GetBlockIdx(); task < number * high * across; task += GetBlockNum()) {
            uint32_t m = task / (high * across), row = task / across % high * t.rows, column = task % across * t.columns;
            uint32_t rows = tokens - row < t.rows ? tokens - row : t.rows, columns = t.hidden - column < t.columns ? t.hidden - column : t.columns;
            LocalTensor<float> table;
            if (t.hasBias) {
                table = BiasTable(biases[m][column], columns);
            }
            LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
            for (uint32_t depth = 0; depth < t.hidden; depth += DEPTH) {
                uint32_t size = t.hidden - depth < DEPTH ? t.hidden - depth : DEPTH, parts = RoundUp(size, C0) / C0;
                Load(shareQueue, from[static_cast<uint64_t>(row) * t.hidden + depth], rows, size, t.hidden);
                Load(valueQueue, weights[m][static_cast<uint64_t>(depth) * t.hidden + column], size, columns, t.hidden);
                LocalTensor<T> a = shareQueue.template DeQue<T>(), b = valueQueue.template DeQue<T>();
                LocalTensor<T> left = Left(a, RoundUp(rows, SIDE) / SIDE, parts), right = Right(b, size, columns, size);
                shareQueue.FreeTensor(a);
                valueQueue.FreeTensor(b);
                MmadParams params = Product(rows, columns, size, depth == 0 && !t.hasBias);
                if (t.hasBias && depth == 0) {
                    Mmad(sum, left, right, table, params);   // the bias is where the sum starts
                } else {
                    Mmad(sum, left, right, params);
                }
                After(params);
                leftQueue.FreeTensor(left);
                rightQueue.FreeTensor(right);
            }
            if (t.hasBias) {
                tableQueue.FreeTensor(table);
            }
            Store(to[(static_cast<uint64_t>(m) * tokens + row) * t.hidden + column], sum, rows, columns, t.hidden);
        }
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

    __aicore__ inline void Attend()
    {
        Step ahead, now;
        bool more = Base::Begin(ahead);
        if (more) {
            Scores(ahead);
        }
        while (more) {
            now = ahead;
            more = Base::Next(ahead);
            if (more) {
                Scores(ahead);   // before the wait: the AIVs find the next scores when they have finished these
            }
            Output(now);
        }
        if (queryLocal.GetSize() > 0) {
            queryQueue.FreeTensor(queryLocal);
        }
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

    // Left operand of the cube: `columns` columns of fractals of an L1 matrix with `high` rows of them become rows of fractals in L0A.
    __aicore__ inline LocalTensor<T> Left(const LocalTensor<T>& from, uint32_t high, uint32_t columns)
    {
        LocalTensor<T> local = leftQueue.template AllocTensor<T>();
        for (uint32_t i = 0; i < high; i++) {
            LoadData(local[i * columns * FRACTAL], from[i * FRACTAL], LoadData2DParams(0, columns, high, 0, 0, false, 0));
        }
        leftQueue.EnQue(local);
        return leftQueue.template DeQue<T>();
    }

    // Right operand: rows x columns of an L1 matrix with `all` rows. Each fractal is transposed on the way to L0B; for float the 3D load does it.
    __aicore__ inline LocalTensor<T> Right(const LocalTensor<T>& from, uint32_t rows, uint32_t columns, uint32_t all)
    {
        LocalTensor<T> local = rightQueue.template AllocTensor<T>();
        if constexpr (sizeof(T) == 2) {
            uint32_t depth = RoundUp(rows, SIDE) / SIDE, wide = RoundUp(columns, SIDE) / SIDE, high = RoundUp(all, SIDE) / SIDE;
            for (uint32_t i = 0; i < depth; i++) {
                LoadData(local[i * wide * FRACTAL], from[i * FRACTAL], LoadData2DParams(0, wide, high, 0, 0, true, 0));
            }
        } else {
            LoadData3DParamsV2<T> params;
            params.l1H = 1;
            params.l1W = RoundUp(all, SIDE);
            params.channelSize = RoundUp(columns, C0);
            params.kExtension = columns;
            params.mExtension = rows;
            LoadData(local, from, params);
        }
        rightQueue.EnQue(local);
        return rightQueue.template DeQue<T>();
    }

    // scores = q k^T, piece by piece of the keys. Rows of k are the columns of k^T: no transpose.
    __aicore__ inline void Scores(const Step& s)
    {
        if (s.key == 0) {
            if (queryLocal.GetSize() > 0) {
                queryQueue.FreeTensor(queryLocal);
            }
            Load(queryQueue, Base::projectedGm[Base::RowAt(s, s.first)], s.count, t.dim, t.hidden);
            queryLocal = queryQueue.template DeQue<T>();
        }
        if (s.last == 0) {
            return;
        }
        uint32_t keys = Base::Keys(s.key), keyParts = RoundUp(keys, SIDE) / SIDE, depth = RoundUp(t.dim, C0) / C0, high = RoundUp(s.count, SIDE) / SIDE;
        Load(keyQueue, Base::projectedGm[Base::matrix + Base::RowAt(s, s.key)], keys, t.dim, t.hidden);
        LocalTensor<T> keyLocal = keyQueue.template DeQue<T>();
        for (uint32_t start = 0; start < keys; start += t.piece) {
            uint32_t size = keys - start < t.piece ? keys - start : t.piece, parts = RoundUp(size, SIDE) / SIDE;
            LocalTensor<T> left = Left(queryLocal, high, depth), right = rightQueue.template AllocTensor<T>();
            for (uint32_t i = 0; i < depth; i++) {
                LoadData(right[i * parts * FRACTAL], keyLocal[(i * keyParts + start / SIDE) * FRACTAL], LoadData2DParams(0, parts, 1, 0, 0, false, 0));
            }
            rightQueue.EnQue(right);
            right = rightQueue.template DeQue<T>();
            LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
            MmadParams params = Product(s.count, size, t.dim, true);
            Mmad(sum, left, right, params);
            After(params);
            leftQueue.FreeTensor(left);
            rightQueue.FreeTensor(right);
            Store(Base::scoreGm[Base::ScoreAt(s, 0) + start], sum, s.count, size, t.block);
        }
        keyQueue.FreeTensor(keyLocal);
        CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    // part = p v: the pieces of the keys are added up in L0C.
    __aicore__ inline void Output(const Step& s)
    {
        if (s.last == 0) {
            return;
        }
        uint32_t keys = Base::Keys(s.key), high = RoundUp(s.count, SIDE) / SIDE;
        Load(valueQueue, Base::projectedGm[2 * Base::matrix + Base::RowAt(s, s.key)], keys, t.dim, t.hidden);
        CrossCoreWaitFlag(SHARES_READY);
        Load(shareQueue, Base::shareGm[Base::ShareAt(s, 0)], s.count, keys, t.block);
        LocalTensor<T> valueLocal = valueQueue.template DeQue<T>(), shareLocal = shareQueue.template DeQue<T>();
        LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
        for (uint32_t start = 0; start < keys; start += t.piece) {
            uint32_t size = keys - start < t.piece ? keys - start : t.piece;
            LocalTensor<T> left = Left(shareLocal[start * high * SIDE], high, RoundUp(size, C0) / C0), right = Right(valueLocal[start * C0], size, t.dim, keys);
            MmadParams params = Product(s.count, t.dim, size, start == 0);
            Mmad(sum, left, right, params);
            After(params);
            leftQueue.FreeTensor(left);
            rightQueue.FreeTensor(right);
        }
        Store(Base::partGm[Base::PartAt(s, 0)], sum, s.count, t.dim, Base::outPitch);
        valueQueue.FreeTensor(valueLocal);
        shareQueue.FreeTensor(shareLocal);
        CrossCoreSetFlag<2, PIPE_FIX>(OUTPUT_READY);
    }

    __aicore__ inline MmadParams Product(uint32_t rows, uint32_t columns, uint32_t depth, bool fresh) const
    {
        MmadParams params;
        params.m = RoundUp(rows, SIDE);   // m = 1 would read the left operand as a plain vector
        params.n = columns;
        params.k = depth;
        params.cmatrixInitVal = fresh;
        return params;
    }

    // Small results: the next product may not overtake this one.
    __aicore__ inline void After(const MmadParams& params)
    {
        if (params.m / SIDE * (params.n / SIDE) < 10) {
            PipeBarrier<PIPE_M>();
        }
    }

    // L0C to GM, row by row; results of the projections are rounded on the way.
    template <typename U>
    __aicore__ inline void Store(const GlobalTensor<U>& to, LocalTensor<float>& sum, uint32_t rows, uint32_t columns, uint32_t pitch)
    {
        sumQueue.EnQue(sum);
        sum = sumQueue.template DeQue<float>();
        FixpipeParamsV220 params;
        params.nSize = columns;
        params.mSize = rows;
        params.srcStride = RoundUp(rows, SIDE);
        params.dstStride = pitch;
        params.quantPre = IsSameType<U, float>::value ? QuantMode_t::NoQuant : IsSameType<U, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
        Fixpipe(to, sum, params);
        sumQueue.FreeTensor(sum);
    }

    TQue<TPosition::A1, 1> queryQueue, shareQueue;
    TQue<TPosition::B1, 1> keyQueue, valueQueue;
    TQue<TPosition::A2, 1> leftQueue;
    TQue<TPosition::B2, 1> rightQueue;
    TQue<TPosition::CO1, 1> sumQueue;
    TQue<TPosition::C1, 1> biasQueue;
    TQue<TPosition::C2, 1> tableQueue;
    GlobalTensor<T> xGm, yGm, weightGm[4];
    GlobalTensor<float> biasGm[4];
    LocalTensor<T> queryLocal;
};

template <typename T>
class VectorSide : public Walk<T> {
    using Base = Walk<T>;
    using Base::t;

public:
    __aicore__ inline VectorSide() {}

    __aicore__ inline void Init(GM_ADDR mask, GM_ADDR workspace, const MhaTiling& tiling, TPipe* pipe)
    {
        Base::SetUp(workspace, tiling, GetBlockIdx() / 2);
        width = RoundUp(t.block, LANES);   // in UB a row of scores starts every `width` elements
        pitch = RoundUp(t.dim, LANES);     // and a row of o every `pitch`
        uint32_t rows = RoundUp((t.rows + 1) / 2, 8);
        pipe->InitBuffer(scoreQueue, SLOTS, rows * width * sizeof(float));
        pipe->InitBuffer(partQueue, 1, rows * pitch * sizeof(float));
        pipe->InitBuffer(outQueue, 1, rows * (width > pitch ? width : pitch) * sizeof(T));
        pipe->InitBuffer(accBuf, rows * pitch * sizeof(float));
        pipe->InitBuffer(foldBuf, rows * LANES * sizeof(float));
        pipe->InitBuffer(spreadBuf, rows * 32);
        pipe->InitBuffer(maxBuf, SLOTS * HALF_ROWS * sizeof(float));
        pipe->InitBuffer(sumBuf, SLOTS * HALF_ROWS * sizeof(float));
        pipe->InitBuffer(newBuf, HALF_ROWS * sizeof(float));
        pipe->InitBuffer(repairBuf, SLOTS * HALF_ROWS * sizeof(float));
        if (t.hasMask) {
            maskGm.SetGlobalBuffer((__gm__ uint8_t*)mask, static_cast<uint64_t>(t.maskPerBatch ? t.batch : 1) * t.seq * t.seq);
            uint32_t lanes = RoundUp(rows * width, 128);   // CompareScalar works on whole repeats of 128 half
            pipe->InitBuffer(maskQueue, 1, lanes);
            pipe->InitBuffer(numberBuf, lanes * sizeof(half));
            pipe->InitBuffer(bitsBuf, RoundUp(lanes / 8, 32));
        }
    }

    __aicore__ inline void Process()
    {
        SyncAll<false>();   // q, k and v are complete
        Attend();
        SyncAll<false>();   // and now the context is
    }

private:
    __aicore__ inline void Attend()
    {
        Step ahead, now;
        bool more = Base::Begin(ahead);
        if (more) {
            Shares(ahead);
        }
        while (more) {
            now = ahead;
            more = Base::Next(ahead);
            if (more) {
                Shares(ahead);
            }
            Accumulate(now);
            if (Base::IsLast(now)) {
                Finish(now);
            }
        }
    }

    // Two-dimensional copies between GM and UB: `columns` of each of my rows.
    template <typename U>
    __aicore__ inline void LoadRows(const LocalTensor<U>& to, const GlobalTensor<U>& from, uint32_t rows, uint32_t columns, uint32_t fromPitch, uint32_t toPitch)
    {
        uint32_t gap = toPitch * sizeof(U) / 32 - (columns * sizeof(U) + 31) / 32, hole = (fromPitch - columns) * sizeof(U);
        DataCopyExtParams params{static_cast<uint16_t>(rows), static_cast<uint32_t>(columns * sizeof(U)), hole, gap, 0};
        DataCopyPadExtParams<U> padding{false, 0, 0, 0};
        DataCopyPad(to, from, params, padding);
    }

    __aicore__ inline void StoreRows(const GlobalTensor<T>& to, const LocalTensor<T>& from, uint32_t rows, uint32_t columns, uint32_t toPitch, uint32_t fromPitch)
    {
        uint32_t gap = fromPitch * sizeof(T) / 32 - (columns * sizeof(T) + 31) / 32, hole = (toPitch - columns) * sizeof(T);
        DataCopyExtParams params{static_cast<uint16_t>(rows), static_cast<uint32_t>(columns * sizeof(T)), gap, hole, 0};
        DataCopyPad(to, from, params);
    }

    __aicore__ inline void Split(const Step& s)
    {
        uint32_t half = (s.count + 1) / 2;
        row = GetSubBlockIdx() == 0 ? 0 : half;
        mine = GetSubBlockIdx() == 0 ? half : s.count - half;
    }

    // Numbers of each row: those of a tile are needed until it is finished, when the next tile has begun.
    __aicore__ inline LocalTensor<float> OfTile(TBuf<TPosition::VECCALC>& buf, const Step& s)
    {
        return buf.Get<float>()[s.task % SLOTS * HALF_ROWS];
    }

    // -inf for the keys of this block that a row does not see, and behind the last key.
    __aicore__ inline void Hide(const LocalTensor<float>& score, const Step& s, uint32_t keys)
    {
        if (t.hasMask) {
            LocalTensor<uint8_t> maskLocal = maskQueue.AllocTensor<uint8_t>(), bits = bitsBuf.Get<uint8_t>();
            LocalTensor<half> numbers = numberBuf.Get<half>();
            uint64_t at = static_cast<uint64_t>(t.maskPerBatch ? s.head / t.heads : 0) * t.seq + s.first + row;
            LoadRows(maskLocal, maskGm[at * t.seq + s.key], mine, keys, t.seq, width);
            maskQueue.EnQue(maskLocal);
            maskLocal = maskQueue.DeQue<uint8_t>();
            Cast(numbers, maskLocal, RoundMode::CAST_NONE, mine * width);
            CompareScalar(bits, numbers, static_cast<half>(0), CMPMODE::EQ, RoundUp(mine * width, 128));
            Select(score, bits, score, MINUS_INF, SELMODE::VSEL_TENSOR_SCALAR_MODE, mine * width);
            maskQueue.FreeTensor(maskLocal);
        }
        uint32_t used = RoundUp(keys, LANES);
        for (uint32_t r = 0; r < mine && (keys < used || Base::Seen(s, row) < s.key + keys); r++) {
            uint32_t sees = Base::Seen(s, row + r), seen = sees < s.key ? 0 : sees - s.key < keys ? sees - s.key : keys, whole = RoundUp(seen, LANES);
            if (seen < whole) {
                uint64_t lanes[2] = {~0ULL << (LANES - (whole - seen)), 0};
                Duplicate(score[r * width + whole - LANES], MINUS_INF, lanes, 1, 1, 8);
            }
            if (whole < used) {
                Duplicate(score[r * width + whole], MINUS_INF, used - whole);
            }
        }
    }

    // result[r] = maximum, or sum, of the first 64 * parts elements of row r of scores. BlockReduce is cheaper than WholeReduce.
    template <bool isMax>
    __aicore__ inline void Reduce(const LocalTensor<float>& result, const LocalTensor<float>& score, uint32_t parts)
    {
        LocalTensor<float> fold = foldBuf.Get<float>(), spread = spreadBuf.Get<float>();
        uint8_t next = width / 8, rows = mine;
        for (uint32_t p = 1; p < parts; p++) {   // all rows at once: the repeat goes from row to row
            const LocalTensor<float>& sofar = p == 1 ? score : fold;
            BinaryRepeatParams params{1, 1, 1, 8, p == 1 ? next : static_cast<uint8_t>(8), next};
            if constexpr (isMax) {
                Max(fold, sofar, score[p * LANES], LANES, rows, params);
            } else {
                Add(fold, sofar, score[p * LANES], LANES, rows, params);
            }
        }
        BlockReduce<isMax>(spread, parts == 1 ? score : fold, rows, LANES, parts == 1 ? width / 8 : 8);   // eight numbers of each row
        if (mine >= 8) {
            BlockReduce<isMax>(result, spread, mine / 8, LANES, 8);
        }
        if (mine % 8 > 0) {
            BlockReduce<isMax>(result[mine / 8 * 8], spread[mine / 8 * LANES], 1, mine % 8 * 8, 8);
        }
    }

    template <bool isMax>
    __aicore__ inline void BlockReduce(const LocalTensor<float>& to, const LocalTensor<float>& from, uint32_t repeats, uint32_t lanes, uint32_t next)
    {
        if constexpr (isMax) {
            BlockReduceMax(to, from, repeats, lanes, 1, 1, next);
        } else {
            BlockReduceSum(to, from, repeats, lanes, 1, 1, next);
        }
    }

    // Each number fills a block of 32 B, which block stride 0 then gives to all lanes: row r of `rows` times (or minus) number r.
    template <bool isSub>
    __aicore__ inline void Each(const LocalTensor<float>& rows, const LocalTensor<float>& numbers, uint32_t parts, uint32_t size)
    {
        LocalTensor<float> spread = spreadBuf.Get<float>();
        uint8_t next = size / 8, number = mine;
        Brcb(spread, numbers, (mine + 7) / 8, {1, 8});
        for (uint32_t p = 0; p < parts; p++) {
            if constexpr (isSub) {
                Sub(rows[p * LANES], rows[p * LANES], spread, LANES, number, {1, 1, 0, next, next, 1});
            } else {
                Mul(rows[p * LANES], rows[p * LANES], spread, LANES, number, {1, 1, 0, next, next, 1});
            }
        }
    }

    // Cast to float would round to whole numbers.
    __aicore__ inline void FromFloat(const LocalTensor<T>& to, const LocalTensor<float>& from, uint32_t count)
    {
        if constexpr (sizeof(T) == 2) {
            Cast(to, from, RoundMode::CAST_RINT, count);
        } else {
            Muls(to, from, 1.0f, count);
        }
    }

    // p = exp(score - maximum) of a block; maximum and sum now stand for the keys up to this block.
    __aicore__ inline void Shares(const Step& s)
    {
        Split(s);
        LocalTensor<float> max = OfTile(maxBuf, s), sum = OfTile(sumBuf, s);
        if (s.key == 0) {   // no key seen yet. The maximum is finite: -inf - (-inf) would be NaN
            Duplicate(max, LOWEST, HALF_ROWS);
            Duplicate(sum, 0.0f, HALF_ROWS);
        }
        if (s.last == 0) {
            return;
        }
        CrossCoreWaitFlag(SCORES_READY);
        if (mine > 0) {
            Exponentials(s, max, sum);
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(SHARES_READY);
    }

    __aicore__ inline void Exponentials(const Step& s, const LocalTensor<float>& max, const LocalTensor<float>& sum)
    {
        uint32_t keys = Base::Keys(s.key), parts = (keys + LANES - 1) / LANES;
        LocalTensor<float> score = scoreQueue.AllocTensor<float>();
        LoadRows(score, Base::scoreGm[Base::ScoreAt(s, row)], mine, keys, t.block, width);
        scoreQueue.EnQue(score);
        score = scoreQueue.DeQue<float>();
        Muls(score, score, t.scale, mine * width);
        Hide(score, s, keys);
        LocalTensor<float> found = newBuf.Get<float>(), repair = repairBuf.Get<float>()[s.slot * HALF_ROWS];
        Reduce<true>(found, score, parts);
        Max(found, found, max, mine);
        Sub(repair, max, found, mine);
        Exp(repair, repair, mine);
        Muls(max, found, 1.0f, mine);
        Each<true>(score, max, parts, width);
        Exp(score, score, mine * width);
        Reduce<false>(found, score, parts);
        Mul(sum, sum, repair, mine);
        Add(sum, sum, found, mine);
        LocalTensor<T> share = outQueue.template AllocTensor<T>();
        FromFloat(share, score, mine * width);
        scoreQueue.FreeTensor(score);
        outQueue.EnQue(share);
        share = outQueue.template DeQue<T>();
        StoreRows(Base::shareGm[Base::ShareAt(s, row)], share, mine, keys, t.block, width);
        outQueue.FreeTensor(share);
    }

    // acc = acc * exp(old maximum - new maximum) + p v
    __aicore__ inline void Accumulate(const Step& s)
    {
        Split(s);
        LocalTensor<float> acc = accBuf.Get<float>();
        if (s.key == 0 && mine > 0) {
            Duplicate(acc, 0.0f, mine * pitch);
        }
        if (s.last == 0) {
            return;
        }
        CrossCoreWaitFlag(OUTPUT_READY);
        if (mine == 0) {
            return;
        }
        LocalTensor<float> part = partQueue.AllocTensor<float>();
        LoadRows(part, Base::partGm[Base::PartAt(s, row)], mine, t.dim, Base::outPitch, pitch);
        partQueue.EnQue(part);
        part = partQueue.DeQue<float>();
        Each<false>(acc, repairBuf.Get<float>()[s.slot * HALF_ROWS], pitch / LANES, pitch);
        Add(acc, acc, part, mine * pitch);
        partQueue.FreeTensor(part);
    }

    __aicore__ inline void Finish(const Step& s)
    {
        if (mine == 0) {
            return;
        }
        LocalTensor<float> acc = accBuf.Get<float>(), sum = OfTile(sumBuf, s), one = newBuf.Get<float>();
        Maxs(sum, sum, TINY, mine);         // a row that sees no key: 0 / 0 would be NaN
        Duplicate(one, 1.0f, mine);
        Div(sum, one, sum, mine);
        Each<false>(acc, sum, pitch / LANES, pitch);
        LocalTensor<T> oLocal = outQueue.template AllocTensor<T>();
        FromFloat(oLocal, acc, mine * pitch);
        outQueue.EnQue(oLocal);
        oLocal = outQueue.template DeQue<T>();
        StoreRows(Base::contextGm[Base::RowAt(s, s.first + row)], oLocal, mine, t.dim, t.hidden, pitch);
        outQueue.FreeTensor(oLocal);
    }

    TQue<TPosition::VECIN, 1> scoreQueue, partQueue, maskQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> accBuf, foldBuf, spreadBuf, maxBuf, sumBuf, newBuf, repairBuf, numberBuf, bitsBuf;
    GlobalTensor<uint8_t> maskGm;
    uint32_t width = 0;
    uint32_t pitch = 0;
    uint32_t row = 0;    // of the tile: my first
    uint32_t mine = 0;   // rows of this AIV
};

template <typename T>
__aicore__ inline void FusedMha(const Inputs& inputs, GM_ADDR mask, GM_ADDR y, GM_ADDR workspace, const MhaTiling& tiling)
{
    TPipe pipe;
    if ASCEND_IS_AIC {
        CubeSide<T> op;
        op.Init(inputs, y, workspace, tiling, &pipe);
        op.Process();
    } else {
        VectorSide<T> op;
        op.Init(mask, workspace, tiling, &pipe);
        op.Process();
    }
}

extern "C" __global__ __aicore__ void fused_mha_half(GM_ADDR x, GM_ADDR wq, GM_ADDR wk, GM_ADDR wv, GM_ADDR wo,
    GM_ADDR bq, GM_ADDR bk, GM_ADDR bv, GM_ADDR bo, GM_ADDR mask, GM_ADDR y, GM_ADDR workspace, MhaTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    FusedMha<half>(Inputs{x, {wq, wk, wv, wo}, {bq, bk, bv, bo}}, mask, y, workspace, tiling);
}

extern "C" __global__ __aicore__ void fused_mha_bf16(GM_ADDR x, GM_ADDR wq, GM_ADDR wk, GM_ADDR wv, GM_ADDR wo,
    GM_ADDR bq, GM_ADDR bk, GM_ADDR bv, GM_ADDR bo, GM_ADDR mask, GM_ADDR y, GM_ADDR workspace, MhaTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    FusedMha<bfloat16_t>(Inputs{x, {wq, wk, wv, wo}, {bq, bk, bv, bo}}, mask, y, workspace, tiling);
}

extern "C" __global__ __aicore__ void fused_mha_float(GM_ADDR x, GM_ADDR wq, GM_ADDR wk, GM_ADDR wv, GM_ADDR wo,
    GM_ADDR bq, GM_ADDR bk, GM_ADDR bv, GM_ADDR bo, GM_ADDR mask, GM_ADDR y, GM_ADDR workspace, MhaTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    FusedMha<float>(Inputs{x, {wq, wk, wv, wo}, {bq, bk, bv, bo}}, mask, y, workspace, tiling);
}
