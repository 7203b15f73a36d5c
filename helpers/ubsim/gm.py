"""GlobalTensor: a view of one of the learner's arrays, in the role of global memory."""
from __future__ import annotations

import ctypes
from ctypes import byref

import numpy as np

from . import names
from .abi import GlobalRef, here, lib
from .names import SIZE
from .slices import rows_of, shape_of, span, strides_of
from .state import check, refuse


class GlobalTensor:
    """An array in GM. `x[a:b]` and `x[r0:r1, c0:c1]` are views for copies; `x[i]` is GetValue through the data cache.

    A slice is an address and a length, as on the device: nothing is cut when it goes past the end, the checks say so.
    """
    __slots__ = ("name", "shape", "size", "_strides", "_code", "_ref", "_address", "_array")
    __array_ufunc__ = None

    def __init__(self, name: str, ref: GlobalRef, code: int, shape: tuple[int, ...], strides: tuple[int, ...], array: np.ndarray):
        self.name, self._ref, self._address, self._code, self.shape, self._strides = name, ref, byref(ref), code, shape, strides
        self._array = array                  # holds the memory; says whether it may be written
        self.size = 1
        for n in shape:
            self.size *= n

    @classmethod
    def of(cls, name: str, array: np.ndarray, code: int) -> "GlobalTensor":
        ref = GlobalRef(array.ctypes.data, array.nbytes, 1, 1)
        return cls(name, ref, code, array.shape, strides_of(array.shape), array)

    @property
    def dtype(self) -> np.dtype:
        return names.numpy_dtype(self._code)

    @property
    def itemsize(self) -> int:
        return SIZE[self._code]

    @property
    def nbytes(self) -> int:
        return self.size * SIZE[self._code]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def GetSize(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"GlobalTensor({self.name}, {names.NUMPY[self._code]}, shape={self.shape})"

    def SetL2CacheHint(self, mode) -> None:
        """CACHE_MODE_DISABLE: reads go past the L2 cache. Views made afterwards inherit it."""
        try:
            self._ref.cache = names.find(mode, names.CACHE_MODES, "the cache mode")
        except ValueError as error:
            refuse("BAD_PARAMETER", *str(error).split(". ", 1))

    # ---- views
    def _view(self, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> "GlobalTensor":
        old, step = self._ref, SIZE[self._code]
        left = old.bytes - first * step if old.set == 1 else 0
        reach = step * (1 + sum((n - 1) * s for n, s in zip(shape, strides))) if min(shape, default=1) > 0 else 0
        # No bytes left behind the start: whatever uses the view says so, with its own line (as GlobalTensor::operator[]).
        ref = GlobalRef(old.ptr + first * step, max(0, min(left, reach) if reach else left), old.cache, 1 if left > 0 else 2)
        return GlobalTensor(self.name, ref, self._code, shape, strides, self._array)

    def __getitem__(self, key):
        if type(key) is slice and len(self.shape) == 1:
            first, size = span(key, self.size)
            return self._view(first * self._strides[0], (size,), self._strides)
        first, shape, strides = shape_of(key, self.shape, self._strides)
        return self._view(first, shape, strides) if shape else self._element(first, None)

    def __setitem__(self, key, value) -> None:
        first, shape, _ = shape_of(key, self.shape, self._strides)
        if shape:
            refuse("UNSUPPORTED_API", f"nothing but a copy writes a slice of {self.name}", f"core.DataCopy({self.name}[a:b], tensor) stores a tensor.")
        self._element(first, value)

    def reshape(self, *shape) -> "GlobalTensor":
        shape = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        if self._strides != strides_of(self.shape):
            refuse("UNSUPPORTED_API", f"a slice of {self.name} with gaps has no other shape", "Reshape before slicing.")
        try:
            shape = np.empty(self.size, np.bool_).reshape(shape).shape
        except ValueError:
            refuse("BAD_PARAMETER", f"{self.size} elements do not have the shape {tuple(shape)}", "rows * columns must be the number of elements.")
        return GlobalTensor(self.name, self._ref, self._code, shape, strides_of(shape), self._array)

    def view(self, dtype) -> "GlobalTensor":
        """The same bytes as another element type (ReinterpretCast), in one dimension."""
        if self._strides != strides_of(self.shape):
            refuse("UNSUPPORTED_API", f"a slice of {self.name} with gaps has no other element type", "Reinterpret before slicing.")
        code = names.code_of(dtype)
        return GlobalTensor(self.name, self._ref, code, (self.nbytes // SIZE[code],), (1,), self._array)

    ReinterpretCast = view

    # ---- single elements, on the scalar unit
    def GetValue(self, index: int):
        return self._element(self._flat(index), None)

    def SetValue(self, index: int, value) -> None:
        self._element(self._flat(index), value)

    def _flat(self, index: int) -> int:
        if not self.contiguous:
            refuse("UNSUPPORTED_API", f"a slice of {self.name} with gaps has no running index", f"Give one index for each dimension: {self.name}[r, c].")
        return index

    def _element(self, index: int, value):
        step = SIZE[self._code]
        if index < 0:
            refuse("GM_OUT_OF_BOUNDS", f"element {index} lies before {self.name}", "Indices start at 0.")
        if value is None:
            data = ctypes.create_string_buffer(step)
        else:
            self.writable("SetValue")
            try:
                data = names.scalar_bits(value, self._code).to_bytes(step, "little")
            except ValueError as error:
                refuse("BAD_PARAMETER", f"SetValue: {error}")
        state = lib.gm_scalar(self._address, index * step, step, data, value is not None, here())
        if state:
            check(state)
        return names.number(data.raw, self._code) if value is None else None

    # ---- for copies
    def writable(self, api: str) -> None:
        if not self._array.flags.writeable:
            refuse("HOST_ARGUMENT", f"{api} writes to argument {self.name}, which is read-only in Python", f"Pass a copy: {self.name}.copy()")

    @property
    def contiguous(self) -> bool:
        return self._strides == (1,) or self._strides == strides_of(self.shape)

    def rows(self, api: str) -> tuple[int, int, int]:
        """(rows, bytes of a row, bytes from row to row)."""
        found = rows_of(self.shape, self._strides)
        if found is None:
            refuse("UNSUPPORTED_API", f"{api}: a slice of shape {self.shape} of {self.name} is not rows at one distance", "Make one copy for each outer index.")
        return found[0], found[1] * SIZE[self._code], found[2] * SIZE[self._code]
