"""What a view returns: a drawn figure, or a page of text, with the words that go with it.

Notebooks show both by themselves. The plain text is the alternative text, which also makes a saved notebook comparable:
test tools skip pixels, but they do compare words.
"""

from __future__ import annotations

import base64
import html
import io
from numbers import Real

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from . import style


_WIDEST = 100          # inches; at two pixels a point that is a large wall


def new_figure(width: float = style.WIDTH, height: float = 3.0) -> Figure:
    """A figure that belongs to nobody: pyplot does not know it, so nothing is drawn twice or kept alive."""
    if not isinstance(width, Real) or not 0 < width <= _WIDEST:
        raise ValueError(f"width={width!r}: a figure is so many inches wide, more than 0 and at most {_WIDEST}")
    figure = Figure(figsize=(width, height), dpi=style.SCALE)
    FigureCanvasAgg(figure)
    return figure


def require(rows, name: str) -> None:
    """Axes need something to span."""
    if not len(rows):
        raise ValueError(f"There is nothing to draw: {name} is empty.")


class Picture:
    """A figure with its alternative text (`alt`) and the data it was drawn from (`data`)."""

    def __init__(self, figure: Figure, alt: str, data=None):
        self.figure, self.alt, self.data = figure, alt, data
        self._png = None

    def png(self) -> bytes:
        """The picture as PNG. Two renderings of the same data have the same bytes."""
        if self._png is None:
            self._png = _render(self.figure, self.alt)
        return self._png

    def save(self, path) -> None:
        with open(path, "wb") as f:
            f.write(self.png())

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include=None, exclude=None):
        width, height = (round(x * style.SCALE) for x in self.figure.get_size_inches())
        return (
            {"image/png": base64.b64encode(self.png()).decode("ascii"), "text/plain": self.alt},
            {"image/png": {"alt": self.alt, "width": width, "height": height}},
        )


def _render(figure: Figure, alt: str) -> bytes:
    from PIL import Image, PngImagePlugin

    with style.sheet():
        old = figure.dpi
        figure.set_dpi(style.SCALE * style.SHARP)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = Image.frombuffer("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba()), "raw", "RGBA", 0, 1)
        figure.set_dpi(old)
    # flat colours: a palette of 128 keeps the look at a third of the size
    small = pixels.convert("RGB").quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    words = PngImagePlugin.PngInfo()
    words.add_itxt("Description", alt)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True, pnginfo=words)
    return out.getvalue()


class Page:
    """Text with an HTML form. `print(page)` gives the text."""

    def __init__(self, text: str, fragment: str, title: str = "", data=None):
        self.text, self.fragment, self.title, self.data = text, fragment, title, data

    @property
    def html(self) -> str:
        """The whole page, ready to be saved to a file."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
            f"<title>{html.escape(self.title)}</title></head>\n"
            f'<body style="font-family:sans-serif;margin:1.5em">\n{self.fragment}\n</body></html>\n'
        )

    def save(self, path) -> None:
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.write(self.html)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.fragment, "text/plain": self.text}, {}
