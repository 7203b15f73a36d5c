"""kernels/gelu: the tanh form at every length, far from 0 too. It is the solution of exercise E05a."""
import numpy as np
import pytest

from helpers.course import load
from chapters import DTYPES, LARGE, TYPES, assert_comment, assert_one_input, assert_rows, poisoned, same_bits, values

ladder = load("gelu", "ladder")
(gelu,) = ladder.VERSIONS


def gelu64(x):
    """x / (1 + exp(-2u)): the usual 1 + tanh(u) loses its digits for very negative x, even in float64."""
    x = x.astype(np.float64)
    return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


@pytest.fixture(scope="module")
def kernels():
    return {dtype: ladder.compile(gelu, dtype) for dtype in DTYPES}


@TYPES
def test_gelu(kernels, dtype):
    assert_one_input(lambda x, y: ladder.launch(gelu, x, y, kernel=kernels[dtype]), gelu64, dtype)


def test_it_is_the_tanh_form(kernels):
    x = np.linspace(-4, 4, 1001, dtype=np.float32)
    y = poisoned(x.size, np.float32)
    ladder.launch(gelu, x, y, kernel=kernels[np.float32])
    wide = x.astype(np.float64)
    np.testing.assert_allclose(y, wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide ** 3))), rtol=1e-5, atol=1e-7)


def test_far_values(kernels):
    x = np.array([-100, -11, -0.0, 0.0, 11, 100], np.float16)
    y = poisoned(x.size, np.float16)
    ladder.launch(gelu, x, y, kernel=kernels[np.float16])
    assert y.tolist() == [0, 0, 0, 0, 11, 100]


@pytest.mark.parametrize("blocks", [1, 7, 64])
def test_any_number_of_blocks(kernels, blocks):
    x, y = values(LARGE, np.float16, 5), poisoned(LARGE, np.float16)
    ladder.launch(gelu, x, y, kernel=kernels[np.float16], blocks=blocks)
    with np.errstate(all="ignore"):
        assert_rows(y, gelu64(x))


def test_late_copies_change_nothing(kernels):
    x = np.random.default_rng(6).standard_normal(30_000).astype(np.float16)
    found = [poisoned(x.size, np.float16) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(gelu, x, y, kernel=kernels[np.float16], blocks=2, schedule=schedule)
    assert same_bits(*found)


def test_the_header_comment():
    assert_comment(gelu, "gelu")
