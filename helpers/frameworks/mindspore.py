"""Kernels as operators of MindSpore: `custom` makes one of your own kernel, `op` gives those of kernels/.

    rms_norm = mindspore.op("rms_norm", eps=1e-6)          # with its gradient
    mine = mindspore.custom(kernel, infer_shape=lambda x, y: x, infer_dtype=lambda x, y: x, blocks=8, tiling=lambda x, y: tiling(x))

Both are real ops.Custom operators: they work in PyNative and graph mode, under ms.jit, in a Cell, and in a MINDIR file.
On the CPU their library hands the tensors to the launcher, which runs the kernel on the twin in a process of its own.
On Ascend the same call names the operator of an installed package (see mindspore_ascend.py).
"""
from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from typing import Callable

import numpy as np

from ..build.cache import Cache, key
from ..build.compiler import find
from ..errors import Finding, KernelError, SetupError, counted, listed
from ..kernel import Kernel
from . import launcher, ops as catalogue
from .op import Plan


def _guard() -> None:
    if int(np.__version__.split(".")[0]) >= 2:
        raise SetupError(f"MindSpore's library was built for NumPy 1 and this is NumPy {np.__version__}: its first operator would end with "
                         "a SystemError. Install the right one and restart: pip install 'numpy<2'")


_guard()
os.environ.setdefault("GLOG_v", "4")        # messages of its machinery about files that cells do not have; errors stay exceptions
try:
    import mindspore as ms
except ModuleNotFoundError:
    raise SetupError("MindSpore is not installed: pip install mindspore (Python 3.10 to 3.12, Linux, about 800 MB).") from None

# Without this, operators of PyNative run behind Python's back: errors show up lines later, and on the CPU the hand-over
# between threads takes longer than a small operator.
ms.set_context(pynative_synchronize=True)

from . import mindspore_infer as infer      # noqa: E402, as it needs MindSpore too

_one_at_a_time = threading.RLock()
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra")
_TEXT = """\
// {name} for ops.Custom of MindSpore. {inputs} inputs, then {outputs} outputs; 0 = done.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include "launcher.h"

static int fail(const char* words) {{
#ifdef __GLIBCXX__
    throw std::runtime_error(words);         // MindSpore shows these words
#else
    fprintf(stderr, "%s\\n", words);          // another C++ library than MindSpore's: no exception may cross
    return 1;
#endif
}}

extern "C" int {name}(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void*, void*) {{
    constexpr int inputs = {inputs}, outputs = {outputs};
    if (nparam != inputs + outputs) return fail(("{name} takes {inputs} inputs and gives {outputs}: " + std::to_string(nparam) + " tensors were passed.").c_str());
    workbook_tensor tensors[inputs + outputs];
    for (int i = 0; i < nparam; ++i) tensors[i] = {{params[i], dtypes[i], ndims[i], shapes[i]}};
    static thread_local char words[16384];
    if (workbook_launch("{plans}", inputs, outputs, tensors, words, sizeof words) == 0) return 0;
    return fail(words);
}}
"""


class Custom(ms.ops.Custom):
    """ops.Custom, one call at a time in PyNative: MindSpore keeps the addresses of the tensors of a call in one place
    for all threads, and two calls at once get each other's results."""

    def __call__(self, *args):
        for number, arg in enumerate(args):
            if isinstance(arg, np.ndarray):            # MindSpore would say that its shape is []
                operator = self.func.rpartition(":")[2]
                raise TypeError(f"Input {number} of {operator} is no tensor but an array of NumPy. Make one: mindspore.Tensor(…)")
        with _one_at_a_time:
            return super().__call__(*args)


def custom(kernel, infer_shape: Callable, infer_dtype: Callable, bprop: Callable | None = None, *, name: str = "", blocks: int | Callable = 1,
           tiling: Callable | None = None, zeroed: tuple[int, ...] = (), target: str = "auto"):
    """An ops.Custom that launches a kernel.

    kernel: a Kernel, or {dtype name: Kernel}, of which the type of the first input chooses. Its pointers are the inputs,
        then the outputs; what follows them is what `tiling` returns.
    infer_shape: from the shapes of the inputs (lists) to the shape of the output, or a tuple of shapes.
    infer_dtype: from their types to the type of the output, or a tuple of types.
    bprop: bprop(*inputs, out, dout) -> gradients of the inputs. Without it nothing can be trained through the operator.
    blocks, tiling: of the launch; functions of the inputs' shapes (blocks may be a number). tiling returns one value
        (a tiling struct, a number, hp.workspace) or a tuple of them.
    zeroed: the numbers of outputs that start as zeros, for a kernel that adds to them or fills only a part. Of all others
        the launch on the CPU checks that every byte was written.
    target: "CPU", "Ascend", or "auto": the device that MindSpore uses.
    """
    kernels = {"": kernel} if isinstance(kernel, Kernel) else {str(k): v for k, v in dict(kernel).items()}
    first = next(iter(kernels.values()))
    inputs, outputs = infer.inputs(infer_shape), infer.outputs(infer_shape)
    name = _identifier(name or first.name)
    if any(not isinstance(z, int) or not 0 <= z < outputs for z in zeroed):
        raise ValueError(f"zeroed={zeroed!r} holds numbers of outputs: {name} has {counted(outputs, 'output')}, counted from 0.")
    _check_parameters(first, inputs + outputs, tiling)
    if _target(target) == "Ascend":
        from .mindspore_ascend import function
        func, reg_info = function(name if name[0].isupper() else _camel(name), [p.name for p in first.signature[:inputs]], [p.name for p in first.signature[inputs:inputs + outputs]], list(kernels))
        return ms.ops.Custom(func, infer_shape, infer_dtype, "aot", bprop, reg_info)

    def planner(text: str) -> Plan:
        tensors, _ = launcher.parse(text)
        shapes = [list(shape) for _, shape in tensors[:inputs]]
        chosen = kernels.get("") or kernels.get(tensors[0][0])
        if chosen is None:
            raise TypeError(f"The first input is {tensors[0][0]}; {name} exists for {listed(kernels)}. Cast it first.")
        arrays = tuple(launcher.placeholder(*t) for t in tensors)
        more = () if tiling is None else tiling(*shapes)
        more = more if type(more) is tuple else (more,)
        return Plan(chosen, blocks(*shapes) if callable(blocks) else blocks, (*arrays, *more), arrays, tuple(inputs + z for z in zeroed))

    # MindSpore remembers the result of infer_shape by the path of the library: another function, another path.
    identity = "\0".join([*(str(k.built.path) for k in kernels.values()), *map(_code, (tiling, blocks, infer_shape, infer_dtype)), repr(tuple(zeroed))])
    return Custom(library(name, inputs, outputs, identity, planner), infer.checked(infer_shape), infer.checked_dtype(infer_dtype), "aot", bprop)


def op(name: str, *, target: str = "auto", gradient: bool = True, **attrs):
    """The operator of kernels/ of that name, for every type that the kernel has, with its gradient."""
    from . import mindspore_gradients
    found = catalogue.find(name)
    values = found.values(attrs)
    shape, dtype = infer.functions(found)
    bprop = mindspore_gradients.of(found, values, lambda other, **a: op(other, target=target, gradient=False, **a)) if gradient else None
    if _target(target) == "Ascend":
        from .mindspore_ascend import function
        func, reg_info = function(_camel(name) + "Custom", list(found.inputs), list(found.outputs), list(found.dtypes), found.fixed, values)
        return ms.ops.Custom(func, shape, dtype, "aot", bprop, reg_info)
    return Custom(library(name, len(found.inputs), len(found.outputs), repr(sorted(values.items())), launcher.op_planner(found, **values)),
                  shape, dtype, "aot", bprop)


def text(name: str, inputs: int, outputs: int, plans) -> str:
    """The C++ of such a library."""
    return _TEXT.format(name=name, inputs=inputs, outputs=outputs, plans=plans)


def library(name: str, inputs: int, outputs: int, identity: str, planner: launcher.Planner) -> str:
    """"path.so:name" of a library whose function launches what the planner plans. New content has a new path:
    MindSpore keeps what it has loaded from an old one."""
    plans = launcher.plans_for(name, identity, planner)
    source, compiler, base = text(name, inputs, outputs, plans), find(), launcher.library()

    def make(scratch):
        (scratch / f"{name}.cc").write_text(source)
        done = compiler.run([*FLAGS, f"-I{launcher.HERE}", scratch / f"{name}.cc", base, "-o", scratch / f"{name}.so"])
        if done.returncode:
            raise SetupError(f"The library of {name} did not compile with {compiler}.\n{done.stdout[-2000:]}")
    entry = Cache().build(key("mindspore", source, str(base), "\0".join(FLAGS), compiler.identity), "mindspore", make, name)
    return f"{entry / (name + '.so')}:{name}"


# Of a graph that has failed; the second in a function under ms.jit.
_FAILED_BEFORE = ("An error occurred in the previous step of this model execution", "Invalid output number for flatten stub output nodes")


@contextmanager
def kernel_errors():
    """Turns MindSpore's report about a kernel that was stopped into the KernelError it stands for.

        with mindspore.kernel_errors():
            y = net(x).asnumpy()        # operators run behind Python's back: fetch the result here
    """
    try:
        yield
    except RuntimeError as error:
        gone = re.search(r"couldn't find the AOT binary file: (\S+)", str(error))
        if gone:
            raise KernelError("The operator cannot run.", [Finding("HOST_ARGUMENT", "error", None, f"Its library has been deleted: {gone[1]}",
                "Make the operator again; the library is built anew.")]) from None
        if any(words in str(error) for words in _FAILED_BEFORE):
            raise KernelError("The graph cannot run.", [Finding("HOST_ARGUMENT", "error", None, "An operator of this compiled graph was stopped in an "
                "earlier call, and MindSpore does not run such a graph again.", "Remove the cause, then make the network, or the function under ms.jit, "
                "anew. PyNative has no such memory.")]) from as_error(launcher.last_error())
        said = re.search(r"Error message is (.*?)\s*\n-{20,}", str(error), re.S)
        if not said:
            raise
        raise as_error(said[1]) from None


def as_error(words: str) -> KernelError:
    """The launcher's words as an exception with findings."""
    head, *rest = words.splitlines()
    findings: list[Finding] = []
    for line in rest:
        start = re.match(r"([A-Z][A-Z_]+)(?:  (?:line (\d+))?(?:, )?(?:block (\d+))?)?$", line)
        if start:
            findings.append(Finding(start[1], "error", int(start[2]) if start[2] else None, "", block=int(start[3]) if start[3] else None))
        elif findings:
            findings[-1] = _more(findings[-1], line.strip())
    if not findings:
        return KernelError("The launch was not started.", [Finding("HOST_ARGUMENT", "error", None, words)])
    return KernelError(head, findings)


def _more(f: Finding, text: str) -> Finding:
    from dataclasses import replace
    if text.startswith("Fix: "):
        return replace(f, hint=text[5:])
    quoted = re.match(r"\d+ \| (.*)", text)
    return replace(f, source=quoted[1]) if quoted else replace(f, message=f"{f.message}\n{text}".strip())


# ---- small things
def _target(target: str) -> str:
    if target not in ("auto", "CPU", "Ascend"):
        raise ValueError(f'target={target!r} is not one of "auto", "CPU", "Ascend".')
    return ("Ascend" if ms.get_context("device_target") == "Ascend" else "CPU") if target == "auto" else target


def _check_parameters(kernel: Kernel, tensors: int, tiling) -> None:
    from ..arguments import POINTER
    pointers = [p for p in kernel.signature[:tensors] if p.kind == POINTER]
    if len(pointers) < tensors:
        raise KernelError("The operator was not made.", [Finding("HOST_ARGUMENT", "error", None,
            f"infer_shape speaks of {tensors} tensors; {kernel!r} takes {len(pointers)} pointers first.", "The inputs come first, then the outputs, then what tiling returns.")])
    if len(kernel.signature) > tensors and tiling is None:
        names = ", ".join(map(str, kernel.signature[tensors:]))
        raise KernelError("The operator was not made.", [Finding("HOST_ARGUMENT", "error", None,
            f"After its {tensors} tensors {kernel.name} takes {names}, and no tiling was given.", "tiling=lambda *shapes: …  returns it for the shapes of the inputs.")])


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _code(function) -> str:
    """Tells two functions apart within this process and, for plain ones, between processes."""
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(function)
    held = [repr(c.cell_contents) for c in function.__closure__ or ()]
    return "\0".join([code.co_code.hex(), repr(code.co_consts), repr(code.co_names), repr(function.__defaults__), *held])
