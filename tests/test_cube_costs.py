"""Estimated times of the cube pipes: the worked numbers of the cost model, from kernels that ran."""

import numpy as np
import pytest

import helpers as hp
from cube_kernels import WIDTH, product

GHZ = hp.chip("Ascend910B1").clock_ghz


def events(run, op):
    e = run.events[[run.ops[i] == op for i in run.events["op"]]]
    return np.sort(e, order="start")


def launch(t, way, m, n, k, before=""):
    shape_b = (n, k) if way.endswith("bt") else (k, n)
    a, b = np.zeros((m, k), hp_type(t)), np.zeros(shape_b, hp_type(t))
    c = np.zeros((m, n), np.int32 if t == "int8_t" else np.float32)
    return product(t, way, before)[1](a, b, c, np.uint32(m), np.uint32(n), np.uint32(k))


def hp_type(t):
    return {"half": np.float16, "float": np.float32, "int8_t": np.int8}[t]


@pytest.mark.parametrize("t, way, before, depth", [("half", "2d", "", 16), ("int8_t", "2d-bt", "", 32), ("float", "2d-bt", "", 4), ("float", "2d-bt", "SetHF32Mode(true);", 8)])
def test_mmad_takes_a_cycle_per_cube(t, way, before, depth):
    for m, n, k in ((128, 128, 64), (100, 33, 20)):
        e, = events(launch(t, way, m, n, k, before), "Mmad")
        whole = -(-k // WIDTH[t]) * WIDTH[t]
        cycles = -(-m // 16) * -(-n // 16) * -(-whole // depth)
        assert (e["end"] - e["start"]) * GHZ == pytest.approx(cycles + 24, abs=0.05)
        assert e["elements"] == m * n * k


def test_the_step_of_the_ladder():
    """128 x 256 x 64 half: 320 cycles of loads, 522 of Mmad."""
    run = launch("half", "2d", 128, 256, 64)
    loads, (mmad,) = events(run, "LoadData"), events(run, "Mmad")
    a, b = loads[:8], loads[8:]
    assert len(b) == 4
    start = 2                                              # cycles of each instruction
    assert ((a["end"] - a["start"]) * GHZ - start).sum() == pytest.approx(128 * 64 * 2 / 256, abs=0.1)
    assert ((b["end"] - b["start"]) * GHZ - start).sum() == pytest.approx(64 * 256 * 2 / 128, abs=0.1)
    assert (mmad["end"] - mmad["start"]) * GHZ == pytest.approx(512 + 24, abs=0.1)
    fix, = events(run, "Fixpipe")
    assert fix["end"] - fix["start"] == pytest.approx(25 + 128 * 256 * 4 / 134 / GHZ, rel=0.02)
