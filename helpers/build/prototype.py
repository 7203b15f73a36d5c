"""The parameters of a kernel as its text declares them, for host code that launches it."""
from __future__ import annotations

import re
from dataclasses import dataclass

from .scan import active, blank, closing, split
from .source import KNOWN, EntryPoint, head_of


@dataclass(frozen=True)
class Parameter:
    type: str                 # as host code spells it: "uint8_t*", "half*", "uint32_t", "AddTiling"
    name: str

    @property
    def pointer(self) -> bool:
        return self.type.endswith("*")


def parameters(text: str, entry: EntryPoint, known: dict[str, int] | None = None) -> tuple[Parameter, ...]:
    """Types and names of a kernel's parameters; those of a template instance with its arguments put in."""
    base, _, arguments = entry.name.partition("<")
    code = active(blank(text), {**KNOWN, **(known or {})})
    found: list[Parameter] | None = None
    for match in re.finditer(r"\b__global__\b", code):
        head = head_of(code, match.end())
        if head is None or head[0] != base.strip().split("::")[-1]:
            continue
        close = closing(code, head[2])
        if close < 0:
            continue
        template = re.findall(r"\btemplate\s*<([^<>]*)>\s*[^;{}]*$", code[:match.start()])
        values = dict(zip(_template_names(template[-1]) if template else [], split(arguments.rstrip().removesuffix(">"))))
        parts = [p for p in split(text[head[2] + 1:close]) if p.strip() and p.strip() != "void"]
        found = [_parameter(part, values, name) for part, name in zip(parts, entry.params)]
        if re.match(r"\s*\{", code[close + 1:]):
            break
    if found is None:
        raise ValueError(f"no declaration of {entry.name}")
    return tuple(found)


def _template_names(text: str) -> list[str]:
    return [re.findall(r"\w+", part.split("=")[0])[-1] for part in split(text)]


def _parameter(part: str, values: dict[str, str], name: str) -> Parameter:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", part, flags=re.S).split("=")[0]
    text = re.sub(r"\b(__gm__|__restrict__|__restrict|restrict|__in__|__out__)\b", " ", text)
    text = re.sub(rf"\b{re.escape(name)}\b\s*(\[[^\]]*\])?\s*$", "", text.strip())
    text = re.sub(r"\bGM_ADDR\b", "uint8_t*", text)
    for key, value in values.items():
        text = re.sub(rf"\b{re.escape(key)}\b", value.strip(), text)
    text = re.sub(r"\s*\*\s*", "*", " ".join(text.split()))
    return Parameter(text.strip(), name)
