"""The runner process as this one sees it: started, spoken to over a socket, ended and reaped."""
from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import threading
from contextlib import contextmanager

_MAGIC = 0x51524E52


class Runner:
    """A started runner process. It serves several launches, as long as each ends without errors."""

    def __init__(self, path: str):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A launch makes many small things and drops them again: the C library keeps more of each size at hand.
            env = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=4000", **os.environ, "LC_ALL": "C", "LIBC_FATAL_STDERR_": "1"}
            self.process = subprocess.Popen([path, str(theirs.fileno())], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=env)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.path, self.socket, self.known, self.thread = path, ours, set(), threading.current_thread()

    def send(self, lines: list[str], blobs: list[bytes], fds: list[int]) -> bool:
        payload = ("\n".join(lines) + "\nend\n").encode() + b"".join(blobs)
        self.socket.settimeout(30)
        try:
            socket.send_fds(self.socket, [struct.pack("<IIQ", _MAGIC, len(fds), len(payload))], fds)
            self.socket.sendall(payload)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def answer(self, seconds: float) -> bytes | None:
        """b"D": done and ready for more; b"E": done; b"": the process has gone; None: nothing within the time."""
        self.socket.settimeout(max(seconds, 0.001))
        try:
            return self.socket.recv(1)
        except TimeoutError:
            return None
        except ConnectionResetError:
            return b""

    def end(self, kill: bool = True) -> int | None:
        """Ends and reaps the process; nothing of it is left."""
        self.socket.close()
        if kill:
            self._kill_all()
        try:
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


    def _kill_all(self) -> None:
        """The process and whatever the kernel has started in its session. It is not reaped yet: the number is still its own."""
        if self.process.returncode is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self.process.kill()


class Quiet:
    """Holds Ctrl-C back, so that it never falls between the start of a process and the note of its number.

    It takes effect while waiting for the runner (`listening`), or at the end. Blocking the signal would not do: the
    system hands it to any thread, and Python then interrupts the main thread all the same.
    """

    def __enter__(self) -> "Quiet":
        self._handler, self._pending = None, False
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._handler = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_) -> None:
        self._pending = True

    def __exit__(self, *_) -> None:
        self._open()

    def _open(self) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            if self._pending:
                self._pending = False
                signal.raise_signal(signal.SIGINT)

    @contextmanager
    def listening(self):
        self._open()
        try:
            yield
        finally:
            if self._handler is not None:
                signal.signal(signal.SIGINT, self._note)
