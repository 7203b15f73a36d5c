// Mathematical functions of one tensor. Half is computed in float and rounded once unless a contract says otherwise.
#pragma once
#include "twin/adv_math_call.h"
#include "twin/vec_absent.h"

namespace AscendC {

enum class TanhAlgo { INTRINSIC = 0, SUBSECTION_COMPENSATION };
enum class SinAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION };
enum class CosAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION };
enum class AtanAlgo { TAYLOR_EXPANSION = 0, POLYNOMIAL_APPROXIMATION };
enum class ErfAlgo { PADE_APPROXIMATION = 0, SUBSECTION_POLYNOMIAL_APPROXIMATION };
// ---- TanhConfig SinConfig CosConfig AtanConfig ErfConfig
// which approximation the device uses
// limits: a static constexpr object as template argument; the twin is exact with each of them
// used by Tanh, Sin, Cos, Atan, Erf
struct TanhConfig { TanhAlgo algo = TanhAlgo::INTRINSIC; };
struct SinConfig { SinAlgo algo = SinAlgo::POLYNOMIAL_APPROXIMATION; };
struct CosConfig { CosAlgo algo = CosAlgo::POLYNOMIAL_APPROXIMATION; };
struct AtanConfig { AtanAlgo algo = AtanAlgo::TAYLOR_EXPANSION; };
struct ErfConfig { ErfAlgo algo = ErfAlgo::PADE_APPROXIMATION; };
inline constexpr TanhConfig DEFAULT_TANH_CONFIG = {};
inline constexpr SinConfig defaultSinConfig = {};
inline constexpr CosConfig defaultCosConfig = {};
inline constexpr AtanConfig defaultAtanConfig = {};
inline constexpr ErfConfig defaultErfConfig = {};

#define TWIN_MATH_CONFIG(NAME, TYPE, DEFAULT) \
    TWIN_MATH_COUNT(NAME, TWIN_COMMA_ const TYPE& config = DEFAULT, TWIN_NOTHING) TWIN_MATH_WHOLE(NAME, TWIN_COMMA_ const TYPE& config = DEFAULT, TWIN_NOTHING)
#define TWIN_COMMA_ ,

// ---- Tanh
// dst = (e^2x - 1) / (e^2x + 1); approximation on the device, correctly rounded here
// limits: half, float; own dst; GetTanhMaxMinTmpSize
// pipe: V
TWIN_MATH_CONFIG(Tanh, TanhConfig, DEFAULT_TANH_CONFIG)
// ---- Sin
// dst = sin x; approximation on the device, correctly rounded here
// limits: half, float in [-65504, 65504]; own dst; isReuseSource destroys a float source; GetSinMaxMinTmpSize
// pipe: V
TWIN_MATH_CONFIG(Sin, SinConfig, defaultSinConfig)
// ---- Cos
// dst = cos x; approximation on the device, correctly rounded here
// limits: half, float in [-65504, 65504]; own dst; isReuseSource destroys a float source; GetCosMaxMinTmpSize
// pipe: V
TWIN_MATH_CONFIG(Cos, CosConfig, defaultCosConfig)
// ---- Tan
// dst = tan x; approximation on the device, correctly rounded here
// limits: half, float in (-65504, 65504); own dst; GetTanMaxMinTmpSize
// pipe: V
TWIN_MATH4(Tan)
// ---- Asin
// dst = arc sine of x; approximation on the device, correctly rounded here
// limits: half, float in [-1, 1]; own dst; GetAsinMaxMinTmpSize
// pipe: V
TWIN_MATH4(Asin)
// ---- Acos
// dst = arc cosine of x; approximation on the device, correctly rounded here
// limits: half, float in [-1, 1]; own dst; GetAcosMaxMinTmpSize
// pipe: V
TWIN_MATH4(Acos)
// ---- Atan
// dst = arc tangent of x; approximation on the device, correctly rounded here
// limits: half, float; own dst; GetAtanMaxMinTmpSize
// pipe: V
TWIN_MATH_CONFIG(Atan, AtanConfig, defaultAtanConfig)
// ---- Sinh
// dst = (e^x - e^-x) / 2
// limits: half, float; own dst; overflows to inf; GetSinhMaxMinTmpSize
// pipe: V
TWIN_MATH4(Sinh)
// ---- Cosh
// dst = (e^x + e^-x) / 2
// limits: half, float; own dst; overflows to inf; GetCoshMaxMinTmpSize
// pipe: V
TWIN_MATH4(Cosh)
// ---- Asinh
// dst = ln(x + sqrt(x^2 + 1)); approximation on the device, correctly rounded here
// limits: half, float in [-65504, 65504]; own dst; GetAsinhMaxMinTmpSize
// pipe: V
TWIN_MATH4(Asinh)
// ---- Acosh
// dst = ln(x + sqrt(x^2 - 1)); approximation on the device, correctly rounded here
// limits: half, float in [1, 65504]; own dst; GetAcoshMaxMinTmpSize
// pipe: V
TWIN_MATH4(Acosh)
// ---- Atanh
// dst = ln((1 + x) / (1 - x)) / 2; approximation on the device, correctly rounded here
// limits: half, float in (-0.99, 0.99); own dst; GetAtanhMaxMinTmpSize
// pipe: V
TWIN_MATH4(Atanh)
// ---- Erf
// dst = error function of x; approximation on the device, correctly rounded here
// limits: half, float; own dst; GetErfMaxMinTmpSize
// pipe: V
TWIN_MATH_CONFIG(Erf, ErfConfig, defaultErfConfig)
// ---- Erfc
// dst = 1 - erf x; approximation on the device, correctly rounded here
// limits: half, float; own dst; GetErfcMaxMinTmpSize
// pipe: V
TWIN_MATH4(Erfc)
// ---- Lgamma
// dst = ln |Gamma(x)|; whole numbers from 0 down give inf
// limits: half, float; own dst; isReuseSource destroys a float source; GetLgammaMaxMinTmpSize
// pipe: V
TWIN_MATH2(Lgamma)
// ---- Digamma
// dst = Gamma'(x) / Gamma(x); approximation on the device; whole numbers below 0 give NaN
// limits: half, float; own dst; isReuseSource destroys a float source; GetDigammaMaxMinTmpSize
// pipe: V
TWIN_MATH2(Digamma)
// ---- Log
// dst = natural logarithm, as Ln: 0 gives -inf, negative numbers NaN
// limits: half, float; own dst; no workspace
// pipe: V
TWIN_MATH_COUNT(Log, TWIN_NOTHING, TWIN_NOTHING) TWIN_MATH_WHOLE(Log, TWIN_NOTHING, TWIN_NOTHING)
// ---- Log2
// dst = ln x / ln 2
// limits: half (in float), float; own dst; GetLog2MaxMinTmpSize
// pipe: V
TWIN_MATH4(Log2)
// ---- Log10
// dst = ln x / ln 10
// limits: half, float; own dst; no workspace
// pipe: V
TWIN_MATH_COUNT(Log10, TWIN_NOTHING, TWIN_NOTHING) TWIN_MATH_WHOLE(Log10, TWIN_NOTHING, TWIN_NOTHING)
// ---- Ceil
// dst = x rounded up to a whole number, in the type of x
// limits: half, float; own dst; GetCeilMaxMinTmpSize
// pipe: V
TWIN_MATH2(Ceil)
// ---- Floor
// dst = x rounded down to a whole number, in the type of x
// limits: half, float; own dst; GetFloorMaxMinTmpSize
// pipe: V
TWIN_MATH2(Floor)
// ---- Trunc
// dst = x without its fraction
// limits: half, float; dst may be src; GetTruncMaxMinTmpSize
// pipe: V
TWIN_MATH4(Trunc)
// ---- Round
// dst = nearest whole number, ties to even: 2.5 -> 2, 3.5 -> 4
// limits: half, float; own dst; GetRoundMaxMinTmpSize (with the platform first)
// pipe: V
TWIN_MATH2(Round)
// ---- Frac
// dst = x - trunc(x), with the sign of x
// limits: half, float; own dst; GetFracMaxMinTmpSize
// pipe: V
TWIN_MATH4(Frac)
// ---- Sign
// dst = 1, -1 or 0; NaN gives 0
// limits: half, float; own dst; GetSignMaxMinTmpSize
// pipe: V
TWIN_MATH4(Sign)

// ---- Exp
// e^x = e^floor(x) * (1 + f + f^2/2! + ... + f^n/n!), f = x - floor(x), n = taylorExpandLevel, in float: few terms show
// limits: half, float; n in 0..255, 10..15 recommended, 0 = plain; own dst; isReuseSource destroys a float source; GetExpMaxMinTmpSize
// pipe: V
#define TWIN_EXP_HERE(T) \
    static_assert(__NPU_ARCH__ == 2201 || twin::never<T>, "UNSUPPORTED_API: Exp with a series does not exist on the inference chip. Fix: use Exp(dst, src, count)")
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
inline void Exp(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const int64_t calCount, twin::At at = twin::At::here()) {
    TWIN_EXP_HERE(T);
    TWIN_MATH_BODY(Exp, T, m.mode = taylorExpandLevel;, twin::adv_tmp(), &calCount)
}
template <typename T, uint8_t taylorExpandLevel, bool isReuseSource = false>
inline void Exp(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const int64_t calCount,
                twin::At at = twin::At::here()) {
    TWIN_EXP_HERE(T);
    TWIN_MATH_BODY(Exp, T, m.mode = taylorExpandLevel;, twin::adv_tmp(sharedTmpBuffer), &calCount)
}

}  // namespace AscendC
