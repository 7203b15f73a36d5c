"""LocalTensor: a view of UB that knows its shape and element type."""
from __future__ import annotations

import ctypes
from ctypes import byref

import numpy as np

from . import names, vector
from .abi import LocalRef, here, lib
from .names import SIZE
from .slices import shape_of, span, strides_of
from .state import check, made, refuse

_FAR = 1 << 30                               # an address that far behind the end would not fit into 32 bits
_NEVER = 8                                   # Mem::N, the memory of a tensor that was never assigned


class Expression:
    """`x + y` before it is assigned: nothing runs until `z[:] = x + y`."""
    __slots__ = ("api", "operands")
    __array_ufunc__ = None

    def __init__(self, api: str, *operands):
        self.api, self.operands = api, operands

    def _refused(self, *_):
        refuse("UNSUPPORTED_API", "an expression holds one instruction", "Assign it first: z[:] = x + y, then z[:] = z * w.")
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __and__ = __or__ = _refused


class LocalTensor:
    """Bytes of UB. `t[a:b]` is a view, `t[i]` reads one element (GetValue), `t[i] = v` writes one (SetValue).

    A slice is an address and a length, as on the device: nothing is cut when it goes past the end, the checks say so.
    """
    __slots__ = ("_ref", "_address", "_code", "size", "shape")
    __array_ufunc__ = None                   # NumPy must not compute on it behind the checks

    def __init__(self, ref: LocalRef, code: int, size: int | None = None, shape: tuple[int, ...] | None = None):
        self._ref, self._address, self._code = ref, byref(ref), code
        made.append(self)
        self.size = ref.bytes // SIZE[code] if size is None else size
        self.shape = (self.size,) if shape is None else shape

    def _expire(self) -> None:
        self._ref.mem = _NEVER

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
        return f"LocalTensor({names.NUMPY[self._code]}, shape={self.shape}, UB 0x{self._ref.addr:x})"

    # ---- views
    def _view(self, first: int, size: int, shape: tuple[int, ...]) -> "LocalTensor":
        old, step = self._ref, SIZE[self._code]
        left = old.bytes - first * step
        if left < -_FAR:
            refuse("OUT_OF_BOUNDS", f"the view starts at element {first} of a tensor of {self.size}", "Indices count elements, not bytes.")
        ref = LocalRef(old.addr + first * step, max(0, min(left, size * step)), old.buf, old.gen, old.mem, old.pos)
        return LocalTensor(ref, self._code, size, shape)

    def __getitem__(self, key):
        if type(key) is slice and len(self.shape) == 1:
            first, size = span(key, self.size)
            return self._view(first, size, (size,))
        if isinstance(key, int | np.integer) and len(self.shape) == 1:
            return self.GetValue(int(key) + (self.size if key < 0 else 0))
        first, shape, strides = shape_of(key, self.shape, strides_of(self.shape))
        if not shape:
            return self.GetValue(first)
        size = int(np.prod(shape))
        if strides != strides_of(shape) and size:
            refuse("UNSUPPORTED_API", f"a view of shape {shape} with gaps is no LocalTensor", "Take whole rows, or one row at a time: t[r, a:b].")
        return self._view(first, size, shape)

    def __setitem__(self, key, value) -> None:
        if isinstance(key, int | np.integer) and len(self.shape) == 1:
            self.SetValue(int(key) + (self.size if key < 0 else 0), value)
            return
        if key == slice(None):
            target = self
        else:
            first, shape, _ = shape_of(key, self.shape, strides_of(self.shape))
            if not shape:
                self.SetValue(first, value)
                return
            target = self[key]
        if type(value) is Expression:
            vector.assign(target, value)
        elif isinstance(value, (int, float, np.number)):
            vector.duplicate(target, value, target.size)
        elif value is not target:
            refuse("UNSUPPORTED_API", f"{type(value).__name__} cannot be assigned to a LocalTensor",
                   "Use t[:] = x + y for an instruction, t[:] = 1.0 to fill, core.DataCopy(t, x[a:b]) to load.")

    def __iter__(self):
        return (self.GetValue(i) for i in range(self.size))

    def reshape(self, *shape) -> "LocalTensor":
        """The same bytes with another shape; one entry may be -1."""
        shape = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        try:
            shape = np.empty(self.size, np.bool_).reshape(shape).shape
        except ValueError:
            refuse("BAD_PARAMETER", f"{self.size} elements do not have the shape {tuple(shape)}", "rows * columns must be the number of elements.")
        return LocalTensor(self._ref, self._code, self.size, shape)

    def view(self, dtype) -> "LocalTensor":
        """The same bytes as another element type (ReinterpretCast)."""
        return LocalTensor(self._ref, names.code_of(dtype))

    ReinterpretCast = view

    # ---- single elements, on the scalar unit
    def GetValue(self, index: int):
        step = SIZE[self._code]
        value = ctypes.create_string_buffer(step)
        state = lib.local_scalar(self._address, index * step, step, value, 0, here()) if index >= 0 else self._outside(index)
        if state:
            check(state)
        return names.number(value.raw, self._code)

    def SetValue(self, index: int, value) -> None:
        step = SIZE[self._code]
        try:
            bits = names.scalar_bits(value, self._code)
        except ValueError as error:
            refuse("BAD_PARAMETER", f"SetValue: {error}")
        data = bits.to_bytes(step, "little")
        state = lib.local_scalar(self._address, index * step, step, data, 1, here()) if index >= 0 else self._outside(index)
        if state:
            check(state)

    def _outside(self, index: int):
        refuse("OUT_OF_BOUNDS", f"element {index} lies before the tensor, which has {self.size} elements", "Indices start at 0.")

    def numpy(self) -> np.ndarray:
        """A copy of the bytes as they are now, to look at: no instruction, no cost, no check."""
        out = np.zeros(self._ref.bytes, np.uint8)
        state = lib.local_peek(self._address, out.ctypes.data)
        if state:
            check(state)
        values = out.view(names.numpy_dtype(self._code))
        return values.reshape(self.shape) if values.size == self.size else values

    # ---- operators: z[:] = x + y
    def __add__(self, other):
        return Expression("Add", self, other) if isinstance(other, LocalTensor) else Expression("Adds", self, other)

    def __mul__(self, other):
        return Expression("Mul", self, other) if isinstance(other, LocalTensor) else Expression("Muls", self, other)

    def __sub__(self, other):
        return Expression("Sub", self, _tensor(other, "-", "core.Adds(z, x, -value)"))

    def __truediv__(self, other):
        return Expression("Div", self, _tensor(other, "/", "core.Muls(z, x, 1 / value)"))

    def __and__(self, other):
        return Expression("And", self, _tensor(other, "&", "Duplicate the number into a tensor first"))

    def __or__(self, other):
        return Expression("Or", self, _tensor(other, "|", "Duplicate the number into a tensor first"))

    __radd__, __rmul__ = __add__, __mul__

    def _in_place(operator):
        def apply(self, other):
            vector.assign(self, operator(self, other))
            return self
        return apply
    __iadd__, __isub__, __imul__, __itruediv__ = map(_in_place, (__add__, __sub__, __mul__, __truediv__))
    del _in_place


def _tensor(value, sign: str, instead: str):
    if not isinstance(value, LocalTensor):
        refuse("UNSUPPORTED_API", f"there is no instruction for a tensor {sign} a number", f"Use {instead}.")
    return value
