"""hp.check: is the kernel's result the expected one, and if not, where and how does it differ?"""
from __future__ import annotations

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .check_pattern import describe
from .errors import CheckError
from .recent import warnings_about

# Largest relative difference by element type. The same share of the median of |expected| is allowed near zero, where
# a relative measure means nothing. Integers and bool must be equal.
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-4, "float64": 1e-9}
_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_WARNINGS = 3            # of the run, repeated when a check fails
_LOWEST_EXPONENT = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}


@dataclass(frozen=True)
class Checked:
    """A passed check."""
    elements: int
    abs: float            # largest difference
    rel: float            # largest difference relative to the expected value
    ulp: float            # the same in units of the last place of the element type
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        count = f"{self.elements} element{'' if self.elements == 1 else 's'}"
        text = f"ok: {count}, all equal" if self.abs == 0 else f"ok: {count}, largest difference {_measures(self.abs, self.rel, self.ulp)}"
        return "\n".join([text, *self.notes])


def check(actual, expected, *, dtype=None, tile=None) -> Checked:
    """Compares a kernel's result with the expected one; CheckError names the first wrong index and the pattern.

    dtype: element type that sets the tolerance (default: that of `actual`); "bfloat16" also reads uint16 bit patterns.
    tile: elements of a tile, or (elements of a tile, elements of a block): names tile and block of the first wrong element.
    Compute `expected` in float64 from the rounded inputs: a float16 reference has errors of its own.
    """
    _tile_place(0, tile)                 # a wrong tile is said even when nothing else is wrong
    name = None if dtype is None else _name_of(dtype)
    try:
        return _compared(_array(actual, name), _array(expected), name, tile)
    except CheckError as error:
        warned = warnings_about(actual)
        if not warned:
            raise
        lines = [f"  {f.code}{f' line {f.line}' if f.line else ''}: {f.message}" for f in warned[:_WARNINGS]]
        raise CheckError("\n".join([f"{error}", "The run that was given this array had warned:", *lines])) from None


def _compared(actual: np.ndarray, expected: np.ndarray, name: str | None, tile) -> Checked:
    name = name or actual.dtype.name
    _check_sizes(actual, expected)
    if actual.size == 0:
        return Checked(0, 0.0, 0.0, 0.0)
    if name in TOLERANCE:
        return _floats(actual, expected, name, tile)
    return _integers(actual, expected, tile)


# ---- what is compared
def _name_of(dtype) -> str:
    """The name of an element type: of NumPy, or of a framework (torch.float16)."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        name = str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1].lower()
    if name not in TOLERANCE:
        raise TypeError(f"dtype={dtype!r} is no element type: {', '.join(TOLERANCE)}, or a whole number such as int32")
    return name


def _array(values, name: str | None = None) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray):
        raise CheckError("hp.check compares every element, and a masked array hides some: compare values.filled(…) or values[~mask].")
    if not isinstance(values, np.ndarray):
        values = _of_tensor(values)
    if name == "bfloat16" and values.dtype == np.uint16:
        bits = values.astype(np.uint32) << 16
        return bits.view(np.float32)
    if values.dtype == object or values.dtype.kind in "USOcmM" or values.dtype.names:
        raise CheckError(f"hp.check compares numbers; it was given an array of {values.dtype}.")
    return values


def _of_tensor(values) -> np.ndarray:
    """Tensors of torch and MindSpore, lists and numbers. The frameworks have no NumPy array of bfloat16: float32 holds each of its values."""
    module, kind = type(values).__module__, str(getattr(values, "dtype", "")).lower()
    brief = module.startswith(("torch", "mindspore")) and kind.endswith("bfloat16")
    if brief:
        values = values.float()
    if module.startswith("torch"):
        values = values.detach().cpu().numpy()
    elif hasattr(values, "asnumpy"):                   # MindSpore
        values = values.asnumpy()
    try:
        whole = np.asarray(values)
    except ValueError:
        raise CheckError("hp.check compares arrays; it was given rows of different lengths.") from None
    return whole.astype(ml_dtypes.bfloat16) if brief else whole


def _check_sizes(actual: np.ndarray, expected: np.ndarray) -> None:
    if actual.size != expected.size:
        message = f"The result has {_elements(actual)}, expected has {_elements(expected)}."
        if actual.nbytes == expected.nbytes:
            message += f"\n  Both have {actual.nbytes} bytes: one was read with another dtype ({actual.dtype} and {expected.dtype})."
        elif expected.size == 1:
            message += "\n  One expected value would match any size by broadcasting: np.full_like(result, value) compares all elements."
        raise CheckError(message)
    if actual.shape != expected.shape and 1 not in (actual.ndim, expected.ndim):
        raise CheckError(f"The result has shape {actual.shape}, expected has {expected.shape}.\n  Reshape one of them if they hold the same order of elements.")
    if actual.dtype == np.uint16 and expected.dtype.kind == "f" or expected.dtype.name == "bfloat16" and actual.dtype == np.uint16:
        raise CheckError('The result is uint16, expected is floating point.\n  If it holds bfloat16 bits: hp.check(result, expected, dtype="bfloat16").')


# ---- integers and bool: equal or not
def _integers(actual: np.ndarray, expected: np.ndarray, tile) -> Checked:
    if expected.dtype.kind == "f" or expected.dtype.name in TOLERANCE:
        expected = expected.astype(np.float64)
        if np.isnan(expected).any():
            raise CheckError(f"Expected has {int(np.isnan(expected).sum())} NaN, the result is {actual.dtype}.")
    a, e = actual.reshape(-1), expected.reshape(-1)
    wrong = _differs(a, e)
    if not wrong.any():
        return Checked(a.size, 0.0, 0.0, 0.0)
    lines = _first(actual if actual.ndim >= expected.ndim else expected, a, e, wrong, tile)
    first = int(np.flatnonzero(wrong)[0])
    difference = _exact(a[first]) - _exact(e[first])
    lines.append(f"  difference there: {difference}")
    bits = 8 * actual.dtype.itemsize
    if actual.dtype.kind in "iu":
        where = np.flatnonzero(wrong)[:4096]
        whole = [_exact(a[i]) - _exact(e[i]) for i in where]
        if all(math.isfinite(d) and d == int(d) and int(d) % (1 << bits) == 0 for d in whole):
            lines.append(f"  pattern: off by multiples of {1 << bits}: expected does not fit {actual.dtype.name}, it would wrap around. "
                         "Compute it in the kernel's type, or use a wider one in the kernel.")
            raise CheckError("\n".join(lines))
    lines += describe(a, e, wrong, _shape(actual, expected), tile)
    raise CheckError("\n".join(lines))


def _differs(a: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Exact comparison: int64 and uint64 would meet as float64."""
    kinds = {a.dtype.kind, e.dtype.kind}
    if kinds == {"i", "u"} and 8 in (a.dtype.itemsize, e.dtype.itemsize):
        signed, unsigned = (a, e) if a.dtype.kind == "i" else (e, a)
        return (signed < 0) | (signed.astype(np.uint64) != unsigned.astype(np.uint64))
    if "b" in kinds and kinds != {"b"}:
        a, e = (v.astype(np.uint8) if v.dtype.kind == "b" else v for v in (a, e))
    return a != e


def _exact(value):
    number = value.item() if hasattr(value, "item") else value
    return int(number) if not isinstance(number, float) else number


# ---- floating point
_CHUNK = 1 << 17       # elements looked at together: stays in the cache


@dataclass
class _Special:
    """NaN or inf on one side only."""
    extra: int = 0
    missing: int = 0
    matching: int = 0
    first_extra: int = -1
    first_missing: int = -1

    def add(self, in_a: np.ndarray, in_e: np.ndarray, start: int) -> None:
        if not (in_a.any() or in_e.any()):
            return
        extra, missing = in_a & ~in_e, in_e & ~in_a
        if self.extra == 0 and extra.any():
            self.first_extra = start + int(np.argmax(extra))
        if self.missing == 0 and missing.any():
            self.first_missing = start + int(np.argmax(missing))
        self.extra += int(extra.sum())
        self.missing += int(missing.sum())
        self.matching += int((in_a & in_e).sum())


class _Comparison:
    """Both arrays as float64, chunk by chunk."""

    def __init__(self, a: np.ndarray, e: np.ndarray, name: str):
        self.name, self.rtol = name, TOLERANCE[name]
        # Below the smallest normal number the type has a fixed step: half of it is lost by rounding, whatever the kernel does.
        self.finest = 0.51 * math.ldexp(1.0, _LOWEST_EXPONENT[name] - _FRACTION_BITS[name])
        self.typical = _typical(e)
        self.wrong = np.zeros(a.size, bool)
        self.gap = self.relative = self.ulp = 0.0           # largest of all
        self.worst = (-1, 0.0, 0.0, 0.0)                    # index, gap, relative, ulp of the largest wrong one
        self.nan, self.inf = _Special(), _Special()
        self._far = self._loose = 0                         # counts of the official rule
        for start in range(0, a.size, _CHUNK):
            self._look(start, a[start:start + _CHUNK].astype(np.float64), e[start:start + _CHUNK].astype(np.float64))

    def _look(self, start: int, a: np.ndarray, e: np.ndarray) -> None:
        nan_a, nan_e = np.isnan(a), np.isnan(e)
        self.nan.add(nan_a, nan_e, start)
        self.inf.add(np.isinf(a), np.isinf(e), start)
        same = (a == e) | (nan_a & nan_e)                   # inf equals inf: before any difference is taken
        if same.all():
            return
        finite = np.isfinite(a) & np.isfinite(e)
        gap = np.zeros(a.size)
        np.subtract(a, e, out=gap, where=finite & ~same)
        np.abs(gap, out=gap)
        size = np.abs(e)
        # A value that overflows the type is inf in a correct result.
        over = _overflows(e, self.name) & np.isinf(a) & (np.sign(a) == np.sign(e))
        wrong = ~same & ~over & (~finite | (gap > np.maximum(self.rtol * (size + self.typical), self.finest)))
        near_zero = size < self.typical / 64                # relative measures mean nothing there
        relative = np.divide(gap, size, out=np.zeros_like(gap), where=(size > 0) & finite & ~near_zero)
        ulp = np.where(near_zero, 0.0, _ulps(gap, size, self.name))
        self.wrong[start:start + a.size] = wrong
        self.gap, self.relative = max(self.gap, float(gap.max())), max(self.relative, float(relative.max()))
        self.ulp = max(self.ulp, float(ulp.max()))
        measured = wrong & finite
        if measured.any():
            at = int(np.argmax(np.where(measured, gap, -1)))
            if gap[at] > self.worst[1]:
                self.worst = (start + at, float(gap[at]), float(relative[at]), float(ulp[at]))
        self._official(a, e)

    def _official(self, a: np.ndarray, e: np.ndarray, loss: float = 1e-3) -> None:
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            gap = np.abs(a - e)
            self._far += int((~(gap <= loss)).sum())
            self._loose += int((~(gap / (np.maximum(np.abs(a), np.abs(e)) + 1e-9) <= loss)).sum())

    @property
    def official_rule_passes(self) -> bool:
        """What the published verification scripts say, to show what they let through."""
        return min(self._far, self._loose) <= self.wrong.size * 1e-3


def _floats(actual: np.ndarray, expected: np.ndarray, name: str, tile) -> Checked:
    a, e = actual.reshape(-1), expected.reshape(-1)
    weak = expected.dtype.name in ("float16", "bfloat16")
    if e.dtype.kind not in "iub" and np.isnan(e[:_CHUNK]).all() and np.isnan(e).all():
        raise CheckError(f"Expected has {_count(e.size, 'NaN', 'NaN')} and nothing else: every result would pass.\n  Look at how it was computed.")
    found = _Comparison(a, e, name)
    weak_note = f"expected was computed in {expected.dtype.name}: its own rounding can be as large as the tolerance {found.rtol:g}. Compute it in float64."
    if not found.wrong.any():
        notes = [f"{word} matches {word} in {_count(special.matching, 'place', 'places')}: counted as equal"
                 for word, special in (("inf", found.inf), ("NaN", found.nan)) if special.matching]
        if weak and found.gap:
            notes.append(weak_note)
        return Checked(a.size, found.gap, found.relative, found.ulp, tuple(notes))
    lines = _first(actual if actual.ndim >= expected.ndim else expected, a, e, found.wrong, tile)
    for word, special in (("NaN", found.nan), ("inf", found.inf)):
        if special.extra:
            lines.append(f"  {word} in the result where expected is a number: {_count(special.extra, 'element', 'elements')}, first at {special.first_extra}")
        if special.missing:
            lines.append(f"  {word} missing in the result: {_count(special.missing, 'element', 'elements')}, first at {special.first_missing}")
    if found.worst[0] >= 0:
        lines.append(f"  largest difference: {_measures(*found.worst[1:])} at {found.worst[0]}; allowed: {found.rtol:g} relative ({name})")
    lines += describe(a, e, found.wrong, _shape(actual, expected), tile)
    if weak:
        lines.append("  note: " + weak_note)
    if found.official_rule_passes:
        lines.append("  note: the rule of many official scripts (0.1 % may be wrong) passes this result; hp.check allows no wrong element.")
    raise CheckError("\n".join(lines))


def _typical(e: np.ndarray) -> float:
    """Median of |expected|: near zero, differences are measured against it. One huge value must not widen it."""
    some = np.abs(e[::max(1, e.size >> 17)].astype(np.float64))
    some = some[np.isfinite(some) & (some > 0)]
    return float(np.median(some)) if some.size else 0.0


def _overflows(e: np.ndarray, name: str) -> np.ndarray:
    largest = {"float16": 65520.0, "float32": 3.4028235677973366e38, "bfloat16": 3.3961775292304957e38, "float64": math.inf}[name]
    return np.isfinite(e) & (np.abs(e) >= largest)


def _ulps(gap: np.ndarray, size: np.ndarray, name: str) -> np.ndarray:
    exponent = np.frexp(np.where(np.isfinite(size), size, 0))[1] - 1
    step = np.ldexp(1.0, np.maximum(exponent, _LOWEST_EXPONENT[name]) - _FRACTION_BITS[name])
    return gap / step


# ---- words
def _first(shaped: np.ndarray, a, e, wrong: np.ndarray, tile) -> list[str]:
    first, count = int(np.flatnonzero(wrong)[0]), int(wrong.sum())
    place = f"[{first}]"
    if shaped.ndim > 1:
        place = "[" + ", ".join(str(int(i)) for i in np.unravel_index(first, shaped.shape)) + f"] (element {first})"
    where = _tile_place(first, tile)
    return [f"{count} of {_count(a.size, 'element is', 'elements are')} wrong; the first is {place}{where}: {_show(a[first])}, expected {_show(e[first])}."]


def _tile_place(index: int, tile) -> str:
    if tile is None:
        return ""
    size, block = tile if isinstance(tile, (tuple, list)) and len(tile) == 2 else (tile, None)
    if not all(isinstance(v, (int, np.integer)) for v in (size, *((block,) if block is not None else ()))):
        raise TypeError(f"tile={tile!r}: give the elements of a tile, or (elements of a tile, elements of a block)")
    if size <= 0 or (block is not None and block <= 0):
        raise ValueError(f"tile={tile!r}: a tile has at least one element")
    if block is None:
        return f", tile {index // size}, element {index % size} of the tile"
    inside = index % block
    return f", block {index // block}, tile {inside // size} of the block, element {inside % size} of the tile"


def _shape(actual: np.ndarray, expected: np.ndarray) -> tuple[int, ...]:
    return actual.shape if actual.ndim >= expected.ndim else expected.shape


def _show(value) -> str:
    if getattr(value, "dtype", None) is not None and value.dtype.name in ("bfloat16",):
        value = np.float32(value)
    return f"{value:.7g}" if isinstance(value, (float, np.floating)) else str(value)


def _measures(gap: float, relative: float, ulp: float) -> str:
    return f"{gap:.3g} absolute, {relative:.3g} relative, {ulp:.3g} ulp"


def _elements(array: np.ndarray) -> str:
    shape = f" (shape {array.shape})" if array.ndim != 1 else ""
    return _count(array.size, "element", "elements") + shape


def _count(n, one: str, many: str) -> str:
    return f"{int(n)} {one if n == 1 else many}"
