"""Reading kernel texts: what is a kernel, its parameters, its type; what is rewritten for a host compiler."""
from pathlib import Path

import pytest

from helpers.build import lint, structs
from helpers.build.scan import active, blank, closing, split
from helpers.build.source import KERNEL_TYPES, before_first_kernel, generate, scan


def names(text, **more):
    return [e.name for e in scan(text, **more).entries]


def kind(text):
    return KERNEL_TYPES[scan(text).entries[0].kernel_type]


# ---- reading
@pytest.mark.parametrize("text", ["a // b\nc", "/* a\n b */ c", '"// no" c', "'\"' /* x */ \"a\\\"b\"", 'R"x(a " // )x" b', "1'000 + 'a'",
                                  "// a \\\n still a comment\nb", '"open', "/* open"])
def test_blank_keeps_every_position(text):
    out = blank(text)
    assert len(out) == len(text)
    assert [i for i, c in enumerate(out) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]


def test_blank_removes_comments_and_strings_only():
    assert blank("a // b").rstrip() == "a"
    assert blank('f("x{", y)').replace(" ", "") == 'f("",y)'
    assert blank("x = 1'000; y").endswith("; y")
    assert blank('R"(a } // )" }').strip().endswith("}")


def test_closing_and_split():
    assert closing("f(a, (b), c) d", 1) == 11
    assert closing("(a", 0) == -1
    assert split("A<b, c> x, y[2], (d, e)") == ["A<b, c> x", "y[2]", "(d, e)"]


@pytest.mark.parametrize("text, seen", [
    ("#ifdef A\nx\n#else\ny\n#endif", "x"), ("#ifndef A\nx\n#else\ny\n#endif", "y"), ("#if 0\nx\n#endif\ny", "y"),
    ("#if A == 2 && !defined(B)\nx\n#endif", "x y".split()[0]), ("#if UNKNOWN\nx\n#else\ny\n#endif", "xy"),
    ("#if A == 1\nx\n#elif A == 2\ny\n#else\nz\n#endif", "y"), ("#ifdef A\n#ifndef A\nx\n#endif\ny\n#endif", "y"),
    ("#if defined A\nx\n#elif UNKNOWN\ny\n#else\nz\n#endif", "x"),
])
def test_active_branches(text, seen):
    assert active(text, {"A": 2}).replace("\n", "").replace(" ", "") == seen


# ---- kernels
def test_plain_kernel():
    entry, = scan('#include "k.h"\nextern "C" __global__ __aicore__ void add_custom(GM_ADDR x, __gm__ half *y, const float scale = 1.0f, int n[2])\n{\n}').entries
    assert (entry.name, entry.params, entry.line) == ("add_custom", ("x", "y", "scale", "n"), 1)


def test_comments_strings_and_switched_off_text_hold_no_kernels():
    assert names('// __global__ void a(GM_ADDR x) {}\n/* __global__ void b(GM_ADDR x) {} */\nconst char* s = "__global__ void c(GM_ADDR x) {}";\n'
                 '#ifndef ASCENDC_CPU_DEBUG\n__global__ void d(GM_ADDR x) {}\n#endif\n__global__ __aicore__ void e(GM_ADDR x) {}') == ["e"]


def test_order_of_words_and_prototypes():
    text = ('extern "C" void __global__ __aicore__ a(GM_ADDR x);\nextern "C" { __global__ __vector__ __aicore__ void b(GM_ADDR) {} }\n'
            'extern "C" void __global__ __aicore__ a(GM_ADDR x) {}\n__schedmode__(1) __global__ __aicore__ __attribute__((used)) void c(void) {}')
    found = {e.name: e for e in scan(text).entries}
    assert set(found) == {"a", "b", "c"}
    assert found["a"].line == 2 and found["b"].params == ("arg0",) and found["c"].params == ()


def test_namespace_and_template_instances():
    text = "namespace a { namespace b {\ntemplate <typename T, int N>\n__global__ __aicore__ void k(GM_ADDR x, T v) {}\n} }\n"
    assert scan(text).entries == () and scan(text).templates[0].template_params == ("typename T", "int N")
    entry, = scan(text, instances=("k<half, 2>",)).entries
    assert (entry.name, entry.expression, entry.params) == ("k<half, 2>", "a::b::k<half, 2>", ("x", "v"))


def test_instances_come_from_launches_and_explicit_instantiations():
    text = ("template <typename T> __global__ __aicore__ void k(GM_ADDR x) {}\ntemplate __global__ __aicore__ void k<float>(GM_ADDR x);\n"
            "void host(void* s, uint8_t* x) { k<half><<<8, nullptr, s>>>(x); }\n")
    assert sorted(names(text)) == ["k<float>", "k<half>"]


@pytest.mark.parametrize("head, body, expected", [
    ("__aicore__", "", "AIV_ONLY"), ("__vector__", "", "AIV_ONLY"), ("__cube__", "", "AIC_ONLY"),
    ("__mix__(1, 2)", "", "MIX_AIC_1_2"), ("__mix__(1,1)", "", "MIX_AIC_1_1"), ("__mix__(0,1)", "", "MIX_AIV_1_0"), ("__mix__(1,0)", "", "MIX_AIC_1_0"),
    ("__aicore__", "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1)", "MIX_AIC_1_1"),
    ("__aicore__", "// KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1)", "AIV_ONLY"),
    ("__aicore__", "CrossCoreSetFlag<0, PIPE_MTE3>(1); CrossCoreWaitFlag(1);", "MIX_AIV_1_0"), ("__aicore__", "Mmad(a, b, c, p); CrossCoreSetFlag<0, PIPE_FIX>(1);", "MIX_AIC_1_0"),
    ("__aicore__", "Mmad(a, b, c, p);", "AIC_ONLY"), ("__aicore__", "Mmad(a, b, c, p); TBuf<TPosition::VECCALC> t;", "MIX_AIC_1_2"),
])
def test_kernel_type(head, body, expected):
    assert kind(f"__global__ {head} void k(GM_ADDR x) {{\n{body}\n}}") == expected


def test_kernel_type_of_two_kernels_is_their_own():
    text = ("__global__ __aicore__ void a(GM_ADDR x) { KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }\n"
            "__global__ __aicore__ void b(GM_ADDR x) { KERNEL_TASK_TYPE(7UL, KERNEL_TYPE_MIX_AIC_1_2); }")
    a, b = scan(text).entries
    assert KERNEL_TYPES[a.kernel_type] == "AIC_ONLY" and KERNEL_TYPES[b.kernel_type] == "AIV_ONLY"
    assert b.task_types == {"7UL": 5}


# ---- rewriting
TWO_KINDS = """#define TILE_BYTES 256
namespace ops {
template <typename T> class Cube { public: __aicore__ inline void Go(GM_ADDR x); };
template <typename T> __aicore__ inline void Cube<T>::Go(GM_ADDR x) { Mmad(c, a, b, p); }
struct Vector { TQue<TPosition::VECIN, 1> queue; };
using Both = Vector;
constexpr int tiles[2] = {1, 2};
__aicore__ inline __attribute__((always_inline)) void Meet(int n = 0) { CrossCoreSetFlag<0, PIPE_MTE3>(3); }
#define MEET_ALL() Meet()
}
using namespace ops;
"""


@pytest.mark.parametrize("body, expected", [("Cube<half> op; op.Go(x);", "AIC_ONLY"), ("Vector v;", "AIV_ONLY"), ("Both v; Cube<half> op;", "MIX_AIC_1_2"), ("MEET_ALL();", "MIX_AIV_1_0"),
                                            ("Cube<half> op; Meet(tiles[0]);", "MIX_AIC_1_0"), ("int CrossCube = TILE_BYTES;", "AIV_ONLY")])
def test_kernel_type_follows_the_classes_and_functions_a_kernel_uses(body, expected):
    """Two kernels in a text: what one of them calls says nothing about the other."""
    for other in ("Cube<float> op; op.Go(x);", "Vector v;", "Meet();"):
        entries = scan(TWO_KINDS + f"__global__ void first(GM_ADDR x) {{ {body} }}\n__global__ void second(GM_ADDR x) {{ {other} }}").entries
        assert [KERNEL_TYPES[e.kernel_type] for e in entries][0] == expected, other


def test_c_library_names_are_renamed_in_place():
    text = 'extern "C" __global__ __aicore__ void sin(GM_ADDR x) { float s = std::sin(1.0f); Sin(x); /* sin */ }\n'
    found = scan(text)
    assert found.entries[0].name == "sin" and len(found.text) == len(text)
    new = found.entries[0].expression
    assert found.renamed == {new: "sin"} and new != "sin" and len(new) == 3
    assert "std::sin(1.0f)" in found.text and "Sin(x)" in found.text and "/* sin */" in found.text and f"void {new}(" in found.text


def test_renaming_avoids_names_in_use():
    new = scan("int ex_ = 0, ex0 = 1;\n__global__ __aicore__ void exp(GM_ADDR x) {}").entries[0].expression
    assert new not in ("exp", "ex_", "ex0") and len(new) == 3


def test_launch_becomes_plain_cpp():
    text = "__global__ __aicore__ void k(GM_ADDR x) {}\nvoid go(uint32_t n, void* s, uint8_t* x) { k<<<n, nullptr, s>>>(x); }"
    assert "<<<" not in scan(text).text and "twin::host_launch(n, nullptr, s, &k)(x);" in scan(text).text


def test_generated_file_keeps_line_numbers():
    found = scan("int a;\n__global__ __aicore__ void k(GM_ADDR x) {}\n")
    lines = generate(found, "%%ascendc k", 2, "#define M 1\n").split("\n")
    at = lines.index('#line 2 "%%ascendc k"')
    assert lines[at + 1] == "int a;" and any('TWIN_ENTRY("k", "x", 0, ::k)' in line for line in lines)


def test_before_first_kernel_is_behind_includes():
    text = '#include "kernel_operator.h"\n\n// a kernel\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {}\n'
    assert text[before_first_kernel(text):].startswith('extern "C"')
    assert before_first_kernel("int a;") is None


# ---- structs
def test_fields_of_a_plain_struct():
    struct, = structs.find("struct alignas(8) T {\npublic:\n  uint32_t a = 1, b{2};\n  float w[2][N]; // int c;\n  ns::In in;\n  T() : a(0) {}\n"
                           "  int f() const { return a; }\n  static constexpr int k = 3;\n  using X = int;\n  enum class E { A };\n  E e;\n};")
    assert [(f.name, f.type) for f in struct.fields] == [("a", "uint32_t"), ("b", "uint32_t"), ("w", "float"), ("in", "ns::In"), ("e", "E")]


def test_macro_struct_and_default():
    text = ("namespace optiling {\nBEGIN_TILING_DATA_DEF(Inner)\nTILING_DATA_FIELD_DEF(float, f);\nEND_TILING_DATA_DEF;\nREGISTER_TILING_DATA_CLASS(InnerOp, Inner)\n"
            "BEGIN_TILING_DATA_DEF(AddTiling)\nTILING_DATA_FIELD_DEF(uint32_t, n);\nTILING_DATA_FIELD_DEF_ARR(int64_t, 4, v);\nTILING_DATA_FIELD_DEF_STRUCT(Inner, in);\n"
            "END_TILING_DATA_DEF;\nREGISTER_TILING_DATA_CLASS(AddCustom, AddTiling)\n}")
    inner, add = structs.find(text)
    assert [f.name for f in add.fields] == ["n", "v", "in"] and add.qualified == "optiling::AddTiling"
    assert structs.default(text, "add_custom") == add and structs.default(text) == add


@pytest.mark.parametrize("field, word", [("int a : 3;", "bit field"), ("int* p;", "pointer"), ("int& r;", "reference"), ("union { int a; float b; };", "union")])
def test_fields_that_cannot_be_tiling_data(field, word):
    struct, = structs.find(f"struct T {{ {field} }};")
    assert word in struct.fields[0].problem


def test_an_include_is_a_file(tmp_path):
    """A compiler would read a device such as /dev/zero until its memory is full."""
    (tmp_path / "own.h").touch()
    found = lint.check(f'#include "/dev/zero"\n#include <{tmp_path}>\n#include "{tmp_path}/own.h"\n#include "/none/at.all"\n')
    assert [(f.code, f.severity, f.line) for f in found] == [("COMPILE", "error", 1), ("COMPILE", "error", 2)]


SHARED = """#include "kernel_operator.h"
using namespace AscendC;
int g = 0;
static float table[2] = {1, 2};
constexpr int n = 4;
const float k[2] = {1, 2};
__BLOCK_LOCAL__ int mine;
int unused = 1;
int first = 1, second[2] = {1, 2}, never = 3; int fn(int first_of_all); int int_of(3); thread_local int own = 1;
__gm__ int everybody = 1; static int const fixed = 3; int const* const nowhere = nullptr; template <class T> constexpr T two = T(2);
struct Options { static inline int level = 1; static constexpr int least = 0; static const int most; static __aicore__ inline int top() { return level; } };
namespace inner { unsigned int counter{0}; }
struct Tiling { uint32_t a = 7; };
class K { public: __aicore__ inline void Run() { static int calls = 0; static constexpr int c = 3; static int const last = 1; ++calls; g += c + last; } TPipe* pipe; int member = 0; };
__aicore__ inline int f(int v) { return v + table[0] + inner::counter + mine + n + first + second[0] + int_of + own + everybody + fixed + two<int> + Options::level + Options::least; }
extern "C" __global__ __aicore__ void k(GM_ADDR x) { Tiling t{}; printf("%d", f(g) + t.a); }
int host() { static int h = 0; return ++h; }
"""


def test_variables_that_all_blocks_share_are_named():
    found = {f.message.split()[0]: f for f in lint.check(SHARED, first_line=10)}
    assert {name: f.line for name, f in found.items()} == {"g": 12, "table": 13, "first": 18, "second": 18, "int_of": 18, "own": 18, "level": 20, "counter": 21, "calls": 23}
    assert all((f.code, f.severity) == ("UNSUPPORTED_API", "warning") for f in found.values())
    assert "is static" in found["level"].message and [SHARED.splitlines()[f.line - 10][f.column - 1:].startswith(n) for n, f in found.items()] == [True] * 9
    assert "is static" in found["calls"].message and "outside of all functions" in found["g"].message and "constexpr" in found["g"].hint


def test_kernels_of_the_course_share_no_variables():
    texts = [p.read_text() for p in (Path(__file__).parents[1] / "kernels").glob("*/*.cpp")]
    assert len(texts) > 20 and not [f.message for t in texts for f in lint.check(t) if "is a variable" in f.message]
