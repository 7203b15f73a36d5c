"""How the versions of matmul are launched: C = A * B, rows side by side in memory; half, bfloat16 or float in, float or half out."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.course import Version
from helpers.course.fitting import element, fit

HERE = Path(__file__).parent
SHAPE = (1024, 1024, 1024)     # M, N, K of the ladder, half in and float out
BASE = (128, 256, 64)          # of a step: A 128 x 64, B 64 x 256, C 128 x 256
L1, ROW = 524_288, 65_535      # bytes; elements from row to row that a copy with Nd2NzParams can say

VERSIONS = [
    Version("v1", "scalar loops, one core", HERE / "v1_scalar.cpp", 1, 1),
    Version("v2", "one cube core", HERE / "v2_one_core.cpp", 1, 64),
    Version("v3", "A stays in L1", HERE / "v3_l1_reuse.cpp", 1, 64),
    Version("v4", "double buffer", HERE / "v4_double_buffer.cpp", 1, 64),
    Version("v5", "Matmul object", HERE / "v5_matmul_object.cpp", 1, 64),
    Version("v6", "24 cube cores", HERE / "v6_all_cores.cpp", 24, 64),
]


def _up(n: int, to: int) -> int:
    return -(-n // to) * to


def kind(a_type, c_type) -> str:
    """Name of the kernel for these element types."""
    name = element(a_type, float16="half", bfloat16="bfloat16", float32="float")
    return f"matmul_{name}{element(c_type, float32='', float16='_half')}"


def base_of(m: int, n: int, k: int, itemsize: int, base=BASE) -> tuple[int, int, int]:
    """The base of a step for small shapes: no more than there is. float takes half as much of K."""
    return min(base[0], _up(m, 16)), min(base[1], _up(n, 16)), min(base[2] * 2 // itemsize, _up(k, 16))


def keep(version: Version, k: int, base, itemsize: int) -> int:
    """Steps of K whose blocks of A fit L1 beside the blocks of B: all of them, else what stands for none."""
    steps, buffers = -(-k // base[2]), 2 if version.name == "v4" else 1
    room = L1 - buffers * base[1] * base[2] * itemsize
    fits = max(steps, buffers) * base[0] * base[2] * itemsize <= room
    return steps if fits else 0 if version.name == "v4" else 1


def tiling(version: Version, m: int, n: int, k: int, itemsize: int, dtype="float16", out="float32", blocks: int = 0, base=None):
    """The tiling of a version, as the host code of an operator computes it."""
    if version.name in ("v5", "v6"):
        return hp.host.matmul_tiling(m, n, k, dtype=dtype, out=out, cores=blocks or version.blocks, base=base or (-1, -1, -1))
    struct = hp.tiling_struct(version.path, "MatmulTiling")
    if version.name == "v1":
        return struct(m=m, n=n, k=k)
    if max(n, k) > ROW:
        raise ValueError(f"Rows of {max(n, k):,} elements are further apart than a copy to L1 can say ({ROW:,}): use the Matmul object.")
    base = base or base_of(m, n, k, itemsize)
    numbers = dict(m=m, n=n, k=k, baseM=base[0], baseN=base[1], baseK=base[2])
    return struct(**numbers) if version.name == "v2" else struct(keep=keep(version, k, base, itemsize), **numbers)


def compile(version: Version, dtype=np.float16, out=np.float32, **options) -> hp.Kernel:
    return hp.compile(version.path, name=kind(dtype, out), **options)


def launch(version: Version, a, b, c, *, kernel=None, blocks: int = 0, base=None, **options) -> hp.Run:
    """c = a * b with this version. kernel: a built one; blocks, base: others than the ladder's."""
    (m, k), n = a.shape, b.shape[-1]
    fit(b=(b, (k, n)), c=(c, (m, n)))
    if min(m, n, k) < 1:
        raise ValueError(f"A is {m} x {k} and B is {k} x {n}: a product needs at least one row and one column of each.")
    if a.dtype != b.dtype:
        raise ValueError(f"A is {a.dtype} and B is {b.dtype}: the cube multiplies elements of one type.")
    kernel = kernel or compile(version, a.dtype, c.dtype)
    made = tiling(version, m, n, k, a.itemsize, a.dtype.name, c.dtype.name, blocks, base)
    return kernel.launch(blocks or (made.usedCoreNum if version.name == "v6" else version.blocks), (a, b, c, made), **options)
