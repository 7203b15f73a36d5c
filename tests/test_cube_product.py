"""Products of every element type by every way into L0, against NumPy in double."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cube_kernels import run_product
from helpers.build import compiler

ROOT = Path(__file__).parent.parent
SHAPES = st.tuples(st.integers(2, 70), st.integers(1, 70), st.integers(1, 100))
WAYS = [("half", "2d"), ("half", "2d-bt"), ("half", "2d-at"), ("bfloat16_t", "2d"), ("half", "3d"), ("half", "3d-at"), ("float", "3d-float-at"),
        ("float", "float"), ("float", "float-at"), ("int8_t", "int8"), ("int8_t", "int8-at"), ("int8_t", "2d-bt"), ("float", "2d-bt")]


@pytest.mark.parametrize("t, way", WAYS)
def test_every_way_into_l0(t, way):
    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    @given(shape=SHAPES, seed=st.integers(0, 99))
    def check(shape, seed):
        m, n, k = shape
        if way.startswith("int8") and (n + 15) // 16 % 2:
            n = (n + 31) // 32 * 32                        # the pitch of L0B would not be that of Mmad (see the documentation of the call)
        got, want = run_product(t, way, m, n, k, np.random.default_rng(seed))
        if t == "int8_t":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-5)
    check()


def test_the_width_of_vectors_does_not_show(tmp_path):
    """The inner products built for this machine's vectors, and for the plainest machine: the same bytes."""
    runtime = ROOT / "helpers" / "twin" / "runtime"
    sums = set()
    for name, flags in (("native", ["-march=native"]), ("plain", [])):
        out = compiler.find().run(["-std=c++17", "-O2", "-ffp-contract=off", *flags, f"-I{ROOT / 'helpers/twin/include'}", f"-I{runtime}", ROOT / "tests/cpp/product_driver.cpp",
                                   runtime / "cube_product.cpp", "-o", tmp_path / name])
        assert out.returncode == 0, out.stdout
        sums.add(subprocess.run([tmp_path / name], capture_output=True, text=True, check=True).stdout)
    assert len(sums) == 1 and len(sums.pop().strip()) == 16
