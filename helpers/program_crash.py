"""What ended a host program by a signal: words, and the innermost line of its own files."""
from __future__ import annotations

import os
import re
import signal
from dataclasses import replace
from pathlib import Path

from .crash import places
from .errors import Finding, with_source

TRAIL = ".crash"                 # the file beside the report that the twin writes at a crash


def explain(code: int, trail: Path, executable: Path, sources: dict[str, str], stderr: str, findings: list[Finding]) -> list[Finding]:
    """The findings with the one about the crash: the program's own, with its line, or a new one. sources: text by file name."""
    rows = [row.split(" ", 1) for row in trail.read_text(errors="replace").splitlines()] if trail.exists() else []
    known = {key: value for key, value in rows if key != "frame"}
    number = int(known.get("signal", max(0, -code)))
    if not number:
        return findings
    frames = [int(value.split(" ", 1)[0], 16) for key, value in rows if key == "frame" and value.split(" ", 1)[1] == str(executable)]
    file, line = _own_place(places(str(executable), frames), sources)
    if not any(f.severity == "error" for f in findings):
        findings = [*findings, Finding("CRASH", "error", None, *_words(number, known, stderr))]
    last = findings[-1]
    if last.severity == "error" and line and (not last.line or "kernel" in known):
        if last.line and (last.file, last.line) != (file, line):         # where the kernel was started: its own line says more
            last = replace(last, message=f"{last.message} It was launched at {last.file}, line {last.line}.", hint="A raw pointer is not checked: compare its index with the number of elements. hp.compile runs the kernel alone and says more.")
        last = replace(last, line=line, file=file, source=with_source(Finding("", "error", line, ""), sources.get(file, "")).source)
    return [*findings[:-1], last]


def _words(number: int, known: dict[str, str], stderr: str) -> tuple[str, str]:
    who = f"Kernel {known['kernel']}" if "kernel" in known else "Host code"
    if known.get("sent") == "1":
        return f"{who} was sent {signal.Signals(number).name} with raise() or kill().", "Look for who sent it: the program itself, or another one."
    if number == signal.SIGFPE:
        return f"{who} divided an integer by zero (/ or %).", "Check the divisor: lengths and numbers of tiles are often 0 for small inputs."
    if number == signal.SIGILL:
        return f"{who} ran into a place without valid code.", "A function that should return a value may end without return."
    if number == signal.SIGABRT:
        said = [row.strip() for row in stderr.splitlines() if re.search(r"terminate called|what\(\)|free\(\)|malloc|realloc|corrupt|\*\*\* |[Aa]ssert", row)]
        return f"{who} called abort(){': ' + said[-1][:200] if said else '.'}", "Look for an exception that nothing catches, an assert, or heap memory that is freed twice or written past its end."
    if number == signal.SIGKILL:
        return "The system ended the program (SIGKILL), most likely because memory ran out.", "Use smaller buffers, or close other programs."
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM):
        return f"The program was ended by {signal.Signals(number).name}: a signal that somebody sent.", "Look for raise(), kill(), alarm() or a closed pipe in the host code, or for who stopped the program."
    return f"The program was ended by {signal.Signals(number).name}, in host code and not in a kernel.", "Look for a null pointer or a wrong index in the host code."


def _own_place(found: list[tuple[str, int]], sources: dict[str, str]) -> tuple[str, int | None]:
    """The innermost place in a file of the program; in an executable that was built before, in no header of the twin or the system."""
    names = list(sources)
    for path, line in found:
        file = os.path.basename(path)
        if (unit := re.fullmatch(r"unit(\d+)\.cpp", file)) and int(unit[1]) < len(names):     # binutils names the file itself where #line begins
            file = names[int(unit[1])]
        if file in names or (not names and not re.search(r"^/usr/|/twin/include/|/c\+\+/", path)):
            return file, line if (path, line) != found[0] else _statement(sources.get(file, "").splitlines(), line)
    return "", None


def _statement(rows: list[str], line: int) -> int:
    """An optimiser may count the last statement of a function to its closing brace, which does nothing by itself."""
    while 1 < line <= len(rows) and rows[line - 1].strip() in ("", "}", "};"):
        line -= 1
    return line
