"""What would happen on a device, for a reader who has none: commands, the launch function, and every ACL call in its order.

Nothing here is measured, and nothing runs: a recorder takes the place of libascendcl.so in the very code that launches.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import arguments
from .build import SYMBOL, Source, cmake_lists, commands, device_text, require_direct_launch
from .session import Argument, Session, Task
from .toolkit import BISHENG, CMAKE, Toolkit

_HOME = {9: "/usr/local/Ascend/cann", 8: "/usr/local/Ascend/ascend-toolkit/latest"}
_KIND = {1: "host to device", 2: "device to host", 3: "device to device"}


@dataclass(frozen=True)
class Plan:
    """commands: shell lines; launch: the generated host function; calls: ACL calls in order."""
    commands: tuple[str, ...]
    files: dict[str, str]
    launch: str
    calls: tuple[str, ...]

    def __str__(self) -> str:
        parts = ["Build:", *(f"  {c}" for c in self.commands), "", "Launch function, behind the text of the cell:", *(f"  {row}" for row in self.launch.splitlines()), "",
                 "Calls:", *(f"  {i:2} {c}" for i, c in enumerate(self.calls, 1))]
        return "\n".join(parts)

    __repr__ = __str__


def plan(kernel, args, *, blocks: int = 1, release: int = 9, soc: str = "", repetitions: int = 0) -> Plan:
    """What a launch of this kernel with these arguments would do with CANN of this major release (8 or 9)."""
    kernel = getattr(kernel, "host", kernel)
    home = Path(_HOME[release])
    toolkit = Toolkit(home, f"{release}.0", soc, str(home / ("bin/bisheng" if release >= 9 else "compiler/ccec_compiler/bin/bisheng")), str(home / "lib64/libascendcl.so"),
                      BISHENG if release >= 9 else CMAKE, str(home / "compiler/tikcpp/ascendc_kernel_cmake/ascendc.cmake"))
    source = Source(kernel.source, kernel.built.label, kernel.built.first_line, kernel.entry)
    require_direct_launch(source)
    text = device_text(source, "0" if release >= 9 else "nullptr")
    soc = soc or kernel.chip.name
    files = {"kernel.asc": text} if release >= 9 else {"kernel.cpp": text, "CMakeLists.txt": cmake_lists(toolkit, soc)}
    lines = [c for c in commands(source, toolkit, soc, int(kernel.chip.npu_arch)) if not c.startswith("sh -c")]
    return Plan(tuple(lines), files, text[text.index('extern "C" __attribute__'):].rstrip(), tuple(_calls(kernel, args, blocks, soc, repetitions)))


def _calls(kernel, args, blocks: int, soc: str, repetitions: int) -> list[str]:
    from .kernel import bytes_of
    buffers, values, nulls = arguments.bind(kernel.signature, args)
    slots = {i: Argument(i) for i in nulls} | {v.index: Argument(v.index, value=v.data) for v in values}
    for b in buffers:
        slots[b.index] = Argument(b.index, workspace=b.nbytes) if b.workspace else Argument(b.index, data=bytes_of(b).copy(), readonly=b.readonly)
    recorder = _Recorder(soc, kernel.name, [kernel.signature[b.index].name for b in sorted(buffers, key=lambda b: b.index)])
    with Session("libascendcl.so", acl=recorder.open, launch=recorder.load) as session:
        session.run(Task("libkernel.so", SYMBOL, blocks, [slots[i] for i in sorted(slots)], repetitions=repetitions))
    return recorder.rows


class _Recorder:
    """Answers as a runtime in which everything works, and moves no byte."""

    def __init__(self, soc: str, kernel: str, names: list[str]):
        self.rows, self._soc, self._kernel, self._names, self._addresses = [], soc, kernel, list(names), {}

    def open(self, _path: str) -> "_Recorder":
        return self

    def load(self, _library: str, _symbol: str):
        return lambda acl, blocks, stream, values: self.rows.append(f"{self._kernel}<<<{blocks}, …, stream>>>(…)   only queued")

    def call(self, name: str, *arguments) -> None:
        self.rows.append(name + self._words(name, arguments))

    def handle(self, name: str, *arguments) -> int:
        handle = 0x1000 * (len(self.rows) + 1)
        words = ""
        if name == "aclrtMalloc":
            label = self._names[len(self._addresses)] if len(self._addresses) < len(self._names) else "memory"
            self._addresses[handle] = label
            words = f"  {label}, {arguments[0]} B"
        self.rows.append(name + words)
        return handle

    def _words(self, name: str, arguments) -> str:
        if name == "aclrtMemcpy":
            label = self._addresses.get(arguments[0]) or self._addresses.get(arguments[2], "")
            return f"  {label}, {arguments[3]} B, {_KIND[arguments[4]]}"
        if name == "aclrtFree":
            return f"  {self._addresses.get(arguments[0], '')}"
        return ""

    def device_count(self) -> int:
        self.rows.append("aclrtGetDeviceCount")
        return 1

    def elapsed_ms(self, _start: int, _end: int) -> float:
        self.rows.append("aclrtEventElapsedTime")
        return 0.0

    def soc_name(self) -> str:
        return self._soc

    def message(self) -> str:
        return ""
