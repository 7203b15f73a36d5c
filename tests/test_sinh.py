"""kernels/sinh: float inside and a series near 0, against every half; and the version all in half that chapter 05 shows."""
import numpy as np
import pytest

from helpers.course import load
from chapters import DTYPES, LARGE, TYPES, assert_comment, assert_one_input, assert_rows, cell_of, poisoned, same_bits, values

ladder = load("sinh", "ladder")
all_half, sinh = ladder.VERSIONS


def sinh64(x):
    return np.sinh(x.astype(np.float64))


@pytest.fixture(scope="module")
def kernels():
    return {dtype: ladder.compile(sinh, dtype) for dtype in DTYPES}


@TYPES
def test_sinh(kernels, dtype):
    assert_one_input(lambda x, y: ladder.launch(sinh, x, y, kernel=kernels[dtype]), sinh64, dtype)


def test_every_half(kernels):
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    x = every[np.abs(every) <= 12]
    right, half = poisoned(x.size, np.float16), poisoned(x.size, np.float16)
    ladder.launch(sinh, x, right, kernel=kernels[np.float16])
    ladder.launch(all_half, x, half)
    with np.errstate(over="ignore"):
        expected = sinh64(x)
        assert_rows(right, expected)
        gap = np.abs(right.view(np.int16).astype(int) - expected.astype(np.float16).view(np.int16).astype(int))
    assert gap.max() <= 1 and (gap > 0).mean() < 1e-3
    finite = (x > 11.1) & (np.abs(expected) < 65504)
    assert np.isinf(half[finite]).all() and np.isfinite(right[finite]).all()
    near = (np.abs(x) < 0.01) & (np.abs(x) > 1e-3)
    assert np.abs(half[near] / expected[near] - 1).max() > 0.01


def test_float_near_zero_and_near_the_end(kernels):
    x = np.array([1e-30, 1e-4, 0.01, 0.4999, 0.5, 0.5001, 1, 20, 88, 89], np.float32)
    x = np.concatenate([x, -x])
    y = poisoned(x.size, np.float32)
    ladder.launch(sinh, x, y, kernel=kernels[np.float32])
    np.testing.assert_allclose(y, sinh64(x), rtol=1e-5)


def test_the_official_rule_passes_the_version_in_half():
    x = np.random.default_rng(2).uniform(-1, 1, 100_000).astype(np.float16)
    y, exact = poisoned(x.size, np.float16), sinh64(x)
    ladder.launch(all_half, x, y)
    assert (np.abs(y - exact) > 1e-3 * np.abs(exact)).mean() == pytest.approx(0.132, abs=0.005)
    assert (np.abs(y - exact.astype(np.float16).astype(float)) > 1e-3).mean() <= 1e-3


@pytest.mark.parametrize("blocks", [1, 7, 64])
def test_any_number_of_blocks(kernels, blocks):
    x, y = values(LARGE, np.float16, 5), poisoned(LARGE, np.float16)
    ladder.launch(sinh, x, y, kernel=kernels[np.float16], blocks=blocks)
    with np.errstate(all="ignore"):
        assert_rows(y, sinh64(x))


def test_late_copies_change_nothing(kernels):
    x = np.random.default_rng(6).standard_normal(30_000).astype(np.float16)
    found = [poisoned(x.size, np.float16) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(sinh, x, y, kernel=kernels[np.float16], blocks=2, schedule=schedule)
    assert same_bits(*found)


@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "sinh")


def test_the_kernel_of_the_chapter_is_the_file():
    assert cell_of("05_swiglu_rope", "sinh_half") + "\n" == sinh.text
