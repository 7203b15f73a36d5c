"""kernels/attention: five versions against float64 with masks, tails and shared heads; flags, schedules, the tuning story."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from attention_cases import LIMIT, Case, arrays, head_error, random_case, row_error, run
from chapters import assert_comment, kernel_cells, poisoned, serious
from helpers.course import changed, load

ladder = load("attention", "ladder")
plans, tuning = ladder.plans, load("attention", "tuning")
v1, v2, v3, v4, v5 = ladder.VERSIONS
CUBE = [v3, v4, v5]
by_name = pytest.mark.parametrize("version", ladder.VERSIONS, ids=lambda v: v.name)


@pytest.fixture(scope="module")
def kernel():
    built = {}

    def of(version, dtype=np.float16):
        key = version.name, np.dtype(dtype).name
        if key not in built:
            built[key] = ladder.compile(version, dtype)
        return built[key]
    return of


def attend(version, q, k, v, kernel, **options):
    o = np.empty_like(q)
    o.view(np.uint8)[:] = 0xA5
    found = ladder.launch(version, q, k, v, o, kernel=kernel, **options)
    return o, found


def some(heads=1, queries=256, dim=64, batch=1, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((batch, heads, queries, dim)).astype(np.float16) for _ in range(3)]


# ---- right results
def test_the_oracle_is_the_formula_of_one_row():
    q, k, v = some(queries=3, dim=4)
    for i in range(3):
        p = np.exp([sum(float(a) * float(b) for a, b in zip(q[0, 0, i], key)) / 2 for key in k[0, 0, : i + 1]])
        want = sum(w * row.astype(np.float64) for w, row in zip(p / p.sum(), v[0, 0]))
        assert ladder.oracle(q, k, v, causal=True)[0, 0, i] == pytest.approx(want)


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes_masks_and_heads(kernel, seed):
    case = random_case(seed + 300)
    version = next(v for v in ladder.VERSIONS if v.name == case.version)
    errors, found = run(case, kernel=kernel(version))
    assert errors[0] <= LIMIT and errors[1] <= 2 * LIMIT and serious(found) == []


@by_name
def test_named_shapes(kernel, version):
    for shape, mask in [((1, 2, 2, 65, 65, 64), "causal"), ((1, 1, 1, 1, 1, 1), "none"), ((2, 4, 2, 33, 70, 33), "per batch"), ((1, 3, 1, 70, 33, 16), "causal"),
                        ((1, 2, 1, 1, 193, 128), "both"), ((1, 1, 1, 130, 129, 200), "random")]:
        errors, found = run(Case(1, version.name, shape, mask), kernel=kernel(version))
        assert errors[0] <= LIMIT and serious(found) == [], (shape, mask)


@pytest.mark.parametrize("version", [v2, v5], ids=lambda v: v.name)
def test_bfloat16(kernel, version):
    errors, _ = run(Case(2, version.name, (1, 4, 2, 67, 129, 72), "causal"), ml_dtypes.bfloat16, kernel(version, ml_dtypes.bfloat16))
    assert errors[0] < 8e-3                                     # a step of bfloat16 is 4e-3 to 8e-3


@pytest.mark.parametrize("version", [v1, v2], ids=lambda v: v.name)
def test_float(kernel, version):
    errors, _ = run(Case(3, version.name, (1, 2, 1, 67, 129, 72), "both"), np.float32, kernel(version, np.float32))
    assert errors[0] < 5e-6


def test_long_rows(kernel):
    errors, _ = run(Case(4, "v5", (1, 1, 1, 200, 4096, 128), "causal"), kernel=kernel(v5))
    assert errors[0] <= LIMIT


def test_rows_that_see_nothing_are_zeros(kernel):
    q, k, v = some(2, 40)
    mask = np.zeros((40, 40), np.uint8)
    mask[[0, 39]] = 1
    for version in ladder.VERSIONS:
        o, _ = attend(version, q, k, v, kernel(version), mask=mask)
        assert (o[:, :, [0, 39]] == 0).all() and np.isfinite(o).all() and (o[:, :, 1:39] != 0).any(axis=-1).all()


@pytest.mark.parametrize("version", CUBE, ids=lambda v: v.name)
@pytest.mark.parametrize("causal", [False, True])
def test_probabilities(kernel, version, causal):
    q, k, v = some(2, 150, 32)
    p = poisoned(2 * 150 * 150, np.float16).reshape(1, 2, 150, 150)
    o, found = attend(version, q, k, v, kernel(version), causal=causal, p=p)
    identity = np.broadcast_to(np.eye(150), (1, 2, 150, 150))
    want = ladder.oracle(q, k, identity, causal=causal)         # o = p for the values of the identity
    assert np.abs(p - want).max() < 1e-3 and np.abs(p.sum(axis=-1, dtype=np.float64) - 1).max() < 5e-3
    assert row_error(o, ladder.oracle(q, k, v, causal=causal)) < 2 * LIMIT and serious(found) == []
    if causal:
        assert (p[..., np.triu(np.ones((150, 150), bool), 1)] == 0).all()


@by_name
def test_late_copies_change_nothing(kernel, version):
    q, k, v = some(2, 70)
    eager, lazy = (attend(version, q, k, v, kernel(version), causal=True, schedule=s)[0] for s in ("eager", "lazy"))
    assert eager.tobytes() == lazy.tobytes()


def test_what_does_not_fit_is_said(kernel):
    q, k, v = some(1, 16, 300)
    with pytest.raises(ValueError, match="dim 300 is more than 256; v2 takes it"):
        ladder.launch(v4, q, k, v, q.copy(), kernel=kernel(v4))
    o, _ = attend(v2, q, k, v, kernel(v2))
    assert row_error(o, ladder.oracle(q, k, v)) < LIMIT
    q, k, v = some(1, 128, 128)
    with pytest.raises(ValueError, match=r"128 queries and 256 keys.*UB \(\d"):
        ladder.launch(v4, q, k, v, q.copy(), rows=128, block=256, kernel=kernel(v4))
    with pytest.raises(ValueError, match="must be a multiple of kv heads"):
        ladder.tiling(v4, np.zeros((1, 3, 8, 16), np.float16), np.zeros((1, 2, 8, 16), np.float16))
    with pytest.raises(ValueError, match="v2 takes float32"):
        ladder.launch(v3, *(a.astype(np.float32) for a in (q, k, v)), q, kernel=kernel(v3))
    with pytest.raises(ValueError, match="Known: contiguous"):
        plans.deal(ladder.tiling(v5, q, k), 24, "random")


@pytest.mark.parametrize("version", CUBE, ids=lambda v: v.name)
def test_plans_count_what_init_asks_for(kernel, version):
    """UB and L1 of a run are those of the plan."""
    for rows, block, dim, masked in ((128, 128, 128, False), (64, 64, 72, True), (16, 32, 16, False)):
        q, k, v = some(1, rows, dim)
        mask = np.zeros((rows, rows), np.uint8) if masked else None
        _, found = attend(version, q, k, v, kernel(version), mask=mask, rows=rows, block=block, blocks=1)
        piece = ladder.tiling(version, q, k, mask, rows=rows, block=block).piece
        need = {name: sum(n * b for _, n, b in parts) for name, parts in plans.memories(version, rows, block, piece, dim, masked=masked).items()}
        asked = {"UB": 0, "L1": 0, "L0A": 0, "L0B": 0, "L0C": 0}
        for core in (0, 1):                                     # the AIC and its first AIV
            for b in (b for b in found.buffers if b["core"] == core):
                asked[b["mem"]] += b["bytes"]
        assert need == asked


# ---- estimates
def test_each_version_is_faster_where_its_change_counts(kernel):
    q, k, v = some(2, 512)
    times = {x.name: attend(x, q, k, v, kernel(x), checks="off")[1].time_us for x in ladder.VERSIONS}
    assert times["v2"] > times["v3"] > times["v4"] > times["v5"]


def test_schedules(kernel):
    q, k, v = some(8, 512)
    want = ladder.oracle(q, k, v, causal=True)
    numbers = ladder.tiling(v5, q, k, causal=True, rows=64, block=64)
    work, times, results = plans.work(numbers), {}, set()
    assert work == list(range(1, 9)) * 8
    for name in plans.SCHEDULES:
        deal = plans.deal(numbers, 24, name)
        assert sorted(t for tasks in deal for t in tasks) == list(range(64))          # every task once
        o, found = attend(v5, q, k, v, kernel(v5), causal=True, rows=64, block=64, tasks=name)
        times[name] = found.time_us
        results.add(o.tobytes())
        spans = plans.on_cores(plans.spans(found, deal, numbers), 24)
        assert len(spans) == 24 and all(a[2] <= b[1] + 1e-9 for core in spans for a, b in zip(core, core[1:]))
        assert max(core[-1][2] for core in spans) <= found.time_us
    assert len(results) == 1 and row_error(o, want) < 2 * LIMIT
    assert times["work"] < times["dynamic"] < times["contiguous"] and times["work"] < times["cyclic"]
    heaviest = {n: max(sum(work[t] for t in tasks) for tasks in plans.deal(numbers, 24, n)) for n in ("contiguous", "cyclic", "work")}
    assert sum(work) / 24 == 12 <= heaviest["work"] <= 13 < min(heaviest["cyclic"], heaviest["contiguous"])


def test_story_in_the_published_order(kernel):
    """With a quarter of the queries and keys: quick, and the same causes. tests/bench.py runs it at full size."""
    q, k, v = tuning.data(queries=512)
    o, found = np.empty_like(q), []
    for step in tuning.STORY:
        run_ = tuning.run(step, q, k, v, o, checks="off", kernel=kernel(step.version))
        assert head_error(o[:, : step.heads], ladder.oracle(*(a[:, : step.heads] for a in (q, k, v)))) < LIMIT
        found.append(tuning.milliseconds(step, run_))
    assert found == sorted(found, reverse=True)
    one = {n: r.time_us for n, r in tuning.unfused(*(np.ascontiguousarray(a[:, :1]) for a in (q, k, v))).items() if n != "o"}
    assert found[0] > 8 * sum(one.values()) / 1e3 > found[3]    # the naive fused kernel loses against three launches


# ---- what the checkers say
def broken(old, new, version=v3, kernel=None, **options):
    q, k, v = some()
    return attend(version, q, k, v, hp.compile(changed(version.text, old, new), name="attention_half"), blocks=1, **options)


def finding(code, *change, **options):
    with pytest.raises(hp.KernelError) as e:
        broken(*change, **options)
    return next(f for f in e.value.findings if f.code == code)


def line_of(text):
    return 1 + v3.text.splitlines().index(next(line for line in v3.text.splitlines() if text in line))


def test_a_flag_on_the_wrong_pipe():
    f = finding("BLOCK_CONFLICT", "CrossCoreSetFlag<2, PIPE_FIX>(SCORES_READY)", "CrossCoreSetFlag<2, PIPE_M>(SCORES_READY)")
    assert "the AIC of block 0 writes" in f.message and "AIV 0 of block 0 reads" in f.message and "CrossCoreSetFlag<2, PIPE_FIX>" in f.hint
    f = finding("BLOCK_CONFLICT", "CrossCoreSetFlag<2, PIPE_MTE3>(SHARES_READY)", "CrossCoreSetFlag<2, PIPE_V>(SHARES_READY)")
    assert "AIV 0 of block 0 writes" in f.message and "CrossCoreSetFlag<2, PIPE_MTE3>" in f.hint


def test_a_missing_flag_and_a_wrong_id():
    f = finding("DEADLOCK", "                    CrossCoreSetFlag<2, PIPE_FIX>(OUTPUT_READY);\n", "")
    assert f.line == line_of("CrossCoreWaitFlag(OUTPUT_READY)") - 1 and "CrossCoreWaitFlag(2)" in f.message and "no core sets this flag" in f.message
    f = finding("DEADLOCK", "CrossCoreSetFlag<2, PIPE_FIX>(OUTPUT_READY)", "CrossCoreSetFlag<2, PIPE_FIX>(3)")
    where = f"line {line_of('CrossCoreSetFlag<2, PIPE_FIX>(OUTPUT_READY)')}"
    assert f.line == line_of("CrossCoreWaitFlag(OUTPUT_READY)") and f"flag 3 was set at {where}" in f.message
    assert f"{where} sets flag 3, the wait is for flag 2" in f.hint


def test_a_missing_wait_and_a_slot_that_is_none():
    assert "AIV" in finding("BLOCK_CONFLICT", "                    CrossCoreWaitFlag(OUTPUT_READY);\n", "").message
    finding("BLOCK_CONFLICT", "return s.slot * (scoreGm.GetSize() / SLOTS) + r * t.block;", "return r * t.block;", version=v4)


def test_a_tile_too_large_for_ub_is_an_error(kernel):
    q, k, v = some(1, 512, 128)
    numbers = ladder.tiling(v4, q, k, rows=128, block=128)
    numbers.block = 256
    with pytest.raises(hp.KernelError, match="UB_OVERFLOW"):
        kernel(v4)[1](q, k, v, None, q.copy(), None, hp.workspace(1 << 20), numbers)


def test_an_index_that_only_some_lengths_hit():
    careless = changed(v2.text, "return t.keys - key < t.block ? t.keys - key : t.block;", "return t.block;")
    built = hp.compile(careless, name="attention_half")
    for queries, right in ((128, True), (193, False)):
        q, k, v = some(1, queries)
        if right:
            assert row_error(attend(v2, q, k, v, built)[0], ladder.oracle(q, k, v)) < LIMIT
        else:
            with pytest.raises(hp.KernelError, match="GM_OUT_OF_BOUNDS"):
                attend(v2, q, k, v, built)


# ---- the chapter
@by_name
def test_every_version_says_what_changed_and_why(version):
    assert_comment(version, "attention")


def test_the_kernel_of_the_chapter_is_the_file():
    assert kernel_cells("08_attention")[0] + "\n" == v3.text


def test_the_cases_are_measured_as_they_say():
    want = np.array([[[[1.0, 2.0], [0.0, 0.0]]]])
    assert row_error(want.copy(), want) == 0 and head_error(want + [[1e-3, 0], [0, 0]], want) == pytest.approx(5e-4)
    assert row_error(want + [[0, 0], [1e-9, 0]], want) == np.inf == head_error(want + [[0, 0], [np.nan, 0]], want)
    assert len({random_case(i).version for i in range(60)}) == 5 and {random_case(i).mask for i in range(60)} == {"none", "causal", "random", "per batch", "both"}
    q, _, _, mask, causal = arrays(random_case(3))
    assert q.dtype == np.float16 and isinstance(causal, bool) and (mask is None or mask.dtype == np.uint8)
