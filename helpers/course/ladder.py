"""A ladder: versions of one kernel side by side, from the obvious one to the tuned one."""
from __future__ import annotations

import difflib
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Version:
    """One step of a ladder and how it is launched."""
    name: str                       # "v1"
    title: str                      # "vector unit, one core"
    path: Path
    blocks: int
    tile: int                       # elements moved at once
    published_us: float | None = None
    published_vector_us: float | None = None
    source: str = ""                # where the published time comes from

    @property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8")

    @property
    def comment(self) -> str:
        """The header comment: what changed, why, what the timeline shows."""
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("//"):
                break
            lines.append(line[2:].removeprefix(" "))
        return "\n".join(lines)

    def function(self, name: str) -> str:
        """One function of the class, with the comment above it, moved to the left edge."""
        found = re.search(rf"(?:^    //[^\n]*\n)*(?:^    template [^\n]*\n)?^    __aicore__ inline [^\n]*\b{name}\(.*?^    }}$", self.text, re.M | re.S)
        if not found:
            raise ValueError(f"There is no function {name} in {self.path.name}.")
        return textwrap.dedent(found.group(0))

    @property
    def code(self) -> str:
        """The file without its header comment."""
        return re.sub(r"\A(?://[^\n]*\n)+", "", self.text)


def changes(before: Version, after: Version) -> str:
    """The lines of code that differ: - before, + after. Header comments are left out."""
    lines = difflib.unified_diff(before.code.splitlines(), after.code.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))
