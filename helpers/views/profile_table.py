"""Profiles as tables and bars: launches by kernel, a measured run beside its estimate, shares of the pipes by version."""

from __future__ import annotations

from . import data, style, text
from .picture import Page, Picture, new_figure
from .pipe_table import pipe_rows


def profile_table(profile) -> Page:
    """Launches by kernel: how often, time, wait, and the busiest pipe."""
    names = list(dict.fromkeys(r.name for r in profile.runs))
    head, body = ["kernel", "launches", "time us", "mean us", "wait us", "busiest pipe", "share"], []
    every = sum(r.time_us for r in profile.runs) or 1.0
    for name in sorted(names, key=lambda n: -sum(r.time_us for r in profile.runs if r.name == n)):
        runs = [r for r in profile.runs if r.name == name]
        time, wait = sum(r.time_us for r in runs), sum(data.totals(r).get("wait_us", 0.0) for r in runs)
        rows = [row for r in runs for row in pipe_rows(r)]
        top = max(rows, key=lambda r: r.share) if rows else None
        busiest = f"{top.kind} {top.pipe} {text.percent(top.share)}" if top else "?"
        body.append([name, str(len(runs)), f"{time:,.2f}", f"{time / len(runs):,.2f}", f"{wait:,.2f}", busiest, text.percent(time / every)])
    title = f"Launches by kernel, {profile.runs[0].origin if profile.runs else profile.kind}{profile.omitted}"
    plain = f"{title}\n\n{text.table(head, body)}"
    return Page(plain, f"<div><b>{text.escape(title)}</b></div>\n{text.html_table(head, body)}", title, body)


def against(measured, estimate) -> Page:
    """Two runs of one kernel side by side: time, pipes, bytes, and the estimate as a share of the other."""
    head = ["", measured.origin, estimate.origin, "estimate / other"]
    body = [_row("time us", measured.time_us, estimate.time_us), _row("launch us", data.launch_us(measured), data.launch_us(estimate))]
    ours, theirs = ({(r.kind, r.pipe): r.mean_us for r in pipe_rows(run)} for run in (estimate, measured))
    for kind in data.KINDS:
        for pipe in data.FLOW:
            if (kind, pipe) in ours or (kind, pipe) in theirs:
                body.append(_row(f"{kind} {pipe} busy us", theirs.get((kind, pipe)), ours.get((kind, pipe))))
    left, right = data.totals(measured), data.totals(estimate)
    for key, words in (("gm_read_bytes", "GM read KB"), ("gm_write_bytes", "GM written KB"), ("hbm_bytes", "HBM KB")):
        if key in left or key in right:
            body.append(_row(words, *((d[key] / 1024 if key in d else None) for d in (left, right))))
    title = f"{measured.name}: {measured.origin} beside {estimate.origin}"
    plain = f"{title}\n\n{text.table(head, body)}"
    return Page(plain, f"<div><b>{text.escape(title)}</b></div>\n{text.html_table(head, body)}", title, body)


def _row(words: str, left: float | None, right: float | None) -> list[str]:
    show = lambda v: "NA" if v is None else f"{v:,.2f}"  # noqa: E731
    ratio = f"{right / left:.2f}" if left and right is not None else ""
    return [words, show(left), show(right), ratio]


@style.styled
def pipe_shares(runs: dict, *, title: str = "", width=style.WIDTH) -> Picture:
    """Share of the time in which each pipe is busy, one group of bars per run: {"v1": run, …}."""
    shares = {name: {r.pipe: r.share for r in pipe_rows(run)} for name, run in runs.items()}
    pipes = [p for p in data.FLOW if any(p in s for s in shares.values())]
    origins = ", ".join(dict.fromkeys(run.origin for run in runs.values()))
    heading = f"{title or 'Busy share of each pipe'}: {origins}"
    height = 1.5 + 0.2 * len(runs) * max(1, len(pipes))
    figure = new_figure(width, height)
    left = 0.4 + 0.08 * max((len(n) for n in runs), default=4)
    ax = figure.add_axes((left / width, 0.55 / height, (width - left - 0.7) / width, (height - 1.23) / height))
    thick = 0.8 / max(1, len(pipes))
    for i, name in enumerate(runs):
        for k, pipe in enumerate(pipes):
            value = shares[name].get(pipe, 0.0)
            y = i - 0.4 + thick * (k + 0.5)
            ax.barh(y, value, height=thick * 0.9, color=style.PIPE_COLOURS[pipe], label=f"{pipe} ({style.PIPE_ROLES[pipe]})" if i == 0 else None)
            ax.annotate(f"{pipe} {text.percent(value)}", (value, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7.5)
    ax.set_xlim(0, 1.12)
    ax.set_ylim(len(runs) - 0.4, -0.6)
    ax.set_yticks(range(len(runs)), list(runs))
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    ax.grid(axis="x")
    ax.set_xlabel("share of the cores' time in which the pipe is busy")
    ax.set_title(heading, x=-(left - 0.05) / (width - left - 0.7), pad=26)
    figure.legend(loc="upper left", bbox_to_anchor=(0.004, 1 - 0.42 / height), ncols=len(pipes) or 1, borderaxespad=0)
    says = "; ".join(f"{n}: " + ", ".join(f"{p} {text.percent(s[p])}" for p in pipes if p in s) for n, s in shares.items())
    return Picture(figure, f"{heading}. x: busy share, one group of bars per run. {says}.", shares)
