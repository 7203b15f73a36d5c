// From L1 (or global memory) to L0A and L0B.
#pragma once
#include "twin/cube_params.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

namespace AscendC {

// ---- LoadData
// For i < repeatTimes: fractal startIndex + i*srcStride goes to fractal i*(1+dstGap); with ifTranspose dst[r*16+c] = src[c*16+r] inside it.
// Destination on 512 B, L1 source on 32 B; ifTranspose: elements of 16 bits from L1; one fractal is 512 B = 16 rows of 32 B.
// L1 -> L0A, L0B: MTE1 · GM -> L1, L0A, L0B: MTE2
template <class T>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    const ::twin::Load2D q = p.load_();
    ::tw_load_2d(&d, &s, ::twin::dtype_of<T>(), &q, at);
}
template <class T>
inline void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    const ::twin::Load2D q = p.load_();
    ::tw_load_2d_gm(&d, &s, ::twin::dtype_of<T>(), &q, at);
}
template <class T>
inline void LoadData(const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2DParamsV2&, ::twin::At at = ::twin::At::here()) {
    ::tw_cube_absent("LoadData with LoadData2DParamsV2", "use LoadData2DParams", at);
}
template <class T>
inline void LoadData(const LocalTensor<T>&, const GlobalTensor<T>&, const LoadData2DParamsV2&, ::twin::At at = ::twin::At::here()) {
    ::tw_cube_absent("LoadData with LoadData2DParamsV2", "use LoadData2DParams", at);
}

// ---- LoadData (3D)
// X[m][k] = map(c1, oh*strideH - top + kh*dilationH, ow*strideW - left + kw*dilationW, c), m = oh*Wo+ow, k = ((c1*filterH+kh)*filterW+kw)*C0+c; the window
// goes to L0A as ZZ (enTranspose: its transpose) and to L0B as ZN of a matrix with K = m and N = k. Rows of 16: mExtension is rounded up.
// L1 -> L0A, L0B: MTE1
template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG, class U = PrimT<T>>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<U>& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    ::twin::Load3D q = p.load_();
    q.own_matrix = config.isSetFMatrix;
    q.own_padding = config.isSetPadding;
    ::tw_load_3d(&d, &s, ::twin::dtype_of<T>(), &q, at);
}
template <class T>
inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    const ::twin::Load3D q = p.load_();
    ::tw_load_3d(&d, &s, ::twin::dtype_of<T>(), &q, at);
}

// ---- LoadDataWithTranspose
// Square i of the source (32x32 of 8 bits, 16x16 of 16 or 32 bits, 64x64 of int4b_t) is transposed and cut into fractals of 16 rows.
// dstGap counts from the end of the first fractal of a square; fractals of one square are 1+dstFracGap apart. int4b_t: to L0B only.
// L1 -> L0A, L0B: MTE1
template <class T>
inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2dTransposeParams& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref(), s = src.ref();
    const ::twin::LoadSquares q = p.load_();
    ::tw_load_squares(&d, &s, ::twin::dtype_of<T>(), &q, at);
}

// ---- SetFmatrix
// Size and padding of the feature map for 3D loads with isSetFMatrix = false. limits: mode FMATRIX_LEFT. pipe: S
inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode, ::twin::At at = ::twin::At::here()) {
    ::tw_set_fmatrix(l1H, l1W, padList, mode == FmatrixMode::FMATRIX_RIGHT, at);
}
// ---- SetLoadDataPaddingValue
// Value of positions outside the map for 3D loads with isSetPadding = false. limits: the low bytes count. pipe: S
template <class T>
inline void SetLoadDataPaddingValue(const T padValue, ::twin::At at = ::twin::At::here()) { ::tw_set_load_padding(::twin::bits_of(padValue), at); }
// ---- SetLoadDataBoundary
// Source addresses at or beyond `bytes` wrap to the start of L1; 0 = no boundary. limits: 0 or at least 1024. pipe: S
inline void SetLoadDataBoundary(uint32_t bytes, ::twin::At at = ::twin::At::here()) { ::tw_set_load_boundary(bytes, at); }
// ---- SetLoadDataRepeat
// 3D loads take repeatTime windows. limits: as LoadDataRepeatParam; stays until it is set again. pipe: S
inline void SetLoadDataRepeat(const LoadDataRepeatParam& p, ::twin::At at = ::twin::At::here()) { ::tw_set_load_repeat(p.repeatStride, p.repeatTime, p.repeatMode, at); }

}  // namespace AscendC
