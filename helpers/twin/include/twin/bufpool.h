// TBufPool: a piece of on-chip memory that is divided again, and that two pools may use one after the other.
#pragma once
#include "twin/tbuf.h"
#include "twin/tque.h"

namespace AscendC {

// ---- TBufPool
// InitBuffer as in TPipe, but from the pool's own bytes; a pool made with `share` starts at the same address as the other.
// limits: at most bufIDSize (<= 16) buffers; Reset before a pool with the same bytes takes over
// pipe: Reset waits the pending free events
template <TPosition pos, uint32_t bufIDSize = 4>
class TBufPool {
    using At = ::twin::At;
    static_assert(bufIDSize <= 16, "BAD_PARAMETER: TBufPool holds at most 16 buffers");
    static_assert(pos == TPosition::VECIN || pos == TPosition::VECOUT || pos == TPosition::VECCALC || pos == TPosition::A1 ||
                      pos == TPosition::B1 || pos == TPosition::C1,
                  "WRONG_POSITION: TBufPool lives in UB (VECIN, VECOUT, VECCALC) or L1 (A1, B1, C1)");

public:
    static constexpr TPosition poolPos = pos;
    static constexpr uint32_t bufIdSize = bufIDSize;

    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& q, int64_t num, int64_t len, At at = At::here()) {
        const ::twin::QueueSpec spec = q.twin_spec(id_);
        q.twin_id() = tw_queue_init(q.twin_id(), &spec, num, len, at);
        return true;
    }
    template <TPosition p>
    bool InitBuffer(TBuf<p>& b, int64_t len, At at = At::here()) {
        b.twin_id() = tw_tbuf_init(b.twin_id(), static_cast<uint8_t>(p), len, id_, at);
        return true;
    }
    template <TPosition p, uint32_t n>
    bool InitBufPool(TBufPool<p, n>& pool, int64_t len, At at = At::here()) {
        pool.twin_id() = tw_pool_init(static_cast<uint8_t>(p), n, len, id_, 0, at);
        return true;
    }
    template <TPosition p, uint32_t n, class Share>
    bool InitBufPool(TBufPool<p, n>& pool, int64_t len, Share& share, At at = At::here()) {
        pool.twin_id() = tw_pool_init(static_cast<uint8_t>(p), n, len, id_, share.twin_id(), at);
        return true;
    }
    void Reset(At at = At::here()) { tw_pool_reset(id_, at); }

    int32_t& twin_id() { return id_; }

private:
    int32_t id_ = 0;
};

}  // namespace AscendC

#define EXTERN_IMPL_BUFPOOL(cls, pos, n) \
    static_assert(::twin::never<cls>, "UNSUPPORTED_API: EXTERN_IMPL_BUFPOOL (a pool class of your own) is not modelled. Fix: use AscendC::TBufPool");
