// The raw vector instructions some kernels call directly: pointers into UB, the mask register as it is, strides in blocks.
#pragma once
#include "twin/vec_brcb.h"
#include "twin/vec_cast.h"
#include "twin/vec_compare_select.h"
#include "twin/vec_duplicate.h"
#include "twin/vec_fused.h"
#include "twin/vec_gather.h"
#include "twin/vec_gather_mask.h"
#include "twin/vec_reduce.h"
#include "twin/vec_scalar.h"

namespace twin {
// The tensor a pointer into UB stands for.
template <class T> inline AscendC::LocalTensor<T> ub_tensor(const T* p) {
    LocalRef r;
    tw_ub_ref(p, &r);
    return AscendC::LocalTensor<T>(r);
}
constexpr const uint64_t* kRegister = nullptr;      // as a mask argument: the register decides
}  // namespace twin

// ---- vexp vln vabs vsqrt vrsqrt vrec vrelu vnot
// Exp, Ln, Abs, Sqrt, Rsqrt, Reciprocal, Relu, Not (dst, src, repeat, dstBlk, srcBlk, dstRep, srcRep)
// limits: as those
// pipe: V
#define TWIN_RAW_UNARY(RAW, NAME)                                                                                                      \
    template <class T>                                                                                                                 \
    inline void RAW(T* dst, T* src, int64_t repeat, int64_t dstBlk, int64_t srcBlk, int64_t dstRep, int64_t srcRep, twin::At at = twin::At::here()) { \
        AscendC::NAME<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), twin::kRegister, repeat, {dstBlk, srcBlk, dstRep, srcRep}, at); \
    }
TWIN_RAW_UNARY(vexp, Exp)
TWIN_RAW_UNARY(vln, Ln)
TWIN_RAW_UNARY(vabs, Abs)
TWIN_RAW_UNARY(vsqrt, Sqrt)
TWIN_RAW_UNARY(vrsqrt, Rsqrt)
TWIN_RAW_UNARY(vrec, Reciprocal)
TWIN_RAW_UNARY(vrelu, Relu)
TWIN_RAW_UNARY(vnot, Not)

// ---- vadd vsub vmul vdiv vmax vmin vand vor vmla vmadd
// Add, Sub, Mul, Div, Max, Min, And, Or, MulAddDst, FusedMulAdd (dst, src0, src1, repeat, three block strides, three repeat strides)
// limits: as those
// pipe: V
#define TWIN_RAW_BINARY(RAW, NAME, TYPES, ARGS)                                                                                        \
    template <TYPES>                                                                                                                   \
    inline void RAW(T* dst, U* src0, U* src1, int64_t repeat, int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep, int64_t s1Rep, \
                    twin::At at = twin::At::here()) {                                                                                  \
        AscendC::NAME<ARGS, false>(twin::ub_tensor(dst), twin::ub_tensor(src0), twin::ub_tensor(src1), twin::kRegister, repeat,        \
                                   {dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep}, at);                                                      \
    }
#define TWIN_RAW_SAME class T, class U
TWIN_RAW_BINARY(vadd, Add, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vsub, Sub, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vmul, Mul, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vdiv, Div, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vmax, Max, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vmin, Min, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vand, And, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vor, Or, TWIN_RAW_SAME, T)
TWIN_RAW_BINARY(vmadd, FusedMulAdd, TWIN_RAW_SAME, T)
template <class T, class U>
inline void vmla(T* dst, U* src0, U* src1, int64_t repeat, int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep, int64_t s1Rep,
                 twin::At at = twin::At::here()) {
    AscendC::MulAddDst<T, U, false>(twin::ub_tensor(dst), twin::ub_tensor(src0), twin::ub_tensor(src1), twin::kRegister, repeat,
                                    {dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep}, at);
}

// ---- vadds vmuls vmaxs vmins vlrelu vshl vshr vaxpy
// Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, Axpy (dst, src, scalar, repeat, dstBlk, srcBlk, dstRep, srcRep)
// limits: as those
// pipe: V
#define TWIN_RAW_SCALAR(RAW, NAME)                                                                                                     \
    template <class T, class S>                                                                                                        \
    inline void RAW(T* dst, T* src, S scalar, int64_t repeat, int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep, twin::At at = twin::At::here()) { \
        AscendC::NAME<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), static_cast<T>(scalar), twin::kRegister, repeat, {dBlk, sBlk, dRep, sRep}, at); \
    }
TWIN_RAW_SCALAR(vadds, Adds)
TWIN_RAW_SCALAR(vmuls, Muls)
TWIN_RAW_SCALAR(vmaxs, Maxs)
TWIN_RAW_SCALAR(vmins, Mins)
TWIN_RAW_SCALAR(vlrelu, LeakyRelu)
TWIN_RAW_SCALAR(vshl, ShiftLeft)
template <class T, class S>
inline void vshr(T* dst, T* src, S scalar, int64_t repeat, int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep, bool roundEn = false,
                 twin::At at = twin::At::here()) {
    AscendC::ShiftRight<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), static_cast<T>(scalar), twin::kRegister, repeat, {dBlk, sBlk, dRep, sRep}, roundEn, at);
}
template <class T, class U, class S>
inline void vaxpy(T* dst, U* src, S scalar, int64_t repeat, int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep, twin::At at = twin::At::here()) {
    AscendC::Axpy<T, U, false>(twin::ub_tensor(dst), twin::ub_tensor(src), static_cast<U>(scalar), twin::kRegister, repeat, {dBlk, sBlk, dRep, sRep}, at);
}

// ---- vector_dup vbrcb vgather
// Duplicate (dst, scalar, repeat, dstBlk, 1, dstRep, 0), Brcb (dst, src, dstBlk, dstRep, repeat), Gather (dst, offsets, UB address, dstRep, repeat)
// limits: as those
// pipe: V
template <class T, class S>
inline void vector_dup(T* dst, S scalar, int64_t repeat, int64_t dstBlk, int64_t /*srcBlk*/, int64_t dstRep, int64_t /*srcRep*/, twin::At at = twin::At::here()) {
    AscendC::Duplicate<T, false>(twin::ub_tensor(dst), static_cast<T>(scalar), twin::kRegister, repeat, dstBlk, dstRep, at);
}
template <class T>
inline void vbrcb(T* dst, T* src, int64_t dstBlk, int64_t dstRep, int64_t repeat, twin::At at = twin::At::here()) {
    AscendC::Brcb(twin::ub_tensor(dst), twin::ub_tensor(src), repeat, {dstBlk, dstRep}, at);
}
template <class T>
inline void vgather(T* dst, uint32_t* offsets, uint32_t srcAddr, int64_t dstRep, int64_t repeat, twin::At at = twin::At::here()) {
    twin::GatherCall c;
    c.api = "vgather";
    c.at = at;
    c.type = twin::dtype_of<T>();
    c.mask = twin::by_bits(nullptr, repeat, false);
    c.dst = twin::ub_tensor(dst).ref();
    c.offset = twin::ub_tensor(offsets).ref();
    tw_ub_at(srcAddr, &c.src);
    c.dst_rep = dstRep;
    tw_vec_gather(&c);
}

// ---- Order_t
enum class Order_t : uint8_t { VALUE_INDEX = 0, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
// ---- vcadd vcmax vcmin vcgadd vcgmax vcgmin vcpadd
// WholeReduce, BlockReduce and PairReduce (dst, src, repeat, dstRep, srcBlk, srcRep); vcadd with mode = true keeps the total for get_acc_val
// limits: as those
// pipe: V
template <class T>
inline void vcadd(T* dst, T* src, int64_t repeat, int64_t dstRep, int64_t srcBlk, int64_t srcRep, bool mode = false, twin::At at = twin::At::here()) {
    if (!mode) { AscendC::WholeReduceSum<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), twin::kRegister, repeat, dstRep, srcBlk, srcRep, at); return; }
    twin::ReduceCall r = twin::reduce_call(twin::ReduceKind::Sum, twin::ReduceShape::All, "vcadd", twin::dtype_of<T>(), twin::by_bits(nullptr, repeat, false), at);
    r.to_register = 1;
    twin::reduce_run(r, twin::ub_tensor(dst).ref(), twin::ub_tensor(src).ref(), dstRep, srcBlk, srcRep);
}
#define TWIN_RAW_EXTREME(RAW, NAME)                                                                                                    \
    template <class T>                                                                                                                 \
    inline void RAW(T* dst, T* src, int64_t repeat, int64_t dstRep, int64_t srcBlk, int64_t srcRep, Order_t order = Order_t::VALUE_INDEX, twin::At at = twin::At::here()) { \
        AscendC::NAME<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), twin::kRegister, repeat, dstRep, srcBlk, srcRep, static_cast<AscendC::ReduceOrder>(order), at); \
    }
TWIN_RAW_EXTREME(vcmax, WholeReduceMax)
TWIN_RAW_EXTREME(vcmin, WholeReduceMin)
#define TWIN_RAW_PART(RAW, NAME)                                                                                                       \
    template <class T>                                                                                                                 \
    inline void RAW(T* dst, T* src, int64_t repeat, int64_t dstRep, int64_t srcBlk, int64_t srcRep, twin::At at = twin::At::here()) {  \
        AscendC::NAME<T, false>(twin::ub_tensor(dst), twin::ub_tensor(src), repeat, twin::kRegister, dstRep, srcBlk, srcRep, at);      \
    }
TWIN_RAW_PART(vcgadd, BlockReduceSum)
TWIN_RAW_PART(vcgmax, BlockReduceMax)
TWIN_RAW_PART(vcgmin, BlockReduceMin)
TWIN_RAW_PART(vcpadd, PairReduceSum)
// ---- get_acc_val
// the total of vcadd with mode = true; the low bytes hold half or float bits
// limits: none
// pipe: S
inline int64_t get_acc_val(twin::At at = twin::At::here()) { return static_cast<int64_t>(tw_vec_reduce_sum(8, at)); }

// ---- vreducev2 get_rsvd_cnt
// GatherMask (dst, src0, src1, repeat, src0Blk, pattern, src0Rep, src1Rep); pattern 0 takes the bits of src1
// limits: uint16_t, uint32_t
// pipe: V
template <class T>
inline void vreducev2(T* dst, T* src0, T* src1, int64_t repeat, int64_t src0Blk, uint8_t pattern, int64_t src0Rep, int64_t src1Rep, twin::At at = twin::At::here()) {
    TWIN_VEC_TYPES("vreducev2", T, twin::kU16 | twin::kU32, "takes uint16_t or uint32_t pointers");
    twin::GatherMaskCall c;
    uint64_t n = 0;
    c.fixed = pattern;
    c.dst = twin::ub_tensor(dst).ref();
    c.src = twin::ub_tensor(src0).ref();
    if (!pattern) c.pattern = twin::ub_tensor(src1).ref();
    twin::gather_mask(c, twin::dtype_of<T>(), false, 0, {src0Blk, repeat, src0Rep, src1Rep}, n, at);
}
inline int64_t get_rsvd_cnt(twin::At at = twin::At::here()) { return AscendC::GetGatherMaskRemainCount(at); }

// ---- vcmp_lt vcmp_gt vcmp_eq vcmp_le vcmp_ge vcmp_ne
// Compare into CMPMASK (src0, src1, repeat, strides as vadd); vcmpv_* into memory, vcmpvs_* with a scalar
// limits: half, float
// pipe: V
#define TWIN_RAW_COMPARE(SUFFIX, MODE)                                                                                                 \
    template <class T>                                                                                                                 \
    inline void vcmp_##SUFFIX(T* src0, T* src1, int64_t /*repeat*/, int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep, int64_t s1Rep, \
                              twin::At at = twin::At::here()) {                                                                        \
        AscendC::Compare<T, false>(twin::ub_tensor(src0), twin::ub_tensor(src1), AscendC::CMPMODE::MODE, twin::kRegister, {dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep}, at); \
    }                                                                                                                                  \
    template <class T>                                                                                                                 \
    inline void vcmpv_##SUFFIX(uint8_t* dst, T* src0, T* src1, int64_t repeat, int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep, \
                               int64_t s1Rep, twin::At at = twin::At::here()) {                                                        \
        AscendC::Compare<T, uint8_t, false>(twin::ub_tensor(dst), twin::ub_tensor(src0), twin::ub_tensor(src1), AscendC::CMPMODE::MODE, twin::kRegister, repeat, \
                                            {dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep}, at);                                             \
    }                                                                                                                                  \
    template <class T, class S>                                                                                                        \
    inline void vcmpvs_##SUFFIX(uint8_t* dst, T* src0, S scalar, int64_t repeat, int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep, \
                                twin::At at = twin::At::here()) {                                                                      \
        AscendC::CompareScalar<T, uint8_t, false>(twin::ub_tensor(dst), twin::ub_tensor(src0), static_cast<T>(scalar), AscendC::CMPMODE::MODE, twin::kRegister, repeat, \
                                                  {dBlk, sBlk, dRep, sRep}, at);                                                       \
    }
TWIN_RAW_COMPARE(lt, LT)
TWIN_RAW_COMPARE(gt, GT)
TWIN_RAW_COMPARE(eq, EQ)
TWIN_RAW_COMPARE(le, LE)
TWIN_RAW_COMPARE(ge, GE)
TWIN_RAW_COMPARE(ne, NE)

// ---- set_cmpmask get_cmpmask set_deqscale vsel
// SetCmpMask, GetCmpMask, SetDeqScale, and Select by CMPMASK (dst, src0, src1, repeat, strides as vadd)
// limits: as those
// pipe: V
template <class T> inline void set_cmpmask(T* src, twin::At at = twin::At::here()) { AscendC::SetCmpMask(twin::ub_tensor(src), at); }
template <class T> inline void get_cmpmask(T* dst, twin::At at = twin::At::here()) { AscendC::GetCmpMask(twin::ub_tensor(dst), at); }
inline void set_deqscale(half scale, twin::At at = twin::At::here()) { AscendC::SetDeqScale(scale, at); }
template <class T>
inline void vsel(T* dst, T* src0, T* src1, int64_t repeat, int64_t dBlk, int64_t s0Blk, int64_t s1Blk, int64_t dRep, int64_t s0Rep, int64_t s1Rep,
                 twin::At at = twin::At::here()) {
    AscendC::Select<T, AscendC::SELMODE::VSEL_CMPMASK_SPR>(twin::ub_tensor(dst), twin::ub_tensor(src0), twin::ub_tensor(src1), repeat,
                                                           {dBlk, s0Blk, s1Blk, dRep, s0Rep, s1Rep}, at);
}

// ---- vconv_f162f32 vconv_f322f16 vconv_deq
// Cast (dst, src, repeat, dstBlk, srcBlk, dstRep, srcRep); suffix none NONE, r RINT, f FLOOR, c CEIL, a ROUND, z TRUNC, o ODD
// limits: the pairs of Cast; vconv_deq is int32_t -> half
// pipe: V
#define TWIN_RAW_CAST(RAW, FROM, TO, MODE)                                                                                             \
    inline void RAW(TO* dst, FROM* src, int64_t repeat, int64_t dBlk, int64_t sBlk, int64_t dRep, int64_t sRep, twin::At at = twin::At::here()) { \
        AscendC::Cast<TO, FROM, false>(twin::ub_tensor(dst), twin::ub_tensor(src), AscendC::RoundMode::MODE, twin::kRegister, repeat, {dBlk, sBlk, dRep, sRep}, at); \
    }
#define TWIN_RAW_CAST5(RAW, FROM, TO)                                                                                                  \
    TWIN_RAW_CAST(RAW##r, FROM, TO, CAST_RINT) TWIN_RAW_CAST(RAW##f, FROM, TO, CAST_FLOOR) TWIN_RAW_CAST(RAW##c, FROM, TO, CAST_CEIL)   \
    TWIN_RAW_CAST(RAW##a, FROM, TO, CAST_ROUND) TWIN_RAW_CAST(RAW##z, FROM, TO, CAST_TRUNC)
#define TWIN_RAW_CAST6(RAW, FROM, TO) TWIN_RAW_CAST(RAW, FROM, TO, CAST_NONE) TWIN_RAW_CAST5(RAW, FROM, TO)
TWIN_RAW_CAST(vconv_f162f32, half, float, CAST_NONE)
TWIN_RAW_CAST6(vconv_f322f16, float, half)
TWIN_RAW_CAST(vconv_f322f16o, float, half, CAST_ODD)
TWIN_RAW_CAST5(vconv_f322s32, float, int32_t)
TWIN_RAW_CAST5(vconv_f322s16, float, int16_t)
TWIN_RAW_CAST5(vconv_f322s64, float, int64_t)
TWIN_RAW_CAST5(vconv_f322f32, float, float)
TWIN_RAW_CAST5(vconv_f322bf16, float, bfloat16_t)
TWIN_RAW_CAST5(vconv_f162s32, half, int32_t)
TWIN_RAW_CAST5(vconv_f162s16, half, int16_t)
TWIN_RAW_CAST6(vconv_f162s8, half, int8_t)
TWIN_RAW_CAST6(vconv_f162u8, half, uint8_t)
TWIN_RAW_CAST(vconv_bf162f32, bfloat16_t, float, CAST_NONE)
TWIN_RAW_CAST5(vconv_bf162s32, bfloat16_t, int32_t)
TWIN_RAW_CAST6(vconv_s162f16, int16_t, half)
TWIN_RAW_CAST(vconv_s162f32, int16_t, float, CAST_NONE)
TWIN_RAW_CAST6(vconv_s322f32, int32_t, float)
TWIN_RAW_CAST(vconv_s322s16, int32_t, int16_t, CAST_NONE)
TWIN_RAW_CAST(vconv_s322s64, int32_t, int64_t, CAST_NONE)
TWIN_RAW_CAST(vconv_s642s32, int64_t, int32_t, CAST_NONE)
TWIN_RAW_CAST5(vconv_s642f32, int64_t, float)
TWIN_RAW_CAST(vconv_s82f16, int8_t, half, CAST_NONE)
TWIN_RAW_CAST(vconv_u82f16, uint8_t, half, CAST_NONE)
TWIN_RAW_CAST(vconv_deq, int32_t, half, CAST_NONE)
