"""Pictures of errors: in units of the last place against a size, and over the places of a result."""
from __future__ import annotations

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from . import style, text
from .bars import plain_log
from .picture import Picture, new_figure


def ulp_error(actual, expected) -> np.ndarray:
    """Distance from the expected value in steps of the result's type; inf or NaN in the wrong place is inf."""
    actual, expected = np.asarray(actual), np.asarray(expected, np.float64)
    if actual.dtype.kind != "f" or expected.size != 1 and actual.shape != expected.shape:
        raise ValueError(f"ULP are counted for floating-point results of the expected shape, not for {actual.dtype} of {actual.shape} beside {expected.shape}.")
    info = np.finfo(actual.dtype)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(expected)[1] - 1, info.minexp)
        gap = np.abs(actual.astype(np.float64) - expected) / np.ldexp(1.0, exponent - info.nmant)
        return np.where((actual == expected) | (np.isnan(actual) & np.isnan(expected)), 0.0, np.where(np.isnan(gap), np.inf, gap))


@style.styled
def ulp_curves(curves: dict, *, x: str, title: str, width: float = 7.5) -> Picture:
    """curves: {"half inside": {16: 0.7, …}}: the largest error in ULP for each size. inf is drawn at the upper edge."""
    height, left, right = 3.5, 0.75, 0.3
    figure = new_figure(width, height)
    ax = figure.add_axes((left / width, 0.55 / height, (width - left - right) / width, (height - 1.0) / height))
    finite = [v for c in curves.values() for v in c.values() if np.isfinite(v)]
    top = 10 ** np.ceil(np.log10(max(finite, default=1) * 2) + 0.5)
    says = []
    for i, (name, curve) in enumerate(curves.items()):
        ax.plot(list(curve), [min(v, top * 0.7) for v in curve.values()], color=style.SERIES[i], marker=style.MARKERS[i], markersize=5, label=name)
        for size, value in curve.items():
            if not np.isfinite(value):
                ax.annotate("inf", (size, top * 0.7), xytext=(0, -13), textcoords="offset points", ha="center", fontsize=8, color=style.ALARM)
        says.append(f"{name}: " + ", ".join(f"{size}: {text.digits(value, 2) if np.isfinite(value) else 'inf'}" for size, value in curve.items()))
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_ylim(min(finite, default=0.1) / 2, top)
    plain_log(ax.yaxis)
    sizes = sorted({s for c in curves.values() for s in c})
    ax.xaxis.set_major_locator(FixedLocator(sizes))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ax.grid()
    ax.set_xlabel(f"{x} (log axis)")
    ax.set_ylabel("largest error, ULP (log axis)")
    ax.set_title(title, x=-left / (width - left - right) + 0.01, pad=8)
    ax.legend()
    return Picture(figure, f"{title}. x: {x}, y: largest error in ULP, log axes. {'. '.join(says)}.", curves)


@style.styled
def error_map(actual, expected, *, title: str, limit: float = 1.0, width: float = 7.5) -> Picture:
    """Rows and columns of a result: within half of `limit` ULP, within it, and beyond. The eye finds stripes faster than a list does."""
    ulp = ulp_error(actual, expected)
    if ulp.ndim != 2 or not ulp.size:
        raise ValueError(f"An error map shows rows and columns, not shape {ulp.shape}.")
    level = np.digitize(ulp, [limit / 2 + 1e-3, limit])
    counts = np.bincount(level.ravel(), minlength=3)
    names = [f"up to {limit / 2:g} ULP", f"up to {limit:g} ULP", f"more than {limit:g} ULP"]
    colours = [style.tint(style.SERIES[0], 0.75), style.SERIES[1], style.ALARM]
    height, left, right = 3.2, 0.75, 0.3
    figure = new_figure(width, height)
    ax = figure.add_axes((left / width, 0.55 / height, (width - left - right) / width, (height - 1.3) / height))
    ax.imshow(level, cmap=ListedColormap(colours), vmin=0, vmax=2, aspect="auto", interpolation="nearest")
    for colour, name, count in zip(colours, names, counts):
        ax.plot([], [], "s", color=colour, label=f"{name}: {count:,}")
    ax.set_xlabel("column")
    ax.set_ylabel("row")
    ax.set_title(title, x=-left / (width - left - right) + 0.01, pad=26)
    figure.legend(loc="upper left", bbox_to_anchor=(0.004, 1 - 0.42 / height), ncols=3, borderaxespad=0)
    bad_columns = np.flatnonzero((level == 2).any(axis=0))
    where = f"wrong columns {bad_columns[0]} to {bad_columns[-1]}" if bad_columns.size else "no place is wrong"
    share = "; ".join(f"{name}: {count:,}" for name, count in zip(names, counts))
    return Picture(figure, f"{title}. x: column, y: row, colour: error in ULP. {share}. Notice: {where}.", ulp)
