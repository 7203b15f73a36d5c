"""One device: what is acquired is given back in reverse order, whatever happens in between."""
from __future__ import annotations

import statistics
import struct
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from .acl import D2H, H2D, HUGE_FIRST, Acl, AclFailure, LaunchFunction

WARM_UP = 3                     # launches before the clock counts: the first loads the kernel, and an idle chip clocks low
REPETITIONS = 20
_TIMING_SECONDS = 1.0           # no more repetitions once this has passed


@dataclass(eq=False)
class Argument:
    """One argument of a launch: memory on the device, or bytes by value."""
    index: int
    data: np.ndarray | None = None       # uint8, written in place; None: by value, null or workspace
    value: bytes | None = None
    workspace: int = 0                   # bytes of scratch memory
    readonly: bool = False


@dataclass
class Task:
    library: str
    symbol: str
    blocks: int
    arguments: list[Argument]
    timeout: float = 30.0
    repetitions: int = REPETITIONS       # 0: run once, do not measure


@dataclass
class Answer:
    soc: str = ""
    samples_us: list[float] = field(default_factory=list)    # one launch each, by events on the stream
    warnings: list[tuple[str, int, str]] = field(default_factory=list)   # what failed while giving back: call, code, words


class Session:
    """Device, context and stream, kept from launch to launch. Use it in a `with`."""

    def __init__(self, library: str, device: int = 0, acl=Acl, launch=LaunchFunction):
        """acl, launch: what makes the calls; a recorder in their place shows what would happen."""
        self._path, self.device, self._stack = library, device, ExitStack()
        self._acl, self._launch = acl, launch
        self.warnings: list[tuple[str, int, str]] = []

    def __enter__(self) -> "Session":
        try:
            self.acl = acl = self._acl(self._path)
            acl.call("aclInit", None)
            self._later("aclFinalize")
            count = acl.device_count()
            if not self.device < count:
                raise AclFailure("aclrtGetDeviceCount", 107001, f"{count} devices are visible, and number {self.device} was asked for")
            acl.call("aclrtSetDevice", self.device)
            self._later("aclrtResetDevice", self.device)
            self.context = acl.handle("aclrtCreateContext", self.device)
            self._later("aclrtDestroyContext", self.context)
            self.stream = acl.handle("aclrtCreateStream")
            self._later("aclrtDestroyStream", self.stream)
            self.soc = acl.soc_name()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._stack.close()

    def _later(self, name: str, *arguments, stack: ExitStack | None = None) -> None:
        (stack or self._stack).callback(self._give_back, name, *arguments)

    def _give_back(self, name: str, *arguments) -> None:
        """A failure here is told, and never hides the error that led here or stops the rest from being given back."""
        try:
            self.acl.call(name, *arguments)
        except AclFailure as failure:
            self.warnings.append((failure.call, failure.code, failure.text))

    # ---- one launch
    def run(self, task: Task) -> Answer:
        """Launches once, writes the results into the arguments, then measures with fresh data each time."""
        self.warnings = []
        answer = Answer(soc=self.soc)
        launch = self._launch(task.library, task.symbol)
        with ExitStack() as stack:
            buffers, values = self._place(task, stack)
            inputs = {b: b.data.copy() for b, _ in buffers if b.data is not None and not b.readonly}
            launch(self.acl, task.blocks, self.stream, values)
            self._wait(task.timeout)
            for b, address in buffers:
                if b.data is not None and not b.readonly and b.data.size:
                    self.acl.call("aclrtMemcpy", b.data.ctypes.data, b.data.size, address, b.data.size, D2H)
            if task.repetitions:
                changed = [(inputs[b], address) for b, address in buffers if b in inputs and not np.array_equal(inputs[b], b.data)]
                answer.samples_us = self._measure(task, launch, values, changed)
        answer.warnings = self.warnings
        return answer

    def _place(self, task: Task, stack: ExitStack):
        buffers, values = [], []
        for a in task.arguments:
            if a.value is not None:
                values.append(a.value)
                continue
            size = a.workspace if a.data is None else a.data.size
            if a.data is None and not a.workspace:
                values.append(bytes(8))                      # null
                continue
            address = self.acl.handle("aclrtMalloc", max(size, 32), HUGE_FIRST)     # 0 bytes are not allowed
            self._later("aclrtFree", address, stack=stack)
            if a.data is not None and size:
                self.acl.call("aclrtMemcpy", address, size, a.data.ctypes.data, size, H2D)
            buffers.append((a, address))
            values.append(struct.pack("<Q", address))
        return buffers, values

    def _wait(self, seconds: float) -> None:
        self.acl.call("aclrtSynchronizeStreamWithTimeout", self.stream, max(1, min(int(seconds * 1000), 2**31 - 1)))

    def _measure(self, task: Task, launch, values, changed) -> list[float]:
        """Time on the stream between two events around one launch. Arrays that the kernel changes are set back before each."""
        samples: list[float] = []
        with self._event() as start, self._event() as end:
            until = time.monotonic() + _TIMING_SECONDS
            for i in range(WARM_UP + task.repetitions):
                for before, address in changed:
                    self.acl.call("aclrtMemcpy", address, before.size, before.ctypes.data, before.size, H2D)
                self.acl.call("aclrtRecordEvent", start, self.stream)
                launch(self.acl, task.blocks, self.stream, values)
                self.acl.call("aclrtRecordEvent", end, self.stream)
                self._wait(task.timeout)
                if i >= WARM_UP:
                    samples.append(1e3 * self.acl.elapsed_ms(start, end))
                    if time.monotonic() > until:
                        break
        return samples

    @contextmanager
    def _event(self):
        event = self.acl.handle("aclrtCreateEvent")
        try:
            yield event
        finally:
            self._give_back("aclrtDestroyEvent", event)


def median_us(samples: list[float]) -> float:
    return statistics.median(samples) if samples else 0.0
