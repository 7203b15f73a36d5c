"""kernels/swiglu: one kernel or two, at every length; and what chapter 05 says about it."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import LARGE, SIZES, TYPES, assert_comment, assert_one_input, assert_rows, cell_of, poisoned, problems, same_bits, serious, values

ladder = load("swiglu", "ladder")
SILU, MUL, FUSED = ladder.VERSIONS


def silu64(x):
    x = x.astype(np.float64)
    return x / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype=np.float16):
        key = version.path, np.dtype(dtype)
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


@TYPES
def test_silu(kernel, dtype):
    assert_one_input(lambda x, y: ladder.launch(SILU, x, y, kernel=kernel(SILU, dtype)), silu64, dtype)


@TYPES
def test_swiglu(kernel, dtype):
    for seed in (0, 1):
        for size in [*SIZES, LARGE]:
            gate, up, y = values(size, dtype, seed), values(size, dtype, seed + 100), poisoned(size, dtype)
            if dtype != np.float16:
                # silu(tiny) is subnormal in float: its product has fewer digits, or is NaN with inf
                gate, up = (np.where((np.abs(a) > 1e12) | (np.abs(a) < 1e-12), dtype(5), a) for a in (gate, up))
            before = gate.copy(), up.copy()
            run = ladder.launch(FUSED, gate, up, y, kernel=kernel(FUSED, dtype))
            with np.errstate(all="ignore"):
                assert_rows(y, silu64(before[0]) * before[1].astype(np.float64))
            assert same_bits(gate, before[0]) and same_bits(up, before[1]) and serious(run) == []
            assert run.totals["gm_read_bytes"] == 2 * gate.nbytes and run.totals["gm_write_bytes"] == y.nbytes


@TYPES
def test_two_kernels_do_the_same_with_one_rounding_more(kernel, dtype):
    rng = np.random.default_rng(3)
    gate, up = (rng.standard_normal(5000).astype(dtype) for _ in range(2))
    middle, y = poisoned(5000, dtype), poisoned(5000, dtype)
    ladder.launch(SILU, gate, middle, kernel=kernel(SILU, dtype))
    run = ladder.launch(MUL, middle, up, y, kernel=kernel(MUL, dtype))
    assert same_bits(y, middle * up) and problems(run) == []
    np.testing.assert_allclose(y.astype(float), silu64(gate) * up.astype(float), rtol=1.5 * float(ml_dtypes.finfo(dtype).eps), atol=1e-6)


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    gate, up, y = values(LARGE, np.float16, 5), values(LARGE, np.float16, 6), poisoned(LARGE, np.float16)
    ladder.launch(FUSED, gate, up, y, kernel=kernel(FUSED), blocks=blocks)
    with np.errstate(all="ignore"):
        assert_rows(y, silu64(gate) * up.astype(np.float64))


@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.path.stem)
def test_late_copies_change_nothing(kernel, version):
    x = np.random.default_rng(6).standard_normal(30_000).astype(np.float16)
    found = [poisoned(x.size, np.float16) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(version, *([x] if version is SILU else [x, x[::-1].copy()]), y, kernel=kernel(version), blocks=2, schedule=schedule)
    assert same_bits(*found)


def test_estimate_agrees_with_the_computation_by_hand(kernel):
    """V: 13 cycles for 64 elements; the loads: 90.2 MB at the share of HBM that copies of 10 KB get."""
    gate = np.zeros(ladder.SHAPE, np.float16)
    run = ladder.launch(FUSED, gate, gate, np.empty_like(gate), kernel=kernel(FUSED))
    load_us, vector_us = 2 * gate.nbytes / (1600 * 10_240 / 11_469) / 1e3, gate.size / 48 / 64 * 13 / 1850
    assert run.busy[:, 1].max() / 1e3 == pytest.approx(vector_us, rel=0.2)      # each call pays its head
    assert run.time_us == pytest.approx(max(load_us, vector_us) + 1.7, rel=0.1)


@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.path.stem)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "swiglu")


# ---- the chapter
def test_the_kernel_of_the_chapter_is_the_file():
    assert cell_of("05_swiglu_rope", "swiglu_half") + "\n" == FUSED.text


def test_slow_swiglu_can_be_made_faster():
    x = np.random.default_rng(0).standard_normal(1 << 21).astype(np.float16)

    def time_us(tile):
        kernel = hp.compile(changed(FUSED.text, "TILE = 5120", f"TILE = {tile}"), name="swiglu_half")
        return ladder.launch(FUSED, x, x, np.empty_like(x), kernel=kernel).time_us
    assert time_us(5120) < 0.8 * time_us(1024)
