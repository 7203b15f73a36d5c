"""One page about a run: the time and what sets it, pipes, bytes, findings and what would make it faster."""

from __future__ import annotations

import textwrap

from . import data, text
from .picture import Page
from .pipe_table import bound, hbm_share, pipe_rows

_CUBE_ONLY = (
    "mmad_",
    "mte1_",
    "nd2nz_",
    "penalty_ragged_nd2nz",
    "fix_",
    "cross_",
    "sync_mixed",
    "mix_",
)  # numbers a vector kernel never meets
_SHOWN = 12  # findings on one page


def _severity(f) -> str:
    s = getattr(f, "severity", "")
    return str(getattr(s, "name", s)).lower()


def _where(f) -> str:
    place = []
    if getattr(f, "file", ""):
        place.append(str(f.file))
    if getattr(f, "line", None) is not None:
        place.append(f"line {f.line}")
    if (getattr(f, "block", None) or 0) > 0 or (
        getattr(f, "block", None) == 0 and getattr(f, "core", None) is not None
    ):
        place.append(f"block {f.block}")
    if getattr(f, "count", 1) > 1:
        place.append(f"{f.count} times")
    return ", ".join(place)


def _findings(run) -> tuple[list, list]:
    """(findings, performance notes), each in a stable order."""
    every = list(getattr(run, "findings", None) or [])
    rank = {"error": 0, "warning": 1, "note": 2}
    order = sorted(
        every,
        key=lambda f: (
            rank.get(_severity(f), 3),
            getattr(f, "line", None) or 0,
            str(f.code),
            getattr(f, "block", None) or 0,
        ),
    )
    return [f for f in order if not str(f.code).startswith("PERF_")], [
        f for f in order if str(f.code).startswith("PERF_")
    ]


def time_rows(run) -> list[list[str]]:
    time, launch = float(getattr(run, "time_us", 0) or 0), data.launch_us(run)
    infos = data.cores(run)
    kinds = ", ".join(f"{sum(c.kind == k for c in infos)} {k}" for k in data.KINDS if any(c.kind == k for c in infos))
    if not infos and data.origin(run).startswith("measured"):
        return [["time", f"{time:,.2f} us", data.origin(run)], ["blocks", f"{getattr(run, 'blocks', 0):,}", ""]]
    rows = [
        ["time", f"{time:,.2f} us", data.origin(run)],
        ["cycles", f"{getattr(run, 'cycles', 0) or 0:,.0f}", f"at {data.cycles_per_us(run) / 1e3:g} GHz"],
        ["launch", f"{launch:,.2f} us", f"{text.percent(launch / time)} of the time" if time > 0 else ""],
        ["blocks", f"{getattr(run, 'blocks', len(infos)):,}", kinds],
    ]
    if len(infos) > 1:
        ends = [c.end_ns / 1e3 for c in infos]
        rows.append(
            [
                "blocks end",
                f"{min(ends):,.2f} to {max(ends):,.2f} us",
                "all equally long"
                if max(ends) - min(ends) < 0.01 * max(ends)
                else f"block {max(infos, key=lambda c: (c.end_ns, -c.core)).block} ends last",
            ]
        )
    return rows


def byte_rows(run) -> list[list[str]]:
    known, time = data.totals(run), float(getattr(run, "time_us", 0) or 0)
    moved = known.get("gm_read_bytes", 0) + known.get("gm_write_bytes", 0)
    rows = []
    for what, key in (
        ("GM read", "gm_read_bytes"),
        ("GM written", "gm_write_bytes"),
        ("from L2", "l2_hit_bytes"),
        ("HBM", "hbm_bytes"),
    ):
        if key in known:
            note = ""
            if key == "hbm_bytes" and time > 0:
                rate, top = known[key] / time / 1e3, data.chip_number(run, "hbm_gbps")
                note = f"{text.digits(rate, 3)} GB/s" + (f" of {top:,.0f}" if top else "")
            elif key == "l2_hit_bytes" and moved:
                note = f"{text.percent(known[key] / moved)} of the GM bytes"
            rows.append([what, text.traffic(known[key]), note])
    if known.get("vector_elements"):
        rows.append(
            [
                "arithmetic",
                f"{known['vector_elements']:,.0f} vector elements",
                f"{text.digits(known['vector_elements'] / moved)} per GM byte" if moved else "",
            ]
        )
    return rows


def _guesses(run) -> str:
    guessed = [g for g in (getattr(getattr(run, "chip", None), "guessed", None) or ()) if not g.startswith("vec.")]
    if all(c.kind == "AIV" for c in data.cores(run)):
        guessed = [g for g in guessed if not g.startswith(_CUBE_ONLY)]
    if not guessed or "measured" in data.origin(run):
        return ""
    return f"The estimate rests on {text.count(len(guessed), 'guessed parameter')} of the chip: {', '.join(guessed)}."


def report(run) -> Page:
    """Time with its origin, the pipe that sets it, pipes, bytes, findings and performance notes."""
    what, why = bound(run)
    found, perf = _findings(run)
    pipes = [[r.kind, r.pipe, f"{r.mean_us:,.2f} us", text.percent(r.share), text.bar(r.share)] for r in pipe_rows(run)]
    if hbm_share(run) > 0:
        pipes.append(
            [
                "chip",
                "HBM",
                f"{hbm_share(run) * data.span_ns(run) / 1e3:,.2f} us",
                text.percent(hbm_share(run)),
                text.bar(hbm_share(run)),
            ]
        )
    title = data.title(run, "report")
    sections = [
        ("Time", ["", "", ""], time_rows(run)),
        ("Pipes: busy time, mean over the cores", ["", "", "busy", "share", ""], pipes),
        ("Bytes", ["", "", ""], byte_rows(run)),
    ]
    plain, page = (
        [title, "", f"Bound: {what}. {why}"],
        [f"<h3>{text.escape(title)}</h3>", f"<p><b>Bound: {text.escape(what)}.</b> {text.escape(why)}</p>"],
    )
    for heading, head, rows in sections:
        if rows:
            plain += ["", heading, *_plain_rows(rows)]
            page += [
                f"<h4>{text.escape(heading)}</h4>",
                text.html_table(head, rows, left=2 if len(head) > 3 else 1, wrap_last=True),
            ]
    for heading, listed, none in (
        ("Findings", found, "none: the checks saw nothing wrong"),
        ("What costs time", perf, "no performance note"),
    ):
        plain += ["", heading]
        page.append(f"<h4>{text.escape(heading)}</h4>")
        if not listed:
            plain.append(f"  {none}")
            page.append(f"<p>{none}</p>")
        for f in listed[:_SHOWN]:
            plain += [f"  {f.code} ({_severity(f)}) {_where(f)}".rstrip(), f"    {f.message}"] + (
                [f"    Fix: {f.hint}"] if f.hint else []
            )
            page.append(
                f"<p><code>{text.escape(f.code)}</code> {text.escape(_severity(f))} {text.escape(_where(f))}"
                f"<br/>{text.escape(f.message)}"
                + (f"<br/><i>Fix: {text.escape(f.hint)}</i>" if f.hint else "")
                + "</p>"
            )
        if len(listed) > _SHOWN:
            plain.append(f"  and {len(listed) - _SHOWN} more in run.findings")
            page.append(f"<p>and {len(listed) - _SHOWN} more in run.findings</p>")
    for note in getattr(run, "notes", None) or ():
        plain += ["", f"Note: {note}."]
        page.append(f"<p>Note: {text.escape(note)}.</p>")
    guesses = _guesses(run)
    if guesses:
        plain += ["", *textwrap.wrap(guesses, 100, break_long_words=False)]
        page.append(f'<p style="color:#6E6E6E">{text.escape(guesses)}</p>')
    return Page("\n".join(plain), "\n".join(page), title, {"bound": what, "findings": found, "perf": perf})


def _plain_rows(rows) -> list[str]:
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    right = {len(rows[0]) - 2} if len(rows[0]) == 3 else {2, 3}
    return [
        "  " + "  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths))).rstrip()
        for r in rows
    ]
