"""What the public documents leave open; the texts are in open_points.toml."""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:          # Python 3.10
    import tomli as tomllib

_FILE = Path(__file__).resolve().parent.parent / "open_points.toml"


@dataclass(frozen=True)
class Point:
    name: str
    question: str
    twin: str                  # what the twin does meanwhile
    probes: tuple[str, ...]    # labels of calls that settle it
    settle: str = ""           # how, where no probe does


@lru_cache(maxsize=1)
def points() -> tuple[Point, ...]:
    data = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(Point(name, row["question"], row["twin"], tuple(row["probes"]), row.get("settle", "")) for name, row in data.items())
