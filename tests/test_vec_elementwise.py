"""Element-wise vector instructions, count form: every type, edge lengths, special values, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers as hp
from vec_kernels import COUNTED, COUNTED_PARAMS, CTYPE, compiled, counted, entry, pairs, random_bits, room, specials
from vec_oracle import BINARY, SCALAR, TERNARY, UNARY, add, assert_same, mul, shift_left, shift_right

F16, F32, I16, I32, U16, U32 = np.float16, np.float32, np.int16, np.int32, np.uint16, np.uint32
FLOATS, ARITH = (F16, F32), (F16, F32, I16, I32)
TYPES = {
    "Relu": (F16, F32, I32), "Not": (I16, U16), "Div": FLOATS, "And": (I16, U16), "Or": (I16, U16), "AddRelu": (F16, F32, I16), "SubRelu": (F16, F32, I16),
    "LeakyRelu": FLOATS,
}
SHIFTS = ("ShiftLeft", "ShiftRight")


def types_of(op):
    return TYPES.get(op, FLOATS if op in UNARY or op in TERNARY else ARITH)


def cases_for(dtype):
    """One kernel per type: names in order, statements in order."""
    names, text = [], []
    for op in UNARY:
        if dtype in types_of(op):
            names.append(op)
            text.append(f"{op}(d, a, n)")
    for op in (*BINARY, *TERNARY):
        if dtype in types_of(op):
            names.append(op)
            text.append(f"{op}(d, a, b, n)")
    for op in SCALAR:
        if dtype in types_of(op):
            names.append(op)
            text.append(f"{op}(d, a, b.GetValue(0), n)")
    if np.dtype(dtype).kind in "iu":
        for op in SHIFTS:
            names.append(op)
            text.append(f"{op}(d, a, b.GetValue(0), n)")
    return names, tuple(text)


def launch(op, x, y, z):
    names, text = cases_for(x.dtype.type)
    return counted(text, x, y, z, names.index(op))


ALL = [(op, t) for t in (F16, F32, I16, I32, U16, U32) for op in cases_for(t)[0]]
FORMULA = {**{k: (lambda f: lambda a, b, d: f(a))(f) for k, f in UNARY.items()}, **{k: (lambda f: lambda a, b, d: f(a, b))(f) for k, f in BINARY.items()},
           **TERNARY, **{k: (lambda f: lambda a, b, d: f(a, b[0]))(f) for k, f in SCALAR.items()},
           "ShiftLeft": lambda a, b, d: shift_left(a, int(b[0])), "ShiftRight": lambda a, b, d: shift_right(a, int(b[0]))}


def check(op, x, y, z):
    with np.errstate(all="ignore"):
        want = FORMULA[op](x, y, z)
    before = z.copy()
    launch(op, x, y, z)
    assert_same(z, want, f"{op} {x.dtype}", x, y, before)


def operands(op, dtype, x, y):
    if op in SHIFTS:
        y = np.full_like(x, 3)
    return x, y


@pytest.mark.parametrize("op,dtype", ALL, ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_special_values(op, dtype):
    if op in SCALAR:
        s = specials(dtype)
        for v in s:
            check(op, s, np.full_like(s, v), np.zeros_like(s))
        return
    if op in SHIFTS:
        s = specials(dtype)
        for by in (0, 1, 5, s.itemsize * 8 - 1, s.itemsize * 8):
            check(op, s, np.full_like(s, by), np.zeros_like(s))
        return
    a, b = pairs(dtype)
    rng = np.random.default_rng(1)
    for d in (np.zeros_like(a), rng.permutation(np.resize(specials(dtype), a.size))) if op in TERNARY else (np.zeros_like(a),):
        check(op, a, b, d)


@pytest.mark.parametrize("op,dtype", ALL, ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_random_bits(op, dtype):
    rng = np.random.default_rng(2)
    x, y, z = (random_bits(rng, dtype, 5000) for _ in range(3))
    check(op, *operands(op, dtype, x, y), z)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 64 * 255 - 1, 64 * 255, 64 * 255 + 1])
@pytest.mark.parametrize("op,dtype", [("Add", F16), ("Add", F32), ("Exp", F32), ("Sub", F16), ("MulAddDst", F32), ("Max", I32)],
                         ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_lengths(op, dtype, n):
    rng = np.random.default_rng(n)
    x, y, z = ((rng.standard_normal(n) * 3).astype(dtype) for _ in range(3))
    check(op, x, y, z)


@pytest.mark.parametrize("n", [128 * 255 - 1, 128 * 255 + 1, 128 * 256, 128 * 257 + 5])
def test_more_than_255_repeats_in_place(n):
    x = np.random.default_rng(n).standard_normal(n).astype(F16)
    z = np.zeros_like(x)
    body = """
    LocalTensor<half> a = In<half>(pipe, ba, x, n, room);
    PipeBarrier<PIPE_ALL>();
    Adds(a, a, (half)0.75f, n);
    Mul(a, a, a, n);
    Out(z, a, n);
"""
    compiled(entry(body, "GM_ADDR x, GM_ADDR z, int32_t n, uint32_t room"))[1](x, z, n, room(n, 2))
    t = add(x, F16(0.75))
    assert_same(z, mul(t, t), "Adds, Mul in place", x)


@pytest.mark.parametrize("op", ["Exp", "Ln", "Sqrt", "Rsqrt", "Reciprocal", "Abs", "Relu"])
def test_every_half(op):
    every = np.arange(65536, dtype=np.uint16).view(F16)
    for x in np.split(every, 4):
        check(op, x, x[:1], np.zeros_like(x))


@pytest.mark.parametrize("op", ["Exp", "Ln", "Rsqrt"])
def test_transcendental_floats_over_their_whole_range(op):
    rng = np.random.default_rng(3)
    x = np.exp(rng.uniform(-100, 88, 12000)).astype(F32) if op != "Exp" else rng.uniform(-104, 89, 12000).astype(F32)
    x[:200] = 1 + np.arange(-100, 100, dtype=F32) * np.float32(2.0**-22)
    x[200:300] = np.arange(1, 101, dtype=np.uint32).view(F32)
    check(op, x, x[:1], np.zeros_like(x))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([a for a in ALL if a[0] not in SHIFTS]), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_any_length_and_seed(op_type, n, seed):
    op, dtype = op_type
    rng = np.random.default_rng(seed)
    x, y, z = (random_bits(rng, dtype, n) for _ in range(3))
    check(op, x, y, z)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from((I16, U16, I32, U32)), st.sampled_from(SHIFTS), st.integers(0, 32), st.integers(0, 2**32 - 1))
def test_shifts(dtype, op, by, seed):
    by = min(by, 8 * np.dtype(dtype).itemsize)
    x = random_bits(np.random.default_rng(seed), dtype, 300)
    check(op, x, np.full(300, by, dtype), np.zeros(300, dtype))


def test_mixed_multiply_add_has_an_exact_product():
    a, b = pairs(F16)
    d = np.resize(specials(F32), a.size)
    text = ("MulAddDst(d, a, b, n)", "Axpy(d, a, b.GetValue(0), n)")
    with np.errstate(all="ignore"):
        want = (a.astype(F32) * b.astype(F32)) + d
    z = d.copy()
    counted(text, a, b, z, 0)
    assert_same(z, want, "MulAddDst half -> float", a, b, d)
    z = d.copy()
    s = np.full_like(a, F16(1.25))
    counted(text, a, s, z, 1)
    with np.errstate(all="ignore"):
        assert_same(z, a.astype(F32) * F32(1.25) + d, "Axpy half -> float", a, d)


@pytest.mark.parametrize("dtype", FLOATS)
def test_axpy_rounds_twice(dtype):
    a, b = pairs(dtype)
    for s in specials(dtype)[:12]:
        z = b.copy()
        counted(("Axpy(d, a, b.GetValue(0), n)",), a, np.full_like(a, s), z, 0)
        with np.errstate(all="ignore"):
            assert_same(z, add(mul(a, np.full_like(a, s)), b), f"Axpy {s}", a, b)


def test_operators_work_on_whole_tensors():
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((2, 256)).astype(F32)
    a_, b_ = a.copy(), b.copy()
    for i, (symbol, f) in enumerate((("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide))):
        z = np.zeros_like(a)
        counted(tuple(f"d = a {s} b" for s in "+-*/"), a_, b_, z, i)
        assert_same(z, f(a, b), symbol, a, b)
    x, y = (random_bits(rng, I32, 64) for _ in range(2))
    for i, f in enumerate((np.bitwise_and, np.bitwise_or)):
        z = np.zeros_like(x)
        counted(("d = a & b", "d = a | b"), x, y, z, i)
        assert_same(z, f(x, y), "& |", x, y)


@pytest.mark.parametrize("dtype", (F16, F32, I16, I32, U16, U32))
def test_duplicate(dtype):
    for v in specials(dtype):
        x = np.full(77, v, dtype)
        z = np.zeros_like(x)
        counted(("Duplicate(d, a.GetValue(0), n)",), x, x, z, 0)
        assert (z.view(np.uint8) == x.view(np.uint8)).all(), v


def test_relu_cast_family():
    text = ("AddReluCast(d, a, b, n)", "SubReluCast(d, a, b, n)")
    a, b = pairs(F16)
    with np.errstate(all="ignore"):
        for i, sign in enumerate((1, -1)):
            z = np.zeros(a.size, np.int8)
            counted(text, a, b, z, i)
            s = (a.astype(F32) + sign * b.astype(F32)).astype(F16).astype(F32)
            assert_same(z, np.clip(np.rint(np.nan_to_num(np.where(s > 0, s, 0), posinf=1e9)), 0, 127).astype(np.int8), text[i], a, b)
            x, y = pairs(I16)
            z = np.zeros(x.size, np.int8)
            counted(text, x, y, z, i)
            w = (x.astype(np.int64) + sign * y.astype(np.int64)).astype(I16)
            assert_same(z, np.clip(w, 0, 127).astype(np.int8), text[i], x, y)
            p, q = pairs(F32)
            z = np.zeros(p.size, F16)
            counted(text, p, q, z, i)
            s = p + F32(sign) * q
            assert_same(z, np.where(s > 0, s, 0).astype(F16), text[i], p, q)
        for t, lo, hi in ((np.int8, -128, 127), (np.uint8, 0, 255)):
            z = np.zeros(a.size, t)
            counted(("MulCast(d, a, b, n)",), a, b, z, 0)
            s = (a.astype(F32) * b.astype(F32)).astype(F16).astype(np.float64)
            assert_same(z, np.clip(np.rint(np.nan_to_num(s, nan=0.0, posinf=1e9, neginf=-1e9)), lo, hi).astype(t), "MulCast", a, b)


def test_saturation_mode_clamps_half_and_integers():
    text = ("SetSaturationFlag<SaturationMode::FLOAT>(true); Add(d, a, b, n)", "SetSaturationFlag<SaturationMode::FLOAT>(true); Mul(d, a, b, n)")
    for dtype in (F16, I16, I32):
        a, b = pairs(dtype)
        for i, f in enumerate((np.add, np.multiply)):
            z = np.zeros_like(a)
            counted(text, a, b, z, i)
            with np.errstate(all="ignore"):
                if dtype is F16:
                    want = np.nan_to_num(f(a.astype(F32), b.astype(F32)).astype(F16), nan=0.0, posinf=65504, neginf=-65504)
                else:
                    exact = f(a.astype(object), b.astype(object))
                    want = np.array([min(max(int(v), np.iinfo(dtype).min), np.iinfo(dtype).max) for v in exact], dtype)
            assert_same(z, want, f"{f.__name__} saturated", a, b)


# Finite operands whose result is not: x, y (or the scalar), what dst held.
OVERFLOWS = {"Exp": (100, 1, 0), "Ln": (0, 1, 0), "Rsqrt": (0, 1, 0), "Reciprocal": (0, 1, 0), "Sqrt": (-1, 1, 0), "Div": (1, 0, 0),
             **{op: ("max", "max", "max") for op in ("Add", "Mul", "AddRelu", "MulAddDst", "FusedMulAdd", "FusedMulAddRelu", "Adds", "Muls")}, **{op: ("max", "-max", 0) for op in ("Sub", "SubRelu", "LeakyRelu")}}
OVERFLOWS["LeakyRelu"] = "-max", "max", 0
FINITE = {"Abs": (-1, 1, 0), "Relu": (-1, 1, 0), "Max": ("max", "max", 0), "Min": ("max", "max", 0), "Maxs": ("max", "max", 0), "Mins": ("max", "max", 0)}


@pytest.mark.parametrize("op,dtype", [(op, t) for op in (*OVERFLOWS, *FINITE) for t in FLOATS if t in types_of(op)], ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
def test_inf_and_nan_that_are_born_are_named(op, dtype):
    top = float(np.finfo(dtype).max)
    x, y, z = (np.full(40, {"max": top, "-max": -top}.get(v, v), dtype) for v in (OVERFLOWS | FINITE)[op])
    run = launch(op, x, y, z)
    assert ("NUMERIC" in {f.code for f in run.findings}) == (op in OVERFLOWS) == (not np.isfinite(z).all()), (op, z[:3])


@pytest.mark.parametrize("dtype", [F16, F32, I16, I32], ids=lambda v: np.dtype(v).name)
def test_a_fresh_destination_is_defined_unless_the_operator_reads_it(dtype):
    names, cases = cases_for(dtype)
    body = COUNTED.replace("In<{t}>(pipe, bd, z, n, roomD)", "In<{t}>(pipe, bd, z, 0, roomD)")
    t = CTYPE[np.dtype(dtype).name]
    k = compiled(entry(body.format(u=t, t=t, cases="\n".join(f"            case {i}: {{ {c}; break; }}" for i, c in enumerate(cases))), COUNTED_PARAMS.format(scalar="float")))
    for i, op in enumerate(names):
        x, y, z = np.full(64, 2, dtype), np.full(64, 1, dtype), np.zeros(64, dtype)
        arguments = x, y, z, i, 64, room(64, x.itemsize), room(64, x.itemsize), 0.0
        try:
            found = {f.code for f in k.launch(1, arguments).findings if f.severity != "note"}
        except hp.KernelError as e:
            found = {f.code for f in e.findings}
        assert found == ({"UNINITIALISED_READ"} if op in TERNARY else set()), op
