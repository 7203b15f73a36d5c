"""copy as a NumPy tiling simulation: the calls of v1, v2 and copy.cpp, in Python."""
import numpy as np

import helpers as hp


@hp.ubsim
def copy_whole_tiles(core, x, y, tile, num):
    """v1_one_buffer.cpp (num=1) and v2_two_buffers.cpp (num=2): x.size is a multiple of tile."""
    queue = core.TQueBind("VECIN", "VECOUT", num=num, length=tile * x.itemsize)
    for i in range(core.GetBlockIdx(), x.size // tile, core.GetBlockNum()):
        piece = slice(i * tile, (i + 1) * tile)
        local = queue.AllocTensor(x.dtype)
        core.DataCopy(local, x[piece])            # CopyIn
        queue.EnQue(local)
        local = queue.DeQue()
        core.DataCopy(y[piece], local)            # CopyOut
        queue.FreeTensor(local)


@hp.ubsim
def copy(core, x, y, tile):
    """copy.cpp: any length, any number of blocks."""
    queue = core.TQueBind("VECIN", "VECOUT", num=2, length=tile * x.itemsize)
    for start in range(core.GetBlockIdx() * tile, x.size, core.GetBlockNum() * tile):
        piece = slice(start, min(start + tile, x.size))
        local = queue.AllocTensor(x.dtype)
        core.DataCopyPad(local, x[piece])         # CopyIn
        queue.EnQue(local)
        local = queue.DeQue()
        core.DataCopyPad(y[piece], local)         # CopyOut
        queue.FreeTensor(local)


def launch(version: str, x: np.ndarray, y: np.ndarray, blocks: int, tile: int, **options) -> hp.Run:
    """y = x with the twin of "v1", "v2" or "copy"."""
    if version == "copy":
        return copy.launch(blocks, (x, y, tile), **options)
    return copy_whole_tiles.launch(blocks, (x, y, tile, {"v1": 1, "v2": 2}[version]), **options)
