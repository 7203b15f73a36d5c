"""One launch in the runner process: start it, hand over the arrays, wait, read what happened, leave nothing behind."""
from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass, field

import numpy as np

from .arguments import Buffer, Value
from .arrays import Placement
from .channel import HEADER_BYTES, Channel, get_channel
from .runner_process import Quiet, Runner

EVENT = np.dtype([("core", "<i4"), ("block", "<i4"), ("kind", "<i4"), ("pipe", "<i4"), ("op", "<i4"), ("line", "<i4"),
                  ("file", "<i4"), ("sub", "<i4"), ("start", "<f8"), ("end", "<f8"), ("bytes", "<u8"), ("elements", "<u8")])
MARK = np.dtype([("core", "<i4"), ("buffer", "<i4"), ("alloc", "<i4"), ("unused", "<i4"), ("ns", "<f8")])

OUTPUT_BYTES = 1 << 20          # what a kernel may write to its file descriptors 1 and 2
_HEADER = struct.Struct("<Iiqii48sQQQQ")        # LiveHeader
_CRASH = struct.Struct("<iiQQiiq16Q")           # CrashRecord
_CRASH_OFFSET = 1024
_WARM_RESULT = 64 << 20
_GRACE = 2.5                    # seconds for the runner to say where it was after it has been told to stop
FINISHED, TIMEOUT, DIED = "finished", "timeout", "died"


@dataclass
class Job:
    """All of a launch that the runner must know."""
    runner: str
    kernel: str
    entry: str
    label: str
    source: str
    first_line: int
    blocks: int
    chip: str                                   # the profile, see Chip.lines
    buffers: list[Buffer]
    values: list[Value]
    nulls: list[int]
    null_names: list[str] = field(default_factory=list)
    kernel_type: int = -1
    checks: bool = True
    lazy: bool = False
    strict_sync: bool = False
    warm: bool = False
    seed: int = 0
    tiling_key: int = 0
    timeout: float = 30.0
    memory_mb: float = 4096


@dataclass
class Crash:
    kind: int
    code: int
    address: int
    arg: int
    arg_offset: int
    frames: list[int]


@dataclass
class Outcome:
    """What came back."""
    how: str                                    # FINISHED, TIMEOUT, DIED
    result: dict = field(default_factory=dict)  # the runner's JSON; {} when it could not write any
    events: np.ndarray = field(default_factory=lambda: np.empty(0, EVENT))
    marks: np.ndarray = field(default_factory=lambda: np.empty(0, MARK))
    output: str = ""                            # file descriptors 1 and 2
    output_cut: bool = False
    live: tuple[int, int, str] = (-1, 0, "")    # block, line, API at the last instruction
    crash: Crash | None = None
    exit_code: int | None = None
    placement: Placement | None = None


def run(job: Job) -> Outcome:
    """Runs the kernel once. KeyboardInterrupt and every other exception end the runner first."""
    channel = get_channel()
    with channel.lock:
        placement = Placement(job.buffers, job.memory_mb, channel.pool)
        try:
            placement.fill()
            outcome = _converse(channel, job, placement)
        finally:
            channel.pool.trim()
        outcome.placement = placement
        return outcome


def _converse(channel: Channel, job: Job, placement: Placement) -> Outcome:
    reuse = False
    with Quiet() as quiet:
        runner, used = channel.take_runner(job.runner)
        try:
            answer = _ask(channel, runner, job, placement, quiet)
            if used and answer == b"" and not _begun(channel):
                # It left while we were looking the other way: its idle time was over, or the thread that had started
                # it has ended. Once more, with a new one.
                runner.end()
                runner = Runner(job.runner)
                answer = _ask(channel, runner, job, placement, quiet)
            how = FINISHED
            if answer is None:
                how = TIMEOUT
                runner.process.terminate()
                answer = runner.answer(_GRACE) or b""
            outcome = _read(channel, how if answer or how == TIMEOUT else DIED)
            placement.collect(outcome.result.get("written", []))
            reuse = answer == b"D"
            if not reuse:
                outcome.exit_code = runner.end(kill=how == TIMEOUT)
            return outcome
        finally:
            if reuse:
                channel.keep(runner)
            elif runner.process.returncode is None:
                runner.end()


def _ask(channel: Channel, runner: Runner, job: Job, placement: Placement, quiet: Quiet) -> bytes | None:
    _prepare(channel)
    if not runner.send(*_request(channel, runner, job, placement)):
        return b""
    with quiet.listening():
        return runner.answer(job.timeout)


def _begun(channel: Channel) -> bool:
    return any(os.pread(channel.result_fd, 4, 0))


def _prepare(channel: Channel) -> None:
    os.pwrite(channel.result_fd, bytes(HEADER_BYTES), 0)
    os.ftruncate(channel.output_fd, 0)
    os.lseek(channel.output_fd, 0, os.SEEK_SET)


def describe(job: Job) -> tuple[list[str], list[bytes]]:
    """What the runner must know but the arrays: lines, and the blobs that some of them announce."""
    blobs = [job.source.encode(), job.chip.encode()]
    lines = [f"kernel {job.kernel}", f"entry {job.entry}", f"file {job.label}", f"source {len(blobs[0])}", f"chip {len(blobs[1])}",
             f"first_line {job.first_line}", f"blocks {job.blocks}", f"kernel_type {job.kernel_type}", f"checks {job.checks:d}",
             f"lazy {job.lazy:d}", f"strict_sync {job.strict_sync:d}", f"warm {job.warm:d}", f"seed {job.seed}",
             f"tiling_key {job.tiling_key}", f"memory_bytes {int(job.memory_mb * 2**20)}", f"output_bytes {OUTPUT_BYTES}",
             f"timeout {int(job.timeout) + 10}"]
    lines += [f"null {i}" for i in job.nulls]
    for v in job.values:
        lines.append(f"value {v.index} {len(v.data)}")
        blobs.append(v.data)
    return lines, blobs


def _request(channel: Channel, runner: Runner, job: Job, placement: Placement):
    fds = [channel.result_fd, channel.output_fd]
    lines, blobs = describe(job)
    for memory in channel.take_released():
        for gone in {2 * memory, 2 * memory + 1} & runner.known:
            runner.known.discard(gone)
            lines.append(f"unmap {gone}")
    for number, m in enumerate(placement.maps):
        fd = -1
        if m.fd >= 0 and m.id not in runner.known:
            if m.fd not in fds:
                fds.append(m.fd)
            fd = fds.index(m.fd)
        if m.keep:
            runner.known.add(m.id)
        lines.append(f"map {m.id} {fd} {m.offset} {m.nbytes} {m.access} {m.keep:d}")
        lines += [f"watch {number} {place} {count}" for place, count in m.watches]
        lines += [f"gm {b.index} {number} {m.place(b)} {b.nbytes} {b.dtype} {b.workspace:d} {b.name}" for b in m.buffers]
    return lines, blobs, fds


def _read(channel: Channel, how: str) -> Outcome:
    out = Outcome(how)
    fd = channel.result_fd
    head = os.pread(fd, HEADER_BYTES, 0)
    magic, state, block, _core, line, op, json_at, json_bytes, events_at, events = _HEADER.unpack_from(head)
    out.live = (block, line, op.split(b"\0")[0].decode(errors="replace"))
    kind, code, address, _pc, arg, frames, arg_offset, *frame = _CRASH.unpack_from(head, _CRASH_OFFSET)
    if kind:
        out.crash = Crash(kind, code, address, arg, arg_offset, list(frame[:frames]))
    if magic and state in (2, 3):
        out.result = json.loads(os.pread(fd, json_bytes, json_at).decode(errors="replace"))
        out.events = _table(fd, events_at, events, EVENT)
        out.marks = _table(fd, out.result["marks_offset"], out.result["marks_count"], MARK)
    text = os.pread(channel.output_fd, OUTPUT_BYTES, 0)
    out.output, out.output_cut = text.decode(errors="replace"), len(text) >= OUTPUT_BYTES
    if os.fstat(fd).st_size > _WARM_RESULT:
        os.ftruncate(fd, HEADER_BYTES)
    return out


def _table(fd: int, offset: int, count: int, dtype: np.dtype) -> np.ndarray:
    table = np.empty(count, dtype)
    view, done = table.view(np.uint8), 0
    while done < len(view):
        data = np.frombuffer(os.pread(fd, min(len(view) - done, 1 << 24), offset + done), np.uint8)
        view[done:done + len(data)] = data
        done += len(data)
    return table
