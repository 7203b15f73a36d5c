"""The sources of the twin: where they are and what a file depends on."""
from __future__ import annotations

import hashlib
import re
from pathlib import Path

TWIN = Path(__file__).resolve().parent.parent / "twin"
INCLUDE = TWIN / "include"
RUNTIME = TWIN / "runtime"
RUNNER = "runner.cpp"          # the one source that becomes a program instead of a part of the library

_INCLUDE_LINE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


def included(text: bytes, folder: Path, search: tuple[Path, ...]) -> dict[Path, bytes]:
    """All files that `text` includes by quotes, directly or not. Conditions are ignored: rather one file too many."""
    found: dict[Path, bytes] = {}
    waiting = [(text, folder)]
    while waiting:
        content, where = waiting.pop()
        for match in _INCLUDE_LINE.finditer(content):
            name = match[1].decode(errors="replace")
            for base in (where, *search):
                path = (base / name)
                try:
                    data = path.read_bytes()
                except OSError:
                    continue
                path = path.resolve()
                if path not in found:
                    found[path] = data
                    waiting.append((data, path.parent))
                break
    return found


def digest(files: dict[Path, bytes]) -> str:
    total = hashlib.sha256()
    for path in sorted(files):
        name = str(path).encode()
        for part in (name, files[path]):
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
    return total.hexdigest()


def header_digest(include: Path | None = None) -> str:
    """Digest of every header a kernel can include: an edit anywhere rebuilds kernels."""
    base = include or INCLUDE
    return digest({p.relative_to(base): p.read_bytes() for p in sorted(base.rglob("*")) if p.is_file()})


def runtime_sources(folder: Path | None = None) -> list[Path]:
    return sorted(p for p in (folder or RUNTIME).glob("*.cpp") if p.name != RUNNER)


def source_digest(source: Path, include: Path | None = None) -> str:
    """Digest of one source and all it includes."""
    text = source.read_bytes()
    files = included(text, source.parent, (include or INCLUDE, source.parent))
    files[source.resolve()] = text
    return digest(files)
