"""What a kernel can call: its body, and whatever in the text is named there, or in that."""
from __future__ import annotations

import re

from .scan import closing

_WORD = re.compile(r"[A-Za-z_]\w*")
_OPEN_SCOPE = re.compile(r"\s*(?:inline\s+)?(?:namespace\b[^=(]*|extern\s*\"[^\"]*\"\s*)")
_DIRECTIVE = re.compile(r"[ \t]*#(?:\\\n|[^\n])*")
_ATTRIBUTE = re.compile(r"\b(?:__attribute__|alignas|__launch_bounds__)\s*\((?:[^()]|\([^()]*\))*\)|\[\[.*?\]\]", re.S)
_DEFINES = [re.compile(p) for p in (
    r"\s*#\s*define\s+(\w+)", r"\b(?:class|struct|union|enum)\s+(?:class\s+)?(\w+)", r"\busing\s+(\w+)\s*=", r"\btypedef\b.*?(\w+)\s*;?\s*$",
    r"^[^(=]*?((?:\w+\s*(?:<[^<>]*>)?\s*::\s*)*~?\w+)\s*\(", r"(\w+)\s*(?:\[[^\]]*\]\s*)?(?:=|\{|;|$)")]


def reach(code: str, body: str) -> str:
    """The body of a kernel with all declarations of the text that it uses. `code` has no comments; other kernels are left out."""
    by_name: dict[str, list[str]] = {}
    for piece in _pieces(code):
        if "__global__" not in piece:
            for name in _names(piece):
                by_name.setdefault(name, []).append(piece)
    found, open_, seen = [body], [body], set()
    while open_:
        for word in set(_WORD.findall(open_.pop())) - seen:
            seen.add(word)
            found += by_name.get(word, [])
            open_ += by_name.get(word, [])
    return "\n".join(found)


def _pieces(code: str):
    """Declarations outside of functions and classes, and macros. What stands in a namespace counts as outside."""
    start = at = 0
    while at < len(code):
        c = code[at]
        if c == "#" and not code[code.rfind("\n", 0, at) + 1:at].strip():
            end = _DIRECTIVE.match(code, at).end()
            yield code[at:end]
            start = at = end
        elif c == "{" and _OPEN_SCOPE.fullmatch(code, start, at):
            start = at = at + 1
        elif c in "({":
            end = closing(code, at)
            at = end + 1 if end > 0 else len(code)
            if c == "{":
                yield code[start:at]
                start = at
        elif c in ";}":
            yield code[start:at + 1]
            start = at = at + 1
        else:
            at += 1


def _names(piece: str) -> set[str]:
    """Names that a declaration gives something to: Op and Process for `void Op<T>::Process() {`."""
    head = _without_parameters(_ATTRIBUTE.sub(" ", piece if piece.lstrip().startswith("#") else piece.split("{", 1)[0]))
    for pattern in _DEFINES:
        match = pattern.search(head)
        if match:
            return set(_WORD.findall(re.sub(r"<[^<>]*>", "", match[1])))
    return set()


def _without_parameters(head: str) -> str:
    match = re.match(r"\s*template\s*(<)", head)
    end = closing(head, match.start(1)) if match else -1
    return _without_parameters(head[end + 1:]) if end > 0 else head
