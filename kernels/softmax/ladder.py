"""How the versions of softmax are launched: y = softmax of each row of x; masked; rows longer than UB."""
from functools import lru_cache
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element, some_columns

HERE = Path(__file__).parent
SHAPE = (1024, 2048)     # of the ladder, half
LANES = 64               # float in a repeat: the pitch of a row in UB is a multiple of it
MAX_ROWS = 64            # of a tile: more gains nothing
UB = 196_608

VERSIONS = [
    Version("v1", "one row at a time", HERE / "v1_one_row.cpp", 48, 1),
    Version("v2", "several rows per call", HERE / "v2_many_rows.cpp", 48, 4),
    Version("v3", "the library's SoftMax", HERE / "v3_library.cpp", 48, 8),
]
MASKED = Version("masked", "with a mask", HERE / "masked_softmax.cpp", 48, 4)
LONG = Version("long", "rows longer than UB", HERE / "softmax_long.cpp", 48, 8192)


def pitch(length: int) -> int:
    return -(-length // LANES) * LANES


def padded(length: int, itemsize: int) -> int:
    """Elements from row to row when rows start on data blocks."""
    return -(-length * itemsize // 32) * 32 // itemsize


def row_bytes(version: Version, length: int, itemsize: int) -> int:
    """UB that one more row of a tile takes: two queues of two buffers, the float row, and its half for the fold or the workspace."""
    if version.name == "v3":
        width = padded(length, itemsize)
        return 4 * width * itemsize + hp.host.tmp_size("SoftMax", (1, width), f"float{8 * itemsize}").max
    width, parts = pitch(length), pitch(length) // LANES
    mask = width * (2 + 2) + width // 8 + 32 if version.name == "masked" else 0
    return width * (4 * itemsize + 4) + (parts - parts // 2) * LANES * 4 + mask


def tile_rows(version: Version, rows: int, length: int, itemsize: int) -> int:
    """Rows of a tile: as many as fit, in tiles of equal size. 0 if not even one row fits."""
    fit = min(MAX_ROWS, (UB - MAX_ROWS * 40 - 1024) // row_bytes(version, length, itemsize))
    if version.name == "v3":
        return max(0, min(version.tile, fit, max(rows, 1)))
    return 0 if fit < 1 else -(-rows // -(-rows // fit)) if rows else 1


def tiling(version: Version, rows: int, length: int, itemsize: int, blocks: int, tile: int = 0):
    """The tiling struct of a version, as the host code of an operator computes it."""
    struct = hp.tiling_struct(version.path, "SoftmaxTiling")
    if version.name == "long":
        return struct(rows=rows, length=length, tile=tile or min(version.tile * 2 // itemsize, pitch(length)))
    numbers = dict(rowsPerBlock=rows // blocks, extraBlocks=rows % blocks, length=length)
    if version.name == "v1":
        return struct(**numbers)
    tile = tile or tile_rows(version, -(-rows // blocks), length, itemsize)
    if tile < 1:
        first = "put -inf where the mask is not 0, and then " if version.name == "masked" else ""
        raise ValueError(f"A row of {length:,} elements does not fit UB: {first}use the kernel for long rows.")
    if version.name == "v3":                                        # the library wants a workspace, and the tiling of a tile
        shape, dtype = (tile, padded(length, itemsize)), f"float{8 * itemsize}"
        tmp = hp.host.tmp_size("SoftMax", shape, dtype).max
        return struct(rows=rows, length=length, tileRows=tile, tmpBytes=tmp, whole=hp.host.tiling("SoftMax", shape, dtype, tmp))
    return struct(tileRows=tile, **numbers)


_known_tiling = lru_cache(maxsize=64)(tiling)         # a shape is often launched again


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"{'masked_' if version.name == 'masked' else ''}softmax_{element(dtype)}", **options)


def launch(version: Version, x, *others, kernel=None, blocks: int = 0, tile: int = 0, **options) -> hp.Run:
    """launch(v2, x, y), launch(MASKED, x, mask, y) with a mask of bytes, 0 = takes part; x has rows and columns."""
    some_columns(x.shape)
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks, (x, *others, _known_tiling(version, *x.shape, x.itemsize, blocks, tile)), **options)
