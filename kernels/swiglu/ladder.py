"""How swiglu is launched: y = gate / (1 + exp(-gate)) * up."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
LINE = 256               # elements: every block starts on a line of 512 B, for float on two
SHAPE = (2048, 11008)    # of one layer of a 7 B model

SILU = Version("v1", "silu, first of two kernels", HERE / "v1_silu.cpp", 48, 8192)
MUL = Version("v1", "product, second of two kernels", HERE / "v1_mul.cpp", 48, 8192)
FUSED = Version("v2", "one kernel", HERE / "v2_fused.cpp", 48, 5120)
VERSIONS = [SILU, MUL, FUSED]
_STEM = {"v1_silu": "silu", "v1_mul": "mul", "v2_fused": "swiglu"}


def share(length: int, blocks: int) -> int:
    """Elements of one block: equal parts in whole lines, so the last parts may be shorter or empty."""
    lines = -(-length // LINE)
    return max(1, -(-lines // blocks)) * LINE


def tiling(version: Version, length: int, blocks: int):
    """The tiling struct of a version, as the host code of an operator computes it."""
    return hp.tiling_struct(version.path, "SwigluTiling")(length=length, share=share(length, blocks))


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"{_STEM[version.path.stem]}_{element(dtype)}", **options)


def launch(version: Version, *arrays, kernel=None, blocks: int = 0, **options) -> hp.Run:
    """launch(SILU, x, y), launch(MUL, a, b, y), launch(FUSED, gate, up, y)."""
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, arrays[0].dtype)
    return kernel.launch(blocks, (*arrays, tiling(version, arrays[0].size, blocks)), **options)
