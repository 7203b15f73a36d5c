"""kernels/copy: every length arrives, nothing else is touched, and the chapter tells the truth about it."""
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import DTYPES, LARGE, ROOT, SIZES, TYPES, cell_of, kernel_cells, poisoned, problems, same_bits, values

ladder, sim = load("copy", "ladder"), load("copy", "sim")
one_buffer, two_buffers, finished = ladder.VERSIONS


@pytest.fixture(scope="module")
def kernels():
    return {(v.name, np.dtype(dtype).name): ladder.compile(v, dtype) for v, dtypes in
            ((one_buffer, [np.float32]), (two_buffers, [np.float32]), (finished, DTYPES)) for dtype in dtypes}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("blocks", [1, 3, 48])
@TYPES
def test_every_length_arrives(kernels, dtype, blocks, seed):
    for size in [*SIZES, LARGE]:
        x, y = values(size, dtype, seed), poisoned(size, dtype)
        before = x.copy()
        run = ladder.launch(finished, x, y, kernel=kernels["copy", np.dtype(dtype).name], blocks=blocks, tile=256)
        assert same_bits(y, before), f"{size} elements"
        assert same_bits(x, before), "the input has changed"
        assert problems(run) == []
        assert run.totals["gm_read_bytes"] == run.totals["gm_write_bytes"] == x.nbytes


@pytest.mark.parametrize("tile", [16, 48, 1000, 49_152])
def test_every_tile_arrives(kernels, tile):
    x, y = values(20_011, "float16", 3), poisoned(20_011, "float16")
    ladder.launch(finished, x, y, kernel=kernels["copy", "float16"], tile=tile)
    assert same_bits(y, x)


@pytest.mark.parametrize("version", [one_buffer, two_buffers], ids=lambda v: v.name)
@pytest.mark.parametrize("tiles, blocks", [(1, 1), (2, 1), (8, 1), (8, 8), (8, 3), (3, 8)])
def test_whole_tiles_arrive_in_the_first_versions(kernels, version, tiles, blocks):
    x, y = values(tiles * 256, "float32", 5), poisoned(tiles * 256, "float32")
    run = ladder.launch(version, x, y, kernel=kernels[version.name, "float32"], blocks=blocks, tile=256)
    assert same_bits(y, x) and problems(run) == []


def test_late_copies_change_nothing(kernels):
    x, y = values(LARGE, "float32", 6), poisoned(LARGE, "float32")
    run = ladder.launch(finished, x, y, kernel=kernels["copy", "float32"], schedule="lazy")
    assert same_bits(y, x) and problems(run) == []


# ---- the tiling simulation
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("blocks", [1, 3, 48])
def test_simulation_is_the_kernel(kernels, dtype, blocks):
    for size in [*SIZES, LARGE]:
        x, y, z = values(size, dtype, 9), poisoned(size, dtype), poisoned(size, dtype)
        run = ladder.launch(finished, x, y, kernel=kernels["copy", dtype], blocks=blocks, tile=256)
        simulated = sim.copy[blocks](x, z, 256)
        assert same_bits(z, x) and same_bits(y, x)
        assert hp.compare(run, simulated).data["first"] is None, f"{size} elements"
        assert simulated.cycles == run.cycles


# ---- the worked numbers of the chapter: a copy of 65,536 float
@pytest.mark.parametrize("version, blocks, by_hand_us", [
    (one_buffer, 1, 8 * (0.695 + 0.635) + 1.7),     # load and store take turns
    (two_buffers, 1, 8 * 0.660 + 0.695 + 1.7),      # the loads follow each other, the last store comes on top
    (two_buffers, 8, 0.695 + 0.635 + 1.7),          # one tile per block
])
def test_estimate_agrees_with_the_computation_by_hand(kernels, version, blocks, by_hand_us):
    x = np.ones(ladder.LENGTH, np.float32)
    run = ladder.launch(version, x, np.empty_like(x), kernel=kernels[version.name, "float32"], blocks=blocks)
    assert run.time_us == pytest.approx(by_hand_us, rel=0.15)
    assert run.origin == "estimate (Ascend910B1)"


def test_round_trip_is_flat_up_to_8_kb(kernels):
    def copies_us(kb):
        x = np.ones(int(kb * 256), np.float32)
        e = ladder.launch(one_buffer, x, np.empty_like(x), kernel=kernels["v1", "float32"], tile=x.size).events
        e = e[e["bytes"] > 0]
        return (e["end"].max() - e["start"].min()) / 1000
    assert copies_us(0.5) == pytest.approx(copies_us(8)) == pytest.approx(0.37, abs=0.01)
    assert copies_us(32) == pytest.approx(1.33, abs=0.02)


# ---- the chapter
def test_the_kernels_of_the_chapter_are_the_files():
    assert kernel_cells("01_copy")[0] + "\n" == one_buffer.text
    assert cell_of("01_copy", "copy_half") + "\n" == finished.text
    assert changed(one_buffer.code, "BUFFER_NUM = 1", "BUFFER_NUM = 2") == two_buffers.code
    assert (ROOT / "kernels" / "copy" / "ladder.py").is_file()


def test_solution_of_the_gap():
    table = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    for gap, right in ((128, 1), (96, 8)):
        part = np.full((8, 8), np.nan, np.float32)
        hp.compile(changed(cell_of("01_copy", "columns"), "GAP = 128", f"GAP = {gap}"))[1](table, part)
        assert (part == table[:8, :8]).all(axis=1).sum() == right


def test_solution_of_the_pitch():
    rows, one = np.arange(18, dtype=np.float16).reshape(2, 9), np.full(9, np.nan, np.float16)
    run = hp.compile(changed(cell_of("01_copy", "second_row"), "ROW_1 = 9", "ROW_1 = 16"))[1](rows, one)
    assert (one == rows[1]).all() and problems(run) == []


def test_solution_of_the_reverse_order(kernels):
    text = changed(finished.text, "uint32_t start = i * tile;", "uint32_t start = (tileNum - 1 - i) * tile;")
    x, y = values(LARGE, "float16", 8), poisoned(LARGE, "float16")
    run = ladder.launch(finished, x, y, kernel=hp.compile(text, name="copy_half"), tile=1024)
    forward = ladder.launch(finished, x, poisoned(LARGE, "float16"), kernel=kernels["copy", "float16"], tile=1024)
    assert same_bits(y, x)
    assert run.time_us == pytest.approx(forward.time_us, rel=0.05)


MANY_ROWS = """
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void many_rows(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t batch)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, rows * 32);
    yGm.SetGlobalBuffer((__gm__ float*)y, rows * 16);
    pipe.InitBuffer(queue, 1, 2000 * 64);
    for (uint32_t first = 0; first < rows; first += batch) {
        uint16_t count = rows - first < batch ? rows - first : batch;
        LocalTensor<float> local = queue.AllocTensor<float>();
        DataCopyPad(local, xGm[first * 32], {count, 64, 64, 0, 0}, {false, 0, 0, 0});
        queue.EnQue(local);
        local = queue.DeQue<float>();
        DataCopyPad(yGm[first * 16], local, {count, 64, 0, 0, 0});
        queue.FreeTensor(local);
    }
}
"""


def test_solution_of_many_rows():
    table, part = np.arange(5000 * 32, dtype=np.float32).reshape(5000, 32), np.full((5000, 16), np.nan, np.float32)
    kernel = hp.compile(MANY_ROWS)
    with pytest.raises(hp.KernelError) as caught:
        kernel[1](table, part, 5000, 5000)
    assert any(f.code == "BAD_PARAMETER" and "4095" in f.message + f.hint for f in caught.value.findings)
    run = kernel[1](table, part, 5000, 2000)
    assert (part == table[:, :16]).all() and problems(run) == []
