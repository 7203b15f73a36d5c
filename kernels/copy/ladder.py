"""How the versions of copy are launched: y = x."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
LENGTH, TILE = 65_536, 8_192     # elements, float: 8 tiles of 32 KB

VERSIONS = [
    Version("v1", "one buffer", HERE / "v1_one_buffer.cpp", 1, TILE),
    Version("v2", "two buffers", HERE / "v2_two_buffers.cpp", 1, TILE),
    Version("copy", "any length, any number of blocks", HERE / "copy.cpp", 8, TILE),
]


def tiling(version: Version, length: int, tile: int = 0):
    """The tiling struct of a version."""
    return hp.tiling_struct(version.path, "CopyTiling")(length=length, tile=tile or version.tile)


def compile(version: Version, dtype=np.float32, **options) -> hp.Kernel:
    """v1 and v2 move float; the finished kernel has one entry for each element type."""
    return hp.compile(version.path, name=f"copy_{element(dtype) if version.name == 'copy' else element(dtype, float32='custom')}", **options)


def launch(version: Version, x, y, *, kernel=None, blocks: int = 0, tile: int = 0, **options) -> hp.Run:
    """y = x with this version."""
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks or version.blocks, (x, y, tiling(version, x.size, tile)), **options)
