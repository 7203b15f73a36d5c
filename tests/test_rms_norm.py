"""kernels/rms_norm: every version normalises rows of any length; gradients; what the chapter says about it."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import DTYPES, SIZES, TYPES, assert_comment, assert_rows, kernel_cells, kind, poisoned, problems, rows_of_values, same_bits, serious

ladder = load("rms_norm", "ladder")
v1, v2, v3, v4, v5, v6, v7 = ladder.VERSIONS
GRAD, LONG, GRAD_LONG = ladder.GRAD, ladder.LONG, ladder.GRAD_LONG
PLAIN = [v2, v3, v4, v5, v7, LONG]
KINDS = [(v, t) for v in PLAIN for t in DTYPES if t in (np.float16, np.float32) or v in (v5, LONG)]
EPS = 1e-6


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype):
        key = version.name, np.dtype(dtype)
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


def oracle(x, gamma, eps=EPS):
    """In float64. float inside the kernel cannot hold squares above 3.4e38: the tests keep float below that."""
    with np.errstate(all="ignore"):
        x = x.astype(np.float64)
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * gamma.astype(np.float64)


def oracle_grad(dy, x, gamma, eps=EPS):
    dy, x, gamma = (a.astype(np.float64) for a in (dy, x, gamma))
    scale = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    normed = x * scale
    return scale * (dy * gamma - normed * (dy * gamma * normed).mean(axis=-1, keepdims=True)), (dy * normed).sum(axis=0)


def inputs(rows, length, dtype, seed):
    x = rows_of_values(rows, length, dtype, seed)
    if dtype != np.float16:
        x = np.where(np.abs(x) > 1e18, dtype(np.inf), x)
    return x, (np.random.default_rng(seed + 50).random(length) + 0.5).astype(dtype)


@pytest.mark.parametrize("version, dtype", KINDS, ids=kind)
def test_any_shape(kernel, version, dtype):
    for seed, (rows, length) in enumerate([(r, n) for r in (1, 2, 3) for n in SIZES] + [(101, 33), (70, 64), (49, 1003)]):
        x, gamma = inputs(rows, length, dtype, seed % 2 + 10 * length)
        y, before = poisoned(x.size, dtype).reshape(x.shape), (x.copy(), gamma.copy())
        run = ladder.launch(version, x, gamma, y, kernel=kernel(version, dtype))
        assert_rows(y, oracle(*before))
        assert same_bits(x, before[0]) and same_bits(gamma, before[1]), "an input has changed"
        assert serious(run) == [], (rows, length)
        if version is not LONG:
            parts = -(-rows // ladder.tile_rows(v7, -(-rows // 48), length, x.itemsize)) if version is v7 else rows
            assert run.totals["gm_read_bytes"] == x.nbytes + gamma.nbytes * min(parts, version.blocks)
        else:
            assert run.totals["gm_read_bytes"] == 2 * x.nbytes + gamma.nbytes * rows
        assert run.totals["gm_write_bytes"] == y.nbytes


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x, gamma = inputs(100, 130, np.float16, 3)
    for version in (v5, v7, LONG):
        y = poisoned(x.size, np.float16).reshape(x.shape)
        ladder.launch(version, x, gamma, y, kernel=kernel(version, np.float16), blocks=blocks)
        assert_rows(y, oracle(x, gamma))


@pytest.mark.parametrize("version", [*PLAIN, GRAD, GRAD_LONG], ids=lambda v: v.name)
def test_late_copies_change_nothing(kernel, version):
    x, gamma = np.random.default_rng(1).standard_normal((200, 130)).astype(np.float16), np.ones(130, np.float16)
    outputs = [[np.zeros_like(x), np.zeros(130, np.float32)] if "grad" in version.name else [np.zeros_like(x)] for _ in range(2)]
    for out, schedule in zip(outputs, ("eager", "lazy")):
        arrays = (x[::-1].copy(), x, gamma, *out) if "grad" in version.name else (x, gamma, *out)
        ladder.launch(version, *arrays, kernel=kernel(version, np.float16), schedule=schedule)
    assert all(same_bits(a, b) for a, b in zip(*outputs))


def test_v1_is_right_for_harmless_rows_only(kernel):
    rng = np.random.default_rng(0)
    x, gamma = rng.standard_normal((3, 1003)).astype(np.float16), np.ones(1003, np.float16)
    y = poisoned(x.size, np.float16).reshape(x.shape)
    ladder.launch(v1, x, gamma, y, kernel=kernel(v1, np.float16))
    np.testing.assert_allclose(y.astype(float), oracle(x, gamma), rtol=1e-2, atol=1e-2)
    with pytest.raises(hp.CheckError):
        hp.check(y, oracle(x, gamma))
    big = np.full((1, 4096), 4, np.float16)                       # squares of 16: their sum is 65,536
    y = poisoned(big.size, np.float16).reshape(big.shape)
    ladder.launch(v1, big, np.ones(4096, np.float16), y, kernel=kernel(v1, np.float16))
    assert (y == 0).all()


@TYPES
def test_residual_is_add_then_norm(kernel, dtype):
    rng = np.random.default_rng(4)
    for rows, length in [(1, 1), (3, 7), (2, 1003), (101, 130)]:
        x, residual = (rng.standard_normal((rows, length)).astype(dtype) for _ in range(2))
        gamma = rng.random(length).astype(dtype)
        y, total, separate = (poisoned(x.size, dtype).reshape(x.shape) for _ in range(3))
        run = ladder.launch(v6, x, residual, gamma, y, total, kernel=kernel(v6, dtype))
        assert same_bits(total, x + residual)
        ladder.launch(v5, total, gamma, separate, kernel=kernel(v5, dtype))
        assert same_bits(y, separate) and problems(run) == []
        assert run.totals["gm_read_bytes"] == 2 * x.nbytes + gamma.nbytes * min(rows, 48)
        assert run.totals["gm_write_bytes"] == 2 * x.nbytes


def test_residual_in_place(kernel):
    """The sum may replace the residual: every tile is loaded before it is stored."""
    rng = np.random.default_rng(5)
    x, residual = (rng.standard_normal((101, 130)).astype(np.float16) for _ in range(2))
    gamma, y, expected = np.ones(130, np.float16), np.zeros_like(x), x + residual
    ladder.launch(v6, x, residual, gamma, y, residual, kernel=kernel(v6, np.float16))
    assert same_bits(residual, expected)
    assert_rows(y, oracle(expected, gamma))


@pytest.mark.parametrize("version", [v2, v5, LONG], ids=lambda v: v.name)
def test_zero_rows_are_zero(kernel, version):
    x, gamma, y = np.zeros((3, 100), np.float16), np.ones(100, np.float16), poisoned(300, np.float16).reshape(3, 100)
    ladder.launch(version, x, gamma, y, eps=1e-8, kernel=kernel(version, np.float16))
    assert (y == 0).all()


@TYPES
def test_rows_longer_than_ub(kernel, dtype):
    x, gamma = inputs(3, 40_000, dtype, 7)
    y = poisoned(x.size, dtype).reshape(x.shape)
    run = ladder.launch(LONG, x, gamma, y, kernel=kernel(LONG, dtype))
    assert_rows(y, oracle(x, gamma))
    assert serious(run) == []
    with pytest.raises(ValueError, match="40,000 elements does not fit"):
        ladder.launch(v5, x, gamma, y, kernel=kernel(v5, dtype))


@TYPES
@pytest.mark.parametrize("version", [GRAD, GRAD_LONG], ids=lambda v: v.name)
def test_gradients(kernel, version, dtype):
    rng = np.random.default_rng(8)
    for rows, length in [(1, 7), (2, 31), (3, 64), (101, 33), (49, 1003)] + ([(2, 40_000)] if version is GRAD_LONG else []):
        dy, x = (rng.standard_normal((rows, length)).astype(dtype) for _ in range(2))
        gamma = (rng.random(length) + 0.5).astype(dtype)
        dx, dgamma = poisoned(x.size, dtype).reshape(x.shape), np.zeros(length, np.float32)
        before = dy.copy(), x.copy(), gamma.copy()
        run = ladder.launch(version, dy, x, gamma, dx, dgamma, kernel=kernel(version, dtype))
        expected = oracle_grad(*before)
        np.testing.assert_allclose(dx.astype(float), expected[0], rtol=1e-5 if dtype == np.float32 else float(ml_dtypes.finfo(dtype).eps), atol=3e-6)
        np.testing.assert_allclose(dgamma, expected[1], rtol=1e-5, atol=2e-5)
        assert all(same_bits(a, b) for a, b in zip((dy, x, gamma), before)) and problems(run) == [], (rows, length)


def test_gradients_agree_with_finite_differences(kernel):
    rng = np.random.default_rng(9)
    dy, x, gamma = rng.standard_normal((2, 9)), rng.standard_normal((2, 9)), rng.random(9) + 0.5
    dx, dgamma = np.zeros((2, 9), np.float32), np.zeros(9, np.float32)
    ladder.launch(GRAD, dy.astype(np.float32), x.astype(np.float32), gamma.astype(np.float32), dx, dgamma, kernel=kernel(GRAD, np.float32))

    def slope(of, at):
        step = np.zeros_like(of)
        step[at] = 1e-6
        up, down = ((dy * oracle(x + s, gamma)).sum() if of is x else (dy * oracle(x, gamma + s)).sum() for s in (step, -step))
        return (up - down) / 2e-6
    assert np.allclose([[slope(x, (r, c)) for c in range(9)] for r in range(2)], dx, atol=1e-5)
    assert np.allclose([slope(gamma, c) for c in range(9)], dgamma, atol=1e-5)


# ---- the ladder
@pytest.mark.parametrize("version", [*ladder.VERSIONS, LONG, GRAD, GRAD_LONG], ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "rms_norm")


@pytest.mark.parametrize("rows, length, itemsize, fit", [(22, 1024, 4, 8), (22, 4096, 2, 2), (22, 4096, 4, 2), (1, 8192, 2, 1), (3, 1, 2, 3)])
def test_rows_of_a_tile(rows, length, itemsize, fit):
    assert ladder.tile_rows(v5, rows, length, itemsize) == fit


def test_the_longest_rows_that_fit_do_fit(kernel):
    for version, dtype in ((v5, np.float16), (v5, np.float32), (v3, np.float16), (v6, np.float32), (v7, np.float16), (v7, np.float32), (GRAD, np.float32)):
        size = np.dtype(dtype).itemsize
        length = max(n for n in range(64, 20_000, 64) if ladder.rows_that_fit(version, n, size) >= 1)
        x, gamma = np.ones((2, length), dtype), np.ones(length, dtype)
        outputs = {"v6": (x.copy(), gamma, x.copy(), x.copy()), "grad": (x, gamma, x.copy(), np.zeros(length, np.float32))}.get(version.name, (gamma, x.copy()))
        run = ladder.launch(version, x, *outputs, kernel=kernel(version, dtype))
        assert problems(run) == []


def test_each_step_of_the_ladder_is_faster(kernel):
    x, gamma = np.random.default_rng(0).standard_normal(ladder.SHAPE).astype(np.float32), np.ones(1024, np.float32)
    y = np.empty_like(x)
    times = [ladder.launch(v, x, gamma, y, kernel=kernel(v, np.float32)).time_us for v in (v2, v3, v4, v5, v7)]
    assert times == sorted(times, reverse=True) and times[0] > 2 * times[1] and times[2] > 10 * times[3]


# ---- the tiling simulation
@pytest.mark.parametrize("rows, length", [(1, 1), (2, 7), (5, 64), (3, 1003)])
def test_simulation_is_v2(kernel, rows, length):
    x, gamma = np.random.default_rng(length).standard_normal((rows, length)).astype(np.float32), np.ones(length, np.float32)
    y, simulated = poisoned(x.size, np.float32).reshape(x.shape), poisoned(x.size, np.float32).reshape(x.shape)
    run = ladder.launch(v2, x, gamma, y, kernel=kernel(v2, np.float32))
    same = load("rms_norm", "sim").rms_norm[1](x, gamma, simulated, EPS)
    np.testing.assert_allclose(simulated, y, rtol=1e-6)            # 1 / n is a double in Python, a float in C++
    assert hp.compare(run, same).data["first"] is None and same.cycles == run.cycles


# ---- the chapter
def test_the_kernels_of_the_chapter_are_the_files():
    first, finished = kernel_cells("03_rms_norm")[:2]
    assert first + "\n" == v1.text and finished + "\n" == v5.text


def test_cycles_by_hand(kernel):
    """V per row of 1024 float: 470 row by row, about 150 with several rows per call."""
    x, gamma = np.ones(ladder.SHAPE, np.float32), np.ones(1024, np.float32)
    found = {v.name: ladder.launch(v, x, gamma, np.empty_like(x), kernel=kernel(v, np.float32)).busy[:, 1].max() * 1.85 / 1024 for v in (v2, v3)}
    assert found["v2"] == pytest.approx(470, rel=0.01) and found["v3"] == pytest.approx(150, rel=0.15)


def test_solution_of_eps():
    wrong = changed(v5.text, "Adds(sum, sum, eps, count);", "Adds(sum, sum, 1e-6f, count);")
    x, gamma = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32), np.ones(100, np.float32)
    for text, right in ((wrong, False), (v5.text, True)):
        y = poisoned(x.size, np.float32).reshape(x.shape)
        ladder.launch(v5, x, gamma, y, eps=0.1, kernel=hp.compile(text, name="rms_norm_float"))
        assert np.allclose(y, oracle(x, gamma, 0.1), rtol=1e-5) == right


def test_solution_of_the_early_load(kernel):
    """Two EnQue in a row need depth 2; then the loads hide behind V, and the other way round."""
    text = changed(v4.text, "            CopyIn(row, count);\n            Compute(count);", """            uint32_t next = row + tileRows;
            if (next < rows) {
                CopyIn(next, rows - next < tileRows ? rows - next : tileRows);
            }
            Compute(count);""")
    text = changed(text, "        for (uint32_t row = 0; row < rows; row += tileRows) {",
                   "        CopyIn(0, rows < tileRows ? rows : tileRows);\n        for (uint32_t row = 0; row < rows; row += tileRows) {")
    x, gamma = np.random.default_rng(0).standard_normal(ladder.SHAPE).astype(np.float32), np.ones(1024, np.float32)
    y = poisoned(x.size, np.float32).reshape(x.shape)
    with pytest.raises(hp.KernelError, match="QUEUE_FULL"):
        ladder.launch(v4, x, gamma, y, kernel=hp.compile(text, name="rms_norm_float"))
    text = changed(text, "TQue<TPosition::VECIN, 1> gammaQueue, inQueue;", "TQue<TPosition::VECIN, 1> gammaQueue;\n    TQue<TPosition::VECIN, 2> inQueue;")
    run = ladder.launch(v4, x, gamma, y, kernel=hp.compile(text, name="rms_norm_float"))
    assert_rows(y, oracle(x, gamma))
    assert run.time_us < 0.75 * ladder.launch(v4, x, gamma, y, kernel=kernel(v4, np.float32)).time_us
