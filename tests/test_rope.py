"""kernels/rope: halves or neighbours turned by the angle of their position."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from chapters import assert_comment, assert_rows, cell_of, kind, poisoned, problems, same_bits

ladder = load("rope", "ladder")
v1, v2, v3 = ladder.VERSIONS
KINDS = [(v1, np.float16), (v1, ml_dtypes.bfloat16), (v1, np.float32), (v2, np.float16), (v2, np.float32), (v3, np.float16)]
SHAPES = [(1, 1, 2), (2, 1, 2), (3, 2, 6), (7, 1, 128), (5, 3, 64), (3, 32, 128), (31, 2, 130), (50, 4, 16), (3, 1, 1000)]


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype):
        key = version.name, np.dtype(dtype)
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


def oracle(version, x, cos, sin):
    x, cos, sin = x.astype(np.float64), cos[:, None, :].astype(np.float64), sin[:, None, :].astype(np.float64)
    y, middle = np.empty_like(x), x.shape[-1] // 2
    one, two = (np.s_[..., :middle], np.s_[..., middle:]) if version is v1 else (np.s_[..., ::2], np.s_[..., 1::2])
    y[one], y[two] = x[one] * cos - x[two] * sin, x[two] * cos + x[one] * sin
    return y


@pytest.mark.parametrize("version, dtype", KINDS, ids=kind)
def test_any_shape(kernel, version, dtype):
    for seed, shape in enumerate(SHAPES):
        x = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
        cos, sin = ladder.tables(shape[0], shape[2], dtype, first=seed)
        y, before = poisoned(x.size, dtype).reshape(shape), x.copy()
        run = ladder.launch(version, x, cos, sin, y, kernel=kernel(version, dtype))
        expected = oracle(version, before, cos, sin)
        if dtype == np.float32:
            np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)          # two products may cancel
        else:
            assert_rows(y, expected)
        assert same_bits(x, before) and problems(run) == [], shape
        tables = 2 * cos.nbytes * (2 if version is v3 else 1)
        assert run.totals["gm_read_bytes"] == x.nbytes + tables and run.totals["gm_write_bytes"] == y.nbytes


@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)
def test_late_copies_change_nothing(kernel, version):
    x = np.random.default_rng(1).standard_normal((200, 2, 32)).astype(np.float16)
    cos, sin = ladder.tables(200, 32, np.float16)
    found = [np.zeros_like(x) for _ in range(2)]
    for y, schedule in zip(found, ("eager", "lazy")):
        ladder.launch(version, x, cos, sin, y, kernel=kernel(version, np.float16), schedule=schedule)
    assert same_bits(*found)


@pytest.mark.parametrize("blocks", [1, 2, 7, 48, 64])
def test_any_number_of_blocks(kernel, blocks):
    x = np.random.default_rng(2).standard_normal((45, 3, 32)).astype(np.float16)
    cos, sin = ladder.tables(45, 32, np.float16)
    for version in ladder.VERSIONS:
        y = poisoned(x.size, np.float16).reshape(x.shape)
        ladder.launch(version, x, cos, sin, y, kernel=kernel(version, np.float16), blocks=blocks)
        assert_rows(y, oracle(version, x, cos, sin))


def test_both_neighbour_versions_agree(kernel):
    x = np.random.default_rng(3).standard_normal((40, 4, 128)).astype(np.float16)
    cos, sin = ladder.tables(40, 128, np.float16)
    found = [np.zeros_like(x) for _ in range(2)]
    for version, y in zip((v2, v3), found):
        ladder.launch(version, x, cos, sin, y, kernel=kernel(version, np.float16))
    assert same_bits(*found)


def test_shapes_that_do_not_work_are_refused():
    for heads, dim in ((1, 3), (256, 64), (1, 4100), (255, 4000)):
        with pytest.raises(ValueError):
            ladder.tiling(v1, 1, heads, dim, 2, 48)


@pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "rope")


def test_cycles_of_the_chapter(kernel):
    """Cycles of V for 64 outputs of half: halves cheap, Gather about four times that, shifts between."""
    x = np.random.default_rng(1).standard_normal((256, 32, 128)).astype(np.float16)
    cos, sin = ladder.tables(256, 128, np.float16)
    cycles = [ladder.launch(v, x, cos, sin, np.empty_like(x), kernel=kernel(v, np.float16)).busy[:, 1].sum() * 1.85 / (x.size / 64) for v in ladder.VERSIONS]
    assert cycles[0] < cycles[2] < cycles[1] and cycles[1] == pytest.approx(36, rel=0.15)


# ---- the chapter
def test_the_kernel_of_the_chapter_is_the_file():
    assert cell_of("05_swiglu_rope", "rope_half") + "\n" == v1.text


@pytest.mark.parametrize("shape", [(1, 4, 64), (7, 2, 2)])
def test_solution_of_the_offset(shape):
    text = changed(v1.text, "    uint32_t tilePositions;   // positions moved at once\n", "    uint32_t tilePositions;   // positions moved at once\n    uint32_t offset;\n")
    for name in ("cos", "sin"):
        text = changed(text, f"(__gm__ T*){name} + first * pairs", f"(__gm__ T*){name} + (tiling.offset + first) * pairs")
    cos, sin = ladder.tables(200, shape[2], np.float16)
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float16)
    y = poisoned(x.size, np.float16).reshape(shape)
    plain = ladder.tiling(v1, *shape, 2, 48)
    numbers = hp.tiling_struct(text, "RopeTiling")(offset=117, **{n: getattr(plain, n) for n in ("positionsPerBlock", "extraBlocks", "heads", "dim", "tilePositions")})
    hp.compile(text, name="rope_half")[48](x, cos, sin, y, numbers)
    assert_rows(y, oracle(v1, x, cos[117:117 + shape[0]], sin[117:117 + shape[0]]))
