"""python -m helpers.cc add.asc -o add: a host program with its kernels as an ordinary executable that needs no device.

Takes the options that a course's shell cell uses. Options of the device compiler that mean nothing here are named and
left out; anything else it does not know is an error.
"""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from .chips import DEFAULT
from .errors import WorkbookError
from .program import build_program

USAGE = """usage: python -m helpers.cc FILE… [-o NAME] [-r npu|cpu] [--chip NAME] [-I DIR] [-D NAME[=VALUE]]

  -o NAME      the executable (default a.out)
  -r MODE      npu: <<<>>> and aclrt calls; cpu: ICPU_RUN_KF (default: what the text uses)
  --chip NAME  profile for sizes and estimated times (default Ascend910B1)"""
_IGNORED = ("-O", "-g", "--npu-arch", "-std", "-x", "-W", "-f", "-l", "-L", "--run-mode", "--npu-soc", "--cce", "-pthread")
_IGNORED_VALUE = ("-x",)


class _Usage(Exception):
    pass


def main(words: list[str]) -> int:
    try:
        options = _parse(words)
    except _Usage as error:
        print(f"helpers.cc: {error}\n{USAGE}" if str(error) else USAGE, file=sys.stderr if str(error) else sys.stdout)
        return 2 if str(error) else 0
    try:
        built = build_program([Path(f) for f in options["files"]], chip=options["chip"], style=options["style"], include=options["include"], defines=options["defines"])
    except FileNotFoundError as error:
        print(f"helpers.cc: there is no file {error.filename}", file=sys.stderr)
        return 1
    except (WorkbookError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if options["ignored"]:
        print("left out, no meaning here: " + " ".join(options["ignored"]), file=sys.stderr)
    target = Path(options["out"])
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy2(built, scratch)
        os.replace(scratch, target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        print(f"helpers.cc: {target} cannot be written ({error.strerror}). -o names the executable, in a folder that is there.", file=sys.stderr)
        return 1
    return 0


def _parse(words: list[str]) -> dict:
    found = {"files": [], "out": "a.out", "style": "auto", "chip": DEFAULT, "include": [], "defines": {}, "ignored": []}
    rest = iter(words)

    def value(word: str, flag: str) -> str:
        joined = word[len(flag):].removeprefix("=")
        result = joined or next(rest, "")
        if not result:
            raise _Usage(f"{flag} needs a value")
        return result

    for word in rest:
        if word in ("-h", "--help"):
            raise _Usage("")
        if word.startswith("--chip"):
            found["chip"] = value(word, "--chip")
        elif word.startswith("-o"):
            found["out"] = value(word, "-o")
        elif word.startswith("-r"):
            found["style"] = value(word, "-r")
        elif word.startswith("-I"):
            found["include"].append(value(word, "-I"))
        elif word.startswith("-D"):
            name, _, text = value(word, "-D").partition("=")
            found["defines"][name] = text or 1
        elif word.startswith("-"):
            if not word.startswith(_IGNORED):
                raise _Usage(f"{word} is not known")
            found["ignored"].append(word)
            if word in _IGNORED_VALUE:
                found["ignored"].append(next(rest, ""))
        else:
            found["files"].append(word)
    if not found["files"]:
        raise _Usage("no source file")
    same = next((f for f in found["files"] if os.path.realpath(f) == os.path.realpath(found["out"])), None)
    if same:
        raise _Usage(f"-o {found['out']} would overwrite the source {same}")
    if found["style"] not in ("auto", "npu", "cpu"):
        raise _Usage(f"-r is npu or cpu, not {found['style']}")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
