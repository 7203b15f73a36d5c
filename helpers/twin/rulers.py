"""What the twin's headers declare: every API stands under a ruler line `// ---- Name` with its contract."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent / "include"

_RULER = re.compile(r"^\s*// ----+ (\w.*)$")
_NAME = re.compile(r"^(?:\w+::)*~?\w+$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
_ABSENT = re.compile(r"^TWIN_(?:ADV_)?ABSENT\((\w+),(.*)\)", re.M)
_LAST_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"\s*$')

EXACT, APPROXIMATION, NOT_MODELLED = "exact", "approximation", "not modelled"


@dataclass(frozen=True)
class Api:
    """One name a kernel can write."""
    name: str
    header: str              # below include/, "twin/vec_unary.h"
    line: int
    contract: tuple[str, ...] = ()
    fidelity: str = EXACT
    instead: str = ""        # what to use where the chip does not have it
    a2_only: bool = False

    @property
    def short(self) -> str:
        """The name as calls spell it."""
        return self.name.rsplit("::", 1)[-1]


@dataclass
class Declared:
    """Names that the code of the headers declares, each with the place of its first declaration."""
    functions: dict[str, tuple[str, int]] = field(default_factory=dict)
    others: dict[str, tuple[str, int]] = field(default_factory=dict)        # types, macros, enumerators, constants, members

    def __contains__(self, name: str) -> bool:
        return name in self.functions or name in self.others


def headers() -> list[Path]:
    """The basic API first: where a name exists in both, its first place is there."""
    return [INCLUDE / "kernel_operator.h", *sorted((INCLUDE / "twin").glob("*.h"), key=lambda p: (p.name.startswith(("adv_", "host_")), p.name))]


def _fidelity(header: str, contract: list[str]) -> str:
    if header.startswith("twin/host_"):
        return APPROXIMATION             # sizes and tilings agree with the kernels here; the vendor's figures differ between releases
    text = " ".join(contract).lower()
    if "not modelled" in text:
        return NOT_MODELLED
    return APPROXIMATION if re.search(r"approximat|the twin (?:is|rounds) |here exact|exact here|on the hardware|as if|estimate", text) else EXACT


def _of_header(path: Path) -> list[Api]:
    where, lines = path.relative_to(INCLUDE).as_posix(), path.read_text().splitlines()
    found, starts = [], [i for i, line in enumerate(lines) if _RULER.match(line)]
    for n, i in enumerate(starts):
        names = [w for w in _RULER.match(lines[i])[1].replace(",", " ").split() if _NAME.match(w)]
        contract = []
        for line in lines[i + 1:]:
            if not line.lstrip().startswith("//") or _RULER.match(line):
                break
            contract.append(line.lstrip()[2:].strip())
        code = "\n".join(lines[i:starts[n + 1] if n + 1 < len(starts) else len(lines)])
        only = "__NPU_ARCH__ == 2201" in code or "inference chip" in " ".join(contract)
        found += [Api(name, where, i + 1, tuple(contract), _fidelity(where, contract), a2_only=only) for name in names]
    text = "\n".join(lines)
    words = set(re.findall(r"\w+", _COMMENT.sub("", text)))
    # A ruler may also be a heading of several words: only what the code below it spells is an API.
    found = [a for a in found if a.short in words and (a.short.lower() != a.short or "_" in a.short or a.short in ("half", "printf"))]
    for m in _ABSENT.finditer(text):
        instead = _LAST_TEXT.search(m[2])
        found.append(Api(m[1], where, text.count("\n", 0, m.start()) + 1, (), NOT_MODELLED, instead[1] if instead else ""))
    return found


@lru_cache(maxsize=1)
def apis() -> tuple[Api, ...]:
    """Every name under a ruler, and every name that is declared only to say it does not exist here."""
    seen, out = set(), []
    for path in headers():
        for api in _of_header(path):
            if (api.name, api.fidelity == NOT_MODELLED) not in seen:
                seen.add((api.name, api.fidelity == NOT_MODELLED))
                out.append(api)
    present = {a.name for a in out if not a.instead}
    return tuple(a for a in out if not (a.instead and a.name in present))


# ----- declarations
_FUNCTION = re.compile(r"^(?:template\s*<[^\n]*>\s*)?(?:[\w:<>,*&\s]+?\s)?\b(?:inline|constexpr)\s[^;=\n(]*?\b(\w+)\s*\(", re.M)
_MACRO_CALL = re.compile(r"^\s*TWIN_\w+\((\w+)[,)]", re.M)
_MACRO_BODY = re.compile(r"(^[ \t]*#[ \t]*define[ \t]+\w+)((?:[^\n]*\\\n)*[^\n]*)", re.M)
_MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
_TYPE = re.compile(r"\b(?:struct|class|enum(?:\s+class|\s+struct)?)\s+(\w+)\b(?=[^;()]*[{:])")
_NAMESPACE = re.compile(r"\bnamespace\s+(\w+)\s*[{=]")
_VARIABLE = re.compile(r"^\s*(?:inline|static|extern|constexpr)\s[^;=({\n]*?\b(\w+)\s*(?:[;=]|\{\};)", re.M)
_USING = re.compile(r"\busing\s+(?:[\w:]+::)?(\w+)\s*[=;]")
_ENUM = re.compile(r"\benum\b[^{;]*\{(.*?)\}", re.S)
_CONSTANT = re.compile(r"\bconstexpr\s+[\w:<>\s]+?\b(\w+)\s*(?:=|\{|\[)")
_MEMBER = re.compile(r"^[ \t]+[^\n=;(]*\b(\w+)[ \t]*\((?:[^;{}\n]|\{\})*\)[ \t]*(?:const[ \t]*)?\{", re.M)      # on one line


@lru_cache(maxsize=1)
def declared() -> Declared:
    out = Declared()
    for path in headers():
        where = path.relative_to(INCLUDE).as_posix()
        raw = path.read_text()
        code = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), _TEXT.sub('""', raw))
        code = _MACRO_BODY.sub(lambda m: m[1] + re.sub(r"[^\n]", " ", m[2]), code)
        spaces = _spaces(code)
        line = lambda at: code.count("\n", 0, at) + 1
        for m in _FUNCTION.finditer(code):
            kind = out.functions if spaces(m.start(1)) == ("AscendC",) and not m[1].startswith("tw_") else out.others
            kind.setdefault(m[1], (where, line(m.start(1))))
        for m in _MACRO_CALL.finditer(code):
            if not m[1].startswith(("k", "TWIN")):
                kind = out.functions if spaces(m.start(1)) == ("AscendC",) and m[1][0].isupper() else out.others
                kind.setdefault(m[1], (where, line(m.start(1))))
        for pattern in (_MACRO, _TYPE, _USING, _CONSTANT, _VARIABLE, _NAMESPACE, _MEMBER):
            for m in pattern.finditer(code):
                out.others.setdefault(m[1], (where, line(m.start(1))))
        for m in _ENUM.finditer(code):
            for word in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", m[1]):
                out.others.setdefault(word, (where, line(m.start())))
    return out


def _spaces(code: str):
    """A function: position -> the namespaces around it."""
    opened, stack, marks, word = [], [], [], re.compile(r"namespace\s+([\w:]+)?\s*\{|[{}]")
    for m in word.finditer(code):
        if m[0].startswith("namespace"):
            stack.append(m[1] or "")
        elif m[0] == "{":
            stack.append(None)
        elif stack:
            stack.pop()
        marks.append((m.end(), tuple(s for s in stack if s is not None) if None not in stack else ("…",)))
    starts = [at for at, _ in marks]

    def at(position: int):
        import bisect
        i = bisect.bisect_right(starts, position) - 1
        return marks[i][1] if i >= 0 else ()
    return at
