"""python -m helpers.regress: runs the cases, compares with the stored history, fails above a threshold."""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from ..errors import WorkbookError
from . import history
from .cases import CASES
from .metrics import METRICS, differences, measure, table


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m helpers.regress", description=__doc__)
    parser.add_argument("--history", type=Path, default=Path("regress.json"), help="file with the stored numbers (default %(default)s)")
    parser.add_argument("--record", metavar="LABEL", help="store the numbers of this run under a label, such as a commit")
    parser.add_argument("--only", nargs="+", metavar="CASE", choices=[c.name for c in CASES], help="some of the cases: " + ", ".join(c.name for c in CASES))
    parser.add_argument("--target", choices=("host", "npu"), default="host")
    parser.add_argument("--limit", nargs="+", default=[], metavar="METRIC=SHARE", help="allow more or less, such as cycles=0.03; metrics: " + ", ".join(METRICS))
    options = parser.parse_args(words)
    try:
        limits = dict(map(_limit, options.limit))
        return _gate(options, limits)
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return 2


def _gate(options, limits: dict[str, float]) -> int:
    found, origin = {}, ""
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        run, actual, expected, rows = case.run(options.target)
        found[case.name] = measure(run, actual, expected, rows)
        origin = run.origin
    entries = history.load(options.history)
    before = history.last(entries, origin)
    status = 0
    if before is None:
        print(f"No earlier numbers with origin {origin} in {options.history}: nothing to compare with.")
        for name, metrics in found.items():
            print(f"  {name}: " + ", ".join(f"{k} {v:,.6g}" for k, v in metrics.items()))
    else:
        rows = differences(before.cases, found, limits, measured=origin.startswith("measured"))
        print(f"{origin}, compared with {before.label}\n\n{table(rows)}\n")
        failed = [d for d in rows if d.failed]
        missing = sorted(set(before.cases) - set(found)) if not options.only else []
        missing += [f"{metric} of {case}" for case in found for metric in METRICS if metric in before.cases.get(case, {}) and metric not in found[case]]
        for name in missing:
            print(f"{name} was measured in {before.label} and is not any more.")
        print("Passed." if not failed and not missing else f"Failed: {len(failed)} of {len(rows)} numbers are beyond their limit.")
        status = int(bool(failed or missing))
    if options.record:
        history.append(options.history, history.Entry(options.record, options.target, origin, found))
        print(f"Stored as {options.record} in {options.history}.")
    return status


def _limit(word: str) -> tuple[str, float]:
    name, _, share = word.partition("=")
    try:
        if name in METRICS and 0 <= float(share) < math.inf:
            return name, float(share)
    except ValueError:
        pass
    raise WorkbookError(f"--limit {word}: write METRIC=SHARE, such as cycles=0.03; metrics: {', '.join(METRICS)}.")


if __name__ == "__main__":
    sys.exit(main())
