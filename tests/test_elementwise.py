"""kernels/swiglu, gelu, sinh: elementwise kernels with float inside, at every length."""
import re

import numpy as np
import pytest

from helpers.course import load
from chapters import LARGE, SIZES, assert_rows, poisoned, problems, same_bits, values

swiglu, gelu, sinh = (load(name, "ladder") for name in ("swiglu", "gelu", "sinh"))
TYPES = pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["half", "float"])


def silu64(x):
    x = x.astype(np.float64)
    return x / (1 + np.exp(-x))


def gelu64(x):
    """x / (1 + exp(-2u)): the usual 1 + tanh(u) loses its digits for very negative x, even in float64."""
    x = x.astype(np.float64)
    return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def sinh64(x):
    return np.sinh(x.astype(np.float64))


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(module, version, dtype):
        key = version.path, np.dtype(dtype)
        if key not in built:
            built[key] = module.compile(version, dtype)
        return built[key]
    return of


def serious(run):
    return [f for f in problems(run) if f.code != "NUMERIC"]      # inf and NaN of the inputs


ONE_INPUT = [pytest.param(gelu, gelu.VERSIONS[0], gelu64, id="gelu"), pytest.param(sinh, sinh.VERSIONS[1], sinh64, id="sinh"),
             pytest.param(swiglu, swiglu.SILU, silu64, id="silu")]


@TYPES
@pytest.mark.parametrize("module, version, oracle", ONE_INPUT)
def test_one_input(kernel, module, version, oracle, dtype):
    for seed in (0, 1):
        for size in [*SIZES, LARGE]:
            x, y = values(size, dtype, seed), poisoned(size, dtype)
            if dtype == np.float32:
                x = np.where(np.isfinite(x) & (np.abs(x) > 1e12), x.dtype.type(50), x)      # x**3 must fit float
            before = x.copy()
            run = module.launch(version, x, y, kernel=kernel(module, version, dtype))
            with np.errstate(all="ignore"):
                assert_rows(y, oracle(before))
            assert same_bits(x, before) and serious(run) == [], size
            assert run.totals["gm_read_bytes"] == x.nbytes and run.totals["gm_write_bytes"] == y.nbytes


@TYPES
def test_swiglu(kernel, dtype):
    for seed in (0, 1):
        for size in [*SIZES, LARGE]:
            gate, up, y = values(size, dtype, seed), values(size, dtype, seed + 100), poisoned(size, dtype)
            if dtype == np.float32:
                # silu(tiny) is subnormal in float: its product has fewer digits, or is NaN with inf
                gate, up = (np.where((np.abs(a) > 1e12) | (np.abs(a) < 1e-12), dtype(5), a) for a in (gate, up))
            before = gate.copy(), up.copy()
            run = swiglu.launch(swiglu.FUSED, gate, up, y, kernel=kernel(swiglu, swiglu.FUSED, dtype))
            with np.errstate(all="ignore"):
                assert_rows(y, silu64(before[0]) * before[1].astype(np.float64))
            assert same_bits(gate, before[0]) and same_bits(up, before[1]) and serious(run) == []
            assert run.totals["gm_read_bytes"] == 2 * gate.nbytes and run.totals["gm_write_bytes"] == y.nbytes


def test_two_kernels_do_the_same_with_one_rounding_more(kernel):
    rng = np.random.default_rng(3)
    gate, up = (rng.standard_normal(5000).astype(np.float16) for _ in range(2))
    middle, y = poisoned(5000, np.float16), poisoned(5000, np.float16)
    swiglu.launch(swiglu.SILU, gate, middle, kernel=kernel(swiglu, swiglu.SILU, np.float16))
    run = swiglu.launch(swiglu.MUL, middle, up, y, kernel=kernel(swiglu, swiglu.MUL, np.float16))
    assert same_bits(y, middle * up) and problems(run) == []
    np.testing.assert_allclose(y.astype(float), silu64(gate) * up, rtol=1.5e-3, atol=1e-6)


def test_far_values(kernel):
    x = np.array([-100, -11, -0.0, 0.0, 11, 100], np.float16)
    y = poisoned(x.size, np.float16)
    gelu.launch(gelu.VERSIONS[0], x, y, kernel=kernel(gelu, gelu.VERSIONS[0], np.float16))
    assert y.tolist() == [0, 0, 0, 0, 11, 100]
    swiglu.launch(swiglu.SILU, x, y, kernel=kernel(swiglu, swiglu.SILU, np.float16))
    assert y[0] == 0 and y[-1] == 100


def test_sinh_where_half_fails(kernel):
    """Near 0 and above 11.09, where exp has no half any more; every half from -12 to 12."""
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    x = every[np.abs(every) <= 12]
    right, half = poisoned(x.size, np.float16), poisoned(x.size, np.float16)
    sinh.launch(sinh.VERSIONS[1], x, right, kernel=kernel(sinh, sinh.VERSIONS[1], np.float16))
    sinh.launch(sinh.VERSIONS[0], x, half, kernel=kernel(sinh, sinh.VERSIONS[0], np.float16))
    with np.errstate(over="ignore"):
        expected = np.sinh(x.astype(np.float64))
        assert_rows(right, expected)
        gap = np.abs(right.view(np.int16).astype(int) - expected.astype(np.float16).view(np.int16).astype(int))
    assert gap.max() <= 1 and (gap > 0).mean() < 1e-3
    finite = (x > 11.1) & (np.abs(expected) < 65504)
    assert np.isinf(half[finite]).all() and np.isfinite(right[finite]).all()
    near = (np.abs(x) < 0.01) & (np.abs(x) > 1e-3)
    assert (np.abs(half[near] / expected[near] - 1)).max() > 0.01


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x = values(LARGE, np.float16, 5)
    for module, version, oracle in ((gelu, gelu.VERSIONS[0], gelu64), (sinh, sinh.VERSIONS[1], sinh64)):
        y = poisoned(x.size, np.float16)
        module.launch(version, x, y, kernel=kernel(module, version, np.float16), blocks=blocks)
        with np.errstate(all="ignore"):
            assert_rows(y, oracle(x))


@pytest.mark.parametrize("module, version, oracle", ONE_INPUT)
def test_late_copies_change_nothing(kernel, module, version, oracle):
    x = np.random.default_rng(6).standard_normal(30_000).astype(np.float16)
    found = [poisoned(x.size, np.float16) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        module.launch(version, x, y, kernel=kernel(module, version, np.float16), blocks=2, schedule=schedule)
    assert same_bits(*found)


@pytest.mark.parametrize("version", [*swiglu.VERSIONS, *gelu.VERSIONS, *sinh.VERSIONS], ids=lambda v: v.path.stem)
def test_every_version_says_what_changed_and_why(version):
    heads = [line.split(":")[0] for line in version.comment.splitlines() if re.match(r"[A-Z][\w ]*: ", line)]
    assert heads in (["What", "Why", "Timeline"], ["What changed", "Why", "Timeline"])
    assert version.comment.startswith(version.path.parent.name + ",")
