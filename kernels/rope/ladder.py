"""How the versions of rope are launched: pairs of elements turned by the angle of their position. x: positions, heads, dim."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
SHAPE = (2048, 32, 128)  # of the chapter: positions, heads, dim
LANES = 64               # float in a repeat: the pitch of a row in UB is a multiple of it
UB = 196_608

VERSIONS = [
    Version("v1", "halves of a row", HERE / "v1_halves.cpp", 48, 1),
    Version("v2", "neighbours, by Gather", HERE / "v2_gather.cpp", 48, 1),
    Version("v3", "neighbours, by shifts", HERE / "v3_swap.cpp", 48, 1),
]


def tables(positions: int, dim: int, dtype, base: float = 10_000.0, first: int = 0):
    """cos and sin of position * base ** (-2i / dim), i < dim / 2, one row for each position."""
    angle = np.arange(first, first + positions)[:, None] * base ** (-2.0 * np.arange(dim // 2) / dim)
    return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


def spread(cos, sin):
    """The tables of v3: in the layout of x, the first of each pair with -sin."""
    return np.repeat(cos, 2, axis=1), np.stack([-sin, sin], axis=2).reshape(len(sin), -1)


def position_bytes(version: Version, heads: int, dim: int, itemsize: int) -> int:
    """UB that one more position of a tile takes."""
    pitch = -(-(dim // 2) // LANES) * LANES
    if version.name == "v1":
        return pitch * (heads * (8 * itemsize + 8 + (8 if itemsize == 2 else 0)) + 4 * itemsize + (8 if itemsize == 2 else 0))
    if version.name == "v2":
        return pitch * (heads * (8 * itemsize + 20 + (8 if itemsize == 2 else 0)) + 4 * itemsize + (8 if itemsize == 2 else 0))
    pitch = -(-dim // LANES) * LANES
    return pitch * (heads * (8 + 4 + 8) + 8 + 8)


def tiling(version: Version, positions: int, heads: int, dim: int, itemsize: int, blocks: int, tile: int = 0):
    """The tiling struct of a version, as the host code of an operator computes it."""
    if dim % 2 or not 2 <= dim <= (2040 if version.name == "v3" else 4080) or not 1 <= heads <= 255:
        raise ValueError(f"{heads} heads of {dim} elements: dim is even and at most {2040 if version.name == 'v3' else 4080}, and there are at most 255 heads.")
    pitch = -(-(dim // 2) // LANES) * LANES
    fit = (UB - (20 * pitch if version.name == "v2" else 0)) // position_bytes(version, heads, dim, itemsize)
    if fit < 1:
        raise ValueError(f"{heads} heads of {dim} elements do not fit UB: split the heads.")
    most = -(-positions // blocks)
    fit = min(fit, 4095 // heads)                           # rows of one copy
    tile = tile or max(1, -(-most // -(-most // fit)) if most else 1)
    return hp.tiling_struct(version.path, "RopeTiling")(positionsPerBlock=positions // blocks, extraBlocks=positions % blocks, heads=heads, dim=dim,
                                                        tilePositions=tile)


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    """v3 exists for half only."""
    return hp.compile(version.path, name=f"rope_{element(dtype)}", **options)


def launch(version: Version, x, cos, sin, y, *, kernel=None, blocks: int = 0, tile: int = 0, **options) -> hp.Run:
    """y = x turned; cos and sin as tables() makes them, for v3 too."""
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    if version.name == "v3":
        cos, sin = spread(cos, sin)
    return kernel.launch(blocks, (x, cos, sin, y, tiling(version, *x.shape, x.itemsize, blocks, tile)), **options)
