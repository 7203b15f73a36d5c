"""Struct declarations in a text: names of structs and fields. Sizes and offsets are the compiler's business (layout.py)."""
from __future__ import annotations

import re
from dataclasses import dataclass

from .scan import active, blank, closing, line_of, namespaces, split
from .source import KNOWN


@dataclass(frozen=True)
class FieldText:
    name: str
    type: str            # as written, without array bounds
    line: int            # 0-based
    problem: str = ""    # why this cannot be tiling data


@dataclass(frozen=True)
class StructText:
    name: str
    qualified: str       # with its namespaces
    fields: tuple[FieldText, ...]
    bases: tuple[str, ...]
    line: int
    end: int             # position behind the declaration


def find(text: str, known: dict | None = None) -> list[StructText]:
    """All structs of a text in order, plain ones and those built by BEGIN_TILING_DATA_DEF."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m[0]), active(blank(text), {**KNOWN, **(known or {})}), flags=re.M)
    found = [*_plain(code), *_macros(code)]
    return sorted(found, key=lambda s: s.line)


def registered(text: str) -> dict[str, str]:
    """REGISTER_TILING_DATA_CLASS(op, struct): struct by op."""
    return dict(re.findall(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*([\w:]+)\s*\)", blank(text)))


def default(text: str, kernel: str = "") -> StructText | None:
    """The struct that GET_TILING_DATA means when the text does not name one."""
    declared = {s.name: s for s in find(text)}
    ops = registered(text)
    for op, name in ops.items():
        if _snake(op) == kernel and name.split("::")[-1] in declared:
            return declared[name.split("::")[-1]]
    tops = [name for op, name in ops.items() if op != name.split("::")[-1] + "Op"]
    if tops and tops[-1].split("::")[-1] in declared:
        return declared[tops[-1].split("::")[-1]]
    inner = {w for s in declared.values() for f in s.fields for w in re.findall(r"\w+", f.type)}
    outer = [s for s in declared.values() if "iling" in s.name and s.name not in inner]
    return outer[-1] if outer else None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _plain(code: str):
    pattern = re.compile(r"(?<!enum )\b(?:struct|class)\s+(?:(?:alignas\s*\([^)]*\)|__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\])\s*)*(\w+)\s*(?:final\s*)?(?::([^{};]*))?\{")
    for match in pattern.finditer(code):
        end = closing(code, match.end() - 1)
        if end < 0:
            continue
        bases = tuple(re.sub(r"\b(public|private|protected|virtual)\b", "", b).strip() for b in split(match[2] or ""))
        name = match[1]
        # typedef struct { … } X; has no name before the brace and is found by the alternative below
        yield StructText(name, "::".join([*namespaces(code, match.start()), name]), tuple(_fields(code, match.end(), end)), bases,
                         line_of(code, match.start()), end + 1)
    for match in re.finditer(r"\btypedef\s+struct\s*(\{)", code):
        end = closing(code, match.start(1))
        after = re.match(r"\s*(\w+)\s*;", code[end + 1:]) if end > 0 else None
        if after:
            yield StructText(after[1], "::".join([*namespaces(code, match.start()), after[1]]), tuple(_fields(code, match.end(), end)), (),
                             line_of(code, match.start()), end + 1 + after.end())


def _macros(code: str):
    for match in re.finditer(r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\)(.*?)\bEND_TILING_DATA_DEF\b\s*;?", code, re.S):
        fields = []
        for f in re.finditer(r"\bTILING_DATA_FIELD_DEF(_ARR|_STRUCT)?\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", match[2]):
            words = split(f[2])
            if len(words) == (3 if f[1] == "_ARR" else 2):
                fields.append(FieldText(words[-1], words[0], line_of(code, match.start(2) + f.start())))
        yield StructText(match[1], "::".join([*namespaces(code, match.start()), match[1]]), tuple(fields), (), line_of(code, match.start()), match.end())


def _fields(code: str, start: int, end: int):
    """Fields of the body code[start:end]; functions, aliases and static members are no fields."""
    at = start
    while at < end:
        match = re.compile(r"[;{]").search(code, at, end)
        if not match:
            return
        stop = match.start()
        head = code[at:stop]
        if match[0] == "{":
            close = closing(code, stop)
            if close < 0:
                return
            if re.search(r"\)\s*(?:const|noexcept|override|\s)*(?::[^;]*)?$", head) and "=" not in head.split("(")[0]:
                at = close + 1                       # body of a function
                continue
            if re.search(r"\b(struct|class|enum|union)\b", head):
                if re.search(r"\b(struct|class|union)\s*$", head.strip()) or re.search(r"\bunion\b", head):
                    yield FieldText("", "", line_of(code, stop), "A union or nameless struct has no layout that Python could fill by name")
                behind = re.compile(r"\s*;").match(code, close + 1)
                at = behind.end() if behind else close + 1
                continue
            semicolon = code.find(";", close, end)   # int a{0};
            if semicolon < 0:
                return
            head, stop = code[at:stop] + code[close + 1:semicolon], semicolon
        yield from _declared(head, line_of(code, at + len(head) - len(head.lstrip())))
        at = stop + 1


def _declared(text: str, line: int):
    text = re.sub(r"\b(public|private|protected)\s*:(?!:)", " ", text)
    text = re.sub(r"\balignas\s*\([^)]*\)|\[\[.*?\]\]", " ", text).strip()
    if not text or re.match(r"(using|typedef|static|friend|template|enum|struct\s+\w+\s*$)\b", text):
        return
    parts = split(text)
    first = re.sub(r"=.*", "", parts[0], flags=re.S).strip()
    if "(" in first:
        return                                        # a function without a body here
    match = re.match(r"(?P<type>.*?[\s*&>])(?P<name>\w+)\s*(?P<rest>(?:\[[^\]]*\]\s*|:\s*\w+\s*)*)$", first, re.S)
    if not match:
        return
    kind = " ".join(w for w in match["type"].split() if w not in ("const", "volatile", "mutable", "struct"))
    for part in (match["name"] + match["rest"], *parts[1:]):
        part = re.sub(r"=.*", "", part, flags=re.S).strip()
        name = re.match(r"[*&\s]*(\w+)", part)
        if not name:
            continue
        problem = ""
        if re.search(r"(?<!:):(?!:)", part):
            problem = f"{name[1]} is a bit field: host and device need not agree on its place"
        elif "*" in kind or "&" in kind or part[:1] in "*&":
            problem = f"{name[1]} is a pointer or reference: addresses of the host mean nothing on the device"
        yield FieldText(name[1], kind, line, problem)
