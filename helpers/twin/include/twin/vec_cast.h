// Conversions between element types.
#pragma once
#include "twin/enums.h"
#include "twin/vec_call.h"

namespace twin {
// A pair that Atlas A2 lacks stops the compilation with the way around it.
template <class T, class U> constexpr bool cast_exists() {
    constexpr DType t = dtype_of<T>(), u = dtype_of<U>();
    constexpr bool exists = cast_modes(u, t) != 0;
    constexpr bool byte_to_wide = (u == DType::I8 || u == DType::U8) && t != DType::F16;
    constexpr bool wide_to_byte = (t == DType::I8 || t == DType::U8) && u != DType::F16;
    constexpr bool bf16 = (t == DType::BF16 || u == DType::BF16) && t != u;
    static_assert(exists || !byte_to_wide, "Cast from int8_t or uint8_t on Atlas A2 goes to half only: Cast to half, then from half to this type");
    static_assert(exists || byte_to_wide || !wide_to_byte, "Cast to int8_t or uint8_t on Atlas A2 comes from half only: Cast to half first");
    static_assert(exists || byte_to_wide || wide_to_byte || !bf16, "Cast of bfloat16_t on Atlas A2 goes over float: Cast to float, then to this type");
    static_assert(exists || byte_to_wide || wide_to_byte || bf16, "Cast between these two types does not exist on Atlas A2: go over float or half in two steps");
    return exists;
}
}  // namespace twin

namespace AscendC {

// ---- Cast
// dst = src converted to T, rounded by RoundMode; integer results clamp, NaN becomes 0; out of half's range = inf
// limits: pairs and modes of the table cast_modes; 256 B of the wider type per repeat; a wider dst must not overlap src
// pipe: V
template <typename T, typename U>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const int64_t count, twin::At at = twin::At::here()) {
    if constexpr (twin::cast_exists<T, U>()) {
        twin::VecCall c = twin::vec_call(twin::VecOp::Cast, "Cast", twin::dtype_of<T>(), twin::dtype_of<U>(), 1, twin::by_count(count), at);
        c.mode = static_cast<uint8_t>(roundMode);
        twin::vec_unary(c, dst.ref(), src.ref());
    }
}
template <typename T, typename U, bool isSetMask = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask[], const int64_t repeatTime,
                 const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    if constexpr (twin::cast_exists<T, U>()) {
        twin::VecCall c = twin::vec_call(twin::VecOp::Cast, "Cast", twin::dtype_of<T>(), twin::dtype_of<U>(), 1, twin::by_bits(mask, repeatTime, isSetMask), at);
        c.mode = static_cast<uint8_t>(roundMode);
        twin::vec_unary(c, dst.ref(), src.ref(), repeatParams);
    }
}
template <typename T, typename U, bool isSetMask = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& roundMode, const uint64_t mask, const int64_t repeatTime,
                 const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    if constexpr (twin::cast_exists<T, U>()) {
        twin::VecCall c = twin::vec_call(twin::VecOp::Cast, "Cast", twin::dtype_of<T>(), twin::dtype_of<U>(), 1, twin::by_lanes(mask, repeatTime, isSetMask), at);
        c.mode = static_cast<uint8_t>(roundMode);
        twin::vec_unary(c, dst.ref(), src.ref(), repeatParams);
    }
}

// ---- VdeqInfo
struct VdeqInfo {
    float vdeqScale[16] = {0};
    int16_t vdeqOffset[16] = {0};
    bool vdeqSignMode[16] = {false};
    VdeqInfo() = default;
    VdeqInfo(const float scale[16], const int16_t offset[16], const bool signMode[16]) {
        for (int i = 0; i < 16; ++i) { vdeqScale[i] = scale[i]; vdeqOffset[i] = offset[i]; vdeqSignMode[i] = signMode[i]; }
    }
};

// ---- SetDeqScale
// (half): scale of Cast int32_t -> half and AddDeqRelu; (float, offset, sign): of CastDeq; (tensor, VdeqInfo): one set per lane
// limits: one register holds them all: the last call counts
// pipe: S
inline void SetDeqScale(half scale, twin::At at = twin::At::here()) { tw_vec_deq_scale(static_cast<float>(scale), 0, 0, 0, at); }
inline void SetDeqScale(float scale, int16_t offset, bool signMode, twin::At at = twin::At::here()) { tw_vec_deq_scale(scale, offset, signMode, 1, at); }
template <typename T>
inline void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info, twin::At at = twin::At::here()) {
    static_assert(twin::dtype_of<T>() == twin::DType::U64, "SetDeqScale writes 64-bit words: use a LocalTensor<uint64_t> of 16 elements");
    uint8_t sign[16];
    for (int i = 0; i < 16; ++i) sign[i] = info.vdeqSignMode[i];
    const twin::LocalRef r = vdeq.ref();
    tw_vec_deq_table(&r, info.vdeqScale, info.vdeqOffset, sign, at);
}

// ---- CastDeq
// int16_t -> 8 bit: clamp(RINT(src * scale + offset)) into one half of each 32 B block; int32_t -> half as Cast
// limits: scale and offset from SetDeqScale; isVecDeq says whether the tensor form set them
// pipe: V
template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>
inline void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int64_t count, twin::At at = twin::At::here()) {
    static_assert(twin::deq_types(twin::dtype_of<U>(), twin::dtype_of<T>()), "CastDeq on Atlas A2 converts int16_t to int8_t or uint8_t, and int32_t to half");
    twin::VecCall c = twin::vec_call(twin::VecOp::CastDeq, "CastDeq", twin::dtype_of<T>(), twin::dtype_of<U>(), 1, twin::by_count(count), at);
    c.mode = halfBlock;
    c.flag = isVecDeq;
    twin::vec_unary(c, dst.ref(), src.ref());
}
template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
inline void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[], const int64_t repeatTime,
                    const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    static_assert(twin::deq_types(twin::dtype_of<U>(), twin::dtype_of<T>()), "CastDeq on Atlas A2 converts int16_t to int8_t or uint8_t, and int32_t to half");
    twin::VecCall c = twin::vec_call(twin::VecOp::CastDeq, "CastDeq", twin::dtype_of<T>(), twin::dtype_of<U>(), 1, twin::by_bits(mask, repeatTime, isSetMask), at);
    c.mode = halfBlock;
    c.flag = isVecDeq;
    twin::vec_unary(c, dst.ref(), src.ref(), repeatParams);
}
template <typename T, typename U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
inline void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int32_t mask, const int64_t repeatTime,
                    const UnaryRepeatParams& repeatParams, twin::At at = twin::At::here()) {
    static_assert(twin::deq_types(twin::dtype_of<U>(), twin::dtype_of<T>()), "CastDeq on Atlas A2 converts int16_t to int8_t or uint8_t, and int32_t to half");
    twin::VecCall c = twin::vec_call(twin::VecOp::CastDeq, "CastDeq", twin::dtype_of<T>(), twin::dtype_of<U>(), 1,
                                     twin::by_lanes(static_cast<uint64_t>(static_cast<int64_t>(mask)), repeatTime, isSetMask), at);
    c.mode = halfBlock;
    c.flag = isVecDeq;
    twin::vec_unary(c, dst.ref(), src.ref(), repeatParams);
}
// ---- CastDequant
// newer name of CastDeq
// limits: as CastDeq
// pipe: V
template <typename T, typename U, bool isVecDeq = true, bool halfBlock = true>
inline void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, const int64_t count, twin::At at = twin::At::here()) {
    CastDeq<T, U, isVecDeq, halfBlock>(dst, src, count, at);
}

}  // namespace AscendC
