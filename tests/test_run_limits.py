"""Whatever a kernel does, the notebook lives: a clear error in time, and nothing left behind."""
from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import helpers as hp
from helpers import adopt, channel

SOURCE = r'''#include "kernel_operator.h"
#include <cstdio>
#include <cstdlib>
#include <csignal>
#include <stdexcept>
using namespace AscendC;

__attribute__((noinline)) int deeper(int n) {
    volatile char room[512];
    room[n % 512] = 1;
    return deeper(n + 1) + room[0];                                      // recursion
}
extern "C" __global__ __aicore__ void fine(__gm__ float* x, __gm__ float* y, int32_t n) {
    for (int32_t i = 0; i < n; i++) y[i] = x[i] + 1;
}
extern "C" __global__ __aicore__ void endless(__gm__ float* x, __gm__ float* y, int32_t n) {
    printf("before the loop\n");
    volatile int32_t i = 0;
    while (i >= 0) {
        i = (i + 1) & 1023;                                              // endless
    }
}
extern "C" __global__ __aicore__ void recursive(__gm__ float* x, __gm__ float* y, int32_t n) { y[0] = deeper(n); }
extern "C" __global__ __aicore__ void null_pointer(__gm__ float* x, __gm__ float* y, int32_t n) {
    x[3] = 1.0f;                                                         // null
}
extern "C" __global__ __aicore__ void far_away(__gm__ float* x, __gm__ float* y, int32_t n) {
    y[n + 100000] = 1.0f;                                                // far
}
extern "C" __global__ __aicore__ void just_behind(__gm__ float* x, __gm__ float* y, int32_t n) {
    for (int32_t i = 0; i < n + 2; i++) y[i] = 5.0f;
}
extern "C" __global__ __aicore__ void before_start(__gm__ float* x, __gm__ float* y, int32_t n) {
    y[-5] = 1.0f;                                                        // before
}
extern "C" __global__ __aicore__ void divide(__gm__ float* x, __gm__ float* y, int32_t n) {
    volatile int32_t zero = 0;
    y[0] = n / zero;                                                     // divide
}
extern "C" __global__ __aicore__ void stumble(__gm__ float* x, __gm__ float* y, int32_t n) {
    __builtin_trap();                                                    // trap
}
extern "C" __global__ __aicore__ void late(__gm__ float* x, __gm__ float* y, int32_t n) {
    if (GetBlockIdx() == 4) {
        *(volatile __gm__ float*)(x - 5000000) = 1.0f;                   // late
    }
}
extern "C" __global__ __aicore__ void chatty(__gm__ float* x, __gm__ float* y, int32_t n) {
    for (int32_t i = 0; i < 10000000; i++) std::printf("line %07d\n", i % 10);
    y[0] = 7.0f;
}
extern "C" __global__ __aicore__ void device_chatty(__gm__ float* x, __gm__ float* y, int32_t n) {
    for (int32_t i = 0; i < 1000000; i++) AscendC::printf("line %d of device output %s\n", i, "and more of it, until it is a hundred characters long");
}
extern "C" __global__ __aicore__ void hungry(__gm__ float* x, __gm__ float* y, int32_t n) {
    volatile char* p = static_cast<char*>(::operator new(100ull << 30));
    p[0] = 1;
}
extern "C" __global__ __aicore__ void stack_hungry(__gm__ float* x, __gm__ float* y, int32_t n) {
    volatile char big[64 << 20];
    for (int32_t i = 0; i < (64 << 20); i += 4096) big[i] = 1;
}
extern "C" __global__ __aicore__ void thrower(__gm__ float* x, __gm__ float* y, int32_t n) {
    throw std::runtime_error("something with a name");
}
extern "C" __global__ __aicore__ void double_free(__gm__ float* x, __gm__ float* y, int32_t n) {
    void* volatile p = ::operator new(40);
    (free)(p);
    (free)(p);
}
extern "C" __global__ __aicore__ void leaver(__gm__ float* x, __gm__ float* y, int32_t n) { exit(3); }
extern "C" __global__ __aicore__ void killed(__gm__ float* x, __gm__ float* y, int32_t n) { raise(9); }
'''


def line_of(mark: str) -> int:
    return next(i for i, text in enumerate(SOURCE.splitlines(), 1) if text.rstrip().endswith("// " + mark))


@pytest.fixture(scope="module")
def kernels():
    names = ["fine", "endless", "recursive", "null_pointer", "far_away", "just_behind", "before_start", "divide", "stumble", "late", "chatty",
             "device_chatty", "hungry", "stack_hungry", "thrower", "double_free", "leaver", "killed"]
    return {name: hp.compile(SOURCE, name=name) for name in names}


def open_file(number: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:                        # the listing itself
        return ""


_others: set[int] = set()


@pytest.fixture(scope="module", autouse=True)
def others():
    """Children that tests of other files have left to this process: runners of the frameworks' launcher."""
    channel.stop_waiting_runner()
    _others.update(p.pid for p in psutil.Process().children(recursive=True))


def children() -> list:
    return [p for p in psutil.Process().children(recursive=True) if p.pid not in _others]


def leftovers(temporary: Path) -> tuple[list, dict, list]:
    """Child processes, open files (by what they are), and names in the places for temporary files."""
    channel.stop_waiting_runner()
    gc.collect()                           # tracebacks hold arrays, and arrays hold their memory
    pids = [p.pid for p in children()]
    files = [open_file(n) for n in os.listdir("/proc/self/fd")] if os.path.isdir("/proc/self/fd") else []
    shared = [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if not name.startswith("sem.")] if os.path.isdir("/dev/shm") else []
    return pids, {kind: sum(kind in f for f in files) for kind in ("memfd", "socket", "pipe", "deleted")}, sorted(os.listdir(temporary)) + shared


@pytest.fixture
def clean(kernels, tmp_path, monkeypatch):
    """Nothing is left behind, and the next kernel runs as if nothing had happened."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernels["fine"][1](x, y, 64)          # the shared memory of this process exists from here on
    before = leftovers(tmp_path)
    kernels["fine"][1](x, y, 64)          # the test meets a runner that has served before
    yield
    assert leftovers(tmp_path) == before
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernels["fine"][1](x, y, 64)
    assert (y == x + 1).all()


def fail(kernel, *args, **options):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(hp.KernelError) as caught:
        kernel.launch(options.pop("blocks", 1), args or (x, y, 64), **options)
    errors = [f for f in caught.value.findings if f.severity == "error"]
    return errors[0], caught.value.with_traceback(None), y          # frames would keep the arrays alive


def test_endless_loop_ends_at_the_timeout_with_its_line(kernels, clean):
    start = time.perf_counter()
    found, error, _ = fail(kernels["endless"], timeout=0.5)
    assert time.perf_counter() - start < 3
    assert found.code == "TIMEOUT"
    assert "0.5 s" in found.message and "timeout=" in found.hint
    assert found.line in range(line_of("endless") - 1, line_of("endless") + 2)
    assert "before the loop" in error.stdout


EMPTY_LOOP = '''#include "kernel_operator.h"
extern "C" __global__ __aicore__ void forever(GM_ADDR x) { while (true) {} }
'''


def test_timeout_names_no_line_that_the_text_does_not_have(clean):
    kernel = hp.compile(EMPTY_LOOP)
    with pytest.raises(hp.KernelError) as caught:
        kernel.launch(1, (np.zeros(8, np.float32),), timeout=0.3)
    assert caught.value.findings[0].line in (None, 2)


STARTER = '''#include "kernel_operator.h"
#include <unistd.h>
extern "C" __global__ __aicore__ void starter(GM_ADDR x) { fork(); for (;;) pause(); }
'''


def test_timeout_ends_what_the_kernel_has_started(clean):
    kernel = hp.compile(STARTER)
    known = {p.pid for p in psutil.process_iter()}
    with pytest.raises(hp.KernelError, match="TIMEOUT"):
        kernel.launch(1, (np.zeros(8, np.float32),), timeout=0.3)
    runner = str(kernel.built.runtime.runner)
    left = [p for p in psutil.process_iter(["cmdline", "status"]) if p.pid not in known and p.info["status"] != "zombie"
            and p.ppid() == 1 and (p.info["cmdline"] or [""])[0] == runner]
    assert not psutil.wait_procs(left, 2)[1]


def test_raised_signal_is_no_null_pointer(clean):
    kernel = hp.compile('#include "kernel_operator.h"\n#include <csignal>\nextern "C" __global__ __aicore__ void k(GM_ADDR x) { raise(SIGSEGV); }\n')
    with pytest.raises(hp.KernelError) as caught:
        kernel[1](np.zeros(8, np.float32))
    assert "raise()" in caught.value.findings[0].message and "null" not in str(caught.value)


def test_endless_recursion(kernels, clean):
    found, _, _ = fail(kernels["recursive"])
    assert found.code == "CRASH" and "calls itself" in found.message
    assert found.line in range(line_of("recursion") - 3, line_of("recursion") + 1)


def test_large_local_array(kernels, clean):
    found, _, _ = fail(kernels["stack_hungry"])
    assert found.code == "CRASH" and "local array" in found.message


def test_null_pointer_names_the_argument_that_is_none(kernels, clean):
    y = np.zeros(64, np.float32)
    found, _, _ = fail(kernels["null_pointer"], None, y, 64)
    assert found.code == "CRASH" and found.line == line_of("null")
    assert "null pointer" in found.message and "Argument x is None" in found.message
    assert "x[3] = 1.0f" in found.source


def test_raw_pointer_far_past_the_end(kernels, clean):
    found, _, _ = fail(kernels["far_away"])
    assert found.code == "CRASH" and found.line == line_of("far")
    assert "argument y" in found.message and str((64 + 100000) * 4 - 256) + " B beyond" in found.message


def test_raw_pointer_just_past_the_end(kernels, clean):
    found, _, y = fail(kernels["just_behind"])
    assert found.code == "GM_OUT_OF_BOUNDS"
    assert "8 B" in found.message and "0 B behind the end of argument y (256 B)" in found.message
    assert (y == 5).all()                 # what was written inside arrives


def test_raw_pointer_before_the_start(kernels, clean):
    found, _, _ = fail(kernels["before_start"])
    assert found.code == "CRASH" and "20 B before argument y" in found.message and found.line == line_of("before")


def test_division_by_zero(kernels, clean):
    found, _, _ = fail(kernels["divide"])
    assert found.code == "CRASH" and "divided by zero" in found.message and found.line == line_of("divide")


def test_the_block_is_named(kernels, clean):
    found, error, _ = fail(kernels["late"], blocks=6)
    assert found.code == "CRASH" and found.block == 4 and found.line == line_of("late")
    assert "line %d, block 4" % line_of("late") in str(error)


def test_trap(kernels, clean):
    found, _, _ = fail(kernels["stumble"])
    assert found.code == "CRASH" and found.line == line_of("trap")


@pytest.mark.parametrize("name", ["chatty", "device_chatty"])
def test_printing_100_mb_is_cut(kernels, clean, name):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = kernels[name].launch(1, (x, y, 64))
    assert 900_000 < len(run.stdout) < 1_300_000
    assert run.stdout.startswith("line 0") and "output cut here" in run.stdout[-200:]


def test_allocating_100_gb(kernels, clean):
    found, _, _ = fail(kernels["hungry"])
    assert found.code == "OUT_OF_MEMORY"


def test_exception(kernels, clean):
    found, _, _ = fail(kernels["thrower"])
    assert found.code == "CRASH" and "something with a name" in found.message


def test_damaged_heap(kernels, clean):
    found, _, _ = fail(kernels["double_free"])
    assert found.code == "CRASH" and "abort" in found.message


def test_exit_and_kill(kernels, clean):
    found, _, _ = fail(kernels["leaver"])
    assert found.code == "CRASH" and "exit code 3" in found.message
    found, _, _ = fail(kernels["killed"])
    assert found.code == "OUT_OF_MEMORY" and "stopped the kernel's process" in found.message


def test_ctrl_c_ends_the_kernel_and_leaves_it_usable(kernels, clean):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        kernels["endless"].launch(1, (x, y, 64), timeout=20)
    assert time.perf_counter() - start < 5
    timer.join()


def test_ctrl_c_at_every_moment(kernels, clean):
    """An interrupt may come while the runner starts, while it works, while its result is read."""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for step in range(40):
        old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, 0.0003 + step * 0.0004)
        try:
            kernels["fine"][1](x, y, 64)
            while True:
                time.sleep(0.001)
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)


@pytest.mark.parametrize("name", ["endless", "far_away"])
def test_large_arrays_leave_nothing_either(kernels, clean, name):
    x = np.zeros(9 << 20, np.float32)
    y = np.zeros_like(x)
    found, _, _ = fail(kernels[name], x, y, x.size, timeout=0.5)
    assert found.code == {"endless": "TIMEOUT", "far_away": "CRASH"}[name]


def test_the_runner_goes_with_its_parent(kernels):
    """A notebook that is killed takes a running kernel with it."""
    script = textwrap.dedent("""
        import sys, numpy as np, helpers as hp
        k = hp.compile(open(sys.argv[1]).read(), name="endless")
        print("ready", flush=True)
        k.launch(1, (np.zeros(64, np.float32), np.zeros(64, np.float32), 64), timeout=60)
    """)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(kernels["endless"].source)
        file.flush()
        child = subprocess.Popen([sys.executable, "-c", script, file.name], stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
        assert child.stdout.readline() == b"ready\n"
        runners = wait_for(lambda: psutil.Process(child.pid).children())
        child.kill()
        child.wait()
        child.stdout.close()
    assert runners and wait_for(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in runners))


def wait_for(what, seconds: float = 5.0):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if found := what():
            return found
        time.sleep(0.02)
    return what()


def test_waiting_runner_is_ended_on_request(kernels):
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    kernels["fine"][1](x, y, 64)
    runner = children()
    assert len(runner) == 1
    kernels["fine"][1](x, y, 64)
    hp.compile(VARIABLES % ("", "0"))[1](np.zeros(8, np.int32))
    assert children() == runner           # it serves on, also another kernel
    channel.stop_waiting_runner()
    assert not children()


@pytest.mark.skipif(not adopt.possible(), reason="this system copies large arrays")
def test_a_waiting_runner_holds_no_large_memory_that_is_freed(kernels):
    x = np.zeros(9 << 20, np.float32)
    y = np.zeros_like(x)
    kernels["fine"][1](x, y, 1000)
    assert children()
    del x
    assert not children()


VARIABLES = """#include "kernel_operator.h"
%s
extern "C" __global__ __aicore__ void count(__gm__ int32_t* y) {
    static int calls = 5;
    AscendC::printf("%%d\\n", ++calls + %s);
}
"""


@pytest.mark.parametrize("declaration, value", [
    ("int g = 10; int z;", "(++g) + (++z)"), ("template <class T> struct S { static int n; }; template <class T> int S<T>::n = 2;", "(++S<int>::n)"),
    ("thread_local int t = 3;", "(++t)"), ("struct C { int* p; C() : p(static_cast<int*>(::operator new(4))) { *p = 7; } } c;", "(++*c.p)")])
def test_variables_start_afresh_with_every_launch(declaration, value):
    """A kernel stays loaded for the next launch; what it wrote into its own variables does not."""
    kernel = hp.compile(VARIABLES % (declaration, value))
    y = np.zeros(8, np.int32)
    said = {kernel[1](y).stdout for _ in range(4)}
    assert len(said) == 1 and said.pop().strip().isdigit()


def test_a_thread_that_a_kernel_started_ends_with_the_launch(kernels):
    kernel = hp.compile("""#include "kernel_operator.h"
#include <chrono>
#include <thread>
extern "C" __global__ __aicore__ void threads(__gm__ int32_t* y) {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(30)); }).detach();
}
""")
    kernel[1](np.zeros(8, np.int32))
    assert not children()
