"""The NumPy twins of copy and add do what the kernels do: the same bytes, instructions, cycles, buffers, findings."""
import numpy as np
import pytest

import helpers as hp
from helpers.course import load
from chapters import LARGE, SIZES, poisoned, same_bits, values
from ubsim_tools import assert_same_run

copy_ladder, copy_sim = load("copy", "ladder"), load("copy", "sim")
add_ladder, add_sim = load("add", "ladder"), load("add", "sim")
COPY = {v.name: v for v in copy_ladder.VERSIONS}
ADD = {v.name: v for v in add_ladder.VERSIONS}
ADD_OPTIONS = {"v1": dict(buffers=1, bypass=False, shift=0), "v2": dict(buffers=1, bypass=False, shift=0),
               "v3": dict(buffers=1, bypass=False, shift=0), "v4": dict(buffers=2, bypass=False, shift=0),
               "v5": dict(buffers=2, bypass=True, shift=0), "v6": dict(buffers=2, bypass=True, shift=256)}


@hp.ubsim
def copy_whole_tiles(core, x, y, tile, num):
    """v1 and v2: DataCopy."""
    queue = core.TQueBind("VECIN", "VECOUT", num=num, length=tile * x.itemsize)
    for i in range(core.GetBlockIdx(), x.size // tile, core.GetBlockNum()):
        local = queue.AllocTensor(np.float32)
        core.DataCopy(local, x[i * tile:(i + 1) * tile])
        queue.EnQue(local)
        local = queue.DeQue()
        core.DataCopy(y[i * tile:(i + 1) * tile], local)
        queue.FreeTensor(local)


@hp.ubsim
def add_scalar(core, x, y, z, tile):
    """v0: a loop over elements."""
    in_x, in_y = (core.TQue("VECIN", num=1, length=tile * 2) for _ in "xy")
    out_z = core.TQue("VECOUT", num=1, length=tile * 2)
    for start in range(0, x.size, tile):
        piece = slice(start, min(start + tile, x.size))
        x_local, y_local = in_x.AllocTensor(np.float16), in_y.AllocTensor(np.float16)
        core.DataCopyPad(x_local, x[piece])
        core.DataCopyPad(y_local, y[piece])
        in_x.EnQue(x_local)
        in_y.EnQue(y_local)
        x_local, y_local, z_local = in_x.DeQue(), in_y.DeQue(), out_z.AllocTensor(np.float16)
        for i in range(piece.stop - start):
            z_local[i] = x_local[i] + y_local[i]
        out_z.EnQue(z_local)
        in_x.FreeTensor(x_local)
        in_y.FreeTensor(y_local)
        z_local = out_z.DeQue()
        core.DataCopyPad(z[piece], z_local)
        out_z.FreeTensor(z_local)


@pytest.fixture(scope="module")
def built():
    cache = {}

    def of(ladder, version, **options):
        key = version.path, *options.items()
        if key not in cache:
            cache[key] = ladder.compile(version, **options)
        return cache[key]
    return of


# ---- copy
@pytest.mark.parametrize("name, num", [("v1", 1), ("v2", 2)])
@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_copy_of_whole_tiles(built, name, num, blocks):
    x = values(65_536, np.float32, 1)
    y, y_sim = poisoned(x.size, x.dtype), poisoned(x.size, x.dtype)
    run = copy_ladder.launch(COPY[name], x, y, kernel=built(copy_ladder, COPY[name]), blocks=blocks)
    twin = copy_whole_tiles[blocks](x, y_sim, 8192, num)
    assert same_bits(y_sim, x) and same_bits(y, y_sim)
    assert_same_run(run, twin)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_copy_of_any_length(built, dtype):
    for size in [*SIZES, LARGE]:
        x = values(size, dtype, size)
        y, y_sim = poisoned(size, dtype), poisoned(size, dtype)
        blocks, tile = 3, 1024
        run = copy_ladder.launch(COPY["copy"], x, y, kernel=built(copy_ladder, COPY["copy"], dtype=dtype), blocks=blocks, tile=tile)
        twin = copy_sim.copy[blocks](x, y_sim, tile)
        assert same_bits(y_sim, x) and same_bits(y, y_sim), size
        assert_same_run(run, twin)


@pytest.mark.parametrize("chip", ["Ascend910B3", "Ascend910B4"])
def test_other_chips(built, chip):
    x = values(LARGE, np.float32, 2)
    y, y_sim = poisoned(x.size, x.dtype), poisoned(x.size, x.dtype)
    run = copy_ladder.launch(COPY["copy"], x, y, kernel=built(copy_ladder, COPY["copy"], chip=chip), blocks=8, tile=8192)
    twin = hp.ubsim(copy_sim.copy.function, chip=chip)[8](x, y_sim, 8192)
    assert twin.chip.name == chip and twin.origin == run.origin == f"estimate ({chip})"
    assert_same_run(run, twin)


# ---- add
@pytest.mark.parametrize("name", ADD_OPTIONS)
@pytest.mark.parametrize("size, blocks", [(1, 8), (1003, 8), (300_001, 48), (8192 * 64, 48), (100_000, 60)])
def test_add(built, name, size, blocks):
    version = ADD[name]
    blocks = 1 if version.blocks == 1 else blocks
    x, y = values(size, np.float16, 3), values(size, np.float16, 4)
    z, z_sim = poisoned(size, np.float16), poisoned(size, np.float16)
    run = add_ladder.launch(version, x, y, z, kernel=built(add_ladder, version), blocks=blocks)
    share = size if version.blocks == 1 else add_ladder.share(size, blocks)
    twin = add_sim.add[blocks](x, y, z_sim, share, tile=version.tile, **ADD_OPTIONS[name])
    assert same_bits(z, z_sim)
    assert_same_run(run, twin)


def test_scalar_loop(built):
    x, y = (np.nan_to_num(values(5000, np.float16, s)) for s in (5, 6))
    z, z_sim = poisoned(x.size, np.float16), poisoned(x.size, np.float16)
    run = add_ladder.launch(ADD["v0"], x, y, z, kernel=built(add_ladder, ADD["v0"]))
    twin = add_scalar[1](x, y, z_sim, 4096)
    assert same_bits(z, z_sim)
    assert_same_run(run, twin)


@pytest.mark.parametrize("schedule", ["eager", "lazy"])
def test_schedule_and_checks_change_no_result(schedule):
    x, y = values(40_000, np.float16, 7), values(40_000, np.float16, 8)
    out = []
    for checks in ("full", "off"):
        z = poisoned(x.size, np.float16)
        run = add_sim.add.launch(8, (x, y, z, 5120), schedule=schedule, checks=checks)
        out.append((z, run.time_us))
    assert same_bits(out[0][0], out[1][0]) and out[0][1] == out[1][1]


# ---- compare
def test_compare_says_same_and_names_the_first_difference(built):
    x = values(65_536, np.float32, 9)
    y = poisoned(x.size, x.dtype)
    run = copy_ladder.launch(COPY["v2"], x, y, kernel=built(copy_ladder, COPY["v2"]))
    same = str(hp.compare(run, copy_whole_tiles[1](x, y, 8192, 2)))
    assert "Every copy and instruction is the same, in the same order." in same
    slower = str(hp.compare(run, copy_whole_tiles[1](x, y, 8192, 1)))
    assert "only their times differ" in slower
    other = str(hp.compare(run, copy_whole_tiles[1](x, y, 4096, 2)))
    assert "They part at block 0, pipe MTE2, instruction 0 (tile 0" in other and "32,768 B" in other and "16,384 B" in other
    pad = str(hp.compare(run, copy_sim.copy[1](x, y, 8192)))
    assert "DataCopy of 8,192 elements" in pad and "DataCopyPad of 8,192 elements" in pad


# ---- views
def test_views_take_a_simulation():
    x, y = values(40_000, np.float16, 1), values(40_000, np.float16, 2)
    run = add_sim.add[4](x, y, np.empty_like(x), 10_240)
    assert run.origin == "estimate (Ascend910B1)" and run.name == "add" and run.blocks == 4
    assert {b["name"] for b in run.buffers} >= {"in_x", "in_y", "out_z"}
    assert run.pipes["AIV"].keys() >= {"MTE2", "V", "MTE3"}
    lines = set(run.events["line"][run.events["pipe"] > 0])
    source = run.source.splitlines()
    assert {source[n - 1].strip().split("(")[0] for n in lines} == {"core.DataCopyPad", "core.Add"}
    for view in (run.timeline, run.report, run.roofline, run.ub_map, run.hot_lines):
        assert view() is not None
