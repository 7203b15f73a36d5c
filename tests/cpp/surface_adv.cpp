// Every spelling of the high-level calls that tests elsewhere do not use, and the host functions. Compiled; names() also runs.
#include "kernel_operator.h"
#include "lib/math/tanh.h"
#include "lib/reduce/sum.h"
#include "lib/quantization/ascend_quant.h"
#include "tiling/tiling_api.h"
using namespace AscendC;

static constexpr TanhConfig kTanh = {TanhAlgo::SUBSECTION_COMPENSATION};
static constexpr SinConfig kSin = {SinAlgo::RADIAN_REDUCTION};
static constexpr CosConfig kCos = {CosAlgo::POLYNOMIAL_APPROXIMATION};
static constexpr AtanConfig kAtan = {AtanAlgo::POLYNOMIAL_APPROXIMATION};
static constexpr ErfConfig kErf = {ErfAlgo::SUBSECTION_POLYNOMIAL_APPROXIMATION};
static constexpr PowerConfig kPower = {PowerAlgo::DOUBLE_FLOAT_TECH};
static constexpr AscendQuantConfig kQuant = {1024, 0, 0, 0};

template <typename T>
__aicore__ inline void Configured(LocalTensor<T>& d, LocalTensor<T>& s, LocalTensor<uint8_t>& tmp, uint32_t n) {
    Tanh<T, false, kTanh>(d, s, tmp, n);
    Sin<T, true, kSin>(d, s, n);
    Cos<T, false, kCos>(d, s, tmp);
    Atan<T, false, kAtan>(d, s);
    Erf<T, false, kErf>(d, s, tmp, n);
    Power<T, false, kPower>(d, s, s, tmp, n);
    Power<T, false, kPower>(d, s, static_cast<T>(2), n);
    AscendC::Log(d[8], s[n], n);
    Ceil(d, s, n);
    uint32_t shape[] = {4, 16};
    if constexpr (std::is_same<T, float>::value) {
        ReduceSum<T, Pattern::Reduce::AR>(d, s, tmp, shape, true);
        ReduceMean<T, Pattern::Reduce::RA>(d, s, shape, true);
        ReduceProd<T, Pattern::Reduce::AR, true>(d, s, tmp, shape, true);
        ReduceAny<T, Pattern::Reduce::AR, true>(d, s, tmp, shape, true);
        ReduceAll<T, Pattern::Reduce::RA>(d, s, tmp, shape, true);
    }
    LocalTensor<int8_t> q = d.template ReinterpretCast<int8_t>();
    AscendQuant<T, false, kQuant>(q, s, tmp, 2.0f, 0.9f);
    AscendDequant<float, float, DeQuantMode::DEQUANT_WITH_MULTI_ROW>(d.template ReinterpretCast<float>(), s.template ReinterpretCast<int32_t>(), 0.5f, tmp, {1, 8, 8});
}

__aicore__ inline void HostSizes() {
    const platform_ascendc::PlatformAscendC chip;
    const ge::Shape shape({2, 4, 32}), matrix({8, 32}), image({1, 4, 8, 8});
    constexpr ge::DataType type = ge::DT_FLOAT;
    uint32_t a, b;
    SoftMaxTiling softmax;
    LogSoftMaxTiling logs;
    LayerNormTiling layer;
    LayerNormGradTiling grad;
    LayerNormGradBetaTiling beta;
    BatchNormTiling batch;
    DeepNormTiling deep;
    GroupNormTiling group;
    TopkTiling topk;
    PadTiling pad;
    UnPadTiling unpad;
    ConfusionTransposeTiling turn;
    GetExpMaxMinTmpSize(shape, 4, false, a, b);
    GetExpTmpBufferFactorSize(4, a, b);
    GetRoundTmpBufferFactorSize(chip, 4, a, b);
    GetReduceXorSumMaxMinTmpSize(shape, 2, false, a, b);
    GetReduceSumMaxMinTmpSize(matrix, type, ReducePattern::AR, true, false, a, b);
    GetReduceMeanMaxMinTmpSize(matrix, type, ReducePattern::RA, true, false, a, b);
    GetReduceProdMaxMinTmpSize(matrix, type, ReducePattern::AR, true, true, a, b);
    GetReduceMinMaxMinTmpSize(matrix, type, ReducePattern::AR, true, false, a, b);
    GetReduceAnyMaxMinTmpSize(matrix, type, ReducePattern::AR, true, false, a, b);
    GetReduceAllMaxMinTmpSize(matrix, type, ReducePattern::AR, true, false, a, b);
    GetPadMaxMinTmpSize(matrix, 4, a, b);
    PadTilingFunc(matrix, matrix, 0, 4, pad);
    GetUnPadMaxMinTmpSize(chip, matrix, 4, a, b);
    UnPadTilingFunc(matrix, 0, 4, unpad);
    GetConfusionTransposeTilingInfo(image, 0, 2, 1, turn);
    GetConfusionTransposeOnlyTilingInfo(matrix, 0, 2, turn);
    GetArithProgressionMaxMinTmpSize(a, b);
    GetArangeMaxMinTmpSize(a, b);
    a = GetConcatTmpSize(chip, 64, 4) + GetSortTmpSize(chip, 64, 4);
    TopKTilingFunc(chip, 64, 2, 5, 4, false, TopKMode::TOPK_NORMAL, true, topk);
    a = GetDropOutMaxTmpSize(shape, 4, false) + GetDropOutMinTmpSize(shape, 4, false);
    GetDropOutMaxMinTmpSize(shape, 4, false, a, b);
    GetSelectMaxMinTmpSize(matrix, ge::Shape({1}), 4, matrix, 1, true, a, b);
    GetAscendQuantMaxMinTmpSize(shape, 4, a, b);
    GetAscendDequantMaxMinTmpSize(matrix, 4, a, b);
    GetAscendAntiQuantMaxMinTmpSize(matrix, matrix, false, ge::DT_INT8, ge::DT_FLOAT16, a, b);
    GetGeGLUMaxMinTmpSize(shape, 2, false, a, b);
    GetSwiGLUTmpBufferFactorSize(2, a, b);
    GetReGluMaxMinTmpSize(shape, 2, false, a, b);
    GetSiluTmpSize(shape, 2, false, a, b);
    GetSwishTmpSize(shape, 2, false, a, b);
    a = GetGeluMaxTmpSize(shape, 2) + GetGeluMinTmpSize(shape, 2);
    SoftMaxTilingFunc(matrix, 4, 8192, softmax);
    a = GetSoftMaxFlashMaxTmpSize(matrix, 4, true, false) + GetSoftMaxFlashMinTmpSize(matrix, 4, true, false);
    SoftMaxFlashTilingFunc(matrix, 4, 8192, softmax, true);
    a = GetSoftMaxFlashV2MaxTmpSize(matrix, 2, 4, true);
    GetSoftMaxFlashV3MaxMinTmpSize(matrix, 2, 4, a, b, true);
    SoftMaxFlashV3TilingFunc(matrix, 2, 4, 8192, softmax, true);
    a = GetSoftMaxGradMaxTmpSize(matrix, 4, false, false) + GetSoftMaxGradMinTmpSize(matrix, 4, false, false);
    SoftMaxGradTilingFunc(matrix, 4, 8192, softmax);
    a = GetLogSoftMaxMaxTmpSize(matrix, 4, false) + GetLogSoftMaxMinTmpSize(matrix, 4, false);
    LogSoftMaxTilingFunc(matrix, 4, 8192, logs);
    GetLayerNormNDTillingInfo(shape, 8192, 4, false, layer);
    GetLayerNormGradMaxMinTmpSize(shape, 4, false, a, b);
    GetLayerNormGradNDTilingInfo(shape, 8192, 4, false, grad);
    GetLayerNormGradBetaMaxMinTmpSize(shape, 4, false, a, b);
    GetLayerNormGradBetaNDTilingInfo(shape, 8192, 4, false, beta);
    GetBatchNormMaxMinTmpSize(shape, shape, 4, false, a, b);
    GetBatchNormNDTilingInfo(shape, shape, 8192, 4, false, batch);
    GetDeepNormMaxMinTmpSize(shape, 4, false, false, a, b);
    GetDeepNormTilingInfo(shape, shape, 8192, 4, false, false, deep);
    GetGroupNormMaxMinTmpSize(image, 4, false, 2, a, b);
    GetGroupNormNDTilingInfo(image, 8192, 4, false, 2, group);
    GetNormalizeMaxMinTmpSize(matrix, 4, 4, false, true, false, a, b);
    GetWelfordUpdateMaxMinTmpSize(matrix, 2, 4, false, true, a, b);
    GetWelfordFinalizeMaxMinTmpSize(ge::Shape({64}), 4, false, a, b);
}

// Types of the headers that carry parameters: default values as documented.
static_assert(NormalizePara{1, 2, 3}.rLengthWithPadding == 3 && LayerNormPara{1, 2, 3}.aLength == 1, "order of the fields");
static_assert(!WelfordFinalizeConfig{}.isCorrection && WelfordUpdateParam{2, 64, 32, 0.5f}.abComputeLength == 32, "order of the fields");
static_assert(WelfordFinalizePara{2, 64, 1, 32, 2, 32, 0.5f, 0.25f}.tailCount == 2 && LayerNormGradShapeInfo{}.dataFormat == DataFormat::ND, "order of the fields");
static_assert(std::is_same<Conditional<true, int, float>::type, int>::value && IsSameType<half, half>::value, "as std::conditional and std::is_same");
static_assert(TransposeParamsExt{1, 2, 3, 4, TransposeType::TRANSPOSE_NCHW2NHWC}.wSize == 4 && TransDataTo5HDParams{}.repeatTimes == 1, "order of the fields");
static_assert(std::is_same<Std::index_sequence<0, 1>, Std::make_index_sequence<2>>::value, "as std::index_sequence");
static_assert(GatherRepeatParams{1, 8}.dstRepStride == 8 && BrcbRepeatParams{1, 8}.dstRepStride == 8, "order of the fields");
static_assert(Ceil(7u, 2u) == 4 && pipe_t(PIPE_V) == PIPE_V && CubeFormat::ND != CubeFormat::NZ, "values");

static_assert(sizeof(GatherMaskParams) && sizeof(DataCopyCO12DstParams) && sizeof(KernelMetaType) && sizeof(QuantMode_t) && sizeof(GatherMaskMode), "complete types");

__aicore__ inline float Registers(__ubuf__ uint64_t* mask, __ubuf__ half* h, __ubuf__ float* f) {
    set_cmpmask(mask);
    get_cmpmask(mask);
    vconv_f322f16(h, f, 1, 1, 1, 4, 8);
    float value, index;
    GetReduceRepeatMaxMinSpr(value, index);
    CheckLocalMemoryIA({});
    return value + GetReduceRepeatSumSpr<float>() + static_cast<float>(GetICachePreloadStatus());
}

extern "C" __global__ __aicore__ void names(GM_ADDR x, GM_ADDR y) {
    SetSysWorkspaceForce(x);
    ASSERT(GetScalarBitcodeValue<float, uint32_t>(1.0f) == 0x3f800000u);
    SetDumpWorkSpacePtr(GetDumpWorkSpacePtr());
    HostSizes();
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b, w;
    pipe.InitBuffer(a, 256);
    pipe.InitBuffer(b, 256);
    pipe.InitBuffer(w, 8192);
    LocalTensor<float> d = a.Get<float>(), s = b.Get<float>();
    LocalTensor<uint8_t> tmp = w.Get<uint8_t>();
    GlobalTensor<float> out;
    out.SetGlobalBuffer((__gm__ float*)y, 64);
    Duplicate(s, 0.5f, 64);
    Duplicate(d, 0.0f, 64);
    PipeBarrier<PIPE_V>();
    uint32_t shape[] = {4, 16};
    ReduceMean<float, Pattern::Reduce::AR>(d, s, tmp, shape, true);
    PipeBarrier<PIPE_V>();
    ReduceProd<float, Pattern::Reduce::RA>(d[8], s, tmp, shape, true);
    Duplicate(d[32], 1.0f, 32);
    PipeBarrier<PIPE_ALL>();
    DataCopy(out, d, 8);
    if (GetBlockIdx() > 1000) {
        Configured(d, s, tmp, 64u);
        Registers(nullptr, nullptr, nullptr);
    }
}
