// Filling memory with one value: GM from a vector core, L1 and L0 from a cube core.
#pragma once
#include "twin/copy_params.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

namespace twin {
template <class T> constexpr bool fill_type =
    dtype_of<T>() == DType::U16 || dtype_of<T>() == DType::I16 || dtype_of<T>() == DType::F16 || dtype_of<T>() == DType::U32 ||
    dtype_of<T>() == DType::I32 || dtype_of<T>() == DType::F32;
}
#define TWIN_FILL_TYPES_ "InitGlobalMemory fills uint16_t, int16_t, half, uint32_t, int32_t and float; view the buffer as one of these."

namespace AscendC {

// ---- InitGlobalMemory
// gm[i] = value for i < size, byte exact.
// Before InitBuffer (it fills free UB first); then MTE3_MTE2 before loads into UB, SyncAll before other cores use the area.
// V, then MTE3; ends with a barrier of MTE3
template <class T>
inline void InitGlobalMemory(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::fill_type<T>, TWIN_FILL_TYPES_);
    const ::twin::GlobalRef d = gmWorkspaceAddr.ref();
    ::tw_init_global(&d, ::twin::dtype_of<T>(), size, ::twin::bits_of(value), "InitGlobalMemory", at);
}
// ---- InitOutput
// The older name: gm[i] = value for i < size; takes a temporary such as gm[offset].
// As InitGlobalMemory.
// V, then MTE3
template <class T>
inline void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint32_t size, T value = T(0), ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::fill_type<T>, TWIN_FILL_TYPES_);
    const ::twin::GlobalRef d = gmWorkspaceAddr.ref();
    ::tw_init_global(&d, ::twin::dtype_of<T>(), size, ::twin::bits_of(value), "InitOutput", at);
}
// ---- Fill
// GM: as InitGlobalMemory. L1, L0A, L0B: for r < repeatTimes blocks [r*(blockNum+dstGap), +blockNum) get initValue.
// Blocks of 32 B on L1 and 512 B on L0; each field 0..32767; element types of 2 and 4 bytes.
// GM: V, then MTE3 · L1: MTE2 · L0A, L0B: MTE1
template <class T>
inline void Fill(GlobalTensor<T>& gmWorkspaceAddr, const uint64_t size, const T value, ::twin::At at = ::twin::At::here()) {
    static_assert(::twin::fill_type<T>, TWIN_FILL_TYPES_);
    const ::twin::GlobalRef d = gmWorkspaceAddr.ref();
    ::tw_init_global(&d, ::twin::dtype_of<T>(), size, ::twin::bits_of(value), "Fill", at);
}
template <class T, class U = PrimT<T>>
inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<U>& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    ::tw_fill_local(&d, ::twin::dtype_of<T>(), p.repeats_(), p.blocks_(), p.gap_(), ::twin::bits_of(p.initValue), "Fill", at);
}
// ---- InitConstValue
// The older name of Fill on L1, L0A and L0B.
// As Fill.
// L1: MTE2 · L0A, L0B: MTE1
template <class T, class U = PrimT<T>>
inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<U>& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef d = dst.ref();
    ::tw_fill_local(&d, ::twin::dtype_of<T>(), p.repeats_(), p.blocks_(), p.gap_(), ::twin::bits_of(p.initValue), "InitConstValue", at);
}

}  // namespace AscendC
