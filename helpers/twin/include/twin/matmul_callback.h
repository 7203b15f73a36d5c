// What a Matmul object is made of besides its config: callbacks, policies, and which element types go together.
#pragma once
#include "twin/matmul_config.h"
#include "twin/local_tensor.h"

namespace twin {
// A function was named as template argument. Compared as types: the compiler takes no address for certainly not null here.
template <auto f> constexpr bool given() { return !std::is_same<std::integral_constant<decltype(f), f>, std::integral_constant<decltype(f), nullptr>>::value; }
}  // namespace twin

namespace AscendC {

// ---- DataCopyOutParams
// what the callback DataCopyOut is told about the tile in L0C
using DataCopyOutParams = ::twin::MatmulOutParams;
// ---- MatmulCallBackFunc
// Own copies in the place of the library's: L0C -> GM, GM -> L1 of A, GM -> L1 of B; nullptr = the library's.
// limits: functions known at compile time; called once per base block, on the cube core
template <void (*DataCopyOut)(const __gm__ void*, const LocalTensor<int8_t>&, const void*, const uint64_t, const uint64_t) = nullptr,
          void (*CopyA1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t, const uint64_t) = nullptr,
          void (*CopyB1)(const LocalTensor<int8_t>&, const __gm__ void*, int, int, int, int, const uint64_t, const uint64_t) = nullptr>
struct MatmulCallBackFunc {
    static ::twin::MatmulHooks hooks_() {
        ::twin::MatmulHooks h;
        if constexpr (::twin::given<DataCopyOut>())
            h.copy_out = [](const void* gm, const ::twin::LocalRef* tile, const void* p, uint64_t t, uint64_t d) { DataCopyOut(gm, LocalTensor<int8_t>(*tile), p, t, d); };
        if constexpr (::twin::given<CopyA1>())
            h.copy_a = [](const ::twin::LocalRef* to, const void* gm, int r, int c, int m, int k, uint64_t t, uint64_t d) { CopyA1(LocalTensor<int8_t>(*to), gm, r, c, m, k, t, d); };
        if constexpr (::twin::given<CopyB1>())
            h.copy_b = [](const ::twin::LocalRef* to, const void* gm, int r, int c, int k, int n, uint64_t t, uint64_t d) { CopyB1(LocalTensor<int8_t>(*to), gm, r, c, k, n, t, d); };
        return h;
    }
};

namespace Impl { namespace Detail {
// ---- MatmulPolicy TrianUpperMatmulPolicy TrianLowerMatmulPolicy NBuffer33MatmulPolicy
// which base blocks are computed: all, those that touch the upper or the lower triangle; the last one is about speed only
template <const auto& = CFG_NORM, typename...> struct MatmulPolicy { static constexpr uint8_t triangle_ = 0; };
template <const auto& = CFG_NORM, typename...> struct TrianUpperMatmulPolicy { static constexpr uint8_t triangle_ = 1; };
template <const auto& = CFG_NORM, typename...> struct TrianLowerMatmulPolicy { static constexpr uint8_t triangle_ = 2; };
template <const auto& = CFG_NORM, typename...> struct NBuffer33MatmulPolicy { static constexpr uint8_t triangle_ = 0; };
} }  // namespace Impl::Detail

struct MatrixOffset { int32_t offset, row, col, height, width; };

}  // namespace AscendC

namespace twin {

template <class M> constexpr MatmulSide matmul_side() {
    MatmulSide s;
    s.type = dtype_of<typename M::T>();
    s.pos = static_cast<uint8_t>(M::pos);
    s.format = static_cast<uint8_t>(M::format);
    s.trans = M::isTrans;
    s.layout = static_cast<uint8_t>(M::layout);
    s.share = M::ibShare;
    return s;
}
constexpr const MatmulConfig& matmul_config(const MatmulConfig& c) { return c; }
constexpr const MatmulConfig& matmul_config(const MatmulApiStaticTiling& t) { return t.cfg; }
constexpr void matmul_constants(const MatmulConfig& c, MatmulSetup& s) {
    const uint32_t v[6] = {c.singleCoreM, c.singleCoreN, c.singleCoreK, c.basicM, c.basicN, c.basicK};
    for (int i = 0; i < 6; ++i) s.fixed[i] = static_cast<int32_t>(v[i]);
    s.constant = 0;
}
constexpr void matmul_constants(const MatmulApiStaticTiling& t, MatmulSetup& s) {
    const int32_t v[6] = {t.singleCoreM, t.singleCoreN, t.singleCoreK, t.baseM, t.baseN, t.baseK};
    s.constant = 1;
    for (int i = 0; i < 6; ++i) { s.fixed[i] = v[i] > 0 ? v[i] : 0; s.constant &= v[i] > 0; }
}
template <class A, class B, class C, class Bias> constexpr bool matmul_types() {
    constexpr DType a = dtype_of<A>(), b = dtype_of<B>(), c = dtype_of<C>(), s = dtype_of<Bias>();
    constexpr bool wide = c == DType::F32 || c == DType::F16 || c == DType::BF16;
    if (a == DType::F16 && b == a) return wide || c == DType::I8;
    if (a == DType::BF16 && b == a) return wide || c == DType::I8;
    if (a == DType::F32 && b == a) return wide;
    if (a == DType::I8 && b == a) return (c == DType::I32 || c == DType::F16 || c == DType::I8 || c == DType::U8) && (s == DType::I32 || s == c);
    return a == DType::I4 && b == a && (c == DType::I32 || c == DType::F16);
}

}  // namespace twin
