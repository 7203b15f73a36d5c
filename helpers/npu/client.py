"""This side of the process that holds the device: started when first needed, replaced after an error."""
from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from ..errors import Finding, KernelError, SetupError
from . import codes
from .child import receive, send
from .session import Answer, Task
from .toolkit import Toolkit

_START_SECONDS = 120
_GRACE = 10.0                   # seconds for the process to give back what it holds
_SHARED = "/dev/shm" if os.path.isdir("/dev/shm") else None


class Device:
    """The running process."""

    def __init__(self, toolkit: Toolkit, number: int = 0):
        self.key = (toolkit.library, str(toolkit.home), number)
        there_in, here_out = os.pipe()
        here_in, there_out = os.pipe()
        self._output = tempfile.TemporaryFile()
        package = str(Path(__file__).resolve().parents[2])
        env = {**toolkit.environment, "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))}
        try:
            self.process = subprocess.Popen([sys.executable, "-m", "helpers.npu.child", str(there_in), str(there_out), toolkit.library, str(number)],
                                            pass_fds=(there_in, there_out), stdin=subprocess.DEVNULL, stdout=self._output,
                                            stderr=subprocess.STDOUT, env=env, start_new_session=True)
        finally:
            os.close(there_in)
            os.close(there_out)
        self._sink, self._source = os.fdopen(here_out, "wb"), os.fdopen(here_in, "rb")
        first = self._answer(_START_SECONDS, "to open the device")
        if first[0] != "ready":
            self.end()
            raise _error(first, SetupError, "The device cannot be used.")
        self.soc = first[1]

    def run(self, task: Task, seconds: float) -> tuple[Answer, str]:
        """The answer and what the kernel printed. Arrays are written in place."""
        arrays = [a.data for a in task.arguments]
        places, total = [], 0
        for data in arrays:
            places.append(None if data is None else (total, data.size))
            total += 0 if data is None else -(-data.size // 64) * 64
        self._output.seek(0, os.SEEK_END)
        printed = self._output.tell()
        with tempfile.NamedTemporaryFile(dir=_SHARED) if total else _Nothing() as file:
            shared = None
            if total:
                file.truncate(total)
                shared = np.memmap(file.name, np.uint8, "r+", shape=(total,))
                for data, place in zip(arrays, places):
                    if data is not None and data.size:
                        shared[place[0]:place[0] + place[1]] = data
            for a in task.arguments:
                a.data = None
            send(self._sink, (task, places, file.name if total else ""))
            answer = self._answer(seconds, "for the kernel")
            if answer[0] != "done":
                self.end()
                raise _error(answer, KernelError, "The launch failed on the device.")
            for a, data, place in zip(task.arguments, arrays, places):
                if data is not None and data.size and not a.readonly:
                    data[:] = shared[place[0]:place[0] + place[1]]
        self._output.seek(printed)
        return answer[1], self._output.read().decode(errors="replace")

    def _answer(self, seconds: float, what: str) -> tuple:
        until = time.monotonic() + seconds
        ready, _, _ = select.select([self._source], [], [], max(0.0, until - time.monotonic()))
        message = receive(self._source) if ready else None
        if message is not None:
            return message
        if not ready:
            self.end(kill=True)
            return "timeout", f"No answer came within {seconds:.0f} s {what}."
        code = self.end()
        self._output.seek(0)
        said = " ".join(self._output.read().decode(errors="replace").split())[-300:]
        return "unusable", f"the process that holds the device ended with code {code}{': ' + said if said else ''}"

    def end(self, kill: bool = False) -> int | None:
        for file in (self._sink, self._source):
            try:
                file.close()
            except OSError:
                pass
        if kill:
            self.process.kill()
        try:
            return self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class _Nothing:
    name = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def _error(answer: tuple, kind, headline: str):
    if answer[0] == "failed":
        return kind(headline, [codes.finding(*answer[1:])])
    if answer[0] == "timeout":
        return kind(headline, [Finding("TIMEOUT", "error", None, answer[1], "Run it on the twin, which names the wait that never ends: target=\"host\".")])
    return kind(headline, [Finding("CRASH", "error", None, f"The device side stopped: {answer[1]}.", "hp.doctor() says what is missing here.")])


_lock = threading.RLock()
_device: Device | None = None


def run(toolkit: Toolkit, task: Task) -> tuple[Answer, str]:
    """One launch on device 0 (ASCEND_WORKBOOK_DEVICE names another)."""
    global _device
    number = int(os.environ.get("ASCEND_WORKBOOK_DEVICE", "0"))
    with _lock:
        if _device is not None and (_device.key != (toolkit.library, str(toolkit.home), number) or _device.process.poll() is not None):
            close()
        if _device is None:
            _device = Device(toolkit, number)
        try:
            return _device.run(task, task.timeout * 2 + _START_SECONDS)
        except BaseException:
            close(kill=True)
            raise


def close(kill: bool = False) -> None:
    """Lets go of the device."""
    global _device
    with _lock:
        device, _device = _device, None
        if device is not None:
            device.end(kill)


atexit.register(close)
