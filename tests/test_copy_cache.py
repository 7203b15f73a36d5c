"""Scalar access to GM: values, and what the data cache of a core hides from copies and from other cores."""

import numpy as np
import pytest

from kernel_text import assert_clean, assert_finds, kernel, run

CLEAN = "DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>"
UB = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 1024);
    LocalTensor<int32_t> ub = buf.Get<int32_t>();
    int32_t me = GetBlockIdx();
"""


def text(*lines):
    return kernel(UB + "\n".join("    " + s for s in lines), t="int32_t")


def arrays(n=256):
    return np.arange(n, dtype=np.int32), np.zeros(n, np.int32)


def test_values_and_operators():
    x, y = arrays()
    assert_clean(text("yGm.SetValue(3, xGm.GetValue(7) + 1);", "yGm(4) = xGm(5);", "yGm(4) += 10;"), x, y)
    assert y[3] == 8 and y[4] == 15


@pytest.mark.parametrize("t, dtype", [("half", np.float16), ("float", np.float32), ("int64_t", np.int64), ("uint8_t", np.uint8)])
def test_every_width(t, dtype):
    x, y = np.arange(100).astype(dtype), np.zeros(100, dtype)
    assert_clean(kernel("for (int i = 0; i < 100; ++i) yGm.SetValue(i, xGm.GetValue(99 - i));", t=t), x, y)
    np.testing.assert_array_equal(y, x[::-1])


# ---- lines shared by cores
def test_cores_that_share_a_line():
    x, y = arrays()
    found = assert_finds("CACHE_STALE", text("yGm.SetValue(me, me);  // HERE"), x, y, blocks=8, says=["blocks 0 and 1", "64-byte cache line", "y"])
    assert "DataCopyPad" in found.hint
    cleaned = text("yGm.SetValue(me, me);  // HERE", CLEAN + "(yGm[me]);")
    assert_finds("CACHE_STALE", cleaned, x, y, blocks=8)
    assert_clean(text("yGm.SetValue(me * 16, me);"), x, y, blocks=8)
    np.testing.assert_array_equal(y[::16], [0, 1, 2, 3, 4, 5, 6, 7] + [0] * 8)
    assert_clean(text("WriteGmByPassDCache((__gm__ int32_t*)yAddr + me, me);"), x, y, blocks=8)


def test_a_line_that_is_handed_on():
    """Clean, synchronise, then the next core loads the line fresh: nothing is lost."""
    x, y = arrays()
    order = ["if (me == 0) { yGm.SetValue(0, 5); %s }", "SyncAll();", "if (me == 1) yGm.SetValue(1, 6);%s"]
    good = text(order[0] % (CLEAN + "(yGm);"), order[1], order[2] % "")
    assert_clean(good, x, y, blocks=2)
    assert y[0] == 5 and y[1] == 6
    assert_finds("CACHE_STALE", text(order[0] % "", order[1], order[2] % "  // HERE"), x, y, blocks=2, says="blocks 0 and 1")
    late = text("if (me == 0) yGm.SetValue(0, 5);", "SyncAll();", f"if (me == 0) {CLEAN}(yGm);", order[2] % "  // HERE")
    assert_finds("CACHE_STALE", late, x, y, blocks=2)


def test_a_line_loaded_before_the_other_core_wrote():
    x, y = arrays()
    body = ["int32_t sum = 0;", "if (me == 1) sum += yGm.GetValue(2);", "SyncAll();", f"if (me == 0) {{ yGm.SetValue(0, 5); {CLEAN}(yGm); }}", "SyncAll();", "%s",
            "if (me == 1) yGm.SetValue(1, sum);%s"]
    assert_finds("CACHE_STALE", text(*body[:-2], body[-1] % "  // HERE"), x, y, blocks=2, says="undoes that")
    assert_clean(text(*body[:-2], f"if (me == 1) {CLEAN}(yGm);", body[-1] % ""), x, y, blocks=2)


# ---- copies
def test_a_copy_does_not_see_a_dirty_line():
    x, y = arrays()
    assert_finds("CACHE_STALE", text("yGm.SetValue(0, 1);", "DataCopy(ub, yGm, 8);  // HERE"), x, y, says=["this copy reads", "DataCacheCleanAndInvalid"])
    assert_clean(text("yGm.SetValue(0, 1);", CLEAN + "(yGm);", "DataCopy(ub, yGm, 8);"), x, y)
    assert_clean(text("yGm.SetValue(64, 1);", "DataCopy(ub, yGm, 8);"), x, y)
    # the address in the middle of the line covers the rest of it only
    assert_finds("CACHE_STALE", text("yGm.SetValue(0, 1);", CLEAN + "(yGm[4]);", "DataCopy(ub, yGm, 8);  // HERE"), x, y)
    entire = "DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>"
    assert_clean(text("yGm.SetValue(0, 1); yGm.SetValue(40, 1);", entire + "(xGm);", "DataCopy(ub, yGm, 64);"), x, y)
    assert_clean(text("yGm.SetValue(0, 1);", "dcci((__gm__ int32_t*)yAddr, cache_line_t::SINGLE_CACHE_LINE);", "DataCopy(ub, yGm, 8);"), x, y)


def test_a_copy_into_a_dirty_line():
    x, y = arrays()
    store = ["DataCopy(ub, xGm, 8);", "PipeBarrier<PIPE_ALL>();", "yGm.SetValue(8, 1);", "%s", "DataCopy(yGm, ub, 8);%s"]
    assert_finds("CACHE_STALE", text(*store[:3], store[4] % "  // HERE"), x, y, says="may undo the copy")
    assert_clean(text(*store[:3], CLEAN + "(yGm[8]);", store[4] % ""), x, y)


def test_an_old_value_after_a_copy():
    x, y = arrays()
    body = ["DataCopy(ub, xGm[8], 8);", "int32_t first = yGm.GetValue(0);", "PipeBarrier<PIPE_ALL>();", "DataCopy(yGm, ub, 8);", "PipeBarrier<PIPE_ALL>();", "%s",
            "yGm.SetValue(64, first + yGm.GetValue(1));%s"]
    assert_finds("CACHE_STALE", text(*body[:-2], body[-1] % "  // HERE"), x, y, says=["reads an old", "y", "[1]"])
    x, y = arrays()
    assert_clean(text(*body[:-2], CLEAN + "(yGm);", body[-1] % ""), x, y)
    assert y[64] == 9
    # bytes of the line that the copy left alone are still right
    x, y = arrays()
    assert_clean(text(*body[:-2], "yGm.SetValue(64, first + yGm.GetValue(8));"), x, y)


def test_a_copy_of_another_core_needs_the_line_written_back():
    """SyncAll orders the cores; the value still sits in the first core's cache."""
    x, y = arrays()
    body = ["if (me == 0) { yGm.SetValue(0, 5); %s }", "SyncAll();", "if (me == 1) DataCopy(ub, yGm, 8);%s"]
    assert_finds("CACHE_STALE", text(body[0] % "", body[1], body[2] % "  // HERE"), x, y, blocks=2, says="this copy reads")
    assert_clean(text(body[0] % (CLEAN + "(yGm);"), body[1], body[2] % ""), x, y, blocks=2)


def test_a_scalar_read_of_another_core_needs_the_line_written_back():
    x, y = arrays()
    body = ["if (me == 0) { yGm.SetValue(0, 5); %s }", "SyncAll();", "if (me == 1) yGm.SetValue(64, yGm.GetValue(0));%s"]
    assert_finds("CACHE_STALE", text(body[0] % "", body[1], body[2] % "  // HERE"), x, y, blocks=2, says="never left that core's data cache")
    assert_clean(text(body[0] % (CLEAN + "(yGm);"), body[1], body[2] % ""), x, y, blocks=2)
    assert y[64] == 5


def test_a_copy_and_a_scalar_of_two_cores_in_one_line():
    x, y = arrays()
    copy, scalar = "DataCopy(ub, xGm, 8); PipeBarrier<PIPE_ALL>(); DataCopy(yGm, ub, 8);", "yGm.SetValue(8, 1);"
    for first, second in ((copy, scalar), (scalar, copy)):
        found = assert_finds("CACHE_STALE", text(f"if (me == 0) {{ {first} }}", f"if (me == 1) {{ {second} }}  // HERE"), x, y, blocks=2)
        assert "y" in found.message and "whole line" in found.message
        good = text(f"if (me == 0) {{ {first} {CLEAN}(yGm[8]); }}", "SyncAll();", f"if (me == 1) {{ {second} }}")
        assert_clean(good, x, y, blocks=2)
    apart = text(f"if (me == 0) {{ {copy} }}", "if (me == 1) yGm.SetValue(16, 1);")
    assert_clean(apart, x, y, blocks=2)


# ---- flags in GM
POLL = """
    if (me == 0) {
        %s
    } else {
        while (%s == 0) { %s }
    }
"""


def test_polling_a_cached_flag():
    x, y = arrays()
    read, write = "yGm.GetValue(0)", f"yGm.SetValue(0, 1); {CLEAN}(yGm);"
    broken = kernel(UB + (POLL % (write, read, "")).replace("if (me == 0)", "if (me == 1)").replace("{  }", "{ }  // HERE"), t="int32_t")
    assert_finds("CACHE_STALE", broken, x, y, blocks=2, says="never sees the update")
    x, y = arrays()
    good = kernel(UB + (POLL % (write, read, CLEAN + "(yGm);")).replace("if (me == 0)", "if (me == 1)"), t="int32_t")
    assert_clean(good, x, y, blocks=2)
    x, y = arrays()
    bypass = kernel(UB + (POLL % ("WriteGmByPassDCache((__gm__ int32_t*)yAddr, 1);", "ReadGmByPassDCache((__gm__ int32_t*)yAddr)", "")).replace("if (me == 0)", "if (me == 1)"), t="int32_t")
    assert_clean(bypass, x, y, blocks=2)
    assert y[0] == 1


def test_bypass_write_to_a_dirty_line():
    x, y = arrays()
    write = "WriteGmByPassDCache((__gm__ int32_t*)yAddr, 7);"
    assert_finds("CACHE_STALE", text("yGm.SetValue(1, 1);", write + "  // HERE"), x, y, says="DataSyncBarrier")
    assert_clean(text("yGm.SetValue(1, 1);", CLEAN + "(yGm);", "DataSyncBarrier<MemDsbT::DDR>();", write), x, y)
    assert y[0] == 7 and y[1] == 1


def test_values_of_the_bypass():
    for t, dtype in (("int8_t", np.int8), ("uint16_t", np.uint16), ("int32_t", np.int32), ("uint64_t", np.uint64)):
        x, y = np.arange(64).astype(dtype), np.zeros(64, dtype)
        body = f"for (int i = 0; i < 64; ++i) WriteGmByPassDCache(({t}*)yAddr + i, static_cast<{t}>(ReadGmByPassDCache(({t}*)xAddr + i) + 1));"
        assert_clean(kernel(body, t=t), x, y)
        np.testing.assert_array_equal(y, x + 1)


# ---- bounds and cost
def test_bounds():
    x, y = arrays()
    assert_finds("GM_OUT_OF_BOUNDS", text("yGm.SetValue(256, 1);  // HERE"), x, y)
    assert_finds("GM_OUT_OF_BOUNDS", text("GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)yAddr, 16); g[16].SetValue(0, 1);  // HERE"), x, y, says="behind the end")
    assert_finds("GM_OUT_OF_BOUNDS", text("ReadGmByPassDCache((__gm__ int32_t*)yAddr + 5000);  // HERE"), x, y)


def test_a_miss_costs_more_than_a_hit():
    x, y = arrays(1 << 16)
    loop = "int32_t s = 0; for (int i = 0; i < 1024; ++i) s += xGm.GetValue(i * %d); yGm.SetValue(0, s);"
    near, far = run(text(loop % 1), x, y).time_us, run(text(loop % 64), x, y).time_us
    assert far > 5 * near
    assert run(text(loop % 1), x, y, checks="off").time_us == near
    both = text("for (int i = 0; i < 20000; ++i) yGm.SetValue(i, xGm.GetValue(i));")
    assert run(both, x, y, checks="off").time_us == run(both, x, y).time_us      # checking costs no simulated time


# ---- InitGlobalMemory
@pytest.mark.parametrize("t, dtype", [("half", np.float16), ("float", np.float32), ("int32_t", np.int32), ("uint16_t", np.uint16)])
@pytest.mark.parametrize("n", [1, 33, 5000, 100_000])
def test_init_global_memory(t, dtype, n):
    x, y = np.zeros(8, dtype), np.full(n + 8, 9, dtype)
    body = f"InitGlobalMemory(yGm, {n}, static_cast<{t}>(3));"
    assert_clean(kernel(body, t=t), x, y)
    np.testing.assert_array_equal(y, [3] * n + [9] * 8)


def test_init_output_takes_an_offset():
    x, y = np.zeros(8, np.float32), np.full(64, 9, np.float32)
    assert_clean(kernel("InitOutput<float>(yGm[8], 40, 2.5f); Fill(yGm, 0, 1.0f);"), x, y)
    np.testing.assert_array_equal(y, [9] * 8 + [2.5] * 40 + [9] * 16)


def test_what_must_follow_init_global_memory():
    x, y = np.ones(2048, np.float32), np.zeros(2048, np.float32)
    body = """
    TBuf<TPosition::VECCALC> buf;
    InitGlobalMemory(yGm, 2048, 1.0f);
    %s
    pipe.InitBuffer(buf, 8192);
    LocalTensor<float> ub = buf.Get<float>();
    DataCopy(ub, xGm, 2048);%s
"""
    assert_finds("MISSING_SYNC", kernel(body % ("", "  // HERE")), x, y, says="MTE3_MTE2")
    wait = "auto id = pipe.FetchEventID(HardEvent::MTE3_MTE2); SetFlag<HardEvent::MTE3_MTE2>(id); WaitFlag<HardEvent::MTE3_MTE2>(id);"
    assert_clean(kernel(body % (wait, "")), x, y)


def test_two_calls_with_different_values():
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    body = "InitGlobalMemory(yGm, 32, 1.0f);\n    %s GlobalTensor<float> rest = yGm[32];\n    InitGlobalMemory(rest, 32, %s);%s"
    assert_finds("MISSING_SYNC", kernel(body % ("", "2.0f", "  // HERE")), x, y, says="MTE3_V")
    wait = "auto id = pipe.FetchEventID(HardEvent::MTE3_V); SetFlag<HardEvent::MTE3_V>(id); WaitFlag<HardEvent::MTE3_V>(id);"
    assert_clean(kernel(body % (wait, "2.0f", "")), x, y)
    np.testing.assert_array_equal(y, [1] * 32 + [2] * 32)
    assert_clean(kernel(body % ("", "1.0f", "")), x, y)


def test_init_before_other_cores_add():
    x, y = np.ones(64, np.float32), np.full(64, 5, np.float32)
    body = """
    if (GetBlockIdx() == 0) InitGlobalMemory(yGm, 64, 0.0f);
    %s
    auto id = pipe.FetchEventID(HardEvent::MTE3_MTE2); SetFlag<HardEvent::MTE3_MTE2>(id); WaitFlag<HardEvent::MTE3_MTE2>(id);
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 256);
    LocalTensor<float> ub = buf.Get<float>();
    DataCopy(ub, xGm, 64);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<float>();
    DataCopy(yGm, ub, 64);%s
    SetAtomicNone();
"""
    assert_finds("BLOCK_CONFLICT", kernel(body % ("", "  // HERE")), x, y, blocks=4)
    y[:] = 5
    assert_clean(kernel(body % ("SyncAll();", "")), x, y, blocks=4)
    np.testing.assert_array_equal(y, np.full(64, 4))


def test_init_after_init_buffer():
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    body = "TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, %d);\n    InitGlobalMemory(yGm, 64, 1.0f);  // HERE"
    assert_finds("BAD_PARAMETER", kernel(body % 1024), x, y, severity="warning", says="before pipe.InitBuffer")
    assert_finds("UB_OVERFLOW", kernel(body % (192 * 1024)), x, y, says="0 of 196608 B are left")
