"""Pictures of errors and of cycles by instruction: what they say, and the numbers behind them."""
import numpy as np
import pytest

from helpers.course import load
from helpers.views.accuracy import error_map, ulp_curves, ulp_error
from helpers.views.costs import lanes_of, op_cycles, stacked


def test_ulp_counts_steps_of_the_type():
    one = np.float16(1)
    assert ulp_error(np.nextafter(one, np.float16(2)), 1.0) == 1                   # 1 is where the step changes
    assert ulp_error(np.nextafter(one, np.float16(0)), 1.0) == 0.5
    assert ulp_error(np.float32(1), 1 + 2.0 ** -24) == 0.5
    assert ulp_error(np.float16(0), 2.0 ** -25) == 0.5                             # below the smallest number
    assert ulp_error(np.array([np.nan, np.inf, 1], np.float16), np.array([np.nan, np.inf, np.nan])).tolist() == [0, 0, np.inf]


def test_curves_show_infinity():
    picture = ulp_curves({"half": {16: 1.5, 64: float("inf")}, "float": {16: 0.5, 64: 0.5}}, x="elements", title="error")
    assert "half: 16: 1.5, 64: inf" in picture.alt and picture.png() == picture.png()


def test_the_map_names_wrong_columns():
    expected = np.random.default_rng(0).random((8, 20))
    actual = expected.astype(np.float32)
    assert "no place is wrong" in error_map(actual, expected, title="right").alt
    actual[:, 16:] = 0
    picture = error_map(actual, expected, title="tail")
    assert "more than 1 ULP: 32" in picture.alt and "wrong columns 16 to 19" in picture.alt


def test_cycles_by_instruction_are_the_busy_time():
    ladder = load("rms_norm", "ladder")
    x, gamma = np.ones((20, 1024), np.float32), np.ones(1024, np.float32)
    run = ladder.launch(ladder.VERSIONS[1], x, gamma, np.empty_like(x))
    cycles = op_cycles(run, per=20)
    assert list(cycles)[0] == "ReduceSum" and cycles["ReduceSum"] == pytest.approx(130 + 7 * 16)
    assert sum(cycles.values()) * 20 == pytest.approx(run.busy[:, 1].sum() * 1.85, rel=1e-6)
    assert "Mul" not in op_cycles(run, pipe="MTE2")


def test_bars_keep_the_largest_parts():
    picture = stacked({"a": {"Exp": 50.0, "Add": 5.0, "Cast": 1.0}, "b": {"Exp": 20.0}}, x="cycles", title="parts", most=2)
    assert "a: 56, of which Exp 50.0, Add 5.00, other 1.00; b: 20, of which Exp 20.0" in picture.alt


def test_lanes_say_who_belongs_together():
    picture = lanes_of([("x", ["a", "b"], [0, 0])], title="pairs", notice="both.")
    assert picture.alt == "pairs. x: a b. Notice: both." and picture.png()
