"""BroadCast, Pad, UnPad, ConfusionTranspose, TopK, DropOut, SelectWithBytesMask against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from adv_kernels import complaints, run
from kernel_text import assert_clean, assert_finds, kernel

TYPES = {"float": np.float32, "half": np.float16, "int8_t": np.int8, "uint8_t": np.uint8, "int32_t": np.int32, "int16_t": np.int16}


@pytest.mark.parametrize("t", ["float", "half", "int8_t", "uint8_t"])
def test_broadcast(t):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 100, (6, 1024)).astype(TYPES[t])
    calls = [f"uint32_t to[2] = {{9, 7}}, from[2] = {{9, 1}}; BroadCast<{t}, 2, 1>(d, s, to, from);",
             f"uint32_t to[2] = {{9, 7}}, from[2] = {{9, 1}}; Broadcast<{t}, 2, 1>(d, s, to, from, tmp);",
             f"const uint32_t to[2] = {{5, 32}}, from[2] = {{1, 32}}; BroadCast<{t}, 2, 0>(d, s, to, from, tmp);",
             f"const uint32_t to[1] = {{77}}, from[1] = {{1}}; BroadCast<{t}, 1, 0>(d, s, to, from);",
             f"const uint32_t to[2] = {{4, 8}}, from[2] = {{4, 8}}; BroadCast<{t}, 2, 1>(d, s, to, from, tmp);",
             f"const uint32_t to[2] = {{3, 64}}, from[2] = {{3, 1}}; BroadCast<{t}, 2, 1, true>(d, s, to, from, tmp);"]
    y, r = run(t, calls, x, y=np.full_like(x, 101))
    want = [np.repeat(x[0, :9], 7), np.repeat(x[1, :9], 7), np.tile(x[2, :32], 5), np.full(77, x[3, 0]), x[4, :32], np.repeat(x[5, :3], 64)]
    for got, w in zip(y, want):
        assert np.array_equal(got[: len(w)], w) and np.all(got[len(w):] == 101)
    assert complaints(r) == []


@pytest.mark.parametrize("t", ["float", "half", "int32_t", "int16_t"])
def test_pad_and_unpad(t):
    dtype = TYPES[t]
    x = np.random.default_rng(2).integers(0, 50, (4, 16 * 32)).astype(dtype)
    fill = "PadTiling g; g.srcHeight = 16; g.srcWidth = {w}; g.srcOriWidth = {o}; PadParams p{{{l}, {r}, 7}}; "
    calls = [fill.format(w=11, o=11, l=2, r=3) + "Pad(d, s, p, tmp, g);", fill.format(w=32, o=29, l=0, r=3) + "Pad(d, s, p, g);",
             "UnPadTiling g; g.srcHeight = 16; g.srcWidth = 32; UnPadParams p{0, 5}; UnPad(d, s, p, tmp, g);",
             "UnPadTiling g; g.srcHeight = 2; g.srcWidth = 16; UnPadParams p{0, 1}; UnPad(d, s, p, g);"]
    y, _ = run(t, calls, x, y=np.full_like(x, 99))
    rows = x[0, : 16 * 11].reshape(16, 11)
    assert np.array_equal(y[0, : 16 * 16].reshape(16, 16), np.pad(rows, ((0, 0), (2, 3)), constant_values=7))
    want = x[1].reshape(16, 32).copy()
    want[:, 29:] = 7
    assert np.array_equal(y[1].reshape(16, 32), want)
    assert np.array_equal(y[2, : 16 * 27], x[2].reshape(16, 32)[:, :27].ravel()) and np.all(y[2, 16 * 27:] == 99)
    assert np.array_equal(y[3, :30], x[3, :32].reshape(2, 16)[:, :15].ravel())


def to_nz(m: np.ndarray) -> np.ndarray:
    """NZ of a matrix whose sides are multiples of 16."""
    rows, cols = m.shape
    return m.reshape(rows, cols // 16, 16).transpose(1, 0, 2).ravel()


@pytest.mark.parametrize("t", ["half", "float"])
def test_confusion_transpose(t):
    B, N, S, D = 2, 16, 16, 16
    H = N * D
    full = np.random.default_rng(3).permutation(B * N * S * D).astype(np.float32)
    full = (full % 2048).astype(TYPES[t])
    q = full.reshape(B, N, S, D)
    heads = np.concatenate([to_nz(q[b, n]) for b in range(B) for n in range(N)])
    whole = q.transpose(0, 2, 1, 3).reshape(B, S, H)
    nz_whole = np.concatenate([to_nz(m) for m in whole])
    out = {1: q.transpose(0, 2, 1, 3).ravel(), 2: np.concatenate([to_nz(q[b, :, s]) for b in range(B) for s in range(S)]), 3: heads, 4: q.ravel(), 5: whole.ravel(), 6: nz_whole,
           7: full[: 32 * 48].reshape(32, 48).T.ravel()}
    source = {1: heads, 2: heads, 3: nz_whole, 4: nz_whole, 5: heads, 6: heads, 7: full}
    names = ["", "NZ2ND_0213", "NZ2NZ_0213", "NZ2NZ_012_WITH_N", "NZ2ND_012_WITH_N", "NZ2ND_012_WITHOUT_N", "NZ2NZ_012_WITHOUT_N", "ND2ND_ONLY"]
    calls = []
    for k in range(1, 8):
        shape = (0, 0, 32, 48) if k == 7 else (B, N, S, D)
        tiling = "ConfusionTransposeTiling g; " + " ".join(f"g.param{i} = {v};" for i, v in enumerate(shape))
        calls.append(f"{tiling} {'Transpose' if k % 2 else 'ConfusionTranspose'}(d, s, tmp, TransposeType::TRANSPOSE_{names[k]}, g);")
    x = np.stack([source[k] for k in range(1, 8)])
    y, r = run(t, calls, x, tmp=16384, room=B * N * S * D * x.itemsize) if t == "half" else (None, None)
    if y is None:                                          # float: three buffers of that size would not fit, the plain form is enough
        y, r = run(t, calls[6:], x[6:, : 32 * 48], tmp=1024)
        assert np.array_equal(y[0], out[7]) and complaints(r) == []
        return
    for k in range(1, 8):
        assert np.array_equal(y[k - 1, : out[k].size], out[k]), names[k]
    assert complaints(r) == []


@pytest.mark.parametrize("t", ["float", "half"])
def test_topk(t):
    rng = np.random.default_rng(4)
    rows, inner, n = 3, 64, 50
    x = rng.integers(-40, 40, (5, rows * inner)).astype(TYPES[t])
    m = x.reshape(5, rows, inner)
    m[:, :, n:] = -1000
    m[1, :, n:] = 1000
    m[0, 1, 7] = np.nan
    head = "TopkTiling g; TopKInfo o{{3, 64, 50}}; LocalTensor<int32_t> at = r.template ReinterpretCast<int32_t>(); LocalTensor<int32_t> no; LocalTensor<bool> nob; "
    head = head.format().replace("{{", "{").replace("}}", "}")
    small = head.replace("{3, 64, 50}", "{6, 32, 32}")
    take = "PipeBarrier<PIPE_V>(); Cast(d, at, {mode}, 48);".format(mode="RoundMode::CAST_NONE" if t == "half" else "RoundMode::CAST_RINT")
    scale = "SetDeqScale((half)1.0); " if t == "half" else ""
    calls = [head + "TopK<T>(d, at, s, no, nob, tmp, 16, g, o);", head + "TopK<T>(d, at, s, no, nob, 16, g, o, false);",
             head + "LocalTensor<T> v = b; TopK<T>(v, at, s, no, nob, tmp, 16, g, o); " + scale + take,
             small + "TopK<T, false, false, false, TopKMode::TOPK_NSMALL>(d, at, s, no, nob, tmp, 5, g, o);",
             head + "LocalTensor<int32_t> idx = b.template ReinterpretCast<int32_t>(); ArithProgression(idx, (int32_t)100, (int32_t)1, 64); PipeBarrier<PIPE_ALL>(); LocalTensor<T> v = s;"
             " TopK<T, true>(d, at, s, idx, nob, tmp, 16, g, o); PipeBarrier<PIPE_ALL>(); " + scale + take]
    calls = [c.replace("<T", f"<{t}") for c in calls]
    y, r = run(t, calls, x, y=np.full_like(x, 9), room=rows * inner * 4)
    pitch = 16                                             # 16 results: rows stay 32-byte aligned
    first = -np.sort(-m[0][[0, 2]].astype(np.float64), axis=1)[:, :16]
    got = y[0, : 3 * pitch].reshape(3, pitch)[:, :16].astype(np.float64)
    assert np.array_equal(got[[0, 2]], first) and np.isnan(got[1, 0])
    assert np.array_equal(y[1, : 3 * pitch].reshape(3, pitch)[:, :16].astype(np.float64), np.sort(m[1].astype(np.float64), axis=1)[:, :16])
    order = np.argsort(-m[2].astype(np.float64), axis=1, kind="stable")[:, :16]
    assert np.array_equal(y[2, :48].reshape(3, 16)[:, :16], order)
    assert np.array_equal(y[3, :30].reshape(6, 5).astype(np.float64), -np.sort(-x[3].reshape(6, 32).astype(np.float64), axis=1)[:, :5])
    assert np.array_equal(y[4, :48].reshape(3, 16)[:, :16], 100 + np.argsort(-m[4].astype(np.float64), axis=1, kind="stable")[:, :16])
    assert complaints(r) == []


@pytest.mark.parametrize("t", ["float", "half"])
def test_dropout_and_select_with_bytes_mask(t):
    rng = np.random.default_rng(5)
    rows, cols = 4, 32
    n = rows * cols
    x = rng.uniform(-3, 3, (6, n)).astype(TYPES[t])
    z = x.itemsize
    masks = [rng.integers(0, 2, (rows, cols)), rng.integers(0, 2, (rows, 48)), rng.integers(0, 256, (rows, cols // 8)), rng.integers(0, 256, (rows, 8)),
             rng.integers(0, 2, (rows, cols)), rng.integers(0, 2, (rows, 64))]
    e = np.zeros((6, n), TYPES[t])
    for row, m in zip(e, masks):
        row.view(np.uint8)[: m.size] = m.astype(np.uint8).ravel()
    byte = "LocalTensor<uint8_t> m = b.template ReinterpretCast<uint8_t>(); "
    info = "SelectWithBytesMaskShapeInfo o{4, 32, %d}; "
    calls = [byte + "DropOut(d, s, m, tmp, 0.8f, DropOutShapeInfo{4, 32, 32});", byte + "DropOut<T, false, 1>(d, s, m, 0.8f, DropOutShapeInfo{4, 32, 48});",
             byte + "DropOut<T, false, 3>(d, s, m, tmp, 0.5f, DropOutShapeInfo{4, 32, 4});", byte + "DropOut<T, false, 4>(d, s, m, tmp, 0.5f, DropOutShapeInfo{4, 32, 8});",
             byte + info % 32 + "SelectWithBytesMask(d, s, (T)2.5, m, tmp, o);", byte + info % 64 + "Select<T, uint8_t, false>(d, (T)2.5, s, m, tmp, o);"]
    y, r = run(t, [f"using T = {t}; {c}" for c in calls], x, e)
    x2 = x.reshape(6, rows, cols).astype(np.float64)
    bits = lambda m: np.unpackbits(m.astype(np.uint8), axis=1, bitorder="little")[:, :cols]
    want = [x2[0] * masks[0] / 0.8, x2[1] * masks[1][:, :cols] / 0.8, x2[2] * bits(masks[2]) * 2, x2[3] * bits(masks[3]) * 2,
            np.where(masks[4] == 0, x2[4], 2.5), np.where(masks[5][:, :cols] == 0, 2.5, x2[5])]
    np.testing.assert_allclose(y.reshape(6, rows, cols).astype(np.float64), np.stack(want), rtol=1e-3 if z == 2 else 1e-6, atol=1e-6)
    assert complaints(r) == []


X = np.arange(512, dtype=np.float32)


def one(call: str, fill: int = 512) -> str:
    return kernel(f"""
    TBuf<TPosition::VECCALC> a, b, w;
    pipe.InitBuffer(a, 2048); pipe.InitBuffer(b, 2048); pipe.InitBuffer(w, 4096);
    LocalTensor<float> s = a.Get<float>(), d = b.Get<float>();
    LocalTensor<uint8_t> tmp = w.Get<uint8_t>();
    LocalTensor<int32_t> no; LocalTensor<bool> nob; LocalTensor<uint8_t> m = s.ReinterpretCast<uint8_t>();
    PadTiling g; g.srcHeight = 8; g.srcWidth = 16; g.srcOriWidth = 16; UnPadTiling u; u.srcHeight = 8; u.srcWidth = 16;
    ConfusionTransposeTiling q; q.param2 = 16; q.param3 = 16; TopkTiling k;
    uint32_t to[2] = {{4, 8}}, from[2] = {{4, 1}}, wrong[2] = {{4, 2}}, odd[2] = {{4, 9}}, one[2] = {{1, 9}};
    DataCopy(s, xGm, {fill}); DataCopy(d, xGm, 512);
    PipeBarrier<PIPE_ALL>();
    {call} // HERE
    PipeBarrier<PIPE_ALL>();
    DataCopy(yGm, d, 512);""")


@pytest.mark.parametrize("code, severity, says, call", [
    ("BAD_PARAMETER", "error", "has to be 1", "BroadCast<float, 2, 1>(d, s, to, wrong, tmp);"),
    ("MISALIGNED", "error", "multiple of 32", "BroadCast<float, 2, 0>(d, s, odd, one, tmp);"),
    ("BAD_PARAMETER", "error", "use axis 1", "BroadCast<float, 2, 0>(d, s, to, from, tmp);"),
    ("OVERLAP", "warning", "overlap", "BroadCast<float, 2, 1>(s, s, to, from, tmp);"),
    ("BAD_PARAMETER", "error", "nothing to pad", "PadParams p{1, 1, 0}; Pad(d, s, p, tmp, g);"),
    ("BAD_PARAMETER", "error", "do not fit", "g.srcWidth = 14; PadParams p{1, 2, 0}; Pad(d, s, p, tmp, g);"),
    ("BAD_PARAMETER", "error", "rightPad is 8", "UnPadParams p{0, 8}; UnPad(d, s, p, tmp, u);"),
    ("BAD_PARAMETER", "error", "not one of 1..7", "Transpose(d, s, tmp, TransposeType::TRANSPOSE_NCHW2NHWC, q);"),
    ("MISALIGNED", "error", "16 x 16", "q.param3 = 20; Transpose(d, s, tmp, TransposeType::TRANSPOSE_ND2ND_ONLY, q);"),
    ("BAD_PARAMETER", "error", "k is 33", "TopK<float>(d, d[256].ReinterpretCast<int32_t>(), s, no, nob, tmp, 33, k, TopKInfo{1, 32, 32});"),
    ("BAD_PARAMETER", "warning", "padding", "TopK<float>(d, d[256].ReinterpretCast<int32_t>(), s, no, nob, tmp, 3, k, TopKInfo{1, 32, 30});"),
    ("BAD_PARAMETER", "error", "multiple of 32", "TopK<float>(d, d[256].ReinterpretCast<int32_t>(), s, no, nob, tmp, 3, k, TopKInfo{1, 40, 30});"),
    ("UNINITIALISED_READ", "warning", "padding", "TopK<float>(d, d[256].ReinterpretCast<int32_t>(), s, no, nob, tmp, 3, k, TopKInfo{2, 32, 32}); PipeBarrier<PIPE_ALL>(); DataCopy(yGm, d, 16);"),
    ("BAD_PARAMETER", "error", "keepProb", "DropOut(d, s, m, tmp, 0.0f, DropOutShapeInfo{1, 32, 32});"),
    ("BAD_PARAMETER", "error", "needs maskLastAxis", "DropOut<float, false, 2>(d, s, m, tmp, 0.5f, DropOutShapeInfo{1, 32, 48});"),
    ("MISALIGNED", "error", "must be a multiple of 32", "DropOut(d, s, m, tmp, 0.5f, DropOutShapeInfo{1, 31, 31});"),
    ("BAD_PARAMETER", "error", "maskLastAxis", "SelectWithBytesMask(d, s, 1.0f, m, tmp, SelectWithBytesMaskShapeInfo{8, 64, 32});"),
])
def test_checks_fire(code, severity, says, call):
    assert_finds(code, one(call), X.copy(), np.zeros_like(X), severity=severity, says=says)


def test_undefined_elements_stay_undefined():
    assert_finds("UNINITIALISED_READ", one("q.param2 = 16; Transpose(d, s, TransposeType::TRANSPOSE_ND2ND_ONLY, q); PipeBarrier<PIPE_ALL>(); DataCopy(yGm, d, 256);", fill=128), X.copy(), np.zeros_like(X))
    assert_clean(one("Transpose(d, s, TransposeType::TRANSPOSE_ND2ND_ONLY, q);", fill=256), X.copy(), np.zeros_like(X))
