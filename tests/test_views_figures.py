"""UB map, plan, roofline, sweep, bars: what is drawn, as data."""

import numpy as np
import pytest

import synthetic_run as make
from helpers.errors import Finding, WorkbookError
from helpers.views.accuracy import error_map, ulp_error
from helpers.views.bars import bars
from helpers.views.costs import lanes_of, stacked
from helpers.views.fractals import fractals
from helpers.views.memory import bank_cycles, bank_groups, bank_map, memory
from helpers.views.online import walk
from helpers.views.roofline import point, roofline, roofs
from helpers.views.rounds import rounds
from helpers.views.schedule import gantt
from helpers.views.sweep import plot_sweep, sweep
from helpers.views.timeline import timelines
from helpers.views.ub_map import buffers_of, lives, peak_bytes, reserved_bytes, ub_map
from helpers.views.ub_plan import ub_plan

LADDER = [("v0 scalar", 1242296.0, 1239689.0), ("v1 vector", 6832.0, 6910.0), ("v2 48 cores", 328.4, None)]


# ---- UB map
def test_one_rectangle_per_buffer_life():
    run = make.pipeline(blocks=2, tiles=8, buffers=2, tile_bytes=16384)
    found = lives(run, 1)
    assert len(found) == 3 * 8  # three queues, one life per tile
    for buffer in {x.buffer for x in found}:
        mine = [x for x in found if x.buffer == buffer]
        assert [x.turn for x in mine] == [buffer.slot, buffer.slot + 2, buffer.slot + 4, buffer.slot + 6]  # its tiles
        assert all(a.end <= b.start for a, b in zip(mine, mine[1:]))  # one owner at a time


def test_reserved_peak_and_free_bytes():
    picture = ub_map(make.pipeline(blocks=1, tiles=8, buffers=2, tile_bytes=16384))
    assert (
        picture.data["reserved"] == 6 * 16384
        and picture.data["capacity"] == 196608
        and picture.data["free"] == 96 * 1024
    )
    moments = np.unique([t for x in picture.data["lives"] for t in (x.start, x.end)])
    by_hand = max(sum(x.buffer.bytes for x in picture.data["lives"] if x.start <= t < x.end) for t in moments)
    assert picture.data["peak"] == by_hand
    assert "reserved 96 KB of 192 KB, free 96 KB" in picture.alt and "estimate (Ascend910B1)" in picture.alt


def test_a_buffer_without_queue_lives_all_the_time():
    run = make.pipeline(blocks=1, tiles=2)
    run.buffers.append(dict(name="tmp", slot=0, mem=1, addr=60_000, bytes=1024, line=9, core=0))
    (tmp,) = [x for x in lives(run, 0) if x.buffer.name == "tmp"]
    assert (tmp.start, tmp.end, tmp.turn) == (0.0, max(run.core_end), -1) and tmp.buffer.label == "tmp"
    assert peak_bytes([tmp]) == 1024


def test_a_leak_lives_to_the_end():
    run = make.pipeline(blocks=1, tiles=2)
    run.marks = [m for m in run.marks if m[2] or m[1] != 0]  # buffer 0 is never freed
    assert max(x.end for x in lives(run, 0) if x.buffer.addr == 0) == max(run.core_end)


def test_overlapping_buffers_count_once():
    run = make.pipeline(blocks=1, tiles=1, buffers=1, tile_bytes=1024)
    for b in run.buffers:
        b["addr"] = 0
    assert reserved_bytes(buffers_of(run, 0).values()) == 1024


def test_the_map_has_units_and_other_memories():
    picture = ub_map(make.pipeline())
    axes = picture.figure.axes[0]
    assert (
        "us" in axes.get_xlabel()
        and "KB" in axes.get_ylabel()
        and "estimate (Ascend910B1)" in axes.get_title(loc="left")
    )
    assert ub_map(make.pipeline(), mem="L1").data["lives"] == [] and ub_map(make.empty()).png()
    with pytest.raises(ValueError, match="Block 9 is not part"):
        ub_map(make.pipeline(blocks=2), block=9)


def test_plan_says_what_fits():
    fits = ub_plan([("inX", 2, 32768), ("inY", 2, 32768), ("outZ", 2, 32768)])
    assert fits.data["need"] == 196608 and "0 B free" in fits.alt
    assert "48 KB too many" in ub_plan([("inX", 2, 40960), ("inY", 2, 40960), ("outZ", 2, 40960)]).alt


# ---- roofline
def test_roofline_numbers_of_add():
    run = make.pipeline(blocks=48, tiles=8)
    p, limits = point(run), roofs(run)
    assert p.intensity() == pytest.approx(1 / 6) and p.gops == pytest.approx(48 * 8 * 4096 / run.time_us / 1e3)
    assert limits.flat["vector, half"] == pytest.approx(48 * 128 * 1.85) and limits.hbm == 1600
    assert limits.at(1 / 6) == pytest.approx(1600 / 6) and limits.at(1000) == limits.flat["vector, half"]


def test_a_copy_has_no_point():
    run = make.pipeline()
    run.totals["vector_elements"] = 0
    assert "no vector arithmetic" in roofline(run).alt and roofline(make.empty()).png()


def test_several_runs_in_one_roofline():
    picture = roofline({"v1": make.pipeline(blocks=1), "v2": make.pipeline(blocks=48)})
    assert [p.name for p in picture.data["points"]] == ["v1", "v2"] and "v2" in picture.alt
    axes = picture.figure.axes[0]
    assert (
        axes.get_xscale() == axes.get_yscale() == "log" and "Gop/s" in axes.get_ylabel() and "byte" in axes.get_xlabel()
    )


# ---- sweep
def too_large(kb):
    if kb > 32:
        raise WorkbookError("no", findings=[Finding("UB_OVERFLOW", "error", 3, "does not fit")])
    return make.pipeline(tiles=max(1, 64 // kb), load=100.0 + 20 * kb)


def test_sweep_keeps_what_did_not_run():
    found = sweep(too_large, [8, 16, 32, 64])
    assert found.values == [8, 16, 32, 64] and found.times[3] is None and found.failed == {64: "UB_OVERFLOW"}
    assert (
        found.times[:3] == [too_large(v).time_us for v in (8, 16, 32)]
        and found.best == found.values[int(np.argmin(found.times[:3]))]
    )
    picture = plot_sweep(found, x="tile, KB")
    assert "64 does not run (UB_OVERFLOW)" in picture.alt and "estimate (Ascend910B1)" in picture.alt
    line = picture.figure.axes[0].lines[0]
    assert line.get_xdata().tolist() == [8, 16, 32] and picture.figure.axes[0].get_xlabel().startswith("tile, KB")


def test_sweep_takes_times_and_other_errors_end_it():
    assert sweep(lambda v: v * 2.0, [1, 2]).times == [2.0, 4.0]
    with pytest.raises(ZeroDivisionError):
        sweep(lambda v: 1 / v, [0])
    assert plot_sweep(sweep(float, [])).png() and sweep(float, []).best is None


# ---- bars
def test_bars_show_estimate_and_published():
    picture = bars(LADDER, title="Add", chip="Ascend910B1", source="Add sample")
    assert (
        "v0 scalar: estimate 1,242,296 us, published 1,239,689 us" in picture.alt
        and "published not known" in picture.alt
    )
    axes = picture.figure.axes[0]
    assert (
        axes.get_xscale() == "log"
        and "us" in axes.get_xlabel()
        and "estimate (Ascend910B1)" in axes.get_title(loc="left")
    )
    widths = [p.get_x() + p.get_width() for p in axes.patches if p.get_width() > 0]
    assert sorted(widths) == pytest.approx(sorted(v for _, *vs in LADDER for v in vs if v))


def test_bars_before_anything_is_known():
    assert "not known" in bars([(n, None, None) for n, _, _ in LADDER]).alt


@pytest.mark.parametrize(
    "draw",
    [
        lambda: ub_map(make.pipeline()),
        lambda: ub_plan([("a", 1, 32)]),
        lambda: roofline(make.pipeline()),
        lambda: plot_sweep(sweep(float, [1, 2])),
        lambda: bars(LADDER),
    ],
)
def test_two_renderings_have_the_same_bytes(draw):
    picture = draw()
    assert picture.png() == draw().png() and len(picture.png()) < 60_000
    bundle, metadata = picture._repr_mimebundle_()
    assert bundle["text/plain"] == picture.alt == metadata["image/png"]["alt"]


# ---- hardware
def test_memory_picture_takes_its_numbers_from_the_profile():
    assert "192 KB of UB" in memory("Ascend910B1").alt and "256 KB of UB" in memory("Ascend310P3").alt
    assert memory().png() == memory().png()


@pytest.mark.parametrize(
    "operands, cycles",
    [
        ([("x", 0, "read"), ("y", 65536, "read"), ("z", 131072, "write")], 2),  # both sources start in group 0
        ([("x", 0, "read"), ("y", 65536 + 256, "read"), ("z", 131072, "write")], 1),  # 256 B apart: no shared group
        ([("x", 0x1FE00, "read", 16)], 8),  # all eight blocks in one group
        ([("x", 0, "read", 8)], 4),
        ([("x", 0, "read"), ("x", 0, "read")], 1),  # the same rows count once
    ],
)
def test_bank_groups(operands, cycles):
    assert bank_cycles(operands) == cycles and bank_map(operands).data["cycles"] == cycles


def test_bank_group_of_an_address():
    assert [bank_groups(a)[0] for a in (0x10000, 0x10020, 0x20020)] == [0, 1, 1]
    assert set(bank_groups(0x1FE00, stride=16)) == {0}


def test_blocks_without_a_list_of_their_own_use_the_first_ones():
    run = make.pipeline(blocks=3, tiles=4)
    run.buffers = [b for b in run.buffers if b["core"] == 0]
    assert [x.buffer for x in lives(run, 2)] == [x.buffer for x in lives(run, 0)] != []


NOTHING = {"gantt": lambda: gantt([], title="t"), "stacked": lambda: stacked({}, x="x", title="t"), "lanes_of": lambda: lanes_of([], title="t", notice="n"), "walk": lambda: walk([]),
           "rounds": lambda: rounds({}, 4), "timelines": lambda: timelines({})}


@pytest.mark.parametrize("name", NOTHING)
def test_a_picture_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match="nothing to draw: .* is empty"):
        NOTHING[name]()


def test_numbers_that_no_picture_has():
    for call, words in ((lambda: rounds({"a": 3}, 0), "at least one core"), (lambda: fractals(0, 4), "no matrix in fractals"), (lambda: fractals(4, 4, itemsize=3), "no matrix in fractals"),
                        (lambda: error_map(np.zeros((0, 4), np.float16), np.zeros((0, 4)), title="t"), "rows and columns"), (lambda: ulp_error(np.zeros(3, np.float16), np.zeros(4)), "of the expected shape"),
                        (lambda: ulp_error(np.zeros(3, np.int32), np.zeros(3)), "not for int32")):
        with pytest.raises(ValueError, match=words):
            call()
    assert rounds({"a": 3}, 2).alt and ulp_error(np.zeros(3, np.float16), 0.0).tolist() == [0, 0, 0]
