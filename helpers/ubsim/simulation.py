"""hp.ubsim: a Python function that plays a kernel, launched like one."""
from __future__ import annotations

import ctypes
import functools
import inspect
import json
import linecache
import threading
from dataclasses import replace

import numpy as np

from .. import arguments, run as runs
from ..arguments import POINTER, Param, Workspace, argument_error
from ..chips import Chip, DEFAULT, chip as find_chip
from ..errors import Finding, KernelError, with_source
from ..launch import EVENT, MARK
from . import state
from .abi import FrontArray, FrontLaunch, FrontResult, lib, place
from .core import Core
from .gm import GlobalTensor
from .names import in_python

_lock = threading.RLock()                    # the library runs one launch at a time
_MAX_BLOCKS = 65535


class Session:
    """One launch: what the library was told, and what it found."""

    def __init__(self, name: str, file: str, blocks: int, chip: Chip, buffers, checks: bool, lazy: bool, strict_sync: bool, seed: int):
        self.name, self.file, self.blocks, self.chip = name, file, blocks, chip
        self.source = "".join(linecache.getlines(file))
        self.error: KernelError | None = None
        arrays = (FrontArray * max(1, len(buffers)))(*(
            FrontArray(b.address, b.nbytes, b.dtype, b.workspace, b.name.encode()) for b in buffers))
        self._launch = FrontLaunch(arrays, len(buffers), blocks, seed, 0, 1, checks, lazy, strict_sync, self.source.encode(), file.encode(), chip.lines.encode())

    def begin(self) -> None:
        if lib.begin(ctypes.byref(self._launch)):
            raise argument_error("OUT_OF_MEMORY", "The system has no room for the memory of this simulation.", "Use smaller arrays.")
        state.running = self

    def _end(self) -> tuple[dict, np.ndarray, np.ndarray]:
        """What the library says about the launch, which is over now."""
        result = FrontResult()
        if lib.end(ctypes.byref(result)):
            return {"findings": [{"code": "OUT_OF_MEMORY", "severity": 2, "line": 0, "file": "", "message": "The host has no memory left for the result.",
                                  "hint": "Use fewer blocks or larger tiles.", "block": -1, "core": -1, "count": 1}]}, np.empty(0, EVENT), np.empty(0, MARK)
        try:
            return (json.loads(ctypes.string_at(result.json, result.json_bytes).decode(errors="replace")),
                    _table(result.events, result.event_count, EVENT), _table(result.marks, result.mark_count, MARK))
        finally:
            lib.forget()

    def fail(self) -> KernelError:
        """The error that has stopped the launch; raised at the learner's line."""
        findings = self._findings(self._end()[0])
        try:
            runs.raise_errors(self.name, findings)
            self.error = KernelError(f"{self.name}: the simulation stopped.", findings)
        except KernelError as error:
            self.error = error.with_traceback(None)
        return self.error

    def finish(self) -> runs.Run:
        result, events, marks = self._end()
        findings = self._findings(result)
        runs.raise_errors(self.name, findings)
        return runs.from_result(result, events, marks, name=self.name, blocks=self.blocks, chip=self.chip, origin=f"estimate ({self.chip.name})",
                                source=self.source, first_line=1, findings=findings, stdout=result.get("text", ""))

    def abandon(self) -> None:
        """The learner's code has raised an exception of its own: only the library must be left in order."""
        if self.error is None:
            self._end()

    def _findings(self, result: dict) -> list[Finding]:
        files = {f["file"].rsplit("/", 1)[-1]: f["file"] for f in result.get("findings", ()) if f["file"] and f["file"] != self.file}
        return [in_python(_elsewhere(f, files)) for f in runs.findings_from(result, self.file, self.source, 1)]


def _elsewhere(finding: Finding, files: dict[str, str]) -> Finding:
    """A line in another file or cell, with its text."""
    path = files.get(finding.file)
    if path is None:
        return finding
    cell = "ipykernel_" in path or path.startswith("<")
    return replace(with_source(replace(finding, file=""), "".join(linecache.getlines(path))), file="another cell" if cell else finding.file)


def _table(address, count: int, dtype: np.dtype) -> np.ndarray:
    table = np.empty(count, dtype)
    if count:
        ctypes.memmove(table.ctypes.data, address, table.nbytes)
    return table


class Simulation:
    """A Python function in the role of a kernel. `simulation[blocks](*args)` runs it once for every block."""

    def __init__(self, function, chip=DEFAULT, auto_sync: bool = True):
        functools.update_wrapper(self, function)
        self.function, self.chip, self.auto_sync = function, find_chip(chip), auto_sync
        self.parameters = list(inspect.signature(function).parameters)
        if not self.parameters:
            raise TypeError(f"{function.__name__} has no parameter for the core: def {function.__name__}(core, x, y): …")

    @property
    def name(self) -> str:
        return self.function.__name__

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.parameters[1:])})  [NumPy tiling simulation, {self.chip.name}]"

    def __getitem__(self, blocks: int) -> "Launcher":
        return Launcher(self, _blocks(self, blocks))

    def __call__(self, *args, **named):
        raise argument_error("HOST_ARGUMENT", "The number of blocks is missing.", f"{self.name}[8](…) runs the simulation on 8 blocks.")

    def launch(self, blocks: int, args, *, checks: str = "full", schedule: str = "eager", seed: int = 0, named: dict | None = None) -> runs.Run:
        """Runs the function once for every block; arrays are written in place. Errors that the checks find are raised as KernelError."""
        for what, value, known in (("checks", checks, ("full", "off")), ("schedule", schedule, ("eager", "lazy"))):
            if value not in known:
                raise argument_error("HOST_ARGUMENT", f"{what}={value!r} is not known.", f"Use {what}=" + " or ".join(map(repr, known)) + ".")
        if isinstance(args, np.ndarray) or not isinstance(args, (tuple, list)):
            raise argument_error("HOST_ARGUMENT", "launch takes the arguments as one tuple.", f"{self.name}.launch(8, (x, y))")
        blocks = _blocks(self, blocks)
        values, buffers = self._bind(args, named or {})
        with _lock:
            if state.running is not None:
                raise argument_error("HOST_ARGUMENT", f"{self.name} is launched inside the simulation {state.running.name}.",
                                     "Launch one after the other; a plain function may be called from both.")
            session = Session(self.name, self.function.__code__.co_filename, blocks, self.chip, buffers, checks == "full", schedule == "lazy",
                              not self.auto_sync, int(seed))
            session.begin()
            try:
                self._run_blocks(session, values)
            except BaseException:
                session.abandon()
                raise
            finally:
                state.running = None
                state.forget_made()
            if session.error is not None:    # the function caught it and went on
                raise session.error
            return session.finish()

    def _run_blocks(self, session: Session, values: dict) -> None:
        start = place(session.file, self.function.__code__.co_firstlineno)
        for block in range(session.blocks):
            if lib.core(block, start):
                raise session.fail()
            # Every block has views of its own: a cache hint of one is not that of another.
            given = {name: GlobalTensor.of(*v) if isinstance(v, _Array) else v for name, v in values.items()}
            if self.function(Core(block, session.blocks), **given) is not None:
                raise TypeError(f"{self.name} returned a value; the result of a simulation is in the arrays it was given.")
            if session.error is not None:
                return
            ended = lib.core_end()
            state.forget_made()
            if ended:
                raise session.fail()

    def _bind(self, args, named: dict) -> tuple[dict, list]:
        """Values by parameter name (arrays as _Array), and the arrays as buffers of GM."""
        try:
            bound = inspect.signature(self.function).bind(None, *args, **named)
        except TypeError as error:
            raise argument_error("HOST_ARGUMENT", f"{self.name} takes ({', '.join(self.parameters[1:])}): {error}.",
                                 "Pass one argument for each parameter after the core.") from None
        bound.apply_defaults()
        values, buffers = {}, []
        for name, value in list(bound.arguments.items())[1:]:
            if isinstance(value, Workspace):
                data = np.full(value.nbytes, 0xCD, np.uint8)         # what nobody wrote must not look like a result
            elif isinstance(value, np.ndarray) or hasattr(value, "data_ptr") or hasattr(value, "asnumpy"):
                data = value
            else:
                values[name] = value
                continue
            (buffer,), _, _ = arguments.bind((Param(name, POINTER, arguments.BYTE, 1),), (data,))
            buffer.workspace = isinstance(value, Workspace)
            if not buffer.dtype:
                raise argument_error("HOST_ARGUMENT", f"Argument {name} holds records; a tensor has one element type.", f"{name}.view(np.uint8)")
            buffers.append(buffer)
            values[name] = _Array(name, buffer.keep[0], buffer.dtype)
        return values, buffers


class _Array(tuple):
    """(name, ndarray, DType of the twin)"""

    def __new__(cls, *parts):
        return super().__new__(cls, parts)


class Launcher:
    """`simulation[blocks]`"""

    def __init__(self, simulation: Simulation, blocks: int):
        self.simulation, self.blocks = simulation, blocks

    def __call__(self, *args, **named) -> runs.Run:
        return self.simulation.launch(self.blocks, args, named=named)

    def __repr__(self) -> str:
        return f"{self.simulation.name}[{self.blocks}]"


def _blocks(simulation: Simulation, blocks) -> int:
    if isinstance(blocks, bool) or not isinstance(blocks, (int, np.integer)) or not 1 <= blocks <= _MAX_BLOCKS:
        raise argument_error("HOST_ARGUMENT", f"The number of blocks is {blocks!r}; a launch has 1 to {_MAX_BLOCKS}.", f"{simulation.name}[8](…)")
    return int(blocks)


def ubsim(function=None, *, chip=DEFAULT, auto_sync: bool = True):
    """Makes a NumPy tiling simulation of a function, to be launched like a kernel.

        @hp.ubsim
        def copy(core, x, y, tile):
            queue = core.TQueBind("VECIN", "VECOUT", num=2, length=tile * x.itemsize)
            for start in range(core.block * tile, x.size, core.blocks * tile):
                piece = slice(start, min(start + tile, x.size))
                t = queue.AllocTensor(x.dtype)
                core.DataCopyPad(t, x[piece])
                queue.EnQue(t)
                t = queue.DeQue()
                core.DataCopyPad(y[piece], t)
                queue.FreeTensor(t)

        run = copy[8](x, y, 8192)

    The function runs once for every block. Array arguments become GlobalTensor, everything else is passed on as it is.
    Checks, events, cycles and the Run are those of a kernel that makes the same calls.
    chip, auto_sync: as in hp.compile.
    """
    if function is None:
        return lambda f: Simulation(f, chip, auto_sync)
    return Simulation(function, chip, auto_sync)
