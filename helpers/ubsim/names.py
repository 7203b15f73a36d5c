"""Words of Ascend C as numbers of the twin, and element types as NumPy knows them."""
from __future__ import annotations

import math
import re
import struct
from dataclasses import replace

import numpy as np

from ..arguments import CODE, CPP_NAME

POSITIONS = ("GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC")          # TPosition
EVENTS = ("MTE2_MTE1 MTE1_MTE2 MTE1_M M_MTE1 MTE2_V V_MTE2 MTE3_V V_MTE3 M_V V_M V_V MTE3_MTE1 MTE1_MTE3 MTE1_V MTE2_M M_MTE2 V_MTE1 "
          "M_FIX FIX_M MTE3_MTE2 MTE2_MTE3 S_V V_S S_MTE2 MTE2_S S_MTE3 MTE3_S MTE2_FIX FIX_MTE2 FIX_S M_S FIX_MTE3 MTE1_FIX FIX_MTE1 "
          "FIX_FIX").split()                                                                               # HardEvent
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL")                                               # Pipe
ROUND_MODES = ("CAST_NONE", "CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_ROUND", "CAST_TRUNC", "CAST_ODD")  # RoundMode
COMPARE_MODES = ("LT", "GT", "EQ", "LE", "GE", "NE")                                                        # CMPMODE
CACHE_MODES = {"CACHE_MODE_DISABLE": 0, "CACHE_MODE_NORMAL": 1, "CACHE_MODE_LAST": 2, "CACHE_MODE_PERSISTENT": 4}
_CPP = {cpp: code for code, cpp in enumerate(CPP_NAME)}
_SIZES = dict(zip(CODE, (2, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1)))
SIZE = {code: _SIZES[name] for name, code in CODE.items()}
NUMPY = {code: name for name, code in CODE.items()}
BF16, F16, F32, F64, UINT8 = CODE["bfloat16"], CODE["float16"], CODE["float32"], CODE["float64"], CODE["uint8"]


def find(name, known, what: str) -> int:
    """Index of a name; prefixes as in C++ ("TPosition::VECIN", "PIPE_V") are accepted."""
    word = str(name).rsplit("::", 1)[-1]
    word = word.removeprefix("PIPE_") if known is PIPES else word
    if word not in known:
        raise ValueError(f"{what} {name!r} is not known. Use one of {', '.join(known)}.")
    return known[word] if isinstance(known, dict) else known.index(word)


# What messages spell as in C++, as it is written here.
_SPELLINGS = [(re.compile(pattern), text) for pattern, text in (
    (r"SetFlag/WaitFlag<HardEvent::(\w+)>", r'SetFlag("\1", id) and WaitFlag("\1", id)'),
    (r"(\w+)<HardEvent::(\w+)>\((-?\d+)\)", r'\1("\2", \3)'),
    (r"PipeBarrier<PIPE_(\w+)>\(\)", r'PipeBarrier("\1")'),
    (r"GetTPipePtr\(\)->(\w+)\(HardEvent::(\w+)\)", r'core.\1("\2")'),
    (r"GetTPipePtr\(\)->", "core."),
    (r"TQue<TPosition::(\w+), …>", r'core.TQue("\1", …)'),
    (r"(DataCopyPad\([^{}]*?), \{1, \d+, 0, 0, 0\}(, \{false, 0, 0, 0\})?\)", r"\1)"),
    (r"SetGlobalBuffer gave this length in elements; check", "the array has this length; check"),
    (r"; its blockLen is in bytes$", ""),
)]


def in_python(finding):
    """The finding with its calls spelled as the simulation spells them."""
    message, hint = finding.message, finding.hint
    for pattern, text in _SPELLINGS:
        message, hint = pattern.sub(text, message), pattern.sub(text, hint)
    return replace(finding, message=message, hint=hint)


_codes: dict = {}


def code_of(dtype) -> int:
    """DType of the twin, from np.float16, "float16", "half" or an array's dtype."""
    code = _codes.get(dtype) if isinstance(dtype, (type, str, np.dtype)) else None
    if code is None:
        name = dtype if isinstance(dtype, str) else ""
        code = CODE.get(name) or _CPP.get(name) or CODE.get(np.dtype(dtype).name)
        if code is None or not SIZE.get(code):
            raise ValueError(f"{dtype!r} is no element type of a tensor. Use one of {', '.join(n for n in CODE if n != 'int4')}.")
        _codes[dtype] = code
    return code


def numpy_dtype(code: int) -> np.dtype:
    if code == BF16:
        try:
            import ml_dtypes
            return np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            return np.dtype(np.uint16)       # its bits
    return np.dtype("int8" if NUMPY[code] == "int4" else NUMPY[code])


def scalar_bits(value, code: int) -> int:
    """The bits of a number in an element type, rounded once as C++ rounds `(half)value`."""
    if code == F32:
        try:
            return int.from_bytes(struct.pack("<f", value), "little")
        except OverflowError:
            return 0xFF800000 if value < 0 else 0x7F800000
    if code == F16:
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0xFC00 if value < 0 else 0x7C00
    if code == BF16:
        bits = scalar_bits(value, F32)
        return 0x7FC0 if math.isnan(value) else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if code == F64:
        return int.from_bytes(struct.pack("<d", value), "little")
    whole = int(value)
    if whole != value:
        raise ValueError(f"the scalar {value!r} is no {CPP_NAME[code]}. Use a whole number, or a tensor of half or float.")
    return whole & (1 << 8 * SIZE[code]) - 1


def number(raw: bytes, code: int):
    """A Python number from the bytes of one element."""
    if code == BF16:
        return struct.unpack("<f", b"\0\0" + raw)[0]
    return np.frombuffer(raw, numpy_dtype(code))[0].item()


def whole(value, what: str) -> int:
    """A whole number, also from NumPy; 8192.0 from a division is refused with the way to write it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{what} is {value!r}; it must be a whole number. Use // instead of /.")
    value = value.__index__()
    if not -1 << 62 < value < 1 << 62:
        raise ValueError(f"{what} is {value}; that is no number of elements or bytes. Check how it is computed.")
    return value
