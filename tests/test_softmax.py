"""kernels/softmax: rows of any length, masks, rows longer than UB; what the chapter says about it."""
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import DTYPES, SIZES, TYPES, assert_comment, assert_rows, cell_of, kernel_cells, kind, poisoned, rows_of_values, same_bits, serious

ladder = load("softmax", "ladder")
v1, v2, v3 = ladder.VERSIONS
MASKED, LONG = ladder.MASKED, ladder.LONG


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype):
        key = version.name, np.dtype(dtype)
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


def oracle(x):
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)


def oracle_masked(x, mask):
    """A fully masked row is zero: the rule of this kernel."""
    hidden = np.where(mask != 0, -np.inf, x.astype(np.float64))
    return np.where((mask != 0).all(axis=-1, keepdims=True), 0.0, oracle(np.where((mask != 0).all(axis=-1, keepdims=True), 0.0, hidden)))


@pytest.mark.parametrize("version, dtype", [(v, t) for v in (v1, v2, v3, LONG) for t in DTYPES if t in (np.float16, np.float32) or v in (v2, LONG)], ids=kind)
def test_any_shape(kernel, version, dtype):
    for seed, (rows, length) in enumerate([(r, n) for r in (1, 2, 3) for n in [*SIZES, 5, 9]] + [(101, 33), (70, 64), (49, 1003)]):
        x = rows_of_values(rows, length, dtype, seed % 2 + 10 * length)
        y, before = poisoned(x.size, dtype).reshape(x.shape), x.copy()
        run = ladder.launch(version, x, y, kernel=kernel(version, dtype))
        assert_rows(y, oracle(before))
        assert same_bits(x, before), "the input has changed"
        assert serious(run) == [], (rows, length)
        assert run.totals["gm_read_bytes"] == x.nbytes * (2 if version is LONG else 1) and run.totals["gm_write_bytes"] == y.nbytes


@pytest.mark.parametrize("version", [v1, v2, v3, LONG], ids=lambda v: v.name)
def test_large_numbers_and_minus_infinity(kernel, version):
    x = np.array([[12.0, 12.0, -60_000.0, 65_504.0], [-np.inf, 1.0, 2.0, -np.inf], [-65_504.0] * 4, [-np.inf] * 4], np.float16)
    y = poisoned(x.size, np.float16).reshape(x.shape)
    ladder.launch(version, x, y, kernel=kernel(version, np.float16))
    assert_rows(y, oracle(x))
    assert y[0].tolist() == [0, 0, 0, 1] and y[2].tolist() == [0.25] * 4 and np.isnan(y[3]).all()


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x = rows_of_values(100, 130, np.float16, 3)
    for version in (v1, v2, v3, LONG):
        y = poisoned(x.size, np.float16).reshape(x.shape)
        ladder.launch(version, x, y, kernel=kernel(version, np.float16), blocks=blocks)
        assert_rows(y, oracle(x))


@pytest.mark.parametrize("version", [v1, v2, v3, LONG, MASKED], ids=lambda v: v.name)
def test_late_copies_change_nothing(kernel, version):
    x = np.random.default_rng(1).standard_normal((200, 130)).astype(np.float16)
    mask = [(x > 1).astype(np.uint8)] if version is MASKED else []
    found = [np.zeros_like(x) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(version, x, *mask, y, kernel=kernel(version, np.float16), schedule=schedule)
    assert same_bits(*found)


@TYPES
def test_masks(kernel, dtype):
    rng = np.random.default_rng(2)
    for rows, length in [(1, 1), (2, 5), (3, 7), (3, 9), (5, 64), (3, 1003), (60, 200)]:
        x = (rng.standard_normal((rows, length)) * 4).astype(dtype)
        mask = (rng.random(x.shape) < 0.4).astype(np.uint8)
        mask[-1], mask[0, 0] = 1, 0                                # the last row is fully masked
        y = poisoned(x.size, dtype).reshape(x.shape)
        run = ladder.launch(MASKED, x, mask, y, kernel=kernel(MASKED, dtype))
        assert_rows(y, oracle_masked(x, mask))
        assert (y[mask != 0] == 0).all() and serious(run) == []
        assert run.totals["gm_read_bytes"] == x.nbytes + mask.nbytes and run.totals["gm_write_bytes"] == y.nbytes


def test_causal_mask(kernel):
    x = np.random.default_rng(3).standard_normal((100, 100)).astype(np.float16)
    mask = np.triu(np.ones_like(x, np.uint8), 1)
    y = poisoned(x.size, np.float16).reshape(x.shape)
    ladder.launch(MASKED, x, mask, y, kernel=kernel(MASKED, np.float16))
    assert_rows(y, oracle_masked(x, mask))
    assert y[0, 0] == 1


@TYPES
def test_rows_longer_than_ub(kernel, dtype):
    x = (np.random.default_rng(4).standard_normal((3, 40_000)) * 3).astype(dtype)
    x[1] = np.linspace(-20, 20, 40_000)                            # the maximum grows with every tile
    x[2, :20_000] = -np.inf                                        # and the first tiles have none
    y = poisoned(x.size, dtype).reshape(x.shape)
    run = ladder.launch(LONG, x, y, kernel=kernel(LONG, dtype))
    assert_rows(y, oracle(x))
    assert serious(run) == []
    with pytest.raises(ValueError, match="40,000 elements does not fit"):
        ladder.launch(v2, x, y, kernel=kernel(v2, dtype))


@pytest.mark.parametrize("version", [v2, v3], ids=lambda v: v.name)
def test_the_longest_rows_that_fit_do_fit(kernel, version):
    for dtype in (np.float16, np.float32):
        size = np.dtype(dtype).itemsize
        length = max(n for n in range(64, 20_000, 64) if ladder.tile_rows(version, 2, n, size) >= 1)
        x, y = np.ones((2, length), dtype), np.empty((2, length), dtype)
        assert serious(ladder.launch(version, x, y, kernel=kernel(version, dtype), blocks=1)) == []
        with pytest.raises(ValueError, match="does not fit UB"):
            ladder.launch(version, np.ones((2, length + 64), dtype), np.empty((2, length + 64), dtype), kernel=kernel(version, dtype), blocks=1)


@pytest.mark.parametrize("version", [v1, v2, v3, MASKED, LONG], ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "softmax")


def test_several_rows_per_call_are_faster(kernel):
    x = np.random.default_rng(0).standard_normal(ladder.SHAPE).astype(np.float16)
    y = np.empty_like(x)
    one, many, library = (ladder.launch(v, x, y, kernel=kernel(v, np.float16)).time_us for v in (v1, v2, v3))
    assert many < 0.65 * one and library < many


def test_the_library_needs_one_call_for_a_tile(kernel):
    x = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    y = np.empty_like(x)
    run = ladder.launch(v3, x, y, kernel=kernel(v3, np.float32))
    assert_rows(y, oracle(x))
    assert run.totals["vector_instructions"] == 1024 / ladder.tile_rows(v3, 22, 1024, 4) == 128


@pytest.mark.parametrize("rows, length", [(1, 1), (2, 7), (96, 64), (60, 1003)])
def test_simulation_is_v1(kernel, rows, length):
    x = np.random.default_rng(length).standard_normal((rows, length)).astype(np.float16)
    y, simulated = poisoned(x.size, np.float16).reshape(x.shape), poisoned(x.size, np.float16).reshape(x.shape)
    run = ladder.launch(v1, x, y, kernel=kernel(v1, np.float16))
    same = load("softmax", "sim").softmax[48](x, simulated)
    assert_rows(simulated, oracle(x))
    assert hp.compare(run, same).data["first"] is None and same.cycles == run.cycles


# ---- the chapter
def test_the_kernels_of_the_chapter_are_the_files():
    first, finished = kernel_cells("04_softmax")[:2]
    assert first + "\n" == v1.text and finished + "\n" == v2.text


def test_solution_of_log_softmax():
    text = changed(v1.text, "        Exp(wide, wide, length);\n        ReduceSum(result, wide, work, length);\n        float scale = 1.0f / result.GetValue(0);\n",
                   """        LocalTensor<float> power = powerBuf.Get<float>();
        Exp(power, wide, length);
        ReduceSum(result, power, work, length);
        Ln(result, result, 1);
        float shift = -result.GetValue(0);
""")
    text = changed(text, "Muls(yLocal, wide, scale, length);", "Adds(yLocal, wide, shift, length);")
    text = changed(text, "Muls(wide, wide, scale, length);", "Adds(wide, wide, shift, length);")
    text = changed(text, "        pipe->InitBuffer(resultBuf, 32);", "        pipe->InitBuffer(resultBuf, 32);\n        pipe->InitBuffer(powerBuf, (length * sizeof(float) + 31) / 32 * 32);")
    text = changed(text, "wideBuf, workBuf, resultBuf;", "wideBuf, workBuf, resultBuf, powerBuf;")
    x = (np.random.default_rng(1).standard_normal((5, 77)) * 8).astype(np.float16)
    y = poisoned(x.size, np.float16).reshape(x.shape)
    run = ladder.launch(v1, x, y, kernel=hp.compile(text, name="softmax_half"))
    wide = x.astype(np.float64) - x.max(axis=1, keepdims=True)
    assert_rows(y, wide - np.log(np.exp(wide).sum(axis=1, keepdims=True)))
    assert np.isfinite(y).all() and serious(run) == []


def test_the_removed_line_fills_the_pads():
    kernel = hp.compile(changed(v2.text, "FillPads(wide, MINUS_INF, count);", ""), name="softmax_half")
    for width, right in ((64, True), (100, False)):
        x, y = np.ones((3, width), np.float16), np.zeros((3, width), np.float16)
        if right:
            ladder.launch(v2, x, y, kernel=kernel)
            assert_rows(y, oracle(x))
        else:
            with pytest.raises(hp.KernelError, match="UNINITIALISED_READ"):
                ladder.launch(v2, x, y, kernel=kernel)


def test_solution_of_the_bits():
    text = cell_of("04_softmax", "keep_positive")
    x = (np.where(np.arange(64) % 24 == 5, 1, -1) * np.arange(1, 65)).astype(np.float32)
    for new, right in (("bits.GetValue(i / 8) ?", 43), ("(bits.GetValue(i / 8) >> (i % 8)) & 1 ?", 64)):
        y = poisoned(64, np.float32)
        hp.compile(changed(text, "bits.GetValue(i / 8) ?", new))[1](x, y)
        assert (y == np.maximum(x, 0)).sum() == right
