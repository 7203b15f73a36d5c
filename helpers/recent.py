"""The last launches: a check that fails can repeat what the run had warned of."""
from __future__ import annotations

import weakref
from collections import deque

import numpy as np

from .errors import Finding

_launches: deque = deque(maxlen=16)


def remember(buffers, findings: list[Finding]) -> None:
    """After a launch: the memory it was given, and its findings."""
    warnings = tuple(f for f in findings if f.severity == "warning")
    # NumPy refuses to resize an array with a weak reference: only where there is something to repeat.
    spans = [(b.address, b.nbytes, weakref.ref(b.owner) if warnings else None) for b in buffers if b.nbytes and isinstance(b.owner, np.ndarray)]
    _launches.append((spans, warnings))


def warnings_about(array) -> tuple[Finding, ...]:
    """Warnings of the last launch that was given this array, or a piece of it."""
    if not isinstance(array, np.ndarray) or not array.nbytes:
        return ()
    address = array.__array_interface__["data"][0]
    for spans, warnings in reversed(_launches):
        if any(at <= address < at + nbytes and (owner is None or owner() is not None) for at, nbytes, owner in spans):
            return warnings
    return ()
