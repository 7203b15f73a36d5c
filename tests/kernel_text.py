"""Small kernels for tests: a body in, a complete Ascend C text out; `// HERE` marks the line a finding must name."""

from __future__ import annotations

import helpers as hp

HEAD = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k({params}) {{
{setup}
{body}
}}
"""

GLOBALS = """    GlobalTensor<{t}> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ {t}*)xAddr);
    yGm.SetGlobalBuffer((__gm__ {t}*)yAddr);"""


def kernel(body: str, *, t: str = "float", params: str = "GM_ADDR xAddr, GM_ADDR yAddr", setup: str | None = None, pipe: bool = True) -> str:
    """A kernel with `xGm`, `yGm` and a TPipe `pipe`; `T` in the body stands for the element type."""
    head = GLOBALS.format(t=t) if setup is None else setup
    if pipe:
        head += "\n    TPipe pipe;"
    return HEAD.format(params=params, setup=head, body=body.strip("\n").replace("<T>", f"<{t}>"))


def marked_line(text: str) -> int:
    lines = [i for i, s in enumerate(text.splitlines(), 1) if "// HERE" in s]
    assert len(lines) == 1, "mark exactly one line with // HERE"
    return lines[0]


def run(text: str, *args, blocks: int = 1, **kw):
    compile_keys = ("chip", "auto_sync", "defines", "tiling", "name")
    k = hp.compile(text, **{key: kw.pop(key) for key in compile_keys if key in kw})
    return k.launch(blocks, args, **kw)


def findings_of(text: str, *args, **kw):
    """All findings of a launch, raised or not."""
    try:
        return run(text, *args, **kw).findings
    except hp.KernelError as e:
        return e.findings


def assert_finds(code: str, text: str, *args, severity: str = "error", says: str = "", **kw):
    """The launch reports `code` at the marked line; an error raises."""
    found = findings_of(text, *args, **kw)
    line = marked_line(text)
    hits = [f for f in found if f.code == code and f.line == line]
    assert hits, f"expected {code} at line {line}, got " + "; ".join(f"{f.code}@{f.line}: {f.message}" for f in found)
    assert any(f.severity == severity for f in hits), f"{code} has severity {[f.severity for f in hits]}, expected {severity}"
    for word in [says] if isinstance(says, str) else says:
        assert any(word in f.message + " " + (f.hint or "") for f in hits), f"{word!r} not in {[f.message + ' | ' + str(f.hint) for f in hits]}"
    return hits[0]


def assert_clean(text: str, *args, **kw):
    """No error and no warning (performance notes are allowed)."""
    r = run(text, *args, **kw)
    bad = [f for f in r.findings if f.severity != "note"]
    assert not bad, [f"{f.code}@{f.line}: {f.message}" for f in bad]
    return r
