"""kernels/_template: a copy of it works as it is, and its tests find a kernel that is wrong."""
import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.course import changed, folder
from chapters import ROOT

TEMPLATE = folder("_template")
MISTAKES = {      # what is changed, and the test that must notice
    "tail": ("kernel.cpp", "count * sizeof(T)), 0, 0, 0};\n        DataCopyPad(yGm", "count / 16 * 16 * sizeof(T)), 0, 0, 0};\n        DataCopyPad(yGm", "test_against_float64[33-half]"),
    "value": ("kernel.cpp", "Adds(size, size, 1.0f, count);", "Adds(size, size, 1.01f, count);", "test_against_float64[1003-float]"),
    "slope": ("ladder.py", "return 1 / (1 + abs(x)) ** 2", "return 1 / (1 + abs(x))", "test_slope_by_finite_differences"),
    "bytes": ("kernel.cpp", "            CopyOut(start, count);", "            CopyOut(start, count);\n            if (start == 0) CopyIn(start, count);", "test_bytes_moved"),
}


def copied(place, name: str = "test_kernel.py"):
    shutil.copytree(TEMPLATE, place, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "test_kernel.py").rename(place / name)           # pytest wants one name for each of several files
    return place / name


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """{test: passed, failed, …} of a plain copy and of the wrong ones, from one pytest as a user starts it."""
    top = tmp_path_factory.mktemp("kernels")
    asked = [str(copied(top / "mine"))]
    for name, (file, old, new, test) in MISTAKES.items():
        path = copied(top / name, f"test_{name}.py")
        text = path.with_name(file).read_text()
        path.with_name(file).write_text(changed(text, old, new))
        asked.append(f"{path}::{test}")
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-rN", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", *asked], cwd=top, capture_output=True,
                          text=True, timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
    found = {(m[1], m[2]): m[3] for m in re.finditer(r"^(\w+)/test_\w+\.py::(\S+) (PASSED|FAILED|SKIPPED|ERROR)", done.stdout, re.M)}
    assert found, done.stdout + done.stderr
    return found


def test_a_copy_works(verdicts):
    mine = {test: verdict for (place, test), verdict in verdicts.items() if place == "mine"}
    assert len(mine) == 45 and sum(v == "PASSED" for v in mine.values()) >= 40
    assert {v for t, v in mine.items() if "torch" not in t} == {"PASSED"} and set(mine.values()) <= {"PASSED", "SKIPPED"}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(verdicts, name):
    assert verdicts[name, MISTAKES[name][3]] == "FAILED"


def test_the_template_names_nothing_of_its_place():
    for path in TEMPLATE.iterdir():
        if path.is_file():
            assert "_template" not in path.read_text().replace("cp -r kernels/_template kernels/mine", "")
    header = (TEMPLATE / "kernel.cpp").read_text().split("#include")[0]
    assert [line.split(":")[0] for line in header.splitlines() if line.startswith("// ")] == ["// softsign", "// What", "// Why", "// Timeline"]
