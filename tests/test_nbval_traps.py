"""Faults that notebook tests are known to let pass must fail here: each notebook below has one, and nbval must see it."""
import subprocess
import sys
import xml.etree.ElementTree as xml

import nbformat
import pytest

GOOD = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void empty(GM_ADDR x) {}
"""
KERNEL = f"%%ascendc empty\n{GOOD}"
BROKEN = KERNEL.replace("{}", "{ nothing; }")
IMPORT = "import helpers as hp"

SOUND = {"kernel": ([IMPORT, KERNEL, "print(empty.name)"], {3: "empty\n"}),
         "expected": ([IMPORT, "%%ascendc empty --expect-error COMPILE" + BROKEN.removeprefix("%%ascendc empty") + "\n"], {2: None})}
FAULTY = {
    "unknown_flag": [IMPORT, f"%%ascendc --no-such-flag\n{GOOD}"],
    "unknown_code": [IMPORT, f"%%ascendc empty --expect-error NO_SUCH_CODE\n{GOOD}"],
    "failing_build": [IMPORT, BROKEN],
    "expected_error_does_not_come": [IMPORT, f"%%ascendc empty --expect-error COMPILE\n{GOOD}"],
    "helpers_not_imported": [KERNEL, "empty.name"],
    "missing_extension": ["%load_ext no_such_extension"],
    "line_magic": [IMPORT, "%ascendc empty"],
    "stale_kernel": [IMPORT, KERNEL, BROKEN, "empty.name"],
    "nothing_raised": [IMPORT, "with hp.expect_error('MISSING_SYNC'):\n    pass"],
    "other_output": ["print(1 + 1)"],
    "crash": [IMPORT, KERNEL.replace("{}", "{ *(volatile int*)nullptr = 1; }"), "import numpy as np\nrun = empty[1](np.zeros(8, np.uint8))"],
}
WRONG_OUTPUT = {"other_output": {1: "3\n"}}
LAST_CELL_FAILS = {"stale_kernel": "NameError", "crash": "CRASH"}


def write(folder, name, cells, outputs):
    made = []
    for number, text in enumerate(cells, 1):
        cell = nbformat.v4.new_code_cell(text, execution_count=number)
        if outputs.get(number):
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=outputs[number])]
        elif number in outputs:
            cell.metadata["tags"] = ["nbval-ignore-output"]
        made.append(cell)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": kernel}), folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """What nbval says of all notebooks: {notebook: [message of a failed cell, …]}, in one run as `make test` does it."""
    folder = tmp_path_factory.mktemp("traps")
    for name, (cells, outputs) in SOUND.items():
        write(folder, name, cells, outputs)
    for name, cells in FAULTY.items():
        write(folder, name, cells, WRONG_OUTPUT.get(name, {}))
    done = subprocess.run([sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:cacheprovider",
                           "-p", "no:xdist", "-q", "--junitxml=report.xml", "."], cwd=folder, capture_output=True, text=True, timeout=500)
    assert done.returncode == 1, done.stdout + done.stderr
    found = {name: [] for name in (*SOUND, *FAULTY)}
    for case in xml.parse(folder / "report.xml").iter("testcase"):
        name = case.get("classname").removesuffix(".ipynb").split(".")[-1]
        found[name] += [f.text or "" for f in case.iter("failure")]
    return found


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_notebook_passes(verdicts, name):
    assert verdicts[name] == []


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_fails(verdicts, name):
    assert verdicts[name]
    assert LAST_CELL_FAILS.get(name, "") in verdicts[name][-1]
