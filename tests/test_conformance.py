"""The conformance run: every call works on the twin, a device that differs is described, open points get their verdict."""
import numpy as np
import pytest

import helpers as hp
from helpers import npu_probe
from helpers.conformance import __main__ as command
from helpers.conformance.cases import FAMILIES, N, values
from helpers.conformance.compare import Outcome, ulps
from helpers.conformance.points import points
from helpers.conformance.report import markdown
from helpers.conformance.run import Target, outcomes

LABELS = [c.label for f in FAMILIES for c in f.calls]


@pytest.fixture(scope="module")
def twin():
    return Target("host")


@pytest.fixture(scope="module")
def everything(twin):
    return list(outcomes(twin=twin))


def result(twin, label):
    family = next(f for f in FAMILIES if any(c.label == label for c in f.calls))
    number = [c.label for c in family.calls].index(label)
    x, y, _ = family.arrays()
    return x, y, twin(family, number)[0]


def test_every_call_runs_on_the_twin(everything):
    assert {(o.label, o.error) for o in everything if o.verdict != "twin only"} == set()
    assert len(everything) == len(LABELS) == len(set(LABELS)) > 300
    assert all(o.twin.size == N and o.twin_us > 0 for o in everything)


def test_every_call_changes_its_output(everything):
    """A call that left z as it was would agree with any device that did nothing."""
    idle = {o.label for o in everything if (o.twin == 1).all()}
    assert idle == set()


def test_what_the_open_points_say_of_the_twin_is_so(twin):
    assert np.isinf(result(twin, "half scalar product overflows")[2][0])
    x, _, z = result(twin, "Cast float to int32_t CAST_RINT")
    assert np.isnan(x[6]) and z[6] == 0 and z[4] == 2**31 - 1 and z[5] == -2**31
    x, _, z = result(twin, "Cast half to int16_t CAST_RINT")
    assert np.isinf(x[4]) and (z[4], z[5], z[16]) == (32767, -32768, 32767)
    assert np.signbit(result(twin, "Cast float to float CAST_TRUNC")[2][[1, 12]]).sum() == 0
    x, y, z = result(twin, "Max float")
    np.testing.assert_array_equal(np.isnan(z), np.isnan(x) | np.isnan(y))
    assert result(twin, "ShiftRight int32_t by 32")[2][:4].tolist() == [0, 0, 0, -1]
    x, y, z = result(twin, "Mul int16_t")
    np.testing.assert_array_equal(z, (x.astype(np.int64) * y).astype(np.int16))
    x, _, z = result(twin, "ReduceMax with index over NaN float")
    assert np.isnan(z[0]) and z[1:2].view(np.uint32)[0] == 6
    assert np.isnan(result(twin, "Sort32 with NaN float")[2][0])
    x, _, z = result(twin, "DataCopyPad short rows")
    assert (z[5:8] == x[0]).all() and (z[13:16] == x[8]).all()
    x, _, z = result(twin, "atomic add int32_t overflows")
    assert x[2] == 2**31 - 1 and z[2] == -2**31
    x, y, z = result(twin, "Mmad half with NaN behind k")
    np.testing.assert_array_equal(z.reshape(16, 16), x.reshape(16, 16)[:, :9].astype(np.float64) @ y.reshape(16, 16)[:, :9].T.astype(np.float64))
    x, y, z = result(twin, "Mmad half")
    np.testing.assert_allclose(z.reshape(16, 16), x.reshape(16, 16).astype(np.float64) @ y.reshape(16, 16).T.astype(np.float64), rtol=1e-4, atol=1e-3)
    x, y, z = result(twin, "MulAddDst half")
    with np.errstate(all="ignore"):
        expected = x * y + np.float16(1)
    np.testing.assert_array_equal(z, expected)
    assert not np.signbit(result(twin, "Relu float")[2][1]) and np.signbit(result(twin, "LeakyRelu float")[2][1])


def test_open_points_have_a_probe_or_say_how():
    for p in points():
        assert p.question.endswith("?") or p.question.endswith("."), p.name
        assert p.twin and set(p.probes) <= set(LABELS), (p.name, set(p.probes) - set(LABELS))
        assert bool(p.probes) != bool(p.settle), p.name


def test_inputs_hold_the_edges_and_are_the_same_every_time():
    x = values("float", "special", 1)
    assert np.isnan(x).any() and np.isinf(x).any() and (np.abs(x) < np.finfo(np.float32).tiny).any() and np.signbit(x[1])
    np.testing.assert_array_equal(x, values("float", "special", 1))
    assert np.isfinite(values("half", "plain", 1)).all() and len(set(values("float", "ordered", 1).tolist())) == N


# ---- a device that differs
def off_by_one(twin):
    """A device whose Exp is one ulp higher, whose Cast to int keeps NaN as the largest number, and that refuses Ln."""
    def run(family, number):
        z, us = twin(family, number)
        label = family.calls[number].label
        if label == "Exp float":
            z = z.copy()
            z[2:3] = np.nextafter(z[2:3], np.float32(np.inf))
        if label == "Cast float to int32_t CAST_RINT":
            z = z.copy()
            z[6] = 2**31 - 1
        if label == "Ln float":
            raise hp.KernelError("The launch failed on the device.", [hp.Finding("CRASH", "error", None, "launch returned 507035", "")])
        return z, us * 2
    return run


def test_differences_are_described_and_points_settled(twin):
    found = list(outcomes("*float*", off_by_one(twin), twin))
    by_label = {o.label: o for o in found}
    assert by_label["Exp float"].verdict == "differs" and by_label["Exp float"].words.startswith("1 of 256 elements; element 2:") and by_label["Exp float"].words.endswith("at most 1 ulp apart")
    assert by_label["Cast float to int32_t CAST_RINT"].different.tolist() == [6]
    assert by_label["Ln float"].verdict == "failed" and "507035" in by_label["Ln float"].error
    assert by_label["Abs float"].verdict == "equal" and by_label["Abs float"].words == ""
    text = markdown(found, "Ascend910B3")
    assert "Device: Ascend910B3." in text and "2 differs" in text and "1 failed" in text and "| Abs float |" in text and "| 0.50 |" in text
    assert "the twin is wrong: Cast float to int32_t CAST_RINT" in text and "a probe failed: Ln float" in text
    assert "| DataCopyPad without padding values: what stands" in text and "settled: the twin agrees" in text and "by hand: GroupNorm of (1, 4, 3, 3)" in text


def test_nan_with_other_bits_is_a_difference():
    a, b = np.array([np.nan, 1.0], np.float32), np.array([np.nan, 1.0], np.float32)
    b.view(np.uint32)[0] |= 1
    assert Outcome("f", "l", a, a.copy()).verdict == "equal"
    assert "NaN or infinity" in Outcome("f", "l", a, b).words
    assert ulps(np.array([-0.0], np.float16), np.array([0.0], np.float16)).tolist() == [0]
    assert ulps(np.array([1.0], np.float32), np.array([1.0 + 2**-22], np.float32)).tolist() == [2]


# ---- the command
def test_without_a_device_the_report_says_twin_only(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(npu_probe, "DEVICE", (str(tmp_path / "none*"),))
    assert command.main(["--only", "Abs*", "--output", str(tmp_path / "r.md")]) == 0
    text = (tmp_path / "r.md").read_text()
    assert "Device: twin only." in text and "nothing in this report is measured" in text and "## Time" not in text and "open (twin only)" not in text
    assert "2 calls: 2 twin only." in capsys.readouterr().out
    assert command.main(["--target", "both"]) == 2 and "needs a device and CANN: no Ascend device" in capsys.readouterr().err
    assert command.main(["--only", "Nothing*"]) == 2
    assert command.main(["--only", "Max half", "--target", "host"]) == 0 and "open (twin only)" in capsys.readouterr().out
