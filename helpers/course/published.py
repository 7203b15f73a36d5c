"""Estimates beside published times: `python -m helpers.course.published [kernel …]` runs the ladders at full size.

A ladder is kernels/<name>/ladder.py with VERSIONS and `arrays(shape)` or SHAPE; every version with a published time is
one row. A version that would take minutes on the host runs on a part of the rows and is scaled, and says so.
"""
from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Callable, Iterable

import numpy as np

from .kernels import load


@dataclass(frozen=True)
class Step:
    """One row: how to run a version, and what was published for it."""

    name: str
    run: Callable[[], object]              # returns a Run
    published_us: float
    published_vector_us: float | None = None
    scale: float = 1                       # the published work is this many times the work that is run
    title: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    ours_us: float
    published_us: float
    vector_us: float
    published_vector_us: float | None
    host_s: float
    scale: float

    @property
    def error(self) -> float:
        return self.ours_us / self.published_us - 1


def measure(steps: Iterable[Step]) -> list[Row]:
    rows = []
    for step in steps:
        begin = time.perf_counter()
        run = step.run()
        took = time.perf_counter() - begin
        launch = run.totals["launch_ns"] / 1e3
        ours = (run.time_us - launch) * step.scale + launch     # a launch is paid once, however long the kernel
        vector = float(run.busy[:, 1].max()) / 1e3 * step.scale
        rows.append(Row(step.name, step.title, ours, step.published_us, vector, step.published_vector_us, took, step.scale))
    return rows


def table(rows: list[Row], chip: str) -> str:
    """Text: estimate, published time and the error of each version."""
    lines = [f"{'':4}{'':26}{'estimate us':>13}{'published us':>14}{'error':>9}{'vector us':>12}{'published':>11}"]
    for r in rows:
        vector = f"{r.published_vector_us:11.2f}" if r.published_vector_us else f"{'':11}"
        scaled = f"  1/{r.scale:g} of the rows run, scaled" if r.scale != 1 else ""
        lines.append(f"{r.name:4}{r.title:26}{r.ours_us:13.2f}{r.published_us:14.1f}{r.error:+9.1%}{r.vector_us:12.2f}{vector}{scaled}")
    errors = sorted(abs(r.error) for r in rows)
    lines.append(f"Estimates for {chip}: median error {np.median(errors):.1%}, largest {errors[-1]:.1%}; {order(rows)}.")
    return "\n".join(lines)


def order(rows: list[Row]) -> str:
    """Is every faster version faster here too? Ties within 1 % count where the published times differ by less than 3 %."""
    wrong = [(a.name, b.name) for i, a in enumerate(rows) for b in rows[i + 1:]
             if a.published_us > b.published_us and a.ours_us <= b.ours_us
             and not (a.published_us / b.published_us < 1.03 and b.ours_us / a.ours_us < 1.01)]
    return "the order is right" if not wrong else "wrong order: " + ", ".join(f"{a} and {b}" for a, b in wrong)


def ladder_steps(name: str = "add", scalar_rows: int = 64, **options) -> list[Step]:
    """The published rows of kernels/<name>/ladder.py at their full size, with fresh random data."""
    module = load(name, "ladder")
    random = np.random.default_rng(0)
    full = [random.standard_normal(module.SHAPE, dtype=np.float32).astype(np.float16) for _ in range(2)]
    out = np.zeros_like(full[0])

    def run(version, rows):
        return lambda: module.launch(version, *(a[:rows] for a in full), out[:rows], **options)

    steps = []
    for version in module.VERSIONS:
        if version.published_us is None:
            continue
        slow = version.published_us > 1e5
        rows = scalar_rows if slow else module.SHAPE[0]
        steps.append(Step(version.name, run(version, rows), version.published_us, version.published_vector_us,
                          module.SHAPE[0] / rows, version.title))
    return steps


if __name__ == "__main__":
    for kernel in sys.argv[1:] or ["add"]:
        print(table(measure(ladder_steps(kernel, timeout=300.0)), "Ascend910B1"))
