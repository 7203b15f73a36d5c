"""Runs notebooks from a fresh kernel and stores what they showed: `python -m helpers.course.execute [notebook …]`.

A stored notebook is in order (counts 1..N), says nothing about the machine in its metadata, keeps no widget state and
stays small. Anything else is an error here, not a surprise in a review.
"""
from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from ..build import runtime

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 500_000          # bytes of a stored notebook
SECONDS = 120            # for one cell; the test run has the same limit
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}


class Refused(Exception):
    """A notebook that ran but must not be stored."""


def notebooks(folder: Path = ROOT / "notebooks") -> list[Path]:
    """All chapters in order."""
    return sorted(folder.glob("[0-9]*.ipynb"))


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run from a fresh kernel. Raises CellExecutionError when a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.kernelspec = dict(_KERNEL)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", store_widget_state=False, record_timing=False,
                            resources={"metadata": {"path": str(path.parent)}})
    client.execute()
    return tidy(notebook)


def tidy(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Leaves out what differs from machine to machine: versions, widget state, how a stream was cut into pieces."""
    notebook.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": _LANGUAGE})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return notebook


def _joined(outputs: list) -> list:
    """Streams of the same name in one piece."""
    found: list = []
    for out in outputs:
        before = found[-1] if found else None
        if before is not None and out.output_type == before.output_type == "stream" and out.name == before.name:
            before.text += out.text
        else:
            found.append(out)
    return found


def complaints(notebook: nbformat.NotebookNode, size: int) -> list[str]:
    """Why this notebook must not be stored; empty when it may."""
    found = []
    code = [c for c in notebook.cells if c.cell_type == "code"]
    counts = [c.execution_count for c in code]
    if counts != list(range(1, len(code) + 1)):
        found.append(f"the cells ran as {counts}, not 1..{len(code)}")
    if size > LIMIT:
        found.append(f"it has {size:,} B; the limit is {LIMIT:,} B")
    if "widgets" in notebook.metadata:
        found.append("it holds widget state")
    for c in code:
        for out in c.outputs:
            if out.output_type == "error":
                found.append(f"cell [{c.execution_count}] ended with {out.ename}")
            if out.output_type == "stream" and out.name == "stderr":
                found.append(f"cell [{c.execution_count}] wrote to stderr: {out.text.strip().splitlines()[0][:100]}")
    return found


def store(path: Path) -> tuple[int, bool]:
    """Runs and writes one notebook; returns its size and whether the file changed."""
    text = nbformat.writes(execute(path)) + "\n"
    size = len(text.encode())
    wrong = complaints(nbformat.reads(text, as_version=4), size)
    if wrong:
        raise Refused("; ".join(wrong))
    changed = text != path.read_text(encoding="utf-8")
    if changed:
        path.write_text(text, encoding="utf-8")
    return size, changed


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.course.execute", description="Run notebooks and store their outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks or folders of them (default: all chapters)")
    asked = parser.parse_args(argv).notebooks or [ROOT / "notebooks"]
    paths = [p for a in asked for p in (notebooks(a) if a.is_dir() else [a])]
    if not paths:
        print("There is no notebook to run.")
        return 1
    runtime.ensure(runtime.print_progress(sys.stderr))      # here, so that no cell has to say that it was built
    failed = 0
    for path in paths:
        started = time.monotonic()
        try:
            size, changed = store(path)
            state = "stored" if changed else "unchanged"
            print(f"{path.name:28} {state}, {size / 1000:.0f} kB, {time.monotonic() - started:.0f} s", flush=True)
        except (CellExecutionError, Refused, TimeoutError) as problem:
            failed += 1
            print(f"{path.name:28} not stored: {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
