"""Tiling structs: Python writes the bytes that C++ reads."""
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import helpers as hp
from helpers.tiling import TilingError

EVERYTHING = """#include "kernel_operator.h"
enum class Mode : int8_t { A, B };
constexpr int N = 4;
namespace inner { struct Part { uint8_t a; double d; int16_t v[2]; }; }
struct alignas(8) Everything {
    uint32_t total = 7, tile{8};
    half eps; bool last; Mode mode;
    int64_t dtype;      // a field may be called like an attribute
    float w[2][N];
    inner::Part one; inner::Part two[2];
    bfloat16_t b;
    uint32_t size() const { return total; }
};
"""


@pytest.fixture(scope="module")
def Everything():
    return hp.tiling_struct(EVERYTHING, "Everything")


def test_layout_is_that_of_the_compiler(Everything):
    places = {f.name: (f.offset, f.nbytes, f.type, f.shape) for f in Everything.fields}
    assert places == {"total": (0, 4, "uint32_t", ()), "tile": (4, 4, "uint32_t", ()), "eps": (8, 2, "half", ()), "last": (10, 1, "bool", ()),
                      "mode": (11, 1, "int8_t", ()), "dtype": (16, 8, "int64_t", ()), "w": (24, 32, "float", (2, 4)), "one": (56, 24, "Part", ()),
                      "two": (80, 48, "Part", (2,)), "b": (128, 2, "bfloat16_t", ())}
    assert Everything.nbytes == 136 == len(bytes(Everything()))


def test_values_and_bytes_round_trip(Everything):
    t = Everything(total=5, eps=0.5, last=True, mode=1, dtype=-1, w=[[1, 2, 3, 4], [5, 6, 7, 8]], b=1.5, one=dict(a=3), two=[dict(d=2.5), dict(v=[3, -4])])
    assert (t.total, t.tile, t.eps, t.last, t.dtype, t.b) == (5, 8, 0.5, True, -1, 1.5)
    assert t.two[1].v.tolist() == [3, -4] and t.one.a == 3
    again = Everything.from_bytes(bytes(t))
    assert again == t and bytes(again) == bytes(t) == t.array().tobytes()
    again.two[0].a = 200
    again.one.d = 0.25
    assert again.two[0].a == 200 and again.one.d == 0.25 and again != t
    assert repr(Everything(total=1)).startswith("Everything(total=1, tile=8, eps=0.0, last=False")


@pytest.mark.parametrize("values, words", [
    (dict(tile=-1), "tile is uint32_t: -1 is outside 0..4294967295"), (dict(tile=1.5), "1.5 is not one; 2 would do"), (dict(til=1), "Did you mean tile?"),
    (dict(tile="3"), "'3' is not one"), (dict(tile=None), "None is not one"), (dict(w=[1, 2]), "2 x 4 values, not 2"), (dict(w=3), "not one value"),
    (dict(w=[[0, 0, 0, 1e39], [0] * 4]), "w[0][3] is float: 1e+39 is too large"), (dict(eps=1e6), "too large"), (dict(last=3), "neither True nor False"),
    (dict(two=[1]), "list of 2 Part"), (dict(one=5), "is a Part"), (dict(one=dict(c=1)), "no field c"), (dict(dtype=2**63), "outside"), (dict(eps="x"), "not a number"),
])
def test_values_that_do_not_fit(Everything, values, words):
    with pytest.raises(TilingError) as raised:
        Everything(**values)
    assert words in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_wrong_number_of_bytes(Everything):
    with pytest.raises(TilingError, match="136 B, and 3 B"):
        Everything.from_bytes(b"abc")


def test_macro_form_has_the_same_layout():
    macro = hp.tiling_struct("""#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(Part)
TILING_DATA_FIELD_DEF(uint8_t, a);
TILING_DATA_FIELD_DEF(int64_t, b);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(PartOp, Part)
BEGIN_TILING_DATA_DEF(T)
TILING_DATA_FIELD_DEF(uint32_t, n);
TILING_DATA_FIELD_DEF_ARR(float, 3, w);
TILING_DATA_FIELD_DEF_STRUCT(Part, part);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(MyOp, T)
}""", "T")
    plain = hp.tiling_struct("#include <cstdint>\nstruct Part { uint8_t a; int64_t b; };\nstruct T { uint32_t n; float w[3]; Part part; };", "T")
    assert [str(f) for f in macro.fields] == [str(f) for f in plain.fields]
    assert bytes(macro(n=1, w=[1, 2, 3], part=dict(b=9))) == bytes(plain(n=1, w=[1, 2, 3], part=dict(b=9)))


def test_from_a_file_and_inside_a_kernel_text(tmp_path):
    (tmp_path / "size.h").write_text("#define SIZE 3\n")
    (tmp_path / "t.h").write_text('#include "size.h"\n#include <cstdint>\nstruct T { uint16_t v[SIZE]; };\n')
    assert hp.tiling_struct(tmp_path / "t.h", "T").fields[0].shape == (3,)
    copy = Path(__file__).parents[1] / "kernels" / "copy" / "copy.cpp"
    assert [f.name for f in hp.tiling_struct(copy, "CopyTiling").fields] == ["length", "tile"]


@pytest.mark.parametrize("text, words", [
    ("struct T { int a : 3; };", "bit field"), ("struct T { int* p; };", "pointer"), ("struct T { union { int a; float b; }; };", "union"),
    ("struct T { int x; Foo y; };", "Foo is not declared"), ("struct T { virtual void f(); int x; };", "as bytes"),
])
def test_structs_that_cannot_be_filled(text, words):
    with pytest.raises(hp.CompileError) as raised:
        hp.tiling_struct("#include <cstdint>\n" + text, "T")
    assert words in str(raised.value) and raised.value.findings[0].line == 2


def test_wrong_name_and_wrong_source():
    with pytest.raises(TilingError, match="Did you mean AddTiling"):
        hp.tiling_struct("struct AddTiling { int a; };", "AddTilin")
    with pytest.raises(ValueError, match="Path"):
        hp.tiling_struct("add_tiling.h", "AddTiling")
    with pytest.raises(TypeError):
        hp.tiling_struct(3, "T")
    with pytest.raises(TilingError, match="semicolon"):
        hp.tiling_struct("struct T { int a };", "T")


def test_values_are_given_by_name():
    T = hp.tiling_struct("struct T { int n; int self; };", "T")
    with pytest.raises(TilingError, match=r"T\(n="):
        T(3)
    assert T(self=3).self == 3


def test_the_kernel_reads_what_python_wrote():
    text = EVERYTHING + """
using namespace AscendC;
extern "C" __global__ __aicore__ void read(GM_ADDR out, Everything t, GM_ADDR raw) {
    __gm__ Everything* g = (__gm__ Everything*)raw;
    __gm__ double* o = (__gm__ double*)out;
    o[0] = t.total; o[1] = (double)(float)t.eps; o[2] = t.w[1][2]; o[3] = t.two[1].v[1]; o[4] = (double)(float)t.b; o[5] = (double)t.dtype;
    o[6] = g->total == t.total && g->two[1].d == t.two[1].d;
}
"""
    Everything = hp.tiling_struct(text, "Everything")
    t = Everything(total=12, eps=0.25, w=np.arange(8).reshape(2, 4), two=[{}, dict(v=[0, -7], d=3.5)], b=2.5, dtype=-(2**40))
    out = np.zeros(7)
    hp.compile(text)[1](out, t, t.array())
    assert out.tolist() == [12, 0.25, 6, -7, 2.5, -(2.0**40), 1]


_TYPES = {"int8_t": 1, "uint8_t": 1, "bool": 1, "int16_t": 2, "half": 2, "uint32_t": 4, "float": 4, "int64_t": 8, "double": 8}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(sorted(_TYPES)), st.integers(0, 3)), min_size=1, max_size=8))
def test_any_plain_struct_follows_natural_alignment(fields):
    body = " ".join(f"{kind} f{i}{f'[{n}]' if n else ''};" for i, (kind, n) in enumerate(fields))
    made = hp.tiling_struct(f'#include "kernel_operator.h"\nstruct T {{ {body} }};', "T")
    at, widest = 0, 1
    for field, (kind, n) in zip(made.fields, fields):
        size = _TYPES[kind]
        at = -(-at // size) * size
        assert (field.offset, field.nbytes) == (at, size * (n or 1))
        at, widest = at + size * (n or 1), max(widest, size)
    assert made.nbytes == -(-at // widest) * widest


def test_initialisers_of_the_struct_are_taken_over(Everything):
    t = Everything()
    assert (t.total, t.tile, t.eps, t.w.tolist()) == (7, 8, 0, [[0.0] * 4] * 2)
    assert (Everything(tile=1).total, Everything(tile=1).tile) == (7, 1)
    T = hp.tiling_struct("struct Inner { float v[2] = {1.5f, 2.5f}; int8_t a = -1; };\nstruct Outer { uint8_t b; Inner one; Inner two[2]; int64_t last = 1 << 20; };\n", "Outer")
    t = T()
    assert (t.b, t.one.v.tolist(), t.one.a, t.last) == (0, [1.5, 2.5], -1, 1 << 20) and [p.v.tolist() for p in t.two] == [[1.5, 2.5]] * 2
    read = hp.compile('#include "kernel_operator.h"\nstruct T { uint32_t a = 7; float b{0.5f}; };\nextern "C" __global__ __aicore__ void k(T t) { AscendC::printf("%u %f", t.a, t.b); }\n')
    plain = hp.tiling_struct("struct T { uint32_t a = 7; float b{0.5f}; };", "T")
    assert read[1](plain(b=2)).stdout.split() == ["7", "2.000000"]


def test_values_that_a_constructor_gives():
    struct = hp.tiling_struct("struct T { uint32_t a, b = 1; constexpr T() : a(7) {} };", "T")
    assert (struct().a, struct().b) == (7, 1)
    with pytest.raises(hp.CompileError, match="initialiser of T is not known to the compiler"):
        hp.tiling_struct("struct T { uint32_t a; T() : a(7) {} };", "T")
    with pytest.raises(TypeError, match="the name of the struct is None"):
        hp.tiling_struct("struct T { uint32_t a; };", None)


def test_initialisers_that_only_run_time_knows_are_refused():
    with pytest.raises(hp.CompileError, match="initialiser of T is not known to the compiler"):
        hp.tiling_struct("int seen();\nstruct T { uint32_t a = seen(); };", "T")
    assert hp.tiling_struct("struct T { static constexpr int n = 3; uint32_t a[n]; };", "T")().a.tolist() == [0, 0, 0]
