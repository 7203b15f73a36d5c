// Atomic write-back: while a mode is set, every DMA store of this core to GM combines instead of overwriting.
#pragma once
#include "twin/abi_copy.h"
#include "twin/enums.h"
#include "twin/types.h"

namespace twin {
template <class T> constexpr bool atomic_type =
    dtype_of<T>() == DType::I8 || dtype_of<T>() == DType::I16 || dtype_of<T>() == DType::F16 || dtype_of<T>() == DType::BF16 ||
    dtype_of<T>() == DType::I32 || dtype_of<T>() == DType::F32;
constexpr DType atomic_dtype(AscendC::AtomicDtype t) {
    constexpr DType names[] = {DType::None, DType::F32, DType::F16, DType::I16, DType::I32, DType::I8, DType::BF16};
    return names[static_cast<int>(t)];
}
}  // namespace twin

#define TWIN_ATOMIC_TYPES_ "Atomic stores exist for int8_t, int16_t, half, bfloat16_t, int32_t and float."

namespace AscendC {

// ---- SetAtomicAdd
// GM[i] = GM[i] + data[i] in type T, each addition rounded once; integers wrap.
// T int8 int16 half bfloat16 int32 float (inference chip: int16 half float); GM is not cleared by this call.
// S; acts on the following stores of this core (MTE3, FIX) and needs no sync with them
template <class T> inline void SetAtomicAdd(::twin::At at = ::twin::At::here()) {
    static_assert(::twin::atomic_type<T>, TWIN_ATOMIC_TYPES_);
    ::tw_set_atomic(::twin::Atomic::Add, ::twin::dtype_of<T>(), at);
}
// ---- SetAtomicMax
// GM[i] = max(GM[i], data[i]); NaN wins.
// Types as SetAtomicAdd; not on the inference chip.
// S
template <class T> inline void SetAtomicMax(::twin::At at = ::twin::At::here()) {
    static_assert(::twin::atomic_type<T>, TWIN_ATOMIC_TYPES_);
    ::tw_set_atomic(::twin::Atomic::Max, ::twin::dtype_of<T>(), at);
}
// ---- SetAtomicMin
// GM[i] = min(GM[i], data[i]); NaN wins.
// Types as SetAtomicAdd; not on the inference chip.
// S
template <class T> inline void SetAtomicMin(::twin::At at = ::twin::At::here()) {
    static_assert(::twin::atomic_type<T>, TWIN_ATOMIC_TYPES_);
    ::tw_set_atomic(::twin::Atomic::Min, ::twin::dtype_of<T>(), at);
}
// ---- SetAtomicType
// Changes the type of the active operation.
// Types as SetAtomicAdd.
// S
template <class T> inline void SetAtomicType(::twin::At at = ::twin::At::here()) {
    static_assert(::twin::atomic_type<T>, TWIN_ATOMIC_TYPES_);
    ::tw_set_atomic_type(::twin::dtype_of<T>(), at);
}
// ---- SetAtomicNone
// Stores overwrite again.
// Call it after the last accumulating store.
// S
inline void SetAtomicNone(::twin::At at = ::twin::At::here()) { ::tw_set_atomic(::twin::Atomic::None, ::twin::DType::None, at); }
// ---- DisableDmaAtomic
// The newer name of SetAtomicNone.
// No limits.
// S
inline void DisableDmaAtomic(::twin::At at = ::twin::At::here()) { SetAtomicNone(at); }
// ---- SetStoreAtomicConfig
// Type and operation as enumerators; ATOMIC_NONE switches off.
// Operation ATOMIC_SUM only.
// S
template <AtomicDtype type, AtomicOp op> inline void SetStoreAtomicConfig(::twin::At at = ::twin::At::here()) {
    static_assert(op == AtomicOp::ATOMIC_SUM, "SetStoreAtomicConfig knows AtomicOp::ATOMIC_SUM; use SetAtomicMax or SetAtomicMin for the others.");
    ::tw_set_atomic(type == AtomicDtype::ATOMIC_NONE ? ::twin::Atomic::None : ::twin::Atomic::Add, ::twin::atomic_dtype(type), at);
}
// ---- GetStoreAtomicConfig
// Reads back type (AtomicDtype) and operation (0 = sum).
// No limits.
// S
inline void GetStoreAtomicConfig(uint16_t& atomicType, uint16_t& atomicOp) {
    ::twin::Atomic op = ::twin::Atomic::None;
    ::twin::DType t = ::twin::DType::None;
    ::tw_get_atomic(&op, &t);
    atomicType = 0;
    for (uint16_t i = 1; i <= 6; ++i)
        if (op != ::twin::Atomic::None && ::twin::atomic_dtype(static_cast<AtomicDtype>(i)) == t) atomicType = i;
    atomicOp = static_cast<uint16_t>(op == ::twin::Atomic::None ? 0 : static_cast<int>(op) - 1);
}

}  // namespace AscendC
