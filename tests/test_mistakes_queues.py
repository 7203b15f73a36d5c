"""Mistakes with UB capacity, buffers and queues: each is named at its line, each repair is clean."""

import numpy as np
import pytest

from kernel_text import assert_clean, assert_finds, findings_of, kernel

N = 256


@pytest.fixture
def xy():
    return np.arange(4096, dtype=np.float32), np.full(4096, -1, np.float32)


ADD_ONE = """
    TQue<TPosition::VECIN, {depth}> inX; TQue<TPosition::VECOUT, 1> outY;
    pipe.InitBuffer(inX, {num}, 1024); pipe.InitBuffer(outY, 2, 1024);
    for (int i = 0; i < {tiles}; i++) {{
        LocalTensor<T> x = inX.AllocTensor<T>();{alloc_mark}
        DataCopy(x, xGm[i * 256], 256);
        {enque}
        LocalTensor<T> xIn = inX.DeQue<T>();{deque_mark}
        LocalTensor<T> y = outY.AllocTensor<T>();
        Adds(y, xIn, 1.0f, 256);
        {free}
        {after}
        outY.EnQue(y);
        LocalTensor<T> yOut = outY.DeQue<T>();
        DataCopy(yGm[i * 256], yOut, 256);
        outY.FreeTensor(yOut);
    }}
"""


def add_one(**kw):
    d = dict(depth=1, num=2, tiles=3, enque="inX.EnQue(x);", free="inX.FreeTensor(xIn);", after="", alloc_mark="", deque_mark="")
    d.update(kw)
    return kernel(ADD_ONE.format(**d))


def test_the_sound_kernel_is_clean(xy):
    x, y = xy
    assert_clean(add_one(), x, y)
    np.testing.assert_array_equal(y[:768], x[:768] + 1)


def test_depth_1_with_two_buffers_is_double_buffering(xy):
    assert_clean(add_one(depth=1, num=2, tiles=8), *xy)


def test_buffers_beyond_ub(xy):
    plan = """
    TQue<TPosition::VECIN, 1> inX, inY; TQue<TPosition::VECOUT, 1> outZ;
    pipe.InitBuffer(inX, 2, {0}); pipe.InitBuffer(inY, 2, {0});
    pipe.InitBuffer(outZ, 2, {0});{1}
"""
    f = assert_finds("UB_OVERFLOW", kernel(plan.format(40 * 1024, "  // HERE")), *xy)
    text = f.message + " " + str(f.hint)
    assert "inX" in text and "inY" in text and "outZ" in text and "196608" in text
    assert "32768" in text or "32,768" in text, "the largest legal length is named"
    assert_clean(kernel(plan.format(32 * 1024, "")), *xy)


def test_a_tile_that_grows_with_the_input():
    body = """
    TQue<TPosition::VECIN, 1> inX;
    uint32_t tile = n / GetBlockNum() / 8 / 2;
    %s
    pipe.InitBuffer(inX, 2, tile * sizeof(float));%s
"""
    args = np.zeros(8, np.float32), np.zeros(8, np.float32)
    params = "GM_ADDR xAddr, GM_ADDR yAddr, uint32_t n"
    assert_finds("UB_OVERFLOW", kernel(body % ("", "  // HERE"), params=params), *args, 16 << 20, blocks=8)
    assert_clean(kernel(body % ("", ""), params=params), *args, 1 << 16, blocks=8)
    assert_clean(kernel(body % ("tile = tile < 8192 ? tile : 8192;", ""), params=params), *args, 16 << 20, blocks=8)


def test_more_than_64_buffers(xy):
    body = """
    TBuf<TPosition::VECCALC> b[%d];
    for (int i = 0; i < %d; i++) {
        pipe.InitBuffer(b[i], 64);%s
    }
"""
    assert_finds("TOO_MANY_BUFFERS", kernel(body % (66, 66, "  // HERE")), *xy, says="64")
    assert_clean(kernel(body % (64, 64, "")), *xy)


def test_missing_free_tensor(xy):
    f = assert_finds("DEADLOCK", add_one(free="", alloc_mark="  // HERE"), *xy, says="inX")
    assert "line 14" in f.message, "the line that still holds the buffers is named"


def test_missing_enque(xy):
    assert_finds("QUEUE_EMPTY", add_one(enque="", deque_mark="  // HERE"), *xy, says="inX")


def test_tensor_used_without_the_queue_between(xy):
    body = """
    TQue<TPosition::VECIN, 1> inX; TQue<TPosition::VECOUT, 1> outY;
    pipe.InitBuffer(inX, 1, 1024); pipe.InitBuffer(outY, 1, 1024);
    LocalTensor<T> x = inX.AllocTensor<T>();
    DataCopy(x, xGm, 256);
    %s
    LocalTensor<T> y = outY.AllocTensor<T>();
    Adds(y, x, 1.0f, 256);%s
    inX.FreeTensor(x);
    outY.EnQue(y); y = outY.DeQue<T>();
    DataCopy(yGm, y, 256);
    outY.FreeTensor(y);
"""
    assert_finds("MISSING_SYNC", kernel(body % ("", "  // HERE")), *xy, says="MTE2_V")
    assert_clean(kernel(body % ("inX.EnQue(x); x = inX.DeQue<T>();", "")), *xy)
    assert_clean(kernel(body % ("SetFlag<HardEvent::MTE2_V>(pipe.FetchEventID(HardEvent::MTE2_V)); WaitFlag<HardEvent::MTE2_V>(pipe.FetchEventID(HardEvent::MTE2_V));", "")), *xy)


def test_two_enque_on_a_queue_of_depth_1(xy):
    body = """
    TQue<TPosition::VECIN, %d> q;
    pipe.InitBuffer(q, 2, 1024);
    LocalTensor<T> a = q.AllocTensor<T>(); DataCopy(a, xGm, 256);
    LocalTensor<T> b = q.AllocTensor<T>(); DataCopy(b, xGm[256], 256);
    q.EnQue(a);
    q.EnQue(b);%s
    a = q.DeQue<T>(); b = q.DeQue<T>();
    q.FreeTensor(a); q.FreeTensor(b);
"""
    assert_finds("QUEUE_FULL", kernel(body % (1, "  // HERE")), *xy, says="depth 1")
    assert_clean(kernel(body % (2, "")), *xy)


def test_an_output_queue_declared_as_input(xy):
    body = """
    TQue<TPosition::%s, 1> outZ; TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(outZ, 1, 1024); pipe.InitBuffer(buf, 1024);
    LocalTensor<T> z = outZ.AllocTensor<T>();
    Duplicate(z, 1.0f, 256);
    outZ.EnQue(z); z = outZ.DeQue<T>();
    DataCopy(yGm, z, 256);%s
    outZ.FreeTensor(z);
"""
    found = findings_of(kernel(body % ("VECIN", "")), *xy)
    codes = {f.code for f in found if f.line == 13}
    assert "MISSING_SYNC" in codes and "WRONG_POSITION" in codes, [(f.code, f.line, f.message) for f in found]
    assert_clean(kernel(body % ("VECOUT", "")), *xy)


def test_use_after_free_tensor(xy):
    assert_finds("USE_AFTER_FREE", add_one(after="Muls(y, xIn, 2.0f, 256);  // HERE"), *xy, says="inX")


def test_freed_twice(xy):
    assert_finds("USE_AFTER_FREE", add_one(after="inX.FreeTensor(xIn);  // HERE"), *xy, says="inX")


def test_early_return_leaves_a_tensor_behind():
    body = """
    TQue<TPosition::VECIN, 1> inX;
    pipe.InitBuffer(inX, 2, 1024);
    %s
    LocalTensor<T> x = inX.AllocTensor<T>();%s
    if (n == 0) return;
    DataCopy(x, xGm, 256);
    inX.EnQue(x); x = inX.DeQue<T>(); inX.FreeTensor(x);
"""
    x = np.zeros(256, np.float32)
    params = "GM_ADDR xAddr, GM_ADDR yAddr, uint32_t n"
    assert_finds("LEAK", kernel(body % ("", "  // HERE"), params=params), x, x.copy(), 0, says="inX")
    assert_clean(kernel(body % ("", ""), params=params), x, x.copy(), 1)
    assert_clean(kernel(body % ("if (n == 0) return;", ""), params=params), x, x.copy(), 0)


def test_raw_address_over_a_tpipe_buffer(xy):
    body = """
    TQue<TPosition::VECIN, 1> inX;
    pipe.InitBuffer(inX, 1, 1024);
    LocalTensor<T> raw(TPosition::VECCALC, %d, 256);%s
    LocalTensor<T> x = inX.AllocTensor<T>();
    DataCopy(x, xGm, 256);
    inX.EnQue(x); x = inX.DeQue<T>();
    Duplicate(raw, 0.0f, 256);
    inX.FreeTensor(x);
"""
    assert_finds("OVERLAP", kernel(body % (0, "  // HERE")), *xy, says="inX", severity="warning")
    assert_clean(kernel(body % (1024, "")), *xy)


def test_queue_without_init_buffer(xy):
    assert_finds("QUEUE_EMPTY", kernel("    TQue<TPosition::VECIN, 1> inX;\n    LocalTensor<T> x = inX.AllocTensor<T>();  // HERE"), *xy, says="InitBuffer")


def test_count_beyond_the_tensor(xy):
    body = """
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 2048);
    LocalTensor<T> t = buf.Get<T>();
    Duplicate(t, 1.0f, %s);%s
"""
    assert_finds("OUT_OF_BOUNDS", kernel(body % ("1024", "  // HERE")), *xy, says="512")
    assert_clean(kernel(body % ("512", "")), *xy)


def test_tbuf_get_beyond_its_length(xy):
    body = """
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 1024);
    LocalTensor<T> t = buf.Get<T>(%s);%s
"""
    assert_finds("OUT_OF_BOUNDS", kernel(body % ("300", "  // HERE")), *xy, says=["1200", "1024"])
    assert_clean(kernel(body % ("256", "")), *xy)


def test_ninth_tensor_of_a_position(xy):
    body = """
    TQue<TPosition::VECIN, 9> q;
    pipe.InitBuffer(q, 9, 64);
    LocalTensor<T> t[9];
    for (int i = 0; i < %d; i++) { t[i] = q.AllocTensor<T>(); DataCopy(t[i], xGm, 16); }
    for (int i = 0; i < %d; i++) {
        q.EnQue(t[i]);%s
    }
    for (int i = 0; i < %d; i++) { t[i] = q.DeQue<T>(); }
    for (int i = 0; i < %d; i++) { q.FreeTensor(t[i]); }
"""
    assert_finds("TOO_MANY_BUFFERS", kernel(body % (9, 9, "  // HERE", 9, 9)), *xy, says="8")
    assert_clean(kernel(body % (8, 8, "", 8, 8)), *xy)


# ===== legal though unusual
def test_alloc_and_free_without_enque(xy):
    assert_clean(kernel("    TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 64);\n    LocalTensor<T> t = q.AllocTensor<T>(); q.FreeTensor(t);"), *xy)


def test_a_slice_may_be_enqueued(xy):
    x, y = xy
    assert_clean(
        kernel(
            """
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 2, 1024);
    LocalTensor<T> t = q.AllocTensor<T>();
    DataCopy(t, xGm, 256);
    q.EnQue(t[8]);
    t = q.DeQue<T>();
    DataCopy(yGm, t, 256);
    q.FreeTensor(t);
"""
        ),
        x,
        y,
    )
    np.testing.assert_array_equal(y[:256], x[:256])


def test_more_blocks_than_cores_run_in_waves(xy):
    x, y = xy
    body = ADD_ONE.format(depth=1, num=2, tiles=1, enque="inX.EnQue(x);", free="inX.FreeTensor(xIn);", after="", alloc_mark="", deque_mark="")
    body = body.replace("xGm[i * 256]", "xGm[GetBlockIdx() * 32]").replace("yGm[i * 256]", "yGm[GetBlockIdx() * 32]").replace(", 256);", ", 32);")
    assert_clean(kernel(body), x, y, blocks=100)
    np.testing.assert_array_equal(y[:3200], x[:3200] + 1)


def test_select_needs_the_top_8_kb(xy):
    body = """
    TBuf<TPosition::VECCALC> work, mask;
    pipe.InitBuffer(mask, 256);
    pipe.InitBuffer(work, %d);
    LocalTensor<T> w = work.Get<T>();
    LocalTensor<uint8_t> m = mask.Get<uint8_t>();
    Duplicate(w, 1.0f, 256);
    Duplicate(m.ReinterpretCast<int16_t>(), (int16_t)0x5555, 128);
    Select(w, m, w, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 256);%s
"""
    assert_finds("UB_OVERFLOW", kernel(body % (190 * 1024, "  // HERE")), *xy, says=["8 KB", "work"])
    assert_clean(kernel(body % (180 * 1024, "")), *xy)
