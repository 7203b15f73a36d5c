"""Runs the calls on the twin and on a device."""
from __future__ import annotations

import fnmatch
from dataclasses import replace
from typing import Callable, Iterator

from .. import kernel as kernels
from ..errors import CompileError, WorkbookError
from .cases import FAMILIES, Family, unit_text
from .compare import Outcome

# What runs one call: (family, number of the call) -> (bytes of the result, time in us)
Runner = Callable[[Family, int], tuple]


class Target:
    """Builds the families of a unit together for its target."""

    def __init__(self, target: str):
        self.target, self._built = target, {}

    def __call__(self, family: Family, number: int):
        if family.name not in self._built:
            self._build(family)
        x, y, z = family.arrays()
        run = self._built[family.name].launch(1, (x, y, z, number, *family.arguments()))
        return z, run.time_us

    def _build(self, family: Family) -> None:
        """From the text of its unit; one family that a compiler refuses does not take the others along."""
        mates = [f for f in FAMILIES if f.unit == family.unit] or [family]
        try:
            kernel = kernels.compile(unit_text(mates), name=family.name, target=self.target)
        except CompileError:
            if len(mates) == 1:
                raise
            mates, kernel = [family], kernels.compile(family.text, name=family.name, target=self.target)
        self._built[family.name] = kernel
        if type(kernel) is kernels.Kernel:       # on the twin its library holds the others too
            entries = {e.name: e for e in kernel.built.entries}
            self._built |= {f.name: replace(kernel, entry=entries[f.name]) for f in mates}


def outcomes(only: str = "*", device: Runner | None = None, twin: Runner | None = None) -> Iterator[Outcome]:
    """Every call whose label fits the pattern."""
    twin = twin or Target("host")
    for family in FAMILIES:
        for number, call in enumerate(family.calls):
            if not (fnmatch.fnmatch(call.label, only) or fnmatch.fnmatch(family.name, only)):
                continue
            ours = theirs = None
            us, device_us, error = 0.0, 0.0, ""
            try:
                ours, us = twin(family, number)
                if device is not None:
                    theirs, device_us = device(family, number)
            except WorkbookError as failed:
                where = "the device" if ours is not None else "the twin"
                first = failed.findings[0].message if failed.findings else ""
                error = f"{where}: {failed.headline} {first}".strip()
            yield Outcome(family.name, call.label, ours, theirs, us, device_us, error)
