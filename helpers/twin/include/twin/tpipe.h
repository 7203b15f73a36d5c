// TPipe: owner of on-chip memory and of event ids.
#pragma once
#include "twin/bufpool.h"
#include "twin/std.h"

namespace AscendC {

// ---- TPipe
// InitBuffer hands out on-chip memory from address 0 upwards, in the order of the calls; ids of events come from here too.
// limits: one living TPipe per core; <= 64 buffers; the sum per memory <= its capacity; lengths round up to 32 B
// pipe: the destructor and Destroy wait for everything (PIPE_ALL)
class TPipe {
    using At = ::twin::At;

public:
    TPipe(At at = At::here()) { tw_pipe_init(this, at); }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;
    ~TPipe() { tw_pipe_gone(this); }

    // ---- InitBuffer
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& q, int64_t num, int64_t len, At at = At::here()) {
        const ::twin::QueueSpec spec = q.twin_spec(0);
        q.twin_id() = tw_queue_init(q.twin_id(), &spec, num, len, at);
        return true;
    }
    template <TPosition pos>
    bool InitBuffer(TBuf<pos>& b, int64_t len, At at = At::here()) {
        b.twin_id() = tw_tbuf_init(b.twin_id(), static_cast<uint8_t>(pos), len, 0, at);
        return true;
    }
    template <TPosition src, TPosition dst, int32_t depth, auto mask, class U, class V, class... More>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& q, const Std::tuple<U, V>& first, const More&... more) {
        const ::twin::QueueSpec spec = q.twin_spec(0);
        const uint32_t pairs[] = {static_cast<uint32_t>(Std::get<0>(first)), static_cast<uint32_t>(Std::get<1>(first)),
                                  static_cast<uint32_t>(Std::get<0>(more))..., static_cast<uint32_t>(Std::get<1>(more))...};
        q.twin_id() = tw_queue_init_at(q.twin_id(), &spec, 1 + sizeof...(More), pairs, At{nullptr, 0});
        return true;
    }
    // ---- InitBufPool
    template <TPosition p, uint32_t n>
    bool InitBufPool(TBufPool<p, n>& pool, int64_t len, At at = At::here()) {
        pool.twin_id() = tw_pool_init(static_cast<uint8_t>(p), n, len, 0, 0, at);
        return true;
    }
    template <TPosition p, uint32_t n, class Share>
    bool InitBufPool(TBufPool<p, n>& pool, int64_t len, Share& share, At at = At::here()) {
        pool.twin_id() = tw_pool_init(static_cast<uint8_t>(p), n, len, 0, share.twin_id(), at);
        return true;
    }
    // ---- AllocEventID
    template <HardEvent event> TEventID AllocEventID(At at = At::here()) { return static_cast<TEventID>(tw_event_alloc(static_cast<int>(event), at)); }
    // ---- ReleaseEventID
    template <HardEvent event> void ReleaseEventID(TEventID id, At at = At::here()) { tw_event_release(static_cast<int>(event), id, at); }
    // ---- FetchEventID
    template <HardEvent event> TEventID FetchEventID(At at = At::here()) { return static_cast<TEventID>(tw_event_fetch(static_cast<int>(event), at)); }
    TEventID FetchEventID(HardEvent event, At at = At::here()) { return static_cast<TEventID>(tw_event_fetch(static_cast<int>(event), at)); }
    void Init(At at = At::here()) { tw_pipe_init(this, at); }
    void Reset(At at = At::here()) { tw_pipe_reset(at); }
    void Destroy(At at = At::here()) { tw_pipe_destroy(1, at); }
    void DestroyWithoutPipeAll(At at = At::here()) { tw_pipe_destroy(0, at); }
    // ---- GetAbsAddr
    template <TPosition pos, class T>
    LocalTensor<T> GetAbsAddr(int32_t offset, int32_t n, At at = At::here()) const {
        ::twin::LocalRef r;
        tw_abs_addr(&r, static_cast<uint8_t>(pos), offset, ::twin::bytes_of<T>(static_cast<uint64_t>(n)), at);
        return LocalTensor<T>(r);
    }
    uint8_t* GetBaseAddr(int8_t pos) { return tw_base(static_cast<uint8_t>(pos)); }
    template <class... A>
    void InitSpmBuffer(A&&...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: InitSpmBuffer is not modelled. Fix: keep the tile in UB or store it to a workspace with DataCopy"); }
    template <class... A>
    void WriteSpmBuffer(A&&...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: WriteSpmBuffer is not modelled. Fix: store to a workspace with DataCopy"); }
    template <class... A>
    void ReadSpmBuffer(A&&...) { static_assert(::twin::never<A...>, "UNSUPPORTED_API: ReadSpmBuffer is not modelled. Fix: load from a workspace with DataCopy"); }
};

// ---- PopStackBuffer
// t = all UB above the last InitBuffer; every call gives the same bytes.
template <class T, TPosition pos>
bool PopStackBuffer(LocalTensor<T>& t, ::twin::At at = ::twin::At::here()) {
    ::twin::LocalRef r;
    const bool ok = tw_pop_stack(&r, static_cast<uint8_t>(pos), at) != 0;
    t = LocalTensor<T>(r);
    return ok;
}

// ---- LocalMemAllocator
// Linear allocator from address 0 of one memory, for kernels without a TPipe; it never frees.
// limits: not together with TPipe; the next address rounds up to the alignment of the memory
// pipe: none
template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
    using At = ::twin::At;
    static constexpr TPosition home = hard == Hardware::L1 ? TPosition::A1 : hard == Hardware::L0A ? TPosition::A2
        : hard == Hardware::L0B ? TPosition::B2 : hard == Hardware::L0C ? TPosition::CO1 : hard == Hardware::BIAS ? TPosition::C2
        : hard == Hardware::FIXBUF ? TPosition::C2PIPE2GM : TPosition::VECCALC;
    static constexpr uint32_t align = hard == Hardware::L0A || hard == Hardware::L0B ? 512
        : hard == Hardware::L0C || hard == Hardware::BIAS || hard == Hardware::FIXBUF ? 64 : 32;

public:
    uint32_t GetCurAddr() const { return addr_; }
    template <TPosition pos, class T, uint32_t n> LocalTensor<T> Alloc(At at = At::here()) { return take<T>(pos, n, at); }
    template <class T, uint32_t n> LocalTensor<T> Alloc(At at = At::here()) { return take<T>(home, n, at); }
    template <TPosition pos, class T> LocalTensor<T> Alloc(uint32_t n, At at = At::here()) { return take<T>(pos, n, at); }
    template <class T> LocalTensor<T> Alloc(uint32_t n, At at = At::here()) { return take<T>(home, n, at); }

private:
    template <class T>
    LocalTensor<T> take(TPosition pos, uint32_t n, At at) {
        LocalTensor<T> t(pos, addr_, n, at);
        addr_ += static_cast<uint32_t>((::twin::bytes_of<T>(n) + align - 1) / align * align);
        return t;
    }
    uint32_t addr_ = 0;
};

}  // namespace AscendC

// ---- GetTPipePtr
inline AscendC::TPipe* GetTPipePtr() { return static_cast<AscendC::TPipe*>(tw_pipe_current()); }
