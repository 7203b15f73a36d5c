"""kernels/layer_norm: rows of any length, and rows far from 0."""
import numpy as np
import pytest

from helpers.course import load
from chapters import DTYPES, SIZES, TYPES, assert_comment, assert_rows, poisoned, problems, same_bits

ladder = load("layer_norm", "ladder")
(layer_norm,), LONG = ladder.VERSIONS, ladder.LONG


@pytest.fixture(scope="module")
def kernels():
    return {dtype: ladder.compile(layer_norm, dtype) for dtype in DTYPES}


@pytest.fixture(scope="module")
def long_kernels():
    return {dtype: ladder.compile(LONG, dtype) for dtype in DTYPES}


def oracle(x, gamma, beta, eps=1e-5):
    x, gamma, beta = (a.astype(np.float64) for a in (x, gamma, beta))
    rest = x - x.mean(axis=-1, keepdims=True)
    return rest / np.sqrt((rest * rest).mean(axis=-1, keepdims=True) + eps) * gamma + beta


@TYPES
def test_any_shape(kernels, dtype):
    for rows, length in [(r, n) for r in (1, 2, 3) for n in SIZES] + [(101, 33), (49, 1003)]:
        rng = np.random.default_rng(rows + length)
        x = (rng.standard_normal((rows, length)) * 2 + 1).astype(dtype)
        gamma, beta = (rng.random(length).astype(dtype) for _ in range(2))
        y, before = poisoned(x.size, dtype).reshape(x.shape), (x.copy(), gamma.copy(), beta.copy())
        run = ladder.launch(layer_norm, x, gamma, beta, y, kernel=kernels[dtype])
        assert_rows(y, oracle(*before))
        assert all(same_bits(a, b) for a, b in zip((x, gamma, beta), before)) and problems(run) == [], (rows, length)
        assert run.totals["gm_read_bytes"] == x.nbytes + (gamma.nbytes + beta.nbytes) * min(rows, 48)
        assert run.totals["gm_write_bytes"] == y.nbytes


def test_rows_far_from_zero(kernels):
    """The mean has steps of 6e-5 at 1000: the result can be no better. In one pass the variance would have no digit left."""
    rng = np.random.default_rng(1)
    x = (1000 + rng.standard_normal((5, 1003))).astype(np.float32)
    gamma, beta, y = np.ones(1003, np.float32), np.zeros(1003, np.float32), poisoned(x.size, np.float32).reshape(x.shape)
    ladder.launch(layer_norm, x, gamma, beta, y, kernel=kernels[np.float32])
    np.testing.assert_allclose(y, oracle(x, gamma, beta), atol=2e-4)


def test_constant_rows_are_beta(kernels):
    x, gamma, beta = np.full((3, 100), 7, np.float16), np.ones(100, np.float16), np.arange(100, dtype=np.float16)
    y = poisoned(x.size, np.float16).reshape(x.shape)
    ladder.launch(layer_norm, x, gamma, beta, y, kernel=kernels[np.float16])
    assert (y == beta).all()


def test_late_copies_change_nothing(kernels):
    x, gamma = np.random.default_rng(2).standard_normal((200, 130)).astype(np.float16), np.ones(130, np.float16)
    found = [np.zeros_like(x) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(layer_norm, x, gamma, gamma, y, kernel=kernels[np.float16], schedule=schedule)
    assert same_bits(*found)


@TYPES
def test_rows_longer_than_ub(kernels, long_kernels, dtype):
    for shape, tile in (((3, 40_000), 0), ((50, 1003), 64), ((2, 129), 128), ((1, 7), 0), ((2, 64), 0)):
        rng = np.random.default_rng(shape[1])
        x = (rng.standard_normal(shape) * 2 + 1).astype(dtype)
        gamma, beta = (rng.random(shape[1]).astype(dtype) for _ in range(2))
        y = poisoned(x.size, dtype).reshape(shape)
        run = ladder.launch(LONG, x, gamma, beta, y, kernel=long_kernels[dtype], tile=tile)
        assert_rows(y, oracle(x, gamma, beta))
        assert problems(run) == [], shape
    with pytest.raises(ValueError, match="20,000 elements does not fit UB: use the kernel for long rows"):
        ladder.launch(layer_norm, x := np.zeros((1, 20_000), dtype), x[0], x[0], x, kernel=kernels[dtype])


def test_long_rows_far_from_zero(long_kernels):
    """Tiles are joined by their distances from the mean: nothing is lost although mean(x * x) has no digit for the variance."""
    x = (1000 + np.random.default_rng(3).standard_normal((2, 30_000))).astype(np.float32)
    gamma, beta, y = np.ones(30_000, np.float32), np.zeros(30_000, np.float32), poisoned(x.size, np.float32).reshape(x.shape)
    ladder.launch(LONG, x, gamma, beta, y, kernel=long_kernels[np.float32])
    np.testing.assert_allclose(y, oracle(x, gamma, beta), atol=3e-4)
    assert np.abs((x * x).mean(axis=1, dtype=np.float32) - x.mean(axis=1, dtype=np.float32) ** 2 - 1).max() > 0.02


def test_late_copies_change_nothing_in_long_rows(long_kernels):
    x = np.random.default_rng(4).standard_normal((3, 9000)).astype(np.float16)
    found = [np.zeros_like(x) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(LONG, x, x[0].copy(), x[1].copy(), y, kernel=long_kernels[np.float16], schedule=schedule)
    assert same_bits(*found)


@pytest.mark.parametrize("version", [layer_norm, LONG], ids=lambda v: v.name)
def test_the_header_comment(version):
    assert_comment(version, "layer_norm")
