"""The kernels of the course as files: kernels/<name>/ holds the Ascend C and a small Python file that says how to launch it."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


def folder(name: str) -> Path:
    """kernels/<name>."""
    found = KERNELS / name
    if not found.is_dir():
        known = ", ".join(sorted(p.name for p in KERNELS.iterdir() if p.is_dir()))
        raise ValueError(f"There is no kernel folder {name}. Folders here: {known}.")
    return found


def load(name: str, module: str) -> ModuleType:
    """The Python file kernels/<name>/<module>.py as a module. The folder is data of the course, not an installed package."""
    path = folder(name) / f"{module}.py"
    full = f"workbook_kernels_{name}_{module}"
    if full in sys.modules:
        return sys.modules[full]
    spec = importlib.util.spec_from_file_location(full, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"There is no file {path.name} in kernels/{name}.")
    made = importlib.util.module_from_spec(spec)
    sys.modules[full] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[full]
        raise
    return made
