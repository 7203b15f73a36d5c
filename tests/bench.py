"""How fast is the workbook itself? `make bench`, or `python tests/bench.py [--no-first-build]`.

Medians; wall-clock times of this machine, for a quiet moment. They are printed, never compared in notebooks.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import helpers as hp
from cube_kernels import TILED
from helpers import channel
from helpers.build import compiler
from helpers.course import load, published

N = 16 << 20
BLOCKS = 32
_HEAD = """#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t TILE = %d;
"""
# Both fill UB: the largest tiles mean the fewest instructions for the same bytes.
COPY = _HEAD % 24576 + """
extern "C" __global__ __aicore__ void copy_bench(__gm__ float* x, __gm__ float* y, uint32_t n) {
    uint32_t length = n / GetBlockNum();
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer(x + length * GetBlockIdx(), length);
    yGm.SetGlobalBuffer(y + length * GetBlockIdx(), length);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> queue;
    pipe.InitBuffer(queue, 2, TILE * sizeof(float));
    for (uint32_t i = 0; i < length; i += TILE) {
        uint32_t count = length - i < TILE ? length - i : TILE;
        LocalTensor<float> tile = queue.AllocTensor<float>();
        DataCopy(tile, xGm[i], count);
        queue.EnQue(tile);
        tile = queue.DeQue<float>();
        DataCopy(yGm[i], tile, count);
        queue.FreeTensor(tile);
    }
}
"""
ADD = _HEAD % 16384 + """
extern "C" __global__ __aicore__ void add_bench(__gm__ float* x, __gm__ float* y, __gm__ float* z, uint32_t n) {
    uint32_t length = n / GetBlockNum();
    GlobalTensor<float> xGm, yGm, zGm;
    xGm.SetGlobalBuffer(x + length * GetBlockIdx(), length);
    yGm.SetGlobalBuffer(y + length * GetBlockIdx(), length);
    zGm.SetGlobalBuffer(z + length * GetBlockIdx(), length);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inX, inY;
    TQue<TPosition::VECOUT, 1> outZ;
    pipe.InitBuffer(inX, 1, TILE * sizeof(float));
    pipe.InitBuffer(inY, 1, TILE * sizeof(float));
    pipe.InitBuffer(outZ, 1, TILE * sizeof(float));
    for (uint32_t i = 0; i < length; i += TILE) {
        uint32_t count = length - i < TILE ? length - i : TILE;
        LocalTensor<float> a = inX.AllocTensor<float>(), b = inY.AllocTensor<float>(), c = outZ.AllocTensor<float>();
        DataCopy(a, xGm[i], count);
        DataCopy(b, yGm[i], count);
        inX.EnQue(a);
        inY.EnQue(b);
        a = inX.DeQue<float>();
        b = inY.DeQue<float>();
        Add(c, a, b, count);
        inX.FreeTensor(a);
        inY.FreeTensor(b);
        outZ.EnQue(c);
        c = outZ.DeQue<float>();
        DataCopy(zGm[i], c, count);
        outZ.FreeTensor(c);
    }
}
"""


def once(call) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def median(call, times: int) -> float:
    return statistics.median(once(call) for _ in range(times))


def first_build() -> float:
    """Seconds from an empty cache to the first result, in a fresh process."""
    script = ("import sys, numpy as np, helpers as hp\n"
              "x = np.ones(4096, np.float32); y = np.zeros_like(x)\n"
              "hp.compile(sys.stdin.read())[1](x, y, 4096); hp.check(y, x)")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", script], input=COPY, text=True, check=True, cwd=Path(__file__).parent.parent,
                       env={**os.environ, "ASCEND_WORKBOOK_CACHE": folder})
        return time.perf_counter() - start


def cells() -> dict[str, float]:
    x = np.random.default_rng(0).random(8192).astype(np.float32)
    y = np.zeros_like(x)

    def cell(text: str) -> None:
        hp.compile(text)[8](x, y, x.size)
        hp.check(y, x, tile=1024)

    cell(COPY)
    stamp = time.time_ns()
    edits = iter(range(100))
    kernel = hp.compile(COPY)
    return {"edited cell to checked result": median(lambda: cell(COPY + f"// {stamp} {next(edits)}\nconstexpr int EDIT = {next(edits)};\n"), 7),
            "unchanged cell to checked result": median(lambda: cell(COPY), 9),
            "call of a tiny kernel": median(lambda: kernel[1](x, y, 64), 25)}


def throughput() -> list[tuple[str, float, float, int]]:
    rng = np.random.default_rng(0)
    x, y, z = rng.random(N, np.float32), rng.random(N, np.float32), np.zeros(N, np.float32)
    rows = []
    for name, kernel, args, plain, expected in (
            ("copy", hp.compile(COPY), (x, z, N), lambda: np.copyto(z, x), lambda: x),
            ("add", hp.compile(ADD), (x, y, z, N), lambda: np.add(x, y, out=z), lambda: x + y)):
        kernel[BLOCKS](*args)
        z[:] = 0
        run = kernel[BLOCKS](*args)
        hp.check(z, expected())
        # Turns about, so that both see the same machine.
        pairs = [(median(lambda: kernel[BLOCKS](*args), 3), median(plain, 3)) for _ in range(5)]
        rows.append((name, statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), run.runner_bytes))
    channel.stop_waiting_runner()
    return rows


def row_kernels() -> list[tuple[str, float, float]]:
    """Kernels of the course that work on rows, beside the NumPy expression for the same: the last version with two tiles for each core,
    and the one before with many short vector calls."""
    rms_norm, softmax = load("rms_norm", "ladder"), load("softmax", "ladder")
    x = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    gamma, y = np.ones(1024, np.float32), np.empty_like(x)

    def plain_rms_norm():
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * gamma

    def plain_softmax():
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    rows = []
    for name, module, args, plain, tiles in (("rms_norm", rms_norm, (x, gamma, y), plain_rms_norm, {"v7": 11, "v5": 0}),
                                              ("softmax", softmax, (x, y), plain_softmax, {"v3": 0, "v2": 0})):
        for version in (v for v in reversed(module.VERSIONS) if v.name in tiles):
            kernel, tile = module.compile(version, np.float32), tiles[version.name]
            run = module.launch(version, *args, kernel=kernel, tile=tile)
            hp.check(y, plain())
            # Turns about, call by call: both find the caches as the other has left them.
            pairs = [(once(lambda: module.launch(version, *args, kernel=kernel, tile=tile)), once(plain)) for _ in range(45)][5:]
            calls = int(run.totals["vector_instructions"])
            rows.append((f"{name} {version.name}, 1 M float32, {calls:,} vector calls", statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)))
    channel.stop_waiting_runner()
    return rows


def attention() -> list[tuple[str, float, int]]:
    """Forward passes of attention with all checks: milliseconds, warm."""
    ladder = load("attention", "ladder")
    rows = []
    for name, shape, times in (("attention v5, 2 heads, S 256, dim 64", (1, 2, 256, 64), 15), ("attention v5, 8 heads, S 2048, dim 128", (1, 8, 2048, 128), 3)):
        random = np.random.default_rng(0)
        q, k, v = (random.standard_normal(shape).astype(np.float16) for _ in range(3))
        o, kernel = np.empty_like(q), ladder.compile(ladder.VERSIONS[4])
        ladder.launch(ladder.VERSIONS[4], q, k, v, o, kernel=kernel)
        assert np.abs(o - ladder.oracle(q, k, v)).max() < 1e-3
        rows.append((name, median(lambda: ladder.launch(ladder.VERSIONS[4], q, k, v, o, kernel=kernel), times), 40 if times > 3 else 6000))
    channel.stop_waiting_runner()
    return rows


def product() -> tuple[float, float, float]:
    """1024 x 1024 x 1024 of half on the cube pipes, all checks; NumPy's product of doubles, the arithmetic the inner products are done
    in; relative error against double."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((1024, 1024)).astype(np.float16) for _ in range(2))
    c, exact = np.zeros((1024, 1024), np.float32), a.astype(float) @ b.astype(float)
    kernel, wide, tall = hp.compile(TILED), a.astype(float), b.astype(float)
    kernel[24](a, b, c)
    error = np.abs(c - exact).max() / np.abs(exact).max()
    pairs = [(median(lambda: kernel[24](a, b, c), 3), median(lambda: wide @ tall, 3)) for _ in range(5)]
    channel.stop_waiting_runner()
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), error


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--no-first-build", action="store_true")
    wanted = options.parse_args()
    print(f"{os.cpu_count()} cores, {compiler.find()}, numpy {np.__version__}, load {os.getloadavg()[0]:.1f}")
    if not wanted.no_first_build:
        print(f"{'first build ever, to the first result':44}{first_build():10.1f} s")
    for name, ms in cells().items():
        print(f"{name:44}{ms:10.1f} ms")
    for name, ms, numpy_ms, memory in throughput():
        what = f"{name}, 16 M float32, all checks (numpy {numpy_ms:.1f} ms)"
        print(f"{what:44}{ms:10.1f} ms{ms / numpy_ms:8.2f} x numpy{memory / 2**20:8.0f} MB in the runner beyond the arrays")
    for name, ms, numpy_ms in row_kernels():
        print(f"{name:44}{ms:10.1f} ms{ms / numpy_ms:8.2f} x numpy ({numpy_ms:.1f} ms)")
    print("\nMatmul objects, half: estimates beside published times")
    print(published.table(published.measure(load("matmul", "cases").steps()), "Ascend910B1"))
    for name, ms, limit in attention():
        print(f"{name:44}{ms:10.1f} ms, wanted: at most {limit:,} ms on 2 quiet cores")
    ms, numpy_ms, error = product()
    print(f"{'matmul 1024^3 half, all checks':44}{ms:10.1f} ms{2 * 1024**3 / ms / 1e6:8.1f} GFLOP/s; the limit, numpy in double: {2 * 1024**3 / numpy_ms / 1e6:.1f} GFLOP/s ({numpy_ms:.1f} ms); error {error:.1e}")
    print("\nAdd, 8192 x 8192 half: the estimate of each version beside its published time")
    print(published.table(published.measure(published.ladder_steps("add", timeout=300.0)), "Ascend910B1"))
    tuning = load("attention", "tuning")
    print(f"\nAttention, 8 heads, S 2048, dim 128: the estimate of each step beside {tuning.SOURCE}")
    print(published.table(published.measure(tuning.steps(timeout=300.0)), "Ascend910B1"))


if __name__ == "__main__":
    main()
