// Parameter structs of the copy APIs.
//
// On the device every field has 16 or 32 bits and a value that does not fit is cut without a word. The constructors take
// wide integers and keep them beside the fields, so that the copy can say which number was cut. The number of values in
// braces selects the struct (4: DataCopyParams, 5: DataCopyExtParams), therefore no constructor takes fewer.
#pragma once
#include "twin/abi_copy.h"
#include "twin/abi_cube.h"
#include "twin/enums.h"
#include "twin/types.h"

namespace twin {
// What stood in the learner's braces, per field. A field assigned afterwards counts with its own value.
template <int N>
struct Written {
    int64_t value[N] = {};
    bool any = false;
    template <class F> constexpr int64_t get(int i, F field) const {
        return any && static_cast<F>(value[i]) == field ? value[i] : static_cast<int64_t>(field);
    }
};
template <class T> inline uint64_t bits_of(const T& v) {
    uint64_t u = 0;
    __builtin_memcpy(&u, &v, sizeof(T));
    return u;
}
}  // namespace twin

namespace AscendC {

// ---- DataCopyParams
// blockCount blocks of blockLen; srcStride and dstStride (9.x: srcGap, dstGap) = end of a block to the start of the next.
// DataCopy: all lengths in 32 B blocks. DataCopyPad: bytes on the GM side, 32 B blocks for the UB stride.
// blockCount 0..4095, other fields 0..65535.
struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0;
    union { uint16_t srcStride = 0; uint16_t srcGap; };
    union { uint16_t dstStride = 0; uint16_t dstGap; };
    constexpr DataCopyParams() {}
    constexpr DataCopyParams(int64_t count, int64_t len, int64_t src, int64_t dst, ::twin::At at = ::twin::At::here())
        : blockCount(static_cast<uint16_t>(count)), blockLen(static_cast<uint16_t>(len)), srcStride(static_cast<uint16_t>(src)),
          dstStride(static_cast<uint16_t>(dst)), written_{{count, len, src, dst}, true}, at_(at) {}
    ::twin::CopyBlocks blocks_() const {
        return {written_.get(0, blockCount), written_.get(1, blockLen), written_.get(2, srcStride), written_.get(3, dstStride), at_, 0};
    }
    ::twin::Written<4> written_;
    ::twin::At at_{nullptr, 0};
};

// ---- DataCopyExtParams
// The same with 32-bit fields, for DataCopyPad: blockLen in bytes, the stride of GM in bytes, that of UB in 32 B blocks.
// blockCount 0..4095, blockLen 0..2097151; used by DataCopyPad.
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    union { uint32_t srcStride = 0; uint32_t srcGap; };
    union { uint32_t dstStride = 0; uint32_t dstGap; };
    uint32_t rsv = 0;
    constexpr DataCopyExtParams() {}
    constexpr DataCopyExtParams(int64_t count, int64_t len, int64_t src, int64_t dst, int64_t rsv_, ::twin::At at = ::twin::At::here())
        : blockCount(static_cast<uint16_t>(count)), blockLen(static_cast<uint32_t>(len)), srcStride(static_cast<uint32_t>(src)),
          dstStride(static_cast<uint32_t>(dst)), rsv(static_cast<uint32_t>(rsv_)), written_{{count, len, src, dst}, true}, at_(at) {}
    ::twin::CopyBlocks blocks_() const {
        return {written_.get(0, blockCount), written_.get(1, blockLen), written_.get(2, srcStride), written_.get(3, dstStride), at_, 1};
    }
    ::twin::Written<4> written_;
    ::twin::At at_{nullptr, 0};
};

// ---- DataCopyPadParams
// Old form of the padding: elements left and right of each row, the value as the bits of the element.
// At most 32 B a side.
// Used by DataCopyPad together with DataCopyParams.
struct DataCopyPadParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
    constexpr DataCopyPadParams() {}
    constexpr DataCopyPadParams(bool pad, int64_t left, int64_t right, uint64_t value)
        : isPad(pad), leftPadding(static_cast<uint8_t>(left)), rightPadding(static_cast<uint8_t>(right)), paddingValue(value),
          written_{{left, right}, true} {}
    ::twin::CopyPad pad_() const { return {isPad, written_.get(0, leftPadding), written_.get(1, rightPadding), paddingValue, 1}; }
    ::twin::Written<2> written_;
};

// ---- DataCopyPadExtParams
// isPad: padding and the fill up to 32 B get paddingValue; else the fill repeats the row's first element, padding is undefined.
// leftPadding and rightPadding in elements, at most 32 B each; 64-bit elements: paddingValue 0.
// Used by DataCopyPad together with DataCopyExtParams.
template <class T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    constexpr DataCopyPadExtParams() {}
    constexpr DataCopyPadExtParams(bool pad, int64_t left, int64_t right, T value)
        : isPad(pad), leftPadding(static_cast<uint8_t>(left)), rightPadding(static_cast<uint8_t>(right)), paddingValue(value),
          written_{{left, right}, true} {}
    ::twin::CopyPad pad_() const {
        return {isPad, written_.get(0, leftPadding), written_.get(1, rightPadding), ::twin::bits_of(paddingValue), 0};
    }
    ::twin::Written<2> written_;
};

// ---- PaddingMode
// Where DataCopyPad puts the rows in UB.
// Normal only: every row starts on a 32 B boundary; Compact exists on a later chip.
// Template argument of DataCopyPad.
enum class PaddingMode : uint8_t { Normal = 0, Compact };

// ---- SliceInfo
// One dimension of a slice: elements startIndex..endIndex (inclusive) in pieces of burstLen blocks, stride elements apart.
// burstLen is 1 above the innermost dimension; shapeValue = extent of the dimension in elements.
// Used by DataCopy in arrays of up to 8, innermost dimension first.
struct SliceInfo {
    uint32_t startIndex = 0, endIndex = 31, stride = 0, burstLen = 32, shapeValue = 0;
    constexpr SliceInfo() {}
    constexpr SliceInfo(int64_t start, int64_t end, int64_t gap, int64_t burst) : SliceInfo(start, end, gap, burst, 0) {}
    constexpr SliceInfo(int64_t start, int64_t end, int64_t gap, int64_t burst, int64_t shape)
        : startIndex(static_cast<uint32_t>(start)), endIndex(static_cast<uint32_t>(end)), stride(static_cast<uint32_t>(gap)),
          burstLen(static_cast<uint32_t>(burst)), shapeValue(static_cast<uint32_t>(shape)), written_{{start, end, gap, burst, shape}, true} {}
    ::twin::CopySlice slice_() const {
        return {written_.get(0, startIndex), written_.get(1, endIndex), written_.get(2, stride), written_.get(3, burstLen),
                written_.get(4, shapeValue)};
    }
    ::twin::Written<5> written_;
};

// ---- Nd2NzParams
// ndNum matrices of nValue rows and dValue columns; source strides in elements, dstNzC0Stride and dstNzNStride in 32 B.
// ndNum 0..4095, nValue 0..16384, dValue 0..65535, the dstNz strides 1..16384.
// Used by DataCopy GM -> UB or L1.
struct Nd2NzParams {
    uint16_t ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcDValue = 0, dstNzC0Stride = 0, dstNzNStride = 0,
             dstNzMatrixStride = 0;
    constexpr Nd2NzParams() {}
    constexpr Nd2NzParams(int64_t nd, int64_t n, int64_t d, int64_t srcMatrix, int64_t srcD, int64_t c0, int64_t nStride, int64_t dstMatrix)
        : ndNum(static_cast<uint16_t>(nd)), nValue(static_cast<uint16_t>(n)), dValue(static_cast<uint16_t>(d)),
          srcNdMatrixStride(static_cast<uint16_t>(srcMatrix)), srcDValue(static_cast<uint16_t>(srcD)),
          dstNzC0Stride(static_cast<uint16_t>(c0)), dstNzNStride(static_cast<uint16_t>(nStride)),
          dstNzMatrixStride(static_cast<uint16_t>(dstMatrix)), written_{{nd, n, d, srcMatrix, srcD, c0, nStride, dstMatrix}, true} {}
    ::twin::CopyNd2Nz nd2nz_() const {
        return {written_.get(0, ndNum), written_.get(1, nValue), written_.get(2, dValue), written_.get(3, srcNdMatrixStride),
                written_.get(4, srcDValue), written_.get(5, dstNzC0Stride), written_.get(6, dstNzNStride), written_.get(7, dstNzMatrixStride)};
    }
    ::twin::Written<8> written_;
};

// ---- Nz2NdParamsFull
// The way back: srcNdMatrixStride in 256 elements, srcNStride in 16 elements, destination strides in elements.
// ndNum 0..4095, nValue and dValue 1..8192, dValue a multiple of 16.
// Used by DataCopy UB -> GM.
struct Nz2NdParamsFull {
    uint16_t ndNum = 1, nValue = 0, dValue = 0, srcNdMatrixStride = 1, srcNStride = 0, dstDStride = 0, dstNdMatrixStride = 1;
    constexpr Nz2NdParamsFull() {}
    constexpr Nz2NdParamsFull(int64_t nd, int64_t n, int64_t d, int64_t srcMatrix, int64_t srcN, int64_t dstD, int64_t dstMatrix)
        : ndNum(static_cast<uint16_t>(nd)), nValue(static_cast<uint16_t>(n)), dValue(static_cast<uint16_t>(d)),
          srcNdMatrixStride(static_cast<uint16_t>(srcMatrix)), srcNStride(static_cast<uint16_t>(srcN)),
          dstDStride(static_cast<uint16_t>(dstD)), dstNdMatrixStride(static_cast<uint16_t>(dstMatrix)),
          written_{{nd, n, d, srcMatrix, srcN, dstD, dstMatrix}, true} {}
    ::twin::CopyNz2Nd nz2nd_() const {
        return {written_.get(0, ndNum), written_.get(1, nValue), written_.get(2, dValue), written_.get(3, srcNdMatrixStride),
                written_.get(4, srcNStride), written_.get(5, dstDStride), written_.get(6, dstNdMatrixStride)};
    }
    ::twin::Written<7> written_;
};

// ---- DataCopyCO12DstParams
// nSize x mSize elements of L0C to GM or L1; srcStride in rows of 16 elements, dstStride in elements (ND) or 32 B (NZ).
// reluPre 0 or 1; clipReluPre and eltWiseOp belong to other chips.
// Used by DataCopy on the cube core.
struct DataCopyCO12DstParams {
    uint8_t sid = 0;
    uint16_t nSize = 0, mSize = 0;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    uint8_t unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
    constexpr DataCopyCO12DstParams() {}
    constexpr DataCopyCO12DstParams(int64_t n, int64_t m, int64_t dst, int64_t src, QuantMode_t quant, int64_t relu, bool split, bool nz2nd)
        : nSize(static_cast<uint16_t>(n)), mSize(static_cast<uint16_t>(m)), dstStride(static_cast<uint32_t>(dst)),
          srcStride(static_cast<uint16_t>(src)), quantPre(quant), reluPre(static_cast<uint8_t>(relu)), channelSplit(split), nz2ndEn(nz2nd),
          written_{{n, m, dst, src}, true} {}
    void fill_(::twin::FixpipeCall& c) const {
        c.api = "DataCopy";
        c.n = written_.get(0, nSize);
        c.m = written_.get(1, mSize);
        c.dst_stride = written_.get(2, dstStride);
        c.src_stride = written_.get(3, srcStride);
        c.nd = nz2ndEn;
        c.from_table = 1;
        c.quant = quantPre;
        c.relu = reluPre;
        c.unit_flag = unitFlag;
        c.split = channelSplit;
    }
    ::twin::Written<4> written_;
};

// ---- DataCopyEnhancedParams
// Extra work of the L0C -> UB path of the inference chip.
// On all other paths the copy is the plain one of DataCopyParams.
// Used by DataCopy as fourth argument.
struct DataCopyEnhancedParams {
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = pad_t::PAD_NONE;
    uint64_t padValue = 0, deqTensorAddr = 0;
    constexpr DataCopyEnhancedParams() {}
    constexpr DataCopyEnhancedParams(BlockMode block, DeqScale scale, uint64_t deq, uint8_t sid, bool relu, pad_t pad, uint64_t value)
        : blockMode(block), deqScale(scale), deqValue(deq), sidStoreMode(sid), isRelu(relu), padMode(pad), padValue(value) {}
};

// ---- InitConstValueParams
// repeatTimes runs of blockNum blocks (32 B on L1, 512 B on L0A/L0B), dstGap blocks apart.
// Each 0..32767.
// Used by Fill and InitConstValue.
template <class T>
struct InitConstValueParams {
    uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;
    T initValue = T(0);
    constexpr InitConstValueParams() {}
    constexpr InitConstValueParams(int64_t repeats, T value) : InitConstValueParams(repeats, 1, 0, value) {}
    constexpr InitConstValueParams(int64_t repeats, int64_t blocks, int64_t gap, T value)
        : repeatTimes(static_cast<uint16_t>(repeats)), blockNum(static_cast<uint16_t>(blocks)), dstGap(static_cast<uint16_t>(gap)),
          initValue(value), written_{{repeats, blocks, gap}, true} {}
    int64_t repeats_() const { return written_.get(0, repeatTimes); }
    int64_t blocks_() const { return written_.get(1, blockNum); }
    int64_t gap_() const { return written_.get(2, dstGap); }
    ::twin::Written<3> written_;
};

}  // namespace AscendC
