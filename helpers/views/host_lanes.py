"""What a host program called, and what ran on its streams: steps from left to right, one lane for the host, one per stream."""

from __future__ import annotations

from . import style, text
from .picture import Picture, new_figure

_WAITS = ("aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtSynchronizeEvent", "aclrtSynchronizeStreamWithTimeout", "aclrtSynchronizeDeviceWithTimeout")


def steps(run) -> list[dict]:
    """Each call with where its work runs: "host", or the stream's number; launches wait for the next synchronisation."""
    out, waiting = [], []
    for number, call in enumerate(run.calls):
        name = call["call"]
        out.append({"step": number, "lane": "host", "name": call["what"] if name == "launch" else name, "line": call["line"], "queued": name == "launch", "failed": call["code"] != 0})
        if name in ("launch", "aclrtMemcpyAsync", "aclrtMemsetAsync") and not call["code"]:
            waiting.append((number, call))
        elif name in _WAITS:
            for at, c in waiting:
                if c["stream"] == call["stream"] or call["stream"] == -2:
                    out.append({"step": number, "lane": c["stream"], "name": c["what"] if c["call"] == "launch" else c["call"], "line": c["line"], "queued": False, "failed": False, "from": at})
            waiting = [(at, c) for at, c in waiting if c["stream"] != call["stream"] and call["stream"] != -2]
    return out


@style.styled
def host_lanes(run, first: str = "", *, width=style.WIDTH) -> Picture:
    """first: name of the call with which the picture begins. Steps have no length: the twin estimates kernels, not host calls."""
    rows = steps(run)
    start = next((r["step"] for r in rows if r["name"].startswith(first)), 0) if first else 0
    rows = [r for r in rows if r["step"] >= start]
    lanes = ["host", *sorted({r["lane"] for r in rows if r["lane"] != "host"})]
    count = max((r["step"] for r in rows), default=0) - start + 1
    height = 1.95 + 0.7 * len(lanes)
    figure = new_figure(width, height)
    ax = figure.add_axes((0.09, 0.5 / height, 0.89, (height - 1.85) / height))
    for r in rows:
        x, y = r["step"] - start, lanes.index(r["lane"])
        colour = style.ALARM if r["failed"] else style.PIPE_COLOURS["V"] if r["lane"] != "host" else style.PIPE_COLOURS["MTE1"] if r["queued"] else style.FAINT
        ax.barh(y, 0.86, left=x - 0.43, height=0.5, color=colour, edgecolor=style.SOFT, linewidth=0.5)
        if r["lane"] == "host":
            ax.annotate(r["name"].removeprefix("aclrt"), (x, y - 0.3), xytext=(0, 2), textcoords="offset points", rotation=55, fontsize=7.5, ha="left", va="bottom")
        else:
            ax.annotate(r["name"], (x, y), ha="center", va="center", fontsize=7)
            ax.annotate("", (x, y - 0.28), (r["from"] - start, 0.28), arrowprops={"arrowstyle": "->", "color": style.SOFT, "linestyle": "--"})
    ax.set_ylim(len(lanes) - 0.4, -0.6)
    ax.set_xlim(-0.7, count - 0.3)
    ax.set_yticks(range(len(lanes)), [lane if lane == "host" else f"stream {lane}" for lane in lanes])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("order of the host's calls (no time scale)")
    heading = f"Host calls and stream tasks, {run.origin}"
    figure.text(0.01, 1 - 0.22 / height, heading, fontsize=10.5, fontweight="bold", va="center")
    ran = [f"{r['name']} queued at line {r['line']} runs at step {r['step'] - start + 1}" for r in rows if r["lane"] != "host"]
    return Picture(figure, f"{heading}. x: order of the calls. {text.count(count, 'call')}. {'; '.join(ran) or 'Nothing ran on a stream'}.", rows)
