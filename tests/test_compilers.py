"""One kernel text, built by every compiler of this machine: the same bytes, findings and cycles.

Each compiler builds the whole runtime, which takes minutes: `make compilers` runs this, `make test` only says so.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WANTED = os.environ.get("ASCEND_WORKBOOK_COMPILERS") == "1"
pytestmark = pytest.mark.skipif(not WANTED, reason="builds the runtime once per compiler: run `make compilers`")

PROGRAM = r'''
import hashlib, json
import ml_dtypes
import numpy as np
import helpers as hp
from helpers.course import load
from helpers.frameworks import ops

TEXT = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void chain(GM_ADDR x, GM_ADDR y, float s) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in; TQue<TPosition::VECOUT, 1> out; TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(in, 2, 8192);
    pipe.InitBuffer(out, 2, 8192);
    pipe.InitBuffer(work, 16384);
    GlobalTensor<half> X, Y;
    X.SetGlobalBuffer((__gm__ half*)x); Y.SetGlobalBuffer((__gm__ half*)y);
    for (int i = 0; i < 8; i++) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, X[i * 4096], 4096);
        in.EnQue(t); t = in.DeQue<half>();
        LocalTensor<half> u = out.AllocTensor<half>();
        LocalTensor<float> f = work.Get<float>();
        Exp(u, t, 4096);
        Muls(u, u, (half)(s * half(1.5)), 4096);
        Ln(u, u, 4096);
        Div(u, u, t, 4096);
        Cast(f, u, RoundMode::CAST_NONE, 4096);
        Rsqrt(f, f, 4096);
        Exp(f, f, 4096);
        Sqrt(f, f, 4096);
        Cast(u, f, RoundMode::CAST_RINT, 4096);
        half q = u.GetValue(5);
        u.SetValue(6, q * half(3) + half(1));
        in.FreeTensor(t);
        out.EnQue(u); u = out.DeQue<half>();
        DataCopy(Y[i * 4096], u, 4096);
        out.FreeTensor(u);
    }
}
"""

def digest(run, *arrays):
    h = hashlib.sha256()
    for a in arrays:
        h.update(a.tobytes())
    return [h.hexdigest(), hashlib.sha256(run.events.tobytes()).hexdigest(), run.cycles, sorted((f.code, f.line) for f in run.findings)]

rng = np.random.default_rng(1)
out = {}
x = rng.random(100_003).astype(np.float16)
y, z = x[::-1].copy(), np.zeros_like(x)
ladder = load("add", "ladder")
for v in ladder.VERSIONS[1:]:
    out["add " + v.name] = digest(ladder.launch(v, x, y, z), z)
copies = load("copy", "ladder")
f, g = rng.random(65_536).astype(np.float32), np.zeros(65_536, np.float32)
for v in copies.VERSIONS:
    out["copy " + v.name] = digest(copies.launch(v, f, g), g)
c = np.zeros(32_768, np.float16)
out["chain"] = digest(hp.compile(TEXT)[1](rng.normal(1, 1, 32_768).astype(np.float16), c, 1.25), c)
matmul, norm, softmax = load("matmul", "ladder"), load("rms_norm", "ladder"), load("softmax", "ladder")
a, b, p = rng.normal(0, 1, (200, 170)).astype(np.float16), rng.normal(0, 1, (170, 90)).astype(np.float16), np.zeros((200, 90), np.float32)
for v in matmul.VERSIONS[1:]:
    out["matmul " + v.name] = digest(matmul.launch(v, a, b, p), p)
r, gamma = rng.normal(0, 2, (96, 1000)).astype(np.float32), rng.normal(1, 1, 1000).astype(np.float32)
q = np.zeros_like(r)
for v in norm.VERSIONS[-3::2]:
    out["rms_norm " + v.name] = digest(norm.launch(v, r, gamma, q), q)
for v in softmax.VERSIONS:
    out["softmax " + v.name] = digest(softmax.launch(v, r, q), q)
shapes = {"rope": [(5, 3, 16), (5, 8), (5, 8)], "attention": [(1, 4, 9, 32), (1, 2, 13, 32), (1, 2, 13, 32)], "fused_mha": [(1, 17, 128)] + 4 * [(128, 128)],
          "matmul": [(6, 33), (33, 40)]}
for name, op in ops.CATALOGUE.items():
    for dtype in op.dtypes:
        kinds = [ml_dtypes.bfloat16 if op.fixed.get(t, dtype) == "bfloat16" else op.fixed.get(t, dtype) for t in op.inputs]
        sizes = shapes.get(name) or [(33,) if t in ("gamma", "beta") else (4, 33) for t in op.inputs]
        inputs = [rng.normal(0, 0.3, s).astype(k) for s, k in zip(sizes, kinds)]
        outputs = op.empty(*inputs)
        out[name + " of " + dtype] = digest(op.launch(inputs, outputs), *outputs)
print(json.dumps(out))
'''


def compilers() -> dict[str, str]:
    found = {}
    for names in (("g++",), ("clang++", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15")):
        for name in names:
            if shutil.which(name):
                found[names[0]] = name
                break
    if subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True).returncode == 0:
        found["zig c++"] = f"{sys.executable} -m ziglang c++"
    return found


def measured(command: str) -> dict:
    env = {**os.environ, "ASCEND_WORKBOOK_CXX": command}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_compiler_gives_the_same_bytes_findings_and_cycles():
    found = compilers()
    print("compilers:", ", ".join(found))
    assert len(found) >= 2, f"only {list(found)} here: install clang or `pip install ziglang`"
    results = {name: measured(command) for name, command in found.items()}
    first, *others = results
    for other in others:
        for kernel, value in results[first].items():
            assert results[other][kernel] == value, f"{kernel}: {first} and {other} differ"
