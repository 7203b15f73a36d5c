"""Macros that the caller defines for a text: defines={"N": 4}."""
from __future__ import annotations

import re


def lines(defines: dict | None) -> str:
    """The #define lines in front of the text."""
    if not isinstance(defines or {}, dict):
        raise TypeError(f"defines={defines!r}: give names and values, {{\"N\": 4, \"FLAG\": True}}")
    for name, value in (defines or {}).items():
        if not re.fullmatch(r"[A-Za-z_]\w*(\([\w\s,.]*\))?", str(name)) or "\n" in _text(value):
            raise ValueError(f"A macro {name!r} with the value {_text(value)!r} cannot be defined: a name has letters, digits and _, and a value is one line.")
    return "".join(f"#define {name} {_text(value)}\n" for name, value in sorted((defines or {}).items()))


def values(defines: dict | None) -> dict[str, int]:
    """What the scan of a text needs to follow #if: whole numbers; 1 for what is none, as for a flag."""
    lines(defines)
    return {name: _number(value) for name, value in (defines or {}).items()}


def _text(value) -> str:
    return "1" if value is True else "0" if value is False else "" if value is None else str(value)


def _number(value) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 1
