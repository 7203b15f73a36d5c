"""The Kernel that runs on a device: same text, same call, same Run."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import arguments
from ..errors import Finding
from ..kernel import Kernel, number_of_blocks, positive
from ..run import Run
from . import client, codes, toolkit as tools
from .build import SYMBOL, DeviceLibrary, Source, build, launches_directly
from .session import REPETITIONS, Argument, Task, median_us


@dataclass(repr=False, eq=False)
class NpuKernel(Kernel):
    """Built twice: for the twin, which knows the signature and the estimate, and for the device."""
    toolkit: tools.Toolkit = None
    library: DeviceLibrary = None
    soc: str = ""
    host: Kernel = field(init=False)

    def __post_init__(self):
        super().__post_init__()
        self.host = Kernel(self.built, self.entry, self.chip, self.auto_sync)

    @property
    def target(self) -> str:
        return "npu"

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, npu: {self.soc}]"

    def launch(self, blocks: int, args, *, timeout: float = 30.0, repetitions: int = REPETITIONS, checks: str = "full",
               schedule: str = "eager", seed: int = 0, memory_mb: float = 4096, tiling_key: int = 0) -> Run:
        """Runs on the device: once for the results, then `repetitions` times for the time (0: do not measure).

        checks, schedule, seed and memory_mb concern the twin: kernel.host.launch(…) runs there.
        """
        positive("timeout", timeout)
        if isinstance(args, np.ndarray) or not isinstance(args, (tuple, list)):
            raise arguments.argument_error("HOST_ARGUMENT", "launch takes the kernel's arguments as one tuple.", "kernel.launch(8, (x, y, z))")
        buffers, values, nulls = arguments.bind(self.signature, args)
        count = number_of_blocks(self, blocks)
        slots: dict[int, Argument] = {i: Argument(i) for i in nulls}
        slots.update({v.index: Argument(v.index, value=v.data) for v in values})
        for b in buffers:
            if b.workspace:
                slots[b.index] = Argument(b.index, workspace=b.nbytes)
            else:
                slots[b.index] = Argument(b.index, data=bytes_of(b), readonly=b.readonly)
        task = Task(str(self.library.path), SYMBOL, count, [slots[i] for i in sorted(slots)], float(timeout), int(repetitions))
        answer, printed = client.run(self.toolkit, task)
        findings = [codes.finding(*w) for w in answer.warnings]
        findings = [Finding(f.code, "warning", None, f.message + " The results are complete.", f.hint) for f in findings]
        return measured(self, count, answer, printed, [*self.built.warnings, *findings])


def measured(kernel: NpuKernel, blocks: int, answer, printed: str, findings) -> Run:
    samples = np.array(answer.samples_us, float)
    version = f", CANN {kernel.toolkit.version}" if kernel.toolkit.version else ""
    soc = answer.soc or kernel.soc
    notes = []
    if len(samples):
        notes.append(f"median of {len(samples)} launches between two events, {samples.min():.2f} to {samples.max():.2f} us, launch included")
    else:
        notes.append("time not measured")
    return Run(name=kernel.name, blocks=blocks, chip=kernel.chip, origin=f"measured ({soc}{version})", source=kernel.source,
               first_line=kernel.built.first_line, time_us=median_us(answer.samples_us), findings=findings, notes=notes,
               stdout=printed, samples_us=samples)


def bytes_of(buffer: arguments.Buffer) -> np.ndarray:
    """The caller's memory as bytes, not a copy."""
    if not buffer.nbytes:
        return np.zeros(0, np.uint8)
    import ctypes
    return np.frombuffer((ctypes.c_uint8 * buffer.nbytes).from_address(buffer.address), np.uint8)


def make(host: Kernel, include, defines, folder: Path | None, only_if_it_can: bool = False) -> Kernel:
    """The device kernel beside a host kernel that was built already.

    only_if_it_can: a text that cannot be launched directly, as it is made for an operator project, stays on the host.
    """
    if only_if_it_can and not launches_directly(host.source):
        return host
    toolkit = tools.find()
    soc, profile = tools.soc_of(toolkit, host.chip)
    search = tuple(str(Path(p).resolve()) for p in ([folder] if folder else []) + list(include))
    source = Source(host.source, host.built.label, host.built.first_line, host.entry, search, tuple(sorted((defines or {}).items())))
    library = build(source, toolkit, soc, int(profile.npu_arch))
    return NpuKernel(host.built, host.entry, host.chip, host.auto_sync, toolkit, library, soc)
