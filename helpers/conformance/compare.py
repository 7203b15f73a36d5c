"""Two results of one call, element by element."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """What one call gave on the twin and, where there is one, on a device."""
    family: str
    label: str
    twin: np.ndarray | None            # None: the twin refused it
    device: np.ndarray | None = None   # None: not run there
    twin_us: float = 0.0               # estimate
    device_us: float = 0.0             # measured
    error: str = ""

    @property
    def verdict(self) -> str:
        """"equal", "differs", "twin only" or "failed"."""
        if self.error:
            return "failed"
        if self.device is None:
            return "twin only"
        return "equal" if self.different.size == 0 else "differs"

    @property
    def different(self) -> np.ndarray:
        """Indices of the elements whose bytes differ."""
        if self.twin is None or self.device is None:
            return np.zeros(0, int)
        size = self.twin.itemsize
        return np.flatnonzero((self.twin.view(np.uint8).reshape(-1, size) != self.device.view(np.uint8).reshape(-1, size)).any(axis=1))

    @property
    def words(self) -> str:
        """One line: how many elements, the first one, and how far apart in units of the last place."""
        where = self.different
        if not where.size:
            return ""
        i = int(where[0])
        text = f"{where.size} of {self.twin.size} elements; element {i}: twin {self.twin[i]}, device {self.device[i]}"
        if self.twin.dtype.kind == "f":
            steps = ulps(self.twin[where], self.device[where])
            text += f"; at most {int(steps.max())} ulp apart" if steps.size else "; NaN or infinity on one side"
        return text


def ulps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance in units of the last place where both are finite."""
    both = np.isfinite(a) & np.isfinite(b)
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[a.itemsize]
    def order(v):
        bits = v.view(kind).astype(np.int64)
        return np.where(bits < 0, -(bits & np.iinfo(kind).max), bits)
    return np.abs(order(a[both]) - order(b[both]))
