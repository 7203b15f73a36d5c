"""Normalisations against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from adv_programs import CPP, Faults, Program, cpp

TOL = {"float32": dict(rtol=2e-6, atol=2e-6), "float16": dict(rtol=2e-3, atol=1e-3)}
TYPES = ["float32", "float16"]
EPS = 0.001


def rand(t, *shape, seed=0, scale=2.0):
    return (np.random.default_rng(seed + len(shape)).normal(size=shape) * scale + 0.5).astype(t)


def f64(*arrays):
    return [np.asarray(a).astype(np.float64) for a in arrays]


def eps(t):
    return float(np.asarray(EPS).astype(t))


def rms(x, g, e):
    return g * x / np.sqrt((x * x).mean(-1, keepdims=True) + e)


def layer(x, g, b, e):
    m, v = x.mean(-1), x.var(-1)
    return g * (x - m[..., None]) / np.sqrt(v + e)[..., None] + b, m, v


def check(run, got, wanted, allow_padding=False):
    bad = [f.message for f in run.findings if f.severity != "note" and not (allow_padding and f.code == "UNINITIALISED_READ" and "padding" in f.message)]
    assert not bad, bad
    for i, (g, w) in enumerate(zip(got, wanted)):
        for name, want in w.items():
            t = g[name].dtype.name
            np.testing.assert_allclose(g[name].astype(np.float64).reshape(-1)[:np.size(want)].reshape(np.shape(want)), want, err_msg=f"call {i} {name}", **TOL[t])


@pytest.mark.parametrize("t", TYPES)
def test_rms_norm(t):
    p, wanted, c, e = Program(tmp=16384), [], CPP[t], eps(t)
    x, g = rand(t, 8, 64), rand(t, 64, seed=1)
    x[2], x[3, 0] = 0, np.inf
    x[4] *= 100
    til = cpp(hp.host.tiling("RmsNorm", (2, 4, 64), t))
    with np.errstate(invalid="ignore"):
        y = rms(*f64(x, g), e)
    for code, outs in ((f"RmsNorm<{c}>(y, x, g, tmp, ({c}){EPS}, tiling);", {"y": (t, 512)}), (f"RmsNorm<{c}, true>(y, x, g, ({c}){EPS}, tiling);", {"y": (t, 512)}),
                       (f"RmsNorm<{c}>(x, x, g, tmp, ({c}){EPS}, tiling);", {"y": "x"})):
        p.call(f"{til} {code}", {"x": x, "g": g}, outs)
        wanted.append({"y": y})
    run, got = p.run()
    check(run, got, wanted)
    q = Program(tmp=16384)                       # rows of 64 of which 50 count; the padding of x is not looked at
    q.call(f"{cpp(hp.host.tiling('RmsNorm', (2, 4, 64), t, valid=50))} RmsNorm<{c}>(y, x, g, tmp, ({c}){EPS}, tiling);", {"x": rand(t, 8, 64, seed=4), "g": g}, {"y": (t, 512)})
    run, [got] = q.run()
    check(run, [{"y": got["y"].reshape(8, 64)[:, :50]}], [{"y": rms(*f64(rand(t, 8, 64, seed=4)[:, :50], g[:50]), e)}], allow_padding=True)
    assert any("padding" in f.message for f in run.findings)


@pytest.mark.parametrize("t", TYPES)
def test_layer_norm(t):
    p, wanted, c, e = Program(tmp=32768), [], CPP[t], eps(t)
    x, g, b = rand(t, 8, 64), rand(t, 64, seed=1), rand(t, 64, seed=2)
    x[2] = 3
    y, m, v = layer(*f64(x, g, b), e)
    til, stats = cpp(hp.host.tiling("LayerNorm", (2, 4, 64), t)), {"m": (t, 8), "v": (t, 8)}
    for code, outs in ((f"LayerNorm<{c}>(y, m, v, x, g, b, tmp, ({c}){EPS}, tiling);", {"y": (t, 512)}), (f"LayerNorm<{c}, true>(y, m, v, x, g, b, ({c}){EPS}, tiling);", {"y": (t, 512)}),
                       (f"LayerNorm<{c}>(x, m, v, x, g, b, tmp, ({c}){EPS}, tiling);", {"y": "x"})):
        p.call(f"{til} {code}", {"x": x, "g": g, "b": b}, {**outs, **stats})
        wanted.append({"y": y, "m": m, "v": v})
    # A-R: rows of 64 of which 60 count, statistics in float
    til = cpp(hp.host.tiling("LayerNorm", (8, 64), t))
    gf, bf = g.astype(np.float32), b.astype(np.float32)
    for config, gg, bb in (("LNCFG_NORM", gf, bf), ("kNoBeta", gf, 0 * bf), ("kNeither", 0 * gf + 1, 0 * bf)):
        y, m, v = layer(*f64(x[:, :60], gg[:60], bb[:60]), float(np.float32(EPS)))
        empty = config == "kNeither"
        p.call(f"{til} LocalTensor<float> none; LayerNorm<float, {c}, false, {config}>(y, m, v, x, {'none' if empty else 'g'}, {'b' if config == 'LNCFG_NORM' else 'none'}, {EPS}f, {'tmp, ' if not empty else ''}"
               "{8, 60, 64}, tiling);", {"x": x, "g": gf, "b": bf}, {"y": (t, 512), "m": ("float32", 8), "v": ("float32", 8)})
        wanted.append({"ar": (y, m, 1 / np.sqrt(v + EPS))})
    p.globals = "constexpr LayerNormConfig kNoBeta = {true, false, false}, kNeither = {true, true, false};"
    run, got = p.run()
    for g_, w in zip(got[3:], wanted[3:]):
        y, m, r = w.pop("ar")
        g_["y"] = np.ascontiguousarray(g_["y"].reshape(8, 64)[:, :60])
        w.update(y=y, m=m, v=r)
    check(run, got, wanted, allow_padding=True)


@pytest.mark.parametrize("t", TYPES)
def test_deep_norm_and_normalize(t):
    p, wanted, c, e = Program(tmp=32768, globals="constexpr NormalizeConfig kA = {ReducePattern::AR, 8, false, false, false};"), [], CPP[t], eps(t)
    x, gx, g, b = rand(t, 8, 64), rand(t, 8, 64, seed=3), rand(t, 64, seed=1), rand(t, 64, seed=2)
    z = 0.5 * f64(x)[0] + f64(gx)[0]
    y, m, v = layer(z, *f64(g, b), e)
    til, ins, stats = cpp(hp.host.tiling("DeepNorm", (2, 4, 64), t)), {"x": x, "gx": gx, "g": g, "b": b}, {"m": (t, 8), "v": (t, 8)}
    p.call(f"{til} DeepNorm<{c}>(y, m, v, x, gx, b, g, tmp, ({c})0.5, ({c}){EPS}, tiling);", ins, {"y": (t, 512), **stats})
    p.call(f"{til} DeepNorm<{c}, true, true>(x, m, v, x, gx, b, g, ({c})0.5, ({c}){EPS}, tiling);", ins, {"y": "x", **stats})
    wanted += [{"y": y, "m": m, "v": v}] * 2
    gf, bf = g.astype(np.float32), b.astype(np.float32)
    m, v = rand("float32", 8), np.abs(rand("float32", 8, seed=9))
    for config, gg, bb, tmp in (("NLCFG_NORM", gf, bf, "tmp, "), ("NLCFG_NOGAMMA", 1, bf, ""), ("NLCFG_NOBETA", gf, 0, "tmp, "), ("NLCFG_NOOPT", 1, 0, ""), ("kA", gf, bf, "tmp, ")):
        rstd = 1 / np.sqrt(f64(v)[0] + EPS)
        p.call(f"Normalize<float, {c}, false, {config}>(y, r, m, v, x, g, b, {tmp}{EPS}f, {{8, 64, 64}});", {"x": x, "m": m, "v": v, "g": gf, "b": bf}, {"y": (t, 512), "r": ("float32", 8)})
        wanted.append({"y": (f64(x)[0] - m[:, None]) * rstd[:, None] * gg + bb, "r": rstd})
    check(*p.run(), wanted)


@pytest.mark.parametrize("t", TYPES)
def test_batch_and_group_norm(t):
    p, wanted, c, e = Program(tmp=32768), [], CPP[t], eps(t)
    x, g, b = rand(t, 16, 2, 32), rand(t, 16, seed=1), rand(t, 16, seed=2)
    xs, gs, bs = f64(x, g, b)
    m, v = xs.mean(0), xs.var(0)
    y = gs[:, None, None] * (xs - m) / np.sqrt(v + e) + bs[:, None, None]
    til, ins, stats = cpp(hp.host.tiling("BatchNorm", (16, 2, 32), t)), {"x": x, "g": g, "b": b}, {"m": (t, 64), "v": (t, 64)}
    p.call(f"{til} BatchNorm<{c}>(y, m, v, x, g, b, tmp, ({c}){EPS}, tiling);", ins, {"y": (t, 1024), **stats})
    p.call(f"{til} BatchNorm<{c}, false, true>(x, m, v, x, g, b, ({c}){EPS}, tiling);", ins, {"y": "x", **stats})
    wanted += [{"y": y, "m": m, "v": v}] * 2
    x = rand(t, 2, 6, 4, 8, seed=5)
    g, b = rand(t, 6, seed=1), rand(t, 6, seed=2)
    xs, gs, bs = f64(x, g, b)
    grouped = xs.reshape(2, 3, -1)
    m, v = grouped.mean(-1), grouped.var(-1)
    y = ((grouped - m[..., None]) / np.sqrt(v + e)[..., None]).reshape(x.shape) * gs[:, None, None] + bs[:, None, None]
    til = cpp(hp.host.tiling("GroupNorm", (2, 6, 4, 8), t, groups=3))
    for tmp in ("tmp, ", ""):
        p.call(f"{til} GroupNorm<{c}>(y, m, v, x, g, b, {tmp}({c}){EPS}, tiling);", {"x": x, "g": g, "b": b}, {"y": (t, 384), "m": (t, 6), "v": (t, 6)})
        wanted.append({"y": y, "m": m, "v": v})
    check(*p.run(), wanted)


@pytest.mark.parametrize("t", TYPES)
def test_gradients(t):
    p, wanted, c, e = Program(tmp=49152), [], CPP[t], eps(t)
    x, dy, g = rand(t, 8, 64, scale=1), rand(t, 8, 64, seed=3, scale=1), rand(t, 64, seed=1, scale=1)
    xs, ds, gs = f64(x, dy, g)
    m, v = xs.mean(1).astype(t), xs.var(1).astype(t)
    ms, vs = f64(m, v)
    r = 1 / np.sqrt(vs + e)
    c0 = xs - ms[:, None]
    res, q = c0 * r[:, None], ds * gs
    # the textbook form: r * (q - mean q - res * mean(q * res)), with the mean of c that the rounded mean leaves behind
    dx = r[:, None] * (q - q.mean(1, keepdims=True) - res * (q * res).mean(1, keepdims=True)) + (r**3 * (q * c0).mean(1) * c0.mean(1))[:, None]
    til, ins = cpp(hp.host.tiling("LayerNormGrad", (2, 4, 64), t)), {"x": x, "dy": dy, "g": g, "m": m, "v": v}
    p.call(f"{til} LayerNormGrad<{c}>(px, res, dy, x, v, m, g, tmp, ({c}){EPS}, tiling, {{DataFormat::ND}});", ins, {"px": (t, 512), "res": (t, 512)})
    p.call(f"{til} LayerNormGrad<{c}>(dy, x, dy, x, v, m, g, ({c}){EPS}, tiling);", ins, {"px": "dy", "res": "x"})
    wanted += [{"px": dx, "res": res}] * 2
    til = cpp(hp.host.tiling("LayerNormGradBeta", (2, 4, 64), t))
    res = rand(t, 8, 64, seed=7, scale=1)
    for code, outs in ((f"LayerNormGradBeta<{c}>(pg, pb, res, dy, tmp, tiling);", {"pg": (t, 64), "pb": (t, 64)}), (f"LayerNormGradBeta<{c}>(pg, pb, res, dy, tiling);", {"pg": (t, 64), "pb": (t, 64)})):
        p.call(f"{til} {code}", {"res": res, "dy": dy}, outs)
        wanted.append({"pg": (f64(res)[0] * ds).sum(0), "pb": ds.sum(0)})
    check(*p.run(), wanted)


@pytest.mark.parametrize("t", TYPES)
def test_welford(t):
    """Three rows of 64 lanes, one at a time, then joined: the mean and variance of all of them."""
    p, c = Program(tmp=16384, globals="constexpr WelfordUpdateConfig kCopy = {true};"), CPP[t]
    x = rand(t, 3, 64)
    code = "Duplicate(m, 0.0f, 64); Duplicate(v, 0.0f, 64);"
    for i in range(3):
        code += f" WelfordUpdate<{c}, float>(m2, v2, m, v, x[{64 * i}], {'tmp, ' if i else ''}{{1, 64, 64, {1 / (i + 1)!r}f}}); DataCopy(m, m2, 64); DataCopy(v, v2, 64);"
    third = "tmp, {3, 64, 0, 64, 0, 0, 1.0f / 64, 1.0f / 192, 0}"
    p.call(f"{code} WelfordFinalize(a, b, m, v, {third});", {"x": x}, {"m": ("float32", 64), "v": ("float32", 64), "m2": ("float32", 64), "v2": ("float32", 64), "a": ("float32", 1), "b": ("float32", 1)})
    rng = np.random.default_rng(3)
    m, v, n = rng.normal(size=16).astype(np.float32), np.abs(rng.normal(size=16)).astype(np.float32), np.array([4] * 10 + [3] * 6, np.int32)
    for counts in ("", "n, "):
        p.call(f"WelfordFinalize(a, b, m, v, {counts}{{0, 16, 4, 10, 3, 6, 1.0f / 16, 1.0f / 58, 0}});", {"m": m, "v": v, "n": n}, {"a": ("float32", 1), "b": ("float32", 1)})
    part = {"x": x[0], "m": np.full(64, 1, np.float32), "v": np.full(64, 2, np.float32), "o": np.full(64, 7, np.float32), "q": np.full(64, 7, np.float32)}
    p.call(f"WelfordUpdate<{c}, float>(o, q, m, v, x, tmp, {{1, 64, 40, 0.5f}});", part, {"o": "o", "q": "q"})
    p.call(f"WelfordUpdate<{c}, float, false, kCopy>(o, q, m, v, x, tmp, {{1, 64, 40, 0.5f}});", part, {"o": "o", "q": "q"})
    run, got = p.run()
    xs, ms, vs = f64(x, m, v)
    mean = (n * ms).sum() / 58
    wanted = [{"m": xs.mean(0), "v": xs.var(0) * 3, "a": [xs.mean()], "b": [xs.var()]}] + [{"a": [mean], "b": [(vs.sum() + (n * (ms - mean) ** 2).sum()) / 58]}] * 2
    d = xs[0, :40] - 1
    first = {"o": 1 + d * 0.5, "q": 2 + d * d * 0.5}
    wanted += [{k: np.append(a, np.full(24, rest)) for (k, a), rest in zip(first.items(), tail)} for tail in ((7, 7), (1, 2))]
    check(run, got, wanted)


SETUP = """
    auto x = arena.GetWithOffset<float>(1024, 0), y = arena.GetWithOffset<float>(1024, 4096), g = arena.GetWithOffset<float>(128, 8192), b = arena.GetWithOffset<float>(128, 9216);
    auto m = arena.GetWithOffset<float>(64, 10240), v = arena.GetWithOffset<float>(64, 10752), never = arena.GetWithOffset<float>(1024, 12288), z = arena.GetWithOffset<float>(1024, 16384);
    auto tmp = arena.GetWithOffset<uint8_t>(65536, 32768);
    auto n = m.ReinterpretCast<int32_t>();
    GlobalTensor<float> out; out.SetGlobalBuffer((__gm__ float*)in);
    Duplicate(x, 1.0f, 1024); Duplicate(z, 0.0f, 1024); Duplicate(g, 1.0f, 128); Duplicate(b, 1.0f, 128); Duplicate(m, 1.0f, 64); Duplicate(v, 1.0f, 64);
    RmsNormTiling r{}; r.bLength = 2; r.sLength = 4; r.hLength = r.originalHLength = 64; RmsNormTiling nothing{}, large = r, odd = r, few = r; large.sLength = 8 * 1024; odd.hLength = 61; few.originalHLength = 80;
    RmsNormTiling half_row = r, three = r; half_row.originalHLength = 50; three.sLength = 3; three.bLength = 1; RmsNormTiling wide = r; wide.sLength = 16;
    LayerNormTiling l{}; l.bLength = 2; l.sLength = 4; l.hLength = l.originalHLength = 64; LayerNormTiling lp = l; lp.originalHLength = 50;
    DeepNormTiling d{}; d.bLength = 2; d.sLength = 4; d.hLength = d.originalHLength = 64; DeepNormTiling long_ = d; long_.bLength = long_.sLength = 1; long_.hLength = long_.originalHLength = 2048;
    LayerNormSeparateTiling s{}; s.aLength = 4; s.rLength = 64;
    BatchNormTiling bn{}; bn.originalBLength = 16; bn.meanVarSize = 64; BatchNormTiling b3 = bn; b3.originalBLength = 3;
    GroupNormTiling gn{}; gn.n = 1; gn.c = 6; gn.hw = 32; gn.g = 3; gn.d = 2; GroupNormTiling gn4 = gn; gn4.g = 4; GroupNormTiling gn5 = gn; gn5.hw = 33;
"""


def test_checks():
    Faults(SETUP, [
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, r);", None),
        ("RmsNorm<float, true>(y, x, g, 1e-5f, r);", None),
        ("RmsNorm<float>(x, x, g, tmp, 1e-5f, r);", None),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, nothing);", "error BAD_PARAMETER", "the tiling has no shape: 0 x 0 x 0"),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, large);", "error OUT_OF_BOUNDS", "tiling shape B*S*H = 1048576"),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, wide);", "error OUT_OF_BOUNDS", "tiling shape B*S*H = 2048 exceeds tensor size 1024"),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, odd);", "error BAD_PARAMETER", "64 valid elements in a row of 61"),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, few);", "error BAD_PARAMETER", "80 valid elements in a row of 64"),
        ("odd.originalHLength = 50; RmsNorm<float>(y, x, g, tmp, 1e-5f, odd);", "error BAD_PARAMETER", "last dimension 61*4 must be a multiple of 32", "DataCopyPad"),
        ("RmsNorm<float, true>(y, x, g, tmp, 1e-5f, three);", "error BAD_PARAMETER", "isBasicBlock=true needs H multiple of 64"),
        ("RmsNorm<float>(g, x[512], g, tmp, 1e-5f, three);", "error OUT_OF_BOUNDS"),
        ("RmsNorm<float>(x, x[512], x, tmp, 1e-5f, r);", "error OVERLAP", "source and destination overlap"),
        ("RmsNorm<float>(x[8], x, g, tmp, 1e-5f, r);", "error OVERLAP"),
        ("RmsNorm<float>(y, never, g, tmp, 1e-5f, r);", "error UNINITIALISED_READ"),
        ("Duplicate(never, 1.0f, 50); three.sLength = 1; three.originalHLength = 50; RmsNorm<float>(y, never, g, tmp, 1e-5f, three);", None),
        ("RmsNorm<float>(y, x, g, tmp[65536 - 256], 1e-5f, r);", "warning BAD_PARAMETER", "needs at least 320", "GetRmsNormMaxMinTmpSize"),
        ("RmsNorm<float>(y, x, g[1], tmp, 1e-5f, r);", "error MISALIGNED", "gamma"),
        ("RmsNorm<float>(y, x, g, tmp, 1e-5f, half_row); PipeBarrier<PIPE_ALL>(); DataCopy(out, y, 64);", "warning UNINITIALISED_READ"),
        ("LayerNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, l);", None),
        ("LayerNorm<float>(x, m, v, x, g, b, tmp, 1e-5f, l);", None),
        ("LayerNorm<float>(y, m, v, z, g, b, tmp, 1e-5f, lp);", None),
        ("LayerNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, lp);", "warning BAD_PARAMETER", "inputX row 0 has 1 at column 50, which is padding", "with 0"),
        ("LayerNorm<float>(y, m, m, x, g, b, tmp, 1e-5f, l);", "error OVERLAP", "outputMean and outputVariance overlap"),
        ("LayerNorm<float>(y, m[60], v, x, g, b, tmp, 1e-5f, l);", "error MISALIGNED"),
        ("LayerNorm<float>(y, m[56], v, x, g, b, tmp, 1e-5f, l);", None),
        ("LayerNorm<float, true>(y, m, v, x, g, b, tmp, 1e-5f, l); PipeBarrier<PIPE_ALL>(); DataCopy(out, x, 64);", "error UNINITIALISED_READ"),
        ("LayerNorm<float, true>(x, m, v, x, g, b, tmp, 1e-5f, l); PipeBarrier<PIPE_ALL>(); DataCopy(out, x, 64);", None),
        ("LayerNorm<float, float>(y, m, v, x, g, b, 1e-5f, tmp, {4, 60, 64}, s);", None),
        ("LayerNorm<float, float>(y, m, v, x, g, b, 1e-5f, tmp, {8, 60, 64}, s);", "error BAD_PARAMETER", "para.aLength 8 is larger than the 4"),
        ("LayerNorm<float, float>(x, m, v, x, g, b, 1e-5f, tmp, {4, 64, 64}, s);", "error OVERLAP"),
        ("DeepNorm<float>(y, m, v, x, z, b, g, tmp, 0.5f, 1e-5f, d);", None),
        ("DeepNorm<float>(x, m, v, x, z, b, g, tmp, 0.5f, 1e-5f, d);", "warning OVERLAP"),
        ("DeepNorm<float, true>(x, m, v, x, z, b, g, tmp, 0.5f, 1e-5f, d);", None),
        ("DeepNorm<float>(y, m, v, x, z, b, g, tmp, 0.5f, 1e-5f, long_);", "error BAD_PARAMETER", "at most 2040"),
        ("BatchNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, bn);", None),
        ("BatchNorm<float, false, true>(y, m, v, x, g, b, tmp, 1e-5f, b3);", "error BAD_PARAMETER", "B multiple of 8"),
        ("GroupNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, gn);", None),
        ("GroupNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, gn4);", "error BAD_PARAMETER", "6 channels cannot be split into 4 groups"),
        ("GroupNorm<float>(y, m, v, x, g, b, tmp, 1e-5f, gn5);", "error BAD_PARAMETER", "last dimension 33*4"),
        ("Normalize<float, float>(y, b, m, v, x, g, g[64], tmp, 1e-5f, {8, 64, 64});", None),
        ("Normalize<float, float, false, kEight>(y, b, m, v, x, g, g[64], tmp, 1e-5f, {4, 64, 64});", "error BAD_PARAMETER", "config.aLength is 8, para.aLength is 4"),
        ("Normalize<float, float>(y, b, never, v, x, g, g, tmp, 1e-5f, {8, 64, 64});", "error UNINITIALISED_READ"),
        ("WelfordUpdate<float, float>(y, z, m, v, x, tmp, {1, 64, 64, 1.0f});", None),
        ("WelfordUpdate<float, float>(m, z, m, v, x, tmp, {1, 64, 64, 1.0f});", "warning OVERLAP"),
        ("WelfordUpdate<float, float>(y, z, m, v, x, tmp, {1, 64, 0, 1.0f});", "error BAD_PARAMETER", "abComputeLength is 0"),
        ("WelfordUpdate<float, float>(y, z, m, v, x, tmp, {1, 61, 60, 1.0f});", "error BAD_PARAMETER", "last dimension 61*4"),
        ("WelfordFinalize(y, z, m, v, tmp, {1, 64, 0, 64, 0, 0, 1, 1, 1});", None),
        ("WelfordFinalize(y, z, m, v, tmp, {1, 60, 0, 60, 0, 0, 1, 1, 1});", "error BAD_PARAMETER", "multiple of 8"),
        ("WelfordFinalize(y, z, m, v, tmp, {1, 64, 2, 32, 1, 16, 1, 1, 1});", "error BAD_PARAMETER", "32 + tailCountLength 16 is not abLength 64"),
        ("WelfordFinalize(y, z, m, v, tmp, {1, 64, 2, 32, 0, 32, 1, 1, 1});", "error BAD_PARAMETER", "tailCount is 0"),
        ("WelfordFinalize(y, z, m, v, tmp, {1, 64, 0, 64, 0, 0, 1, 1, 1}); PipeBarrier<PIPE_ALL>(); DataCopy(out, y, 8);", "error UNINITIALISED_READ"),
    ], globals="constexpr NormalizeConfig kEight = {ReducePattern::AR, 8, false, false, false};").check_all()


def test_host_sizes():
    size = hp.host.tmp_size
    assert size("RmsNorm", (2, 4, 64), "float32") == (4 * (64 + 16), 4 * (8 * 64 + 8))
    assert size("RmsNorm", (2, 5, 64), "float16") == (4 * (2 * 64 + 16), 4 * (2 * 10 * 64 + 16))
    assert size("LayerNorm", (2, 4, 64), "float32").min == 4 * (3 * 64 + 16 + 16)
    assert size("LayerNorm", (2, 4, 64), "float32", reuse=True).min == 4 * (2 * 64 + 16 + 16)
    assert size("WelfordUpdate", (1, 1024), "float16") == (768, 12288)
    assert size("WelfordFinalize", 1024, "float32") == (256, 12288)
    t = hp.host.tiling("RmsNorm", (3, 4, 64), "float32", 4 * (5 * 64 + 16), valid=60)
    assert (t.bLength, t.sLength, t.hLength, t.originalHLength, t.mainBsLength, t.loopRound, t.tailBsLength, t.inputTailPos) == (3, 4, 64, 60, 5, 2, 2, 640)
    assert t.reciprocalOfHLength == np.float32(1 / 60)
    assert type(hp.host.tiling("LayerNorm", (8, 64), "float16")).__name__ == "LayerNormSeparateTiling"
    g = hp.host.tiling("GroupNorm", (2, 6, 4, 8), "float16", groups=3)
    assert (g.n, g.c, g.hw, g.g, g.d, g.factor) == (2, 6, 32, 3, 2, np.float32(1 / 64))
    b = hp.host.tiling("BatchNorm", (16, 2, 32), "float32", valid=14)
    assert (b.originalBLength, b.meanVarSize, b.firstDimValueBack) == (14, 64, np.float32(1 / 14))
    for call, text in ((lambda: hp.host.tiling("RmsNorm", (2, 4, 64), "float32", 100), "at least 320 B"), (lambda: size("RmsNorm", (4, 64), "float32"), "3 axes"),
                       (lambda: size("LayerNorm", (2, 4, 62), "float16"), "multiple of 32"), (lambda: size("GroupNorm", (2, 6, 4, 8), "float16", groups=4), "6 channels"),
                       (lambda: size("DeepNorm", (1, 1, 2048), "float16"), "2040"), (lambda: size("RmsNorm", (2, 4, 64), "float32", valid=65), "outside 1..64"),
                       (lambda: hp.host.tiling("Normalize", (8, 64), "float32"), "no tiling struct")):
        with pytest.raises(hp.host.HostError, match=text):
            call()


def test_tiling_inside_a_tiling():
    """A struct of the kernel's own that holds one of the library, filled in Python, read in the kernel."""
    text = """#include "kernel_operator.h"
using namespace AscendC;
BEGIN_TILING_DATA_DEF(Mine)
    TILING_DATA_FIELD_DEF(uint32_t, rows);
    TILING_DATA_FIELD_DEF_STRUCT(RmsNormTiling, norm);
END_TILING_DATA_DEF;
extern "C" __global__ __aicore__ void k(GM_ADDR xAddr, GM_ADDR yAddr, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Mine, t, tiling);
    GlobalTensor<float> x, y;
    x.SetGlobalBuffer((__gm__ float*)xAddr);
    y.SetGlobalBuffer((__gm__ float*)yAddr);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<> g;
    pipe.InitBuffer(in, 1, t.rows * 256);
    pipe.InitBuffer(out, 1, t.rows * 256);
    pipe.InitBuffer(g, 256);
    auto gamma = g.Get<float>();
    Duplicate(gamma, 2.0f, 64);
    auto a = in.AllocTensor<float>();
    DataCopy(a, x, t.rows * 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    RmsNorm<float>(b, a, gamma, 0.001f, t.norm);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(y, b, t.rows * 64);
    out.FreeTensor(b);
}
"""
    Mine = hp.tiling_struct(text, "Mine")
    t = Mine(rows=8, norm=hp.host.tiling("RmsNorm", (1, 8, 64), "float32"))
    x, y = rand("float32", 8, 64), np.zeros((8, 64), np.float32)
    run = hp.compile(text)[1](x, y, t)
    assert not [f for f in run.findings if f.severity != "note"]
    np.testing.assert_allclose(y, rms(*f64(x), 2, 0.001), rtol=1e-5)
