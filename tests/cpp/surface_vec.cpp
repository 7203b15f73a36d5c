// Every spelling of the vector calls that kernels use. Compiled, not run.
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint64_t kMask[2] = {~0ull, 0};

template <typename T>
__aicore__ inline void Unary(LocalTensor<T>& d, LocalTensor<T>& s, uint32_t n, uint64_t wide, int32_t rows, uint64_t* mask) {
    Exp(d, s, n);
    Ln(d, s, wide);
    Abs(d[0], s[n], rows);
    Reciprocal<T>(d, s, 8 * 2);
    Sqrt(d, d, d.GetSize());
    Rsqrt(d, s, n, rows, {1, 1, 8, 8});
    Relu(d, s, mask, static_cast<uint8_t>(rows), {1, 1, 8, 8});
    Exp<T, false>(d, s, MASK_PLACEHOLDER, rows, {1, 1, 8, 8});
    Ln<T, false>(d, s, kMask, rows, UnaryRepeatParams());
    UnaryRepeatParams p;
    p.dstBlkStride = 1;
    p.srcRepStride = rows;
    Abs(d, s, wide, n, p);
    Abs(d, s, (uint64_t)0, 1, {});
    AscendC::Sqrt(d, s, n, 1, UnaryRepeatParams{1, 1, 8, static_cast<uint8_t>(n)});
}

template <typename T>
__aicore__ inline void Binary(LocalTensor<T>& d, LocalTensor<T>& a, const LocalTensor<T>& b, uint32_t n, size_t bytes, int32_t rows, uint64_t* mask) {
    Add(d, a, b, n);
    Sub<T>(d, a, b, bytes);
    Mul(d[n], a[rows * n], b, rows);
    Max(d, a, b, n, rows, {1, 1, 1, 8, 8, 8});
    Min(d, a, b, mask, rows, {1, 1, 1, 8, 8, 8});
    Add<T, false>(d, a, b, MASK_PLACEHOLDER, rows, {1, 1, 0, 8, 8, static_cast<uint8_t>(n)});
    Add(d, a, b, n, rows, {1, 1, 1, 8, n, rows});
    Sub<T, false>(d, a, b, MASK_PLACEHOLDER_LIST, 1, BinaryRepeatParams());
    BinaryRepeatParams p{1, 1, 1, 8, 8, 0}, q = {1, 1, 1, 8, 8, 8}, r;
    p.src0RepStride = 0;
    r.dstRepStride = n;
    Add(d, a, b, static_cast<uint64_t>(n), rows, p);
    Mul(d, a, d, n, rows, q);
    Mul(d, a, d, n, static_cast<uint8_t>(rows), r);
    d = a + b;
    d = a - b;
    d = a * b;
}

template <typename T>
__aicore__ inline void Floats(LocalTensor<T>& d, LocalTensor<T>& a, LocalTensor<T>& b, LocalTensor<uint8_t>& m, LocalTensor<uint32_t> m32, uint32_t n, uint64_t* mask) {
    Div(d, a, b, n);
    Div<T, false>(d, a, b, MASK_PLACEHOLDER, 4, {1, 1, 1, 8, 8, 8});
    AddRelu(d, a, b, n);
    SubRelu(d, a, b, n, 2, {1, 1, 1, 8, 8, 8});
    MulAddDst(d, a, b, n);
    MulAddDst<T, T>(d, a, b, n, 2, {1, 1, 1, 8, 8, 8});
    MulAddDst<T, T, false>(d, a, b, MASK_PLACEHOLDER, 2, {1, 1, 1, 8, 8, 8});
    FusedMulAdd(d, a, b, n);
    FusedMulAdd(d, a, b, mask, 2, {1, 1, 1, 8, 8, 8});
    FusedMulAddRelu(d, a, b, n);
    MulAddRelu(d, a, b, n);
    Adds(d, a, T(1), n);
    Adds(d, a, static_cast<T>(-1.0), n);
    Muls<T>(d, a, 0.5f, n);
    Muls<T>(d, a, -1.0, n);
    Muls<T>(d, a, 1, n, 2, {1, 1, 8, 8});
    Muls<T, false>(d, a, 2.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    Muls<T, false>(d, a, (T)2, 1);
    Maxs<T, false>(d, a, -64.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    Mins(d, a, a.GetValue(0), n);
    Mins(d, a, T(0), mask, 2, {1, 1, 8, 8});
    LeakyRelu(d, a, static_cast<T>(0.01f), n);
    Axpy(d, a, T(2), n);
    Axpy<T, T>(d, a, 2.0f, n);
    Axpy<T, T, false>(d, a, 2.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    Duplicate(d, T(0), n);
    Duplicate<T>(d, 0, n);
    Duplicate<T>(d, 0.0, n);
    Duplicate<T>(d, 0.0f, n, 2, 1, 8);
    Duplicate<T, false>(d, 0.f, MASK_PLACEHOLDER, 2, 1, 8);
    Duplicate(d, T(1), mask, 2, 1, 8);
    Copy(d, a, n, 2, {1, 1, 8, 8});
    Copy(d, a, mask, 2, {1, 1, 8, 8});
    Copy<T, false>(d, a, MASK_PLACEHOLDER, 2, CopyRepeatParams{1, 1, 8, 8});
    d = a / b;
    Compare(m, a, b, CMPMODE::LT, n);
    Compare<T>(m, a, b, CMPMODE::GE, n);
    Compare<T, uint8_t>(m, a, b, CMPMODE::NE, n);
    Compare<T, uint8_t, false>(m, a, b, CMPMODE::LT, MASK_PLACEHOLDER, 2, {1, 1, 1, 8, 8, 8});
    Compare(m, a, b, CMPMODE::EQ, mask, 2, {1, 1, 1, 8, 8, 8});
    Compare(a, b, CMPMODE::EQ, mask, {1, 1, 1, 8, 8, 8});
    Compare<T, false>(a, b, CMPMODE::EQ, MASK_PLACEHOLDER, {});
    CompareScalar(m, a, T(0), CMPMODE::GT, n);
    CompareScalar<T, uint8_t>(m, a, 0, CMPMODE::GT, n);
    Compares(m, a, T(0), CMPMODE::GT, n);
    CompareScalar(m, a, T(0), CMPMODE::GT, n, 2, {1, 1, 8, 8});
    m = a < b;
    m = a >= b;
    GetCmpMask(m);
    SetCmpMask(m32);
    Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
    Select(d, m32, a, T(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    Select<T>(d, m, a, -1.f, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    Select<T, uint8_t>(d, m, a, 0, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    Select<T, uint32_t, false>(d, m32, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, MASK_PLACEHOLDER, 2, {1, 1, 1, 8, 8, 8});
    Select(d, m, a, b, SELMODE::VSEL_CMPMASK_SPR, n, 2, {1, 1, 1, 8, 8, 8});
    Select(d, m, a, T(1), SELMODE::VSEL_TENSOR_SCALAR_MODE, mask, 2, {1, 1, 1, 8, 8, 8});
    Select<T, SELMODE::VSEL_CMPMASK_SPR>(d, a, b, 1, {});
    Select<T>(d, m, a, 1, BinaryRepeatParams());
    Cast(d, a.template ReinterpretCast<half>().template ReinterpretCast<T>(), RoundMode::CAST_RINT, sizeof(T) == 4 ? n : 0);
}

__aicore__ inline void Rest(LocalTensor<half>& h, LocalTensor<float>& f, LocalTensor<int32_t>& i, LocalTensor<int16_t>& s, LocalTensor<uint16_t>& us, LocalTensor<int8_t>& b,
                     LocalTensor<uint8_t>& ub, LocalTensor<bfloat16_t>& bf, LocalTensor<int4b_t>& q, LocalTensor<int64_t>& l, LocalTensor<uint64_t>& ul, uint32_t n,
                     uint64_t* mask) {
    MulAddDst(f, h, h, n);
    MulAddDst<float, half>(f, h, h, n, 2, {1, 1, 1, 8, 4, 4});
    Axpy(f, h, (half)1, n);
    Axpy<float, half>(f, h, 1.0f, n, 2, {1, 1, 8, 4});
    Muls(h, h, (half)0.5f, n);
    Muls(f, f, 0.5f, n);
    Adds<float>(f, f, 1.0f, n);
    Adds(i, i, 1, n);
    Adds<int32_t, false>(i, i, 1, MASK_PLACEHOLDER, 2, {1, 1, 8, 8});
    Adds(s, s, (int16_t)1, n);
    ShiftLeft(i, i, 3, n);
    ShiftRight(us, us, (uint16_t)3, n);
    ShiftRight(i, i, 3, n, 1, {1, 1, 8, 8}, true);
    ShiftRight<int16_t, false>(s, s, 1, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    Not(us, us, n);
    Not(s, s, n, 1, {1, 1, 8, 8});
    And(us, us, us, n);
    Or(i, i, i, n);
    i = i & i;
    us = us | us;
    AddReluCast(b, h, h, n);
    AddReluCast<half, float>(h, f, f, n);
    SubReluCast(b, s, s, n, 1, {1, 1, 1, 4, 8, 8});
    MulCast(ub, h, h, n);
    SetDeqScale((half)1.0f);
    SetDeqScale(0.5f, 3, true);
    VdeqInfo info;
    SetDeqScale(ul, info);
    AddDeqRelu(h, i, i, n);
    AddDeqRelu(h, i, i, n, 1, {1, 1, 1, 4, 8, 8});
    AddDeqRelu<false>(h, i, i, MASK_PLACEHOLDER, 1, {1, 1, 1, 4, 8, 8});
    CastDeq<int8_t, int16_t>(b, s, n);
    CastDeq<uint8_t, int16_t, false, false>(ub, s, n);
    CastDeq(h, i, n);
    CastDeq<int8_t, int16_t, true, false, true>(b, s, mask, 1, {1, 1, 8, 8});
    CastDequant<int8_t, int16_t>(b, s, n);
    Cast(f, h, RoundMode::CAST_NONE, n);
    Cast<float, half>(f, h, RoundMode::CAST_NONE, n);
    Cast<half, float, false>(h, f, RoundMode::CAST_RINT, MASK_PLACEHOLDER, 1, {1, 1, 4, 8});
    Cast(h, f, RoundMode::CAST_ODD, mask, 1, {1, 1, 4, 8});
    Cast(i, f, RoundMode::CAST_TRUNC, 64, 2, {1, 1, 8, 8});
    Cast(bf, f, RoundMode::CAST_RINT, n);
    Cast(f, bf, RoundMode::CAST_NONE, n);
    Cast(i, bf, RoundMode::CAST_FLOOR, n);
    Cast(h, ub, RoundMode::CAST_NONE, n);
    Cast(q, h, RoundMode::CAST_NONE, n);
    Cast(h, q, RoundMode::CAST_NONE, n);
    Cast(l, i, RoundMode::CAST_NONE, n);
    Cast(l, f, RoundMode::CAST_CEIL, n);
    Cast(f, l, RoundMode::CAST_RINT, n);
    Duplicate(bf, (bfloat16_t)1.0f, n);
    Duplicate<int32_t>(i, -1, n, 1, 1, 8);
    Compare(ub, i, i, CMPMODE::EQ, n);
    SetMaskCount();
    SetMaskNorm();
    SetVectorMask<half>(128);
    SetVectorMask<int8_t>(-1, -1);
    SetVectorMask<half, MaskMode::COUNTER>(0, n);
    SetVectorMask<float, MaskMode::COUNTER>(n);
    ResetMask();
    SetSaturationFlag<SaturationMode::FLOAT>(true);
    AscendCUtils::SetMaskCount<float>();
    AscendCUtils::SetMask<float>(n);
    AscendCUtils::SetMask<half>(0, 0xff);
    AscendCUtils::SetMaskNorm<float>();
    AscendCUtils::ResetMask();
    set_mask_count();
    set_vector_mask(0, n);
    set_mask_norm();
}

__aicore__ inline void Traits(LocalTensor<TensorTrait<half>>& h, LocalTensor<float>& f, uint32_t n) {
    Add(h, h, h, n);
    Exp(h, h, n);
    Adds(h, h, (half)1, n);
    Muls<float, float>(f, f, 2.0f, n);
    Maxs(h, h, (half)0, n, 1, {1, 1, 8, 8});
}

template __aicore__ void Unary<half>(LocalTensor<half>&, LocalTensor<half>&, uint32_t, uint64_t, int32_t, uint64_t*);
template __aicore__ void Unary<float>(LocalTensor<float>&, LocalTensor<float>&, uint32_t, uint64_t, int32_t, uint64_t*);
template __aicore__ void Binary<half>(LocalTensor<half>&, LocalTensor<half>&, const LocalTensor<half>&, uint32_t, size_t, int32_t, uint64_t*);
template __aicore__ void Binary<int32_t>(LocalTensor<int32_t>&, LocalTensor<int32_t>&, const LocalTensor<int32_t>&, uint32_t, size_t, int32_t, uint64_t*);
template __aicore__ void Floats<float>(LocalTensor<float>&, LocalTensor<float>&, LocalTensor<float>&, LocalTensor<uint8_t>&, LocalTensor<uint32_t>, uint32_t, uint64_t*);
