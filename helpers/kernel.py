"""Kernels: built from text, launched on arrays.

    kernel = hp.compile(source)
    run = kernel[8](x, y, z)
"""
from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from . import arguments, crash, launch, npu_probe, recent, run as runs
from .arguments import Param, argument_error
from .build import compile as builder
from .chips import Chip, DEFAULT, chip as find_chip
from .errors import CompileError, Finding, WorkbookError, with_source

TARGETS = ("auto", "host", "npu")
_MAX_BLOCKS = 65535
_OPTIONS = ("checks", "schedule", "seed", "timeout", "memory_mb", "tiling_key")
_KERNEL_TYPES = ("AIV", "AIC", "MIX AIV 1:0", "MIX AIC 1:0", "MIX 1:1", "MIX 1:2", "AICORE", "VECTORCORE", "MIX AICORE", "MIX VECTORCORE")


def compile(source, *, name: str | None = None, chip: str = DEFAULT, target: str = "auto", include=(), defines: dict | None = None,
            tiling=None, auto_sync: bool = True) -> "Kernel":
    """Builds a kernel.

    source: text in Ascend C, or the Path of a file with it.
    name: which __global__ function, when there are several ("k<half>" for an instance of a template).
    tiling: text or Path that declares the tiling struct of a kernel written for an operator project.
    auto_sync: the device compiler orders V→V and scalar access on AIV by itself; False reports those hazards too.
    """
    text, label, folder = _read(source)
    if isinstance(include, (str, os.PathLike)):
        include = (include,)
    if not isinstance(defines, (dict, type(None))):
        raise TypeError(f'defines is a dict such as {{"N": 4}}, not {type(defines).__name__}')
    return build(text, label=label, name=name, chip=chip, target=target, include=include, defines=defines,
                 tiling="" if tiling is None else _read(tiling)[0], auto_sync=auto_sync, folder=folder)


def build(text: str, *, label: str, first_line: int = 1, name: str | None = None, chip="Ascend910B1", target: str = "auto", include=(),
          defines: dict | None = None, tiling: str = "", auto_sync: bool = True, folder: Path | None = None) -> "Kernel":
    """The same for a text that knows its label and the number of its first line (a cell)."""
    where = choose_target(target)
    profile = find_chip(chip)
    built = builder.build(text, label=label, first_line=first_line, name=name, arch=int(profile.npu_arch), include=include,
                          defines=defines, tiling=tiling, folder=folder)
    kernel = Kernel(built, _pick(built, name), profile, auto_sync)
    if where == "npu":
        from .npu.kernel import make
        return make(kernel, include, defines, folder, only_if_it_can=target == "auto")
    return kernel


def _read(source) -> tuple[str, str, Path | None]:
    """Text, label and folder of a source."""
    if isinstance(source, os.PathLike):
        path = Path(source)
        return path.read_text(encoding="utf-8"), path.name, path.parent
    if not isinstance(source, str):
        raise TypeError(f"a kernel is text or a Path, not {type(source).__name__}")
    if "\n" not in source and source.endswith((".cpp", ".cc", ".h", ".asc")):
        raise ValueError(f"{source!r} is a file name: hp.compile(Path({source!r})) reads the file")
    return source, "<kernel>", None


def _pick(built: builder.Built, name: str | None):
    names = [e.name for e in built.entries]
    if name:
        return built.entries[names.index(name)]
    if len(names) > 1:
        finding = Finding("BAD_PARAMETER", "error", None, f"The text holds {len(names)} kernels: {', '.join(names)}.", f'Say which one: name="{names[0]}"')
        raise CompileError("The kernel was not built: 1 error.", [finding])
    return built.entries[0]


def choose_target(target: str) -> str:
    """"host" or "npu"; raises when the wanted one cannot run here."""
    if target not in TARGETS:
        raise WorkbookError(f"target={target!r} is not one of {', '.join(TARGETS)}.")
    if target == "host" or target == "auto" and not npu_probe.device_files():
        return "host"
    npu = npu_probe.probe()
    if npu.ready:
        return "npu"
    if target == "npu":
        raise WorkbookError(f'target="npu" needs an Ascend device and CANN: {", ".join(npu.missing())}. '
                            'Use target="host": the same text runs on the twin of the AI core.')
    return "host"


@lru_cache(maxsize=256)
def _signature(runner: str, library: str) -> dict[str, tuple[int, tuple[Param, ...]]]:
    """Kernel type and parameters of every entry, read from the compiled code by the runner (never loaded here)."""
    done = subprocess.run([runner, "--describe", library], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    if done.returncode:
        raise WorkbookError(f"The built kernel cannot be loaded: {done.stderr.strip() or f'exit code {done.returncode}'}")
    found: dict[str, tuple[int, tuple[Param, ...]]] = {}
    for line in done.stdout.splitlines():
        key, _, rest = line.partition(" ")
        if key == "entry":
            kind, _, entry = rest.partition(" ")
            names, params = [], []
        elif key == "names":
            names = rest.split(",") if rest else []
            found[entry] = int(kind), ()
        elif key == "param":
            at = len(params)
            params.append(Param(names[at] if at < len(names) else f"arg{at}", *map(int, rest.split())))
            found[entry] = int(kind), tuple(params)
    return found


@dataclass(repr=False, eq=False)
class Kernel:
    """A built kernel. `kernel[blocks](*args)` launches it."""

    built: builder.Built
    entry: object
    chip: Chip
    auto_sync: bool = True
    kernel_type: int = field(init=False)
    signature: tuple[Param, ...] = field(init=False)

    def __post_init__(self):
        runtime = self.built.runtime
        self.kernel_type, self.signature = _signature(str(runtime.runner), str(self.built.path))[self.entry.name]

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def source(self) -> str:
        return self.built.text

    @property
    def target(self) -> str:
        return "host"

    def __repr__(self) -> str:
        kind = _KERNEL_TYPES[self.kernel_type] if 0 <= self.kernel_type < len(_KERNEL_TYPES) else "AIV"
        return f"{self.name}({', '.join(map(str, self.signature))})  [{kind}, {self.chip.name}]"

    def __getitem__(self, blocks: int) -> "Launcher":
        return Launcher(self, number_of_blocks(self, blocks))

    def __call__(self, *args):
        raise argument_error("HOST_ARGUMENT", "The number of blocks is missing.", f"{self.name}[8](…) runs the kernel on 8 blocks.")

    def launch(self, blocks: int, args, *, checks: str = "full", schedule: str = "eager", seed: int = 0, timeout: float = 30.0,
               memory_mb: float = 4096, tiling_key: int = 0) -> runs.Run:
        """Runs the kernel once; arrays are written in place. Errors that the checks find are raised as KernelError."""
        _one_of("checks", checks, ("full", "off"))
        _one_of("schedule", schedule, ("eager", "lazy"))
        positive("timeout", timeout)
        positive("memory_mb", memory_mb)
        _whole("seed", seed)
        _whole("tiling_key", tiling_key)
        if isinstance(args, np.ndarray) or not isinstance(args, (tuple, list)):
            raise argument_error("HOST_ARGUMENT", "launch takes the kernel's arguments as one tuple.", "kernel.launch(8, (x, y, z))")
        buffers, values, nulls = arguments.bind(self.signature, args)
        job = launch.Job(
            runner=str(self.built.runtime.runner), kernel=str(self.built.path), entry=self.name, label=self.built.label,
            source=self.source, first_line=self.built.first_line, blocks=number_of_blocks(self, blocks), chip=self.chip.lines,
            buffers=buffers, values=values, nulls=nulls, null_names=[self.signature[i].name for i in nulls],
            checks=checks == "full", lazy=schedule == "lazy", strict_sync=not self.auto_sync, seed=int(seed),
            tiling_key=int(tiling_key), kernel_type=self._type_for(int(tiling_key)), timeout=float(timeout), memory_mb=float(memory_mb))
        return self._finish(job, launch.run(job))

    def _type_for(self, tiling_key: int) -> int:
        """KERNEL_TASK_TYPE(key, type) in the text gives a tiling key a kernel type of its own."""
        for text, number in getattr(self.entry, "task_types", {}).items():
            try:
                if int(text.rstrip("uUlL"), 0) == tiling_key:
                    return number
            except ValueError:
                continue
        return self.kernel_type

    def _finish(self, job: launch.Job, outcome: launch.Outcome) -> runs.Run:
        source, first = self.source, self.built.first_line
        result = outcome.result
        findings = [f for f in runs.findings_from(result, job.label, source, first) if f.message]
        ended = crash.explain(job, outcome)
        more = [ended] if ended else []
        if result.get("error"):
            more.append(_not_started(result["error"], job))
        more += [_overrun(outcome, *o) for o in result.get("overruns", ())]
        findings = [with_source(f, source, first) for f in more] + findings
        stdout = _stdout(outcome)
        try:
            runs.raise_errors(self.name, findings)
        except WorkbookError as error:
            error.stdout = stdout
            raise
        run = runs.from_result(result, outcome.events, outcome.marks, name=self.name, blocks=job.blocks, chip=self.chip,
                               origin=f"estimate ({self.chip.name})", source=source, first_line=first,
                               findings=[*self.built.warnings, *findings], stdout=stdout)
        recent.remember(job.buffers, run.findings)
        return run


@dataclass(frozen=True, repr=False)
class Launcher:
    """`kernel[blocks]`, as `kernel<<<blocks>>>` in host code."""
    kernel: Kernel
    blocks: int

    def __call__(self, *args, **options) -> runs.Run:
        if options:
            first, value = next(iter(options.items()))
            raise argument_error("HOST_ARGUMENT", f"{self!r}(…) takes the kernel's arguments in their order and no {first}=.",
                                 f"Options go through launch: {self.kernel.name}.launch({self.blocks}, (x, y, …), checks=\"off\")."
                                 if first in _OPTIONS else "Leave the name away: arguments are positional, as in the kernel.")
        return self.kernel.launch(self.blocks, args)

    def __repr__(self) -> str:
        return f"{self.kernel.name}[{self.blocks}]"


def number_of_blocks(kernel: Kernel, blocks) -> int:
    """The blocks of a launch as a whole number, or an error in words."""
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)):
        raise argument_error("HOST_ARGUMENT", f"The number of blocks is {blocks!r}.", f"Give one whole number: {kernel.name}[8](…)")
    if not 1 <= blocks <= _MAX_BLOCKS:
        raise argument_error("HOST_ARGUMENT", f"{kernel.name}[{blocks}] asks for {blocks} blocks; a launch has 1 to {_MAX_BLOCKS}.",
                             f"{kernel.chip.name} has {kernel.chip.aiv_cores:g} vector cores: use that many blocks or fewer.")
    return int(blocks)


def _one_of(name: str, value, known: tuple[str, ...]) -> None:
    if value not in known:
        raise argument_error("HOST_ARGUMENT", f"{name}={value!r} is not known.", f"Use {name}=" + " or ".join(repr(k) for k in known) + ".")


def positive(name: str, value) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < 2**40:
        raise argument_error("HOST_ARGUMENT", f"{name}={value!r} is not a positive number.", f"{name}={'30.0' if name == 'timeout' else '4096'}")


def _whole(name: str, value) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < 2**64:
        raise argument_error("HOST_ARGUMENT", f"{name}={value!r} is not a whole number from 0 to 2**64 - 1.", f"{name}=0")


def _not_started(error: str, job: launch.Job) -> Finding:
    if error.startswith("mmap") or error == "out of memory":
        return Finding("OUT_OF_MEMORY", "error", None, f"The system has no room for the memory of this launch ({error}).",
                       "Use smaller arrays, fewer blocks, or a larger memory_mb.")
    return Finding("CRASH", "error", None, f"The kernel could not be loaded: {error}", "Build it again: hp.compile(…) or run the cell.")


def _overrun(outcome: launch.Outcome, number: int, place: int, count: int) -> Finding:
    b, distance = outcome.placement.before(number, place)
    name = "the workspace" if b.workspace else f"argument {b.name}"
    where = f"{distance} B behind the end of {name} ({b.nbytes} B)" if distance >= 0 else f"{-distance} B before the start of {name}"
    return Finding("GM_OUT_OF_BOUNDS", "error", None, f"The kernel wrote {count} B by a raw pointer, starting {where}.",
                   "Compare the index with the number of elements; GlobalTensor and DataCopy would have named the line.")


def _stdout(outcome: launch.Outcome) -> str:
    text = outcome.result.get("text", "") + outcome.output
    if outcome.output_cut:
        text += f"\n… output cut here: a kernel may print {launch.OUTPUT_BYTES >> 20} MB per launch\n"
    return text
