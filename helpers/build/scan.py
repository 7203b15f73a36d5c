"""Reading C++ text without a compiler, well enough to find functions in it: comments, strings, conditions, brackets."""
from __future__ import annotations

import re

_SKIP = re.compile(
    r'(?P<line>//(?:\\\n|[^\n])*)'
    r'|(?P<block>/\*.*?(?:\*/|\Z))'
    r'|(?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z))'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"?)'
    r"|(?P<number>\b\d(?:'?[0-9A-Za-z_.])*)"      # 1'000: the quotes of a number start no character
    r"|(?P<char>'(?:\\.|[^'\\\n])*'?)", re.S)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


def blank(text: str) -> str:
    """The text with comments and the insides of strings replaced by spaces: every position stays where it was."""
    def spaces(match: re.Match) -> str:
        if match["number"] is not None:
            return match[0].replace("'", "_")
        keep = '"' if match["string"] or match["raw"] else ""
        body = re.sub(r"[^\n]", " ", match[0])
        return keep + body[1:-1] + keep if keep and len(body) > 1 else body
    return _SKIP.sub(spaces, text)


def closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at `start`, or -1. For "<" all brackets inside are skipped."""
    stack = [_CLOSING[text[start]]]
    for i in range(start + 1, len(text)):
        c = text[i]
        if c == stack[-1]:
            stack.pop()
            if not stack:
                return i
        elif c in "([{" or (c == "<" and stack[-1] == ">"):
            stack.append(_CLOSING[c])
        elif c in ")]}" or (c == ";" and stack[-1] == ">"):
            return -1
    return -1


def split(text: str) -> list[str]:
    """Splits at commas outside of all brackets."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(text):
        if c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    return [p.strip() for p in parts if p.strip()]


def line_of(text: str, position: int) -> int:
    """0-based line of a position."""
    return text.count("\n", 0, position)


_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b((?:\\\n|[^\n])*)", re.M)


def active(blanked: str, known: dict[str, int]) -> str:
    """The text with branches blanked that `known` macro values switch off. Conditions on other macros keep all branches."""
    out, stack, last = [], [], 0

    def emit(upto: int) -> None:
        part = blanked[last:upto]
        out.append(part if all(s["on"] for s in stack) else re.sub(r"[^\n]", " ", part))

    for match in _DIRECTIVE.finditer(blanked):
        word, rest = match[1], match[2].strip()
        emit(match.start())
        last = match.start()
        if word in ("ifdef", "ifndef", "if"):
            value = _condition(rest, known) if word == "if" else (True if rest in known else None)
            value = (not value) if word == "ifndef" and value is not None else value
            stack.append({"on": value is not False, "taken": value})
        elif stack and word in ("elif", "else"):
            top = stack[-1]
            if top["taken"] is True:
                top["on"] = False
            else:
                value = _condition(rest, known) if word == "elif" else (True if top["taken"] is False else None)
                top["on"] = value is not False
                top["taken"] = value if top["taken"] is False else (True if value is True else None)
        elif stack and word == "endif":
            stack.pop()
        end = match.end()
        out.append(re.sub(r"[^\n]", " ", blanked[last:end]))
        last = end
    emit(len(blanked))
    return "".join(out)


def _condition(text: str, known: dict[str, int]) -> bool | None:
    """Value of an #if expression when all its names are known, else None."""
    text = re.sub(r"\\\n", " ", text)

    def defined(match: re.Match) -> str:
        name = match[1] or match[2]
        return "1" if name in known else "?"

    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", defined, text)
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text)
    text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(known[m[0]]) if m[0] in known else "?", text)
    if "?" in text or not re.fullmatch(r"[\d\s()<>=!&|+*-]+", text):
        return None
    text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
    try:
        return bool(eval(text, {"__builtins__": {}}))   # digits, brackets and operators only, see above
    except (SyntaxError, TypeError, ValueError):
        return None


def namespaces(code: str, at: int) -> list[str]:
    """Named namespaces around a position."""
    stack: list[str] = []
    for match in re.finditer(r"\bnamespace\s+([\w:]+)\s*\{|[{}]", code[:at]):
        if match[0] == "}":
            if stack:
                stack.pop()
        else:
            stack.append(match[1] or "")
    return [name for name in stack if name]
