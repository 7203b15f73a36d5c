// matmul, v1: C = A * B with the scalar unit, one core.
// What: three loops over rows, columns and K. Every element of A and B is read from GM by GetValue, every sum is float.
// Why: the loops say exactly what is computed. All later versions must agree with them.
// Timeline: only the scalar unit is busy. It needs about 30 cycles for one product; the cube makes 4096 products in one cycle.
#include "kernel_operator.h"
using namespace AscendC;

struct MatmulTiling {
    uint32_t m;   // rows of A and C
    uint32_t n;   // columns of B and C
    uint32_t k;   // columns of A, rows of B
};

template <typename T>
__aicore__ inline float Wide(T value)
{
    if constexpr (std::is_same<T, bfloat16_t>::value) {
        return ToFloat(value);
    } else {
        return static_cast<float>(value);
    }
}

template <typename T, typename Out>
class KernelMatmul {
public:
    __aicore__ inline KernelMatmul() {}

    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulTiling& tiling)
    {
        t = tiling;
        aGm.SetGlobalBuffer((__gm__ T*)a, static_cast<uint64_t>(t.m) * t.k);
        bGm.SetGlobalBuffer((__gm__ T*)b, static_cast<uint64_t>(t.k) * t.n);
        cGm.SetGlobalBuffer((__gm__ Out*)c, static_cast<uint64_t>(t.m) * t.n);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t i = 0; i < t.m; i++) {
            for (uint32_t j = 0; j < t.n; j++) {
                float sum = 0;
                for (uint32_t k = 0; k < t.k; k++) {
                    sum += Wide(aGm.GetValue(i * t.k + k)) * Wide(bGm.GetValue(k * t.n + j));
                }
                cGm.SetValue(i * t.n + j, static_cast<Out>(sum));
            }
        }
        // What S wrote lies in its data cache until it is told to go on to GM.
        DataCacheCleanAndInvalid<Out, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(cGm);
    }

private:
    MatmulTiling t;
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<Out> cGm;
};

template <typename T, typename Out>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR c, const MatmulTiling& tiling)
{
    KernelMatmul<T, Out> op;
    op.Init(a, b, c, tiling);
    op.Process();
}

extern "C" __global__ __aicore__ void matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_half_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half, half>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_bfloat16(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<bfloat16_t, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<float, float>(a, b, c, tiling);
}
