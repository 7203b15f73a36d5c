"""hp.compile, kernel[blocks](…), Run, hp.expect_error: the names that notebooks rely on."""
from __future__ import annotations

import ast
import copy
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from helpers.launch import EVENT

ADD = r'''#include "kernel_operator.h"
using namespace AscendC;

class KernelAdd {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
        length = n / GetBlockNum();
        xGm.SetGlobalBuffer((__gm__ half*)x + length * GetBlockIdx(), length);
        yGm.SetGlobalBuffer((__gm__ half*)y + length * GetBlockIdx(), length);
        zGm.SetGlobalBuffer((__gm__ half*)z + length * GetBlockIdx(), length);
        pipe.InitBuffer(inX, 2, 256 * sizeof(half));
        pipe.InitBuffer(inY, 2, 256 * sizeof(half));
        pipe.InitBuffer(outZ, 2, 256 * sizeof(half));
    }
    __aicore__ inline void Process() {
        for (uint32_t i = 0; i < length; i += 256) {
            LocalTensor<half> x = inX.AllocTensor<half>(), y = inY.AllocTensor<half>();
            DataCopy(x, xGm[i], 256);
            DataCopy(y, yGm[i], 256);
            inX.EnQue(x);
            inY.EnQue(y);
            x = inX.DeQue<half>();
            y = inY.DeQue<half>();
            LocalTensor<half> z = outZ.AllocTensor<half>();
            Add(z, x, y, 256);
            outZ.EnQue(z);
            inX.FreeTensor(x);
            inY.FreeTensor(y);
            z = outZ.DeQue<half>();
            DataCopy(zGm[i], z, 256);
            outZ.FreeTensor(z);
        }
        printf("block %d is done\n", (int)GetBlockIdx());
    }
private:
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inX, inY;
    TQue<TPosition::VECOUT, 2> outZ;
    GlobalTensor<half> xGm, yGm, zGm;
    uint32_t length;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n) {
    KernelAdd op;
    op.Init(x, y, z, n);
    op.Process();
}
'''
N = 8192
FORGOT = ADD.replace("            outZ.EnQue(z);\n", "").replace("            z = outZ.DeQue<half>();\n", "")


@pytest.fixture(scope="module")
def add():
    return hp.compile(ADD)


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    return rng.random(N).astype(np.float16), rng.random(N).astype(np.float16), np.full(N, np.nan, np.float16)


@pytest.fixture
def run(add, data):
    return add[8](*data, N)


def test_results_arrive_in_place(add, data, run):
    x, y, z = data
    assert (z == x + y).all()
    assert repr(hp.check(z, x.astype(np.float64) + y, tile=256)).startswith("ok: 8192 elements")


def test_kernel_describes_itself(add):
    assert repr(add) == "add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n)  [AIV, Ascend910B1]"
    assert add.name == "add_custom" and add.source == ADD and add.target == "host"
    assert [p.name for p in add.signature] == ["x", "y", "z", "n"]
    assert repr(add[8]) == "add_custom[8]"


def test_run_attributes(run):
    assert run.name == "add_custom" and run.blocks == 8 and run.origin == "estimate (Ascend910B1)"
    assert run.time_us > 1 and run.cycles == round(run.time_us * 1e3 * run.chip.clock_ghz)
    assert run.source == ADD and run.first_line == 1 and run.findings == []
    assert sorted(run.stdout.splitlines()) == sorted(f"block {b} is done" for b in range(8))
    assert repr(run) == f"add_custom: 8 blocks, {run.time_us:.2f} us estimate (Ascend910B1)"


def test_events(run):
    ev = run.events
    assert ev.dtype == EVENT
    assert set(np.unique(ev["block"])) == set(range(8)) and (ev["kind"] == 0).all()
    names = np.array(run.ops)[ev["op"]]
    assert (names == "Add").sum() == N // 256
    lines = {text: i for i, text in enumerate(ADD.splitlines(), 1)}
    assert set(ev["line"][names == "Add"]) == {lines["            Add(z, x, y, 256);"]}
    assert (ev["end"] >= ev["start"]).all() and ev["start"].min() >= 0
    loads = ev[ev["pipe"] == 4]
    assert loads["bytes"].sum() == 2 * N * 2
    assert np.isclose(run.core_end.max(), ev["end"].max(), rtol=0.2)


def test_pipes_and_totals(run):
    assert set(run.pipes) == {"AIV"} and {"V", "MTE2", "MTE3"} <= set(run.pipes["AIV"])
    assert all(0 < share <= 1 for share in run.pipes["AIV"].values())
    assert run.busy.shape == (8, 7) and run.core_end.shape == (8,)
    assert run.totals["gm_read_bytes"] == 2 * N * 2 and run.totals["gm_write_bytes"] == N * 2


def test_buffers_and_marks(run):
    first = [b for b in run.buffers if b["core"] == run.buffers[0]["core"]]
    assert sorted((b["name"], b["slot"]) for b in first) == [(q, s) for q in ("inX", "inY", "outZ") for s in (0, 1)]
    assert all(b["mem"] == "UB" and b["bytes"] == 512 for b in first)
    core, buffer, alloc, ns = run.marks[0]
    assert alloc is True and isinstance(core, int) and isinstance(buffer, int) and ns >= 0
    assert sum(m[2] for m in run.marks) == sum(not m[2] for m in run.marks)


def test_the_same_every_time(add, data, run):
    again = add[8](*data, N)
    assert again.time_us == run.time_us and again.stdout == run.stdout
    assert (again.events == run.events).all()


def test_views_read_the_run(run):
    for view in (run.timeline, run.report, run.roofline, run.ub_map, run.hot_lines):
        assert view() is not None


# ---- errors
def error_of(call, kind=hp.KernelError):
    with pytest.raises(kind) as caught:
        call()
    return caught.value


def test_an_error_shows_code_line_source_and_fix(data):
    kernel = hp.compile(FORGOT)
    error = error_of(lambda: kernel[8](*data, N))
    found = next(f for f in error.findings if f.severity == "error")
    assert found.line and found.source and found.source in FORGOT and found.hint
    text = str(error)
    assert text.startswith("add_custom: ") and found.code in text and "Fix: " in text and f"line {found.line}" in text


def test_the_kernel_works_after_an_error(add, data):
    error_of(lambda: add[8](data[0], data[1], N))
    x, y, z = data
    add[8](x, y, z, N)
    assert (z == x + y).all()


@pytest.mark.parametrize("blocks", [0, -1, 1.5, True, "8", None, 70000, (8, 1)])
def test_number_of_blocks(add, blocks):
    assert error_of(lambda: add[blocks]).codes == ["HOST_ARGUMENT"]


def test_options_of_launch(add, data):
    x, y, z = data
    for options in (dict(checks="off"), dict(schedule="lazy"), dict(seed=3), dict(timeout=5), dict(memory_mb=256)):
        z[:] = 0
        run = add.launch(8, [x, y, z, N], **options)
        assert (z == x + y).all() and run.time_us > 0
    for options in (dict(checks="some"), dict(schedule="late"), dict(timeout=0), dict(timeout="1"), dict(memory_mb=-1)):
        found = error_of(lambda options=options: add.launch(8, (x, y, z, N), **options)).findings[0]
        assert found.code == "HOST_ARGUMENT" and next(iter(options)) in found.message
    for options in (dict(seed="x"), dict(tiling_key=1.5), dict(seed=-1), dict(tiling_key=2**64), dict(timeout=float("inf")), dict(memory_mb=float("nan"))):
        found = error_of(lambda options=options: add.launch(8, (x, y, z, N), **options)).findings[0]
        assert found.code == "HOST_ARGUMENT" and next(iter(options)) in found.message
    assert "add_custom.launch(8, " in str(error_of(lambda: add[8](x, y, z, N, checks="off")))
    assert "positional" in str(error_of(lambda: add[8](x, y, z, n=N)))
    assert "one tuple" in str(error_of(lambda: add.launch(8, x)))
    assert "add_custom[8](…)" in str(error_of(lambda: add(x, y, z, N)))


def test_sources(tmp_path, data):
    path = tmp_path / "add.cpp"
    path.write_text(ADD)
    hp.compile(path)[8](*data, N)
    with pytest.raises(ValueError, match="Path"):
        hp.compile("add.cpp")
    with pytest.raises(TypeError):
        hp.compile(b"text")


def test_several_kernels_in_one_text(data):
    two = ADD + ADD[ADD.index('extern "C"'):].replace("add_custom", "add_again")
    error = error_of(lambda: hp.compile(two), hp.CompileError)
    assert "add_custom, add_again" in str(error) and 'name="add_custom"' in str(error)
    assert hp.compile(two, name="add_again").name == "add_again"


def test_a_run_that_is_too_long_for_its_estimate_says_so(data):
    body = "Duplicate(a, 1.0f, 64); for (int32_t i = 0; i < n; i++) Adds(a, a, 1.0f, 64);"
    kernel = hp.compile('#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void busy(int32_t n) {\n'
                        "TPipe pipe; TBuf<> b; pipe.InitBuffer(b, 256); LocalTensor<float> a = b.Get<float>();\n" + body + "\n}\n")
    assert "covers" not in repr(kernel[1](1000))
    assert "us estimate (Ascend910B1), the estimate covers the first 3000000 steps of the kernel" in repr(kernel[1](3_000_000))


def test_compare_takes_runs(add, data):
    run = add[8](*data, N)
    assert hp.compare(run, run).data["first"] is None
    with pytest.raises(TypeError, match="two runs"):
        hp.compare(run, add)


def test_targets():
    assert hp.compile(ADD, target="auto").target == "host"
    assert "CANN" in str(error_of(lambda: hp.compile(ADD, target="npu"), hp.WorkbookError))
    assert "target='gpu'" in str(error_of(lambda: hp.compile(ADD, target="gpu"), hp.WorkbookError))


def test_chips(data):
    slow = hp.compile(ADD, chip="Ascend910B4")[8](*data, N)
    assert slow.origin == "estimate (Ascend910B4)"


def test_kernels_from_several_threads(add):
    results = []

    def work(seed):
        rng = np.random.default_rng(seed)
        x, y, z = rng.random(N).astype(np.float16), rng.random(N).astype(np.float16), np.zeros(N, np.float16)
        for _ in range(3):
            add[4](x, y, z, N)
        results.append((z == x + y).all())
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 4


def test_a_large_launch_from_a_thread_that_has_ended(add):
    """The waiting runner goes with the thread that started it; the next launch starts another."""
    n = 32 << 20
    x, y, z = (np.ones(n, np.float16) for _ in range(3))
    t = threading.Thread(target=lambda: add.launch(8, (x, y, z, N)))
    t.start()
    t.join()
    for _ in range(2):
        add.launch(8, (x, y, z, N))
    assert (z[:N] == 2).all()


def test_run_survives_copying(run):
    twin = copy.copy(run)
    assert twin.time_us == run.time_us


# ---- hp.expect_error
def test_expect_error_shows_what_a_learner_sees(data, capsys):
    kernel = hp.compile(FORGOT)
    code = error_of(lambda: kernel[8](*data, N)).codes[0]
    shown = []
    for _ in range(2):
        with hp.expect_error(code):
            kernel[8](*data, N)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert shown[0].startswith("KernelError: add_custom: ") and code in shown[0] and "Fix: " in shown[0]


def test_expect_error_fails_without_an_error(add, data):
    with pytest.raises(AssertionError, match="without one"):
        with hp.expect_error("MISSING_SYNC"):
            add[8](*data, N)


def test_expect_error_fails_with_another_error(add, data):
    with pytest.raises(hp.KernelError, match="Expected the error MISSING_SYNC; HOST_ARGUMENT came instead"):
        with hp.expect_error("MISSING_SYNC"):
            add[8](*data)
    with pytest.raises(ZeroDivisionError):
        with hp.expect_error("MISSING_SYNC"):
            1 // 0


def test_expect_error_knows_its_codes():
    with pytest.raises(LookupError, match="MISSING_SYNC"):
        with hp.expect_error("MISING_SYNC"):
            pass


def test_plain_python_needs_no_ipython():
    script = textwrap.dedent("""
        import sys, numpy as np, helpers as hp
        assert "IPython" not in sys.modules
        k = hp.compile(sys.stdin.read())
        x = np.ones(256, np.float16); z = np.zeros(256, np.float16)
        print(k[1](x, x, z, 256).stdout, z.min())
    """)
    done = subprocess.run([sys.executable, "-c", script], input=ADD, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.stdout == "block 0 is done\n 2.0\n" and done.stderr == ""


# ---- the package
LOADED = """
import sys
import helpers as hp
later = {module for module, _ in hp._LATER.values()}
assert not [m for m in later if f"helpers.{m}" in sys.modules], sorted(sys.modules)
assert set(hp.__all__) <= set(dir(hp)) and "WorkbookError" in dir(hp)
from helpers.profile import advise             # binds the name helpers.profile, which goes on to be the function
from helpers.ubsim import queues
import helpers.doctor, helpers.host
names = {}
exec("from helpers import *", names)
assert set(hp.__all__) <= names.keys()
for name in hp.__all__:
    assert names[name] is getattr(hp, name)
    assert name == "host" or callable(names[name]), name
assert hp.profile.__module__ == "helpers.profile" and hp.host is sys.modules["helpers.host"]
try:
    hp.run_programm
except AttributeError as error:
    print(error)
"""


def test_what_few_notebooks_use_is_loaded_later():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("module 'helpers' has no attribute 'run_programm'\n", "")


def test_type_checkers_see_the_names_that_are_loaded_later():
    tree = ast.parse(Path(hp.__file__).read_text(encoding="utf-8"))
    block, = [n for n in tree.body if isinstance(n, ast.If)]
    assert {a.asname or a.name for n in block.body for a in n.names} == set(hp._LATER)
