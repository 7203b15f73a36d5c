"""Colours, fonts and sizes of every picture, in one place.

The palette is Okabe and Ito's: it stays distinct for the common kinds of colour blindness. No picture relies on colour
alone: lanes have names, series have markers, and alternate tiles differ in lightness.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager

import matplotlib

PIPE_COLOURS = {
    "S": "#8C8C8C",  # scalar
    "V": "#E69F00",  # vector
    "M": "#D55E00",  # cube
    "MTE1": "#56B4E9",  # L1 -> L0
    "MTE2": "#0072B2",  # load
    "MTE3": "#009E73",  # store
    "FIX": "#CC79A7",  # L0C -> out
}
PIPE_ROLES = {
    "S": "scalar",
    "V": "vector",
    "M": "cube",
    "MTE1": "L1 to L0",
    "MTE2": "load",
    "MTE3": "store",
    "FIX": "L0C out",
}

SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK, SOFT, FAINT, PAPER = "#222222", "#6E6E6E", "#E6E6E6", "#FFFFFF"
ALARM = "#B2182B"  # does not fit, error
WIDTH = 9.0  # inches: the text column of a notebook
SCALE = 100  # layout pixels per inch; PNGs hold more, so that they stay sharp on dense screens
SHARP = 1.5

_OWN = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "figure.dpi": SCALE,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "views",
}
_GROUPS = (
    "font.",
    "text.",
    "axes.",
    "xtick.",
    "ytick.",
    "legend.",
    "grid.",
    "figure.",
    "lines.",
    "patch.",
    "hatch.",
    "path.",
    "agg.",
    "mathtext.",
    "scatter.",
    "date.",
    "markers.",
)


@contextmanager
def sheet():
    """Our settings, whatever the notebook has set, and the notebook's own again afterwards."""
    plain = {k: v for k, v in matplotlib.rcParamsDefault.items() if k.startswith(_GROUPS)}
    with matplotlib.rc_context({**plain, **_OWN}):
        yield


def styled(draw):
    @functools.wraps(draw)
    def inside(*args, **kwargs):
        with sheet():
            return draw(*args, **kwargs)

    return inside


def mix(colour: str, other: str, share: float) -> str:
    """`colour` with `share` of `other` mixed in."""
    a, b = (tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in (colour, other))
    return "#%02X%02X%02X" % tuple(round(x + (y - x) * share) for x, y in zip(a, b))


def tint(colour: str, share: float = 0.45) -> str:
    return mix(colour, PAPER, share)


def ink_on(colour: str) -> str:
    """Text colour with enough contrast on `colour`."""
    r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return INK if 0.2126 * r**2.2 + 0.7152 * g**2.2 + 0.0722 * b**2.2 > 0.18 else PAPER
