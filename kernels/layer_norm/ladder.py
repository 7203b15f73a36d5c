"""How layer_norm is launched: y = (x - mean) / sqrt(variance + eps) * gamma + beta for each row; rows longer than UB."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element, some_columns

HERE = Path(__file__).parent
LANES = 64               # float in a repeat: the pitch of a row in UB is a multiple of it
MAX_ROWS = 64            # of a tile: more gains nothing
UB = 196_608

VERSIONS = [Version("layer_norm", "two passes over UB", HERE / "layer_norm.cpp", 48, 8)]
LONG = Version("long", "rows longer than UB", HERE / "layer_norm_long.cpp", 48, 8192)


def tile_rows(version: Version, rows: int, length: int, itemsize: int) -> int:
    """Rows of a tile: as many as fit, in tiles of equal size. 0 if not even one row fits."""
    pitch = -(-length // LANES) * LANES
    once = pitch * 2 * (itemsize + (4 if itemsize == 2 else 0)) + MAX_ROWS * 48
    fit = min(MAX_ROWS, (UB - once) // (pitch * (4 * itemsize + (8 if itemsize == 2 else 4))))
    return 0 if fit < 1 else -(-rows // -(-rows // fit)) if rows else 1


def tiling(version: Version, rows: int, length: int, itemsize: int, blocks: int, eps: float, elements: int = 0):
    """The tiling struct, as the host code of an operator computes it. elements: of a tile of LONG, 0 for as many as fit."""
    struct = hp.tiling_struct(version.path, "LayerNormTilingData")
    if version is LONG:
        return struct(rows=rows, length=length, tile=elements or min(version.tile * 2 // itemsize, -(-length // LANES) * LANES), eps=eps)
    tile = tile_rows(version, -(-rows // blocks), length, itemsize)
    if tile < 1:
        raise ValueError(f"A row of {length:,} elements does not fit UB: use the kernel for long rows.")
    return struct(rowsPerBlock=rows // blocks, extraBlocks=rows % blocks, length=length, tileRows=tile, eps=eps)


def compile(version: Version = VERSIONS[0], dtype=np.float16, **options) -> hp.Kernel:
    return hp.compile(version.path, name=f"layer_norm_{element(dtype)}", **options)


def launch(version: Version, x, gamma, beta, y, *, eps: float = 1e-5, kernel=None, blocks: int = 0, tile: int = 0, **options) -> hp.Run:
    """y = layer_norm(x); x has rows and columns."""
    some_columns(x.shape)
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks, (x, gamma, beta, y, tiling(version, *x.shape, x.itemsize, blocks, eps, tile)), **options)
