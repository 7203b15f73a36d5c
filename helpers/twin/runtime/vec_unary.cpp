// Exp, Ln, Abs, Reciprocal, Sqrt, Rsqrt, Relu, Not.
#include <memory>

#include "vec_exp.h"
#include "vec_loops.h"

namespace twin {
namespace {

// e^x for x in float range: beyond 90 it is inf in float either way, below -110 it is 0.
inline double exp_double(double x) { return exp_between(x, -110.0, 90.0); }

// Natural logarithm of a float: x = 2^e m, m in [sqrt(1/2), sqrt 2), 2 artanh((m-1)/(m+1)).
inline double log_double(double x) {
    uint64_t u;
    std::memcpy(&u, &x, 8);
    const uint64_t split = 0x3fe6a09e667f3bcdull;               // sqrt(1/2)
    const int64_t e = static_cast<int64_t>(u - split) >> 52;
    const uint64_t mu = u - (static_cast<uint64_t>(e) << 52);
    double m;
    std::memcpy(&m, &mu, 8);
    const double f = (m - 1.0) / (m + 1.0), z = f * f;
    double p = 1.0 / 23.0;
    p = p * z + 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    const double big = static_cast<double>(static_cast<int32_t>(e));
    double r = 2.0 * f * p + big * 6.93147180559945309417e-01;
    const double inf = __builtin_huge_val();
    r = x == 0 ? -inf : r;
    r = x == inf ? inf : r;
    return x >= 0 ? r : __builtin_nan("");                      // negative or NaN
}

inline double rsqrt_double(double x) { return x < 0 ? __builtin_nan("") : 1.0 / root(x); }

struct ExpOp { static double d(double x) { return exp_double(x); } };
struct LnOp { static double d(double x) { return log_double(x); } };
struct RsqrtOp { static double d(double x) { return rsqrt_double(x); } };
struct ReciprocalOp { static double d(double x) { return 1.0 / x; } };

template <class Op>
void float_by_double(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    float* d = static_cast<float*>(dst);
    const float* x = static_cast<const float*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<float>(Op::d(static_cast<double>(x[i])));
}

// Half has 65536 values: the exact result of each is computed once.
template <class Op>
void half_by_table(void* dst, const void* a, const void*, int64_t n, const VecScalar&) {
    static const std::unique_ptr<uint16_t[]> table = [] {
        std::unique_ptr<uint16_t[]> t(new uint16_t[65536]);
        for (int i = 0; i < 65536; ++i) t[i] = half_of_double(Op::d(static_cast<double>(half_value(static_cast<uint16_t>(i)))));
        return t;
    }();
    const uint16_t* map = table.get();
    uint16_t* d = static_cast<uint16_t*>(dst);
    const uint16_t* x = static_cast<const uint16_t*>(a);
    TW_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) d[i] = map[x[i]];
}

struct SqrtF { static float f(float x) { return root(x); } };
struct ReluF { static float f(float x) { return x <= 0 ? 0.0f : x; } };      // NaN compares false and stays
struct ReluI { static int32_t f(int32_t x) { return x > 0 ? x : 0; } };
struct NotI { static uint16_t f(uint16_t x) { return static_cast<uint16_t>(~x); } };
struct AbsF { static uint32_t f(uint32_t x) { return x & 0x7fffffffu; } };
struct AbsH { static uint16_t f(uint16_t x) { return x & 0x7fffu; } };
struct RecipF { static float f(float x) { return 1.0f / x; } };

}  // namespace

VecKernel vec_unary_kernel(const VecKey& k) {
    const bool h = k.type == DType::F16, f = k.type == DType::F32;
    switch (k.op) {
        case VecOp::Exp: return {h ? half_by_table<ExpOp> : f ? float_by_double<ExpOp> : nullptr, false, true};
        case VecOp::Ln: return {h ? half_by_table<LnOp> : f ? float_by_double<LnOp> : nullptr, false, true};
        case VecOp::Rsqrt: return {h ? half_by_table<RsqrtOp> : f ? float_by_double<RsqrtOp> : nullptr, false, true};
        case VecOp::Reciprocal: return {h ? half_by_table<ReciprocalOp> : f ? map1<float, RecipF> : nullptr, false, true};
        case VecOp::Sqrt: return {h ? half1<SqrtF> : f ? map1<float, SqrtF> : nullptr, false, true};
        case VecOp::Abs: return {h ? map1<uint16_t, AbsH> : f ? map1<uint32_t, AbsF> : nullptr};
        case VecOp::Relu: return {h ? half1<ReluF> : f ? map1<float, ReluF> : k.type == DType::I32 ? map1<int32_t, ReluI> : nullptr};
        case VecOp::Not: return {k.type == DType::I16 || k.type == DType::U16 ? map1<uint16_t, NotI> : nullptr};
        default: return {};
    }
}

}  // namespace twin
