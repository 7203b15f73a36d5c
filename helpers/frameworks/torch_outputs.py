"""Outputs of a kernel in torch: memory that shows what was left out, and the check that nothing was.

New memory holds NaN, or the largest integer. Where an element still has this value after the launch, a second launch on
zeros tells a result from a gap: a result is the same again.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import Finding, KernelError, counted

_EMPTY = (torch.ops.aten.empty, torch.ops.aten.empty_like, torch.ops.aten.empty_strided, torch.ops.aten.new_empty, torch.ops.aten.new_empty_strided)


class Fresh(TorchDispatchMode):
    """Fills what torch.empty and its kin make, and remembers it: what torch.zeros makes has its values already."""

    def __init__(self):
        super().__init__()
        self._places: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if func.overloadpacket in _EMPTY and made.device.type == "cpu":
            made.fill_(_filling(made.dtype))
            self._places.add(_place(made))
        return made

    def holds(self, tensor: torch.Tensor) -> bool:
        return _place(tensor) in self._places


def check(name: str, outputs, fresh: list[bool], again: Callable) -> None:
    """KernelError when the kernel left a part of a fresh output as it was. again(outputs) launches it on other outputs."""
    if not any(_suspicious(t) for t, new in zip(outputs, fresh) if new):
        return
    others = tuple(torch.zeros_like(t) if new else t.clone() for t, new in zip(outputs, fresh))
    again(others)
    for number, (one, other, new) in enumerate(zip(outputs, others, fresh), start=1):
        gaps = (_filled(one) & ~_filled(other)).flatten().nonzero() if new else ()
        if len(gaps):
            which = "of its output" if len(outputs) == 1 else f"of output {number}"
            place = [int(i) for i in torch.unravel_index(gaps[0, 0], one.shape)]
            raise KernelError("The outputs are not complete.", [Finding("HOST_ARGUMENT", "error", None,
                f"{name}: nothing wrote element {place} {which} ({str(one.dtype).removeprefix('torch.')} {list(one.shape)}), the first of "
                f"{counted(len(gaps), 'element')} without a value.",
                "Let out return the shape and the type that the kernel writes, and look at the last tile; partial=True for a kernel that fills only a part.")])


def _filling(dtype: torch.dtype):
    return True if dtype == torch.bool else torch.nan if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).max


def _filled(tensor: torch.Tensor) -> torch.Tensor:
    filling = _filling(tensor.dtype)
    return torch.isnan(tensor) if filling != filling else tensor == filling


def _suspicious(tensor: torch.Tensor) -> bool:
    """Does an element look as if nobody had written it? Of floats the sum tells, which takes half as long."""
    filling = _filling(tensor.dtype)
    return bool(torch.isnan(tensor.sum())) if filling != filling else bool((tensor == filling).any())


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
