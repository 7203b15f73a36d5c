"""Target npu against a stub of CANN: discovery, build command, every ACL call in its order, every failure."""
import ctypes
import os
import re
import shutil
import textwrap

import numpy as np
import pytest

import cann_stub
import helpers as hp
from helpers import npu_probe
from helpers.build import source as scanner
from helpers.build.prototype import parameters
from helpers.npu import build, client, codes, session, toolkit
from helpers.npu.acl import AclFailure
from helpers.npu.plan import plan

ADD = textwrap.dedent(r'''
    #include "kernel_operator.h"
    using namespace AscendC;
    extern "C" __global__ __aicore__ void add_float(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
        TPipe pipe;
        TQue<QuePosition::VECIN, 1> in;
        TQue<QuePosition::VECOUT, 1> out;
        pipe.InitBuffer(in, 1, 2 * n * sizeof(float));
        pipe.InitBuffer(out, 1, n * sizeof(float));
        GlobalTensor<float> xGm, yGm, zGm;
        xGm.SetGlobalBuffer((__gm__ float*)x, n);
        yGm.SetGlobalBuffer((__gm__ float*)y, n);
        zGm.SetGlobalBuffer((__gm__ float*)z, n);
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, xGm, n);
        DataCopy(a[n], yGm, n);
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> c = out.AllocTensor<float>();
        Add(c, a, a[n], n);
        out.EnQue(c);
        c = out.DeQue<float>();
        DataCopy(zGm, c, n);
        out.FreeTensor(c);
        in.FreeTensor(a);
    }
    ''').lstrip()
N = 64
OPEN = ["aclInit", "aclrtGetDeviceCount", "aclrtSetDevice", "aclrtCreateContext", "aclrtCreateStream"]
PLACE = ["aclrtMalloc", "aclrtMemcpy H2D"] * 3
ONCE = ["launch", "aclrtSynchronizeStreamWithTimeout"] + ["aclrtMemcpy D2H"] * 3
TIMED = ["aclrtMemcpy H2D", "aclrtRecordEvent", "launch", "aclrtRecordEvent", "aclrtSynchronizeStreamWithTimeout"]
CLOSE = ["aclrtDestroyStream", "aclrtDestroyContext", "aclrtResetDevice", "aclFinalize"]
NOTHING_LEFT = "left: memory 0 streams 0 contexts 0 events 0 devices 0 inits 0"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("npu")
    cann_stub.lay_out(root)
    return root


@pytest.fixture
def machine(tree, tmp_path, monkeypatch):
    """A server with CANN and a device, as this process sees it."""
    monkeypatch.setattr(npu_probe, "DEVICE", (str(tree / "dev/davinci[0-9]*"), str(tree / "dev/davinci_manager")))
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tree / "cann"))
    monkeypatch.setenv(npu_probe.SOC, "Ascend910B3")
    monkeypatch.setenv("STUB_ACL_LOG", str(tmp_path / "acl.log"))
    monkeypatch.setenv("ASCEND_WORKBOOK_CACHE", os.environ.get("ASCEND_WORKBOOK_CACHE", "") or str(hp.build.cache.default_root()))
    yield tree
    client.close()


@pytest.fixture
def fresh_build(tree):
    """The device build of this kernel is made again, and not taken from the cache of an earlier test run."""
    (tree / "cann/bin/commands.log").unlink(missing_ok=True)


def data():
    x, y = np.arange(N, dtype=np.float32), np.full(N, 0.5, np.float32)
    return x, y, np.zeros(N, np.float32)


def calls(tmp_path):
    return cann_stub.log_of(tmp_path / "acl.log")


# ---- the whole way
def test_a_kernel_goes_through_build_launch_and_timing(machine, tmp_path, fresh_build):
    kernel = hp.compile(ADD, target="npu")
    command, = (machine / "cann/bin/commands.log").read_text().splitlines()
    assert re.search(r"-x asc \S+/kernel\.asc -shared -fPIC -O2 -std=c\+\+17 --npu-arch=dav-2201 .*-o \S+/libkernel\.so$", command)
    built = (machine / "cann/bin/last.asc").read_text()
    assert ADD in built and "add_float<<<blocks, 0, stream>>>(*(uint8_t**)a[0], *(uint8_t**)a[1], *(uint8_t**)a[2], *(const uint32_t*)a[3]);" in built
    assert kernel.target == "npu" and "npu: Ascend910B3" in repr(kernel)

    x, y, z = data()
    run = kernel.launch(1, (x, y, z, N), repetitions=4)
    np.testing.assert_array_equal(z, x + y)
    assert run.origin == "measured (Ascend910B3, CANN 9.0.0)" and "estimate" not in repr(run)
    np.testing.assert_allclose(run.samples_us, [12.5] * 4, rtol=1e-3)
    assert run.time_us == pytest.approx(12.5, rel=1e-3) and "median of 4" in run.notes[0]
    client.close()
    timing = ["aclrtCreateEvent"] * 2 + TIMED * 3 + (TIMED + ["aclrtEventElapsedTime"]) * 4 + ["aclrtDestroyEvent"] * 2
    assert calls(tmp_path) == OPEN + PLACE + ONCE + timing + ["aclrtFree"] * 3 + CLOSE + [NOTHING_LEFT]


def test_a_second_launch_keeps_the_device_open_and_a_run_without_timing_is_short(machine, tmp_path):
    kernel = hp.compile(ADD, target="npu")
    x, y, z = data()
    for factor in (1, 2):
        run = kernel.launch(1, (x * factor, y, z, N), repetitions=0)
        np.testing.assert_array_equal(z, x * factor + y)
    assert run.notes == ["time not measured"] and len(run.samples_us) == 0
    client.close()
    assert calls(tmp_path) == OPEN + (PLACE + ONCE + ["aclrtFree"] * 3) * 2 + CLOSE + [NOTHING_LEFT]


def test_null_workspace_readonly_and_empty_arrays(machine, tmp_path):
    kernel = hp.compile(ADD, target="npu")
    x, y, z = data()
    y.flags.writeable = False
    kernel.launch(1, (x, y, z, N), repetitions=0)
    assert calls(tmp_path).count("aclrtMemcpy D2H") == 2          # never into a read-only array
    kernel.launch(1, (hp.workspace(256), np.zeros(0, np.float32), None, 0), repetitions=0)
    client.close()
    assert calls(tmp_path)[-1] == NOTHING_LEFT


def test_the_same_call_as_on_the_host_and_auto_takes_the_device(machine):
    kernel = hp.compile(ADD)
    x, y, z = data()
    assert kernel.target == "npu" and kernel[1](x, y, z, N).origin.startswith("measured")
    estimate = kernel.host[1](x, y, z, N)
    assert estimate.origin == "estimate (Ascend910B1)"
    assert hp.compile(ADD, target="host").target == "host"
    with pytest.raises(hp.KernelError, match="takes 4 arguments"):
        kernel[1](x, y, z)


def test_views_of_a_measured_run_say_what_they_need(machine):
    x, y, z = data()
    run = hp.compile(ADD, target="npu")[1](x, y, z, N)
    text = str(run.report())
    assert "measured" in text and "profile of msprof op" in text and "launch  " not in text and run.pipes == {}
    for view in (run.timeline, run.ub_map, run.hot_lines):
        with pytest.raises(hp.WorkbookError, match="A measured run has no"):
            view()


def test_the_magic_takes_the_target(machine):
    from IPython.testing.globalipapp import start_ipython
    shell = start_ipython() or __import__("IPython").get_ipython()
    hp.magic.register()
    from helpers.magic import ascendc
    ascendc("--target npu", ADD)
    kernel = shell.user_ns.pop("add_float")
    assert kernel.target == "npu"


# ---- failures
FAIL_ONCE = [(name, 1) for name in OPEN] + [("aclrtMalloc", 1), ("aclrtMalloc", 3), ("aclrtMemcpy H2D", 2), ("launch", 1), ("aclrtSynchronizeStreamWithTimeout", 1),
             ("aclrtMemcpy D2H", 1), ("aclrtCreateEvent", 1), ("aclrtCreateEvent", 2), ("aclrtRecordEvent", 1), ("aclrtRecordEvent", 2), ("launch", 3),
             ("aclrtEventElapsedTime", 1), ("aclrtMemcpy H2D", 5)]


def task(machine, repetitions=2):
    arrays = [session.Argument(i, data=a.view(np.uint8)) for i, a in enumerate(data())]
    return session.Task(str(machine / "cann/bin/kernel_stub.so"), build.SYMBOL, 1, [*arrays, session.Argument(3, value=N.to_bytes(4, "little"))], repetitions=repetitions)


@pytest.mark.parametrize("name, nth", FAIL_ONCE, ids=lambda v: str(v).replace(" ", "_"))
def test_a_failure_at_any_call_is_named_and_leaves_nothing(machine, tmp_path, monkeypatch, name, nth):
    library = str(machine / "cann/lib64/libascendcl.so")
    ctypes.CDLL(library).stub_reset()
    monkeypatch.setenv("STUB_ACL_FAIL", f"{name}:{nth}:507035")
    with pytest.raises(AclFailure) as caught:
        with session.Session(library) as opened:
            opened.run(task(machine))
    assert caught.value.call == (build.SYMBOL if name == "launch" else name.split()[0]) and caught.value.code == 507035
    log = calls(tmp_path)
    assert log == ["aclInit"] if name == "aclInit" else log[-1] == NOTHING_LEFT


@pytest.mark.parametrize("name", ["aclrtSetDevice", "launch"])
def test_a_failure_reaches_the_caller_and_a_new_process_serves_the_next_launch(machine, tmp_path, monkeypatch, name):
    kernel = hp.compile(ADD, target="npu")
    monkeypatch.setenv("STUB_ACL_FAIL", f"{name}:1:507035")
    with pytest.raises((hp.KernelError, hp.SetupError)) as caught:
        kernel.launch(1, (*data(), N), repetitions=2)
    said = str(caught.value)
    assert "returned 507035" in said and caught.value.codes == ["CRASH"] and "addresses first" in said
    assert "unaligned address of UB" in said and "EZ9999" in said
    assert calls(tmp_path)[-1] == NOTHING_LEFT
    monkeypatch.delenv("STUB_ACL_FAIL")
    x, y, z = data()
    kernel.launch(1, (x, y, z, N), repetitions=0)
    np.testing.assert_array_equal(z, x + y)


def test_a_device_process_that_dies_does_not_take_the_notebook_with_it(machine, monkeypatch):
    kernel = hp.compile(ADD, target="npu")
    x, y, z = data()
    with pytest.raises(hp.KernelError, match="ended with code"):
        kernel.launch(1, (x, None, z, N), repetitions=0)      # the stub reads through the null pointer
    kernel.launch(1, (x, y, z, N), repetitions=0)
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize("name", ["aclrtFree", "aclrtDestroyEvent"])
def test_what_cannot_be_given_back_is_a_warning_and_the_results_stay(machine, monkeypatch, name):
    kernel = hp.compile(ADD, target="npu")
    monkeypatch.setenv("STUB_ACL_FAIL", f"{name}:1:207002")
    x, y, z = data()
    run = kernel.launch(1, (x, y, z, N), repetitions=1)
    np.testing.assert_array_equal(z, x + y)
    warning, = run.findings
    assert warning.severity == "warning" and warning.code == "USE_AFTER_FREE" and f"{name} returned 207002" in warning.message


def test_no_visible_device(machine, monkeypatch):
    kernel = hp.compile(ADD, target="npu")
    monkeypatch.setenv("STUB_ACL_DEVICES", "0")
    with pytest.raises(hp.SetupError, match="0 devices are visible"):
        kernel.launch(1, (*data(), N))


def test_a_compiler_error_shows_the_learners_line(machine):
    broken = ADD.replace("    TPipe pipe;", "    TPipe pipe;\n#ifdef __NPU_DEVICE_ONLY__\n    BROKEN;\n#endif")
    with pytest.raises(hp.CompileError) as caught:
        hp.compile(broken, target="npu")
    assert "for the device" in str(caught.value) and "BROKEN" in caught.value.log


def test_tiling_macros_of_operator_projects_are_refused(machine):
    text = ADD.replace("uint32_t n)", "GM_ADDR tiling)").replace("    TPipe pipe;", "    GET_TILING_DATA_WITH_STRUCT(T, t, tiling);\n    uint32_t n = t.n;\n    TPipe pipe;")
    text = text.replace("using namespace AscendC;", "using namespace AscendC;\nstruct T { uint32_t n; };")
    with pytest.raises(hp.CompileError, match="operator project") as caught:
        hp.compile(text, target="npu")
    assert caught.value.codes == ["UNSUPPORTED_API"] and caught.value.findings[0].line == 5
    assert hp.compile(text, target="auto").target == "host"       # auto takes what works


# ---- route, version, SoC
def test_older_releases_build_through_ascendc_cmake(tmp_path, monkeypatch):
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed here: the route through ascendc.cmake cannot be tried")
    home = cann_stub.lay_out(tmp_path, "8.0.RC3")
    monkeypatch.setattr(npu_probe, "DEVICE", (str(tmp_path / "dev/davinci[0-9]*"), str(tmp_path / "dev/davinci_manager")))
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv(npu_probe.SOC, "Ascend910B3")
    monkeypatch.setenv("STUB_ACL_LOG", str(tmp_path / "acl.log"))
    kernel = hp.compile(ADD, target="npu")
    assert kernel.toolkit.route == toolkit.CMAKE and any("--build" in c for c in kernel.library.commands)
    x, y, z = data()
    run = kernel.launch(1, (x, y, z, N), repetitions=0)
    client.close()
    np.testing.assert_array_equal(z, x + y)
    assert "CANN 8.0.RC3" in run.origin
    assert 'set(SOC_VERSION "Ascend910B3"' in build.cmake_lists(kernel.toolkit, kernel.soc)


@pytest.mark.parametrize("version, compiler, cmake_file, expected", [
    ("9.0.0", "/c/bin/bisheng", "a.cmake", toolkit.BISHENG), ("8.0.RC3", "/c/bin/bisheng", "a.cmake", toolkit.CMAKE),
    ("", "/c/bin/bisheng", "", toolkit.BISHENG), ("7.0.0", "/c/bin/ccec", "a.cmake", toolkit.CMAKE)])
def test_route(version, compiler, cmake_file, expected):
    assert toolkit.route(version, compiler, cmake_file) == expected


def test_no_route_says_so():
    with pytest.raises(hp.SetupError, match="full toolkit"):
        toolkit.route("8.0", "/c/bin/ccec", "")


TABLE = """+---------------------------+
| npu-smi 24.1   Version: 24.1 |
+======================+
| NPU     Name         | Health        | Power(W) |
| 0     {name}         | OK            | 93.1     |
"""


@pytest.mark.parametrize("name, soc", [("910B3", "Ascend910B3"), ("310P3", "Ascend310P3"), ("Ascend910", "Ascend910_9391")])
def test_soc_from_npu_smi(tmp_path, name, soc):
    cann_stub.npu_smi(tmp_path, TABLE.format(name=name))
    environment = {"PATH": f"{tmp_path / 'smi'}:/usr/bin:/bin", "HOME": ""}
    assert npu_probe.probe(environment, str(tmp_path)).soc == soc
    assert npu_probe.probe({**environment, npu_probe.SOC: "Ascend910B1"}, str(tmp_path)).soc == "Ascend910B1"


@pytest.mark.parametrize("file, text, version", [("version.cfg", "runtime_running_version=[8.5.0:CANN]", "8.5.0"), ("compiler/version.info", "Version=7.0.RC1", "7.0.RC1"),
                                                 ("x86_64-linux/ascend_toolkit_install.info", "package_name=toolkit\nversion=8.0.0", "8.0.0")])
def test_version_of_the_toolkit(tmp_path, file, text, version):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert npu_probe.probe({"ASCEND_HOME_PATH": str(tmp_path), "PATH": "", "HOME": ""}, str(tmp_path)).version == version


def test_a_kernel_for_another_family_of_chips_is_refused(machine, monkeypatch):
    monkeypatch.setenv(npu_probe.SOC, "Ascend310P3")
    with pytest.raises(hp.SetupError, match='compile with chip="Ascend310P3"'):
        hp.compile(ADD, target="npu")
    monkeypatch.setenv(npu_probe.SOC, "Ascend910X9")
    assert "npu: Ascend910X9" in repr(hp.compile(ADD, target="npu"))


def test_without_device_but_with_cann_the_missing_part_is_named(tree, monkeypatch):
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tree / "cann"))
    monkeypatch.setattr(npu_probe, "DEVICE", (str(tree / "none/davinci[0-9]*"), str(tree / "none/davinci_manager")))
    with pytest.raises(hp.WorkbookError, match="needs an Ascend device and CANN: no Ascend device\\."):
        hp.compile(ADD, target="npu")
    assert hp.compile(ADD).target == "host"


def test_doctor_tells_version_soc_and_route(machine):
    text = str(hp.doctor())
    assert "9.0.0" in text and "Ascend910B3" in text and "bisheng" in text
    assert "Kernels run on: npu" in text


# ---- prototypes and codes
def test_parameters_as_host_code_spells_them():
    text = ("template <typename T, int N> __global__ __aicore__ void k(__gm__ T* __restrict__ x, GM_ADDR y, const Tiling t, T scale, uint64_t n = 4) {}\n")
    found = scanner.scan(text, ("k<half, 2>",))
    assert [(p.type, p.name, p.pointer) for p in parameters(text, found.entries[0])] == [
        ("half*", "x", True), ("uint8_t*", "y", True), ("const Tiling", "t", False), ("half", "scale", False), ("uint64_t", "n", False)]


def test_every_code_names_a_finding_and_says_what_to_do():
    for code in codes.known_codes():
        page = codes.acl_error(code)
        assert page.meaning and page.fix and (page.finding in hp.catalogue.pages() or code == 0), code
    assert codes.acl_error(507035).name == "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION"
    assert codes.acl_error(107017).finding == "HOST_ARGUMENT"
    assert codes.acl_error("107017") == codes.acl_error(107017)
    with pytest.raises(ValueError, match="'x' is no code of an ACL call"):
        codes.acl_error("x")
    assert "device or the inside" in codes.acl_error(599999).meaning
    assert hp.acl_error(561003).fix.startswith("AddConfig")


def test_device_words_are_explained():
    assert codes.explain_log("errorStr 0x800000 here") == "a copy used an address of global memory that is out of range"
    assert codes.explain_log("0x8000001") == "" and codes.explain_log("0x100") == ""


# ---- the plan for a reader without a device
def test_the_plan_lists_the_calls_that_a_launch_makes(machine, tmp_path):
    kernel = hp.compile(ADD, target="npu")
    x, y, z = data()
    shown = plan(kernel.host, (x, y, z, N), release=9, soc="Ascend910B3")
    kernel.launch(1, (x, y, z, N), repetitions=0)
    client.close()
    planned = ["launch" if "<<<" in row else row.split("  ")[0] for row in shown.calls]
    made = [row.split()[0] for row in calls(tmp_path)[:-1]]
    assert planned == made
    command, = shown.commands
    assert command.startswith("/usr/local/Ascend/cann/bin/bisheng -x asc kernel.asc") and "--npu-arch=dav-2201" in command
    assert shown.launch in (machine / "cann/bin/last.asc").read_text()
    assert "aclrtMalloc  x, 256 B" in shown.calls and "aclrtMemcpy  z, 256 B, device to host" in shown.calls
    older = plan(kernel.host, (x, y, z, N), release=8, repetitions=2)
    assert "nullptr, stream" in older.launch and 'SOC_VERSION "Ascend910B1"' in older.files["CMakeLists.txt"] and older.commands[0].startswith("cmake -S .")
    assert older.calls.count("aclrtEventElapsedTime") == 2
