"""Reads a GGUF file: numbers and texts about a model, and its weights as float32. Only what small models need.

The file is a header, then pairs of key and value, then the list of tensors, then their data. Quantised weights come in
blocks of 32 along a row: Q4_1 holds 4-bit numbers with a scale and an offset, Q8_0 8-bit numbers with a scale.
"""
from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_BLOCK = 32
_FORMATS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 3: ("Q4_1", _BLOCK, 20), 8: ("Q8_0", _BLOCK, 34)}      # elements and bytes of a block


@dataclass
class File:
    values: dict = field(default_factory=dict)
    tensors: dict = field(default_factory=dict)        # name -> (shape as NumPy has it, format, place)
    data: memoryview = memoryview(b"")

    def weight(self, name: str) -> np.ndarray:
        """A tensor as float32."""
        shape, kind, place = self.tensors[name]
        _, elements, size = _FORMATS[kind]
        count = int(np.prod(shape))
        raw = np.frombuffer(self.data, np.uint8, count // elements * size, place)
        if elements == 1:
            return raw.view(np.float32 if size == 4 else np.float16).astype(np.float32).reshape(shape)
        blocks = raw.reshape(-1, size)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        if kind == 8:
            return (blocks[:, 2:].view(np.int8) * scale).reshape(shape)
        offset = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
        packed = blocks[:, 4:]
        out = np.empty((len(blocks), _BLOCK), np.float32)
        np.multiply(packed & 15, scale, out=out[:, :16])           # the low halves are the first 16 numbers
        np.multiply(packed >> 4, scale, out=out[:, 16:])
        out += offset
        return out.reshape(shape)


def open_file(path: Path) -> File:
    """What the file says, with its weights still in it."""
    with open(path, "rb") as f:
        data = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
    if bytes(data[:4]) != b"GGUF":
        raise ValueError(f"{path.name} is not a GGUF file.")
    version, tensors, pairs = struct.unpack_from("<IQQ", data, 4)
    if version not in (2, 3):
        raise ValueError(f"{path.name} has version {version} of the format; 2 and 3 are known here.")
    found, at = File(data=data), 24
    for _ in range(pairs):
        key, at = _text(data, at)
        kind, = struct.unpack_from("<I", data, at)
        found.values[key], at = _value(data, at + 4, kind)
    infos = []
    for _ in range(tensors):
        name, at = _text(data, at)
        dims, = struct.unpack_from("<I", data, at)
        shape = struct.unpack_from(f"<{dims}Q", data, at + 4)
        kind, place = struct.unpack_from("<IQ", data, at + 4 + 8 * dims)
        at += 16 + 8 * dims
        infos.append((name, shape, kind, place))
    step = found.values.get("general.alignment", 32)
    start = -(-at // step) * step
    for name, shape, kind, place in infos:
        if kind not in _FORMATS:
            raise ValueError(f"{name} of {path.name} has the format {kind}; here are {', '.join(f'{k} ({v[0]})' for k, v in _FORMATS.items())}.")
        found.tensors[name] = tuple(reversed(shape)), kind, start + place
    return found


def _text(data: memoryview, at: int) -> tuple[str, int]:
    length, = struct.unpack_from("<Q", data, at)
    return str(data[at + 8:at + 8 + length], "utf-8"), at + 8 + length


def _value(data: memoryview, at: int, kind: int):
    if kind == _TEXT:
        return _text(data, at)
    if kind == _LIST:
        of, length = struct.unpack_from("<IQ", data, at)
        at += 12
        if of in _SCALARS:
            form = f"<{length}{_SCALARS[of]}"
            return list(struct.unpack_from(form, data, at)), at + struct.calcsize(form)
        out = []
        for _ in range(length):
            one, at = _value(data, at, of)
            out.append(one)
        return out, at
    form = "<" + _SCALARS[kind]
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
