"""Running notebooks, and the small tools of the chapters."""
import nbformat
import pytest

from helpers.course import changed, changes, folder, load
from helpers.course.execute import LIMIT, complaints, main, notebooks, tidy
from chapters import ROOT, kernel_cells


def book(*cells, **metadata):
    return nbformat.v4.new_notebook(cells=list(cells), metadata=metadata)


def ran(source, count, *outputs):
    return nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs))


def stream(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


# ---- execute
def written(tmp_path, *sources):
    path = tmp_path / "00_try.ipynb"
    nbformat.write(book(*(nbformat.v4.new_code_cell(s) for s in sources)), path)
    return path


def test_a_run_notebook_is_stored_in_order(tmp_path, capsys):
    path = written(tmp_path, "print(1)\nprint(2)", "41 + 1")
    assert main([str(path)]) == 0
    stored = nbformat.read(path, as_version=4)
    assert [c.execution_count for c in stored.cells] == [1, 2]
    assert stored.cells[0].outputs[0].text == "1\n2\n" and stored.cells[1].outputs[0].data["text/plain"] == "42"
    assert set(stored.metadata) == {"kernelspec", "language_info"} and "version" not in stored.metadata.language_info
    first = path.read_bytes()
    assert main([str(path)]) == 0 and path.read_bytes() == first
    assert "unchanged" in capsys.readouterr().out


def test_a_failing_cell_leaves_the_file_alone(tmp_path, capsys):
    path = written(tmp_path, "1 / 0")
    before = path.read_bytes()
    assert main([str(path)]) == 1 and path.read_bytes() == before
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_stderr_is_refused(tmp_path):
    assert main([str(written(tmp_path, "import sys; print('hm', file=sys.stderr)"))]) == 1


def test_no_notebook_is_a_failure(tmp_path):
    assert main([str(tmp_path)]) == 1


def test_streams_are_joined_and_the_machine_is_forgotten():
    made = book(ran("x", 1, stream("a"), stream("b"), stream("c", "stderr"), stream("d")), kernelspec={"name": "conda-x", "display_name": "x"},
                widgets={"state": {}}, language_info={"name": "python", "version": "3.99"})
    made.cells[0].metadata["execution"] = {"iopub.execute_input": "2020"}
    clean = tidy(made)
    assert [(o.name, o.text) for o in clean.cells[0].outputs] == [("stdout", "ab"), ("stderr", "c"), ("stdout", "d")]
    assert clean.metadata.kernelspec.name == "python3" and "widgets" not in clean.metadata and "execution" not in clean.cells[0].metadata


@pytest.mark.parametrize("made, size, word", [
    (book(ran("x", 2)), 10, "ran as [2]"),
    (book(ran("x", None)), 10, "ran as"),
    (book(ran("x", 1)), LIMIT + 1, "the limit is"),
    (book(ran("x", 1), widgets={}), 10, "widget state"),
    (book(ran("x", 1, nbformat.v4.new_output("error", ename="KeyError", evalue="", traceback=[]))), 10, "KeyError"),
    (book(ran("x", 1, stream("careful\n", "stderr"))), 10, "careful"),
])
def test_complaints(made, size, word):
    assert any(word in c for c in complaints(made, size))


def test_a_good_notebook_has_no_complaints():
    assert complaints(book(ran("x", 1, stream("a")), nbformat.v4.new_markdown_cell("text"), ran("y", 2)), 1000) == []


# ---- the stored chapters
@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_stored_chapters(path):
    stored = nbformat.read(path, as_version=4)
    assert complaints(stored, path.stat().st_size) == []
    assert stored == tidy(nbformat.read(path, as_version=4))
    for cell in stored.cells:
        kernel = cell.source.startswith("%%ascendc")
        if cell.cell_type == "code":
            assert kernel or len(cell.source.splitlines()) <= 25, cell.source.splitlines()[0]
            for out in cell.outputs:
                data = out.get("data", {})
                assert "image/svg+xml" not in data
                if "image/png" in data:
                    assert "Notice" in data["text/plain"] or "plan" in data["text/plain"] or len(data["text/plain"]) > 60
                    assert out.metadata["image/png"]["alt"] == data["text/plain"]


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_a_cell_after_a_kernel_cell_uses_the_kernel(path):
    """nbval does not see a magic that is not registered; a NameError in the next cell it does see."""
    cells = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    for cell, after in zip(cells, cells[1:]):
        if cell.startswith("%%ascendc") and "--expect-error" not in cell.splitlines()[0]:
            names = [line.split("void ")[1].split("(")[0] for line in cell.splitlines() if "__global__" in line]
            assert any(name in after for name in names), names


@pytest.mark.parametrize("path", notebooks(), ids=lambda p: p.stem)
def test_chapters_and_folders_have_one_name(path):
    name = path.stem.split("_", 1)[1]
    names = [name] if (ROOT / "kernels" / name).is_dir() else name.split("_")      # 05_swiglu_rope has two
    own = 1 <= int(path.stem[:2]) <= 10                                            # later chapters borrow kernels of these
    if own and kernel_cells(path.stem):
        for n in names:
            assert folder(n).is_dir() and (ROOT / "tests" / f"test_{n}.py").is_file()


# ---- tools
def test_changed_wants_one_place():
    assert changed("a b c", "b", "x") == "a x c"
    with pytest.raises(ValueError, match="occurs 2 times"):
        changed("a b b", "b", "x")
    with pytest.raises(ValueError, match="occurs 0 times"):
        changed("a", "b", "x")


def test_unknown_folders_and_modules_are_named():
    with pytest.raises(ValueError, match="Folders here: .*add.*copy"):
        folder("ad")
    with pytest.raises(ValueError, match="no file steps.py in kernels/add"):
        load("add", "steps")
    assert load("add", "ladder") is load("add", "ladder")


def test_changes_show_code_only():
    v2, v3 = load("add", "ladder").VERSIONS[2:4]
    shown = changes(v2, v3).splitlines()
    assert [line[:1] for line in shown] == ["-", "+"] and "16384" in shown[1]
    assert v3.comment.startswith("add, v3: ") and not v3.code.startswith("//")


def test_one_function_of_a_version():
    v5 = load("rms_norm", "ladder").VERSIONS[4]
    shown = v5.function("RowSums")
    assert shown.startswith("// sum[r] =") and shown.endswith("\n}") and "WholeReduceSum" in shown and "Compute" not in shown
    assert v5.function("CopyOut").startswith("__aicore__ inline void CopyOut(")
    with pytest.raises(ValueError, match="no function CopyUp in v5_all_cores.cpp"):
        v5.function("CopyUp")
