"""What the host functions share: arguments, the library, tiling structs by name."""
from __future__ import annotations

import ctypes as c
import operator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..build import runtime
from ..errors import WorkbookError


class HostError(WorkbookError, ValueError):
    """An argument that no host tiling can be made for."""


class TmpSize(NamedTuple):
    """Bytes of sharedTmpBuffer."""
    min: int
    max: int


class Api:
    """One call of the high-level API. Subclasses know its family."""

    def __init__(self, name: str, types: tuple[str, ...] = ("float16", "float32"), options: tuple[str, ...] = ()):
        self.name, self.types, self.options = name, types, options

    def size(self, shape, dtype, options: dict) -> TmpSize:
        raise NotImplementedError

    def tiling(self, shape, dtype, tmp_bytes, options: dict):
        raise HostError(f"{self.name} takes no tiling struct: its shapes are arguments of the call.")

    # ---- arguments
    def check_options(self, options: dict) -> None:
        for name in options:
            if name not in self.options:
                raise HostError(f"{self.name} has no option {name}. " + (f"It has {', '.join(self.options)}." if self.options else "It has none."))

    def type_size(self, dtype, what: str = "dtype") -> int:
        name = type_name(dtype)
        if name not in self.types:
            raise HostError(f"{self.name}: {what} {name} is not supported; use {' or '.join(self.types)}.")
        return 4 if name.endswith("32") else 2

    def dims(self, shape, *ranks: int) -> tuple[int, ...]:
        try:
            dims = tuple(operator.index(n) for n in (shape if np.ndim(shape) else (shape,)))
        except TypeError:
            raise HostError(f"{self.name}: a shape is whole numbers, not {shape!r}.") from None
        if ranks and len(dims) not in ranks:
            raise HostError(f"{self.name}: the shape has {' or '.join(map(str, ranks))} axes, {dims} has {len(dims)}.")
        if not dims or min(dims) < 1 or np.prod([float(n) for n in dims]) >= 2**31:
            raise HostError(f"{self.name}: {dims} is no shape of a tile.")
        return dims

    def workspace(self, tmp_bytes, size: TmpSize) -> int:
        """Bytes to tile for; raises when not even the smallest piece fits."""
        if tmp_bytes is None:
            return size.max
        given = operator.index(tmp_bytes)
        if given < size.min:
            raise HostError(f"{self.name} needs at least {size.min} B of workspace here, {given} B were given.")
        return min(given, 2**32 - 1)


def type_name(dtype) -> str:
    if isinstance(dtype, str):
        dtype = {"half": "float16", "float": "float32", "bfloat16_t": "bfloat16"}.get(dtype, dtype)
        if dtype == "bfloat16":
            return dtype
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise HostError(f"{dtype!r} is no element type.") from None


def call_size(function: str, *args) -> TmpSize:
    most, least = c.c_uint32(), c.c_uint32()
    getattr(library(), function)(*args, c.byref(most), c.byref(least))
    return TmpSize(least.value, most.value)


@lru_cache(maxsize=1)
def library() -> c.CDLL:
    lib = c.CDLL(str(runtime.ensure().library))
    u32, u64, out = c.c_uint32, c.c_uint64, c.POINTER(c.c_uint32)
    lib.tw_host_activation_size.argtypes = [c.c_int, u64, u32, out, out]
    lib.tw_host_softmax_size.argtypes = [c.c_int, u32, u32, u32, u32, c.c_int, out, out]
    lib.tw_host_softmax_tiling.argtypes = [c.c_int, u32, u32, u32, u32, c.c_int, u32, c.c_void_p]
    lib.tw_host_norm_size.argtypes = [c.c_int, u64, u64, u64, u64, u64, u32, c.c_int, out, out]
    lib.tw_host_norm_tiling.argtypes = [c.c_int, u64, u64, u64, u64, u64, u32, c.c_int, u64, c.c_void_p]
    return lib


def struct(name: str):
    """The Python class of a tiling struct, as the C++ compiler lays it out."""
    from ..tiling import builtin_struct
    return builtin_struct(name)


def fill(cls, function, *args):
    """An instance filled by the library, and what the function returned."""
    room = c.create_string_buffer(cls._dtype.itemsize)
    code = function(*args, c.cast(room, c.c_void_p))
    return cls.from_bytes(room.raw), code
