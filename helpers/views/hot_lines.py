"""Which lines of the kernel cost the cycles: the text with a number beside every line."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import data, text
from .picture import Page


_FOLD = 3  # longest stretch of lines without a cost that is shown


@dataclass
class HotLine:
    line: int
    source: str
    cycles: float = 0.0  # over all pipes and cores
    pipes: dict[str, float] = field(default_factory=dict)
    calls: int = 0


def line_costs(run) -> list[HotLine]:
    """One entry per line of the text, in order. A line costs the cycles its instructions keep their pipes busy,
    summed over the cores; pipes work at the same time, so the sum is larger than the cycles of the kernel."""
    first = getattr(run, "first_line", None) or 1
    lines = {first + i: HotLine(first + i, s) for i, s in enumerate((getattr(run, "source", None) or "").splitlines())}
    ev = data.events(run)
    rate = data.cycles_per_us(run) / 1e3
    scalar = getattr(run, "scalar_lines", None) or {}
    own = ev["file"] == _own_file(run, ev)
    for p, pipe in enumerate(data.PIPES):
        mine = ev[own & (ev["pipe"] == p)]
        if not len(mine):
            continue
        numbers, inverse = np.unique(mine["line"], return_inverse=True)
        spent = np.bincount(inverse, lengths_ns(mine) * rate)
        calls = np.bincount(inverse)
        for number, cycles, n in zip(numbers, spent, calls):
            entry = lines.setdefault(int(number), HotLine(int(number), ""))
            entry.calls += int(n)
            if pipe != "S" or not scalar:
                entry.pipes[pipe] = entry.pipes.get(pipe, 0.0) + float(cycles)
    for number, cycles in scalar.items():
        if cycles:
            entry = lines.setdefault(int(number), HotLine(int(number), ""))
            entry.pipes["S"] = entry.pipes.get("S", 0.0) + float(cycles)
    for entry in lines.values():
        entry.cycles = sum(entry.pipes.values())
    return [lines[k] for k in sorted(lines)]


def _own_file(run, ev) -> int:
    """Index of the file that holds the kernel's text: "" if the run names its files, else the best fit to the lines."""
    files = list(getattr(run, "files", None) or [])
    if "" in files or not len(ev):
        return files.index("") if "" in files else 0
    first = getattr(run, "first_line", None) or 1
    last = first + len((getattr(run, "source", None) or "").splitlines()) - 1
    inside = ev["file"][(ev["line"] >= first) & (ev["line"] <= last)] if last >= first else ev["file"]
    return int(np.bincount(inside if len(inside) else ev["file"]).argmax())


def lengths_ns(ev: np.ndarray) -> np.ndarray:
    """ns that every event keeps its pipe busy: overlapping instructions of one pipe share the time."""
    out = np.zeros(len(ev))
    order = np.lexsort((ev["start"], ev["core"]))
    for rows in np.split(order, np.flatnonzero(np.diff(ev["core"][order])) + 1):
        start, end = data.disjoint(ev[rows])
        out[rows] = end - start
    return out


def _folded(costs: list[HotLine]) -> list[HotLine | None]:
    """Long stretches without a cost, but for a line at either end, become one None."""
    out: list[HotLine | None] = []
    costly = [i for i, h in enumerate(costs) if h.cycles]
    near = {j for i in costly for j in range(i - 1, i + 2)} or set(range(len(costs)))
    for i, h in enumerate(costs):
        gap_before = next((k for k in range(i, -1, -1) if k in near), -1)
        gap_after = next((k for k in range(i, len(costs)) if k in near), len(costs))
        if i in near or gap_after - gap_before - 1 <= _FOLD:
            out.append(h)
        elif out and out[-1] is None:
            continue
        else:
            out.append(None)
    return out


def hot_lines(run, top: int | None = None) -> Page:
    """Cycles beside every line of the kernel. top: only the n most expensive lines."""
    costs = line_costs(run)
    whole = sum(h.cycles for h in costs)
    peak = max((h.cycles for h in costs), default=0.0)
    shown = _folded(costs)
    if top is not None:
        shown = sorted(sorted(costs, key=lambda h: (-h.cycles, h.line))[:top], key=lambda h: h.line)
    head = ["line", "cycles", "share", "", "pipes", "text"]
    body = []
    for h in shown:
        if h is None:
            body.append(["", "", "", "", "", "…"])
            continue
        busy = " ".join(p for p in data.FLOW if h.pipes.get(p, 0) > 0)
        body.append(
            [
                str(h.line),
                f"{h.cycles:,.0f}" if h.cycles else "",
                text.percent(h.cycles / whole) if h.cycles else "",
                text.bar(h.cycles / peak, 8) if h.cycles else "",
                busy,
                h.source.rstrip(),
            ]
        )
    title = data.title(run, "cycles per line")
    hottest = max(costs, key=lambda h: (h.cycles, -h.line), default=None)
    note = "No line of this text cost a cycle."
    if hottest is not None and hottest.cycles:
        note = (
            f"Busy cycles of all pipes and cores, {whole:,.0f} in all. Line {hottest.line} takes "
            f"{text.percent(hottest.cycles / whole)} of them."
        )
    rows = [_text_row(r) for r in body]
    plain = "\n".join(
        [title, "", f"{'line':>5}  {'cycles':>12}  {'share':>6}  {'':8}  {'pipes':10}  text", *rows, "", note]
    )
    page = f"<div><b>{text.escape(title)}</b></div>\n{_html(head, body)}\n<div>{text.escape(note)}</div>"
    return Page(plain, page, title, costs)


def _text_row(r: list[str]) -> str:
    return f"{r[0]:>5}  {r[1]:>12}  {r[2]:>6}  {r[3]:8}  {r[4]:10}  {r[5]}".rstrip()


def _html(head, body) -> str:
    def row(r, tag="td"):
        align = ("right", "right", "right", "left", "left", "left")
        return (
            "<tr>"
            + "".join(
                f'<{tag} style="text-align:{a};padding:0 8px;border:0;white-space:pre;font-family:monospace">'
                f"{text.cell(c)}</{tag}>"
                for c, a in zip(r, align)
            )
            + "</tr>"
        )

    rows = "\n".join(row(r) for r in body)
    top = f"<thead>{row(head, 'th')}</thead>"
    return f'<table style="border-collapse:collapse;font-size:12px">\n{top}\n<tbody>\n{rows}\n</tbody></table>'
