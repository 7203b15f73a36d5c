"""How this kernel is launched, and what it is judged by. A start for your own: cp -r kernels/_template kernels/mine

Change kernel.cpp, then the three functions below: `oracle` (the formula, in float64), `slope` (its derivative) and
`tiling`. pytest kernels/mine says whether they agree.
"""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
LINE = 256               # elements: every block starts on a line of 512 B, for float on two

VERSIONS = [Version("v1", "two buffers, float inside", HERE / "kernel.cpp", 48, 4096)]


def oracle(x):
    """What the kernel should compute, in the type of x: float64 for the judge."""
    return x / (1 + abs(x))


def slope(x):
    """The derivative of `oracle`. Operators that NumPy and torch both have: torch_op uses it for gradients."""
    return 1 / (1 + abs(x)) ** 2


def tiling(version: Version, length: int, blocks: int):
    """The tiling struct, as the host code of an operator computes it: equal shares in whole lines."""
    lines = -(-length // LINE)
    return hp.tiling_struct(version.path, "KernelTiling")(length=length, share=max(1, -(-lines // blocks)) * LINE)


def compile(version: Version = VERSIONS[-1], dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"mine_{element(dtype)}", **options)


def launch(version: Version, x, y, *, kernel=None, blocks: int = 0, **options) -> hp.Run:
    """y = oracle(x), computed by the kernel."""
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks, (x, y, tiling(version, x.size, blocks)), **options)


def torch_op():
    """The kernel as an operator of torch, with gradients."""
    import torch

    from helpers.frameworks.torch import custom

    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        return (slope(x.float()) * grad.float()).to(x.dtype)            # in float32, rounded once

    version = VERSIONS[-1]
    kernels = {getattr(torch, dtype): compile(version, dtype) for dtype in ("float16", "bfloat16", "float32")}
    return custom(kernels, out=lambda x: torch.empty_like(x), name=HERE.name, blocks=version.blocks,
                  tiling=lambda x: tiling(version, x.numel(), version.blocks), backward=backward)
