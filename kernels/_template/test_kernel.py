"""Is the kernel right? Run: pytest kernels/mine

Two judges: float64 in NumPy, which knows the formula, and torch, which knows nothing of it. Gradients are judged by
finite differences. Lengths have tails, values are awkward, outputs are poisoned, inputs must stay as they are.
"""
import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import helpers as hp

_spec = importlib.util.spec_from_file_location(f"ladder_of_{Path(__file__).parent.name}", Path(__file__).with_name("ladder.py"))
ladder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ladder)

VERSION = ladder.VERSIONS[-1]
SIZES = [1, 7, 16, 31, 32, 33, 255, 256, 1003, 2048, 100_003]
DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32]
TYPES = pytest.mark.parametrize("dtype", DTYPES, ids=["half", "bf16", "float"])


@pytest.fixture(scope="module")
def kernel():
    return {dtype: ladder.compile(VERSION, dtype) for dtype in DTYPES}


def values(size: int, dtype, seed: int = 0) -> np.ndarray:
    """Random numbers, with zeros, the smallest and the largest ones among them."""
    info, rng = ml_dtypes.finfo(dtype), np.random.default_rng(seed)
    found = (3 * rng.standard_normal(size)).astype(dtype)
    special = np.array([0.0, -0.0, info.tiny, info.smallest_subnormal, info.max / 4, -info.max / 4], dtype)
    found[rng.permutation(size)[:special.size]] = special[:size]
    return found


def poisoned(size: int, dtype) -> np.ndarray:
    """An output that nobody has touched yet: NaN."""
    return np.full(size, np.nan, dtype)


# ---- precision
@TYPES
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(kernel, dtype, size):
    x, y = values(size, dtype, size), poisoned(size, dtype)
    before = x.copy()
    run = ladder.launch(VERSION, x, y, kernel=kernel[dtype])
    print(hp.check(y, ladder.oracle(before.astype(np.float64))))
    assert np.array_equal(x, before), "the input was changed"
    assert [f for f in run.findings if f.severity != "note"] == []


@TYPES
def test_against_torch(kernel, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed: there is no second judge")
    x, y = values(5000, dtype), poisoned(5000, dtype)
    ladder.launch(VERSION, x, y, kernel=kernel[dtype])
    hp.check(y, torch.nn.functional.softsign(torch.from_numpy(x.astype(np.float64))).numpy())


# ---- shape of the work
@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x, y = values(20_011, np.float16), poisoned(20_011, np.float16)
    ladder.launch(VERSION, x, y, kernel=kernel[np.float16], blocks=blocks)
    hp.check(y, ladder.oracle(x.astype(np.float64)))


def test_late_copies_change_nothing(kernel):
    """With schedule="lazy" a copy happens as late as the kernel's own synchronisation allows: a missing flag shows."""
    x, found = values(30_000, np.float16), []
    for schedule in ("eager", "lazy"):
        found.append(poisoned(x.size, np.float16))
        ladder.launch(VERSION, x, found[-1], kernel=kernel[np.float16], blocks=2, schedule=schedule)
    assert np.array_equal(*found)


def test_bytes_moved(kernel):
    """Bytes are exact on the twin, so a gate on them has no noise: every input once, every output once."""
    x, y = values(4096, np.float16), poisoned(4096, np.float16)
    run = ladder.launch(VERSION, x, y, kernel=kernel[np.float16])
    assert run.totals["gm_read_bytes"] == x.nbytes and run.totals["gm_write_bytes"] == y.nbytes


# ---- gradients
def test_slope_by_finite_differences():
    """In float64, so that the difference of two close numbers keeps its digits."""
    x, step = np.linspace(-4, 4, 101) + 0.013, 1e-6
    difference = (ladder.oracle(x + step) - ladder.oracle(x - step)) / (2 * step)
    np.testing.assert_allclose(ladder.slope(x), difference, rtol=1e-6, atol=1e-9)


def test_gradients_in_torch():
    """The operator trains: opcheck finds nothing, and its gradients are those of torch."""
    torch = pytest.importorskip("torch", reason="torch is not installed: there is nothing to train with")
    op, x = ladder.torch_op(), torch.linspace(-3, 3, 333).requires_grad_()
    assert set(torch.library.opcheck(op, (x,)).values()) == {"SUCCESS"}
    weights = torch.linspace(1, 2, 333)
    mine, = torch.autograd.grad(op(x), x, weights)
    right, = torch.autograd.grad(torch.nn.functional.softsign(x.double()), x, weights.double())
    hp.check(mine, right.double().numpy())
