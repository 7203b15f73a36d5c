// attention, v2: vector unit only, online softmax.
// What changed: only the scores of one block of keys are in UB. Maximum, sum and o of each row are right for the keys seen so far;
//      a larger maximum in a later block makes the sum and o too large by exp(new - old), and one product repairs each.
// Why: UB no longer depends on the number of keys. Rows of any length fit, more rows share a load of k and v, and blocks that a
//      causal mask hides completely are not even loaded.
// Timeline: as v1, V is busy almost all the time, now with one Exp and one product of o per block more.
#include "kernel_operator.h"
using namespace AscendC;

constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;                        // float in one repeat of 256 B
constexpr float MINUS_INF = -__builtin_inff();
constexpr float LOWEST = -3.4028235e38f;              // of all finite float
constexpr float TINY = 1.1754944e-38f;

struct AttentionTiling {
    uint32_t batch;
    uint32_t heads;        // of q and o
    uint32_t kvHeads;      // of k and v: heads is a multiple of it
    uint32_t queries;
    uint32_t keys;
    uint32_t dim;          // elements of a row of q, k, v and o
    uint32_t causal;       // 1: query i sees the keys 0 .. i + keys - queries
    uint32_t hasMask;      // 1: mask holds queries x keys bytes, and not 0 means hidden
    uint32_t maskPerBatch; // 1: every batch has its own mask
    uint32_t rows;         // queries of a task
    uint32_t block;        // keys moved at once: a multiple of 8, at most 192
    float scale;
};

template <typename T>
class KernelAttention {
public:
    __aicore__ inline KernelAttention() {}

    __aicore__ inline void Init(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, const AttentionTiling& tiling, TPipe* pipe)
    {
        t = tiling;
        pitch = (t.dim + LANES - 1) / LANES * LANES;       // in UB a row of q, k, v starts every `pitch` elements
        parts = pitch / LANES;
        width = (t.block + LANES - 1) / LANES * LANES;     // and a row of scores every `width`
        widthParts = width / LANES;
        foldPitch = (widthParts - widthParts / 2) * LANES;
        uint64_t queryElements = static_cast<uint64_t>(t.batch) * t.heads * t.queries * t.dim;
        uint64_t keyElements = static_cast<uint64_t>(t.batch) * t.kvHeads * t.keys * t.dim;
        qGm.SetGlobalBuffer((__gm__ T*)q, queryElements);
        kGm.SetGlobalBuffer((__gm__ T*)k, keyElements);
        vGm.SetGlobalBuffer((__gm__ T*)v, keyElements);
        oGm.SetGlobalBuffer((__gm__ T*)o, queryElements);
        uint32_t groups = (t.rows + 7) / 8;
        pipe->InitBuffer(qQueue, 1, t.rows * pitch * sizeof(T));
        pipe->InitBuffer(keyQueue, BUFFER_NUM, t.block * pitch * sizeof(T));
        pipe->InitBuffer(valueQueue, BUFFER_NUM, t.block * pitch * sizeof(T));
        pipe->InitBuffer(outQueue, 1, t.rows * pitch * sizeof(T));
        pipe->InitBuffer(qBuf, t.rows * pitch * sizeof(float));
        pipe->InitBuffer(keyBuf, t.block * pitch * sizeof(float));
        pipe->InitBuffer(productBuf, t.block * pitch * sizeof(float));
        pipe->InitBuffer(scoreBuf, t.rows * width * sizeof(float));
        pipe->InitBuffer(foldBuf, t.rows * foldPitch * sizeof(float));
        pipe->InitBuffer(accBuf, t.rows * pitch * sizeof(float));
        pipe->InitBuffer(resultBuf, groups * 32);
        pipe->InitBuffer(maxBuf, groups * 256);
        pipe->InitBuffer(sumBuf, groups * 256);
        pipe->InitBuffer(newBuf, groups * 256);
        pipe->InitBuffer(repairBuf, groups * 256);
        pipe->InitBuffer(oneBuf, groups * 256);
        pipe->InitBuffer(shareBuf, t.block * 32);
        if (t.hasMask) {
            maskGm.SetGlobalBuffer((__gm__ uint8_t*)mask, static_cast<uint64_t>(t.maskPerBatch ? t.batch : 1) * t.queries * t.keys);
            uint32_t lanes = (t.rows * width + 127) / 128 * 128;   // CompareScalar works on whole repeats of 128 half
            pipe->InitBuffer(maskQueue, 1, lanes);
            pipe->InitBuffer(numberBuf, lanes * sizeof(half));
            pipe->InitBuffer(bitsBuf, (lanes / 8 + 31) / 32 * 32);
        }
    }

    __aicore__ inline void Process()
    {
        uint32_t tiles = (t.queries + t.rows - 1) / t.rows;
        for (uint32_t task = GetBlockIdx(); task < t.batch * t.heads * tiles; task += GetBlockNum()) {
            uint32_t head = task / tiles;   // of all batches
            first = task % tiles * t.rows;
            count = t.queries - first < t.rows ? t.queries - first : t.rows;
            uint64_t kvHead = static_cast<uint64_t>(head / t.heads) * t.kvHeads + head % t.heads / (t.heads / t.kvHeads);
            uint64_t at = (static_cast<uint64_t>(head) * t.queries + first) * t.dim;
            LoadQueries(at);
            Start();
            uint32_t last = Seen(count - 1);   // the last row sees most
            for (uint32_t key = 0; key < last; key += t.block) {
                uint64_t from = (kvHead * t.keys + key) * t.dim;
                LoadKeys(keyQueue, kGm[from], Keys(key));
                LoadKeys(valueQueue, vGm[from], Keys(key));
                ToFloat(keyBuf.Get<float>(), keyQueue, Keys(key));
                Scores(Keys(key));
                Hide(head / t.heads, key);
                Exponentials();
                ToFloat(keyBuf.Get<float>(), valueQueue, Keys(key));
                Accumulate(Keys(key));
            }
            Store(at);
        }
    }

private:
    __aicore__ inline uint32_t Keys(uint32_t key) const
    {
        return t.keys - key < t.block ? t.keys - key : t.block;
    }

    // Keys that row r of this task sees: the later ones are hidden when the mask is causal.
    __aicore__ inline uint32_t Seen(uint32_t r) const
    {
        int64_t seen = static_cast<int64_t>(first) + r + 1 + t.keys - t.queries;
        return !t.causal || seen > t.keys ? t.keys : seen < 0 ? 0 : seen;
    }

    __aicore__ inline void ToFloat(const LocalTensor<float>& to, const LocalTensor<T>& from, uint32_t number)
    {
        if constexpr (sizeof(T) == 4) {
            Muls(to, from, 1.0f, number);
        } else {
            Cast(to, from, RoundMode::CAST_NONE, number);
        }
    }

    __aicore__ inline void LoadRows(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t number)
    {
        uint32_t gap = pitch * sizeof(T) / 32 - (t.dim * sizeof(T) + 31) / 32;
        DataCopyExtParams params{static_cast<uint16_t>(number), static_cast<uint32_t>(t.dim * sizeof(T)), 0, gap, 0};
        DataCopyPadExtParams<T> padding{false, 0, 0, 0};
        DataCopyPad(to, from, params, padding);
    }

    __aicore__ inline void LoadQueries(uint64_t at)
    {
        LocalTensor<T> qLocal = qQueue.template AllocTensor<T>();
        LoadRows(qLocal, qGm[at], count);
        qQueue.EnQue(qLocal);
        qLocal = qQueue.template DeQue<T>();
        LocalTensor<float> wide = qBuf.Get<float>();
        ToFloat(wide, qLocal, count * pitch);
        Muls(wide, wide, t.scale, count * pitch);
        qQueue.FreeTensor(qLocal);
    }

    __aicore__ inline void LoadKeys(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<T>& from, uint32_t keys)
    {
        LocalTensor<T> local = queue.template AllocTensor<T>();
        LoadRows(local, from, keys);
        queue.EnQue(local);
    }

    __aicore__ inline void ToFloat(const LocalTensor<float>& to, TQue<TPosition::VECIN, 1>& queue, uint32_t keys)
    {
        LocalTensor<T> local = queue.template DeQue<T>();
        ToFloat(to, local, keys * pitch);
        queue.FreeTensor(local);
    }

    // Elements of part p of a row: lanes behind the end of a row take no part.
    __aicore__ inline uint64_t Lanes(uint32_t p) const
    {
        return t.dim - p * LANES < LANES ? t.dim - p * LANES : LANES;
    }

    // scores[r][j] = sum of q[r] * k[j]: products of 64 elements in one repeat, and one sum per repeat.
    __aicore__ inline void Scores(uint32_t keys)
    {
        LocalTensor<float> q = qBuf.Get<float>(), k = keyBuf.Get<float>(), product = productBuf.Get<float>(), score = scoreBuf.Get<float>();
        LocalTensor<float> more = product[t.block * LANES];
        uint8_t next = pitch / 8, keyCount = keys;
        for (uint32_t r = 0; r < count; r++) {
            Mul(product, k, q[r * pitch], Lanes(0), keyCount, {1, 1, 1, 8, next, 0});   // repeat stride 0: the same row of q each time
            for (uint32_t p = 1; p < parts; p++) {
                Mul(more, k[p * LANES], q[r * pitch + p * LANES], Lanes(p), keyCount, {1, 1, 1, 8, next, 0});
                Add(product, product, more, Lanes(p), keyCount, {1, 1, 1, 8, 8, 8});
            }
            WholeReduceSum(score[r * width], product, Lanes(0), keyCount, 1, 1, 8);
        }
    }

    // -inf for the keys of this block that a row does not see, and behind the last key.
    __aicore__ inline void Hide(uint32_t batch, uint32_t key)
    {
        LocalTensor<float> score = scoreBuf.Get<float>();
        uint32_t keys = Keys(key);
        if (t.hasMask) {
            LocalTensor<uint8_t> maskLocal = maskQueue.AllocTensor<uint8_t>(), bits = bitsBuf.Get<uint8_t>();
            LocalTensor<half> numbers = numberBuf.Get<half>();
            uint64_t row = static_cast<uint64_t>(t.maskPerBatch ? batch : 0) * t.queries + first;
            DataCopyExtParams params{static_cast<uint16_t>(count), keys, t.keys - keys, width / 32 - (keys + 31) / 32, 0};
            DataCopyPadExtParams<uint8_t> padding{false, 0, 0, 0};
            DataCopyPad(maskLocal, maskGm[row * t.keys + key], params, padding);
            maskQueue.EnQue(maskLocal);
            maskLocal = maskQueue.DeQue<uint8_t>();
            Cast(numbers, maskLocal, RoundMode::CAST_NONE, count * width);
            CompareScalar(bits, numbers, static_cast<half>(0), CMPMODE::EQ, (count * width + 127) / 128 * 128);
            Select(score, bits, score, MINUS_INF, SELMODE::VSEL_TENSOR_SCALAR_MODE, count * width);
            maskQueue.FreeTensor(maskLocal);
        }
        for (uint32_t r = 0; r < count; r++) {
            uint32_t seen = Seen(r) < key ? 0 : Seen(r) - key < keys ? Seen(r) - key : keys, whole = (seen + LANES - 1) / LANES * LANES;
            if (seen < whole) {
                uint64_t lanes[2] = {~0ULL << (LANES - (whole - seen)), 0};
                Duplicate(score[r * width + whole - LANES], MINUS_INF, lanes, 1, 1, 8);
            }
            if (whole < width) {
                Duplicate(score[r * width + whole], MINUS_INF, width - whole);
            }
        }
    }

    template <bool isMax>
    __aicore__ inline void Join(const LocalTensor<float>& to, const LocalTensor<float>& a, const LocalTensor<float>& b, uint32_t number)
    {
        if constexpr (isMax) {
            Max(to, a, b, number);
        } else {
            Add(to, a, b, number);
        }
    }

    // spread = maximum, or sum, of each row of scores: 8 copies, one block of 32 B, for each row.
    template <bool isMax>
    __aicore__ inline void Reduce(const LocalTensor<float>& spread)
    {
        LocalTensor<float> score = scoreBuf.Get<float>(), fold = foldBuf.Get<float>(), result = resultBuf.Get<float>();
        uint32_t pairs = widthParts / 2, keep = widthParts - pairs;
        for (uint32_t r = 0; r < count; r++) {
            if (pairs > 0) {
                Join<isMax>(fold[r * foldPitch], score[r * width], score[r * width + keep * LANES], pairs * LANES);
            }
            if (keep > pairs) {   // an odd number of parts: the middle one has no partner
                Muls(fold[r * foldPitch + pairs * LANES], score[r * width + pairs * LANES], 1.0f, LANES);
            }
            for (uint32_t left = keep; left > 1; left -= left / 2) {
                Join<isMax>(fold[r * foldPitch], fold[r * foldPitch], fold[r * foldPitch + (left - left / 2) * LANES], left / 2 * LANES);
            }
        }
        if constexpr (isMax) {
            WholeReduceMax(result, fold, LANES, count, 1, 1, foldPitch / 8, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            WholeReduceSum(result, fold, LANES, count, 1, 1, foldPitch / 8);
        }
        Brcb(spread, result, (count + 7) / 8, {1, 8});
    }

    // The state of a row that has seen no key. The maximum is finite: -inf - (-inf) would be NaN.
    __aicore__ inline void Start()
    {
        uint32_t number = (count + 7) / 8 * 64;
        Duplicate(maxBuf.Get<float>(), LOWEST, number);
        Duplicate(sumBuf.Get<float>(), 0.0f, number);
        Duplicate(accBuf.Get<float>(), 0.0f, count * pitch);
    }

    // Row by row, all elements of a row of `rows` are combined with the one block of 32 B of that row: block stride 0.
    __aicore__ inline void SubEach(const LocalTensor<float>& rows, const LocalTensor<float>& each, uint32_t size)
    {
        for (uint32_t r = 0; r < count; r++) {
            Sub(rows[r * size], rows[r * size], each[r * 8], LANES, size / LANES, {1, 1, 0, 8, 8, 0});
        }
    }

    __aicore__ inline void MulEach(const LocalTensor<float>& rows, const LocalTensor<float>& each, uint32_t size)
    {
        for (uint32_t r = 0; r < count; r++) {
            Mul(rows[r * size], rows[r * size], each[r * 8], LANES, size / LANES, {1, 1, 0, 8, 8, 0});
        }
    }

    // Scores become exp(score - maximum); maximum, sum and acc now stand for the keys up to this block.
    __aicore__ inline void Exponentials()
    {
        LocalTensor<float> score = scoreBuf.Get<float>(), max = maxBuf.Get<float>(), sum = sumBuf.Get<float>();
        LocalTensor<float> found = newBuf.Get<float>(), repair = repairBuf.Get<float>();
        uint32_t number = count * 8;
        Reduce<true>(found);
        Max(found, found, max, number);
        Sub(repair, max, found, number);
        Exp(repair, repair, number);
        Muls(max, found, 1.0f, number);
        SubEach(score, max, width);
        Exp(score, score, count * width);
        Reduce<false>(found);
        Mul(sum, sum, repair, number);
        Add(sum, sum, found, number);
        MulEach(accBuf.Get<float>(), repair, pitch);
    }

    // acc[r] += sum of share[j] * v[j]: each row of v times its number, then halves of the rows are added until one is left.
    __aicore__ inline void Accumulate(uint32_t keys)
    {
        LocalTensor<float> v = keyBuf.Get<float>(), product = productBuf.Get<float>(), score = scoreBuf.Get<float>();
        LocalTensor<float> share = shareBuf.Get<float>(), acc = accBuf.Get<float>();
        uint8_t next = pitch / 8, keyCount = keys;
        for (uint32_t r = 0; r < count; r++) {
            Brcb(share, score[r * width], (keys + 7) / 8, {1, 8});
            for (uint32_t p = 0; p < parts; p++) {
                Mul(product[p * LANES], v[p * LANES], share, Lanes(p), keyCount, {1, 1, 0, next, next, 1});
            }
            for (uint32_t left = keys; left > 1; left -= left / 2) {
                Add(product, product, product[(left - left / 2) * pitch], left / 2 * pitch);
            }
            Add(acc[r * pitch], acc[r * pitch], product, pitch);
        }
    }

    __aicore__ inline void Store(uint64_t at)
    {
        LocalTensor<T> oLocal = outQueue.template AllocTensor<T>();
        LocalTensor<float> acc = accBuf.Get<float>(), sum = sumBuf.Get<float>(), one = oneBuf.Get<float>();
        Maxs(sum, sum, TINY, count * 8);     // a row that sees no key: 0 / 0 would be NaN
        Duplicate(one, 1.0f, count * 8);
        Div(sum, one, sum, count * 8);
        MulEach(acc, sum, pitch);
        if constexpr (sizeof(T) == 4) {
            Muls(oLocal, acc, 1.0f, count * pitch);
        } else {
            Cast(oLocal, acc, RoundMode::CAST_RINT, count * pitch);
        }
        outQueue.EnQue(oLocal);
        oLocal = outQueue.template DeQue<T>();
        uint32_t gap = pitch * sizeof(T) / 32 - (t.dim * sizeof(T) + 31) / 32;
        DataCopyExtParams params{static_cast<uint16_t>(count), static_cast<uint32_t>(t.dim * sizeof(T)), gap, 0, 0};
        DataCopyPad(oGm[at], oLocal, params);
        outQueue.FreeTensor(oLocal);
    }

    TQue<TPosition::VECIN, 1> qQueue, keyQueue, valueQueue, maskQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    TBuf<TPosition::VECCALC> qBuf, keyBuf, productBuf, scoreBuf, foldBuf, accBuf, resultBuf, shareBuf, numberBuf, bitsBuf;
    TBuf<TPosition::VECCALC> maxBuf, sumBuf, newBuf, repairBuf, oneBuf;
    GlobalTensor<T> qGm, kGm, vGm, oGm;
    GlobalTensor<uint8_t> maskGm;
    AttentionTiling t;
    uint32_t pitch = 0;
    uint32_t parts = 0;
    uint32_t width = 0;
    uint32_t widthParts = 0;
    uint32_t foldPitch = 0;
    uint32_t first = 0;   // query of this task
    uint32_t count = 0;   // queries of this task
};

extern "C" __global__ __aicore__ void attention_half(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, AttentionTiling tiling)
{
    TPipe pipe;
    KernelAttention<half> op;
    op.Init(q, k, v, mask, o, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void attention_bf16(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, AttentionTiling tiling)
{
    TPipe pipe;
    KernelAttention<bfloat16_t> op;
    op.Init(q, k, v, mask, o, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void attention_float(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR mask, GM_ADDR o, AttentionTiling tiling)
{
    TPipe pipe;
    KernelAttention<float> op;
    op.Init(q, k, v, mask, o, tiling, &pipe);
    op.Process();
}
