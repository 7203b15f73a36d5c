"""How long the workbook itself takes (`make bench`); in `make test` each step runs once, so that it keeps working."""
import itertools
from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from helpers.build import compile as builder

ADD = Path(__file__).parents[1] / "kernels" / "add" / "v4_double_buffer.cpp"
_edits = itertools.count()


@pytest.fixture(scope="module")
def add():
    return hp.compile(ADD), hp.tiling_struct(ADD, "AddTiling")


def arrays(n):
    x = (np.arange(n) % 1000).astype(np.float16)
    return x, x[::-1].copy(), np.zeros(n, np.float16)


def test_bench_edited_cell(benchmark):
    text = ADD.read_text()
    benchmark.pedantic(lambda: builder.build(f"{text}// edit {next(_edits)} {id(benchmark)}\n"), rounds=5, warmup_rounds=1)


def test_bench_unchanged_cell(benchmark):
    text = ADD.read_text()
    benchmark(lambda: builder.build(text))


@pytest.mark.parametrize("checks", ["full", "off"])
@pytest.mark.parametrize("n", [48 * 1024, 48 * 256 * 1024])
def test_bench_launch(benchmark, add, n, checks):
    kernel, Tiling = add
    x, y, z = arrays(n)
    tiling = Tiling(length=n, share=n // 48)
    benchmark.pedantic(lambda: kernel.launch(48, (x, y, z, tiling), checks=checks), rounds=3, warmup_rounds=1)
    hp.check(z, x + y)


def test_bench_numpy_for_comparison(benchmark):
    x, y, z = arrays(48 * 256 * 1024)
    benchmark.pedantic(lambda: np.add(x, y, out=z), rounds=3)
