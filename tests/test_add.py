"""kernels/add: every version of the ladder adds, at every length, and the chapter tells the truth about it."""
import re

import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import DTYPES, LARGE, SIZES, cell_of, kernel_cells, kind, poisoned, problems, same_bits, values

ladder, sim = load("add", "ladder"), load("add", "sim")
VERSIONS = ladder.VERSIONS
v0, v1, v2, v3, v4, v5, v6 = VERSIONS
FINISHED = ladder.FINISHED


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype=np.float16):
        key = version.name, np.dtype(dtype)
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


def oracle(x, y):
    """Computed in float64 and rounded once, as the vector unit does; bfloat16 is added in float32."""
    wide = np.float32 if x.dtype == ml_dtypes.bfloat16 else np.float64
    with np.errstate(all="ignore"):
        return (x.astype(wide) + y.astype(wide)).astype(x.dtype)


def assert_sum(z, x, y):
    expected = oracle(x, y)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(z), nan)
    assert same_bits(z[~nan], expected[~nan])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("version, dtype", [*((v, np.float16) for v in VERSIONS), *((FINISHED, t) for t in DTYPES)], ids=kind)
def test_every_length_is_added(kernel, version, dtype, seed):
    for size in [*SIZES, LARGE]:
        x, y, z = values(size, dtype, seed), values(size, dtype, seed + 100), poisoned(size, dtype)
        before = x.copy(), y.copy()
        run = ladder.launch(version, x, y, z, kernel=kernel(version, dtype))
        assert_sum(z, *before)
        assert same_bits(x, before[0]) and same_bits(y, before[1]), "an input has changed"
        assert [f for f in problems(run) if f.code != "NUMERIC"] == [], f"{size} elements"
        assert run.totals["gm_read_bytes"] == 2 * x.nbytes and run.totals["gm_write_bytes"] == z.nbytes


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x, y, z = values(LARGE, np.float16, 2), values(LARGE, np.float16, 3), poisoned(LARGE, np.float16)
    ladder.launch(v6, x, y, z, kernel=kernel(v6), blocks=blocks)
    assert_sum(z, x, y)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
def test_late_copies_change_nothing(kernel, version):
    x, y, z = values(40_000, np.float16, 4), values(40_000, np.float16, 5), poisoned(40_000, np.float16)
    ladder.launch(version, x, y, z, kernel=kernel(version), schedule="lazy")
    assert_sum(z, x, y)


@pytest.mark.parametrize("length, blocks", [(1003, 8), (1, 48), (8192 * 8192, 48), (256 * 48, 48), (256 * 48 + 1, 48), (LARGE, 7)])
def test_shares_cover_every_element_once(length, blocks):
    share = ladder.share(length, blocks)
    counts = [max(0, min(share, length - b * share)) for b in range(blocks)]
    assert share % ladder.LINE == 0 and sum(counts) == length


# ---- the tiling simulation
SIMULATED = {"v1": dict(buffers=1, bypass=False, shift=0), "v2": dict(buffers=1, bypass=False, shift=0), "v3": dict(buffers=1, bypass=False, shift=0),
             "v4": dict(bypass=False, shift=0), "v5": dict(shift=0), "v6": {}}


@pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda v: v.name)
def test_simulation_is_the_kernel(kernel, version):
    for size in [*SIZES, 3 * LARGE]:
        x, y, z, s = values(size, np.float16, 6), values(size, np.float16, 7), poisoned(size, np.float16), poisoned(size, np.float16)
        run = ladder.launch(version, x, y, z, kernel=kernel(version))
        simulated = sim.add[version.blocks](x, y, s, ladder.share(size, version.blocks), tile=version.tile, **SIMULATED[version.name])
        assert_sum(z, x, y)
        assert_sum(s, x, y)
        assert hp.compare(run, simulated).data["first"] is None, f"{size} elements"
        assert simulated.cycles == run.cycles


# ---- the ladder
def test_buffers_fill_ub_as_the_chapter_says(kernel):
    x = np.zeros(1 << 20, np.float16)
    for version, used in ((v3, 3 * 32_768), (v4, 196_608), (v6, 6 * 32_512 + 256)):
        run = ladder.launch(version, x, x, np.empty_like(x), kernel=kernel(version))
        assert sum(b["bytes"] for b in run.buffers if b["core"] == 0) == used, version.name


def test_only_the_last_version_is_free_of_bank_conflicts(kernel):
    x = np.zeros(1 << 20, np.float16)
    for version in VERSIONS[1:]:
        run = ladder.launch(version, x, x.copy(), np.empty_like(x), kernel=kernel(version))
        assert ("PERF_BANK_CONFLICT" in [f.code for f in run.findings]) == (version is not v6), version.name


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    heads = [line.split(":")[0] for line in version.comment.splitlines() if re.match(r"[A-Z][\w ]*: ", line)]
    assert heads == (["What", "Why", "Timeline"] if version is v0 else ["What changed", "Why", "Timeline"])
    assert f"add, {version.name}: " in version.comment
    assert version.published_us and version.source


# ---- the chapter
def test_the_kernels_of_the_chapter_are_the_files():
    first, finished = kernel_cells("02_add")[:2]
    assert first + "\n" == v0.text
    assert finished + "\n" == v6.text


def test_solution_of_three_summands():
    x, y, w = (values(50_000, np.float16, s) for s in (1, 2, 3))
    x, y, w = (np.nan_to_num(a, nan=1, posinf=1, neginf=1).clip(-9, 9) for a in (x, y, w))
    text = changed(v5.text, "TILE = 16384", "TILE = 12288")
    for old, new in [
        ("GM_ADDR y, GM_ADDR z, const", "GM_ADDR y, GM_ADDR w, GM_ADDR z, const"),
        ("GM_ADDR y, GM_ADDR z, AddTiling", "GM_ADDR y, GM_ADDR w, GM_ADDR z, AddTiling"),
        ("op.Init(x, y, z,", "op.Init(x, y, w, z,"),
        ("TQue<TPosition::VECIN, 1> inQueueX, inQueueY;", "TQue<TPosition::VECIN, 1> inQueueX, inQueueY, inQueueW;"),
        ("GlobalTensor<half> xGm, yGm, zGm;", "GlobalTensor<half> xGm, yGm, wGm, zGm;"),
        ("        yGm.SetGlobalBuffer((__gm__ half*)y + first, length);\n",
         "        yGm.SetGlobalBuffer((__gm__ half*)y + first, length);\n        wGm.SetGlobalBuffer((__gm__ half*)w + first, length);\n"),
        ("pipe->InitBuffer(inQueueY, BUFFER_NUM, TILE * sizeof(half));",
         "pipe->InitBuffer(inQueueY, BUFFER_NUM, TILE * sizeof(half)); pipe->InitBuffer(inQueueW, BUFFER_NUM, TILE * sizeof(half));"),
        ("inQueueY.EnQue(yLocal);", "inQueueY.EnQue(yLocal); LocalTensor<half> wLocal = inQueueW.AllocTensor<half>();"
                                    " DataCopyPad(wLocal, wGm[start], params, padding); inQueueW.EnQue(wLocal);"),
        ("Add(zLocal, xLocal, yLocal, count);", "LocalTensor<half> wLocal = inQueueW.DeQue<half>(); Add(zLocal, xLocal, yLocal, count);"
                                                " Add(zLocal, zLocal, wLocal, count); inQueueW.FreeTensor(wLocal);"),
    ]:
        text = changed(text, old, new)
    z = poisoned(x.size, np.float16)
    run = hp.compile(text)[8](x, y, w, z, ladder.tiling(v5, x.size, 8))
    assert same_bits(z, oracle(oracle(x, y), w))
    assert problems(run) == [] and run.totals["gm_read_bytes"] + run.totals["gm_write_bytes"] == 4 * x.nbytes


def test_solution_of_axpy():
    x, y, z = values(5000, np.float16, 1), values(5000, np.float16, 2), poisoned(5000, np.float16)
    x, y = (np.nan_to_num(a, nan=1, posinf=1, neginf=1).clip(-9, 9) for a in (x, y))
    text = v5.text
    for old, new in [
        ("GM_ADDR z, const AddTiling& tiling, TPipe* pipe)\n    {\n", "GM_ADDR z, const AddTiling& tiling, float scale, TPipe* pipe)\n    {\n        a = scale;\n"),
        ("AddTiling tiling)", "AddTiling tiling, float a)"),
        ("op.Init(x, y, z, tiling, &pipe)", "op.Init(x, y, z, tiling, a, &pipe)"),
        ("    uint32_t length = 0;\n", "    uint32_t length = 0;\n    float a = 0;\n"),
        ("        Add(zLocal", "        Muls(xLocal, xLocal, static_cast<half>(a), count);\n        Add(zLocal"),
    ]:
        text = changed(text, old, new)
    run = hp.compile(text)[3](x, y, z, ladder.tiling(v5, x.size, 3), 1.5)
    assert same_bits(z, oracle((x.astype(np.float64) * 1.5).astype(np.float16), y)) and problems(run) == []


def test_flags_repair_the_race():
    text = cell_of("02_add", "add_no_flags")
    x, y, z = values(1024, np.float16, 1), values(1024, np.float16, 2), poisoned(1024, np.float16)
    with pytest.raises(hp.KernelError) as caught:
        hp.compile(text)[1](x, y, z)
    assert [f.line for f in caught.value.findings if f.code == "MISSING_SYNC"] == [21, 22]


@pytest.mark.parametrize("blocks, tile, buffers", [(48, 1024, 1), (48, 4096, 2)])
def test_slow_add_can_be_halved(blocks, tile, buffers):
    x = np.ones(1 << 20, np.float16)

    def time_us(blocks, tile, buffers):
        text = changed(changed(v4.text, "TILE = 16384", f"TILE = {tile}"), "BUFFER_NUM = 2;", f"BUFFER_NUM = {buffers};")
        return ladder.launch(v4, x, x.copy(), np.empty_like(x), kernel=hp.compile(text), blocks=blocks).time_us
    assert time_us(blocks, tile, buffers) < time_us(4, 1024, 1) / 2
