// Repeating, padding and transposing whole tensors in UB.
#pragma once
#include "twin/abi_adv_transform.h"
#include "twin/adv_call.h"
#include "twin/adv_transform_tiling.h"
#include "twin/vec_call.h"
#include "twin/vec_transpose.h"

namespace twin {
template <class T, int32_t dim, int32_t axis>
inline void broadcast_call(const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const uint32_t* to, const uint32_t* from, const AdvTmp& tmp, At at) {
    static_assert(has_type(kI8 | kU8 | kF16 | kF32, dtype_of<T>()), "UNSUPPORTED_TYPE: BroadCast on Atlas A2 takes int8_t, uint8_t, half and float. Fix: ReinterpretCast to a type of the same width");
    static_assert(dim == 1 || dim == 2, "BAD_PARAMETER: BroadCast on Atlas A2 knows one or two axes. Fix: merge axes, or repeat the call");
    static_assert(axis == 0 || axis == 1, "BAD_PARAMETER: BroadCast repeats axis 0 or axis 1");
    BroadcastCall c;
    c.api = api;
    c.at = at;
    c.type = dtype_of<T>();
    c.dim = dim;
    c.axis = axis;
    for (int i = 0; i < dim; ++i) { c.to[i] = to[i]; c.from[i] = from[i]; }
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    tw_adv_broadcast(&c);
}
}  // namespace twin

namespace AscendC {

#define TWIN_BROADCAST(NAME)                                                                                                              \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                                         \
    inline void NAME(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t* dstShape, const uint32_t* srcShape, \
                     const LocalTensor<uint8_t>& sharedTmpBuffer, twin::At at = twin::At::here()) {                                      \
        twin::broadcast_call<T, dim, axis>(#NAME, dstLocal, srcLocal, dstShape, srcShape, twin::adv_tmp(sharedTmpBuffer), at);           \
    }                                                                                                                                    \
    template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>                                                         \
    inline void NAME(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t* dstShape, const uint32_t* srcShape, \
                     twin::At at = twin::At::here()) {                                                                                   \
        twin::broadcast_call<T, dim, axis>(#NAME, dstLocal, srcLocal, dstShape, srcShape, twin::adv_tmp(), at);                          \
    }
// ---- BroadCast Broadcast
// repeats axis 0 ([1,k] -> [m,k]) or axis 1 ([m,1] -> [m,k]); dst is dense
// limits: int8_t, uint8_t, half, float; axis 0 needs k * sizeof(T) a multiple of 32; own dst; GetBroadCastMaxMinTmpSize
// pipe: V
TWIN_BROADCAST(BroadCast)
TWIN_BROADCAST(Broadcast)

// ---- PadParams
// {leftPad, rightPad, padValue}: columns
// limits: one 32-byte block at most
// used by Pad
struct PadParams { uint16_t leftPad = 0, rightPad = 0; int32_t padValue = 0; };
// ---- UnPadParams
// {leftPad, rightPad}: leftPad is ignored
// limits: rightPad less than 32 bytes
// used by UnPad
struct UnPadParams { uint16_t leftPad = 0, rightPad = 0; };

}  // namespace AscendC
namespace twin {
template <class T> inline PadCall pad_call(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AdvTmp& tmp, At at) {
    static_assert(has_type(kI16 | kU16 | kF16 | kBF16 | kI32 | kU32 | kF32, dtype_of<T>()), "UNSUPPORTED_TYPE: Pad and UnPad on Atlas A2 take types of 16 and 32 bits");
    PadCall c;
    c.at = at;
    c.type = dtype_of<T>();
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    return c;
}
template <class T> inline void pad_run(PadCall c, const AscendC::PadParams& p, const PadTiling& t) {
    c.height = t.srcHeight;
    c.width = t.srcWidth;
    c.valid = t.srcOriWidth;
    c.left = p.leftPad;
    c.right = p.rightPad;
    c.value = scalar_bits(static_cast<AscendC::PrimT<T>>(p.padValue));
    tw_adv_pad(&c);
}
inline void unpad_run(PadCall c, const AscendC::UnPadParams& p, const UnPadTiling& t) {
    c.drop = 1;
    c.height = t.srcHeight;
    c.width = t.srcWidth;
    c.right = p.rightPad;
    tw_adv_pad(&c);
}
}  // namespace twin
namespace AscendC {

// ---- Pad
// width not a multiple of 32 B: every row gets leftPad and rightPad values and starts at 32 B; otherwise columns from srcOriWidth on become padValue
// limits: 16-bit and 32-bit types; own dst; PadTilingFunc, GetPadMaxMinTmpSize
// pipe: V
template <typename T>
inline void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const PadParams& padParams, const LocalTensor<uint8_t>& sharedTmpBuffer, const PadTiling& tiling,
                twin::At at = twin::At::here()) {
    twin::pad_run<T>(twin::pad_call(dstTensor, srcTensor, twin::adv_tmp(sharedTmpBuffer), at), padParams, tiling);
}
template <typename T>
inline void Pad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const PadParams& padParams, const PadTiling& tiling, twin::At at = twin::At::here()) {
    twin::pad_run<T>(twin::pad_call(dstTensor, srcTensor, twin::adv_tmp(), at), padParams, tiling);
}

// ---- UnPad
// drops the last rightPad columns of a matrix; dst is dense
// limits: 16-bit and 32-bit types; width a multiple of 32 B, rightPad less than that; own dst; UnPadTilingFunc, GetUnPadMaxMinTmpSize
// pipe: V
template <typename T>
inline void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const UnPadParams& unPadParams, const LocalTensor<uint8_t>& sharedTmpBuffer,
                  const UnPadTiling& tiling, twin::At at = twin::At::here()) {
    twin::unpad_run(twin::pad_call(dstTensor, srcTensor, twin::adv_tmp(sharedTmpBuffer), at), unPadParams, tiling);
}
template <typename T>
inline void UnPad(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const UnPadParams& unPadParams, const UnPadTiling& tiling, twin::At at = twin::At::here()) {
    twin::unpad_run(twin::pad_call(dstTensor, srcTensor, twin::adv_tmp(), at), unPadParams, tiling);
}

}  // namespace AscendC
namespace twin {
template <class T>
inline void shuffle_call(const char* api, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const AdvTmp& tmp, AscendC::TransposeType type,
                         const ConfusionTransposeTiling& t, At at) {
    static_assert(has_type(kI16 | kU16 | kF16 | kI32 | kU32 | kF32, dtype_of<T>()), "UNSUPPORTED_TYPE: ConfusionTranspose on Atlas A2 takes integers of 16 and 32 bits, half and float");
    ShuffleCall c;
    c.api = api;
    c.at = at;
    c.type = dtype_of<T>();
    c.kind = static_cast<int32_t>(type);
    c.b = t.param0;
    c.n = t.param1;
    c.s = t.param2;
    c.d = t.param3;
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = tmp;
    tw_adv_shuffle(&c);
}
}  // namespace twin
namespace AscendC {

#define TWIN_SHUFFLE(NAME)                                                                                                                       \
    template <typename T>                                                                                                                        \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer,              \
                     TransposeType transposeType, const ConfusionTransposeTiling& tiling, twin::At at = twin::At::here()) {                      \
        twin::shuffle_call(#NAME, dstTensor, srcTensor, twin::adv_tmp(sharedTmpBuffer), transposeType, tiling, at);                              \
    }                                                                                                                                            \
    template <typename T>                                                                                                                        \
    inline void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, TransposeType transposeType,                              \
                     const ConfusionTransposeTiling& tiling, twin::At at = twin::At::here()) {                                                   \
        twin::shuffle_call(#NAME, dstTensor, srcTensor, twin::adv_tmp(), transposeType, tiling, at);                                             \
    }
// ---- ConfusionTranspose Transpose
// with a tiling: the seven rearrangements of attention, NZ <-> ND with heads and rows exchanged, and plain [H,W] -> [W,H]
// limits: integers of 16 and 32 bits, half, float; S a multiple of 16; types 1..7; own dst; GetConfusionTransposeTilingInfo
// pipe: V
TWIN_SHUFFLE(ConfusionTranspose)
TWIN_SHUFFLE(Transpose)

}  // namespace AscendC
