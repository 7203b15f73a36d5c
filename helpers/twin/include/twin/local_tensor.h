// LocalTensor: a view of on-chip memory.
#pragma once
#include "twin/global_tensor.h"

namespace twin {
// What GetPhyAddr gives: the byte address inside the memory when used as a number (as on the device), a host pointer
// when cast to a pointer (as in CPU mode). Kernels use both.
struct PhyAddr {
    LocalRef ref;
    operator uint64_t() const { return ref.addr; }
    template <class U> operator U*() const { return static_cast<U*>(std::is_const<U>::value ? tw_local_pointer(&ref) : tw_local_raw(&ref)); }
};
}  // namespace twin

namespace AscendC {

// ---- LocalTensor
// Handle of bytes in UB, L1, L0A/B/C ...: position, byte address, byte length, owning buffer. Copies share storage.
// limits: operator[] offset < GetSize(); int4b_t offsets even; scalar access only in UB
// pipe: S for GetValue, SetValue, operator()
template <class T>
class LocalTensor {
public:
    using PrimType = PrimT<T>;

    LocalTensor() = default;
    explicit LocalTensor(const ::twin::LocalRef& r) : ref_(r) {}
    LocalTensor(TPosition pos, uint32_t addr, uint32_t n, ::twin::At at = ::twin::At::here()) {
        tw_local_static(&ref_, static_cast<uint8_t>(pos), addr, ::twin::bytes_of<T>(n), at);
    }
    // `dst = a + b` and the other operators of operators.h: the expression writes itself into dst.
    template <class E, class = typename E::twin_expression>
    const LocalTensor& operator=(const E& e) const { e.assign_to(*this); return *this; }

    LocalTensor operator[](uint32_t off) const { return at_offset(off); }
    template <class U>
    LocalTensor<U> ReinterpretCast() const {
        LocalTensor<U> r;
        r.ref_ = ref_;
        r.shape_ = shape_;
        return r;
    }
    uint32_t GetSize() const { return static_cast<uint32_t>(::twin::elements_in<T>(ref_.bytes)); }
    void SetSize(uint32_t n, ::twin::At at = ::twin::At::here()) { tw_local_window(&ref_, 0, ::twin::bytes_of<T>(n), at); }
    uint32_t GetLength() const { return ref_.bytes; }
    void SetBufferLen(uint32_t bytes, ::twin::At at = ::twin::At::here()) { tw_local_window(&ref_, 0, bytes, at); }

    PrimType GetValue(uint32_t i, ::twin::At at = ::twin::At::here()) const {
        const auto* p = static_cast<const PrimType*>(tw_local_scalar(&ref_, byte_offset(i), sizeof(PrimType), 0, at));
        if constexpr (std::is_same<PrimType, int4b_t>::value) return int4b_t(static_cast<uint8_t>(p->value) >> (i % 2 * 4));
        PrimType v;
        __builtin_memcpy(&v, p, sizeof(PrimType));
        return v;
    }
    template <class T1>
    void SetValue(uint32_t i, T1 v, ::twin::At at = ::twin::At::here()) const {
        PrimType w = static_cast<PrimType>(v);
        auto* p = static_cast<PrimType*>(tw_local_scalar(&ref_, byte_offset(i), sizeof(PrimType), 1, at));
        if constexpr (std::is_same<PrimType, int4b_t>::value) {
            const int old = static_cast<uint8_t>(p->value);
            w.value = static_cast<int8_t>(i % 2 ? (old & 0x0f) | (w.value << 4) : (old & 0xf0) | (w.value & 0x0f));
        }
        __builtin_memcpy(p, &w, sizeof(PrimType));
    }
    ::twin::Element<LocalTensor, PrimType> operator()(uint32_t i, ::twin::At at = ::twin::At::here()) const { return {*this, i, at}; }

    ::twin::PhyAddr GetPhyAddr() const { return {ref_}; }
    ::twin::PhyAddr GetPhyAddr(uint32_t off) const { return {at_offset(off).ref_}; }
    int32_t GetPosition() const { return ref_.pos; }
    void SetUserTag(int32_t tag) { tw_user_tag(&ref_, tag, 1); }
    int32_t GetUserTag() const { return tw_user_tag(&ref_, 0, 0); }
    void SetShapeInfo(const ShapeInfo& s) {
        const ::twin::ShapeRecord r = ::twin::shape_record(s);
        shape_ = tw_shape_store(&r);
    }
    ShapeInfo GetShapeInfo(::twin::At at = ::twin::At::here()) const {
        ::twin::ShapeRecord r{};
        tw_shape_load(shape_, &r, at);
        return ::twin::shape_info(r);
    }
    template <class T1>
    void SetAddrWithOffset(LocalTensor<T1>& src, uint32_t off, ::twin::At at = ::twin::At::here()) {
        ref_ = src.ref();
        tw_local_window(&ref_, static_cast<int64_t>(::twin::bytes_of<T1>(off)), ref_.bytes, at);
    }
    void Print(::twin::At at = ::twin::At::here()) const { tw_local_print(&ref_, ::twin::dtype_of<T>(), GetSize(), at); }
    void Print(uint32_t n, ::twin::At at = ::twin::At::here()) const { tw_local_print(&ref_, ::twin::dtype_of<T>(), n, at); }
    template <class Text>
    int32_t ToFile(const Text& path) const {
        if constexpr (std::is_convertible<Text, const char*>::value) return tw_local_to_file(&ref_, path);
        else return tw_local_to_file(&ref_, path.c_str());
    }

    ::twin::LocalRef ref() const { return ref_; }
    bool has_shape_info() const { return shape_ != 0; }
    PrimType* element_pointer(uint32_t i) const { return static_cast<PrimType*>(static_cast<void*>(static_cast<uint8_t*>(tw_local_pointer(&ref_)) + byte_offset(i))); }

private:
    template <class> friend class LocalTensor;
    static uint64_t byte_offset(uint32_t i) { return std::is_same<PrimType, int4b_t>::value ? i / 2 : static_cast<uint64_t>(i) * sizeof(PrimType); }
    // An offset past the end leaves no bytes: whatever uses the result says so, with its own line.
    LocalTensor at_offset(uint32_t off) const {
        LocalTensor r = *this;
        const uint64_t shift = ::twin::bytes_of<T>(off);
        r.ref_.addr += static_cast<uint32_t>(shift);
        r.ref_.bytes = shift < ref_.bytes ? ref_.bytes - static_cast<uint32_t>(shift) : 0;
        return r;
    }
    ::twin::LocalRef ref_;
    uint32_t shape_ = 0;   // id of a stored ShapeInfo, 0 = none
};

}  // namespace AscendC
