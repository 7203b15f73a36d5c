"""Mistakes in synchronisation: each is named at its line, each repair is clean."""

import numpy as np
import pytest

import helpers as hp
from kernel_text import assert_clean, assert_finds, findings_of, kernel, run


@pytest.fixture
def xy():
    return np.arange(1, 4097, dtype=np.float32), np.full(4096, -1, np.float32)


BUF = """
    TBuf<TPosition::VECCALC> bufX, bufY;
    pipe.InitBuffer(bufX, 1024); pipe.InitBuffer(bufY, 1024);
    LocalTensor<T> x = bufX.Get<T>(), y = bufY.Get<T>();
"""


def sync(event):
    return f"{{ auto e = pipe.FetchEventID(HardEvent::{event}); SetFlag<HardEvent::{event}>(e); WaitFlag<HardEvent::{event}>(e); }}"


def test_scalar_store_before_a_copy_out(xy):
    body = BUF + "    Duplicate(y, 1.0f, 256);\n    " + sync("V_S") + "\n    y.SetValue(0, 5.0f);\n    %s\n    DataCopy(yGm, y, 256);%s\n"
    strict = {"auto_sync": False}
    f = assert_finds("MISSING_SYNC", kernel(body % (sync("V_MTE3"), "  // HERE")), *xy, says="S_MTE3", **strict)
    assert "S_MTE3" in f.message
    assert_clean(kernel(body % (sync("V_MTE3") + sync("S_MTE3"), "")), *xy, **strict)
    assert_clean(kernel(body % (sync("V_MTE3"), "")), *xy)  # the device compiler orders S and MTE3 by itself
    assert xy[1][0] == 5


def test_a_buffer_refilled_before_it_was_stored(xy):
    x, y = xy
    body = (
        BUF
        + """
    for (int i = 0; i < 2; i++) {
        DataCopy(x, xGm[i * 256], 256);%s
        """
        + sync("MTE2_V")
        + """
        Muls(x, x, 3.0f, 256);
        """
        + sync("V_MTE3")
        + """
        DataCopy(yGm[i * 256], x, 256);
        %s
    }
"""
    )
    assert_finds("MISSING_SYNC", kernel(body % ("  // HERE", "")), x, y, says="MTE3_MTE2")
    assert_finds("MISSING_SYNC", kernel(body % ("  // HERE", sync("V_MTE2"))), x, y, says="MTE3_MTE2")
    assert_clean(kernel(body % ("", sync("MTE3_MTE2"))), x, y)
    np.testing.assert_array_equal(y[:512], 3 * x[:512])


def test_a_barrier_orders_one_pipe_only(xy):
    body = BUF + "    DataCopy(x, xGm, 256);\n    %s\n    Adds(y, x, 1.0f, 256);%s\n    " + sync("V_MTE3") + "\n    DataCopy(yGm, y, 256);\n"
    assert_finds("MISSING_SYNC", kernel(body % ("PipeBarrier<PIPE_MTE2>();", "  // HERE")), *xy, says="MTE2_V")
    assert_clean(kernel(body % (sync("MTE2_V"), "")), *xy)
    assert_clean(kernel(body % ("PipeBarrier<PIPE_ALL>();", "")), *xy)


def test_a_missing_sync_also_shows_as_wrong_data_when_copies_are_late(xy):
    x, y = xy
    body = BUF + "    DataCopy(x, xGm, 256);\n    %s\n    Adds(y, x, 1.0f, 256);\n    " + sync("V_MTE3") + "\n    DataCopy(yGm, y, 256);\n"
    with pytest.raises(hp.KernelError):
        run(kernel(body % ""), x, y, schedule="lazy")
    assert not np.array_equal(y[:256], x[:256] + 1)
    y[:] = -1
    assert_clean(kernel(body % sync("MTE2_V")), x, y, schedule="lazy")
    np.testing.assert_array_equal(y[:256], x[:256] + 1)


def test_barrier_on_the_scalar_pipe(xy):
    with pytest.raises(hp.CompileError) as e:
        hp.compile(kernel("    PipeBarrier<PIPE_S>();"))
    assert [(f.code, f.line) for f in e.value.findings] == [("BAD_PARAMETER", 8)]
    assert_clean(kernel("    PipeBarrier<PIPE_V>();"), *xy)


def test_set_without_wait_and_wait_without_set(xy):
    assert_finds("UNPAIRED_FLAG", kernel("    SetFlag<HardEvent::MTE2_V>(pipe.FetchEventID(HardEvent::MTE2_V));  // HERE"), *xy, says="MTE2_V")
    body = BUF + "    WaitFlag<HardEvent::MTE2_V>(0);  // HERE\n    Duplicate(x, 1.0f, 256);\n"
    f = assert_finds("DEADLOCK", kernel(body), *xy)
    assert "MTE2_V id 0" in f.message
    assert_clean(kernel("    " + sync("MTE2_V")), *xy)


def test_set_twice_before_a_wait(xy):
    body = "    SetFlag<HardEvent::V_MTE3>(3);\n    SetFlag<HardEvent::V_MTE3>(3);  // HERE\n    WaitFlag<HardEvent::V_MTE3>(3);\n"
    assert_finds("UNPAIRED_FLAG", kernel(body), *xy, says="V_MTE3")
    assert_clean(kernel(body.replace("(3);  // HERE", "(4); WaitFlag<HardEvent::V_MTE3>(4);"), pipe=False), *xy)


def test_a_wait_may_stand_before_its_set(xy):
    x, y = xy
    body = BUF + """
    WaitFlag<HardEvent::MTE2_V>(2);
    Adds(y, x, 1.0f, 256);
    SetFlag<HardEvent::V_MTE3>(2);
    DataCopy(x, xGm, 256);
    SetFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::V_MTE3>(2);
    DataCopy(yGm, y, 256);
"""
    r = run(kernel(body), x, y)
    assert not [f for f in r.findings if f.severity == "error"]
    np.testing.assert_array_equal(y[:256], x[:256] + 1)


def test_literal_event_ids_beside_a_queue_are_a_warning(xy):
    q = "    TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 64);\n"
    assert_finds("EVENT_ID", kernel(q + "    SetFlag<HardEvent::V_S>(0);  // HERE\n    WaitFlag<HardEvent::V_S>(0);"), *xy, severity="warning", says="FetchEventID")
    assert_clean(kernel(q + "    " + sync("V_S")), *xy)


def test_event_ids_end_at_7(xy):
    assert_finds("EVENT_ID", kernel("    SetFlag<HardEvent::MTE2_V>(8);  // HERE"), *xy, says="7")
    assert_clean(kernel("    SetFlag<HardEvent::MTE2_V>(7);\n    WaitFlag<HardEvent::MTE2_V>(7);", pipe=False), *xy)


def test_event_ids_run_out(xy):
    body = "    for (int i = 0; i < %d; i++) {\n        auto e = pipe.AllocEventID<HardEvent::MTE2_V>();%s\n        %s\n    }\n"
    assert_finds("EVENT_ID", kernel(body % (9, "  // HERE", "")), *xy, says="8")
    assert_clean(kernel(body % (9, "", "pipe.ReleaseEventID<HardEvent::MTE2_V>(e);")), *xy)


def test_sync_all_with_more_blocks_than_cores(xy):
    text = kernel("    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);\n    SyncAll();  // HERE")
    assert_finds("DEADLOCK", text, *xy, blocks=64, says=["64", "48"])
    assert_clean(text.replace("  // HERE", ""), *xy, blocks=48)


def test_sync_all_for_cube_cores_that_do_not_exist(xy):
    text = kernel("    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);\n    SyncAll<false>();  // HERE")
    assert_finds("DEADLOCK", text, *xy, blocks=2, says="cube")


def test_hard_sync_all_in_a_kernel_declared_aiv_only(xy):
    text = kernel("    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n    SyncAll();  // HERE")
    assert_finds("DEADLOCK", text, *xy, blocks=2, says="MIX_AIV_1_0")


def test_a_block_that_returns_before_sync_all(xy):
    text = kernel("    if (GetBlockIdx() == 1) return;\n    SyncAll();  // HERE")
    f = assert_finds("DEADLOCK", text, *xy, blocks=4)
    assert "block 0" in f.message and "returned" in f.message


def test_sync_all_orders_a_store_before_another_blocks_load(xy):
    x, y = xy
    body = (
        BUF
        + """
    uint32_t b = GetBlockIdx();
    DataCopy(x, xGm[b * 256], 256);
    """
        + sync("MTE2_MTE3")
        + """
    DataCopy(yGm[b * 256], x, 256);
    %s
    DataCopy(y, yGm[(1 - b) * 256], 256);%s
    """
        + sync("MTE2_MTE3")
        + """
    DataCopy(yGm[1024 + b * 256], y, 256);
"""
    )
    assert_finds("BLOCK_CONFLICT", kernel(body % (sync("MTE3_MTE2"), "  // HERE")), x, y, blocks=2)
    assert_clean(kernel(body % ("SyncAll();", "")), x, y, blocks=2)
    np.testing.assert_array_equal(y[1024:1536], np.concatenate([x[256:512], x[:256]]))


def test_soft_sync_all_needs_a_zeroed_workspace(xy):
    body = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 32 * 4);
    GlobalTensor<int32_t> ws; ws.SetGlobalBuffer((__gm__ int32_t*)yAddr);
    LocalTensor<int32_t> ub = buf.Get<int32_t>();
    SyncAll(ws, ub);%s
"""
    dirty = np.zeros(64, np.int32)
    dirty[16] = 0x5A
    f = assert_finds("BAD_PARAMETER", kernel(body % "  // HERE"), xy[0], dirty, blocks=4)
    assert "[16]" in f.message and "90" in f.message
    assert_clean(kernel(body % ""), xy[0], np.zeros(64, np.int32), blocks=4)


def test_two_blocks_in_one_cache_line():
    y = np.zeros(1024, np.int32)
    text = kernel("    yGm.SetValue(GetBlockIdx() * %d, GetBlockIdx() + 1);%s", t="int32_t")
    body = text % (1, "  // HERE")
    assert_finds("CACHE_STALE", body, y.copy(), y, blocks=8, says="64")
    y[:] = 0
    assert_clean(text % (16, ""), y.copy(), y, blocks=8)
    np.testing.assert_array_equal(y[: 8 * 16 : 16], np.arange(1, 9))


def test_init_global_memory_then_another_block_adds():
    y = np.full(64, 7, np.float32)
    body = """
    %s
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 256);
    LocalTensor<T> one = buf.Get<T>();
    Duplicate(one, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<T>();
    DataCopy(yGm, one, 64);%s
    SetAtomicNone();
"""
    zero = "if (GetBlockIdx() == 0) { InitGlobalMemory(yGm, 64, (float)0); PipeBarrier<PIPE_ALL>(); }"
    assert_finds("BLOCK_CONFLICT", kernel(body % (zero, "  // HERE")), y.copy(), y, blocks=4)
    y[:] = 7
    assert_clean(kernel(body % (zero + " SyncAll();", "")), y.copy(), y, blocks=4)
    np.testing.assert_array_equal(y, np.full(64, 4, np.float32))


# ===== not races
def test_vector_instructions_need_no_barrier_unless_strict(xy):
    x, y = xy
    body = BUF + "    DataCopy(x, xGm, 256);\n    " + sync("MTE2_V") + "\n    Adds(y, x, 1.0f, 256);\n    %s\n    Muls(y, y, 2.0f, 256);%s\n    " + sync("V_MTE3") + "\n    DataCopy(yGm, y, 256);\n"
    assert_clean(kernel(body % ("", "")), x, y)
    np.testing.assert_array_equal(y[:256], (x[:256] + 1) * 2)
    assert_finds("MISSING_SYNC", kernel(body % ("", "  // HERE")), x, y, auto_sync=False, says="PipeBarrier<PIPE_V>")
    assert_clean(kernel(body % ("PipeBarrier<PIPE_V>();", "")), x, y, auto_sync=False)


def test_overlapping_stores_of_one_block(xy):
    body = BUF + "    Duplicate(x, 1.0f, 256); Duplicate(y, 2.0f, 256);\n    " + sync("V_MTE3") + "\n    DataCopy(yGm, x, 256);\n    %s\n    DataCopy(yGm[128], y, 256);%s\n"
    assert_finds("MISSING_SYNC", kernel(body % ("", "  // HERE")), *xy, says="PipeBarrier<PIPE_MTE3>")
    assert_clean(kernel(body % ("PipeBarrier<PIPE_MTE3>();", "")), *xy)
    assert xy[1][127] == 1 and xy[1][128] == 2


def test_tqueBind_covers_copies_but_not_a_vector_call_between(xy):
    body = """
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 1, 1024);
    for (int i = 0; i < 2; i++) {
        LocalTensor<T> t = q.AllocTensor<T>();
        DataCopy(t, xGm[i * 256], 256);
        q.EnQue(t); t = q.DeQue<T>();
        %s
        DataCopy(yGm[i * 256], t, 256);
        q.FreeTensor(t);
    }
"""
    assert_clean(kernel(body % ""), *xy)
    assert_finds("MISSING_SYNC", kernel(body % "Muls(t, t, 2.0f, 256);  // HERE"), *xy, says="MTE2_V")


def test_same_findings_eager_and_lazy(xy):
    body = BUF + "    DataCopy(x, xGm, 256);\n    Adds(y, x, 1.0f, 256);\n    DataCopy(yGm, y, 256);\n"
    key = lambda fs: sorted((f.code, f.line) for f in fs if f.code == "MISSING_SYNC")
    eager = key(findings_of(kernel(body), *xy))
    assert len(eager) == 2
    assert eager == key(findings_of(kernel(body), *xy, schedule="lazy"))


def test_a_kernel_without_tpipe_must_wait_for_its_stores(xy):
    x, y = xy
    body = """
    LocalTensor<T> t(TPosition::VECCALC, 0, 256);
    InitSocState();
    DataCopy(t, xGm, 256);
    SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(yGm, t, 256);%s
    %s
"""
    assert_finds("MISSING_SYNC", kernel(body % ("  // HERE", ""), pipe=False), x, y, severity="warning", says="PIPE_ALL")
    assert_clean(kernel(body % ("", "PipeBarrier<PIPE_ALL>();"), pipe=False), x, y)
    assert_clean(kernel(body % ("", "SetFlag<HardEvent::MTE3_MTE2>(0); WaitFlag<HardEvent::MTE3_MTE2>(0);"), pipe=False), x, y)
    np.testing.assert_array_equal(y[:256], x[:256])


def test_a_text_too_long_to_print_is_mentioned(xy):
    long = '    printf("' + "a" * 40_000 + ' %d\\n", 1);'
    short = '    printf("' + "a" * 1_000 + ' %d\\n", 1);'
    assert "40003 characters dropped" in run(kernel(long), *xy).stdout
    assert run(kernel(short), *xy).stdout.count("a") >= 1_000
