"""Host programs on the twin: three launch styles, misuse named at its line, an ordinary executable."""
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acl_programs as programs
import helpers as hp
from helpers import cc, crash, program_crash
from helpers.build import diagnose, program as builder
from helpers.program import ProgramRun, build_program

ROOT = Path(__file__).resolve().parents[1]
N = 16384


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return rng.standard_normal(N).astype(np.float16), rng.standard_normal(N).astype(np.float16)


@pytest.fixture(scope="module")
def mistakes():
    text = programs.mistakes()
    return text, build_program({"main.asc": text})


# ---- the three styles
@pytest.mark.parametrize("name, style, calls", [("CHEVRON", "auto", 23), ("ACLRT", "auto", 23), ("ICPU", "auto", 7), ("BOTH", "auto", 23), ("BOTH", "cpu", 7)])
def test_a_program_runs_unchanged(data, name, style, calls):
    x, y = data
    run = hp.run_program(getattr(programs, name), {"input/input_x.bin": x, "input/input_y.bin": y}, style=style)
    np.testing.assert_array_equal(run.array("output/output_z.bin", np.float16), x + y)
    assert run.exit_code == 0 and run.findings == [] and len(run.calls) == calls
    launch, = run.launches
    assert launch["kernel"] == "add_custom" and launch["blocks"] == 8 and launch["end_us"] > 1
    assert run.origin == "estimate (Ascend910B1)" and "us of kernels estimate" in repr(run)
    if style == "auto" and name != "ICPU":
        assert run.stdout == "done\n" and [c["call"] for c in run.calls if c["stream"] == 1] == ["aclrtCreateStream", "launch", "aclrtSynchronizeStream", "aclrtDestroyStream"]


def test_the_time_is_that_of_the_same_launch_from_python(data):
    x, y = data
    run = hp.run_program(programs.CHEVRON, {"input/input_x.bin": x, "input/input_y.bin": y})
    z = np.empty(N, np.float16)
    kernel = hp.compile(programs.KERNEL)[8](x, y, z, N)
    assert run.launches[0]["end_us"] == pytest.approx(kernel.time_us, rel=1e-6)


def test_a_missing_file_is_the_programs_own_error(data):
    with pytest.raises(hp.KernelError, match="status 2") as caught:
        hp.run_program(programs.CHEVRON, {"input/input_x.bin": data[0]})
    assert caught.value.run.exit_code == 2
    with pytest.raises(FileNotFoundError, match="files it wrote: none"):
        caught.value.run.array("output/output_z.bin", np.float16)


# ---- mistakes
ERRORS = {
    "free_twice": ("USE_AFTER_FREE", r"aclrtFree: it was freed already at main.asc, line \d+"),
    "copy_past_the_end": ("GM_OUT_OF_BOUNDS", r"3000 B from byte 0 on go 952 B past the end of the source, a buffer of 2048 B \(aclrtMalloc at main.asc, line \d+\)"),
    "room_too_small": ("HOST_ARGUMENT", "a copy of 200 B into a destination declared as 100 B"),
    "copy_from_freed": ("USE_AFTER_FREE", r"the source is memory that was freed at main.asc, line \d+"),
    "launch_on_freed": ("USE_AFTER_FREE", r"add_custom: argument x is memory that was freed at"),
    "read_before_sync": ("MISSING_SYNC", r"z \(2048 B, aclrtMalloc at main.asc, line \d+\) is read while add_custom \(main.asc, line \d+\) is still queued on stream 1"),
    "wrong_kind": ("HOST_ARGUMENT", "the source is device memory, and the kind of copy says host"),
    "host_freed_as_device": ("HOST_ARGUMENT", "this memory belongs to aclrtFreeHost"),
    "malloc_of_nothing": ("HOST_ARGUMENT", "0 bytes were asked for"),
    "host_pointer_to_kernel": ("HOST_ARGUMENT", "argument x is a host address"),
    "no_blocks": ("HOST_ARGUMENT", "0 blocks; a launch has 1 to 65535"),
    "free_while_queued": ("USE_AFTER_FREE", "is freed while add_custom"),
    "init_twice": ("HOST_ARGUMENT", r"aclInit: it is called a second time \(100002\)"),
    "wrong_device": ("HOST_ARGUMENT", r"there is no device 7.*\(107001\)"),
    "events_turned_around": ("HOST_ARGUMENT", r"end event lies before the start event \(107007\)"),
    "event_not_reached": ("HOST_ARGUMENT", r"\(507006\)"),
    "destroyed_stream": ("HOST_ARGUMENT", r"the stream does not exist.*\(107003\)"),
    "too_much_memory": ("OUT_OF_MEMORY", r"no room for 102400 MB.*\(207001\)"),
    "raw_overrun": ("GM_OUT_OF_BOUNDS", "1 B were written by a raw pointer, starting 0 B behind the end of"),
}
WARNINGS = {
    "nobody_wrote": ("UNINITIALISED_READ", r"nothing has written a buffer of 2048 B \(aclrtMalloc at"),
    "leak": ("LEAK", "1 buffer still alive, 24 KB in buffers"),
    "destroy_while_queued": ("MISSING_SYNC", "1 tasks are still queued on stream 2"),
}


def run_mistake(mistakes, name):
    return hp.run_program(mistakes[1], args=(name,), check=False)


def line_of(text, name, mark="// HERE"):
    start = text.index(f'what == "{name}") {{\n')
    return text.count("\n", 0, text.index(mark, start)) + 1


@pytest.mark.parametrize("name", ERRORS)
def test_a_mistake_is_named_at_its_line(mistakes, name):
    run = run_mistake(mistakes, name)
    code, words = ERRORS[name]
    error, = [f for f in run.findings if f.severity == "error"]
    assert error.code == code and re.search(words, error.message, re.S), error
    assert error.line == line_of(mistakes[0], name) and error.file == "main.asc" and error.hint
    assert run.exit_code == 3 and f"{code}  main.asc, line {error.line}" in run.stderr
    with pytest.raises(hp.KernelError, match=code):
        hp.run_program(mistakes[1], args=(name,))


@pytest.mark.parametrize("name", WARNINGS)
def test_what_may_be_meant_is_a_warning(mistakes, name):
    run = run_mistake(mistakes, name)
    code, words = WARNINGS[name]
    warning = run.findings[0]
    assert (warning.severity, warning.code, warning.line) == ("warning", code, line_of(mistakes[0], name)) and re.search(words, warning.message), warning
    assert run.exit_code == 0 and {f.code for f in run.findings} == {code}


def test_reading_before_the_sync_gives_the_old_bytes(mistakes):
    assert run_mistake(mistakes, "read_before_sync").stdout == "read 0\nthen 16384\n"       # 0x4000: 2.0


def test_a_program_that_never_synchronises_is_told(mistakes):
    run = run_mistake(mistakes, "never_synchronised")
    assert [f.code for f in run.findings] == ["MISSING_SYNC", "LEAK"] and run.findings[0].line == line_of(mistakes[0], "never_synchronised")
    assert run.launches == []


@pytest.mark.parametrize("name, call, code", [("no_init", "aclInit has not been called", "100001"), ("no_device", "this thread has no device", "107002")])
def test_calls_before_init_and_device(mistakes, name, call, code):
    error = run_mistake(mistakes, name).findings[0]
    assert call in error.message and f"({code})" in error.message


def test_a_kernels_own_error_stops_the_stream_with_the_devices_code(mistakes):
    run = run_mistake(mistakes, "kernel_out_of_bounds")
    assert run.stdout == "sync 507035\n" and run.launches[0]["failed"]
    error = next(f for f in run.findings if f.severity == "error")
    assert error.code == "GM_OUT_OF_BOUNDS" and "add_custom, block 0" in error.message and "argument x" in error.message and "DataCopy" in error.source


def test_host_code_cannot_touch_device_memory(mistakes):
    run = run_mistake(mistakes, "host_reads_device")
    error = run.findings[-1]
    assert not crash._symbolizer() or "x[3]" in mistakes[0].splitlines()[error.line - 1]
    assert error.code == "HOST_ARGUMENT" and "Host code touched device memory: byte 3 of a buffer of 2048 B" in error.message and run.exit_code == 139


def test_a_raw_pointer_far_outside_is_stopped(mistakes):
    run = run_mistake(mistakes, "raw_far_away")
    error, text = run.findings[-1], mistakes[0].splitlines()
    assert run.exit_code == 139 and "far_away touched an address that it must not" in error.message
    if crash._symbolizer():                               # the kernel's own line, and where it was launched
        launched = int(re.search(r"launched at main.asc, line (\d+)", error.message)[1])
        assert "z[1 << 16] = 1" in text[error.line - 1] and "far_away<<<" in text[launched - 1]


def test_a_clean_program_has_no_finding_and_events_carry_the_estimate(mistakes):
    run = run_mistake(mistakes, "clean")
    assert run.findings == [] and run.exit_code == 0
    ms, first = re.fullmatch(r"ms ([\d.]+) first (\d+)\n", run.stdout).groups()
    assert int(first) == 0x4200                                                             # 1 + 1 + 1
    assert float(ms) * 1e3 == pytest.approx(sum(r["end_us"] - r["start_us"] for r in run.launches), rel=1e-3)


CRASHES = {
    "main.cpp": r"""#include <cstdlib>
#include <string>
static int own = 1;
int last(int* p, int n);
int deep(int n) { volatile char room[4096]; room[0] = char(n); return deep(n + room[0]) + room[0]; }   // stack
int main(int count, char** words) {
    const std::string what = count > 1 ? words[1] : "";
    if (what == "null") return last(nullptr, 0);
    if (what == "zero") return 700 * own / (count - 2);    // zero
    if (what == "abort") abort();                          // abort
    if (what == "throw") throw std::string("x");           // throw
    if (what == "stack") return deep(1);
    return own - 1;
}
""",
    "last.cpp": r"""static int own = 2;
int last(int* p, int n) {
    p[n] += own;                                           // null
    return p[n + 1];
}
""",
}
CRASHED = {"null": "used a null pointer", "zero": "divided an integer by zero", "abort": r"called abort\(\)", "throw": "called abort.*terminate called", "stack": "stack of the host code ran out"}
ENDED = {signal.SIGTERM: ("SIGTERM: a signal that somebody sent", "kill()"), signal.SIGKILL: ("SIGKILL.*memory ran out", "smaller buffers"), signal.SIGSYS: ("SIGSYS, in host code", "null pointer")}


@pytest.mark.parametrize("name", CRASHED)
def test_a_crash_of_host_code_has_words_and_a_line(name):
    with pytest.raises(hp.KernelError) as caught:
        hp.run_program(CRASHES, args=(name,))
    finding, = caught.value.findings
    file = next(f for f, text in CRASHES.items() if f"// {name}" in text)
    assert finding.code == "CRASH" and re.search(CRASHED[name], finding.message) and "ost code" in finding.message and finding.hint
    if crash._symbolizer():
        assert (finding.file, finding.line) == (file, 1 + CRASHES[file][:CRASHES[file].index(f"// {name}")].count("\n")) and f"// {name}" in finding.source


@pytest.mark.parametrize("number", ENDED, ids=str)
def test_a_program_that_a_signal_ended(number, tmp_path):
    """Without a trail only the number is known."""
    (finding,) = program_crash.explain(-number, tmp_path / "none", tmp_path, {}, "", [])
    words, fix = ENDED[number]
    assert finding.code == "CRASH" and re.search(words, finding.message) and fix in finding.hint


def test_a_program_that_does_not_crash_has_no_finding():
    run = hp.run_program(CRASHES)
    assert (run.exit_code, run.findings, run.files) == (0, [], {})


# ---- building
def test_names_that_two_files_define_are_shown_with_both():
    with pytest.raises(hp.CompileError) as caught:
        hp.run_program({"one.cpp": "static int mine;\nint size() { return mine; }\nint main() { return size(); }\n", "two.cpp": "static int mine;\n\nint main() { return mine; }\nint size() { return 2; }\n"})
    said = {f.message for f in caught.value.findings}
    assert said == {"main() is the start of a program, and this one has it 2 times: one.cpp, line 3; two.cpp, line 3.", "size is defined 2 times: one.cpp, line 2; two.cpp, line 4."}


def test_headers_of_a_program_are_found_and_not_built(tmp_path):
    """A header beside the sources, as text or as a file, is there for #include: its kernels and variables exist once."""
    header = '#pragma once\n#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void once(GM_ADDR x) {}\nint count = 0;\n'
    files = {"own/kernel.h": header, "main.cpp": '#include "own/kernel.h"\nint main() { return count; }\n'}
    assert hp.run_program(files).exit_code == 0
    with pytest.raises(hp.KernelError, match="status 3"):
        hp.run_program({**files, "own/kernel.h": header.replace("= 0", "= 3")})
    with pytest.raises(ValueError, match="outside"):
        hp.run_program({**files, "../kernel.h": header})
    (tmp_path / "own").mkdir()
    paths = [tmp_path / name for name in files]
    for path, text in zip(paths, files.values()):
        path.write_text(text)
    assert hp.run_program(paths).exit_code == 0
    with pytest.raises(hp.CompileError, match="not found"):
        hp.run_program({"main.cpp": files["main.cpp"]})


def test_a_kernel_in_two_files_is_told_once():
    kernel = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void twice(GM_ADDR x) {}\n'
    with pytest.raises(hp.CompileError) as caught:
        hp.run_program({"one.cpp": kernel + "int main() { return 0; }\n", "two.cpp": "\ufeff" + kernel})
    assert [f.message for f in caught.value.findings] == ["twice is defined 2 times: one.cpp, line 2; two.cpp, line 2."]


def test_the_other_linker_says_it_in_other_words():
    log = "ld.lld: error: duplicate symbol: size(int)\n>>> defined at unit0.cpp:1\n>>>            /x/unit0.o:(size(int))\n>>> defined at unit1.cpp:1\n>>>            /x/unit1.o:(.text+0x0)\n"
    finding, = diagnose.defined_twice(log, [("a.cpp", "\nint size(int n) { return n; }"), ("b.cpp", "int size(int) { return 1; }")])
    assert finding.message == "size is defined 2 times: a.cpp, line 2; b.cpp, line 1."
    assert diagnose.defined_twice("undefined reference to `size(int)'", []) == []


def test_a_program_is_text_or_paths(tmp_path):
    (tmp_path / "own.h").write_text("#define OWN 0\n")
    for include in (str(tmp_path), tmp_path, [tmp_path]):
        assert hp.run_program('#include "own.h"\nint main() { return OWN; }\n', include=include).exit_code == 0
    for wrong, words in ((None, "program is None: give a Path"), ([], r"program is \[\]"), (3, "of type int"), ({"a.cpp": b""}, r"program\['a.cpp'\] is a bytes")):
        with pytest.raises(TypeError, match=words):
            hp.run_program(wrong)
    for options, words in (({"files": ["x"]}, "files is of type list"), ({"args": "abc"}, r"args=\['abc'\]"), ({"files": {"x": np.array([None])}}, "array of Python objects"), ({"defines": ["N"]}, "give names and values")):
        with pytest.raises(TypeError, match=words):
            hp.run_program(CRASHES, **options)
    for timeout in (0, -1, "x"):
        with pytest.raises(ValueError, match="no positive number of seconds"):
            hp.run_program(CRASHES, timeout=timeout)
    with pytest.raises(ValueError, match=r"x.bin has 3 B: these are no whole elements of float16 \(2 B each\)"):
        ProgramRun(0, "", "", {"x.bin": b"abc"}, None).array("x.bin", np.float16)
    with pytest.raises(ValueError, match="is a folder: name its source files"):
        hp.run_program(tmp_path)


def test_compile_errors_show_the_learners_line():
    text = programs.CHEVRON["add.asc"].replace("CHECK(aclrtSetDevice(0));", "CHECK(aclrtSetDevice(0, 1, 2, 3, 4));")
    line = text[:text.index("aclrtSetDevice(0, 1")].count("\n") + 1
    with pytest.raises(hp.CompileError) as caught:
        hp.run_program({"add.asc": text})
    assert caught.value.findings[0].line == line
    with pytest.raises(hp.CompileError, match="main"):
        hp.run_program(programs.KERNEL)


def test_branches_of_the_cpu_mode():
    text = "#ifdef ASCENDC_CPU_DEBUG\na\n#else\nb\n#endif\n#if defined(ASCENDC_CPU_DEBUG) && X\nc\n#endif\n#ifndef __CCE_KT_TEST__\nd\n#endif\n"
    assert builder.without_cpu_branches(text) == "#if 0\na\n#else\nb\n#endif\n#if 0 && X\nc\n#endif\n#if 1\nd\n#endif\n"


def test_style_is_read_from_the_text():
    files = {name: [builder.File(f, t) for f, t in getattr(programs, name).items()] for name in ("CHEVRON", "ACLRT", "ICPU", "BOTH")}
    assert {name: builder.style_of(f) for name, f in files.items()} == {"CHEVRON": "npu", "ACLRT": "npu", "ICPU": "cpu", "BOTH": "npu"}
    with pytest.raises(ValueError, match="file name"):
        hp.run_program("main.cpp")
    with pytest.raises(ValueError, match="outside"):
        hp.run_program(programs.CHEVRON, {"../x.bin": b""})


def test_a_program_without_end_is_stopped():
    with pytest.raises(hp.KernelError, match="still running after 0.5 s"):
        hp.run_program("int main() {\n    for (volatile int i = 0;; i = i + 1) {}\n}\n", timeout=0.5)


# ---- python -m helpers.cc
def test_the_command_makes_an_ordinary_executable(data, tmp_path):
    (tmp_path / "add.asc").write_text(programs.CHEVRON["add.asc"])
    for name, array in zip(("input_x.bin", "input_y.bin"), data):
        (tmp_path / "input").mkdir(exist_ok=True)
        array.tofile(tmp_path / "input" / name)
    (tmp_path / "output").mkdir()
    done = subprocess.run([sys.executable, "-m", "helpers.cc", "add.asc", "-o", "add", "--npu-arch=dav-2201", "-O2"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0 and "left out, no meaning here: --npu-arch=dav-2201 -O2" in done.stderr, done.stderr
    run = subprocess.run(["./add"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "output/output_z.bin", np.float16), data[0] + data[1])


def test_the_command_explains_itself(capsys, tmp_path):
    assert cc.main([]) == 2 and "no source file" in capsys.readouterr().err
    assert cc.main(["--nonsense", "a.cpp"]) == 2 and "--nonsense is not known" in capsys.readouterr().err
    (tmp_path / "empty.cpp").write_text("int main() { return 0; }\n")
    assert cc.main([str(tmp_path / "empty.cpp"), "-o", str(tmp_path / "." / "empty.cpp")]) == 2 and "would overwrite the source" in capsys.readouterr().err
    assert (tmp_path / "empty.cpp").read_text() == "int main() { return 0; }\n"
    for define in ("=3", "A B=3", "N=1\n#error"):
        assert cc.main([str(tmp_path / "empty.cpp"), "-D", define]) == 1 and "cannot be defined" in capsys.readouterr().err
    assert cc.main(["-h"]) == 0 and "usage" in capsys.readouterr().out
    assert cc.main([str(tmp_path / "none.cpp")]) == 1 and f"there is no file {tmp_path / 'none.cpp'}" in capsys.readouterr().err
    (tmp_path / "binary.cpp").write_bytes(b"\xff\xfe\0")
    assert cc.main([str(tmp_path / "binary.cpp")]) == 1 and "no UTF-8 text" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    for out in (tmp_path / "folder", tmp_path / "missing" / "program"):
        assert cc.main([str(tmp_path / "empty.cpp"), "-o", str(out)]) == 1 and f"{out} cannot be written" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["binary.cpp", "empty.cpp", "folder"]
    with pytest.raises(TypeError, match="give an array, bytes, text or a Path"):
        hp.run_program(tmp_path / "empty.cpp", files={"count": 3})
    assert cc._parse(["a.cpp", "-oname", "-DN=4", "-D", "M", "-Iinc", "-r", "cpu", "-x", "asc"]) == {
        "files": ["a.cpp"], "out": "name", "style": "cpu", "chip": "Ascend910B1", "include": ["inc"], "defines": {"N": "4", "M": 1}, "ignored": ["-x", "asc"]}


# ---- the inference class
def test_the_inference_class_keeps_its_memory_and_gives_everything_back():
    sizes = (1024, 5000, 300, 5000)
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(sum(sizes)).astype(np.float16) for _ in range(2))
    run = hp.run_program(ROOT / "kernels/add/host/infer.asc", {"input/x.bin": x, "input/y.bin": y}, args=sizes)
    np.testing.assert_array_equal(run.array("output/z.bin", np.float16), x + y)
    assert run.findings == [] and len(run.launches) == len(sizes)
    assert sum(c["call"] == "aclrtMalloc" for c in run.calls) == 6          # 3 buffers, twice: only growth allocates
    assert [c["call"] for c in run.calls[:4]] == ["aclInit", "aclrtSetDevice", "aclrtCreateContext", "aclrtCreateStream"]
    assert [c["call"] for c in run.calls[-4:]] == ["aclrtDestroyStream", "aclrtDestroyContext", "aclrtResetDevice", "aclFinalize"]
    assert "4 requests, 2 allocations per buffer" in run.stdout


def test_the_inference_class_reports_a_failed_call():
    run = hp.run_program(ROOT / "kernels/add/host/infer.asc", {"input/x.bin": b"", "input/y.bin": b""}, args=(0,), check=False)
    assert run.exit_code == 3 and "0 bytes were asked for" in run.stderr and "request 0 failed" in run.stdout
    assert not any(f.code == "LEAK" for f in run.findings)
