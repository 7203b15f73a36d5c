"""Is there an Ascend device and the toolkit to build for it? Looks at files and variables only; starts nothing heavy."""
from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# In the order in which the toolkit's own scripts look.
_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_PLACES = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
_COMPILERS = ("bin/bisheng", "compiler/ccec_compiler/bin/bisheng", "tools/ccec_compiler/bin/bisheng", "compiler/ccec_compiler/bin/ccec")
_LIBRARIES = ("lib64/libascendcl.so", "runtime/lib64/libascendcl.so")
DEVICE = ("/dev/davinci0", "/dev/davinci_manager")


@dataclass(frozen=True)
class Npu:
    toolkit: str = ""       # folder of CANN, "" = none
    toolkit_from: str = ""  # which variable or place told it
    compiler: str = ""      # bisheng or ccec
    library: str = ""       # libascendcl.so
    device: bool = False
    smi: str = ""           # what npu-smi says, "" = it does not run

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
                lacks.append("no bisheng compiler in the toolkit")
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

    def first(names) -> str:
        return next((str(Path(toolkit, n)) for n in names if toolkit and Path(toolkit, n).exists()), "")

    compiler = first(_COMPILERS) or shutil.which("bisheng", path=environment.get("PATH", "")) or ""
    return Npu(toolkit, origin, compiler, first(_LIBRARIES), all(at(d).exists() for d in DEVICE), _smi(environment))


def _smi(environment) -> str:
    program = shutil.which("npu-smi", path=environment.get("PATH", ""))
    if not program:
        return ""
    try:
        done = subprocess.run([program, "info", "-l"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""
