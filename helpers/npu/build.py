"""From a kernel's text to a shared object for the device, by the route that fits the toolkit."""
from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..build import diagnose, macro
from ..build.cache import Cache, key
from ..build.prototype import Parameter, parameters
from ..build.scan import blank
from ..build.source import EntryPoint
from ..errors import CompileError, Finding, SetupError, counted, with_source
from .toolkit import ARCH, BISHENG, Toolkit, require_cmake

SYMBOL = "workbook_launch"
LIBRARY = "libkernel.so"
_SECONDS = 600
_LOCAL_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.M)


@dataclass(frozen=True)
class Source:
    """What is built: one entry of a kernel text."""
    text: str
    label: str
    first_line: int
    entry: EntryPoint
    include: tuple[str, ...] = ()
    defines: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class DeviceLibrary:
    path: Path
    commands: tuple[str, ...]     # as a shell would take them


def device_text(source: Source, reserved: str = "0") -> str:
    """The kernel's text and, behind it, one host function that launches it with arguments given by address.

    reserved: what stands between the number of blocks and the stream: 0, or nullptr up to release 8.
    """
    values = [f"*({p.type if p.pointer else 'const ' + p.type}*)a[{i}]" for i, p in enumerate(_parameters(source))]
    return (f'{macro.lines(dict(source.defines))}#line {source.first_line} "{source.label}"\n{source.text}\n#line 1 "<launch>"\n'
            f'extern "C" __attribute__((visibility("default"))) uint32_t {SYMBOL}(uint32_t blocks, void* stream, void** a) {{\n'
            f"    {source.entry.expression}<<<blocks, {reserved}, stream>>>({', '.join(values)});\n    return 0;\n}}\n")


def build(source: Source, toolkit: Toolkit, soc: str, npu_arch: int, cache: Cache | None = None) -> DeviceLibrary:
    """Compiles for the device, or finds what was compiled before; CompileError shows the learner's lines."""
    require_direct_launch(source)
    cache = cache or Cache()
    direct = toolkit.route == BISHENG
    text = device_text(source, "0" if direct else "nullptr")
    full = key("npu", text, toolkit.route, toolkit.version, str(toolkit.home), toolkit.compiler, soc, str(npu_arch), *source.include, _headers(source))

    def make(scratch: Path) -> dict:
        commands = _bisheng(scratch, text, source, toolkit, npu_arch) if direct else _cmake(scratch, text, source, toolkit, soc)
        log = ""
        for command in commands:
            done = _run(command, scratch, toolkit)
            log += done.stdout
            if done.returncode:
                raise _failed(source, log)
        if not (scratch / LIBRARY).is_file():
            raise SetupError(f"The build for the device ended without an error, but made no {LIBRARY}.\n{log[-2000:]}")
        (scratch / "build.log").write_text(log)
        return {"commands": [shlex.join(c).replace(str(scratch), ".") for c in commands]}

    entry = cache.build(full, "npu", make, source.entry.name)
    return DeviceLibrary(entry / LIBRARY, tuple(entry.meta["info"]["commands"]))


def commands(source: Source, toolkit: Toolkit, soc: str, npu_arch: int) -> list[str]:
    """What would be called, for a reader without a device."""
    if toolkit.route == BISHENG:
        return [shlex.join(_bisheng_command(Path("."), source, toolkit.compiler, npu_arch))]
    return [shlex.join(c) for c in _cmake_commands(Path("."), "cmake")]


# ---- bisheng takes host and device code in one file
def _bisheng(scratch: Path, text: str, source: Source, toolkit: Toolkit, npu_arch: int) -> list[list[str]]:
    (scratch / "kernel.asc").write_text(text)
    return [_bisheng_command(scratch, source, toolkit.compiler, npu_arch)]


def _bisheng_command(folder: Path, source: Source, compiler: str, npu_arch: int) -> list[str]:
    if npu_arch not in ARCH:
        raise SetupError(f"The compiler has no name here for an arch {npu_arch}.")
    return [compiler, "-x", "asc", str(folder / "kernel.asc"), "-shared", "-fPIC", "-O2", "-std=c++17", f"--npu-arch={ARCH[npu_arch]}",
            *(f"-I{p}" for p in source.include), "-o", str(folder / LIBRARY)]


# ---- before: a project around ascendc.cmake
def cmake_lists(toolkit: Toolkit, soc: str, include: tuple[str, ...] = ()) -> str:
    more = "".join(f'ascendc_include_directories(kernel PRIVATE "{p}")\n' for p in include)
    return (f'cmake_minimum_required(VERSION 3.16)\nproject(kernel CXX)\nset(SOC_VERSION "{soc}" CACHE STRING "")\nset(RUN_MODE "npu" CACHE STRING "")\n'
            f'set(ASCEND_CANN_PACKAGE_PATH "{toolkit.home}" CACHE PATH "")\nset(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${{CMAKE_SOURCE_DIR}}")\n'
            f'include("{toolkit.cmake_file}")\nascendc_library(kernel SHARED kernel.cpp)\n{more}')


def _cmake(scratch: Path, text: str, source: Source, toolkit: Toolkit, soc: str) -> list[list[str]]:
    (scratch / "kernel.cpp").write_text(text)
    (scratch / "CMakeLists.txt").write_text(cmake_lists(toolkit, soc, source.include))
    return _cmake_commands(scratch, require_cmake(toolkit))


def _cmake_commands(folder: Path, program: str) -> list[list[str]]:
    return [[program, "-S", str(folder), "-B", str(folder / "build")], [program, "--build", str(folder / "build")],
            ["sh", "-c", f"test -f {folder / LIBRARY} || cp {folder / 'build'}/{LIBRARY} {folder / 'build'}/lib/{LIBRARY} {folder} 2>/dev/null || true"]]


# ---- shared
def _parameters(source: Source) -> tuple[Parameter, ...]:
    return parameters(source.text, source.entry, macro.values(dict(source.defines)))


_OPERATOR_ONLY = re.compile(r"\b(GET_TILING_DATA\w*|TILING_KEY_IS)\s*\(")


def launches_directly(text: str) -> bool:
    """Whether a kernel needs nothing of an operator project."""
    return not _OPERATOR_ONLY.search(blank(text))


def require_direct_launch(source: Source) -> None:
    found = _OPERATOR_ONLY.search(blank(source.text))
    if not found:
        return
    line = source.first_line + source.text.count("\n", 0, found.start())
    finding = Finding("UNSUPPORTED_API", "error", line, f"{found[1]} exists only in an operator project; a kernel that is launched directly has no tiling of that kind.",
                      "Pass the tiling struct by value, or make an operator project of the cell: hp.ship(…, layout=\"operator\").")
    raise CompileError("The kernel was not built for the device: 1 error.", [with_source(finding, source.text, source.first_line)])


def _run(command: list[str], scratch: Path, toolkit: Toolkit) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, cwd=scratch, env=toolkit.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise SetupError(f"{command[0]} was stopped after {_SECONDS} s.") from None
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be started: {error}.") from None


def _failed(source: Source, log: str) -> CompileError:
    found, more = diagnose.errors(log, source.label, source.text, source.first_line, {})
    return CompileError(f"The kernel was not built for the device: {counted(len(found) + more, 'error')}.", found, log)


def _headers(source: Source) -> str:
    """Own headers beside the cell are part of what is built."""
    if not _LOCAL_INCLUDE.search(source.text):
        return ""
    from ..build import twin
    files = twin.included(source.text.encode(), Path("/nonexistent"), tuple(Path(p) for p in source.include))
    return twin.digest({p: d for p, d in files.items()})
