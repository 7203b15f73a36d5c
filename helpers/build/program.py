"""Whole host programs: sources with main(), <<<>>>, aclrtlaunch_* or ICPU_RUN_KF, built into one ordinary executable."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, Finding, counted
from . import core_kind, diagnose, macro, runtime, source, twin, unit
from .cache import Cache, key
from .compiler import Compiler, find
from .prototype import parameters
from .scan import active, blank

PROGRAM = "program"
DEVICE, CPU = "npu", "cpu"                     # RUN_MODE of the sample projects
_STYLE_MACROS = ("ASCENDC_CPU_DEBUG", "__CCE_KT_TEST__")


@dataclass(frozen=True)
class File:
    """One source file of a program."""
    label: str                                 # the name its lines carry
    text: str
    folder: Path | None = None                 # where its #include "…" looks first


def style_of(files: list[File]) -> str:
    """A program that only knows ICPU_RUN_KF is of the CPU style; one that knows both is run as on a device."""
    code = "\n".join(blank(f.text) for f in files)
    on_device = re.search(r"<<<|\bACLRT_LAUNCH_KERNEL\b|\baclrtlaunch_\w+", code)
    return CPU if re.search(r"\bICPU_RUN_KF\b", code) and not on_device else DEVICE


def build(files: list[File], *, chip, style: str = "", include=(), defines: dict | None = None,
          cache: Cache | None = None, compiler: Compiler | None = None) -> Path:
    """The executable; CompileError says in the learner's lines what to change."""
    cache, compiler = cache or Cache(), compiler or find()
    style = style or style_of(files)
    arch = int(chip.npu_arch)
    macros = macro.values(defines)
    twin_runtime = runtime.ensure(cache=cache, compiler=compiler)
    units = [_unit(f, style, arch, macros, chip, include) for f in files]
    if not any(re.search(r"\bmain\s*\(", blank(f.text)) for f in files):
        finding = Finding("COMPILE", "error", None, "No file of this program has a main().", "A kernel alone is built with hp.compile; a program needs the host half too.")
        raise CompileError(unit.headline([finding]), [finding])
    headers = dict(pair for u in units for pair in u.launch_headers.items())
    search = tuple(dict.fromkeys(p for p in ([f.folder for f in files if f.folder] + [Path(p).resolve() for p in include])))
    flags = (*runtime.kernel_flags(compiler), *unit.prefix(source.scan(""), arch, cache, compiler), "-include", str(twin.INCLUDE / "cann/twin_program.h"),
             f"-DTWIN_CPU_STYLE={int(style == CPU)}", *(part for p in search for part in ("-iquote", str(p))), *(f"-I{p}" for p in search),
             *runtime.include_flags(), *unit.arch_flags(arch))
    # The library watches a program that crashes before its first ACL call, too.
    link = ("-Wl,--no-as-needed", twin_runtime.library, f"-Wl,-rpath,$ORIGIN:{twin_runtime.folder}", "-pthread")
    others = {}
    for f in files:
        others.update(twin.included(f.text.encode(), f.folder or Path("/nonexistent"), search))
    full = key("program", *(u.whole for u in units), *headers.values(), "\0".join(map(str, flags + link)), compiler.identity, twin.header_digest(),
               twin_runtime.key, twin.digest(others), macro.lines(defines))

    def make(scratch: Path) -> dict:
        for name, text in headers.items():
            (scratch / name).write_text(text)
        objects = []
        for number, (f, u) in enumerate(zip(files, units)):
            (scratch / f"unit{number}.cpp").write_text(macro.lines(defines) + u.whole)
            objects.append(scratch / f"unit{number}.o")
            done = unit.run(compiler, [*flags, f"-I{scratch}", *diagnose.flags(compiler), "-c", scratch / f"unit{number}.cpp", "-o", objects[-1]])
            if done.returncode:
                _fail(done.stdout, f, u)
        done = unit.run(compiler, [*objects, *link, "-o", scratch / PROGRAM])
        if done.returncode:
            twice = diagnose.defined_twice(done.stdout, [(f.label, f.text) for f in files])
            if twice:
                raise CompileError(f"The program was not built: {counted(len(twice), 'error')}.", twice[:diagnose.SHOWN], done.stdout)
            _fail(done.stdout, files[0], units[0])
        for path in objects:
            path.unlink()
        return {"style": style}

    return cache.build(full, "program", make, ", ".join(f.label for f in files)) / PROGRAM


@dataclass(frozen=True)
class Unit:
    whole: str
    found: source.Scan
    launch_headers: dict


def _unit(f: File, style: str, arch: int, macros: dict, chip, include) -> Unit:
    text = f.text.removeprefix("\ufeff").replace("\r\n", "\n")
    if style == DEVICE:
        text = without_cpu_branches(text)
    search = tuple(Path(p).resolve() for p in ([f.folder] if f.folder else []) + list(include))
    found = source.scan(unit.with_default_tiling(text, "", macros, search), (), macros, arch)
    kernels = _with_body(found, text, macros)
    kernels += [e for included in _included_kernels(text, search, style, arch, macros) for e in included if e.name not in {k.name for k in kernels}]
    compiled = found.text.replace("twin::host_launch(", "twin::program::launch(")
    label = source.escaped(f.label)
    parts = [core_kind.core_side(found, text) if kernels else "", f'#line 1 "{label}"', compiled]
    headers = {}
    if kernels:
        parts += ['#line 1 "<entry>"', "static const ::twin::Entry twin_unit_entries[] = {"]
        parts += [f'TWIN_ENTRY("{source.escaped(e.name)}", "{",".join(e.params)}", {e.kernel_type}, ::{e.expression})' for e in kernels]
        parts += ["{nullptr, nullptr, 0, nullptr, nullptr, 0}};", "static void* const twin_unit_functions[] = {"]
        parts += [f"reinterpret_cast<void*>(&::{e.expression})," for e in kernels]
        parts += ["};", f"static ::twin::program::Unit twin_unit(\"{label}\", {_literal(text)}, twin_unit_entries, twin_unit_functions, {_literal(chip.lines)});"]
        for e in kernels:
            if "<" in e.name or "::" in e.expression or style == CPU:
                continue
            try:
                values = parameters(text, e, macros)
            except ValueError:                 # of an included file: launched with <<<>>> only
                continue
            declared = ", ".join(["uint32_t blockDim", "aclrtStream stream", *(f"{'void*' if p.pointer else p.type} {p.name}" for p in values)])
            headers[f"aclrtlaunch_{e.name}.h"] = f'#pragma once\nextern "C" uint32_t aclrtlaunch_{e.name}({declared});\n'
            passed = ", ".join(f"static_cast<{p.type}>({p.name})" if p.pointer else p.name for p in values)
            parts.append(f'extern "C" uint32_t aclrtlaunch_{e.name}({declared}) {{ return uint32_t(::twin::program::launch(blockDim, nullptr, stream, &::{e.expression}, '
                         f"::twin::program::take_launch_site({{twin_unit.label, 0}}))({passed})); }}")
    return Unit("\n".join(p for p in parts if p) + "\n", found, headers)


def without_cpu_branches(text: str) -> str:
    """The text as the device's compiler sees it: the macros of the CPU mode are not set. Lines stay where they are."""
    for name in _STYLE_MACROS:
        text = re.sub(rf"^([ \t]*#[ \t]*)ifdef[ \t]+{name}\b", r"\1if 0", text, flags=re.M)
        text = re.sub(rf"^([ \t]*#[ \t]*)ifndef[ \t]+{name}\b", r"\1if 1", text, flags=re.M)
        text = re.sub(rf"^([ \t]*#[ \t]*(?:el)?if\b.*?)\bdefined[ \t]*\(?[ \t]*{name}\b[ \t]*\)?", r"\g<1>0", text, flags=re.M)
    return text


def _with_body(found: source.Scan, text: str, macros: dict) -> list[source.EntryPoint]:
    """A host file often repeats the declaration of a kernel; the file with its body lists it."""
    code = active(blank(text), {**source.KNOWN, **macros})
    bodies = {t.name for t in source.functions(code) if t.body[1] > 0}
    return [e for e in found.entries if e.name.split("<")[0].strip() in bodies]


def _included_kernels(text: str, search: tuple[Path, ...], style: str, arch: int, macros: dict):
    """A host file may include the kernel's file: its kernels belong to this unit."""
    for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', text, re.M):
        path = next((p / name for p in search if (p / name).is_file()), None)
        if path is None:
            continue
        inner = path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"\b__global__\b", blank(inner)):
            inner = without_cpu_branches(inner) if style == DEVICE else inner
            yield _with_body(source.scan(inner, (), macros, arch), inner, macros)


def _literal(text: str) -> str:
    """A C++ string literal in pieces of a line, which every compiler takes."""
    rows = text.split("\n")
    return "\n".join('"' + source.escaped(row).replace("\t", "\\t") + ("\\n" if i + 1 < len(rows) else "") + '"' for i, row in enumerate(rows))


def _fail(log: str, f: File, u: Unit):
    errors, more = diagnose.errors(log, f.label, f.text, 1, u.found.renamed)
    raise CompileError(f"The program was not built: {counted(len(errors) + more, 'error')} in {f.label}.", errors, log)
