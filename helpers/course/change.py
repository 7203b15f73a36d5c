"""A kernel with one line changed: how a chapter shows what a small mistake, or a small step, does."""
from __future__ import annotations


def changed(text: str, old: str, new: str) -> str:
    """The text with `old`, which must occur exactly once, replaced. A change that hits nothing is an error, not a no-op."""
    count = text.count(old)
    if count != 1:
        raise ValueError(f"{old!r} occurs {count} times in the kernel; a change needs a text that occurs once.")
    return text.replace(old, new)
