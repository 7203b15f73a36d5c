"""Chips by their official SoC name. Every number has a source; guesses are marked.

    hp.chip("Ascend910B1").clock_ghz
    hp.chip("Ascend910B1").source("hbm_gbps")
    hp.chip("Ascend910B1").guessed
"""
from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping

from ..errors import WorkbookError

try:
    import tomllib
except ModuleNotFoundError:          # Python 3.10
    import tomli as tomllib

_HERE = Path(__file__).resolve().parent
DEFAULT = "Ascend910B1"


class ChipError(WorkbookError, LookupError):
    """No chip or no number of that name."""


@dataclass(frozen=True, repr=False, eq=False)     # one object per profile
class Chip:
    """One profile. Numbers are attributes: chip.ub_bytes, chip.hbm_gbps, chip.rtt_hbm_load_ns, …"""

    name: str
    product: str
    numbers: Mapping[str, float]
    sources: Mapping[str, str]                        # number -> where it comes from
    guessed: tuple[str, ...]                          # numbers and operations that no public source backs
    vector: Mapping[tuple[str, str], tuple[float, float, float]]   # (op, class) -> head, s1, conflict
    aliases: tuple[str, ...] = ()

    def __getattr__(self, key: str) -> float:
        # only called when no field of that name exists; dunder look-ups of copy and pickle must fail plainly
        numbers = None if key.startswith("_") else self.__dict__.get("numbers")
        if numbers is not None and key in numbers:
            return numbers[key]
        near = difflib.get_close_matches(key, numbers or (), 3)
        raise AttributeError(f"{self.__dict__.get('name', 'chip')} has no number {key!r}" + _did_you_mean(near))

    def __dir__(self):
        return sorted({*super().__dir__(), *self.numbers})

    def __repr__(self) -> str:
        return (f"{self.name}: {self.product}, {self.aic_cores} cube / {self.aiv_cores} vector cores at "
                f"{self.clock_ghz} GHz, UB {self.ub_bytes // 1024} KB, L2 {self.l2_bytes // 2**20} MiB, "
                f"memory {self.hbm_gbps} GB/s")

    # profiles are read-only views, which do not pickle by themselves
    def __reduce__(self):
        return chip, (self.name,)

    def source(self, key: str) -> str:
        """Where a number comes from."""
        getattr(self, key)
        return self.sources[key]

    def vector_gops(self, itemsize: int = 2) -> float:
        """Peak of all vector cores in 1e9 operations per second: one repeat of 256 bytes per cycle."""
        return self.aiv_cores * (256 // itemsize) * self.clock_ghz

    def flat(self) -> dict[str, str]:
        """Everything the twin runtime needs, as text: numbers, `source.<number>` and `vec.<op>.<class>`."""
        out = {"name": self.name}
        out.update((key, repr(value)) for key, value in self.numbers.items())
        out.update((f"source.{key}", text) for key, text in self.sources.items())
        out.update((f"vec.{op}.{cls}", " ".join(f"{v:g}" for v in cost)) for (op, cls), cost in self.vector.items())
        return out

    @cached_property
    def lines(self) -> str:
        """The same as lines `key value`."""
        return "".join(f"{key} {value}\n" for key, value in self.flat().items())


def chips() -> list[Chip]:
    """All profiles: the default first, then its family, then the others."""
    profiles = [_load(p.stem) for p in _HERE.glob("Ascend*.toml")]
    return sorted(profiles, key=lambda c: (c.name != DEFAULT, -c.npu_arch, c.name))


def chip(name: str | Chip = DEFAULT) -> Chip:
    """The profile of an official SoC name such as "Ascend910B3"."""
    if isinstance(name, Chip):
        return name
    known = {}
    for profile in chips():
        known.update(dict.fromkeys((profile.name, *profile.aliases), profile))
    wanted = str(name).strip()
    folded = {key.lower(): value for key, value in known.items()}
    found = folded.get(wanted.lower()) or folded.get("ascend" + wanted.lower())
    if found is None:
        near = difflib.get_close_matches(wanted.lower(), folded, 3, 0.5)
        near = [key for key in known if key.lower() in near]
        raise ChipError(f"No profile for chip {name!r}{_did_you_mean(near)} Profiles: {', '.join(known)}.")
    return found


def published(op: str | None = None) -> list[dict[str, Any]]:
    """Published kernel times (microseconds) with their source, to set beside the estimates."""
    with open(_HERE / "published.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"))
    for row in rows:
        row["time_us"] = float(row["time_us"])
        row["vector_us"] = float(row["vector_us"]) if row["vector_us"] else None
    return [row for row in rows if op is None or row["op"] == op]


def _did_you_mean(near) -> str:
    return f". Did you mean {' or '.join(near)}?" if near else "."


def _read(stem: str) -> dict[str, Any]:
    with open(_HERE / f"{stem}.toml", "rb") as file:
        return tomllib.load(file)


@lru_cache(maxsize=None)
def _load(name: str) -> Chip:
    own = _read(name)
    base = _read(own["base"]) if "base" in own else {}
    texts = {**base.get("sources", {}), **own.get("sources", {})}
    numbers: dict[str, float] = {}
    sources: dict[str, str] = {}
    guessed: list[str] = []
    borrowed = own.get("borrowed", [])
    for key, row in {**base.get("numbers", {}), **own["numbers"]}.items():
        inherited = key not in own["numbers"]
        lent = inherited and any(b == "*" or key.startswith(b) for b in borrowed)
        numbers[key] = row["value"]
        sources[key] = texts[row["source"]] + (f" for {DEFAULT}" if lent else "")
        if row.get("guess", False) or lent:
            guessed.append(key)
    for kind in ("read", "write"):           # the L2 grows with the number of cube cores and the clock
        per_cycle = f"l2_{kind}_bytes_per_cycle"
        numbers[f"l2_{kind}_gbps"] = round(numbers["aic_cores"] * numbers[per_cycle] * numbers["clock_ghz"], 3)
        sources[f"l2_{kind}_gbps"] = f"aic_cores * {per_cycle} * clock_ghz"
        if per_cycle in guessed:
            guessed.append(f"l2_{kind}_gbps")
    table = _read(own.get("vector", base.get("vector")))
    vector: dict[tuple[str, str], tuple[float, float, float]] = {}
    for op, row in table["ops"].items():
        vector.update(((op, cls), tuple(cost)) for cls, cost in row.items() if cls not in ("source", "guess"))
        if row.get("guess", False) and not own.get("vector_guess", False):
            guessed.append(f"vec.{op}")
    if own.get("vector_guess", False):
        guessed.append("vec.*")
    vector["*", "any"] = tuple(table["unknown"]["any"])
    return Chip(name, own["product"], MappingProxyType(numbers), MappingProxyType(sources), tuple(guessed),
                MappingProxyType(vector), tuple(own.get("aliases", ())))
