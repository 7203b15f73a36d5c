"""One kernel as an operator: its tensors, shapes and types, and how its ladder launches it."""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Callable

import numpy as np

from ..course import load
from ..errors import counted, listed
from ..kernel import Kernel

FLOATS = ("float32", "float16", "bfloat16")
Shapes = tuple[tuple[int, ...], ...]
_KINDS = {      # of an attribute, by its default: its name, and what may be given
    bool: ("truth value", lambda v: isinstance(v, (bool, np.bool_)) or isinstance(v, Integral) and v in (0, 1)),
    int: ("whole number", lambda v: isinstance(v, Integral) and not isinstance(v, bool)),
    float: ("number", lambda v: isinstance(v, Real) and not isinstance(v, bool)),
}


@dataclass(frozen=True)
class Plan:
    """One launch: what a ladder passes to its kernel."""
    kernel: Kernel
    blocks: int
    args: tuple                    # in the order of the kernel's parameters; tensors are the arrays of the call
    arrays: tuple[np.ndarray, ...]  # inputs, then outputs
    zeroed: tuple[int, ...] = ()   # of the arrays: those that the kernel adds to


@dataclass(frozen=True)
class Op:
    """One operator of the catalogue."""
    name: str
    title: str
    folder: str                                     # kernels/<folder>/ladder.py
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: Callable[..., Shapes]                   # shapes of the inputs -> shapes of the outputs; ValueError when they do not fit
    call: Callable[..., Any]                        # (ladder, kernel, inputs, outputs, **attrs) -> what the ladder's launch returns
    version: Callable[..., Any]                     # (ladder, inputs) -> the version of the ladder for these shapes
    reference: Callable[..., Any]                   # arrays in float64 -> outputs in float64
    dtypes: tuple[str, ...] = FLOATS
    attrs: dict[str, Any] = field(default_factory=dict)         # with their defaults
    fixed: dict[str, str] = field(default_factory=dict)         # tensors whose dtype does not follow the first input
    zeroed: tuple[str, ...] = ()                    # outputs that the kernel adds to

    def __call__(self, *arrays: np.ndarray, **attrs) -> tuple[np.ndarray, ...]:
        """The outputs for these inputs, computed on the twin."""
        self.check(arrays)
        outputs = self.empty(*arrays)
        if any(o.size for o in outputs):
            self.launch(arrays, outputs, **attrs)
        return outputs

    def launch(self, inputs, outputs, **given):
        """Runs the kernel and returns its Run; given: attributes of the operator, and checks=, timeout=, … of a launch."""
        options = {k: given.pop(k) for k in ("checks", "schedule", "seed", "timeout", "memory_mb") if k in given}
        plan = self.plan(inputs, outputs, **given)
        return plan.kernel.launch(plan.blocks, plan.args, **options)

    def plan(self, inputs, outputs=None, *, chip: str | None = None, **attrs) -> Plan:
        """How the kernel is launched for these arrays; their contents do not matter, and outputs may be left out."""
        attrs, inputs = self.values(attrs), tuple(inputs)
        self.check(inputs)
        outputs = self.empty(*inputs) if outputs is None else tuple(outputs)
        if not any(o.size for o in outputs):
            raise ValueError(f"{self.name}: its outputs have no element ({listed(o.shape for o in outputs)}), so there is nothing to launch.")
        ladder = load(self.folder, "ladder")
        recorder = _Recorder(self.version(ladder, inputs), inputs[0].dtype, ladder, chip)
        self.call(ladder, recorder, inputs, outputs, **attrs)
        blocks, args = recorder.seen
        zeroed = tuple(len(inputs) + self.outputs.index(name) for name in self.zeroed)
        return Plan(recorder.kernel, blocks, args, inputs + outputs, zeroed)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """All attributes, the given ones in the type of their default; TypeError when one is unknown or of another kind."""
        for name, value in given.items():
            if name not in self.attrs:
                raise TypeError(f"{self.name} has no attribute {name}; it has {', '.join(self.attrs) or 'none'}.")
            words, fits = _KINDS[type(self.attrs[name])]
            if not fits(value):
                raise TypeError(f"{name}={value!r} of {self.name} is no {words}; its default is {self.attrs[name]!r}.")
        return {name: type(default)(given.get(name, default)) for name, default in self.attrs.items()}

    def count(self, number: int) -> None:
        """TypeError when this is not the number of its inputs."""
        if number != len(self.inputs):
            raise TypeError(f"{self.name} takes {', '.join(self.inputs)}; {counted(number, 'tensor')} {'was' if number == 1 else 'were'} given.")

    def empty(self, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """Outputs of the right shape and type, zero where the kernel adds."""
        shapes = self.shapes(*(a.shape for a in inputs))
        return tuple((np.zeros if name in self.zeroed else np.empty)(shape, self.fixed.get(name, inputs[0].dtype))
                     for name, shape in zip(self.outputs, shapes))

    def out_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """NumPy names of the outputs' types."""
        return tuple(self.fixed.get(name, dtypes[0]) for name in self.outputs)

    def check(self, inputs) -> None:
        """ValueError or TypeError in words when this operator does not take these inputs."""
        self.count(len(inputs))
        for name, array in zip(self.inputs, inputs):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{name} of {self.name} is a {type(array).__name__}, and this reads arrays of NumPy: np.asarray({name}). "
                                "Tensors of a framework have operators of their own, such as helpers.frameworks.torch.op.")
        self.check_dtypes(*(str(a.dtype) for a in inputs))
        self.shapes(*(a.shape for a in inputs))

    def check_dtypes(self, *dtypes: str) -> None:
        """TypeError when a tensor has a type that the kernel does not read."""
        if dtypes[0] not in self.dtypes:
            raise TypeError(f"{self.inputs[0]} is {dtypes[0]}; {self.name} exists for {listed(self.dtypes)}. Cast it first.")
        for name, dtype in zip(self.inputs, dtypes):
            wanted = self.fixed.get(name, dtypes[0])
            if dtype != wanted:
                raise TypeError(f"{name} is {dtype} and {self.inputs[0]} is {dtypes[0]}; {self.name} reads {name} as {wanted}. Cast it first.")


class _Recorder:
    """Stands in for a kernel: notes how a ladder launches it instead of running it."""

    def __init__(self, version, dtype, ladder, chip):
        self.kernel, self.version, self.seen = _kernel(ladder, version, str(dtype), chip), version, None
        self.name = self.kernel.name

    def launch(self, blocks: int, args, **_):
        self.seen = blocks, tuple(args)


@lru_cache(maxsize=None)
def _kernel(ladder, version, dtype: str, chip: str | None) -> Kernel:
    options: dict[str, Any] = {"chip": chip} if chip else {}
    return ladder.compile(version, np.dtype(dtype), **options)
