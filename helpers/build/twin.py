"""The sources of the twin: where they are and what a file depends on."""
from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

TWIN = Path(__file__).resolve().parent.parent / "twin"
INCLUDE = TWIN / "include"
RUNTIME = TWIN / "runtime"
RUNNER = "runner.cpp"          # the one source that becomes a program instead of a part of the library

_INCLUDE_LINE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.M)


class Files:
    """Files read once, and which of them each one includes by quotes. Conditions are ignored: rather one file too many."""

    def __init__(self, *search: Path):
        self._search = search
        self._known: dict[Path, tuple[bytes, list[Path]]] = {}

    def closure(self, text: bytes, folder: Path) -> dict[Path, bytes]:
        """All files that a text in `folder` includes, directly or not."""
        found: dict[Path, bytes] = {}
        waiting = self._direct(text, folder)
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            if path not in self._known:
                data = path.read_bytes()
                self._known[path] = data, self._direct(data, path.parent)
            found[path], more = self._known[path]
            waiting += more
        return found

    def _direct(self, text: bytes, folder: Path) -> list[Path]:
        paths = []
        for name in {match[1].decode(errors="replace") for match in _INCLUDE_LINE.finditer(text)}:
            for base in (folder, *self._search):
                path = os.path.normpath(os.path.join(base, name))
                if os.path.isfile(path):
                    paths.append(Path(path))
                    break
        return paths


def included(text: bytes, folder: Path, search: tuple[Path, ...]) -> dict[Path, bytes]:
    """All files that `text` includes by quotes, directly or not."""
    return Files(*search).closure(text, folder)


def digest(files: dict[Path, bytes]) -> str:
    total = hashlib.sha256()
    for path in sorted(files):
        for part in (str(path).encode(), files[path]):
            total.update(len(part).to_bytes(8, "little"))
            total.update(part)
    return total.hexdigest()


def header_digest() -> str:
    """Digest of every header a kernel can include: an edit anywhere rebuilds kernels."""
    base = INCLUDE
    return _remembered("headers", (base,), lambda: digest({p.relative_to(base): p.read_bytes() for p in base.rglob("*") if p.is_file()}))


def runtime_sources() -> list[Path]:
    """The sources of the library, then that of the runner."""
    runner = RUNTIME / RUNNER
    return [*sorted(p for p in RUNTIME.glob("*.cpp") if p.name != RUNNER), *([runner] if runner.exists() else [])]


def source_digests() -> dict[Path, str]:
    """For each source of the runtime the digest of itself and all it includes."""
    def compute() -> dict[Path, str]:
        files = Files(INCLUDE, RUNTIME)
        texts = {source: source.read_bytes() for source in runtime_sources()}
        return {source: digest(_relative({**files.closure(text, source.parent), source: text})) for source, text in texts.items()}
    return _remembered("sources", (INCLUDE, RUNTIME), compute)


def _relative(files: dict[Path, bytes]) -> dict[Path, bytes]:
    """Two checkouts of the same twin share what was built from it."""
    return {Path(os.path.relpath(path, RUNTIME)): data for path, data in files.items()}


# A cell is built in a fraction of a second; reading the whole twin for each would be felt. Within a process a digest
# is kept as long as no file below has another time or size.
_memory: dict[tuple, tuple[list, object]] = {}


def _remembered(what: str, folders: tuple[Path, ...], compute):
    state = [row for folder in folders for row in _state(folder)]
    kept = _memory.get((what, folders))
    if kept is None or kept[0] != state:
        kept = _memory[what, folders] = state, compute()
    return kept[1]


def _state(folder) -> list[tuple[str, int, int]]:
    rows = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                rows += _state(entry.path)
            else:
                stat = entry.stat()
                rows.append((entry.path, stat.st_mtime_ns, stat.st_size))
    return sorted(rows)
