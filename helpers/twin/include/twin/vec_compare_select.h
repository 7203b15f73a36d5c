// Comparisons into packed bits, and the choice between two values by such bits.
#pragma once
#include "twin/vec_call.h"

namespace AscendC {

// ---- CMPMODE
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };

// ---- SELMODE
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

#define TWIN_COMPARE_CHECK(T, U)                                                                                                \
    TWIN_VEC_TYPES("Compare", T, twin::kF16 | twin::kF32 | twin::kI32, "takes half or float (int32_t: CMPMODE::EQ only): Cast first"); \
    static_assert(sizeof(PrimT<U>) == 1, "Compare packs 8 results into a byte: dst is a LocalTensor<uint8_t>")

}  // namespace AscendC

namespace twin {
inline VecCall compare_call(VecOp op, const char* api, DType from, int sources, AscendC::CMPMODE mode, const VecMask& mask, At at) {
    VecCall c = vec_call(op, api, DType::U8, from, sources, mask, at);
    c.mode = static_cast<uint8_t>(mode);
    return c;
}
inline void vec_compare(VecCall c, const LocalRef* dst, const LocalRef& src0, const LocalRef* src1, const AscendC::BinaryRepeatParams& p = {}) {
    if (dst) c.dst.ref = *dst;
    c.src[0] = {src0, {p.src0BlkStride, p.src0RepStride}};
    if (src1) c.src[1] = {*src1, {p.src1BlkStride, p.src1RepStride}};
    tw_vec_compare(&c, dst == nullptr);
}
inline AscendC::BinaryRepeatParams as_binary(const AscendC::UnaryRepeatParams& p) {
    return {p.dstBlkStride, p.srcBlkStride, 1, p.dstRepStride, p.srcRepStride, 8};
}
inline void vec_select(VecCall c, AscendC::SELMODE mode, const LocalRef& dst, const LocalRef* sel, const LocalRef& src0, const LocalRef* src1,
                       const AscendC::BinaryRepeatParams& p = {}) {
    c.mode = static_cast<uint8_t>(mode);
    c.dst = {dst, {p.dstBlkStride, p.dstRepStride}};
    c.src[0] = {src0, {p.src0BlkStride, p.src0RepStride}};
    if (src1) c.src[1] = {*src1, {p.src1BlkStride, p.src1RepStride}};
    tw_vec_select(&c, sel);
}
}  // namespace twin

namespace AscendC {

// ---- Compare
// bit k of dst byte q = (src0 OP src1) of element 8q + k; with a NaN every mode gives 0; the form without dst fills CMPMASK
// limits: half, float, int32_t (EQ only); whole 256-byte repeats; masks have no effect on the form with dst
// pipe: V
template <typename T, typename U>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, int64_t count,
                    twin::At at = twin::At::here()) {
    TWIN_COMPARE_CHECK(T, U);
    const twin::LocalRef d = dst.ref(), b = src1.ref();
    twin::vec_compare(twin::compare_call(twin::VecOp::Compare, "Compare", twin::dtype_of<T>(), 2, cmpMode, twin::by_count(count), at), &d, src0.ref(), &b);
}
template <typename T, typename U, bool isSetMask = true>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask[],
                    int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_COMPARE_CHECK(T, U);
    const twin::LocalRef d = dst.ref(), b = src1.ref();
    twin::vec_compare(twin::compare_call(twin::VecOp::Compare, "Compare", twin::dtype_of<T>(), 2, cmpMode, twin::by_bits(mask, repeatTime, isSetMask), at),
                      &d, src0.ref(), &b, repeatParams);
}
template <typename T, typename U, bool isSetMask = true>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask,
                    int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_COMPARE_CHECK(T, U);
    const twin::LocalRef d = dst.ref(), b = src1.ref();
    twin::vec_compare(twin::compare_call(twin::VecOp::Compare, "Compare", twin::dtype_of<T>(), 2, cmpMode, twin::by_lanes(mask, repeatTime, isSetMask), at),
                      &d, src0.ref(), &b, repeatParams);
}
template <typename T, bool isSetMask = true>
inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask[], const BinaryRepeatParams& repeatParams,
                    twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Compare into the CMPMASK register", T, twin::kF16 | twin::kF32, "takes half or float: Cast first");
    const twin::LocalRef b = src1.ref();
    twin::vec_compare(twin::compare_call(twin::VecOp::Compare, "Compare", twin::dtype_of<T>(), 2, cmpMode, twin::by_bits(mask, 1, isSetMask), at), nullptr,
                      src0.ref(), &b, repeatParams);
}
template <typename T, bool isSetMask = true>
inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, const uint64_t mask, const BinaryRepeatParams& repeatParams,
                    twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Compare into the CMPMASK register", T, twin::kF16 | twin::kF32, "takes half or float: Cast first");
    const twin::LocalRef b = src1.ref();
    twin::vec_compare(twin::compare_call(twin::VecOp::Compare, "Compare", twin::dtype_of<T>(), 2, cmpMode, twin::by_lanes(mask, 1, isSetMask), at), nullptr,
                      src0.ref(), &b, repeatParams);
}

// ---- CompareScalar Compares
// as Compare, with one scalar in place of src1
// limits: the scalar has the element type, or T is explicit
// pipe: V
#define TWIN_COMPARE_SCALAR(NAME)                                                                                                              \
    template <typename T, typename U>                                                                                                          \
    inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, int64_t count,                \
                     twin::At at = twin::At::here()) {                                                                                         \
        TWIN_COMPARE_CHECK(T, U);                                                                                                              \
        twin::VecCall c = twin::compare_call(twin::VecOp::CompareScalar, #NAME, twin::dtype_of<T>(), 1, cmpMode, twin::by_count(count), at);   \
        const twin::LocalRef d = dst.ref();                                                                                                    \
        c.scalar = twin::scalar_bits(src1Scalar);                                                                                              \
        twin::vec_compare(c, &d, src0.ref(), nullptr);                                                                                         \
    }                                                                                                                                          \
    template <typename T, typename U, bool isSetMask = true>                                                                                   \
    inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask[],        \
                     int64_t repeatTime, const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {                              \
        TWIN_COMPARE_CHECK(T, U);                                                                                                              \
        twin::VecCall c = twin::compare_call(twin::VecOp::CompareScalar, #NAME, twin::dtype_of<T>(), 1, cmpMode,                               \
                                             twin::by_bits(mask, repeatTime, isSetMask), at);                                                  \
        const twin::LocalRef d = dst.ref();                                                                                                    \
        c.scalar = twin::scalar_bits(src1Scalar);                                                                                              \
        twin::vec_compare(c, &d, src0.ref(), nullptr, twin::as_binary(repeatParams));                                                          \
    }                                                                                                                                          \
    template <typename T, typename U, bool isSetMask = true>                                                                                   \
    inline void NAME(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode, const uint64_t mask,          \
                     int64_t repeatTime, const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {                              \
        TWIN_COMPARE_CHECK(T, U);                                                                                                              \
        twin::VecCall c = twin::compare_call(twin::VecOp::CompareScalar, #NAME, twin::dtype_of<T>(), 1, cmpMode,                               \
                                             twin::by_lanes(mask, repeatTime, isSetMask), at);                                                 \
        const twin::LocalRef d = dst.ref();                                                                                                    \
        c.scalar = twin::scalar_bits(src1Scalar);                                                                                              \
        twin::vec_compare(c, &d, src0.ref(), nullptr, twin::as_binary(repeatParams));                                                          \
    }
TWIN_COMPARE_SCALAR(CompareScalar)
TWIN_COMPARE_SCALAR(Compares)

// ---- GetCmpMask
// writes the 16 bytes of the CMPMASK register to dst
// limits: dst 16-byte aligned, at least 16 bytes
// pipe: V
template <typename T>
inline void GetCmpMask(const LocalTensor<T>& dst, twin::At at = twin::At::here()) {
    const twin::LocalRef r = dst.ref();
    tw_vec_cmpmask(&r, 0, at);
}
// ---- SetCmpMask
// loads the CMPMASK register from the first 16 bytes of src
// limits: src 16-byte aligned
// pipe: V
template <typename T>
inline void SetCmpMask(const LocalTensor<T>& src, twin::At at = twin::At::here()) {
    const twin::LocalRef r = src.ref();
    tw_vec_cmpmask(&r, 1, at);
}

// ---- Select
// dst = bit ? src0 : src1 (or a scalar); mode 0 repeats the first L bits in every repeat, modes 1 and 2 go on through selMask
// limits: half, float; selMask 32-byte aligned; scalar forms use mode 1, tensor forms modes 0 and 2
// pipe: V
#define TWIN_SELECT_CHECK(T) TWIN_VEC_TYPES("Select", T, twin::kF16 | twin::kF32, "takes half or float: Cast, or ReinterpretCast to a type of the same width")
template <typename T, typename U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE selMode,
                   int64_t count, twin::At at = twin::At::here()) {
    TWIN_SELECT_CHECK(T);
    const twin::LocalRef m = selMask.ref(), b = src1.ref();
    twin::vec_select(twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 2, twin::by_count(count), at), selMode, dst.ref(),
                     &m, src0.ref(), &b);
}
template <typename T, typename U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE selMode, int64_t count,
                   twin::At at = twin::At::here()) {
    TWIN_SELECT_CHECK(T);
    const twin::LocalRef m = selMask.ref();
    twin::VecCall c = twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 1, twin::by_count(count), at);
    c.scalar = twin::scalar_bits(src1);
    twin::vec_select(c, selMode, dst.ref(), &m, src0.ref(), nullptr);
}
#define TWIN_SELECT_STRIDED(MASK, BY)                                                                                                          \
    template <typename T, typename U, bool isSetMask = true>                                                                                   \
    inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1,       \
                       SELMODE selMode, MASK, int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {    \
        TWIN_SELECT_CHECK(T);                                                                                                                  \
        const twin::LocalRef m = selMask.ref(), b = src1.ref();                                                                                \
        twin::vec_select(twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 2,                            \
                                        twin::BY(mask, repeatTime, isSetMask), at), selMode, dst.ref(), &m, src0.ref(), &b, repeatParams);     \
    }                                                                                                                                          \
    template <typename T, typename U, bool isSetMask = true>                                                                                   \
    inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1, SELMODE selMode, MASK,    \
                       int64_t repeatTime, const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {                           \
        TWIN_SELECT_CHECK(T);                                                                                                                  \
        const twin::LocalRef m = selMask.ref();                                                                                                \
        twin::VecCall c = twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 1,                           \
                                         twin::BY(mask, repeatTime, isSetMask), at);                                                           \
        c.scalar = twin::scalar_bits(src1);                                                                                                    \
        twin::vec_select(c, selMode, dst.ref(), &m, src0.ref(), nullptr, repeatParams);                                                        \
    }
TWIN_SELECT_STRIDED(const uint64_t mask[], by_bits)
TWIN_SELECT_STRIDED(uint64_t mask, by_lanes)
// Register forms: bits from CMPMASK (mode 0), or from the address it holds (mode 2); with selMask (mode 1) CMPMASK holds the scalar.
template <typename T, SELMODE selMode>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int64_t repeatTime,
                   const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_SELECT_CHECK(T);
    const twin::LocalRef b = src1.ref();
    twin::vec_select(twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 2, twin::by_bits(nullptr, repeatTime, false), at),
                     selMode, dst.ref(), nullptr, src0.ref(), &b, repeatParams);
}
template <typename T, typename U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, int64_t repeatTime,
                   const BinaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    TWIN_SELECT_CHECK(T);
    const twin::LocalRef m = selMask.ref();
    twin::VecCall c = twin::vec_call(twin::VecOp::Select, "Select", twin::dtype_of<T>(), twin::dtype_of<T>(), 1, twin::by_bits(nullptr, repeatTime, false), at);
    c.flag = 1;
    twin::vec_select(c, SELMODE::VSEL_TENSOR_SCALAR_MODE, dst.ref(), &m, src0.ref(), nullptr, repeatParams);
}

}  // namespace AscendC
