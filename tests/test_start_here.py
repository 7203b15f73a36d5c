"""The exercises of 00_start_here have the answers that the chapter gives."""
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed
from chapters import cell_of

ADD = "Add(zLocal, xLocal, yLocal, TILE);"


@pytest.fixture(scope="module")
def text():
    return cell_of("00_start_here", "add_custom")


def arrays():
    rng = np.random.default_rng(0)
    return rng.standard_normal(1024).astype(np.float16), rng.standard_normal(1024).astype(np.float16), np.full(1024, np.nan, np.float16)


def test_solution_of_the_scalar(text):
    x, y, z = arrays()
    with_scalar = changed(text, ADD, ADD + " Adds(zLocal, zLocal, static_cast<half>(-0.5f), TILE);")
    hp.compile(with_scalar)[1](x, y, z)
    assert (z == x + y - np.float16(0.5)).all()


def test_the_hint_finds_the_limit_of_block_count(text):
    rows = changed(text, "DataCopy(xLocal, xGm, TILE);", "DataCopyPad(xLocal, xGm, {5000, 32, 0, 0, 0}, {false, 0, 0, 0});")
    with pytest.raises(hp.KernelError) as caught:
        hp.compile(rows)[1](*arrays())
    assert any(f.code == "BAD_PARAMETER" and "4095" in f.message + f.hint for f in caught.value.findings)
