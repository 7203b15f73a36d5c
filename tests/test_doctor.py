"""What the doctor says about machines laid out for it."""
import html
import os
import stat

import pytest

import helpers as hp
from helpers import npu_probe
from helpers.npu import toolkit


def program(path, text="exit 0"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


@pytest.fixture
def machine(tmp_path):
    """An Ascend server in a folder: device files, CANN, npu-smi."""
    for name in ("dev/davinci0", "dev/davinci_manager", "cann/lib64/libascendcl.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    program(tmp_path / "cann/compiler/ccec_compiler/bin/bisheng")
    program(tmp_path / "bin/npu-smi", "echo 'Total Count : 8'")
    return tmp_path


def environment(machine, **more):
    return {"ASCEND_HOME_PATH": str(machine / "cann"), "PATH": str(machine / "bin"), "HOME": str(machine), **more}


def test_complete_server_is_ready(machine):
    npu = npu_probe.probe(environment(machine), str(machine))
    assert npu.ready and npu.missing() == [] and npu.toolkit_from == "ASCEND_HOME_PATH" and npu.smi == "Total Count : 8"


@pytest.mark.parametrize("gone, said", [("dev/davinci0", "no Ascend device"), ("cann/lib64/libascendcl.so", "no libascendcl.so in the toolkit"),
                                        ("cann/compiler/ccec_compiler/bin/bisheng", "no bisheng compiler in the toolkit")])
def test_each_missing_part_is_named(machine, gone, said):
    (machine / gone).unlink()
    npu = npu_probe.probe(environment(machine), str(machine))
    assert not npu.ready and npu.missing() == [said]


def test_a_compiler_that_may_not_be_executed_is_none(machine):
    place = "compiler/ccec_compiler/bin/bisheng"
    (machine / "cann" / place).chmod(0o644)
    npu = npu_probe.probe(environment(machine), str(machine))
    assert npu.compiler == "" and npu.missing() == [f"{place} of the toolkit is no program that may be executed"]
    with pytest.raises(hp.SetupError, match="cannot be built for the device: .*no program that may be executed"):
        toolkit.find(npu)
    (machine / "cann" / place).unlink()
    (machine / "cann" / place).mkdir()                     # a folder of that name
    (machine / "cann/lib64/libascendcl.so").unlink()
    (machine / "cann/lib64/libascendcl.so").mkdir()
    assert len(npu_probe.probe(environment(machine), str(machine)).missing()) == 2
    program(machine / "cann/bin/bisheng")
    assert npu_probe.probe(environment(machine), str(machine)).compiler == str(machine / "cann/bin/bisheng")


def test_toolkit_by_place_and_none_at_all(machine, tmp_path):
    (machine / "usr/local/Ascend").mkdir(parents=True)
    os.rename(machine / "cann", machine / "usr/local/Ascend/cann")
    npu = npu_probe.probe({"PATH": "", "HOME": ""}, str(machine))
    assert npu.ready and npu.toolkit_from == "/usr/local/Ascend/cann"
    assert npu_probe.probe({"PATH": "", "HOME": ""}, str(tmp_path / "empty")).missing() == ["no Ascend device", "no CANN toolkit"]


def test_a_failing_npu_smi_does_no_harm(machine):
    program(machine / "bin/npu-smi", "exit 1")
    assert npu_probe.probe(environment(machine), str(machine)).smi == ""


def test_report_names_what_runs_and_why():
    report = hp.doctor()
    text = str(report)
    assert f"Kernels run on: {report.target} ({report.why})" in text and repr(report) == text
    assert str(hp.doctor()) == text
    table = report._repr_html_()
    for row in report.rows:
        assert row.part in text and html.escape(row.found) in table
        assert row.state == "ok" or row.todo


def test_target_on_this_machine_and_on_a_server(machine):
    from helpers.doctor import target
    assert target("host") == ("host", "asked for")
    npu = npu_probe.probe(environment(machine), str(machine))
    where, why = target(npu=npu)
    assert where in ("host", "npu") and ("device" in why)
    nothing = npu_probe.Npu()
    assert target(npu=nothing) == ("host", "the twin of the AI core: no Ascend device and no CANN toolkit here")


def test_missing_compiler_is_said(monkeypatch, tmp_path):
    from helpers.build import compiler
    monkeypatch.setenv(compiler.OVERRIDE, "/nowhere/c++")
    report = hp.doctor()
    row, = [r for r in report.rows if r.part == "C++ compiler"]
    assert row.state == "missing" and "ziglang" in row.todo and "C++ compiler" in report.headline
