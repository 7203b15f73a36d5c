"""The process that holds the device: python -m helpers.npu.child FD_IN FD_OUT LIBRARY DEVICE.

A device error leaves the runtime of a process unusable, and a fault in a driver ends it: neither may reach the notebook.
Messages are pickles, each behind its length. Arrays travel in a file of shared memory.
"""
from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys

import numpy as np

from .acl import AclFailure
from .session import Session

_LENGTH = struct.Struct("<Q")


def send(file, message) -> None:
    data = pickle.dumps(message)
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def receive(file):
    """The next message; None when the other side has gone."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return pickle.loads(file.read(_LENGTH.unpack(head)[0]))


def failure(error: AclFailure) -> tuple:
    return "failed", error.call, error.code, error.text


def _run(session: Session, task, places, path: str):
    """Puts the shared memory behind the arguments, runs, and lets go of it."""
    with open(path, "r+b") if path else open(os.devnull, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0) if path else None
        for argument, place in zip(task.arguments, places):
            if place is not None:
                offset, size = place
                argument.data = np.frombuffer(memory, np.uint8, size, offset) if size else np.zeros(0, np.uint8)
        try:
            answer = session.run(task)
        finally:
            for argument in task.arguments:
                argument.data = None
        return "done", answer


def serve(source, sink, library: str, device: int) -> None:
    try:
        with Session(library, device) as session:
            send(sink, ("ready", session.soc))
            while (message := receive(source)) is not None:
                try:
                    send(sink, _run(session, *message))
                except AclFailure as error:
                    send(sink, failure(error))
                    return                      # the runtime of this process may be of no use any more
                except (OSError, AttributeError) as error:
                    send(sink, ("unusable", f"the built kernel cannot be loaded: {error}"))
    except AclFailure as error:
        send(sink, failure(error))
    except (OSError, AttributeError) as error:
        send(sink, ("unusable", str(error)))


if __name__ == "__main__":
    fd_in, fd_out, path, number = sys.argv[1:]
    with os.fdopen(int(fd_in), "rb") as source, os.fdopen(int(fd_out), "wb") as sink:
        serve(source, sink, path, int(number))
