// Parameter structs of LoadData. Fields and order are those of the device; the wide constructors remember what was
// written, so that a number that does not fit its field is named instead of cut.
#pragma once
#include "twin/abi_cube.h"
#include "twin/copy_params.h"

namespace AscendC {

// ---- LoadData2DParams LoadData2dParams
// repeatTimes fractals of 512 B: the i-th from fractal startIndex + i*srcStride to fractal i*(1+dstGap) of the destination.
// startIndex, srcStride, dstGap 0..65535, repeatTimes 0..255; ifTranspose swaps rows and columns inside a 16x16 fractal.
// Used by LoadData.
struct LoadData2DParams {
    uint16_t startIndex = 0, dstGap = 0, srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0, sid = 0, addrMode = 0;
    constexpr LoadData2DParams() {}
    constexpr LoadData2DParams(int64_t start, int64_t repeats, int64_t stride, int64_t sid_, int64_t gap, bool transpose, int64_t mode)
        : startIndex(static_cast<uint16_t>(start)), dstGap(static_cast<uint16_t>(gap)), srcStride(static_cast<uint16_t>(stride)), ifTranspose(transpose),
          repeatTimes(static_cast<uint8_t>(repeats)), sid(static_cast<uint8_t>(sid_)), addrMode(static_cast<uint8_t>(mode)), written_{{start, repeats, stride, gap}, true} {}
    ::twin::Load2D load_() const {
        ::twin::Load2D p;
        p.start = written_.get(0, startIndex);
        p.repeats = written_.get(1, repeatTimes);
        p.src_stride = written_.get(2, srcStride);
        p.dst_gap = written_.get(3, dstGap);
        p.transpose = ifTranspose;
        p.backwards = addrMode;
        return p;
    }
    ::twin::Written<4> written_;
};
using LoadData2dParams = LoadData2DParams;

// ---- LoadData2DParamsV2
// Parameters of a later architecture: compiles so that guarded code does, the call is refused.
// m in 16 elements, k in 32 B, strides in 512 B.
// Used by LoadData.
struct LoadData2DParamsV2 {
    uint32_t mStartPosition = 0, kStartPosition = 0;
    uint16_t mStep = 0, kStep = 0;
    int32_t srcStride = 0;
    uint16_t dstStride = 0;
    bool ifTranspose = false;
    uint8_t sid = 0;
    constexpr LoadData2DParamsV2() {}
    constexpr LoadData2DParamsV2(uint32_t mStart, uint32_t kStart, uint16_t m, uint16_t k, int32_t src, uint16_t dst, bool transpose, uint8_t sid_)
        : mStartPosition(mStart), kStartPosition(kStart), mStep(m), kStep(k), srcStride(src), dstStride(dst), ifTranspose(transpose), sid(sid_) {}
};

// ---- LoadData2dTransposeParams
// repeatTimes squares (8-bit 32x32, 16-bit 16x16, 32-bit 16x16, int4b_t 64x64), each transposed into fractals of 16 rows.
// dstGap counts from the end of the first fractal of a square, dstFracGap between the fractals of one square, both in 512 B.
// Used by LoadDataWithTranspose.
struct LoadData2dTransposeParams {
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
    uint8_t addrMode = 0;
    constexpr LoadData2dTransposeParams() {}
    constexpr LoadData2dTransposeParams(int64_t start, int64_t repeats, int64_t stride, int64_t gap, int64_t fracGap)
        : LoadData2dTransposeParams(start, repeats, stride, gap, fracGap, 0) {}
    constexpr LoadData2dTransposeParams(int64_t start, int64_t repeats, int64_t stride, int64_t gap, int64_t fracGap, int64_t mode)
        : startIndex(static_cast<uint16_t>(start)), repeatTimes(static_cast<uint8_t>(repeats)), srcStride(static_cast<uint16_t>(stride)), dstGap(static_cast<uint16_t>(gap)),
          dstFracGap(static_cast<uint16_t>(fracGap)), addrMode(static_cast<uint8_t>(mode)), written_{{start, repeats, stride, gap, fracGap}, true} {}
    ::twin::LoadSquares load_() const {
        return {written_.get(0, startIndex), written_.get(1, repeatTimes), written_.get(2, srcStride), written_.get(3, dstGap), written_.get(4, dstFracGap), addrMode};
    }
    ::twin::Written<5> written_;
};

// ---- FmatrixMode
enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };

// ---- IsResetLoad3dConfig
// false: LoadData (3D) uses what SetFmatrix / SetLoadDataPaddingValue have set, not the fields of its parameters.
// Must be a constexpr object.
// Template argument of LoadData.
struct IsResetLoad3dConfig {
    bool isSetFMatrix = true, isSetPadding = true;
    constexpr IsResetLoad3dConfig() {}
    constexpr IsResetLoad3dConfig(bool matrix, bool padding) : isSetFMatrix(matrix), isSetPadding(padding) {}
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG{true, true};

// ---- LoadData3DParamsV2
// A window of the matrix that img2col makes of an NC1HWC0 feature map: mExtension rows from mStartPt, kExtension columns from kStartPt.
// padList 0..255, l1H and l1W 0..32767, strides 1..63, filter and dilation 1..255.
// Used by LoadData.
template <class T>
struct LoadData3DParamsV2 {
    uint8_t padList[4] = {0, 0, 0, 0};
    uint16_t l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
    uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    constexpr LoadData3DParamsV2() {}
    constexpr LoadData3DParamsV2(const uint8_t pad[4], int64_t h, int64_t w, int64_t channels, int64_t kExt, int64_t mExt, int64_t kStart, int64_t mStart, int64_t sW, int64_t sH,
                                 int64_t fW, int64_t fH, int64_t dW, int64_t dH, bool transpose, bool smallK, T value, bool sizeW = false, bool sizeH = false, bool ctrl = false)
        : padList{pad[0], pad[1], pad[2], pad[3]}, l1H(static_cast<uint16_t>(h)), l1W(static_cast<uint16_t>(w)), channelSize(static_cast<uint16_t>(channels)),
          kExtension(static_cast<uint16_t>(kExt)), mExtension(static_cast<uint16_t>(mExt)), kStartPt(static_cast<uint16_t>(kStart)), mStartPt(static_cast<uint16_t>(mStart)),
          strideW(static_cast<uint8_t>(sW)), strideH(static_cast<uint8_t>(sH)), filterW(static_cast<uint8_t>(fW)), filterH(static_cast<uint8_t>(fH)),
          dilationFilterW(static_cast<uint8_t>(dW)), dilationFilterH(static_cast<uint8_t>(dH)), enTranspose(transpose), enSmallK(smallK), padValue(value), filterSizeW(sizeW),
          filterSizeH(sizeH), fMatrixCtrl(ctrl), written_{{h, w, channels, kExt, mExt, kStart, mStart, sW, sH, fW, fH, dW, dH}, true} {}
    ::twin::Load3D load_() const {
        ::twin::Load3D p;
        for (int i = 0; i < 4; ++i) p.pad[i] = padList[i];
        p.h = written_.get(0, l1H);
        p.w = written_.get(1, l1W);
        p.channels = written_.get(2, channelSize);
        p.k_extent = written_.get(3, kExtension);
        p.m_extent = written_.get(4, mExtension);
        p.k_start = written_.get(5, kStartPt);
        p.m_start = written_.get(6, mStartPt);
        p.stride_w = written_.get(7, strideW);
        p.stride_h = written_.get(8, strideH);
        p.filter_w = written_.get(9, filterW) + (filterSizeW ? 256 : 0);
        p.filter_h = written_.get(10, filterH) + (filterSizeH ? 256 : 0);
        p.dilation_w = written_.get(11, dilationFilterW);
        p.dilation_h = written_.get(12, dilationFilterH);
        p.transpose = enTranspose;
        p.small_k = enSmallK;
        p.matrix_right = fMatrixCtrl;
        p.pad_value = ::twin::bits_of(padValue);
        return p;
    }
    ::twin::Written<13> written_;
};

// ---- LoadData3DParamsV2Pro
// The same window packed in two words; size of the map, padding and padding value come from SetFmatrix and SetLoadDataPaddingValue.
// extConfig = mStartPt<<48 | kStartPt<<32 | mExtension<<16 | kExtension; filterConfig = dilationH<<40 | dilationW<<32 | filterH<<24 | filterW<<16 | strideH<<8 | strideW.
// Used by LoadData.
struct LoadData3DParamsV2Pro {
    uint16_t channelSize = 0;
    bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
    uint64_t extConfig = 0, filterConfig = 0x10101010101;
    constexpr LoadData3DParamsV2Pro() {}
    constexpr LoadData3DParamsV2Pro(uint16_t channels, bool transpose, bool smallK, bool sizeW, bool sizeH, bool ctrl, uint64_t ext, uint64_t filter)
        : channelSize(channels), enTranspose(transpose), enSmallK(smallK), filterSizeW(sizeW), filterSizeH(sizeH), fMatrixCtrl(ctrl), extConfig(ext), filterConfig(filter) {}
    ::twin::Load3D load_() const {
        ::twin::Load3D p;
        auto field = [](uint64_t word, int shift, uint64_t mask) { return static_cast<int64_t>(word >> shift & mask); };
        p.channels = channelSize;
        p.k_extent = field(extConfig, 0, 0xffff);
        p.m_extent = field(extConfig, 16, 0xffff);
        p.k_start = field(extConfig, 32, 0xffff);
        p.m_start = field(extConfig, 48, 0xffff);
        p.stride_w = field(filterConfig, 0, 0xff);
        p.stride_h = field(filterConfig, 8, 0xff);
        p.filter_w = field(filterConfig, 16, 0xff) + (filterSizeW ? 256 : 0);
        p.filter_h = field(filterConfig, 24, 0xff) + (filterSizeH ? 256 : 0);
        p.dilation_w = field(filterConfig, 32, 0xff);
        p.dilation_h = field(filterConfig, 40, 0xff);
        p.transpose = enTranspose;
        p.small_k = enSmallK;
        p.matrix_right = fMatrixCtrl;
        p.own_matrix = p.own_padding = 0;
        return p;
    }
};

// ---- LoadDataRepeatParam
// repeatTime windows; mode 0 moves down by repeatStride*16 rows, mode 1 right by repeatStride*C0 columns.
// repeatTime 0..255.
// Used by SetLoadDataRepeat.
struct LoadDataRepeatParam {
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1, repeatMode = 0, reserved = 0;
    constexpr LoadDataRepeatParam() {}
    constexpr LoadDataRepeatParam(uint16_t stride, uint8_t time, uint8_t mode) : repeatStride(stride), repeatTime(time), repeatMode(mode) {}
};

}  // namespace AscendC
