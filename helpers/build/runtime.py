"""Builds what is compiled once per machine: the twin's library, the runner program, the precompiled header."""
from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..errors import SetupError
from . import twin
from .cache import Cache, key
from .compiler import Compiler, find

JOBS = 2
LIBRARY = "libtwin.so"
RUNNER = "twin_runner"
# Arithmetic rounds exactly where Ascend C rounds: no contraction to FMA, never fast-math.
_COMMON = ("-std=c++17", "-march=native", "-ffp-contract=off", "-fPIC", "-Wall", "-Wextra")
RUNTIME_FLAGS = _COMMON + ("-O3", "-fno-math-errno", "-fno-trapping-math", "-g1")
# Narrowing in braces is normal kernel code (CANN switches the error off too); the twin checks values at run time.
# -O1: kernels are thin calls into the library, more would only make the cell wait.
# A null pointer, an endless loop, a signed overflow are a learner's mistakes to be shown, not the optimiser's to use.
KERNEL_FLAGS = _COMMON + ("-O1", "-g1", "-fvisibility=hidden", "-fno-delete-null-pointer-checks", "-fno-finite-loops", "-fwrapv",
                          "-fno-strict-aliasing", "-Wno-narrowing", "-Wno-unknown-pragmas", "-Wno-attributes",
                          "-Wno-unused-function", "-Wno-unused-parameter")
_ZIG_FLAGS = ("-fno-sanitize=undefined",)      # zig switches traps on by itself
_CLANG_FLAGS = ("-Wno-c++11-narrowing", "-Wno-unknown-attributes", "-Wno-unused-const-variable")
PREFIX = "twin/cell.h"                         # read before every kernel text

Progress = Callable[[str, int, int], None]     # what, steps done, steps in all
_refused: dict[str, str] = {}                  # key of an object that does not compile: what the compiler said
_PASSES = ("No space left", "annot allocate", "out of memory", "Killed", "internal compiler error")     # may work the next time


def kernel_flags(compiler: Compiler) -> tuple[str, ...]:
    return KERNEL_FLAGS + _extra(compiler)


def include_flags() -> tuple[str, ...]:
    """Where a kernel's headers are: the twin's own, and the names that CANN gives them."""
    return f"-I{twin.INCLUDE}", "-idirafter", str(twin.INCLUDE / "cann")   # a project's own copy of a name wins


def _extra(compiler: Compiler) -> tuple[str, ...]:
    if compiler.kind == "gcc":
        return ("-fno-gnu-unique",)    # a kernel can be unloaded and starts afresh when it is loaded again
    return _CLANG_FLAGS + (_ZIG_FLAGS if compiler.kind == "zig" else ())


@dataclass(frozen=True)
class Runtime:
    folder: Path
    key: str

    @property
    def library(self) -> Path:
        return self.folder / LIBRARY

    @property
    def runner(self) -> Path:
        return self.folder / RUNNER


def ensure(progress: Progress | None = None, cache: Cache | None = None, compiler: Compiler | None = None) -> Runtime:
    """The library and the runner, built when this machine does not have them yet."""
    cache, compiler = cache or Cache(), compiler or find()
    flags, keys, whole = _keys(compiler)
    found = cache.get(whole)
    if found:
        return Runtime(found.path, whole)
    for object_key in keys.values():             # the same text again: no need to wait for the same answer
        if object_key in _refused:
            raise SetupError(_refused[object_key])
    with cache.lock("runtime"):      # one process compiles, the others wait and then find it done
        entry = cache.build(whole, "runtime", lambda folder: _build(folder, keys, flags, cache, compiler, progress),
                            f"twin runtime, {compiler}")
    return Runtime(entry.path, whole)


def is_built() -> bool:
    return Cache().get(_keys(find())[2]) is not None


def _keys(compiler: Compiler) -> tuple[tuple[str, ...], dict[Path, str], str]:
    """Flags, key of each source's object, key of the whole."""
    flags = RUNTIME_FLAGS + _extra(compiler)
    keys = {source: key("object", source.name, text, "\0".join(flags), compiler.identity) for source, text in twin.source_digests().items()}
    return flags, keys, key("runtime", *keys.values(), "\0".join(_link_flags(compiler)))


def _build(folder: Path, keys: dict[Path, str], flags, cache: Cache, compiler: Compiler, progress: Progress | None):
    total, done, lock, digests = len(keys) + 1, 0, threading.Lock(), twin.source_digests()

    def step(what: str, finished: int) -> None:
        nonlocal done
        with lock:
            done += finished
            if progress:
                progress(what, done, total)

    def compile_one(source: Path) -> Path:
        def make(scratch: Path):
            out = compiler.run([*flags, f"-I{twin.INCLUDE}", f"-I{twin.RUNTIME}", "-c", source, "-o", scratch / "unit.o"])
            if twin.source_digests()[source] != digests[source]:   # edited while the compiler read it
                raise SetupError(f"{source.name} or a header of it changed while it was compiled; run the cell again")
            try:
                _require(out, f"{source.name} of the twin runtime did not compile with {compiler}")
            except SetupError as error:
                if not any(words in out.stdout for words in _PASSES) and out.returncode > 0:
                    _refused[keys[source]] = str(error)
                raise
        entry = cache.build(keys[source], "object", make, source.name)
        step(source.name, 1)
        return entry / "unit.o"

    step("twin runtime", 0)
    # biggest first: the last job to start is then a short one
    order = sorted(keys, key=lambda s: -s.stat().st_size)
    with ThreadPoolExecutor(JOBS) as pool:
        try:
            objects = dict(zip(order, pool.map(compile_one, order)))
        except BaseException:
            pool.shutdown(cancel_futures=True)   # the others would only make the message wait
            raise
    library = [o for s, o in objects.items() if s.name != twin.RUNNER]
    link = _link_flags(compiler)
    _require(compiler.run(["-shared", *link, *sorted(library), "-o", folder / LIBRARY, f"-Wl,-soname,{LIBRARY}", "-pthread"]),
             "the twin runtime did not link")
    main = [o for s, o in objects.items() if s.name == twin.RUNNER]
    if main:
        _require(compiler.run([*link, *main, folder / LIBRARY, "-o", folder / RUNNER, "-Wl,-rpath,$ORIGIN", "-pthread", "-ldl"]),
                 "the runner did not link")
    step("done", 1)


def _link_flags(compiler: Compiler) -> tuple[str, ...]:
    # Calls inside the library go straight to their target, where the linker knows how.
    return _extra(compiler) + ("-Wl,--no-undefined",) + (() if compiler.kind == "zig" else ("-Wl,-Bsymbolic-functions",))


def _require(done, message: str) -> None:
    if done.returncode:
        raise SetupError(message + "\n" + done.stdout[-4000:])


def precompiled(defines: tuple[str, ...] = (), cache: Cache | None = None, compiler: Compiler | None = None) -> tuple[str, ...]:
    """Options that put the twin's headers before a kernel, precompiled where the compiler can do it."""
    cache, compiler = cache or Cache(), compiler or find()
    flags = (*kernel_flags(compiler), *include_flags(), *defines)
    full = key("pch", "\0".join(flags), compiler.identity, twin.header_digest())
    source = twin.INCLUDE / PREFIX

    def make(folder: Path) -> dict:
        # g++ looks for cell.h.gch beside the cell.h it is told to include; clang takes the .pch by name and refers to its source
        gcc = compiler.kind == "gcc"
        (folder / "cell.h").write_text(f'#include "{PREFIX}"\n')
        output = folder / ("cell.h.gch" if gcc else "cell.h.pch")
        stable = () if gcc else ("-Xclang", "-fno-pch-timestamp")
        out = compiler.run([*flags, *stable, "-x", "c++-header", folder / "cell.h" if gcc else source, "-o", output])
        if out.returncode or not output.exists():
            # Without it a cell builds too, only slower; a faulty header shows its messages there.
            output.unlink(missing_ok=True)
            return {"precompiled": False, "log": out.stdout[-2000:]}
        return {"precompiled": True}

    entry = cache.build(full, "pch", make, f"precompiled header, {compiler}")
    if compiler.kind == "gcc":
        return ("-include", str(entry / "cell.h"))
    return ("-include-pch", str(entry / "cell.h.pch")) if entry.meta["info"].get("precompiled") else ("-include", str(source))


def print_progress(stream) -> Progress:
    """A progress line for a terminal or a log."""
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(what: str, done: int, total: int) -> None:
        if terminal:
            bar = "#" * (24 * done // total)
            print(f"\rBuilding the twin [{bar:<24}] {done}/{total}  {what:<28.28}", end="\n" if done == total else "",
                  file=stream, flush=True)
        elif done in (0, total):
            print("Building the twin (once per machine) ..." if done == 0 else "The twin is built.", file=stream, flush=True)
    return show
