"""The timeline: lanes, merging, windows. What is drawn is checked as data; pixels only for being the same twice."""

import json
import re
import time

import numpy as np
import pytest

import synthetic_run as make
from helpers.views import data, picture
from helpers.views.lanes import choose_cores, lanes, merge
from helpers.views.timeline import timeline, timelines
from helpers.views.timeline_html import timeline_html


def all_lanes(run, blocks="all"):
    return lanes(run, choose_cores(run, blocks))


def test_lanes_follow_the_data():
    found = all_lanes(make.pipeline(blocks=2))
    assert [(x.info.core, x.pipe) for x in found] == [(c, p) for c in (0, 1) for p in ("MTE2", "V", "MTE3")]


def test_rectangles_have_the_times_of_their_instructions():
    run = make.pipeline(blocks=1, tiles=3)
    for lane in all_lanes(run):
        rects = merge(lane, 0, data.span_ns(run), 100_000)
        np.testing.assert_allclose(rects.start, lane.events["start"])
        np.testing.assert_allclose(rects.end, lane.events["end"])
        assert (rects.count == 1).all() and np.allclose(rects.share, 1)


@pytest.mark.parametrize("pixels", [7, 50, 333, 1000, 20_000])
def test_merging_keeps_the_busy_time_and_never_overlaps(pixels):
    run = make.pipeline(blocks=1, tiles=400)
    span = data.span_ns(run)
    for lane in all_lanes(run):
        rects = merge(lane, 0, span, pixels)
        length = rects.end - rects.start
        assert (length > 0).all() and (rects.end[:-1] <= rects.start[1:] + 1e-9).all()
        assert rects.share.min() > 0 and rects.share.max() <= 1 + 1e-9
        assert np.isclose((length * rects.share).sum(), data.union_ns(lane.events))
        assert rects.count.sum() == len(lane.events)
        assert len(rects) <= pixels


def test_merged_rectangles_are_few():
    run = make.many(200_000, blocks=1)
    (lane,) = all_lanes(run)
    rects = merge(lane, 0, data.span_ns(run), 700)
    assert len(lane.events) == 200_000 and 200 <= len(rects) <= 240  # one per three pixels
    assert np.allclose(rects.share[1:-1], 0.75, atol=0.01)  # 3 ns of every 4


def test_overlapping_instructions_of_one_pipe_share_the_time():
    run = make.empty()
    run.events = np.zeros(3, data.EVENT)
    run.events["start"], run.events["end"], run.events["pipe"] = [0, 10, 12], [30, 15, 40], data.PIPES.index("MTE2")
    run.core_end = np.array([40.0])
    (lane,) = all_lanes(run)
    rects = merge(lane, 0, 40, 4000)
    assert rects.start.tolist() == [0, 10, 12] and rects.end.tolist() == [10, 12, 40]
    assert data.union_ns(run.events) == 40
    run.events["start"], run.events["end"] = [0, 10, 20], [30, 15, 25]  # the first outlasts the others
    assert data.union_ns(run.events) == 30


def test_a_window_cuts_at_its_ends():
    run = make.pipeline(blocks=1, tiles=8)
    for lane in all_lanes(run):
        rects = merge(lane, 1000, 1500, 1000)
        assert rects.start.min() >= 1000 and rects.end.max() <= 1500 and (rects.start < rects.end).all()


def test_tiles_count_the_turns_of_the_loop():
    run = make.pipeline(blocks=1, tiles=6)
    for lane in all_lanes(run):
        assert sorted(set(lane.tile)) == list(range(6))
        per_tile = 2 if lane.pipe == "MTE2" else 1
        assert np.bincount(lane.tile).tolist() == [per_tile] * 6


def test_inner_loops_belong_to_their_tile():
    run = make.pipeline(blocks=1, tiles=2)
    row = run.events[0].copy()
    row["pipe"], row["line"], row["op"] = data.PIPES.index("V"), 11, 1
    inner = np.repeat(np.array([row]), 6)  # three rows per tile
    inner["start"] = 1000.0 + np.arange(6)
    inner["end"] = inner["start"] + 0.5
    both = np.concatenate([run.events, inner])
    assert data.tiles(both)[-6:].tolist() == [0, 0, 0, 1, 1, 1]


def test_which_cores_are_shown():
    run = make.pipeline(blocks=48, tiles=2)
    run.core_end[17] += 100
    assert [c.core for c in choose_cores(run)] == [0, 1, 17]  # two, and the one that sets the time
    assert len(choose_cores(run, "all")) == 48
    assert [c.block for c in choose_cores(run, [3, 5])] == [3, 5]
    assert [c.block for c in choose_cores(run, 7)] == [7]
    with pytest.raises(ValueError, match="Block 48 is not part of this run: it has blocks 0 to 47"):
        choose_cores(run, 48)


def test_flags_are_shown_on_request():
    run = make.pipeline(blocks=1, tiles=1)
    run.ops = ["DataCopy", "SetFlag", "DataCopy"]
    assert "V" not in [x.pipe for x in lanes(run, choose_cores(run))]
    assert "V" in [x.pipe for x in lanes(run, choose_cores(run), flags=True)]


def test_picture_says_what_it_shows():
    picture = timeline(make.pipeline(blocks=48))
    assert (
        picture.alt.startswith("add: timeline, estimate (Ascend910B1).")
        and "us" in picture.alt
        and "2 of 48 cores shown" in picture.alt
    )
    axes = picture.figure.axes[0]
    assert "estimate (Ascend910B1)" in axes.get_title(loc="left") and "us" in axes.get_xlabel()
    assert repr(picture) == picture.alt


def test_a_window_without_length_is_explained():
    with pytest.raises(ValueError, match="end must lie after start"):
        timeline(make.pipeline(), start=2, end=1)


def test_two_renderings_have_the_same_bytes():
    one, two = (timeline(make.pipeline(blocks=3)).png() for _ in range(2))
    assert one == two and one.startswith(b"\x89PNG") and b"tIME" not in one and b"Software" not in one


def test_no_global_state_leaks():
    import matplotlib

    before = dict(matplotlib.rcParams)
    matplotlib.rcParams["font.size"] = 31
    try:
        odd = timeline(make.pipeline()).png()
        assert matplotlib.rcParams["font.size"] == 31
    finally:
        matplotlib.rcParams.update(before)
    assert odd == timeline(make.pipeline()).png()
    import sys

    if "matplotlib.pyplot" in sys.modules:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == []


@pytest.mark.parametrize("run", [make.empty(), make.pipeline(blocks=1, tiles=1)], ids=["empty", "one tile"])
def test_small_runs(run):
    assert timeline(run).png() and timeline_html(run).html


def test_one_event():
    run = make.pipeline(blocks=1, tiles=1)
    run.events = run.events[:1]
    picture = timeline(run)
    (lane,) = picture.data
    assert lane["lane"] == (0, "MTE2") and len(lane["rects"]) == 1


def test_large_runs_are_quick():
    run = make.many(200_000, blocks=4)
    start = time.perf_counter()
    timeline(run).png()
    assert time.perf_counter() - start < 10
    start = time.perf_counter()
    page = timeline_html(run)
    assert time.perf_counter() - start < 10 and len(page.html) < 500_000


def test_runs_under_one_another_share_the_axis():
    picture = timelines(
        {"one buffer": make.pipeline(tiles=8, buffers=1), "two buffers": make.pipeline(tiles=8, buffers=2)}
    )
    first, second = picture.figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert "one buffer" in first.get_title(loc="left") and "two buffers" in second.get_title(loc="left")


def test_html_is_self_contained_and_the_same_twice():
    run = make.pipeline(blocks=2)
    run.name = "add</script><b>"
    run.ops[1] = "Add</script>"
    page, again = timeline_html(run), timeline_html(run)
    assert page.html == again.html
    assert "http" not in page.html and "src=" not in page.html
    assert page.html.count("<script>") == page.html.count("</script>") == 1
    content = json.loads(re.search(r"const DATA = (.*);\n", page.html).group(1))
    assert len(content["lanes"]) == 6 and content["ops"] == run.ops
    assert "estimate (Ascend910B1)" in page.html
    bundle, _ = page._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe srcdoc=") and bundle["text/plain"] == page.text


@pytest.mark.parametrize("width", [0, -1])
def test_a_figure_has_a_width(width):
    with pytest.raises(ValueError, match="inches wide"):
        picture.new_figure(width, 2)


@pytest.mark.parametrize("options, words", [({"width": 0}, "so many inches wide"), ({"width": "x"}, "so many inches wide"), ({"width": 1e9}, "so many inches wide"),
                                            ({"pipes": ["MTE2", "Q"]}, "Q is no pipe. Pipes: S, V"), ({"pipes": 3}, "3 is no pipe")])
def test_what_cannot_be_drawn_is_said(options, words):
    run = make.pipeline(blocks=1)
    with pytest.raises(ValueError, match=words):
        timeline(run, **options)
    assert "per pipe (MTE2)" in timeline(run, width=np.int64(6), pipes="MTE2").alt
