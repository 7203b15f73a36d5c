"""From a compiler's log to at most three errors in plain words, each at the learner's own line."""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ..errors import Finding, with_source
from . import hints
from .compiler import Compiler
from .scan import blank

SHOWN = 3
_MESSAGE = re.compile(r"^(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?P<kind>fatal error|error|warning|note|  required from(?: here)?)"
                      r"(?::\s*(?P<text>.*)|(?P<rest>.*))$")
_TWICE = re.compile(r"multiple definition of [`'](?P<gnu>[^'\n]+)'|duplicate symbol: (?P<lld>[^\n]+)")
_LINK = re.compile(r"undefined (?:reference to|symbol:) [`']?(?P<name>[^'\n>]+)'?")


def flags(compiler: Compiler) -> tuple[str, ...]:
    """Plain one-line messages."""
    if compiler.kind == "gcc":
        return ("-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-fno-diagnostics-show-option", "-fmax-errors=20")
    return ("-fno-color-diagnostics", "-fno-caret-diagnostics", "-fno-diagnostics-show-option", "-ferror-limit=20",
            "-fno-diagnostics-fixit-info")


@dataclass
class Message:
    """One error of the log with what the compiler said around it."""
    file: str
    line: int
    column: int | None
    text: str
    before: list = field(default_factory=list)    # (file, line, column): where its template was used, innermost first
    notes: list = field(default_factory=list)     # (file, line, column, text)


def parse(log: str) -> list[Message]:
    found: list[Message] = []
    before: list = []
    current = None
    for row in log.splitlines():
        match = _MESSAGE.match(row)
        if not match:
            if ": In " in row:   # a new error begins
                before, current = [], None
            continue
        place = (match["file"], int(match["line"]), int(match["column"]) if match["column"] else None)
        kind = match["kind"].strip()
        if kind.startswith("required from"):
            before.append(place)
        elif kind in ("error", "fatal error"):
            current = Message(*place, (match["text"] or "").strip(), before)
            found.append(current)
            before = []
        elif kind == "note" and current is not None:
            current.notes.append((*place, (match["text"] or "").strip()))
        elif kind == "warning":
            current, before = None, []
    return found


def errors(log: str, label: str, text: str, first_line: int, renamed: dict) -> tuple[list[Finding], int]:
    """The findings to show and how many more there are."""
    lines = text.splitlines()
    findings: list[Finding] = []
    seen: set = set()
    messages = parse(log)
    if messages and all(map(_in_tail, messages)) and (at := unclosed(text)) is not None:
        return [with_source(Finding("COMPILE", "error", first_line + at, "This { is never closed: the text ends inside it.",
                                    "Add the missing } where the block ends."), text, first_line)], 0
    for message in messages:
        line, column, file = _own_place(message, label, first_line, len(lines))
        if line is not None and not file and re.search(r"expected .*';'.* before", message.text):
            line, column = _end_before(lines, line - first_line, column, first_line)
        column = column if line is None or file else _at_name(lines[line - first_line], column)
        said = _back(message.text, renamed)
        notes = [_back(note[3], renamed) for note in message.notes]
        known = hints.explain(said, notes, lines[line - first_line] if line is not None and not file else "")
        if known and _in_tail(message) and known.message.endswith("is not declared here."):
            known = replace(known, message=known.message.replace("is not declared here", "is marked __global__, but is no function that can be launched"),
                            hint="A kernel is a function outside of all classes.")
        # one error a line, and none in generated text after one in the learner's: the others follow from it
        if (line, file) in seen or known is None or (findings and (line is None or file == "<layout>")):
            continue
        seen.add((line, file))
        finding = Finding(known.code, "error", line, known.message, known.hint, column=column, file=file)
        findings.append(with_source(finding, text, first_line))
    if not findings:
        findings = _link_errors(log, renamed) or [Finding("COMPILE", "error", None, "The compiler stopped: " + _last_words(log),
                                                          "The whole output is in the error's .log")]
    return findings[:SHOWN], max(0, len(findings) - SHOWN)


def _own_place(message: Message, label: str, first_line: int, count: int):
    """(line, column, file): the learner's line that led to the message. file is "" for the kernel text itself."""
    used = [note[:3] for note in message.notes if re.search("instantiation of|requested here|expansion of macro|expanded from macro", note[3])]
    for file, line, column in [(message.file, message.line, message.column), *message.before, *used]:
        if file == label:
            return line, column, ""
    if _in_tail(message):     # a kernel is declared but not there
        return first_line + max(count - 1, 0), None, ""
    if message.file == "<tiling>" or "/twin/include/" not in message.file.replace("\\", "/"):
        return message.line, message.column, message.file.rsplit("/", 1)[-1]
    return None, None, ""


def _in_tail(message: Message) -> bool:
    return "<entry>" in (message.file, *(note[0] for note in message.notes))


def _end_before(lines: list[str], index: int, column: int | None, first_line: int):
    """A missing ; is reported at the next word; it belongs after the word before, often a line higher."""
    head = lines[index][:(column or 1) - 1]
    while not head.strip() and index > 0:
        index -= 1
        head = blank("\n".join(lines[:index + 1])).splitlines()[-1] if lines[index].strip() else ""
    return first_line + index, len(head.rstrip()) + 1


def _at_name(row: str, column: int | None) -> int | None:
    """g++ points at the bracket of a call, clang at its name: the name it is, so that both show the same."""
    if column is None or not 0 < column <= len(row) or row[column - 1] != "(":
        return column
    name = re.search(r"\w+\s*(?:<[^<>;]*>)?\s*$", row[:column - 1])
    return name.start() + 1 if name else column


def unclosed(text: str) -> int | None:
    """0-based line of the { that most likely lacks its }, judged by indentation; None when all are closed."""
    rows = blank(text).splitlines()

    def indent(row: int) -> int:
        return len(rows[row]) - len(rows[row].lstrip())

    stack, suspect = [], None
    for number, row in enumerate(rows):
        for c in row:
            if c == "{":
                stack.append(number)
            elif c == "}" and stack:
                opened = stack.pop()
                if opened != number and indent(opened) > indent(number) and suspect is None:
                    suspect = opened
    return None if not stack else suspect if suspect is not None else stack[-1]


def _back(text: str, renamed: dict) -> str:
    for new, old in renamed.items():
        text = re.sub(rf"\b{re.escape(new)}\b", old, text)
    return text


def _link_errors(log: str, renamed: dict) -> list[Finding]:
    names = dict.fromkeys(hints.plain(_back(m["name"].strip(), renamed)) for m in _LINK.finditer(log))
    return [replace(Finding("COMPILE", "error", None, f"{name} is declared and used, but its body is nowhere."),
                    hint="Write the function's body in this cell, or remove the call.") for name in names]


def defined_twice(log: str, files: list[tuple[str, str]]) -> list[Finding]:
    """Names that several files of one program define. files: (label, text), in the order of the objects unit0.o, unit1.o …"""
    rows, found = log.splitlines(), {}
    for at, row in enumerate(rows):
        match = _TWICE.search(row)
        if match:
            name = hints.plain((match["gnu"] or match["lld"]).strip()).split("(")[0].strip()
            end = next((i for i in range(at + 1, len(rows)) if _TWICE.search(rows[i]) or ": in function" in rows[i]), len(rows))
            found.setdefault(name, set()).update(int(n) for n in re.findall(r"\bunit(\d+)\.o\b", "\n".join(rows[max(0, at - 1):end])))
    return [_twice(name, sorted(n for n in units if n < len(files)), files) for name, units in found.items()
            if not name.startswith("aclrtlaunch_")]                 # made from a kernel that is in the list itself


def _twice(name: str, units: list[int], files: list[tuple[str, str]]) -> Finding:
    places = []
    for label, text in (files[n] for n in units):
        rows = [i for i, row in enumerate(blank(text).splitlines(), 1) if re.search(rf"\b{re.escape(name.split('::')[-1])}\s*(?:\(|=|;|\[|\{{)", row)]
        places.append(f"{label}, line {rows[0]}" if rows else label)
    what = f"{name}() is the start of a program, and this one has it" if name == "main" else f"{name} is defined"
    hint = "Give run_program the files of one program only." if name == "main" else "Keep one of them, or mark them static (inline in a header)."
    return Finding("COMPILE", "error", None, f"{what} {len(places) or 'several'} times: {'; '.join(places) or 'see the .log'}.", hint)


def _last_words(log: str) -> str:
    words = [row.strip() for row in log.splitlines() if row.strip()]
    return words[-1] if words else "no message"
