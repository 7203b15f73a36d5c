"""trace.json of the simulator: instructions with their lanes and lines. It is simulated time, not measured."""
from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np

from ..run import EVENT, KINDS, PIPES, Run
from .tables import ProfileError, index

_LANES = {"SCALAR": "S", "SCALARLDST": "S", "VECTOR": "V", "CUBE": "M", "MTE1": "MTE1", "MTE2": "MTE2", "MTE3": "MTE3", "FIXP": "FIX", "FIXPIPE": "FIX",
          **{p: p for p in PIPES}}


def files(root: Path) -> list[Path]:
    """The trace of the whole chip, or those of its cores."""
    whole = sorted(p for p in root.rglob("trace.json") if not re.match(r"core\d+\.", p.parent.name))
    return whole[:1] or sorted(root.rglob("trace.json"))


def read(paths: list[Path], chip, name: str = "", source: str = "") -> Run:
    rows, ops, where = [], {}, {}
    cores: dict[str, int] = {}
    about = {}
    for path in paths:
        try:
            content = json.loads(path.read_bytes())
            events = content["traceEvents"] if isinstance(content, dict) else content
            if not isinstance(events, list) or not all(isinstance(e, dict) for e in events):
                raise ValueError("no list of events")
        except (ValueError, KeyError, RecursionError):
            raise ProfileError(f"{path} is no trace: a JSON file with traceEvents was expected.") from None
        about = content.get("otherData", {}) if isinstance(content, dict) else {}
        processes, lanes = {}, {}
        for e in events:
            if e.get("ph") == "M" and e.get("name") == "process_name":
                processes[e.get("pid")] = str(e["args"]["name"])
            elif e.get("ph") == "M" and e.get("name") == "thread_name":
                lanes[e.get("pid"), e.get("tid")] = str(e["args"]["name"])
        for e in events:
            if e.get("ph") != "X":
                continue
            lane = _LANES.get(str(lanes.get((e.get("pid"), e.get("tid")), e.get("tid"))).upper())
            if lane is None:                       # user marks, cache misses, flow control
                continue
            process = processes.get(e.get("pid"), str(e.get("pid")))
            core = cores.setdefault(process if process != "0" else path.parent.name, len(cores))
            try:
                args = e.get("args") or {}
                file, line = _place(args)
                start, length, size, elements = float(e["ts"]), float(e.get("dur", 0)), int(args.get("bytes", 0)), int(args.get("elements", 0))
                if not (math.isfinite(start) and 0 <= length < math.inf and 0 <= line < 1 << 31 and size >= 0 and elements >= 0):
                    raise ValueError("no time, or no number of a line or of bytes")
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
                raise ProfileError(f"{path.name}: an instruction cannot be read: {str(e)[:200]}. It has ts and dur in us, and args with bytes, elements and a line.") from None
            rows.append((core, core, PIPES.index(lane), ops.setdefault(e.get("name", "?"), len(ops)), line, where.setdefault(file, len(where)), start * 1e3, length * 1e3, size, elements))
    if not rows:
        raise ProfileError("The trace holds no instruction of a pipe.")
    order = sorted(cores, key=_core_key)
    number = {cores[label]: i for i, label in enumerate(order)}
    start = min(r[6] for r in rows)
    out = np.zeros(len(rows), EVENT)
    for i, (core, _, pipe, op, line, file, ts, dur, size, elements) in enumerate(rows):
        label = order[number[core]]
        out[i] = (number[core], _block(label, number[core]), KINDS.index("AIC") if "cubecore" in label else 0, pipe, op, line, file, _sub(label), ts - start, ts - start + dur, size, elements)
    out = out[np.lexsort((out["end"], out["pipe"], out["core"], out["start"]))]
    ends = np.array([out["end"][out["core"] == c].max() for c in range(len(order))])
    estimated = str(about.get("origin", "")).startswith("estimate")
    origin = f"{about['origin']}, read from a file" if estimated else "simulated (msprof op simulator)"
    return Run(name=name or about.get("kernel", "kernel"), blocks=len({_block(label, i) for i, label in enumerate(order)}), chip=chip, origin=origin, source=source,
               time_us=float(ends.max()) / 1e3, events=out, ops=list(ops), files=["" if not source else f for f in where], core_end=ends, totals={"launch_ns": 0.0})._with_busy()


def _place(args: dict) -> tuple[str, int]:
    if "line" in args:
        return "", int(args["line"])
    match = re.match(r"(.*):(\d+)$", str(args.get("code", "")))
    return (match[1].rsplit("/", 1)[-1], int(match[2])) if match else ("", 0)


def _core_key(label: str) -> tuple:
    return [int(n) for n in re.findall(r"\d+", label)], label


def _block(label: str, otherwise: int) -> int:
    digits = re.findall(r"\d+", label)
    return index(digits[0], label) if digits else otherwise


def _sub(label: str) -> int:
    digits = re.findall(r"\d+", label)
    return index(digits[1], label) if len(digits) > 1 else 0
