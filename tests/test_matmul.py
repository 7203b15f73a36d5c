"""kernels/matmul: every version multiplies matrices of any shape; what the ladder and the chapter say about it."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import assert_comment, kernel_cells, poisoned, problems, same_bits
from helpers.views.fractals import LAYOUTS, fractals, layout_index
from helpers.views.rounds import rounds

ladder = load("matmul", "ladder")
v1, v2, v3, v4, v5, v6 = ladder.VERSIONS
RAW, CUBE = [v2, v3, v4], [v2, v3, v4, v5, v6]
TYPES = {"half": (np.float16, np.float32), "half to half": (np.float16, np.float16), "bfloat16": (ml_dtypes.bfloat16, np.float32), "float": (np.float32, np.float32)}
SHAPES = [(1, 1, 1), (1, 7, 20), (16, 16, 16), (31, 33, 17), (129, 5, 65), (20, 24, 35), (2, 257, 130)]
LARGE = [(200, 301, 333), (130, 270, 1000), (257, 16, 2048)]


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, types):
        if (version.name, types) not in built:
            built[version.name, types] = ladder.compile(version, *TYPES[types])
        return built[version.name, types]
    return of


def matrices(m, n, k, dtype, seed=0):
    rng = np.random.default_rng(seed + 1000 * m + 10 * n + k)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def assert_product(c, a, b):
    """Against float64. The sum of a row is as exact as float allows: a few units of the last place of |a| |b|."""
    expected, size = a.astype(np.float64) @ b.astype(np.float64), np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    ulp = {2: 2.0**-11, 4: 2.0**-23}[c.itemsize]
    assert (np.abs(c.astype(np.float64) - expected) <= ulp * np.abs(expected) + size * 2.0**-22 + 1e-7).all()


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)
def test_any_shape(kernel, version, types):
    for seed, (m, n, k) in enumerate(SHAPES if version is v1 else SHAPES + LARGE):
        a, b = matrices(m, n, k, TYPES[types][0], seed)
        c, before = poisoned(m * n, TYPES[types][1]).reshape(m, n), (a.copy(), b.copy())
        run = ladder.launch(version, a, b, c, kernel=kernel(version, types))
        assert_product(c, a, b)
        assert same_bits(a, before[0]) and same_bits(b, before[1]), "an input has changed"
        assert problems(run) == [] and run.totals["gm_write_bytes"] == (c.nbytes if version is not v1 else run.totals["gm_write_bytes"]), (m, n, k)


@pytest.mark.parametrize("version", CUBE, ids=lambda v: v.name)
def test_late_copies_change_nothing(kernel, version):
    a, b = matrices(150, 300, 200, np.float16)
    found = [np.zeros((150, 300), np.float32) for _ in range(2)]
    for c, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(version, a, b, c, kernel=kernel(version, "half"), schedule=schedule)
    assert same_bits(*found)


@pytest.mark.parametrize("base", [(16, 16, 16), (64, 48, 32), (128, 256, 64), (32, 128, 128)])
def test_any_base(kernel, base):
    a, b = matrices(150, 270, 130, np.float16)
    results = []
    for version in RAW:
        c = poisoned(150 * 270, np.float32).reshape(150, 270)
        assert problems(ladder.launch(version, a, b, c, kernel=kernel(version, "half"), base=base)) == []
        assert_product(c, a, b)
        results.append(c)
    assert same_bits(results[0], results[1]) and same_bits(results[1], results[2])


def test_any_number_of_cores(kernel):
    a, b = matrices(200, 500, 96, np.float16)
    for blocks in (1, 2, 5, 20, 24):
        c = poisoned(200 * 500, np.float32).reshape(200, 500)
        ladder.launch(v6, a, b, c, kernel=kernel(v6, "half"), blocks=blocks)
        assert_product(c, a, b)


def test_special_values(kernel):
    """0 * inf is NaN, and what is infinite stays so; in half a large sum does not become something else than inf or the largest."""
    a, b = np.ones((16, 32), np.float16), np.ones((32, 16), np.float16)
    a[0], a[1, 0], a[2, 3], a[3] = 0, np.inf, -np.inf, 6e4
    for version in (v2, v5):
        c = poisoned(256, np.float32).reshape(16, 16)
        ladder.launch(version, a, b, c, kernel=kernel(version, "half"))
        assert (c[0] == 0).all() and (c[1] == np.inf).all() and (c[2] == -np.inf).all() and (c[3] == 32 * np.float64(np.float16(6e4))).all() and (c[4:] == 32).all()


def test_rows_too_far_apart_are_told():
    a, b = np.ones((1, 66_000), np.float16), np.ones((66_000, 1), np.float16)
    for version in RAW:
        with pytest.raises(ValueError, match="66,000 elements are further apart"):
            ladder.launch(version, a, b, np.zeros((1, 1), np.float32))


def test_a_stays_in_l1_only_when_it_fits(kernel):
    a, b = matrices(128, 512, 1024, np.float16)
    c = np.zeros((128, 512), np.float32)
    reads = {v.name: ladder.launch(v, a, b, c, kernel=kernel(v, "half")).totals["gm_read_bytes"] for v in (v2, v3)}
    assert reads["v2"] == 2 * a.nbytes + b.nbytes and reads["v3"] == a.nbytes + b.nbytes
    assert ladder.keep(v3, 1024, ladder.BASE, 2) == 16 and ladder.keep(v3, 4096, ladder.BASE, 2) == 1 and ladder.keep(v4, 4096, ladder.BASE, 2) == 0


# ---- the ladder
@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "matmul")


def test_each_step_of_the_ladder_is_faster(kernel):
    m, n, k = 512, 512, 512
    a, b = matrices(m, n, k, np.float16)
    c = np.zeros((m, n), np.float32)
    times = [ladder.launch(v, a, b, c, kernel=kernel(v, "half")).time_us for v in CUBE]
    assert times == sorted(times, reverse=True) and times[-1] < times[0] / 4


# ---- mistakes of the chapter
def test_a_missing_flag_is_named():
    text = changed(v4.text, "        WaitFlag<HardEvent::M_MTE1>(l0Free[i]);\n        LoadA();", "        LoadA();")
    a, b = matrices(128, 128, 512, np.float16)
    with pytest.raises(hp.KernelError, match="M_MTE1"):
        ladder.launch(v4, a, b, np.zeros((128, 128), np.float32), kernel=hp.compile(text, name="matmul_half"))


def test_b_without_transpose_is_the_wrong_fractal():
    text = changed(v2.text, "LoadData2DParams(0, wide, high, 0, 0, true, 0)", "LoadData2DParams(0, wide, high, 0, 0, false, 0)")
    a, b = matrices(32, 32, 32, np.float16)
    c = np.zeros((32, 32), np.float32)
    with pytest.raises(hp.KernelError, match="loaded without transposition"):
        ladder.launch(v2, a, b, c, kernel=hp.compile(text, name="matmul_half"))


def test_holes_in_k_are_named():
    start, end = v2.text.index("        if (highB > depth) {"), v2.text.index("        if (rows == 1)")
    without = v2.text[:start] + v2.text[end:]
    a, b = matrices(16, 16, 20, np.float16)
    c = np.zeros((16, 16), np.float32)
    with pytest.raises(hp.KernelError, match="UNINITIALISED_READ.*\n.*\n.*B is not loaded at k 20..31"):
        ladder.launch(v2, a, b, c, kernel=hp.compile(changed(without, "p.k = depth;", "p.k = RoundUp(depth, C0);"), name="matmul_half"))
    ladder.launch(v2, a, b, c, kernel=hp.compile(changed(v2.text, "p.k = depth;", "p.k = RoundUp(depth, C0);"), name="matmul_half"))   # zeros are as good as a mask
    assert_product(c, a, b)


def test_a_base_too_large_for_l0():
    a, b = matrices(256, 256, 64, np.float16)
    with pytest.raises(hp.KernelError, match="(?s)UB_OVERFLOW.*L0C|L0C.*131,?072"):
        ladder.launch(v2, a, b, np.zeros((256, 256), np.float32), base=(256, 256, 64))
    with pytest.raises(hp.host.HostError, match="L0C, which has 131072 B"):
        ladder.launch(v5, a, b, np.zeros((256, 256), np.float32), base=(256, 256, 64))


# ---- the chapter
def test_the_kernels_of_the_chapter_are_the_files():
    first, finished = kernel_cells("06_matmul")
    assert first + "\n" == v2.text and finished + "\n" == v6.text


@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_layouts(itemsize):
    """By reshaping: fractals of 16 rows and 32 B, in the order that the name says."""
    c0, rows, cols = 32 // itemsize, 48, 96
    x = np.arange(rows * cols).reshape(rows, cols)
    cut = x.reshape(rows // 16, 16, cols // c0, c0)
    orders = {"ND": x, "NZ": cut.transpose(2, 0, 1, 3), "ZZ": cut.transpose(0, 2, 1, 3)}
    if rows % c0 == 0:
        orders["ZN"] = x.reshape(rows // c0, c0, cols // 16, 16).transpose(0, 2, 3, 1)
    for name, memory in orders.items():
        assert (memory.ravel()[layout_index(name, rows, cols, itemsize)] == x).all(), name


def test_places_by_hand():
    assert [int(layout_index(name, 18, 20)[3, 16]) for name in ("ND", "NZ", "ZZ")] == [76, 560, 304]
    assert layout_index("NZ", 18, 20)[17, 19] == layout_index("ZZ", 18, 20)[17, 19] == 787
    assert layout_index("NZ", 18, 50, 1)[17, 40] == 1576 and layout_index("ZN", 50, 18, 1)[40, 17] == 1576
    assert layout_index("ZZ", 18, 12, 4)[17, 9] == 393 and layout_index("ZN", 12, 18, 4)[9, 17] == 393
    with pytest.raises(ValueError, match="no layout 'NN'"):
        layout_index("NN", 4, 4)


def test_pictures_say_what_they_show():
    picture = fractals(18, 20, mark=(3, 16))
    assert "element (3, 16) at 560" in picture.alt and set(picture.data) == {"ND", "NZ", "ZZ"} and picture.png()[1:4] == b"PNG"
    assert fractals(32, 48, layouts=tuple(LAYOUTS), until=700).png() == fractals(32, 48, layouts=tuple(LAYOUTS), until=700).png()
    grid = rounds({"128 x 256": 32, "192 x 128": 48}, cores=24)
    assert "128 x 256: 32 blocks, 2 rounds, 16 idle" in grid.alt and "192 x 128: 48 blocks, 2 rounds, 0 idle" in grid.alt and grid.png()


def test_solution_of_a_turned_b():
    text = changed(v6.text, "mm.SetTensorB(bGm[column]);", "mm.SetTensorB(bGm[column * tiling.Kb], true);")
    text = changed(text, "MatmulType<TPosition::GM, CubeFormat::ND, T>,\n", "MatmulType<TPosition::GM, CubeFormat::ND, T, true>,\n")
    a, b = matrices(100, 300, 200, np.float16)
    c = np.zeros((100, 300), np.float32)
    made = hp.host.matmul_tiling(100, 300, 200, trans_b=True, cores=24)
    hp.compile(text, name="matmul_half").launch(made.usedCoreNum, (a, np.ascontiguousarray(b.T), c, made))
    assert_product(c, a, b)


def test_solution_of_relu():
    text = changed(v2.text, "        p.dstStride = t.n;\n", "        p.dstStride = t.n;\n        p.reluEn = true;\n")
    a, b = matrices(40, 50, 60, np.float16)
    c, plain = np.zeros((40, 50), np.float32), np.zeros((40, 50), np.float32)
    ladder.launch(v2, a, b, c, kernel=hp.compile(text, name="matmul_half"))
    ladder.launch(v2, a, b, plain)
    assert (c == np.maximum(plain, 0)).all() and (plain < 0).any()


def test_solution_of_split_k():
    """Parts of K on several cores add up in GM; the order is not promised, so a bound judges."""
    text = changed(v6.text, "    mm.SetTail(rows, columns);\n    mm.SetTensorA(aGm[row * tiling.Ka]);\n    mm.SetTensorB(bGm[column]);\n    mm.IterateAll(cGm[row * tiling.N + column]);\n",
                   "    int32_t across = (tiling.N + tiling.singleCoreN - 1) / tiling.singleCoreN;\n"
                   "    uint64_t from = static_cast<uint64_t>(block / (down * across)) * tiling.singleCoreK;\n"
                   "    column = static_cast<uint64_t>(block / down % across) * tiling.singleCoreN;\n"
                   "    int32_t depth = tiling.Ka - from < tiling.singleCoreK ? tiling.Ka - from : tiling.singleCoreK;\n"
                   "    columns = tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN;\n"
                   "    mm.SetTail(rows, columns, depth);\n    mm.SetTensorA(aGm[row * tiling.Ka + from]);\n    mm.SetTensorB(bGm[from * tiling.N + column]);\n"
                   "    mm.IterateAll(cGm[row * tiling.N + column], 1);\n")
    t = hp.host.MultiCoreMatmulTiling()
    t.SetDim(8)
    for which in (t.SetAType, t.SetBType):
        which("GM", "ND", "half")
    t.SetCType("GM", "ND", "float")
    t.SetShape(64, 64, 4000)
    t.EnableMultiCoreSplitK()
    made = t.GetTiling()
    a, b = matrices(64, 64, 4000, np.float16)
    c = np.zeros((64, 64), np.float32)
    run = hp.compile(text, name="matmul_half").launch(made.usedCoreNum, (a, b, c, made))
    assert made.usedCoreNum > 1 and problems(run) == []
    assert_product(c, a, b)


def test_published_cases_run():
    """The texts of the cases at a small shape: messages cost time, a tiling of compile time saves some."""
    cases = load("matmul", "cases")
    plain, mix, constant, norm = (cases.run(128, 1536, 64, **options).time_us for options in ({}, {"cube_only": False}, {"constant": True}, {"config": "CFG_NORM"}))
    assert mix > plain + 5 and constant < plain - 2 and norm >= plain * 0.9
    assert [s.title for s in cases.steps(128 * 30720 * 64)] == ["N30720 K64 MIX, by messages", "N30720 K64 cube only", "N30720 K64 constant tiling"]
