"""Workspace of the mathematical functions, reductions, transforms, filters and quantisation."""
from __future__ import annotations

import ctypes as c
from functools import lru_cache
from math import prod

from .common import Api, HostError, TmpSize, call_size, library, type_name

_ONE = ("Tanh", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Erfc", "Lgamma", "Digamma", "Log", "Log2", "Log10", "Exp",
        "Ceil", "Floor", "Trunc", "Round", "Frac", "Sign", "Fmod", "Axpy", "ClampMax", "ClampMin")


@lru_cache(maxsize=1)
def _declare() -> None:
    lib, u32, out = library(), c.c_uint32, c.POINTER(c.c_uint32)
    lib.tw_math_tmp.argtypes = [c.c_char_p, c.c_uint64, u32, c.c_int, c.c_int, out, out]
    lib.tw_broadcast_tmp.argtypes = [c.c_int, c.c_int, u32, u32, u32, out, out]
    for name, n in (("tw_sum_tmp", 2), ("tw_mean_tmp", 3), ("tw_shuffle_tmp", 4), ("tw_topk_tmp", 5)):
        function = getattr(lib, name)
        function.argtypes, function.restype = [u32] * n, u32


class MathApi(Api):
    """Options: reuse= (isReuseSource); Power: number= (one operand is a number)."""

    def size(self, shape, dtype, options: dict) -> TmpSize:
        self.check_options(options)
        _declare()
        form = (1 if options.get("number") else 3) | (4 if type_name(dtype) == "int32" else 0)
        return call_size("tw_math_tmp", self.name.encode(), prod(self.dims(shape)), self.type_size(dtype), int(options.get("reuse", False)), form)

    def type_size(self, dtype, what: str = "dtype") -> int:
        super().type_size(dtype, what)
        return {"int16": 2, "uint16": 2}.get(type_name(dtype), 2 if type_name(dtype).endswith("16") else 4)


class RowsApi(Api):
    """Sum, Mean: the last axis is folded. CumSum: a matrix."""

    def size(self, shape, dtype, options: dict) -> TmpSize:
        self.check_options(options)
        _declare()
        dims, z = self.dims(shape), self.type_size(dtype)
        if self.name == "Sum":
            n = library().tw_sum_tmp(dims[-1], z)
        elif self.name == "Mean":
            n = library().tw_mean_tmp(dims[-1], z, self.type_size(options.get("acc_dtype", dtype), "acc_dtype"))
        else:
            n = 16 * dims[-1] * 4 + 2 * prod(dims) * 4
        return TmpSize(n, n)


class BroadcastApi(Api):
    """The shape is that of the result; axis= says which one is repeated."""

    def size(self, shape, dtype, options: dict) -> TmpSize:
        self.check_options(options)
        _declare()
        dims, z = self.dims(shape, 1, 2), {"int8": 1, "uint8": 1, "float16": 2}.get(type_name(dtype), 4)
        if type_name(dtype) not in self.types:
            raise HostError(f"{self.name}: dtype {type_name(dtype)} is not supported; use {' or '.join(self.types)}.")
        axis = int(options.get("axis", 0))
        if axis not in range(len(dims)):
            raise HostError(f"{self.name}: axis {axis} is none of {dims}.")
        return call_size("tw_broadcast_tmp", len(dims), axis, dims[0] if len(dims) > 1 else 1, dims[-1], z)


class TopKApi(Api):
    """Shape (rows, inner). Options: init_index=, small= (TOPK_NSMALL), largest=."""

    def size(self, shape, dtype, options: dict) -> TmpSize:
        self.check_options(options)
        _declare()
        self.type_size(dtype)
        rows, inner = self.dims(shape, 2)
        n = library().tw_topk_tmp(int(options.get("small", False)), int(options.get("init_index", False)), int(options.get("largest", True)), inner, rows)
        return TmpSize(n, n)


APIS = {name: MathApi(name, options=("reuse",)) for name in _ONE}
APIS["Xor"] = MathApi("Xor", ("int16", "uint16"), ("reuse",))
APIS["Power"] = MathApi("Power", ("float16", "float32", "int32"), ("reuse", "number"))
APIS |= {"Sum": RowsApi("Sum"), "Mean": RowsApi("Mean", options=("acc_dtype",)), "CumSum": RowsApi("CumSum"), "TopK": TopKApi("TopK", options=("init_index", "small", "largest"))}
APIS["BroadCast"] = BroadcastApi("BroadCast", ("int8", "uint8", "float16", "float32"), ("axis",))
