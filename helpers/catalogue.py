"""What each finding code means. The texts are in catalogue.toml; errors, views and the documentation read them here."""
from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:          # Python 3.10
    import tomli as tomllib

_FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True)
class Page:
    code: str
    title: str
    meaning: str
    why: str
    fix: str
    example: str

    def __str__(self) -> str:
        return (f"{self.code}: {self.title}\n  {self.meaning}\n  Why: {self.why}\n  Fix: {self.fix}\n  Example: {self.example}")

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return (f"**`{self.code}`** {self.title}\n\n{self.meaning}\n\n*Why:* {self.why}\n\n*Fix:* {self.fix}\n\n"
                f"```cpp\n{self.example}\n```")


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """All pages by code."""
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {code: Page(code, **fields) for code, fields in data.items()}


def page(code: str) -> Page:
    """The page of one code; LookupError names the nearest when there is none."""
    found = pages().get(code) if isinstance(code, str) else None
    if found is None:
        near = difflib.get_close_matches(str(code).upper(), pages(), 1)
        raise LookupError(f"There is no finding code {code!r}." + (f" Did you mean {near[0]}?" if near else ""))
    return found
