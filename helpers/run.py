"""What happened in one launch. Views only read it."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .errors import Finding, KernelError, SEVERITIES, WorkbookError, counted, with_source
from .launch import EVENT, MARK

if TYPE_CHECKING:
    from .chips import Chip

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")           # index = Event.pipe
KINDS = ("AIV", "AIC")                                           # index = Event.kind
MEMORIES = ("GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB")   # index = Mem of the twin


@dataclass(repr=False)
class Run:
    """One finished launch: its estimated time, its instructions, and what was found."""

    name: str
    blocks: int
    chip: "Chip"
    origin: str                                # "estimate (Ascend910B1)" or "measured (…)"
    source: str
    first_line: int = 1
    time_us: float = 0.0
    events: np.ndarray = field(default_factory=lambda: np.empty(0, EVENT))
    ops: list[str] = field(default_factory=list)         # op index of an event -> name of the API
    files: list[str] = field(default_factory=list)       # file index of an event -> file, "" = the kernel's own text
    busy: np.ndarray = field(default_factory=lambda: np.zeros((0, len(PIPES))))       # [core, pipe], ns
    core_end: np.ndarray = field(default_factory=lambda: np.zeros(0))                 # ns
    totals: dict = field(default_factory=dict)
    buffers: Sequence[dict] = ()               # name, slot, mem, addr, bytes, line, core
    mark_table: np.ndarray = field(default_factory=lambda: np.empty(0, MARK))         # life times of the buffers
    scalar_lines: dict[int, float] = field(default_factory=dict)                      # line -> scalar cycles
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stdout: str = ""
    samples_us: np.ndarray = field(default_factory=lambda: np.empty(0))               # measured launches, one each
    runner_bytes: int = 0                      # memory of the runner process beyond the arrays (its peak); 0 for small launches

    @property
    def cycles(self) -> int:
        return round(self.time_us * 1e3 * self.chip.clock_ghz)

    @property
    def marks(self) -> list[tuple[int, int, bool, float]]:
        """(core, buffer, alloc, ns): when each buffer was allocated and freed."""
        return [(core, buffer, bool(alloc), ns) for core, buffer, alloc, _, ns in self.mark_table.tolist()]

    @property
    def pipes(self) -> dict[str, dict[str, float]]:
        """{core kind: {pipe: share of the kernel's time in which it was busy, mean over the cores}}."""
        if not len(self.core_end):
            return {}
        kinds = np.zeros(len(self.core_end), int)
        kinds[self.events["core"]] = self.events["kind"]
        span = float(self.core_end.max()) or 1.0
        out = {}
        for number, kind in enumerate(KINDS):
            rows = self.busy[kinds == number]
            if len(rows):
                used = rows.sum(axis=0)
                out[kind] = {pipe: float(used[p] / (len(rows) * span)) for p, pipe in enumerate(PIPES) if used[p] > 0}
        return out

    def __repr__(self) -> str:
        warned = sum(f.severity == "warning" for f in self.findings)
        noted = len(self.findings) - warned
        seen = [counted(n, word) for n, word in ((warned, "warning"), (noted, "note")) if n]
        return ", ".join([f"{self.name}: {counted(self.blocks, 'block')}, {self.time_us:.2f} us {self.origin}", *self.notes, *seen])

    def _with_busy(self) -> "Run":
        """Fills in the busy time of the pipes from the events."""
        from .views.data import busy
        self.busy = busy(self)
        return self

    def _require_events(self, view: str) -> None:
        if self.origin.startswith("measured") and not (self.events["end"] > self.events["start"]).any():
            raise WorkbookError(f"A measured run has no {view}: the device tells when a kernel starts and ends, not what each instruction does. "
                                "Run it on the twin (kernel.host), or read a trace of the simulator with hp.profile.")

    # ---- views: plain functions of this run, loaded when first asked for

    def timeline(self, start=None, end=None, **options):
        """What every pipe did when.

        start, end: range in us. blocks: a block number, a list, or "all". pipes: for example ["MTE2", "V"].
        flags=True: also SetFlag and WaitFlag. labels=False: no names in the bars. width: in inches.
        """
        self._require_events("timeline")
        from .views.timeline import timeline
        return timeline(self, start, end, **options)

    def report(self):
        """Time, the pipe that sets it, pipes, bytes, findings and performance notes as a table."""
        from .views.report import report
        return report(self)

    def roofline(self, **options):
        """Operations per byte of GM traffic under the roofs of the chip. ops: how many operations the kernel does."""
        from .views.roofline import roofline
        return roofline(self, **options)

    def ub_map(self, **options):
        """Which buffer lies where in UB, and when. block: which block. mem: "UB", "L1", … start, end: range in us."""
        self._require_events("UB map")
        from .views.ub_map import ub_map
        return ub_map(self, **options)

    def hot_lines(self, top: int | None = None):
        """Cycles beside every line of the kernel. top: only the n most expensive lines."""
        self._require_events("hot lines")
        from .views.hot_lines import hot_lines
        return hot_lines(self, top)


class Buffers(Sequence):
    """The buffers of all cores, as dicts once somebody asks: there may be thousands."""

    def __init__(self, rows: list):
        self._rows = rows

    @cached_property
    def _dicts(self) -> list[dict]:
        return [dict(core=core, name=name, slot=slot, mem=MEMORIES[mem], addr=addr, bytes=size, line=line)
                for core, name, slot, mem, addr, size, line in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index):
        return self._dicts[index]


def from_result(result: dict, events, marks, **known) -> Run:
    """A Run from what the twin's runtime reports (see runner_result.cpp)."""
    totals = {**result["totals"], "launch_ns": result["launch_ns"]}
    return Run(time_us=(result["kernel_ns"] or 0.0) / 1e3, events=events, ops=result["ops"], files=result["files"],
               busy=np.array(result["busy"], float).reshape(-1, len(PIPES)), core_end=np.array(result["core_end"], float),
               totals=totals, buffers=Buffers(result["buffers"]), mark_table=marks,
               scalar_lines={line: cycles for line, cycles, _ in result["scalar_lines"]}, notes=result["notes"],
               runner_bytes=max(0, result["peak_bytes"] - result["mapped_bytes"]) if result.get("peak_bytes") else 0, **known)


def findings_from(result: dict, label: str, source: str, first_line: int) -> list[Finding]:
    """The runtime's findings in the order errors, warnings, notes; each with the text of its line."""
    found = []
    for f in result.get("findings", ()):
        own = not f["file"] or f["file"] == label
        finding = Finding(f["code"], SEVERITIES[f["severity"]], f["line"] if f["line"] > 0 else None, f["message"], f["hint"],
                          f["block"] if f["block"] >= 0 else None, f["core"] if f["core"] >= 0 else None, f["count"],
                          file="" if own else f["file"].rsplit("/", 1)[-1])
        found.append(with_source(finding, source, first_line))
    return sorted(found, key=lambda f: -SEVERITIES.index(f.severity))


def raise_errors(name: str, findings: list[Finding]) -> None:
    """KernelError with all findings when one of them is an error."""
    errors = sum(f.severity == "error" for f in findings)
    if errors:
        others = len(findings) - errors
        more = f", {counted(others, 'other finding')}" if others else ""
        raise KernelError(f"{name}: {counted(errors, 'error')}{more}.", findings)
