"""Which C++ compiler builds the kernels on this machine."""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..errors import SetupError

OVERRIDE = "ASCEND_WORKBOOK_CXX"
# The first version of each with _Float16 in C++ on x86 and AArch64.
MINIMUM = {"gcc": 12, "clang": 15, "zig": 0}
NAMES = {"gcc": "g++", "clang": "clang++", "zig": "zig c++"}
_CANDIDATES = ["g++", "clang++",
               *(f"g++-{v}" for v in range(16, MINIMUM["gcc"] - 1, -1)),
               *(f"clang++-{v}" for v in range(22, MINIMUM["clang"] - 1, -1))]


@dataclass(frozen=True)
class Compiler:
    kind: str                  # gcc, clang, zig
    command: tuple[str, ...]   # how to start it
    version: str               # "12.2.0"
    banner: str                # first line of --version

    def __str__(self) -> str:
        return f"{NAMES[self.kind]} {self.version}"

    @cached_property
    def identity(self) -> str:
        """Two compilers with the same identity write the same code for the same input on this machine."""
        return "\0".join((self.kind, os.path.realpath(self.command[0]), self.banner, _cpu_macros(self)))

    def run(self, args, timeout: float = 600) -> subprocess.CompletedProcess:
        # Messages are parsed: no colour, no translation, no line wrapping.
        env = {**os.environ, "LC_ALL": "C", "TERM": "dumb", "ZIG_PROGRESS": "0"}
        return subprocess.run([*self.command, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", env=env, timeout=timeout)


@lru_cache(maxsize=None)
def _cpu_macros(compiler: Compiler) -> str:
    """-march=native means another thing on another machine that shares this home directory."""
    done = compiler.run(["-march=native", "-dM", "-E", "-x", "c++", os.devnull])
    return hashlib.sha256(done.stdout.encode()).hexdigest()


def _probe(command: tuple[str, ...]) -> tuple[Compiler | None, str]:
    """The compiler behind a command, or why it cannot be used."""
    name = " ".join(command)
    try:
        done = subprocess.run([*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"{name}: could not be started ({error})"
    banner = done.stdout.splitlines()[0] if done.stdout else ""
    kind = "zig" if "ziglang" in name or "zig" in os.path.basename(command[0]) else "clang" if "clang" in banner else "gcc"
    match = re.search(r"\b(\d+)(?:\.\d+)+", banner.split(")", 1)[-1]) or re.search(r"\b(\d+)(?:\.\d+)+", banner)
    if done.returncode or not match:
        return None, f"{name}: does not answer --version as a compiler does"
    if int(match[1]) < MINIMUM[kind]:
        return None, f"{name}: version {match[0]} is too old, {NAMES[kind]} {MINIMUM[kind]} or newer is needed (16-bit floats)"
    return Compiler(kind, command, match[0], banner), ""


def zig_command() -> tuple[str, ...] | None:
    """The compiler that comes as a Python wheel, when it is installed."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.origin:
        return None
    binary = os.path.join(os.path.dirname(spec.origin), "zig")
    return (binary, "c++") if os.access(binary, os.X_OK) else (sys.executable, "-m", "ziglang", "c++")


def search() -> tuple[Compiler | None, list[str]]:
    """The first usable compiler, and for each one that was passed over the reason."""
    override = os.environ.get(OVERRIDE, "").strip()
    if override:
        found, why = _probe(tuple(shlex.split(override)))
        return found, [f"{OVERRIDE}={why}"] if why else []
    passed = []
    for name in _CANDIDATES:
        path = shutil.which(name)
        if path:
            found, why = _probe((path,))
            if found:
                return found, passed
            passed.append(why)
    zig = zig_command()
    if zig:
        found, why = _probe(zig)
        return found, passed + ([why] if why else [])
    return None, passed


@lru_cache(maxsize=None)
def _find(override: str, path: str) -> Compiler:
    found, passed = search()
    if found:
        return found
    lines = ["No C++ compiler was found: kernels are C++ and need one.", *("  " + p for p in passed),
             "Install one of these, then restart the kernel:",
             "  pip install ziglang          works everywhere, no administrator needed",
             "  apt-get install g++          Debian, Ubuntu (version 12 or newer)",
             "  xcode-select --install       macOS"]
    raise SetupError("\n".join(lines))


def find() -> Compiler:
    """The compiler to use; SetupError with what to install when there is none."""
    return _find(os.environ.get(OVERRIDE, ""), os.environ.get("PATH", ""))
