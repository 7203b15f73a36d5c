"""Outputs of a kernel in torch: memory that shows what was left out, and the check that nothing was.

New memory holds NaN, or the largest integer. Where there is a doubt after the launch, a second launch on zeros tells a
result from a gap: a result is the same again. Of floats NaN is doubtful, as it stays when something is added to it; of
integers everything is, as any sum is a number.
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
        changed = (_filled(one) & ~_filled(other) if one.is_floating_point() or one.is_complex() else one != other) if new else None
        if changed is None or not changed.any():
            continue
        which = ("its output" if len(outputs) == 1 else f"output {number}") + f" ({str(one.dtype).removeprefix('torch.')} {list(one.shape)})"
        sums = changed & ((other != 0) | ~_filled(one))                # neither as it was before the first nor before the second launch
        if sums.any():
            what = f"element {_first(sums)} of {which} depends on what lay there before the launch: the kernel adds to it, or reads it, before it was written."
            fix = f"Let out return zeros: torch.zeros_like(…), or torch.zeros({list(one.shape)}, dtype={one.dtype}). On a device old memory would be added."
        else:
            what = f"nothing wrote element {_first(changed)} of {which}, the first of {counted(int(changed.sum()), 'element')} without a value."
            fix = "Let out return the shape and the type that the kernel writes, and look at the last tile; partial=True for a kernel that fills only a part."
        raise KernelError("The outputs are not complete.", [Finding("HOST_ARGUMENT", "error", None, f"{name}: {what}", fix)])


def _first(where: torch.Tensor) -> list[int]:
    """The place of the first element that is true."""
    return [int(i) for i in torch.unravel_index(where.flatten().nonzero()[0, 0], where.shape)]


def _filling(dtype: torch.dtype):
    return True if dtype == torch.bool else torch.nan if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).max


def _filled(tensor: torch.Tensor) -> torch.Tensor:
    filling = _filling(tensor.dtype)
    return torch.isnan(tensor) if filling != filling else tensor == filling


def _suspicious(tensor: torch.Tensor) -> bool:
    """Is a second launch needed to tell? Of floats the sum shows a NaN, which takes half as long as a look at each."""
    return bool(torch.isnan(tensor.sum())) if tensor.is_floating_point() or tensor.is_complex() else tensor.numel() > 0


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
