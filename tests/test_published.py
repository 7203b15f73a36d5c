"""The acceptance targets of the estimate, on the real kernels at the published size: 3 x 134 MB, a few seconds."""
from __future__ import annotations

import statistics

import pytest

from helpers.course.published import Row, Step, ladder_steps, measure, order, table


@pytest.fixture(scope="module")
def rows():
    return measure(ladder_steps("add", checks="off", timeout=300.0))


def test_errors_of_the_add_ladder(rows):
    assert [r.name for r in rows] == [f"v{i}" for i in range(7)]
    assert statistics.median(abs(r.error) for r in rows) <= 0.05
    assert max(abs(r.error) for r in rows) <= 0.10


def test_order_of_the_add_ladder(rows):
    assert order(rows) == "the order is right"


def test_vector_time_of_the_add_ladder(rows):
    for row in rows[1:]:
        assert row.vector_us == pytest.approx(row.published_vector_us, rel=0.05)


def row(name, ours, published):
    return Row(name, "", ours, published, 0, None, 0, 1)


def test_order_tells_ties_from_mistakes():
    assert order([row("a", 10, 10), row("b", 9, 9)]) == "the order is right"
    assert order([row("a", 10, 10), row("b", 10.05, 9.9)]) == "the order is right"      # 0.5 % where 1 % was measured
    assert order([row("a", 10, 10), row("b", 10.2, 9.9)]) == "wrong order: a and b"
    assert order([row("a", 10, 10), row("b", 10.05, 9)]) == "wrong order: a and b"


class Ran:
    time_us, totals = 11.7, {"launch_ns": 1700.0}

    class busy:
        def __class_getitem__(cls, _):
            import numpy as np
            return np.array([2000.0])


def test_table_scales_the_work_but_not_the_launch():
    rows = measure([Step("v0", Ran, published_us=90, published_vector_us=19, scale=10)])
    assert rows[0].ours_us == pytest.approx(101.7) and rows[0].vector_us == pytest.approx(20)
    text = table(rows, "Ascend910B1")
    assert "1/10 of the rows run, scaled" in text and "+13.0%" in text and "Ascend910B1" in text
