"""Programs of high-level calls: every call has named tensors with their own data, all calls run in one launch.

A second kind of program is a list of faulty lines behind one `switch`: compiled once, launched once per line.
"""

from __future__ import annotations

import numpy as np

import helpers as hp

CPP = {"float16": "half", "float32": "float", "int32": "int32_t", "uint8": "uint8_t", "bfloat16": "bfloat16_t"}
HEAD = """#include "kernel_operator.h"
using namespace AscendC;
{globals}
extern "C" __global__ __aicore__ void k(GM_ADDR in, GM_ADDR out) {{
    TPipe pipe;
    TBuf<TPosition::VECCALC> arena;
    pipe.InitBuffer(arena, {room});
{body}
}}
"""


def up32(n: int) -> int:
    return (n + 31) // 32 * 32


def cpp(tiling, name: str = "tiling") -> str:
    """C++ that fills the same struct in the kernel."""
    values = "".join(f" {name}.{f.name} = {str(getattr(tiling, f.name)).lower() if isinstance(getattr(tiling, f.name), bool) else repr(getattr(tiling, f.name))};" for f in tiling._layout)
    return f"{type(tiling).__name__} {name}{{}};{values}"


class Program:
    def __init__(self, globals: str = "", tmp: int = 65536):
        self.globals, self.tmp = globals, tmp
        self.body, self.data, self.outs, self.top = [], b"", [], 0

    def call(self, code: str, ins: dict | None = None, outs: dict | None = None) -> int:
        """ins: name -> array; outs: name -> (dtype, elements), or the name of an input that the call overwrites. Returns the number of the call."""
        at, lines, stores, found = up32(self.tmp), [], [], {}
        lines.append(f"auto tmp = arena.GetWithOffset<uint8_t>({self.tmp}, 0);")
        where = {}
        for name, array in (ins or {}).items():
            array = np.ascontiguousarray(array)
            t, size = CPP[array.dtype.name], up32(array.nbytes)
            lines.append(f"auto {name} = arena.GetWithOffset<{t}>({size // array.itemsize}, {at});")
            lines.append(f"{{ GlobalTensor<{t}> gm_; gm_.SetGlobalBuffer((__gm__ {t}*)(in + {len(self.data)})); DataCopy({name}, gm_, {size // array.itemsize}); }}")
            self.data += array.tobytes().ljust(size, b"\0")
            where[name] = (array.dtype, array.size)
            at += size
        for name, what in (outs or {}).items():
            if isinstance(what, str):
                dtype, n, tensor = *where[what], what
            else:
                dtype, n, tensor = np.dtype(what[0]), what[1], name
                lines.append(f"auto {name} = arena.GetWithOffset<{CPP[dtype.name]}>({up32(n * dtype.itemsize) // dtype.itemsize}, {at});")
                at += up32(n * dtype.itemsize)
            stores.append(f"{{ GlobalTensor<{CPP[dtype.name]}> gm_; gm_.SetGlobalBuffer((__gm__ {CPP[dtype.name]}*)(out + {self.top}));"
                          f" DataCopyPad(gm_, {tensor}, {{1, {n * dtype.itemsize}, 0, 0, 0}}); }}")
            found[name] = (self.top, dtype, n)
            self.top += up32(n * dtype.itemsize)
        self.body.append("    {\n        " + "\n        ".join([*lines, "PipeBarrier<PIPE_ALL>();", code, "PipeBarrier<PIPE_ALL>();", *stores, "PipeBarrier<PIPE_ALL>();"]) + "\n    }")
        self.outs.append(found)
        return len(self.outs) - 1

    def run(self, **kw):
        """(run, results): results[i][name] is an array."""
        text = HEAD.format(globals=self.globals, room=180 * 1024, body="\n".join(self.body))
        out = np.zeros(max(self.top, 32), np.uint8)
        run = hp.compile(text).launch(1, (np.frombuffer(self.data or bytes(32), np.uint8).copy(), out), **kw)
        return run, [{name: np.frombuffer(out.tobytes(), dtype, n, offset).copy() for name, (offset, dtype, n) in found.items()} for found in self.outs]


FAULTS = """#include "kernel_operator.h"
using namespace AscendC;
{globals}
extern "C" __global__ __aicore__ void k(GM_ADDR in, int32_t which) {{
    TPipe pipe;
    TBuf<TPosition::VECCALC> arena, rest;
    TBuf<TPosition::A1> elsewhere;
    pipe.InitBuffer(arena, {room});
    pipe.InitBuffer(elsewhere, 4096);
{setup}
    PipeBarrier<PIPE_ALL>();
    switch (which) {{
{cases}
    }}
    PipeBarrier<PIPE_ALL>();
}}
"""


class Faults:
    """Lines that the checker must or must not complain about."""

    def __init__(self, setup: str, cases: list[tuple], globals: str = "", room: int = 128 * 1024):
        self.cases = cases
        lines = [f"    case {i}: {{ {case[0]} }} break;" for i, case in enumerate(cases)]
        self.text = FAULTS.format(globals=globals, setup=setup, cases="\n".join(lines), room=room)
        first = self.text.splitlines().index("    switch (which) {") + 2
        self.kernel, self.first = hp.compile(self.text), first
        self.data = np.zeros(65536, np.uint8)

    def findings(self, i: int):
        try:
            return [f for f in self.kernel.launch(1, (self.data, i)).findings if f.severity != "note"]
        except hp.KernelError as e:
            return [f for f in e.findings if f.severity != "note"]

    def check_all(self):
        for i, (code_text, expected, *says) in enumerate(self.cases):
            found = self.findings(i)
            text = "; ".join(f"{f.severity} {f.code}@{f.line}: {f.message} | {f.hint}" for f in found)
            if expected is None:
                assert not found, f"case {i} {code_text}: {text}"
                continue
            severity, code = expected.split()
            hits = [f for f in found if f.code == code and f.severity == severity and f.line == self.first + i]
            assert hits, f"case {i} {code_text}: expected {expected} at line {self.first + i}, got {text or 'nothing'}"
            for word in says:
                assert any(word in f"{f.message} {f.hint}" for f in hits), f"case {i}: {word!r} not in {text}"
