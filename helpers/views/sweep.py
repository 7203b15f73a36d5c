"""One number varied, one curve: tile size, number of blocks, length."""

from __future__ import annotations

from dataclasses import dataclass, field

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from . import data, style, text
from .bars import plain_log
from .picture import Picture, new_figure


@dataclass
class Sweep:
    """values[i] took times[i] us; None where it could not run, and failed[value] is the finding code."""

    values: list
    times: list
    runs: list
    failed: dict = field(default_factory=dict)
    origin: str = ""

    @property
    def best(self):
        """The value with the shortest time (the first of equals), None when nothing ran."""
        ran = [(t, i) for i, t in enumerate(self.times) if t is not None]
        return self.values[min(ran)[1]] if ran else None

    def __repr__(self) -> str:
        rows = [
            [f"{v:,}" if isinstance(v, int) else str(v), "-" if t is None else f"{t:,.2f}", self.failed.get(v, "")]
            for v, t in zip(self.values, self.times)
        ]
        return text.table(["value", "time us", ""], rows, left=0, wrap_last=True)


def sweep(fn, values) -> Sweep:
    """Calls fn(value) for every value; fn returns a Run, or a time in us.

    A kernel that cannot run with a value (its tile does not fit, …) is part of the answer: the finding code is kept.
    Any other exception ends the sweep.
    """
    from ..errors import WorkbookError

    found = Sweep([], [], [])
    for value in values:
        try:
            result = fn(value)
        except WorkbookError as problem:
            findings = list(getattr(problem, "findings", None) or [])
            found.failed[value] = next(
                (str(f.code) for f in findings if str(f.severity).lower().endswith("error")),
                str(findings[0].code) if findings else type(problem).__name__,
            )
            result = None
        time = getattr(result, "time_us", result)
        found.values.append(value)
        found.times.append(None if time is None else float(time))
        found.runs.append(result if hasattr(result, "time_us") else None)
        found.origin = found.origin or (data.origin(result) if hasattr(result, "time_us") else "")
    return found


@style.styled
def plot_sweep(
    found,
    *,
    x: str = "value",
    unit: str = "us",
    title: str = "",
    log_x: bool = True,
    log_y: bool = False,
    width: float = 7.5,
) -> Picture:
    """The curve of a Sweep, or several as {"one buffer": sweep, …}. x: what varies, with its unit: "tile, KB"."""
    many = found if isinstance(found, dict) else {"": found}
    height = 3.5
    figure = new_figure(width, height)
    left, right, top, bottom = 0.75, 0.3, 0.45, 0.55
    ax = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )
    origins = dict.fromkeys(s.origin for s in many.values() if s.origin)
    for i, (name, s) in enumerate(many.items()):
        ran = [(v, t) for v, t in zip(s.values, s.times) if t is not None]
        ax.plot(
            [v for v, _ in ran],
            [t for _, t in ran],
            marker=style.MARKERS[i % len(style.MARKERS)],
            color=style.SERIES[i % len(style.SERIES)],
            label=name or None,
            markersize=5,
        )
        for v, t in ran if len(many) == 1 and len(ran) <= 12 else []:
            ax.annotate(
                text.digits(t, 3),
                (v, t),
                xytext=(4, 5),
                textcoords="offset points",
                ha="left",
                fontsize=7.5,
                color=style.SOFT,
            )
    values = sorted({v for s in many.values() for v in s.values})
    if log_x and values and values[0] > 0:
        ax.set_xscale("log", base=2)
    if log_y:
        ax.set_yscale("log")
        plain_log(ax.yaxis, (1.0, 2.0, 5.0))
    else:
        highest = max((t for s in many.values() for t in s.times if t is not None), default=1.0)
        ax.set_ylim(0, highest * 1.18)
    _draw_failed(ax, many)
    if len(values) <= 14:
        ax.xaxis.set_major_locator(FixedLocator(values))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}" if v >= 1 and v == round(v) else f"{v:g}"))
    ax.grid()
    ax.set_xlabel(x + (" (log axis)" if ax.get_xscale() == "log" else ""))
    ax.set_ylabel(f"time in {unit}" + (" (log axis)" if log_y else ""))
    heading = ", ".join([title or "sweep", *(origins or ["estimate"])])
    ax.set_title(heading, x=-left / (width - left - right) + 0.01, pad=8)
    if len(many) > 1:
        ax.legend()
    return Picture(figure, _alt(heading, many, x, unit), many)


def _draw_failed(ax, many):
    """Values that could not run: a mark at the bottom with the reason."""
    codes = {}
    for s in many.values():
        codes.update(s.failed)
    for v, code in codes.items():
        ax.plot(
            [v],
            [0.03],
            marker="x",
            color=style.ALARM,
            markersize=8,
            markeredgewidth=2,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
        )
        ax.annotate(
            code,
            (v, 0.08),
            xycoords=ax.get_xaxis_transform(),
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=7.5,
            color=style.ALARM,
        )


def _alt(heading, many, x, unit) -> str:
    says = []
    for name, s in many.items():
        ran = [f"{v}: {text.digits(t, 3)}" for v, t in zip(s.values, s.times) if t is not None]
        lost = [f"{v} does not run ({code})" for v, code in s.failed.items()]
        says.append(
            (f"{name}: " if name else "")
            + ", ".join([*ran, *lost])
            + (f". Notice: fastest at {s.best}" if s.best is not None else "")
        )
    return f"{heading}. x: {x}, y: time in {unit}. {'. '.join(says)}."
