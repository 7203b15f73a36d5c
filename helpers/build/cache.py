"""Built things, stored under the digest of everything they were built from.

An entry is a directory <root>/<first 2>/<16 hex>/ that appears at once and complete (built in a scratch directory,
then renamed), is never changed afterwards, and so may be shared by several notebooks and test workers.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SCHEMA = "1"
LOCATION = "ASCEND_WORKBOOK_CACHE"
CAP_MB = "ASCEND_WORKBOOK_CACHE_MB"
_DEFAULT_CAP_MB = 2048        # a precompiled header takes about 50 MB
_KEEP_SECONDS = 3600        # never prune what was used within the last hour: a notebook may be about to start it
_PRUNE_SECONDS = 600
_DIGEST_LIMIT = 16 << 20    # larger files (precompiled headers) are checked by size alone
_META = "meta.json"


def key(*parts: str | bytes) -> str:
    """Digest of the parts. Each is preceded by its length, so that ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in (SCHEMA, *parts):
        data = part.encode() if isinstance(part, str) else bytes(part)
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Entry:
    path: Path
    meta: dict

    def __truediv__(self, name: str) -> Path:
        return self.path / name


class Cache:
    def __init__(self, root: str | os.PathLike | None = None):
        self.root = Path(root) if root else default_root()

    # ---- look up and build
    def path(self, full_key: str) -> Path:
        return self.root / full_key[:2] / full_key[:16]

    def get(self, full_key: str) -> Entry | None:
        """The entry, or None when there is none or it is damaged (a damaged one is taken out of the way)."""
        path = self.path(full_key)
        try:
            meta = json.loads((path / _META).read_text())
        except FileNotFoundError:
            if path.is_dir():
                self._discard(path)
            return None
        except (OSError, ValueError):
            self._discard(path)
            return None
        if meta.get("key") != full_key or not _intact(path, meta.get("files", {})):
            self._discard(path)
            return None
        try:
            os.utime(path / _META)   # last use, for pruning
        except OSError:
            pass                     # a read-only shared cache still serves
        return Entry(path, meta)

    def build(self, full_key: str, kind: str, make, note: str = "") -> Entry:
        """The entry; `make(directory) -> dict | None` fills it when it does not exist. Its dict lands in meta["info"].

        When several processes ask for the same key, one builds and the others wait for it.
        An exception from `make` leaves nothing behind.
        """
        found = self.get(full_key)
        if found:
            return found
        with self.lock(full_key):
            found = self.get(full_key)
            if found:
                return found
            scratch = self.root / "tmp" / f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
            scratch.mkdir(parents=True)
            try:
                info = make(scratch) or {}
                meta = {"key": full_key, "kind": kind, "note": note, "info": info,
                        "files": {p.name: _stamp(p) for p in sorted(scratch.iterdir()) if p.is_file()}}
                (scratch / _META).write_text(json.dumps(meta, indent=1))
                target = self.path(full_key)
                target.parent.mkdir(parents=True, exist_ok=True)
                self._publish(scratch, target, full_key)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        self._prune_now_and_then()
        return Entry(target, meta)

    def _publish(self, scratch: Path, target: Path, full_key: str) -> None:
        for _ in range(3):
            try:
                os.replace(scratch, target)
                return
            except OSError:
                if not target.is_dir():
                    raise
                if self.get(full_key):   # somebody else was faster; get() removes what is damaged
                    return
        raise OSError(f"cannot store {target}")

    def _discard(self, path: Path) -> None:
        """Moves a directory away in one step, then deletes it: nobody ever sees it half deleted."""
        trash = self.root / "tmp" / f"old-{uuid.uuid4().hex[:12]}"
        try:
            trash.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, trash)
        except OSError:
            return
        shutil.rmtree(trash, ignore_errors=True)

    @contextmanager
    def lock(self, name: str):
        """Held by one process at a time; released by the system when its holder dies."""
        import fcntl
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{name[:16]}.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    # ---- look after the whole
    def entries(self) -> list[dict]:
        """What is stored, last used first: kind, note, bytes, used (seconds since the epoch), path."""
        found = []
        for meta_file in self.root.glob("??/????????????????/" + _META):
            try:
                meta = json.loads(meta_file.read_text())
                size = sum(stamp[0] for stamp in meta["files"].values())
                found.append({"kind": meta["kind"], "note": meta["note"], "bytes": size,
                              "used": meta_file.stat().st_mtime, "path": meta_file.parent})
            except (OSError, ValueError, KeyError):
                continue
        return sorted(found, key=lambda e: (-e["used"], str(e["path"])))

    def prune(self, cap_bytes: int | None = None, keep_seconds: float = _KEEP_SECONDS) -> int:
        """Removes the longest unused entries until the store is below its cap; returns how many."""
        cap = _cap_bytes() if cap_bytes is None else cap_bytes
        entries = self.entries()
        total = sum(e["bytes"] for e in entries)
        removed, now = 0, time.time()
        for entry in reversed(entries):
            if total <= cap or now - entry["used"] < keep_seconds:
                break
            self._discard(entry["path"])
            total -= entry["bytes"]
            removed += 1
        return removed

    def _prune_now_and_then(self) -> None:
        """Looking at every entry takes longer than building a cell: once in a while is enough."""
        stamp = self.root / "pruned"
        try:
            if time.time() - stamp.stat().st_mtime < _PRUNE_SECONDS:
                return
        except FileNotFoundError:
            pass
        stamp.touch()
        self.prune()
        self._sweep()

    def _sweep(self, older_than: float = 86400) -> None:
        """Removes what processes that were killed left behind: scratch folders and lock files nobody has used for a day."""
        now = time.time()
        for path in [*self.root.glob("tmp/*"), *self.root.glob("locks/*.lock")]:
            try:
                if now - path.stat().st_mtime < older_than:
                    continue
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            except OSError:
                continue

    def clear(self) -> int:
        """Removes everything; returns the number of entries."""
        entries = self.entries()
        for entry in entries:
            self._discard(entry["path"])
        (self.root / "pruned").unlink(missing_ok=True)
        for part in ("tmp", "locks", "plans"):             # plans of the launcher name kernels that are gone now
            shutil.rmtree(self.root / part, ignore_errors=True)
        return len(entries)


def default_root() -> Path:
    chosen = os.environ.get(LOCATION)
    if chosen:
        return Path(chosen)
    import platformdirs
    return Path(platformdirs.user_cache_dir("ascend-c-workbook"))


def _cap_bytes() -> int:
    try:
        return int(float(os.environ.get(CAP_MB, _DEFAULT_CAP_MB)) * (1 << 20))
    except ValueError:
        return _DEFAULT_CAP_MB << 20


def _stamp(path: Path) -> list:
    size = path.stat().st_size
    return [size, hashlib.sha256(path.read_bytes()).hexdigest() if size <= _DIGEST_LIMIT else ""]


def _intact(path: Path, files: dict) -> bool:
    try:
        return bool(files) and all(_stamp(path / name) == stamp for name, stamp in files.items())
    except OSError:
        return False
