"""The cost model against hand computations and published times."""
from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest

import timing_programs as p
from helpers.chips import chip as profile, chips, published

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "helpers" / "twin" / "runtime"
KB = 1024
S, V, M, MTE1, MTE2, MTE3, FIX = range(7)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler, "the twin needs a C++ compiler"
    program = tmp_path_factory.mktemp("timing") / "driver"
    sources = [ROOT / "tests" / "cpp" / "timing_driver.cpp", RUNTIME / "chip.cpp", *sorted(RUNTIME.glob("timing*.cpp"))]
    subprocess.run([compiler, "-std=c++17", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", f"-I{RUNTIME.parent / 'include'}",
                    f"-I{RUNTIME}", *map(str, sources), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="session")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chips")

    def path(chip="Ascend910B1", **changed):
        numbers = {**profile(chip).flat(), **{k: str(v) for k, v in changed.items()}}
        file = folder / f"{chip}_{abs(hash(tuple(changed.items())))}"
        file.write_text("".join(f"{k} {v}\n" for k, v in numbers.items()))
        return str(file)
    return path


@pytest.fixture(scope="session")
def time_of(driver, flat):
    def run(lines, chip="Ascend910B1", warm=False, events=True, **changed):
        done = subprocess.run([driver, flat(chip, **changed), "1" if warm else "0", "1" if events else "0"],
                              input="\n".join(lines) + "\n", capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def near(value, expected, percent):
    assert value == pytest.approx(expected, rel=percent / 100)


def events(result, pipe, core=0):
    return [e for e in result["events"] if e[0] == core and e[1] == pipe]


def span(result, pipe, number=0):
    e = events(result, pipe)[number]
    return e[5] - e[4]


# ---- the official Add ladder -------------------------------------------------------------------------------------
PUBLISHED = published("Add")
MODEL_US = [1242296, 6832, 328.4, 281.4, 263.0, 176.6, 176.6]      # computed by hand from the same numbers
MODEL_VECTOR_US = {1: 761.6, 2: 15.87, 3: 12.83, 4: 12.83, 5: 12.83, 6: 6.93}


@pytest.fixture(scope="session")
def ladder(time_of):
    return [time_of(p.official_add(step), events=False) for step in range(7)]


@pytest.mark.parametrize("step", range(7))
def test_add_ladder_equals_the_hand_computation(ladder, step):
    near(ladder[step]["kernel_ns"] / 1e3, MODEL_US[step], 1)
    if step in MODEL_VECTOR_US:
        near(max(b[V] for b in ladder[step]["busy"]) / 1e3, MODEL_VECTOR_US[step], 0.5)


def test_add_ladder_meets_the_published_times(ladder):
    ours = [r["kernel_ns"] / 1e3 for r in ladder]
    errors = [abs(o / row["time_us"] - 1) for o, row in zip(ours, PUBLISHED)]
    assert len(errors) == 7
    assert statistics.median(errors) <= 0.05
    assert max(errors) <= 0.10, "all of these are streaming kernels bound by memory"
    for a in range(7):
        for b in range(a + 1, 7):
            gap = PUBLISHED[a]["time_us"] / PUBLISHED[b]["time_us"]
            assert ours[a] > ours[b] or (gap < 1.03 and ours[b] / ours[a] < 1.01), f"steps {a} and {b} are in the wrong order"
    for step in range(1, 7):
        near(max(b[V] for b in ladder[step]["busy"]) / 1e3, PUBLISHED[step]["vector_us"], 5)


def test_add_ladder_counts_its_bytes(ladder):
    tensor = 8192 * 8192 * 2
    for step, run in enumerate(ladder):
        totals = run["totals"]
        assert (totals["gm_read_bytes"], totals["gm_write_bytes"]) == (2 * tensor, tensor)
        assert totals["l2_hit_bytes"] == 0
        # with the inputs past the L2, the output alone fits and stays there
        assert totals["hbm_bytes"] == (2 * tensor if step >= 5 else 3 * tensor)
        assert totals["gm_footprint_bytes"] == (tensor if step >= 5 else 3 * tensor)
        assert totals["vector_elements"] == (8192 * 8192 if step else 0)
    assert ladder[4]["totals"]["hbm_busy_ns"] / ladder[4]["kernel_ns"] > 0.98


def test_the_time_the_model_takes_grows_with_the_instructions_only(ladder):
    large = [run for run in ladder if run["records"] > 10_000]
    assert len(large) > 2 and ladder[2]["records"] > 290_000
    each = [run["took_s"] / run["records"] for run in large]
    assert max(each) < 20 * min(each)


# ---- copies ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind, size, measured", [
    ("load", 1 * KB, 131), ("load", 200 * KB, 2427), ("store", 1 * KB, 84), ("store", 76 * KB, 658),
    ("l1", 1 * KB, 96), ("l1", 512 * KB, 1865)])
def test_isolated_copies_in_warm_l2(time_of, kind, size, measured):
    line = p.store(size, 0) if kind == "store" else p.load(size, 0)
    run = time_of([p.core(1 if kind == "l1" else 0), line], warm=True)
    near(span(run, MTE3 if kind == "store" else MTE2), measured, 4)


def test_copy_formula(time_of):
    chip = profile()
    # bursts are counted by the 512-byte lines each row touches; S + max(RTT, bursts * RTT / W)
    for rows, size, pitch, at, bursts in [(1, 512, 512, 0, 1), (1, 512, 512, 256, 2), (64, 128, 4096, 0, 64), (40, 1024, 4096, 0, 80),
                                          (100, 512, 1024, 256, 200)]:
        run = time_of([p.core(), p.load(size, at, rows=rows, pitch=pitch)])
        # a misaligned start is paid on the time the pipe is occupied
        penalty = 1.15 if at % 512 and size >= 512 else 1
        occupied = bursts * chip.rtt_hbm_load_ns / chip.w_aiv * penalty
        near(span(run, MTE2), 35 + max(165, occupied), 0.001)


def test_start_cost_only_when_idle(time_of):
    run = time_of([p.core(), *[p.load(8 * KB, i * 8 * KB) for i in range(4)]])
    ends = [e[5] for e in events(run, MTE2)]
    assert ends[0] == pytest.approx(35 + 165)
    assert [b - a for a, b in zip(ends, ends[1:])] == pytest.approx([165] * 3)


def test_tiny_copies_cost_an_issue_interval(time_of):
    run = time_of([p.core(), *[p.load(32, 0) for _ in range(100)]], warm=True)
    ends = [e[5] for e in events(run, MTE2)]
    assert (ends[-1] - ends[0]) / 99 == pytest.approx(20 / 1.85)


@pytest.mark.parametrize("changes, factor", [
    (dict(at=256, size=8192 - 512), 1.15 * 16 / 15), (dict(at=32, size=8192 - 512), 1.15 * 16 / 15), (dict(ragged=1), 1.2)])
def test_penalties(time_of, changes, factor):
    size = changes.pop("size", 8192 - 512)
    plain = span(time_of([p.core(), p.load(size, 0)]), MTE2) - 35
    plain = 15 * 165 / 16 if plain < 166 else plain
    run = time_of([p.core(), p.load(size, changes.pop("at", 0), **changes)])
    near(span(run, MTE2) - 35, max(165, plain * factor), 0.1)


def test_short_rows_off_64_bytes_pay_most(time_of):
    def occupied(at):
        run = time_of([p.core(), *[p.load(1024 - 64, at + i * 1024) for i in range(8)]])
        ends = [e[5] for e in events(run, MTE2)]
        return (ends[-1] - ends[0]) / 7
    assert occupied(0) == pytest.approx(2 * 165 / 16)
    assert occupied(64) / occupied(0) == pytest.approx(1.15)
    assert occupied(32) / occupied(0) == pytest.approx(1.15 + 0.25 * (1 - 960 / 2048))


def test_nd2nz_starts_later_and_short_rows_crawl(time_of):
    plain = span(time_of([p.core(1), p.load(64 * KB, 0)]), MTE2)
    fractal = span(time_of([p.core(1), p.load(64 * KB, 0, nd2nz=1)]), MTE2)
    assert fractal == pytest.approx(plain + 300)
    short = span(time_of([p.core(1), p.load(32, 0, rows=1000, pitch=64, nd2nz=1)]), MTE2)
    assert short == pytest.approx(300 + 1000 * 24 / 1.85)


def test_readers_of_one_line_slow_each_other(time_of):
    def kernel(cores, apart):
        lines = []
        for c in range(cores):
            lines += [p.core(1, block=c), p.load(16 * KB, c * apart)]
        return max(time_of(lines, warm=True)["core_end_ns"])
    assert kernel(7, 0) == pytest.approx(kernel(7, 32 * KB))
    assert kernel(8, 0) == pytest.approx(kernel(8, 32 * KB) * 1.25, abs=25)


def test_fixpipe_rate(time_of):
    run = time_of([p.core(1), p.store(128 * KB, 0, pipe="FIX")])
    assert span(run, FIX) == pytest.approx(25 + 128 * KB / (134 * 1.85))


def test_equal_shares_of_hbm(time_of):
    # 48 cores, one 32 KB load each: together they get H * eta, nobody more than its own ceiling
    lines = [line for c in range(48) for line in (p.core(block=c), p.load(32 * KB, c * 32 * KB))]
    eta = 32 * KB / (32 * KB + 1229)
    assert time_of(lines)["core_end_ns"] == pytest.approx([35 + 48 * 32 * KB / (1600 * eta)] * 48)
    # two of them far apart in size: the short one leaves, the long one speeds up to its ceiling
    lines = [line for c in range(40) for line in (p.core(block=c), p.load((8 if c else 64) * KB, c * 64 * KB))]
    ends = time_of(lines)["core_end_ns"]
    assert ends[0] < 35 + 64 * KB / 49.6 * 1.2 and min(ends[1:]) == max(ends[1:]) < ends[0]


def test_l2_write_limit(time_of):
    lines = [line for c in range(48) for line in (p.core(block=c), p.store(64 * KB, c * 64 * KB))]
    slow = time_of(lines, l2_write_gbps=500)
    assert slow["core_end_ns"] == pytest.approx([15 + 48 * 64 * KB / 500] * 48)
    assert slow["totals"]["hbm_bytes"] == 0


# ---- L2 --------------------------------------------------------------------------------------------------------
def test_l2_keeps_what_fits(time_of):
    lines = [p.core(), *p.loop(4, [p.load(32 * KB, 0)])]
    run = time_of(lines)
    assert run["totals"]["l2_hit_bytes"] == 3 * 32 * KB and run["totals"]["hbm_bytes"] == 32 * KB
    assert time_of(lines, warm=True)["totals"]["hbm_bytes"] == 0
    assert time_of([p.core(), *p.loop(4, [p.load(32 * KB, 0, cache=0)])], warm=True)["totals"]["hbm_bytes"] == 4 * 32 * KB


def test_l2_forgets_the_oldest(time_of):
    small = dict(l2_bytes=10 * 32 * KB, l2_usable=0.8)                   # 8 tiles
    walk = [p.load(32 * KB, i * 32 * KB) for i in range(9)]              # one more than fits, in a circle: never a hit
    assert time_of([p.core(), *walk, *walk], **small)["totals"]["l2_hit_bytes"] == 0
    back = [p.load(32 * KB, i * 32 * KB) for i in reversed(range(9))]    # back and forth: all but the oldest tile hit
    assert time_of([p.core(), *walk, *back], **small)["totals"]["l2_hit_bytes"] == 8 * 32 * KB
    assert time_of([p.core(), *walk, *back], warm=True, **small)["totals"]["l2_hit_bytes"] == 8 * 32 * KB


def test_l2_counts_neighbours_once(time_of):
    # 100-byte pieces of contiguous data: no byte twice from HBM, none counted as a hit
    run = time_of([p.core(), *p.loop(512, [p.load(96, 0, step=96)])])
    assert run["totals"]["hbm_bytes"] == 512 * 96 and run["totals"]["l2_hit_bytes"] == 0


# ---- vector ----------------------------------------------------------------------------------------------------
def test_vector_latency_and_busy(time_of):
    f = 1.85
    independent = time_of([p.core(), p.vector(22, 16), p.vector(22, 16), p.vector(22, 0)])
    starts = [e[4] for e in events(independent, V)]
    assert starts == pytest.approx([0, 16 / f, 32 / f])
    assert independent["core_end_ns"][0] == pytest.approx((32 + 22) / f)
    dependent = time_of([p.core(), p.vector(22, 16), p.vector(22, 16, dep=1)])
    assert dependent["core_end_ns"][0] == pytest.approx(2 * 38 / f)
    fenced = time_of([p.core(), p.vector(22, 16), "barrier V", p.vector(22, 16)])
    assert fenced["core_end_ns"][0] == pytest.approx(2 * 38 / f)
    # One barrier serves all instructions after it that depend on something before it.
    rows = time_of([p.core(), p.vector(22, 16), p.vector(22, 16, dep=-1), p.vector(22, 16, dep=-1), p.vector(22, 16, dep=-3)])
    assert [e[4] for e in events(rows, V)] == pytest.approx([0, 38 / f, 54 / f, 92 / f])
    nothing = time_of([p.core(), p.vector(0, 0), p.vector(0, 0)])
    assert nothing["core_end_ns"][0] == pytest.approx(6 / f)


# 256 floats reduced to one, 100 times in a loop: published microseconds of the Ascend C best-practice guide
@pytest.mark.parametrize("variant, chain, model_ns, tolerance", [
    ("WholeReduceSum x2", [("WholeReduceSum", 4), ("WholeReduceSum", 1)], 116, 12),
    ("BlockReduceSum x3", [("BlockReduceSum", 4), ("BlockReduceSum", 1), ("BlockReduceSum", 1)], 130, 8),
    ("BlockReduceSum + WholeReduceSum", [("BlockReduceSum", 4), ("WholeReduceSum", 1)], 97, 16)])
def test_reduce_cases(time_of, variant, chain, model_ns, tolerance):
    chip = profile()
    body = []
    for op, repeats in chain:
        head, slope, _ = chip.vector[op, "f32"]
        body.append(p.vector(head, slope * repeats, dep=1))
    run = time_of([p.core(), *p.loop(100, body)])
    measured = {row["variant"]: row["time_us"] for row in published()}[variant] * 1e3 / 100
    near(run["busy"][0][V] / 100, model_ns, 1)
    near(run["busy"][0][V] / 100, measured, tolerance)


# ---- chapter 01: copy --------------------------------------------------------------------------------------------
def test_copy_chapter(time_of):
    one, two, eight = (time_of(p.copy_kernel(*args)) for args in [(8, 1), (8, 2), (1, 1, 8)])
    near(one["kernel_ns"], 12.4e3, 1.5)
    near(two["kernel_ns"], 7.7e3, 1)
    near(eight["kernel_ns"], 3.0e3, 1.5)
    near(span(one, MTE2) + span(one, MTE3), 695 + 635, 0.1)
    near(time_of(p.copy_kernel(1, 1, size=512))["kernel_ns"] - 1700, 370, 2)
    near(time_of(p.copy_kernel(1, 1, size=8 * KB))["kernel_ns"] - 1700, 370, 2)


def test_marks_follow_the_pipes(time_of):
    run = time_of(p.copy_kernel(4, 2))
    for buffer in (0, 1):
        mine = [m for m in run["marks"] if m[1] == buffer]
        assert [m[2] for m in mine] == [1, 0, 1, 0]
        loads, stores = events(run, MTE2)[buffer::2], events(run, MTE3)[buffer::2]
        assert [m[3] for m in mine if m[2]] == [e[4] for e in loads]
        assert [m[3] for m in mine if not m[2]] == [e[5] for e in stores]


# ---- order within a core -----------------------------------------------------------------------------------------
def test_flag_costs_five_cycles(time_of):
    run = time_of([p.core(), p.load(32 * KB, 0), *p.flag("MTE2", "V", p.MTE2_V, 0), p.vector(22, 10)])
    assert events(run, V)[0][4] == pytest.approx(695 + 5 / 1.85)


def test_wait_before_set_in_program_order(time_of):
    early = [p.core(), f"wait V {p.MTE2_V} 0", p.vector(22, 10), p.load(32 * KB, 0), f"set MTE2 {p.MTE2_V} 0"]
    late = [p.core(), p.load(32 * KB, 0), *p.flag("MTE2", "V", p.MTE2_V, 0), p.vector(22, 10)]
    assert time_of(early)["core_end_ns"] == time_of(late)["core_end_ns"]


def test_waiting_scalar_unit_holds_everything(time_of):
    run = time_of([p.core(), p.load(32 * KB, 0), *p.flag("MTE2", "S", p.MTE2_S, 0), "scalar 185 0", p.vector(22, 10)])
    assert events(run, V)[0][4] == pytest.approx(695 + 5 / 1.85 + 100)
    assert sum(e[5] - e[4] for e in events(run, S)) == pytest.approx(100) == run["busy"][0][S]
    joined = time_of([p.core(), p.load(32 * KB, 0), p.load(32 * KB, 65536), "join MTE2 1", "scalar 185 0", p.vector(22, 10)])
    assert events(joined, V)[0][4] == pytest.approx(695 + 5 / 1.85 + 100)


def test_barrier_all(time_of):
    run = time_of([p.core(), p.load(32 * KB, 0), p.vector(22, 10), "barrier ALL", p.vector(22, 10)])
    assert events(run, V)[1][4] == pytest.approx(695 + 12)
    assert time_of([p.core(), "barrier ALL"])["core_end_ns"][0] == pytest.approx(12)


def test_queue_of_a_pipe_holds_32(time_of):
    # 40 vector instructions behind a slow one: the 33rd is issued when the first has started, so the scalar work after
    # the 40 starts when instruction 8 has
    run = time_of([p.core(), *[p.vector(0, 1850)] * 40, "scalar 185 0", "op MTE1 0 185 0 0"])
    assert events(run, MTE1)[0][4] == pytest.approx(7 * 1000 + 100)


def test_core_busy_is_the_union(time_of):
    run = time_of([p.core(), p.load(1 * KB, 0), p.load(1 * KB, 1 * KB), "barrier ALL", p.load(1 * KB, 2 * KB)])
    e = events(run, MTE2)
    assert e[1][4] < e[0][5]                          # two at once
    assert run["busy"][0][MTE2] == pytest.approx((e[1][5] - e[0][4]) + (e[2][5] - e[2][4]))


# ---- between cores -----------------------------------------------------------------------------------------------
def test_sync_all_waits_for_the_last(time_of):
    def kernel(vector_only, hard):
        lines = []
        for c in range(4):
            lines += [p.core(block=c), f"scalar {1850 * c} 0", f"sync {vector_only} {hard}", p.vector(22, 10)]
        return time_of(lines)
    for args, cost in [((1, 1), 900), ((0, 1), 2000), ((1, 0), 3000)]:
        run = kernel(*args)
        assert [events(run, V, c)[0][4] for c in range(4)] == pytest.approx([3000 + cost] * 4)


def test_cross_core_flags(time_of):
    # two AIV and their AIC: the AIC waits for both, each AIV for the AIC
    aiv = [[p.core(0, 0, 0, sub), f"scalar {1850 * (1 + sub)} 0", p.store(32 * KB, sub * 65536), "cross_set MTE3 2 3", "cross_wait 4",
            p.vector(22, 10)] for sub in (0, 1)]
    aic = [p.core(1, 0, 0, 0), "cross_wait 3", "op M 24 100 0 0", "cross_set M 2 4"]
    run = time_of([*aiv[0], *aiv[1], *aic])
    arrives = 2000 + 15 + 64 * 155 / 16 + 400
    assert [e[4] for e in run["events"] if e[1] == M] == pytest.approx([arrives])
    assert [events(run, V, c)[0][4] for c in (0, 1)] == pytest.approx([arrives + 124 / 1.85 + 400] * 2)
    everyone = [line for c in range(3) for line in (p.core(block=c), f"scalar {1850 * c} 0", p.vector(0, 185), "cross_set V 0 1",
                                                    "cross_wait 1", p.vector(0, 185))]
    run = time_of(everyone)
    assert [events(run, V, c)[1][4] for c in range(3)] == pytest.approx([2000 + 100 + 800] * 3)


def test_publish_and_await(time_of):
    run = time_of([p.core(block=0), "await 7", p.vector(22, 10), p.core(block=1), p.store(32 * KB, 0), "publish 7"])
    assert events(run, V)[0][4] == pytest.approx(635 + 1200)


def test_blocks_beyond_the_cores_run_in_waves(time_of):
    lines = [line for block in range(5) for line in (p.core(block=block, wave=block // 2), p.vector(0, 1850 * (1 + block)))]
    ends = time_of(lines)["core_end_ns"]
    assert ends == pytest.approx([1000, 2000, 1000 + 500 + 3000, 2000 + 500 + 4000, 4500 + 500 + 5000])


def test_the_core_that_is_free_first_gets_the_next_block(time_of):
    lengths = [1, 5, 1, 1, 1]                                  # us: the second core is busy while the first takes three more
    lines = [line for block, us in enumerate(lengths) for line in (p.core(block=block, wave=block // 2), p.vector(0, 1850 * us))]
    assert time_of(lines)["core_end_ns"] == pytest.approx([1000, 5000, 2500, 4000, 5500])
    mixed = [line for block, us in enumerate(lengths) for kind in (1, 0)      # an AI core is free when its last core has ended
             for line in (p.core(kind, block=block, wave=block // 2), p.vector(0, 1850 * us if kind == 0 else 185))]
    assert time_of(mixed)["core_end_ns"][1::2] == pytest.approx([1000, 5000, 2500, 4000, 5500])


def test_a_wait_for_ever_ends_the_estimate_with_a_note(time_of):
    run = time_of([p.core(), p.vector(22, 10), f"wait S {p.MTE2_S} 0", p.vector(22, 10)])
    assert run["core_end_ns"][0] == pytest.approx(32 / 1.85)
    assert run["notes"] == ["core 0: the estimate ends where the core waits for a flag at line 3"]


# ---- the rest ------------------------------------------------------------------------------------------------------
def test_launch_costs(time_of):
    run = time_of([p.core()])
    assert run["kernel_ns"] == run["launch_ns"] == 1700
    mixed = time_of([p.core(1), "name REGIST_MATMUL_OBJ", "op S 1 0 0 0", p.core(0), "op S 1 0 0 0"])
    assert mixed["launch_ns"] == 1700 + 6600


def test_same_digits_every_time(time_of):
    lines = p.official_add(3)
    assert len({time_of(lines, events=False)["digest"] for _ in range(3)}) == 1


@pytest.mark.parametrize("chip", [c.name for c in chips()])
def test_every_chip_times_a_kernel(time_of, chip):
    one, four = (time_of(p.copy_kernel(8, 2, blocks), chip=chip)["kernel_ns"] for blocks in (1, 4))
    assert 1700 < one <= four < 8 * one                     # the same work per core; four share the memory


def test_a_profile_without_a_number_says_which(driver, tmp_path):
    file = tmp_path / "chip"
    file.write_text("".join(f"{k} {v}\n" for k, v in profile().flat().items() if k != "hbm_gbps"))
    done = subprocess.run([driver, file, "0", "0"], input="core 0 0 0 0 0\n", capture_output=True, text=True)
    assert done.returncode == 3 and "the profile of Ascend910B1 has no number hbm_gbps" in done.stderr


@pytest.mark.parametrize("op, cls, head, slope, known", [
    ("Add", "f16", 22, 1, True), ("Add", "i32", 22, 1, True), ("Exp", "f16", 29, 4, True), ("Exp", "f32", 29, 2, True), ("Exp", "b32", 29, 2, True),
    ("Cast", "i64", 29, 1, True), ("Gather", "u16", 24, 24, True), ("Gather", "f32", 24, 12, True), ("MulAddDst", "mixed", 24, 5, True),
    ("BlockReduceSum", "f16", 78, 7, True), ("Duplicate", "i64", 22, 1, True), ("Not", "i32", 18, 1, True), ("Frobnicate", "f16", 60, 4, False)])
def test_vector_cost_lookup(driver, flat, op, cls, head, slope, known):
    cost = json.loads(subprocess.run([driver, flat(), "cost", op, cls], capture_output=True, text=True, check=True).stdout)
    assert (cost["head"], cost["slope"], cost["known"]) == (head, slope, known)
