"""What a ladder refuses before it starts a kernel. A kernel sees bytes: an array of another shape or type would be read as something else."""
from __future__ import annotations

import ml_dtypes                # noqa: F401  makes bfloat16 a name that NumPy knows
import numpy as np

from ..errors import listed


def element(dtype, **names: str) -> str:
    """How an element type is called in the names of kernels; names: of these types only, and what they are called."""
    known = names or {"float16": "half", "bfloat16": "bf16", "float32": "float"}
    name = np.dtype(dtype).name
    if name not in known:
        raise ValueError(f"The elements are {name}; this kernel exists for {listed(known)}. Fix: x.astype(np.{next(iter(known))}).")
    return known[name]


def fit(**arrays) -> None:
    """fit(k=(k, (2, 8), (1, 8)), ...): each array has one of the shapes behind it; None is an array that is not there."""
    for name, (array, *shapes) in arrays.items():
        if array is not None and tuple(array.shape) not in shapes:
            wanted = " or ".join(map(str, shapes))
            raise ValueError(f"{name} has the shape {tuple(array.shape)}; beside the other arrays it has to be {wanted}.")


def some_columns(shape) -> None:
    """Rows without elements have no sum, no mean and no maximum."""
    if len(shape) != 2 or shape[1] < 1:
        raise ValueError(f"x has the shape {tuple(shape)}: rows and columns are needed, and at least one column. Fix: x.reshape(-1, columns).")
