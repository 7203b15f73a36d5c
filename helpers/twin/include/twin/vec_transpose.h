// Transposition of small matrices and of sixteen blocks.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- TransposeType
enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_NZ2NZ_0213, TRANSPOSE_NZ2NZ_012_WITH_N, TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N, TRANSPOSE_NZ2NZ_012_WITHOUT_N, TRANSPOSE_ND2ND_ONLY, TRANSPOSE_ND_UB_GM, TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW
};
// ---- TransposeParamsExt
// {nSize, cSize, hSize, wSize, transposeType}
// limits: nSize 0..65535, cSize 0..4095, hSize * wSize 0..4095 and a multiple of 32 bytes
// used by Transpose with a type
struct TransposeParamsExt {
    int32_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
    constexpr TransposeParamsExt() = default;
    constexpr TransposeParamsExt(twin::StrideArg n, twin::StrideArg c, twin::StrideArg h, twin::StrideArg w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
};
// ---- TransDataTo5HDParams
// {dstHighHalf, srcHighHalf, repeatTimes, dstRepStride, srcRepStride}: strides in 32-byte blocks
// limits: repeatTimes 0..255; with repeatTimes 1 both strides have to be 0
// used by TransDataTo5HD
struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false;
    int32_t repeatTimes = 1, dstRepStride = 0, srcRepStride = 0;
    constexpr TransDataTo5HDParams() = default;
    constexpr TransDataTo5HDParams(bool dstHigh, bool srcHigh, twin::StrideArg repeat, twin::StrideArg dstRep, twin::StrideArg srcRep)
        : dstHighHalf(dstHigh), srcHighHalf(srcHigh), repeatTimes(repeat), dstRepStride(dstRep), srcRepStride(srcRep) {}
};
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

// ---- Transpose
// dst[16j + i] = src[16i + j] for a 16 x 16 matrix; with parameters also [n][c][h][w] <-> [n][h][w][c]
// limits: 16 x 16: int16_t, uint16_t, half, dst may be src; NCHW forms: 8 to 32 bits, own dst, and sharedTmpBuffer (the message gives the bytes)
// pipe: V
template <typename T>
inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Transpose", T, twin::kI16 | twin::kU16 | twin::kF16, "takes 16-bit types: for others use TransDataTo5HD, or TRANSPOSE_NCHW2NHWC");
    twin::TransposeCall c;
    c.at = at;
    c.type = twin::dtype_of<T>();
    c.dst = dst.ref();
    c.src = src.ref();
    tw_vec_transpose(&c);
}
template <typename T>
inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& transposeParams,
                      twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("Transpose", T, twin::kI8 | twin::kU8 | twin::kI16 | twin::kU16 | twin::kF16 | twin::kI32 | twin::kU32 | twin::kF32, "takes 8-bit, 16-bit and 32-bit types");
    twin::TransposeCall c;
    c.at = at;
    c.type = twin::dtype_of<T>();
    c.kind = transposeParams.transposeType == TransposeType::TRANSPOSE_ND2ND_B16     ? 0
             : transposeParams.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC ? 1
             : transposeParams.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW ? 2
             : transposeParams.transposeType == TransposeType::TRANSPOSE_TYPE_NONE ? 3
                                                                                    : 4;
    c.dst = dst.ref();
    c.src = src.ref();
    c.tmp = sharedTmpBuffer.ref();
    c.n = transposeParams.nSize;
    c.c = transposeParams.cSize;
    c.h = transposeParams.hSize;
    c.w = transposeParams.wSize;
    tw_vec_transpose(&c);
}

}  // namespace AscendC

namespace twin {
template <class T>
inline Trans5HDCall trans_5hd(const AscendC::TransDataTo5HDParams& p, At at) {
    TWIN_VEC_TYPES("TransDataTo5HD", T, kI8 | kU8 | kI16 | kU16 | kF16 | kI32 | kU32 | kF32, "takes 8-bit, 16-bit and 32-bit types: use ReinterpretCast<half>() for bfloat16_t");
    Trans5HDCall c;
    c.at = at;
    c.type = dtype_of<T>();
    c.dst_high = p.dstHighHalf;
    c.src_high = p.srcHighHalf;
    c.repeats = p.repeatTimes;
    c.dst_rep = p.dstRepStride;
    c.src_rep = p.srcRepStride;
    return c;
}
inline LocalRef ub_address(uint64_t address) {
    LocalRef r;
    tw_ub_at(address > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(address), &r);
    return r;
}
}  // namespace twin

namespace AscendC {

// ---- TransDataTo5HD
// per repeat, 16 blocks of 32 bytes: 16-bit dst[i][j] = src[j][i]; 32-bit dst[2i][j] = src[j][i], dst[2i+1][j] = src[j+8][i]; 8-bit one half
// limits: 8-bit, 16-bit, 32-bit types; addresses are multiples of 32 bytes; with repeatTimes 1 the strides are 0
// pipe: V
template <typename T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstLocalList)[16], const LocalTensor<T> (&srcLocalList)[16], const TransDataTo5HDParams& nchwconvParams,
                           twin::At at = twin::At::here()) {
    twin::Trans5HDCall c = twin::trans_5hd<T>(nchwconvParams, at);
    for (int i = 0; i < 16; ++i) { c.dst[i] = dstLocalList[i].ref(); c.src[i] = srcLocalList[i].ref(); }
    tw_vec_5hd(&c);
}
template <typename T>
inline void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams& nchwconvParams, twin::At at = twin::At::here()) {
    twin::Trans5HDCall c = twin::trans_5hd<T>(nchwconvParams, at);
    for (int i = 0; i < 16; ++i) { c.dst[i] = twin::ub_address(dstList[i]); c.src[i] = twin::ub_address(srcList[i]); }
    tw_vec_5hd(&c);
}
template <typename T>
inline void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src, const TransDataTo5HDParams& nchwconvParams,
                           twin::At at = twin::At::here()) {
    twin::Trans5HDCall c = twin::trans_5hd<T>(nchwconvParams, at);
    const twin::LocalRef d = dst.ref(), s = src.ref();
    tw_vec_5hd_list(&d, c.dst, at);
    tw_vec_5hd_list(&s, c.src, at);
    tw_vec_5hd(&c);
}

}  // namespace AscendC
