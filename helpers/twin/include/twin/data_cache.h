// The scalar unit's data cache: 64 B lines per core, written back late, seen neither by DMA nor by other cores.
#pragma once
#include "twin/abi_copy.h"
#include "twin/enums.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

namespace AscendC {

// ---- DataCacheCleanAndInvalid
// Writes dirty bytes back to GM and drops the line, so that the next scalar read fetches GM again.
// SINGLE_CACHE_LINE: from the address to the end of its 64 B line only. ENTIRE_DATA_CACHE: everything, slow.
// S
template <class T, CacheLine entireType, DcciDst dcciDst>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, ::twin::At at = ::twin::At::here()) {
    ::tw_dcache_clean(dst.ref().ptr, entireType == CacheLine::ENTIRE_DATA_CACHE, static_cast<int>(dcciDst), at);
}
template <class T, CacheLine entireType>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, ::twin::At at = ::twin::At::here()) {
    ::tw_dcache_clean(dst.ref().ptr, entireType == CacheLine::ENTIRE_DATA_CACHE, static_cast<int>(DcciDst::CACHELINE_ALL), at);
}
// UB is read and written directly by the scalar unit: nothing to clean.
template <class T, CacheLine entireType, DcciDst dcciDst>
inline void DataCacheCleanAndInvalid(const LocalTensor<T>&, ::twin::At at = ::twin::At::here()) {
    ::tw_dcache_clean(nullptr, entireType == CacheLine::ENTIRE_DATA_CACHE, static_cast<int>(dcciDst), at);
}
// ---- DataCachePreload
// Loads the line at src + cacheOffset (bytes) into the data cache.
// T int16_t or int64_t; no effect on values.
// S
template <class T>
inline void DataCachePreload(const GlobalTensor<uint64_t>& src, const T cacheOffset, ::twin::At at = ::twin::At::here()) {
    static_assert(std::is_same<T, int16_t>::value || std::is_same<T, int64_t>::value, "DataCachePreload takes the offset as int16_t or int64_t.");
    ::tw_dcache_preload(src.ref().ptr + cacheOffset, at);
}
// ---- ReadGmByPassDCache
// The value at addr in GM, past the data cache.
// Integer types of 1..8 bytes.
// S
template <class T>
inline T ReadGmByPassDCache(__gm__ T* addr, ::twin::At at = ::twin::At::here()) {
    static_assert(std::is_integral<T>::value, "ReadGmByPassDCache reads integers; read the bits as uint16_t or uint32_t.");
    T value{};
    ::tw_gm_bypass(addr, sizeof(T), &value, 0, at);
    return value;
}
// ---- WriteGmByPassDCache
// Writes value to addr in GM, past the data cache; other cores see it.
// Integer types of 1..8 bytes; if the line may be dirty: DataCacheCleanAndInvalid and DataSyncBarrier<MemDsbT::DDR>() first.
// S
template <class T>
inline void WriteGmByPassDCache(__gm__ T* addr, T value, ::twin::At at = ::twin::At::here()) {
    static_assert(std::is_integral<T>::value, "WriteGmByPassDCache writes integers; write the bits as uint16_t or uint32_t.");
    ::tw_gm_bypass(addr, sizeof(T), &value, 1, at);
}

}  // namespace AscendC

// ---- dcci
// The intrinsic behind DataCacheCleanAndInvalid.
// As there; the destination may be left out.
// S
inline void dcci(const __gm__ void* p, cache_line_t line, dcci_dst_t dst = dcci_dst_t::CACHELINE_ALL, ::twin::At at = ::twin::At::here()) {
    ::tw_dcache_clean(const_cast<const void*>(p), line == cache_line_t::ENTIRE_DATA_CACHE, static_cast<int>(dst), at);
}
