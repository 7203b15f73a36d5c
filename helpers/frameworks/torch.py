"""Kernels as operators of PyTorch: `custom` makes one of your own kernel, `op` gives those of kernels/.

    swiglu = custom({torch.float16: swiglu_half}, out=lambda gate, up: torch.empty_like(gate), name="swiglu",
                    blocks=48, tiling=lambda gate, up: tiling(gate.numel()), backward=swiglu_backward)
    y = swiglu(gate, up)            # in eager mode, with gradients, and under torch.compile

An operator is registered with torch.library: it has a schema, an implementation for the CPU (the twin), a fake kernel
(shapes and types only) and a formula for gradients. The kernel itself runs in a process of its own.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch.autograd import forward_ad

from ..arguments import POINTER
from ..errors import KernelError, counted, listed
from ..kernel import Kernel
from . import ops as catalogue, torch_outputs

NAMESPACE = "wb"
_TYPE = {float: "float", int: "int", bool: "bool"}       # of a number in a schema
_recordings: list[list] = []


@dataclass(frozen=True)
class Signature:
    """What an operator takes and returns: tensors, then numbers with defaults."""
    name: str                       # "wb::rms_norm"
    tensors: tuple[str, ...]
    numbers: dict
    results: int

    @property
    def schema(self) -> str:
        takes = [f"Tensor {t}" for t in self.tensors]
        takes += [f"{_TYPE[type(default)]} {n}={default!r}" for n, default in self.numbers.items()]
        gives = "Tensor" if self.results == 1 else f"({', '.join(['Tensor'] * self.results)})"
        return f"({', '.join(takes)}) -> {gives}"

    def split(self, args) -> tuple[list, dict]:
        count = len(self.tensors)
        given = args[count:]
        return list(args[:count]), {n: given[i] if i < len(given) else d for i, (n, d) in enumerate(self.numbers.items())}


def custom(kernels, out: Callable, *, name: str = "", blocks: int | Callable = 1, tiling: Callable | None = None, backward: Callable | None = None,
           fake: bool = True, partial: bool = False):
    """An operator of torch that launches a kernel.

    kernels: {torch dtype: Kernel}; the type of the first tensor chooses. The kernel's pointers are the inputs, then the
        outputs; what follows them is what `tiling` returns.
    out: makes the outputs from the inputs, without values. Its parameters are those of the operator: tensors, then
        numbers with defaults (eps=1e-6). It is the fake kernel as well, so the two cannot disagree.
    blocks, tiling: of the launch; functions of the same parameters as `out` (blocks may be a number).
    backward: (ctx, *gradients of the outputs) -> a gradient, or None, for each parameter. ctx.saved_tensors holds the
        inputs and then the outputs, ctx.numbers the numbers. Without it the operator cannot be trained through.
    fake: False leaves the fake kernel out. partial: the kernel need not write every element of its outputs.
    """
    if not isinstance(kernels, Mapping) or not kernels:
        raise TypeError("Say which element type each kernel is for: custom({torch.float16: my_kernel}, …)")
    try:
        parameters = inspect.signature(out).parameters.values()
    except (ValueError, TypeError):                    # of a function written in C
        parameters = None
    if parameters is None or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise TypeError("out has no parameter names that could name the operator's tensors. Write them: out=lambda x: torch.empty_like(x)")
    tensors = tuple(p.name for p in parameters if p.default is p.empty)
    numbers = {p.name: p.default for p in parameters if p.default is not p.empty}
    first: Kernel = next(iter(kernels.values()))
    pointers = [p.name for p in first.signature if p.kind == POINTER]
    if not 0 < len(tensors) < len(pointers):
        raise TypeError(f"out takes {len(tensors)} tensors ({', '.join(tensors)}); {first.name} has the pointers {', '.join(pointers)}: inputs, then outputs.")
    signature = Signature(_full(name or first.name), tensors, numbers, len(pointers) - len(tensors))

    def empty(inputs, given):
        _check_dtypes(signature, inputs, tuple(kernels))
        made = out(*inputs, **given)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        for one in made:
            if not isinstance(one, torch.Tensor):
                raise TypeError(f"out returns a {type(one).__name__} where {first.name} has an output: return tensors, such as torch.empty_like({tensors[0]}).")
        if len(made) != signature.results:
            raise TypeError(f"out returns {counted(len(made), 'tensor')}; after {', '.join(tensors)}, {first.name} has the outputs {', '.join(pointers[len(tensors):])}.")
        return made

    def launch(inputs, outputs, given):
        more = () if tiling is None else tiling(*inputs, **given)
        more = more if isinstance(more, tuple) else (more,)
        number = blocks(*inputs, **given) if callable(blocks) else blocks
        return kernels[inputs[0].dtype].launch(number, (*map(read_only, inputs), *outputs, *more))

    return _register(signature, empty, launch, backward, fake, partial)


@lru_cache(maxsize=None)
def op(name: str):
    """An operator of kernels/ for torch: op("rms_norm") registers torch.ops.wb.rms_norm, with gradients where there are any."""
    from .torch_gradients import BACKWARD
    entry = catalogue.find(name)
    signature = signature_of(entry)

    def empty(inputs, _):
        types = [str(t.dtype).removeprefix("torch.") for t in inputs]
        entry.check_dtypes(*types)
        shapes = entry.shapes(*(tuple(t.shape) for t in inputs))
        return tuple((torch.zeros if o in entry.zeroed else torch.empty)(s, dtype=getattr(torch, d), device=inputs[0].device)
                     for o, s, d in zip(entry.outputs, shapes, entry.out_dtypes(*types)))

    def launch(inputs, outputs, given):
        return entry.launch([read_only(t) for t in inputs], [to_numpy(t) for t in outputs], **given)

    made = _register(signature, empty, launch, BACKWARD.get(name), True, False)

    def fits(*shapes) -> bool:
        """Does the kernel take the batch as more rows? Not one that adds up over all rows."""
        try:
            return not entry.zeroed and all(s == shapes[0] for s in entry.shapes(*shapes))
        except ValueError:
            return False

    made.register_vmap(batched(made, signature, fits))
    return made


def signature_of(entry: catalogue.Op, namespace: str = NAMESPACE) -> Signature:
    return Signature(f"{namespace}::{entry.name}", entry.inputs, dict(entry.attrs), len(entry.outputs))


def batched(operator: Callable, signature: Signature, fits: Callable) -> Callable:
    """The rule for torch.vmap: one launch where the kernel takes the batch as more rows, else one for each element of it."""
    def rule(info, in_dims, *args):
        inputs, numbers = signature.split(args)
        dims = in_dims[:len(inputs)]
        moved = [t if d is None else t.movedim(d, 0) for t, d in zip(inputs, dims)]
        if dims[0] is not None and fits(*(tuple(t.shape) for t in moved)):
            found = operator(*moved, *numbers.values())
        else:
            one_by_one = [operator(*(t if d is None else t[i] for t, d in zip(moved, dims)), *numbers.values()) for i in range(info.batch_size)]
            found = torch.stack(one_by_one) if signature.results == 1 else tuple(map(torch.stack, zip(*one_by_one)))
        return found, 0 if signature.results == 1 else (0,) * signature.results
    return rule


@contextmanager
def record():
    """`with record() as runs:` collects the Run of every launch that operators of this module make."""
    runs: list = []
    _recordings.append(runs)
    try:
        yield runs
    finally:
        _recordings[:] = [r for r in _recordings if r is not runs]


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's own memory as an array; bfloat16 as ml_dtypes.bfloat16."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def read_only(tensor: torch.Tensor) -> np.ndarray:
    """The same for an input: a kernel that writes to it is stopped, as the schema promises that no input changes."""
    array = to_numpy(tensor)
    array.flags.writeable = False
    return array


@contextmanager
def inputs_are_kept(name: str):
    """Says what a write to a read-only array means here."""
    try:
        yield
    except KernelError as error:
        error.findings = [replace(f, message=f.message.replace("a read-only array here", f"an input of {name}"),
                                  hint="Write to an output; a kernel that works in place gets a copy of its input as the output first.")
                          if "a read-only array here" in f.message else f for f in error.findings]
        raise


def nodes(function: Callable, *args) -> list[str]:
    """What torch.compile makes of a function: the name of every operator in its graphs, in order."""
    found: list[str] = []

    def name(target) -> str:
        qualified = getattr(target, "_qualified_op_name", None) or getattr(getattr(target, "_schema", None), "name", None)
        return qualified or str(getattr(target, "__name__", target))

    def note(graph, _):
        found.extend(name(n.target) for n in graph.graph.nodes if n.op.startswith("call"))
        return graph.forward

    torch.compiler.reset()
    torch.compile(function, backend=note, fullgraph=True)(*args)
    return found


# ---- registration
def _register(signature: Signature, empty: Callable, launch: Callable, backward: Callable | None, fake: bool, partial: bool):
    def returned(outputs):
        return outputs[0] if signature.results == 1 else outputs

    def implementation(*args):
        if forward_ad._current_level >= 0:                           # torch itself would give tangents of zero
            raise NotImplementedError(f"{signature.name} has no derivative in forward mode (torch.func.jvp, jacfwd, dual tensors). Use backward mode: "
                                      "torch.autograd.grad, or torch.autograd.functional.jvp; results that do not depend on it can be computed before.")
        inputs, numbers = signature.split(args)
        inputs = [t.detach().contiguous() for t in inputs]          # a kernel sees memory as one run of bytes
        with torch_outputs.Fresh() as memory:
            outputs = empty(inputs, numbers)
        if any(t.numel() for t in outputs):
            with inputs_are_kept(signature.name):
                run = launch(inputs, outputs, numbers)
            if not partial:
                torch_outputs.check(signature.name, outputs, [memory.holds(t) for t in outputs], lambda others: launch(inputs, others, numbers))
            for recording in _recordings:
                recording.append(run)
        return returned(outputs)

    def shapes_only(*args):
        return returned(empty(*signature.split(args)))

    made = torch.library.custom_op(signature.name, implementation, mutates_args=(), device_types="cpu", schema=signature.schema)
    if fake:
        made.register_fake(shapes_only)
    if backward:
        gradients, save = autograd(signature, backward)
        made.register_autograd(gradients, setup_context=save)
    return made


def autograd(signature: Signature, backward: Callable) -> tuple[Callable, Callable]:
    """The two functions that torch.library.register_autograd wants: gradients, and what is kept for them."""
    def save(ctx, inputs, output):
        tensors, ctx.numbers = signature.split(inputs)
        ctx.save_for_backward(*tensors, *(output if isinstance(output, tuple) else (output,)))

    def gradients(ctx, *grads):
        found = backward(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        return found + (None,) * (len(signature.tensors) + len(signature.numbers) - len(found))

    return gradients, save


def _full(name: str) -> str:
    return name if "::" in name else f"{NAMESPACE}::{name}"


def _check_dtypes(signature: Signature, inputs, known: tuple) -> None:
    """Floating tensors share one of the types that there is a kernel for; masks and indices are the kernel's own affair."""
    first, names = inputs[0].dtype, listed(_name(d) for d in known)
    if first not in known:
        raise TypeError(f"{signature.tensors[0]} is {_name(first)}; {signature.name} exists for {names}. Cast it first.")
    for name, tensor in zip(signature.tensors, inputs):
        if tensor.dtype.is_floating_point and tensor.dtype != first:
            raise TypeError(f"{name} is {_name(tensor.dtype)} and {signature.tensors[0]} is {_name(first)}; {signature.name} reads all of them in one type. Cast it first.")


def _name(dtype) -> str:
    return str(dtype).removeprefix("torch.")
