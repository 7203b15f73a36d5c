// The raw copy instructions some kernels call directly: pointers into UB and GM, the fields of the instruction one by one.
#pragma once
#include "twin/atomic.h"
#include "twin/data_copy.h"
#include "twin/data_copy_pad.h"
#include "twin/vec_intrinsics.h"

namespace twin {
// What a pointer moves: its own type, or numbers of the width that the name of the instruction says.
template <class E, class T> using Moved = std::conditional_t<std::is_void<T>::value || sizeof(std::conditional_t<std::is_void<T>::value, char, T>) != sizeof(E), E, T>;
template <class T> using MovedBlock = std::conditional_t<std::is_void<T>::value, uint8_t, T>;

template <class T> inline GlobalRef gm_ref(const void* p) {
    GlobalRef r;
    r.ptr = static_cast<uint8_t*>(const_cast<void*>(p));
    r.bytes = 0;                        // no length is known: the buffer's own end counts
    r.set = 1;
    return r;
}
template <class T> inline LocalRef ub_ref(const void* p) { return ub_tensor(static_cast<const T*>(p)).ref(); }

template <class E, class T>
inline void copy_in_align(T* dst, const void* src, int64_t bursts, int64_t length, int64_t left, int64_t right, int64_t srcGap, int64_t dstGap, At at) {
    using M = Moved<E, T>;
    const LocalRef d = ub_ref<M>(dst);
    const GlobalRef s = gm_ref<M>(src);
    const CopyBlocks b = AscendC::DataCopyExtParams(bursts, length, srcGap, dstGap, 0, at).blocks_();
    const CopyPad pad = AscendC::DataCopyPadParams(false, left, right, 0).pad_();
    tw_copy_pad_in(&d, &s, dtype_of<M>(), &b, &pad, at);
}
template <class E, class T>
inline void copy_out_align(void* dst, T* src, int64_t bursts, int64_t length, int64_t srcGap, int64_t dstGap, At at) {
    using M = Moved<E, std::remove_cv_t<T>>;
    const GlobalRef d = gm_ref<M>(dst);
    const LocalRef s = ub_ref<M>(src);
    const CopyBlocks b = AscendC::DataCopyExtParams(bursts, length, srcGap, dstGap, 0, at).blocks_();
    tw_copy_pad_out(&d, &s, dtype_of<M>(), &b, at);
}
}  // namespace twin

// ---- copy_gm_to_ubuf copy_ubuf_to_gm copy_ubuf_to_ubuf
// DataCopy with DataCopyParams: (dst, src, sid, nBurst, lenBurst, srcGap, dstGap), lengths and gaps in 32 B blocks; sid is 0.
// limits: as DataCopy; the addresses are pointers into UB and GM
// pipe: MTE2, MTE3, V
template <class T, class U>
inline void copy_gm_to_ubuf(T* dst, U* src, int64_t /*sid*/, int64_t nBurst, int64_t lenBurst, int64_t srcGap, int64_t dstGap, twin::At at = twin::At::here()) {
    using M = twin::MovedBlock<T>;
    const twin::LocalRef d = twin::ub_ref<M>(dst);
    const twin::GlobalRef s = twin::gm_ref<M>(src);
    const twin::CopyBlocks b = AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap, at).blocks_();
    tw_copy_in_blocks(&d, &s, twin::dtype_of<M>(), &b, at);
}
template <class T, class U>
inline void copy_ubuf_to_gm(T* dst, U* src, int64_t /*sid*/, int64_t nBurst, int64_t lenBurst, int64_t srcGap, int64_t dstGap, twin::At at = twin::At::here()) {
    using M = twin::MovedBlock<std::remove_cv_t<U>>;
    const twin::GlobalRef d = twin::gm_ref<M>(dst);
    const twin::LocalRef s = twin::ub_ref<M>(src);
    const twin::CopyBlocks b = AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap, at).blocks_();
    tw_copy_out_blocks(&d, &s, twin::dtype_of<M>(), &b, at);
}
template <class T, class U>
inline void copy_ubuf_to_ubuf(T* dst, U* src, int64_t /*sid*/, int64_t nBurst, int64_t lenBurst, int64_t srcGap, int64_t dstGap, twin::At at = twin::At::here()) {
    using M = twin::MovedBlock<T>;
    const twin::LocalRef d = twin::ub_ref<M>(dst), s = twin::ub_ref<M>(src);
    const twin::CopyBlocks b = AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap, at).blocks_();
    tw_copy_local_blocks(&d, &s, twin::dtype_of<M>(), &b, at);
}

// ---- copy_gm_to_ubuf_align_b8 copy_gm_to_ubuf_align_b16 copy_gm_to_ubuf_align_b32 copy_ubuf_to_gm_align_b8 copy_ubuf_to_gm_align_b16 copy_ubuf_to_gm_align_b32
// DataCopyPad: (dst, src, sid, nBurst, lenBurst, left, right, srcGap, dstGap); lenBurst and gaps of GM in bytes, gaps of UB in 32 B blocks.
// limits: as DataCopyPad; padding counts elements of the width in the name and holds the value of set_mov_pad_val
// pipe: MTE2, MTE3
#define TWIN_RAW_ALIGN(IN, OUT, E)                                                                                                                    \
    template <class T, class U>                                                                                                                       \
    inline void IN(T* dst, U* src, int64_t, int64_t nBurst, int64_t lenBurst, int64_t left, int64_t right, int64_t srcGap,                            \
                                              int64_t dstGap, twin::At at = twin::At::here()) {                                                       \
        twin::copy_in_align<E>(dst, src, nBurst, lenBurst, left, right, srcGap, dstGap, at);                                                          \
    }                                                                                                                                                 \
    template <class T, class U>                                                                                                                       \
    inline void OUT(T* dst, U* src, int64_t, int64_t nBurst, int64_t lenBurst, int64_t, int64_t, int64_t srcGap, int64_t dstGap,                      \
                                              twin::At at = twin::At::here()) {                                                                       \
        twin::copy_out_align<E>(dst, src, nBurst, lenBurst, srcGap, dstGap, at);                                                                      \
    }
TWIN_RAW_ALIGN(copy_gm_to_ubuf_align_b8, copy_ubuf_to_gm_align_b8, uint8_t)
TWIN_RAW_ALIGN(copy_gm_to_ubuf_align_b16, copy_ubuf_to_gm_align_b16, uint16_t)
TWIN_RAW_ALIGN(copy_gm_to_ubuf_align_b32, copy_ubuf_to_gm_align_b32, uint32_t)

// ---- set_atomic_none set_mov_pad_val
// SetAtomicNone and SetPadValue; the value is given as its bits.
// No limits.
// pipe: S
inline void set_atomic_none(twin::At at = twin::At::here()) { AscendC::SetAtomicNone(at); }
inline void set_mov_pad_val(uint64_t bits, twin::At at = twin::At::here()) { tw_set_pad_value(bits, twin::DType::None, at); }
