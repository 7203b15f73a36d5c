"""The softmax family against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from adv_programs import Faults, Program, cpp

INF, NAN = np.inf, np.nan
TOL = {"float32": dict(rtol=1e-6, atol=1e-7), "float16": dict(rtol=1e-3, atol=1e-6)}


def brc(v, dtype) -> np.ndarray:
    """One value per row as blocks of equal lanes."""
    return np.repeat(np.asarray(v, np.float64).astype(dtype)[:, None], 32 // np.dtype(dtype).itemsize, 1)


def rows(dtype, m, k, seed=0):
    return (np.random.default_rng(seed).normal(size=(m, k)) * 3).astype(dtype)


def edges(dtype, k=64):
    x = rows(dtype, 8, k, 5)
    x[0] = 0
    x[1, ::2] = -0.0
    x[2, 3] = -INF
    x[3] = -INF
    x[4, 5] = INF
    x[5, 7] = NAN
    x[6] *= 1000
    x[7] = np.float32(60000)
    return x


def softmax(x):
    x = np.asarray(x, np.float64)
    with np.errstate(invalid="ignore"):
        m = x.max(-1)
        e = np.exp(x - m[:, None])
    return e / e.sum(-1)[:, None], e.sum(-1), m


def same(got, want, dtype):
    np.testing.assert_allclose(np.asarray(got, np.float64).reshape(np.shape(want)), np.asarray(want).astype(dtype).astype(np.float64), **TOL[dtype])


def to_nz(x):
    m, k = x.shape
    return np.ascontiguousarray(x.reshape(m, k // 16, 16).transpose(1, 0, 2)).reshape(-1)


def from_nz(x, m, k):
    return x.reshape(k // 16, m, 16).transpose(1, 0, 2).reshape(m, k)


def test_values():
    p, wanted = Program(globals="constexpr SoftmaxConfig kFixed = {true, 8, 64};\nconstexpr SoftmaxConfig kBare = {true, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};"), []

    def add(code, ins, outs, expect, tiling=("SoftMax", (8, 64), "float32"), **options):
        p.call(cpp(hp.host.tiling(*tiling, **options)) + " " + code, ins, outs)
        wanted.append(expect)

    for t in ("float32", "float16"):
        c, lanes, x = ("float", 8, edges("float32")) if t == "float32" else ("half", 16, edges("float16"))
        y, s, m = softmax(x)
        out = {"y": (t, 512), "s": (t, 8 * lanes), "m": (t, 8 * lanes)}
        til = ("SoftMax", (8, 64), t)
        add(f"SoftMax<{c}>(y, s, m, x, tmp, tiling, {{8, 64, 8, 64}});", {"x": x}, out, {"y": y, "s": brc(s, t), "m": brc(m, t)}, til)
        wide = rows(t, 8, 128, 1)
        add(f"SoftMax<{c}, false, true>(x, s, m, x, tiling, {{8, 128, 8, 128}});", {"x": wide}, {"y": "x", "s": (t, 8 * lanes), "m": (t, 8 * lanes)},
            {"y": softmax(wide)[0]}, ("SoftMax", (8, 128), t))
        add(f"SoftMax<{c}>(y, x, tmp, tiling, {{8, 64, 8, 64}});", {"x": x}, {"y": (t, 512)}, {"y": y}, til)
        add(f"SoftMax<{c}, false, false, kFixed>(y, x, tiling);", {"x": x}, {"y": (t, 512)}, {"y": y}, til)
        add(f"SimpleSoftMax<{c}>(y, s, m, x, tmp, tiling, {{8, 64, 8, 64}});", {"x": rows(t, 8, 64, 2), "s": brc(np.arange(1, 9), t), "m": brc(np.arange(8), t)}, {"y": (t, 512)},
            {"y": np.exp(rows(t, 8, 64, 2).astype(np.float64) - np.arange(8)[:, None]) / np.arange(1, 9)[:, None]}, ("SimpleSoftMax", (8, 64), t))
        g, x = rows(t, 8, 64, 3), rows(t, 8, 64, 4)
        d = (g.astype(np.float64) * x).sum(1)
        for name in ("SoftmaxGradFront", "SoftmaxGrad"):
            add(f"{name}<{c}>(y, g, x, tmp, tiling, {'true, ' if name == 'SoftmaxGrad' else ''}{{8, 64, 8, 64}});", {"x": x, "g": g}, {"y": (t, 8 * lanes)}, {"y": brc(d, t)}, ("SoftmaxGrad", (8, 64), t))
        add(f"SoftmaxGrad<{c}>(x, g, x, tiling, false, {{8, 64, 8, 64}});", {"x": x, "g": g}, {"y": "x"}, {"y": (g - d[:, None]) * x.astype(np.float64)}, ("SoftmaxGrad", (8, 64), t))
        x = rows(t, 8, 64, 6)
        y, s, m = softmax(x)
        add(f"LogSoftMax<{c}>(y, s, m, x, tmp, tiling, {{8, 64, 8, 64}});", {"x": x}, out, {"y": np.log10(y), "s": brc(s, t), "m": brc(m, t)}, ("LogSoftMax", (8, 64), t))
        # padding: rows of 64 of which 50 count, 5 rows of 8
        add(f"SoftMax<{c}>(y, s, m, x, tmp, tiling, {{8, 64, 5, 50}});", {"x": x}, {"y": (t, 512), "s": (t, 8 * lanes), "m": (t, 8 * lanes)}, {"padded": softmax(x[:5, :50])}, til)
        # fractals
        z = rows(t, 16, 48, 7)
        add(f"SoftMax<{c}, false, false, true>(y, s, m, x, tmp, tiling, {{16, 48, 16, 48}});", {"x": to_nz(z)}, {"y": (t, 768), "s": (t, 16 * lanes), "m": (t, 16 * lanes)},
            {"nz": softmax(z)}, ("SoftMax", (16, 48), t))
        add(f"SoftMax<{c}, false, false, true>(x, s, m, x, tmp, tiling, {{16, 48, 13, 40}});", {"x": to_nz(z)}, {"y": "x", "s": (t, 16 * lanes), "m": (t, 16 * lanes)},
            {"nz_part": softmax(z[:13, :40])}, ("SoftMax", (16, 48), t))
    x = rows("float16", 8, 64, 8)
    y, s, m = softmax(x)
    add("SoftMax<half>(y, s, m, x, tmp, tiling, {8, 64, 8, 64});", {"x": x}, {"y": ("float16", 512), "s": ("float32", 64), "m": ("float32", 64)}, {"y": y, "s": brc(s, "float32"), "m": brc(m, "float32")})
    add("SimpleSoftMax<half>(y, s, m, x, tiling, {8, 64, 8, 64});", {"x": x, "s": brc(s, "float32"), "m": brc(m, "float32")}, {"y": ("float16", 512)}, {"y": y})
    run, got = p.run()
    # the row of an infinite maximum and the padded program store what is not data: nothing else may be said
    assert all(f.code == "UNINITIALISED_READ" and "padding" in f.message for f in run.findings if f.severity != "note"), [f.message for f in run.findings]
    for g, w in zip(got, wanted):
        t = g["y"].dtype.name
        if "nz" in w:
            same(from_nz(g["y"], 16, 48), w["nz"][0], t)
            same(g["s"], brc(w["nz"][1], t), t)
        elif "nz_part" in w:
            same(from_nz(g["y"], 16, 48)[:13, :40], w["nz_part"][0], t)
        elif "padded" in w:
            same(g["y"].reshape(8, 64)[:5, :50], w["padded"][0], t)
            same(g["s"].reshape(8, -1)[:5], brc(w["padded"][1], t), t)
        else:
            for name, want in w.items():
                same(g[name], want, g[name].dtype.name)


def test_row_of_logarithms():
    """0, ln 2, ln 2, 0 gives 1/6, 1/3, 1/3, 1/6 with sum 3."""
    p = Program()
    x = np.tile(np.log([1, 2, 2, 1]), 2).astype(np.float32)
    p.call(cpp(hp.host.tiling("SoftMax", (1, 8), "float32")) + " SoftMax<float>(y, s, m, x, tmp, tiling, {1, 8, 1, 4});", {"x": x}, {"y": ("float32", 4), "s": ("float32", 8), "m": ("float32", 8)})
    _, [got] = p.run()
    np.testing.assert_allclose(got["y"], [1 / 6, 1 / 3, 1 / 3, 1 / 6], rtol=1e-6)
    np.testing.assert_allclose(got["s"], 3, rtol=1e-6)
    np.testing.assert_allclose(got["m"], 0.6931, atol=1e-4)


def flash(t, stat, form, x1, x2):
    """Two pieces of the columns, joined."""
    m1, m2 = x1.max(1), np.maximum(x1.max(1), x2.max(1))
    e1, e2 = np.exp(x1 - m1[:, None]), np.exp(x2 - m2[:, None])
    c = np.exp(m1 - m2)
    s1, s2 = e1.sum(1), c * e1.sum(1) + e2.sum(1)
    if form == "SoftmaxFlash":
        return {"y1": e1 / s1[:, None], "y2": e2 / s2[:, None], "e": brc(c * s1 / s2, t), "s2": brc(s2, stat), "m2": brc(m2, stat)}
    return {"y1": e1, "y2": e2, "e": brc(c, t), "s2": brc(s2, stat), "m2": brc(m2, stat)}


def test_flash():
    p, wanted = Program(globals="constexpr SoftmaxConfig kBare = {true, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};"), []
    for t, stat in (("float32", "float32"), ("float16", "float16"), ("float16", "float32")):
        c, lanes, elanes = ("half" if t == "float16" else "float"), (8 if stat == "float32" else 16), (8 if t == "float32" else 16)
        a, b = rows(t, 8, 128, 1), rows(t, 8, 128, 2)
        out = {"y1": (t, 1024), "y2": (t, 1024), "s1": (stat, 8 * lanes), "m1": (stat, 8 * lanes), "s2": (stat, 8 * lanes), "m2": (stat, 8 * lanes), "e": (t, 8 * elanes)}
        til = cpp(hp.host.tiling("SoftmaxFlashV2", (8, 128), t, stat_dtype=stat, update=True))
        p.call(f"{til} SoftmaxFlash<{c}>(y1, s1, m1, a, e, s1, m1, tmp, tiling, false, {{8, 128, 8, 128}}); SoftmaxFlash<{c}>(y2, s2, m2, b, e, s1, m1, tmp, tiling, true, {{8, 128, 8, 128}});",
               {"a": a, "b": b}, out)
        wanted.append(flash(t, stat, "SoftmaxFlash", a.astype(np.float64), b.astype(np.float64)))
        p.call(f"{til} SoftmaxFlashV2<{c}, false>(y1, s1, m1, a, e, s1, m1, tmp, tiling, {{8, 128, 8, 128}}); SoftmaxFlashV2<{c}, true, false, true>(y2, s1, m1, b, e, s1, m1, tiling, {{8, 128, 8, 128}});"
               " DataCopy(s2, s1, s2.GetSize()); DataCopy(m2, m1, m2.GetSize());", {"a": a, "b": b}, out)     # in place
        wanted.append(flash(t, stat, "SoftmaxFlashV2", a.astype(np.float64), b.astype(np.float64)))
    a, b = rows("float32", 8, 64, 3), rows("float32", 8, 64, 4)
    p.call(cpp(hp.host.tiling("SoftmaxFlashV2", (8, 64), "float32", update=True)) +
           " SoftmaxFlashV2<float, false, false, false, false, kBare>(y1, s1, m1, a, e, s1, m1, tmp, tiling, {8, 64, 8, 64});"
           " SoftmaxFlashV2<float, true, false, false, false, kBare>(y2, r, s2, m2, b, e, s1, m1, tmp, tiling, {8, 64, 8, 64});",
           {"a": a, "b": b}, {"y1": ("float32", 512), "y2": ("float32", 512), "s1": ("float32", 8), "m1": ("float32", 8), "s2": ("float32", 8), "m2": ("float32", 8), "e": ("float32", 8), "r": ("float32", 8)})
    w = {k: (v[:, 0] if v.shape[1] == 8 else v) for k, v in flash("float32", "float32", "SoftmaxFlashV2", a.astype(np.float64), b.astype(np.float64)).items()}
    wanted.append({**w, "r": b.max(1)})
    run, got = p.run()
    assert not [f.message for f in run.findings if f.severity != "note"]
    for g, w in zip(got, wanted):
        for name, want in w.items():
            same(g[name], want, g[name].dtype.name)


def test_flash_v3():
    p = Program()
    a, b = rows("float16", 8, 512, 1), rows("float16", 8, 512, 2)
    out = {"y1": ("float16", 4096), "y2": ("float16", 4096), "e": ("float16", 128), **{n: ("float32", 64) for n in ("n1", "s1", "m1", "n2", "s2", "m2")}}
    p.call(cpp(hp.host.tiling("SoftmaxFlashV3", (8, 512), "float16", 16384, stat_dtype="float32")) +
           " SoftmaxFlashV3<half, float>(y1, n1, s1, m1, a, e, n1, s1, m1, tmp, tiling, {8, 512, 8, 512, 1, 8, 0.9375f});"
           " SoftmaxFlashV3<half, float, true>(y2, n2, s2, m2, b, e, n1, s1, m1, tmp, tiling, {8, 512, 8, 512, 2, 8, 0.9375f});", {"a": a, "b": b}, out)
    run, [got] = p.run()
    assert not [f.message for f in run.findings if f.severity != "note"]
    s = 0.9375 / (1 - 0.9375)

    def shifted(x):
        x = x.astype(np.float64)
        g, parts = x.mean(1), np.repeat(x.reshape(8, 8, 64).mean(2), 64, 1)
        return x - (g[:, None] - parts) * s, g
    x1, g1 = shifted(a)
    x2, g2 = shifted(b)
    m1 = x1.max(1)
    y1 = np.exp(x1 - m1[:, None])
    mean = (g2 + g1) / 2
    c, q = (g2 - mean) * s, (g1 - mean) * s
    m2 = np.maximum(c + x2.max(1), q + m1)
    y2, e = np.exp(x2 - (m2 - c)[:, None]), np.exp(m1 - m2 + q)
    for name, want in {"y1": y1, "n1": brc(g1, "float32"), "m1": brc(m1, "float32"), "s1": brc(y1.sum(1), "float32"), "n2": brc(mean, "float32"), "m2": brc(m2, "float32"),
                       "s2": brc(e * y1.sum(1) + y2.sum(1), "float32")}.items():
        np.testing.assert_allclose(got[name].reshape(want.shape).astype(np.float64), want, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(got["y2"].reshape(8, 512).astype(np.float64), y2, rtol=3e-3, atol=1e-4)
    np.testing.assert_allclose(got["e"].reshape(8, 16)[:, 0].astype(np.float64), e, rtol=3e-3, atol=1e-4)


def test_adjust():
    p = Program()
    lowest = np.array([-np.finfo(np.float32).max], np.float32)
    m = brc([1, 2, 3, 4], "float32")
    m[1] = m[3] = lowest
    x = rows("float16", 4, 32, 1)
    flag = "PipeBarrier<PIPE_ALL>(); f.SetValue(0, hit ? 1 : 0);"
    p.call("bool hit = AdjustSoftMaxRes<half, float>(x, m, 0xFF7FFFFF, (half)0.25, {4, 32, 4, 32}); " + flag, {"x": x, "m": m}, {"x": "x", "f": ("int32", 1)})
    p.call("bool hit = AdjustSoftMaxRes<half, float, false, 1>(x, m, 0xFF7FFFFF, (half)0.25, {4, 32, 4, 32}); " + flag, {"x": x, "m": np.array([0, 1, lowest[0], 3, 0, 0, 0, 0], np.float32)},
           {"x": "x", "f": ("int32", 1)})
    p.call("bool hit = AdjustSoftMaxRes<half, float>(x, m, 0xFF7FFFFF, (half)0.25, {4, 32, 4, 32}); " + flag, {"x": x, "m": brc([1, 2, 3, 4], "float32")}, {"x": "x", "f": ("int32", 1)})
    mh = brc([1] * 16, "float16")
    mh[3] = np.float16(-65504)
    z = rows("float16", 16, 32, 2)
    p.call("bool hit = AdjustSoftMaxRes<half, half, true>(x, m, 0xFF7FFBFF, (half)-1, {16, 32, 16, 32}); " + flag, {"x": to_nz(z), "m": mh}, {"x": "x", "f": ("int32", 1)})
    run, got = p.run()
    assert not [f.message for f in run.findings if f.severity != "note"]
    want = x.copy()
    want[[1, 3]] = 0.25
    np.testing.assert_array_equal(got[0]["x"].reshape(4, 32), want)
    want = x.copy()
    want[2] = 0.25
    np.testing.assert_array_equal(got[1]["x"].reshape(4, 32), want)
    np.testing.assert_array_equal(got[2]["x"].reshape(4, 32), x)
    z[3] = -1
    np.testing.assert_array_equal(from_nz(got[3]["x"], 16, 32), z)
    assert [g["f"][0] for g in got] == [1, 1, 0, 1]


SETUP = """
    auto x = arena.GetWithOffset<float>(1024, 0), y = arena.GetWithOffset<float>(1024, 4096), s = arena.GetWithOffset<float>(128, 8192), m = arena.GetWithOffset<float>(128, 9216);
    auto e = arena.GetWithOffset<float>(128, 10240), never = arena.GetWithOffset<float>(1024, 12288), small = arena.GetWithOffset<float>(64, 11264);
    auto tmp = arena.GetWithOffset<uint8_t>(32768, 16384);
    auto l1 = elsewhere.Get<float>();
    Duplicate(x, 1.0f, 1024); Duplicate(s, 1.0f, 128); Duplicate(m, 1.0f, 128); Duplicate(e, 1.0f, 128); Duplicate(y, 1.0f, 1024);
    constexpr SoftMaxTiling t = SoftMaxFlashV2TilingFunc({16, 64, 16, 64}, 4, 4, 65536);
    constexpr SoftMaxTiling poor = SoftMaxFlashV2TilingFunc({16, 64, 16, 64}, 4, 4, 64);
    constexpr SoftMaxTiling none{};
    constexpr SoftMaxShapeInfo full{16, 64, 16, 64};
"""


def test_checks():
    faults = Faults(SETUP, [
        ("SoftMax<float>(y, s, m, x, tmp, t, full);", None),
        ("SoftMax<float>(y, s, m, x, t, full);", None),
        ("uint32_t d[2] = {16, 64}; x.SetShapeInfo(ShapeInfo(2, d)); SoftMax<float>(y, s, m, x, tmp, t);", None),
        ("SoftMax<float>(y, s, m, x, tmp, t);", "warning BAD_PARAMETER", "shape unknown", "pass SoftMaxShapeInfo"),
        ("SoftMax<float>(y, s, m, x, tmp, none);", "error BAD_PARAMETER", "neither"),
        ("SoftMax<float>(y, s, m, x, tmp, poor, full);", "error BAD_PARAMETER", "localWorkSpaceSize"),
        ("SoftMax<float, false, false, false, kTrust>(y, s, m, x, tmp, t, {8, 64, 8, 64});", "warning BAD_PARAMETER", "isCheckTiling"),
        ("SoftMax<float>(y, s, m, l1, tmp, t, full);", "error WRONG_POSITION", "operand must be a UB tensor (VECIN/VECCALC/VECOUT)"),
        ("SoftMax<float>(y, s, m, x[4], tmp, t, {8, 64, 8, 64});", "error MISALIGNED", "start address of src is not 32-byte aligned"),
        ("SoftMax<float>(y, s, m, x, tmp, t, {16, 128, 16, 128});", "error OUT_OF_BOUNDS", "exceeds tensor size 1024"),
        ("SoftMax<float>(y, s, m, x, tmp, t, {16, 61, 16, 61});", "error BAD_PARAMETER", "last dimension 61*4 must be a multiple of 32", "DataCopyPad"),
        ("SoftMax<float>(y, s, m, x, tmp, t, {16, 64, 16, 65});", "error BAD_PARAMETER", "valid part"),
        ("SoftMax<float>(y, small, m, x, tmp, t, full);", "error OUT_OF_BOUNDS", "sum has 256 bytes, needs 512"),
        ("SoftMax<float>(y, s, m, x, tmp[32768 - 320], t, full);", "warning BAD_PARAMETER", "sharedTmpBuffer has 320 bytes, needs at least 576", "GetSoftMaxMinTmpSize"),
        ("SoftMax<float>(y, s, m, x, x.ReinterpretCast<uint8_t>(), t, full);", "error OVERLAP", "sharedTmpBuffer overlaps src"),
        ("SoftMax<float>(x, s, m, x, tmp, t, full);", None),
        ("SoftMax<float>(x[64], s, m, x, tmp, t, {8, 64, 8, 64});", "error OVERLAP", "source and destination overlap"),
        ("SoftMax<float>(y, s, s, x, tmp, t, full);", "error OVERLAP", "sum and max overlap"),
        ("LogSoftMax<float>(x, s, m, x, tmp, kLog, full);", "warning OVERLAP", "use separate buffers"),
        ("SoftMax<float>(y, s, m, never, tmp, t, full);", "error UNINITIALISED_READ"),
        ("SoftMax<float, false, true>(y, s, m, x, tmp, t, full);", None),
        ("SoftMax<float, false, true>(y, s, m, x, tmp, t, {4, 64, 4, 64});", "error BAD_PARAMETER", "isBasicBlock=true needs K multiple of 64 in [64, 2048) and M multiple of 8"),
        ("SoftMax<float, false, true>(y, s, m, x, tmp, t, {16, 64, 16, 63});", "error BAD_PARAMETER", "without padding"),
        ("SoftMax<float, false, false, true>(y, s, m, x, tmp, t, {8, 64, 8, 64});", "error BAD_PARAMETER", "multiple of 16"),
        ("SoftmaxFlashV2<float, true>(y, s, m, x, e, never, m, tmp, t, full);", "error UNINITIALISED_READ"),
        ("SoftmaxFlashV2<float, true>(y, s, m, x, e, s, m, tmp, t, full);", None),
        ("m.SetValue(9, 5.0f); SoftmaxFlashV2<float, true>(y, s, m, x, e, s, m, tmp, t, full);", "warning BAD_PARAMETER", "inMax row 1: the 8 lanes differ", "32-byte block"),
        ("SoftmaxFlashV2<float, true>(y, e, s, m, x, e, s, m, tmp, t, full);", "error BAD_PARAMETER", "SOFTMAX_OUTPUT_WITHOUT_BRC"),
        ("SoftMax<float, false, false, false, kBare>(y, s, m, x, tmp, t, full);", "error BAD_PARAMETER", "SoftmaxFlashV2 only"),
        ("SoftMax<float>(y, s, m, x, tmp, t, full); Add(y, tmp.ReinterpretCast<float>(), y, 64); ReduceSum(y, y, never, 64);", "error UNINITIALISED_READ"),
        ("SoftMax<float>(y, s, m, x, tmp, t, {16, 64, 16, 50}); GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)in); PipeBarrier<PIPE_ALL>(); DataCopy(g, y, 64);", "warning UNINITIALISED_READ", "padding"),
        ("SetVectorMask<float>(0, 15); SoftMax<float>(y, s, m, x, tmp, t, full); Adds<float, false>(y, y, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});", "warning BAD_PARAMETER", "mask"),
        ("ResetMask(); SoftMax<float>(y, s, m, x, tmp, t, full); Adds<float, false>(y, y, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});", None),
        ("AdjustSoftMaxRes<float, float>(y, small, 0xFF7FFFFF, 0.0f, full);", "error OUT_OF_BOUNDS", "needs 512 for 16 rows"),
        ("pipe.InitBuffer(rest, 65536 - 256); SoftMax<float>(y, s, m, x, t, full);", "warning UB_OVERFLOW", "bytes of UB are unallocated, needs 576 for its own workspace"),
    ], globals="constexpr SoftmaxConfig kBare = {true, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};\nconstexpr SoftmaxConfig kTrust = {false};\nconstexpr LogSoftMaxTiling kLog{16, 64, 0, 0, 0, 0, 1};")
    faults.check_all()
    differ = next(i for i, case in enumerate(faults.cases) if "lanes differ" in case[-2])
    assert faults.kernel.launch(1, (faults.data, differ), checks="off").findings == []      # nobody compares the lanes then


def test_wrong_type():
    with pytest.raises(hp.CompileError) as e:
        hp.compile('#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR a) { LocalTensor<int32_t> x; SoftMax<int32_t>(x, x, SoftMaxTiling{}); }')
    assert "SoftMax: this element type is not supported on Atlas A2 (supported: half, float)." in str(e.value) and "Cast first" in str(e.value)


def test_host_sizes():
    """Bytes of a row: 4 * (c * K + 80)."""
    assert hp.host.tmp_size("SoftMax", (16, 256), "float32") == (4 * (256 + 80), 16 * 4 * (256 + 80))
    assert hp.host.tmp_size("SoftMax", (16, 256), "float16").min == 4 * (2 * 256 + 80)
    assert hp.host.tmp_size("SoftmaxFlashV2", (16, 256), "float32").min == 4 * (2 * 256 + 80)
    assert hp.host.tmp_size("SoftmaxFlashV2", (16, 256), "float16", stat_dtype="float32", update=True).min == 4 * (4 * 256 + 80)
    assert hp.host.tmp_size("SoftmaxGrad", (16, 256), "float16").min == 4 * (3 * 256 + 80)
    t = hp.host.tiling("SoftMax", (2, 8, 256), "float32", 12 * 4 * 336)
    assert (t.srcM, t.srcK, t.splitM, t.rangeM, t.tailM, t.outMaxK, t.splitSize) == (16, 256, 8, 2, 0, 8, 2048)
    t = hp.host.tiling("SoftMax", (16, 256), "float32", 5 * 4 * 336)
    assert (t.splitM, t.rangeM, t.tailM, t.tailSplitSize) == (5, 3, 1, 256)
    with pytest.raises(hp.host.HostError, match="at least 1344 B"):
        hp.host.tiling("SoftMax", (16, 256), "float32", 1000)
    with pytest.raises(hp.host.HostError, match="multiple of 32"):
        hp.host.tmp_size("SoftMax", (16, 7), "float32")
    with pytest.raises(hp.host.HostError, match="Did you mean SoftMax"):
        hp.host.tmp_size("Softmax", (16, 8), "float32")
    with pytest.raises(hp.host.HostError, match="no option"):
        hp.host.tmp_size("SoftMax", (16, 8), "float32", update=True)
