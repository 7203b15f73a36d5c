"""One small kernel for each form of an API: a family shares a text, so that one build serves all of its calls.

A call is a statement on local tensors: a and b hold N elements of the inputs, d the output (it starts as the old contents
of z), tmp is scratch. What the twin and a device make of it is compared byte by byte.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N = 256
_BITS = {"half": np.float16, "float": np.float32, "int16_t": np.int16, "int32_t": np.int32, "int8_t": np.int8, "uint8_t": np.uint8, "bfloat16_t": np.uint16, "uint32_t": np.uint32,
         "uint16_t": np.uint16}


@dataclass(frozen=True)
class Call:
    label: str
    statement: str


@dataclass(frozen=True)
class Family:
    name: str
    source: str            # C++ type of a and b
    result: str            # of d
    calls: tuple[Call, ...]
    data: str = "special"  # "special": edge values; "plain": no NaN, no infinity; "ordered": all different; "tail": 16 x 16, NaN from column 9 on
    cube: bool = False     # 16 x 16 matrices on a cube core: d = a times the transpose of b

    @property
    def text(self) -> str:
        cases = "".join(f"        case {i}: {{ {c.statement} }} break;\n" for i, c in enumerate(self.calls))
        return (_CUBE if self.cube else _TEXT).replace("NAME", self.name).replace("SRC", self.source).replace("DST", self.result).replace("CASES", cases)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b, and what z holds before."""
        x, y = values(self.source, self.data, 1), values(self.source, self.data, 2)
        return x, y, np.ones(N, _BITS[self.result])

    @property
    def result_dtype(self):
        return _BITS[self.result]


_TEXT = '''#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t N = 256;

extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> bufA, bufB, bufD, bufTmp;
    pipe.InitBuffer(bufA, N * sizeof(SRC));
    pipe.InitBuffer(bufB, N * sizeof(SRC));
    pipe.InitBuffer(bufD, 2 * N * sizeof(DST));
    pipe.InitBuffer(bufTmp, 16384);
    LocalTensor<SRC> a = bufA.Get<SRC>(), b = bufB.Get<SRC>(), tmp = bufTmp.Get<SRC>();
    LocalTensor<DST> d = bufD.Get<DST>();
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, N);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, N);
    zGm.SetGlobalBuffer((__gm__ DST*)z, N);
    DataCopy(a, xGm, N);
    DataCopy(b, yGm, N);
    DataCopy(d, zGm, N);
    PipeBarrier<PIPE_ALL>();
    Duplicate(tmp, (SRC)0, 256);
    PipeBarrier<PIPE_ALL>();
    switch (call) {
CASES        default: break;
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(zGm, d, N);
    PipeBarrier<PIPE_ALL>();
}
'''


# One fractal of half: 16 x 16 lies in L1 and L0 as in GM.
_CUBE = '''#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    TBuf<TPosition::A1> bufA1;
    TBuf<TPosition::B1> bufB1;
    TBuf<TPosition::A2> bufA2;
    TBuf<TPosition::B2> bufB2;
    TBuf<TPosition::CO1> bufC;
    pipe.InitBuffer(bufA1, 512);
    pipe.InitBuffer(bufB1, 512);
    pipe.InitBuffer(bufA2, 512);
    pipe.InitBuffer(bufB2, 512);
    pipe.InitBuffer(bufC, 1024);
    GlobalTensor<SRC> xGm, yGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x, 256);
    yGm.SetGlobalBuffer((__gm__ SRC*)y, 256);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    LocalTensor<SRC> a1 = bufA1.Get<SRC>(), b1 = bufB1.Get<SRC>(), a = bufA2.Get<SRC>(), b = bufB2.Get<SRC>();
    LocalTensor<DST> d = bufC.Get<DST>();
    DataCopy(a1, xGm, 256);
    DataCopy(b1, yGm, 256);
    PipeBarrier<PIPE_ALL>();
    LoadData(a, a1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
    LoadData(b, b1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});
    PipeBarrier<PIPE_ALL>();
    MmadParams p;
    p.m = 16;
    p.n = 16;
    p.k = 16;
    switch (call) {
CASES        default: break;
    }
    PipeBarrier<PIPE_ALL>();
    FixpipeParamsV220 f;
    f.nSize = 16;
    f.mSize = 16;
    f.srcStride = 16;
    f.dstStride = 16;
    Fixpipe(zGm, d, f);
    PipeBarrier<PIPE_ALL>();
}
'''


def values(ctype: str, kind: str, seed: int) -> np.ndarray:
    """The same numbers on every machine: edge values first, then random ones of many magnitudes."""
    dtype = _BITS[ctype]
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        out = rng.integers(info.min, info.max, N, dtype, endpoint=True)
        edges = [0, 1, info.max, info.min, info.max - 1, 2, 3, 4]
        out[:len(edges)] = edges if seed == 1 else edges[::-1]
        return np.sort(out) if kind == "ordered" else out
    out = (rng.standard_normal(N) * 2.0 ** rng.integers(-8, 8, N)).astype(dtype)
    if kind == "special":
        top = np.finfo(dtype)
        edges = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top.max, -top.max, top.tiny, top.tiny / 2, 0.5, -0.3, 2.5, 3.5, -2.5, 65504.0, 65519.0, 65520.0, 70000.0, 1e9, -1e9, 32767.5, 127.5]
        with np.errstate(over="ignore"):
            edges = np.array(edges, np.float64).astype(dtype)
        out[:len(edges)] = edges if seed == 1 else edges[::-1]
    elif kind == "tail":
        out = np.ldexp(rng.integers(-64, 65, (16, 16)), -5).astype(dtype)
        out[:, 9:] = np.nan
        out = out.ravel()
    elif kind == "ordered":
        out = rng.permutation(np.arange(N, dtype=np.float64) / 4 - 20).astype(dtype)
    return out


def _calls(ctype: str, *rows: str) -> tuple[Call, ...]:
    """Rows "Label | statement" with T for the type."""
    out = []
    for row in rows:
        label, _, statement = row.partition("|")
        out.append(Call(label.strip().replace("<T>", ctype), statement.strip().replace("<T>", f"<{ctype}>")))
    return tuple(out)


_UNARY = ("Abs", "Exp", "Ln", "Sqrt", "Rsqrt", "Reciprocal", "Relu")
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min")
_MODES = ("CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC")


def _floating(ctype: str) -> tuple[Call, ...]:
    lanes = 64 if ctype == "float" else 128
    repeats = N // lanes
    per_block = 8 if ctype == "float" else 16
    s = "f" if ctype == "float" else ""
    number = (lambda v: f"{v}f") if s else (lambda v: f"(half){v}")
    return _calls(
        ctype, *(f"{op} <T> | {op}(d, a, N);" for op in _UNARY), *(f"{op} <T> | {op}(d, a, b, N);" for op in _BINARY),
        *(f"{op} <T> | {op}(d, a, {number(1.5)}, N);" for op in ("Adds", "Muls", "Maxs", "Mins")), f"LeakyRelu <T> | LeakyRelu(d, a, {number(0.25)}, N);",
        f"Axpy <T> | Axpy(d, a, {number(0.3)}, N);", "MulAddDst <T> | MulAddDst(d, a, b, N);", "FusedMulAdd <T> | FusedMulAdd(d, a, b, N);",
        f"Add with mask <T> | Add(d, a, b, {lanes - 3}, {repeats}, {{1, 1, 1, 8, 8, 8}});", f"Add with block stride 2 <T> | Add(d, a, b, {lanes // 2}, 1, {{2, 2, 2, 8, 8, 8}});",
        f"Add with a bit mask <T> | uint64_t m[2] = {{0x5555555555555555, {0 if s else '0x3333333333333333'}}}; Add(d, a, b, m, {repeats}, {{1, 1, 1, 8, 8, 8}});",
        f"Duplicate <T> | Duplicate(d, {number(1.25)}, N);", "Brcb <T> | Brcb(d, a, 2, {1, 8});" if s else f"Brcb <T> | Brcb(d, a, {N // per_block // 8}, {{1, 8}});")


def _sums(ctype: str) -> tuple[Call, ...]:
    lanes = 64 if ctype == "float" else 128
    repeats = N // lanes
    return _calls(ctype, "ReduceSum <T> | ReduceSum(d, a, tmp, N);", "ReduceMax <T> | ReduceMax(d, a, tmp, N);", "ReduceMin <T> | ReduceMin(d, a, tmp, N);",
                  "ReduceMax with index <T> | ReduceMax(d, a, tmp, N, true);", f"WholeReduceSum <T> | WholeReduceSum(d, a, {lanes}, {repeats}, 1, 1, 8);",
                  f"WholeReduceMax <T> | WholeReduceMax(d, a, {lanes}, {repeats}, 1, 1, 8);", f"BlockReduceSum <T> | BlockReduceSum(d, a, {repeats}, {lanes}, 1, 1, 8);",
                  f"BlockReduceMax <T> | BlockReduceMax(d, a, {repeats}, {lanes}, 1, 1, 8);", f"PairReduceSum <T> | PairReduceSum(d, a, {repeats}, {lanes}, 1, 1, 8);")


def _casts(source: str, result: str, *modes: str) -> Family:
    calls = tuple(Call(f"Cast {source} to {result} {m}", f"Cast(d, a, RoundMode::{m}, N);") for m in modes)
    return Family(f"cast_{source}_{result}".replace("_t", ""), source, result, calls)


_LIBRARY = ("Sin", "Cos", "Tan", "Tanh", "Sinh", "Cosh", "Asinh", "Erf", "Log", "Floor", "Ceil", "Round", "Trunc", "Sign", "Sigmoid")

FAMILIES = (
    Family("float_math", "float", "float", _floating("float")),
    Family("float_fused", "float", "float", _calls(
        "float", "AddRelu <T> | AddRelu(d, a, b, N);", "SubRelu <T> | SubRelu(d, a, b, N);", "FusedMulAddRelu <T> | FusedMulAddRelu(d, a, b, N);",
        "Select tensor and tensor <T> | LocalTensor<uint8_t> m = tmp.ReinterpretCast<uint8_t>(); Compare(m, a, b, CMPMODE::LT, N); PipeBarrier<PIPE_V>(); "
        "Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, N);",
        "Select tensor and scalar <T> | LocalTensor<uint8_t> m = tmp.ReinterpretCast<uint8_t>(); Compare(m, a, b, CMPMODE::GE, N); PipeBarrier<PIPE_V>(); "
        "Select(d, m, a, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, N);",
        "CompareScalar <T> | LocalTensor<uint8_t> m = d.ReinterpretCast<uint8_t>(); CompareScalar(m, a, 0.5f, CMPMODE::GT, N);")),
    Family("float_library", "float", "float", _calls("float", *(f"{op} <T> | {op}(d, a, N);" for op in _LIBRARY)), "plain"),
    Family("float_moves", "float", "float", _calls(
        "float", "Gather <T> | LocalTensor<int32_t> i = tmp.ReinterpretCast<int32_t>(); CreateVecIndex(i, 0, N); PipeBarrier<PIPE_V>(); Muls(i, i, 4, N); PipeBarrier<PIPE_V>(); "
                 "Gather(d, a, i.ReinterpretCast<uint32_t>(), 0, N);",
        "CreateVecIndex int32_t | LocalTensor<int32_t> i = d.ReinterpretCast<int32_t>(); CreateVecIndex(i, 5, N);", "WholeReduceMin <T> | WholeReduceMin(d, a, 64, 4, 1, 1, 8);",
        "BlockReduceMin <T> | BlockReduceMin(d, a, 4, 64, 1, 1, 8);", "RepeatReduceSum <T> | RepeatReduceSum(d, a, 4, 64, 0, 1, 1, 8);"), "ordered"),
    Family("half_transpose", "half", "half", _calls("half", "Transpose <T> | Transpose(d, a);"), "ordered"),
    Family("half_math", "half", "half", _floating("half") + _calls("half", "half scalar product overflows | half s = (half)300 * (half)300; d.SetValue(0, s);")),
    Family("float_sums", "float", "float", _sums("float"), "plain"),
    Family("half_sums", "half", "half", _sums("half"), "plain"),
    Family("float_nan_order", "float", "float", _calls("float", "ReduceMax with index over NaN <T> | ReduceMax(d, a, tmp, N, true);",
                                                       "Sort32 with NaN <T> | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(d, a, i, 4);")),
    Family("float_sorting", "float", "float", _calls("float", "Sort32 <T> | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(d, a, i, 4);",
                                                     "GatherMask pattern 1 <T> | uint64_t n; GatherMask(d, a, 1, false, 0, {1, 1, 8, 0}, n);"), "ordered"),
    Family("int32_math", "int32_t", "int32_t", _calls("int32_t", *(f"{op} <T> | {op}(d, a, b, N);" for op in ("Add", "Sub", "Mul", "Max", "Min")), "Adds <T> | Adds(d, a, 7, N);",
                                                      "ShiftLeft <T> by 3 | ShiftLeft(d, a, 3, N);", "ShiftRight <T> by 3 | ShiftRight(d, a, 3, N);", "ShiftLeft <T> by 32 | ShiftLeft(d, a, 32, N);",
                                                      "ShiftRight <T> by 32 | ShiftRight(d, a, 32, N);", "Duplicate <T> | Duplicate(d, 7, N);")),
    Family("int16_math", "int16_t", "int16_t", _calls("int16_t", *(f"{op} <T> | {op}(d, a, b, N);" for op in ("Add", "Sub", "Mul", "Max", "Min", "And", "Or")), "Not <T> | Not(d, a, N);")),
    _casts("float", "half", *_MODES, "CAST_ODD"), _casts("half", "float", "CAST_NONE"), _casts("float", "int32_t", *_MODES), _casts("float", "int16_t", *_MODES),
    _casts("half", "int16_t", *_MODES), _casts("half", "int32_t", *_MODES), _casts("half", "int8_t", *_MODES), _casts("half", "uint8_t", *_MODES), _casts("int32_t", "float", "CAST_RINT"),
    _casts("int16_t", "half", "CAST_RINT"), _casts("float", "float", *_MODES), _casts("float", "bfloat16_t", *_MODES),
    Family("float_compare", "float", "uint8_t", tuple(Call(f"Compare {m} float", f"Compare(d, a, b, CMPMODE::{m}, N);") for m in ("LT", "GT", "EQ", "LE", "GE", "NE"))
           + (Call("Compare LT float half a repeat", "Compare(d, a, b, CMPMODE::LT, 32, 1, {1, 1, 1, 8, 8, 8});"),)),
    Family("half_scalar_int", "half", "int32_t", _calls("half", "half scalar to int | for (int i = 0; i < 24; ++i) { d.SetValue(i, (int32_t)a.GetValue(i)); }")),
    Family("float_copies", "float", "float", _calls(
        "float", "DataCopyPad short rows | DataCopyPad(d, xGm, DataCopyExtParams{3, 20, 12, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});",
        "DataCopyPad with values | DataCopyPad(d, xGm, DataCopyExtParams{3, 20, 12, 0, 0}, DataCopyPadExtParams<float>{true, 1, 2, 7.0f});",
        "DataCopy with gaps | DataCopy(d, xGm, DataCopyParams{4, 2, 2, 1});", "DataCopy UB to UB | DataCopy(d, a, N);",
        "atomic add float | DataCopy(zGm, d, N); PipeBarrier<PIPE_ALL>(); SetAtomicAdd<float>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);"), "plain"),
    Family("half_copies", "half", "half", _calls(
        "half", "atomic add half | SetAtomicAdd<half>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);"), "plain"),
    Family("int32_copies", "int32_t", "int32_t", _calls(
        "int32_t", "atomic add int32_t overflows | SetAtomicAdd<int32_t>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);",
        "atomic max int32_t | SetAtomicMax<int32_t>(); DataCopy(zGm, a, N); PipeBarrier<PIPE_ALL>(); SetAtomicNone(); DataCopy(d, zGm, N);")),
    Family("half_cube", "half", "float", _calls(
        "half", "Mmad half | Mmad(d, a, b, p);",
        "Mmad half accumulates | Mmad(d, a, b, p); PipeBarrier<PIPE_ALL>(); p.cmatrixInitVal = false; Mmad(d, a, b, p);"), "plain", cube=True),
    Family("half_cube_tail", "half", "float", _calls("half", "Mmad half with NaN behind k | p.k = 9; Mmad(d, a, b, p);"), "tail", cube=True),
)
