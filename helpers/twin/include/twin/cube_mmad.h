// Matrix multiplication in L0.
#pragma once
#include "twin/abi_cube.h"
#include "twin/local_tensor.h"
#include "twin/copy_params.h"

namespace twin {
constexpr bool mmad_types(DType dst, DType fm, DType filter) {
    if (fm != filter && !(__NPU_ARCH__ == 2002 && size_of(fm) == 1 && size_of(filter) == 1)) return false;
    switch (fm) {
        case DType::F16: return dst == DType::F32 || (__NPU_ARCH__ == 2002 && dst == DType::F16);
        case DType::BF16: case DType::F32: return dst == DType::F32 && __NPU_ARCH__ == 2201;
        case DType::I8: case DType::I4: return dst == DType::I32;
        case DType::U8: return dst == DType::I32 && __NPU_ARCH__ == 2002;
        default: return false;
    }
}
}  // namespace twin

#define TWIN_MMAD_TYPES_ "Mmad takes half x half, bfloat16_t x bfloat16_t and float x float into float, int8_t x int8_t and int4b_t x int4b_t into int32_t. Fix: accumulate in float or int32_t, Fixpipe converts on the way out"

namespace AscendC {

// ---- MmadParams
// C is m x n, the sum runs over k. cmatrixInitVal: start from zero; else from L0C, or from the bias table with cmatrixSource.
// m, n, k 0..4095; unitFlag 0, 2 or 3; isBias = true is the older spelling of "go on from what is in L0C".
// Used by Mmad.
struct MmadParams {
    uint16_t m = 0, n = 0, k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false, enWinogradA = false, enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false, cmatrixSource = false, cmatrixInitVal = true;
    constexpr MmadParams() {}
    constexpr MmadParams(int64_t m_, int64_t n_, int64_t k_, bool bias, int32_t offset, bool sparse, bool winogradA, bool winogradB)
        : m(static_cast<uint16_t>(m_)), n(static_cast<uint16_t>(n_)), k(static_cast<uint16_t>(k_)), isBias(bias), fmOffset(offset), enSsparse(sparse), enWinogradA(winogradA),
          enWinogradB(winogradB), written_{{m_, n_, k_}, true} {}
    constexpr MmadParams(int64_t m_, int64_t n_, int64_t k_, uint8_t flag, bool source, bool zero)
        : m(static_cast<uint16_t>(m_)), n(static_cast<uint16_t>(n_)), k(static_cast<uint16_t>(k_)), unitFlag(flag), cmatrixSource(source), cmatrixInitVal(zero), written_{{m_, n_, k_}, true} {}
    void fill_(::twin::MmadCall& c) const {
        c.m = written_.get(0, m);
        c.n = written_.get(1, n);
        c.k = written_.get(2, k);
        c.unit_flag = unitFlag;
        c.accumulate = isBias;
        c.from_table = cmatrixSource;
        c.init_zero = cmatrixInitVal;
        c.k_aligned = kDirectionAlign;
    }
    ::twin::Written<3> written_;
};

// ---- Mmad
// C[i][j] = start + sum over t < k of A[i][t] * B[t][j]; A in ZZ, B in ZN, C in NZ fractals of 16x16; m == 1 reads A as a plain vector.
// dst in CO1 (1024 B aligned), fm in A2 and filter in B2 (512 B), bias in C2 (64 B) or CO1; two Mmad on one small tile need PipeBarrier<PIPE_M>.
// M
template <class T, class U, class S>
inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const MmadParams& p, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::mmad_types(::twin::dtype_of<T>(), ::twin::dtype_of<U>(), ::twin::dtype_of<S>()), TWIN_MMAD_TYPES_);
    ::twin::MmadCall c;
    c.at = at;
    c.dst_type = ::twin::dtype_of<T>();
    c.fm_type = ::twin::dtype_of<U>();
    c.filter_type = ::twin::dtype_of<S>();
    c.dst = dst.ref();
    c.fm = fm.ref();
    c.filter = filter.ref();
    p.fill_(c);
    ::tw_mmad(&c);
}
template <class T, class U, class S, class V>
inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<S>& filter, const LocalTensor<V>& bias, const MmadParams& p, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::mmad_types(::twin::dtype_of<T>(), ::twin::dtype_of<U>(), ::twin::dtype_of<S>()), TWIN_MMAD_TYPES_);
    static_assert(::twin::dtype_of<T>() == ::twin::dtype_of<V>(), "Mmad: the bias has the type of the result, float or int32_t. Fix: DataCopy from C1 to C2 converts half to float");
    ::twin::MmadCall c;
    c.at = at;
    c.dst_type = ::twin::dtype_of<T>();
    c.fm_type = ::twin::dtype_of<U>();
    c.filter_type = ::twin::dtype_of<S>();
    c.bias_type = ::twin::dtype_of<V>();
    c.dst = dst.ref();
    c.fm = fm.ref();
    c.filter = filter.ref();
    c.bias = bias.ref();
    c.with_bias = 1;
    p.fill_(c);
    ::tw_mmad(&c);
}

enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };
// ---- SetHF32Mode
// Mmad of float rounds its inputs to 11 explicit mantissa bits (that width is assumed) and runs twice as fast. limits: float only. pipe: S
inline void SetHF32Mode(HF32Mode mode, ::twin::At at = ::twin::At::here()) { ::tw_set_hf32(mode == HF32Mode::ENABLE, at); }
inline void SetHF32Mode(bool on, ::twin::At at = ::twin::At::here()) { ::tw_set_hf32(on, at); }
// ---- SetHF32TransMode
// How HF32 rounds: NEAREST_EVEN = ties to even, NEAREST_ZERO = ties away from zero (assumed). limits: with SetHF32Mode. pipe: S
inline void SetHF32TransMode(HF32TransMode mode, ::twin::At at = ::twin::At::here()) { ::tw_set_hf32_away(mode == HF32TransMode::NEAREST_ZERO, at); }
inline void SetHF32TransMode(bool nearestZero, ::twin::At at = ::twin::At::here()) { ::tw_set_hf32_away(nearestZero, at); }
// ---- SetMMColumnMajor SetMMRowMajor SetMMLayoutTransform
// Order in which result fractals appear; no effect on values. limits: timing with unitFlag on the device only. pipe: S
inline void SetMMColumnMajor() {}
inline void SetMMRowMajor() {}
inline void SetMMLayoutTransform(bool) {}

}  // namespace AscendC
