// TBuf: a plain piece of on-chip memory without queue and without synchronisation.
#pragma once
#include "twin/local_tensor.h"

namespace AscendC {

// ---- TBuf
// Get<T>() = the whole buffer, Get<T>(n) = its first n elements, GetWithOffset<T>(n, bytes) = n elements from a byte offset.
// limits: n * sizeof(T) + offset <= length, offset a multiple of 32; repeated Get gives the same bytes
// pipe: none; order accesses with SetFlag / WaitFlag
template <TPosition pos = TPosition::LCM>
class TBuf {
    using At = ::twin::At;

public:
    static constexpr TPosition position = pos;

    template <class T>
    LocalTensor<T> Get(At at = At::here()) { return get<T>(0, 0, 1, at); }
    template <class T>
    LocalTensor<T> Get(uint32_t n, At at = At::here()) { return get<T>(n, 0, 0, at); }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t n, uint32_t offset, At at = At::here()) { return get<T>(n, offset, 0, at); }
    // Legacy members from the time when TBuf was a queue: they order nothing.
    template <class T> LocalTensor<T> AllocTensor(At at = At::here()) { return Get<T>(at); }
    template <class T> LocalTensor<T> DeQue(At at = At::here()) { return Get<T>(at); }
    template <class T> bool EnQue(const LocalTensor<T>&) { return true; }
    template <class T> void FreeTensor(const LocalTensor<T>&) {}

    int32_t& twin_id() { return id_; }

private:
    template <class T>
    LocalTensor<T> get(uint64_t n, uint64_t offset, int whole, At at) {
        ::twin::LocalRef r;
        tw_tbuf_get(&r, id_, n, ::twin::bytes_of<T>(n), offset, whole, ::twin::dtype_of<T>(), at);
        return LocalTensor<T>(r);
    }
    int32_t id_ = 0;   // given by InitBuffer
};

}  // namespace AscendC
