"""Every call that is compared: one small kernel for each form of an API."""
from __future__ import annotations

from .cube import CUBE
from .family import HEAD, N, Call, Family, values
from .library import LIBRARY
from .probes import PROBES
from .vector import VECTOR

FAMILIES = (*VECTOR, *CUBE, *LIBRARY, *PROBES)

__all__ = ["FAMILIES", "N", "Call", "Family", "unit_text", "values"]


def unit_text(families: list[Family]) -> str:
    """One text with the kernels of all of them."""
    return (families[0].head or HEAD) + "".join(f.kernel for f in families)
