"""One cell to one shared object."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, Finding, with_source
from . import core_kind, diagnose, lint, macro, runtime, source, twin, unit
from .cache import Cache, key
from .compiler import Compiler, find
from .scan import blank

LIBRARY = "kernel.so"
TEXT = "kernel.cpp"


@dataclass(frozen=True)
class Built:
    """A kernel text that compiled."""
    path: Path                                  # the shared object
    entries: tuple[source.EntryPoint, ...]
    text: str                                   # the learner's text
    label: str                                  # the file name that its lines carry
    first_line: int
    runtime: runtime.Runtime
    warnings: tuple[Finding, ...] = ()


def build(text: str, *, label: str = "<kernel>", first_line: int = 1, name: str | None = None, arch: int = 2201,
          include=(), defines: dict | None = None, tiling: str = "", folder: Path | None = None,
          cache: Cache | None = None, compiler: Compiler | None = None) -> Built:
    """Compiles a kernel text; CompileError says in the learner's lines what to change.

    name: the kernel asked for ("k", or "k<half>" for an instance of a template).
    folder: where #include "…" of the text looks first.
    """
    cache, compiler = cache or Cache(), compiler or find()
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")          # as some editors save
    wanted = (name,) if name and "<" in name else ()
    macros = macro.values(defines)
    search = tuple(Path(p).resolve() for p in ([folder] if folder else []) + list(include))
    found, cube = core_kind.scan_sides(unit.with_default_tiling(text, tiling, macros, search), wanted, macros, arch)
    _require_entries(found, name, text, label, first_line)
    side = core_kind.side("vector", text, half=True) if cube else core_kind.core_side(found, text)
    findings = lint.check(text, first_line, macros)
    if any(f.severity == "error" for f in findings):
        raise CompileError(unit.headline(findings), findings[:diagnose.SHOWN])

    whole = source.generate(found, label, first_line, macro.lines(defines) + side, tiling)
    other = source.generate(cube, label, first_line, macro.lines(defines) + core_kind.side("cube", text, half=True), tiling) if cube else ""
    twin_runtime = runtime.ensure(cache=cache, compiler=compiler)
    prefix = unit.prefix(found, arch, cache, compiler)
    flags = (*runtime.kernel_flags(compiler), *prefix, *(part for p in search for part in ("-iquote", str(p))),
             *(f"-I{Path(p).resolve()}" for p in include), *runtime.include_flags(), *unit.arch_flags(arch))
    link = ("-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined", f"-Wl,-rpath,{twin_runtime.folder}")
    others = twin.included(whole.encode(), Path("/nonexistent"), search) if search else {}
    full = key("kernel", whole, other, "\0".join(flags + link), compiler.identity, str(arch), twin.header_digest(),
               twin_runtime.key, twin.digest(others))

    def make(scratch: Path) -> dict:
        for header in re.findall(r'#\s*include\s*"(aclrtlaunch_\w+\.h)"', text):
            (scratch / header).write_text("// On the device the build writes the launch function of this kernel here.\n")
        extra = ()
        if other:                    # found by the kernel beside it; its name is its own, so that two such kernels can be loaded
            half = f"cube_{full[:16]}.so"
            library("cube.cpp", other, half, (*link, f"-Wl,-soname,{half}"), scratch)
            extra = ("-Wl,--no-as-needed", scratch / half, "-Wl,-rpath,$ORIGIN")
        library(TEXT, whole, LIBRARY, (*link, *extra), scratch)
        if not found.entries:        # marked __global__ in a way that the scan does not read, such as in a macro
            _fail_without_kernel(label)
        return {"label": label}

    def library(file: str, code: str, output: str, options, scratch: Path) -> None:
        (scratch / file).write_text(code)
        command = [*flags, *diagnose.flags(compiler), scratch / file, *options, twin_runtime.library, "-o", scratch / output]
        done = unit.run(compiler, command)
        if done.returncode and "-include-pch" in command and re.search(r"PCH file|AST file|precompiled", done.stdout):
            done = unit.run(compiler, _without_pch(command))   # the compiler was updated in place
        (scratch / "build.log").write_text(done.stdout)
        if done.returncode:
            errors, more = diagnose.errors(done.stdout, label, text, first_line, found.renamed)
            raise CompileError(unit.headline(errors, more), errors, done.stdout)

    entry = cache.build(full, "kernel", make, ", ".join(e.name for e in found.entries))
    warnings = tuple(with_source(f, text, first_line) for f in findings)
    return Built(entry / LIBRARY, found.entries, text, label, first_line, twin_runtime, warnings)


def _without_pch(command: list) -> list:
    at = command.index("-include-pch")
    return [*command[:at], "-include", str(twin.INCLUDE / runtime.PREFIX), *command[at + 2:]]


def _require_entries(found: source.Scan, name: str | None, text: str, label: str, first_line: int) -> None:
    def fail(message: str, hint: str, line: int | None = None) -> None:
        finding = with_source(Finding("COMPILE", "error", None if line is None else first_line + line, message, hint), text, first_line)
        raise CompileError(unit.headline([finding]), [finding])

    def instance(wanted: str) -> str:
        return f"%%ascendc {wanted}" if label.startswith("%%ascendc") else f'name="{wanted}"'

    if not re.search(r"^[ \t]*#[ \t]*include\b", text, re.M):
        fail('The text includes no header, so no Ascend C name is known in it.', 'Put #include "kernel_operator.h" at the top.')
    names = [e.name for e in found.entries]
    twice = next((e for i, e in enumerate(found.entries) if e.name in names[:i]), None)
    if twice:
        fail(f"Two kernels are called {twice.name}: a launch could not tell them apart.", "Rename one of them.", twice.line)
    if not names and not found.templates and re.search(r"\b__global__\b", blank(text)):
        return                       # something is wrong with its declaration: the compiler says what
    if name and name not in names:
        match = [t for t in found.templates if t.name == name.split("<")[0].strip()]
        if match:
            example = ", ".join("half" if p.split()[0] in ("typename", "class") else "1" for p in match[0].template_params)
            fail(f"{name} is a kernel template: it runs once its arguments are named.", instance(f"{name}<{example}>"), match[0].line)
        known = ", ".join([*names, *(f"{t.name}<…>" for t in found.templates)]) or "none"
        fail(f"There is no kernel {name} in this text. Kernels here: {known}.", "Use one of these names, or mark the function __global__ __aicore__.")
    if not found.entries:
        if found.templates:
            first = found.templates[0]
            example = ", ".join("half" if p.split()[0] in ("typename", "class") else "1" for p in first.template_params)
            fail(f"{first.name} is a kernel template: it runs once its arguments are named.", instance(f"{first.name}<{example}>"), first.line)
        _fail_without_kernel(label)


def _fail_without_kernel(label: str) -> None:
    finding = Finding("COMPILE", "error", None, "No kernel was found: no function in this text is marked __global__.",
                      'Write extern "C" __global__ __aicore__ void my_kernel(GM_ADDR x, …) { … }')
    raise CompileError(unit.headline([finding]), [finding])
