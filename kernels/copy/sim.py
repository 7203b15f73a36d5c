"""copy as a NumPy tiling simulation: the same tiles, queue, checks and estimate as copy.cpp, and no C++."""
import helpers as hp


@hp.ubsim
def copy(core, x, y, tile, buffers=2):
    queue = core.TQueBind("VECIN", "VECOUT", num=buffers, length=tile * x.itemsize)
    for start in range(core.block * tile, x.size, core.blocks * tile):
        piece = slice(start, min(start + tile, x.size))
        local = queue.AllocTensor(x.dtype)
        core.DataCopyPad(local, x[piece])
        queue.EnQue(local)
        local = queue.DeQue()
        core.DataCopyPad(y[piece], local)
        queue.FreeTensor(local)
