// What the headers of the mathematical functions share: filling a call.
#pragma once
#include "twin/abi_adv_math.h"
#include "twin/adv_call.h"
#include "twin/vec_call.h"

namespace twin {

// A number whose type follows the tensor's: 0.5 for a half tensor needs no cast.
template <class T> struct Same { using type = AscendC::PrimT<T>; };

inline MathCall math_call(MathOp op, const char* api, DType type, DType from, bool reuse, At at) {
    MathCall m;
    m.op = op;
    m.api = api;
    m.type = type;
    m.from = from;
    m.reuse = reuse;
    m.at = at;
    return m;
}
inline void math_run(MathCall m, const LocalRef& dst, const LocalRef& src, const AdvTmp& tmp, const int64_t* count) {
    m.dst = dst;
    m.src[0] = src;
    m.tmp = tmp;
    if (count) { m.counted = 1; m.count = *count; }
    tw_adv_math(&m);
}
inline void math_run(MathCall m, const LocalRef& dst, const LocalRef& src0, const LocalRef& src1, const AdvTmp& tmp, const int64_t* count) {
    m.src[1] = src1;
    math_run(m, dst, src0, tmp, count);
}

}  // namespace twin

#define TWIN_MATH_TYPES(API, T, SET, TEXT) static_assert(twin::has_type(SET, twin::dtype_of<T>()), "UNSUPPORTED_TYPE: " API " on Atlas A2 " TEXT)

// The forms of a function of one tensor. HEAD: further template parameters behind isReuseSource; SETUP may change the call `m`.
#define TWIN_MATH_BODY(NAME, T, SETUP, TMP, COUNT)                                                                                       \
    TWIN_MATH_TYPES(#NAME, T, twin::kF16 | twin::kF32, "takes half or float: Cast first");                                               \
    twin::MathCall m = twin::math_call(twin::MathOp::NAME, #NAME, twin::dtype_of<T>(), twin::dtype_of<T>(), isReuseSource, at);         \
    SETUP                                                                                                                                \
    twin::math_run(m, dstTensor.ref(), srcTensor.ref(), TMP, COUNT);
#define TWIN_MATH_COUNT(NAME, HEAD, SETUP)                                                                                               \
    template <typename T, bool isReuseSource = false HEAD>                                                                               \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const int64_t calCount, twin::At at = twin::At::here()) { \
        TWIN_MATH_BODY(NAME, T, SETUP, twin::adv_tmp(), &calCount)                                                                               \
    }                                                                                                                                    \
    template <typename T, bool isReuseSource = false HEAD>                                                                               \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
                     const int64_t calCount, twin::At at = twin::At::here()) {                                                           \
        TWIN_MATH_BODY(NAME, T, SETUP, twin::adv_tmp(sharedTmpBuffer), &calCount)                                                                                  \
    }
#define TWIN_MATH_WHOLE(NAME, HEAD, SETUP)                                                                                               \
    template <typename T, bool isReuseSource = false HEAD>                                                                               \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, twin::At at = twin::At::here()) {                 \
        TWIN_MATH_BODY(NAME, T, SETUP, twin::adv_tmp(), nullptr)                                                                                 \
    }                                                                                                                                    \
    template <typename T, bool isReuseSource = false HEAD>                                                                               \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,      \
                     twin::At at = twin::At::here()) {                                                                                   \
        TWIN_MATH_BODY(NAME, T, SETUP, twin::adv_tmp(sharedTmpBuffer), nullptr)                                                                                    \
    }
#define TWIN_NOTHING
#define TWIN_MATH4(NAME) TWIN_MATH_COUNT(NAME, TWIN_NOTHING, TWIN_NOTHING) TWIN_MATH_WHOLE(NAME, TWIN_NOTHING, TWIN_NOTHING)
#define TWIN_MATH2(NAME) TWIN_MATH_COUNT(NAME, TWIN_NOTHING, TWIN_NOTHING)
