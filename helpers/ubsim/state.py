"""The running simulation, and how its errors reach the learner."""
from __future__ import annotations

from ..errors import Finding, KernelError
from .abi import IDLE, here, lib

running = None                               # the Session between its begin and its end
made: list = []                              # tensors, queues and buffers of the core that runs


def forget_made() -> None:
    """A core has ended: what it made means nothing to the next one."""
    for thing in made:
        thing._expire()
    made.clear()


def check(state: int) -> None:
    """To be called with what an entry point returned, when it is not 0."""
    if running is None or state == IDLE:
        if running is not None and running.error is not None:
            raise running.error
        raise KernelError("No simulation is running.", [Finding(
            "USE_AFTER_FREE", "error", None, "A tensor, queue or core of a simulation is used after the simulation has ended.",
            "Use them inside the function that the simulation runs; results are in the arrays you passed.")])
    raise running.fail()


def refuse(code: str, message: str, hint: str = "") -> None:
    """Ends the simulation with a finding of our own at the learner's line."""
    check(lib.fatal(code.encode(), message.encode(), hint.encode(), here()))

