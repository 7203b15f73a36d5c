"""Hand-written traces for the cost model, as text for tests/cpp/timing_driver.cpp."""
from __future__ import annotations

KB = 1024
HALF = 2
ROW = 8192 * HALF                                  # bytes of one row of the official Add
ROWS = 8192
# HardEvent numbers
MTE2_V, V_MTE2, MTE3_V, V_MTE3, MTE3_MTE2, MTE2_MTE3, MTE2_S, S_MTE3, MTE3_S = 4, 5, 6, 7, 19, 20, 24, 25, 26


def core(kind=0, block=0, group=None, sub=0, wave=0):
    return f"core {kind} {block} {block if group is None else group} {sub} {wave}"


def load(size, at, step=0, cache=1, pipe="MTE2", rows=1, pitch=None, ragged=0, nd2nz=0):
    return f"copy {pipe} 0 {rows} {size} {pitch or size} {at} {step} {cache} {ragged} {nd2nz}"


def store(size, at, step=0, pipe="MTE3", rows=1, pitch=None, ragged=0):
    return f"copy {pipe} 1 {rows} {size} {pitch or size} {at} {step} 1 {ragged} 0"


def vector(head, busy, elements=0, dep=0):
    return f"op V {head} {busy} {elements} {dep}"


def flag(src, dst, event, number):
    """A set on one pipe and the wait for it on the other."""
    return [f"set {src} {event} {number}", f"wait {dst} {event} {number}"]


def loop(n, lines):
    return [f"loop {n}", *lines, "end"] if n else []


def add_tile(size, at, x, y, z, step, cache, slope, buffer=0, issue=8):
    """One tile of z = x + y through queues; the buffer's free flags are waited for at the top of the next tile."""
    calls = f"scalar {issue} 0"
    repeats = -(-size // 256)
    return [
        f"wait MTE2 {V_MTE2} {buffer}", calls, load(size, x + at, step, cache), f"set MTE2 {MTE2_V} {buffer}",
        f"wait MTE2 {V_MTE2} {buffer + 2}", calls, load(size, y + at, step, cache), f"set MTE2 {MTE2_V} {buffer + 2}",
        f"wait V {MTE2_V} {buffer}", f"wait V {MTE2_V} {buffer + 2}", f"wait V {MTE3_V} {buffer}",
        calls, vector(22, slope * repeats, size // HALF),
        f"set V {V_MTE3} {buffer}", f"set V {V_MTE2} {buffer}", f"set V {V_MTE2} {buffer + 2}",
        f"wait MTE3 {V_MTE3} {buffer}", calls, store(size, z + at, step), f"set MTE3 {MTE3_V} {buffer}",
    ]


def primed(buffers):
    """Flags of buffers that are free at the start."""
    return [line for b in range(buffers) for line in
            (f"set V {V_MTE2} {b}", f"set V {V_MTE2} {b + 2}", f"set MTE3 {MTE3_V} {b}")]


def official_add(step):
    """The steps of the official Add sample, [8192, 8192] half: steps 0 and 1 on one core, the others on 48."""
    tile = {0: 8 * KB, 1: 8 * KB, 2: 8 * KB, 6: 16256 * HALF}.get(step, 32 * KB)
    buffers = 2 if step >= 4 else 1
    cache = 0 if step >= 5 else 1
    slope = 1 if step == 6 else 2
    total = ROWS * ROW
    x, y, z = 0, total, 2 * total
    blocks = 1 if step < 2 else 48
    lines, row = [], 0
    for block in range(blocks):
        rows = ROWS // blocks + (block < ROWS % blocks)
        start, size = row * ROW, rows * ROW
        row += rows
        lines.append(core(block=block))
        if step == 0:
            lines += loop(size // tile, [
                "scalar 8 0", load(tile, x + start, tile), "scalar 8 0", load(tile, y + start, tile), *flag("MTE2", "S", MTE2_S, 0),
                f"scalar {tile // HALF * (12 + 12 + 10)} 0", *flag("S", "MTE3", S_MTE3, 0), "scalar 8 0",
                store(tile, z + start, tile), *flag("MTE3", "S", MTE3_S, 0)])
            continue
        lines += primed(buffers)
        whole, rest = divmod(size, tile)
        body = []
        for b in range(buffers):
            body += add_tile(tile, start + b * tile, x, y, z, buffers * tile, cache, slope, b)
            if step in (2, 3):           # the measured times of these two fit kernels that finish a tile before the next
                body += flag("MTE3", "MTE2", MTE3_MTE2, 0)
        lines += loop(whole // buffers, body)
        done = whole // buffers * buffers
        for b in range(whole % buffers):
            lines += add_tile(tile, start + done * tile, x, y, z, 0, cache, slope, b)
        if rest:
            lines += add_tile(rest, start + whole * tile, x, y, z, 0, cache, slope, whole % buffers)
    return lines


def copy_kernel(tiles, buffers, blocks=1, size=32 * KB, total=None):
    """GM -> UB -> GM through a queue of `buffers` buffers, `tiles` tiles on each of `blocks` cores."""
    lines, y = [], total or tiles * blocks * size
    for block in range(blocks):
        lines += [core(block=block), *(f"set MTE3 {MTE3_MTE2} {b}" for b in range(buffers))]
        for tile in range(tiles):
            b, at = tile % buffers, (block * tiles + tile) * size
            lines += [f"wait MTE2 {MTE3_MTE2} {b}", f"alloc {b}", load(size, at), *flag("MTE2", "MTE3", MTE2_MTE3, b),
                      store(size, y + at), f"set MTE3 {MTE3_MTE2} {b}", f"free {b}"]
    return lines
