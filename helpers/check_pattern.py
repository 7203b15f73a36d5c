"""What a wrong result looks like as a whole: most mistakes in a kernel leave a shape that names them."""
from __future__ import annotations

import numpy as np

from .errors import counted

_MOST = 0.9           # "as a whole": at least this share (some elements are right by chance)


def describe(actual, expected, wrong: np.ndarray, shape: tuple[int, ...], tile) -> list[str]:
    """At most one line about where the wrong elements lie and one about their values. All arrays are flat."""
    size = tile[0] if isinstance(tile, (tuple, list)) else tile
    where = _where(wrong, shape, size)
    values = _values(np.asarray(actual), np.asarray(expected), wrong, shape)
    return [f"  pattern: {text}" for text in (where, values) if text]


# ---- where
def _where(wrong: np.ndarray, shape: tuple[int, ...], tile: int | None) -> str:
    index = np.flatnonzero(wrong)
    n, count = wrong.size, index.size
    first, last = int(index[0]), int(index[-1])
    if count >= _MOST * n:
        return "nearly every element is wrong" if count < n else ("" if n == 1 else "every element is wrong")
    if tile and tile < n:
        found = _tiles(wrong, tile)
        if found:
            return found
    span = last - first + 1
    dense = count >= _MOST * span
    if dense and last == n - 1:
        return f"the tail: the last {span} of {n} elements" if first else ""
    if dense and count > 1:
        return f"one run: elements {first} to {last}"
    if len(shape) > 1:
        found = _rows(wrong.reshape(-1, shape[-1]), shape)
        if found:
            return found
    return _steps(index) if count > 2 else ""


def _tiles(wrong: np.ndarray, tile: int) -> str:
    whole = -(-wrong.size // tile)
    padded = np.zeros(whole * tile, bool)
    padded[:wrong.size] = wrong
    share = padded.reshape(whole, tile).sum(axis=1) / np.minimum(tile, wrong.size - np.arange(whole) * tile)
    bad = np.flatnonzero(share > 0)
    if (share[bad] >= _MOST).all() and len(bad) < whole:
        if len(bad) == 1 and bad[0] == whole - 1 and wrong.size % tile:
            return f"the last tile, which has only {wrong.size % tile} of {tile} elements"
        return f"{counted(len(bad), 'whole tile')} of {whole}: {_listed(bad)}"
    inside = padded.reshape(whole, tile)[bad]
    if len(bad) > 1 and (inside == inside[0]).all():
        at = np.flatnonzero(inside[0])
        if at[-1] == tile - 1 and at[-1] - at[0] + 1 == len(at):
            return f"the last {counted(len(at), 'element')} of each tile" + ("" if len(bad) == whole else f" in {counted(len(bad), 'tile')}")
    return ""


def _rows(wrong: np.ndarray, shape: tuple[int, ...]) -> str:
    rows, width = wrong.shape
    share = wrong.mean(axis=1)
    bad = np.flatnonzero(share > 0)
    if (share[bad] >= _MOST).all() and len(bad) < rows:
        step = _regular(bad)
        if step and step > 1 and bad[-1] + step >= rows:
            return f"every {_ordinal(step)} row, from row {bad[0]}"
        return f"{counted(len(bad), 'whole row')} of {rows}: {_listed(bad)}"
    columns = np.flatnonzero(wrong.any(axis=0))
    if len(columns) < width and (wrong[:, columns].mean(axis=0) >= _MOST).all():
        if columns[-1] == width - 1 and columns[-1] - columns[0] + 1 == len(columns):
            return f"the last {counted(len(columns), 'element')} of each row (a row has {width})"
        return f"{counted(len(columns), 'whole column')} of {width}: {_listed(columns)}"
    return ""


def _steps(index: np.ndarray) -> str:
    step = _regular(index)
    return f"every {_ordinal(step)} element, from element {index[0]}" if step and step > 1 else ""


def _regular(index: np.ndarray) -> int | None:
    """The constant distance between the numbers, if there is one."""
    if len(index) < 2:
        return None
    steps = np.diff(index)
    return int(steps[0]) if (steps == steps[0]).all() else None


# ---- values
def _values(actual: np.ndarray, expected: np.ndarray, wrong: np.ndarray, shape: tuple[int, ...]) -> str:
    a, e = actual[wrong], expected[wrong]
    if a.size > 1 << 20:                       # enough to see a pattern
        a, e = a[:1 << 20], e[:1 << 20]
    a, e = a.astype(np.float64), e.astype(np.float64)
    fine = np.isfinite(a) & np.isfinite(e)
    if not fine.any():
        return ""
    if (a == a[0]).all() and len(a) > 1 and not (e == e[0]).all():
        return f"all wrong elements are {a[0]:.7g}" + (": not written, or overwritten" if a[0] == 0 else "")
    if len(a) > 1 and fine.all():
        for found in (_factor(a, e), _shifted(actual, expected), _reordered(actual, expected), _offset(a, e),
                      _row_factors(actual, expected, shape)):
            if found:
                return found
    return ""


def _factor(a: np.ndarray, e: np.ndarray) -> str:
    big = np.abs(e) > 0.01 * np.abs(e).max()
    if big.sum() < 2:
        return ""
    ratio = a[big] / e[big]
    middle = float(np.median(ratio))
    if middle and np.abs(ratio - middle).max() <= 5e-3 * abs(middle) and abs(middle - 1) > 1e-2:
        return f"a constant factor: wrong elements are {middle:.4g} times the expected ones"
    return ""


def _row_factors(actual: np.ndarray, expected: np.ndarray, shape: tuple[int, ...]) -> str:
    if len(shape) < 2 or shape[-1] < 3 or actual.size > 1 << 22:
        return ""
    a, e = (v.astype(np.float64).reshape(-1, shape[-1]) for v in (actual, expected))
    if not (np.isfinite(a).all() and np.isfinite(e).all()):
        return ""
    big = np.abs(e) > 0.01 * np.abs(e).max(axis=1, keepdims=True)
    ratio = np.divide(a, e, out=np.ones_like(a), where=big)
    middle = np.median(ratio, axis=1, keepdims=True)
    even = (np.abs(ratio - middle) <= 5e-3 * np.abs(middle) + 1e-12) | ~big
    if even.all() and (middle != 0).all() and np.ptp(middle) > 1e-2:
        return "a factor that differs from row to row: a scale of each row (sum, max, rescaling) is missing or wrong"
    return ""


def _offset(a: np.ndarray, e: np.ndarray) -> str:
    gap = a - e
    middle = float(np.median(gap))
    if len(a) > 2 and middle and np.abs(gap - middle).max() <= 5e-3 * abs(middle):
        return f"a constant offset: wrong elements are {middle:+.4g} from the expected ones"
    return ""


def _shifted(actual: np.ndarray, expected: np.ndarray) -> str:
    n = actual.size
    if n < 8 or np.unique(expected[:64]).size < 4:
        return ""
    for k in (1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32, 64, -64):
        if abs(k) >= n // 2:
            continue
        a, e = (actual[:n - k], expected[k:]) if k > 0 else (actual[-k:], expected[:n + k])
        if (np.abs(a.astype(np.float64) - e) <= 2e-3 * np.abs(e.astype(np.float64)) + 1e-12).mean() >= 0.95:
            return f"the result is shifted: element i holds what belongs to element i {'+' if k > 0 else '-'} {abs(k)}"
    return ""


def _reordered(actual: np.ndarray, expected: np.ndarray) -> str:
    if actual.size > 1 << 22 or np.unique(expected[:64]).size < 4:
        return ""
    a, e = np.sort(actual.astype(np.float64)), np.sort(expected.astype(np.float64))
    if np.allclose(a, e, rtol=2e-3, atol=1e-12):
        return "the right values in another order"
    return ""


# ---- words
def _listed(numbers, limit: int = 6) -> str:
    step = _regular(np.asarray(numbers))
    if len(numbers) > 3 and step:
        return f"{numbers[0]} to {numbers[-1]}" + ("" if step == 1 else f" in steps of {step}")
    text = ", ".join(str(int(n)) for n in numbers[:limit])
    return text + (", …" if len(numbers) > limit else "")


def _ordinal(n: int) -> str:
    words = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 8: "eighth", 16: "16th"}
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return words.get(n, f"{n}{suffix}")
