"""hp.expect_error: for cells that show a mistake. The error is part of the lesson, so its absence is the failure."""
from __future__ import annotations

from contextlib import contextmanager

from .catalogue import page
from .errors import WorkbookError


@contextmanager
def expect_error(code: str):
    """The block must raise this finding; it is printed as a learner would see it, and the notebook goes on.

        with hp.expect_error("MISSING_SYNC"):
            kernel[1](x, y)
    """
    page(code)                           # LookupError for a code that does not exist: a typing mistake must not pass
    try:
        yield
    except WorkbookError as error:
        if code not in [f.code for f in error.findings if f.severity == "error"]:
            found = ", ".join(error.codes) or type(error).__name__
            error.headline = f"Expected the error {code}; {found} came instead. {error.headline}"
            error.args = (error.headline,)
            raise
        print("\n".join(shown(error, code)))
        return
    raise AssertionError(f"Expected the error {code}; the block ran to its end without one.")


def shown(error: WorkbookError, code: str) -> list[str]:
    """The lines a learner sees, with the expected finding first; performance notes would only distract from it."""
    first = sorted((f for f in error.findings if f.severity != "note"), key=lambda f: f.code != code)
    lines = [f"{type(error).__name__}: {error.headline}"]
    for finding in first:
        lines += ["", *str(finding).splitlines()]
    return lines
