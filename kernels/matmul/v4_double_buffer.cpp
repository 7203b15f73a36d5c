// matmul, v4: two buffers in L1, L0A and L0B.
// What changed: step i works in buffer i % 2. Each buffer has a flag that says "filled" and one that says "free".
// Why: in v3 the pipes take turns. With two buffers MTE2 loads the next step while MTE1 and M work on this one.
// Timeline: MTE2 works without holes, MTE1 and M in its shadow: the copies to L1 set the time. A block of C still waits for FIX.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t SIDE = 16;        // of a fractal of C
constexpr uint32_t FRACTAL = 512;    // bytes of a fractal
constexpr uint32_t BUFFERS = 2;

struct MatmulTiling {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t baseM;   // a block of C has baseM rows: a multiple of 16
    uint32_t baseN;   // and baseN columns: a multiple of 16
    uint32_t baseK;   // columns of A in one step: a multiple of 16
    uint32_t keep;    // steps of K whose blocks of A stay in L1: all of them, or 0 if they do not fit
};

__aicore__ inline uint32_t RoundUp(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

template <typename T, typename Out>
class KernelMatmul {
public:
    static constexpr uint32_t C0 = 32 / sizeof(T);                    // columns of a fractal in L1
    static constexpr uint32_t ELEMENTS = FRACTAL / sizeof(T);

    __aicore__ inline KernelMatmul() {}

    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulTiling& tiling, TPipe* pipe)
    {
        t = tiling;
        aGm.SetGlobalBuffer((__gm__ T*)a, static_cast<uint64_t>(t.m) * t.k);
        bGm.SetGlobalBuffer((__gm__ T*)b, static_cast<uint64_t>(t.k) * t.n);
        cGm.SetGlobalBuffer((__gm__ Out*)c, static_cast<uint64_t>(t.m) * t.n);
        pipe->InitBuffer(a1Buf, (t.keep > BUFFERS ? t.keep : BUFFERS) * t.baseM * t.baseK * sizeof(T));
        pipe->InitBuffer(b1Buf, BUFFERS * t.baseK * t.baseN * sizeof(T));
        pipe->InitBuffer(a2Buf, BUFFERS * t.baseM * t.baseK * sizeof(T));
        pipe->InitBuffer(b2Buf, BUFFERS * t.baseK * t.baseN * sizeof(T));
        pipe->InitBuffer(cBuf, t.baseM * t.baseN * sizeof(float));
        for (uint32_t i = 0; i < BUFFERS; i++) {
            l1Filled[i] = pipe->AllocEventID<HardEvent::MTE2_MTE1>();
            l1Free[i] = pipe->AllocEventID<HardEvent::MTE1_MTE2>();
            l0Filled[i] = pipe->AllocEventID<HardEvent::MTE1_M>();
            l0Free[i] = pipe->AllocEventID<HardEvent::M_MTE1>();
        }
    }

    __aicore__ inline void Process()
    {
        for (uint32_t i = 0; i < BUFFERS; i++) {   // at the start all buffers are free
            SetFlag<HardEvent::MTE1_MTE2>(l1Free[i]);
            SetFlag<HardEvent::M_MTE1>(l0Free[i]);
        }
        for (uint32_t row = 0; row < t.m; row += t.baseM) {
            for (uint32_t column = 0; column < t.n; column += t.baseN) {
                rows = t.m - row < t.baseM ? t.m - row : t.baseM;
                columns = t.n - column < t.baseN ? t.n - column : t.baseN;
                for (uint32_t k = 0; k < t.k; k += t.baseK) {
                    depth = t.k - k < t.baseK ? t.k - k : t.baseK;
                    Step(row, column, k);
                }
                Then<HardEvent::M_FIX>();
                CopyOut(row, column);
                Then<HardEvent::FIX_M>();
            }
        }
        for (uint32_t i = 0; i < BUFFERS; i++) {   // every set needs its wait
            WaitFlag<HardEvent::MTE1_MTE2>(l1Free[i]);
            WaitFlag<HardEvent::M_MTE1>(l0Free[i]);
        }
    }

private:
    // What the second pipe does from here on comes after all that the first one was given before.
    template <HardEvent event>
    __aicore__ inline void Then()
    {
        event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
        SetFlag<event>(id);
        WaitFlag<event>(id);
    }

    // S gives out all of it at once. Each pipe begins its part when its flag says so, while the others work on other steps.
    __aicore__ inline void Step(uint32_t row, uint32_t column, uint32_t k)
    {
        uint32_t i = step % BUFFERS, slot = t.keep > 1 ? k / t.baseK : t.keep == 1 ? row / t.baseM % BUFFERS : i;
        step++;
        a1 = a1Buf.Get<T>()[slot * t.baseM * t.baseK];
        b1 = b1Buf.Get<T>()[i * t.baseK * t.baseN];
        a2 = a2Buf.Get<T>()[i * t.baseM * t.baseK];
        b2 = b2Buf.Get<T>()[i * t.baseK * t.baseN];
        WaitFlag<HardEvent::MTE1_MTE2>(l1Free[i]);
        if (column == 0 || t.keep == 0) {
            CopyInA(row, k);
        }
        CopyInB(column, k);
        SetFlag<HardEvent::MTE2_MTE1>(l1Filled[i]);
        WaitFlag<HardEvent::MTE2_MTE1>(l1Filled[i]);
        WaitFlag<HardEvent::M_MTE1>(l0Free[i]);
        LoadA();
        LoadB();
        SetFlag<HardEvent::MTE1_MTE2>(l1Free[i]);
        SetFlag<HardEvent::MTE1_M>(l0Filled[i]);
        WaitFlag<HardEvent::MTE1_M>(l0Filled[i]);
        Multiply(k == 0);
        SetFlag<HardEvent::M_MTE1>(l0Free[i]);
    }

    // Rows of GM become fractals in L1, one column of fractals after the other (NZ).
    __aicore__ inline void CopyInA(uint32_t row, uint32_t k)
    {
        if (rows == 1) {   // Mmad with m = 1 would read A as a plain vector: a whole fractal of rows it is, zeros behind the first
            uint16_t groups = RoundUp(depth, C0) / C0, left = SIDE - 1;
            Fill(a1[C0], InitConstValueParams<T>(groups, left, static_cast<uint16_t>(SIDE - left), static_cast<T>(0.0f)));
        }
        DataCopy(a1, aGm[static_cast<uint64_t>(row) * t.k + k],
                 Nd2NzParams{1, static_cast<uint16_t>(rows), static_cast<uint16_t>(depth), 0, static_cast<uint16_t>(t.k), static_cast<uint16_t>(RoundUp(rows, SIDE)), 1, 0});
    }

    __aicore__ inline void CopyInB(uint32_t column, uint32_t k)
    {
        uint16_t highB = RoundUp(depth, SIDE);
        if (highB > depth) {   // rows of B behind the last one are multiplied with zeros of A: they must be numbers
            uint16_t left = highB - depth, groups = RoundUp(columns, C0) / C0;
            Fill(b1[depth * C0], InitConstValueParams<T>(groups, left, static_cast<uint16_t>(highB - left), static_cast<T>(0.0f)));
        }
        DataCopy(b1, bGm[static_cast<uint64_t>(k) * t.n + column],
                 Nd2NzParams{1, static_cast<uint16_t>(depth), static_cast<uint16_t>(columns), 0, static_cast<uint16_t>(t.n), highB, 1, 0});
    }

    // L0A wants rows of fractals (ZZ): fractal (i, j) of NZ is the (j * high + i)-th.
    __aicore__ inline void LoadA()
    {
        uint16_t high = RoundUp(rows, SIDE) / SIDE, wide = RoundUp(depth, C0) / C0;
        for (uint16_t i = 0; i < high; i++) {
            LoadData(a2[i * wide * ELEMENTS], a1[i * ELEMENTS], LoadData2DParams(0, wide, high, 0, 0, false, 0));
        }
    }

    // L0B wants rows of fractals, and each of them transposed (ZN). For float the 3D load does both.
    __aicore__ inline void LoadB()
    {
        if constexpr (sizeof(T) == 2) {
            uint16_t high = RoundUp(depth, SIDE) / SIDE, wide = RoundUp(columns, SIDE) / SIDE;
            for (uint16_t i = 0; i < high; i++) {
                LoadData(b2[i * wide * ELEMENTS], b1[i * ELEMENTS], LoadData2DParams(0, wide, high, 0, 0, true, 0));
            }
        } else {
            LoadData3DParamsV2<T> p;
            p.l1H = 1;
            p.l1W = RoundUp(depth, SIDE);
            p.channelSize = RoundUp(columns, C0);
            p.kExtension = columns;
            p.mExtension = depth;
            LoadData(b2, b1, p);
        }
    }

    __aicore__ inline void Multiply(bool first)
    {
        MmadParams p;
        p.m = rows == 1 ? SIDE : rows;
        p.n = columns;
        p.k = depth;
        p.cmatrixInitVal = first;        // the first step overwrites C, the others add to it
        Mmad(cBuf.Get<float>(), a2, b2, p);
        PipeBarrier<PIPE_M>();
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t column)
    {
        FixpipeParamsV220 p;
        p.nSize = columns;
        p.mSize = rows;
        p.srcStride = RoundUp(rows, SIDE);
        p.dstStride = t.n;
        if constexpr (sizeof(Out) == 2) {
            p.quantPre = QuantMode_t::F322F16;
        }
        Fixpipe(cGm[static_cast<uint64_t>(row) * t.n + column], cBuf.Get<float>(), p);
    }

    TBuf<TPosition::A1> a1Buf;
    TBuf<TPosition::B1> b1Buf;
    TBuf<TPosition::A2> a2Buf;
    TBuf<TPosition::B2> b2Buf;
    TBuf<TPosition::CO1> cBuf;
    LocalTensor<T> a1, b1, a2, b2;   // blocks of this step
    TEventID l1Filled[BUFFERS], l1Free[BUFFERS], l0Filled[BUFFERS], l0Free[BUFFERS];
    uint32_t step = 0;      // counted over all blocks of C
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<Out> cGm;
    MatmulTiling t;
    uint32_t rows = 0;      // of this block of A and C
    uint32_t columns = 0;   // of this block of B and C
    uint32_t depth = 0;     // columns of A in this step
};

template <typename T, typename Out>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulTiling& tiling)
{
    TPipe pipe;
    KernelMatmul<T, Out> op;
    op.Init(a, b, c, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<half, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_half_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<half, half>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_bfloat16(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<bfloat16_t, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<float, float>(a, b, c, tiling);
}
