"""What stays between launches: shared memory, and at most one runner that waits for the next one."""
from __future__ import annotations

import atexit
import os
import threading

from . import adopt
from .runner_process import Runner
from .shared_memory import Pool, anonymous_file

HEADER_BYTES = 4096             # of the result memory: live header and crash record
LARGE = 32 << 20                # freed memory that a waiting runner may still hold


class Channel:
    """What this process keeps between launches: shared memory, and at most one waiting runner.

    A runner that ended a launch without errors waits for the next one: its start costs more than most launches. It
    leaves by itself after some seconds, and is ended with this process.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pool = Pool()
        self.result_fd = anonymous_file("kernel-result")
        self.output_fd = anonymous_file("kernel-output")
        os.ftruncate(self.result_fd, HEADER_BYTES)
        self.waiting: Runner | None = None
        self.released: list[int] = []   # ids of memory that is gone; the runner hears of it with the next request
        self.held = 0                   # bytes of it

    def take_runner(self, path: str) -> tuple[Runner, bool]:
        """A runner, and whether it has served before."""
        runner, self.waiting = self.waiting, None
        # The system ends a runner together with the thread that started it, some moments after Python has seen that end:
        # only this thread can rely on it.
        if runner is not None and (runner.path != path or runner.thread is not threading.current_thread() or runner.process.poll() is not None):
            runner.end()
            runner = None
        return (runner, True) if runner else (Runner(path), False)

    def keep(self, runner: Runner) -> None:
        """The runner waits for the next launch, unless it holds much memory that has been freed meanwhile."""
        if self.held >= LARGE and self._holds_freed(runner):
            runner.end()
        else:
            self.waiting = runner

    def release(self, memory: int, nbytes: int) -> None:
        """Memory that the waiting runner may map belongs to nobody any more."""
        self.released.append(memory)
        self.held += nbytes
        if self.held >= LARGE and self.lock.acquire(blocking=False):
            try:
                runner = self.waiting
                if runner is not None and self._holds_freed(runner):
                    self.waiting = None
                    runner.end()
            finally:
                self.lock.release()

    def take_released(self) -> list[int]:
        gone, self.released, self.held = self.released, [], 0
        return gone

    def _holds_freed(self, runner: Runner) -> bool:
        return any(runner.known & {2 * memory, 2 * memory + 1} for memory in self.released)

    def close(self) -> None:
        runner, self.waiting = self.waiting, None
        if runner is not None:
            runner.end()


_channel: Channel | None = None
_making = threading.Lock()


def get_channel() -> Channel:
    global _channel
    with _making:
        if _channel is None:
            _channel = Channel()
    return _channel


def stop_waiting_runner() -> None:
    """Ends the runner that waits for the next launch, if there is one."""
    if _channel is not None:
        with _channel.lock:
            _channel.close()


# ---- forks: a child must not share arrays, pool or runner with its parent
_held: Channel | None = None


def _before_fork() -> None:
    global _held
    _held = _channel
    if _held is not None:
        _held.lock.acquire()          # a launch of another thread ends first
        adopt.release_all()


def _after_fork_parent() -> None:
    if _held is not None:
        _held.lock.release()


def _after_fork_child() -> None:
    global _channel, _making
    if _channel is not None:
        if _channel.waiting is not None:
            _channel.waiting.socket.close()
            _channel.waiting.process.returncode = 0      # not our child: never wait for it, never signal it
        _channel.pool.close()
        os.close(_channel.result_fd)
        os.close(_channel.output_fd)
    _channel, _making = None, threading.Lock()


adopt.on_release.append(lambda entry: _channel.release(entry.id, entry.nbytes) if _channel is not None else None)
atexit.register(stop_waiting_runner)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_parent, after_in_child=_after_fork_child)
