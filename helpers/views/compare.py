"""A kernel beside its tiling simulation (or any two runs): the same bytes, instructions, cycles? If not, where?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import data, text
from .picture import Page


@dataclass(frozen=True)
class Difference:
    """The first instruction in which two runs part. left and right: what stands there, "nothing" at the end."""

    block: int
    pipe: str
    number: int  # 0-based, on this block and pipe
    tile: int
    line: int  # in the first run
    left: str
    right: str

    def __str__(self) -> str:
        return (
            f"They part at block {self.block}, pipe {self.pipe}, instruction {self.number} "
            f"(tile {self.tile}, line {self.line}): "
            f"{self.left} against {self.right}."
        )


def _steps(run) -> dict[tuple, tuple]:
    """Per (block, kind, sub, pipe): its events in order, and their tiles."""
    ev = data.events(run)
    out = {}
    for info in data.cores(run):
        mine = data.by_start(ev[ev["core"] == info.core])
        tile = data.tiles(mine)
        for p, pipe in enumerate(data.PIPES):
            here = mine["pipe"] == p
            if pipe != "S" and here.any():
                out[info.block, info.kind, info.sub, pipe] = (mine[here], tile[here])
    return out


def _says(run, e) -> str:
    size = f", {int(e['bytes']):,} B" if e["bytes"] else ""
    return f"{data.op_name(run, int(e['op']))} of {int(e['elements']):,} elements{size}"


def first_difference(left, right) -> Difference | None:
    """The earliest instruction (in the time of the first run) with another name, element count or byte count."""
    a, b = _steps(left), _steps(right)
    names = {}
    for run in (left, right):
        for n in data.ops(run):
            names.setdefault(n, len(names))
    found = []
    for key in sorted(set(a) | set(b)):
        la, lb = a.get(key), b.get(key)
        n = min(len(la[0]) if la else 0, len(lb[0]) if lb else 0)
        differ = n
        if n:
            ea, eb = la[0][:n], lb[0][:n]
            unlike = (
                (_named(left, ea, names) != _named(right, eb, names))
                | (ea["elements"] != eb["elements"])
                | (ea["bytes"] != eb["bytes"])
            )
            differ = int(np.argmax(unlike)) if unlike.any() else n
        more_a, more_b = la is not None and differ < len(la[0]), lb is not None and differ < len(lb[0])
        if not more_a and not more_b:
            continue
        at = la if more_a else lb
        e, tile = at[0][differ], int(at[1][differ])
        found.append(
            (
                float(e["start"]),
                Difference(
                    key[0],
                    key[3],
                    differ,
                    tile,
                    int(e["line"]),
                    _says(left, la[0][differ]) if more_a else "nothing",
                    _says(right, lb[0][differ]) if more_b else "nothing",
                ),
            )
        )
    return min(found, key=lambda f: f[0])[1] if found else None


def _named(run, ev, names) -> np.ndarray:
    table = np.array([names[n] for n in data.ops(run)] or [0], dtype=int)
    return table[np.clip(ev["op"], 0, len(table) - 1)]


def op_counts(run) -> dict[tuple[str, str], int]:
    """Instructions per (pipe, op); the scalar unit is left out, a simulation has none of its own."""
    ev = data.events(run)
    ev = ev[ev["pipe"] != data.PIPES.index("S")]
    out = {}
    pairs, n = np.unique(ev["pipe"].astype(np.int64) << 32 | ev["op"], return_counts=True)
    for pair, k in zip(pairs, n):
        key = data.PIPES[int(pair) >> 32], data.op_name(run, int(pair) & 0xFFFFFFFF)
        out[key] = out.get(key, 0) + int(k)
    return out


def compare(left, right, names=("kernel", "simulation")) -> Page:
    """Bytes, instructions per op, cycles and time of two runs, and the first instruction in which they part."""
    ta, tb = data.totals(left), data.totals(right)
    rows = []

    def row(what, x, y, form):
        same = "same" if x == y else ("" if not x else f"{100 * (y - x) / x:+.1f} %")
        rows.append([what, form(x), form(y), same])

    whole = "{:,.0f}".format
    for what, key in (
        ("GM bytes read", "gm_read_bytes"),
        ("GM bytes written", "gm_write_bytes"),
        ("HBM bytes", "hbm_bytes"),
    ):
        if key in ta or key in tb:
            row(what, ta.get(key, 0), tb.get(key, 0), whole)
    ca, cb = op_counts(left), op_counts(right)
    for key in sorted(set(ca) | set(cb), key=lambda k: (data.FLOW.index(k[0]), k[1])):
        row(f"{key[1]} on {key[0]}", ca.get(key, 0), cb.get(key, 0), whole)
    row("cycles", getattr(left, "cycles", 0) or 0, getattr(right, "cycles", 0) or 0, whole)
    row(
        "time us",
        round(getattr(left, "time_us", 0) or 0, 2),
        round(getattr(right, "time_us", 0) or 0, 2),
        "{:,.2f}".format,
    )
    part = first_difference(left, right)
    same_time = rows[-2][3] == rows[-1][3] == "same"
    verdict = (
        str(part)
        if part
        else "Every copy and instruction is the same, in the same order"
        + ("." if same_time else "; only their times differ.")
    )
    head = ["", *names, "difference"]
    title = f"{names[0]} and {names[1]}, {data.origin(left)}"
    plain = f"{title}\n\n{text.table(head, rows)}\n\n{verdict}"
    page = f"<div><b>{text.escape(title)}</b></div>\n{text.html_table(head, rows)}\n<div>{text.escape(verdict)}</div>"
    return Page(plain, page, title, {"rows": rows, "first": part})
