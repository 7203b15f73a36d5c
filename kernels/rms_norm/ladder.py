"""How the versions of rms_norm are launched: y = x / sqrt(mean(x * x) + eps) * gamma for each row; gradients; rows longer than UB."""
from functools import lru_cache
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element, some_columns

HERE = Path(__file__).parent
SHAPE = (1024, 1024)     # of the ladder
LANES = 64               # float in a repeat: the pitch of a row in UB is a multiple of it
MAX_ROWS = 64            # of a tile: more gains nothing
UB = 196_608

VERSIONS = [
    Version("v1", "all in half, one core", HERE / "v1_half.cpp", 1, 1),
    Version("v2", "float inside, one core", HERE / "v2_float.cpp", 1, 1),
    Version("v3", "several rows per call", HERE / "v3_many_rows.cpp", 1, 8),
    Version("v4", "double buffer", HERE / "v4_double_buffer.cpp", 1, 8),
    Version("v5", "48 cores, uneven rows", HERE / "v5_all_cores.cpp", 48, 8),
    Version("v6", "with residual add", HERE / "v6_residual.cpp", 48, 8),
    Version("v7", "the library's RmsNorm", HERE / "v7_library.cpp", 48, 8),
]
GRAD = Version("grad", "gradients of x and gamma", HERE / "rms_norm_grad.cpp", 48, 8)
LONG = Version("long", "rows longer than UB", HERE / "rms_norm_long.cpp", 48, 8192)
GRAD_LONG = Version("grad_long", "gradients, rows longer than UB", HERE / "rms_norm_grad_long.cpp", 48, 4096)
_BUFFERS = {"v3": 1}                                        # of a queue; all others have 2
_QUEUES = {"v6": 4, "grad": 3}                              # tensors that cross GM
_WORK = {"grad": (3, 2)}                                    # float rows in UB for half and for float; else (2, 1)
_FIXED = {"grad": 2}                                        # float rows that exist once: gamma, and the sum of its gradient


def pitch(length: int) -> int:
    return -(-length // LANES) * LANES


def row_bytes(version: Version, length: int, itemsize: int) -> int:
    """UB that one more row of a tile takes."""
    queues = _QUEUES.get(version.name, 2) * _BUFFERS.get(version.name, 2) * itemsize
    work = 4 * _WORK.get(version.name, (2, 1))[itemsize == 4]
    return pitch(length) * (queues + work)


def fixed_bytes(version: Version, length: int, itemsize: int) -> int:
    """UB that is taken once: gamma as it is loaded and, if that is half, as float; 64 rows of small things."""
    return pitch(length) * (itemsize + 4 * (_FIXED.get(version.name, 1) - (itemsize == 4))) + MAX_ROWS * 48


def rows_that_fit(version: Version, length: int, itemsize: int) -> int:
    return (UB - fixed_bytes(version, length, itemsize)) // row_bytes(version, length, itemsize)


def tile_rows(version: Version, rows: int, length: int, itemsize: int) -> int:
    """Rows of a tile: as many as fit, in tiles of equal size; v7 takes few. 0 if not even one row fits."""
    fit = min(MAX_ROWS, rows_that_fit(version, length, itemsize))
    if version.name == "v7":
        return max(0, min(version.tile, fit, max(rows, 1)))
    return 0 if fit < 1 else -(-rows // -(-rows // fit)) if rows else 1


def tiling(version: Version, rows: int, length: int, itemsize: int, blocks: int, eps: float, tile: int = 0):
    """The tiling struct of a version, as the host code of an operator computes it."""
    struct = hp.tiling_struct(version.path, "RmsNormTilingData")
    numbers = dict(length=length, eps=eps)                         # v7 adds what the library wants to know
    if version.name not in ("v1", "v2", "long", "grad_long"):
        numbers["tileRows"] = tile or tile_rows(version, -(-rows // blocks), length, itemsize)
        if numbers["tileRows"] < 1:
            first = "add x and the residual first, and then " if version.name == "v6" else ""
            raise ValueError(f"A row of {length:,} elements does not fit UB: {first}use the kernel for long rows.")
    if version.name in ("v1", "v2", "v3", "v4"):
        return struct(rows=rows, **numbers)
    if version.name == "v7":
        return struct(rows=rows, **numbers, **library(rows, length, itemsize, numbers["tileRows"]))
    if version.name in ("long", "grad_long"):
        return struct(rows=rows, tile=tile or min(version.tile * 2 // itemsize, pitch(length)), **numbers)
    return struct(rowsPerBlock=rows // blocks, extraBlocks=rows % blocks, **numbers)


_known_tiling = lru_cache(maxsize=64)(tiling)         # a shape is often launched again


def library(rows: int, length: int, itemsize: int, tile: int) -> dict:
    """What RmsNorm asks of the host: its workspace, and a tiling for a whole tile and for the last one."""
    dtype, padded = f"float{8 * itemsize}", -(-length * itemsize // 32) * 32 // itemsize
    room = UB - padded * itemsize * (4 * tile + 1)                 # what the queues and gamma leave
    tmp = min(hp.host.tmp_size("RmsNorm", (1, tile, padded), dtype).max, room // 32 * 32)
    whole, last = (hp.host.tiling("RmsNorm", (1, n, padded), dtype, tmp, valid=length) for n in (tile, (rows - 1) % tile + 1))
    return dict(tmpBytes=tmp, whole=whole, last=last)


def entry(version: Version, dtype) -> str:
    stem = {"v6": "add_rms_norm", "grad": "rms_norm_grad", "grad_long": "rms_norm_grad"}.get(version.name, "rms_norm")
    return f"{stem}_{element(dtype)}"


def compile(version: Version, dtype=np.float32, **options) -> hp.Kernel:
    """v1 exists for half only; every other version for half and float."""
    return hp.compile(version.path, name=entry(version, dtype), **options)


def launch(version: Version, x, *others, eps: float = 1e-6, kernel=None, blocks: int = 0, tile: int = 0, **options) -> hp.Run:
    """launch(v5, x, gamma, y), launch(v6, x, residual, gamma, y, sum), launch(GRAD, dy, x, gamma, dx, dgamma); x has rows and columns."""
    some_columns(x.shape)
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    numbers = _known_tiling(version, *x.shape, x.itemsize, blocks, eps, tile)
    return kernel.launch(blocks, (x, *others, numbers), **options)
