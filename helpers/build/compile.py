"""One cell to one shared object."""
from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import CompileError, Finding, counted, with_source
from . import diagnose, lint, macro, runtime, source, structs, twin
from .cache import Cache, key
from .compiler import Compiler, find
from .scan import blank

LIBRARY = "kernel.so"
TEXT = "kernel.cpp"
_SECONDS = 120


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
    text = text.replace("\r\n", "\n")
    wanted = (name,) if name and "<" in name else ()
    macros = macro.values(defines)
    search = tuple(Path(p).resolve() for p in ([folder] if folder else []) + list(include))
    found, cube = _scan_sides(_with_default_tiling(text, tiling, macros, search), wanted, macros, arch)
    _require_entries(found, name, text, label, first_line)
    side = _side("vector", text, half=True) if cube else _core_side(found, text)
    findings = lint.check(text, first_line, macros)
    if any(f.severity == "error" for f in findings):
        raise CompileError(_headline(label, findings), findings[:diagnose.SHOWN])

    whole = source.generate(found, label, first_line, macro.lines(defines) + side, tiling)
    other = source.generate(cube, label, first_line, macro.lines(defines) + _side("cube", text, half=True), tiling) if cube else ""
    twin_runtime = runtime.ensure(cache=cache, compiler=compiler)
    prefix = _prefix(found, arch, cache, compiler)
    flags = (*runtime.kernel_flags(compiler), *prefix, *(part for p in search for part in ("-iquote", str(p))),
             *(f"-I{Path(p).resolve()}" for p in include), *runtime.include_flags(), *arch_flags(arch))
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
        done = _run(compiler, command, label)
        if done.returncode and "-include-pch" in command and re.search(r"PCH file|AST file|precompiled", done.stdout):
            done = _run(compiler, _without_pch(command), label)   # the compiler was updated in place
        (scratch / "build.log").write_text(done.stdout)
        if done.returncode:
            errors, more = diagnose.errors(done.stdout, label, text, first_line, found.renamed)
            raise CompileError(_headline(label, errors, more), errors, done.stdout)

    entry = cache.build(full, "kernel", make, ", ".join(e.name for e in found.entries))
    warnings = tuple(with_source(f, text, first_line) for f in findings)
    return Built(entry / LIBRARY, found.entries, text, label, first_line, twin_runtime, warnings)


def _with_default_tiling(text: str, tiling: str, macros: dict, search: tuple[Path, ...]) -> str:
    """The text with the struct named that GET_TILING_DATA means; an operator project tells it by registration."""
    code = blank(text)
    if not re.search(r"\bGET_TILING_DATA\s*\(", code) or re.search(r"\b(REGISTER_TILING_DEFAULT|REGISTER_NONE_TILING)\b", code + blank(tiling)):
        return text
    at = source.before_first_kernel(text, macros)
    kernels = [e.name for e in source.scan(text, (), macros).entries] or [""]
    headers = (data.decode(errors="replace") for data in twin.included(text.encode(), Path("/nonexistent"), search).values())
    struct = next((s for s in (structs.default(t, kernels[0]) for t in (tiling, text, *headers) if t) if s), None)
    if at is None or struct is None:
        return text
    return f"{text[:at]}using twDefaultTiling = ::{struct.qualified}; {text[at:]}"


def _run(compiler: Compiler, command, label: str):
    try:
        return compiler.run(command, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        finding = Finding("TIMEOUT", "error", None, f"The compiler was stopped after {_SECONDS} s.",
                          "Look for a template that instantiates itself, or a very large constant array.")
        raise CompileError(_headline(label, [finding]), [finding]) from None


def _without_pch(command: list) -> list:
    at = command.index("-include-pch")
    return [*command[:at], "-include", str(twin.INCLUDE / runtime.PREFIX), *command[at + 2:]]


def arch_flags(arch: int) -> tuple[str, ...]:
    """What the device compiler predefines, and the marks of the CPU mode in which the twin runs kernels."""
    return (f"-D__NPU_ARCH__={arch}", "-D__CCE_KT_TEST__=1", "-DASCENDC_CPU_DEBUG=1")


def _prefix(found: source.Scan, arch: int, cache: Cache, compiler: Compiler) -> tuple[str, ...]:
    # A macro set before the first #include may change the headers: then they must be read after it.
    steering = [m for m in found.early_defines if not m.startswith("__")]
    if steering:
        headers = b"\n".join(p.read_bytes() for p in twin.INCLUDE.rglob("*.h")).decode(errors="replace")
        if any(re.search(rf"\b{re.escape(m)}\b", headers) for m in steering):
            return ()
    return runtime.precompiled(arch_flags(arch), cache, compiler)


def _require_entries(found: source.Scan, name: str | None, text: str, label: str, first_line: int) -> None:
    def fail(message: str, hint: str, line: int | None = None) -> None:
        finding = with_source(Finding("COMPILE", "error", None if line is None else first_line + line, message, hint), text, first_line)
        raise CompileError(_headline(label, [finding]), [finding])

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
    raise CompileError(_headline(label, [finding]), [finding])


_SIDE_MACROS = {"vector": ("__DAV_C220_VEC__", "__DAV_VEC__"), "cube": ("__DAV_C220_CUBE__", "__DAV_CUBE__")}
_BY_MACRO = re.compile(r"\b__DAV_(C220_)?(CUBE|VEC)__\b")
_CONSTANT_TYPE = re.compile(r"\bconstexpr\b[^;{]*\bg_coreType\b")   # if constexpr (g_coreType == AIC)


def _core_side(found: source.Scan, text: str) -> str:
    """Macros of a text that asks for the core kind by macro and has kernels of one kind only."""
    if not _asks_for_kind(blank(text)):
        return ""
    kinds = {"vector" if e.kernel_type in (0, 2) else "cube" if e.kernel_type in (1, 3) else "both" for e in found.entries}
    if len(kinds) == 1 and kinds <= {"vector", "cube"}:
        return _side(kinds.pop(), text)
    finding = Finding("UNSUPPORTED_API", "error", None, "This kernel tells cube from vector code by __DAV_C220_CUBE__ / __DAV_C220_VEC__.",
                      "Use if ASCEND_IS_AIC { … } and if ASCEND_IS_AIV { … }: it means the same and runs here too.")
    raise CompileError(_headline("", [finding]), [finding])


def _asks_for_kind(code: str) -> bool:
    return bool(_BY_MACRO.search(code) or _CONSTANT_TYPE.search(code))


def _side(kind: str, text: str, half: bool = False) -> str:
    lines = [f"#define {name} 1" for name in _SIDE_MACROS[kind]]
    if half and kind == "cube":
        lines.append("#define TWIN_ENTRIES twin_cube_entries")
    if _CONSTANT_TYPE.search(blank(text)):
        lines += [f"constexpr int twinCoreKind = {1 if kind == 'cube' else 2};", "namespace AscendC { using ::twinCoreKind; }", "#define g_coreType twinCoreKind"]
    return "\n".join(lines) + "\n"


def _scan_sides(text: str, wanted, macros: dict, arch: int) -> tuple[source.Scan, source.Scan | None]:
    """The scan of a text and, when it asks for the core kind at compile time and both kinds run it, that of its cube half.

    The device compiles every file once per core kind; here one compilation serves both unless the text can tell.
    """
    code = blank(text)
    if arch != 2201 or not _asks_for_kind(code):
        return source.scan(text, wanted, macros, arch), None
    halves = {kind: source.scan(text, wanted, {**macros, **{m: 1 for m in names}}, arch) for kind, names in _SIDE_MACROS.items()}
    cube_types = {e.name: e for e in halves["cube"].entries}
    entries = tuple(_joined(e, cube_types.get(e.name, e), code) for e in halves["vector"].entries)
    vector = replace(halves["vector"], entries=entries)
    kinds = {e.kernel_type for e in entries}
    if kinds <= {0, 2} or kinds <= {1, 3}:
        return vector if kinds <= {0, 2} else replace(halves["cube"], entries=entries), None
    return vector, replace(halves["cube"], entries=entries)


def _joined(vector: source.EntryPoint, cube: source.EntryPoint, code: str) -> source.EntryPoint:
    """The kernel type of an entry when each half shows only its own instructions."""
    if vector.kernel_type == cube.kernel_type or cube.kernel_type not in (1, 5):
        return vector
    both = cube.kernel_type == 5 or re.search(r"\b(VECIN|VECOUT|VECCALC)\b", code)
    return replace(vector, kernel_type=5 if both else 1, type_from="cube and vector code" if both else "cube code")


def _headline(label: str, findings, more: int = 0) -> str:
    count = len(findings) + more
    shown = f" (the first {len(findings)} shown)" if more else ""
    return f"The kernel was not built: {counted(count, 'error')}{shown}."
