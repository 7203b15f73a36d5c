"""Variables of device code that outlive a call: on the twin all blocks share them, on a device no two cores do."""
from __future__ import annotations

import re

from .scan import closing, split

_DEVICE = re.compile(r"\b(?:__aicore__|__global__)\b[^;{}]*\{")
_CLASS = re.compile(r"\b(?:struct|class)\s+\w+[^;{}()]*\{")
# What never changes, and memory that is one for all cores or one for each by its mark.
_FIXED = re.compile(r"\b(?:const|constexpr|__gm__|__ubuf__|__cbuf__|__c[abc]__|__fbuf__|__BLOCK_LOCAL__)(?!\w)|\bblock_local\b")
_OTHER = re.compile(r"\s*(?:extern|using|typedef|template|struct|class|enum|union|namespace|return|friend)\b")
_TYPE = re.compile(r"\s*(?:(?:static|inline|volatile|thread_local)\s+)*(?!(?:static|inline|volatile|thread_local)\b)(?:(?:unsigned|signed|long|short)\s+)*"
                   r"[A-Za-z_][\w:]*(?:\s*<[^;{}()]*>)?(?=[\s*&])")
# A bracket behind the name holds a value; with a type in it, the statement declares a function.
_DECLARATOR = re.compile(r"[\s*&]*(\w+)\s*(?:\[[^;{}]*\]\s*)*(?:=.*|\{.*\}|\(\s*[-+\d'\"].*\))?", re.S)
_STATIC = re.compile(r"\bstatic\s[^;(){}=]*?(?:=[^;]*|\{[^;{}]*\}|\(\s*[-+\d'\"][^;{}]*\))?;")


def find(code: str) -> list[tuple[int, str, str]]:
    """(position, name, "outside of all functions" or "that is static"). code: without comments and strings."""
    bodies = [(m.end(), end) for m in _DEVICE.finditer(code) if (end := closing(code, m.end() - 1)) > 0]
    device = " ".join(code[a:z] for a, z in bodies)
    found = [(a + m.start() + at, name, "that is static") for a, z in bodies for m in _STATIC.finditer(code[a:z]) for at, name in _names(m[0])]
    for start, statement in _outside(code):
        found += [(start + at, name, "outside of all functions") for at, name in _names(statement) if re.search(rf"\b{name}\b", device)]
    for start, members in _members(code):
        found += [(start + m.start() + at, name, "that is static") for m in _STATIC.finditer(members) for at, name in _names(m[0]) if re.search(rf"\b{name}\b", device)]
    return sorted(set(found))


def _names(statement: str):
    """Names that a statement declares as variables that may change, with their positions in it."""
    if _OTHER.match(statement) or _FIXED.search(statement.split("=")[0]):
        return
    head = _TYPE.match(statement)
    if head is None:
        return
    at = head.end()
    for part in split(statement[at:].rstrip().rstrip(";")):
        match = _DECLARATOR.fullmatch(part)
        if match is None:
            return
        at = statement.index(part, at)
        yield at + match.start(1), match[1]
        at += len(part)


def _outside(code: str):
    """Statements outside of functions and classes, with their positions."""
    at, begun = 0, 0
    for m in re.finditer(r"^[ \t]*#[^\n]*|[;{}]", code, re.M):
        if m.start() < at:
            continue
        if m[0] == ";" or m[0] == "}" or m[0].lstrip().startswith("#"):
            text = code[begun:m.start()].strip()
            if m[0] == ";" and text:
                yield code.index(text, begun), text + ";"
        elif not re.search(r"\bnamespace\b[\w\s:]*$|\bextern\s*\"[^\"]*\"\s*$", code[begun:m.start()]):
            end = closing(code, m.start())
            if end < 0:
                return
            at = end + 1
            if re.search(r"=\s*$|\w\s*$", code[begun:m.start()]) and re.match(r"\s*[;,]", code[at:]) and not re.search(r"\b(struct|class|enum|union)\b", code[begun:m.start()]):
                continue                     # the braces of an initialiser: the statement goes on
        begun = max(at, m.end())


def _members(code: str):
    """What stands in classes themselves, not in their functions, with the position."""
    for m in _CLASS.finditer(code):
        end, depth, out = closing(code, m.end() - 1), 0, []
        for c in code[m.end():max(end, m.end())]:
            depth -= c == "}"
            out.append(c if depth == 0 or c == "\n" else " ")
            depth += c == "{"
        yield m.end(), "".join(out)
