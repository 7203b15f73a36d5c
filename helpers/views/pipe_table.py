"""How busy every pipe is, and which of them sets the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import data, style, text
from .picture import Page

PACE = 0.75  # a pipe busy this long sets the pace; less, and waiting does
MEMORY = 0.90  # HBM busy this long: memory sets the pace


@dataclass(frozen=True)
class PipeRow:
    kind: str
    pipe: str
    mean_us: float  # over the cores of this kind
    most_us: float  # the busiest core
    share: float  # mean_us / time of the kernel body


def pipe_rows(run) -> list[PipeRow]:
    """One row per core kind and pipe that did anything, in the order in which data meets the pipes."""
    infos, busy, span = data.cores(run), data.busy(run), data.span_ns(run)
    out = []
    for kind in data.KINDS:
        mine = [i for i, c in enumerate(infos) if c.kind == kind and i < len(busy)]
        for pipe in data.FLOW:
            column = busy[mine, data.PIPES.index(pipe)] if mine else np.zeros(0)
            if column.any():
                out.append(
                    PipeRow(
                        kind,
                        pipe,
                        float(column.mean()) / 1e3,
                        float(column.max()) / 1e3,
                        float(column.mean()) / span if span else 0.0,
                    )
                )
    return out


def hbm_share(run) -> float:
    known = data.totals(run).get("hbm_busy_ns")
    span = data.span_ns(run)
    return known / span if known is not None and span > 0 else 0.0


def bound(run) -> tuple[str, str]:
    """(what sets the time, one sentence why): "HBM", a pipe, "launch", or "waiting"."""
    rows, launch, time = pipe_rows(run), data.launch_us(run), getattr(run, "time_us", 0) or 0
    if not rows and data.origin(run).startswith("measured"):
        return "unknown", "The time was measured as a whole; which pipe sets it is in a profile of msprof op (hp.profile)."
    if not rows:
        return "launch", "No pipe did anything: the time is the launch."
    if time > 0 and launch / time > 0.5:
        return "launch", f"The launch is {text.percent(launch / time)} of the time: more work per launch costs little."
    top = max(rows, key=lambda r: r.share)
    if hbm_share(run) > MEMORY:
        return (
            "HBM",
            f"Memory bound: HBM is busy {text.percent(hbm_share(run))} of the time, so only fewer HBM bytes help.",
        )
    if top.share >= PACE:
        return (
            top.pipe,
            f"{top.pipe} ({style.PIPE_ROLES[top.pipe]}) is busy {text.percent(top.share)} of the time: "
            "it sets the pace.",
        )
    return "waiting", (
        f"No pipe is busy all the time; {top.pipe} comes closest with {text.percent(top.share)}. "
        f"The pipes wait for each other: overlap them."
    )


def pipe_table(run) -> Page:
    """Busy time and share per core kind and pipe, and what sets the time."""
    rows = pipe_rows(run)
    infos = data.cores(run)
    cores = {k: sum(c.kind == k for c in infos) for k in data.KINDS}
    head = ["core", "pipe", "role", "busy us", "busiest core us", "share", ""]
    body = [
        [
            f"{r.kind} x {cores[r.kind]}",
            r.pipe,
            style.PIPE_ROLES[r.pipe],
            f"{r.mean_us:,.2f}",
            f"{r.most_us:,.2f}",
            text.percent(r.share),
            text.bar(r.share),
        ]
        for r in rows
    ]
    title = data.title(run, "busy time of the pipes")
    _, why = bound(run)
    note = f"share of {text.us(data.span_ns(run) / 1e3, 3)} kernel body, mean over the cores. {why}"
    plain = f"{title}\n\n{text.table(head, body, left=3, wrap_last=True)}\n\n{note}"
    page = (
        f"<div><b>{text.escape(title)}</b></div>\n{text.html_table(head, body, left=3, wrap_last=True)}\n"
        f"<div>{text.escape(note)}</div>"
    )
    return Page(plain, page, title, rows)
