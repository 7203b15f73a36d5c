"""python -m helpers.conformance: runs every call on the twin and on the device, and writes what differs."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import npu_probe
from ..errors import WorkbookError
from .report import markdown
from .run import Target, outcomes


def main(words: list[str] | None = None) -> int:
    """0: nothing differs; 1: something differs or failed; 2: the wanted device is not here."""
    parser = argparse.ArgumentParser(prog="python -m helpers.conformance", description=__doc__)
    parser.add_argument("--target", choices=("auto", "host", "both"), default="auto", help="both needs a device; auto takes it when there is one")
    parser.add_argument("--only", default="*", metavar="PATTERN", help='calls or families, such as "Cast*" or half_math')
    parser.add_argument("--output", type=Path, help="file for the report (default: it is printed)")
    options = parser.parse_args(words)
    npu = npu_probe.probe() if options.target != "host" else npu_probe.Npu()
    if options.target == "both" and not npu.ready:
        print(f"--target both needs a device and CANN: {', '.join(npu.missing())}.", file=sys.stderr)
        return 2
    device = Target("npu") if npu.ready and options.target != "host" else None
    try:
        found = list(outcomes(options.only, device))
    except WorkbookError as error:
        print(error, file=sys.stderr)
        return 2
    if not found:
        print(f"No call or family fits {options.only!r}.", file=sys.stderr)
        return 2
    text = markdown(found, (npu.soc or "an Ascend device") if device else "twin only")
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        print(text.split("\n## ")[0].strip())
        print(f"\nWritten to {options.output}.")
    else:
        print(text)
    return int(any(o.verdict in ("differs", "failed") for o in found))


if __name__ == "__main__":
    sys.exit(main())
