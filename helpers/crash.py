"""What ended a kernel that did not return: from signal, address and program counter to words and a line."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from .arguments import Buffer
from .errors import Finding
from .launch import DIED, TIMEOUT, Job, Outcome

_SEGV, _BUS, _FPE, _ILL, _ABORT, _STOPPED, _READ_ONLY, _STACK = range(1, 9)     # enum CrashKind of the runner
_NULL = 1 << 16                # an address below this is a null pointer plus an index


def explain(job: Job, outcome: Outcome) -> Finding | None:
    """The finding for a launch that crashed, hung or vanished; None when it came to its end."""
    block, line, op = outcome.live
    exact = _line_of(job, outcome.crash.frames) if outcome.crash else None
    line = exact or line or None
    if line and not job.first_line <= line < job.first_line + len(job.source.splitlines()):
        line = None             # it was in generated code, or in a header
    # The runner leaves a finding without words when it could still ask the engine which block was running.
    block = next((f["block"] for f in outcome.result.get("findings", ()) if not f["message"]), block)
    block = block if block >= 0 else None
    after = f" The last Ascend C call before it was {op}." if op and not exact else ""

    def finding(code: str, message: str, hint: str) -> Finding:
        return Finding(code, "error", line, message, hint, block)

    if outcome.how == TIMEOUT:
        return finding("TIMEOUT", f"The kernel was still running after {job.timeout:g} s and was stopped.{after}",
                       "Check the condition of the loop it is in; a launch that needs longer takes timeout=….")
    if outcome.crash:
        return finding(*_signal(job, outcome, after))
    if outcome.how == DIED:
        return finding(*_vanished(outcome, after))
    return None


def _signal(job: Job, outcome: Outcome, after: str) -> tuple[str, str, str]:
    crash = outcome.crash
    if crash.kind in (_SEGV, _BUS, _FPE, _ILL) and crash.code <= 0:     # sent by a process: the address means nothing
        return "CRASH", f"A signal was sent to the kernel with raise() or kill().{after}", "Signals do not exist on the device; Trap() and ASSERT stop a kernel."
    if crash.kind == _STACK:
        return ("CRASH", "The stack ran out: a function calls itself without end, or a local array is too large.",
                "Turn the recursion into a loop; keep large arrays in UB (TBuf) or in GM.")
    if crash.kind == _READ_ONLY:
        name = _argument(job, crash.arg).name
        return ("HOST_ARGUMENT", f"The kernel writes to argument {name}, which is a read-only array here.",
                f"Pass a writable array: {name} = {name}.copy(), or {name}.flags.writeable = True.")
    if crash.kind in (_SEGV, _BUS) and _damaged(job.kernel):
        return ("CRASH", f"The compiled kernel {os.path.basename(job.kernel)} is not the file that was built: it was cut or changed on disk.",
                "Compile the kernel again; `python -m helpers.build clear` empties the whole store.")
    if crash.kind in (_SEGV, _BUS):
        return ("CRASH", *_address(job, outcome, after))
    if crash.kind == _FPE:
        return "CRASH", f"An integer was divided by zero (/ or %).{after}", "Check the divisor: tile counts and lengths from tiling data are often 0 for small inputs."
    if crash.kind == _ILL:
        return ("CRASH", f"The kernel ran into a place without valid code.{after}", "A function that should return a value may end without return.")
    said = _last_words(outcome.output)
    return "CRASH", f"The kernel called abort(){': ' + said if said else '.'}{after}", "Look for heap memory written past its end, or freed twice."


def _address(job: Job, outcome: Outcome, after: str) -> tuple[str, str]:
    crash = outcome.crash
    if crash.arg >= 0:
        b = _argument(job, crash.arg)
        name = "the workspace" if b.workspace else f"argument {b.name}"
        beyond = crash.arg_offset - b.nbytes
        if crash.arg_offset < 0:
            where = f"{-crash.arg_offset} B before {name}"
        else:
            where = f"{beyond} B beyond the end of {name}"
        return (f"A raw pointer left its memory: byte {crash.arg_offset} of {name} was touched, {where} ({b.nbytes} B).{after}",
                "Compare the index with the number of elements that this block owns; the last block often has fewer.")
    if crash.address < _NULL and crash.code != 128:
        nulls = [job.null_names[i] for i in range(len(job.nulls))]
        which = f" Argument {nulls[0]} is None." if len(nulls) == 1 else ""
        index = f" plus {crash.address} B" if crash.address else ""
        return (f"A null pointer{index} was used.{which}{after}",
                "Pass an array for this parameter, or test the pointer first. A GlobalTensor needs SetGlobalBuffer; malloc beyond memory_mb returns null.")
    return (f"A pointer that leads to no argument was used.{after}",
            "Pointers come from GM_ADDR parameters; a LocalTensor's address is a UB offset, not a pointer.")


def _vanished(outcome: Outcome, after: str) -> tuple[str, str, str]:
    code = outcome.exit_code
    if code is not None and code >= 0:
        return "CRASH", f"The kernel ended its process with exit code {code}.{after}", "A kernel ends by return; exit() does not exist on the device."
    if code == -9:
        return ("OUT_OF_MEMORY", f"The system stopped the kernel's process, most likely because memory ran out.{after}",
                "Use smaller arrays, or close other programs.")
    return "CRASH", f"The kernel's process ended with signal {-(code or 0)}.{after}", "Look at the raw pointers of the kernel."


def _damaged(kernel: str) -> bool:
    """Whether the file in the store has another size than when it was built."""
    try:
        files = json.loads(Path(kernel).with_name("meta.json").read_text())["files"]
        return os.path.getsize(kernel) != files[os.path.basename(kernel)][0]
    except (OSError, ValueError, KeyError):
        return False


def _argument(job: Job, index: int) -> Buffer:
    return next(b for b in job.buffers if b.index == index)


def _last_words(output: str) -> str:
    """What the C++ or C library said last: kernel output may follow it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"terminate called|what\(\)|free\(\)|malloc|realloc|double free|corrupted|\*\*\* |.*[Aa]ssert", line)]
    return (said or [""])[-1][:200]


def _line_of(job: Job, frames: list[int]) -> int | None:
    """The innermost line of the learner's text among the frames, where the machine has a tool that can tell."""
    generated = os.path.splitext(os.path.basename(job.kernel))[0] + ".cpp"      # binutils names the file itself where #line begins
    return next((line for file, line in places(job.kernel, frames) if file.endswith(job.label) or os.path.basename(file) == generated), None)


def places(binary: str, frames: list[int]) -> list[tuple[str, int]]:
    """Files and lines of code at these offsets, innermost first, calls that were inlined too; none where no tool can tell."""
    tool = _symbolizer()
    if not frames or tool is None:
        return []
    try:
        done = subprocess.run([*tool, binary, *(hex(f) for f in frames)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=10)
    except (OSError, subprocess.SubprocessError):
        return []
    found = (re.match(r"(.*?):(\d+)(:\d+)?( |$)", text) for text in done.stdout.splitlines())
    return [(place[1], int(place[2])) for place in found if place and int(place[2]) > 0]


def _symbolizer() -> list[str] | None:
    for name, options in (("addr2line", ["-i", "-e"]), ("llvm-symbolizer", ["--inlines", "--functions=none", "-e"]),
                          ("llvm-addr2line", ["-i", "-e"])):
        path = shutil.which(name)
        if path:
            return [path, *options]
    return None
