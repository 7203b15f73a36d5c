"""How the versions of add are launched, and the published time of each: z = x + y, half, [8192, 8192]."""
from pathlib import Path

import numpy as np

import helpers as hp
from helpers.chips import published
from helpers.course import Version
from helpers.course.fitting import element

HERE = Path(__file__).parent
SHAPE = (8192, 8192)     # of the published times
LINE = 256               # half in a 512 B line of GM: every block starts on one

_STEPS = [
    # file, what it is, blocks, elements of a tile, row of the published table
    ("v0_scalar", "scalar loop, one core", 1, 4096, "case0"),
    ("v1_vector", "vector unit, one core", 1, 4096, "case1"),
    ("v2_all_cores", "48 cores", 48, 4096, "case2"),
    ("v3_large_copies", "copies of 32 KB", 48, 16384, "case3"),
    ("v4_double_buffer", "double buffer", 48, 16384, "case4"),
    ("v5_bypass_l2", "inputs bypass L2", 48, 16384, "case5"),
    ("v6_bank_free", "no bank conflict", 48, 16256, "case6"),
]
_PUBLISHED = {row["variant"].split()[0]: row for row in published("Add")}


def _version(file: str, title: str, blocks: int, tile: int, case: str) -> Version:
    row = _PUBLISHED[case]
    return Version(file.split("_")[0], title, HERE / f"{file}.cpp", blocks, tile, row["time_us"], row["vector_us"], row["source"])


VERSIONS = [_version(*step) for step in _STEPS]
FINISHED = Version("add", "any element type", HERE / "add.cpp", 48, 8192)


def share(length: int, blocks: int) -> int:
    """Elements of one block: equal parts in whole lines of 512 B, so the last parts may be shorter or empty."""
    lines = -(-length // LINE)
    return -(-lines // blocks) * LINE


def tiling(version: Version, length: int, blocks: int):
    """The tiling struct of a version, as the host code of an operator computes it."""
    struct = hp.tiling_struct(version.path, "AddTiling")
    return struct(length=length) if blocks == 1 and version.blocks == 1 else struct(length=length, share=share(length, blocks))


def compile(version: Version, dtype=np.float16, **options) -> hp.Kernel:
    """The ladder adds half; the finished kernel has one entry for each element type."""
    return hp.compile(version.path, name=f"add_{element(dtype) if version is FINISHED else element(dtype, float16='custom')}", **options)


def launch(version: Version, x, y, z, *, kernel=None, blocks: int = 0, **options) -> hp.Run:
    """z = x + y with this version. kernel: a built one, to launch it again; blocks: others than the ladder's."""
    blocks = blocks or version.blocks
    kernel = kernel or compile(version, x.dtype)
    return kernel.launch(blocks, (x, y, z, tiling(version, x.size, blocks)), **options)
