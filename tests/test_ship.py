"""Projects for CANN: names, description, CMake, host code that runs on the twin, kernels that give the same bytes."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cann_stub
import helpers as hp
from helpers.program import run_program
from helpers.ship import camel_case, check_project, compute_unit, snake_case
from helpers.ship.check import check_description
from helpers.ship.names import official

ROOT = Path(__file__).resolve().parents[1]
N, BLOCKS = 5000, 8


@pytest.fixture(scope="module")
def launch():
    """The add of the course with a tiling struct by value."""
    sys.path.insert(0, str(ROOT / "kernels/add"))
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(N).astype(np.float16), rng.standard_normal(N).astype(np.float16)
    kernel = hp.compile(ROOT / "kernels/add/v4_double_buffer.cpp")
    struct = hp.tiling_struct(ROOT / "kernels/add/v4_double_buffer.cpp", "AddTiling")
    return kernel, (x, y, np.zeros(N, np.float16), struct(length=N, share=768))


@pytest.fixture(scope="module")
def direct(launch, tmp_path_factory):
    kernel, args = launch
    return hp.ship(kernel, tmp_path_factory.mktemp("direct") / "add_custom", args, blocks=BLOCKS)


@pytest.fixture(scope="module")
def operator(launch, tmp_path_factory):
    kernel, args = launch
    return hp.ship(kernel, tmp_path_factory.mktemp("op") / "AddCustom", args, blocks=BLOCKS, layout="operator",
                   tiling={"length": "count", "share": "(count + 256 * 8 - 1) / (256 * 8) * 256"})


# ---- names
@pytest.mark.parametrize("op, snake", [("AddCustom", "add_custom"), ("ShuffleNetUnitCustom", "shuffle_net_unit_custom"), ("AbcDef", "abc_def"), ("AbcAAc", "abc_a_ac"),
                                       ("RMSNorm", "rms_norm"), ("Conv2D", "conv2_d"), ("Add", "add")])
def test_snake_case_by_the_rule_of_the_tools(op, snake):
    assert snake_case(op) == snake


def test_other_spellings():
    assert camel_case("add_custom") == "AddCustom" and camel_case("k") == "K"
    assert [compute_unit(s) for s in ("Ascend910B3", "Ascend910_9391", "Ascend310P3", "Ascend910A", "Ascend310B1")] == [
        "ascend910b", "ascend910_93", "ascend310p", "ascend910", "ascend310b"]
    assert [official(s, hp.chip("Ascend910B1")) for s in (None, "910b3", "Ascend910B2", "Ascend910_9391", "Ascend910B2C")] == [
        "Ascend910B1", "Ascend910B3", "Ascend910B2", "Ascend910_9391", "Ascend910B2C"]


# ---- launched directly
def test_a_direct_project_is_complete(direct, launch):
    assert set(direct.names) == {"CMakeLists.txt", "README.md", "add_custom.cpp", "golden/z.bin", "input/tiling.bin", "input/x.bin", "input/y.bin", "input/z.bin", "main.cpp", "run.sh",
                                 "scripts/verify.py"}
    assert direct.text("add_custom.cpp").startswith(launch[0].source.rstrip("\n"))
    np.testing.assert_array_equal(np.fromfile(direct.folder / "golden/z.bin", np.float16), launch[1][0] + launch[1][1])
    assert "msprof op" in direct.text("README.md") and "Not run on hardware" in direct.text("README.md")
    assert os.access(direct.folder / "run.sh", os.X_OK) and subprocess.run(["bash", "-n", direct.folder / "run.sh"]).returncode == 0
    assert repr(direct).splitlines()[:3] == ["add_custom/", "  golden/", "    z.bin"]


def test_its_host_code_runs_on_the_twin_and_its_script_compares(direct, tmp_path):
    shutil.copytree(direct.folder, tmp_path / "p")
    inputs = {f"input/{p.name}": p for p in (direct.folder / "input").iterdir()}
    run = run_program([direct.folder / "main.cpp", direct.folder / "add_custom.cpp"], inputs)
    assert run.findings == [] and run.files["output/z.bin"] == (direct.folder / "golden/z.bin").read_bytes()
    (tmp_path / "p/output").mkdir()
    (tmp_path / "p/output/z.bin").write_bytes(run.files["output/z.bin"])
    verify = [sys.executable, "scripts/verify.py"]
    done = subprocess.run(verify, cwd=tmp_path / "p", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"z: all {N} elements agree\n")
    wrong = bytearray(run.files["output/z.bin"])
    wrong[2 * 7 + 1] ^= 0x40
    (tmp_path / "p/output/z.bin").write_bytes(bytes(wrong))
    done = subprocess.run(verify, cwd=tmp_path / "p", capture_output=True, text=True)
    assert done.returncode == 1 and "1 of 5000 elements differ; the first is 7" in done.stdout
    (tmp_path / "p/output/z.bin").write_bytes(bytes(wrong[:-2]))
    assert "4999 elements, expected 5000" in subprocess.run(verify, cwd=tmp_path / "p", capture_output=True, text=True).stdout


def test_cmake_configures_it_with_a_stub_of_cann(direct, tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed here: the CMakeLists.txt cannot be configured")
    home = tmp_path / "cann"
    folder = home / "compiler/tikcpp/ascendc_kernel_cmake"
    folder.mkdir(parents=True)
    (folder / "ascendc.cmake").write_text(cann_stub.CMAKE)
    (folder / "kernel_stub.cpp").write_text("int nothing;\n")
    done = subprocess.run(["cmake", "-S", direct.folder, "-B", tmp_path / "build", f"-DASCEND_CANN_PACKAGE_PATH={home}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    env = {k: v for k, v in os.environ.items() if k != "ASCEND_HOME_PATH"}
    done = subprocess.run(["cmake", "-S", direct.folder, "-B", tmp_path / "none"], capture_output=True, text=True, env=env)
    assert done.returncode and "source set_env.sh" in done.stderr


def test_a_project_for_release_9(launch, tmp_path):
    kernel, args = launch
    project = hp.ship(kernel, tmp_path / "nine", args, blocks=BLOCKS, release=9)
    assert "add_custom.asc" in project.names and "<<<blocks, 0, stream>>>" in project.text("add_custom.asc")
    text = project.text("CMakeLists.txt")
    assert text.index("CMAKE_ASC_ARCHITECTURES dav-2201") < text.index("find_package(ASC REQUIRED)") < text.index("LANGUAGES ASC CXX")


# ---- operator package
def test_an_operator_project_has_nothing_wrong(operator):
    assert check_project(operator.folder) == []
    data, = json.loads(operator.text("add_custom.json"))
    assert data["op"] == "AddCustom" and [d["name"] for d in data["input_desc"]] == ["x", "y"] and data["output_desc"][0]["type"] == ["float16"]
    host = operator.text("op_host/add_custom.cpp")
    assert "tiling.set_length(count);" in host and 'AddConfig("ascend910b")' in host and "OP_ADD(AddCustom);" in host and "SetBlockDim(8)" in host
    assert "of the example" not in host
    readme = operator.text("README.md")
    for words in ("bash build.sh", "aclnnAddCustom", "ops.Custom", "torch.ops.wb.add_custom", "atc --model", "561003"):
        assert words in readme
    assert "msopgen" in operator.text("build.sh") and subprocess.run(["bash", "-n", operator.folder / "build.sh"]).returncode == 0
    compile(operator.text("calls/add_custom_mindspore.py"), "m.py", "exec")


def test_its_kernel_reads_the_tiling_and_gives_the_same_bytes(operator, launch):
    header = operator.text("op_host/add_custom_tiling.h")
    kernel = hp.compile(operator.folder / "op_kernel/add_custom.cpp", tiling=header)
    assert [p.name for p in kernel.signature] == ["x", "y", "z", "workspace", "tiling"]
    x, y, z, _ = launch[1]
    struct = hp.tiling_struct(header, "AddCustomTilingData")
    out = np.zeros_like(z)
    kernel[BLOCKS](x, y, out, hp.workspace(1024), struct(length=N, share=768))
    np.testing.assert_array_equal(out, x + y)


def test_a_kernel_of_an_operator_project_is_shipped_as_it_is(operator, launch, tmp_path):
    header = operator.text("op_host/add_custom_tiling.h")
    kernel = hp.compile(operator.folder / "op_kernel/add_custom.cpp", tiling=header)
    x, y, z, _ = launch[1]
    args = (x, y, z, hp.workspace(1024), hp.tiling_struct(header, "AddCustomTilingData")(length=N, share=768))
    again = hp.ship(kernel, tmp_path / "again", args, blocks=BLOCKS, layout="operator")
    assert again.text("op_kernel/add_custom.cpp") == operator.text("op_kernel/add_custom.cpp") and check_project(again.folder) == []
    assert again.text("op_host/add_custom_tiling.h") == header and "GetLibApiWorkSpaceSize() + 1024;" in again.text("op_host/add_custom.cpp")
    with pytest.raises(hp.WorkbookError, match="operator projects only"):
        hp.ship(kernel, tmp_path / "direct", args, blocks=BLOCKS)


def test_numbers_by_value_travel_in_the_tiling_too(tmp_path):
    text = ('#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void scale_all(GM_ADDR x, GM_ADDR y, float factor, uint32_t n)\n{\n'
            "    TPipe pipe;\n    TQue<QuePosition::VECIN, 1> in;\n    TQue<QuePosition::VECOUT, 1> out;\n    pipe.InitBuffer(in, 1, n * 4);\n    pipe.InitBuffer(out, 1, n * 4);\n"
            "    GlobalTensor<float> a, b;\n    a.SetGlobalBuffer((__gm__ float*)x, n);\n    b.SetGlobalBuffer((__gm__ float*)y, n);\n    auto s = in.AllocTensor<float>();\n    DataCopy(s, a, n);\n"
            "    in.EnQue(s);\n    s = in.DeQue<float>();\n    auto d = out.AllocTensor<float>();\n    Muls(d, s, factor, n);\n    out.EnQue(d);\n    d = out.DeQue<float>();\n    DataCopy(b, d, n);\n"
            "    in.FreeTensor(s);\n    out.FreeTensor(d);\n}\n")
    kernel = hp.compile(text)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    project = hp.ship(kernel, tmp_path / "op", (x, y, 1.5, 64), blocks=1, layout="operator")
    assert y.max() == 0                                               # the example ran on copies
    header = project.text("op_host/scale_all_tiling.h")
    assert "TILING_DATA_FIELD_DEF(float, factor);" in header and "set_factor(1.5f);   // of the example" in project.text("op_host/scale_all.cpp")
    again = hp.compile(project.folder / "op_kernel/scale_all.cpp", tiling=header)
    again[1](x, y, None, hp.tiling_struct(header, "ScaleAllTilingData")(factor=1.5, n=64))
    np.testing.assert_array_equal(y, x * np.float32(1.5))
    direct = hp.ship(kernel, tmp_path / "direct", (x, np.zeros(64, np.float32), 1.5, 64), blocks=1)
    assert "scale_all_do(1, stream, static_cast<uint8_t*>(x), static_cast<uint8_t*>(y), 1.5f, 64);" in direct.text("main.cpp")


def test_a_file_with_several_kernels_is_cut_to_one(tmp_path):
    path = ROOT / "kernels/rms_norm/v5_all_cores.cpp"
    from helpers.course.kernels import load
    ladder = load("rms_norm", "ladder")
    x, gamma = np.random.default_rng(0).standard_normal((6, 64)).astype(np.float16), np.ones(64, np.float16)
    numbers = ladder.tiling(ladder.VERSIONS[4], 6, 64, 2, 2, 1e-6)
    project = hp.ship(hp.compile(path, name="rms_norm_half"), tmp_path / "op", (x, gamma, np.zeros_like(x), numbers), blocks=2, layout="operator")
    text = project.text("op_kernel/rms_norm_half.cpp")
    assert text.count("__global__") == 1 and "rms_norm_float" not in text and check_project(project.folder) == []
    header = project.text("op_host/rms_norm_half_tiling.h")
    struct = hp.tiling_struct(header, "RmsNormHalfTilingData")(**{f.name: getattr(numbers, f.name) for f in type(numbers).fields})
    y = np.zeros_like(x)
    hp.compile(project.folder / "op_kernel/rms_norm_half.cpp", tiling=header)[2](x, gamma, y, None, struct)
    np.testing.assert_array_equal(y, np.fromfile(project.folder / "golden/y.bin", np.float16).reshape(y.shape))


# ---- what the check finds
GOOD = {"op": "AddCustom", "input_desc": [{"name": "x", "param_type": "required", "format": ["ND"], "type": ["float16"]}],
        "output_desc": [{"name": "z", "param_type": "required", "format": ["ND"], "type": ["float16"]}]}


def changed(**fields):
    data = json.loads(json.dumps(GOOD))
    data["input_desc"][0].update(fields)
    return [data]


@pytest.mark.parametrize("data, words", [
    (changed(type=["fp16", "float"]), "x: 2 types, 1 format."), (changed(type=["fp16", "float"], format=["ND", "ND"]), "different numbers of types"),
    (changed(param_type="maybe"), "param_type is 'maybe'"), (changed(type=["half16"]), "'half16' is no type"), (changed(name="2x"), "usable name"), (changed(name="z"), "used twice"),
    (changed(type="float16"), "are lists"), ([{**GOOD, "op": "add_custom"}], "starts with a capital"), ([{**GOOD, "output_desc": []}], "no output_desc"),
    ([{**GOOD, "attr": [{"name": "a", "type": "listFloat"}]}], "'listFloat'"), ({}, "no list")])
def test_a_wrong_description_is_named(data, words):
    found = check_description(data)
    assert any(words in f.message and f.hint for f in found), found
    assert check_description([GOOD]) == []


@pytest.mark.parametrize("file, old, new, words", [
    ("op_kernel/add_custom.cpp", "void add_custom(", "void addcustom(", "looks for a kernel add_custom"),
    ("op_host/add_custom.cpp", "    tiling.SaveToBuffer(", "    // (", "receives 0 bytes of tiling"),
    ("op_host/add_custom.cpp", "->SetDataSize(tiling", "->GetCapacity(); (void)(tiling", "size of the tiling stays 0"),
    ("op_host/add_custom.cpp", 'this->AICore().AddConfig("ascend910b");', "", "561003"),
    ("op_host/add_custom.cpp", "OP_ADD(AddCustom);", "", "not registered"),
    ("op_host/add_custom.cpp", 'Input("y")', 'Input("w")', "The OpDef has w, x, z, the description x, y, z"),
    ("op_host/add_custom.cpp", 'Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16})', 'Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT})', "x: 2 types, 1 format")])
def test_a_broken_project_is_named(operator, tmp_path, file, old, new, words):
    shutil.copytree(operator.folder, tmp_path / "p")
    path = tmp_path / "p" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    found = check_project(tmp_path / "p")
    assert len(found) == 1 and words in found[0].message and found[0].hint, found


def test_missing_files_and_stale_objects(operator, tmp_path):
    shutil.copytree(operator.folder, tmp_path / "p")
    (tmp_path / "p/op_kernel/add_custom.cpp").rename(tmp_path / "p/op_kernel/addcustom.cpp")
    assert "looks for the kernel in add_custom.cpp; files here: addcustom.cpp" in check_project(tmp_path / "p")[0].message
    shutil.copytree(operator.folder, tmp_path / "q")
    built = tmp_path / "q/project/build_out/kernel.o"
    built.parent.mkdir(parents=True)
    built.touch()
    os.utime(built, (1, 1))
    assert "older than the kernel's source" in check_project(tmp_path / "q")[0].message
    assert "no operator description" in check_project(tmp_path)[0].message
    (tmp_path / "op.json").write_text("[{,}]")
    assert "no JSON" in check_project(tmp_path)[0].message


@pytest.mark.parametrize("options, words", [({"op": "OtherName", "layout": "operator"}, "needs a kernel, a file and a header named other_name"), ({"layout": "zip"}, "is not"),
                                            ({"layout": "operator", "tiling": {"n": "1"}}, "no field n"), ({"outputs": ("q",)}, "no parameter q"),
                                            ({"layout": "operator", "outputs": ("x",)}, "inputs first"), ({"soc": "Ascend999"}, "soc='Ascend999' is no SoC of Ascend910b"), ({"soc": ""}, "is no SoC"), ({"vendor": "a b"}, "letters, digits and _"), ({"vendor": "../x"}, "letters, digits and _"),
                                            ({"soc": "Ascend310P3"}, "compiled for Ascend910B1, and Ascend310P3 has another architecture")])
def test_a_wrong_wish_is_refused(launch, tmp_path, options, words):
    kernel, args = launch
    with pytest.raises(hp.WorkbookError, match=words):
        hp.ship(kernel, tmp_path / "p", args, blocks=BLOCKS, **options)
    with pytest.raises(TypeError, match="names of parameters"):
        hp.ship(kernel, tmp_path / "p", args, blocks=BLOCKS, outputs=3)
    with pytest.raises(TypeError, match="hp.ship takes a kernel"):
        hp.ship(kernel.source, tmp_path / "p", args, blocks=BLOCKS)
    with pytest.raises(TypeError, match="C\\+\\+ expression of each field"):
        hp.ship(kernel, tmp_path / "p", args, blocks=BLOCKS, layout="operator", tiling="count")
    assert not (tmp_path / "p").exists()


def test_nothing_of_others_is_overwritten(launch, tmp_path):
    kernel, args = launch
    (tmp_path / "README.md").write_text("my notes")
    with pytest.raises(hp.WorkbookError, match="already holds README.md, and not from a project of hp.ship: nothing was written"):
        hp.ship(kernel, tmp_path, args, blocks=BLOCKS)
    assert [p.name for p in tmp_path.iterdir()] == ["README.md"] and (tmp_path / "README.md").read_text() == "my notes"
    for _ in range(2):                                 # its own project is written anew
        hp.ship(kernel, tmp_path / "mine", args, blocks=BLOCKS)
        hp.ship(kernel, tmp_path / "op", args, blocks=BLOCKS, layout="operator")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("kept")
    hp.ship(kernel, tmp_path / "other", args, blocks=BLOCKS)
    assert (tmp_path / "other" / "notes.txt").read_text() == "kept"


@pytest.mark.parametrize("folder, options, words", [("", {}, "folder of its own"), ("/proc/nowhere/project", {}, "cannot be written"), ("p", {"release": 3}, "CANN 8 and 9")])
def test_a_folder_that_cannot_be(launch, tmp_path, monkeypatch, folder, options, words):
    kernel, args = launch
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hp.WorkbookError, match=words):
        hp.ship(kernel, folder, args, blocks=BLOCKS, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change, words", [
    (lambda d: d["input_desc"].append(3), "describes no tensor: 3"), (lambda d: d["input_desc"][0].update(name=[1]), "without a usable name"), (lambda d: d.update(op=5), '"op" is 5'),
    (lambda d: d["input_desc"][0].update(param_type=[]), "param_type is"), (lambda d: d["input_desc"][0].update(type=[[]]), "is no type"), (lambda d: d.update(input_desc=7), "has no input_desc"),
    (lambda d: d.update(attr="eps"), "no list of attributes"), (lambda d: d.update(attr=[{"name": "eps", "type": []}]), "has type")])
def test_a_description_of_odd_parts_is_named(tmp_path, change, words):
    data = json.loads(json.dumps(GOOD))
    change(data)
    assert any(words in f.message for f in check_description([data]))
    (tmp_path / "op.json").write_text(json.dumps([data]))
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_host" / f"{snake_case(GOOD['op'])}.cpp").write_bytes(b"\xff\xfe\0")
    assert any(words in f.message for f in check_project(tmp_path))
    (tmp_path / "op.json").write_text("[" * 100_000)
    assert "This is no JSON" in check_project(tmp_path)[0].message
