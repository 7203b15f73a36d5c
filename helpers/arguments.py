"""What a caller passes to a kernel, turned into what the kernel's parameters want, with a clear error where they differ."""
from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import Finding, KernelError, counted

# Index = DType of the twin; the C++ name, the NumPy name.
_TYPES = [("void", ""), ("half", "float16"), ("bfloat16_t", "bfloat16"), ("float", "float32"), ("double", "float64"),
          ("int8_t", "int8"), ("uint8_t", "uint8"), ("int16_t", "int16"), ("uint16_t", "uint16"), ("int32_t", "int32"),
          ("uint32_t", "uint32"), ("int64_t", "int64"), ("uint64_t", "uint64"), ("int4b_t", "int4"), ("bool", "bool")]
CPP_NAME = [cpp for cpp, _ in _TYPES]
CODE = {name: code for code, (_, name) in enumerate(_TYPES) if name}
BYTE, BOOL, BF16, NO_TYPE = CODE["uint8"], CODE["bool"], CODE["bfloat16"], 0
POINTER, SCALAR, STRUCT = 0, 1, 2
# What else than its own type a T* takes: bit patterns, as the device sees them.
_ALSO = {BF16: {CODE["uint16"]}, CODE["uint16"]: {BF16}, BOOL: {BYTE}, CODE["int4"]: {CODE["int8"], BYTE}}


@dataclass(frozen=True)
class Param:
    """One parameter of a kernel, as the compiled code describes it."""
    name: str
    kind: int                 # POINTER, SCALAR, STRUCT
    dtype: int                # DType of the twin: of the scalar, or of what the pointer points to
    nbytes: int               # of the value; for pointers of what they point to

    def __str__(self) -> str:
        if self.kind == POINTER:
            return f"GM_ADDR {self.name}" if self.dtype in (BYTE, NO_TYPE) else f"{CPP_NAME[self.dtype]}* {self.name}"
        return f"{CPP_NAME[self.dtype]} {self.name}" if self.kind == SCALAR else f"struct {self.name} ({self.nbytes} B)"


@dataclass(frozen=True)
class Workspace:
    """Scratch memory in GM for one launch; its contents are undefined when the kernel starts."""
    nbytes: int


def workspace(nbytes: int) -> Workspace:
    """Scratch memory in GM for one launch: `kernel[8](x, y, hp.workspace(1 << 20))`."""
    if isinstance(nbytes, bool) or not isinstance(nbytes, (int, np.integer)) or nbytes < 0:
        raise _error(f"hp.workspace takes a number of bytes; it was given {nbytes!r}.", "hp.workspace(1 << 20)")
    return Workspace(int(nbytes))


@dataclass(eq=False)
class Buffer:
    """An argument in GM: bytes of the caller's memory (or fresh workspace), never a copy."""
    index: int
    name: str
    dtype: int
    address: int
    nbytes: int
    readonly: bool = False
    workspace: bool = False
    owner: Any = None         # the ndarray that owns the memory, where there is one
    keep: Any = None          # holds the memory while the launch runs


@dataclass
class Value:
    """An argument passed by value."""
    index: int
    data: bytes


def bind(params: tuple[Param, ...], args) -> tuple[list[Buffer], list[Value], list[int]]:
    """Buffers, values and the positions of null pointers."""
    if len(args) != len(params):
        wanted = ", ".join(map(str, params)) or "no parameters"
        raise _error(f"The kernel takes {counted(len(params), 'argument')} ({wanted}); {len(args)} {'was' if len(args) == 1 else 'were'} given.",
                     "Pass one argument for each parameter, in this order.")
    buffers, values, nulls = [], [], []
    for i, (param, arg) in enumerate(zip(params, args)):
        if param.kind != POINTER:
            values.append(Value(i, _scalar(param, arg) if param.kind == SCALAR else _struct(param, arg)))
        elif arg is None:
            nulls.append(i)
        else:
            buffers.append(_buffer(i, param, arg))
    return buffers, values, nulls


# ---- GM pointers
def _buffer(index: int, param: Param, arg) -> Buffer:
    if isinstance(arg, Workspace):
        return Buffer(index, param.name, BYTE, 0, arg.nbytes, workspace=True)
    array, code = _as_array(param, arg)
    if array is None:
        data = _struct_bytes(arg)
        if data is None:
            hint = f"np.array({param.name}, dtype=…)" if isinstance(arg, (list, tuple, range)) else "Pass a NumPy array, hp.workspace(nbytes) or None."
            if isinstance(arg, (bool, int, float, np.number)):
                hint = f"np.array([{arg}]) passes it in memory; a parameter declared as a number takes it directly."
            raise _error(f"Argument {param.name} is {_article(arg)}; the kernel wants the address of an array ({param}).", hint)
        array, code = np.frombuffer(data, np.uint8), NO_TYPE
    _check_dtype(param, array, code)
    if not array.flags.c_contiguous:
        if array.flags.f_contiguous:
            how = f"is stored column by column (order='F', shape {array.shape})"
        else:
            how = f"is a view with gaps (shape {array.shape}, strides {array.strides} bytes)"
        raise _error(f"Argument {param.name} {how}; a kernel sees memory as one run of bytes.",
                     f"Make a copy first: {param.name} = np.ascontiguousarray({param.name}). Results then land in the copy.")
    return Buffer(index, param.name, code, array.__array_interface__["data"][0] if array.nbytes else 0, array.nbytes,
                  readonly=not array.flags.writeable, owner=_owner(array), keep=(array, arg))


def _as_array(param: Param, arg):
    """The ndarray behind an argument, and the DType of its elements; (None, 0) when it is no array."""
    if isinstance(arg, np.ndarray):
        return arg, _code(arg.dtype)
    # Subclasses may be defined anywhere (a MindSpore Parameter says it comes from `abc`).
    modules = {c.__module__.split(".")[0] for c in type(arg).__mro__}
    if "torch" in modules and hasattr(arg, "data_ptr"):
        return _torch_array(param, arg)
    if "mindspore" in modules and hasattr(arg, "asnumpy"):
        return _mindspore_array(arg)
    if isinstance(arg, np.generic) and arg.dtype.kind == "V":
        return None, 0                       # a structured scalar: handled as a struct
    return None, 0


def _torch_array(param: Param, tensor):
    if tensor.device.type != "cpu":
        raise _error(f"Argument {param.name} is a torch tensor on {tensor.device}; the twin runs on the CPU.", f"{param.name}.cpu()")
    if not tensor.is_contiguous():
        raise _error(f"Argument {param.name} is a torch tensor with gaps (strides {tuple(tensor.stride())}).", f"{param.name}.contiguous()")
    name = str(tensor.dtype).removeprefix("torch.")
    tensor = tensor.detach()
    if name == "bfloat16":                   # NumPy has no such type: hand over the bits
        torch = __import__("torch")
        return tensor.view(torch.int16).numpy().view(np.uint16), BF16
    array = tensor.numpy()
    return array, _code(array.dtype)


def _mindspore_array(tensor):
    bf16 = str(tensor.dtype).lower().endswith("bfloat16")
    if not tensor.is_contiguous():
        raise _error("A MindSpore tensor with gaps was passed.", "tensor.contiguous()")
    array = tensor.asnumpy()                 # shares the tensor's memory on the CPU
    return array, BF16 if bf16 else _code(array.dtype)


def _code(dtype: np.dtype) -> int | None:
    """DType of the twin, NO_TYPE for records of bytes, None for what a kernel cannot hold."""
    if dtype.kind == "V" and dtype.name not in CODE:
        return None if dtype.hasobject else NO_TYPE
    return CODE.get(dtype.name) if dtype.isnative else None


def _check_dtype(param: Param, array: np.ndarray, code: int | None) -> None:
    name = param.name
    if code is None:
        native = array.dtype.newbyteorder("=")
        if not array.dtype.isnative and native.name in CODE:
            raise _error(f"Argument {name} holds {native.name} in foreign byte order.", f"{name} = {name}.astype(np.{native.name})")
        raise _error(f"Argument {name} is an array of {array.dtype}; no Ascend C type holds that.",
                     "Use " + ", ".join(n for n in CODE if n != "int4") + ".")
    if param.dtype in (BYTE, NO_TYPE) or code in (param.dtype, NO_TYPE) or code in _ALSO.get(param.dtype, ()):
        return                               # GM_ADDR takes every array
    numpy_name = _TYPES[param.dtype][1]
    spelled = "ml_dtypes.bfloat16" if param.dtype == BF16 else "bool" if param.dtype == BOOL else f"np.{numpy_name}"
    raise _error(f"Argument {name} is an array of {_TYPES[code][1]}; the kernel reads it as {CPP_NAME[param.dtype]}* ({param.nbytes} B per element, "
                 f"not {array.dtype.itemsize}).", f"Make {name} with dtype={spelled}, or change the parameter's type in the kernel.")


def _owner(array: np.ndarray) -> np.ndarray | None:
    while isinstance(array, np.ndarray) and not array.flags.owndata:
        array = array.base
    return array if isinstance(array, np.ndarray) else None


# ---- values
def _scalar(param: Param, arg) -> bytes:
    name, cpp = param.name, CPP_NAME[param.dtype]
    if isinstance(arg, np.ndarray) and arg.ndim == 0:
        arg = arg[()]
    module = type(arg).__module__
    number = isinstance(arg, (bool, int, float, np.bool_, np.integer, np.floating)) or module.startswith("ml_dtypes")
    if not number:
        hint = f"Pass a number for {name}."
        if isinstance(arg, np.ndarray):
            hint = f"Pass one element ({name}[0]), or declare the parameter as GM_ADDR to take the whole array."
        elif arg is None:
            hint = f"Only pointers can be None; pass a number for {name}."
        raise _error(f"Argument {name} is {_article(arg)}; the kernel wants a number ({param}).", hint)
    if param.dtype in (CODE["float16"], BF16, CODE["float32"], CODE["float64"]):
        try:
            return _floating(param, float(arg))
        except OverflowError:
            raise _error(f"Argument {name} is a number of {len(str(abs(int(arg))))} digits; that is too large for {cpp}.", "Pass a smaller value.") from None
    if isinstance(arg, (float, np.floating)) or module.startswith("ml_dtypes"):
        if not math.isfinite(arg) or float(arg) != int(arg):
            hint = f"int({arg})" if math.isfinite(arg) else "Pass a whole number."
            raise _error(f"Argument {name} is {float(arg)!r}; the kernel takes a whole number ({param}).", hint)
        raise _error(f"Argument {name} is the float {float(arg)!r}; the kernel takes a whole number ({param}).", f"int({name}), or use // where it was computed with /.")
    value, bits = int(arg), 8 * param.nbytes
    if param.dtype == BOOL:
        low, high = 0, 1
    elif cpp.startswith("u"):
        low, high = 0, (1 << bits) - 1
    else:
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if not low <= value <= high:
        raise _error(f"Argument {name} is {value}; {cpp} holds {low} to {high}.", f"Use a wider type for {name} in the kernel, or a value in this range.")
    return value.to_bytes(param.nbytes, "little", signed=low < 0)


def _floating(param: Param, value: float) -> bytes:
    if param.dtype == CODE["float64"]:
        return struct.pack("<d", value)
    with np.errstate(over="ignore"):
        if param.dtype == BF16:
            bits = int(np.float32(value).view(np.uint32))
            rounded = (bits >> 16) | 0x40 if math.isnan(value) else (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
            data = struct.pack("<H", rounded & 0xFFFF)
            back = float(np.uint32((rounded & 0xFFFF) << 16).view(np.float32))
        else:
            cast = (np.float16 if param.dtype == CODE["float16"] else np.float32)(value)
            data, back = cast.tobytes(), float(cast)
    if math.isfinite(value) and math.isinf(back):
        raise _error(f"Argument {param.name} is {value!r}; that is too large for {CPP_NAME[param.dtype]}.", f"Declare {param.name} as float, or pass a smaller value.")
    return data


def _struct(param: Param, arg) -> bytes:
    if isinstance(arg, np.ndarray) and arg.flags.c_contiguous:
        data = arg.tobytes()
    else:
        data = _struct_bytes(arg)
    if data is None:
        raise _error(f"Argument {param.name} is {_article(arg)}; the kernel wants a struct of {param.nbytes} B.", "hp.tiling_struct(source, name) makes it from the C++ declaration.")
    if len(data) != param.nbytes:
        raise _error(f"Argument {param.name} has {len(data)} B; the kernel's struct has {param.nbytes} B.", "Make it with hp.tiling_struct from the text that the kernel includes.")
    return data


def _struct_bytes(arg) -> bytes | None:
    """Bytes of a tiling struct, a ctypes structure, a NumPy record or plain bytes; None for anything else."""
    if isinstance(arg, (bytes, bytearray, memoryview)):
        return bytes(arg)
    if isinstance(arg, np.void):
        return arg.tobytes()
    if isinstance(arg, (str, int, float, np.generic, list, tuple, dict)):
        return None
    if hasattr(type(arg), "__bytes__") or hasattr(type(arg), "__buffer__") or _is_ctypes(arg):
        return bytes(arg)
    return None


def _is_ctypes(arg) -> bool:
    import ctypes
    return isinstance(arg, (ctypes.Structure, ctypes.Union, ctypes.Array))


# ---- words
def _article(arg) -> str:
    if arg is None:
        return "None"
    name = type(arg).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _error(message: str, hint: str) -> KernelError:
    return argument_error("HOST_ARGUMENT", message, hint)


def argument_error(code: str, message: str, hint: str) -> KernelError:
    return KernelError("The launch was not started.", [Finding(code, "error", None, message, hint)])
