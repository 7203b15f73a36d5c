"""Every call of the simulation issues what the same call of a kernel issues. One list of calls makes both texts."""
import numpy as np
import pytest

import helpers as hp
from helpers.ubsim import BinaryRepeatParams, DataCopyExtParams, DataCopyPadExtParams, DataCopyParams, UnaryRepeatParams, vector
from ubsim_tools import assert_same_run

N = 1024                                     # elements of each tensor
FLOATS = [
    *[(op, "z", "x") for op in ("Exp", "Ln", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu")],
    *[(op, "z", "x", "y") for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "AddRelu", "SubRelu", "FusedMulAdd", "FusedMulAddRelu", "MulAddDst")],
    *[(op, "z", "x", 0.3) for op in ("Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "Axpy")],
]
INTEGERS = [
    *[(op, "z", "x", "y") for op in ("Add", "Sub", "Mul", "Max", "Min")], *[(op, "z", "x", 3) for op in ("Adds", "Muls", "Maxs", "ShiftLeft", "ShiftRight")]]
BITS = [("Not", "z", "x"), ("And", "z", "x", "y"), ("Or", "z", "x", "y")]
CALLS = {("half", np.float16): FLOATS, ("float", np.float32): FLOATS, ("int32_t", np.int32): INTEGERS, ("int16_t", np.int16): INTEGERS + BITS,
         ("uint16_t", np.uint16): BITS}

FRAME = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void ops(GM_ADDR xg, GM_ADDR yg, GM_ADDR zg) {{
    using T = {t};
    TPipe pipe;
    GlobalTensor<T> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ T*)xg); yGm.SetGlobalBuffer((__gm__ T*)yg); zGm.SetGlobalBuffer((__gm__ T*)zg);
    TBuf<TPosition::VECCALC> xb, yb, zb;
    pipe.InitBuffer(xb, {n} * sizeof(T)); pipe.InitBuffer(yb, {n} * sizeof(T)); pipe.InitBuffer(zb, {n} * sizeof(T));
    LocalTensor<T> x = xb.Get<T>(), y = yb.Get<T>(), z = zb.Get<T>();
    DataCopy(x, xGm, {n}); DataCopy(y, yGm, {n});
    PipeBarrier<PIPE_ALL>();
{body}
}}
"""
CALL = "    Duplicate(z, (T)1, {n}); {op}(z, {args}, {n}); PipeBarrier<PIPE_ALL>(); DataCopy(zGm[{row} * {n}], z, {n}); PipeBarrier<PIPE_ALL>();"


def kernel_text(t: str, calls) -> str:
    def word(a):
        return a if isinstance(a, str) else f"(T){a}"
    body = [CALL.format(n=N, op=op, args=", ".join(map(word, args)), row=row) for row, (op, _, *args) in enumerate(calls)]
    return FRAME.format(t=t, n=N, body="\n".join(body))


@hp.ubsim
def ops(core, xg, yg, zg, calls):
    x, y, z = (core.TBuf(length=N * xg.itemsize).Get(xg.dtype) for _ in "xyz")
    tensors = {"x": x, "y": y, "z": z}
    core.DataCopy(x, xg)
    core.DataCopy(y, yg)
    core.PipeBarrier("ALL")
    for row, (op, *args) in enumerate(calls):
        core.Duplicate(z, 1)
        getattr(core, op)(*(tensors.get(a, a) if isinstance(a, str) else a for a in args))
        core.PipeBarrier("ALL")
        core.DataCopy(zg[row], z)
        core.PipeBarrier("ALL")


@pytest.mark.parametrize("t, dtype", CALLS, ids=lambda v: v if isinstance(v, str) else "")
def test_instructions_equal_the_kernel(t, dtype):
    calls, rng = CALLS[t, dtype], np.random.default_rng(1)
    x, y = ((rng.standard_normal(N) * 4).astype(dtype) if t in ("half", "float") else rng.integers(0, 120, N).astype(dtype) for _ in "xy")
    z, z_sim = np.zeros((len(calls), N), dtype), np.zeros((len(calls), N), dtype)
    run = hp.compile(kernel_text(t, calls))[1](x, y, z)
    twin = ops[1](x, y, z_sim, calls)
    for row, call in enumerate(calls):
        assert z[row].tobytes() == z_sim[row].tobytes(), call
    assert_same_run(run, twin)


def test_every_regular_instruction_is_listed():
    tested = {call[0] for calls in CALLS.values() for call in calls}
    assert set(vector.UNARY + vector.BINARY + vector.SCALAR) <= tested
    assert set(vector.MIXED) - tested == {"AddReluCast", "SubReluCast", "MulCast"}, "tested below"


# ---- what is not regular: against NumPy
def run_on(function, *arrays):
    """Runs the function on one block; the last array is the output."""
    return hp.ubsim(function)[1](*arrays)


def test_mixed_types():
    rng = np.random.default_rng(2)
    a, b, out = rng.integers(-60, 60, 64).astype(np.float16), rng.integers(-2, 3, 64).astype(np.float16), np.zeros((3, 64), np.int8)

    def mixed(core, a, b, out):
        x, y = core.TBuf(length=128).Get(np.float16), core.TBuf(length=128).Get(np.float16)
        z = core.TBuf(length=64).Get(np.int8)
        core.DataCopy(x, a)
        core.DataCopy(y, b)
        core.PipeBarrier("ALL")
        for row, op in enumerate((core.AddReluCast, core.SubReluCast, core.MulCast)):
            op(z, x, y)
            core.PipeBarrier("ALL")
            core.DataCopy(out[row], z)
            core.PipeBarrier("ALL")

    run_on(mixed, a, b, out)
    wide = a.astype(int), b.astype(int)
    assert out.tolist() == [np.maximum(0, wide[0] + wide[1]).tolist(), np.maximum(0, wide[0] - wide[1]).tolist(), np.clip(wide[0] * wide[1], -128, 127).tolist()]


@pytest.mark.parametrize("mode, expected", [("CAST_RINT", np.rint), ("CAST_FLOOR", np.floor), ("CAST_CEIL", np.ceil), ("CAST_TRUNC", np.trunc),
                                            ("RoundMode::CAST_RINT", np.rint)])
def test_cast(mode, expected):
    a, out = np.linspace(-9.75, 9.75, 64, dtype=np.float32), np.zeros(64, np.int32)

    def cast(core, a, out):
        x, z = core.TBuf(length=256).Get(np.float32), core.TBuf(length=256).Get("int32_t")
        core.DataCopy(x, a)
        core.PipeBarrier("ALL")
        core.Cast(z, x, mode)
        core.PipeBarrier("ALL")
        core.DataCopy(out, z)

    run_on(cast, a, out)
    assert out.tolist() == expected(a).astype(int).tolist()


def test_compare_and_select():
    rng = np.random.default_rng(3)
    a, b, out = rng.standard_normal(128).astype(np.float32), rng.standard_normal(128).astype(np.float32), np.zeros((3, 128), np.float32)

    def choose(core, a, b, out):
        x, y, z = (core.TBuf(length=512).Get(np.float32) for _ in "xyz")
        bits = core.TBuf(length=32).Get(np.uint8)
        core.DataCopy(x, a)
        core.DataCopy(y, b)
        core.PipeBarrier("ALL")
        core.Compare(bits, x, y, "GT")
        core.Select(z, bits, x, y)
        core.PipeBarrier("ALL")
        core.DataCopy(out[0], z)
        core.PipeBarrier("ALL")
        core.CompareScalar(bits, x, 0.0, "LT")
        core.Select(z, bits, x, -1.0)
        core.PipeBarrier("ALL")
        core.DataCopy(out[1], z)
        core.PipeBarrier("ALL")
        core.Select(z, bits, y, x, 128)
        core.PipeBarrier("ALL")
        core.DataCopy(out[2], z)

    run_on(choose, a, b, out)
    assert np.array_equal(out[0], np.maximum(a, b))
    assert np.array_equal(out[1], np.where(a < 0, a, np.float32(-1)))
    assert np.array_equal(out[2], np.where(a < 0, b, a))


def test_operators_are_instructions():
    a, b, out = np.arange(256, dtype=np.float16), np.full(256, 2, np.float16), np.zeros((6, 256), np.float16)

    def operators(core, a, b, out):
        x, y, z = (core.TBuf(length=512).Get(np.float16) for _ in "xyz")
        core.DataCopy(x, a)
        core.DataCopy(y, b)
        core.PipeBarrier("ALL")

        def store(row):
            core.PipeBarrier("ALL")
            core.DataCopy(out[row], z)
            core.PipeBarrier("ALL")
        z[:] = x + y
        store(0)
        z[:] = x * y
        z -= y
        store(1)
        z[:] = 2.0 * x
        z /= y
        store(2)
        z[:] = 7
        z[:128] = x[:128] + 1.0
        store(3)
        z[:] = x
        store(4)

    with pytest.raises(hp.KernelError, match="core.DataCopy"):
        run_on(operators, a, b, out)
    assert np.array_equal(out[0], a + b) and np.array_equal(out[1], a * b - b) and np.array_equal(out[2], a)
    assert np.array_equal(out[3][:128], a[:128] + 1) and (out[3][128:] == 7).all()


def test_operators_on_wide_integers_touch_every_bit():
    a, b, out = np.full(64, 0x12345678, np.int32), np.full(64, 0x0F0F0F0F, np.int32), np.zeros((2, 64), np.int32)

    def bits(core, a, b, out):
        x, y, z = (core.TBuf(length=256).Get(np.int32) for _ in "xyz")
        core.DataCopy(x, a)
        core.DataCopy(y, b)
        core.PipeBarrier("ALL")
        z[:] = x & y
        core.PipeBarrier("ALL")
        core.DataCopy(out[0], z)
        core.PipeBarrier("ALL")
        z[:] = x | y
        core.PipeBarrier("ALL")
        core.DataCopy(out[1], z)

    run_on(bits, a, b, out)
    assert (out[0] == (a & b)).all() and (out[1] == (a | b)).all()


def test_repeat_forms_and_mask_registers():
    a, out = np.arange(512, dtype=np.float32), np.zeros((4, 512), np.float32)

    def repeats(core, a, out):
        x, z = core.TBuf(length=2048).Get(np.float32), core.TBuf(length=2048).Get(np.float32)
        core.DataCopy(x, a)
        core.PipeBarrier("ALL")

        def store(row):
            core.PipeBarrier("ALL")
            core.DataCopy(out[row], z)
            core.PipeBarrier("ALL")
            core.Duplicate(z, 0.0)
        core.Duplicate(z, 0.0)
        core.Adds(z, x, 1.0, mask=10, repeatTime=8, repeatParams=UnaryRepeatParams(1, 1, 8, 8))
        store(0)
        core.Add(z, x, x, mask=[0b101, 0], repeatTime=8, repeatParams=BinaryRepeatParams(1, 1, 1, 8, 8, 8))
        store(1)
        core.SetVectorMask(np.float32, 3)
        core.Adds(z, x, 1.0, mask=None, isSetMask=False, repeatTime=8)
        core.ResetMask()
        store(2)
        core.Adds(z, x, 2.0)                 # the count form after a repeat form
        store(3)

    run_on(repeats, a, out)
    lane = np.arange(512) % 64
    assert np.array_equal(out[0], np.where(lane < 10, a + 1, 0))
    assert np.array_equal(out[1], np.where((lane == 0) | (lane == 2), a + a, 0))
    assert np.array_equal(out[2], np.where(lane < 3, a + 1, 0))
    assert np.array_equal(out[3], a + 2)


@pytest.mark.parametrize("dtype, value", [(np.float16, 0.1), (np.float32, 0.1), ("bfloat16", 0.1), (np.int16, -3), (np.uint16, 65535), (np.int32, -7),
                                          (np.uint32, 2**32 - 1), (np.float16, 1e6), (np.float32, -1e60), ("bfloat16", 3.3e38)])
def test_scalars_are_rounded_once(dtype, value):
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    raw = np.zeros(64, np.uint16 if name == "bfloat16" else dtype)

    def fill(core, out):
        z = core.TBuf(length=256).Get(dtype, 64)
        core.Duplicate(z, value)
        core.PipeBarrier("ALL")
        core.DataCopy(out, z) if name != "bfloat16" else core.DataCopy(out.view("bfloat16"), z)

    run_on(fill, raw)
    with np.errstate(over="ignore"):
        if name == "bfloat16":               # the nearest float with 16 zero bits, ties to even
            bits = int(np.float32(value).view(np.uint32))
            near = min((bits >> 16, (bits >> 16) + 1), key=lambda b: abs((b << 16) - bits))
            assert (raw == near).all()
        else:
            assert (raw == np.array(value, dtype)).all()


# ---- copies
def test_two_dimensional_slices_are_rows_with_a_gap():
    a = np.arange(8 * 32, dtype=np.float32).reshape(8, 32)
    out = np.zeros((8, 40), np.float32)

    def columns(core, a, out):
        t = core.TBuf(length=8 * 8 * 4).Get(np.float32)
        core.DataCopyPad(t, a[0:8, 3:11])
        core.PipeBarrier("ALL")
        core.DataCopyPad(out[:, 5:13], t)

    run = run_on(columns, a, out)
    assert np.array_equal(out[:, 5:13], a[:, 3:11]) and out.sum() == a[:, 3:11].sum()
    assert run.events["bytes"][run.events["pipe"] == hp.run.PIPES.index("MTE2")].tolist() == [256]


def test_a_column_is_rows_of_one_element():
    a, out = np.arange(5 * 7, dtype=np.float32).reshape(5, 7), np.zeros(5, np.float32)

    def column(core, a, out):
        t = core.TBuf(length=7 * 32).Get(np.float32)
        core.DataCopyPad(t, a[:, 3])
        core.DataCopyPad(t[40:], a[1:4, 3][1:])
        core.PipeBarrier("ALL")
        assert t.numpy()[::8].tolist() == [3, 10, 17, 24, 31, 17, 24]
        assert a[2, 3] == 17 and a[:, 3][2] == 17 and a.GetValue(17) == 17

    hp.ubsim(column)[1](a, out)


def test_whole_rows_make_one_piece_only_when_nothing_lies_between():
    a = np.arange(4 * 16, dtype=np.float32).reshape(4, 16)

    def pieces(core, a):
        t = core.TBuf(length=4 * 96).Get(np.float32)
        core.DataCopyPad(t, a)
        core.PipeBarrier("ALL")
        assert t.numpy()[:64].tolist() == list(range(64))
        core.DataCopyPad(t.reshape(4, 24), a)
        core.PipeBarrier("ALL")
        assert t.numpy().reshape(4, 24)[:, :16].tolist() == a._array.tolist()
        core.DataCopyPad(t, a[:, :15])
        core.PipeBarrier("ALL")
        assert t.numpy()[:64].reshape(4, 16)[:, :15].tolist() == a._array[:, :15].tolist()

    hp.ubsim(pieces)[1](a)


def test_data_copy_of_rows_counts_blocks():
    a = np.arange(4 * 64, dtype=np.float32).reshape(4, 64)
    out = np.zeros((4, 16), np.float32)

    def rows(core, a, out):
        t = core.TBuf(length=4 * 16 * 4).Get(np.float32)
        core.DataCopy(t, a[:, 8:24])
        core.PipeBarrier("ALL")
        core.DataCopy(out, t)

    run_on(rows, a, out)
    assert np.array_equal(out, a[:, 8:24])


def test_rows_of_a_tensor_with_two_dimensions_keep_its_pitch():
    a = np.arange(4 * 9, dtype=np.float32).reshape(4, 9)
    out = np.zeros((4, 9), np.float32)

    def pitch(core, a, out):
        t = core.TBuf(length=4 * 24 * 4).Get(np.float32).reshape(4, 24)
        core.DataCopyPad(t, a[0:4, 0:9])
        core.PipeBarrier("ALL")
        assert np.array_equal(t.numpy()[:, :9], a._array)
        core.Adds(t[2, :9], t[2, :9], 100.0)
        core.PipeBarrier("ALL")
        core.DataCopyPad(out[0:4, 0:9], t)

    run_on(pitch, a, out)
    assert np.array_equal(out, a + np.array([[0], [0], [100], [0]], np.float32))


def test_explicit_parameters_and_padding():
    a, out = np.arange(64, dtype=np.float16), np.zeros(64, np.float16)

    def explicit(core, a, out):
        t = core.TBuf(length=128).Get(np.float16)
        core.Duplicate(t, -1.0)
        core.PipeBarrier("ALL")
        core.DataCopyPad(t, a, DataCopyExtParams(2, 10, 20, 0), DataCopyPadExtParams(True, 1, 2, 9.0))
        core.PipeBarrier("ALL")
        core.DataCopy(out, t, DataCopyParams(2, 1, 0, 1))

    run_on(explicit, a, out)
    row = lambda first: [9, *a[first:first + 5], *[9] * 10]
    assert out[:16].tolist() == row(0) and out[32:48].tolist() == row(15) and not out[16:32].any()


def test_copy_inside_ub_and_views_of_other_types():
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)

    def inside(core, a, out):
        s, t = core.TBuf(length=256).Get(np.float32), core.TBuf(length=256).Get(np.float32)
        core.DataCopy(s, a)
        core.PipeBarrier("ALL")
        core.DataCopy(t.view(np.uint32), s.ReinterpretCast("uint32_t"))
        core.PipeBarrier("ALL")
        core.DataCopy(out.view(np.int32), t.view(np.int32))

    run_on(inside, a, out)
    assert np.array_equal(a, out)


def test_atomic_stores_of_all_blocks_add_up():
    out, high = np.zeros(64, np.float32), np.zeros(64, np.int32)

    @hp.ubsim
    def atomics(core, out, high):
        t, i = core.TBuf(length=256).Get(np.float32), core.TBuf(length=256).Get(np.int32)
        core.Duplicate(t, core.block + 0.5)
        core.Duplicate(i, core.block)
        core.PipeBarrier("ALL")
        core.SetAtomicAdd(np.float32)
        core.DataCopy(out, t)
        core.SetAtomicMax(np.int32)
        core.DataCopy(high, i)
        core.SetAtomicNone()

    run = atomics[10](out, high)
    assert (out == sum(b + 0.5 for b in range(10))).all() and (high == 9).all() and run.findings == []


def test_flags_events_and_queries():
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    seen = []

    def flags(core, a, out):
        t = core.TBuf(length=256).Get(np.float32)
        queue = core.TQue("VECIN", num=2, length=256)
        seen.append((queue.VacantInQue(), queue.GetTensorCountInQue(), queue.HasTensorInQue(), queue.HasIdleBuffer()))
        core.DataCopy(t, a)
        event = core.AllocEventID("HardEvent::MTE2_V")
        core.SetFlag("MTE2_V", event)
        core.WaitFlag("MTE2_V", event)
        core.ReleaseEventID("MTE2_V", event)
        core.Adds(t, t, 1.0)
        event = core.FetchEventID("V_MTE3")
        core.SetFlag("V_MTE3", event)
        core.WaitFlag("V_MTE3", event)
        core.DataCopy(out, t)

    assert run_on(flags, a, out).findings == []
    assert np.array_equal(out, a + 1) and seen == [(True, 0, False, True)]


def test_scalar_access_to_global_memory():
    a, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)

    def scalars(core, a, out):
        out[3] = a[5] + a.GetValue(2)
        core.DataCacheCleanAndInvalid(out)

    run_on(scalars, a, out)
    assert out.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]


def test_tensors_know_what_they_are():
    def describe(core, a):
        assert (a.shape, a.size, a.ndim, a.nbytes, a.itemsize, len(a), a.GetSize()) == ((4, 8), 32, 2, 64, 2, 4, 32) and a.dtype == np.float16
        assert a[1:3].shape == (2, 8) and a[2].shape == (8,) and a[1:3, 2:5].shape == (2, 3) and a.reshape(-1)[-8:].shape == (8,)
        t = core.TQue("VECIN", num=1, length=64).AllocTensor(a.dtype)
        assert t.shape == (32,) and t.dtype == np.float16 and t[4:10].size == 6 and t[-4:].size == 4 and t.reshape(4, -1)[1].shape == (8,)
        assert t.view(np.int8).size == 64 and t.nbytes == 64 and "float16" in repr(t) and "a" in repr(a)
        assert t.numpy().shape == (32,) and (core.block, core.blocks) == (0, 1)

    with pytest.raises(hp.KernelError, match="LEAK"):
        run_on(describe, np.zeros((4, 8), np.float16))
