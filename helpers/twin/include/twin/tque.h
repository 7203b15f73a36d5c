// TQueBind, TQue, TSCM: tensors handed from one pipe to the next together with the flag that orders them.
#pragma once
#include "twin/local_tensor.h"

namespace AscendC {
using TBufHandle = uint8_t*;

struct TQueConfig {
    bool nd2nz = false, nz2nd = false, scmBlockGroup = false;
    uint32_t bufferLen = 0, bufferNumber = 0, consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false, enableLoopQueue = false;
};
}  // namespace AscendC

namespace twin {
constexpr AscendC::TQueConfig queue_config(int mask) {
    AscendC::TQueConfig c;
    c.nd2nz = mask & 1;
    c.nz2nd = mask & 2;
    return c;
}
constexpr AscendC::TQueConfig queue_config(const AscendC::TQueConfig* c) { return c ? *c : AscendC::TQueConfig{}; }

// Where the data of TQue<pos> comes from and goes to.
constexpr AscendC::TPosition queue_source(AscendC::TPosition pos) {
    using P = AscendC::TPosition;
    switch (pos) {
        case P::VECOUT: case P::CO1: case P::CO2: return pos;
        case P::A2: return P::A1;
        case P::B2: return P::B1;
        case P::C2: return P::C1;
        case P::C2PIPE2GM: return P::B1;
        case P::VECIN: case P::A1: case P::B1: case P::C1: return P::GM;
        default: return pos;   // not a queue position: InitBuffer says so
    }
}
constexpr AscendC::TPosition queue_target(AscendC::TPosition pos) {
    using P = AscendC::TPosition;
    return pos == P::VECOUT || pos == P::CO2 ? P::GM : pos == P::CO1 ? P::CO2 : pos;
}
}  // namespace twin

namespace AscendC {

// ---- TQueBind
// Buffers with states FREE -> OCCUPIED (AllocTensor) -> ENQUE (EnQue) -> DEQUE (DeQue) -> FREE (FreeTensor).
// limits: pending EnQue <= depth (0 = in-place form); buffers come from TPipe::InitBuffer; at most 8 event ids each way
// pipe: EnQue sets and DeQue waits source_target, FreeTensor sets and AllocTensor waits target_source
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
    using At = ::twin::At;

public:
    static constexpr TPosition srcPosition = src, dstPosition = dst;
    static constexpr bool isTQue = true;

    // ---- AllocTensor
    template <class T>
    LocalTensor<T> AllocTensor(At at = At::here()) {
        ::twin::LocalRef r;
        tw_queue_alloc(&r, id_, ::twin::dtype_of<T>(), at);
        return LocalTensor<T>(r);
    }
    template <class T>
    void AllocTensor(LocalTensor<T>& t, At at = At::here()) {
        static_assert(depth == 0, "BAD_PARAMETER: AllocTensor(tensor) is the in-place form of queues with depth 0. Fix: use tensor = queue.AllocTensor<T>()");
        t = AllocTensor<T>(at);
    }
    // ---- FreeTensor
    template <class T>
    void FreeTensor(const LocalTensor<T>& t, At at = At::here()) {
        const ::twin::LocalRef r = t.ref();
        tw_queue_free(id_, &r, at);
    }
    // ---- EnQue
    template <class T>
    bool EnQue(const LocalTensor<T>& t, At at = At::here()) {
        const ::twin::LocalRef r = t.ref();
        return tw_queue_enque(id_, &r, -1, -1, at) != 0;
    }
    template <TPosition srcUser, TPosition dstUser, class T>
    bool EnQue(const LocalTensor<T>& t, At at = At::here()) {
        const ::twin::LocalRef r = t.ref();
        return tw_queue_enque(id_, &r, static_cast<int>(srcUser), static_cast<int>(dstUser), at) != 0;
    }
    // ---- DeQue
    template <class T>
    LocalTensor<T> DeQue(At at = At::here()) {
        ::twin::LocalRef r;
        tw_queue_deque(&r, id_, ::twin::dtype_of<T>(), nullptr, -1, -1, at);
        return LocalTensor<T>(r);
    }
    template <class T>
    void DeQue(LocalTensor<T>& t, At at = At::here()) {
        static_assert(depth == 0, "BAD_PARAMETER: DeQue(tensor) is the in-place form of queues with depth 0. Fix: use tensor = queue.DeQue<T>()");
        const ::twin::LocalRef in_place = t.ref();
        ::twin::LocalRef r;
        tw_queue_deque(&r, id_, ::twin::dtype_of<T>(), &in_place, -1, -1, at);
        t = LocalTensor<T>(r);
    }
    template <TPosition srcUser, TPosition dstUser, class T>
    LocalTensor<T> DeQue(At at = At::here()) {
        ::twin::LocalRef r;
        tw_queue_deque(&r, id_, ::twin::dtype_of<T>(), nullptr, static_cast<int>(srcUser), static_cast<int>(dstUser), at);
        return LocalTensor<T>(r);
    }
    // ---- VacantInQue
    bool VacantInQue(At at = At::here()) { return query(TW_QUEUE_VACANT, at) != 0; }
    // ---- HasTensorInQue
    bool HasTensorInQue(At at = At::here()) { return query(TW_QUEUE_COUNT, at) > 0; }
    // ---- GetTensorCountInQue
    int32_t GetTensorCountInQue(At at = At::here()) { return query(TW_QUEUE_COUNT, at); }
    // ---- HasIdleBuffer
    bool HasIdleBuffer(At at = At::here()) { return query(TW_QUEUE_IDLE, at) > 0; }
    // ---- FreeAllEvent
    void FreeAllEvent(At at = At::here()) { tw_queue_free_events(id_, at); }
    // ---- GetState
    template <class T>
    TBufState GetState(const LocalTensor<T>& t, At at = At::here()) const {
        const ::twin::LocalRef r = t.ref();
        return static_cast<TBufState>(tw_queue_state(id_, &r, at));
    }
    template <class... A>
    void InitStartBufHandle(A...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: InitStartBufHandle (custom buffer pools) is not modelled. Fix: use TPipe::InitBuffer or TBufPool"); }
    template <class... A>
    void InitBufHandle(A...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: InitBufHandle (custom buffer pools) is not modelled. Fix: use TPipe::InitBuffer or TBufPool"); }
    template <class... A>
    void FreeBuffer(A...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: FreeBuffer works on raw handles, which are not modelled. Fix: use FreeTensor"); }

    static constexpr ::twin::QueueSpec twin_spec(int32_t pool) {
        const TQueConfig c = ::twin::queue_config(mask);
        ::twin::QueueSpec s;
        s.src = static_cast<uint8_t>(src);
        s.dst = static_cast<uint8_t>(dst);
        s.depth = depth;
        s.config = (c.nd2nz ? 1u : 0u) | (c.nz2nd ? 2u : 0u) | (c.scmBlockGroup ? 4u : 0u) | (c.enableLoopQueue ? 8u : 0u);
        s.buffer_number = c.bufferNumber;
        s.buffer_len = c.bufferLen;
        s.pool = pool;
        return s;
    }
    int32_t& twin_id() { return id_; }

private:
    int32_t query(int what, At at) {
        static_assert(depth != 0, "BAD_PARAMETER: the queue queries are not available with depth 0 (in-place form)");
        return tw_queue_query(id_, what, at);
    }
    int32_t id_ = 0;   // given by InitBuffer
};

// ---- TQue
// TQueBind with the usual partner of a position: VECIN = GM -> VECIN, VECOUT = VECOUT -> GM, A1 = GM -> A1 ...
// limits: not VECCALC (use TBuf) and not GM
// pipe: VECIN MTE2_V / V_MTE2, VECOUT V_MTE3 / MTE3_V
template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<::twin::queue_source(pos), ::twin::queue_target(pos), depth, mask> {};

// ---- TSCM
template <TPosition pos, int32_t depth = 1, auto mask = 0>
using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

}  // namespace AscendC
