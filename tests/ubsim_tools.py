"""What the tests of the tiling simulation share."""
import inspect
import linecache

import numpy as np

import helpers as hp


def steps(run) -> list[tuple]:
    """Every instruction of a run as plain values, lines left out: what, where, how much, when.

    The bars of the scalar unit between the instructions are left out: they are cut where the lines of the text change.
    """
    e = run.events[run.events["pipe"] > 0]
    names = [run.ops[op] for op in e["op"]]
    return list(zip(e["core"], e["block"], e["pipe"], names, e["bytes"], e["elements"], e["start"].round(6), e["end"].round(6)))


def assert_same_run(kernel, simulation) -> None:
    """The same instructions with the same bytes at the same times, to a millionth of a ns."""
    a, b = steps(kernel), steps(simulation)
    first = next((i for i, (p, q) in enumerate(zip(a, b)) if p != q), min(len(a), len(b)))
    assert a == b, f"event {first} of {len(a)} and {len(b)}: {a[first:first + 1]} against {b[first:first + 1]}"
    assert abs(kernel.time_us - simulation.time_us) < 1e-9 and kernel.cycles == simulation.cycles
    assert kernel.totals.keys() == simulation.totals.keys()
    for what, amount in kernel.totals.items():
        assert abs(amount - simulation.totals[what]) <= 1e-9 * abs(amount), what
    assert np.allclose(kernel.busy, simulation.busy, 1e-12) and np.allclose(kernel.core_end, simulation.core_end, 1e-12)
    assert {f.code for f in kernel.findings} == {f.code for f in simulation.findings}
    plan = [[(b["core"], b["slot"], b["mem"], b["addr"], b["bytes"]) for b in r.buffers] for r in (kernel, simulation)]
    assert plan[0] == plan[1]
    times = [[m[:3] for m in r.marks] for r in (kernel, simulation)]
    assert times[0] == times[1]


def line_of(function, text: str = "# here") -> int:
    """Number, in its file, of the one line of a function that holds this text."""
    lines, first = inspect.getsourcelines(function)
    found = [i for i, line in enumerate(lines) if text in line]
    assert len(found) == 1, f"{len(found)} lines with {text!r}"
    return first + found[0]


def error_of(simulation, *args, blocks: int = 1, **options) -> hp.KernelError:
    """The KernelError that a launch raises."""
    try:
        run = simulation.launch(blocks, args, **options)
    except hp.KernelError as error:
        return error
    raise AssertionError(f"no error; findings: {run.findings}")


def function_of(text: str, name: str, file: str):
    """A function as a notebook cell makes it: compiled from text that only linecache knows."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"hp": hp, "np": np}
    exec(compile(text, file, "exec"), space)
    return space[name]
