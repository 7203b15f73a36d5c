// The Matmul object as the runtime sees it: what its types and its config say, and the calls on it.
#pragma once
#include "base.h"

struct TCubeTiling;

namespace twin {

struct MatmulSide {
    DType type = DType::None;
    uint8_t pos = 0, format = 0, trans = 0, layout = 0, share = 0;   // TPosition, CubeFormat, ISTRANS, LayoutMode, IBSHARE
};

// Callbacks, with the tensor taken apart; null = the library's own way.
struct MatmulHooks {
    void (*copy_out)(const void* gm, const LocalRef* tile, const void* params, uint64_t tiling, uint64_t data) = nullptr;
    void (*copy_a)(const LocalRef* to, const void* gm, int row, int col, int rows, int cols, uint64_t tiling, uint64_t data) = nullptr;
    void (*copy_b)(const LocalRef* to, const void* gm, int row, int col, int rows, int cols, uint64_t tiling, uint64_t data) = nullptr;
};

struct MatmulSetup {
    MatmulSide a, b, c, bias;
    MatmulHooks hooks;
    uint8_t packages = 0;            // MDL: L1 is filled a package at a time
    uint8_t order = 2;               // IterateOrder; UNDEF = as the tiling says
    uint8_t outer_product = 0, partial_output = 0, channel_split = 0, bias_per_batch = 1, n_batch = 0, part_sum = 0;
    uint8_t share_norm = 0, dual_master = 0, triangle = 0;           // triangle: 1 upper, 2 lower
    uint8_t long_rows = 0, basic_block = 0, constant = 0;            // intrinsicsCheck, doBasicBlock, tiling known at compile time
    uint8_t set_bias = 1, set_tail = 1, set_org = 1, set_quant = 1, set_data = 1, get_c = 1, end = 1;   // calls that the config left in
    int32_t fixed[6] = {0, 0, 0, 0, 0, 0};                           // singleCoreM, N, K, baseM, N, K of the config; 0 = of the tiling
};

enum class MatmulOperand : uint8_t { A, B, Bias, Workspace, Quant };
enum class MatmulShape : uint8_t { Org, Single, Tail };
enum class MatmulOption : uint8_t { DisableBias, Hf32, QuantScalar, SelfData, UserInfo, BatchNum, SubBlock, AntiQuant, Sparse };
enum class MatmulRole : uint8_t { Kernel, Direct };                  // Matmul: by REGIST_MATMUL_OBJ; MatmulImpl: computes where it stands

struct MatmulTarget {
    GlobalRef gm;
    LocalRef local;
    uint8_t atomic = 0, sequential = 0;
};
struct MatmulBatch { uint32_t a = 1, b = 1, stride_a = 0, stride_b = 0, stride_c = 0, loops = 0; uint8_t partial = 0; };

// DataCopyOutParams of the callbacks: the same fields, kept here because the runtime fills them.
struct MatmulOutParams {
    uint8_t quantMode = 0;
    uint16_t cBurstNum = 0, burstLen = 0, srcStride = 0;
    uint32_t dstStride = 0;
    uint16_t oriNSize = 0;
    bool enUnitFlag = false;
    uint64_t quantScalar = 0;
    int curM = 0, curN = 0;
    uint64_t cbufWorkspaceAddr = 0;
};

}  // namespace twin

extern "C" {
// What becomes of the kernel on this core behind REGIST_MATMUL_OBJ: 0 go on, 1 return (and, on a cube core, after all requests are served).
int tw_matmul_regist(int cube_only, const void* workspace, int objects, int dual_master, twin::At at);
int tw_matmul_serve(twin::At at);
// A handle for this core, or the same one again with another tiling. Handle 0 = none.
int32_t tw_matmul_init(int32_t handle, twin::MatmulRole role, const twin::MatmulSetup* setup, const TCubeTiling* tiling, int registered, twin::At at);
void tw_matmul_gm(int32_t handle, twin::MatmulOperand what, const twin::GlobalRef* gm, twin::DType type, int trans, twin::At at);
void tw_matmul_local(int32_t handle, twin::MatmulOperand what, const twin::LocalRef* local, twin::DType type, int trans, const twin::GlobalRef* through, twin::At at);
void tw_matmul_number(int32_t handle, twin::MatmulOperand what, uint64_t bits, twin::At at);
void tw_matmul_shape(int32_t handle, twin::MatmulShape what, int64_t m, int64_t n, int64_t ka, int64_t kb, int64_t kc, twin::At at);
void tw_matmul_option(int32_t handle, twin::MatmulOption what, uint64_t value, uint64_t second, twin::At at);
int tw_matmul_iterate(int32_t handle, int sync, int partial, const twin::LocalRef* tile, twin::At at);
void tw_matmul_get(int32_t handle, int sync, const twin::MatmulTarget* to, twin::GlobalRef* cached, twin::At at);
void tw_matmul_all(int32_t handle, int sync, const twin::MatmulTarget* to, int wait, int fake, twin::At at);
void tw_matmul_batch(int32_t handle, int sync, const twin::MatmulTarget* to, const twin::MatmulBatch* batch, int wait, twin::At at);
void tw_matmul_get_batch(int32_t handle, const twin::MatmulTarget* to, uint32_t a, uint32_t b, twin::GlobalRef* cached, twin::At at);
void tw_matmul_wait(int32_t handle, twin::At at);
void tw_matmul_end(int32_t handle, twin::At at);
}
