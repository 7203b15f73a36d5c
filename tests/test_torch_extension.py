"""The C++ route of torch: the same operator as a compiled extension, and the files for torch_npu."""
import re
import subprocess

import pytest

import helpers as hp

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'ascend-c-workbook[torch]'")

from helpers.frameworks import ops as catalogue                     # noqa: E402
from helpers.frameworks import torch as workbook                    # noqa: E402
from helpers.frameworks import torch_extension as extension         # noqa: E402


@pytest.fixture(scope="module")
def swiglu():
    if why := extension.missing():
        pytest.skip(why)
    return extension.build("swiglu")


def test_the_extension_is_the_same_operator(swiglu):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        found = []
        for op in (swiglu, workbook.op("swiglu")):
            gate, up = (torch.linspace(-3, 3, 66).reshape(2, 33).to(dtype).add(k).requires_grad_() for k in (0, 1))
            y = op(gate, up)
            y.sum().backward()
            found.append((y, gate.grad, up.grad))
        assert all(torch.equal(a, b) for a, b in zip(*found))
    half = torch.randn(6, 40).chunk(2, -1)
    assert torch.equal(swiglu(*half), workbook.op("swiglu")(*half))
    assert swiglu(torch.empty(0, 3), torch.empty(0, 3)).shape == (0, 3)
    assert str(swiglu.default._schema).split("(", 1)[1] == str(workbook.op("swiglu")._opoverload._schema).split("(", 1)[1]


def test_the_extension_is_one_node(swiglu):
    assert workbook.nodes(lambda a, b: swiglu(a, b) * 2, torch.ones(4), torch.ones(4)) == ["wb_cpp::swiglu", "mul"]


@pytest.mark.parametrize("inputs, word", [
    ((torch.ones(4, dtype=torch.float64), torch.ones(4)), "swiglu: gate is Double; there are kernels for float32, float16 and bfloat16"),
    ((torch.ones(4), torch.ones(4, dtype=torch.float16)), "swiglu: up is Half"),
    ((torch.ones(4), torch.ones(5)), "swiglu: The tensors have different shapes"),
])
def test_wrong_inputs(swiglu, inputs, word):
    with pytest.raises(RuntimeError, match=re.escape(word)):
        swiglu(*inputs)
    assert (swiglu(torch.zeros(4), torch.ones(4)) == 0).all()


def test_missing_tools_are_named(monkeypatch):
    monkeypatch.setattr(extension.shutil, "which", lambda tool: None)
    assert "ninja (pip install ninja)" in extension.missing() and "C++ compiler" in extension.missing()
    with pytest.raises(hp.WorkbookError, match="rope was not built: torch.utils.cpp_extension needs ninja"):
        extension.build("rope")


def test_text_of_an_operator_with_numbers():
    text = extension.source("rms_norm", "/plans")
    assert 'm.def("rms_norm(Tensor x, Tensor gamma, float eps=1e-06) -> Tensor");' in text
    assert '"/eps=%.9g", double(eps)' in text and 'std::string plans = "/plans";' in text and text.count("{") == text.count("}")
    assert "at::Tensor run_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double scale)" in extension.source("attention")
    with pytest.raises(ValueError, match="rms_norm_grad has the outputs dx and dgamma; the C"):
        extension.source("rms_norm_grad")
    with pytest.raises(ValueError, match="matmul has the output c; the C"):
        extension.source("matmul")                                  # which is float32, and of another shape


# ---- torch_npu: text, which no machine without an NPU can run
NPU = ["add", "copy", "gelu", "layer_norm", "masked_softmax", "mul", "rms_norm", "rope", "silu", "sinh", "softmax", "swiglu"]


@pytest.mark.parametrize("name", NPU)
def test_files_for_torch_npu(name):
    files = extension.npu_files(name)
    wrapper, call, aclnn = (files[f] for f in (f"{name}_npu.asc", f"call_{name}.py", f"{name}_aclnn.cpp"))
    schema = str(workbook.op(name)._opoverload._schema).removeprefix("wb::")
    told = re.search(r'm\.def\("(.*?)"\)', wrapper)[1]
    assert re.sub(r"[\d.e-]+", "N", told) == re.sub(r"[\d.e-]+", "N", schema)
    assert "TORCH_LIBRARY_IMPL(wb, PrivateUse1, m)" in wrapper and "TORCH_LIBRARY_IMPL(wb, Meta, m)" in wrapper
    assert "getCurrentNPUStream().stream(false)" in wrapper and all(re.search(rf"{name}_{kind}<<<\d+, 0, stream>>>\(", wrapper) for kind in ("half", "bf16", "float"))
    assert wrapper.index("is_privateuseone") < wrapper.index("<<<") and wrapper.count("{") == wrapper.count("}")
    assert "torch.ops.load_library" in call and f"torch.ops.wb.{name}(" in call and "synchronize" in call
    for tensor in catalogue.find(name).inputs[1:]:
        wanted = "at::kByte" if tensor == "mask" else f"{catalogue.find(name).inputs[0]}.scalar_type()"
        assert f"TORCH_CHECK({tensor}.scalar_type() == {wanted}, " in wrapper
    assert_runs(call, name)
    build = files[f"build_{name}.sh"]
    assert f"bisheng -x asc {name}_npu.asc -shared" in build and f"-o lib{name}.so" in build and f"./lib{name}.so" in call
    assert subprocess.run(["bash", "-n"], input=build, text=True, capture_output=True).stderr == ""
    assert re.search(r"EXEC_NPU_CMD\(aclnn[A-Z]\w+Custom, \w+, ", aclnn)         # never a name of CANN's own operators


def assert_runs(call: str, name: str) -> None:
    """The example that calls the operator, on the CPU: shapes, types and names are right."""
    on_cpu = re.sub(r"import torch_npu\n|torch.ops.load_library.*\n|torch.npu.synchronize.*\n|print.*\n", "", call).replace(', device="npu"', "")
    seen: dict = {}
    workbook.op(name)
    exec(on_cpu, seen)
    assert seen["y"].shape == seen[catalogue.find(name).inputs[0]].shape and seen["y"].dtype == torch.float16


@pytest.mark.parametrize("name, words", [("attention", "more than its tensors and a tiling: q, k, v, mask, o, tiling"), ("matmul", "the output c"), ("add_rms_norm", "the outputs y and sum")])
def test_a_kernel_that_this_text_does_not_fit(name, words):
    with pytest.raises(ValueError, match=words):
        extension.npu_files(name)


def test_every_pointer_of_the_kernel_gets_a_tensor():
    """The launch in the wrapper has the arguments of the kernel's own text."""
    from helpers.course import load
    ladder = load("swiglu", "ladder")
    kernel = ladder.compile(ladder.FUSED)
    launch = re.search(r"swiglu_half<<<.*?>>>\((.*)\);", extension.npu_files("swiglu")["swiglu_npu.asc"])[1]
    assert len(launch.split(", ")) == len(kernel.signature)
