"""Chapters 13 and 14: the solutions of their exercises are right, and what the cells start from is wrong."""
import json
import re

import numpy as np
import pytest

from helpers.course import load
from chapters import ROOT

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'ascend-c-workbook[torch]'")

from helpers.frameworks.torch import custom                         # noqa: E402


def cells(chapter: str) -> list[str]:
    book = json.loads((ROOT / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"]


# Cells that exercises build upon, by their first words.
SETUP = {"13_pytorch": ("import warnings", "def random_tensor"), "14_onnx": ("import numpy", "class ByHand", "class WithKernel")}


def solved(chapter: str, old: str, new: str, capsys) -> str:
    """What an exercise's cell prints when `old` in it, which no other cell has, is replaced by `new`."""
    exercise, = [c for c in cells(chapter) if old in c]
    names: dict = {}
    for cell in [c for start in SETUP[chapter] for c in cells(chapter) if c.startswith(start)]:
        exec(compile(cell, chapter, "exec"), names)
    capsys.readouterr()
    exec(compile(exercise.replace(old, new), chapter, "exec"), names)
    return capsys.readouterr().out


def test_fake_kernel_with_two_outputs(capsys):
    old, new = "return torch.empty_like(x), torch.empty_like(x)", "return torch.empty_like(x), torch.empty(gamma.shape, dtype=torch.float32)"
    assert "agrees: True" in solved("13_pytorch", old, new, capsys)


def test_gradient_of_sinh():
    ladder = load("sinh", "ladder")
    version = ladder.VERSIONS[-1]
    mine = custom({torch.float32: ladder.compile(version, np.float32)}, out=lambda x: torch.empty_like(x), name="sinh_of_the_test", blocks=48,
                  tiling=lambda x: ladder.tiling(version, x.numel(), 48), backward=lambda ctx, grad: grad * torch.cosh(ctx.saved_tensors[0]))
    for x in (torch.linspace(-2, 2, 60).reshape(5, 12), torch.linspace(-2, 2, 60).reshape(5, 12).t()):
        leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
        mine(leaf).sum().backward()
        assert torch.allclose(leaf.grad, torch.cosh(x), rtol=1e-5)


def test_the_hunt_names_real_lines():
    article, = [c for c in cells("13_pytorch") if c.startswith("guess = 3\n")]
    found, = [c for c in cells("13_pytorch") if c.startswith("found = [")]
    lines = article.split("'''")[1].splitlines()
    numbers = [int(n) for n in re.findall(r"\((\d+), ", found)]
    assert len(re.findall(r'\("-", |\(\d+, ', found)) == 11 and max(numbers) <= len(lines)
    for number, word in ((3, "aclrtMalloc"), (5, "HOST_TO_DEVICE"), (6, "CreateDesc"), (7, "modelId"), (8, "aclmdlExecute"), (9, "DEVICE_TO_HOST"), (10, "return")):
        assert word in lines[number - 1]


@pytest.mark.parametrize("old, new, shown", [
    ('["x", "gamma"], ["y"], domain="wb")', '["x", "gamma"], ["y"], domain="wb", eps=0.25)', "eps 1e-06: False\neps 1e-05: False\neps 0.25: True"),
    ("fixed = wonnx.export(WithKernel(), tensors)", "fixed = wonnx.export(WithKernel(), tensors, dynamic_shapes=shapes)",
     "1 positions: runs\n5 positions: runs\n7 positions: runs"),
    ("return torch.nn.functional.silu(gate) * up", 'return op("swiglu")(gate, up)', "same result: True - nodes of ours: 1"),
])
def test_solutions_of_chapter_14(old, new, shown, capsys):
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install 'ascend-c-workbook[onnx]'")
    assert shown in solved("14_onnx", old, new, capsys)
