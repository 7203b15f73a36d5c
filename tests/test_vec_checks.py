"""What the vector checks say, and what they keep quiet about."""

from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from vec_kernels import HEAD, STRIDED, STRIDED_PARAMS, counted, entry, strided

F16, F32, I16, I32 = np.float16, np.float32, np.int16, np.int32


def data(dtype=F32, n=2048):
    rng = np.random.default_rng(0)
    if np.dtype(dtype).kind == "f":
        return [rng.standard_normal(n).astype(dtype) for _ in range(3)]
    return [rng.integers(-50, 50, n).astype(dtype) for _ in range(3)]


def findings(body, dtype=F32, **kw):
    x, y, z = data(dtype)
    try:
        return strided("    " + body, x, y, z, **kw).findings
    except hp.KernelError as e:
        return e.findings


def one(code, body, *words, severity="error", dtype=F32, **kw):
    found = findings(body, dtype, **kw)
    hits = [f for f in found if f.code == code and f.severity == severity]
    assert hits, f"expected {code}, got {[(f.code, f.severity, f.message) for f in found]}"
    text = hits[0].message + " | " + (hits[0].hint or "")
    for w in words:
        assert w in text, (w, text)


def quiet(body, dtype=F32, *, allow=("PERF_BANK_CONFLICT",), **kw):
    found = [f for f in findings(body, dtype, **kw) if f.code not in allow]
    assert not found, [(f.code, f.message) for f in found]


ERRORS = [
    ("MISALIGNED", "Add(d, a[1], b, 64);", ["a[1]", "byte 4", "index is 8"]),
    ("MISALIGNED", "Exp(d[12], a, 64);", ["byte 48", "index is 16"]),
    ("BAD_PARAMETER", "Add(d, a, b, 128, 2, {1, 1, 1, 8, 8, 8});", ["mask 128 > 64 lanes of float"]),
    ("BAD_PARAMETER", "Add(d, a, b, 8, 256, {1, 1, 1, 0, 0, 0});", ["256", "becomes 0", "split into 2"]),
    ("BAD_PARAMETER", "Add(d, a, b, 64, 2, {1, 1, 1, 300, 8, 8});", ["repeat stride 300", "255"]),
    ("BAD_PARAMETER", "BinaryRepeatParams p; p.src1RepStride = n; Add(d, a, b, 64, 2, p);", ["repeat stride 2048"]),
    ("BAD_PARAMETER", "Add(d, a, b, 64, 2, {0, 1, 1, 8, 8, 8});", ["block stride 0"]),
    ("BAD_PARAMETER", "Exp(d, a, -1);", ["count is -1"]),
    ("BAD_PARAMETER", "SetMaskCount(); Add(d, a, b, 64, 2, {1, 1, 1, 8, 8, 8});", ["SetMaskNorm"]),
    ("BAD_PARAMETER", "Adds<float, false>(d, a, 1.0f, 1);", ["SetMaskCount"]),
    ("BAD_PARAMETER", "SetVectorMask<float, MaskMode::COUNTER>(0, 100);", ["SetMaskCount"]),
    ("BAD_PARAMETER", "auto q = d.ReinterpretCast<int32_t>(); Cast(q, a, RoundMode::CAST_NONE, 64);", ["CAST_NONE", "CAST_RINT"]),
    ("BAD_PARAMETER", "auto q = d.ReinterpretCast<int16_t>(); ShiftLeft(q, q, (int16_t)17, 64);", ["17", "0..16"]),
    ("BAD_PARAMETER", "auto q = d.ReinterpretCast<int16_t>(); ShiftLeft(q, q, (int16_t)-1, 64);", ["by -1:", "0..16"]),
    ("OVERLAP", "Add(a[64], a, b, 64, 4, {1, 1, 1, 8, 8, 8});", ["[256..1280)", "[0..1024)", "repeat 1"]),
    ("OVERLAP", "Add(a[8], a, b, 64);", ["overlap"]),
    ("OVERLAP", "Adds(a[128], a, 1.0f, 1000);", ["overlap"]),
    ("OVERLAP", "Cast(a, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 256);", ["overlap", "own buffer"]),
    ("OVERLAP", "Div(d, a, d, 64, 4, {1, 1, 1, 0, 8, 0});", ["repeat 1"]),
    ("OUT_OF_BOUNDS", "Add(d, a, b, 2049);", ["count 2049 > 2048 elements of dst d"]),
    ("OUT_OF_BOUNDS", "Adds(d, a, 1.0f, n * sizeof(float));", ["not in bytes: 2048"]),
    ("OUT_OF_BOUNDS", "Add(d, a, b, 64, 4, {1, 1, 1, 255, 8, 8});", ["dst"]),
    ("OUT_OF_BOUNDS", "LocalTensor<float> t; Add(d, t, b, 64);", ["never assigned"]),
]


@pytest.mark.parametrize("code,body,words", ERRORS, ids=[b[:48] for _, b, _ in ERRORS])
def test_errors(code, body, words):
    one(code, body, *words)


WARNINGS = [
    ("NUMERIC", "Duplicate(b, 0.0f, 64); Div(d, a, b, 64);", ["element 0", "src1 = 0"], F32),
    ("NUMERIC", "Duplicate(a, 100.0f, 64); Exp(a, a, 64);", ["element 0 of a", "src = 100", "88.72"], F32),
    ("NUMERIC", "Duplicate(a, (half)300, 64); Mul(a, a, a, 64);", ["300", "65504"], F16),
    ("NUMERIC", "Duplicate(a, -1.0f, 64, 1, 1, 8); Ln(d, a, 64, 1, {1, 1, 8, 8});", ["NaN", "src = -1"], F32),
    ("NUMERIC", "auto h = d.ReinterpretCast<half>(); Duplicate(a, 1e6f, 8); Cast(h, a, RoundMode::CAST_RINT, 64);", ["inf", "65504"], F32),
    ("BAD_PARAMETER", "Add(d, a, b, 64, 4, {1, 1, 1, 8, 1, 8});", ["7/8", "are read again"], F32),
    ("OVERLAP", "Add(d, d, a, 64, 4, {1, 1, 1, 0, 0, 8});", ["src1 only"], F32),
    ("UNSUPPORTED_TYPE", "And(d, a, b, 64);", ["16-bit halves", "2 * count"], I32),
    ("NUMERIC", "Duplicate(a, 100.0f, 64); uint64_t some[2] = {0xA0, 0}; Exp(d, a, some, 1, {1, 1, 8, 8});", ["element 5 of d", "src = 100"], F32),
    ("NUMERIC", "Duplicate(a, 20000, 16); ShiftLeft(d, a, 17, 16);", ["sign bit"], I32),
]


@pytest.mark.parametrize("code,body,words,dtype", WARNINGS, ids=[b[:48] for _, b, _, _ in WARNINGS])
def test_warnings(code, body, words, dtype):
    one(code, body, *words, severity="warning", dtype=dtype)


QUIET = [
    ("Add(a, a, b, 2048); Add(a, b, a, 2048); Exp(a, a, 100);", F32),                                # in place
    ("Add(d, a, d, 64, 8, {1, 1, 1, 0, 8, 0}); Max(d, b, d, 64, 8, {1, 1, 1, 0, 8, 0});", F32),      # accumulation into src1
    ("Add(d, a, b, 10, 20, {1, 1, 1, 2, 2, 2});", F32),                                              # rows shorter than a repeat
    ("Add(d, a, b, 1); Add(d, a, b, 33); Add(d, a, b, 0);", F32),                                    # any count
    ("Cast(a.ReinterpretCast<half>(), a, RoundMode::CAST_RINT, 1024);", F32),                        # narrowing in place
    ("Add(a, a, a[1024], 1024); Add(a, a, a[512], 512);", F32),                                      # halving
    ("Adds(a, a[64], 1.0f, 512);", F32),                                                             # down by whole repeats
    ("Div(d, a, b, 64, 8, {1, 1, 0, 8, 8, 1});", F32),                                               # one block per row
    ("Duplicate(a, 1.0f, 64); Muls(a, a, 3e38f, 64);", F32),
    ("Duplicate(a, 1.0f / 0.0f, 64); Add(d, a, b, 64); Sub(d, d, a, 64);", F32),                     # inf - inf: not born here
    ("SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 300); Add<float, false>(d, a, b, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); SetMaskNorm(); ResetMask();", F32),
    ("uint64_t m[2] = {~0ull, ~0ull}; Add(d, a, b, m, 2, {1, 1, 1, 8, 8, 8});", F32),
    ("MulAddDst(d, a, b, 64, 4, {1, 1, 1, 0, 8, 8});", F32),
]


@pytest.mark.parametrize("body,dtype", QUIET, ids=[b[:48] for b, _ in QUIET])
def test_normal_practice_is_quiet(body, dtype):
    quiet(body, dtype)


def test_padding_lanes_do_not_warn():
    """0/0 in lanes nobody wrote is not the kernel's problem."""
    quiet("""TBuf<TPosition::VECCALC> f, h; pipe.InitBuffer(f, 1024); pipe.InitBuffer(h, 1024);
    LocalTensor<float> p = f.Get<float>(), q = h.Get<float>();
    Duplicate(p, 1.0f, 100); Duplicate(q, 2.0f, 100); Div(p, p, q, 128); Ln(p, q, 128); Rsqrt(q, p, 128);""")


def test_bank_conflict_is_a_note_and_disappears_with_the_shift():
    note = [f for f in findings("Add(d, a, b, 2048);") if f.code == "PERF_BANK_CONFLICT"]
    assert note and note[0].severity == "note" and "256 B" in note[0].hint
    assert not [f for f in findings("Add(d, a, b[64], 1024);") if f.code == "PERF_BANK_CONFLICT"]
    assert [f for f in findings("Adds(d, a, 1.0f, 64, 8, {16, 1, 1, 8});") if f.code == "PERF_BANK_CONFLICT"]


@pytest.mark.parametrize("body,cycles", [
    ("Add(d, a, b, 2048);", 22 + 2 * 32), ("Add(d, a, b[64], 1024);", 22 + 16), ("Muls(d, a, 2.0f, 1024);", 24 + 16), ("Exp(d, a, 1024);", 29 + 2 * 16),
    ("Add(d, a, b, 64, 2, {16, 1, 1, 0, 8, 8});", 22 + 2 * 8), ("Add(d, a, b[64], 10, 5, {1, 1, 1, 2, 2, 2});", 22 + 5),
], ids=lambda v: str(v)[:40])
def test_cost(body, cycles):
    x, y, z = data()
    run = strided("    Abs(a, a, 8); PipeBarrier<PIPE_ALL>(); " + body, x, y, z)
    name = body[: body.index("(")]
    e = [e for e in run.events if run.ops[e["op"]] == name][-1] if hasattr(run, "ops") else None
    if e is None:
        pytest.skip("events have no names")
    assert abs((e["end"] - e["start"]) * 1.85 - cycles) < 0.6 + cycles * 0.02, ((e["end"] - e["start"]) * 1.85, cycles)


@pytest.mark.parametrize("body,words", [
    ("Abs(d, a, 64);", ["Abs", "half or float"]),
    ("Div(d, a, b, 64);", ["Div", "half or float"]),
    ("LeakyRelu(d, a, 1, 64);", ["LeakyRelu", "half or float"]),
    ("Cast(d.ReinterpretCast<half>(), a.ReinterpretCast<int64_t>(), RoundMode::CAST_NONE, 64);", ["two steps"]),
    ("Cast(d, a.ReinterpretCast<int8_t>(), RoundMode::CAST_NONE, 64);", ["int8_t", "half"]),
    ("Add(d.ReinterpretCast<uint32_t>(), a.ReinterpretCast<uint32_t>(), b.ReinterpretCast<uint32_t>(), 64);", ["ReinterpretCast"]),
    ("Add(d.ReinterpretCast<bfloat16_t>(), a.ReinterpretCast<bfloat16_t>(), b.ReinterpretCast<bfloat16_t>(), 64);", ["Cast other types first"]),
    ("Duplicate(d.ReinterpretCast<int8_t>(), (int8_t)0, 64);", ["uint16_t"]),
    ("And(d, a, b, 64, 1, {1, 1, 1, 8, 8, 8});", ["16-bit halves"]),
], ids=lambda v: str(v)[:48])
def test_types_that_do_not_exist_are_compile_messages(body, words):
    x, y, z = data(I32)
    with pytest.raises(hp.CompileError) as e:
        strided("    " + body, x, y, z)
    for w in words:
        assert w in str(e.value), (w, str(e.value))


@pytest.mark.parametrize("body", ["Muls(d, a, 0.5f, 64);", "Adds(d, a, 1, 64);", "Duplicate(d, 0, 64);", "Maxs(d, a, 1.0, 64);"])
def test_scalars_have_the_element_type(body):
    x, y, z = data(F16)
    with pytest.raises(hp.CompileError):
        strided("    " + body, x, y, z)


def test_checks_off_computes_the_same():
    x, y, z = data()
    w = z.copy()
    counted(("Duplicate(b, 0.0f, 10); Div(d, a, b, n)",), x, y, z, 0)
    run = counted(("Duplicate(b, 0.0f, 10); Div(d, a, b, n)",), x, y, w, 0, mode="off")
    assert (z.view(np.uint32) == w.view(np.uint32)).all()
    assert not [f for f in run.findings if f.code == "NUMERIC"]


def test_the_line_of_an_operator_is_the_line_of_its_expression():
    text = "int q = 0; (void)q;\n    d = a + b[8];  // HERE\n    d = a +\n      b;"
    found = findings(text)
    assert any(f.code == "OUT_OF_BOUNDS" and "HERE" in (f.source or "") for f in found), [(f.code, f.line, f.source) for f in found]


def test_every_spelling_compiles():
    text = (Path(__file__).parent / "cpp" / "surface_vec.cpp").read_text()
    assert hp.compile(text + '\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {}\n').signature


@pytest.mark.parametrize("body,code", [
    ("auto q = d.ReinterpretCast<int32_t>(); ShiftLeft(q, q, 1, 64);", "UNSUPPORTED_API"), ("Copy(d, a, 64, 1, {1, 1, 8, 8});", "UNSUPPORTED_API"),
    ("Cast(d.ReinterpretCast<bfloat16_t>(), a, RoundMode::CAST_RINT, 64);", "UNSUPPORTED_TYPE"),
    ("Cast(d.ReinterpretCast<half>(), a, RoundMode::CAST_FLOOR, 64);", "BAD_PARAMETER"),
    ("Cast(d.ReinterpretCast<half>(), a, RoundMode::CAST_NONE, 64);", None), ("Add(d, a, b, 64);", None),
])
def test_the_inference_chip_has_less(body, code):
    text = entry(STRIDED.format(t="float", body="    " + body), STRIDED_PARAMS)
    x, y, z = data()
    kernel = hp.compile(HEAD.replace("DataCopyPad(t, g, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0}, DataCopyPadExtParams<T>{false, 0, 0, 0})",
                                     "DataCopy(t, g, n)")
                        .replace("DataCopyPad(g, t, DataCopyExtParams{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0})", "DataCopy(g, t, n)") + text, chip="Ascend310P3")
    args = (x, y, z, z.size, z.nbytes, 0, 0, 1, 1, 1, 1, 8, 8, 8)
    if code is None:
        kernel[1](*args)
        return
    with hp.expect_error(code):
        kernel[1](*args)


@pytest.mark.parametrize("body", ["Compare(d.ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, lo, rep, {1, -1, 1, 8, 8, 8});",
                                  "Select(d, b.ReinterpretCast<uint8_t>(), a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, lo, rep, {1, 1, 1, 8, -8, 8});",
                                  "Add(d, a, b, lo, rep, {1, 1, 1, 8, 8, 256});"])
@pytest.mark.parametrize("checks", ["full", "off"])
def test_strides_outside_their_fields_never_reach_memory(body, checks):
    x, y, z = data()
    with hp.expect_error("BAD_PARAMETER"):
        strided("    " + body, x, y, z, lo=64, rep=2, checks=checks)
