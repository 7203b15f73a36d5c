// GlobalTensor: a view of GM.
#pragma once
#include "twin/abi_copy.h"
#include "twin/abi_core.h"
#include "twin/enums.h"

namespace twin {
inline ShapeRecord shape_record(const AscendC::ShapeInfo& s) {
    ShapeRecord r{s.shapeDim, {}, s.originalShapeDim, {}, static_cast<uint32_t>(s.dataFormat)};
    for (int i = 0; i < 8; ++i) { r.shape[i] = s.shape[i]; r.orig[i] = s.originalShape[i]; }
    return r;
}
inline AscendC::ShapeInfo shape_info(const ShapeRecord& r) {
    AscendC::ShapeInfo s(static_cast<uint8_t>(r.dims), r.shape, static_cast<uint8_t>(r.orig_dims), r.orig, static_cast<AscendC::DataFormat>(r.format));
    return s;
}

// One element reached through operator(): reading it is GetValue, assigning to it is SetValue.
template <class Tensor, class T>
struct Element {
    Tensor tensor;
    uint64_t index;
    At at;
    operator T() const { return tensor.GetValue(index, at); }
    template <class U, class = std::enable_if_t<std::is_class<T>::value && std::is_arithmetic<U>::value>>
    explicit operator U() const { return static_cast<U>(tensor.GetValue(index, at)); }   // static_cast<float>(t(i)) of bfloat16_t
    const Element& operator=(const Element& o) const { return *this = static_cast<T>(o); }
    template <class V> const Element& operator=(const V& v) const { tensor.SetValue(index, static_cast<T>(v), at); return *this; }
    template <class V> const Element& operator+=(const V& v) const { return *this = static_cast<T>(static_cast<T>(*this) + v); }
    template <class V> const Element& operator-=(const V& v) const { return *this = static_cast<T>(static_cast<T>(*this) - v); }
    template <class V> const Element& operator*=(const V& v) const { return *this = static_cast<T>(static_cast<T>(*this) * v); }
    template <class V> const Element& operator/=(const V& v) const { return *this = static_cast<T>(static_cast<T>(*this) / v); }
    T* operator&() const { return tensor.element_pointer(index); }
};
}  // namespace twin

namespace AscendC {

// ---- GlobalTensor
// Address and length of n elements of T in GM; copies are views of the same bytes. SetGlobalBuffer first.
// limits: operator[] shifts the start and keeps the stored length; int4b_t indices even
// pipe: S for GetValue, SetValue, operator()
template <class T>
class GlobalTensor {
public:
    using PrimType = PrimT<T>;

    void SetGlobalBuffer(__gm__ PrimType* p, uint64_t n, ::twin::At at = ::twin::At::here()) {
        tw_gm_type(p, ::twin::dtype_of<std::remove_cv_t<PrimType>>(), at);
        ref_.ptr = reinterpret_cast<uint8_t*>(const_cast<std::remove_cv_t<PrimType>*>(p));
        bytes_ = ref_.bytes = ::twin::bytes_of<T>(n);
        ref_.set = 1;
    }
    void SetGlobalBuffer(__gm__ PrimType* p, ::twin::At at = ::twin::At::here()) { SetGlobalBuffer(p, 0, at); }
    const __gm__ PrimType* GetPhyAddr() const { return reinterpret_cast<const PrimType*>(ref_.ptr); }
    __gm__ PrimType* GetPhyAddr(uint64_t off) const { return reinterpret_cast<PrimType*>(ref_.ptr + ::twin::bytes_of<T>(off)); }
    PrimType GetValue(uint64_t i, ::twin::At at = ::twin::At::here()) const {
        uint8_t raw[sizeof(PrimType)];
        tw_gm_scalar(&ref_, byte_offset(i), sizeof(PrimType), raw, 0, at);
        if constexpr (std::is_same<PrimType, int4b_t>::value) return int4b_t(raw[0] >> (i % 2 * 4));
        PrimType v;
        __builtin_memcpy(&v, raw, sizeof(PrimType));
        return v;
    }
    void SetValue(uint64_t i, PrimType v, ::twin::At at = ::twin::At::here()) const {
        std::remove_cv_t<PrimType> bits = v;
        if constexpr (std::is_same<PrimType, int4b_t>::value) {
            uint8_t raw;
            tw_gm_scalar(&ref_, byte_offset(i), 1, &raw, 0, at);
            bits.value = static_cast<int8_t>(i % 2 ? (raw & 0x0f) | (v.value << 4) : (raw & 0xf0) | (v.value & 0x0f));
        }
        tw_gm_scalar(&ref_, byte_offset(i), sizeof(PrimType), &bits, 1, at);
    }
    ::twin::Element<GlobalTensor, PrimType> operator()(uint64_t i, ::twin::At at = ::twin::At::here()) const { return {*this, i, at}; }
    GlobalTensor operator[](uint64_t i) const {
        GlobalTensor r = *this;
        const uint64_t shift = ::twin::bytes_of<T>(i);
        r.ref_.ptr += shift;
        // The checks use what is left behind the new start; GetSize() keeps the stored length, as on the device.
        if (r.ref_.bytes) r.ref_.bytes = shift < r.ref_.bytes ? r.ref_.bytes - shift : 0, r.ref_.set = r.ref_.bytes ? 1 : 2;
        return r;
    }
    uint64_t GetSize() const { return ::twin::elements_in<T>(bytes_); }
    void SetShapeInfo(const ShapeInfo& s) {
        const ::twin::ShapeRecord r = ::twin::shape_record(s);
        shape_ = tw_shape_store(&r);
    }
    ShapeInfo GetShapeInfo(::twin::At at = ::twin::At::here()) const {
        ::twin::ShapeRecord r{};
        tw_shape_load(shape_, &r, at);
        return ::twin::shape_info(r);
    }
    template <CacheRwMode rwMode = CacheRwMode::RW>
    void SetL2CacheHint(CacheMode mode) { ref_.cache = static_cast<uint8_t>(mode); }
    template <class U>
    GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> r;
        r.ref_ = ref_;
        r.bytes_ = bytes_;
        r.shape_ = shape_;
        return r;
    }

    ::twin::GlobalRef ref() const { return ref_; }
    PrimType* element_pointer(uint64_t i) const { return GetPhyAddr(i); }

private:
    template <class> friend class GlobalTensor;
    uint64_t byte_offset(uint64_t i) const { return std::is_same<PrimType, int4b_t>::value ? i / 2 : i * sizeof(PrimType); }
    ::twin::GlobalRef ref_;
    uint64_t bytes_ = 0;   // as given to SetGlobalBuffer
    uint32_t shape_ = 0;   // id of a stored ShapeInfo, 0 = none
};

}  // namespace AscendC
