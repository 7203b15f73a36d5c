"""The timeline as a page to zoom and move in. Self-contained: no network, no library, the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path

from . import data, style, text
from .lanes import choose_cores, lanes, merge
from .picture import Page

_MOST = 6000  # rectangles in one page: about 250 KB
_HELP = "Wheel or + and - zoom, drag or arrows move, 0 shows everything. Point at a rectangle for its line."


class Frame(Page):
    """A page that a notebook shows in a frame of its own, so that it cannot disturb the rest."""

    def __init__(self, text, document, height, title, data):
        super().__init__(text, "", title, data)
        self._document, self._height = document, height

    @property
    def html(self) -> str:
        return self._document

    def _repr_mimebundle_(self, include=None, exclude=None):
        frame = (
            f'<iframe srcdoc="{text.escape(self._document)}" title="{text.escape(self.text)}" '
            f'style="width:100%;height:{self._height}px;border:0"></iframe>'
        )
        return {"text/html": frame, "text/plain": self.text}, {}


def timeline_html(run, start=None, end=None, *, blocks=None, pipes=None, flags=False) -> Frame:
    """timeline() to zoom and move in. A long run merges short instructions: start and end (us) give more detail."""
    chosen = choose_cores(run, blocks)
    rows = lanes(run, chosen, pipes, flags)
    lo = 0.0 if start is None else start * 1e3
    hi = max(data.span_ns(run), 1.0) if end is None else end * 1e3
    if not hi > lo:
        raise ValueError(f"The range {start} to {end} us shows nothing: end must lie after start.")
    pixels = 32_000.0
    rects = [merge(lane, lo, hi, pixels) for lane in rows]
    while sum(map(len, rects)) > _MOST and pixels > 500:
        pixels /= 2
        rects = [merge(lane, lo, hi, pixels) for lane in rows]
    both = len({c.kind for c in data.cores(run)}) > 1
    content = {
        "start": round(lo, 1),
        "end": round(hi, 1),
        "ops": data.ops(run),
        "help": _HELP,
        "lanes": [
            {
                "group": data.core_label(lane.info, both).replace("\n", " "),
                "pipe": lane.pipe,
                **_tones(lane.pipe),
                "rects": [
                    [
                        round(float(s), 1),
                        round(float(e), 1),
                        max(0, int(t)),
                        int(o),
                        int(li),
                        int(c),
                        round(float(u), 2),
                    ]
                    for s, e, t, o, li, c, u in zip(r.start, r.end, r.tile, r.op, r.line, r.count, r.share)
                ],
            }
            for lane, r in zip(rows, rects)
        ],
    }
    title = data.title(run, "timeline")
    alt = f"{title}. x: {lo / 1e3:.2f} to {hi / 1e3:.2f} us, y: {text.count(len(rows), 'lane')}, "
    alt += f"{text.count(len(chosen), 'core')}."
    groups = len({lane.info.core for lane in rows})
    height = 24 * len(rows) + 10 * groups + 130
    return Frame(alt, _document(title, alt, content), min(height, 700), title, content)


def _tones(pipe: str) -> dict:
    dark = style.PIPE_COLOURS[pipe]
    light = style.tint(dark, 0.5)
    return {"dark": dark, "light": light, "onDark": style.ink_on(dark), "onLight": style.ink_on(light)}


def _document(title: str, alt: str, content: dict) -> str:
    # "</" must not end the script early, whatever the kernel's name is
    values = json.dumps(content, separators=(",", ":"), sort_keys=True).replace("</", "<\\/")
    script = Path(__file__).with_name("timeline.js").read_text(encoding="utf-8")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{text.escape(title)}</title></head>\n'
        f'<body style="font-family:sans-serif;margin:8px;background:#FFFFFF;color:#222222">\n'
        f'<div style="font-weight:bold;font-size:14px">{text.escape(title)}</div>\n'
        f'<canvas id="lanes" role="img" aria-label="{text.escape(alt)}" style="width:100%;display:block"></canvas>\n'
        f'<div id="note" style="font-size:12px;color:#6E6E6E">{_HELP}</div>\n'
        f"<script>\nconst DATA = {values};\n{script}</script>\n</body></html>\n"
    )
