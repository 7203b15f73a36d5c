// Choosing elements: DropOut, Select with a mask of bytes, TopK.
#pragma once
#include "twin/abi_adv_filter.h"
#include "twin/adv_call.h"
#include "twin/adv_transform_tiling.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- DropOutShapeInfo SelectWithBytesMaskShapeInfo
// {firstAxis, srcLastAxis, maskLastAxis}: rows, and elements from row to row of source and mask
// limits: rows of the source are multiples of 32 bytes
// used by DropOut, SelectWithBytesMask
struct DropOutShapeInfo { uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0; };
struct SelectWithBytesMaskShapeInfo { uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0; };

}  // namespace AscendC
namespace twin {
template <class T>
inline void dropout_call(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<uint8_t>& mask, const AdvTmp& tmp, float keep,
                         const AscendC::DropOutShapeInfo& info, uint32_t mode, At at) {
    TWIN_ADV_TYPES("DropOut", T, kF16 | kF32, "half, float");
    const DropOutCall c{at, dtype_of<T>(), static_cast<uint8_t>(mode > 4 ? 255 : mode), keep, info.firstAxis, info.srcLastAxis, info.maskLastAxis, dst.ref(), src.ref(), mask.ref(), tmp};
    tw_adv_dropout(&c);
}
template <class T, class U>
inline void bytes_mask_call(const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, AscendC::PrimT<T> number, bool first,
                            const AscendC::LocalTensor<U>& mask, const AscendC::LocalTensor<uint8_t>& tmp, const AscendC::SelectWithBytesMaskShapeInfo& info, bool reuse, At at) {
    TWIN_ADV_TYPES("SelectWithBytesMask", T, kF16 | kF32, "half, float");
    static_assert(has_type(type_bit(DType::Bool) | kI8 | kU8 | kI16 | kU16 | kI32 | kU32, dtype_of<U>()),
                  "UNSUPPORTED_TYPE: the mask of SelectWithBytesMask is bool or an integer of 8, 16 or 32 bits");
    BytesMaskCall c;
    c.api = api;
    c.at = at;
    c.type = dtype_of<T>();
    c.mask_type = dtype_of<U>();
    c.number_first = first;
    c.reuse_mask = reuse;
    c.number = scalar_bits(number);
    c.rows = info.firstAxis;
    c.cols = info.srcLastAxis;
    c.mask_cols = info.maskLastAxis;
    c.dst = dst.ref();
    c.src = src.ref();
    c.mask = mask.ref();
    c.tmp = adv_tmp(tmp);
    tw_adv_bytes_mask(&c);
}
}  // namespace twin
namespace AscendC {

// ---- DropOut
// dst = (mask ? src : 0) * T(1 / keepProb); the mask holds a byte (modes 1, 2) or a bit (3, 4; lowest bit first) per element
// limits: half, float; keepProb in (0, 1]; dst may be src; modes 1 and 4 have masks with padded rows; GetDropOutMaxMinTmpSize
// pipe: V
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal, const LocalTensor<uint8_t>& sharedTmpBuffer,
                    const float keepProb, const DropOutShapeInfo& info, twin::At at = twin::At::here()) {
    twin::dropout_call(dstLocal, srcLocal, maskLocal, twin::adv_tmp(sharedTmpBuffer), keepProb, info, dropOutMode, at);
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const LocalTensor<uint8_t>& maskLocal, const float keepProb,
                    const DropOutShapeInfo& info, twin::At at = twin::At::here()) {
    twin::dropout_call(dstLocal, srcLocal, maskLocal, twin::adv_tmp(), keepProb, info, dropOutMode, at);
}

#define TWIN_BYTES_MASK(NAME)                                                                                                                      \
    template <typename T, typename U, bool isReuseMask = true>                                                                                     \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const typename twin::PrimOf<T>::type src1, const LocalTensor<U>& mask, \
                     const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, twin::At at = twin::At::here()) {      \
        twin::bytes_mask_call(#NAME, dst, src0, src1, false, mask, sharedTmpBuffer, info, isReuseMask, at);                                        \
    }                                                                                                                                              \
    template <typename T, typename U, bool isReuseMask = true>                                                                                     \
    inline void NAME(const LocalTensor<T>& dst, const typename twin::PrimOf<T>::type src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask, \
                     const LocalTensor<uint8_t>& sharedTmpBuffer, const SelectWithBytesMaskShapeInfo& info, twin::At at = twin::At::here()) {      \
        twin::bytes_mask_call(#NAME, dst, src1, src0, true, mask, sharedTmpBuffer, info, isReuseMask, at);                                         \
    }
// ---- SelectWithBytesMask Select
// with a byte mask: dst = mask == 0 ? src0 : src1, one of them a number; the other way round than Select with bits
// limits: half, float; mask bool or integers; rows of src and mask are multiples of 32 bytes; dst may be src; isReuseMask destroys a mask with longer rows
// pipe: V
TWIN_BYTES_MASK(SelectWithBytesMask)
TWIN_BYTES_MASK(Select)

// ---- TopKMode
// NORMAL: rows up to 4096; NSMALL: rows of 32, results packed
enum class TopKMode { TOPK_NORMAL = 0, TOPK_NSMALL = 1 };
enum class TopKAlgo { RADIX_SELECT = 0, MERGE_SORT };
enum class TopKOrder { UNSET = 0, LARGEST, SMALLEST };
// ---- TopKInfo
// {outter, inner, n}: rows, elements from row to row, elements that count
// limits: inner a multiple of 32, n <= inner
// used by TopK
struct TopKInfo { int32_t outter = 1, inner = 0, n = 0; };

}  // namespace AscendC
namespace twin {
template <typename T, bool initIndex, bool hasFinish, AscendC::TopKMode mode>
inline void topk_call(const AscendC::LocalTensor<T>& value, const AscendC::LocalTensor<int32_t>& index, const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<int32_t>& srcIndex,
                      const AscendC::LocalTensor<bool>& finish, const AdvTmp& tmp, int32_t k, const AscendC::TopKInfo& info, bool largest, At at) {
    TWIN_ADV_TYPES("TopK", T, kF16 | kF32, "half, float");
    const TopKCall c{at, dtype_of<T>(), initIndex, hasFinish, mode == AscendC::TopKMode::TOPK_NSMALL, largest, k, info.outter, info.inner, info.n,
                     value.ref(), index.ref(), src.ref(), srcIndex.ref(), finish.ref(), tmp};
    tw_adv_topk(&c);
}
}  // namespace twin
namespace AscendC {

// ---- TopK
// per row the k largest, descending (isLargest = false: smallest, ascending), with their indices; equal values in order, NaN first
// limits: half, float; inner <= 4096 (NSMALL: 32); the columns n..inner-1 take part: fill them with -max or +max; workspace in VECCALC; GetTopKMaxMinTmpSize
// pipe: V
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
inline void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal, const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                 const LocalTensor<bool>& finishLocal, const LocalTensor<uint8_t>& tmpLocal, const int32_t k, const TopkTiling& /*tiling*/, const TopKInfo& topKInfo,
                 const bool isLargest = true, twin::At at = twin::At::here()) {
    twin::topk_call<T, isInitIndex, isHasfinish, topkMode>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal, finishLocal, twin::adv_tmp(tmpLocal), k, topKInfo, isLargest, at);
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false, enum TopKMode topkMode = TopKMode::TOPK_NORMAL>
inline void TopK(const LocalTensor<T>& dstValueLocal, const LocalTensor<int32_t>& dstIndexLocal, const LocalTensor<T>& srcLocal, const LocalTensor<int32_t>& srcIndexLocal,
                 const LocalTensor<bool>& finishLocal, const int32_t k, const TopkTiling& /*tiling*/, const TopKInfo& topKInfo, const bool isLargest = true,
                 twin::At at = twin::At::here()) {
    twin::topk_call<T, isInitIndex, isHasfinish, topkMode>(dstValueLocal, dstIndexLocal, srcLocal, srcIndexLocal, finishLocal, twin::adv_tmp(), k, topKInfo, isLargest, at);
}

}  // namespace AscendC
