"""Kernels that ask for the kind of their core by macro: which half the text is, and both halves when it has two."""
from __future__ import annotations

import re
from dataclasses import replace

from ..errors import CompileError, Finding
from . import source
from .scan import blank
from .unit import headline

_SIDE_MACROS = {"vector": ("__DAV_C220_VEC__", "__DAV_VEC__"), "cube": ("__DAV_C220_CUBE__", "__DAV_CUBE__")}
_BY_MACRO = re.compile(r"\b__DAV_(C220_)?(CUBE|VEC)__\b")
_CONSTANT_TYPE = re.compile(r"\bconstexpr\b[^;{]*\bg_coreType\b")   # if constexpr (g_coreType == AIC)


def core_side(found: source.Scan, text: str) -> str:
    """Macros of a text that asks for the core kind by macro and has kernels of one kind only."""
    if not _asks_for_kind(blank(text)):
        return ""
    kinds = {"vector" if e.kernel_type in (0, 2) else "cube" if e.kernel_type in (1, 3) else "both" for e in found.entries}
    if len(kinds) == 1 and kinds <= {"vector", "cube"}:
        return side(kinds.pop(), text)
    finding = Finding("UNSUPPORTED_API", "error", None, "This kernel tells cube from vector code by __DAV_C220_CUBE__ / __DAV_C220_VEC__.",
                      "Use if ASCEND_IS_AIC { … } and if ASCEND_IS_AIV { … }: it means the same and runs here too.")
    raise CompileError(headline([finding]), [finding])


def _asks_for_kind(code: str) -> bool:
    return bool(_BY_MACRO.search(code) or _CONSTANT_TYPE.search(code))


def side(kind: str, text: str, half: bool = False) -> str:
    lines = [f"#define {name} 1" for name in _SIDE_MACROS[kind]]
    if half and kind == "cube":
        lines.append("#define TWIN_ENTRIES twin_cube_entries")
    if _CONSTANT_TYPE.search(blank(text)):
        lines += [f"constexpr int twinCoreKind = {1 if kind == 'cube' else 2};", "namespace AscendC { using ::twinCoreKind; }", "#define g_coreType twinCoreKind"]
    return "\n".join(lines) + "\n"


def scan_sides(text: str, wanted, macros: dict, arch: int) -> tuple[source.Scan, source.Scan | None]:
    """The scan of a text and, when it asks for the core kind at compile time and both kinds run it, that of its cube half.

    The device compiles every file once per core kind; here one compilation serves both unless the text can tell.
    """
    code = blank(text)
    if arch != 2201 or not _asks_for_kind(code):
        return source.scan(text, wanted, macros, arch), None
    halves = {kind: source.scan(text, wanted, {**macros, **{m: 1 for m in names}}, arch) for kind, names in _SIDE_MACROS.items()}
    cube_types = {e.name: e for e in halves["cube"].entries}
    entries = tuple(_joined(e, cube_types.get(e.name, e), code) for e in halves["vector"].entries)
    vector = replace(halves["vector"], entries=entries)
    kinds = {e.kernel_type for e in entries}
    if kinds <= {0, 2} or kinds <= {1, 3}:
        return vector if kinds <= {0, 2} else replace(halves["cube"], entries=entries), None
    return vector, replace(halves["cube"], entries=entries)


def _joined(vector: source.EntryPoint, cube: source.EntryPoint, code: str) -> source.EntryPoint:
    """The kernel type of an entry when each half shows only its own instructions."""
    if vector.kernel_type == cube.kernel_type or cube.kernel_type not in (1, 5):
        return vector
    both = cube.kernel_type == 5 or re.search(r"\b(VECIN|VECOUT|VECCALC)\b", code)
    return replace(vector, kernel_type=5 if both else 1, type_from="cube and vector code" if both else "cube code")
