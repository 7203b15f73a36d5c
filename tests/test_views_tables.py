"""Tables and pages: numbers against plain loops, HTML well formed, the same text twice."""

import json
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import synthetic_run as make
from helpers.errors import Finding
from helpers.views import data, text
from helpers.views.chrome_trace import chrome_trace
from helpers.views.compare import compare, first_difference
from helpers.views.hot_lines import hot_lines, line_costs
from helpers.views.pipe_table import bound, pipe_rows, pipe_table
from helpers.views.report import report

EMPTY = make.empty()


def well_formed(page):
    xml.fromstring("<html>" + page.fragment + "</html>")
    xml.fromstring(page.html.replace("<!DOCTYPE html>", ""))
    return True


@pytest.mark.parametrize(
    "view",
    [pipe_table, hot_lines, report, lambda r: compare(r, make.pipeline())],
    ids=["pipes", "lines", "report", "compare"],
)
@pytest.mark.parametrize(
    "run", [EMPTY, make.pipeline(blocks=1, tiles=1), make.pipeline(blocks=48)], ids=["empty", "one tile", "48 blocks"]
)
def test_pages_are_well_formed_and_stable(view, run):
    page, again = view(run), view(run)
    assert well_formed(page) and page.html == again.html and page.text == again.text
    assert "estimate (Ascend910B1)" in page.text and "estimate (Ascend910B1)" in page.fragment


def test_text_of_the_kernel_is_escaped():
    run = make.pipeline()
    run.name = "<b>&"
    run.findings = [Finding("NUMERIC", "warning", 4, "a < b & c", "use <half>")]
    assert well_formed(report(run)) and well_formed(hot_lines(run)) and "<b>&" not in report(run).fragment


def test_busy_share_per_pipe():
    run = make.pipeline(blocks=2, tiles=8, buffers=2)
    rows = {r.pipe: r for r in pipe_rows(run)}
    span = max(run.core_end)
    assert [r.pipe for r in pipe_rows(run)] == ["MTE2", "V", "MTE3"]
    assert rows["MTE2"].mean_us == pytest.approx(8 * 2 * 165 / 1e3) and rows["MTE2"].share == pytest.approx(
        8 * 2 * 165 / span
    )
    assert rows["V"].mean_us == pytest.approx(8 * 46.5 / 1e3)


def test_busy_time_from_events_equals_the_given():
    run = make.pipeline(blocks=3)
    given, run.busy = run.busy, None
    np.testing.assert_allclose(data.busy(run), given)


def test_bound_names_what_sets_the_time():
    assert bound(make.pipeline(blocks=1, tiles=100, buffers=2))[0] == "MTE2"
    assert bound(make.pipeline(blocks=1, tiles=100, load=20, compute=400, store=20))[0] == "V"
    assert bound(make.pipeline(blocks=1, tiles=100, buffers=1, load=50, compute=90, store=80))[0] == "waiting"
    assert bound(make.pipeline(blocks=1, tiles=1))[0] == "launch"
    assert bound(EMPTY)[0] == "launch"
    run = make.pipeline(blocks=48, tiles=100)
    run.totals["hbm_busy_ns"] = 0.95 * max(run.core_end)
    assert bound(run)[0] == "HBM"


def test_both_core_kinds_have_rows():
    run = make.pipeline(blocks=2)
    run.events["kind"][run.events["core"] == 1] = 1
    assert [(r.kind, r.pipe) for r in pipe_rows(run)] == [(k, p) for k in ("AIV", "AIC") for p in ("MTE2", "V", "MTE3")]


def test_cycles_per_line():
    run = make.pipeline(blocks=2, tiles=8)
    cost = {h.line: h for h in line_costs(run)}
    assert sorted(cost) == list(range(1, 15))
    assert cost[10].pipes["V"] == pytest.approx(2 * 8 * 46.5 * 1.85)
    assert cost[10].pipes["S"] == 80 and cost[10].cycles == pytest.approx(2 * 8 * 46.5 * 1.85 + 80)
    assert cost[12].calls == 16 and cost[1].cycles == 0
    assert "Add(c," in hot_lines(run).text and hot_lines(run, top=2).text.count("DataCopy") == 2


def test_line_numbers_start_where_the_cell_does():
    run = make.pipeline()
    run.first_line = 2
    run.events["line"] += 1
    cost = {h.line: h for h in line_costs(run)}
    assert "Add(c," in cost[11].source and "V" in cost[11].pipes


def test_lines_of_headers_are_not_the_kernels():
    run = make.pipeline()
    run.events = np.concatenate([run.events, run.events[:3]])
    run.events["file"][-3:] = 1
    run.events["line"][-3:] = 900
    assert 900 not in {h.line for h in line_costs(run)}


def test_the_same_runs_compare_equal():
    page = compare(make.pipeline(), make.pipeline())
    assert page.data["first"] is None and all(r[3] == "same" for r in page.data["rows"])
    assert page.text.endswith("the same, in the same order.")
    assert compare(make.pipeline(), make.pipeline(compute=90)).text.endswith("only their times differ.")


def test_the_first_difference_is_named():
    left, right = make.pipeline(blocks=2, tiles=8), make.pipeline(blocks=2, tiles=8)
    at = np.flatnonzero((right.events["pipe"] == data.PIPES.index("MTE3")) & (right.events["core"] == 1))
    right.events["bytes"][at[5]] = 64
    right.events["bytes"][at[7]] = 32
    found = first_difference(left, right)
    assert (found.block, found.pipe, found.number, found.tile, found.line) == (1, "MTE3", 5, 5, 12)
    assert "8,192 B" in found.left and "64 B" in found.right


def test_a_missing_tile_is_a_difference():
    found = first_difference(make.pipeline(tiles=8), make.pipeline(tiles=7))
    assert (found.pipe, found.tile, found.right) == ("MTE2", 7, "nothing")
    assert first_difference(make.pipeline(tiles=7), make.pipeline(tiles=8)).left == "nothing"
    assert first_difference(EMPTY, EMPTY) is None


def test_names_matter_not_their_numbers():
    left, right = make.pipeline(), make.pipeline()
    right.ops = ["unused", *right.ops]
    right.events["op"] += 1
    assert first_difference(left, right) is None
    right.ops[2] = "Sub"
    assert first_difference(left, right).pipe == "V"


def test_report_has_time_bytes_and_findings():
    run = make.pipeline(blocks=48, tiles=8)
    run.findings = [
        Finding("PERF_SMALL_COPY", "note", 4, "Each copy moves 1,024 B.", "Copy 16 KB at once.", 0, 0, 16),
        Finding("NUMERIC", "warning", 10, "inf born here", "", 3, 3),
    ]
    page = report(run).text
    assert "1.70 us" in page and "6.29 MB" in page and "Bound: MTE2" in page
    assert (
        page.index("NUMERIC (warning) line 10, block 3")
        < page.index("What costs time")
        < page.index("PERF_SMALL_COPY (note) line 4, block 0, 16 times")
    )
    assert "guessed parameter" in page and "hbm_floor" in page and "mmad_head" not in page


def test_chrome_trace_is_json_in_a_stable_order(tmp_path):
    run = make.pipeline(blocks=2, tiles=3)
    shuffled = make.pipeline(blocks=2, tiles=3)
    shuffled.events = shuffled.events[np.random.default_rng(0).permutation(len(shuffled.events))]
    assert chrome_trace(run, tmp_path / "t.json") == chrome_trace(shuffled) == (tmp_path / "t.json").read_text()
    events = json.loads(chrome_trace(run))["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(run.events) and spans[0]["ts"] == pytest.approx(run.events["start"].min() / 1e3)
    assert {e["args"]["name"] for e in events if e["name"] == "process_name"} == {"block 0", "block 1"}
    assert json.loads(chrome_trace(EMPTY))["traceEvents"] == []


@pytest.mark.parametrize(
    "value, n, expected",
    [
        (1 / 6, 2, "0.17"),
        (9.96, 2, "10"),
        (1242296, 2, "1,200,000"),
        (0, 2, "0"),
        (12.4, 2, "12"),
        (-0.0333, 2, "-0.033"),
        (99.6, 2, "100"),
        (float("nan"), 2, "-"),
    ],
)
def test_digits(value, n, expected):
    assert text.digits(value, n) == expected


@pytest.mark.parametrize(
    "share, expected",
    [(0, "0 %"), (1, "100 %"), (0.0001, "<0.1 %"), (0.0123, "1.2 %"), (0.9996, "99.9 %"), (0.5, "50 %")],
)
def test_percent(share, expected):
    assert text.percent(share) == expected


@pytest.mark.parametrize("n, expected", [(512, "512 B"), (1024, "1 KB"), (196608, "192 KB"), (1536, "1.5 KB")])
def test_sizes_are_kb_of_1024(n, expected):
    assert text.size(n) == expected


@pytest.mark.parametrize(
    "n, expected",
    [(6144, "6,144 B"), (524288, "512 KB"), (402653184, "403 MB"), (0, "0 B"), (12_880_000_000, "12.9 GB")],
)
def test_traffic_is_mb_of_a_million(n, expected):
    assert text.traffic(n) == expected


def test_the_run_says_which_file_is_the_kernels():
    run = make.pipeline()
    run.files = ["kernel_operator.h", ""]
    run.events["file"] = 1
    run.events["file"][:5] = 0
    assert sum(h.calls for h in line_costs(run)) == len(run.events) - 5


def test_long_stretches_without_cost_are_folded():
    run = make.pipeline()
    run.source = "\n".join([make.SOURCE, *["// nothing"] * 30, "last"])
    run.scalar_lines[45] = 5.0
    page = hot_lines(run).text
    assert page.count("// nothing") == 1 and page.count("…") == 1 and "last" in page
    assert "inX.EnQue(a);" in page  # short stretches stay
