"""Raw vector instructions: the same results as the calls they stand for, by the mask register."""

import numpy as np
import pytest

from vec_move_kernels import every_bit, move, same

F16, F32 = np.float16, np.float32
SETS = "SetVectorMask<T>(hi, lo); "
POINTERS = "T *D = (T*)d.GetPhyAddr(), *A = (T*)a.GetPhyAddr(); auto* B = (U*)b.GetPhyAddr(); (void)D; (void)A; (void)B; "
FLOATS = {
    "vexp(D, A, p0, 1, 1, 8, 8)": "Exp<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vln(D, A, p0, 1, 1, 8, 8)": "Ln<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vabs(D, A, p0, 2, 1, 16, 8)": "Abs<T, false>(d, a, mask, p0, {2, 1, 16, 8})",
    "vsqrt(D, A, p0, 1, 1, 8, 8)": "Sqrt<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vrec(D, A, p0, 1, 1, 8, 8)": "Reciprocal<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vrelu(D, A, p0, 1, 1, 8, 8)": "Relu<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vadd(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "Add<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vdiv(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "Div<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vmax(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "Max<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vmla(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "MulAddDst<T, T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vmadd(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "FusedMulAdd<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vadds(D, A, (T)1.5, p0, 1, 1, 8, 8)": "Adds<T, false>(d, a, (T)1.5, mask, p0, {1, 1, 8, 8})",
    "vmuls(D, A, (T)1.5, p0, 1, 1, 8, 8)": "Muls<T, false>(d, a, (T)1.5, mask, p0, {1, 1, 8, 8})",
    "vlrelu(D, A, (T)0.5, p0, 1, 1, 8, 8)": "LeakyRelu<T, false>(d, a, (T)0.5, mask, p0, {1, 1, 8, 8})",
    "vaxpy(D, A, (T)0.5, p0, 1, 1, 8, 8)": "Axpy<T, T, false>(d, a, (T)0.5, mask, p0, {1, 1, 8, 8})",
    "vector_dup(D, (T)2.5, p0, 1, 1, 8, 0)": "Duplicate<T, false>(d, (T)2.5, mask, p0, 1, 8)",
    "vcgadd(D, A, p0, 1, 1, 8)": "BlockReduceSum<T, false>(d, a, p0, mask, 1, 1, 8)",
    "vcgmin(D, A, p0, 1, 1, 8)": "BlockReduceMin<T, false>(d, a, p0, mask, 1, 1, 8)",
    "vcpadd(D, A, p0, 1, 1, 8)": "PairReduceSum<T, false>(d, a, p0, mask, 1, 1, 8)",
    "vcmax(D, A, p0, 1, 1, 8, Order_t::ONLY_VALUE)": "WholeReduceMax<T, false>(d, a, mask, p0, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE)",
    "vcmin(D, A, p0, 1, 1, 8)": "WholeReduceMin<T, false>(d, a, mask, p0, 1, 1, 8)",
    "vcmp_gt(A, A + 64, 1, 1, 1, 1, 8, 8, 8); vsel(D, A, A + 128, p0, 1, 1, 1, 8, 8, 8)":
        "Compare<T, false>(a, a[64], CMPMODE::GT, mask, {}); Select<T, SELMODE::VSEL_CMPMASK_SPR>(d, a, a[128], p0, {1, 1, 1, 8, 8, 8})",
    "vcmpv_le((uint8_t*)D, A, A + 128, p0, 1, 1, 1, 8, 8, 8)": "LocalTensor<uint8_t> q = d.template ReinterpretCast<uint8_t>(); Compare<T, uint8_t, false>(q, a, a[128], CMPMODE::LE, mask, p0, {})",
    "vcmpvs_ne((uint8_t*)D, A, (T)0, p0, 1, 1, 8, 8)":
        "LocalTensor<uint8_t> q = d.template ReinterpretCast<uint8_t>(); CompareScalar<T, uint8_t, false>(q, a, (T)0, CMPMODE::NE, mask, p0, {1, 1, 8, 8})",
}
INTEGERS = {
    "vnot(D, A, p0, 1, 1, 8, 8)": "Not<T, false>(d, a, mask, p0, {1, 1, 8, 8})",
    "vand(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "And<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vsub(D, A, A, p0, 1, 1, 2, 8, 8, 16)": "Sub<T, false>(d, a, a, mask, p0, {1, 1, 2, 8, 8, 16})",
    "vmins(D, A, (T)5, p0, 1, 1, 8, 8)": "Mins<T, false>(d, a, (T)5, mask, p0, {1, 1, 8, 8})",
    "vshl(D, A, 3, p0, 1, 1, 8, 8)": "ShiftLeft<T, false>(d, a, (T)3, mask, p0, {1, 1, 8, 8})",
    "vshr(D, A, 3, p0, 1, 1, 8, 8, true)": "ShiftRight<T, false>(d, a, (T)3, mask, p0, {1, 1, 8, 8}, true)",
}
CASTS = {
    "vconv_f162f32(B, A, p0, 1, 1, 8, 4)": "Cast<U, T, false>(b, a, RoundMode::CAST_NONE, mask, p0, {1, 1, 8, 4})",
    "vconv_f322f16r(D, B, p0, 1, 1, 4, 8)": "Cast<T, U, false>(d, b, RoundMode::CAST_RINT, mask, p0, {1, 1, 4, 8})",
    "vconv_f322f16o(D, B, p0, 1, 1, 4, 8)": "Cast<T, U, false>(d, b, RoundMode::CAST_ODD, mask, p0, {1, 1, 4, 8})",
    "vconv_f322s32z((int32_t*)B, B, p0, 1, 1, 8, 8)": "Cast<int32_t, U, false>(b.template ReinterpretCast<int32_t>(), b, RoundMode::CAST_TRUNC, mask, p0, {1, 1, 8, 8})",
    "vconv_f162s8a((int8_t*)B, A, p0, 1, 1, 4, 8)": "Cast<int8_t, T, false>(b.template ReinterpretCast<int8_t>(), a, RoundMode::CAST_ROUND, mask, p0, {1, 1, 4, 8})",
    "set_deqscale((half)0.25); vconv_deq(D, (int32_t*)B, p0, 1, 1, 4, 8)":
        "SetDeqScale((half)0.25); Cast<T, int32_t, false>(d, b.template ReinterpretCast<int32_t>(), RoundMode::CAST_NONE, mask, p0, {1, 1, 4, 8})",
}


def both(table, x, y, z, rep, lo, hi):
    cases = tuple("{ " + POINTERS + SETS + c + "; }" for pair in table.items() for c in pair)
    for i, raw in enumerate(table):
        got = []
        for k in (0, 1):
            b, d = y.copy(), z.copy()
            move(cases, 2 * i + k, x, b, d, rep, lo=lo, hi=hi)
            got.append((b, d))
        same(got[0][0], got[1][0], raw)
        same(got[0][1], got[1][1], raw)
        assert (got[0][1].view(np.uint8) != z.view(np.uint8)).any() or (got[0][0].view(np.uint8) != y.view(np.uint8)).any(), f"{raw} did nothing"


@pytest.mark.parametrize("dtype", (F16, F32))
def test_floats(dtype):
    rng = np.random.default_rng(1)
    x, z = (rng.standard_normal(2048).astype(dtype) for _ in range(2))
    both(FLOATS, x, np.zeros(8, np.uint32), z, 3, 0x0123456789ABCDEF, 0xFF00 if dtype is F16 else 0)


def test_integers():
    rng = np.random.default_rng(2)
    x, z = (every_bit(rng, np.int16, 2048) & np.int16(0xFFF) for _ in range(2))
    both(INTEGERS, x, np.zeros(8, np.uint32), z, 3, 2**64 - 1, 0xFFFF)


def test_conversions():
    rng = np.random.default_rng(3)
    x, z = (rng.standard_normal(1024).astype(F16) * F16(50) for _ in range(2))
    y = (rng.standard_normal(1024) * 1000).astype(F32)
    both(CASTS, x, y, z, 2, 2**64 - 1, 0)
