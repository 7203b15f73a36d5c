"""The table of everything a kernel can call: name, place, fidelity, chips, first chapter. Generated from the headers.

    python -m helpers.twin.api_table [--out FILE] [--match WORD]
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from functools import lru_cache
from pathlib import Path

from . import rulers

ROOT = Path(__file__).resolve().parents[2]
A2, BOTH, NONE = "A2/A3", "A2/A3, 310P", "-"


@lru_cache(maxsize=1)
def chapters() -> tuple[tuple[str, frozenset[str]], ...]:
    """Title number and words of each chapter's kernels, in order."""
    found = []
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        folder = ROOT / "kernels" / path.stem.split("_", 1)[1]
        code += "\n".join(p.read_text() for p in sorted(folder.glob("*.cpp")) + sorted(folder.glob("*.h")))
        found.append((path.stem, frozenset(re.findall(r"\w+", code))))
    return tuple(found)


def first_chapter(name: str) -> str:
    return next((title for title, words in chapters() if name in words), "")


def chips(api: rulers.Api) -> str:
    return NONE if api.fidelity == rulers.NOT_MODELLED else A2 if api.a2_only else BOTH


def rows(match: str = "") -> list[tuple[str, str, str, str, str]]:
    """(API, header:line, fidelity, chips, first chapter), by name."""
    apis = [a for a in rulers.apis() if match.lower() in a.name.lower()]
    return [(a.name, f"{a.header}:{a.line}", a.fidelity + (f": {a.instead.removeprefix('use ')}" if a.instead else ""), chips(a), first_chapter(a.short))
            for a in sorted(apis, key=lambda a: (a.name.lower(), a.name, a.header))]


def markdown(match: str = "") -> str:
    lines = ["| API | where | fidelity | chips | first chapter |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows(match)]
    return "\n".join(lines) + "\n"


def tested_words() -> frozenset[str]:
    """Every word of the tests: an API that no test spells has none."""
    tests = ROOT / "tests"
    paths = [*tests.glob("*.py"), *(tests / "cpp").glob("*")]
    return frozenset(w for p in paths if p.is_file() for w in re.findall(r"\w+", p.read_text()))


def without_ruler() -> list[str]:
    """Functions that the headers declare in AscendC although no ruler names them."""
    named = {a.short for a in rulers.apis()}
    return sorted(f"{name} ({where}:{line})" for name, (where, line) in rulers.declared().functions.items() if name not in named)


def without_test() -> list[str]:
    """Names that only say what to use instead are compiled one and all by the test of this table."""
    words = tested_words()
    return sorted({f"{a.name} ({a.header}:{a.line})" for a in rulers.apis() if a.short not in words and not a.instead})


def without_contract() -> list[str]:
    """Functions under a ruler that says nothing about them."""
    functions = rulers.declared().functions
    return sorted(f"{a.name} ({a.header}:{a.line})" for a in rulers.apis() if not a.contract and not a.instead and a.short in functions)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.twin.api_table", description="The table of everything a kernel can call.")
    parser.add_argument("--out", type=Path, help="write the table there")
    parser.add_argument("--match", default="", help="only names that contain this word")
    args = parser.parse_args(argv)
    text = markdown(args.match)
    if args.out:
        args.out.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
