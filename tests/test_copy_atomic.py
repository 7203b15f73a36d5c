"""Atomic stores: arithmetic against NumPy, several cores, and the mode that is forgotten or of the wrong type."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from kernel_text import assert_clean, assert_finds, kernel, run

TYPES = {"half": np.float16, "float": np.float32, "bfloat16_t": ml_dtypes.bfloat16, "int8_t": np.int8, "int16_t": np.int16, "int32_t": np.int32}

STORE = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 8192);
    LocalTensor<T> ub = buf.Get<T>();
    DataCopyPad(ub, xGm, {{1, static_cast<uint32_t>(n * sizeof({t})), 0, 0, 0}}, {{false, 0, 0, 0}});
    PipeBarrier<PIPE_ALL>();
    SetAtomic{op}<T>();
    DataCopyPad(yGm, ub, {{1, static_cast<uint32_t>(n * sizeof({t})), 0, 0, 0}});
    SetAtomicNone();
"""
PARAMS = "GM_ADDR xAddr, GM_ADDR yAddr, int32_t n"


def store(op, t):
    return kernel(STORE.format(op=op, t=t), t=t, params=PARAMS)


def sample(rng, t, n):
    if t.startswith("int"):
        info = np.iinfo(TYPES[t])
        return rng.integers(info.min // 2, info.max // 2, n).astype(TYPES[t])
    return (rng.standard_normal(n) * 100).astype(TYPES[t])


def oracle(op, a, b):
    """One rounding per addition: the exact sum in float64, then the element type. max and min: NaN wins."""
    if a.dtype.kind == "i":
        return {"Add": lambda: a + b, "Max": lambda: np.maximum(a, b), "Min": lambda: np.minimum(a, b)}[op]()
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return {"Add": lambda: wide_a + wide_b, "Max": lambda: np.maximum(wide_a, wide_b), "Min": lambda: np.minimum(wide_a, wide_b)}[op]().astype(a.dtype)


@pytest.mark.parametrize("op", ["Add", "Max", "Min"])
@pytest.mark.parametrize("t", list(TYPES))
def test_every_type_and_operation(op, t):
    rng = np.random.default_rng(len(t))
    k = hp.compile(store(op, t))
    for n in (1, 7, 31, 33, 1025, 1500):
        x, y = sample(rng, t, n), sample(rng, t, n)
        want = oracle(op, y, x)
        k[1](x, y, n)
        np.testing.assert_array_equal(y, want)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.floats(width=16), min_size=1, max_size=40))
def test_half_sums_round_once(values):
    x = np.array(values, np.float16)
    y = x[::-1].copy()
    with np.errstate(all="ignore"):
        want = (x.astype(np.float64) + y.astype(np.float64)).astype(np.float16)
    hp.compile(store("Add", "half"))[1](x, y, x.size)
    np.testing.assert_array_equal(y, want)


def test_nan_wins():
    for op in ("Max", "Min"):
        x, y = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
        hp.compile(store(op, "float"))[1](x, y, 3)
        assert np.isnan(y[:2]).all() and y[2] == (3 if op == "Max" else 2)


def test_blocks_add_into_the_same_memory():
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    r = assert_clean(store("Add", "float"), x, y, 100, blocks=7)
    np.testing.assert_array_equal(y, 1 + 7 * x)
    assert r.findings == [] or all(f.severity == "note" for f in r.findings)


def test_without_the_mode_blocks_conflict():
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    plain = store("Add", "float").replace("    SetAtomicAdd<float>();\n", "").replace("DataCopyPad(yGm, ub", "/*store*/ DataCopyPad(yGm, ub")
    plain = "\n".join(s + "  // HERE" if "/*store*/" in s else s for s in plain.splitlines())
    assert_finds("BLOCK_CONFLICT", plain, x, y, 100, blocks=3)


def test_rows_and_formats_combine_too():
    body = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 4096);
    LocalTensor<T> ub = buf.Get<T>();
    DataCopy(ub, xGm, 64);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<T>();
    DataCopy(yGm, ub, {2, 1, 1, 0});
    PipeBarrier<PIPE_MTE3>();
    DataCopy(yGm[16], ub, Nz2NdParamsFull{1, 2, 16, 1, 2, 16, 1});
    SetAtomicNone();
"""
    x, y = np.arange(64, dtype=np.float32), np.full(64, 1000, np.float32)
    want = y.copy()
    want[:8] += x[:8]
    want[8:16] += x[16:24]
    want[16:48] += x[:32]
    assert_clean(kernel(body, t="float"), x, y)
    np.testing.assert_array_equal(y, want)


# ---- checks
def test_type_of_the_mode_is_not_the_type_of_the_tensor():
    broken = store("Add", "float").replace("SetAtomicAdd<float>", "SetAtomicAdd<half>").replace("DataCopyPad(yGm, ub, {1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0});",
                                                                                            "DataCopyPad(yGm, ub, {1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0});  // HERE")
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    assert_finds("BAD_PARAMETER", broken, x, y, 8, severity="warning", says=["SetAtomicAdd<half>", "holds float", "SetAtomicAdd<float>()"])
    assert_clean(store("Add", "float"), x, y, 8)


def test_set_atomic_type_keeps_the_operation():
    changed = store("Max", "float").replace("SetAtomicMax<float>();", "SetAtomicMax<half>(); SetAtomicType<float>();")
    x, y = np.array([1, 5, 3, 0, 0, 0, 0, 9], np.float32), np.full(8, 2, np.float32)
    assert_clean(changed, x, y, 8)
    np.testing.assert_array_equal(y, np.maximum(x, 2))


def test_mode_left_on():
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    broken = store("Add", "float").replace("    SetAtomicNone();\n", "").replace("SetAtomicAdd<float>();", "SetAtomicAdd<float>();  // HERE")
    assert_finds("BAD_PARAMETER", broken, x, y, 8, severity="warning", says=["still active at the end", "SetAtomicNone()"])
    assert_clean(store("Add", "float").replace("SetAtomicNone", "DisableDmaAtomic"), x, y, 8)


def test_integer_sums_wrap_and_say_so():
    x, y = np.full(40, 100, np.int8), np.full(40, 100, np.int8)
    r = run(store("Add", "int8_t"), x, y, 40)
    assert y[0] == -56
    assert [f.severity for f in r.findings if f.code == "NUMERIC"] == ["warning"]
    x, y = np.full(40, 20, np.int8), np.full(40, 100, np.int8)
    assert_clean(store("Add", "int8_t"), x, y, 40)


def test_configuration_can_be_read_back():
    body = """
    SetStoreAtomicConfig<AtomicDtype::ATOMIC_BF16, AtomicOp::ATOMIC_SUM>();
    uint16_t type = 9, op = 9;
    GetStoreAtomicConfig(type, op);
    assert(type == 6 && op == 0);
    SetStoreAtomicConfig<AtomicDtype::ATOMIC_NONE, AtomicOp::ATOMIC_SUM>();
    GetStoreAtomicConfig(type, op);
    assert(type == 0 && op == 0);
"""
    assert_clean(kernel(body), np.zeros(8, np.float32), np.zeros(8, np.float32))


def test_chip_with_fewer_atomics():
    x, y = np.ones(8, np.float32), np.ones(8, np.float32)
    simple = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 256);
    LocalTensor<T> ub = buf.Get<T>();
    DataCopy(ub, xGm, 8);
    PipeBarrier<PIPE_ALL>();
    %s
    DataCopy(yGm, ub, 8);
    SetAtomicNone();
"""
    assert_finds("UNSUPPORTED_API", kernel(simple % "SetAtomicMax<float>();  // HERE"), x, y, chip="Ascend310P3", says="SetAtomicAdd only")
    assert_finds("UNSUPPORTED_TYPE", kernel(simple % "SetAtomicAdd<int32_t>();  // HERE"), x, y, chip="Ascend310P3", says="int16_t, half and float")
    assert_clean(kernel(simple % "SetAtomicAdd<float>();"), x, y, chip="Ascend310P3")
    np.testing.assert_array_equal(y, np.full(8, 2))
