// Mathematical functions of two operands, and running sums.
#pragma once
#include "twin/adv_math_call.h"

namespace AscendC {

enum class FmodAlgo { NORMAL = 0, ITERATION_COMPENSATION };
enum class PowerAlgo { INTRINSIC = 0, DOUBLE_FLOAT_TECH };
enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
// ---- FmodConfig
// {algo, iterationNum}: ITERATION_COMPENSATION keeps large quotients exact
// limits: iterationNum 1..11
// used by Fmod
struct FmodConfig { FmodAlgo algo = FmodAlgo::NORMAL; uint32_t iterationNum = 11; };
// ---- PowerConfig
// {algo}: accuracy on the device; the twin is correctly rounded with each
// limits: a static constexpr object as template argument
// used by Power
struct PowerConfig { PowerAlgo algo = PowerAlgo::INTRINSIC; };
// ---- CumSumConfig
// {isLastAxis, isReuseSource, outputLastRow, algorithm}
// limits: a static constexpr object as template argument
// used by CumSum
struct CumSumConfig {
    bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
    CumSumAlgorithm algorithm = CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE;
};
// ---- CumSumInfo
// {outter, inner}: rows and columns
// limits: inner * sizeof(T) is a multiple of 32
// used by CumSum
struct CumSumInfo { uint32_t outter = 0, inner = 0; };
inline constexpr FmodConfig DEFAULT_FMOD_CONFIG = {};
inline constexpr PowerConfig defaultPowerConfig = {};
inline constexpr CumSumConfig defaultCumSumConfig = {true, false, true};

// The four forms of a function of two tensors. HEAD: a macro of further template parameters.
#define TWIN_MATH_PAIR_FORM(NAME, HEAD, CHECK, SETUP, PARAMS, TMP, COUNT)                                                              \
    template <typename T, bool isReuseSource = false HEAD()>                                                                           \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor PARAMS,       \
                     twin::At at = twin::At::here()) {                                                                                 \
        CHECK;                                                                                                                         \
        twin::MathCall m = twin::math_call(twin::MathOp::NAME, #NAME, twin::dtype_of<T>(), twin::dtype_of<T>(), isReuseSource, at);    \
        SETUP;                                                                                                                         \
        twin::math_run(m, dstTensor.ref(), src0Tensor.ref(), src1Tensor.ref(), TMP, COUNT);                                            \
    }
#define TWIN_MATH_WITH_TMP , const LocalTensor<uint8_t>& sharedTmpBuffer
#define TWIN_MATH_WITH_COUNT , const int64_t calCount
#define TWIN_MATH_WITH_BOTH , const LocalTensor<uint8_t>& sharedTmpBuffer, const int64_t calCount
#define TWIN_MATH_TMP twin::adv_tmp(sharedTmpBuffer)
#define TWIN_MATH_PAIR(NAME, HEAD, CHECK, SETUP)                                                                    \
    TWIN_MATH_PAIR_FORM(NAME, HEAD, CHECK, SETUP, TWIN_NOTHING, twin::adv_tmp(), nullptr)                                   \
    TWIN_MATH_PAIR_FORM(NAME, HEAD, CHECK, SETUP, TWIN_MATH_WITH_TMP, TWIN_MATH_TMP, nullptr)                       \
    TWIN_MATH_PAIR_FORM(NAME, HEAD, CHECK, SETUP, TWIN_MATH_WITH_COUNT, twin::adv_tmp(), &calCount)                         \
    TWIN_MATH_PAIR_FORM(NAME, HEAD, CHECK, SETUP, TWIN_MATH_WITH_BOTH, TWIN_MATH_TMP, &calCount)

#define TWIN_NO_HEAD()

// ---- Fmod
// dst = a - trunc(a / b) * b, sign of a; NORMAL in float steps: inaccurate where a / b is large; b = 0 gives NaN
// limits: half, float; own dst; GetFmodMaxMinTmpSize
// pipe: V
#define TWIN_FMOD_HEAD() , const FmodConfig& config = DEFAULT_FMOD_CONFIG
TWIN_MATH_PAIR(Fmod, TWIN_FMOD_HEAD, TWIN_MATH_TYPES("Fmod", T, twin::kF16 | twin::kF32, "takes half or float: Cast first"),
               m.mode = config.algo == FmodAlgo::ITERATION_COMPENSATION ? (config.iterationNum == 0 || config.iterationNum > 255 ? 255 : uint8_t(config.iterationNum)) : 0)
// ---- Xor
// dst = a ^ b, bit by bit
// limits: int16_t, uint16_t; own dst; GetXorMaxMinTmpSize
// pipe: V
TWIN_MATH_PAIR(Xor, TWIN_NO_HEAD, TWIN_MATH_TYPES("Xor", T, twin::kI16 | twin::kU16, "takes int16_t or uint16_t: use ReinterpretCast<uint16_t>() and count 16-bit halves"), )

#define TWIN_POWER_FORM(BASE, EXPONENT, PARAMS, TMP, COUNT, NUMBER, SCALAR, SRC0, SRC1)                                                  \
    template <typename T, bool isReuseSource = false, const PowerConfig& config = defaultPowerConfig>                                    \
    inline void Power(const LocalTensor<T>& dstTensor, BASE, EXPONENT PARAMS, twin::At at = twin::At::here()) {                          \
        TWIN_MATH_TYPES("Power", T, twin::kF16 | twin::kF32 | twin::kI32, "takes half, float or int32_t: Cast first");                   \
        twin::MathCall m = twin::math_call(twin::MathOp::Power, "Power", twin::dtype_of<T>(), twin::dtype_of<T>(), isReuseSource, at);   \
        m.number = NUMBER;                                                                                                               \
        m.scalar = SCALAR;                                                                                                               \
        twin::math_run(m, dstTensor.ref(), SRC0, SRC1, TMP, COUNT);                                                                      \
    }
#define TWIN_POWER(BASE, EXPONENT, NUMBER, SCALAR, SRC0, SRC1)                                                               \
    TWIN_POWER_FORM(BASE, EXPONENT, TWIN_NOTHING, twin::adv_tmp(), nullptr, NUMBER, SCALAR, SRC0, SRC1)                              \
    TWIN_POWER_FORM(BASE, EXPONENT, TWIN_MATH_WITH_TMP, TWIN_MATH_TMP, nullptr, NUMBER, SCALAR, SRC0, SRC1)                  \
    TWIN_POWER_FORM(BASE, EXPONENT, TWIN_MATH_WITH_COUNT, twin::adv_tmp(), &calCount, NUMBER, SCALAR, SRC0, SRC1)                    \
    TWIN_POWER_FORM(BASE, EXPONENT, TWIN_MATH_WITH_BOTH, TWIN_MATH_TMP, &calCount, NUMBER, SCALAR, SRC0, SRC1)
// ---- Power
// dst = base ^ exponent, either of them a tensor or a number; int32_t keeps the low 32 bits
// limits: half, float, int32_t; own dst; a negative base with a fractional exponent gives NaN; GetPowerMaxMinTmpSize
// pipe: V
TWIN_POWER(const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor, 0, 0, src0Tensor.ref(), src1Tensor.ref())
TWIN_POWER(const LocalTensor<T>& src0Tensor, const typename twin::Same<T>::type& src1Scalar, 2, twin::scalar_bits(src1Scalar), src0Tensor.ref(), twin::LocalRef{})
TWIN_POWER(const typename twin::Same<T>::type& src0Scalar, const LocalTensor<T>& src1Tensor, 1, twin::scalar_bits(src0Scalar), twin::LocalRef{}, src1Tensor.ref())

#define TWIN_CLAMP_FORM(NAME, PARAMS, TMP)                                                                                                    \
    template <typename T, bool isReuseSource = false>                                                                                         \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor PARAMS, const typename twin::Same<T>::type scalar, const int64_t calCount, \
                     twin::At at = twin::At::here()) {                                                                                        \
        TWIN_MATH_TYPES(#NAME, T, twin::kF16 | twin::kF32, "takes half or float: use Maxs and Mins for integers");                            \
        twin::MathCall m = twin::math_call(twin::MathOp::NAME, #NAME, twin::dtype_of<T>(), twin::dtype_of<T>(), isReuseSource, at);           \
        m.number = 2;                                                                                                                         \
        m.scalar = twin::scalar_bits(scalar);                                                                                                 \
        twin::math_run(m, dstTensor.ref(), srcTensor.ref(), TMP, &calCount);                                                                  \
    }
// ---- ClampMax
// dst = min(x, scalar): nothing above scalar remains; NaN stays
// limits: half, float; own dst; GetClampMaxMinTmpSize
// pipe: V
TWIN_CLAMP_FORM(ClampMax, TWIN_NOTHING, twin::adv_tmp())
TWIN_CLAMP_FORM(ClampMax, TWIN_MATH_WITH_TMP, TWIN_MATH_TMP)
// ---- ClampMin
// dst = max(x, scalar): nothing below scalar remains; NaN stays
// limits: half, float; own dst; GetClampMaxMinTmpSize
// pipe: V
TWIN_CLAMP_FORM(ClampMin, TWIN_NOTHING, twin::adv_tmp())
TWIN_CLAMP_FORM(ClampMin, TWIN_MATH_WITH_TMP, TWIN_MATH_TMP)

// ---- Axpy
// dst = src * scalar + dst with workspace: product and sum are two steps in float, the result is rounded once
// limits: half, float, or half into float; GetAxpyMaxMinTmpSize
// pipe: V
template <typename T, typename U, bool isReuseSource = false>
inline void Axpy(const LocalTensor<T>& dstTensor, const LocalTensor<U>& srcTensor, const PrimT<U> scalarValue, const LocalTensor<uint8_t>& sharedTmpBuffer,
                 const int64_t calCount, twin::At at = twin::At::here()) {
    static_assert(twin::mul_add_types(twin::dtype_of<U>(), twin::dtype_of<T>()),
                  "UNSUPPORTED_TYPE: Axpy on Atlas A2 knows half -> half, half -> float and float -> float: Cast first");
    twin::MathCall m = twin::math_call(twin::MathOp::Axpy, "Axpy", twin::dtype_of<T>(), twin::dtype_of<U>(), isReuseSource, at);
    m.number = 2;
    m.scalar = twin::scalar_bits(scalarValue);
    twin::math_run(m, dstTensor.ref(), srcTensor.ref(), twin::adv_tmp(sharedTmpBuffer), &calCount);
}

// ---- CumSum
// dst[i][j] = sum of src[i][0..j], or with isLastAxis false of src[0..i][j]; lastRow = the last row of dst when outputLastRow says so
// limits: half (summed in float), float; own dst; inner * sizeof(T) a multiple of 32; GetCumSumMaxMinTmpSize
// pipe: V
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
inline void CumSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& lastRowTensor, const LocalTensor<T>& srcTensor,
                   const LocalTensor<uint8_t>& sharedTmpBuffer, const CumSumInfo& cumSumInfo, twin::At at = twin::At::here()) {
    TWIN_MATH_TYPES("CumSum", T, twin::kF16 | twin::kF32, "takes half or float: Cast first");
    twin::CumSumCall c{at, twin::dtype_of<T>(), config.isLastAxis, config.outputLastRow, cumSumInfo.outter, cumSumInfo.inner,
                       dstTensor.ref(), lastRowTensor.ref(), srcTensor.ref(), twin::adv_tmp(sharedTmpBuffer)};
    tw_adv_cumsum(&c);
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
inline void CumSum(const LocalTensor<T>& dstTensor, const LocalTensor<T>& lastRowTensor, const LocalTensor<T>& srcTensor, const CumSumInfo& cumSumInfo,
                   twin::At at = twin::At::here()) {
    TWIN_MATH_TYPES("CumSum", T, twin::kF16 | twin::kF32, "takes half or float: Cast first");
    twin::CumSumCall c{at, twin::dtype_of<T>(), config.isLastAxis, config.outputLastRow, cumSumInfo.outter, cumSumInfo.inner,
                       dstTensor.ref(), lastRowTensor.ref(), srcTensor.ref(), twin::adv_tmp()};
    tw_adv_cumsum(&c);
}

}  // namespace AscendC
