"""The report as Markdown: what was compared, every difference, time beside estimate, and the open points."""
from __future__ import annotations

from .compare import Outcome
from .points import points


def markdown(found: list[Outcome], where: str) -> str:
    """where: "twin only", or the name of the device."""
    counts = {v: sum(o.verdict == v for o in found) for v in ("equal", "differs", "failed", "twin only")}
    lines = ["# Twin and device, call by call", "", f"Device: {where}.", "", f"{len(found)} calls: " + ", ".join(f"{n} {v}" for v, n in counts.items() if n) + "."]
    if where == "twin only":
        lines += ["", "No device was here: nothing in this report is measured or compared. On a server with CANN and a device, `python -m helpers.conformance` fills it in."]
    wrong = [o for o in found if o.verdict == "differs"]
    if wrong:
        lines += ["", "## Differences", "", "| call | family | difference |", "|---|---|---|", *(f"| {o.label} | {o.family} | {o.words} |" for o in wrong)]
    failed = [o for o in found if o.verdict == "failed"]
    if failed:
        lines += ["", "## Not run", "", *(f"- {o.label} ({o.family}): {o.error}" for o in failed)]
    timed = [o for o in found if o.device is not None]
    if timed:
        lines += ["", "## Time", "", "| call | estimate us | measured us | estimate / measured |", "|---|---|---|---|",
                  *(f"| {o.label} | {o.twin_us:.2f} | {o.device_us:.2f} | {o.twin_us / o.device_us:.2f} |" if o.device_us else f"| {o.label} | {o.twin_us:.2f} | | |" for o in timed)]
    return "\n".join([*lines, "", *_open(found), ""])


def _open(found: list[Outcome]) -> list[str]:
    by_label = {o.label: o for o in found}
    lines = ["## Open points", "", "| question | what the twin does | verdict |", "|---|---|---|"]
    for p in points():
        seen = [by_label[label] for label in p.probes if label in by_label]
        lines.append(f"| {p.question} | {p.twin} | {_verdict(p, seen)} |")
    return lines


def _verdict(p, seen: list[Outcome]) -> str:
    if not p.probes:
        return f"by hand: {p.settle}"
    if not seen:
        return "its probes were not run"
    if any(o.verdict == "failed" for o in seen):
        return "a probe failed: " + ", ".join(o.label for o in seen if o.verdict == "failed")
    if all(o.verdict == "twin only" for o in seen):
        return "open (twin only)"
    differ = [o.label for o in seen if o.verdict == "differs"]
    return "the twin is wrong: " + ", ".join(differ) if differ else "settled: the twin agrees"
