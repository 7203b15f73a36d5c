// Host side of matrix multiplication: the classes that fill TCubeTiling.
#pragma once
#include <cstdio>

#include "twin/abi_matmul_tiling.h"
#include "twin/adv_matmul_tiling.h"
#include "twin/host_types.h"

namespace matmul_tiling {

// ---- matmul_tiling::TPosition
enum class TPosition : int32_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, MAX };
// ---- matmul_tiling::CubeFormat
enum class CubeFormat : int32_t { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };
// ---- matmul_tiling::DataType
enum class DataType : int32_t {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10, DT_DOUBLE = 11,
    DT_BOOL = 12, DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_BFLOAT16 = 33, DT_MAX = 34
};
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM, FIRSTN };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };

// ---- matmul_tiling::PlatformInfo
// sizes of a chip given by hand; 0 = those of the architecture
struct PlatformInfo {
    platform_ascendc::SocVersion socVersion = platform_ascendc::SocVersion::ASCEND910B;
    uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};
// ---- matmul_tiling::MatmulConfigParams
// which template the kernel uses: 0 Norm, 1 MDL (large packages in L1)
struct MatmulConfigParams {
    int32_t mmConfigType = 1;
    bool enableL1CacheUB = false;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    MatrixTraverse traverse = MatrixTraverse::NOSET;
    bool enVecND2NZ = false;
};
// ---- matmul_tiling::SysTilingTempBufSize
struct SysTilingTempBufSize { int32_t ubSize = 0, l1Size = 0, l0cSize = 0; };

}  // namespace matmul_tiling

namespace twin {

inline int32_t dtype_number(matmul_tiling::DataType t) {
    using D = matmul_tiling::DataType;
    switch (t) {
        case D::DT_FLOAT: return static_cast<int32_t>(DType::F32);
        case D::DT_FLOAT16: return static_cast<int32_t>(DType::F16);
        case D::DT_BF16: case D::DT_BFLOAT16: return static_cast<int32_t>(DType::BF16);
        case D::DT_INT8: return static_cast<int32_t>(DType::I8);
        case D::DT_UINT8: return static_cast<int32_t>(DType::U8);
        case D::DT_INT32: return static_cast<int32_t>(DType::I32);
        case D::DT_INT4: return static_cast<int32_t>(DType::I4);
        default: return 0;
    }
}

// What the three classes share. Every setter answers 0; GetTiling answers -1 and says why on stderr.
class MatmulTilingBase {
public:
    using TPos = matmul_tiling::TPosition;
    using Format = matmul_tiling::CubeFormat;
    using Type = matmul_tiling::DataType;
    MatmulTilingBase(int32_t kind, const platform_ascendc::PlatformAscendC& chip) {
        ask_.kind = kind;
        uint64_t bytes = 0;
        auto size = [&](platform_ascendc::CoreMemType m) { chip.GetCoreMemSize(m, bytes); return static_cast<int32_t>(bytes); };
        ask_.l1 = size(platform_ascendc::CoreMemType::L1);
        ask_.l0a = size(platform_ascendc::CoreMemType::L0_A);
        ask_.l0b = size(platform_ascendc::CoreMemType::L0_B);
        ask_.l0c = size(platform_ascendc::CoreMemType::L0_C);
        ask_.bt = size(platform_ascendc::CoreMemType::BT);
    }
    MatmulTilingBase(int32_t kind, const matmul_tiling::PlatformInfo& chip) : MatmulTilingBase(kind, platform_ascendc::PlatformAscendC()) {
        auto take = [](int32_t& to, uint64_t v) { if (v) to = static_cast<int32_t>(v); };
        take(ask_.l1, chip.l1Size);
        take(ask_.l0a, chip.l0ASize);
        take(ask_.l0b, chip.l0BSize);
        take(ask_.l0c, chip.l0CSize);
    }

    int32_t SetAType(TPos pos, Format format, Type type, bool isTrans = false) { return operand(ask_.a, ask_.nz_a, ask_.trans_a, pos, format, type, isTrans); }
    int32_t SetBType(TPos pos, Format format, Type type, bool isTrans = false) { return operand(ask_.b, ask_.nz_b, ask_.trans_b, pos, format, type, isTrans); }
    int32_t SetCType(TPos pos, Format format, Type type) { return operand(ask_.c, ask_.nz_c, unused_, pos, format, type, false); }
    int32_t SetBiasType(TPos pos, Format format, Type type) { return operand(ask_.bias_type, unused_, unused_, pos, format, type, false); }
    int32_t SetDequantType(matmul_tiling::DequantType) { return 0; }
    int32_t SetShape(int32_t m, int32_t n, int32_t k) { ask_.m = m; ask_.n = n; ask_.k = k; return 0; }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
    int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) { ask_.org_m = m; ask_.org_n = n; ask_.org_ka = ka; ask_.org_kb = kb; return 0; }
    int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) { ask_.single_m = m; ask_.single_n = n; ask_.single_k = k; return 0; }
    int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return layout(ask_.layout_a, b, s, n, g, d); }
    int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return layout(ask_.layout_b, b, s, n, g, d); }
    int32_t SetCLayout(int32_t b, int32_t s1, int32_t n, int32_t g, int32_t s2) { return layout(ask_.layout_c, b, s1, n, g, s2); }
    int32_t SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k) {
        layout(ask_.layout_a, batchA, m, 1, 1, k);
        layout(ask_.layout_b, batchB, n, 1, 1, k);
        layout(ask_.layout_c, batchA > batchB ? batchA : batchB, m, 1, 1, n);
        if (ask_.m <= 0) SetShape(m, n, k);
        return 0;
    }
    int32_t SetBatchNum(int32_t batch) { ask_.batch = batch; return 0; }
    int32_t EnableBias(bool isBiasIn = false) { ask_.bias = isBiasIn; return 0; }
    int32_t SetBias(bool isBiasIn = false) { return EnableBias(isBiasIn); }
    int32_t SetFixSplit(int32_t baseMIn = -1, int32_t baseNIn = -1, int32_t baseKIn = -1) { ask_.base_m = baseMIn; ask_.base_n = baseNIn; ask_.base_k = baseKIn; return 0; }
    int32_t SetBufferSpace(int32_t l1Size = -1, int32_t l0CSize = -1, int32_t = -1, int32_t btSize = -1) {
        if (l1Size > 0) ask_.l1 = l1Size;
        if (l0CSize > 0) ask_.l0c = l0CSize;
        if (btSize > 0) ask_.bt = btSize;
        return 0;
    }
    int32_t SetTraverse(matmul_tiling::MatrixTraverse traverse) { ask_.traverse = static_cast<int32_t>(traverse); return 0; }
    int32_t SetMadType(matmul_tiling::MatrixMadType) { return 0; }
    int32_t SetSplitRange(int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1, int32_t = -1) { return 0; }
    int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
    int32_t SetSparse(bool = false) { return 0; }
    void SetMatmulConfigParams(int32_t mmConfigType = 1, bool = false, matmul_tiling::ScheduleType = matmul_tiling::ScheduleType::INNER_PRODUCT,
                               matmul_tiling::MatrixTraverse traverse = matmul_tiling::MatrixTraverse::NOSET, bool = false) {
        ask_.mdl = mmConfigType == 1;
        if (traverse != matmul_tiling::MatrixTraverse::NOSET) SetTraverse(traverse);
    }
    void SetMatmulConfigParams(const matmul_tiling::MatmulConfigParams& p) { SetMatmulConfigParams(p.mmConfigType, p.enableL1CacheUB, p.scheduleType, p.traverse, p.enVecND2NZ); }

    int64_t GetTiling(TCubeTiling& tiling) {
        char why[512] = "";
        const int done = tw_matmul_tiling(&ask_, &tiling, &split_, why, sizeof why);
        if (done) std::fprintf(stderr, "GetTiling failed: %s\n", why);
        else made_ = tiling;
        return done;
    }
    int32_t GetBaseM() const { return made_.baseM; }
    int32_t GetBaseN() const { return made_.baseN; }
    int32_t GetBaseK() const { return made_.baseK; }

protected:
    static int32_t operand(int32_t& type, int32_t& nz, int32_t& trans, TPos, Format format, Type t, bool is_trans) {
        type = dtype_number(t);
        nz = format == Format::NZ;
        trans = is_trans;
        return type ? 0 : -1;
    }
    static int32_t layout(int32_t* to, int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
        const int32_t v[5] = {b, s, n, g, d};
        for (int i = 0; i < 5; ++i) to[i] = v[i];
        return 0;
    }
    MatmulAsk ask_;
    MatmulSplit split_;
    TCubeTiling made_{};
    int32_t unused_ = 0;
};

}  // namespace twin

namespace matmul_tiling {

// ---- matmul_tiling::MatmulApiTiling
// Tiling of the part of one core.
// limits: SetAType, SetBType, SetCType and a shape come before GetTiling, which answers -1 when nothing fits
class MatmulApiTiling : public twin::MatmulTilingBase {
public:
    MatmulApiTiling() : MatmulTilingBase(0, platform_ascendc::PlatformAscendC()) {}
    explicit MatmulApiTiling(const platform_ascendc::PlatformAscendC& chip) : MatmulTilingBase(0, chip) {}
    explicit MatmulApiTiling(const PlatformInfo& chip) : MatmulTilingBase(0, chip) {}
};

// ---- matmul_tiling::MultiCoreMatmulTiling
// Tiling of a product that several cores share: SetDim says how many; GetCoreNum and GetSingleShape say what came of it.
// limits: SetDim counts cube cores in a cube-only kernel and vector cores in a MIX kernel
class MultiCoreMatmulTiling : public twin::MatmulTilingBase {
public:
    MultiCoreMatmulTiling() : MatmulTilingBase(1, platform_ascendc::PlatformAscendC()) {}
    explicit MultiCoreMatmulTiling(const platform_ascendc::PlatformAscendC& chip) : MatmulTilingBase(1, chip) {}
    explicit MultiCoreMatmulTiling(const PlatformInfo& chip) : MatmulTilingBase(1, chip) {}
    int32_t SetDim(int32_t dim) { ask_.dim = dim; return 0; }
    int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1, int32_t minM = -1, int32_t minN = -1, int32_t minK = -1) {
        ask_.most_m = maxM; ask_.most_n = maxN; ask_.most_k = maxK; ask_.least_m = minM; ask_.least_n = minN; ask_.least_k = minK;
        return 0;
    }
    int32_t SetAlignSplit(int32_t alignM, int32_t alignN, int32_t alignK) { ask_.align_m = alignM; ask_.align_n = alignN; ask_.align_k = alignK; return 0; }
    void EnableMultiCoreSplitK(bool flag) { ask_.split_k = flag; }
    int32_t SetSplitK(bool flag) { ask_.split_k = flag; return 0; }
    int32_t GetSingleShape(int32_t& shapeM, int32_t& shapeN, int32_t& shapeK) {
        shapeM = made_.singleCoreM; shapeN = made_.singleCoreN; shapeK = made_.singleCoreK;
        return 0;
    }
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) { mDim = split_.m; nDim = split_.n; dim = made_.usedCoreNum; return 0; }
};

// ---- matmul_tiling::BatchMatmulTiling
// Tiling of several products of equal shape on one core.
// limits: SetBatchNum, and the layouts or SetBatchInfoForNormal, come before GetTiling
class BatchMatmulTiling : public twin::MatmulTilingBase {
public:
    BatchMatmulTiling() : MatmulTilingBase(2, platform_ascendc::PlatformAscendC()) {}
    explicit BatchMatmulTiling(const platform_ascendc::PlatformAscendC& chip) : MatmulTilingBase(2, chip) {}
    int32_t SetDim(int32_t) { return 0; }
    int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN) {
        dim = made_.usedCoreNum; mDim = split_.m; nDim = split_.n; batchCoreM = batchCoreN = 1;
        return 0;
    }
};

}  // namespace matmul_tiling

#define TWIN_MATMUL_TMP(NAME)                                                                                          \
    inline int32_t NAME(const TCubeTiling& tiling, matmul_tiling::SysTilingTempBufSize& bufSize) {                     \
        if (tiling.baseM <= 0) return -1;                                                                              \
        bufSize = {0, tiling.shareL1Size, tiling.shareL0CSize};                                                        \
        return 0;                                                                                                      \
    }
// ---- MatmulGetTmpBufSize MultiCoreMatmulGetTmpBufSize BatchMatmulGetTmpBufSize
// bytes of UB, L1 and L0C that a tiling uses; -1 for a tiling that is not filled
// limits: host code only
TWIN_MATMUL_TMP(MatmulGetTmpBufSize)
TWIN_MATMUL_TMP(MultiCoreMatmulGetTmpBufSize)
TWIN_MATMUL_TMP(BatchMatmulGetTmpBufSize)
// ---- MatmulGetTmpBufSizeV2 MultiCoreMatmulGetTmpBufSizeV2 BatchMatmulGetTmpBufSizeV2
// the same for the struct of the device
// limits: host code only
TWIN_MATMUL_TMP(MatmulGetTmpBufSizeV2)
TWIN_MATMUL_TMP(MultiCoreMatmulGetTmpBufSizeV2)
TWIN_MATMUL_TMP(BatchMatmulGetTmpBufSizeV2)
