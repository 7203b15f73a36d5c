// DataCopyPad: rows of any byte length between GM and UB. The GM side counts bytes, the UB side 32 B blocks.
#pragma once
#include "twin/copy_params.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

#define TWIN_COMPACT_ "PaddingMode::Compact exists on a later chip only; with PaddingMode::Normal every row starts on a 32 B boundary of UB."
#define TWIN_PAD_TYPES_ "DataCopyPad moves bytes and does not convert: source and destination need the same element type. Copy first, then Cast."

namespace AscendC {

// ---- DataCopyPad
// Row b: blockLen bytes; GM rows lie blockLen + stride bytes apart, UB rows AlignUp(left + blockLen + right, 32) + 32 * stride.
// blockCount 0..4095, blockLen 0..2097151 (old struct 65535) and a multiple of sizeof(T), padding at most 32 B a side.
// GM -> UB: MTE2 · UB -> GM: MTE3; GM needs no alignment; not on the inference chip
template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& p,
                        const DataCopyPadExtParams<PrimT<T>>& pad, ::twin::At at = ::twin::At::here()) {
    static_assert(mode == PaddingMode::Normal, TWIN_COMPACT_);
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    const ::twin::CopyPad q = pad.pad_();
    ::tw_copy_pad_in(&d, &s, ::twin::dtype_of<T>(), &b, &q, at);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& p, const DataCopyPadParams& pad,
                        ::twin::At at = ::twin::At::here()) {
    static_assert(mode == PaddingMode::Normal, TWIN_COMPACT_);
    const ::twin::LocalRef d = dst.ref();
    const ::twin::GlobalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    const ::twin::CopyPad q = pad.pad_();
    ::tw_copy_pad_in(&d, &s, ::twin::dtype_of<T>(), &b, &q, at);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& p, ::twin::At at = ::twin::At::here()) {
    static_assert(mode == PaddingMode::Normal, TWIN_COMPACT_);
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_pad_out(&d, &s, ::twin::dtype_of<T>(), &b, at);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& p, ::twin::At at = ::twin::At::here()) {
    static_assert(mode == PaddingMode::Normal, TWIN_COMPACT_);
    const ::twin::GlobalRef d = dst.ref();
    const ::twin::LocalRef s = src.ref();
    const ::twin::CopyBlocks b = p.blocks_();
    ::tw_copy_pad_out(&d, &s, ::twin::dtype_of<T>(), &b, at);
}
template <class T, class U, class P>
inline void DataCopyPad(const GlobalTensor<T>&, const GlobalTensor<U>&, const P&) {
    static_assert(::twin::never<T, U>, "Both operands are GlobalTensor and there is no GM to GM path: copy GM -> UB -> GM, staged in a LocalTensor.");
}
template <class T, class U, class = std::enable_if_t<!std::is_same<T, U>::value>>
inline void DataCopyPad(const LocalTensor<T>&, const GlobalTensor<U>&, const DataCopyExtParams&, const DataCopyPadExtParams<PrimT<U>>&) {
    static_assert(::twin::never<T, U>, TWIN_PAD_TYPES_);
}
template <class T, class U, class = std::enable_if_t<!std::is_same<T, U>::value>>
inline void DataCopyPad(const GlobalTensor<T>&, const LocalTensor<U>&, const DataCopyExtParams&) {
    static_assert(::twin::never<T, U>, TWIN_PAD_TYPES_);
}
template <class T, class U, std::enable_if_t<!std::is_same<PrimT<T>, U>::value, int> = 0>
inline void DataCopyPad(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyExtParams&, const DataCopyPadExtParams<U>&) {
    static_assert(::twin::never<T, U>, "The padding parameters hold another element type than the tensors: use DataCopyPadExtParams<T> with their T.");
}
template <class T, class U>
inline void DataCopyPad(const LocalTensor<T>&, const GlobalTensor<T>&, const DataCopyParams&, const DataCopyPadExtParams<U>&) {
    static_assert(::twin::never<T, U>, "DataCopyParams goes with DataCopyPadParams, DataCopyExtParams with DataCopyPadExtParams<T>.");
}
template <class T>
inline void DataCopyPad(const LocalTensor<T>&, const LocalTensor<T>&, const DataCopyExtParams&, const Nd2NzParams&) {
    static_assert(::twin::never<T>, "DataCopyPad UB -> L1 is not modelled here; store to GM and load with Nd2NzParams.");
}

// ---- SetPadValue
// Value that later DataCopyPad loads of this core with isPad = false write into asked-for padding.
// Same element type as the copies; stays until the next SetPadValue.
// S
template <class T, TPosition pos = TPosition::MAX>
inline void SetPadValue(T paddingValue, ::twin::At at = ::twin::At::here()) {
    static_assert(pos == TPosition::MAX || pos == TPosition::VECIN || pos == TPosition::VECOUT, "SetPadValue applies to VECIN and VECOUT.");
    ::tw_set_pad_value(::twin::bits_of(paddingValue), ::twin::dtype_of<T>(), at);
}

}  // namespace AscendC
