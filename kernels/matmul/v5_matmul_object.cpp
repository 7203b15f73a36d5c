// matmul, v5: the Matmul object, one core.
// What changed: the library runs the loops, the copies and the flags. The host fills its tiling, a TCubeTiling.
// Why: 12 lines instead of 200, and any shape, type or transpose. L1 takes whole packages of blocks, as many as fit.
// Timeline: long copies to L1 before they are needed. M works most of the time; before the first copy the object reads its tiling.
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
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<Out> cGm;
    aGm.SetGlobalBuffer((__gm__ T*)a, static_cast<uint64_t>(tiling.M) * tiling.Ka);
    bGm.SetGlobalBuffer((__gm__ T*)b, static_cast<uint64_t>(tiling.Kb) * tiling.N);
    cGm.SetGlobalBuffer((__gm__ Out*)c, static_cast<uint64_t>(tiling.M) * tiling.N);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);
    mm.IterateAll(cGm);
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
