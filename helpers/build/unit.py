"""What a kernel and a file of a host program need alike to be compiled: flags, the headers before them, the compiler's time, words."""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ..errors import CompileError, Finding, counted
from . import runtime, source, structs, twin
from .cache import Cache
from .compiler import Compiler
from .scan import blank

SECONDS = 120


def arch_flags(arch: int) -> tuple[str, ...]:
    """What the device compiler predefines, and the marks of the CPU mode in which the twin runs kernels."""
    return (f"-D__NPU_ARCH__={arch}", "-D__CCE_KT_TEST__=1", "-DASCENDC_CPU_DEBUG=1")


def prefix(found: source.Scan, arch: int, cache: Cache, compiler: Compiler) -> tuple[str, ...]:
    """Options that put the twin's headers before the text, precompiled where they can be."""
    # A macro set before the first #include may change the headers: then they must be read after it.
    steering = [m for m in found.early_defines if not m.startswith("__")]
    if steering:
        headers = b"\n".join(p.read_bytes() for p in twin.INCLUDE.rglob("*.h")).decode(errors="replace")
        if any(re.search(rf"\b{re.escape(m)}\b", headers) for m in steering):
            return ()
    return runtime.precompiled(arch_flags(arch), cache, compiler)


def with_default_tiling(text: str, tiling: str, macros: dict, search: tuple[Path, ...]) -> str:
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


def run(compiler: Compiler, command):
    """The compiler's answer; CompileError when it takes too long."""
    try:
        return compiler.run(command, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        finding = Finding("TIMEOUT", "error", None, f"The compiler was stopped after {SECONDS} s.",
                          "Look for a template that instantiates itself, or a very large constant array.")
        raise CompileError(headline([finding]), [finding]) from None


def headline(findings, more: int = 0) -> str:
    count = len(findings) + more
    shown = f" (the first {len(findings)} shown)" if more else ""
    return f"The kernel was not built: {counted(count, 'error')}{shown}."
