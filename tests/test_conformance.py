"""The conformance run: every call works on the twin, a device that differs is described, open points get their verdict."""
import dataclasses

import numpy as np
import pytest

import helpers as hp
from helpers import npu_probe
from helpers.conformance import __main__ as command
from helpers.conformance.cases import FAMILIES, Call, N, values
from helpers.conformance.compare import Outcome, ulps
from helpers.conformance.points import points
from helpers.conformance.report import markdown
from helpers.conformance.run import Target, outcomes

LABELS = [c.label for f in FAMILIES for c in f.calls]


@pytest.fixture(scope="module")
def twin():
    return Target("host")


@pytest.fixture(scope="module")
def everything(twin):
    return list(outcomes(twin=twin))


def result(twin, label):
    family = next(f for f in FAMILIES if any(c.label == label for c in f.calls))
    number = [c.label for c in family.calls].index(label)
    x, y, _ = family.arrays()
    return x, y, twin(family, number)[0]


def test_every_call_runs_on_the_twin(everything):
    assert {(o.label, o.error) for o in everything if o.verdict != "twin only"} == set()
    assert len(everything) == len(LABELS) == len(set(LABELS)) > 300
    assert all(o.twin.size == N and o.twin_us > 0 for o in everything)


def test_every_call_changes_its_output(everything):
    """A call that left z as it was would agree with any device that did nothing."""
    idle = {o.label for o in everything if (o.twin == 1).all()}
    assert idle == set()


def test_what_the_open_points_say_of_the_twin_is_so(twin):
    assert np.isinf(result(twin, "half scalar product overflows")[2][0])
    x, _, z = result(twin, "Cast float to int32_t CAST_RINT")
    assert np.isnan(x[6]) and z[6] == 0 and z[4] == 2**31 - 1 and z[5] == -2**31
    x, _, z = result(twin, "Cast half to int16_t CAST_RINT")
    assert np.isinf(x[4]) and (z[4], z[5], z[16]) == (32767, -32768, 32767)
    assert np.signbit(result(twin, "Cast float to float CAST_TRUNC")[2][[1, 12]]).sum() == 0
    x, y, z = result(twin, "Max float")
    np.testing.assert_array_equal(np.isnan(z), np.isnan(x) | np.isnan(y))
    assert result(twin, "ShiftRight int32_t by 32")[2][:4].tolist() == [0, 0, 0, -1]
    x, y, z = result(twin, "Mul int16_t")
    np.testing.assert_array_equal(z, (x.astype(np.int64) * y).astype(np.int16))
    x, _, z = result(twin, "ReduceMax with index over NaN float")
    assert np.isnan(z[0]) and z[1:2].view(np.uint32)[0] == 6
    assert np.isnan(result(twin, "Sort32 with NaN float")[2][0])
    x, _, z = result(twin, "DataCopyPad short rows")
    assert (z[5:8] == x[0]).all() and (z[13:16] == x[8]).all()
    x, _, z = result(twin, "atomic add int32_t overflows")
    assert x[2] == 2**31 - 1 and z[2] == -2**31
    x, y, z = result(twin, "Mmad half with NaN behind k")
    np.testing.assert_array_equal(z.reshape(16, 16), x.reshape(16, 16)[:, :9].astype(np.float64) @ y.reshape(16, 16)[:, :9].T.astype(np.float64))
    x, y, z = result(twin, "Mmad half")
    np.testing.assert_allclose(z.reshape(16, 16), x.reshape(16, 16).astype(np.float64) @ y.reshape(16, 16).T.astype(np.float64), rtol=1e-4, atol=1e-3)
    x, y, z = result(twin, "MulAddDst half")
    with np.errstate(all="ignore"):
        expected = x * y + np.float16(1)
    np.testing.assert_array_equal(z, expected)
    assert not np.signbit(result(twin, "Relu float")[2][1]) and np.signbit(result(twin, "LeakyRelu float")[2][1])


def first(twin, label, count=1):
    return result(twin, label)[2][:count].tolist()


def bits(z):
    return z.view(np.uint32)


def test_what_the_points_of_the_core_say_is_so(twin):
    assert first(twin, "macros of the vector core") == [15] and first(twin, "kernel type nobody wrote", 3) == [11, 11, 11]
    assert first(twin, "GetUBSizeInBytes") == [196608] and first(twin, "GetArchVersion") == [0x220]
    assert first(twin, "type of half and float", 2) == [4, 2] and first(twin, "SetBufferLen") == [64 // 4]
    assert first(twin, "LocalMemAllocator of UB", 3) == [32, 32 + 64, 10] and first(twin, "GroupBarrier workspace") == [512 * 6]
    x, _, z = result(twin, "float scalar to int")
    with np.errstate(invalid="ignore"):
        clamped = np.clip(np.rint(np.nan_to_num(x[:24].astype(np.float64), nan=0.0)), -2**31, 2**31 - 1)
    np.testing.assert_array_equal(z[:24], clamped)
    np.testing.assert_array_equal(result(twin, "SetValue to GM without a clean")[2][:32], np.arange(100, 132))
    x, _, z = result(twin, "Mmad on a vector core")
    np.testing.assert_array_equal(z, x)
    x, y, z = result(twin, "Duplicate on a cube core")
    np.testing.assert_array_equal(z.reshape(16, 16), square(x) @ square(y).T)


def test_what_the_points_of_the_vector_core_say_is_so(twin):
    x, _, z = result(twin, "DataCopyPad after SetPadValue")
    assert (z[5:8] == 5).all() and z[8] == x[8]
    x, y, z = result(twin, "Compare to the register, half a repeat")
    assert bits(z)[:2].tolist() == [np.packbits((x < y)[:32], bitorder="little").view(np.uint32)[0], 0]
    x, _, z = result(twin, "GetReduceMaxMinCount")
    assert z[16] == x.max() and bits(z)[17] == x.argmax() > 64
    x, _, z = result(twin, "GatherMask of 300 repeats")
    np.testing.assert_array_equal(z[:240], np.tile(x[[0, 2, 4, 6]], 60))
    assert z[255] == 300 * 4 and first(twin, "ReduceSum of 4100 repeats") == [4100 * 64]
    for label in ("ReduceSum read at once", "DataSyncBarrier SEQ"):
        z = result(twin, label)[2]
        assert z[8] == z[0] != 1
    x, _, z = result(twin, "Sort32 from a start of 32 B")
    np.testing.assert_array_equal(z[:64:2], -np.sort(-x[8:40]))
    assert np.isnan(first(twin, "Sort with NaN")[0])
    x, _, z = result(twin, "Cast half to int4b_t")
    wide = np.clip(np.rint(x.astype(np.float32)), -8, 7).astype(int) & 15
    np.testing.assert_array_equal(z[:128].view(np.uint8), wide[0::2] | wide[1::2] << 4)
    x, _, z = result(twin, "CastDeq int16_t to int8_t")
    np.testing.assert_array_equal(z[:8], np.clip(np.rint(x[:8] * 0.5 + 1), -128, 127))
    assert first(twin, "MrgSort counts", 4) == [77] * 4
    x, _, z = result(twin, "Muls beyond 65504 half")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(z, x * np.float16(1000))
    assert np.isinf(z).any()


def test_what_the_points_of_the_library_say_is_so(twin):
    for ctype in ("half", "float"):
        z = result(twin, f"Tanh of 5 elements {ctype}")[2]
        assert (z[5:] == 1).all() and (z[:5] != 1).any()
    for op in ("ClampMax", "ClampMin"):
        x, _, z = result(twin, f"{op} of NaN float")
        np.testing.assert_array_equal(np.isnan(z), np.isnan(x))
    x, _, z = result(twin, "Power of a negative base float")
    np.testing.assert_array_equal(np.isnan(z), np.isnan(x))
    x, y, z = result(twin, "Power float")
    assert np.isnan(z[(x < 0) & np.isfinite(x) & np.isfinite(y) & (y != np.rint(y))]).all()
    x, _, z = result(twin, "Power int32_t overflows")
    np.testing.assert_array_equal(z, x * x * x)
    x, _, z = result(twin, "Power int32_t of a negative exponent")
    np.testing.assert_array_equal(z[np.abs(x) > 1], 0)
    x, _, z = result(twin, "SoftMax float in NZ")
    e = np.exp(square(x))
    np.testing.assert_allclose(z.reshape(16, 16), e / e.sum(axis=1, keepdims=True), rtol=1e-6)
    x, _, z = result(twin, "SoftMax half")
    e = np.exp(x.reshape(8, 32).astype(np.float64) - x.reshape(8, 32).max(axis=1, keepdims=True))
    np.testing.assert_array_equal(z, (e / e.sum(axis=1, keepdims=True)).astype(np.float16).ravel())
    x, _, z = result(twin, "DropOut half keeps everything")
    np.testing.assert_array_equal(z, x)
    x, _, z = result(twin, "DropOut float of bits")
    np.testing.assert_array_equal(z[:16], np.where([1, 1, 1] + 5 * [0] + [1] + 7 * [0], x[:16] * 2, 0))
    x, _, z = result(twin, "AscendQuant float")
    assert np.isnan(x).any() and (z[np.isnan(x)] == 0).all()
    x, _, z = result(twin, "AscendDequant to float by count")
    np.testing.assert_array_equal(z[:64], x[:64].astype(np.float32) * np.float32(0.3))


def square(x):
    return x.reshape(16, 16).astype(np.float64)


def test_what_the_points_of_the_cube_say_is_so(twin):
    def product(label):
        x, y, z = result(twin, label)
        return square(x), square(y), z.reshape(16, 16)
    for label in ("Mmad half with a bias and cmatrixInitVal", "bias table, two blocks without a gap", "bias table, one block of 64 B of half"):
        a, b, z = product(label)
        at = 32 if "two" in label else 16 if "one" in label else 0
        np.testing.assert_array_equal(z, a @ b.T + b.ravel()[at:at + 16])
    a, b, z = product("DataCopyPad to L1")
    rows = np.zeros((16, 16))
    rows[:, :10] = b[:, :10]
    np.testing.assert_array_equal(z, rows @ b.T)
    a, b, z = product("LoadData of windows side by side")
    np.testing.assert_array_equal(z, b @ b.T)
    assert set(result(twin, "Mmad int8_t overflows")[2].tolist()) == {2**31 - 1} and set(result(twin, "Mmad int8_t")[2].tolist()) == {127 * 127 * 32}
    plain, shifted = result(twin, "Fixpipe int32_t to half")[2], result(twin, "Fixpipe int32_t to half with a shift")[2]
    assert np.abs(plain.astype(np.float64) / 16 - shifted).max() < 0.01
    x, y, z = result(twin, "Mmad float")
    a, b = x[:128].reshape(16, 8).astype(np.float64), y[:128].reshape(16, 8).astype(np.float64)
    np.testing.assert_array_equal(z.reshape(16, 16), (a @ b.T).astype(np.float32))
    for label, bump in (("Mmad float HF32 ties to even", "even"), ("Mmad float HF32 nearest zero", "away")):
        x, y, z = result(twin, label)
        def cut(v):
            u = bits(v[:128]).astype(np.uint64)
            u = u + (0x7FF + (u >> 12 & 1) if bump == "even" else 0x800) & 0xFFFFF000
            return u.astype(np.uint32).view(np.float32).reshape(16, 8).astype(np.float64)
        np.testing.assert_array_equal(z.reshape(16, 16), (cut(x) @ cut(y).T).astype(np.float32))
    z = result(twin, "Fixpipe float in saturation mode")[2]
    np.testing.assert_array_equal(z, result(twin, "Mmad float of NaN and infinity")[2])
    assert np.isnan(z).any() and np.isinf(z).any()
    a, b, z = product("Fixpipe to int8_t of one 16 wide column")
    np.testing.assert_array_equal(z, np.clip(np.rint((a @ b.T).astype(np.float32) * 0.5), -128, 127))
    a, b, z = product("Matmul half, bias switched off")
    np.testing.assert_array_equal(z, a @ b)
    a, b, z = product("Matmul half of no rows, then of 5")
    np.testing.assert_array_equal(z, np.vstack([(a @ b)[:5], np.ones((11, 16))]))
    x, y, z = result(twin, "GetTensorC to UB, second of two tiles")
    tile = x[:128].reshape(16, 8)[:8].astype(np.float64) @ y.reshape(8, 32)[:, 16:].astype(np.float64)
    np.testing.assert_array_equal(z, np.concatenate([tile.ravel(), np.ones(128)]))
    x, y, z = result(twin, "IterateBatch of 4 by 2")
    np.testing.assert_array_equal(z[:128].reshape(4, 4, 8), x.reshape(4, 4, 16).astype(np.float64) @ y.reshape(2, 16, 8).astype(np.float64).repeat(2, axis=0))
    for ratio in ("1:1", "1:2"):
        a, b, z = product(f"CrossCoreSetFlag {ratio}, 16 round trips")
        np.testing.assert_array_equal(z, a @ b.T + 1)


def test_messages_and_uneven_starts_take_time(everything):
    us = {o.label: o.twin_us for o in everything}
    assert us["CrossCoreSetFlag 1:2, 16 round trips"] > us["CrossCoreSetFlag 1:2"] + 16 * 0.1
    assert us["copies from 32 B behind"] > us["copies from multiples of 512 B"]


def test_a_family_that_is_refused_does_not_take_its_unit_along(monkeypatch):
    from helpers.conformance import run as runs
    good = next(f for f in FAMILIES if f.name == "half_copies")
    bad = dataclasses.replace(good, name="refused", calls=(Call("nothing the compiler knows", "NoSuchCall(d);"),))
    monkeypatch.setattr(runs, "FAMILIES", (good, bad))
    found = {o.label: o for o in outcomes()}
    assert found["atomic add half"].error == "" and "NoSuchCall" in found["nothing the compiler knows"].error


def test_open_points_have_a_probe_or_say_how():
    for p in points():
        assert p.question.endswith("?") or p.question.endswith("."), p.name
        assert p.twin and set(p.probes) <= set(LABELS), (p.name, set(p.probes) - set(LABELS))
        assert bool(p.probes) != bool(p.settle), p.name
    assert len(points()) > 100 and sum(bool(p.probes) for p in points()) > 70


def test_inputs_hold_the_edges_and_are_the_same_every_time():
    x = values("float", "special", 1)
    assert np.isnan(x).any() and np.isinf(x).any() and (np.abs(x) < np.finfo(np.float32).tiny).any() and np.signbit(x[1])
    np.testing.assert_array_equal(x, values("float", "special", 1))
    assert np.isfinite(values("half", "plain", 1)).all() and len(set(values("float", "ordered", 1).tolist())) == N


# ---- a device that differs
def off_by_one(twin):
    """A device whose Exp is one ulp higher, whose Cast to int keeps NaN as the largest number, and that refuses Ln."""
    def run(family, number):
        z, us = twin(family, number)
        label = family.calls[number].label
        if label == "Exp float":
            z = z.copy()
            z[2:3] = np.nextafter(z[2:3], np.float32(np.inf))
        if label == "Cast float to int32_t CAST_RINT":
            z = z.copy()
            z[6] = 2**31 - 1
        if label == "Ln float":
            raise hp.KernelError("The launch failed on the device.", [hp.Finding("CRASH", "error", None, "launch returned 507035", "")])
        return z, us * 2
    return run


def test_differences_are_described_and_points_settled(twin):
    found = list(outcomes("*float*", off_by_one(twin), twin))
    by_label = {o.label: o for o in found}
    assert by_label["Exp float"].verdict == "differs" and by_label["Exp float"].words.startswith("1 of 256 elements; element 2:") and by_label["Exp float"].words.endswith("at most 1 ulp apart")
    assert by_label["Cast float to int32_t CAST_RINT"].different.tolist() == [6]
    assert by_label["Ln float"].verdict == "failed" and "507035" in by_label["Ln float"].error
    assert by_label["Abs float"].verdict == "equal" and by_label["Abs float"].words == ""
    text = markdown(found, "Ascend910B3")
    assert "Device: Ascend910B3." in text and "2 differs" in text and "1 failed" in text and "| Abs float |" in text and "| 0.50 |" in text
    assert "the twin is wrong: Cast float to int32_t CAST_RINT" in text and "a probe failed: Ln float" in text
    assert "| DataCopyPad without padding values: what stands" in text and "settled: the twin agrees" in text and "by hand: GroupNorm of (1, 4, 3, 3)" in text


def test_nan_with_other_bits_is_a_difference():
    a, b = np.array([np.nan, 1.0], np.float32), np.array([np.nan, 1.0], np.float32)
    b.view(np.uint32)[0] |= 1
    assert Outcome("f", "l", a, a.copy()).verdict == "equal"
    assert "NaN or infinity" in Outcome("f", "l", a, b).words
    assert ulps(np.array([-0.0], np.float16), np.array([0.0], np.float16)).tolist() == [0]
    assert ulps(np.array([1.0], np.float32), np.array([1.0 + 2**-22], np.float32)).tolist() == [2]


# ---- the command
def test_without_a_device_the_report_says_twin_only(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(npu_probe, "DEVICE", (str(tmp_path / "none*"),))
    assert command.main(["--only", "Abs*", "--output", str(tmp_path / "r.md")]) == 0
    text = (tmp_path / "r.md").read_text()
    assert "Device: twin only." in text and "nothing in this report is measured" in text and "## Time" not in text and "open (twin only)" not in text
    assert "2 calls: 2 twin only." in capsys.readouterr().out
    assert command.main(["--target", "both"]) == 2 and "needs a device and CANN: no Ascend device" in capsys.readouterr().err
    assert command.main(["--only", "Nothing*"]) == 2
    assert command.main(["--only", "Max half", "--target", "host"]) == 0 and "open (twin only)" in capsys.readouterr().out
