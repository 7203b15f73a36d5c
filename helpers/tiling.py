"""Tiling structs that C++ and Python share: declared once in C++, filled in Python.

    AddTiling = hp.tiling_struct(Path("add_tiling.h"), "AddTiling")
    t = AddTiling(totalLength=8 * 2048, tileNum=8)
    kernel[8](x, y, z, t)            # by value, or as GM bytes where the kernel takes a GM_ADDR
"""
from __future__ import annotations

import difflib
import operator
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .build import layout as layouts
from .build import structs, twin
from .errors import WorkbookError

# Index = DType of the twin: the name in C++ and in NumPy.
_TYPES = {1: ("half", "float16"), 2: ("bfloat16_t", "bfloat16"), 3: ("float", "float32"), 4: ("double", "float64"),
          5: ("int8_t", "int8"), 6: ("uint8_t", "uint8"), 7: ("int16_t", "int16"), 8: ("uint16_t", "uint16"),
          9: ("int32_t", "int32"), 10: ("uint32_t", "uint32"), 11: ("int64_t", "int64"), 12: ("uint64_t", "uint64"), 14: ("bool", "bool")}


class TilingError(WorkbookError, ValueError):
    """A value that does not fit the struct."""


@dataclass(frozen=True)
class Field:
    """One field as C++ lays it out."""
    name: str
    type: str                # C++ type of one element
    offset: int
    nbytes: int
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.type} {self.name}{''.join(f'[{n}]' for n in self.shape)}"


class TilingStruct:
    """Base of the generated classes. Fields are attributes; a field that is not given has the initialiser of the struct, else 0."""

    fields: tuple[Field, ...] = ()
    dtype: np.dtype = np.dtype([])
    nbytes: int = 0
    # The same under names that no field can hide (a tiling struct may well have a field `dtype`).
    _layout: tuple[Field, ...] = ()
    _dtype: np.dtype = np.dtype([])
    _nested: dict = {}
    _default: bytes = b""

    def __init__(self, /, *unnamed, **values):
        if unnamed:
            raise TilingError(f"{type(self).__name__} takes its values by name: {type(self).__name__}({self._layout[0].name}=…).")
        object.__setattr__(self, "_data", np.frombuffer(bytearray(self._default or self._dtype.itemsize), self._dtype).reshape(()))
        for name, value in values.items():
            setattr(self, name, value)

    @classmethod
    def from_bytes(cls, data) -> "TilingStruct":
        data = bytes(data)
        if len(data) != cls._dtype.itemsize:
            raise TilingError(f"{cls.__name__} has {cls._dtype.itemsize} B, and {len(data)} B were given.")
        made = cls()
        made._data[()] = np.frombuffer(data, cls._dtype)[0]
        return made

    def __bytes__(self) -> bytes:
        return self._data.tobytes()

    def array(self) -> np.ndarray:
        """A copy as bytes in an array, for a kernel that takes its tiling as GM_ADDR."""
        return np.frombuffer(bytes(self), np.uint8).copy()

    def __setattr__(self, name: str, value) -> None:
        names = [f.name for f in self._layout]
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise TilingError(f"{type(self).__name__} has no field {name}. " + (f"Did you mean {near[0]}?" if near else f"It has {', '.join(names)}."))
        object.__setattr__(self, name, value)      # the field's property below

    @classmethod
    def _view(cls, data: np.ndarray) -> "TilingStruct":
        view = cls.__new__(cls)
        object.__setattr__(view, "_data", data)
        return view

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and bytes(self) == bytes(other)

    __hash__ = None

    def __repr__(self) -> str:
        def show(value):
            return str(value.tolist()) if isinstance(value, np.ndarray) else repr(value)
        return f"{type(self).__name__}({', '.join(f'{f.name}={show(getattr(self, f.name))}' for f in self._layout)})"


def _property(field: Field) -> property:
    def get(self):
        nested, value = self._nested.get(field.name), self._data[field.name]
        if nested is not None:
            return _views(nested, value) if field.shape else nested._view(value)
        return value if field.shape else value.item()

    def put(self, value):
        nested, where = self._nested.get(field.name), f"{type(self).__name__}.{field.name}"
        self._data[field.name] = _nested_value(where, field, nested, value) if nested else _value(where, field, self._dtype[field.name].base, value)

    return property(get, put, doc=str(field))


def tiling_struct(source, name: str) -> type[TilingStruct]:
    """A Python class for the C++ struct `name`, with names, types and offsets exactly as the C++ compiler lays it out.

    source: text or Path that declares it, as a plain struct or with BEGIN_TILING_DATA_DEF; a whole kernel file works too.
    """
    if isinstance(source, os.PathLike):
        path = Path(source)
        text, label, folder = path.read_text(encoding="utf-8-sig"), path.name, path.resolve().parent
    elif isinstance(source, str):
        text, label, folder = source, "<tiling>", Path.cwd()
        if "\n" not in source and source.endswith((".h", ".hpp", ".cpp", ".cc", ".asc")):
            raise ValueError(f"{source!r} is a file name: hp.tiling_struct(Path({source!r}), {name!r}) reads the file")
    else:
        raise TypeError(f"a tiling struct is declared by text or a Path, not {type(source).__name__}")
    if not isinstance(name, str):
        raise TypeError(f"the name of the struct is {name!r}: hp.tiling_struct(source, \"AddTiling\")")
    text = text.replace("\r\n", "\n")
    if _INCLUDES.search(text):                          # of files of its own, which may change
        return _struct(text, name, label, folder)
    return _known_struct(text, name, label, folder)


def _struct(text: str, name: str, label: str, folder: Path) -> type[TilingStruct]:
    here = {s.name: s for s in structs.find(text)}
    declared = {**builtin_structs(), **here}
    wanted = declared.get(name.split("::")[-1])
    if wanted is None:
        near = difflib.get_close_matches(name, declared, 1)
        raise TilingError(f"There is no struct {name} in this text. " + (f"Did you mean {near[0]}?" if near else "Structs here: " + (", ".join(here) or "none") + "."))
    if not wanted.fields and not wanted.bases:
        raise TilingError(f"{wanted.name} has no fields (a field ends with a semicolon).")
    found = layouts.layouts(text, wanted, declared, label, folder)
    return _class(wanted.name, found, {}, label)


_INCLUDES = re.compile(r'^\s*#\s*include\s*"(?!kernel_operator\.h")', re.MULTILINE)
_known_struct = lru_cache(maxsize=128)(_struct)         # a ladder asks with every launch


@lru_cache(maxsize=1)
def builtin_structs() -> dict[str, structs.StructText]:
    """The tiling structs of the high-level API (SoftMaxTiling …), by name: a tiling struct may contain them."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((twin.INCLUDE / "twin").glob("adv_*.h")))
    return {s.name: s for text in texts if "BEGIN_TILING_DATA_DEF(" in text for s in structs.find(text)}


@lru_cache(maxsize=None)
def builtin_struct(name: str) -> type[TilingStruct]:
    """The Python class of one of them."""
    known = builtin_structs()
    return _class(name, layouts.layouts("", known[name], known, "the high-level API"), {}, "the high-level API")


def _class(name: str, found: dict[str, layouts.Layout], made: dict, source: str) -> type[TilingStruct]:
    if name in made:
        return made[name]
    layout = found[name]
    nested = {f.name: _class(f.struct, found, made, source) for f in layout.fields if f.struct}
    fields = tuple(Field(f.name, f.struct or _TYPES[f.dtype][0], f.offset, f.nbytes, f.shape) for f in layout.fields)
    formats = [(nested[f.name]._dtype if f.struct else _numpy(_TYPES[f.dtype][1]), f.shape) if f.shape else
               (nested[f.name]._dtype if f.struct else _numpy(_TYPES[f.dtype][1])) for f in layout.fields]
    dtype = np.dtype({"names": [f.name for f in layout.fields], "formats": formats, "offsets": [f.offset for f in layout.fields],
                      "itemsize": layout.nbytes})
    lines = "\n".join(f"    {f.offset:>5}  {f}" for f in fields)
    public = {"fields": fields, "dtype": dtype, "nbytes": layout.nbytes, "_layout": fields, "_dtype": dtype, "_nested": nested, "_default": layout.default,
              "__doc__": f"{layout.nbytes} B, from {source}:\n{lines}", "__module__": __name__}
    made[name] = type(name, (TilingStruct,), {**public, **{f.name: _property(f) for f in fields}})
    return made[name]


def _numpy(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


# ---- values
def _value(where: str, field: Field, dtype: np.dtype, value):
    if field.shape:
        try:
            given = np.array(value, dtype=object)
        except ValueError:
            given = np.empty(0, object)
        if given.shape != field.shape:
            raise TilingError(f"{where} is {field}: it takes {' x '.join(map(str, field.shape))} values, not {_size(given)}.")
        out = np.empty(field.shape, dtype)
        for index in np.ndindex(*field.shape):
            out[index] = _scalar(f"{where}{''.join(f'[{i}]' for i in index)}", field.type, dtype, given[index])
        return out
    return _scalar(where, field.type, dtype, value)


def _size(given: np.ndarray) -> str:
    return " x ".join(map(str, given.shape)) if given.shape else "one value"


def _scalar(where: str, cpp: str, dtype: np.dtype, value):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if dtype.kind == "b":
        if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
            return bool(value)
        raise TilingError(f"{where} is bool: {value!r} is neither True nor False.")
    if dtype.kind in "iu":
        if isinstance(value, (bool, np.bool_)):
            value = int(value)
        try:
            whole = operator.index(value)
        except TypeError:
            near = f"; {round(value)} would do" if isinstance(value, (float, np.floating)) and np.isfinite(value) else ""
            raise TilingError(f"{where} is {cpp}, a whole number: {value!r} is not one{near}.") from None
        info = np.iinfo(dtype)
        if not info.min <= whole <= info.max:
            raise TilingError(f"{where} is {cpp}: {whole} is outside {info.min}..{info.max}.")
        return whole
    if isinstance(value, (str, bytes)) or value is None:
        raise TilingError(f"{where} is {cpp}: {value!r} is not a number.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TilingError(f"{where} is {cpp}: {value!r} is not a number.") from None
    except OverflowError:
        raise TilingError(f"{where} is {cpp}: {value!r} is too large for it.") from None
    with np.errstate(over="ignore"):
        stored = np.array(number).astype(dtype)
    if np.isfinite(number) and not np.isfinite(float(stored)):
        raise TilingError(f"{where} is {cpp}: {number!r} is too large for it.")
    return stored


def _nested_value(where: str, field: Field, nested: type[TilingStruct], value):
    if not field.shape:
        return _one(where, nested, value)._data
    given = list(value) if isinstance(value, (list, tuple)) else None
    if len(field.shape) != 1 or given is None or len(given) != field.shape[0]:
        raise TilingError(f"{where} is {field}: it takes a list of {' x '.join(map(str, field.shape))} {nested.__name__}.")
    return np.array([_one(f"{where}[{i}]", nested, v)._data[()] for i, v in enumerate(given)], nested._dtype)


def _one(where: str, nested: type[TilingStruct], value) -> TilingStruct:
    if isinstance(value, dict):
        value = nested(**value)
    if not isinstance(value, TilingStruct) or value._dtype != nested._dtype:
        raise TilingError(f"{where} is a {nested.__name__}: give one, or a dict of its fields, not {type(value).__name__}.")
    return value


def _views(nested: type[TilingStruct], data: np.ndarray):
    if data.ndim > 1:
        return [_views(nested, row) for row in data]
    return [nested._view(data[i:i + 1].reshape(())) for i in range(len(data))]
