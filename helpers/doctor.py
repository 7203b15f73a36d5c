"""What is installed, where kernels would run and why, and what to do about what is missing."""
from __future__ import annotations

import html
import importlib.metadata
import shutil
import sys
from dataclasses import dataclass, field

from . import npu_probe
from .build import compiler
from .errors import SetupError

OK, MISSING, OPTIONAL = "ok", "missing", "optional"
_REQUIRED = (("numpy", "NumPy"), ("matplotlib", "Matplotlib"), ("jupyterlab", "JupyterLab"), ("ipywidgets", "ipywidgets"),
             ("ml_dtypes", "ml_dtypes"))
_OPTIONAL = (("mindspore", "MindSpore", "chapters 11, 12 and 15"), ("torch", "PyTorch", "chapter 13"), ("onnx", "ONNX", "chapter 14"))


@dataclass(frozen=True)
class Row:
    part: str
    state: str        # OK, MISSING, OPTIONAL
    found: str
    todo: str = ""    # what to do, "" when nothing


@dataclass(frozen=True)
class Report:
    """Printed as a plain table, shown as HTML in a notebook."""
    rows: list[Row]
    target: str
    why: str
    headline: str = field(default="")

    def __str__(self) -> str:
        widths = [max(len(getattr(r, name)) for r in self.rows) for name in ("part", "state", "found")]
        lines = [f"{r.part:<{widths[0]}}  {r.state:<{widths[1]}}  {r.found:<{widths[2]}}  {r.todo}".rstrip() for r in self.rows]
        return "\n".join([*lines, "", f"Kernels run on: {self.target} ({self.why})", self.headline])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        mark = {OK: "✓", MISSING: "✗", OPTIONAL: "–"}
        rows = "".join("<tr>" + "".join(f'<td style="text-align:left">{html.escape(cell)}</td>' for cell in
                                        (f"{mark[r.state]} {r.part}", r.found, r.todo)) + "</tr>" for r in self.rows)
        return (f"<table><thead><tr><th></th><th>found</th><th>to do</th></tr></thead><tbody>{rows}</tbody></table>"
                f"<p>Kernels run on: <b>{html.escape(self.target)}</b> ({html.escape(self.why)})<br>{html.escape(self.headline)}</p>")


def doctor() -> Report:
    """Looks at this machine; changes nothing."""
    npu = npu_probe.probe()
    rows = [_python(), *map(_required, _REQUIRED), _compiler(), _twin(), *_npu(npu), *(_optional(*row) for row in _OPTIONAL)]
    where, why = target(npu=npu)
    missing = [r.part for r in rows if r.state == MISSING]
    headline = "Everything the course needs is here." if not missing else "To install: " + ", ".join(missing) + "."
    return Report(rows, where, why, headline)


def target(wanted: str = "auto", npu: npu_probe.Npu | None = None) -> tuple[str, str]:
    """("host" or "npu", why)."""
    npu = npu or npu_probe.probe()
    if wanted == "host":
        return "host", "asked for"
    if npu.ready:
        return "npu", f"a device and CANN from {npu.toolkit_from} are here"
    return "host", "the twin of the AI core: " + " and ".join(npu.missing()) + " here"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _python() -> Row:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 10):
        return Row("Python", MISSING, version, "install Python 3.10 or newer")
    if sys.version_info >= (3, 13):
        return Row("Python", OK, version, "MindSpore has packages up to 3.12 only")
    return Row("Python", OK, version)


def _required(row: tuple[str, str]) -> Row:
    package, name = row
    version = _version(package)
    return Row(name, OK, version) if version else Row(name, MISSING, "not installed", f"pip install {package}")


def _optional(package: str, name: str, used: str) -> Row:
    version = _version(package)
    return Row(name, OK, version) if version else Row(name, OPTIONAL, "not installed", f"pip install {package}   ({used})")


def _compiler() -> Row:
    found, passed = compiler.search()
    if found:
        return Row("C++ compiler", OK, str(found))
    return Row("C++ compiler", MISSING, passed[0] if passed else "not installed", "pip install ziglang, or install g++ 12 or newer")


def _twin() -> Row:
    from .build import runtime
    try:
        built = runtime.is_built()
    except Exception as error:   # no compiler: said in the row above
        return Row("Twin runtime", OPTIONAL, f"not built ({type(error).__name__})", "needs the compiler")
    return Row("Twin runtime", OK, "built") if built else Row("Twin runtime", OPTIONAL, "not built yet", "make setup, or the first kernel cell builds it")


def _npu(npu: npu_probe.Npu) -> list[Row]:
    device = Row("Ascend device", OK, npu.smi or "/dev/davinci0") if npu.device else Row("Ascend device", OPTIONAL, "none", "not needed: kernels run on the twin")
    if not npu.toolkit:
        return [device, Row("CANN toolkit", OPTIONAL, "none", "only for a device: install CANN, then source set_env.sh")]
    lacks = [w for w in npu.missing() if "toolkit" in w]
    found = " ".join(filter(None, (npu.version, f"({npu.toolkit_from})")))
    if lacks:
        return [device, Row("CANN toolkit", OPTIONAL, f"{found}: {', '.join(lacks)}", "source set_env.sh of a full toolkit")]
    return [device, Row("CANN toolkit", OK, found), _route(npu)]


def _route(npu: npu_probe.Npu) -> Row:
    """For which chip kernels would be built, and by which route."""
    from .npu import toolkit
    try:
        found = toolkit.find(npu)
    except SetupError as error:
        return Row("Device build", OPTIONAL, "none", error.headline)
    soc = found.soc or "chip of the kernel"
    if found.route == toolkit.CMAKE and not shutil.which("cmake"):
        return Row("Device build", OPTIONAL, f"{soc}, through ascendc.cmake", "pip install cmake")
    return Row("Device build", OK, f"{soc}, " + ("bisheng" if found.route == toolkit.BISHENG else "through ascendc.cmake"),
               "" if found.soc else f"{npu_probe.SOC}=Ascend910B3 names the chip where npu-smi cannot")
