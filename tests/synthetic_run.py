"""Synthetic runs for the tests of the views: a copy-add-store pipeline with known times."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from helpers.chips import chip
from helpers.views.data import EVENT, PIPES

CHIP = chip("Ascend910B1")
SOURCE = """extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
    for (int i = 0; i < tiles; i++) {
        LocalTensor<half> a = inX.AllocTensor<half>();
        DataCopy(a, xGm[i * T], T);
        inX.EnQue(a);
        LocalTensor<half> b = inY.AllocTensor<half>();
        DataCopy(b, yGm[i * T], T);
        inY.EnQue(b);
        LocalTensor<half> c = outZ.AllocTensor<half>();
        Add(c, inX.DeQue<half>(), inY.DeQue<half>(), T);
        outZ.EnQue(c);
        DataCopy(zGm[i * T], outZ.DeQue<half>(), T);
    }
}"""


def pipeline(blocks=1, tiles=8, buffers=2, load=165.0, compute=46.5, store=155.0, name="add", tile_bytes=8192):
    """x + y in tiles: two loads, one Add, one store per tile; `buffers` tiles may be in flight. Times in ns."""
    rows, marks, ends = [], [], []
    for core in range(blocks):
        free = dict.fromkeys(PIPES, 300.0)
        loaded, added, stored = [], [], []

        def run_on(pipe, op, line, ready, cost, size, core=core, free=free):
            start = max(ready, free[pipe])
            free[pipe] = start + cost
            rows.append((core, core, 0, PIPES.index(pipe), op, line, 0, 0, start, start + cost, size, size // 2))
            return start, start + cost

        for i in range(tiles):
            ready = added[i - buffers] if i >= buffers else 0.0
            begin, _ = run_on("MTE2", 0, 4, ready, load, tile_bytes)
            _, loaded_at = run_on("MTE2", 0, 7, ready, load, tile_bytes)
            ready = max(loaded_at, stored[i - buffers] if i >= buffers else 0.0)
            add_begin, add_end = run_on("V", 1, 10, ready, compute, tile_bytes)
            _, store_end = run_on("MTE3", 2, 12, add_end, store, tile_bytes)
            loaded.append(loaded_at), added.append(add_end), stored.append(store_end)
            slot = i % buffers
            for queue, t0, t1 in ((0, begin, add_end), (1, begin, add_end), (2, add_begin, store_end)):
                b = queue * buffers + slot
                marks += [(core, b, True, t0), (core, b, False, t1)]
        ends.append(max(stored, default=0.0))
    return finish(rows, marks, ends, buffers, blocks, name, tile_bytes, tiles)


def finish(rows, marks, ends, buffers, blocks, name, tile_bytes, tiles):
    events = np.array(rows, dtype=EVENT)
    busy = np.zeros((blocks, 7))
    for r in rows:
        busy[r[0], r[3]] += r[9] - r[8]
    bufs = [
        dict(name=n, slot=s, mem="UB", addr=(q * buffers + s) * tile_bytes, bytes=tile_bytes, line=3, core=c)
        for c in range(blocks)
        for q, n in enumerate(("inX", "inY", "outZ"))
        for s in range(buffers)
    ]
    span = max(ends, default=0.0)
    time_us = span / 1e3 + 1.7
    moved = blocks * tiles * tile_bytes
    return SimpleNamespace(
        name=name,
        chip=CHIP,
        origin="estimate (Ascend910B1)",
        time_us=time_us,
        cycles=time_us * 1850,
        blocks=blocks,
        source=SOURCE,
        first_line=1,
        events=events,
        ops=["DataCopy", "Add", "DataCopy"],
        busy=busy,
        core_end=np.array(ends),
        pipes={},
        totals=dict(
            gm_read_bytes=2 * moved,
            gm_write_bytes=moved,
            hbm_bytes=2 * moved,
            l2_hit_bytes=0,
            vector_elements=moved // 2,
            hbm_busy_ns=0.8 * span,
        ),
        buffers=bufs,
        marks=sorted(marks, key=lambda m: m[3]),
        scalar_lines={2: 120.0, 4: 240.0, 10: 80.0},
        findings=[],
        stdout="",
    )


def empty():
    run = finish([], [], [], 1, 0, "nothing", 32, 0)
    run.scalar_lines = {}
    return run


def many(n=200_000, blocks=4, gap=1.0, cost=3.0):
    """n short instructions on V, spread over the blocks."""
    each = n // blocks
    events = np.zeros(each * blocks, dtype=EVENT)
    events["core"] = events["block"] = np.repeat(np.arange(blocks), each)
    events["pipe"] = PIPES.index("V")
    events["start"] = np.tile(np.arange(each) * (gap + cost), blocks)
    events["end"] = events["start"] + cost
    events["op"], events["line"], events["elements"] = 1, 10, 128
    run = empty()
    run.events, run.blocks, run.name = events, blocks, "many"
    run.busy = np.zeros((blocks, 7))
    run.busy[:, PIPES.index("V")] = each * cost
    run.core_end = np.full(blocks, each * (gap + cost) - gap)
    run.time_us = run.core_end.max() / 1e3 + 1.7
    run.cycles = run.time_us * 1850
    return run
