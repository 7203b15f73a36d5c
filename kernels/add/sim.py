"""add as a NumPy tiling simulation: the calls of v0 to v6, in Python. What differs between the versions are the arguments."""
import numpy as np

import helpers as hp

# version: elements of a tile, buffers of a queue, inputs bypass L2, bytes between the buffers of x and y
PLANS = {
    "v1": dict(tile=4096, num=1),
    "v2": dict(tile=4096, num=1),
    "v3": dict(tile=16384, num=1),
    "v4": dict(tile=16384, num=2),
    "v5": dict(tile=16384, num=2, bypass_l2=True),
    "v6": dict(tile=16256, num=2, bypass_l2=True, shift=256),
}


@hp.ubsim
def add(core, x, y, z, share, tile, num, bypass_l2=False, shift=0):
    """v1_vector.cpp to v6_bank_free.cpp. share: elements of one block."""
    first = core.GetBlockIdx() * share
    if first >= x.size:
        return
    last = min(first + share, x.size)
    if bypass_l2:
        x.SetL2CacheHint("CACHE_MODE_DISABLE")
        y.SetL2CacheHint("CACHE_MODE_DISABLE")
    inQueueX = core.TQue("VECIN", num=num, length=tile * x.itemsize)
    if shift:
        core.TBuf("VECCALC", length=shift)
    inQueueY = core.TQue("VECIN", num=num, length=tile * x.itemsize)
    outQueueZ = core.TQue("VECOUT", num=num, length=tile * x.itemsize)
    for start in range(first, last, tile):
        piece = slice(start, min(start + tile, last))
        count = piece.stop - piece.start
        # CopyIn
        xLocal = inQueueX.AllocTensor(x.dtype)
        yLocal = inQueueY.AllocTensor(y.dtype)
        core.DataCopyPad(xLocal, x[piece])
        core.DataCopyPad(yLocal, y[piece])
        inQueueX.EnQue(xLocal)
        inQueueY.EnQue(yLocal)
        # Compute
        xLocal = inQueueX.DeQue()
        yLocal = inQueueY.DeQue()
        zLocal = outQueueZ.AllocTensor(z.dtype)
        core.Add(zLocal, xLocal, yLocal, count)
        outQueueZ.EnQue(zLocal)
        inQueueX.FreeTensor(xLocal)
        inQueueY.FreeTensor(yLocal)
        # CopyOut
        zLocal = outQueueZ.DeQue()
        core.DataCopyPad(z[piece], zLocal)
        outQueueZ.FreeTensor(zLocal)


@hp.ubsim
def add_scalar(core, x, y, z, tile):
    """v0_scalar.cpp: a loop over elements."""
    inQueueX = core.TQue("VECIN", num=1, length=tile * x.itemsize)
    inQueueY = core.TQue("VECIN", num=1, length=tile * x.itemsize)
    outQueueZ = core.TQue("VECOUT", num=1, length=tile * x.itemsize)
    for start in range(0, x.size, tile):
        piece = slice(start, min(start + tile, x.size))
        xLocal = inQueueX.AllocTensor(x.dtype)
        yLocal = inQueueY.AllocTensor(y.dtype)
        core.DataCopyPad(xLocal, x[piece])
        core.DataCopyPad(yLocal, y[piece])
        inQueueX.EnQue(xLocal)
        inQueueY.EnQue(yLocal)
        xLocal = inQueueX.DeQue()
        yLocal = inQueueY.DeQue()
        zLocal = outQueueZ.AllocTensor(z.dtype)
        for i in range(piece.stop - piece.start):
            zLocal[i] = xLocal[i] + yLocal[i]
        outQueueZ.EnQue(zLocal)
        inQueueX.FreeTensor(xLocal)
        inQueueY.FreeTensor(yLocal)
        zLocal = outQueueZ.DeQue()
        core.DataCopyPad(z[piece], zLocal)
        outQueueZ.FreeTensor(zLocal)


def launch(version: str, x: np.ndarray, y: np.ndarray, z: np.ndarray, blocks: int, share: int = 0, **options) -> hp.Run:
    """z = x + y with the twin of "v0" to "v6". share: as in the kernel's tiling (default: equal parts in whole lines of 256)."""
    if version == "v0":
        return add_scalar.launch(blocks, (x, y, z, 4096), **options)
    share = share or (x.size if version == "v1" else -(-(-(-x.size // 256)) // blocks) * 256)
    return add.launch(blocks, (x, y, z, share), named=PLANS[version], **options)
