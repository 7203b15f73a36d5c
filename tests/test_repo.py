"""The repository keeps its own rules: one list of dependencies, notebooks as they were run, nothing of a machine in it."""
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from helpers import catalogue

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if out.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in out.stdout.splitlines() if (ROOT / name).is_file()]


# ---- dependencies
def test_environment_repeats_pyproject():
    def plain(requirement):
        text, _, marker = requirement.partition(";")
        return text.strip() if "python_version >= '3.13'" not in marker else None      # the conda environment is older

    wanted = {plain(r) for r in PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]} - {None}
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    listed = [d for d in environment["dependencies"] if isinstance(d, str)]
    only_conda = {"pip", "make", "cxx-compiler"}
    assert {d for d in listed if d not in only_conda and not d.startswith("python>")} == wanted
    assert environment["name"] == PROJECT["name"] and environment["dependencies"][-1] == {"pip": ["-e .[course]"]}


def test_versions_agree():
    import helpers
    assert helpers.__version__ == PROJECT["version"]


def test_numpy_stays_below_2_where_mindspore_exists():
    line, = [d for d in PROJECT["dependencies"] if d.startswith("numpy") and "< '3.13'" in d]
    assert "<2" in line


# ---- texts
def test_nothing_of_a_registry_or_a_machine_is_in_the_repository():
    hosts = re.compile(rb"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|/simple)\S*|(?<![\w.])/(?:work|root)/[A-Za-z._]+")
    found = {str(p.relative_to(ROOT)): m[0] for p in tracked() if p != Path(__file__) and (m := hosts.search(p.read_bytes()))}
    assert found == {}


def test_no_built_files_are_tracked():
    assert [p for p in tracked() if p.suffix in (".so", ".o", ".gch", ".pch", ".pyc")] == []


def test_licence_is_apache_2():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "Version 2.0, January 2004" in text and len(text.splitlines()) > 190
    assert PROJECT["license"]["text"] == "Apache-2.0"


def test_top_level_stays_small():
    allowed = {"notebooks", "kernels", "helpers", "tests", "environment.yml", "README.md", "pyproject.toml", "Makefile", "LICENSE", ".ci", ".gitignore"}
    assert {p.relative_to(ROOT).parts[0] for p in tracked()} <= allowed


def test_headers_and_sources_are_packaged():
    from setuptools import find_packages
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["helpers"]
    packaged = {p for pattern in data for p in (ROOT / "helpers").glob(pattern) if p.is_file()}
    needed = {p for folder in ("twin", "chips") for p in (ROOT / "helpers" / folder).rglob("*") if p.suffix in (".h", ".cpp", ".toml", ".tsv", "")
              and p.is_file()} | set((ROOT / "helpers").rglob("*.js")) | set((ROOT / "helpers").glob("*.toml"))
    assert sorted(str(p.relative_to(ROOT)) for p in needed - packaged) == []
    assert "helpers.build" in find_packages(str(ROOT), include=["helpers*"])


# ---- README
def test_chapters_of_the_readme_are_the_notebooks_there_are():
    text = (ROOT / "README.md").read_text()
    linked = set(re.findall(r"\(notebooks/(\w+\.ipynb)\)", text))
    assert linked == {p.name for p in NOTEBOOKS}
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    for path in re.findall(r"\]\((?!https?:)([^)#]+)\)", prose):
        assert (ROOT / path).exists(), path


# ---- notebooks
@pytest.fixture(params=NOTEBOOKS, ids=lambda p: p.stem)
def notebook(request):
    return request.param, json.loads(request.param.read_text())


def code_cells(data):
    return [c for c in data["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()]


def test_notebook_is_stored_as_it_ran(notebook):
    path, data = notebook
    assert [c["execution_count"] for c in code_cells(data)] == list(range(1, len(code_cells(data)) + 1))
    assert data["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in data["metadata"]
    assert path.stat().st_size <= 500_000


def test_notebook_compares_something(notebook):
    _, data = notebook
    compared = [c for c in code_cells(data) if c["outputs"] and "nbval-ignore-output" not in c["metadata"].get("tags", [])]
    assert compared


def test_notebook_cells_are_short_and_widgets_are_tagged(notebook):
    _, data = notebook
    for cell in code_cells(data):
        text, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        assert text.startswith("%%ascendc") or len(text.splitlines()) <= 25, text[:200]
        if re.search(r"\binteract(ive)?\(|widgets\.", text):
            assert "nbval-ignore-output" in tags or "nbval-skip" in tags, text[:200]


def test_notebook_uses_no_magic_that_fails_silently(notebook):
    _, data = notebook
    for cell in code_cells(data):
        for line in "".join(cell["source"]).splitlines():
            if re.match(r"[%!]", line):
                assert line.startswith("%%ascendc"), line


def test_kernel_cell_is_used_by_a_later_cell(notebook):
    _, data = notebook
    cells = ["".join(c["source"]) for c in code_cells(data)]
    for number, text in enumerate(cells):
        if text.startswith("%%ascendc") and "--expect-error" not in text.splitlines()[0]:
            names = re.findall(r"__global__[^;{(]*?\b(\w+)\s*\(", text)
            assert any(re.search(rf"\b{name}\b", later) for name in names for later in cells[number + 1:]), text[:80]


def test_notebook_names_nothing_of_this_machine(notebook):
    _, data = notebook
    for cell in code_cells(data):
        shown = json.dumps(cell["outputs"])
        assert not re.search(r"/(?:home|root|work|tmp|Users)/\w", shown), shown[:200]


# ---- finding codes
def test_every_code_in_use_has_a_page():
    used = {}
    for path in [*(ROOT / "helpers" / "twin").rglob("*.cpp"), *(ROOT / "helpers" / "twin").rglob("*.h"), *(ROOT / "helpers").rglob("*.py")]:
        text = path.read_text(errors="replace")
        for code in re.findall(r'(?:report\([^"]*|fatal\(\s*|Finding\(\s*|Explained\(\s*|argument_error\(\s*|expect_error\(\s*)"([A-Z][A-Z_0-9]+)"', text):
            used.setdefault(code, path.name)
    assert {c: f for c, f in used.items() if c not in catalogue.pages()} == {}
    assert len(used) > 20


def test_pages_are_complete():
    for code, page in catalogue.pages().items():
        assert re.fullmatch(r"[A-Z][A-Z_0-9]+", code)
        for name in ("title", "meaning", "why", "fix", "example"):
            assert getattr(page, name).strip(), (code, name)
        assert page.meaning.endswith(".") and page.fix.endswith(".") and not page.title.endswith(".")
        assert code in str(page) and page.example in page._repr_markdown_()


def test_unknown_code_names_the_nearest():
    with pytest.raises(LookupError, match="MISALIGNED"):
        catalogue.page("MISALIGN")
