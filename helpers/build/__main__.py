"""python -m helpers.build ready | list | clear"""
from __future__ import annotations

import importlib
import subprocess
import sys
import time

from ..errors import SetupError
from . import compiler, runtime, unit
from .cache import Cache


def ready() -> None:
    """Everything a kernel cell needs is on this machine afterwards; prints only what it has to do."""
    found, _ = compiler.search()
    if found is None:
        print("No C++ compiler is installed: installing the one that comes as a Python package (ziglang) ...", flush=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "ziglang"])
        if done.returncode:
            print("That did not work. The reason and what else would do:", flush=True)
        importlib.invalidate_caches()
    runtime.ensure(runtime.print_progress(sys.stderr))
    runtime.precompiled(unit.arch_flags(2201))


def show() -> None:
    entries = Cache().entries()
    for entry in entries:
        age = (time.time() - entry["used"]) / 3600
        print(f"{entry['kind']:<8} {entry['bytes'] / 1e6:8.1f} MB  used {age:6.1f} h ago  {entry['note']}")
    print(f"{len(entries)} entries, {sum(e['bytes'] for e in entries) / 1e6:.1f} MB in {Cache().root}")


def main(words: list[str]) -> int:
    command = words[0] if words else "ready"
    if command == "ready":
        try:
            ready()
        except SetupError as error:
            print(error, file=sys.stderr)
            return 1
    elif command == "list":
        show()
    elif command == "clear":
        print(f"{Cache().clear()} entries removed.")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
