"""What can go wrong, as exceptions that say what, where, with which values, and what to change.

A notebook shows only these few lines: no frames of the machinery, but the learner's own line and the fix.
"""
from __future__ import annotations

import linecache
import os
from dataclasses import dataclass, replace

SEVERITIES = ("note", "warning", "error")
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Finding:
    """One observation about a kernel. `code` is stable and has a page in the catalogue."""

    code: str
    severity: str
    line: int | None          # line of the cell (or file) that holds the kernel; None: no single line
    message: str
    hint: str = ""
    block: int | None = None
    core: int | None = None
    count: int = 1            # how often the same thing happened on this line
    column: int | None = None  # 1-based
    source: str = ""          # the text of that line
    file: str = ""            # another file than the kernel's own text, "" otherwise

    def __str__(self) -> str:
        place = []
        if self.file:
            place.append(self.file)
        if self.line is not None:
            place.append(f"line {self.line}")
        if self.block is not None and self.block >= 0:
            place.append(f"block {self.block}")
        if self.count > 1:
            place.append(f"{self.count} times")
        kind = "" if self.severity == "error" else f" ({self.severity})"
        head = self.code + kind
        lines = [f"{head}  {', '.join(place)}".rstrip()]
        if self.source.strip() and self.line is not None:
            lines += _quote(self.source, self.line, self.column)
        lines += _indent(self.message)
        if self.hint:
            lines += _indent("Fix: " + self.hint)
        return "\n".join(lines)


def with_source(finding: Finding, text: str, first_line: int = 1) -> Finding:
    """The same finding with the text of its line, taken from the kernel's source."""
    if finding.source or finding.line is None or finding.file:
        return finding
    lines = text.splitlines()
    index = finding.line - first_line
    return replace(finding, source=lines[index]) if 0 <= index < len(lines) else finding


def _quote(source: str, line: int, column: int | None) -> list[str]:
    text = source.rstrip()
    stripped = text.lstrip()
    cut = len(text) - len(stripped)
    number = f"{line:>4}"
    out = [f"{number} | {stripped.expandtabs(4)}"]
    if column is not None and column > cut:
        before = text[cut:column - 1].expandtabs(4)
        out.append(f"{' ' * len(number)} | {' ' * len(before)}^")
    return out


def _indent(text: str) -> list[str]:
    return ["  " + part for part in text.splitlines()]


class WorkbookError(Exception):
    """Base of everything the workbook raises about a learner's code; `findings` says it line by line."""

    def __init__(self, message: str = "", findings=()):
        self.findings: list[Finding] = list(findings)
        self.headline = message or self._headline()
        super().__init__(self.headline)

    def _headline(self) -> str:
        return counted(len(self.findings), "finding")

    @property
    def codes(self) -> list[str]:
        """Codes of the findings, worst first, each once."""
        ranked = sorted(self.findings, key=lambda f: -SEVERITIES.index(f.severity))
        return list(dict.fromkeys(f.code for f in ranked))

    def __str__(self) -> str:
        return "\n".join([self.headline, *(str(f) for f in self.findings)])

    # pickle keeps only args: without this an error that crosses processes loses its findings
    def __reduce__(self):
        return _rebuild, (type(self), self.headline, self.findings, self.__dict__.copy())

    def _render_traceback_(self):
        """IPython shows these lines instead of the frames of the machinery."""
        lines = [f"{type(self).__name__}: {self.headline}"]
        called = self._callers_line()
        if called:
            lines.append(called)
        for finding in self.findings:
            lines += ["", *str(finding).splitlines()]
        if self.findings:
            lines += ["", f'More about it: hp.explain("{self.codes[0]}")']
        return lines

    def _callers_line(self) -> str:
        """The innermost line of the learner's own Python that led here."""
        found, frame = "", self.__traceback__
        while frame is not None:
            name = frame.tb_frame.f_code.co_filename
            own = not name.startswith(_PACKAGE) and "site-packages" not in name and not name.startswith("<frozen")
            text = linecache.getline(name, frame.tb_lineno).strip() if own else ""
            if text and not text.startswith("get_ipython()"):
                found = f"  called by: {text}"
            frame = frame.tb_next
        return found


def _rebuild(cls, headline, findings, state):
    error = cls.__new__(cls)
    WorkbookError.__init__(error, headline, findings)
    error.__dict__.update(state)
    return error


def counted(n: int, noun: str) -> str:
    """1 error, 2 errors."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def listed(names) -> str:
    """a; a and b; a, b and c."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last


class CompileError(WorkbookError):
    """The kernel text could not be built. `log` is the compiler's whole output."""

    def __init__(self, message: str = "", findings=(), log: str = ""):
        super().__init__(message, findings)
        self.log = log


class KernelError(WorkbookError):
    """The kernel was built and started, and something in it must be changed."""


class CheckError(WorkbookError, AssertionError):
    """The result differs from the expected one."""


class SetupError(WorkbookError):
    """Something on this machine is missing."""
