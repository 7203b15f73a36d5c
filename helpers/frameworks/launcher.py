"""Python's side of the launcher: builds its library, writes the plans that it reads, and plans on request.

    folder = launcher.plans_for("rms_norm", planner)     # planner(key) -> ops.Plan
"""
from __future__ import annotations

import ctypes
import os
import re
import threading
import uuid
from functools import lru_cache
from pathlib import Path
from typing import Callable

import numpy as np

from .. import arguments, launch
from ..build import runtime, twin
from ..build.cache import Cache, default_root, key
from ..build.compiler import find
from ..errors import SetupError, WorkbookError
from ..kernel import number_of_blocks
from ..shared_memory import pages
from .op import Op, Plan

HERE = Path(__file__).parent
HEADER = HERE / "launcher.h"
SOURCES = ("launcher.cpp", "launcher_plan.cpp", "launcher_process.cpp", "launcher_words.cpp", "launcher_written.cpp")
LIBRARY = "libworkbook_launcher.so"
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")
TIMEOUT, MEMORY_MB = 30.0, 4096

Planner = Callable[[str], Plan]
_planners: dict[str, Planner] = {}
_families: dict[str, Op] = {}
_PLANNER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t)


def library() -> Path:
    """The launcher as a shared library; it is built when this machine does not have it yet."""
    compiler, cache = find(), Cache()
    texts = {p.name: p.read_bytes() for p in sorted([*HERE.glob("launcher*.cpp"), *HERE.glob("launcher*.h")])}
    full = key("launcher", *(part for item in texts.items() for part in item), "\0".join(FLAGS), compiler.identity, twin.header_digest(),
               (twin.RUNTIME / "runner.h").read_bytes(), (twin.RUNTIME / "launch.h").read_bytes())

    def make(scratch: Path) -> None:
        done = compiler.run([*FLAGS, "-shared", f"-I{twin.INCLUDE}", f"-I{twin.RUNTIME}", *(HERE / s for s in SOURCES), "-o", scratch / LIBRARY, "-pthread"])
        if done.returncode:
            raise SetupError(f"The launcher did not compile with {compiler}.\n{done.stdout[-2000:]}")
    return cache.build(full, "launcher", make, "kernels for frameworks") / LIBRARY


@lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library in this process, with the planner installed."""
    loaded = ctypes.CDLL(str(library()))
    loaded.workbook_last_error.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    loaded.workbook_totals.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_double)]
    loaded.workbook_forget.argtypes = [ctypes.c_char_p]
    loaded.workbook_set_planner.argtypes = [_PLANNER]
    loaded.workbook_set_planner(_answer)
    return loaded


def last_error() -> str:
    """What went wrong last in a kernel that a framework started; "" when nothing has."""
    text = ctypes.create_string_buffer(1 << 16)
    load().workbook_last_error(text, len(text))
    return text.value.decode(errors="replace")


def totals() -> tuple[int, float]:
    """Launches by frameworks in this process, and the sum of their estimated times in us."""
    count, us = ctypes.c_uint64(), ctypes.c_double()
    load().workbook_totals(ctypes.byref(count), ctypes.byref(us))
    return count.value, us.value


def plans_for(name: str, identity: str, planner: Planner) -> Path:
    """The folder of an operator's plans. identity: all that its plans depend on beside the tensors (attributes, kernel)."""
    loaded = load()
    folder = default_root() / "plans" / f"{re.sub('[^A-Za-z0-9_]', '_', name)}_{key('plans', name, identity, library().parent.name)[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    _planners[str(folder)] = planner
    loaded.workbook_forget(str(folder).encode())
    return folder


def folder_of(op: Op) -> Path:
    """The folder of an operator of the catalogue, for callers in C++: plans lie in it, or in a subfolder that says the
    attributes as "eps=%.9g". Both are planned on request."""
    folder = plans_for(op.name, "catalogue", op_planner(op))
    _families[str(folder)] = op
    return folder


def _planner_of(folder: Path) -> Planner | None:
    known = _planners.get(str(folder))
    if known is None and (op := _families.get(str(folder.parent))):
        numbers = dict(part.split("=", 1) for part in folder.name.split(","))
        known = _planners[str(folder)] = op_planner(op, **{n: type(op.attrs[n])(float(v)) for n, v in numbers.items()})
        folder.mkdir(exist_ok=True)
    return known


def parse(text: str) -> tuple[list[tuple[str, tuple[int, ...]]], int]:
    """"float32[4,8] float32[8] -> float32[4,8]" as (dtype, shape) of every tensor, and how many of them are inputs."""
    inputs, _, outputs = text.partition(" -> ")
    one = re.compile(r"(\w+)\[([\d,]*)\]")
    found = [[(m[1], tuple(int(n) for n in m[2].split(",") if n)) for m in one.finditer(part)] for part in (inputs, outputs)]
    return found[0] + found[1], len(found[0])


def placeholder(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array of that type and shape; its memory is never touched."""
    if dtype == "bfloat16":
        import ml_dtypes
        return np.empty(shape, ml_dtypes.bfloat16)
    return np.empty(shape, dtype)


def op_planner(op: Op, **attrs) -> Planner:
    """The planner of an operator of the catalogue: it also refuses outputs of another shape or type than the kernel writes."""
    def planner(text: str) -> Plan:
        tensors, inputs = parse(text)
        given, wanted = tensors[:inputs], tensors[inputs:]
        if len(given) != len(op.inputs) or len(wanted) != len(op.outputs):
            raise TypeError(f"{op.name} takes {len(op.inputs)} tensors and gives {len(op.outputs)}; it was called with {len(given)} and {len(wanted)}.")
        op.check_dtypes(*(dtype for dtype, _ in given))
        gives = zip(op.outputs, op.out_dtypes(*(dtype for dtype, _ in given)), op.shapes(*(shape for _, shape in given)), wanted)
        for name, dtype, shape, (said_dtype, said_shape) in gives:
            if (dtype, tuple(shape)) != (said_dtype, said_shape):
                raise ValueError(f"{op.name} writes {name} as {dtype} {list(shape)}; the framework was told {said_dtype} {list(said_shape)}. "
                                 "Correct infer_shape or infer_dtype.")
        arrays = [placeholder(dtype, shape) for dtype, shape in tensors]
        return op.plan(arrays[:inputs], arrays[inputs:], **attrs)
    return planner


def write(path: Path, plan: Plan, inputs: int) -> None:
    """The plan as the file that the launcher reads (launcher_plan.h), complete from its first moment on."""
    kernel, built = plan.kernel, plan.kernel.built
    if not built.path.is_file():
        raise WorkbookError(f"The compiled library of {kernel.name} is gone ({built.path}). A new process builds it again.")
    buffers, values, nulls = arguments.bind(kernel.signature, plan.args)
    at = {b.index: b for b in buffers}
    places = {id(a): i for i, a in enumerate(plan.arrays)}
    of = {}                                             # argument of the kernel -> tensor
    for index, arg in enumerate(plan.args):
        if isinstance(arg, np.ndarray):
            tensor = places.get(id(arg), places.get(id(arg.base)))
            if tensor is None:
                raise WorkbookError(f"Argument {kernel.signature[index].name} of {kernel.name} is an array of its own; an operator passes its tensors only.")
            of[tensor] = index
    if len(of) != len(plan.arrays):
        raise WorkbookError(f"{kernel.name} takes {len(of)} of the operator's {len(plan.arrays)} tensors.")
    head = ["workbook plan 1", f"kernel {kernel.name}", f"runner {built.runtime.runner}", f"library {built.path}", f"timeout {TIMEOUT:g}",
            f"first_line {built.first_line}"]
    for i, array in enumerate(plan.arrays):
        b = at[of[i]]
        way = "in" if i < inputs else "zero" if i in plan.zeroed else "out"
        head.append(f"tensor {way} {b.index} {b.dtype} {array.nbytes} {b.name}")
    job = launch.Job(
        runner=str(built.runtime.runner), kernel=str(built.path), entry=kernel.name, label=built.label, source=kernel.source,
        first_line=built.first_line, blocks=number_of_blocks(kernel, plan.blocks), chip=kernel.chip.lines, buffers=buffers, values=values, nulls=nulls,
        kernel_type=kernel.kernel_type, strict_sync=not kernel.auto_sync, timeout=TIMEOUT, memory_mb=MEMORY_MB)
    lines, blobs = launch.describe(job)
    for n, b in enumerate(b for b in buffers if b.workspace):
        lines += [f"map {-1000 - n} -1 0 {pages(b.nbytes)} 0 0", f"gm {b.index} {len(plan.arrays) + n} 0 {b.nbytes} {b.dtype} 1 {b.name}"]
    data = ("\n".join([*head, "request", *lines]) + "\nend\n").encode() + b"".join(blobs)
    scratch = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}")
    scratch.write_bytes(data)
    os.replace(scratch, path)


_busy = threading.Lock()


def _plan(path: bytes, wanted: bytes, error, room: int) -> int:
    """Called by the library, in any thread. An exception would be lost here: its words go back as text."""
    try:
        where = Path(path.decode())
        planner = _planner_of(where.parent)
        if planner is None:
            return 1                                    # an operator of another process: the library says what to do
        with _busy:
            plan = planner(wanted.decode())
            write(where, plan, parse(wanted.decode())[1])
        return 0
    except Exception as problem:
        text = str(problem).encode()[: room - 1] + b"\0"
        ctypes.memmove(error, text, len(text))
        return 1


_answer = _PLANNER(_plan)
