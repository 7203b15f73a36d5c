"""Is there an Ascend device and the toolkit to build for it? Looks at files and variables only; starts nothing heavy."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# In the order in which the toolkit's own scripts look.
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_PLACES = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
_COMPILERS = ("bin/bisheng", "compiler/ccec_compiler/bin/bisheng", "tools/ccec_compiler/bin/bisheng", "compiler/ccec_compiler/bin/ccec")
_LIBRARIES = ("lib64/libascendcl.so", "runtime/lib64/libascendcl.so")
DEVICE = ("/dev/davinci[0-9]*", "/dev/davinci_manager")      # one of the first, and the second
_VERSIONS = ("version.cfg", "compiler/version.info", "runtime/version.info", "toolkit/version.info", "*-linux/ascend_toolkit_install.info")
SOC = "ASCEND_WORKBOOK_SOC"     # says the SoC where npu-smi cannot, as in a container


@dataclass(frozen=True)
class Npu:
    toolkit: str = ""       # folder of CANN, "" = none
    toolkit_from: str = ""  # which variable or place told it
    compiler: str = ""      # bisheng or ccec
    library: str = ""       # libascendcl.so
    device: bool = False
    smi: str = ""           # what npu-smi says, "" = it does not run
    version: str = ""       # of CANN, "" = no file tells it
    soc: str = ""           # "Ascend910B3", "" = nothing tells it
    refused: str = ""       # a compiler that is there and may not be started

    @property
    def ready(self) -> bool:
        """A kernel could be built for the device and started on it."""
        return bool(self.toolkit and self.compiler and self.library and self.device)

    def missing(self) -> list[str]:
        """What stands between this machine and a run on the device, most basic first."""
        lacks = []
        if not self.device:
            lacks.append("no Ascend device")
        if not self.toolkit:
            lacks.append("no CANN toolkit")
        else:
            if not self.compiler:
                lacks.append(f"{self.refused} of the toolkit is no program that may be executed" if self.refused else "no bisheng compiler in the toolkit")
            if not self.library:
                lacks.append("no libascendcl.so in the toolkit")
        return lacks


def probe(environment=os.environ, root: str = "/") -> Npu:
    """`root` stands for / so that a test can lay out a machine of its own."""
    def at(path: str) -> Path:
        return Path(root) / path.lstrip("/")

    candidates = [(environment[v], v) for v in _VARIABLES if environment.get(v)]
    candidates += [(str(at(p)), p) for p in _PLACES]
    candidates.append((os.path.join(environment.get("HOME", ""), "Ascend/ascend-toolkit/latest"), "~/Ascend/ascend-toolkit/latest"))
    toolkit, origin = next(((p, o) for p, o in candidates if p and Path(p).is_dir()), ("", ""))

    def first(names, right=os.R_OK) -> str:
        return next((str(Path(toolkit, n)) for n in names if toolkit and Path(toolkit, n).is_file() and os.access(Path(toolkit, n), right)), "")

    compiler = first(_COMPILERS, os.X_OK) or shutil.which("bisheng", path=environment.get("PATH", "")) or ""
    device = device_files(root)
    said = _smi(environment, "info", "-l").strip().splitlines()
    return Npu(toolkit, origin, compiler, first(_LIBRARIES), device, said[0] if said else "", _version(toolkit),
               _soc(environment) if said or environment.get(SOC) else "", "" if compiler else _there(toolkit, _COMPILERS))


def _there(toolkit: str, names) -> str:
    return next((n for n in names if toolkit and Path(toolkit, n).exists()), "")


def device_files(root: str = "/") -> bool:
    """Whether the driver shows a device to this machine or container."""
    return all(any(Path(root).glob(d.lstrip("/"))) for d in DEVICE)


def _version(toolkit: str) -> str:
    for name in _VERSIONS if toolkit else ():
        for path in sorted(Path(toolkit).glob(name)):
            found = re.search(r"^\s*(?:\w*[Vv]ersion\w*)\s*=\s*\[?([\w.]*\d[\w.]*)", path.read_text(errors="replace"), re.M)
            if found:
                return found[1]
    return ""


def _soc(environment) -> str:
    """The official SoC name: "Ascend" and the name in the table of npu-smi; on A3 two names of its board page, joined."""
    if environment.get(SOC):
        return environment[SOC]
    row = re.search(r"^\|\s*\d+\s+(?:Ascend)?(\d\w*)\s*\|\s*(?:OK|Warning|Alarm|Critical|UNKNOWN)", _smi(environment, "info"), re.M)
    if not row:
        return ""
    if row[1] != "910":
        return "Ascend" + row[1]
    board = dict(re.findall(r"^\s*(Chip Name|NPU Name)\s*:\s*(\S+)", _smi(environment, "info", "-t", "board", "-i", "0", "-c", "0"), re.M))
    name = board.get("Chip Name", "")
    if not name:
        return ""
    return name + ("_" + board["NPU Name"] if board.get("NPU Name") else "")


def _smi(environment, *words: str) -> str:
    program = shutil.which("npu-smi", path=environment.get("PATH", ""))
    if not program:
        return ""
    try:
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
