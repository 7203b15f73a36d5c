"""The simulation runs inside the notebook's process: nothing a function does may hurt it, or the next launch."""
import ctypes
import gc
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from helpers.build import compiler, twin
from helpers.ubsim import DataCopyExtParams, DataCopyParams, UnaryRepeatParams, abi, state, vector
from ubsim_tools import error_of, line_of

HALF = np.float16


@hp.ubsim
def double(core, x, y):
    t = core.TBuf(length=x.nbytes).Get(x.dtype)
    core.DataCopy(t, x)
    core.PipeBarrier("ALL")
    t += t
    core.PipeBarrier("ALL")
    core.DataCopy(y, t)


def still_works() -> bool:
    x, y = np.arange(64, dtype=HALF), np.zeros(64, HALF)
    double[1](x, y)
    return state.running is None and np.array_equal(y, x + x)


# ---- the structs
def test_structs_lie_in_memory_as_in_cpp(tmp_path):
    lines, expected = [], []
    for struct in abi.STRUCTS:
        lines.append(f'    printf("{struct.__name__} %zu", sizeof(twin::{struct.__name__}));')
        words = [struct.__name__, str(ctypes.sizeof(struct))]
        for name, *_ in struct._fields_:
            lines.append(f'    printf(" %zu", offsetof(twin::{struct.__name__}, {name.replace("from_type", "from")}));')
            words.append(str(getattr(struct, name).offset))
        lines.append('    printf("\\n");')
        expected.append(" ".join(words))
    source = tmp_path / "layout.cpp"
    source.write_text('#include "twin/abi_front.h"\n#include <cstdio>\nint main() {\n' + "\n".join(lines) + "\n}\n")
    done = compiler.find().run(["-std=c++17", "-w", f"-I{twin.INCLUDE}", source, "-o", tmp_path / "layout"])
    assert done.returncode == 0, done.stdout
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == expected


def test_every_declared_entry_point_is_bound():
    declared = set(re.findall(r"\b(front_\w+)\(", (twin.INCLUDE / "twin" / "abi_front.h").read_text()))
    assert declared == set(abi._ENTRIES) | {"front_forget"}


# ---- errors leave the library usable
def test_an_exception_of_the_learner_passes_through():
    @hp.ubsim
    def divides(core, x):
        t = core.TQue("VECIN", num=1, length=64).AllocTensor(HALF)
        core.DataCopy(t, x[:32])
        return 1 / 0

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            divides[2](np.zeros(64, HALF))
        assert still_works()


def test_interrupt_leaves_the_library_usable():
    @hp.ubsim
    def interrupted(core, x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted[2](np.zeros(64, HALF))
    assert still_works()


def test_errors_one_after_the_other():
    @hp.ubsim
    def wrong(core, x, where):
        if core.block == where:
            core.SetFlag("MTE2_V", 9)

    for block in range(4):
        error = error_of(wrong, np.zeros(64, HALF), block, blocks=4)
        assert [(f.code, f.block) for f in error.findings] == [("EVENT_ID", block)]
        assert still_works()


def test_a_swallowed_error_is_raised_all_the_same():
    reached = []

    @hp.ubsim
    def swallows(core):
        for _ in range(2):
            try:
                core.SetFlag("MTE2_V", 9)
            except hp.KernelError:
                reached.append(core.block)

    error = error_of(swallows, blocks=3)
    assert error.codes == ["EVENT_ID"] and reached == [0, 0] and still_works()


def test_results_of_earlier_launches_stay():
    x, runs = np.arange(64, dtype=HALF), []
    for n in range(3):
        runs.append((double[1](x, y := np.zeros(64, HALF)), y))
    before = [(r.time_us, r.events.tobytes()) for r, _ in runs]
    double[1](x[:32], np.zeros(32, HALF))
    gc.collect()
    assert [(r.time_us, r.events.tobytes()) for r, _ in runs] == before and len(set(before)) == 1


# ---- one at a time
def test_nested_launch_is_refused():
    @hp.ubsim
    def outer(core, x, y):
        double[1](x._array, y._array)

    error = error_of(outer, np.zeros(64, HALF), np.zeros(64, HALF))
    assert error.codes == ["HOST_ARGUMENT"] and "double is launched inside the simulation outer" in str(error) and still_works()


def test_a_kernel_may_be_launched_inside():
    kernel = hp.compile('#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void nothing(GM_ADDR x) {}\n')

    @hp.ubsim
    def outer(core, x):
        kernel[1](x._array)
        t = core.TBuf(length=128).Get(x.dtype)
        core.DataCopy(t, x)

    assert outer[2](np.zeros(64, HALF)).blocks == 2


def test_threads_take_turns():
    x, results, errors = np.arange(4096, dtype=HALF), [np.zeros(4096, HALF) for _ in range(8)], []

    def work(y):
        try:
            for _ in range(5):
                double[1](x, y)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(y,)) for y in results]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == [] and all(np.array_equal(y, x + x) for y in results)


# ---- things that outlive their core
def test_tensor_of_another_block_is_refused():
    kept = []

    @hp.ubsim
    def passes_on(core, x):
        if core.block == 0:
            kept.append(core.TBuf(length=128).Get(HALF))
        else:
            core.TBuf(length=128)
            core.Duplicate(kept[0], 1.0)

    error = error_of(passes_on, np.zeros(64, HALF), blocks=2)
    assert [f.block for f in error.findings] == [1] and still_works()


def test_queue_of_another_block_is_refused():
    kept = []

    @hp.ubsim
    def passes_on(core, x):
        if not kept:
            kept.append(core.TQue("VECIN", num=1, length=64))
        kept[0].FreeTensor(kept[0].AllocTensor(HALF))

    error = error_of(passes_on, np.zeros(64, HALF), blocks=2)
    assert [f.block for f in error.findings] == [1] and still_works()


def test_use_after_the_end_is_refused():
    kept = []

    @hp.ubsim
    def keeps(core, x):
        kept.extend([core, x, core.TBuf(length=128).Get(HALF), core.TQue("VECIN", num=1, length=64)])

    keeps[1](np.zeros(64, HALF))
    core, x, t, queue = kept
    for use in (lambda: core.DataCopy(t, x), lambda: core.Add(t, t, t), lambda: t[0], lambda: x[0], lambda: queue.AllocTensor(HALF),
                lambda: core.SetFlag("MTE2_V", 0), lambda: t.numpy(), lambda: core.TBuf(length=5), lambda: t[5:2]):
        with pytest.raises(hp.KernelError, match="after the simulation has ended"):
            use()
    assert still_works()


def test_array_of_another_launch_is_refused():
    kept = []

    @hp.ubsim
    def keeps(core, x):
        kept.append(x)

    @hp.ubsim
    def uses(core, y, checks):
        t = core.TBuf(length=128).Get(HALF)
        core.DataCopy(t, kept[0])            # here

    keeps[1](np.zeros(64, HALF))
    for checks in ("full", "off"):
        error = error_of(uses, np.zeros(64, HALF), checks, checks=checks)
        assert error.codes == ["GM_OUT_OF_BOUNDS"] and error.findings[0].line == line_of(uses.function)


# ---- arguments
def test_readonly_arrays_are_read_and_never_written():
    x, y = np.frombuffer(bytes(128), HALF), np.frombuffer(bytes(128), HALF)
    double[1](x, np.zeros(64, HALF))
    error = error_of(double, x, y)
    assert error.codes == ["HOST_ARGUMENT"] and "read-only" in str(error) and not y.any()

    @hp.ubsim
    def sets(core, y):
        y[3] = 1
    assert error_of(sets, y).codes == ["HOST_ARGUMENT"] and not y.any()


@pytest.mark.parametrize("args, word", [((np.zeros((8, 8), HALF)[:, 1:5], np.zeros(64, HALF)), "ascontiguousarray"),
                                        ((np.zeros(64, np.complex64), np.zeros(64, HALF)), "complex64"), ((np.zeros(64, HALF),), "missing"),
                                        ((np.zeros(64, HALF),) * 3, "too many")])
def test_arguments_that_do_not_fit(args, word):
    error = error_of(double, *args)
    assert error.codes == ["HOST_ARGUMENT"] and word in str(error)


@pytest.mark.parametrize("blocks", [0, -1, 1.0, True, 70_000, None])
def test_number_of_blocks(blocks):
    assert "blocks" in str(error_of(double, np.zeros(64, HALF), np.zeros(64, HALF), blocks=blocks))


def test_other_mistakes_of_a_launch():
    x = np.zeros(64, HALF)
    with pytest.raises(hp.KernelError, match="number of blocks is missing"):
        double(x, x)
    for options in ({"checks": "some"}, {"schedule": "late"}):
        assert error_of(double, x, x, **options).codes == ["HOST_ARGUMENT"]
    with pytest.raises(TypeError, match="no parameter for the core"):
        hp.ubsim(lambda: None)
    with pytest.raises(TypeError, match="returned a value"):
        hp.ubsim(lambda core: 5)[1]()
    with pytest.raises(AttributeError, match="Did you mean core.DataCopy"):
        hp.ubsim(lambda core: core.DataCopi())[1]()
    assert still_works()


def test_values_pass_as_they_are_and_by_name():
    seen = []

    @hp.ubsim
    def takes(core, x, tile, options=None, *, last=3):
        seen.append((x.name, tile, options, last))

    takes[1](np.zeros(4, HALF), 5, last=7)
    takes.launch(1, (np.zeros(4, HALF), 5, {"a": 1}))
    assert seen == [("x", 5, None, 7), ("x", 5, {"a": 1}, 3)]


def test_workspace_is_memory_nobody_wrote():
    @hp.ubsim
    def scratch(core, ws, y):
        t = core.TBuf(length=64).Get(HALF)
        w = ws.view(HALF)
        if y.shape[0] == 32:
            t[:] = 3.0
            core.PipeBarrier("ALL")
            core.DataCopy(w[:32], t)
            core.PipeBarrier("ALL")
        core.DataCopy(t, w[:32])
        core.PipeBarrier("ALL")
        core.DataCopy(y[:32], t)

    y = np.zeros(32, HALF)
    scratch[1](hp.workspace(64), y)
    assert (y == 3).all()
    assert "UNINITIALISED_READ" in error_of(scratch, hp.workspace(64), np.zeros(33, HALF)).codes


def test_one_array_twice_and_views_of_one_array():
    x = np.arange(64, dtype=HALF)
    double[1](x, x)
    assert np.array_equal(x, np.arange(64) * 2)
    double[1](x[:32], x[32:])
    assert np.array_equal(x[32:], x[:32] * 2)


# ---- foreign memory
def guarded(n: int, dtype=HALF):
    """An array in the middle of known bytes, and a question whether they are still the same."""
    around = np.full(n * 2 + 4096, 0x5A, np.uint8)
    array = around[2048:2048 + n * 2].view(dtype)
    array[:] = 1
    return array, lambda: (around[:2048] == 0x5A).all() and (around[2048 + n * 2:] == 0x5A).all()


WILD = [0, 1, -1, 5, 16, 31, 32, 33, 100, 1000, 4095, 4096, 65535, 65536, 2**21, 2**31 - 1, 2**31, 2**32, 2**32 + 16, 2**40, 2**62, 2**63, 2**64 + 16, -16, -2**31,
        -2**63]


def wild_call(rng, core, gm, tensors, queue):
    """One call with arguments nobody would write."""
    n = lambda: WILD[rng.integers(len(WILD))]
    t = lambda: (v := tensors[rng.integers(len(tensors))], v[n():n()] if rng.random() < 0.3 else v[n():] if rng.random() < 0.3 else v)[1]
    x = lambda: gm if (r := rng.random()) < 0.3 else gm[n():n()] if r < 0.7 else gm[n():] if r < 0.9 else gm.reshape(-1, 5)[n():n(), n():n()]
    params = lambda: (DataCopyParams if rng.random() < 0.5 else DataCopyExtParams)(n(), n(), n(), n())
    count = lambda: None if rng.random() < 0.4 else n()
    choice = rng.integers(14)
    if choice == 0:
        core.DataCopy(t(), x(), count())
    elif choice == 1:
        core.DataCopy(x(), t(), count())
    elif choice == 2:
        core.DataCopy(t(), x(), params())
    elif choice == 3:
        core.DataCopyPad(x(), t(), None if rng.random() < 0.5 else params())
    elif choice == 4:
        core.DataCopyPad(t(), x(), None if rng.random() < 0.5 else params())
    elif choice == 5:
        core.DataCopy(x(), t(), params())
    elif choice == 6:
        core.Add(t(), t(), t(), count())
    elif choice == 7:
        core.Adds(t(), t(), 1.0, mask=n(), repeatTime=n(), repeatParams=UnaryRepeatParams(*(int(v) % 300 for v in rng.integers(0, 10**6, 4))))
    elif choice == 8:
        t()[n()] = 1.0
    elif choice == 9:
        x().GetValue(n())
    elif choice == 10:
        x().SetValue(n(), 1.0)
    elif choice == 11:
        (core.ReduceSum if rng.random() < 0.5 else core.ReduceMax)(t(), t(), t(), count())
    elif choice == 12:
        core.WholeReduceMax(t(), t(), n(), n(), n(), n(), n())
    else:
        queue.FreeTensor(queue.AllocTensor(HALF)[n():n()])


@pytest.mark.parametrize("checks", ["full", "off"])
def test_wild_arguments_touch_no_foreign_memory(checks):
    rng = np.random.default_rng(7)
    x, untouched = guarded(2000)
    neighbour, neighbour_untouched = guarded(64)
    reached = 0

    @hp.ubsim
    def wild(core, x, other):
        nonlocal reached
        buffer = core.TBuf(length=4096)
        tensors = [buffer.Get(HALF), buffer.Get(HALF, 100), buffer.GetWithOffset(HALF, 64, 2048)]
        queue = core.TQue("VECIN", num=1, length=64)
        core.Duplicate(tensors[0], 1.0)
        core.PipeBarrier("ALL")
        for _ in range(4):
            wild_call(rng, core, x, tensors, queue)
            core.PipeBarrier("ALL")
            reached += 1

    for _ in range(1500):
        try:
            wild.launch(1, (x, neighbour), checks=checks)
        except hp.KernelError:
            pass
        assert untouched() and neighbour_untouched() and (neighbour == 1).all()
    assert reached > 200 and still_works()


# ---- speed
def test_48_cores_with_many_tiles_stay_interactive():
    x, y = np.ones(48 * 128 * 1024, np.float32), np.zeros(48 * 128 * 1024, np.float32)

    @hp.ubsim
    def tiles(core, x, y):
        queue = core.TQueBind("VECIN", "VECOUT", num=2, length=4096)
        for start in range(core.block * 1024, x.size, core.blocks * 1024):
            t = queue.AllocTensor(np.float32)
            core.DataCopy(t, x[start:start + 1024])
            queue.EnQue(t)
            t = queue.DeQue()
            core.DataCopy(y[start:start + 1024], t)
            queue.FreeTensor(t)

    tiles[1](x[:1024], y[:1024])
    start = time.perf_counter()
    run = tiles[48](x, y)
    seconds = time.perf_counter() - start
    assert np.array_equal(x, y) and (run.events["pipe"] > 0).sum() == 2 * 48 * 128
    assert seconds < 15, f"{seconds:.1f} s for 6,144 tiles"      # about 0.6 s on a quiet machine


def test_importing_the_simulation_loads_neither_the_library_nor_matplotlib():
    code = "import helpers, sys; assert 'matplotlib' not in sys.modules; from helpers.ubsim import abi; assert not abi._load.cache_info().currsize"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


def test_every_entry_point_is_used():
    text = "".join(p.read_text(encoding="utf-8") for p in Path(abi.__file__).parent.glob("*.py") if p.name != "abi.py")
    for entry in abi._ENTRIES:
        assert f"lib.{entry.removeprefix('front_')}" in text, entry
