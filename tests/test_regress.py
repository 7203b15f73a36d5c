"""The gate: numbers of the same kernel agree, worse ones fail, the history keeps them, CI files are valid."""
import json

import numpy as np
import pytest
import yaml

import helpers as hp
from helpers.errors import WorkbookError
from helpers.regress import METRICS, Case, differences, error, measure, table
from helpers.regress import __main__ as command
from helpers.regress import ci, history
from helpers.run import Run

COPY = r'''#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void copy_out(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TQueBind<QuePosition::VECIN, QuePosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 512);
    GlobalTensor<half> a, b;
    a.SetGlobalBuffer((__gm__ half*)x, 256);
    b.SetGlobalBuffer((__gm__ half*)y, 256);
    LocalTensor<half> t = queue.AllocTensor<half>();
    DataCopy(t, a, 256);
    queue.EnQue(t);
    t = queue.DeQue<half>();
    DataCopy(b, t, 256);
    // MORE
    queue.FreeTensor(t);
}
'''


def metrics_of(text):
    x, y = np.arange(256, dtype=np.float16), np.zeros(256, np.float16)
    return measure(hp.compile(text)[1](x, y), y, x.astype(np.float64), rows=4)


def test_one_more_store_is_caught_by_what_is_counted():
    before, after = metrics_of(COPY), metrics_of(COPY.replace("// MORE", "PipeBarrier<PIPE_MTE3>(); DataCopy(b, t, 256);"))
    assert before["gm_bytes"] == 1024 and before["ub_bytes"] == 512 and before["error"] == 0 and before["rows_per_s"] > 0
    rows = {d.metric: d for d in differences({"copy": before}, {"copy": after})}
    assert set(rows) == set(METRICS)
    assert rows["gm_bytes"].worse == pytest.approx(0.5) and rows["gm_bytes"].failed and rows["instructions"].failed
    assert not rows["ub_bytes"].failed and not rows["error"].failed
    assert not any(d.failed for d in differences({"copy": before}, {"copy": metrics_of(COPY)}))
    text = table(list(rows.values()))
    assert "+50.0% worse" in text and text.count("FAIL") == sum(d.failed for d in rows.values())


def test_less_is_better_for_cycles_and_worse_for_rows():
    before, after = {"k": {"cycles": 1000.0, "rows_per_s": 1000.0}}, {"k": {"cycles": 900.0, "rows_per_s": 900.0}}
    cycles, rows = differences(before, after)
    assert cycles.worse == pytest.approx(-0.1) and not cycles.failed and rows.worse == pytest.approx(0.1) and rows.failed
    assert (cycles.change, rows.change) == ("-10.0% better", "-10.0% worse")          # the sign is that of the numbers beside it
    assert [d.change for d in differences(after, before)] == ["+11.1% worse", "+11.1% better"]
    assert [d.change for d in differences(before, {"k": {"cycles": 1000.1, "rows_per_s": 1000.0}})] == ["+<0.1% worse", "same"]
    assert differences({"k": {"error": 0.0}}, {"k": {"error": 1e-6}})[0].change == "from 0, worse"


def test_limits_and_the_noise_band_of_measured_times():
    before, after = {"k": {"cycles": 1000.0, "gm_bytes": 100.0}}, {"k": {"cycles": 1030.0, "gm_bytes": 101.0}}
    assert [d.failed for d in differences(before, after)] == [True, True]
    assert [d.failed for d in differences(before, after, {"cycles": 0.05, "gm_bytes": 0.02})] == [False, False]
    assert [d.failed for d in differences(before, after, measured=True)] == [False, True]
    assert differences({"k": {"error": 0.0}}, {"k": {"error": 1e-6}})[0].failed
    assert differences({}, after) == []


def test_error_counts_nan_and_infinity():
    assert error([1.0, 2.0], [1.0, 4.0]) == 0.5 and error([0.0], [0.0]) == 0
    assert error([np.nan, np.inf], [np.nan, np.inf]) == 0
    assert error([np.nan], [1.0]) == np.inf and error([1.0], [np.inf]) == np.inf
    with pytest.raises(ValueError):
        error([1.0], [1.0, 2.0])


def test_the_command_records_passes_and_fails(tmp_path, capsys):
    path = tmp_path / "regress.json"
    words = ["--history", str(path), "--only", "softmax"]
    assert command.main([*words, "--record", "v1"]) == 0
    assert "nothing to compare with" in capsys.readouterr().out
    assert command.main(words) == 0
    assert "compared with v1" in (out := capsys.readouterr().out) and out.rstrip().endswith("Passed.") and "same" in out
    stored = json.loads(path.read_text())
    assert stored[0]["origin"] == "estimate (Ascend910B1)" and stored[0]["cases"]["softmax"]["error"] < 1e-3
    stored[0]["cases"]["softmax"]["ub_bytes_of_old"] = 1.0              # a metric that is no more
    stored[0]["cases"]["softmax"]["gm_bytes"] -= 64
    path.write_text(json.dumps(stored))
    assert command.main(words) == 1
    assert "FAIL" in (out := capsys.readouterr().out) and "Failed: 1 of" in out
    assert command.main([*words, "--limit", "gm_bytes=0.5", "--record", "v2"]) == 0
    assert [e.label for e in history.load(path)] == ["v1", "v2"] and len(history.series(history.load(path), "softmax", "gm_bytes")) == 2


@pytest.mark.parametrize("value", ['"x"', "null", "NaN", "1e400", "[]", "true"])
def test_a_stored_value_that_is_no_number_is_named(tmp_path, value):
    path = tmp_path / "h.json"
    history.append(path, history.Entry("v1", "host", "estimate (Ascend910B1)", {"add": {"cycles": 7552.0}}))
    assert history.load(path)[0].cases["add"]["cycles"] == 7552
    path.write_text(path.read_text().replace("7552.0", value))
    with pytest.raises(WorkbookError, match="no history of this gate: cycles of add at v1 is .*, no number"):
        history.load(path)


def test_a_metric_that_is_gone_fails(tmp_path, capsys, monkeypatch):
    history.append(tmp_path / "h.json", history.Entry("v1", "host", "estimate (Ascend910B1)", {"k": {"cycles": 5.0, "error": 0.1}}))
    run = Run("k", 1, hp.chip("Ascend910B1"), "estimate (Ascend910B1)", "")
    monkeypatch.setattr(command, "CASES", [Case("k", lambda target: (run, None, None, 0))])
    for now, status in (({"cycles": 5.0, "error": 0.1}, 0), ({"cycles": 5.0}, 1)):
        monkeypatch.setattr(command, "measure", lambda *_: now)
        assert command.main(["--history", str(tmp_path / "h.json")]) == status
        assert ("error of k was measured in v1 and is not any more" in capsys.readouterr().out) == bool(status)


def test_a_result_without_a_number_is_not_stored(tmp_path):
    path = tmp_path / "h.json"
    with pytest.raises(WorkbookError, match="v1 is not stored: error of add is inf"):
        history.append(path, history.Entry("v1", "host", "estimate (Ascend910B1)", {"add": {"error": float("inf")}}))
    assert not path.exists()


def test_another_origin_is_not_compared_and_faults_are_said(tmp_path, capsys):
    entry = history.Entry("v1", "npu", "measured (Ascend910B1)", {"softmax": {"cycles": 1.0}})
    history.append(tmp_path / "h.json", entry)
    assert history.last(history.load(tmp_path / "h.json"), "estimate (Ascend910B1)") is None
    assert history.last(history.load(tmp_path / "h.json"), entry.origin) == entry
    (tmp_path / "h.json").write_text('{"a": 1}')
    assert command.main(["--history", str(tmp_path / "h.json"), "--only", "softmax"]) == 2
    assert "no history" in capsys.readouterr().err
    with pytest.raises(WorkbookError, match="no history"):
        history.load(tmp_path)                            # a folder
    for limit in ("speed=1", "cycles=nan", "cycles=-1", "cycles", "cycles=inf"):
        assert command.main(["--limit", limit]) == 2 and "METRIC=SHARE" in capsys.readouterr().err
    (tmp_path / "file").touch()
    with pytest.raises(WorkbookError, match="h.json cannot be written"):
        history.append(tmp_path / "file" / "h.json", entry)


def test_every_case_is_close_to_its_reference():
    from helpers.regress import CASES
    for case in CASES:
        run, actual, expected, rows = case.run("host")
        found = measure(run, actual, expected, rows)
        assert found["error"] < 2e-3 and found["ub_bytes"] <= 196608 and all(f.severity == "note" for f in run.findings), case.name


def test_ci_files_are_valid_and_have_both_jobs(capsys):
    github, gitlab = yaml.safe_load(ci.GITHUB), yaml.safe_load(ci.GITLAB)
    assert set(github["jobs"]) == {"twin", "npu"} and "container" in github["jobs"]["npu"]
    assert {"twin", "npu"} <= set(gitlab) and gitlab["npu"]["tags"] == ["ascend"]
    for text in (ci.GITHUB, ci.GITLAB):
        assert "python -m helpers.regress" in text and "--target npu" in text and "davinci0" in ci.GITHUB
    assert ci.main(["github"]) == 0 and capsys.readouterr().out.startswith("# .github/workflows/kernels.yml\n")
    assert ci.main([]) == 2
