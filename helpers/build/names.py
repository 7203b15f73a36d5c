"""Names that the twin's headers declare: to suggest the right one for a slip of the pen."""
from __future__ import annotations

import difflib
import re
from functools import lru_cache

from . import twin
from .scan import blank, namespaces


@lru_cache(maxsize=4)
def _names(_digest: str) -> tuple[str, ...]:
    names: set[str] = set()
    for header in twin.INCLUDE.rglob("*.h"):
        for ruler in re.findall(r"^// ---- (.+)$", header.read_text(errors="replace"), re.M):
            names.update(re.findall(r"\b[A-Za-z_]\w*", re.sub(r"\(.*?\)|<.*?>", "", ruler)))
    return tuple(sorted(names))


@lru_cache(maxsize=4)
def _enumerators(_digest: str) -> dict[str, str]:
    """Enumerator to enum class, first one first: VECIN is one of TPosition."""
    found: dict[str, str] = {}
    for header in sorted(twin.INCLUDE.rglob("*.h")):
        for name, body in re.findall(r"\benum class (\w+)[^{};]*\{([^}]*)\}", header.read_text(errors="replace")):
            for word in re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", re.sub(r"//[^\n]*", "", body)):
                found.setdefault(word, name)
    return found


@lru_cache(maxsize=4)
def _header_words(_digest: str) -> frozenset:
    return frozenset(w for header in twin.INCLUDE.rglob("*.h") for w in re.findall(r"\b[A-Za-z]\w{2,}", header.read_text(errors="replace")))


def api_names() -> tuple[str, ...]:
    """Every API the twin knows, read from the ruler lines of its headers."""
    return _names(twin.header_digest())


def namespace_of(name: str) -> str:
    """Where the headers declare an API: "AscendC", "AscendC::Impl::Detail"."""
    for header in sorted(twin.INCLUDE.rglob("*.h")):
        text = header.read_text(errors="replace")
        for ruler in re.finditer(r"^// ---- (.+)$", text, re.M):
            if re.search(rf"\b{re.escape(name)}\b", re.sub(r"\(.*?\)|<.*?>", "", ruler[1])):
                spaces = namespaces(blank(text), ruler.start())
                return "::".join(spaces) if spaces[:1] == ["AscendC"] else "AscendC"
    return "AscendC"


def nearest(name: str) -> str:
    near = difflib.get_close_matches(name, api_names(), 1, 0.75)
    return near[0] if near else ""


def enum_of(name: str) -> str:
    """The enum class of an enumerator, "" when no enum has it."""
    return _enumerators(twin.header_digest()).get(name, "")


def header_words() -> frozenset:
    """Every word of the headers, names of members among them."""
    return _header_words(twin.header_digest())
