"""Profiles of real runs, read into the same Run that the twin gives: msprof, msprof op, the simulator.

    found = hp.profile("OPPROF_…")        # a folder, or one file of it
    found.run("add_custom").report()
    found.advise()
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..chips import DEFAULT, chip as find_chip
from ..run import Run
from . import board, summary, trace
from .advice import Advice, AdviceList, advise
from .tables import ProfileError

__all__ = ["Advice", "AdviceList", "Profile", "ProfileError", "advise", "profile", "write_profile"]


@dataclass(frozen=True, repr=False)
class Profile:
    """What one folder holds. kind: "msprof", "msprof op" or "simulator"."""
    kind: str
    runs: tuple[Run, ...]
    left_out: int = 0            # launches for which the profiler has no time

    def run(self, name: str | None = None) -> Run:
        """The first launch of a kernel; without a name, the only or the longest one."""
        if name is None:
            return max(self.runs, key=lambda r: r.time_us)
        found = [r for r in self.runs if r.name == name] or [r for r in self.runs if r.name.startswith(name)]
        if not found:
            known = ", ".join(dict.fromkeys(r.name for r in self.runs))
            raise ProfileError(f"The profile holds no kernel {name}; kernels: {known}.")
        return found[0]

    def table(self):
        """Launches by kernel: how often, time, wait, and the busiest pipe."""
        from ..views.profile_table import profile_table
        return profile_table(self)

    def advise(self, name: str | None = None) -> AdviceList:
        return advise(self.run(name))

    def against(self, estimate: Run, name: str | None = None):
        """A launch of this profile beside what the twin estimates for it."""
        from ..views.profile_table import against
        return against(self.run(name), estimate)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(r.name for r in self.runs))
        return f"{self.kind}: {_launches(len(self.runs))} of {names}{self.omitted}"

    @property
    def omitted(self) -> str:
        """Words for what is not in the tables."""
        return f"; {_launches(self.left_out)} without a time left out" if self.left_out else ""


def _launches(count: int) -> str:
    return f"{count} launch{'' if count == 1 else 'es'}"


def profile(path, *, chip=DEFAULT, kernel=None, origin: str = "") -> Profile:
    """Reads a folder of msprof, msprof op or its simulator (or one file of it).

    chip: the profile for peaks, as in hp.chip. kernel: the Kernel behind it, so that hot lines show its text.
    origin: what to call numbers that no device measured; left out, the tool that writes such files.
    """
    found = _read(path, chip, kernel)
    return replace(found, runs=tuple(replace(run, origin=origin) for run in found.runs)) if origin else found


def _read(path, chip, kernel) -> Profile:
    root, profile_chip = Path(path), find_chip(chip)
    source = getattr(kernel, "source", "")
    if not root.exists():
        raise ProfileError(f"There is no {root}.")
    if root.is_file():
        if root.suffix == ".json":
            return Profile("simulator", (trace.read([root], profile_chip, source=source),))
        if root.name.startswith("op_summary"):
            return _whole_application([root], root, profile_chip)
        root = root.parent
    found = board.folders(root)
    if found:
        return Profile("msprof op", tuple(board.read(folder, profile_chip, source) for folder in found))
    summaries = summary.files(root)
    if summaries:
        return _whole_application(summaries, root, profile_chip)
    traces = trace.files(root)
    if traces:
        return Profile("simulator", (trace.read(traces, profile_chip, source=source),))
    raise ProfileError(f"{root} holds neither op_summary*.csv (msprof) nor PipeUtilization*.csv (msprof op) nor trace.json (simulator).")


def _whole_application(files, root: Path, chip) -> Profile:
    parts = [summary.read(file, chip) for file in files]
    found = Profile("msprof", tuple(run for runs, _ in parts for run in runs), sum(left_out for _, left_out in parts))
    if not found.runs:
        what = f"only launches without a time ({found.left_out})" if found.left_out else "a head and no launch"
        raise ProfileError(f"{root.name} holds {what}: the profiler saw no kernel. Profile the part of the program that launches kernels.")
    return found


def write_profile(run: Run, folder) -> Path:
    """An estimate in the files of msprof op, so that a script for the one reads the other. They say that they are estimated."""
    if not run.origin.startswith("estimate"):
        raise ProfileError(f"Only an estimate is written: this run is {run.origin}.")
    board.write(run, Path(folder))
    return Path(folder)
