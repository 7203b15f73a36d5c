"""What the tests of kernels share: sizes and values that catch mistakes, and the cells of a chapter."""
import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import helpers as hp

ROOT = Path(__file__).resolve().parents[1]
SIZES = [1, 7, 16, 31, 32, 33, 255, 256, 1003, 2048]
LARGE = 100_003
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
TYPES = pytest.mark.parametrize("dtype", DTYPES, ids=["half", "bf16", "float"])


def kind(part) -> str:
    """Of a version or an element type, for the names of tests."""
    return part.name if hasattr(part, "path") else np.dtype(part).name


def values(size: int, dtype, seed: int) -> np.ndarray:
    """Random values with the awkward ones scattered among them."""
    info = ml_dtypes.finfo(dtype)
    special = np.array([0.0, -0.0, info.tiny, -info.tiny, info.smallest_subnormal, info.max, -info.max, np.inf, -np.inf, np.nan], dtype)
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(size).astype(dtype)
    places = rng.permutation(size)[: min(len(special), size)]
    found[places] = rng.permutation(special)[: len(places)]
    return found


def poisoned(size: int, dtype) -> np.ndarray:
    """An output that no kernel has touched: a bit pattern that no test expects."""
    out = np.empty(size, dtype)
    out.view(np.uint8)[:] = 0xA5
    return out


def same_bits(actual: np.ndarray, expected: np.ndarray) -> bool:
    bits = f"u{actual.itemsize}"
    return bool((actual.view(bits) == expected.view(bits)).all())


def problems(run) -> list:
    """Findings that say something is wrong; notes about speed are advice."""
    return [f for f in run.findings if f.severity != "note"]


def kernel_cells(chapter: str) -> list[str]:
    """The kernel texts of a notebook, without their magic lines."""
    book = json.loads((ROOT / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"]
    return [c.split("\n", 1)[1] for c in cells if c.startswith("%%ascendc")]


def cell_of(chapter: str, entry: str) -> str:
    """The kernel cell that defines this entry."""
    found = [c for c in kernel_cells(chapter) if re.search(rf"__aicore__ void {entry}\(", c)]
    assert len(found) == 1, f"{len(found)} kernel cells of {chapter} define {entry}"
    return found[0]


def rows_of_values(rows: int, length: int, dtype, seed: int) -> np.ndarray:
    """Random rows; the first of several holds the awkward values, the only one large and tiny ones, but neither inf nor NaN."""
    found = np.random.default_rng(seed).standard_normal((rows, length)).astype(dtype)
    if rows > 1:
        found[0] = values(length, dtype, seed)
    elif length > 8:
        found[0, 1:7] = 0.0, -0.0, ml_dtypes.finfo(dtype).tiny, -ml_dtypes.finfo(dtype).smallest_subnormal, 200.0, -300.0
    return found


def assert_rows(actual: np.ndarray, expected: np.ndarray) -> None:
    """As hp.check, row by row: a row of NaN (which one NaN in a row may give) is compared too."""
    with np.errstate(all="ignore"):
        nan = np.isnan(expected)
        assert np.array_equal(np.isnan(actual), nan), f"NaN in other places: rows {np.flatnonzero((np.isnan(actual) != nan).any(axis=-1))[:5]}"
    if not nan.all():
        hp.check(actual[~nan], expected[~nan])


def serious(run) -> list:
    """Problems but for NUMERIC: tests put inf and NaN into the inputs on purpose."""
    return [f for f in problems(run) if f.code != "NUMERIC"]


def assert_one_input(launch, oracle, dtype) -> None:
    """An elementwise kernel with one input, at every length, with awkward values. launch(x, y) returns a Run."""
    for seed in (0, 1):
        for size in [*SIZES, LARGE]:
            x, y = values(size, dtype, seed), poisoned(size, dtype)
            if dtype != np.float16:
                x = np.where(np.isfinite(x) & (np.abs(x) > 1e12), dtype(50), x)      # x**3 must fit float
            before = x.copy()
            run = launch(x, y)
            with np.errstate(all="ignore"):
                assert_rows(y, oracle(before))
            assert same_bits(x, before) and serious(run) == [], size
            assert run.totals["gm_read_bytes"] == x.nbytes and run.totals["gm_write_bytes"] == y.nbytes


def assert_comment(version, name: str) -> None:
    """The header comment says what changed, why, and what the timeline shows."""
    heads = [line.split(":")[0] for line in version.comment.splitlines() if re.match(r"[A-Z][\w ]*: ", line)]
    assert heads in (["What", "Why", "Timeline"], ["What changed", "Why", "Timeline"])
    assert version.comment.startswith(name + ",") or version.comment.startswith(name + ":")
