"""The events of a run as Chrome trace JSON: one process per core, one thread per pipe.

ui.perfetto.dev and chrome://tracing show such files.
"""

from __future__ import annotations

import json

import numpy as np

from . import data


def chrome_trace(run, path=None) -> str:
    """The trace as JSON text, always in the same order; written to `path` too when given. Times are us."""
    ev = data.events(run)
    both = len({c.kind for c in data.cores(run)}) > 1
    lines = []
    for info in data.cores(run):
        lines.append(_meta("process_name", info.core, 0, data.core_label(info, both).replace("\n", " ")))
        pipes = np.unique(ev["pipe"][ev["core"] == info.core])
        for order, pipe in enumerate(data.FLOW):
            number = data.PIPES.index(pipe)
            if number in pipes:
                lines.append(_meta("thread_name", info.core, number, pipe))
                lines.append(
                    json.dumps(
                        {
                            "ph": "M",
                            "name": "thread_sort_index",
                            "pid": info.core,
                            "tid": number,
                            "args": {"sort_index": order},
                        }
                    )
                )
    names = [json.dumps(n) for n in data.ops(run)]
    for i in np.lexsort((ev["end"], ev["pipe"], ev["core"], ev["start"])):
        e = ev[i]
        op = int(e["op"])
        name = names[op] if 0 <= op < len(names) else json.dumps(data.op_name(run, op))
        lines.append(
            '{"ph": "X", "name": %s, "pid": %d, "tid": %d, "ts": %.4f, "dur": %.4f, '
            '"args": {"line": %d, "bytes": %d, "elements": %d}}'
            % (
                name,
                e["core"],
                e["pipe"],
                e["start"] / 1e3,
                (e["end"] - e["start"]) / 1e3,
                e["line"],
                e["bytes"],
                e["elements"],
            )
        )
    about = json.dumps({"kernel": data.name(run), "origin": data.origin(run)}, sort_keys=True)
    content = '{"displayTimeUnit": "ns", "otherData": %s, "traceEvents": [\n%s\n]}\n' % (about, ",\n".join(lines))
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="\n") as f:
            f.write(content)
    return content


def _meta(what: str, pid: int, tid: int, name: str) -> str:
    return json.dumps({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}})
