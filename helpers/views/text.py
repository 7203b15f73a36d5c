"""Numbers and tables as text: two digits in prose, units always, the same string on every machine."""

from __future__ import annotations

import html
import math


def digits(x: float, n: int = 2) -> str:
    """`x` with `n` significant digits, never in scientific notation: 0.1667 -> 0.17, 1242296 -> 1,200,000."""
    if not math.isfinite(x):
        return "-"
    if x == 0:
        return "0"
    places = n - 1 - math.floor(math.log10(abs(x)))
    x = round(x, places)
    places = n - 1 - math.floor(math.log10(abs(x)))  # 9.96 rounds to 10, which has one place less
    return f"{x:,.{max(0, places)}f}"


def us(t: float, n: int = 2) -> str:
    return f"{digits(t, n)} us"


def percent(x: float) -> str:
    """0.0123 -> 1.2 %, 0.91 -> 91 %. A nonzero share is never shown as 0 or a part as 100."""
    if not math.isfinite(x):
        return "-"
    p = 100 * x
    if p == 0 or p >= 100:
        return f"{p:.0f} %"
    if p > 99.4:
        return f"{min(p, 99.9):.1f} %"
    return f"{p:.0f} %" if p >= 9.95 else (f"{p:.1f} %" if p >= 0.05 else "<0.1 %")


def size(n: float) -> str:
    """Bytes of on-chip memory: B, then KB of 1024 B."""
    if n < 1024:
        return f"{n:,.0f} B"
    k = n / 1024
    return f"{k:,.0f} KB" if k == int(k) or k >= 100 else f"{k:,.1f} KB"


def traffic(n: float) -> str:
    """Bytes that crossed a bus: exact below 10 KB, then KB of 1024 B, then MB and GB of 10^6 and 10^9 B."""
    if n < 10_000:
        return f"{n:,.0f} B"
    if n < 1e6:
        return f"{digits(n / 1024, 3)} KB"
    return f"{digits(n / 1e6, 3)} MB" if n < 1e10 else f"{digits(n / 1e9, 3)} GB"


def count(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def bar(share: float, width: int = 10) -> str:
    """A share as a bar of characters, so that it survives where styles do not."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def table(head: list[str], rows: list[list[str]], left: int = 1, wrap_last: bool = False) -> str:
    """A text table; the first `left` columns align left, the others right (the last left when `wrap_last`)."""
    cells = [head, *rows]
    widths = [max(len(str(r[i])) for r in cells) for i in range(len(head))]
    flush = [i < left or (wrap_last and i == len(head) - 1) for i in range(len(head))]

    def line(r):
        return "  ".join(str(c).ljust(w) if f else str(c).rjust(w) for c, w, f in zip(r, widths, flush)).rstrip()

    return "\n".join([line(head), "  ".join("-" * w for w in widths), *map(line, rows)])


_CELL = "padding:2px 10px;text-align:{};border-bottom:1px solid #E6E6E6"


def html_table(
    head: list[str], rows: list[list[str]], left: int = 1, wrap_last: bool = False, mono: bool = False
) -> str:
    """The same table as HTML, every cell escaped."""
    flush = [i < left or (wrap_last and i == len(head) - 1) for i in range(len(head))]
    font = "font-family:monospace;white-space:pre;" if mono else ""

    def cells(tag, r):
        return "".join(
            f'<{tag} style="{font}{_CELL.format("left" if f else "right")}">{cell(str(c))}</{tag}>'
            for c, f in zip(r, flush)
        )

    body = "\n".join(f"<tr>{cells('td', r)}</tr>" for r in rows)
    top = f"<thead><tr>{cells('th', head)}</tr></thead>\n" if any(head) else ""
    return f'<table style="border-collapse:collapse;font-size:13px">\n{top}<tbody>\n{body}\n</tbody></table>'


def cell(words: str) -> str:
    """A cell escaped; a bar() in colour."""
    is_bar = words.strip() != "" and set(words) <= set("█▏▎▍▌▋▊▉ ")
    return f'<span style="color:#0072B2">{words}</span>' if is_bar else html.escape(words)


def escape(s) -> str:
    return html.escape(str(s))
