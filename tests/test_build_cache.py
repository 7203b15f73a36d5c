"""The store of built things: complete or absent, never stale, safe for several processes."""
import multiprocessing
import os
import shutil
import subprocess
import time
import uuid

import numpy as np
import pytest

import helpers as hp
from helpers.build import runtime, twin
from helpers.build.cache import Cache, key


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "store")


def writer(text, calls=None):
    def make(folder):
        if calls is not None:
            calls.append(text)
        (folder / "thing").write_text(text)
        return {"length": len(text)}
    return make


def test_key_depends_on_every_part_and_on_where_parts_end():
    assert key("ab", "c") != key("a", "bc")
    assert key("a", "b") != key("b", "a")
    assert key("a") != key("a", "")
    assert key("é") == key("é".encode())


def test_second_build_is_a_hit(cache):
    calls = []
    first = cache.build(key("x"), "kernel", writer("one", calls), "note")
    second = cache.build(key("x"), "kernel", writer("one", calls))
    assert calls == ["one"] and first.path == second.path
    assert (second / "thing").read_text() == "one" and second.meta["info"] == {"length": 3}
    assert cache.get(key("y")) is None


def test_failure_leaves_nothing(cache):
    def fails(folder):
        (folder / "half").write_text("h")
        raise RuntimeError("no")
    with pytest.raises(RuntimeError):
        cache.build(key("x"), "kernel", fails)
    assert cache.get(key("x")) is None and cache.entries() == []
    assert not list((cache.root / "tmp").iterdir())
    assert cache.build(key("x"), "kernel", writer("ok"))


@pytest.mark.parametrize("damage", ["change", "cut", "remove", "meta", "no meta", "other key"])
def test_damaged_entry_is_rebuilt(cache, damage):
    entry = cache.build(key("x"), "kernel", writer("good"))
    {"change": lambda: (entry / "thing").write_text("evil"),
     "cut": lambda: (entry / "thing").write_text(""),
     "remove": lambda: (entry / "thing").unlink(),
     "meta": lambda: (entry / "meta.json").write_text("{"),
     "no meta": lambda: (entry / "meta.json").unlink(),
     "other key": lambda: (entry / "meta.json").write_text((entry / "meta.json").read_text().replace(key("x"), key("z")))}[damage]()
    assert cache.get(key("x")) is None
    again = cache.build(key("x"), "kernel", writer("good"))
    assert (again / "thing").read_text() == "good"


@pytest.mark.parametrize("said, tries", [("error: no such thing", 1), ("fatal error: No space left on device", 2)])
def test_a_runtime_that_does_not_compile_is_not_tried_again(cache, monkeypatch, said, tries):
    """Every launch would wait for it: only a changed text, or a fault that may pass, is worth another try."""
    source, calls, digest = next(twin.RUNTIME.glob("*.cpp")), [], [uuid.uuid4().hex]

    class Refuses:
        kind, identity = "gcc", "a compiler that refuses"

        def run(self, args, timeout=0):
            calls.append(args)
            return subprocess.CompletedProcess(args, 1, f"{source.name}:1:1: {said}\n", "")
    monkeypatch.setattr(twin, "source_digests", lambda: {source: digest[0]})
    for _ in range(2):
        with pytest.raises(hp.SetupError, match=f"{source.name} of the twin runtime did not compile(.|\n)*{said}"):
            runtime.ensure(cache=cache, compiler=Refuses())
    assert len(calls) == tries
    digest[0] = uuid.uuid4().hex                          # edited
    with pytest.raises(hp.SetupError):
        runtime.ensure(cache=cache, compiler=Refuses())
    assert len(calls) == tries + 1


def test_prune_removes_the_longest_unused(cache):
    for number, name in enumerate("abc"):
        entry = cache.build(key(name), "kernel", writer(name * 1000), name)
        os.utime(entry / "meta.json", (1000 + number, 1000 + number))
    cache.get(key("a"))                                  # a look-up counts as use
    assert cache.prune(cap_bytes=2500) == 1
    assert sorted(e["note"] for e in cache.entries()) == ["a", "c"]


def test_prune_spares_what_was_just_used(cache):
    cache.build(key("a"), "kernel", writer("a" * 1000))
    assert cache.prune(cap_bytes=0) == 0
    assert cache.prune(cap_bytes=0, keep_seconds=-1) == 1


def test_leftovers_of_killed_processes_are_swept(cache):
    cache.build(key("a"), "kernel", writer("a"))
    dead = cache.root / "tmp" / "1-dead"
    dead.mkdir()
    (dead / "part").write_text("x")
    os.utime(dead, (1000, 1000))
    (cache.root / "tmp" / "2-alive").mkdir()
    cache._sweep()
    assert [p.name for p in (cache.root / "tmp").iterdir()] == ["2-alive"] and cache.get(key("a"))


def test_list_and_clear(cache):
    cache.build(key("a"), "kernel", writer("aa"), "add")
    cache.build(key("b"), "pch", writer("bbb"), "header")
    assert {(e["kind"], e["note"], e["bytes"]) for e in cache.entries()} == {("kernel", "add", 2), ("pch", "header", 3)}
    assert cache.clear() == 2
    assert cache.entries() == [] and cache.get(key("a")) is None


def _build_slowly(root, count, started, results):
    def make(folder):
        with count.get_lock():
            count.value += 1
        time.sleep(0.3)
        (folder / "thing").write_text("x" * 100)
    started.wait()
    entry = Cache(root).build(key("shared"), "kernel", make)
    results.put((entry / "thing").read_text() == "x" * 100)


def test_several_processes_build_once(tmp_path):
    fork = multiprocessing.get_context("fork")
    count, started, results = fork.Value("i", 0), fork.Barrier(4), fork.Queue()
    workers = [fork.Process(target=_build_slowly, args=(tmp_path / "store", count, started, results)) for _ in range(4)]
    for w in workers:
        w.start()
    assert all(results.get(timeout=30) for _ in workers)
    for w in workers:
        w.join(30)
    assert count.value == 1


def test_a_kernel_file_cut_on_disk_is_named():
    text = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void cut(GM_ADDR x) { AscendC::printf("%s"); }\n' % uuid.uuid4().hex
    kernel = hp.compile(text)
    path = kernel.built.path
    try:
        os.truncate(path, path.stat().st_size // 3)
        with pytest.raises(hp.KernelError) as e:
            kernel[1](np.zeros(8, np.float32))
    finally:
        shutil.rmtree(path.parent)
    assert e.value.findings[0].code == "CRASH" and "cut or changed on disk" in e.value.findings[0].message and "again" in e.value.findings[0].hint
    assert hp.compile(text)[1](np.zeros(8, np.float32)).stdout
