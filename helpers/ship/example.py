"""One launch of a kernel, run on the twin, as the example that a project is written around."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from .. import arguments
from ..arguments import CODE, CPP_NAME, POINTER, SCALAR, STRUCT
from ..build.prototype import parameters
from ..build.scan import blank, closing
from ..errors import Finding, WorkbookError
from ..kernel import Kernel
from ..tiling import TilingStruct

INPUT, OUTPUT, WORKSPACE, NULL = "input", "output", "workspace", "null"
_NAMES = {code: name for name, code in CODE.items()}


@dataclass
class Value:
    """One argument of the example."""
    name: str
    type: str                    # of the parameter, in host code
    kind: int                    # POINTER, SCALAR, STRUCT
    role: str = ""               # of a pointer
    before: np.ndarray | None = None
    after: np.ndarray | None = None
    dtype: str = ""              # NumPy name of the elements
    nbytes: int = 0
    number: str = ""             # C++ literal of a scalar
    data: bytes = b""            # of a struct
    fields: list = field(default_factory=list)


@dataclass
class Example:
    kernel: Kernel
    blocks: int
    values: list[Value]
    tiling_key: int = 0

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def text(self) -> str:
        """The kernel's file without the other kernels in it: these projects want one entry per file."""
        text = self.kernel.source.rstrip("\n") + "\n"
        for entry in self.kernel.built.entries:
            if entry.name != self.name and "<" not in entry.name:
                start, _, _, end = entry_span(text, entry.name)
                text = text[:start].rstrip("\n") + "\n\n" + text[end + 1:].lstrip("\n")
        return text.rstrip("\n") + "\n"

    def of(self, *roles: str) -> list[Value]:
        return [v for v in self.values if v.kind == POINTER and v.role in roles]

    @property
    def struct(self) -> Value | None:
        return next((v for v in self.values if v.kind == STRUCT), None)


def entry_span(text: str, name: str) -> tuple[int, int, int, int]:
    """Positions of a kernel: its first word, its bracket ( and ), its closing brace."""
    code = list(blank(text))
    for m in re.finditer(r'extern\s+"C"', text):
        code[m.start():m.end()] = text[m.start():m.end()]          # blanking takes the C for a string
    code = "".join(code)
    match = re.search(rf"(?:\bextern\s+\"C\"\s+)?(?:\b__\w+__\b\s+)*(?:\b__\w+__\b\s+)?void\s+{re.escape(name)}\s*\(", code)
    if not match or "__global__" not in match[0]:
        raise WorkbookError(f"The head of {name} has a form that is not known here: write extern \"C\" __global__ __aicore__ void {name}(…).")
    end = closing(code, match.end() - 1)
    return match.start(), match.end() - 1, end, closing(code, code.index("{", end))


def run(kernel: Kernel, blocks: int, args, outputs=()) -> Example:
    """Runs the kernel on copies. What it changes is an output, or what `outputs` names."""
    kernel = getattr(kernel, "host", kernel)
    if "<" in kernel.name:
        raise WorkbookError(f"{kernel.name} is an instance of a template: give the project a kernel of its own that calls it.")
    unknown = set(outputs) - {p.name for p in kernel.signature}
    if unknown:
        raise WorkbookError(f"outputs: the kernel has no parameter {', '.join(sorted(unknown))}.")
    arguments.bind(kernel.signature, args)          # complains about what is wrong, before anything is copied
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    kernel.launch(blocks, copies)
    types = {p.name: p.type for p in parameters(kernel.source, kernel.entry)}
    values = [_value(p, a, b, types.get(p.name, ""), outputs) for p, a, b in zip(kernel.signature, args, copies)]
    if not any(v.role == OUTPUT for v in values):
        raise WorkbookError("The example changes no array: name the outputs, outputs=(\"z\",).")
    return Example(kernel, int(blocks), values)


def _value(param, before, after, type_: str, outputs) -> Value:
    v = Value(param.name, type_, param.kind)
    if param.kind == SCALAR:
        data = arguments._scalar(param, before)
        v.data, v.dtype = data, _NAMES[param.dtype]
        v.number = _literal(param, before)
    elif param.kind == STRUCT:
        v.data = arguments._struct(param, before)
        v.fields = list(getattr(type(before), "fields", ()))
        v.nbytes = len(v.data)
    elif isinstance(before, TilingStruct):         # a kernel that is written for an operator project reads it from GM
        v.kind, v.data, v.nbytes, v.fields = STRUCT, bytes(before), before.nbytes, list(type(before).fields)
    elif before is None:
        v.role = NULL
    elif isinstance(before, arguments.Workspace):
        v.role, v.nbytes = WORKSPACE, before.nbytes
    else:
        if not isinstance(before, np.ndarray):
            raise WorkbookError(f"Argument {param.name}: a project is made from NumPy arrays.")
        changed = not np.array_equal(before.view(np.uint8), after.view(np.uint8))
        v.role = OUTPUT if param.name in outputs or not outputs and changed else INPUT
        v.before, v.after, v.nbytes = before, after, before.nbytes
        code = param.dtype if param.dtype not in (CODE["uint8"], 0) and before.dtype.name == "uint16" else arguments._code(before.dtype)
        v.dtype = _NAMES[code]
    return v


def _literal(param, value) -> str:
    if CPP_NAME[param.dtype] in ("half", "bfloat16_t"):
        finding = Finding("UNSUPPORTED_TYPE", "error", None, f"Parameter {param.name} is a {CPP_NAME[param.dtype]} by value: host compilers have no such type.", "Declare it as float and convert in the kernel.")
        raise WorkbookError("The project was not written.", [finding])
    if CPP_NAME[param.dtype] in ("float", "double"):
        return f"{float(value)!r}" + ("f" if CPP_NAME[param.dtype] == "float" else "")
    if CPP_NAME[param.dtype] == "bool":
        return "true" if value else "false"
    return str(int(value))
