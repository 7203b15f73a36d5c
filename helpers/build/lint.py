"""What a host compiler accepts but the device compiler does not: found in the text before anything is built."""
from __future__ import annotations

import os
import re

from ..errors import Finding, with_source
from . import shared_variables
from .scan import active, blank, line_of
from .source import KNOWN

_LIBM = ("sqrtf expf logf log2f log10f powf sinf cosf tanf asinf acosf atanf sinhf coshf tanhf fabsf floorf ceilf roundf truncf "
         "fmaxf fminf fmodf erff").split()
_TENSOR_FORM = {"sqrtf": "Sqrt", "expf": "Exp", "logf": "Ln", "sinf": "Sin", "cosf": "Cos", "tanhf": "Tanh", "fabsf": "Abs",
                "fmaxf": "Max", "fminf": "Min", "erff": "Erf", "floorf": "Floor", "ceilf": "Ceil"}
_HEAP = re.compile(r"\bstd\s*::\s*(vector|string|map|unordered_map|set|list|deque|shared_ptr|unique_ptr|function)\b"
                   r"|\b(malloc|calloc|realloc|free)\s*\("
                   r"|\bnew\s+[A-Za-z_]")
_STREAM = re.compile(r"\bstd\s*::\s*(cout|cerr|clog)\b")
_UNSIGNED = re.compile(r"\b(?:const\s+)?(?:uint(?:8|16|32|64)_t|unsigned(?:\s+int)?|size_t)\s+(\w+)\s*[=;,){]")
_STACK_ARRAY = re.compile(r"^[ \t]*(?:(?:const|volatile)\s+)?(half|float|double|u?int(?:8|16|32|64)_t|bfloat16_t|int|char)\s+(\w+)\s*\[\s*(\d+)\s*\]\s*[;={]", re.M)
_SIZE = {"half": 2, "bfloat16_t": 2, "float": 4, "double": 8, "int": 4, "char": 1}
_STACK_LIMIT = 8192


def check(text: str, first_line: int = 1, known: dict | None = None) -> list[Finding]:
    """Findings of the text, errors first."""
    code = active(blank(text), {**KNOWN, **(known or {})})
    found: list[Finding] = []

    def add(position: int, code_name: str, severity: str, message: str, hint: str) -> None:
        line = line_of(code, position)
        column = position - (code.rfind("\n", 0, position) + 1) + 1
        found.append(with_source(Finding(code_name, severity, first_line + line, message, hint, column=column), text, first_line))

    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*["<](/[^">\n]+)[">]', text, re.M):
        if os.path.exists(match[1]) and not os.path.isfile(match[1]):
            add(match.start(1), "COMPILE", "error", f"{match[1]} is no text that can be included: it is a folder or a device.", "Include a header file.")
    for match in re.finditer(rf"(?<![\w.>:])(?:std\s*::\s*)?({'|'.join(_LIBM)})\s*\(", code):
        name = match[1]
        other = _TENSOR_FORM.get(name)
        add(match.start(1), "UNSUPPORTED_API", "error", f"{name} is not available in AI core code: the scalar unit has no C maths library.",
            (f"Put the values in a LocalTensor and use {other}" if other else "Compute it on the host and pass the result as a float")
            + ("; for one scalar the builtin sqrt works." if name == "sqrtf" else "."))
    for match in _HEAP.finditer(code):
        what = (match[1] and f"std::{match[1]}") or match[2] or "new"
        add(match.start(), "UNSUPPORTED_API", "error", f"{what} needs a heap, and AI cores have none.",
            "Take local memory from TPipe: a TQue buffer, or a TBuf for scratch.")
    for match in _STREAM.finditer(code):
        add(match.start(), "UNSUPPORTED_API", "error", f"std::{match[1]} is not available in AI core code.",
            "Use printf for numbers and DumpTensor for a tensor; a launch returns their text as run.stdout.")
    unsigned = set(_UNSIGNED.findall(code))
    for match in re.finditer(r"(?:\(\s*(?:float|half)\s*\)|static_cast\s*<\s*(?:float|half)\s*>\s*\()\s*(?:this\s*->\s*)?(\w+)\s*[;,)/*+-]", code):
        if match[1] in unsigned:
            add(match.start(1), "UNSUPPORTED_TYPE", "warning",
                f"{match[1]} is unsigned: the device compiler refuses to convert between unsigned integers and float.",
                f"Go through a signed integer, static_cast<float>(static_cast<int32_t>({match[1]})), or pass the value as float.")
    for match in _STACK_ARRAY.finditer(code):
        size = int(match[3]) * _SIZE.get(match[1], 0) if match[1] in _SIZE else int(match[3]) * int(re.search(r"\d+", match[1])[0]) // 8
        if size > _STACK_LIMIT and _in_function(code, match.start()):
            add(match.start(2), "OUT_OF_MEMORY", "warning", f"{match[2]} puts {size} B on the stack of an AI core, which is small.",
                "Use a TBuf: local memory is managed, the stack is not.")
    for position, name, where in shared_variables.find(code):
        add(position, "UNSUPPORTED_API", "warning", f"{name} is a variable {where} and changes: here all blocks share it, on a device every core has its own copy or none.",
            "Make it a member of the kernel class or a local variable; say constexpr when it never changes.")
    return sorted(found, key=lambda f: (f.severity != "error", f.line))


def _in_function(code: str, at: int) -> bool:
    head = code[:at]
    return head.count("{") - head.count("}") > 0 and not re.search(r"\b(?:struct|class)\s+\w+[^{};]*\{[^{}]*$", head)
