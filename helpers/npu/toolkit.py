"""The CANN toolkit of this machine: where it is, its version, the SoC it builds for, and by which route."""
from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from .. import npu_probe
from ..chips import ChipError, chip as find_chip
from ..errors import SetupError

BISHENG, CMAKE = "bisheng", "cmake"
_CMAKE_FILES = tuple(f"{place}/ascendc_kernel_cmake/ascendc.cmake" for place in ("compiler/tikcpp", "tools/tikcpp", "ascendc_devkit"))
# npu_arch of a chip profile -> how the compiler calls it
ARCH = {2201: "dav-2201", 2002: "dav-2002", 3002: "dav-3002", 1001: "dav-1001", 3510: "dav-3510"}


@dataclass(frozen=True)
class Toolkit:
    home: Path
    version: str          # "8.0.RC3"; "" when no file tells it
    soc: str              # "Ascend910B3"; "" when nothing tells it
    compiler: str
    library: str          # libascendcl.so
    route: str            # BISHENG or CMAKE
    cmake_file: str = ""  # ascendc.cmake, for the route CMAKE

    def __str__(self) -> str:
        return f"CANN {self.version or '(version unknown)'} in {self.home}"

    @property
    def environment(self) -> dict[str, str]:
        """What set_env.sh would have set, for the programs that are started."""
        libraries = [str(p) for p in (self.home / "lib64", self.home / "runtime/lib64", Path(self.library).parent) if p.is_dir()]
        before = os.environ.get("LD_LIBRARY_PATH", "")
        return {**os.environ, "ASCEND_HOME_PATH": str(self.home), "ASCEND_TOOLKIT_HOME": str(self.home),
                "ASCEND_OPP_PATH": os.environ.get("ASCEND_OPP_PATH", str(self.home / "opp")),
                "LD_LIBRARY_PATH": ":".join(dict.fromkeys([*libraries, *filter(None, before.split(":"))]))}


def find(npu: npu_probe.Npu | None = None) -> Toolkit:
    """The toolkit that would be used; SetupError says exactly what is missing."""
    npu = npu or npu_probe.probe()
    lacks = [w for w in npu.missing() if w != "no Ascend device"]
    if lacks:
        raise SetupError(f"Kernels cannot be built for the device: {', '.join(lacks)}. "
                         "Install the CANN toolkit for this chip and source its set_env.sh.")
    home = Path(npu.toolkit)
    cmake_file = next((str(home / name) for name in _CMAKE_FILES if (home / name).is_file()), "")
    return Toolkit(home, npu.version, npu.soc, npu.compiler, npu.library, route(npu.version, npu.compiler, cmake_file), cmake_file)


def route(version: str, compiler: str, cmake_file: str) -> str:
    """From release 9 on the compiler takes host and device code in one file; before, the build goes through ascendc.cmake."""
    major = int(m[0]) if (m := re.match(r"\d+", version)) else 0
    direct = Path(compiler).name == "bisheng"
    if direct and (major >= 9 or not cmake_file):
        return BISHENG
    if cmake_file:
        return CMAKE
    raise SetupError("The toolkit has neither a bisheng compiler nor ascendc.cmake: install the full toolkit, not the runtime package.")


def require_cmake(toolkit: Toolkit) -> str:
    program = shutil.which("cmake")
    if not program:
        raise SetupError(f"{toolkit} builds kernels through ascendc.cmake, and there is no cmake here: pip install cmake")
    return program


def soc_of(toolkit: Toolkit, chip) -> tuple[str, object]:
    """The SoC to build for, and its profile: what the machine says, else the chip of the kernel."""
    if not toolkit.soc:
        return chip.name, chip
    try:
        there = find_chip(toolkit.soc)
    except ChipError:
        return toolkit.soc, chip                   # no profile of this SoC: its family is taken to be the kernel's
    if int(there.npu_arch) != int(chip.npu_arch):
        raise SetupError(f"The kernel is for {chip.name} ({ARCH.get(int(chip.npu_arch), chip.npu_arch)}), and the device here is {toolkit.soc} "
                         f"({ARCH.get(int(there.npu_arch), there.npu_arch)}): compile with chip=\"{there.name}\".")
    return toolkit.soc, there
