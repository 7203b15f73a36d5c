"""Pictures of the attention chapters: the walk of online softmax, hand-overs, tasks on cores, a slider."""
import numpy as np
import pytest

from helpers.views.online import walk
from helpers.views.schedule import gantt, handover
from helpers.views.widgets import stepper


def states(values, block):
    m, l, found = -np.inf, 0.0, []
    for j in range(0, len(values), block):
        new = max(m, values[j:j + block].max())
        with np.errstate(invalid="ignore"):
            factor = np.exp(m - new)
        l, m = l * factor + np.exp(values[j:j + block] - new).sum(), new
        found.append((m, l, factor))
    return found


def test_walk_counts_the_repairs():
    found = states(np.array([1.0, 3.0, 2.0, 5.0, 4.0, 0.0]), 2)
    assert found[1] == pytest.approx((5, np.exp([-4, -2, -3, 0]).sum(), np.exp(-2)))
    picture = walk(found)
    assert "1 block after the first had to repair" in picture.alt and picture.png()[:4] == b"\x89PNG"
    assert "block 2" not in walk(found, upto=1).alt


def test_handover_names_what_each_lane_does():
    picture = handover({"AIC": [(0, 1, "S0"), (2, 1, "O0")], "AIV": [(1.1, .8, "P0")]}, [("AIC", 1, "AIV", 1.1, "flag 0"), ("AIV", 1.9, "AIC", 2, "")],
                       title="turns", notice="one lane is always empty.")
    assert "AIC: S0 O0; AIV: P0" in picture.alt and picture.png()


def test_gantt_says_when_the_last_core_ends_and_how_busy_all_are():
    picture = gantt({"even": [[(0, 0, 2)], [(1, 0, 2)]], "uneven": [[(0, 0, 4)], []], "third": [[(0, 0, 1), (1, 1, 2)]]}, title="three")
    assert "even: the last of 2 cores ends at 2.00 us, busy 100%" in picture.alt and "uneven: the last of 2 cores ends at 4.00 us, busy 50%" in picture.alt
    assert picture.png() == gantt(picture.data, title="three").png()


def test_stepper_draws_what_the_slider_says():
    drawn = []

    def draw(n):
        drawn.append(n)
        return walk(states(np.arange(8.0), 2), upto=n)

    box = stepper(draw, range(1, 5), name="blocks")
    slider, picture = box.children
    assert drawn == [4] and slider.value == 4 and picture.value == draw(4).png()
    slider.value = 2
    assert drawn[-1] == 2 and picture.value == draw(2).png()
