// matmul, v6: all cube cores.
// What changed: the host splits C into one part for each core, and every core multiplies its rows of A with its columns of B.
// Why: 24 cores. The tiling of the host weighs the products of a core against the bytes it has to load.
// Timeline: all cores load at once and share HBM and the L2 cache, so M waits for bytes more often. The set-up of the object,
//      which v5 hides in its length, is a fifth of the time.
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using namespace matmul;

template <typename T, typename Out>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR c, const TCubeTiling& tiling)
{
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>,
           MatmulType<TPosition::GM, CubeFormat::ND, Out>, MatmulType<TPosition::GM, CubeFormat::ND, float>, CFG_MDL> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    // Blocks 0, 1, 2 ... take the parts of C downwards, then the next columns. The parts at the edges are smaller.
    int32_t block = GetBlockIdx(), down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    if (block >= tiling.usedCoreNum) {
        return;
    }
    uint64_t row = static_cast<uint64_t>(block % down) * tiling.singleCoreM, column = static_cast<uint64_t>(block / down) * tiling.singleCoreN;
    int32_t rows = tiling.M - row < tiling.singleCoreM ? tiling.M - row : tiling.singleCoreM;
    int32_t columns = tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN;
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<Out> cGm;
    aGm.SetGlobalBuffer((__gm__ T*)a, static_cast<uint64_t>(tiling.M) * tiling.Ka);
    bGm.SetGlobalBuffer((__gm__ T*)b, static_cast<uint64_t>(tiling.Kb) * tiling.N);
    cGm.SetGlobalBuffer((__gm__ Out*)c, static_cast<uint64_t>(tiling.M) * tiling.N);
    mm.SetTail(rows, columns);
    mm.SetTensorA(aGm[row * tiling.Ka]);
    mm.SetTensorB(bGm[column]);
    mm.IterateAll(cGm[row * tiling.N + column]);
    mm.End();
}

extern "C" __global__ __aicore__ void matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<half, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_half_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<half, half>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_bfloat16(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<bfloat16_t, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, TCubeTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Run<float, float>(a, b, c, tiling);
}
