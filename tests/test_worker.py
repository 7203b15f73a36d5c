"""The second thread and the loads it holds back: large launches give the same bytes as small ones."""
import numpy as np
import pytest

from kernel_text import kernel, run

N = 4 << 20                       # 16 MB an array: such launches use the second thread
BODY = """
    TQue<TPosition::VECIN, 1> inX, inY; TQue<TPosition::VECOUT, 1> outZ;
    pipe.InitBuffer(inX, 2, 32768);
    pipe.InitBuffer(inY, 2, 32768);
    pipe.InitBuffer(outZ, 2, 32768);
    GlobalTensor<float> zGm; zGm.SetGlobalBuffer((__gm__ float*)zAddr);
    for (uint32_t i = GetBlockIdx() * 8192; i < n; i += GetBlockNum() * 8192) {
        LocalTensor<float> x = inX.AllocTensor<float>(), y = inY.AllocTensor<float>(), z = outZ.AllocTensor<float>();
        DataCopy(x, xGm[i], 8192);
        DataCopy(y, yGm[i], 8192);
        inX.EnQue(x); inY.EnQue(y);
        x = inX.DeQue<float>(); y = inY.DeQue<float>();
        %s
        inX.FreeTensor(x); inY.FreeTensor(y);
        outZ.EnQue(z); z = outZ.DeQue<float>();
        DataCopy(zGm[i], z, 8192);
        outZ.FreeTensor(z);
    }
"""
COMPUTE = {
    "read once": ("Add(z, x, y, 8192);", lambda x, y: x + y),
    "read twice": ("Add(z, x, y, 8192); Mul(z, z, x, 8192);", lambda x, y: (x + y) * x),
    "in place": ("Add(x, x, y, 8192); Muls(z, x, 2.0f, 8192);", lambda x, y: (x + y) * 2),
    "a part of it changes": ("Duplicate(x, 7.0f, 64); Add(z, x, y, 8192);", None),
    "a slice": ("Add(z, x, y, 8192); Adds(z[64], x[128], 1.0f, 64);", None),
    "scalar read": ("Adds(z, y, x.GetValue(5), 8192);", None),
    "scalar write": ("x.SetValue(3, 9.0f); Add(z, x, y, 8192);", None),
    "copied inside UB": ("DataCopy(z, x, 8192); Add(z, z, y, 8192);", lambda x, y: x + y),
    "masked": ("Adds(z, y, 0.0f, 8192); Add(z, x, y, (uint64_t)10, 128, {1, 1, 1, 8, 8, 8});", None),
    "both operands the same": ("Mul(z, x, x, 8192);", lambda x, y: x * x),
    "reduced": ("Adds(z, y, 0.0f, 8192); WholeReduceSum(z, x, 64, 128, 1, 1, 8);", None),
}


def text(compute: str) -> str:
    return kernel(BODY % compute, params="GM_ADDR xAddr, GM_ADDR yAddr, GM_ADDR zAddr, uint32_t n")


def small(source: str, x, y):
    """The same through many launches below the size at which the second thread starts."""
    z, step = np.zeros_like(x), 1 << 18
    for i in range(0, x.size, step):
        part = z[i : i + step].copy()
        run(source, x[i : i + step].copy(), y[i : i + step].copy(), part, step, blocks=4)
        z[i : i + step] = part
    return z


@pytest.mark.parametrize("how", COMPUTE)
def test_large_launches_compute_what_small_ones_do(how):
    rng = np.random.default_rng(3)
    x, y = rng.random(N, np.float32), rng.random(N, np.float32)
    z = np.zeros_like(x)
    body, formula = COMPUTE[how]
    source = text(body)
    keep = x.copy(), y.copy()
    r = run(source, x, y, z, N, blocks=8)
    assert not [f for f in r.findings if f.severity == "error"]
    np.testing.assert_array_equal(z, formula(x, y) if formula else small(source, x, y))
    np.testing.assert_array_equal(x, keep[0])
    np.testing.assert_array_equal(y, keep[1])


def test_a_source_that_is_overwritten_after_its_load():
    """x is loaded, then the same place of x is stored to, then the loaded tile is used."""
    body = """
    TBuf<TPosition::VECCALC> a, b; pipe.InitBuffer(a, 32768); pipe.InitBuffer(b, 32768);
    LocalTensor<float> u = a.Get<float>(), v = b.Get<float>();
    for (uint32_t i = GetBlockIdx() * 8192; i < n; i += GetBlockNum() * 8192) {
        DataCopy(u, xGm[i], 8192);
        PipeBarrier<PIPE_MTE2>();
        Duplicate(v, 5.0f, 8192);
        { auto e = pipe.FetchEventID(HardEvent::V_MTE3); SetFlag<HardEvent::V_MTE3>(e); WaitFlag<HardEvent::V_MTE3>(e); }
        { auto e = pipe.FetchEventID(HardEvent::MTE2_MTE3); SetFlag<HardEvent::MTE2_MTE3>(e); WaitFlag<HardEvent::MTE2_MTE3>(e); }
        DataCopy(xGm[i], v, 8192);
        { auto e = pipe.FetchEventID(HardEvent::MTE2_V); SetFlag<HardEvent::MTE2_V>(e); WaitFlag<HardEvent::MTE2_V>(e); }
        { auto e = pipe.FetchEventID(HardEvent::MTE3_V); SetFlag<HardEvent::MTE3_V>(e); WaitFlag<HardEvent::MTE3_V>(e); }
        Adds(v, u, 1.0f, 8192);
        { auto e = pipe.FetchEventID(HardEvent::V_MTE3); SetFlag<HardEvent::V_MTE3>(e); WaitFlag<HardEvent::V_MTE3>(e); }
        DataCopy(yGm[i], v, 8192);
        { auto e = pipe.FetchEventID(HardEvent::MTE3_V); SetFlag<HardEvent::MTE3_V>(e); WaitFlag<HardEvent::MTE3_V>(e); }
        { auto e = pipe.FetchEventID(HardEvent::V_MTE2); SetFlag<HardEvent::V_MTE2>(e); WaitFlag<HardEvent::V_MTE2>(e); }
    }
"""
    x = np.arange(N, dtype=np.float32)
    y, before = np.zeros_like(x), x.copy()
    r = run(kernel(body, params="GM_ADDR xAddr, GM_ADDR yAddr, uint32_t n"), x, y, N, blocks=4)
    assert not [f for f in r.findings if f.severity == "error"]
    np.testing.assert_array_equal(y, before + 1)
    assert (x == 5).all()


def test_inf_is_named_in_large_launches_too():
    x, y = np.full(N, 3e38, np.float32), np.full(N, 3e38, np.float32)
    z = np.zeros_like(x)
    found = run(text("Add(z, x, y, 8192);"), x, y, z, N, blocks=8).findings
    assert [f.code for f in found if f.severity == "warning"] == ["NUMERIC"]
    assert "inf" in next(f for f in found if f.code == "NUMERIC").message
    assert np.isinf(z).all()


def test_copies_that_never_touch_ub_bytes():
    body = """
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 2, 65536);
    for (uint32_t i = GetBlockIdx() * 16384; i < n; i += GetBlockNum() * 16384) {
        LocalTensor<float> t = q.AllocTensor<float>();
        DataCopy(t, xGm[i], 16384);
        q.EnQue(t); t = q.DeQue<float>();
        DataCopy(yGm[i], t, 16384);
        DataCopy(yGm[n + i], t[8192], 8192);
        q.FreeTensor(t);
    }
"""
    x = np.random.default_rng(5).random(N, np.float32)
    y = np.zeros(2 * N, np.float32)
    run(kernel(body, params="GM_ADDR xAddr, GM_ADDR yAddr, uint32_t n"), x, y, N, blocks=8)
    np.testing.assert_array_equal(y[:N], x)
    np.testing.assert_array_equal(y[N:].reshape(-1, 16384)[:, :8192], x.reshape(-1, 16384)[:, 8192:])


def test_findings_are_the_same_every_time():
    """Which thread comes first must not show: two blocks make an inf, the first in block order is named."""
    x, y = np.full(N, 1.0, np.float32), np.full(N, 1.0, np.float32)
    x[[3 * 8192 + 5, 200 * 8192 + 7, N - 1]] = 3e38
    y[:] = x
    source, seen = text("Add(z, x, y, 8192);"), set()
    for _ in range(6):
        z = np.zeros_like(x)
        r = run(source, x, y, z, N, blocks=16)
        f = [f for f in r.findings if f.code == "NUMERIC"]
        assert len(f) == 1
        seen.add((f[0].message, f[0].block, f[0].count, r.cycles))
        np.testing.assert_array_equal(np.flatnonzero(np.isinf(z)), [3 * 8192 + 5, 200 * 8192 + 7, N - 1])
    assert len(seen) == 1, seen


@pytest.mark.parametrize("compute", ["Add(z, x, y, 8192);", "Add(z, x, y, 8192); z.SetValue(0, 1.0f);", "Add(z, x, y, 8192); ((__ubuf__ float*)z.GetPhyAddr())[4096] = 1.0f;"],
                         ids=["second thread", "scalar unit", "raw pointer"])
def test_memory_that_an_earlier_block_used_is_as_unwritten_as_before(compute):
    """The first tile of each block stores what nobody wrote; the blocks before it have written just there."""
    source = text("if (i != GetBlockIdx() * 8192) {" + compute + "}")
    x = y = np.ones(N, np.float32)
    for _ in range(2):                                        # the second launch finds memories of the first
        z = np.zeros_like(x)
        run(source, x, y, z, N, blocks=100, checks="off")
        first, rest = z[: 100 * 8192], z[100 * 8192 :]
        assert (first.view(np.uint8) == 0xCD).all() and np.isin(rest, (1, 2)).all()
