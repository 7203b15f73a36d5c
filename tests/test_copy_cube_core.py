"""Copies of a cube core: L1 instead of UB, and what the other core kind skips."""

import numpy as np

import helpers as hp
from kernel_text import assert_clean, assert_finds, kernel


def cube(*calls, t="half", kind="KERNEL_TYPE_AIC_ONLY"):
    lines = [f"KERNEL_TASK_TYPE_DEFAULT({kind});", "InitSocState();", "LocalTensor<T> l1(TPosition::A1, 0, 4096);", *calls, ";"]
    return kernel("\n    PipeBarrier<PIPE_ALL>();\n".join("    " + c for c in lines), t=t, pipe=False)


def test_l1_in_and_out():
    x, y = np.arange(512).astype(np.float16), np.zeros(512, np.float16)
    assert_clean(cube("DataCopy(l1, xGm, 512);", "DataCopy(yGm, l1, 512);"), x, y)
    np.testing.assert_array_equal(y, x)
    y[:] = 0
    assert_clean(cube("DataCopy(l1, xGm, {4, 2, 2, 0});", "DataCopy(yGm, l1, {2, 4, 0, 1});"), x, y)
    rows = x[:256].reshape(4, 64)[:, :32].ravel()
    np.testing.assert_array_equal(y[:144], np.concatenate([rows[:64], np.zeros(16), rows[64:]]))


def test_fractals_in_l1():
    x, y = np.arange(20 * 40).astype(np.float16), np.zeros(32 * 48, np.float16)
    assert_clean(cube("Fill(l1, {96, 1, 0, half(0)});", "DataCopy(l1, xGm, Nd2NzParams{1, 20, 40, 0, 40, 32, 1, 0});", "DataCopy(yGm, l1, 1536);"), x, y)
    want = np.zeros((3, 32, 16), np.float16)
    m = np.zeros((20, 48), np.float16)
    m[:, :40] = x.reshape(20, 40)
    want[:, :20] = m.reshape(20, 3, 16).transpose(1, 0, 2)
    np.testing.assert_array_equal(y.reshape(3, 32, 16), want)


def test_fill_of_l1():
    x, y = np.zeros(16, np.float16), np.zeros(96, np.float16)
    assert_clean(cube("Fill(l1, {1, 6, 0, half(1)});", "Fill(l1, {3, 1, 1, half(7)});", "DataCopy(yGm, l1, 96);"), x, y)
    np.testing.assert_array_equal(y, np.repeat([7, 1, 7, 1, 7, 1], 16))
    assert_finds("BAD_PARAMETER", cube("Fill(l1, {40000, 1, 0, half(1)});  // HERE"), x, y, says="repeatTimes=40000")


def test_alignment_and_paths():
    x, y = np.zeros(64, np.float16), np.zeros(64, np.float16)
    assert_finds("MISALIGNED", cube("DataCopy(l1[8], xGm, 16);  // HERE"), x, y, says="L1")
    l0 = "LocalTensor<half> a(TPosition::A2, 0, 512); DataCopy(a, xGm, 64);  // HERE"
    assert_finds("UNSUPPORTED_API", cube(l0), x, y, says="LoadData")


def test_the_other_core_kind_skips_the_copy():
    x, y = np.ones(64, np.float16), np.zeros(64, np.float16)
    mixed = cube("DataCopy(l1, xGm, 64);", "DataCopy(yGm, l1, 64);", kind="KERNEL_TYPE_MIX_AIC_1_2")
    r = assert_clean(mixed, x, y)
    np.testing.assert_array_equal(y, x)
    copies = [r.ops[i] for i in r.events["op"] if r.ops[i] == "DataCopy"]
    assert len(copies) == 2


def test_lazy_schedule_keeps_the_state_of_the_call():
    """Atomic mode and padding value belong to the copy as it was issued, however late it runs."""
    body = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 256);
    LocalTensor<T> ub = buf.Get<T>();
    SetPadValue(5.0f);
    DataCopyPad(ub, xGm, {1, 8, 0, 0, 0}, {false, 0, 6, 0});
    SetPadValue(9.0f);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<T>();
    DataCopy(yGm, ub, 8);
    SetAtomicNone();
"""
    for schedule in ("eager", "lazy"):
        x, y = np.array([1, 2, 0, 0, 0, 0, 0, 0], np.float32), np.full(8, 100, np.float32)
        hp.compile(kernel(body)).launch(1, (x, y), schedule=schedule)
        np.testing.assert_array_equal(y, [101, 102] + [105] * 6)
