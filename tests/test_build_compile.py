"""From text to shared object: caching, and compiler messages in the learner's lines."""
import os
import subprocess
import sys

import pytest

import helpers as hp
from helpers.build import compile as builder
from helpers.build import compiler, diagnose, runtime, twin
from helpers.build.cache import Cache

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x, float f, int32_t n) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> q;
    pipe.InitBuffer(q, 2, 2048);
    GlobalTensor<half> g, h;
    g.SetGlobalBuffer((__gm__ half*)x, n);
    LocalTensor<half> a = q.AllocTensor<half>();
    LocalTensor<half> b = a;
    LocalTensor<int8_t> c;
    LocalTensor<float> d;
    // here
    q.FreeTensor(a);
}
"""
LINE = 13
COMPILERS = [c for c in ("g++", "clang++-16", "clang++-15", "clang++") if subprocess.run(["which", c], capture_output=True).returncode == 0]


def with_line(line):
    return KERNEL.replace("// here", line)


def failure(text, **more):
    with pytest.raises(hp.CompileError) as raised:
        builder.build(text, **more)
    return raised.value


@pytest.fixture(params=COMPILERS)
def each_compiler(request, monkeypatch):
    built = runtime.ensure()      # messages do not depend on the runtime: one is enough for all compilers
    monkeypatch.setenv(compiler.OVERRIDE, request.param)
    if compiler.search()[0] is None:
        pytest.skip(f"{request.param} is too old")
    monkeypatch.setattr(runtime, "ensure", lambda *_, **__: built)


# ---- building
def test_builds_and_hits_the_cache():
    first = builder.build(KERNEL)
    stamp = os.stat(first.path).st_mtime_ns
    second = builder.build(KERNEL)
    assert first.path == second.path and os.stat(second.path).st_mtime_ns == stamp
    assert [e.name for e in first.entries] == ["k"] and first.entries[0].params == ("x", "f", "n")


def test_every_input_is_part_of_the_key(monkeypatch):
    base = builder.build(KERNEL).path
    others = [builder.build(KERNEL + "// more\n"), builder.build(KERNEL, label="other"), builder.build(KERNEL, first_line=2),
              builder.build(KERNEL, defines={"N": 3}), builder.build(KERNEL, arch=2002)]
    monkeypatch.setattr(runtime, "KERNEL_FLAGS", runtime.KERNEL_FLAGS + ("-DX=1",))
    others.append(builder.build(KERNEL))
    paths = [base, *(b.path for b in others)]
    assert len(set(paths)) == len(paths)


def test_an_edited_header_is_a_miss(tmp_path, monkeypatch):
    before = twin.header_digest()
    copy = tmp_path / "include"
    subprocess.run(["cp", "-r", twin.INCLUDE, copy], check=True)
    monkeypatch.setattr(twin, "INCLUDE", copy)
    first = twin.header_digest()
    with open(copy / "twin" / "base.h", "a") as file:
        file.write("// edited\n")
    assert first == before and twin.header_digest() != first


def test_an_edited_include_of_the_kernel_is_a_miss(tmp_path):
    (tmp_path / "size.h").write_text("#define SIZE 1\n")
    text = KERNEL.replace("using", '#include "size.h"\nusing', 1).replace("// here", "n = SIZE;")
    first = builder.build(text, folder=tmp_path)
    assert builder.build(text, folder=tmp_path).path == first.path
    (tmp_path / "size.h").write_text("#define SIZE 2\n")
    assert builder.build(text, folder=tmp_path).path != first.path


def test_two_processes_build_the_same_kernel(tmp_path):
    program = f"from helpers.build import compile as b\nprint(b.build({KERNEL + '// two processes'!r}, label={tmp_path.name!r}).path)"
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {p.communicate(timeout=120)[0].strip() for p in both}
    assert len(paths) == 1 and os.path.exists(paths.pop())


@pytest.mark.parametrize("name", ["sin", "exp", "abs", "index", "select", "y0", "round"])
def test_kernels_named_like_c_functions(name):
    built = builder.build(f'#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void {name}(GM_ADDR x) {{}}\n', name=name)
    assert built.entries[0].name == name


def test_templates_namespaces_and_host_code():
    text = """#include "kernel_operator.h"
namespace mine {
template <typename T, int N> __global__ __aicore__ void k(__gm__ T* x, int n) { x[0] = static_cast<T>(n + N); }
}
extern "C" __global__ __aicore__ void plain(GM_ADDR x) {}
void launch(uint32_t blocks, void* l2ctrl, void* stream, uint8_t* x) {
    plain<<<blocks, l2ctrl, stream>>>(x);
    mine::k<half, 2><<<blocks, nullptr, stream>>>((half*)x, 1);
}
"""
    assert [e.name for e in builder.build(text).entries] == ["k<half, 2>", "plain"]
    assert "k<float, 1>" in [e.name for e in builder.build(text, name="k<float, 1>").entries]


def test_a_launch_is_type_checked():
    error = failure(KERNEL + "void go(uint8_t* x) { k<<<1, nullptr, nullptr>>>(x); }\n")
    assert error.findings[0].line == KERNEL.count("\n") + 1


def test_macros_before_the_include_reach_the_headers():
    text = KERNEL.replace('#include', '#define ASCENDC_CUBE_ONLY\n#define kBlock_unused 1\n#include', 1)
    assert builder.build(text).entries


@pytest.mark.parametrize("where", ["text", "tiling", "header"])
def test_get_tiling_data_finds_its_struct(where, tmp_path):
    struct = ("namespace optiling {\nBEGIN_TILING_DATA_DEF(KTiling)\nTILING_DATA_FIELD_DEF(uint32_t, n);\nEND_TILING_DATA_DEF;\n"
              "REGISTER_TILING_DATA_CLASS(K, KTiling)\n}\n")
    kernel = 'extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR tiling) { GET_TILING_DATA(td, tiling); uint32_t n = td.n; (void)n; }\n'
    include = '#include "kernel_operator.h"\n'
    (tmp_path / "k_tiling.h").write_text(struct)
    text = {"text": include + struct + kernel, "tiling": include + kernel, "header": include + '#include "k_tiling.h"\n' + kernel}[where]
    assert builder.build(text, tiling=struct if where == "tiling" else "", folder=tmp_path).entries


# ---- messages
MISTAKES = {   # line: (code, words of the message, words of the hint)
    "Muls(a, b, 0.5, n);": ("UNSUPPORTED_TYPE", "Muls half double", "static_cast<half>"),
    "Adds(a, b, f, n);": ("UNSUPPORTED_TYPE", "Adds half float", "static_cast<half>"),
    "DataCopy(g, h, n);": ("WRONG_POSITION", "GlobalTensor GM", "LocalTensor"),
    "DataCopy(d, g, n);": ("UNSUPPORTED_TYPE", "DataCopy convert", "Cast"),
    "Add(c, c, c, n);": ("UNSUPPORTED_TYPE", "Add half float", "Cast"),
    "Add(a, b, d, n);": ("UNSUPPORTED_TYPE", "Add half float", "Cast"),
    "Exp(c, c, n);": ("UNSUPPORTED_TYPE", "Exp half float", "Cast"),
    "Add(a, b, n);": ("COMPILE", "Add", ""),
    "AscendC::SetFlag<HardEvent::MTE2_V>(AscendC::EVENT_ID0);": ("COMPILE", "EVENT_ID0 global", "without AscendC::"),
    "Relu6(a, b, n);": ("UNSUPPORTED_API", "Relu6", "Relu"),
    "AscendC::NoSuchThing(a, b, n);": ("UNSUPPORTED_API", "NoSuchThing", "not modelled"),
    "TrianUpperMatmulPolicy<> w;": ("COMPILE", "TrianUpperMatmulPolicy AscendC::Impl::Detail", "using namespace AscendC::Impl::Detail;"),
    "a.SetVal(0, 1);": ("COMPILE", "SetVal", ""),
    "g.SetGlobalBuffer(x, n);": ("COMPILE", "SetGlobalBuffer GM_ADDR", "(__gm__ half*)"),
    "a[0] = 3;": ("COMPILE", "", "SetValue"),
    "half w = a[0];": ("COMPILE", "LocalTensor<half> half", "GetValue"),
    "auto w = q.DeQue();": ("COMPILE", "DeQue() element type", "DeQue<half>()"),
    "TQue<VECIN, 1> w;": ("COMPILE", "VECIN", "TPosition::VECIN"),
    "TQue<TPosition::VECIN> w;": ("COMPILE", "template arguments", "TQue<TPosition::VECIN, 1>"),
    "Cast(d, a, CAST_NONE, n);": ("COMPILE", "CAST_NONE", "RoundMode::CAST_NONE"),
    "Cast(d, a, n);": ("COMPILE", "Cast", ""),
    "class P { void f() {} }; P w; w.f();": ("COMPILE", "private", "public:"),
    "LoadImageToLocal(a, b, n);": ("UNSUPPORTED_API", "LoadImageToLocal cube", "LoadData"),
    "std::cout << 3;": ("UNSUPPORTED_API", "std::cout", "printf"),
    "int z = undefinedThing;": ("COMPILE", "undefinedThing not declared", ""),
    "int z = 3": ("COMPILE", "; is missing", ""),
    "if (n > 3) {": ("COMPILE", "never closed", "}"),
    "float r = sqrtf(f);": ("UNSUPPORTED_API", "sqrtf", "Sqrt"),
    "float r = std::expf(f);": ("UNSUPPORTED_API", "expf", "Exp"),
    "std::vector<int> v;": ("UNSUPPORTED_API", "std::vector heap", "TBuf"),
    "int* p = new int[4];": ("UNSUPPORTED_API", "new heap", "TBuf"),
    "GET_TILING_DATA(t, x);": ("COMPILE", "tiling struct", "tiling="),
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistake_is_explained_at_its_line(line, each_compiler):
    code, words, hint = MISTAKES[line]
    finding = failure(with_line(line)).findings[0]
    assert (finding.code, finding.line, finding.source.strip()) == (code, LINE, line)
    assert all(w in finding.message for w in words.split()), finding.message
    assert hint in finding.hint, finding.hint


def test_forms_of_a_call_on_tensors_are_those_for_tensors():
    hint = failure(with_line("Cast(d, a, n);")).findings[0].hint
    assert "Cast(LocalTensor" in hint and "Cast(float)" not in hint


def test_class_without_its_semicolon():
    text = '#include "kernel_operator.h"\nclass A { int a; }\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {}\n'
    finding = failure(text).findings[0]
    assert ";" in finding.message + finding.hint, finding


def test_kernel_named_like_an_api_call():
    assert builder.build(KERNEL.replace("void k(", "void Add(").replace("// here", "Add(a, b, b, n);")).entries[0].name == "Add"


def test_text_as_other_editors_save_it(tmp_path):
    (tmp_path / "k.cpp").write_bytes(KERNEL.replace("\n", "\r\n").encode("utf-8-sig"))
    assert hp.compile(tmp_path / "k.cpp").source == KERNEL
    (tmp_path / "t.h").write_text("struct T { int32_t a = 3; };", encoding="utf-8-sig")
    assert hp.tiling_struct(tmp_path / "t.h", "T")().a == 3


def test_include_as_one_folder(tmp_path):
    (tmp_path / "own.h").write_text("#define OWN 3\n")
    text = KERNEL.replace("using", '#include "own.h"\nusing').replace("// here", "n = OWN;")
    assert hp.compile(text, include=str(tmp_path)).name == hp.compile(text, include=tmp_path).name == "k"
    with pytest.raises(TypeError, match="defines is a dict"):
        hp.compile(text, include=tmp_path, defines=["N=3"])


def test_error_inside_the_learners_template_points_into_it(each_compiler):
    text = with_line("// here").replace("extern", "template <typename T> void Twice(LocalTensor<T> t, int n) {\n    Muls(t, t, 2.0, n);\n}\nextern")
    finding = failure(text.replace("// here", "Twice(a, n);")).findings[0]
    assert finding.line == 4 and "Muls" in finding.message


def test_first_line_moves_the_lines(each_compiler):
    assert failure(with_line("int z = undefinedThing;"), first_line=2).findings[0].line == LINE + 1


def test_at_most_three_errors_are_shown(each_compiler):
    error = failure(with_line("\n".join(f"int z{i} = undefined{i};" for i in range(6))))
    assert len(error.findings) == 3 and "6 errors" in error.headline and error.log.count("undefined5") >= 1


def test_message_reads_well():
    text = str(failure(with_line("Muls(a, b, 0.5, n);")))
    assert text.splitlines() == [
        "The kernel was not built: 1 error.",
        "UNSUPPORTED_TYPE  line 13",
        "  13 | Muls(a, b, 0.5, n);",
        "     | ^",
        "  Muls takes a scalar of the tensor's type: half here, but it got double.",
        "  Fix: Cast the scalar: static_cast<half>(…)."]


def test_renamed_kernels_keep_their_name_in_messages():
    text = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void sin(GM_ADDR x) { sin.x = 1; }\n'
    assert "'sin'" in failure(text).findings[0].message


@pytest.mark.parametrize("text, words", [
    ("int a;\n", "includes no header"),
    ('#include "kernel_operator.h"\nvoid k(GM_ADDR x) {}\n', "No kernel was found"),
    ('#include "kernel_operator.h"\ntemplate <typename T> __global__ __aicore__ void k(GM_ADDR x) {}\n', "kernel template"),
    ('#include "kernel_operator.h"\n#include "absent.h"\n__global__ __aicore__ void k(GM_ADDR x) {}\n', "absent.h was not found"),
    ('#include "kernel_operator.h"\n__global__ __aicore__ int k(GM_ADDR x) { return 1; }\n', "returns void"),
    ('#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR x {}\n', "Expected ')'"),
    ('#include "kernel_operator.h"\nstruct S { __global__ __aicore__ void k(GM_ADDR x) {} };\n', "no function that can be launched"),
    ('#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR x) {}\n__global__ __aicore__ void k(GM_ADDR x, int n) {}\n', "Two kernels are called k"),
    ('#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR x) { printf("abc); }\n', "terminating"),
    ('#include "kernel_operator.h"\n#define KERNEL(n) __global__ __aicore__ void n(GM_ADDR x)\nKERNEL(k) {}\n', "No kernel was found"),
    ('#include "kernel_operator.h"\nvoid f();\n__global__ __aicore__ void k(GM_ADDR x) { f(); }\n', "f() is declared and used"),
])
def test_texts_without_a_usable_kernel(text, words):
    assert words in failure(text).findings[0].message


def test_unknown_name_lists_the_known_ones():
    assert "k" in failure(KERNEL, name="other").findings[0].message


def test_kernel_that_asks_for_the_core_kind_by_macro():
    vector = KERNEL.replace("// here", "#ifdef __DAV_C220_VEC__\n    n = 1;\n#else\n    static_assert(false);\n#endif\n")
    assert builder.build(vector).entries
    mixed = KERNEL.replace("TPipe pipe;", "TPipe pipe; KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);").replace(
        "// here", "#if defined(__DAV_C220_VEC__) == defined(__DAV_C220_CUBE__)\n    static_assert(false);\n#endif\n")
    assert [e.kernel_type for e in builder.build(mixed).entries] == [5]      # built once per kind


# ---- hints without an error
def test_unsigned_to_float_is_a_warning():
    warning, = builder.build(with_line("uint32_t u = n; float r = (float)u; (void)r;")).warnings
    assert (warning.code, warning.severity, warning.line) == ("UNSUPPORTED_TYPE", "warning", LINE)


def test_large_stack_array_is_a_warning():
    warning, = builder.build(with_line("float tmp[4096]; tmp[0] = f;")).warnings
    assert warning.code == "OUT_OF_MEMORY" and "16384 B" in warning.message


def test_parse_of_both_dialects():
    gcc = "c: In instantiation of 'f':\nc:3:31:   required from here\n/twin/include/v.h:10:5: error: static assertion failed: TEXT\n"
    clang = "/twin/include/v.h:10:5: error: static assertion failed due to requirement 'x': TEXT\nc:3:30: note: in instantiation of function template specialization 'f' requested here\n"
    for log in (gcc, clang):
        finding = diagnose.errors(log, "c", "a\nb\nc(d)\n", 1, {})[0][0]
        assert (finding.line, finding.message) == (3, "TEXT.")


def test_cache_location_is_private_to_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("ASCEND_WORKBOOK_CACHE", str(tmp_path / "here"))
    assert Cache().root == tmp_path / "here"
