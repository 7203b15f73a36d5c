"""Calls of the library: normalisation, softmax, quantisation, sorting and changes of shape, on 8 rows of 32."""
from __future__ import annotations

from .. import host
from .family import Family, rows

# Pieces of tmp: statistics, one more tensor, and the scratch of the call.
_PIECES = "LocalTensor<SRC> s = tmp, m = tmp[512], i = tmp[1024]; LocalTensor<uint8_t> w = tmp[2048].ReinterpretCast<uint8_t>(); "


def _tilings(dtype: str):
    def make(api, shape, **more):
        return lambda: host.tiling(api, shape, dtype, 8192, **more)
    return (("SoftMaxTiling", "soft", make("SoftMax", (8, 32))), ("SoftMaxTiling", "square", make("SoftMax", (16, 16))), ("SoftMaxTiling", "flash", make("SoftmaxFlashV2", (8, 32), update=True)),
            ("RmsNormTiling", "rms", make("RmsNorm", (1, 8, 32))), ("LayerNormTiling", "layer", make("LayerNorm", (1, 8, 32))),
            ("GroupNormTiling", "group", make("GroupNorm", (1, 4, 8, 8), groups=2)), ("DeepNormTiling", "deep", make("DeepNorm", (1, 8, 32))),
            ("BatchNormTiling", "batch", make("BatchNorm", (8, 1, 32))), ("SoftMaxTiling", "gradient", make("SoftmaxGrad", (8, 32))))


def _norms(ctype: str) -> Family:
    of_type = f"<{ctype}>"
    epsilon = f"({ctype})0.25"
    # half: a block holds 16 equal lanes of a statistic, float: 8
    stats = 8 * (16 if ctype == "half" else 8)
    return Family(f"{ctype}_norms", ctype, ctype, rows(
        ctype, f"RmsNorm <T> | {_PIECES}RmsNorm{of_type}(d, a, b, w, {epsilon}, rms);", f"LayerNorm <T> | {_PIECES}LayerNorm{of_type}(d, s, m, a, b, b[32], w, {epsilon}, layer);",
        f"DeepNorm <T> | {_PIECES}DeepNorm{of_type}(d, s, m, a, b, b[32], b[64], w, ({ctype})0.5, {epsilon}, deep);",
        f"BatchNorm <T> | {_PIECES}BatchNorm{of_type}(d, s, m, a, b, b[32], w, {epsilon}, batch);",
        f"SoftmaxGrad <T> | {_PIECES}SoftmaxGrad{of_type}(d, a, b, w, gradient, false);",
        f"SimpleSoftMax <T> | {_PIECES}SoftMax{of_type}(d, s, m, a, w, soft, {{8, 32, 8, 32}}); PipeBarrier<PIPE_ALL>(); SimpleSoftMax{of_type}(d, s, m, b, w, soft, {{8, 32, 8, 32}});",
        f"GroupNorm <T> | {_PIECES}GroupNorm{of_type}(d, s, m, a, b, b[32], w, {epsilon}, group);", f"SoftMax <T> | {_PIECES}SoftMax{of_type}(d, s, m, a, w, soft, {{8, 32, 8, 32}});",
        f"SoftMax <T> sums | {_PIECES}SoftMax{of_type}(b, s, m, a, w, soft, {{8, 32, 8, 32}}); PipeBarrier<PIPE_ALL>(); DataCopy(d, s, {stats});",
        f"SoftMax <T> in NZ | {_PIECES}SoftMax<{ctype}, false, false, true>(d, s, m, a, w, square, {{16, 16, 16, 16}});",
        f"SoftmaxFlashV2 <T>, updated | {_PIECES}SoftmaxFlashV2<{ctype}, false>(d, s, m, a, i, s, m, w, flash, {{8, 32, 8, 32}}); PipeBarrier<PIPE_ALL>(); "
        f"SoftmaxFlashV2<{ctype}, true>(d, s, m, b, i, s, m, w, flash, {{8, 32, 8, 32}});",
        f"SoftmaxFlashV2 <T> sums, updated | {_PIECES}SoftmaxFlashV2<{ctype}, false>(d, s, m, a, i, s, m, w, flash, {{8, 32, 8, 32}}); PipeBarrier<PIPE_ALL>(); "
        f"SoftmaxFlashV2<{ctype}, true>(d, s, m, b, i, s, m, w, flash, {{8, 32, 8, 32}}); PipeBarrier<PIPE_ALL>(); DataCopy(d, s, {stats});"), "small", tilings=_tilings(ctype))


_SORT = "LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); LocalTensor<SRC> w = tmp[1024]; "
_INDEX = "LocalTensor<int32_t> n = b.ReinterpretCast<int32_t>(); CreateVecIndex(n, 0, 128); PipeBarrier<PIPE_ALL>(); "


def _sorting(ctype: str) -> Family:
    pair = 2 if ctype == "float" else 4
    count = 128 if ctype == "float" else 64
    return Family(f"{ctype}_lists", ctype, ctype, rows(
        ctype, f"Sort <T> | {_SORT}{_INDEX}Sort<SRC, true>(d, a, i, w, {count // 32});", f"Sort <T> in groups | {_SORT}{_INDEX}Sort<SRC, false>(d, a, i, w, {count // 32});",
        f"Extract <T> | {_SORT}{_INDEX}Sort<SRC, true>(w, a, i, tmp, 2); PipeBarrier<PIPE_ALL>(); Extract(d, i, w, 2);",
        f"MrgSort <T> of two | {_SORT}{_INDEX}Sort<SRC, false>(w, a, i, tmp, 2); PipeBarrier<PIPE_ALL>(); uint16_t counts[4] = {{32, 32, 0, 0}}; uint32_t taken[4]; "
        f"MrgSortSrcList<SRC> list(w, w[{32 * pair}], w, w); MrgSort<SRC>(d, list, counts, taken, 3, 1);"), "ordered")


_WORK = "LocalTensor<uint8_t> w = tmp[1024].ReinterpretCast<uint8_t>(); "


def _shapes(ctype: str) -> Family:
    return Family(f"{ctype}_shapes", ctype, ctype, rows(
        ctype, f"BroadCast <T> of a column | {_WORK}uint32_t to[2] = {{8, 32}}, from[2] = {{8, 1}}; BroadCast<SRC, 2, 1>(d, a, to, from, w);",
        f"BroadCast <T> of a row | {_WORK}uint32_t to[2] = {{8, 32}}, from[2] = {{1, 32}}; BroadCast<SRC, 2, 0>(d, a, to, from, w);",
        f"Sum <T> | {_WORK}Sum(d, a, w, SumParams{{8, 32, 30}});", f"Mean <T> | {_WORK}Mean(d, a, w, MeanParams{{8, 32, 32}});",
        f"ReduceMax <T> of rows | {_WORK}uint32_t s[2] = {{8, 32}}; ReduceMax<SRC, Pattern::Reduce::AR>(d, a, w, s, true);",
        f"ReduceMin <T> of columns | {_WORK}uint32_t s[2] = {{8, 32}}; ReduceMin<SRC, Pattern::Reduce::RA>(d, a, w, s, true);",
        f"CumSum <T> | {_WORK}CumSum<SRC>(d, b, a, w, CumSumInfo{{8, 32}});",
        f"DropOut <T> of bytes | {_WORK}LocalTensor<uint8_t> k = b.ReinterpretCast<uint8_t>(); Duplicate(b.ReinterpretCast<uint16_t>(), (uint16_t)0x0100, N / 2); PipeBarrier<PIPE_ALL>(); "
        "DropOut(d, a, k, w, 0.8f, DropOutShapeInfo{8, 32, 32});",
        f"DropOut <T> of bits | {_WORK}LocalTensor<uint8_t> k = b.ReinterpretCast<uint8_t>(); Duplicate(b.ReinterpretCast<uint16_t>(), (uint16_t)0x0107, N / 2); PipeBarrier<PIPE_ALL>(); "
        "DropOut<SRC, false, 3>(d, a, k, w, 0.5f, DropOutShapeInfo{8, 32, 4});",
        f"DropOut <T> keeps everything | {_WORK}LocalTensor<uint8_t> k = b.ReinterpretCast<uint8_t>(); Duplicate(b.ReinterpretCast<uint16_t>(), (uint16_t)0x0101, N / 2); "
        "PipeBarrier<PIPE_ALL>(); DropOut(d, a, k, w, 1.0f, DropOutShapeInfo{8, 32, 32});",
        *(f"{op} <T> | {op}(d, a, N);" for op in ("Gelu", "Silu"))), "small")


_ONE = ("Log2", "Log10", "Erfc", "Lgamma", "Asin", "Acos", "Atan", "Acosh", "Atanh", "Frac")


def _functions(ctype: str) -> Family:
    return Family(f"{ctype}_functions", ctype, ctype, rows(
        ctype, *(f"{op} <T> of the library | {_WORK}{op}(d, a, w, N);" for op in _ONE), f"Exp <T> of 10 terms | {_WORK}Exp<SRC, 10, false>(d, a, w, N);",
        f"Fmod <T> | {_WORK}Fmod(d, a, b, w, N);", "Swish <T> | Swish(d, a, N, (SRC)1.5);",
        f"SwiGLU <T> | {_WORK}SwiGLU<SRC, false>(d, a, b, 1.5f, w, N);", f"GeGLU <T> | {_WORK}GeGLU<SRC, false>(d, a, b, w, N);", f"ReGlu <T> | {_WORK}ReGlu<SRC, false>(d, a, b, w, N);",
        f"FasterGelu <T> | {_WORK}FasterGelu<SRC, false, false>(d, a, w, N);", f"FasterGeluV2 <T> | {_WORK}FasterGeluV2<SRC, false, false>(d, a, w, N);"), "small")


LIBRARY = (
    _norms("half"), _norms("float"), _sorting("half"), _sorting("float"), _shapes("half"), _shapes("float"), _functions("half"), _functions("float"),
    Family("half_quant", "half", "int8_t", rows(
        "half", "AscendQuant <T> | AscendQuant(d, a, 2.0f, 0.5f, N);", "AscendQuant <T> per channel | AscendQuant(d, a, b, (half)1.5, 64, N);")),
    Family("float_quant", "float", "int8_t", rows("float", "AscendQuant <T> | AscendQuant(d, a, 2.0f, 0.5f, N);", "AscendQuant <T> with an offset | AscendQuant(d, a, 0.25f, -3.0f, N);")),
    Family("dequant", "int32_t", "float", rows(
        "int32_t", f"AscendDequant to float | {_WORK}LocalTensor<float> s = b.ReinterpretCast<float>(); Duplicate(s, 0.3f, 32); PipeBarrier<PIPE_ALL>(); "
        f"AscendDequant(d, a, s, w, DequantParams{{8, 32, 32}});",
        f"AscendDequant to float by count | {_WORK}LocalTensor<float> s = b.ReinterpretCast<float>(); Duplicate(s, 0.3f, 64); PipeBarrier<PIPE_ALL>(); AscendDequant(d, a, s[0], w, 64);")),
    Family("antiquant", "int8_t", "half", rows(
        "int8_t", f"AscendAntiQuant int8_t to half | {_WORK}AscendAntiQuant<int8_t, half, false>(d, a, (half)3, (half)0.25, w, 8);")),
)
