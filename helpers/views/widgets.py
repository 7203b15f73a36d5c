"""Sliders around the same draw functions. The work is in the plain functions: a widget only picks their arguments."""

from __future__ import annotations

from . import data
from .timeline import timeline
from .ub_map import ub_map
from .ub_plan import ub_plan


def _ipywidgets():
    try:
        import ipywidgets
    except ImportError as e:
        raise ImportError(
            "Sliders need ipywidgets: pip install ipywidgets. "
            "Without it call the view itself, for example run.timeline(start=0, end=2)."
        ) from e
    return ipywidgets


def timeline_window(run, blocks=None):
    """(draw, end): draw(start, width) is the picture a slider shows, end the length of the run in us."""
    end = max(data.span_ns(run) / 1e3, 0.001)

    def draw(start: float = 0.0, width: float = end):
        lo = min(max(0.0, start), end * 0.999)
        return timeline(run, lo, min(end, lo + max(width, end / 1000)), blocks=blocks)

    return draw, end


def interact_timeline(run, blocks=None):
    """Two sliders: where the window starts and how wide it is, in us."""
    w = _ipywidgets()
    draw, end = timeline_window(run, blocks)
    step = end / 200
    return w.interactive(
        draw,
        start=w.FloatSlider(0, min=0, max=end, step=step, description="start us", continuous_update=False),
        width=w.FloatSlider(end, min=step, max=end, step=step, description="width us", continuous_update=False),
    )


def interact_ub_map(run, mem: str = "UB"):
    """One slider: which block's memory to show."""
    w = _ipywidgets()
    blocks = [c.block for c in data.cores(run)] or [0]

    def draw(block: int = blocks[0]):
        return ub_map(run, block=block, mem=mem)

    return w.interactive(draw, block=w.SelectionSlider(options=blocks, description="block", continuous_update=False))


def interact_ub_plan(
    queues=(("inX", 2), ("inY", 2), ("outZ", 2)), capacity: int = 196_608, itemsize: int = 2, largest: int = 32_768
):
    """One slider: elements per tile, until the plan no longer fits."""
    w = _ipywidgets()

    def draw(elements: int = 8192):
        return ub_plan(
            [(n, k, elements * itemsize) for n, k in queues], capacity, title=f"{elements:,} elements a tile"
        )

    return w.interactive(
        draw,
        elements=w.IntSlider(8192, min=256, max=largest, step=256, description="elements", continuous_update=False),
    )


def stepper(draw, values, *, name: str = "step"):
    """One slider over values; draw(value) is the picture below it. draw is also the static twin: call it in a cell of its own."""
    w = _ipywidgets()
    values = list(values)
    slider = w.SelectionSlider(options=values, value=values[-1], description=name, continuous_update=False, layout=w.Layout(width="60%"))
    shown = draw(values[-1])
    width = round(shown.figure.get_size_inches()[0] * 100)
    picture = w.Image(value=shown.png(), format="png", width=width)
    slider.observe(lambda change: setattr(picture, "value", draw(change["new"]).png()), "value")
    return w.VBox([slider, picture], model_id=f"stepper-{name}")     # a fixed id: a stored notebook stays the same
