"""From a kernel of a notebook to a complete project for CANN, in one call.

    hp.ship(kernel, "add_project", (x, y, z, tiling), blocks=8)                       # launched directly
    hp.ship(kernel, "AddCustom", (x, y, z, tiling), blocks=8, layout="operator")      # an operator package
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import WorkbookError
from ..kernel import Kernel
from . import example, launch_project, operator_project
from .names import camel_case, compute_unit, official, snake_case

LAYOUTS = ("launch", "operator")
__all__ = ["Project", "camel_case", "check_project", "compute_unit", "ship", "snake_case"]


@dataclass(frozen=True, repr=False)
class Project:
    """A project on disk."""
    folder: Path
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return tree(self.folder.name, self.names)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def ship(kernel, folder, args, *, blocks: int, layout: str = "launch", outputs=(), op: str | None = None, soc: str | None = None, release: int = 8,
         tiling: dict[str, str] | None = None, vendor: str = "customize") -> Project:
    """Writes a project around one example launch, which is run on the twin first.

    layout: "launch" (kernel, main.cpp, CMake) or "operator" (msOpGen: JSON, op_host, op_kernel).
    outputs: names of the arrays the kernel fills; left out, those that the example changes.
    release: major release of CANN that a direct launch is for; 8 builds through ascendc.cmake, 9 through find_package(ASC).
    tiling: C++ expression for each field that the operator's host computes; `count` is the number of elements of the first input.
    """
    from ..npu.toolkit import ARCH
    if layout not in LAYOUTS:
        raise WorkbookError(f'layout={layout!r} is not "launch" or "operator".')
    if release not in (8, 9):
        raise WorkbookError(f"release={release!r}: projects are written for CANN 8 and 9.")
    if not isinstance(kernel, Kernel):
        raise TypeError(f"hp.ship takes a kernel, as hp.compile or a %%ascendc cell gives it, not {type(kernel).__name__}")
    if tiling is not None and not isinstance(tiling, dict):
        raise TypeError(f"tiling={tiling!r}: give the C++ expression of each field, {{\"length\": \"count\"}}")
    if not re.fullmatch(r"[A-Za-z]\w*", str(vendor)):
        raise WorkbookError(f"vendor={vendor!r}: the name of a vendor becomes a folder of CANN, so it has letters, digits and _ only.")
    if op is not None and not isinstance(op, str) or not isinstance(outputs, (str, tuple, list)):
        raise TypeError(f"op={op!r}, outputs={outputs!r}: an operator type such as \"AddCustom\", and names of parameters such as (\"z\",)")
    outputs = (outputs,) if isinstance(outputs, str) else outputs
    shown = example.run(kernel, blocks, args, outputs)
    soc = official(soc, shown.kernel.chip)
    if layout == "launch":
        written = launch_project.files(shown, soc, ARCH.get(int(shown.kernel.chip.npu_arch), "dav-2201"), release)
    else:
        written = operator_project.files(shown, op or camel_case(shown.name), soc, tiling or {}, vendor)
    target = _room_for(written, folder)
    try:
        for name, data in written.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            if name.endswith(".sh"):
                path.chmod(0o755)
    except OSError as error:
        raise WorkbookError(f"The project cannot be written to {target}: {error}. Name another folder.") from None
    return Project(target, tuple(sorted(written)))


def _room_for(names, folder) -> Path:
    """The folder, when it is new, holds nothing of these names, or holds a project that ship wrote before."""
    target = Path(folder)
    if not str(folder):
        raise WorkbookError('A project needs a folder of its own: hp.ship(kernel, "my_project", …).')
    if target.exists() and not target.is_dir():
        raise WorkbookError(f"{target} is a file, and a project needs a folder.")
    readme = target / "README.md"
    own = readme.is_file() and launch_project.MARK in readme.read_text(encoding="utf-8", errors="replace")
    taken = [name for name in sorted(names) if (target / name).exists()]
    if taken and not own:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise WorkbookError(f"{target} already holds {taken[0]}{more}, and not from a project of hp.ship: nothing was written. Name another folder.")
    return target


def tree(root: str, names) -> str:
    """Folders and files as an indented list."""
    lines, seen = [root + "/"], set()
    for name in sorted(names, key=lambda n: (n.count("/") == 0, n)):
        *folders, file = name.split("/")
        for depth in range(len(folders)):
            if tuple(folders[:depth + 1]) not in seen:
                seen.add(tuple(folders[:depth + 1]))
                lines.append("  " * (depth + 1) + folders[depth] + "/")
        lines.append("  " * (len(folders) + 1) + file)
    return "\n".join(lines)


from .check import check_project  # noqa: E402  (it uses the names above)
