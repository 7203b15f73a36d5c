// attention, v5: v4 with tasks smaller than a head, on all AI Cores, in an order that the host has planned.
// What changed: a task is one tile of queries of one head. A plan in GM says which tasks a block takes, one after the other.
// Why: 8 heads keep 8 of 24 AI Cores busy, and tiles of a causal mask need very different times. The plan knows both: it deals out
//      equal numbers, or equal work, or one task to each of many blocks, so that a core that has finished gets the next one.
// Timeline: as v4 on every core. What is left to gain is the time between the first core that ends and the last.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr uint32_t C0 = 16;                           // columns of a fractal
constexpr uint32_t FRACTAL = 256;                     // elements of a fractal: 16 x 16
constexpr uint32_t SLOTS = 2;                         // places for each hand-over: one is read while the other is filled
constexpr uint32_t HALF_ROWS = 64;                    // rows of one AIV at most
constexpr uint16_t SCORES_READY = 0, SHARES_READY = 1, OUTPUT_READY = 2;
constexpr float MINUS_INF = -__builtin_inff();
constexpr float LOWEST = -3.4028235e38f;              // of all finite float
constexpr float TINY = 1.1754944e-38f;

struct AttentionTiling {
    uint32_t batch;
    uint32_t heads;        // of q and o
    uint32_t kvHeads;      // of k and v: heads is a multiple of it
    uint32_t queries;
    uint32_t keys;
    uint32_t dim;          // elements of a row of q, k, v and o: at most 256
    uint32_t causal;       // 1: query i sees the keys 0 .. i + keys - queries
    uint32_t hasMask;      // 1: mask holds queries x keys bytes, and not 0 means hidden
    uint32_t maskPerBatch; // 1: every batch has its own mask
    uint32_t keepShares;   // 1: p, the probabilities, is an output of queries x keys for each head
    uint32_t rows;         // queries of a tile: a multiple of 16, at most 128
    uint32_t block;        // keys of a step: a multiple of 16
    uint32_t piece;        // keys that L0A and L0B take at once: a multiple of 16
    float scale;
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
    __aicore__ inline void SetUp(GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, const AttentionTiling& tiling, uint32_t block)
    {
        t = tiling;
        blockIdx = block;
        planGm.SetGlobalBuffer((__gm__ int32_t*)plan, GetBlockNum() + 1 + t.batch * t.heads * ((t.queries + t.rows - 1) / t.rows));
        outPitch = RoundUp(t.dim, C0);
        uint32_t scoreBytes = SLOTS * RoundUp(t.rows * t.block * sizeof(float), 512), outBytes = SLOTS * RoundUp(t.rows * outPitch * sizeof(float), 512);
        uint32_t shareBytes = SLOTS * RoundUp(t.rows * t.block * sizeof(T), 512);
        GM_ADDR mine = workspace + static_cast<uint64_t>(blockIdx) * (scoreBytes + outBytes + shareBytes);
        scoreGm.SetGlobalBuffer((__gm__ float*)mine, scoreBytes / sizeof(float));
        partGm.SetGlobalBuffer((__gm__ float*)(mine + scoreBytes), outBytes / sizeof(float));
        sharePitch = t.keepShares ? t.keys : t.block;
        if (t.keepShares) {
            shareGm.SetGlobalBuffer((__gm__ T*)p, static_cast<uint64_t>(t.batch) * t.heads * t.queries * t.keys);
        } else {
            shareGm.SetGlobalBuffer((__gm__ T*)(mine + scoreBytes + outBytes), shareBytes / sizeof(T));
        }
    }

    // The first step of a tile. A tile has at least one step, even if it sees no key.
    __aicore__ inline void Tile(Step& s, uint32_t head, uint32_t first)
    {
        s.head = head;
        s.first = first;
        s.key = 0;
        s.count = t.queries - first < t.rows ? t.queries - first : t.rows;
        s.last = Seen(s, s.count - 1);   // the last row sees most
    }

    __aicore__ inline bool Begin(Step& s)
    {
        s.slot = 0;
        s.task = 0;
        place = planGm.GetValue(blockIdx);
        end = planGm.GetValue(blockIdx + 1);
        return Take(s);
    }

    __aicore__ inline bool Take(Step& s)
    {
        if (place == end) {
            return false;
        }
        uint32_t task = planGm.GetValue(GetBlockNum() + 1 + place++), tiles = (t.queries + t.rows - 1) / t.rows;
        Tile(s, task / tiles, task % tiles * t.rows);
        return true;
    }

    __aicore__ inline bool Next(Step& s)
    {
        s.slot = (s.slot + 1) % SLOTS;
        s.key += t.block;
        if (s.key < s.last) {
            return true;
        }
        s.task++;
        return Take(s);
    }

    __aicore__ inline bool IsLast(const Step& s) const
    {
        return s.key + t.block >= s.last;
    }

    // Keys that row r of a tile sees: the later ones are hidden when the mask is causal.
    __aicore__ inline uint32_t Seen(const Step& s, uint32_t r) const
    {
        int64_t seen = static_cast<int64_t>(s.first) + r + 1 + t.keys - t.queries;
        return !t.causal || seen > t.keys ? t.keys : seen < 0 ? 0 : seen;
    }

    __aicore__ inline uint32_t Keys(uint32_t key) const
    {
        return t.keys - key < t.block ? t.keys - key : t.block;
    }

    __aicore__ inline uint64_t KeyRow(const Step& s) const   // of k and v, counted over all heads
    {
        return (static_cast<uint64_t>(s.head / t.heads) * t.kvHeads + s.head % t.heads / (t.heads / t.kvHeads)) * t.keys + s.key;
    }

    __aicore__ inline uint64_t QueryRow(const Step& s, uint32_t r) const
    {
        return static_cast<uint64_t>(s.head) * t.queries + s.first + r;
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
        return t.keepShares ? QueryRow(s, r) * t.keys + s.key : s.slot * (shareGm.GetSize() / SLOTS) + r * t.block;
    }

    AttentionTiling t;
    GlobalTensor<float> scoreGm, partGm;
    GlobalTensor<T> shareGm;
    GlobalTensor<int32_t> planGm;   // where the tasks of each block begin, and the tasks
    uint32_t blockIdx = 0;          // of the AI Core
    int32_t place = 0;
    int32_t end = 0;
    uint32_t outPitch = 0;     // of a row of partGm
    uint32_t sharePitch = 0;   // of a row of shareGm
};

template <typename T>
class CubeSide : public Walk<T> {
    using Base = Walk<T>;
    using Base::t;

public:
    __aicore__ inline CubeSide() {}

    __aicore__ inline void Init(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, const AttentionTiling& tiling, TPipe* pipe)
    {
        Base::SetUp(p, workspace, plan, tiling, GetBlockIdx());
        uint64_t keyElements = static_cast<uint64_t>(t.batch) * t.kvHeads * t.keys * t.dim;
        qGm.SetGlobalBuffer((__gm__ T*)q, static_cast<uint64_t>(t.batch) * t.heads * t.queries * t.dim);
        kGm.SetGlobalBuffer((__gm__ T*)k, keyElements);
        vGm.SetGlobalBuffer((__gm__ T*)v, keyElements);
        uint32_t dim = RoundUp(t.dim, C0), wide = dim > t.piece ? dim : t.piece;
        pipe->InitBuffer(queryQueue, 1, t.rows * dim * sizeof(T));
        pipe->InitBuffer(keyQueue, SLOTS, t.block * dim * sizeof(T));
        pipe->InitBuffer(valueQueue, SLOTS, t.block * dim * sizeof(T));
        pipe->InitBuffer(shareQueue, SLOTS, t.rows * t.block * sizeof(T));
        pipe->InitBuffer(leftQueue, SLOTS, t.rows * wide * sizeof(T));
        pipe->InitBuffer(rightQueue, SLOTS, t.piece * dim * sizeof(T));
        pipe->InitBuffer(sumQueue, SLOTS, t.rows * wide * sizeof(float));
    }

    __aicore__ inline void Process()
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

private:
    // rows x columns of GM become fractals in L1, column of fractals after column. Rows up to a multiple of 16 are filled with zeros.
    template <typename Queue>
    __aicore__ inline void Load(Queue& queue, const GlobalTensor<T>& from, uint32_t rows, uint32_t columns, uint32_t pitch)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        uint16_t whole = RoundUp(rows, C0), left = whole - rows, wide = RoundUp(columns, C0) / C0;
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

    // scores = q k^T, piece by piece of the keys. Rows of k are the columns of k^T: no transpose.
    __aicore__ inline void Scores(const Step& s)
    {
        if (s.key == 0) {
            if (queryLocal.GetSize() > 0) {
                queryQueue.FreeTensor(queryLocal);
            }
            Load(queryQueue, qGm[Base::QueryRow(s, 0) * t.dim], s.count, t.dim, t.dim);
            queryLocal = queryQueue.template DeQue<T>();
        }
        if (s.last == 0) {
            return;
        }
        uint32_t keys = Base::Keys(s.key), keyParts = RoundUp(keys, C0) / C0, depth = RoundUp(t.dim, C0) / C0, high = RoundUp(s.count, C0) / C0;
        Load(keyQueue, kGm[Base::KeyRow(s) * t.dim], keys, t.dim, t.dim);
        LocalTensor<T> keyLocal = keyQueue.template DeQue<T>();
        for (uint32_t start = 0; start < keys; start += t.piece) {
            uint32_t size = keys - start < t.piece ? keys - start : t.piece, parts = RoundUp(size, C0) / C0;
            LocalTensor<T> left = Left(queryLocal, high, depth), right = rightQueue.template AllocTensor<T>();
            for (uint32_t i = 0; i < depth; i++) {
                LoadData(right[i * parts * FRACTAL], keyLocal[(i * keyParts + start / C0) * FRACTAL], LoadData2DParams(0, parts, 1, 0, 0, false, 0));
            }
            rightQueue.EnQue(right);
            right = rightQueue.template DeQue<T>();
            LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
            Multiply(sum, left, right, s.count, size, t.dim, true);
            leftQueue.FreeTensor(left);
            rightQueue.FreeTensor(right);
            Store(Base::scoreGm[Base::ScoreAt(s, 0) + start], sum, s.count, size, t.block);
        }
        keyQueue.FreeTensor(keyLocal);
        CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY);
    }

    // part = p v: the pieces of the keys are added up in L0C. Rows of v are rows of the right operand: each fractal is transposed.
    __aicore__ inline void Output(const Step& s)
    {
        if (s.last == 0) {
            return;
        }
        uint32_t keys = Base::Keys(s.key), keyParts = RoundUp(keys, C0) / C0, wide = RoundUp(t.dim, C0) / C0, high = RoundUp(s.count, C0) / C0;
        Load(valueQueue, vGm[Base::KeyRow(s) * t.dim], keys, t.dim, t.dim);
        CrossCoreWaitFlag(SHARES_READY);
        Load(shareQueue, Base::shareGm[Base::ShareAt(s, 0)], s.count, keys, Base::sharePitch);
        LocalTensor<T> valueLocal = valueQueue.template DeQue<T>(), shareLocal = shareQueue.template DeQue<T>();
        LocalTensor<float> sum = sumQueue.template AllocTensor<float>();
        for (uint32_t start = 0; start < keys; start += t.piece) {
            uint32_t size = keys - start < t.piece ? keys - start : t.piece, parts = RoundUp(size, C0) / C0;
            LocalTensor<T> left = Left(shareLocal[start / C0 * high * FRACTAL], high, parts), right = rightQueue.template AllocTensor<T>();
            for (uint32_t i = 0; i < parts; i++) {
                LoadData(right[i * wide * FRACTAL], valueLocal[(start / C0 + i) * FRACTAL], LoadData2DParams(0, wide, keyParts, 0, 0, true, 0));
            }
            rightQueue.EnQue(right);
            right = rightQueue.template DeQue<T>();
            Multiply(sum, left, right, s.count, t.dim, size, start == 0);
            leftQueue.FreeTensor(left);
            rightQueue.FreeTensor(right);
        }
        Store(Base::partGm[Base::PartAt(s, 0)], sum, s.count, t.dim, Base::outPitch);
        valueQueue.FreeTensor(valueLocal);
        shareQueue.FreeTensor(shareLocal);
        CrossCoreSetFlag<2, PIPE_FIX>(OUTPUT_READY);
    }

    __aicore__ inline void Multiply(const LocalTensor<float>& sum, const LocalTensor<T>& left, const LocalTensor<T>& right, uint32_t rows, uint32_t columns, uint32_t depth, bool fresh)
    {
        MmadParams params;
        params.m = RoundUp(rows, C0);    // m = 1 would read the left operand as a plain vector
        params.n = columns;
        params.k = depth;
        params.cmatrixInitVal = fresh;
        Mmad(sum, left, right, params);
        if (params.m / C0 * (columns / C0) < 10) {
            PipeBarrier<PIPE_M>();       // small results: the next product may not overtake this one
        }
    }

    // L0C to GM, row by row.
    __aicore__ inline void Store(const GlobalTensor<float>& to, LocalTensor<float>& sum, uint32_t rows, uint32_t columns, uint32_t pitch)
    {
        sumQueue.EnQue(sum);
        sum = sumQueue.template DeQue<float>();
        FixpipeParamsV220 params;
        params.nSize = columns;
        params.mSize = rows;
        params.srcStride = RoundUp(rows, C0);
        params.dstStride = pitch;
        Fixpipe(to, sum, params);
        sumQueue.FreeTensor(sum);
    }

    TQue<TPosition::A1, 1> queryQueue, shareQueue;
    TQue<TPosition::B1, 1> keyQueue, valueQueue;
    TQue<TPosition::A2, 1> leftQueue;
    TQue<TPosition::B2, 1> rightQueue;
    TQue<TPosition::CO1, 1> sumQueue;
    GlobalTensor<T> qGm, kGm, vGm;
    LocalTensor<T> queryLocal;
};

template <typename T>
class VectorSide : public Walk<T> {
    using Base = Walk<T>;
    using Base::t;

public:
    __aicore__ inline VectorSide() {}

    __aicore__ inline void Init(GM_ADDR mask, GM_ADDR o, GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, const AttentionTiling& tiling, TPipe* pipe)
    {
        Base::SetUp(p, workspace, plan, tiling, GetBlockIdx() / 2);
        oGm.SetGlobalBuffer((__gm__ T*)o, static_cast<uint64_t>(t.batch) * t.heads * t.queries * t.dim);
        width = RoundUp(t.block, LANES);   // in UB a row of scores starts every `width` elements
        pitch = RoundUp(t.dim, LANES);     // and a row of o every `pitch`
        uint32_t rows = RoundUp((t.rows + 1) / 2, 8);
        pipe->InitBuffer(scoreQueue, SLOTS, rows * width * sizeof(float));
        pipe->InitBuffer(partQueue, 1, rows * pitch * sizeof(float));
        pipe->InitBuffer(outQueue, 1, rows * (width > pitch ? width : pitch) * sizeof(T));
        accRows = rows * pitch > 8 * width ? rows * pitch / width / 8 * 8 : 8;
        pipe->InitBuffer(accBuf, (rows * pitch > 8 * width ? rows * pitch : 8 * width) * sizeof(float));
        pipe->InitBuffer(foldBuf, rows * LANES * sizeof(float));
        pipe->InitBuffer(spreadBuf, rows * 32);
        pipe->InitBuffer(maxBuf, SLOTS * HALF_ROWS * sizeof(float));
        pipe->InitBuffer(sumBuf, SLOTS * HALF_ROWS * sizeof(float));
        pipe->InitBuffer(newBuf, HALF_ROWS * sizeof(float));
        pipe->InitBuffer(repairBuf, SLOTS * HALF_ROWS * sizeof(float));
        if (t.keepShares) {
            pipe->InitBuffer(historyBuf, SLOTS * ((t.keys + t.block - 1) / t.block) * HALF_ROWS * sizeof(float));
        }
        if (t.hasMask) {
            maskGm.SetGlobalBuffer((__gm__ uint8_t*)mask, static_cast<uint64_t>(t.maskPerBatch ? t.batch : 1) * t.queries * t.keys);
            uint32_t lanes = RoundUp(rows * width, 128);   // CompareScalar works on whole repeats of 128 half
            pipe->InitBuffer(maskQueue, 1, lanes);
            pipe->InitBuffer(numberBuf, lanes * sizeof(half));
            pipe->InitBuffer(bitsBuf, RoundUp(lanes / 8, 32));
        }
    }

    __aicore__ inline void Process()
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

private:
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

    __aicore__ inline LocalTensor<float> History(const Step& s)
    {
        return historyBuf.Get<float>()[(s.task % SLOTS * ((t.keys + t.block - 1) / t.block) + s.key / t.block) * HALF_ROWS];
    }

    // -inf for the keys of this block that a row does not see, and behind the last key.
    __aicore__ inline void Hide(const LocalTensor<float>& score, const Step& s, uint32_t keys)
    {
        if (t.hasMask) {
            LocalTensor<uint8_t> maskLocal = maskQueue.AllocTensor<uint8_t>(), bits = bitsBuf.Get<uint8_t>();
            LocalTensor<half> numbers = numberBuf.Get<half>();
            uint64_t at = static_cast<uint64_t>(t.maskPerBatch ? s.head / t.heads : 0) * t.queries + s.first + row;
            LoadRows(maskLocal, maskGm[at * t.keys + s.key], mine, keys, t.keys, width);
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
        Cast(share, score, RoundMode::CAST_RINT, mine * width);
        scoreQueue.FreeTensor(score);
        outQueue.EnQue(share);
        share = outQueue.template DeQue<T>();
        StoreRows(Base::shareGm[Base::ShareAt(s, row)], share, mine, keys, Base::sharePitch, width);
        outQueue.FreeTensor(share);
        if (t.keepShares) {
            Muls(History(s), max, 1.0f, mine);
        }
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
        Cast(oLocal, acc, RoundMode::CAST_RINT, mine * pitch);
        outQueue.EnQue(oLocal);
        oLocal = outQueue.template DeQue<T>();
        StoreRows(oGm[Base::QueryRow(s, row) * t.dim], oLocal, mine, t.dim, t.dim, pitch);
        outQueue.FreeTensor(oLocal);
        Step block = s;
        for (block.key = 0; t.keepShares && block.key < t.keys; block.key += t.block) {
            Normalise(block);
        }
    }

    // p was stored with the maximum of its time: p * exp(maximum then - maximum now) / sum is the probability.
    __aicore__ inline void Normalise(const Step& s)
    {
        uint32_t keys = Base::Keys(s.key), all = mine;
        LocalTensor<float> factor = newBuf.Get<float>(), wide = accBuf.Get<float>();
        if (s.key < s.last) {
            Sub(factor, History(s), OfTile(maxBuf, s), all);
            Exp(factor, factor, all);
            Mul(factor, factor, OfTile(sumBuf, s), all);
        }
        for (uint32_t r = 0; r < all; r += accRows) {   // as many rows of scores as accBuf holds
            mine = all - r < accRows ? all - r : accRows;
            LocalTensor<T> shareOut = outQueue.template AllocTensor<T>();
            if (s.key < s.last) {
                LocalTensor<T> shareIn = scoreQueue.template AllocTensor<T>();
                LoadRows(shareIn, Base::shareGm[Base::ShareAt(s, row + r)], mine, keys, t.keys, width);
                scoreQueue.EnQue(shareIn);
                shareIn = scoreQueue.template DeQue<T>();
                Cast(wide, shareIn, RoundMode::CAST_NONE, mine * width);
                scoreQueue.FreeTensor(shareIn);
                Each<false>(wide, factor[r], (keys + LANES - 1) / LANES, width);
            } else {
                Duplicate(wide, 0.0f, mine * width);   // blocks that the causal mask hides from all rows
            }
            Cast(shareOut, wide, RoundMode::CAST_RINT, mine * width);
            outQueue.EnQue(shareOut);
            shareOut = outQueue.template DeQue<T>();
            StoreRows(Base::shareGm[Base::ShareAt(s, row + r)], shareOut, mine, keys, t.keys, width);
            outQueue.FreeTensor(shareOut);
        }
        mine = all;
    }

    TQue<TPosition::VECIN, 1> scoreQueue, partQueue, maskQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> accBuf, foldBuf, spreadBuf, maxBuf, sumBuf, newBuf, repairBuf, historyBuf, numberBuf, bitsBuf;
    GlobalTensor<T> oGm;
    GlobalTensor<uint8_t> maskGm;
    uint32_t width = 0;
    uint32_t pitch = 0;
    uint32_t accRows = 0;
    uint32_t row = 0;    // of the tile: my first
    uint32_t mine = 0;   // rows of this AIV
};

template <typename T>
__aicore__ inline void Attention(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, const AttentionTiling& tiling)
{
    TPipe pipe;
    if ASCEND_IS_AIC {
        CubeSide<T> op;
        op.Init(q, k, v, p, workspace, plan, tiling, &pipe);
        op.Process();
    } else {
        VectorSide<T> op;
        op.Init(mask, o, p, workspace, plan, tiling, &pipe);
        op.Process();
    }
}

extern "C" __global__ __aicore__ void attention_half(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, AttentionTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    Attention<half>(q, k, v, mask, o, p, workspace, plan, tiling);
}

extern "C" __global__ __aicore__ void attention_bf16(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, GM_ADDR p, GM_ADDR workspace, GM_ADDR plan, AttentionTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    Attention<bfloat16_t>(q, k, v, mask, o, p, workspace, plan, tiling);
}
