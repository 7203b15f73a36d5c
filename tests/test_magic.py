"""%%ascendc inside a real IPython: binds, raises, unbinds."""
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import helpers as hp
from helpers import magic

ADD_ONE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void add_one(GM_ADDR x, GM_ADDR y, int32_t n) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, n * sizeof(half));
    pipe.InitBuffer(out, 1, n * sizeof(half));
    GlobalTensor<half> xg, yg;
    xg.SetGlobalBuffer((__gm__ half*)x, n);
    yg.SetGlobalBuffer((__gm__ half*)y, n);
    LocalTensor<half> a = in.AllocTensor<half>();
    DataCopy(a, xg, n);
    in.EnQue(a);
    a = in.DeQue<half>();
    LocalTensor<half> b = out.AllocTensor<half>();
    Adds(b, a, static_cast<half>(1), n);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<half>();
    DataCopy(yg, b, n);
    out.FreeTensor(b);
}
"""
BROKEN = ADD_ONE.replace("static_cast<half>(1)", "1.0")
BROKEN_LINE = 1 + next(i for i, line in enumerate(BROKEN.splitlines(), 1) if "1.0" in line)   # the magic line is line 1


@pytest.fixture(scope="module")
def shell():
    shell = InteractiveShell.instance()
    assert magic.register()
    yield shell
    InteractiveShell.clear_instance()


def run(shell, line, cell=ADD_ONE):
    """What a cell does: its exception, or None."""
    result = shell.run_cell(f"%%ascendc {line}\n{cell}")
    return result.error_before_exec or result.error_in_exec


def test_binds_a_kernel_that_runs(shell):
    assert run(shell, "add_one") is None
    x, y = np.arange(32, dtype=np.float16), np.zeros(32, np.float16)
    shell.user_ns["add_one"][1](x, y, 32)
    np.testing.assert_array_equal(y, x + 1)


def test_the_name_may_be_left_out(shell):
    shell.user_ns.pop("add_one", None)
    assert run(shell, "") is None and isinstance(shell.user_ns["add_one"], hp.Kernel)


def test_all_kernels_of_a_cell_are_bound(shell):
    two = ADD_ONE + 'extern "C" __global__ __aicore__ void second(GM_ADDR x) {}\n'
    assert run(shell, "", two) is None and {"add_one", "second"} <= set(shell.user_ns)
    del shell.user_ns["add_one"], shell.user_ns["second"]
    assert run(shell, "second", two) is None and "add_one" not in shell.user_ns


def test_options_reach_the_kernel(shell):
    assert run(shell, "add_one --chip Ascend910B3 --strict-sync --target=host") is None
    kernel = shell.user_ns["add_one"]
    assert kernel.chip.name == "Ascend910B3" and kernel.auto_sync is False


def test_failed_build_raises_at_the_cells_line_and_unbinds(shell):
    assert run(shell, "add_one") is None
    error = run(shell, "add_one", BROKEN)
    assert isinstance(error, hp.CompileError) and error.findings[0].line == BROKEN_LINE
    assert "add_one" not in shell.user_ns


def test_other_variables_survive_a_failed_build(shell):
    shell.user_ns["add_one"] = "mine"
    assert isinstance(run(shell, "", BROKEN), hp.CompileError)
    assert shell.user_ns.pop("add_one") == "mine"


def test_an_instance_of_a_template_needs_no_quotation_marks():
    assert [magic.parse(line).name for line in ("k<half>", "k<half, 1> --strict-sync", "--target host k<T<int, 2>, 4>", "'k<half, 1>'")] == ["k<half>", "k<half, 1>", "k<T<int, 2>, 4>", "k<half, 1>"]


@pytest.mark.parametrize("line, words", [("--bad", "--bad is not an option"), ("a b", "given twice"), ("--chip", "needs a value"),
                                         ("--chip --strict-sync", "needs a value"), ("--target gpu", "auto, host or npu"),
                                         ("--strict-sync=1", "not an option"), ('"open', "not closed"), ("--expect-error NO_SUCH", "NO_SUCH"), ("a --expect-error MISALIGN", "MISALIGNED")])
def test_bad_options_are_ordinary_exceptions(shell, line, words):
    assert run(shell, "add_one") is None
    error = run(shell, line)
    assert type(error) is ValueError and words in str(error)
    assert "add_one" not in shell.user_ns


def test_unknown_chip_and_absent_target(shell):
    assert isinstance(run(shell, "--chip Ascend910B9"), hp.WorkbookError)
    error = run(shell, "--target npu")
    assert isinstance(error, hp.WorkbookError) and "host" in str(error)


def test_as_a_line_magic_it_raises_too(shell):
    result = shell.run_cell("%ascendc add_one")
    assert type(result.error_in_exec) is ValueError


def test_expected_error_is_printed_and_nothing_is_bound(shell, capsys):
    assert run(shell, "add_one") is None
    assert run(shell, "add_one --expect-error UNSUPPORTED_TYPE", BROKEN) is None
    out = capsys.readouterr().out
    assert "UNSUPPORTED_TYPE" in out and f"line {BROKEN_LINE}" in out and "Fix:" in out
    assert "add_one" not in shell.user_ns


def test_expected_error_must_come(shell):
    assert isinstance(run(shell, "add_one --expect-error UNSUPPORTED_TYPE"), AssertionError)
    error = run(shell, "add_one --expect-error WRONG_POSITION", BROKEN)
    assert isinstance(error, hp.CompileError) and "WRONG_POSITION" in str(error)


def test_only_the_findings_are_shown(shell, capsys):
    run(shell, "add_one", BROKEN)
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert "Muls" not in text and "Adds takes a scalar" in text
    assert "helpers/" not in text and "Traceback" not in text


def test_a_kernel_that_hides_a_python_name_says_so(shell, capsys):
    for name, what in (("abs", "a function"), ("math", "a module"), ("add_one", "")):
        shell.run_cell("import math")
        assert run(shell, name, ADD_ONE.replace("add_one", name)) is None
        out = capsys.readouterr().out
        assert what in out if what else not out


def test_template_names_its_arguments_as_a_cell_does(shell):
    text = '#include "kernel_operator.h"\ntemplate <typename T> __global__ __aicore__ void k(GM_ADDR x) {}\n'
    for line in ("", "k"):
        assert "Fix: %%ascendc k<half>" in str(run(shell, line, text))


def test_help_is_the_manual(shell):
    text = magic.ascendc.__doc__
    for option in ("name", "--chip", "--target", "--strict-sync", "--expect-error"):
        assert option in text and option.replace("name", "[name]") in magic._USAGE


def test_plain_import_registers_nothing():
    import subprocess
    import sys
    done = subprocess.run([sys.executable, "-c", "import sys, helpers; print('IPython' in sys.modules, helpers.magic.register())"],
                          capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"], done.stderr
