"""What an index means on the device: an offset and a length. Nothing is cut at the end, as NumPy would do."""
from __future__ import annotations

from .names import whole
from .state import refuse


def span(key: slice, size: int) -> tuple[int, int]:
    """First element and number of elements of a slice; negative numbers count from the end."""
    first, stop, step = key.start, key.stop, key.step
    if step is not None and step != 1:
        refuse("UNSUPPORTED_API", f"a slice with step {step} is no run of bytes", "Copy rows with a gap instead: DataCopyPad with a 2-D slice.")
    try:
        first = 0 if first is None else whole(first, "the start of the slice")
        stop = size if stop is None else whole(stop, "the end of the slice")
    except ValueError as error:
        refuse("BAD_PARAMETER", *str(error).split(". ", 1))
    first, stop = first + size if first < 0 else first, stop + size if stop < 0 else stop
    if first < 0 or stop < first and key.stop is not None:
        refuse("OUT_OF_BOUNDS", f"the slice [{_word(key.start)}:{_word(key.stop)}] of {size} elements runs from {first} to {stop}",
               "The start comes before the end, and neither before element 0.")
    return first, max(0, stop - first)


def _word(n) -> str:
    return "" if n is None else str(n)


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements from one entry of each dimension to the next, without gaps."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def shape_of(key, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Offset, shape and strides of x[key]; an empty shape is one element."""
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) > len(shape):
        refuse("BAD_PARAMETER", f"{len(keys)} indices for a tensor of {len(shape)} dimensions", "Give one index or slice for each dimension.")
    offset, kept, steps = 0, [], []
    for axis, (n, step) in enumerate(zip(shape, strides)):
        k = keys[axis] if axis < len(keys) else slice(None)
        if isinstance(k, slice):
            first, count = span(k, n)
            if axis and first + count > n:
                refuse("OUT_OF_BOUNDS", f"the slice ends at {first + count} of dimension {axis}, which has {n}: the rest would be the next row",
                       f"End it at {n}.")
            kept.append(count)
            steps.append(step)
        elif hasattr(k, "__index__"):
            first = k.__index__() + (n if k < 0 else 0)
            if first < 0 or axis and first >= n:
                refuse("OUT_OF_BOUNDS", f"index {k} of dimension {axis}, which has {n}", "Indices start at 0.")
        else:
            refuse("BAD_PARAMETER", f"{k!r} is no index of a tensor", "Use numbers and slices.")
        offset += first * step
    return offset, tuple(kept), tuple(steps)


def rows_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int, int] | None:
    """(rows, elements of a row, elements from row to row); None when it takes more than one such copy."""
    dims = [(n, step) for n, step in zip(shape, strides) if n != 1]
    row = dims.pop()[0] if dims and dims[-1][1] == 1 else 1
    if not dims:
        return 1, row, row
    rows, pitch = dims.pop()
    for n, step in reversed(dims):
        if step != rows * pitch:
            return None
        rows *= n
    return rows, row, pitch
