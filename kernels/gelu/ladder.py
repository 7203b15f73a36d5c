"""How gelu is launched: y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
LINE = 256               # elements: every block starts on a line of 512 B, for float on two

VERSIONS = [Version("gelu", "tanh form, float inside", HERE / "gelu.cpp", 48, 8192)]


def share(length: int, blocks: int) -> int:
    """Elements of one block: equal parts in whole lines, so the last parts may be shorter or empty."""
    lines = -(-length // LINE)
    return max(1, -(-lines // blocks)) * LINE


def tiling(version: Version, length: int, blocks: int):
    """The tiling struct of a version, as the host code of an operator computes it."""
    return hp.tiling_struct(version.path, "GeluTiling")(length=length, share=share(length, blocks))


def compile(version: Version = VERSIONS[-1], dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"gelu_{element(dtype)}", **options)


def launch(version: Version, x, y, *, kernel=None, blocks: int = 0, **options) -> hp.Run:
    """y = gelu(x)."""
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks, (x, y, tiling(version, x.size, blocks)), **options)
