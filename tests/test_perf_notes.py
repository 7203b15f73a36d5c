"""Performance notes: each fires on the slow form and not on the fast one."""
import numpy as np

from kernel_text import kernel, marked_line, run

QUEUES = """
    TQue<TPosition::VECIN, 1> in; TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 8192); pipe.InitBuffer(out, 1, 8192);
    for (int i = 0; i < %d; i++) {
        LocalTensor<T> x = in.AllocTensor<T>();
        %s
        in.EnQue(x); x = in.DeQue<T>();
        LocalTensor<T> y = out.AllocTensor<T>();
        %s
        in.FreeTensor(x); out.EnQue(y); y = out.DeQue<T>();
        DataCopy(yGm[(i * GetBlockNum() + GetBlockIdx()) * 2048], y, 2048);
        out.FreeTensor(y);
    }
"""
LOAD = "DataCopy(x, xGm[(i * GetBlockNum() + GetBlockIdx()) * 2048], 2048);"
ADD = "Adds(y, x, 1.0f, 2048);"


def notes(code, body, n, **kw):
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    text = kernel(body)
    r = run(text, x, y, **kw)
    return text, [f for f in r.findings if f.code == code], x, y


def test_scalar_loop():
    loop = "for (int k = 0; k < 2048; k++) y.SetValue(k, x.GetValue(k) + 1.0f);  // HERE"
    text, found, x, y = notes("PERF_SCALAR_LOOP", QUEUES % (1, LOAD, loop), 2048)
    assert [(f.line, f.severity) for f in found] == [(marked_line(text), "note")]
    assert "4096" in found[0].message
    np.testing.assert_array_equal(y, x + 1)
    assert not notes("PERF_SCALAR_LOOP", QUEUES % (1, LOAD, ADD), 2048)[1]
    assert not notes("PERF_SCALAR_LOOP", QUEUES % (1, LOAD, ADD + " y.SetValue(0, x.GetValue(0));"), 2048)[1]


def test_idle_cores():
    _, found, *_ = notes("PERF_IDLE_CORES", QUEUES % (48, LOAD, ADD), 48 * 2048, blocks=1)
    assert len(found) == 1 and "47" in found[0].message and "48" in found[0].message
    assert not notes("PERF_IDLE_CORES", QUEUES % (1, LOAD, ADD), 48 * 2048, blocks=48)[1]
    assert not notes("PERF_IDLE_CORES", QUEUES % (1, LOAD, ADD), 2048, blocks=1)[1], "too short for more cores to pay"


def test_uneven_blocks():
    uneven = (QUEUES % (40, LOAD, ADD)).replace("i < 40", "i < (GetBlockIdx() == 0 ? 40 : 4)")
    _, found, *_ = notes("PERF_IDLE_CORES", uneven, 40 * 48 * 2048, blocks=48)
    assert len(found) == 1 and "last block" in found[0].message
    assert not notes("PERF_IDLE_CORES", QUEUES % (8, LOAD, ADD), 8 * 48 * 2048, blocks=48)[1]


def test_many_cores_on_one_line():
    shared = "DataCopy(x, xGm, 2048);  // HERE"
    text, found, *_ = notes("PERF_SAME_ADDRESS", QUEUES % (1, shared, ADD), 48 * 2048, blocks=16)
    assert [f.line for f in found] == [marked_line(text)] and "16" in found[0].message
    assert not notes("PERF_SAME_ADDRESS", QUEUES % (1, LOAD, ADD), 48 * 2048, blocks=16)[1]
    assert not notes("PERF_SAME_ADDRESS", QUEUES % (1, shared.replace("  // HERE", ""), ADD), 48 * 2048, blocks=4)[1]
