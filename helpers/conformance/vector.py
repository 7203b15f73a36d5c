"""Calls of the basic vector API: arithmetic, casts, reductions, moves and copies."""
from __future__ import annotations

from .family import N, Call, Family, rows

_UNARY = ("Abs", "Exp", "Ln", "Sqrt", "Rsqrt", "Reciprocal", "Relu")
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min")
_MODES = ("CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC")


def _floating(ctype: str) -> tuple[Call, ...]:
    lanes = 64 if ctype == "float" else 128
    repeats = N // lanes
    per_block = 8 if ctype == "float" else 16
    s = "f" if ctype == "float" else ""
    number = (lambda v: f"{v}f") if s else (lambda v: f"(half){v}")
    return rows(
        ctype, *(f"{op} <T> | {op}(d, a, N);" for op in _UNARY), *(f"{op} <T> | {op}(d, a, b, N);" for op in _BINARY),
        *(f"{op} <T> | {op}(d, a, {number(1.5)}, N);" for op in ("Adds", "Muls", "Maxs", "Mins")), f"LeakyRelu <T> | LeakyRelu(d, a, {number(0.25)}, N);",
        f"Axpy <T> | Axpy(d, a, {number(0.3)}, N);", "MulAddDst <T> | MulAddDst(d, a, b, N);", "FusedMulAdd <T> | FusedMulAdd(d, a, b, N);",
        f"Add with mask <T> | Add(d, a, b, {lanes - 3}, {repeats}, {{1, 1, 1, 8, 8, 8}});", f"Add with block stride 2 <T> | Add(d, a, b, {lanes // 2}, 1, {{2, 2, 2, 8, 8, 8}});",
        f"Add with a bit mask <T> | uint64_t m[2] = {{0x5555555555555555, {0 if s else '0x3333333333333333'}}}; Add(d, a, b, m, {repeats}, {{1, 1, 1, 8, 8, 8}});",
        f"Duplicate <T> | Duplicate(d, {number(1.25)}, N);", "Brcb <T> | Brcb(d, a, 2, {1, 8});" if s else f"Brcb <T> | Brcb(d, a, {N // per_block // 8}, {{1, 8}});")


def _sums(ctype: str) -> tuple[Call, ...]:
    lanes = 64 if ctype == "float" else 128
    repeats = N // lanes
    return rows(ctype, "ReduceSum <T> | ReduceSum(d, a, tmp, N);", "ReduceMax <T> | ReduceMax(d, a, tmp, N);", "ReduceMin <T> | ReduceMin(d, a, tmp, N);",
                  "ReduceMax with index <T> | ReduceMax(d, a, tmp, N, true);", f"WholeReduceSum <T> | WholeReduceSum(d, a, {lanes}, {repeats}, 1, 1, 8);",
                  f"WholeReduceMax <T> | WholeReduceMax(d, a, {lanes}, {repeats}, 1, 1, 8);", f"BlockReduceSum <T> | BlockReduceSum(d, a, {repeats}, {lanes}, 1, 1, 8);",
                  f"BlockReduceMax <T> | BlockReduceMax(d, a, {repeats}, {lanes}, 1, 1, 8);", f"PairReduceSum <T> | PairReduceSum(d, a, {repeats}, {lanes}, 1, 1, 8);")


def _casts(source: str, result: str, *modes: str) -> Family:
    calls = tuple(Call(f"Cast {source} to {result} {m}", f"Cast(d, a, RoundMode::{m}, N);") for m in modes)
    return Family(f"cast_{source}_{result}".replace("_t", ""), source, result, calls)


_LIBRARY = ("Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh", "Asinh", "Erf", "Log", "Floor", "Ceil", "Round", "Trunc", "Sign", "Sigmoid")

VECTOR = (
    Family("float_math", "float", "float", _floating("float")),
    Family("float_fused", "float", "float", rows(
        "float", "AddRelu <T> | AddRelu(d, a, b, N);", "SubRelu <T> | SubRelu(d, a, b, N);", "FusedMulAddRelu <T> | FusedMulAddRelu(d, a, b, N);",
        "Select tensor and tensor <T> | LocalTensor<uint8_t> m = tmp.ReinterpretCast<uint8_t>(); Compare(m, a, b, CMPMODE::LT, N); PipeBarrier<PIPE_V>(); "
        "Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, N);",
        "Select tensor and scalar <T> | LocalTensor<uint8_t> m = tmp.ReinterpretCast<uint8_t>(); Compare(m, a, b, CMPMODE::GE, N); PipeBarrier<PIPE_V>(); "
        "Select(d, m, a, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, N);",
        "CompareScalar <T> | LocalTensor<uint8_t> m = d.ReinterpretCast<uint8_t>(); CompareScalar(m, a, 0.5f, CMPMODE::GT, N);")),
    Family("float_library", "float", "float", rows("float", *(f"{op} <T> | {op}(d, a, N);" for op in _LIBRARY)), "plain"),
    Family("half_library", "half", "half", rows("half", *(f"{op} <T> | {op}(d, a, N);" for op in _LIBRARY)), "plain"),
    Family("float_moves", "float", "float", rows(
        "float", "Gather <T> | LocalTensor<int32_t> i = tmp.ReinterpretCast<int32_t>(); CreateVecIndex(i, 0, N); PipeBarrier<PIPE_V>(); Muls(i, i, 4, N); PipeBarrier<PIPE_V>(); "
                 "Gather(d, a, i.ReinterpretCast<uint32_t>(), 0, N);",
        "CreateVecIndex int32_t | LocalTensor<int32_t> i = d.ReinterpretCast<int32_t>(); CreateVecIndex(i, 5, N);", "WholeReduceMin <T> | WholeReduceMin(d, a, 64, 4, 1, 1, 8);",
        "BlockReduceMin <T> | BlockReduceMin(d, a, 4, 64, 1, 1, 8);", "RepeatReduceSum <T> | RepeatReduceSum(d, a, 4, 64, 0, 1, 1, 8);"), "ordered"),
    Family("half_transpose", "half", "half", rows("half", "Transpose <T> | Transpose(d, a);"), "ordered"),
    Family("half_math", "half", "half", _floating("half") + rows("half", "half scalar product overflows | half s = (half)300 * (half)300; d.SetValue(0, s);")),
    Family("float_sums", "float", "float", _sums("float"), "plain"),
    Family("half_sums", "half", "half", _sums("half"), "plain"),
    Family("float_nan_order", "float", "float", rows("float", "ReduceMax with index over NaN <T> | ReduceMax(d, a, tmp, N, true);",
                                                       "Sort32 with NaN <T> | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(d, a, i, 4);")),
    Family("float_sorting", "float", "float", rows("float", "Sort32 <T> | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(d, a, i, 4);",
                                                     "GatherMask pattern 1 <T> | uint64_t n; GatherMask(d, a, 1, false, 0, {1, 1, 8, 0}, n);"), "ordered"),
    Family("int32_math", "int32_t", "int32_t", rows("int32_t", *(f"{op} <T> | {op}(d, a, b, N);" for op in ("Add", "Sub", "Mul", "Max", "Min")), "Adds <T> | Adds(d, a, 7, N);",
                                                      "ShiftLeft <T> by 3 | ShiftLeft(d, a, 3, N);", "ShiftRight <T> by 3 | ShiftRight(d, a, 3, N);", "ShiftLeft <T> by 32 | ShiftLeft(d, a, 32, N);",
                                                      "ShiftRight <T> by 32 | ShiftRight(d, a, 32, N);", "Duplicate <T> | Duplicate(d, 7, N);")),
    Family("int16_math", "int16_t", "int16_t", rows("int16_t", *(f"{op} <T> | {op}(d, a, b, N);" for op in ("Add", "Sub", "Mul", "Max", "Min", "And", "Or")), "Not <T> | Not(d, a, N);")),
    _casts("float", "half", *_MODES, "CAST_ODD"), _casts("half", "float", "CAST_NONE"), _casts("float", "int32_t", *_MODES), _casts("float", "int16_t", *_MODES),
    _casts("half", "int16_t", *_MODES), _casts("half", "int32_t", *_MODES), _casts("half", "int8_t", *_MODES), _casts("half", "uint8_t", *_MODES), _casts("int32_t", "float", "CAST_RINT"),
    _casts("int16_t", "half", "CAST_RINT"), _casts("float", "float", *_MODES), _casts("float", "bfloat16_t", *_MODES),
    Family("float_compare", "float", "uint8_t", tuple(Call(f"Compare {m} float", f"Compare(d, a, b, CMPMODE::{m}, N);") for m in ("LT", "GT", "EQ", "LE", "GE", "NE"))
           + (Call("Compare LT float half a repeat", "Compare(d, a, b, CMPMODE::LT, 32, 1, {1, 1, 1, 8, 8, 8});"),)),
    Family("half_scalar_int", "half", "int32_t", rows("half", "half scalar to int | for (int i = 0; i < 24; ++i) { d.SetValue(i, (int32_t)a.GetValue(i)); }")),
    Family("float_copies", "float", "float", rows(
        "float", "DataCopyPad short rows | DataCopyPad(d, xGm, DataCopyExtParams{3, 20, 12, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});",
        "DataCopyPad with values | DataCopyPad(d, xGm, DataCopyExtParams{3, 20, 12, 0, 0}, DataCopyPadExtParams<float>{true, 1, 2, 7.0f});",
        "DataCopy with gaps | DataCopy(d, xGm, DataCopyParams{4, 2, 2, 1});", "DataCopy UB to UB | DataCopy(d, a, N);",
        "atomic add float | DataCopy(zGm, d, N); PipeBarrier<PIPE_ALL>(); SetAtomicAdd<float>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);"), "plain"),
    Family("half_copies", "half", "half", rows(
        "half", "atomic add half | SetAtomicAdd<half>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);"), "plain"),
    Family("int32_copies", "int32_t", "int32_t", rows(
        "int32_t", "atomic add int32_t overflows | SetAtomicAdd<int32_t>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);",
        "atomic max int32_t | SetAtomicMax<int32_t>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);")),
)
