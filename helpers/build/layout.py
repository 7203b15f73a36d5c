"""Offsets, sizes and types of struct fields as the C++ compiler sees them.

The probe is compiled, never run: its object file holds a table of constants behind a mark, and the table is read from it.
"""
from __future__ import annotations

import re
import struct as packing
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, Finding, with_source
from . import diagnose, runtime, twin, unit
from .cache import Cache, key
from .compiler import find
from .scan import blank
from .structs import StructText

_MARK = (0x5457494E_4C41594F, 0x55545F54_41424C45)   # two words that no other data starts with
_SLOTS = 9                                           # numbers per field
_DEFAULT = 0x5457494E_44464C54                       # before the bytes of a struct that nobody has filled
_ROOM = 64                                           # bytes from that mark to the struct: any alignment fits
_PROBE = """
namespace twin_layout {
template <class T> constexpr long long kind() {
    using E = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_pointer<E>::value) return -1;
    else return static_cast<long long>(::twin::entry::scalar_dtype<E>());
}
template <class T, unsigned i> constexpr long long extent() { return static_cast<long long>(std::extent<T, i>::value); }
template <class T> constexpr long long element() { return static_cast<long long>(sizeof(std::remove_all_extents_t<T>)); }
}
#define TWIN_FIELD(S, f, nested) static_cast<long long>(__builtin_offsetof(S, f)), static_cast<long long>(sizeof(S::f)), \\
    ::twin_layout::kind<decltype(S::f)>(), ::twin_layout::element<decltype(S::f)>(), static_cast<long long>(std::rank<decltype(S::f)>::value), \\
    ::twin_layout::extent<decltype(S::f), 0>(), ::twin_layout::extent<decltype(S::f), 1>(), ::twin_layout::extent<decltype(S::f), 2>(), nested,
"""
_DEFAULTS = """
namespace twin_layout {
template <class S> struct Default { alignas(64) long long mark[8]; S value; };
}
"""


@dataclass(frozen=True)
class FieldLayout:
    name: str
    type: str               # as written in C++
    offset: int
    nbytes: int
    dtype: int              # DType of the twin; 0 = a struct
    element: int            # bytes of one element
    shape: tuple[int, ...]  # () for a single value
    struct: str = ""        # name of the nested struct


@dataclass(frozen=True)
class Layout:
    name: str
    nbytes: int
    fields: tuple[FieldLayout, ...]
    default: bytes = b""    # what S s{} holds, where a field has an initialiser


def layouts(text: str, wanted: StructText, known: dict[str, StructText], label: str, folder: Path | None = None) -> dict[str, Layout]:
    """Layout of a struct and of every struct inside it."""
    needed = _needed(text, wanted, known)
    numbers, defaults = _numbers(text, needed, label, folder)
    found, at = {}, 0
    for number, (struct, fields) in enumerate(needed.values()):
        size, trivial = numbers[at:at + 2]
        at += 2
        if not trivial:
            raise CompileError(f"{wanted.name} cannot be filled from Python.", [Finding("COMPILE", "error", struct.line + 1, f"{struct.name} cannot be copied to the device as bytes.",
                                                 "Use numbers, arrays and plain structs only: no virtual functions, no destructors.")])
        rows = []
        for name, kind, nested in fields:
            offset, nbytes, dtype, element, rank, a, b, c, _ = numbers[at:at + _SLOTS]
            at += _SLOTS
            if dtype < 0 or rank > 3:
                raise CompileError(f"{wanted.name} cannot be filled from Python.", [Finding("COMPILE", "error", struct.line + 1, f"{struct.name}.{name} ({kind}) is no tiling data.",
                                                     "Addresses of the host mean nothing on the device; arrays have at most 3 dimensions.")])
            if dtype == 0 and not nested:
                raise CompileError(f"{wanted.name} cannot be filled from Python.", [Finding("COMPILE", "error", struct.line + 1, f"{struct.name}.{name} is of type {kind}, and its declaration is not in this text.",
                                                     f"Put the declaration of {kind} into the same text or file.")])
            rows.append(FieldLayout(name, kind, offset, nbytes, dtype, element, (a, b, c)[:rank], nested if dtype == 0 else ""))
        found[struct.name] = Layout(struct.name, size, tuple(rows), bytes.fromhex(defaults[number]) if defaults else b"")
    return found


def _needed(text: str, wanted: StructText, known: dict[str, StructText]):
    """The struct and all that it contains, with the fields of its bases first."""
    order: dict[str, tuple] = {}

    def fields_of(struct: StructText):
        for base in struct.bases:
            if base.split("::")[-1] in known:
                yield from fields_of(known[base.split("::")[-1]])
        for f in struct.fields:
            if f.problem:
                raise CompileError(f"{wanted.name} cannot be filled from Python.", [with_source(
                    Finding("COMPILE", "error", f.line + 1, f"{f.problem}.", "Tiling data is numbers, arrays and plain structs."), text)])
            nested = f.type.split("::")[-1].strip()
            yield f.name, f.type, nested if nested in known else ""

    def add(struct: StructText) -> None:
        if struct.name in order:
            return
        fields = list(fields_of(struct))
        order[struct.name] = (struct, fields)
        for _, _, nested in fields:
            if nested:
                add(known[nested])

    add(wanted)
    return order


def _initialised(text: str, needed) -> bool:
    """Whether a struct gives a field a value of its own."""
    code = blank(text)
    starts = [0, *(m.end() for m in re.finditer("\n", code))]
    value = r"\w[ \t]*(?:\[[^\]]*\][ \t]*)*(?:=|\{[^{};]*\}\s*;)"
    return any(re.search(rf"{value}|\b{re.escape(s.name)}\s*\(", code[starts[s.line]:s.end]) for s, _ in needed.values() if s.line < len(starts))   # or by a constructor


def _numbers(text: str, needed, label: str, folder: Path | None) -> tuple[list[int], list[str]]:
    """The table of the probe, and for each struct the bytes it starts with (none where no field has an initialiser)."""
    if not _initialised(text, needed):
        return _probe(text, needed, label, folder, False)
    try:
        return _probe(text, needed, label, folder, True)
    except CompileError:
        _probe(text, needed, label, folder, False)           # what else is wrong with the text says so here
        struct = next(iter(needed.values()))[0]
        raise CompileError(f"{struct.name} cannot be filled from Python.", [with_source(Finding(
            "COMPILE", "error", struct.line + 1, f"An initialiser of {struct.name} is not known to the compiler: Python cannot start from the same value.",
            "Give fields constants only, or no value here and set it where the struct is filled."), text)]) from None


def _probe(text: str, needed, label: str, folder: Path | None, with_defaults: bool) -> tuple[list[int], list[str]]:
    rows = [f"{mark:#x}ll," for mark in _MARK]
    count, defaults = 0, []
    for number, (struct, fields) in enumerate(needed.values()):
        s = "::" + struct.qualified
        rows.append(f"static_cast<long long>(sizeof({s})), static_cast<long long>(std::is_trivially_copyable<{s}>::value),")
        count += 2 + _SLOTS * len(fields)
        rows += [f"TWIN_FIELD({s}, {name}, 0)" for name, _, _ in fields]
        if with_defaults:
            defaults.append(f'extern "C" __attribute__((visibility("default"), used)) constexpr ::twin_layout::Default<{s}> twin_layout_default_{number} = {{{{{_DEFAULT:#x}ll, {number}, sizeof({s})}}, {{}}}};')
    whole = "\n".join([f'#line 1 "{label}"', text, '#line 1 "<layout>"', '#include "twin/entry.h"', _PROBE,
                       'extern "C" __attribute__((visibility("default"), used)) const long long twin_layout_table[] = {', *rows, "0};", *([_DEFAULTS, *defaults] if defaults else []), ""])
    compiler, cache = find(), Cache()
    flags = (*runtime.kernel_flags(compiler), *runtime.precompiled(unit.arch_flags(2201), cache, compiler), *runtime.include_flags(),
             *unit.arch_flags(2201), "-Wno-invalid-offsetof", *(("-iquote", str(folder)) if folder else ()))
    search = (folder,) if folder else ()
    full = key("layout 2", whole, "\0".join(flags), compiler.identity, twin.header_digest(), twin.digest(twin.included(whole.encode(), Path("/nonexistent"), search)))

    def make(scratch: Path) -> dict:
        source, output = scratch / "layout.cpp", scratch / "layout.o"
        source.write_text(whole)
        done = compiler.run([*flags, *diagnose.flags(compiler), "-c", source, "-o", output], timeout=120)
        if done.returncode:
            errors, _ = diagnose.errors(done.stdout, label, text, 1, {})
            raise CompileError("The tiling struct was not understood by the compiler.", errors, done.stdout)
        data = output.read_bytes()
        at = data.find(packing.pack("=qq", *_MARK))
        if at < 0:
            raise CompileError("The layout of the tiling struct was not found in the compiler's output.", log=done.stdout)
        starts = []
        for number in range(len(defaults)):
            where = data.find(packing.pack("=qq", _DEFAULT, number))
            size = packing.unpack_from("=q", data, where + 16)[0]
            starts.append(data[where + _ROOM:where + _ROOM + size].hex())
        return {"numbers": list(packing.unpack_from(f"={count}q", data, at + 16)), "defaults": starts}

    info = cache.build(full, "layout", make, ", ".join(needed)).meta["info"]
    return info["numbers"], info["defaults"]
